"""A text cut into sentences, in any script. A line ends one; a point in a number or after an abbreviation does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A sentence without an end is no sentence: it is cut here, at a space if there is one.
MAX_SENTENCE_CHARS = 1000

_CLOSING = "\"'”’»›)\\]」』）】》〉"
# Ends by themselves; those of alphabets only before a space, where a new sentence can begin.
_END = re.compile(rf"[。！？｡؟۔।॥።፧။៕]+[…]*[{_CLOSING}]*|(?:[.!?]+|…+)[{_CLOSING}]*(?=\s|$)|…{{2,}}[{_CLOSING}]*")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")
_ABBREVIATIONS = """
    mr mrs ms dr prof sr jr st mt no nos vol vols vs etc inc ltd co corp fig figs eq pp p ed eds ch sec al
    approx dept est gen gov hon lt maj sgt capt col rev jan feb mar apr jun jul aug sep sept oct nov dec mon tue
    wed thu fri sat sun bzw ca evtl ggf nr str usw vgl z.b d.h u.a o.ä bspw inkl max min mio mrd tel abb bd hrsg
    jh s i.d.r z.t av art env ex mm mme mlle cf c.-à-d p.ex n° págs pág sra srta ud uds ee.uu dra lic ing avda
    sig sigg dott ecc pag es e.g i.e a.m p.m u.s u.k ph.d т.е т.д т.п г гг им ул руб тыс млн млрд стр см др пр
    np tzw itp itd m.in ul inż mgr tj bl.a t.ex dvs osv f.eks d.v.s bijv dhr mevr enz o.a
"""
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())


def sentences_of(text: str) -> Iterator[str]:
    """The sentences in order, each on one line, none empty."""
    for line in text.splitlines():
        if line.strip():
            for sentence in _of_line(line):
                yield from _portions(" ".join(sentence.split()))


def _of_line(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, end.start(), end.end()):
            yield line[start : end.end()]
            start = end.end()
    yield line[start:]


def _is_end(line: str, mark: int, end: int) -> bool:
    if line[mark] not in ".…" or line[mark : mark + 2] == "..":
        # "Yahoo! is" and "?) and": what goes on in lower case has not ended.
        return line[mark] not in "!?." or not line[end:].lstrip()[:1].islower()
    following = line[end:].lstrip()[:1]
    if not following:
        return True
    if following.islower():
        return False
    word = _LAST_WORD.search(line, max(0, mark - 20), mark)
    if line[mark] == "…" or word is None:
        return True
    last = word.group().lower()
    is_initial = len(last) == 1 and last.isalpha() and word.group().isupper()
    # "am 3. Mai", "1. First": a number at the start of a line or before a capital counts, it does not end.
    is_ordinal = last.isdigit() and len(last) <= 2
    return not (is_initial or is_ordinal or last in _ABBREVIATED)


def _portions(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_SENTENCE_CHARS:
        cut = sentence.rfind(" ", 1, MAX_SENTENCE_CHARS)
        cut = cut if cut > 0 else MAX_SENTENCE_CHARS
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence
