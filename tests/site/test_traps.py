from __future__ import annotations

import pytest

from lycosa.site import traps
from lycosa.site.traps import Yield
from lycosa.site.variants import Sameness

# ---- what visits bring


def test_a_template_closes_when_its_visits_bring_nothing_new_for_long() -> None:
    counts = Yield()
    for _ in range(traps.TEMPLATE_PATIENCE - 1):
        counts = traps.after_visit(counts, is_useful=False)
    assert traps.is_open(counts)
    assert not traps.is_open(traps.after_visit(counts, is_useful=False))
    assert traps.is_open(traps.after_visit(counts, is_useful=True))


def test_a_template_that_brought_much_may_have_a_longer_drought() -> None:
    assert traps.is_open(Yield(1_000, 400, 100))
    assert not traps.is_open(Yield(1_000, 4, 100))
    assert traps.is_open(Yield(1_000, 4, 100), traps.FAMILY_PATIENCE)


def test_a_kind_of_page_is_productive_while_it_is_young_or_useful() -> None:
    assert traps.is_productive(Yield(5, 0, 5))
    assert traps.is_productive(Yield(100, 10, 3))
    assert not traps.is_productive(Yield(100, 9, 3))


# ---- what a domain may cost


def test_an_allowance_grows_with_the_domains_that_link() -> None:
    assert traps.allowance(50, 0) == 50
    assert traps.allowance(50, 3) == 200
    assert traps.allowance(50, 10**6) == 50 * (1 + traps.MAX_REFERRING)
    assert traps.allowance(0, 3) == 0


def test_only_what_opens_up_more_costs_much() -> None:
    assert traps.page_price(has_new_content=True, new=8, known=0) == 1
    assert traps.page_price(has_new_content=True, new=0, known=3) < 0
    assert traps.page_price(has_new_content=False, new=0, known=0) == traps.IDLE_PRICE
    assert traps.page_price(has_new_content=False, new=3, known=30) > traps.page_price(
        has_new_content=True, new=3, known=30
    )


def test_the_more_navigation_a_page_has_the_less_it_costs() -> None:
    prices = [traps.page_price(has_new_content=True, new=8, known=known) for known in range(40)]
    assert prices == sorted(prices, reverse=True)
    assert 0 < prices[20] <= 0.01


@pytest.mark.parametrize("known", range(40))
def test_a_chain_never_pays_for_itself(known: int) -> None:
    assert traps.page_price(has_new_content=True, new=1, known=known) > 0


# ---- mazes


def walked(*pages: tuple[int, int]) -> int:
    strange = 0
    for new, known in pages:
        strange = traps.after_page(strange, new=new, known=known)
    return strange


def test_where_every_page_leads_to_new_ones_only_there_is_a_maze() -> None:
    assert traps.is_maze(walked(*[(8, 0)] * traps.MAZE_PAGES))
    assert traps.is_maze(walked(*[(16, 2)] * traps.MAZE_PAGES))
    assert not traps.is_maze(walked(*[(8, 0)] * (traps.MAZE_PAGES - 1)))


@pytest.mark.parametrize(
    "page",
    [(8, 5), (200, 10), (1, 0), (2, 1), (0, 0), (0, 30)],
    ids=["article", "index", "next-page", "tree", "document", "leaf"],
)
def test_pages_of_real_sites_are_not_strange(page: tuple[int, int]) -> None:
    assert walked(*[page] * 1_000) == 0


def test_an_ordinary_page_now_and_then_is_enough() -> None:
    assert not traps.is_maze(walked(*([(30, 0)] * 5 + [(0, 1)]) * 1_000))


# ---- mirrors


def test_origins_are_mirrors_when_their_paths_agree() -> None:
    assert traps.are_mirrors(Sameness(same=8), is_one_domain=True)
    assert not traps.are_mirrors(Sameness(same=7), is_one_domain=True)
    assert not traps.are_mirrors(Sameness(same=8, different=1), is_one_domain=True)
    assert traps.are_mirrors(Sameness(same=20, different=2), is_one_domain=True)


def test_of_two_domains_some_pages_may_have_been_met_first_on_the_second() -> None:
    assert traps.are_mirrors(Sameness(same=9, different=3), is_one_domain=False)
    assert not traps.are_mirrors(Sameness(same=9, different=4), is_one_domain=False)


def test_of_two_mirrors_one_is_always_the_first() -> None:
    names = ["https://a.test", "http://a.test", "http://www.a.test", "http://b.test:8080", "https://b.test"]
    for one in names:
        for other in names:
            assert traps.is_before(one, other) + traps.is_before(other, one) == (one != other)
    assert traps.is_before("https://a.test", "http://a.test")
    assert traps.is_before("http://a.test", "https://www.a.test")
