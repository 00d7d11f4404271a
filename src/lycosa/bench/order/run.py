"""All orders on one graph: how much of its PageRank each has fetched after how much of the crawl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

import msgspec
import numpy as np

from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import table
from lycosa.bench.order.graph import LinkGraph
from lycosa.bench.order.orders import ORDERS
from lycosa.inspect.ranks import page_rank

SHARES = (0.1, 0.2, 0.5)
_POINTS = 40


class OrderRow(msgspec.Struct, frozen=True):
    """One order: the share of PageRank mass after each share of the crawl, of the first half and in steps."""

    order: str
    mass: list[float]  # at 10, 20 and 50 %
    spam: float  # the share of farms and traps in the first fifth
    course: list[float]  # at each fortieth
    cpu_seconds: float


class OrderResult(msgspec.Struct, frozen=True):
    """What came out on one graph."""

    graph: str
    pages: int
    links: int
    hosts: int
    seeds: int
    spam: float  # the share of farms and traps among its pages, as far as they are known
    rows: list[OrderRow]


def compare_orders(graph: LinkGraph, names: Sequence[str], say: Callable[[str], None]) -> OrderResult:
    """Crawl the graph in each of the orders."""
    say(f"{graph.name}: {graph.pages:,} pages, {len(graph.links):,} links; their PageRank …")
    ranks = page_rank(graph.edges())
    rows = []
    for name in names:
        began, pages = process_time(), []
        tenth = max(1, graph.pages // 10)
        for page in ORDERS[name](graph, ranks):
            pages.append(page)
            if len(pages) % tenth == 0:
                say(f"{name}: {len(pages) / graph.pages:.0%}")
        seconds = process_time() - began
        assert len(pages) == graph.pages, "whatever the order, all of it is crawled in the end"
        mass = np.cumsum(ranks[pages])
        at = [
            max(0, int(share * graph.pages) - 1) for share in (*SHARES, *(n / _POINTS for n in range(1, _POINTS + 1)))
        ]
        shares = [float(mass[place]) for place in at]
        spam = float(graph.is_spam[pages[: max(1, graph.pages // 5)]].mean())
        rows.append(OrderRow(name, shares[: len(SHARES)], spam, shares[len(SHARES) :], seconds))
    hosts = len(np.unique(graph.hosts))
    spam = float(graph.is_spam.mean())
    return OrderResult(graph.name, graph.pages, len(graph.links), hosts, len(graph.seeds), spam, rows)


def cells(result: OrderResult) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the table, in words."""
    columns = ["order", *(f"PageRank at {share:.0%}" for share in SHARES), "CPU s"]
    rows = [[row.order, *(f"{mass:.1%}" for mass in row.mass), f"{row.cpu_seconds:.1f}"] for row in result.rows]
    if result.spam:
        columns.insert(-1, "farms and traps in the first fifth")
        for cell, row in zip(rows, result.rows, strict=True):
            cell.insert(-1, f"{row.spam:.1%}")
    return columns, rows


def markdown(result: OrderResult) -> str:
    """The table as Markdown."""
    size = f"{result.pages:,} pages, {result.links:,} links, {result.hosts:,} hosts, {result.seeds} seeds"
    return f"**{result.graph}**: {size}\n\n{table(*cells(result))}\n"


def drawing(result: OrderResult) -> str:
    """The share of PageRank mass over the share of pages, a line for each order."""
    lines = []
    for number, row in enumerate(result.rows):
        points = [(100 * (place + 1) / _POINTS, 100 * mass) for place, mass in enumerate(row.course)]
        lines.append(PlotLine(row.order, points, is_theory=row.order == "omniscient", colour=number))
    return plot(f"What first: {result.graph}", Axis("% of pages crawled"), Axis("% of PageRank mass"), lines)
