"""Graphs to try orders on: a made-up web with link farms and traps, or the edges of a file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from lycosa.errors import SettingsError
from lycosa.inspect.ranks import EdgeList

SYNTHETIC_PAGES = 200_000
SEEDS = 10
MAX_STARTS = 100


class LinkGraph(NamedTuple):
    """Pages by number with the host of each, and their links one page after the other; where a crawl starts."""

    name: str
    hosts: NDArray[np.int32]
    starts: NDArray[np.int64]  # of page n: links[starts[n] : starts[n + 1]]
    links: NDArray[np.int32]
    seeds: list[int]
    is_spam: NDArray[np.bool_]  # of a farm or a trap, as far as that is known

    @property
    def pages(self) -> int:
        return len(self.hosts)

    def edges(self) -> EdgeList:
        """The same as two columns."""
        sources = np.repeat(np.arange(self.pages, dtype=np.int32), np.diff(self.starts))
        return EdgeList(self.pages, sources, self.links)


# ---- a made-up web


def synthetic(pages: int = SYNTHETIC_PAGES, seed: int = 1) -> LinkGraph:
    """Hosts from large to small, each a tree with navigation; links to others by fame; a tenth farms, a tenth traps."""
    if pages < 1_000:
        raise SettingsError("--pages: a made-up web has at least 1,000")
    lot = np.random.default_rng(seed)
    sizes, kinds = _host_sizes(lot, pages)
    first = np.concatenate([[0], np.cumsum(sizes)])
    hosts = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    good = np.flatnonzero(kinds == "site")
    columns = [_site_links(lot, int(first[host]), int(sizes[host])) for host in good]
    columns += [_farm_links(lot, int(first[host]), int(sizes[host])) for host in np.flatnonzero(kinds == "farm")]
    columns += [_trap_links(lot, int(first[host]), int(sizes[host])) for host in np.flatnonzero(kinds == "trap")]
    columns.append(_foreign_links(lot, first, sizes, kinds))
    columns.append(_ways_in(lot, first, sizes, kinds))
    sources, targets = (np.concatenate([column[end] for column in columns]) for end in (0, 1))
    seeds = [int(first[host]) for host in good[:: max(1, len(good) // SEEDS)][:SEEDS]]
    is_spam = (kinds != "site")[hosts]
    return _whole(f"synthetic, {pages:,} pages", hosts, sources, targets, seeds, is_spam)


Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


def _host_sizes(lot: np.random.Generator, pages: int) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Four fifths of the pages on sites, whose sizes fall off like those of the web's; then farms and traps."""
    count = max(20, pages // 100)
    weight = 1 / np.arange(1, count + 1) ** 0.8
    sizes = np.maximum(1, (weight / weight.sum() * 0.8 * pages).astype(np.int64))
    lot.shuffle(sizes)
    spam = [pages // 500] * 50 + [pages // 200] * 20
    kinds = ["site"] * count + ["farm"] * 50 + ["trap"] * 20
    sizes = np.concatenate([sizes, spam])
    sizes[0] += pages - sizes.sum()
    return sizes, np.array(kinds)


def _site_links(lot: np.random.Generator, first: int, size: int) -> Ends:
    """To its root, its parent, its children and its sections from every page; some across."""
    page = np.arange(1, size)
    fan = 12
    parent = (page - 1) // fan
    sections = np.minimum(size - 1, 1 + np.arange(min(5, size - 1)))
    navigation = np.repeat(np.arange(size), len(sections)), np.tile(sections, size)
    across = lot.integers(0, size, 3 * size), (lot.random(3 * size) ** 3 * size).astype(np.int64)
    pairs = [(page, np.zeros(size - 1, np.int64)), (page, parent), (parent, page), navigation, across]
    return first + np.concatenate([each[0] for each in pairs]), first + np.concatenate([each[1] for each in pairs])


def _farm_links(lot: np.random.Generator, first: int, size: int) -> Ends:
    """Each page to its root, to the next and to twenty others of the farm."""
    page = np.arange(size)
    many = np.repeat(page, 20), lot.integers(0, size, 20 * size)
    ends = [many, (page, np.zeros(size, np.int64)), (page, (page + 1) % size)]
    return first + np.concatenate([each[0] for each in ends]), first + np.concatenate([each[1] for each in ends])


def _trap_links(lot: np.random.Generator, first: int, size: int) -> Ends:
    """A calendar: days before and after, the same day of next month, and the root."""
    page = np.arange(size)
    ends = [(page, np.minimum(size - 1, page + step)) for step in (1, 30, 365)]
    ends += [(page, np.maximum(0, page - 1)), (page, np.zeros(size, np.int64))]
    return first + np.concatenate([each[0] for each in ends]), first + np.concatenate([each[1] for each in ends])


def _foreign_links(
    lot: np.random.Generator, first: NDArray[np.int64], sizes: NDArray[np.int64], kinds: NDArray[np.str_]
) -> Ends:
    """From pages of sites to famous hosts, mostly to their roots. Fame has little to do with size."""
    good = np.flatnonzero(kinds == "site")
    fame = (1 / np.arange(1, len(good) + 1)) ** 0.9
    lot.shuffle(fame)
    count = int(1.2 * sizes[good].sum())
    to = lot.choice(good, count, p=fame / fame.sum())
    sources = lot.integers(0, int(first[good[-1] + 1]), count)
    deep = (lot.random(count) ** 4 * sizes[to]).astype(np.int64)
    return sources, first[to] + np.where(lot.random(count) < 0.5, 0, deep)


def _ways_in(
    lot: np.random.Generator, first: NDArray[np.int64], sizes: NDArray[np.int64], kinds: NDArray[np.str_]
) -> Ends:
    """Some pages of sites lead to each farm and trap; pages of a farm push one page of a site."""
    good, bad = np.flatnonzero(kinds == "site"), np.flatnonzero(kinds != "site")
    last = int(first[good[-1] + 1])
    sources, targets = [lot.integers(0, last, 5 * len(bad))], [np.repeat(first[bad], 5)]
    for host in np.flatnonzero(kinds == "farm"):
        page = np.arange(first[host], first[host] + sizes[host])
        sources.append(page)
        targets.append(np.full(len(page), lot.integers(0, last)))
    return np.concatenate(sources), np.concatenate(targets)


# ---- a file


def from_file(path: Path, seeds: list[str]) -> LinkGraph:
    """The edges of a file: two columns, in Parquet or as text between tabs, blanks or commas; `#` begins a remark.

    Numbers or URLs; URLs tell the hosts, numbers are pages of one. If no start is named, a crawl starts at the first
    page of the file, and where little can be reached from there, at pages with many links too. What cannot be reached
    is left out.
    """
    place = str(path).replace("'", "''")
    if not path.is_file():
        raise SettingsError(f"--edges: there is no file {path}")
    try:
        with duckdb.connect() as database:
            if path.suffix == ".parquet":
                database.execute(f"CREATE VIEW edge_rows AS SELECT * FROM read_parquet('{place}')")  # noqa: S608
            else:
                _read_text(database, path, place)
            return _numbered(database, path.name, seeds)
    except duckdb.Error as error:
        raise SettingsError(f"--edges: {path} cannot be read: {str(error).splitlines()[0]}") from None


def _read_text(database: duckdb.DuckDBPyConnection, path: Path, place: str) -> None:
    """A table of the first two columns, between whatever the first edge has between them."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
        skipped, first = 0, ""
        for line in lines:
            if line.strip() and not line.startswith("#"):
                first = line
                break
            skipped += 1
    between = next((mark for mark in ("\t", ",", " ") if mark in first.strip()), None)
    if between is None:
        raise SettingsError(f"--edges: {path} has no two columns")
    database.execute(
        f"CREATE VIEW edge_rows AS SELECT * FROM read_csv('{place}', auto_detect=false, skip={skipped},"  # noqa: S608
        f" header=false, delim='{between}', quote='', escape='', null_padding=true,"
        " columns={'source': 'VARCHAR', 'target': 'VARCHAR'})"
    )


def _numbered(database: duckdb.DuckDBPyConnection, name: str, seeds: list[str]) -> LinkGraph:
    """Pages by number, in the order in which the file has them."""
    columns = [row[0].replace('"', '""') for row in database.execute("DESCRIBE edge_rows").fetchall()]
    if len(columns) < 2:
        raise SettingsError(f"--edges: {name} has no two columns")
    database.execute(
        "CREATE TABLE pairs AS SELECT row_number() OVER () AS line, * FROM"  # noqa: S608
        f' (SELECT "{columns[0]}"::VARCHAR AS source, "{columns[1]}"::VARCHAR AS target FROM edge_rows)'
        " WHERE source IS NOT NULL AND target IS NOT NULL"
    )
    database.execute(
        """
        CREATE TABLE names AS SELECT name, (row_number() OVER (ORDER BY min(line), name) - 1)::INT AS number FROM
            (SELECT source AS name, 2 * line AS line FROM pairs UNION ALL SELECT target, 2 * line + 1 FROM pairs)
            GROUP BY name
        """
    )
    ends = database.execute(
        "SELECT a.number AS source, b.number AS target FROM pairs JOIN names a ON source = a.name"
        " JOIN names b ON target = b.name"
    ).fetchnumpy()
    host = "regexp_extract(name, '^[a-z]+://([^/:?#]+)', 1)"
    hosts = database.execute(
        f"SELECT (dense_rank() OVER (ORDER BY {host}) - 1)::INT AS host FROM names ORDER BY number"  # noqa: S608
    ).fetchnumpy()["host"]
    if not len(hosts):
        raise SettingsError(f"--edges: {name} has no edges")
    numbers = dict(database.execute("SELECT name, number FROM names WHERE list_contains(?, name)", [seeds]).fetchall())
    if lost := [seed for seed in seeds if seed not in numbers]:
        raise SettingsError(f"--start: {lost[0]} is no page of {name}")
    return _whole(
        name,
        hosts,
        ends["source"],
        ends["target"],
        [numbers[seed] for seed in seeds],
        np.zeros(len(hosts), np.bool_),
    )


# ---- both


def _whole(
    name: str,
    hosts: NDArray[np.int32],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    seeds: list[int],
    is_spam: NDArray[np.bool_],
) -> LinkGraph:
    """The graph of what can be reached, each link once and none to the page itself."""
    joined = np.unique((sources.astype(np.int64) << 32 | targets.astype(np.int64))[sources != targets])
    graph = _rows(name, hosts, joined >> 32, joined & 0xFFFF_FFFF, seeds, is_spam)
    seeds = seeds or _starts(graph)
    reached = _reached(graph, seeds)
    number = np.cumsum(reached) - 1
    kept = joined[reached[joined >> 32]]
    order = np.array(seeds)
    return _rows(
        name,
        hosts[reached],
        number[kept >> 32],
        number[kept & 0xFFFF_FFFF],
        number[order].tolist(),
        is_spam[reached],
    )


def _rows(
    name: str,
    hosts: NDArray[np.int32],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    seeds: list[int],
    is_spam: NDArray[np.bool_],
) -> LinkGraph:
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=len(hosts)))])
    return LinkGraph(name, hosts, starts, targets.astype(np.int32), seeds, is_spam)


def _starts(graph: LinkGraph) -> list[int]:
    """The first page; then, until most is reached, of what is not the page with most links."""
    starts = [0]
    is_reached = _reached(graph, starts)
    while is_reached.mean() < 0.9 and len(starts) < MAX_STARTS:
        starts.append(int(np.where(is_reached, -1, np.diff(graph.starts)).argmax()))
        is_reached |= _reached(graph, starts[-1:])
    return starts


def _reached(graph: LinkGraph, seeds: list[int]) -> NDArray[np.bool_]:
    """What links lead to from the seeds, step by step."""
    is_reached = np.zeros(graph.pages, np.bool_)
    is_reached[seeds] = True
    step = np.array(seeds)
    while len(step):
        lengths = graph.starts[step + 1] - graph.starts[step]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        found = graph.links[np.repeat(graph.starts[step], lengths) + within]
        step = np.unique(found[~is_reached[found]])
        is_reached[step] = True
    return is_reached
