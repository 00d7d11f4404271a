from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy._native import Cash
from lycosa.policy.importance import HIGHEST, LOWEST, REACH, GivingRules, Importance, VisitedPage

HOSTS = st.integers(0, 5)
PAGES = st.tuples(HOSTS, st.integers(0, 30))


def mark(host: int, page: int) -> bytes:
    return host.to_bytes(2) + blake2b(f"{host}/{page}".encode(), digest_size=6).digest()


def visited(page: tuple[int, int], *links: tuple[int, int], worth: float = 1.0) -> VisitedPage:
    return VisitedPage(mark(*page), b"".join(mark(*link) for link in links), len(links), worth)


def an_importance(rules: GivingRules | None = None) -> Importance:
    return Importance(10_000_000, 10_000, rules)


def test_a_page_gives_its_cash_to_its_links_in_equal_parts() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1), (1, 2)))
    assert importance.cash_of(mark(1, 1)) == pytest.approx(0.95 * 0.3 / 2)
    assert importance.cash_of(mark(1, 0)) == 0


def test_a_link_to_another_host_counts_ten_of_those_within() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1), (2, 1)))
    assert importance.cash_of(mark(2, 1)) == pytest.approx(10 * importance.cash_of(mark(1, 1)))


def test_what_a_page_was_given_it_passes_on() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1)))
    importance.settle(visited((1, 1), (1, 2)))
    assert importance.cash_of(mark(1, 2)) == pytest.approx(0.95 * (0.3 + 0.95 * 0.3))


def test_a_visited_page_passes_on_what_it_gets_later() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1)))
    importance.settle(visited((1, 2), (1, 0)))
    # The first had given its own at its visit; what came later is 0.95 · 0.3, of which 0.95 goes on.
    assert importance.cash_of(mark(1, 0)) == 0
    assert importance.cash_of(mark(1, 1)) == pytest.approx(0.95 * 0.3 + 0.95**2 * 0.3)


def test_better_content_gives_more_but_within_limits() -> None:
    gained = []
    for worth in (0.0, 0.2, 1.0, 2.0, 100.0):
        importance = an_importance()
        importance.settle(visited((1, 0), (1, 1), worth=worth))
        gained.append(importance.cash_of(mark(1, 1)) / (0.95 * 0.3))
    assert gained == pytest.approx([0.2, 0.2, 1.0, 2.0, 2.0])


def test_a_sitemap_sets_its_own_urls_in_order_and_no_more() -> None:
    importance = an_importance()
    weights = [0.5, 1.5, 99.0]
    importance.settle(VisitedPage(mark(1, 0), mark(1, 1) + mark(1, 2) + mark(1, 3), 3, 1.0, weights))
    assert importance.cash_of(mark(1, 2)) == pytest.approx(3 * importance.cash_of(mark(1, 1)))
    assert importance.cash_of(mark(1, 3)) == importance.cash_of(mark(1, 2))


@pytest.mark.parametrize("pages", range(2, 7))
def test_a_farm_gains_less_than_as_many_hosts(pages: int) -> None:
    farm, hosts = an_importance(), an_importance()
    for number in range(pages):
        farm.settle(visited((1, number), (9, 9)))
        hosts.settle(visited((number * 256 + 1, number), (9, 9)))
    assert farm.cash_of(mark(9, 9)) < hosts.cash_of(mark(9, 9))


def test_a_host_that_takes_many_visits_for_no_income_gives_less() -> None:
    importance = an_importance()
    for number in range(200):
        importance.settle(visited((2, number), (3, number)))
        importance.settle(visited((1, number), (1, number + 1)))
    first = an_importance()
    first.settle(visited((1, 0), (1, 1)))
    before = importance.cash_of(mark(1, 500))
    importance.settle(visited((1, 400), (1, 500)))
    assert importance.cash_of(mark(1, 500)) - before < first.cash_of(mark(1, 1))


def test_one_that_waits_moves_up_and_only_up() -> None:
    importance = an_importance()
    for number in range(50):
        importance.settle(visited((1, number), *((1, 1_000 + 20 * number + m) for m in range(20))))
    before = importance.class_of(mark(1, 1_000))
    moves = [higher for n in range(60, 100) if (higher := importance.settle(visited((2, n), (1, 1_000)))[0])]
    assert moves == sorted(set(moves))
    assert importance.class_of(mark(1, 1_000)) == max([before, *moves]) > 7
    assert importance.settle(visited((3, 0), (1, 1_000))) == bytes([0])


def test_links_that_are_not_named_are_credited_and_do_not_move() -> None:
    importance = an_importance()
    importance.settle(VisitedPage(mark(1, 0), mark(1, 1) + mark(1, 2), 1))
    assert importance.cash_of(mark(1, 2)) == importance.cash_of(mark(1, 1))
    assert (importance.class_of(mark(1, 1)) > 0, importance.class_of(mark(1, 2))) == (True, 0)


def test_a_page_that_links_to_itself_gives_nothing_to_itself() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 0), (1, 1)))
    assert importance.cash_of(mark(1, 1)) == pytest.approx(0.95 * 0.3)


def test_what_arrives_from_elsewhere_gets_as_much_as_links_between_hosts_give() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (2, 1)))
    importance.arrive(mark(3, 1))
    assert importance.cash_of(mark(3, 1)) == pytest.approx(importance.cash_of(mark(2, 1)))


def test_what_is_forgotten_is_new_again_and_what_was_visited_is_not() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1), (1, 2)))
    importance.forget(mark(1, 1))
    importance.note_visited(mark(1, 2))
    assert importance.class_of(mark(1, 1)) == 0
    assert importance.settle(visited((1, 3), (1, 1), (1, 2)))[1] == 0
    assert (importance.class_of(mark(1, 1)) > 0, importance.class_of(mark(1, 2))) == (True, 0)


def test_a_visited_page_is_never_told_to_wait() -> None:
    importance = an_importance()
    importance.settle(visited((1, 0), (1, 1)))
    assert importance.settle(visited((1, 1), (1, 0), (1, 2)))[0] == 0
    assert importance.class_of(mark(1, 0)) == 0


@given(st.lists(st.tuples(PAGES, st.lists(PAGES, unique=True, max_size=12), st.floats(allow_nan=False)), max_size=30))
def test_whatever_is_settled_cash_is_a_number_and_classes_are_one_to_ten(
    visits: list[tuple[tuple[int, int], list[tuple[int, int]], float]],
) -> None:
    importance = Importance(10_000_000, 2_000)
    for page, links, worth in visits:
        classes = importance.settle(visited(page, *links, worth=worth))
        assert len(classes) == len(links)
        assert all(number == 0 or LOWEST <= number <= HIGHEST for number in classes)
        for link in [page, *links]:
            cash = importance.cash_of(mark(*link))
            assert cash >= 0
            assert math.isfinite(cash)


@given(st.integers(0, 2**32), st.integers(1, 400))
def test_memory_stays_within_what_was_allowed(seed: int, pages: int) -> None:
    lot = np.random.default_rng(seed)
    importance = Importance(1, 500)  # as small as it can be
    least = importance.size_bytes
    for _ in range(5):
        found = lot.integers(0, 2**63, pages, dtype=np.uint64)
        links = found.astype(">u8").tobytes()
        importance.settle(VisitedPage(links[:8], links[8:], pages - 1))
    assert importance.size_bytes <= least + 8 * 500


def test_a_table_that_grows_keeps_nearly_everybody() -> None:
    importance, lot = Importance(2**26, 0), np.random.default_rng(1)
    marks = lot.integers(0, 2**63, 450_000, dtype=np.uint64).astype(">u8").tobytes()
    before = importance.size_bytes
    importance.arrive(marks[:8])  # nothing was given yet, so nothing is
    for start in range(0, len(marks), 80_000):
        importance.settle(VisitedPage(bytes(8), marks[start : start + 80_000], 0))
    assert importance.size_bytes == 2 * before
    kept = sum(importance.cash_of(marks[at : at + 8]) > 0 for at in range(0, len(marks), 8))
    assert kept > 0.97 * len(marks) / 8


def test_a_full_bucket_loses_whoever_has_least() -> None:
    importance = Importance(1, 0)
    ids = [number.to_bytes(8) for number in range(1, 9)]  # all in the first bucket, and with its own host the ninth
    for number, each in enumerate(ids):
        for _ in range(number + 1):
            importance.settle(VisitedPage(bytes([9, 9, 9]) + bytes(5), each, 1))
    importance.settle(VisitedPage(bytes([9, 9, 9]) + bytes(5), (100).to_bytes(8), 1))
    assert [importance.cash_of(each) > 0 for each in ids] == [False] + 7 * [True]


@pytest.mark.parametrize(
    ("links", "named", "weights"), [(b"123", 0, b""), (bytes(8), 2, b""), (bytes(8), -1, b""), (bytes(8), 1, b"1")]
)
def test_the_compiled_part_refuses_what_makes_no_sense(links: bytes, named: int, weights: bytes) -> None:
    cash = Cash(1, 0, GivingRules(), REACH)
    with pytest.raises(ValueError, match="link"):
        cash.settle(bytes(8), links, named, 1.0, weights)
