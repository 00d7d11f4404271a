"""What a page asks of robots and browsers in small strings: robots directives and `refresh`. Knows no HTML tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Directives(NamedTuple):
    """What a crawler must not do with a page. Together, the most restrictive wins."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    noai: bool = False
    noimageai: bool = False

    def __or__(self, other: Directives) -> Directives:
        return Directives(*(ours or theirs for ours, theirs in zip(self, other, strict=True)))


NO_DIRECTIVES = Directives()
TDM_RESERVATION = "tdm-reservation"

# Directives that take a value after a colon; any other word before a colon names an agent.
_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview", "max-age"))
_WORD = re.compile(r"[^\s,;]+")


def directives_of(content: str) -> Directives:
    """The directives in the content of a `<meta name=robots>`: words divided by commas, semicolons or spaces."""
    words = frozenset(_WORD.findall(content.lower()))
    is_none = "none" in words
    return Directives(
        noindex="noindex" in words or is_none,
        nofollow="nofollow" in words or is_none,
        # `nocache` is Bing's word for it. `none` says nothing of archives.
        noarchive="noarchive" in words or "nocache" in words,
        # `<meta name=tdm-reservation content=1>` reserves the rights to mine the page (TDMRep).
        noai="noai" in words or f"{TDM_RESERVATION}=1" in words,
        noimageai="noimageai" in words,
    )


def directives_of_header(values: Iterable[str], agent: str) -> Directives:
    """The directives that X-Robots-Tag header values give to all robots or to `agent`.

    An agent's name before a colon holds for the rest of its value, or until the next name.
    """
    found = NO_DIRECTIVES
    for value in values:
        is_ours = True
        for part in value.lower().split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in _WITH_VALUE:
                is_ours, part = name.strip() in ("*", "robots", agent), rest  # noqa: PLW2901
            if is_ours:
                found |= directives_of(part)
    return found


class Refresh(NamedTuple):
    """After how many seconds a page asks to be replaced, and by which URL (empty: by itself)."""

    seconds: int
    url: str


_SPACE = " \t\n\r\f"
_DELAY = re.compile(r"[ \t\n\r\f]*(?:([0-9]+)|(?=\.))[0-9.]*")
_SEPARATOR = re.compile(r"[ \t\n\r\f]*(?:[;,][ \t\n\r\f]*)?")
_URL_NAME = re.compile(r"url[ \t\n\r\f]*=[ \t\n\r\f]*", re.IGNORECASE)
# Longer delays are as good as never; this keeps a hostile number short.
_MAX_DIGITS = 9


def refresh_of(content: str) -> Refresh | None:
    """The meaning of a refresh value by the steps of the HTML standard, or None where it has none."""
    delay = _DELAY.match(content)
    if delay is None:
        return None
    seconds = int((delay.group(1) or "0")[:_MAX_DIGITS])
    rest = content[delay.end() :]
    if not rest:
        return Refresh(seconds, "")
    if rest[0] not in ";," + _SPACE:
        return None
    separator = _SEPARATOR.match(rest)
    assert separator is not None, "it matches the empty string"
    url = rest[separator.end() :]
    if name := _URL_NAME.match(url):
        url = url[name.end() :]
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return Refresh(seconds, url)
