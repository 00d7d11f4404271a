"""Orders in which a graph can be crawled, each as the sequence of its pages. They see only what a crawler would."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lycosa.bench.order.graph import LinkGraph
from lycosa.inspect.ranks import EdgeList, page_rank
from lycosa.policy.importance import HIGHEST, LOWEST, Importance, VisitedPage
from lycosa.url.remembered import SENT_AGAIN

Ranks = NDArray[np.float64]
Sequence = Iterator[int]
PARTIAL_STEPS = 50
# For each page of the graph, as a crawl sets it by the URLs it expects; then links in memory, of visited pages.
# Visits that are settled together.
VISITS_AT_ONCE = 16
BYTES_PER_PAGE = 14
REMEMBERED_LINKS_PER_PAGE = 10


def breadth(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """As found."""
    waiting, known = deque(graph.seeds), set(graph.seeds)
    links, starts = graph.links.tolist(), graph.starts.tolist()
    while waiting:
        page = waiting.popleft()
        yield page
        for link in links[starts[page] : starts[page + 1]]:
            if link not in known:
                known.add(link)
                waiting.append(link)


def omniscient(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """By true PageRank, among what was found."""
    value: list[float] = ranks.tolist()
    return _best_first(graph, lambda page, links, visited: [(link, value[link]) for link in links])


def in_degree(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """By how many visited pages link to it."""
    counts = [0] * graph.pages

    def gain(page: int, links: list[int], visited: bytearray) -> list[tuple[int, float]]:
        for link in links:
            counts[link] += 1
        return [(link, counts[link]) for link in links]

    return _best_first(graph, gain)


def opic(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """By cash: a page gives all it has to its links, in equal parts, at its visit."""
    cash = [0.0] * graph.pages
    for seed in graph.seeds:
        cash[seed] = 1 / len(graph.seeds)

    def gain(page: int, links: list[int], visited: bytearray) -> list[tuple[int, float]]:
        if not links:
            return []
        share, cash[page] = cash[page] / len(links), 0.0
        for link in links:
            cash[link] += share
        return [(link, cash[link]) for link in links]

    return _best_first(graph, gain)


def partial_rank(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """By PageRank of what was seen so far, computed anew each time 2 % more were visited."""
    step = max(1, graph.pages // PARTIAL_STEPS)
    is_known, is_visited = np.zeros(graph.pages, np.bool_), np.zeros(graph.pages, np.bool_)
    is_known[graph.seeds] = True
    edges = graph.edges()
    partial: Ranks | None = None
    while (is_known & ~is_visited).any():
        seen = is_visited[edges.sources]
        known = np.flatnonzero(is_known)
        number = np.cumsum(is_known, dtype=np.int32) - np.int32(1)
        part = EdgeList(len(known), number[edges.sources[seen]], number[edges.targets[seen]])
        scores = np.full(graph.pages, 0.0)
        scores[known] = page_rank(part, tolerance=1e-4, start=None if partial is None else partial[known] + 1e-9)
        partial = scores
        # What a stretch finds has a score from the next one on; until then it comes after all others.
        stretch = sorted(np.flatnonzero(is_known & ~is_visited).tolist(), key=scores.__getitem__, reverse=True)
        for page in stretch[:step]:
            is_visited[page] = True
            is_known[graph.links[graph.starts[page] : graph.starts[page + 1]]] = True
            yield page


def best(graph: LinkGraph, ranks: Ranks) -> Sequence:
    """The product's own: ten classes, in each of them as found; what moves up leaves a copy that is passed over."""
    return ours(graph, Importance(BYTES_PER_PAGE * graph.pages, REMEMBERED_LINKS_PER_PAGE * graph.pages))


def ours(graph: LinkGraph, importance: Importance, moves: list[int] | None = None) -> Sequence:
    """By the classes that an importance gives; `moves` takes in how often one that waits moved up.

    As in a crawl, a link can only be moved when its URL comes along: when it is met for the first time, and then now
    and again (`url/remembered.py`).
    """
    marks = fingerprints(graph)
    lanes: list[deque[int]] = [deque() for _ in range(HIGHEST + 1)]
    lanes[HIGHEST].extend(graph.seeds)
    visited, met = bytearray(graph.pages), np.zeros(graph.pages, np.int64)
    is_known = np.zeros(graph.pages, np.bool_)
    is_known[graph.seeds] = True
    column, comes_along = marks.tobytes(), np.array([1, *sorted(SENT_AGAIN)])
    while group := _taken(lanes, visited, VISITS_AT_ONCE):
        yield from group
        for page in group:
            links = graph.links[graph.starts[page] : graph.starts[page + 1]]
            met[links] += 1
            is_named = np.isin(met[links], comes_along)
            named, others = links[is_named], links[~is_named]
            found = marks[named].tobytes() + marks[others].tobytes()
            classes = importance.settle(VisitedPage(column[8 * page : 8 * page + 8], found, len(named)))
            for link, number in zip(named.tolist(), classes, strict=True):
                if number and not visited[link]:
                    if moves is not None:
                        moves[0] += bool(is_known[link])
                    lanes[number].append(link)
                elif not is_known[link]:
                    lanes[LOWEST].append(link)
            is_known[named] = True


def _taken(lanes: list[deque[int]], visited: bytearray, count: int) -> list[int]:
    """The next pages, from the highest lane that has any."""
    taken: list[int] = []
    for lane in reversed(lanes):
        while lane and len(taken) < count:
            page = lane.popleft()
            if not visited[page]:
                visited[page] = 1
                taken.append(page)
    return taken


def fingerprints(graph: LinkGraph) -> NDArray[np.uint64]:
    """As the frontier has them, big end first: two bytes of the host, six of the URL."""
    pages = _stirred(np.arange(1, graph.pages + 1, dtype=np.uint64)) >> np.uint64(16)
    hosts = _stirred(graph.hosts.astype(np.uint64) + np.uint64(7)) >> np.uint64(48)
    marks: NDArray[np.uint64] = (hosts << np.uint64(48) | pages).astype(">u8")
    return marks


def _stirred(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers as a hash would have them."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    stirred: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return stirred


Gain = Callable[[int, list[int], bytearray], list[tuple[int, float]]]


def _best_first(graph: LinkGraph, gain: Gain) -> Sequence:
    """The page with the highest score next; `gain` tells the scores that a visit changes, which only grow."""
    visited = bytearray(graph.pages)
    heap = [(float("-inf"), number, seed) for number, seed in enumerate(graph.seeds)]
    links, starts = graph.links.tolist(), graph.starts.tolist()
    found = len(heap)
    while heap:
        page = heapq.heappop(heap)[2]
        if visited[page]:
            continue
        visited[page] = 1
        yield page
        for link, score in gain(page, links[starts[page] : starts[page + 1]], visited):
            if not visited[link]:
                found += 1
                heapq.heappush(heap, (-score, found, link))


ORDERS: dict[str, Callable[[LinkGraph, Ranks], Sequence]] = {
    "omniscient": omniscient,
    "breadth-first": breadth,
    "in-degree so far": in_degree,
    "OPIC": opic,
    "partial PageRank": partial_rank,
    "lycosa": best,
}
