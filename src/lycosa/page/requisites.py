"""What a browser loads by itself to show a page: styles, scripts, images, icons, fonts, sound and video, as hrefs.

Frames are not among it: they are pages. Knows no URLs, and not what is fetched. Every pattern takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from turbohtml import Document, Element

from lycosa.page.encoding import charset_of_header
from lycosa.page.media import essence_of
from lycosa.page.selected import tree_of

_LOADED_RELS = frozenset(
    (
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "icon",
        "manifest",
        "mask-icon",
        "modulepreload",
        "preload",
        "stylesheet",
    )
)
# Where an element names what it shows. What scripts put in place later stands under `data-` mostly.
_SOURCES = {
    "script": ("src",),
    "img": ("src", "data-src"),
    "source": ("src", "data-src"),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "video": ("poster", "src"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "body": ("background",),
    "table": ("background",),
    "td": ("background",),
    "th": ("background",),
}
_SOURCE_SETS = ("srcset", "data-srcset")

_STRING = r""""(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?"""
_URL = rf"""url\(\s*+(?:(?P<quoted>{_STRING})|(?P<bare>(?:[^\s"'()\\]|\\[0-9a-f]{{1,6}}\s?|\\.)*+))"""
# Strings and comments are met so that nothing within them is taken for a rule; a namespace is a name, and no file.
_NAMED = re.compile(
    rf"""/\*.*?(?:\*/|\Z)
    | @namespace\b[^;{{}}]*+
    | @import\s*+(?P<imported>{_STRING})
    | {_URL}
    | image-set\((?P<set>(?:[^()"';{{}}]|{_STRING}|\((?:[^()"';{{}}]|{_STRING})*+\)?)*+)
    | {_STRING}""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_IN_SET = re.compile(rf"type\([^)]*+|{_URL}|(?P<string>{_STRING})", re.IGNORECASE | re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.)|\Z)", re.IGNORECASE | re.DOTALL)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CHARSET_RULE = re.compile(rb'@charset "([\x21-\x7e]{1,40})";')


def requisites_of_html(html: str | bytes, limit: int) -> list[str]:
    """The hrefs of what a page shows, each once: what it looks like first, then what it does, then what is in it."""
    tree = tree_of(html)
    for template in tree.find_all("template"):
        template.decompose()
    return _distinct(_named_by(tree), limit)


def requisites_of_css(css: str, limit: int) -> list[str]:
    """The hrefs of what a stylesheet names: further ones, images, fonts."""
    return _distinct(_named_in(css), limit)


def is_stylesheet(content_type: str, url: str) -> bool:
    """Whether what came is a stylesheet; where nobody says what it is, its name tells."""
    essence = essence_of(content_type)
    return essence == "text/css" or (not essence and url.partition("?")[0].endswith(".css"))


def css_text(body: bytes, content_type: str) -> str:
    """The text of a stylesheet, whose charset is said by its header, or at its beginning; hrefs are ASCII mostly."""
    if body[:2] in _UTF16_MARKS:
        return body.decode("utf-16", "replace")
    rule = _CHARSET_RULE.match(body)
    charset = charset_of_header(content_type) or (rule[1].decode("ascii") if rule else "") or "utf-8"
    try:
        return body.decode(charset, "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def _distinct(hrefs: Iterable[str], limit: int) -> list[str]:
    cleaned = (href.strip() for href in hrefs)
    named = (href for href in cleaned if href and href[0] != "#" and href[:5].lower() != "data:")
    return list(islice(dict.fromkeys(named), limit))


def _named_by(tree: Document) -> Iterator[str]:
    links = [link for link in tree.find_all("link") if _is_loaded(link)]
    yield from filter(None, (link.attr("href") for link in links))
    for style in tree.find_all("style"):
        yield from _named_in(style.text)
    for tag, names in _SOURCES.items():
        for element in tree.find_all(tag):
            yield from filter(None, map(element.attr, names))
            for name in _SOURCE_SETS:
                yield from candidates(element.attr(name) or "")
    for link in links:
        yield from candidates(link.attr("imagesrcset") or "")
    for element in tree.select("[style]"):
        yield from _named_in(element.attr("style") or "")


def _is_loaded(link: Element) -> bool:
    return not _LOADED_RELS.isdisjoint((link.attr("rel") or "").lower().split())


def candidates(srcset: str) -> Iterator[str]:
    """The hrefs of a `srcset`: each ends at white space, or at a comma that is followed by some."""
    is_href = True
    for word in srcset.split():
        rest = word
        while rest:
            if is_href:
                named = rest.lstrip(",")
                href = named.rstrip(",")
                if href:
                    yield href
                is_href = href != named or not named
                break
            _, comma, rest = rest.partition(",")
            is_href = bool(comma)


def _named_in(css: str) -> Iterator[str]:
    for found in _NAMED.finditer(css):
        if (strings := found["set"]) is not None:
            for each in _IN_SET.finditer(strings):
                yield _href(each["quoted"] or each["string"], each["bare"])
        else:
            yield _href(found["imported"] or found["quoted"], found["bare"])


def _href(string: str | None, bare: str | None) -> str:
    if string:
        bare = string[1:].removesuffix(string[0])
    return _ESCAPE.sub(_unescaped, bare) if bare and "\\" in bare else bare or ""


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        number = int(escape[1], 16)
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return "" if escape[2] in (None, "\n") else escape[2]
