from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from lycosa.simweb import PageKind, PageRef, WebPlan
from lycosa.simweb.layout import Layout, RedirectEnding
from lycosa.simweb.truth import truth_of
from lycosa.simweb.web import seeds_of


def _all(layout: Layout) -> list[PageRef]:
    return [PageRef(h, p) for h in range(layout.plan.hosts) for p in range(layout.plan.pages_per_host)]


def test_a_path_leads_back_to_its_page() -> None:
    layout = Layout(WebPlan(hosts=5, pages_per_host=200))
    assert all(layout.page_at(ref.host, layout.path(ref)) == ref for ref in _all(layout))


@pytest.mark.parametrize("path", ["/nowhere", "/news/river-999.html", "/news/river-0.html", "//", "/blog/x-1.htm"])
def test_a_path_of_no_page_leads_nowhere(path: str) -> None:
    assert Layout(WebPlan()).page_at(0, path) is None


def test_every_page_is_as_its_share_says() -> None:
    layout = Layout(WebPlan(hosts=50, pages_per_host=400))
    kinds = Counter(layout.kind(ref) for ref in _all(layout))
    assert set(kinds) == set(PageKind)
    # Only leaves are special, about 7 pages of 8.
    assert kinds[PageKind.REDIRECT] / kinds.total() == pytest.approx(0.05 * 7 / 8, rel=0.15)
    assert kinds[PageKind.DISALLOWED] / kinds.total() == pytest.approx(0.05 * 7 / 8, rel=0.15)


def test_a_page_of_a_huge_web_costs_no_more_than_one_of_a_small_web() -> None:
    layout = Layout(WebPlan(hosts=10**8, pages_per_host=10**9))
    ref = PageRef(98_765_432, 987_654_321)
    assert layout.page_at(ref.host, layout.path(ref)) == ref
    assert len(layout.links(ref)) >= layout.plan.min_links


def test_every_host_and_every_plain_page_is_reachable() -> None:
    layout = Layout(WebPlan.named("mixed", hosts=60, pages_per_host=80, robots_broken_share=0.1))
    truth = truth_of(layout, 80, seeds_of(layout, 80))
    missed = {page.kind for page in truth.pages.values() if page.is_allowed and page.url not in truth.reachable}
    # Pages behind nofollow links only must not be found; those hosts that no plain page could name are closed.
    assert missed == {PageKind.UNFOLLOWED.value}


def test_the_trees_alone_hold_a_web_together() -> None:
    layout = Layout(WebPlan.named("mixed", hosts=40, pages_per_host=300, min_links=0, max_links=0, orphan_share=0.0))
    truth = truth_of(layout, 80, seeds_of(layout, 80))
    unreached = [p for p in truth.pages.values() if p.is_allowed and p.url not in truth.reachable_by_links]
    assert {page.kind for page in unreached} == {PageKind.UNFOLLOWED.value}


def test_popular_pages_and_hosts_get_most_links() -> None:
    layout = Layout(WebPlan(hosts=40, pages_per_host=100))
    pages: Counter[int] = Counter()
    hosts: Counter[int] = Counter()
    for ref in _all(layout):
        pages.update(link.to.page for link in layout.links(ref))
        hosts.update(link.to.host for link in layout.links(ref) if link.to.host != ref.host)
    assert sum(pages[page] for page in range(10)) > 0.35 * pages.total()
    assert sum(hosts[host] for host in range(4)) > 0.3 * hosts.total()


def test_bench_pages_have_exactly_53_links() -> None:
    layout = Layout(WebPlan.named("bench"))
    assert (layout.plan.hosts, layout.plan.pages_per_host) == (200, 50)
    assert {len(layout.links(PageRef(host, page))) for host in range(0, 200, 20) for page in range(50)} == {53}


def test_a_copy_shows_a_plain_page_of_its_host_from_the_same_folder() -> None:
    layout = Layout(WebPlan(hosts=20, pages_per_host=100))
    copies = [ref for ref in _all(layout) if layout.kind(ref) in (PageKind.COPY, PageKind.NEAR_COPY)]
    assert copies
    for copy in copies:
        original = layout.content_of(copy)
        assert original != copy
        assert original.host == copy.host
        assert layout.kind(original) is PageKind.PLAIN
        assert layout.path(original).rpartition("/")[0] == layout.path(copy).rpartition("/")[0]
        assert layout.links(original) == layout.links(copy)


def test_redirects_come_in_all_sorts_and_end() -> None:
    layout = Layout(WebPlan(hosts=40, pages_per_host=200))
    redirects = [layout.redirect(ref) for ref in _all(layout) if layout.kind(ref) is PageKind.REDIRECT]
    assert {redirect.status for redirect in redirects} == {301, 302, 307, 308}
    assert {redirect.ending for redirect in redirects} == set(RedirectEnding)
    assert {redirect.hops for redirect in redirects} == {1, 2, 3}
    assert all((redirect.to is None) == (redirect.ending is RedirectEnding.LOOP) for redirect in redirects)
    assert all(layout.kind(redirect.to) is PageKind.PLAIN for redirect in redirects if redirect.to)


def test_pages_change_at_their_rates() -> None:
    layout = Layout(WebPlan.named("clean", hosts=20, pages_per_host=20, changes_per_day=(2.0,), day_seconds=10.0))
    days = 25
    changes = [layout.version(ref, days * 10.0).number for ref in _all(layout)]
    mean = sum(changes) / len(changes)
    variance = sum((number - mean) ** 2 for number in changes) / len(changes)
    # A Poisson process has equal mean and variance.
    assert mean == pytest.approx(2.0 * days, rel=0.05)
    assert variance == pytest.approx(2.0 * days, rel=0.25)


def test_versions_follow_one_another_without_gaps() -> None:
    layout = Layout(WebPlan.named("clean", changes_per_day=(1.0,), day_seconds=1.0))
    ref, moments = PageRef(0, 3), [0.0]
    for _ in range(20):
        moments.append(layout.version(ref, moments[-1]).next_change_after)
    versions = [layout.version(ref, moment) for moment in moments]
    assert [version.number for version in versions] == list(range(21))
    assert all(now.next_change_after == after.changed_after for now, after in pairwise(versions))


def test_few_strewn_links_have_been_met_before() -> None:
    layout = Layout(WebPlan.named("strewn", hosts=10, pages_per_host=2_000))
    seen: set[PageRef] = set()
    new = links = 0
    for number in range(100):
        found = {link.to for link in layout.links(PageRef(number % 10, 20 * number))}
        new += len(found - seen)
        links += len(found)
        seen |= found
    assert links == 53 * 100
    assert new > 0.7 * links
    assert len({to.host for to in seen}) == 10


@pytest.mark.parametrize("path", ["/forum/topic?id=3", "/forum/topic?page=1", "/products/?item=3", "/?id=1&page=x"])
def test_a_path_without_a_page_leads_nowhere_where_links_are_strewn(path: str) -> None:
    assert Layout(WebPlan.named("strewn")).page_at(0, path) is None
