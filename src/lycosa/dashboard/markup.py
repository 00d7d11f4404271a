"""HTML, made so that a text of the web stays a text: whatever is not `Html` already is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import urlencode

from lycosa.inspect.wording import visible, visible_lines

Child = object
MANY_COLUMNS = 4
# They have no end tag.
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "rect"})


class Html(str):
    """Text that is HTML, made by `tag` alone."""

    __slots__ = ()


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """An element. An attribute that is None or False is left out; `class_` is class, `data_x` is data-x."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{text(*children)}</{name}>")


def text(*children: Child) -> Html:
    """Children one after the other: None is nothing, lists are taken apart, all but markup is escaped."""
    return Html("".join(map(_piece, children)))


def lines(value: str) -> Html:
    """A text of many lines, whose lines and tabs stay."""
    return Html(escape(visible_lines(value)))


def link(address: str, /, *children: Child, **attributes: object) -> Html:
    """A link within the dashboard."""
    assert address.startswith("/"), "links to the web are made by `outside`"
    return tag("a", *(children or (address,)), href=address, **attributes)


def outside(url: str) -> Html:
    """A link to a page of the web, which is not told where one came from; only if it can do no harm."""
    if not url.startswith(("http://", "https://")):
        return text(url)
    return tag("a", url, href=url, rel="noreferrer noopener nofollow", target="_blank", class_="outside")


def host_link(host: str) -> Html:
    """To the page of a host."""
    return link(f"/host?{urlencode({'name': host})}", host)


def url_link(url: str, *children: Child) -> Html:
    """To what the crawl knows of a URL."""
    return link(f"/url?{urlencode({'url': url})}", *(children or (url,)))


def card(title: str, *children: Child, note: str = "", key: str = "", class_: str = "") -> Html:
    """A part of a page with its heading."""
    heading = f"h-{key or title.lower().replace(' ', '-')}"
    below = tag("p", note, class_="note") if note else None
    return tag(
        "section", tag("h2", title, id=heading), *children, below, class_=class_ or None, aria_labelledby=heading
    )


def part_place(key: str, part: Html) -> Html:
    """Where a part of a page stands that may be sent anew."""
    return tag("div", part, id=f"part-{key}", class_="part")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, empty: str = "none") -> Html:
    """A table, or the word for an empty one. Columns of numbers stand to the right."""
    rows = list(rows)
    if not rows:
        return tag("p", empty, class_="none")
    kinds = [all(isinstance(row[at], (int, float)) or row[at] is None for row in rows) for at in range(len(columns))]
    classes = ["n" if is_number else None for is_number in kinds]
    head = tag("tr", [tag("th", name, scope="col", class_=kind) for name, kind in zip(columns, classes, strict=True)])
    body = [
        tag("tr", [tag("td", value, class_=kind) for value, kind in zip(row, classes, strict=True)]) for row in rows
    ]
    return tag(
        "div",
        # Of many columns: on a phone one moves it aside rather than reads a letter a line.
        tag(
            "table",
            tag("caption", caption),
            tag("thead", head),
            tag("tbody", body),
            class_="many" if len(columns) > MANY_COLUMNS else None,
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def bars(shares: Sequence[tuple[Child, int]], *, caption: str, kinds: dict[str, str] | None = None) -> Html:
    """Counts as lying bars, each behind its word."""
    shares = [share for share in shares if share[1]]
    if not shares:
        return tag("p", "none", class_="none")
    most = max(count for _, count in shares)
    rows = []
    for word, count in shares:
        wide = max(100 * count / most, 0.8)
        kind = (kinds or {}).get(str(word), "bar")
        # A picture with attributes: a style of its own would need a weaker policy.
        bar = tag(
            "svg",
            tag("rect", class_=kind, width=f"{wide:.1f}", height="8"),
            viewBox="0 0 100 8",
            preserveAspectRatio="none",
            aria_hidden="true",
        )
        rows.append(tag("tr", tag("th", word, scope="row"), tag("td", bar), tag("td", count, class_="n")))
    return tag("table", tag("caption", caption), tag("tbody", rows), class_="bars")


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    """Words and what they are; those without a value are left out."""
    return tag(
        "dl", [(tag("dt", word), tag("dd", value)) for word, value in pairs if value not in ("", None)], class_="facts"
    )


def plot(key: str, title: str, series: str, *, unit: str = "") -> Html:
    """Where a script draws a curve; `series` are its columns as JSON."""
    return tag(
        "figure",
        tag("figcaption", title),
        tag("div", class_="plot", data_plot=key, data_series=series, data_unit=unit, role="img", aria_label=title),
    )


def _piece(child: Child) -> str:
    match child:
        case None:
            return ""
        case Html():
            return child
        case str():
            return escape(visible(child))
        case bool():
            return "yes" if child else "no"
        case int():
            return f"{child:,}"
        case float():
            return f"{child:,.3f}".rstrip("0").rstrip(".")
        case datetime():
            return f"{child:%Y-%m-%d %H:%M:%S} UTC"
        case Iterable():
            return "".join(map(_piece, child))
        case _:
            return escape(visible(child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
