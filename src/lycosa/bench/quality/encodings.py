"""Texts whose encoding is known: labelled files, and real pages written anew in the charsets of their language.

An answer is right if the text it gives is the one that the label gives, whatever it calls the charset.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import turbohtml.detect  # noqa: F401  registers the `whatwg-*` codecs

from lycosa.bench.quality.sets import names_of, pages_of
from lycosa.page.language import language_of

_LANGUAGE = re.compile(
    "-(arabic|bulgarian|croatian|czech|greek|hebrew|hungarian|polish|romanian|russian|slovak|slovene|turkish)$"
)
# How the folders name what Python and WHATWG name otherwise. A file of a subset may hold characters of the superset.
_CODECS = {
    "cp932": ("cp932", "whatwg-shift_jis"),
    "cp949": ("cp949", "whatwg-euc-kr"),
    "euc-kr": ("cp949", "whatwg-euc-kr"),
    "gb2312": ("gb18030", "whatwg-gbk"),
    "iso-8859-1": ("iso-8859-1", "whatwg-windows-1252"),
    "iso-8859-11": ("iso-8859-11", "whatwg-windows-874"),
    "iso-8859-9": ("iso-8859-9", "whatwg-windows-1254"),
    "maccentraleurope": ("mac-latin2",),
    "maccyrillic": ("mac-cyrillic", "whatwg-x-mac-cyrillic"),
    "macroman": ("mac-roman", "whatwg-macintosh"),
    "shift_jis": ("cp932", "whatwg-shift_jis"),
    "tis-620": ("tis-620", "whatwg-windows-874"),
    "uhc": ("cp949", "whatwg-euc-kr"),
}


class Labelled(NamedTuple):
    """A file, and the charset that its collection says it is in."""

    name: str
    label: str
    body: bytes

    def is_read_as(self, text: str) -> bool:
        """Whether this is the text that the label gives, by Python's reading of the label or by a browser's."""
        return text.removeprefix("\ufeff") in watchdog(self.body, self.label)


def watchdog(body: bytes, label: str) -> set[str]:
    """The texts that a label gives; none where nothing here can decode it (EUC-TW, VISCII)."""
    known = [codec for codec in _CODECS.get(label, (label, "whatwg-" + label)) if is_codec(codec)]
    return {body.decode(codec, "replace").removeprefix("\ufeff") for codec in known}


def is_codec(name: str) -> bool:
    """Whether Python can decode what is called so."""
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True


def labelled_files(data: Path) -> Iterator[Labelled]:
    """chardet's files (a folder for each charset) and uchardet's (a folder for each language)."""
    folder = data / "conformance" / "encoding"
    for file in sorted(folder.glob("chardet-tests/*/*")):
        label = _LANGUAGE.sub("", file.parent.name.lower())
        yield Labelled(str(file.relative_to(folder)), label, file.read_bytes())
    for file in sorted(folder.glob("uchardet-tests/*/*")):
        # `utf-16.le` is UTF-16LE, `big5.txt` is Big5.
        is_wide = file.name.startswith(("utf-16.", "utf-32.")) and file.suffix != ".txt"
        label = file.name.replace(".", "") if is_wide else file.stem
        yield Labelled(str(file.relative_to(folder)), label, file.read_bytes())


# Pages written anew

_WESTERN = ("cp1252", "iso8859-15", "mac-roman")
_CENTRAL = ("cp1250", "iso8859-2", "cp852", "mac-latin2")
_CHARSETS = {
    **dict.fromkeys(("de", "en", "es", "fi", "fr", "it", "nl", "pt", "sv"), _WESTERN),
    **dict.fromkeys(("cs", "hu", "pl"), _CENTRAL),
    "ar": ("cp1256", "iso8859-6"),
    "ja": ("shift_jis", "euc_jp", "iso2022_jp", "utf-16le", "utf-16be"),
    "ko": ("euc_kr", "johab", "iso2022_kr", "utf-16le", "utf-16be"),
    "ru": ("cp1251", "koi8-r", "iso8859-5", "cp866", "cp855", "mac-cyrillic"),
    "tr": ("cp1254",),
    "zh": ("gb18030", "utf-16le", "utf-16be"),
}
# No browser reads these, so next to no page is written in them.
UNREAD_CHARSETS = {"cp852", "cp855", "iso2022_kr", "johab", "mac-latin2"}
_PAGES_PER_LANGUAGE = 12
_MAX_UNWRITABLE = 0.1
_DECLARATION = re.compile(r"<meta[^>]*charset[^>]*>|^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_CHARSET = re.compile("charset", re.IGNORECASE)
_NO_PAGE_HAS = re.compile("[\x00-\x08\x0e-\x1f\ufeff]")


def pages_written_anew(data: Path) -> Iterator[Labelled]:
    """Real pages in every charset that their language is written in, declaring none."""
    taken: Counter[str] = Counter()
    for name in names_of(data):
        for page in pages_of(data, name):
            language = language_of(page.text)
            if language not in _CHARSETS or taken[language] == _PAGES_PER_LANGUAGE:
                continue
            taken[language] += 1
            html = _NO_PAGE_HAS.sub("", _CHARSET.sub("carset", _DECLARATION.sub("", page.html)))
            for charset in _CHARSETS[language]:
                body = html.encode(charset, "xmlcharrefreplace")
                if _is_told_by(body, charset, html):
                    yield Labelled(f"{name}/{page.truth['id']} {charset}", charset, body)


def _is_told_by(body: bytes, charset: str, html: str) -> bool:
    """Whether most characters could be written, and some of them not in ASCII."""
    foreign = Counter(char for char in html if char > "\x7f")
    unwritable = sum(count for char, count in foreign.items() if not _can_write(char, charset))
    is_plain = body.isascii() and charset not in ("iso2022_jp", "iso2022_kr") and not charset.startswith("utf-16")
    return not is_plain and unwritable <= _MAX_UNWRITABLE * foreign.total()


def _can_write(char: str, charset: str) -> bool:
    try:
        char.encode(charset)
    except UnicodeEncodeError:
        return False
    return True
