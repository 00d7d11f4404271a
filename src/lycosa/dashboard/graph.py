"""The page of the link graph: which hosts link to which, the pages that count most, and how much was found when."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlencode

from lycosa.dashboard.markup import Html, card, host_link, link, plot, table, tag, text, url_link
from lycosa.errors import LycosaError, SettingsError
from lycosa.inspect.coverage import coverage, url_graph
from lycosa.inspect.coverage_course import CoverageRow
from lycosa.inspect.link_graph import HostGraph, add_link_graph, host_graph
from lycosa.inspect.opened import open_folder, readable_tables
from lycosa.inspect.ranks import page_rank
from lycosa.observe.host_picture import NARROW, WIDE, Frame, arrange
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace
from lycosa.store.read import connect

# Of larger crawls ranks and coverage are left to `lycosa graph`: they would keep a core busy for minutes.
MAX_RANKED_LINKS = 1_000_000
MAX_CONNECTIONS_SHOWN, MAX_PAGES_SHOWN = 12, 12
# What was computed is shown until so many times as long has passed.
_REST_SHARE = 50.0
_COMMAND = "lycosa graph --coverage"
_FIRST_PAGE = "SELECT epoch(min(fetched_at)) FROM pages WHERE outcome IN ('stored', 'duplicate', 'unchanged')"


class GraphFigures(NamedTuple):
    """The graph at one moment. `top` and `course` are empty where the crawl is too large for them."""

    hosts: HostGraph
    began_at: float
    top: list[tuple[str, float]]
    course: list[CoverageRow]


class GraphPage:
    """The graph of one crawl, computed when somebody asks, and then kept for a while."""

    def __init__(self, place: Path | ObjectPlace, frontier: str | None) -> None:
        self._place = place
        self._frontier = frontier
        self._kept: GraphFigures | None = None
        self._good_until = 0.0
        self._computing = Lock()

    def page(self) -> Html:
        """The page as HTML. Raises `LycosaError`."""
        if self._frontier:
            raise SettingsError("seen from its frontier alone a crawl has no links: they are on its machines")
        with self._computing:
            if self._kept is None or time.monotonic() >= self._good_until:
                began_at = time.thread_time()
                self._kept = self._read()
                self._good_until = time.monotonic() + _REST_SHARE * (time.thread_time() - began_at)
            return _page(self._kept)

    def _read(self) -> GraphFigures:
        folder = open_folder(self._place)
        try:
            with readable_tables(folder):
                return _figures(folder)
        except OSError as error:  # a part was set aside just now
            raise LycosaError(f"{folder.path}: its links cannot be read: {error}") from None


def _figures(folder: CrawlFolder) -> GraphFigures:
    hosts = host_graph(folder)
    if hosts.share < 1 or not 0 < hosts.looked_at <= MAX_RANKED_LINKS:
        return GraphFigures(hosts, 0.0, [], [])
    with connect(folder) as connection:
        connection.execute("SET threads = 1")
        add_link_graph(connection)
        graph = url_graph(connection)
        ranks = page_rank(graph.edges)
        first = ranks.argsort(kind="stable")[::-1][:MAX_PAGES_SHOWN].tolist()
        course = coverage(connection, graph, graph.urls, lambda number, change: None)
        [(began_at,)] = connection.execute(_FIRST_PAGE).fetchall()
    return GraphFigures(hosts, began_at or 0.0, [(graph.urls[at], float(ranks[at])) for at in first], course)


def _page(figures: GraphFigures) -> Html:
    if not figures.hosts.looked_at:
        return text(tag("h1", "Links"), tag("p", "No page with links is in the tables yet.", class_="none"))
    return text(
        tag("h1", "Links"),
        _hosts(figures.hosts),
        _found(figures),
        tag("div", _top(figures), _connections(figures.hosts), class_="pair"),
    )


# ---- hosts


def _hosts(graph: HostGraph) -> Html:
    if len({host for each in graph.links for host in each[:2]}) < 2:
        return card("Hosts and their links", tag("p", "there is one host", class_="none"), key="hosts")
    sample = f" Of the newest {graph.share:.0%} of all links." if graph.share < 1 else ""
    pictures = [tag("div", _picture(graph, frame), class_=name) for name, frame in (("wide", WIDE), ("narrow", NARROW))]
    return card(
        "Hosts and their links",
        pictures,
        note=f"A larger circle is linked to by more from other hosts; each leads to its host.{sample}",
        key="hosts",
    )


def _picture(graph: HostGraph, frame: Frame) -> Html:
    title, drawn, circles, labels = arrange(graph.links, frame)
    return tag(
        "svg",
        tag("title", title),
        [
            tag("path", tag("title", line.told), d=line.path, stroke_width=f"{line.width:.1f}", opacity=".45")
            for line in drawn
        ],
        [
            link(
                f"/host?{urlencode({'name': each.host})}",
                tag("circle", tag("title", each.told), cx=f"{each.x:.0f}", cy=f"{each.y:.0f}", r=f"{each.radius:.1f}"),
                aria_label=each.told,
            )
            for each in circles
        ],
        [tag("text", each.name, x=f"{each.x:.0f}", y=f"{each.y:.0f}") for each in labels],
        viewBox=f"0 0 {frame.width} {frame.height}",
        class_="hosts",
        role="group",
        aria_label=title,
    )


def _connections(graph: HostGraph) -> Html:
    between = [each for each in graph.links if each.source != each.target][:MAX_CONNECTIONS_SHOWN]
    rows = [(host_link(each.source), host_link(each.target), each.links) for each in between]
    return card(
        "Strongest connections",
        table(("from", "to", "links"), rows, caption="Hosts that link to other hosts most", empty="there is one host"),
        key="connections",
    )


# ---- pages


def _found(figures: GraphFigures) -> Html:
    if not figures.course:
        return card(
            "How much was found",
            tag(
                "p",
                f"More than {MAX_RANKED_LINKS:,} links are too many to be ranked in passing: ",
                tag("code", _COMMAND),
            ),
            key="found",
        )
    at = [round(figures.began_at + row.seconds, 1) for row in figures.course]
    shares = [
        ("pages", [row.pages for row in figures.course]),
        ("PageRank", [row.page_rank for row in figures.course]),
    ]
    lines = [{"name": name, "values": [round(100 * share, 2) for share in values]} for name, values in shares]
    last = figures.course[-1]
    return card(
        "How much was found",
        plot(
            "coverage", "Found until then, in % of all that is known", json.dumps({"at": at, "lines": lines}), unit="%"
        ),
        note=f"Of all pages that the crawl knows of, {last.pages:.1%} were found; they have {last.page_rank:.1%} of the"
        f" PageRank and {last.authority:.1%} of the authority (HITS). Against a list: {_COMMAND} --reference FILE",
        key="found",
    )


def _top(figures: GraphFigures) -> Html:
    rows: Iterable[tuple[Html, str]] = [(url_link(url), f"{100 * rank:.2g} %") for url, rank in figures.top]
    return card(
        "Pages that count most",
        table(("page", "PageRank"), rows, caption="Pages with the highest PageRank", empty="not computed"),
        key="top",
    )
