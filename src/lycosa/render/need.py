"""Whether a page as it was fetched looks like one that only a browser can show. Pure: it looks at bytes and text.

With RE2: whoever makes the page may make it so that other matchers never come to an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2

from lycosa.model import Page, RenderCause
from lycosa.page.media import Media, media_of

# A page that says so much says something: what its scripts may add is not looked for (unless the site has shown it).
MUCH_TEXT, MUCH_LINKS = 1500, 3
# Beside its links. Of 1,461 pages of the open web, scripts outweighed 17 that said more than this, all of them articles
# with statistics; footers and consent around what is empty say less.
LITTLE_TEXT, HARDLY_ANY_TEXT, NO_TEXT = 200, 80, 25
# Statistics and consent are a few hundred bytes of script; an application without files of its own is more.
MUCH_SCRIPT_BYTES, SCRIPT_PER_TEXT = 1000, 5
# What is looked at of a body: markers and scripts beyond it are of a page that has much else.
MAX_LOOKED_AT_BYTES = 1024 * 1024

_SCRIPT = re2.compile(rb"(?i)<script\b([^>]*)>")
_SCRIPT_END = re2.compile(rb"(?i)</script")
_SOURCE = re2.compile(rb"(?i)\bsrc\s*=")
# JSON, templates, speculation rules: they do nothing.
_TYPE = re2.compile(rb"(?i)\btype\s*=\s*[\"']?\s*([^\"'\s>]*)")
_TYPES_OF_SCRIPTS = (b"module", b"text/javascript", b"application/javascript")
_NAMES = (
    rb"root|app|application|main|mount|react-root|react-app|main-app|app-root|__next|__nuxt|___gatsby|svelte|q-app"
    rb"|ember-app"
)
_COMMENTS = rb"\s*(?:<!--(?:[^-]|-[^-]|--+[^->])*--+>\s*)*"
_EMPTY_ROOT = re2.compile(
    rb"(?is)<(div|main|section|body)\b[^>]*\bid\s*=\s*[\"']?(?:"
    + _NAMES
    + rb")[\"'\s>][^<]*"
    + _COMMENTS
    + rb"</(div|main|section|body)\b"
)
_NAME = rb"([a-z][a-z0-9]*-[a-z0-9-]+)"
_EMPTY_ELEMENT = re2.compile(rb"(?i)<" + _NAME + rb"\b[^>]*>\s*</" + _NAME + rb"\s*>")
_BLOCK = rb"(div|main|section|article|ul|ol|table)"
_EMPTY_BLOCK = re2.compile(rb"(?is)<" + _BLOCK + rb"\b[^>]*>" + _COMMENTS + rb"</" + _BLOCK + rb"\s*>")
_NOSCRIPT = re2.compile(rb"(?is)<noscript\b[^>]*>(.*?)</noscript")
_ASKS_FOR_SCRIPTS = re2.compile(rb"(?i)java\s?script")
MAX_NOSCRIPT_BYTES = 2000


def need_of(content_type: str, body: bytes, page: Page) -> RenderCause | None:
    """Why a page looks as if it were empty without a browser; None if it does not."""
    length = len(page.text)
    if length >= MUCH_TEXT and len(page.links) >= MUCH_LINKS:
        return None
    body = body[:MAX_LOOKED_AT_BYTES]
    inline_bytes, files = _scripts(body)
    if not (inline_bytes or files) or media_of(content_type, body) is not Media.HTML:
        return None
    if _has_pair(_EMPTY_ROOT, body):
        return RenderCause.EMPTY_ROOT
    if length - sum(len(link.anchor) for link in page.links) >= LITTLE_TEXT:
        return None
    if _has_pair(_EMPTY_ELEMENT, body):
        return RenderCause.EMPTY_ROOT
    if any(_ASKS_FOR_SCRIPTS.search(said[:MAX_NOSCRIPT_BYTES]) for said in _said_without_scripts(body)):
        return RenderCause.NOSCRIPT
    # A short sentence is a page, too, unless something in it is yet to be filled.
    is_hollow = length < NO_TEXT or (length < HARDLY_ANY_TEXT and _has_pair(_EMPTY_BLOCK, body))
    if is_hollow and len(page.links) < MUCH_LINKS:
        return RenderCause.NO_TEXT
    if inline_bytes >= max(MUCH_SCRIPT_BYTES, SCRIPT_PER_TEXT * length):
        return RenderCause.SCRIPTS
    return None


def has_scripts(body: bytes) -> bool:
    """Whether a browser could make anything else of a page than what is there."""
    return any(_scripts(body[:MAX_LOOKED_AT_BYTES]))


def _scripts(body: bytes) -> tuple[int, int]:
    """How many bytes of scripts a page has in itself, and how many files of them."""
    inline_bytes = files = 0
    position = 0
    while tag := _SCRIPT.search(body, position):
        end = _SCRIPT_END.search(body, tag.end())
        position = end.end() if end else len(body)
        if _SOURCE.search(tag[1]):
            files += 1
        elif _is_script(tag[1]):
            inline_bytes += (end.start() if end else len(body)) - tag.end()
    return inline_bytes, files


def _is_script(attributes: bytes) -> bool:
    kind = _TYPE.search(attributes)
    return kind is None or not kind[1] or kind[1].lower().startswith(_TYPES_OF_SCRIPTS)


def _has_pair(pattern: Any, body: bytes) -> bool:
    """Whether an element begins and ends at once; RE2 knows no way to say that both names are one."""
    return any(found[1].lower() == found[2].lower() for found in pattern.finditer(body))


def _said_without_scripts(body: bytes) -> Iterator[bytes]:
    for said in _NOSCRIPT.finditer(body):
        yield said[1]
