"""Whether a page as it was fetched looks like one that only a browser can show. Pure: it looks at bytes and text."""

from __future__ import annotations

import re

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

_SCRIPT = re.compile(rb"<script\b([^>]{0,2000})>", re.IGNORECASE)
_SCRIPT_END = re.compile(rb"</script", re.IGNORECASE)
_SOURCE = re.compile(rb"\bsrc\s*=", re.IGNORECASE)
# JSON, templates, speculation rules: they do nothing.
_DATA_TYPE = re.compile(
    rb"\btype\s*=\s*[\"']?\s*(?!module\b|text/javascript|application/javascript|[\"'])", re.IGNORECASE
)
_NAMES = (
    rb"root|app|application|main|mount|react-root|react-app|main-app|app-root|__next|__nuxt|___gatsby|svelte|q-app"
    rb"|ember-app"
)
_EMPTY_ROOT = re.compile(
    rb"<(div|main|section|body)\b[^>]{0,500}\bid\s*=\s*[\"']?(?:" + _NAMES + rb")[\"'\s>][^<]{0,500}"
    rb"(?:\s|<!--.{0,200}?-->)*</\1",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY_ELEMENT = re.compile(rb"<([a-z][a-z0-9]{0,20}-[a-z0-9-]{1,40})\b[^>]{0,500}>\s*</\1\s*>", re.IGNORECASE)
_EMPTY_BLOCK = re.compile(
    rb"<(div|main|section|article|ul|ol|table)\b[^>]{0,500}>(?:\s|<!--.{0,200}?-->)*</\1\s*>", re.IGNORECASE | re.DOTALL
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]{0,200}>(.{0,2000}?)</noscript", re.IGNORECASE | re.DOTALL)
_ASKS_FOR_SCRIPTS = re.compile(rb"java\s?script", re.IGNORECASE)


def need_of(content_type: str, body: bytes, page: Page) -> RenderCause | None:
    """Why a page looks as if it were empty without a browser; None if it does not."""
    length = len(page.text)
    if length >= MUCH_TEXT and len(page.links) >= MUCH_LINKS:
        return None
    body = body[:MAX_LOOKED_AT_BYTES]
    inline_bytes, files = _scripts(body)
    if not (inline_bytes or files) or media_of(content_type, body) is not Media.HTML:
        return None
    if _EMPTY_ROOT.search(body):
        return RenderCause.EMPTY_ROOT
    if length - sum(len(link.anchor) for link in page.links) >= LITTLE_TEXT:
        return None
    if _EMPTY_ELEMENT.search(body):
        return RenderCause.EMPTY_ROOT
    if any(_ASKS_FOR_SCRIPTS.search(said[1]) for said in _NOSCRIPT.finditer(body)):
        return RenderCause.NOSCRIPT
    # A short sentence is a page, too, unless something in it is yet to be filled.
    is_hollow = length < NO_TEXT or (length < HARDLY_ANY_TEXT and _EMPTY_BLOCK.search(body))
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
        elif not _DATA_TYPE.search(tag[1]):
            inline_bytes += (end.start() if end else len(body)) - tag.end()
    return inline_bytes, files
