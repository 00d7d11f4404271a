"""Pages of a planned web as bytes: navigation, article and footer around the links the layout decided.

Knows HTML and encodings, no HTTP. A page comes in pieces, most of them paragraphs that pages share, so that
ten thousand pages of 28 KB can wait in memory at a third of their size.
"""

from __future__ import annotations

import posixpath
import random
from functools import cache, partial
from html import escape
from typing import NamedTuple

from .draw import pick_next
from .layout import TRACKING, Layout, Link, PageKind, PageRef, SimHost
from .names import origin_of
from .traps import trap_entries
from .words import SCRIPTS, about, paragraphs, phrase, phrases, topic_words

_NAVIGATION_LINKS = 6
# One word in 250: five-word shingles of a near copy and its original agree to about 96 %.
_WORDS_PER_CHANGED_WORD = 250
# Of strewn links: those that say where they were found, and those to a place within their page.
_TRACKED_SHARE, _FRAGMENT_SHARE = 0.2, 0.3
# Of pages about a topic: how often their title tells it, and the text of a link to them; words between two paragraphs
# that do.
_TOLD_IN_TITLE, _TOLD_IN_ANCHOR = 0.8, 0.5
_ABOUT_WORDS = 60
_SOURCES = ("feed", "mail", "social")


class Markup(NamedTuple):
    """A page's text before encoding: what stands before, between and after the paragraphs."""

    head: str
    related: str
    foot: str


class Renderer:
    """Makes the bytes of any page of a layout, as served on a port."""

    def __init__(self, layout: Layout, port: int) -> None:
        self._layout = layout
        self._port = port
        # Per object, so that the memory of a web goes with it.
        self._texts = cache(partial(paragraphs, layout.draws))
        self._pool = cache(self._encoded_paragraphs)
        self._anchor_texts = cache(partial(phrases, layout.draws))
        self._topic_words = cache(partial(topic_words, layout.draws))

    def page(self, ref: PageRef, version: int) -> tuple[bytes, ...]:
        """The pieces of the page's body in this version, in the encoding of its host."""
        shown = self._layout.content_of(ref)
        host = self._layout.host(ref.host)
        is_near_copy = self._layout.kind(ref) is PageKind.NEAR_COPY
        markup = self._markup(ref if is_near_copy else shown, shown, host, version)
        head, related, foot = (encode(part, host.encoding) for part in markup)
        room = self._page_bytes(shown) - len(head) - len(related) - len(foot)
        prose = int(room * self._layout.plan.prose_share)
        article = self._article(shown, host, version, prose)
        related = b"".join((related, *self._furniture(shown, host, room - prose)))
        pieces = [head, *article, related, foot]
        if is_near_copy:
            pieces = [pieces[0], *self._reworded(pieces[1:-2], ref, host), *pieces[-2:]]
        return tuple(pieces)

    def _page_bytes(self, ref: PageRef) -> int:
        low, high = self._layout.plan.min_page_bytes, self._layout.plan.max_page_bytes
        return int(low * (high / low) ** self._layout.draws.fraction("size", *ref))

    def _article(self, ref: PageRef, host: SimHost, version: int, room: int) -> list[bytes]:
        """Paragraphs that fill the room; a new version replaces a fifth of them."""
        pool = self._pool(host.language, host.encoding)
        stream = self._layout.draws.stream("article", *ref)
        changed = self._layout.draws.stream("article-version", *ref, version)
        chosen: list[bytes] = []
        while room > 0:
            piece = pick_next(stream, pool)
            if version and changed.random() < 0.2:
                piece = pick_next(changed, pool)
            chosen.append(piece)
            room -= len(piece)
            if topic := self._layout.topic(ref):
                told = about(stream, host.language, self._topic_words(topic), _ABOUT_WORDS)
                chosen.append(encode(f"<p>{told}</p>\n", host.encoding))
                room -= len(chosen[-1])
        return chosen

    def _furniture(self, ref: PageRef, host: SimHost, room: int) -> list[bytes]:
        """Elements without links and with hardly a word, as most of a real page is made of."""
        stream = self._layout.draws.stream("furniture", *ref)
        chosen: list[bytes] = []
        if room > len(_INLINE):
            chosen.append(_INLINE)
            room -= len(_INLINE)
        while room > 0:
            label = pick_next(stream, self._anchor_texts(host.language))
            piece = encode(_CARD.format(number=int(stream.random() * 1e6), label=label), host.encoding)
            chosen.append(piece)
            room -= len(piece)
        return chosen

    def _reworded(self, pieces: list[bytes], ref: PageRef, host: SimHost) -> list[bytes]:
        """The same paragraphs with a few words exchanged."""
        script = SCRIPTS[host.language]
        stream = self._layout.draws.stream("reworded", *ref)
        text = b"\0".join(pieces).decode(host.encoding)
        words = text.split(" ") if script.space else list(text)
        if not words:  # a page so small that it has no room for prose
            return pieces
        for _ in range(max(len(words) // _WORDS_PER_CHANGED_WORD, 1)):
            place = int(stream.random() * len(words))
            # Words that touch markup stay: only the wording differs.
            if not set(words[place]) & set("<>\0&;"):
                words[place] = pick_next(stream, script.words)
        return encode(script.space.join(words), host.encoding).split(b"\0")

    def _encoded_paragraphs(self, language: str, encoding: str) -> tuple[bytes, ...]:
        return tuple(encode(f"<p>{text}</p>\n", encoding) for text in self._texts(language))

    def _markup(self, ref: PageRef, shown: PageRef, host: SimHost, version: int) -> Markup:
        stream = self._layout.draws.stream("wording", *shown)
        links = self._layout.links(shown)
        anchors = [self._anchor(shown, host, link, stream) for link in links]
        traps = "".join(f'<li><a href="{path}">{path}</a></li>' for path in trap_entries(host, shown))
        title = phrase(stream, host.language, 5)
        if (topic := self._layout.topic(shown)) and stream.random() < _TOLD_IN_TITLE:
            title = f"{self._topic_phrase(topic, stream)} {title}"
        head = _HEAD.format(
            language=host.language,
            charset="" if host.is_encoding_in_header else f'<meta charset="{host.encoding}">\n',
            base='<base href="/">\n' if host.has_base_element else "",
            title=f"{title} {shown.page}",
            description=phrase(stream, host.language, 14),
            robots='<meta name="robots" content="noindex">\n' if self._layout.kind(ref) is PageKind.NOINDEX else "",
            canonical=escape(self._url(ref)),
            alternates=self._alternates(shown, host, links),
            site=host.name,
            navigation="\n".join(f"<li>{anchor}</li>" for anchor in anchors[:_NAVIGATION_LINKS]),
            image=f"/img/{shown.page}.gif",
            alt=phrase(stream, host.language, 4),
            version=version,
        )
        rest = "\n".join(f"<li>{anchor}</li>" for anchor in anchors[_NAVIGATION_LINKS:])
        return Markup(head, _RELATED.format(links=rest, traps=traps), _FOOT.format(site=host.name))

    def _alternates(self, ref: PageRef, host: SimHost, links: tuple[Link, ...]) -> str:
        """`hreflang` of the page itself, and of other hosts only where the page links to them as well."""
        seen = {host.language: self._url(ref)}
        for to, nofollow in links:
            if to.page == 0 and not nofollow:
                seen.setdefault(self._layout.host(to.host).language, self._url(to))
        return "".join(
            f'<link rel="alternate" hreflang="{language}" href="{escape(url)}">\n' for language, url in seen.items()
        )

    def _topic_phrase(self, topic: int, stream: random.Random) -> str:
        words = self._topic_words(topic)
        return f"{pick_next(stream, words)} {pick_next(stream, words)}"

    def _anchor(self, ref: PageRef, host: SimHost, link: Link, stream: random.Random) -> str:
        rel = ' rel="nofollow"' if link.nofollow else ""
        text = pick_next(stream, self._anchor_texts(host.language))
        if (topic := self._layout.topic(link.to)) and stream.random() < _TOLD_IN_ANCHOR:
            text = f"{self._topic_phrase(topic, stream)} {text}"
        href = self._href(ref, host, link.to, stream.random())
        if self._layout.is_strewn and not self._layout.is_navigation(link.to):
            href = varied(href, stream)
        return f'<a href="{escape(href)}"{rel}>{text}</a>'

    def _href(self, ref: PageRef, host: SimHost, to: PageRef, chance: float) -> str:
        """The link as an author might write it: whole, relative, or from the root."""
        if to.host != ref.host or chance < 0.12:
            return self._url(to)
        path = self._layout.path(to)
        if chance < 0.35:
            return relative(path, "/" if host.has_base_element else self._layout.path(ref))
        return f"{path}#part-{to.page % 7}" if chance > 0.9 else path

    def _url(self, ref: PageRef) -> str:
        return origin_of(self._layout.host(ref.host).name, self._port) + self._layout.path(ref)


def varied(href: str, stream: random.Random) -> str:
    """Another way to write a link to the same page, more often than not."""
    href, mark, fragment = href.partition("#")
    path, _, query = href.partition("?")
    variables = query.split("&") if query else []
    if stream.random() < 0.5:
        variables.reverse()
    if stream.random() < _TRACKED_SHARE:
        variables.append(f"{TRACKING}source={pick_next(stream, _SOURCES)}")
    if not mark and stream.random() < _FRAGMENT_SHARE:
        mark, fragment = "#", f"part-{int(stream.random() * 9)}"
    return path + ("?" + "&".join(variables) if variables else "") + mark + fragment


def encode(text: str, encoding: str) -> bytes:
    """The text in the encoding; what it cannot say becomes a character reference."""
    return text.encode(encoding, "xmlcharrefreplace")


def relative(path: str, page: str) -> str:
    """The path as seen from a page of the same host."""
    path, mark, query = path.partition("?")
    here = posixpath.dirname(page.partition("?")[0])
    shortest = posixpath.relpath(path, here)
    return ("./" if path == "/" and shortest == "." else shortest + "/" * (path == "/")) + mark + query


_HEAD = """<!doctype html>
<html lang="{language}">
<head>
{charset}<title>{title}</title>
{base}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{description}">
{robots}<link rel="canonical" href="{canonical}">
{alternates}<link rel="stylesheet" href="/style.css">
<meta property="og:title" content="{title}">
<meta property="og:type" content="article">
<script>window.page = {{"version": {version}}};</script>
</head>
<body>
<header id="top"><p class="brand">{site}</p>
<nav><ul>
{navigation}
</ul></nav></header>
<main>
<article>
<h1>{title}</h1>
<figure><img src="{image}" alt="{alt}" width="640" height="360" loading="lazy"></figure>
"""
_RELATED = """</article>
<aside><ul>
{links}
{traps}</ul></aside>
</main>
"""
_CARD = """<div class="card card--teaser card--{number}" data-id="{number}" data-track="impression,list">
<div class="card__media ratio ratio--16x9">
<img class="lazy" src="/img/t-{number}.gif" alt="" width="320" height="180"></div>
<div class="card__body"><span class="card__label label label--small">{label}</span>
<div class="card__meta"><time datetime="2026-01-01">1</time>
<svg class="icon" viewBox="0 0 16 16"><path d="M8 1 15 8 8 15"/></svg></div></div></div>
"""
# A stylesheet and a script of the usual kind, inline.
_INLINE = (
    "<style>"
    + "".join(f".card--{n}{{margin:{n}px 0 0 {n}px;padding:0.{n}em;display:flex}}" for n in range(20))
    + "</style>\n<script>"
    + "".join(f"window.dataLayer.push({{'event':'view','slot':{n}}});" for n in range(20))
    + "</script>\n"
).encode("ascii")
_FOOT = """<footer><p>© {site}</p>
<p class="tools"><button onclick="history.back()">←</button></p></footer>
</body>
</html>
"""
