"""Which charset bytes are in that declare none: by escapes, by statistics, by what is usual on the web.

Statistics are chardet's, of which only the text around bytes from 0x80 up is asked: in whole pages the markup drowns
the letters. Where they are a guess, turbohtml's detector decides, which knows the top-level domain. Declarations, marks
and UTF-8 are none of its business, and it decodes nothing.
"""

from __future__ import annotations

import re

from turbohtml.detect import Detection, detect

_ESCAPES = (b"\x1b", b"~{")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
# Where a stretch of text ends: before a tag, or after so much ASCII that it tells nothing more. Both keep the pairs of
# multibyte charsets whole: in Johab the second byte may be "<", but no letter follows it.
_END = re.compile(rb"<(?=[A-Za-z/!])|[\x00-;=-\x7f]{80}")
_LEAD_BYTES = 80
# Enough for the statistics: twice as much costs half as much again and is right no more often.
_SAMPLE_BYTES = 2048
_TURBOHTML_PRESCAN_BYTES = 1024
_TLD = re.compile(r"[a-z0-9-]+")

# chardet's candidates, and what each is called here. A subset is called by the superset that browsers read it with, or
# left out where that one is asked about anyway: every candidate costs 20 µs.
_EIGHT_BIT = {
    "big5hkscs": "big5",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1252": "windows-1252",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp1257": "windows-1257",
    "cp1258": "windows-1258",
    "cp852": "ibm852",
    "cp855": "ibm855",
    "cp866": "ibm866",
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "euc_jis_2004": "euc-jp",
    "gb18030": "gbk",
    "iso8859-13": "iso-8859-13",
    "iso8859-15": "iso-8859-15",
    "iso8859-16": "iso-8859-16",
    "iso8859-2": "iso-8859-2",
    "iso8859-3": "iso-8859-3",
    "iso8859-4": "iso-8859-4",
    "iso8859-5": "iso-8859-5",
    "iso8859-6": "iso-8859-6",
    "iso8859-7": "iso-8859-7",
    "iso8859-8": "iso-8859-8",
    "johab": "johab",
    "koi8-u": "koi8-u",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-latin2": "x-mac-ce",
    "mac-roman": "macintosh",
    "shift_jis_2004": "shift_jis",
}
_SEVEN_BIT = {
    "hz": "hz-gb-2312",
    "iso2022_jp_2": "iso-2022-jp",
    "iso2022_jp_2004": "iso-2022-jp",
    "iso2022_jp_ext": "iso-2022-jp",
    "iso2022_kr": "iso-2022-kr",
}

_NO_MATCH = "ascii"

# Next to no page is in these, so it takes more to believe it. English with a few quotes scores up to 0.09 as one of
# them; half of the real ones score above 0.2.
_RARE = {"iso-8859-3", "iso-8859-4", "iso-8859-16", "x-mac-cyrillic", "x-mac-ce"}
_RARE |= {"macintosh", "ibm852", "ibm855", "johab"}
_MIN_CONFIDENCE = 0.02
_MIN_CONFIDENCE_OF_RARE = 0.1

# ISO 8859 has control characters at 0x80 to 0x9f, which no page contains; the Windows charset has quotes there.
_C1 = bytes(range(0x80, 0xA0))
_NOT_C1 = bytes(set(range(0x100)) - set(_C1))
_WITH_C1 = {
    "iso-8859-2": "windows-1250",
    "iso-8859-4": "windows-1257",
    "iso-8859-6": "windows-1256",
    "iso-8859-7": "windows-1253",
    "iso-8859-8": "windows-1255",
    "iso-8859-13": "windows-1257",
    "iso-8859-15": "windows-1252",
    "iso-8859-16": "windows-1250",
}
# Scripts whose words are written in bytes from 0x80 up, while in Latin these are single letters, quotes and signs.
_NOT_LATIN = {
    "windows-1251",
    "windows-1253",
    "windows-1255",
    "windows-1256",
    "windows-874",
    "koi8-u",
    "ibm855",
    "ibm866",
}
_NOT_LATIN |= {"iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "x-mac-cyrillic"}
_WORD = re.compile(rb"[\x80-\xff]{2,}")
# Words of another script within a text in Latin letters: no letter goes before or after them, while those of Latin
# words with accents have some on a side. In Big5, GBK and Shift_JIS the second byte of a pair may be an ASCII letter.
_PHRASE = re.compile(
    rb"(?<![A-Za-z\x80-\xff])(?:"
    rb"(?:[\x80-\xff][\x40-\x7e\x80-\xff]?+(?:[ -](?=[\x80-\xff]{2}))?+)++(?![A-Za-z])"
    rb"|[\x80-\xff]{4,}+)"
)
# What stands alone in Latin text, in all charsets of Windows: quotes, dashes, spaces and signs.
_SIGNS = b"\x80\x82\x84\x85\x86\x87\x8b\x91\x92\x93\x94\x95\x96\x97\x99\x9b\xa0\xa3\xa7\xa9\xab\xae\xb0\xb7\xbb"
_ASCII_AND_SIGNS = bytes(range(0x80)) + _SIGNS
_LETTER = re.compile(rb"[A-Za-z]")
# Where letters beyond ASCII are that few, the statistics of what is around decide instead of them.
_MAX_SHARE_OF_FEW = 0.25
_MIN_SHARE_IN_PHRASES = 0.7
# In Shift_JIS half of the bytes are those of quotes.
_MIN_PHRASE_BYTES = 4
_MIN_CONFIDENCE_OF_FEW = 0.01
_OTHER_SCRIPTS = {
    name: _EIGHT_BIT[name]
    for name in (
        *("cp1251", "koi8-u", "cp1253", "cp1255", "cp1256", "cp874"),
        *("cp949", "gb18030", "big5hkscs", "cp932", "euc_jis_2004"),
    )
}
# Vietnamese in windows-1258 writes the tone after its vowel, as a byte of its own; in windows-1252 that would be
# "Viêòt" or "phõÒ". The letter before keeps Cyrillic and Greek out.
_TONE = re.compile(rb"[A-Za-z](?:[\xe2\xe3\xea\xf4\xf5\xfd][\xcc\xd2\xde\xec\xf2]|[aeiouy][\xcc\xd2\xde])(?![A-Z])")
_MIN_SHARE_OF_TONES = 0.12
# "don’t" as Windows writes it; where these charsets have letters for quotes.
_APOSTROPHE = b"\x92"
_ENGLISH_APOSTROPHE = re.compile(rb"[a-z]\x92(?:s|t|d|m|re|ve|ll)\b")
_WITHOUT_QUOTES = {"macintosh", "x-mac-ce", "ibm852"}
# All but the eight places where ISO 8859-15 has other letters than windows-1252.
_AS_IN_WINDOWS = bytes(set(range(0x100)) - set(b"\xa4\xa6\xa8\xb4\xb8\xbc\xbd\xbe"))
# A euro sign in ISO 8859-15 and beside a number; in windows-1252 it would be "¤", which nobody writes.
_EURO = re.compile(rb"[\d\s(]\xa4|\xa4\s?\d")
# The two Cyrillic charsets that share their small letters, but for "я".
_SHARE_SMALL_LETTERS = {"windows-1251", "x-mac-cyrillic"}
_YA = re.compile(rb"[\xe0-\xfe]\xff")
_YA_OF_MAC = re.compile(rb"[\xe0-\xfe]\xdf")


def detected_in(body: bytes, tld: str) -> str | None:
    """The charset of bytes that are not UTF-8, or `None` if nothing tells it. Never raises."""
    if body.isascii():
        return _by_escapes(body)
    sample = _telling_part(body)
    c1 = body.translate(None, _NOT_C1)
    if charset := _by_few_words(sample):
        return charset
    charset, confidence = _by_statistics(sample, _EIGHT_BIT)
    if confidence < (_MIN_CONFIDENCE_OF_RARE if charset in _RARE else _MIN_CONFIDENCE):
        charset = None
    charset = _plausible(charset, sample, c1) or _plausible(_by_habit(sample, tld), sample, c1)
    if charset == "windows-1252" and not c1 and b"\xa4" in body and _EURO.search(body):
        return "iso-8859-15"
    if charset == "iso-8859-15" and not body.translate(None, _AS_IN_WINDOWS):
        return "windows-1252"
    return charset


def _by_few_words(sample: bytes) -> str | None:
    """The charset of a few foreign words in a long text of ASCII, which has more to say to statistics than they."""
    letters = _letters_beyond_ascii(sample)
    if _MIN_SHARE_OF_TONES * len(letters) <= len(_TONE.findall(sample)) > 0:
        return "windows-1258"
    if len(letters) > _MAX_SHARE_OF_FEW * len(_LETTER.findall(sample)):
        return None
    phrases = [found for found in _PHRASE.findall(sample) if _is_foreign(found)]
    in_phrases = sum(len(_letters_beyond_ascii(found)) for found in phrases)
    if not phrases or in_phrases < _MIN_SHARE_IN_PHRASES * len(letters):
        return None
    charset, confidence = _by_statistics(b" ".join(phrases), _OTHER_SCRIPTS)
    return charset if confidence >= _MIN_CONFIDENCE_OF_FEW else None


def _is_foreign(phrase: bytes) -> bool:
    letters = _letters_beyond_ascii(phrase)
    return len(set(phrase)) > 1 and (len(letters) > 1 or (len(letters) == 1 and len(phrase) >= _MIN_PHRASE_BYTES))


def _letters_beyond_ascii(text: bytes) -> bytes:
    return text.translate(None, _ASCII_AND_SIGNS)


def _plausible(charset: str | None, sample: bytes, c1: bytes) -> str | None:
    """A charset, or its sibling, that agrees with what every text has and statistics do not know of."""
    if charset is None:
        return None
    if c1 and charset.startswith("iso-8859-"):
        sibling = _WITH_C1.get(charset, "")
        return sibling if sibling and _has_all(sibling, c1) else None
    if charset in _NOT_LATIN and not _is_in_words(sample):
        return None
    if charset in _WITHOUT_QUOTES and 2 * len(_ENGLISH_APOSTROPHE.findall(sample)) > sample.count(_APOSTROPHE):
        return None
    return _told_by_ya(charset, sample) if charset in _SHARE_SMALL_LETTERS else charset


def _is_in_words(sample: bytes) -> bool:
    words = [word for word in _WORD.findall(sample) if len(set(word)) > 1]
    return 2 * sum(map(len, words)) >= len(_NOT_ASCII.findall(sample))


def _by_escapes(body: bytes) -> str | None:
    escapes = [at for at in map(body.find, _ESCAPES) if at >= 0]
    return _by_statistics(body[min(escapes) :][:_SAMPLE_BYTES], _SEVEN_BIT)[0] if escapes else None


def _telling_part(body: bytes) -> bytes:
    """Bytes from 0x80 up with the text around them, from the start of the page on, without tags."""
    parts: list[bytes] = []
    size = end = 0
    while size < _SAMPLE_BYTES and (first := _NOT_ASCII.search(body, end)):
        at = first.start()
        lead = max(end, at - _LEAD_BYTES)
        begin = max(lead, body.rfind(b">", lead, at) + 1)
        stop = _END.search(body, at, at + _SAMPLE_BYTES)
        end = at + _SAMPLE_BYTES if stop is None else stop.start() if stop.group() == b"<" else stop.end()
        parts.append(body[begin:end])
        size += end - begin
    return b" ".join(parts)[:_SAMPLE_BYTES]


def _by_statistics(sample: bytes, names: dict[str, str]) -> tuple[str | None, float]:
    import chardet  # its tables take 80 ms and 35 MB, and most crawls of one site never ask it

    candidates = (*names, _NO_MATCH)
    found = chardet.detect(sample, include_encodings=candidates, compat_names=False, no_match_encoding=_NO_MATCH)
    return names.get(found["encoding"] or ""), found["confidence"]


def _by_habit(sample: bytes, tld: str) -> str | None:
    options = Detection(tld=tld) if _TLD.fullmatch(tld) else None
    # The spaces fill the prescan's range: marks and declarations have been dealt with.
    match = detect(b" " * _TURBOHTML_PRESCAN_BYTES + sample, options)
    return match.encoding.lower() if match.encoding and match.encoding != "replacement" else None


def _has_all(charset: str, c1: bytes) -> bool:
    # Python leaves undefined what Windows does; WHATWG reads it as control characters.
    return "\ufffd" not in c1.decode(charset, "replace")


def _told_by_ya(charset: str, sample: bytes) -> str:
    ya, ya_of_mac = len(_YA.findall(sample)), len(_YA_OF_MAC.findall(sample))
    return charset if ya == ya_of_mac else "windows-1251" if ya > ya_of_mac else "x-mac-cyrillic"
