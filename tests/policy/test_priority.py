"""The class with which a target enters the front queues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.model import MIN_PRIORITY
from lycosa.policy.priority import ORDINARY, SITEMAP, Order, sitemap_class, sitemap_weight


@pytest.mark.parametrize("order", ["breadth", "depth"])
def test_by_breadth_or_depth_only_arrival_decides(order: Order) -> None:
    assert sitemap_class(order, 1.0) == ORDINARY


@given(st.one_of(st.none(), st.floats(-10, 10)))
def test_a_sitemap_cannot_lift_its_own_urls_over_the_crawls_choice(priority: float | None) -> None:
    assert MIN_PRIORITY <= sitemap_class("best", priority) < SITEMAP


def test_a_sitemaps_priorities_order_its_urls() -> None:
    classes = [sitemap_class("best", priority) for priority in (0.0, 0.5, 1.0)]
    assert classes == sorted(classes)
    assert classes[0] < classes[2]
    assert sitemap_class("best", None) == classes[1]


def test_what_a_sitemap_prefers_gets_more_of_its_cash() -> None:
    weights = [sitemap_weight(sitemap_class("best", priority)) for priority in (0.0, 0.5, 1.0)]
    assert weights == sorted(set(weights))
    assert (weights[0], weights[-1]) == (0.5, 1.5)
