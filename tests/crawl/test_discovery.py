"""What of a page's findings becomes a target."""

from __future__ import annotations

from typing import Any

import msgspec

from lycosa.crawl.discovery import Discovery
from lycosa.model import Kind, Listing, Page, RawLink, Target
from lycosa.page.sitemap import Sitemap, SitemapEntry, SitemapKind
from lycosa.settings import Settings
from lycosa.url.canonical import parse_seeds
from lycosa.url.remembered import Remembered
from lycosa.wiring.worker import make_discovery

SEED = Target("http://a.test/", "a.test", b"seed")


def discovery(**settings: Any) -> Discovery:
    return make_discovery(Settings(scope="any", **settings), parse_seeds([SEED.url]), bytes(16))


def page(*links: RawLink, **fields: Any) -> Page:
    return Page("", "", "", list(links), **fields)


def link(href: str, rel: str = "") -> RawLink:
    return RawLink(href, "anchor", rel)


def test_all_links_are_kept_and_each_becomes_a_target_once() -> None:
    links, found, *_ = discovery().of_page(
        SEED, page(link("/x"), link("/x#y"), link("mailto:a@b"), link("http://b.test/"))
    )
    assert links.targets == ["http://a.test/x", "http://a.test/x", "http://b.test/"]
    assert links.anchors == ["anchor"] * 3
    assert [target.url for target in found] == ["http://a.test/x", "http://b.test/"]
    assert {(target.depth, target.referrer) for target in found} == {(1, SEED.url)}


def test_what_the_frontier_knows_is_not_sent_again() -> None:
    own = discovery()
    found = own.of_page(SEED, page(link("/x"), link("/y"))).new
    assert len(own.of_page(SEED, page(link("/x")))[1]) == 1, "only what was acknowledged is known"
    own.remembered.add([found[0].fingerprint])
    links, again, *_ = own.of_page(SEED, page(link("/x"), link("/y")))
    assert [target.url for target in again] == ["http://a.test/y"]
    assert len(links.targets) == 2


def test_in_the_order_best_links_that_were_sent_are_told_and_sent_again_now_and_then() -> None:
    own = discovery(order="best")
    (x,) = own.of_page(SEED, page(link("/x"))).new
    own.remembered.add([x.fingerprint])
    told = []
    for _ in range(2, 50):
        _, new, again, others, _ = own.of_page(SEED, page(link("/x"), link("/y"), link("/x#again")))
        assert [target.url for target in new] == ["http://a.test/y"]
        assert (others == x.fingerprint) is not (again == [x])
        told.append(bool(again))
    assert [number for number, is_again in enumerate(told, 2) if is_again] == [3, 12, 48]


def test_in_other_orders_what_was_sent_is_not_spoken_of() -> None:
    own = discovery()
    own.remembered.add([own.of_page(SEED, page(link("/x"))).new[0].fingerprint])
    assert own.of_page(SEED, page(link("/x")))[1:4] == ([], (), b"")


def test_memory_of_what_is_known_is_bounded_and_forgets_the_oldest() -> None:
    remembered = Remembered(limit=10)
    numbers = [number.to_bytes(8) for number in range(100)]
    for number in numbers:
        remembered.add([number])
    assert numbers[-1] in remembered
    assert numbers[0] not in remembered
    assert sum(number in remembered for number in numbers) <= 12


def test_links_to_one_foreign_domain_are_limited_and_own_links_are_not() -> None:
    foreign = [link(f"http://h{number}.b.test/") for number in range(10)]
    own = [link(f"/{number}") for number in range(10)]
    links, found, *_ = discovery(max_links_per_domain=3).of_page(SEED, page(*foreign, *own))
    assert len(links.targets) == 20
    assert sum(target.host.endswith("b.test") for target in found) == 3
    assert sum(target.host == "a.test" for target in found) == 10


def test_canonical_and_refresh_resolve_against_the_base() -> None:
    found = discovery().of_page(SEED, page(base="http://b.test/in/", canonical="c", refresh="r")).new
    assert [target.url for target in found] == ["http://b.test/in/c", "http://b.test/in/r"]


def test_a_base_that_is_no_url_is_ignored() -> None:
    links, *_ = discovery().of_page(SEED, page(link("x"), base="http://["))
    assert links.targets == ["http://a.test/x"]


def test_at_the_last_depth_links_are_kept_and_not_followed() -> None:
    links, found, *_ = discovery(max_depth=0).of_page(SEED, page(link("/x")))
    assert (links.targets, found) == (["http://a.test/x"], [])


def test_a_redirect_keeps_depth_and_counts_hops() -> None:
    deep = Target("http://a.test/old", "a.test", b"old", depth=3, attempt=2, redirects=1)
    to, (moved,) = discovery().of_redirect(deep, "/new")
    assert to == moved.url == "http://a.test/new"
    assert (moved.depth, moved.redirects, moved.attempt, moved.referrer) == (3, 2, 0, deep.url)
    assert moved.fingerprint != deep.fingerprint


def test_a_redirect_between_two_forms_of_one_page_is_followed_once() -> None:
    own = discovery(url_rules=["drop:view"])
    (first,) = own.of_page(SEED, page(link("/x"))).new
    to, (second,) = own.of_redirect(first, "/x?view=full")
    assert to == second.url == "http://a.test/x?view=full"
    assert second.fingerprint != first.fingerprint, "though they count as one page, only the second can be fetched"
    _, (back,) = own.of_redirect(second, "/x")
    assert back.fingerprint == first.fingerprint, "and there the loop ends"


ROBOTS = Target("http://a.test/robots.txt", "a.test", b"robots", Kind.ROBOTS, origin="http://a.test")

SITEMAP = Target("http://a.test/s.xml", "a.test", b"sitemap", Kind.SITEMAP, referrer=ROBOTS.url)


def near(**settings: Any) -> Discovery:
    """Of a crawl that stays on the domain of its seed."""
    return make_discovery(Settings(scope="domain", **settings), parse_seeds([SEED.url]), bytes(16))


def index(*locs: str) -> Sitemap:
    return Sitemap(SitemapKind.INDEX, tuple(map(SitemapEntry, locs)))


def test_few_sitemaps_of_strangers_are_read() -> None:
    own = near()
    strangers = [f"http://stranger{number}.example/s.xml" for number in range(100)]
    found = own.of_robots(ROBOTS, [*strangers, "/s.xml", "http://www.a.test/s.xml"])
    hosts = [target.host for target in found]
    assert hosts == ["stranger0.example", "stranger1.example", "stranger2.example", "a.test", "www.a.test"]
    again = [target.host for target in own.of_robots(ROBOTS, strangers)]
    assert again == hosts[:3], "a robots.txt that is read again leads to the same ones"
    sister = msgspec.structs.replace(ROBOTS, url="http://b.a.test/robots.txt", origin="http://b.a.test")
    assert own.of_robots(sister, strangers[50:]) == [], "hosts of one domain have one owner"


def test_an_index_of_a_stranger_leads_to_few_more() -> None:
    own = near()
    (elsewhere,) = own.of_robots(ROBOTS, ["http://cdn.example/index.xml"])
    found = own.of_sitemap(elsewhere, index(*[f"http://cdn.example/{number}.xml" for number in range(1000)]))
    assert len(found) == 2
    assert not own.of_sitemap(found[0], index(*[f"http://cdn.example/x{number}.xml" for number in range(1000)]))


def test_an_index_of_the_crawl_may_be_long() -> None:
    own = near()
    (mine,) = own.of_robots(ROBOTS, ["/index.xml"])
    found = own.of_sitemap(mine, index(*[f"http://a.test/{number}.xml" for number in range(1000)]))
    assert len(found) == 1000


def test_sitemaps_are_read_where_patterns_leave_out_all_but_some_pages() -> None:
    (target,) = near(include=["/page/"]).of_robots(ROBOTS, ["/sitemap.xml"])
    assert target.url == "http://a.test/sitemap.xml"


def test_a_sitemap_is_not_redirected_to_a_stranger() -> None:
    own = near()
    (mine,) = own.of_robots(ROBOTS, ["/s.xml"])
    assert own.of_redirect(mine, "http://stranger.example/s.xml")[1] == []
    assert len(own.of_redirect(mine, "https://www.a.test/s.xml")[1]) == 1
    (elsewhere,) = own.of_robots(ROBOTS, ["http://cdn.example/s.xml"])
    assert len(own.of_redirect(elsewhere, "https://www.cdn.example/s.xml")[1]) == 1
    assert own.of_redirect(elsewhere, "https://other.example/s.xml")[1] == []


def test_what_a_sitemap_says_of_its_pages_goes_with_them() -> None:
    entries = [
        SitemapEntry("http://a.test/often", 1_700_000_000.5, "hourly", 1.0),
        SitemapEntry("http://a.test/seldom", None, "yearly", 0.1),
        SitemapEntry("http://a.test/silent"),
    ]
    sitemap = Sitemap(SitemapKind.URLSET, tuple(entries))
    listings = {each.url[14:]: each.listing for each in near().of_sitemap(SITEMAP, sitemap)}
    often, seldom, silent = listings["often"], listings["seldom"], listings["silent"]
    assert often
    assert seldom
    assert (often.modified_at, seldom.modified_at) == (1_700_000_000, 0)
    assert often.pace > 100 > seldom.pace
    assert often.weight > 100 > seldom.weight
    assert silent is None or (silent.modified_at, silent.pace) == (0, 100)
    # There the priorities divide the cash, from which importance follows.
    ranked = near(order="best").of_sitemap(SITEMAP, sitemap)
    assert {each.listing.weight for each in ranked if each.listing} == {100}


def test_what_says_nothing_of_its_pages_costs_nothing() -> None:
    entries = (SitemapEntry("http://a.test/x"), SitemapEntry("http://a.test/y"))
    assert [each.listing for each in near().of_sitemap(SITEMAP, Sitemap(SitemapKind.URLSET, entries))] == [None, None]


def test_a_feed_speaks_for_pages_of_its_own_host_that_have_a_date() -> None:
    entries = (
        SitemapEntry("http://a.test/new", 1_700_000_000.0),
        SitemapEntry("http://a.test/undated"),
        SitemapEntry("http://b.test/strange", 1_700_000_000.0),
    )
    (told,) = near().of_feed(SEED, Sitemap(SitemapKind.FEED, entries))
    assert (told.url, told.listing) == ("http://a.test/new", Listing(1_700_000_000))


def test_a_sitemap_sets_its_pages_in_order_by_priority_then_by_date() -> None:
    entries = [
        SitemapEntry("http://a.test/plain"),
        SitemapEntry("http://a.test/minor", 9.0, priority=0.1),
        SitemapEntry("http://a.test/old", 1.0, priority=0.8),
        SitemapEntry("http://a.test/new", 2.0, priority=0.8),
        SitemapEntry("http://a.test/dated", 3.0),
    ]
    found = near().of_sitemap(SITEMAP, Sitemap(SitemapKind.URLSET, tuple(entries)))
    assert [target.url.rpartition("/")[2] for target in found] == ["new", "old", "dated", "plain", "minor"]
