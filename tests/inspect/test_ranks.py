from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.inspect.ranks import DAMPING, EdgeList, hits, page_rank

# 0 and 1 link to each other, both to 2; 2 links to 0; 3 links to nobody and is linked by 2.
FOUR = [(0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 3)]
EDGES = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.just(size), st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30)
    )
)


def edge_list(pages: int, pairs: list[tuple[int, int]]) -> EdgeList:
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    return EdgeList(pages, ends[:, 0], ends[:, 1])


def solved(pages: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """PageRank by solving its equations, which has nothing in common with going round by round."""
    follow = np.zeros((pages, pages))
    for source, target in pairs:
        follow[target, source] += 1
    degrees = follow.sum(axis=0)
    follow[:, degrees == 0] = 1 / pages
    follow[:, degrees > 0] /= degrees[degrees > 0]
    ranks: np.ndarray = np.linalg.solve(np.eye(pages) - DAMPING * follow, np.full(pages, (1 - DAMPING) / pages))
    return ranks


def test_the_page_rank_of_four_pages() -> None:
    ranks = page_rank(edge_list(4, FOUR))
    assert ranks == pytest.approx(solved(4, FOUR), abs=1e-7)
    assert ranks.sum() == pytest.approx(1)
    assert ranks.argmax() == 0


@given(EDGES)
def test_page_rank_solves_its_equations(graph: tuple[int, set[tuple[int, int]]]) -> None:
    pages, pairs = graph
    assert page_rank(edge_list(pages, sorted(pairs))) == pytest.approx(solved(pages, sorted(pairs)), abs=1e-6)


def test_the_hits_of_four_pages_are_the_first_eigenvectors() -> None:
    authorities, hubs = hits(edge_list(4, FOUR), tolerance=1e-12, max_rounds=1_000)
    links = np.zeros((4, 4))
    for source, target in FOUR:
        links[source, target] = 1
    for found, square in ((authorities, links.T @ links), (hubs, links @ links.T)):
        _, vectors = np.linalg.eigh(square)
        first = np.abs(vectors[:, -1])
        assert found == pytest.approx(first / first.sum(), abs=1e-6)


def test_each_round_is_told() -> None:
    told: list[tuple[int, float]] = []
    page_rank(edge_list(4, FOUR), lambda number, change: told.append((number, change)))
    assert [number for number, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] < 1e-8 < told[0][1]


def test_a_graph_without_pages_or_links_has_its_answer() -> None:
    assert len(page_rank(edge_list(0, []))) == 0
    assert page_rank(edge_list(2, [])).tolist() == [0.5, 0.5]
    assert [scores.tolist() for scores in hits(edge_list(2, []))] == [[0, 0], [0, 0]]
