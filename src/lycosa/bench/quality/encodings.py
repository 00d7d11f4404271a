"""Texts whose encoding is known: labelled files, and real pages written anew in the charsets of their language.

An answer is right if the text it gives is the one that the label gives, whatever it calls the charset.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import turbohtml.detect  # noqa: F401  registers the `whatwg-*` codecs

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
        return text.removeprefix("\ufeff") in readings(self.body, self.label)


def readings(body: bytes, label: str) -> set[str]:
    """The texts that a label gives; none where nothing here can decode it (EUC-TW, VISCII)."""
    known = [codec for codec in _CODECS.get(label, (label, "whatwg-" + label)) if _is_codec(codec)]
    return {body.decode(codec, "replace").removeprefix("\ufeff") for codec in known}


def _is_codec(name: str) -> bool:
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
