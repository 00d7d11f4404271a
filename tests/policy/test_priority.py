"""The class with which a target enters the front queues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.model import MAX_PRIORITY, MIN_PRIORITY
from lycosa.policy.priority import ORDINARY, SEED, SITEMAP, Order, link_class, sitemap_class


def best(depth: int = 1, path_segments: int = 1, has_query: bool = False, is_foreign: bool = False) -> int:
    return link_class("best", depth=depth, path_segments=path_segments, has_query=has_query, is_foreign=is_foreign)


@pytest.mark.parametrize("order", ["breadth", "depth"])
def test_by_breadth_or_depth_only_arrival_decides(order: Order) -> None:
    assert link_class(order, depth=9, path_segments=9, has_query=True, is_foreign=True) == ORDINARY
    assert sitemap_class(order, 1.0) == ORDINARY


def test_best_prefers_what_is_near_a_seed_near_the_root_plain_and_recommended() -> None:
    assert best(depth=1) > best(depth=3)
    assert best(path_segments=1) > best(path_segments=4)
    assert best(has_query=False) > best(has_query=True)
    assert best(depth=2, is_foreign=True) > best(depth=2)


@given(st.integers(0, 1000), st.integers(0, 1000), st.booleans(), st.booleans())
def test_a_link_never_outranks_a_seed(depth: int, segments: int, has_query: bool, is_foreign: bool) -> None:
    assert MIN_PRIORITY <= best(depth, segments, has_query, is_foreign) < SEED <= MAX_PRIORITY


@given(st.one_of(st.none(), st.floats(-10, 10)))
def test_a_sitemap_cannot_lift_its_own_urls_over_the_crawls_choice(priority: float | None) -> None:
    assert MIN_PRIORITY <= sitemap_class("best", priority) < SITEMAP


def test_a_sitemaps_priorities_order_its_urls() -> None:
    classes = [sitemap_class("best", priority) for priority in (0.0, 0.5, 1.0)]
    assert classes == sorted(classes)
    assert classes[0] < classes[2]
    assert sitemap_class("best", None) == classes[1]
