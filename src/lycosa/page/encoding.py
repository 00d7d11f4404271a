"""Bytes to text: what a page's bytes are encoded in, and the text they spell.

The order is byte order mark, HTTP header, declaration in the page, detection, windows-1252. A declaration that the
bytes contradict is overruled, but only where the bytes leave no doubt. Any bytes give a text that UTF-8 can hold.
Charsets are named as WHATWG names them, in lower case, plus `utf-32le`, `utf-32be` and those of `_CODECS`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

import turbohtml
import turbohtml.detect  # registers the `whatwg-*` codecs

from lycosa.page.detection import detected_in

Source = Literal["bom", "header", "meta", "detected", "default"]

FALLBACK = "windows-1252"

# WHATWG: the prescan reads 1024 bytes. Browsers also obey a <meta> that comes later, and a few pages have one.
_PRESCAN_BYTES = 1024
_LATE_META_BYTES = 16 * 1024
_SNIFF_BYTES = 4096

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
# How most pages begin; whatever else stands before a <meta> is left to the parser.
_PLAIN_META = re.compile(
    rb"""\s*(?:<!doctype[^<>]*>\s*)?(?:<html(?:\s[^<>"']*(?:"[^"<>]*"[^<>"']*)*)?>\s*)?(?:<head>\s*)?"""
    rb"""<meta\s+charset\s*=\s*["']?utf-?8["']?\s*/?>""",
    re.IGNORECASE,
)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_PRINTABLE = re.compile(rb"[\t\n\r -~]")

# Labels that mean UTF-16 in a header; in a <meta> the standard reads them as UTF-8.
_UTF16_LABELS = {
    "utf-16": "utf-16le",
    "utf-16le": "utf-16le",
    "utf-16be": "utf-16be",
    "ucs-2": "utf-16le",
    "unicode": "utf-16le",
    "unicodefeff": "utf-16le",
    "unicodefffe": "utf-16be",
    "csunicode": "utf-16le",
    "iso-10646-ucs-2": "utf-16le",
}

# Decoders of CPython for what WHATWG has no decoder or a BOM has settled.
_WIDE = {"utf-16le", "utf-16be", "utf-32le", "utf-32be"}
_CODECS = {
    "hz-gb-2312": "hz",
    "ibm852": "cp852",
    "ibm855": "cp855",
    "iso-2022-kr": "iso2022_kr",
    "johab": "johab",
    "x-mac-ce": "mac_latin2",
}
# Kana, and of ideographs and syllables those that make up a fifth and more of any Chinese or Korean text.
_COMMON_EASTERN = re.compile(
    "[\u3041-\u30ff、。，的一是不了在人有我他这這中大来來上国國和个到说們们为為의이다는을에가고를로하지기]"
)

# In these a lead byte and a trail byte may look like UTF-8 by chance, as the two GBK characters of "联通" do.
_MULTIBYTE = {"gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"}
_MIN_CONTINUATIONS = 12
_MIN_COMMON_EASTERN = 0.12


class DecodedText(NamedTuple):
    """A text, the charset it was read in, and what decided the charset."""

    text: str
    charset: str
    source: Source


def decode(body: bytes, content_type: str = "", tld: str = "") -> DecodedText:
    """The text of any bytes; `tld` is the last label of the host's name, a hint to the detector. Never raises."""
    if marked := _by_mark(body):
        return marked
    label, source = charset_of_header(content_type), _HEADER
    if label == "utf-8" and (text := _as_utf8(body)) is not None and text.find("\0", 0, _SNIFF_BYTES) < 0:
        return DecodedText(text, "utf-8", "header")
    if not label:
        label, source = declared_in(body), _META
    if wide := _by_zeros(body, label):
        return wide
    if label:
        return _as_declared(body, label, source, tld)
    return _as_detected(body, tld)


def is_declared_utf8(body: bytes, content_type: str) -> bool:
    """Whether `decode` would read a body that is UTF-8 as that because it says so, and leave nothing out."""
    return (
        (charset_of_header(content_type) or declared_in(body)) == "utf-8"
        and body[:3] != b"\xef\xbb\xbf"
        # A character has up to four bytes.
        and body.find(b"\0", 0, 4 * _SNIFF_BYTES) < 0
    )


_HEADER: Source = "header"
_META: Source = "meta"


@lru_cache(maxsize=1024)
def charset_of_header(content_type: str) -> str:
    """The charset a Content-Type names, as WHATWG names it, or an empty string."""
    match = _HEADER_CHARSET.search(content_type)
    return charset_of_label(match.group(1)) if match else ""


@lru_cache(maxsize=1024)
def charset_of_label(label: str) -> str:
    """The charset that a label means to WHATWG, or an empty string if it means none."""
    label = label.strip().lower()
    if wide := _UTF16_LABELS.get(label, label if label in _WIDE else ""):
        return wide
    if not re.fullmatch(r"[a-z0-9._:+()-]{1,40}", label):
        return ""
    # The parser knows every label; asking it through a page of one <meta> keeps to its public interface.
    return _declared(b'<meta charset="%s">' % label.encode("ascii"))


def declared_in(body: bytes) -> str:
    """The charset a page declares by <meta> or XML declaration near its start, or an empty string."""
    head = body[:_PRESCAN_BYTES]
    if _PLAIN_META.match(head):
        return "utf-8"
    if charset := _declared(head) or (_declared(body[:_LATE_META_BYTES]) if len(body) > len(head) else ""):
        return charset
    if match := _XML_ENCODING.match(head.lstrip()):
        label = charset_of_label(match.group(1).decode("ascii"))
        # Bytes in which the declaration could be read as ASCII are not UTF-16.
        return "utf-8" if label in _WIDE else label
    return ""


def _declared(head: bytes) -> str:
    if b"charset" not in head.lower():
        return ""
    tree = turbohtml.parse(head, positions=False)
    charset = (tree.encoding or "").lower()
    # Told to detect nothing, the parser takes any other charset from a <meta>, and windows-1252 if there is none.
    return charset if charset != FALLBACK or tree.encoding_confidence == "certain" else ""


def _by_mark(body: bytes) -> DecodedText | None:
    start = body[:4]
    if start[:3] == b"\xef\xbb\xbf":
        return DecodedText(body[3:].decode("utf-8", "replace"), "utf-8", "bom")
    if start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return DecodedText(_wide_text(body[4:], "utf-32be"), "utf-32be", "bom") if start == b"\0\0\xfe\xff" else None
    # WHATWG knows no UTF-32 and would read NULs; no UTF-16 page begins with U+FEFF U+0000.
    if start == b"\xff\xfe\0\0" and len(body) > 4:
        return DecodedText(_wide_text(body[4:], "utf-32le"), "utf-32le", "bom")
    charset = "utf-16le" if start[:1] == b"\xff" else "utf-16be"
    return DecodedText(_wide_text(body[2:], charset), charset, "bom")


def _by_zeros(body: bytes, label: str) -> DecodedText | None:
    """UTF-16 and UTF-32 without a mark, known by where their NULs are and by making sense when decoded."""
    head = body[:_SNIFF_BYTES]
    head = head[: len(head) & ~3]
    if not head or not (label in _WIDE or _may_be_wide(head)):
        return None
    for charset in _wide_candidates(head):
        if _reads_as_text(head, charset):
            source: Source = "header" if label == charset else "detected"
            return DecodedText(_wide_text(body, charset), charset, source)
    return None


def _by_ideographs(body: bytes) -> DecodedText | None:
    """UTF-16 without a mark and without NULs, as text of nothing but ideographs has none."""
    head = body[: _SNIFF_BYTES if len(body) > _SNIFF_BYTES else len(body) & ~1]
    common = {charset: _common_eastern_share(head, charset) for charset in ("utf-16le", "utf-16be")}
    charset = max(common, key=common.__getitem__)
    if common[charset] < _MIN_COMMON_EASTERN or not _reads_as_text(head, charset):
        return None
    return DecodedText(_wide_text(body, charset), charset, "detected")


def _common_eastern_share(head: bytes, charset: str) -> float:
    text = head.decode(charset, "replace")
    return len(_COMMON_EASTERN.findall(text)) / max(len(text), 1)


def _may_be_wide(head: bytes) -> bool:
    if b"\0" not in head:
        return False
    # Text of other encodings has next to no control characters, and where NULs have strayed into it, it is still ASCII.
    controls, printable = len(_CONTROLS.findall(head)), len(_PRINTABLE.findall(head))
    return controls * 50 >= len(head) and printable * 10 < len(head) * 9


def _wide_candidates(head: bytes) -> tuple[str, ...]:
    zeros = [head[lane::4].count(0) for lane in range(4)]
    units = len(head) // 4
    if zeros[3] == units and zeros[2] * 10 > units * 9:
        return ("utf-32le",)
    if zeros[0] == units and zeros[1] * 10 > units * 9:
        return ("utf-32be",)
    if zeros[1] + zeros[3] >= zeros[0] + zeros[2]:
        return ("utf-16le", "utf-16be")
    return ("utf-16be", "utf-16le")


def _reads_as_text(head: bytes, charset: str) -> bool:
    # A cut may have split a surrogate pair, hence at most one replacement.
    text = head.decode(charset, "replace")
    sensible = sum(
        char.isalnum() or char.isspace() or "!" <= char <= "~" or "\u3000" <= char <= "\u30ff" for char in text
    )
    return sensible * 10 >= len(text) * 9


def _wide_text(body: bytes, charset: str) -> str:
    return body.decode(charset, "replace")


def _as_utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _as_declared(body: bytes, label: str, source: Source, tld: str) -> DecodedText:
    if label in _WIDE or label == "replacement":
        # Declared, but `_by_zeros` found nothing of the kind; `replacement` would drop the whole page.
        return _as_detected(body, tld)
    if label == "utf-8":
        return _as_declared_utf8(body, source, tld)
    if label != "iso-2022-jp" and (text := _as_utf8(body)) is not None:
        continuations = len(body) - len(text)
        if continuations == 0 and b"\x1b" not in body:
            return DecodedText(text, label, source)
        if continuations >= (_MIN_CONTINUATIONS if label in _MULTIBYTE else 1):
            return DecodedText(text, "utf-8", "detected")
    text = _legacy_text(body, label)
    # A right label leaves next to no errors; single-byte charsets have none and are believed.
    if label in _MULTIBYTE and text.count("\ufffd") * 50 > len(text) - _ascii_count(body):
        guess = _as_detected(body, tld)
        if guess.text.count("\ufffd") < text.count("\ufffd"):
            return guess
    return DecodedText(text, label, source)


def _as_declared_utf8(body: bytes, source: Source, tld: str) -> DecodedText:
    if (whole := _as_utf8(body)) is not None:  # nearly always, and a third of the cost of what follows
        return DecodedText(whole, "utf-8", source)
    text = body.decode("utf-8", "replace")
    errors = text.count("\ufffd")
    # Some broken bytes, or a cut, do not make a UTF-8 page another one: whatever else it were, its bytes from 0x80 up
    # would hardly ever form valid sequences.
    valid = _not_ascii_count(text) - errors
    if errors <= max(1, valid):
        return DecodedText(text, "utf-8", source)
    return _as_detected(body, tld)


def _as_broken_utf8(body: bytes) -> DecodedText | None:
    """UTF-8 that was cut or has a few bytes of something else in it: in other text one in ten would hardly be valid."""
    text = body.decode("utf-8", "replace")
    errors = text.count("\ufffd")
    return DecodedText(text, "utf-8", "detected") if _not_ascii_count(text) > 10 * errors else None


def _as_detected(body: bytes, tld: str) -> DecodedText:
    text = _as_utf8(body)
    if text is not None and len(text) != len(body):
        return DecodedText(text, "utf-8", "detected")
    if text is None and (found := _as_broken_utf8(body) or _by_ideographs(body)):
        return found
    if charset := detected_in(body, tld):
        return DecodedText(_legacy_text(body, charset), charset, "detected")
    if text is not None:
        return DecodedText(text, "utf-8" if not body else FALLBACK, "default")
    return DecodedText(_legacy_text(body, FALLBACK), FALLBACK, "default")


def _legacy_text(body: bytes, charset: str) -> str:
    return body.decode(_CODECS.get(charset) or "whatwg-" + charset, "replace")


def _ascii_count(body: bytes) -> int:
    return len(body) - len(_NOT_ASCII.findall(body))


def _not_ascii_count(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))
