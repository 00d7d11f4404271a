"""`lycosa crawl` of a web whose truth is known: every page once, nothing that is closed, nobody hurried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import Truth, WebPlan

from . import evidence
from .command import Ended, crawl
from .judge import judge
from .witness import WitnessedWeb

SMALL: dict[str, Any] = {"hosts": 40, "pages_per_host": 20, "min_page_bytes": 4_000, "max_page_bytes": 8_000}
# Pages that never change, so that equal pages are equal whenever they are asked for.
STEADY: dict[str, Any] = {"changes_per_day": (0.0,), "is_prerendered": True}
DELAY_SECONDS = 0.1


class Crawled:
    """A finished crawl, its web's truth and log."""

    def __init__(self, plan: WebPlan, space: Path, **settings: Any) -> None:
        self.folder = space / "crawl"
        with WitnessedWeb(plan, space) as web:
            self.ended: Ended = crawl(
                web,
                self.folder,
                *web.seeds,
                min_delay_seconds=DELAY_SECONDS,
                retry_after_seconds=[0.2],
                max_backoff_seconds=1.0,
                circuit_seconds=1.0,
                **settings,
            )
            self.requests = web.requests
            self.truth: Truth = web.truth()
            self.port = web.origin_port

    def assert_exact(self) -> None:
        assert self.ended.exit_code == 0, self.ended.said
        verdict = judge(self.truth, self.requests, self.folder, delay_seconds=DELAY_SECONDS, tries=2)
        assert verdict.faults() == {}
        assert (verdict.extra_requests, verdict.extra_rows) == (0, 0)
        self.assert_counts()
        self.assert_links()
        self.assert_duplicates()

    def assert_counts(self) -> None:
        """The summary, the tables and the truth say the same."""
        rows = Counter(row["outcome"] for row in evidence.pages(self.folder))
        summary = self.ended.summary
        for outcome in ("stored", "duplicate", "moved", "refused"):
            assert summary[outcome] == rows[outcome], outcome
        assert summary["crashed"] == rows["crashed"] == 0
        assert summary["pages"] == sum(self.truth.pages[url].status == 200 for url in self.truth.reachable)
        assert (summary["queued"], summary["delayed"], summary["ending"]) == (0, 0, "finished")

    def assert_links(self) -> None:
        """Every page's links, and no others."""
        found: dict[str, set[str]] = {}
        for row in evidence.links(self.folder):
            # A page in other languages is named in the head, the page itself among them; the truth has what it shows.
            if row["rel"] == "alternate":
                continue
            found.setdefault(row["source"], set()).add(row["target"])
        for url in self.truth.reachable:
            page = self.truth.pages[url]
            if page.status == 200:
                assert found.get(url, set()) == {*page.links, *page.nofollow_links}, url
        assert set(found) <= self.truth.reachable

    def assert_duplicates(self) -> None:
        """Of each group with equal bytes one is stored, and it is the original of the others."""
        rows = {row["url"]: row for row in evidence.pages(self.folder) if row["outcome"] in ("stored", "duplicate")}
        duplicates = {url for url, row in rows.items() if row["outcome"] == "duplicate"}
        expected: set[str] = set()
        for group in self.truth.exact_groups:
            reached = group & set(rows)
            stored = reached - duplicates
            assert len(stored) == 1 or not reached, group
            assert {rows[url]["original"] for url in reached - stored} <= stored
            expected |= reached - stored
        assert duplicates == expected


@pytest.mark.parametrize("profile", ["clean", "mixed"])
def test_a_crawl_is_exact(space: Path, profile: str) -> None:
    plan = WebPlan.named(profile, **SMALL, **STEADY, crawl_delay_share=0.0, slow_seconds=0.1)
    Crawled(plan, space).assert_exact()


@pytest.mark.full
@pytest.mark.parametrize("profile", ["clean", "mixed"])
def test_a_crawl_of_500_hosts_is_exact(space: Path, profile: str) -> None:
    plan = WebPlan.named(profile, hosts=500, pages_per_host=20, **STEADY, crawl_delay_share=0.0)
    Crawled(plan, space).assert_exact()


def test_crawl_delays_of_robots_txt_are_kept(space: Path) -> None:
    plan = WebPlan.named(
        "clean", hosts=6, pages_per_host=6, crawl_delay_share=1.0, crawl_delay_seconds=0.5, **STEADY, max_links=12
    )
    crawled = Crawled(plan, space)
    crawled.assert_exact()
    assert min(gap.seconds for gap in evidence.gaps(crawled.requests)) >= 0.5


# ---- how much, how far


@pytest.fixture(scope="module")
def quiet_web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WitnessedWeb]:
    """One web for many crawls that only differ in what they want of it."""
    plan = WebPlan.named("clean", hosts=12, pages_per_host=10, max_links=20, min_page_bytes=3_000, **STEADY)
    with WitnessedWeb(plan, tmp_path_factory.mktemp("web")) as web:
        yield web


def kept(folder: Path) -> set[str]:
    rows = [row["url"] for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT]
    assert len(rows) == len(set(rows)), "each page once"
    return set(rows)


@pytest.mark.parametrize("limit", [1, 37])
def test_max_pages_is_exact_and_may_be_raised_later(quiet_web: WitnessedWeb, space: Path, limit: int) -> None:
    ended = crawl(quiet_web, space / "c", *quiet_web.seeds, "--max-pages", str(limit))
    assert (ended.exit_code, ended.summary["pages"]) == (0, limit)
    assert len(kept(space / "c")) == limit
    again = crawl(quiet_web, space / "c", "--max-pages", str(limit + 5))
    assert (again.exit_code, again.summary["pages"]) == (0, limit + 5)
    assert len(kept(space / "c")) == limit + 5


def test_scope_host_stays_on_the_host_of_the_seed(quiet_web: WitnessedWeb, space: Path) -> None:
    crawl(quiet_web, space / "c", *quiet_web.seeds, "--scope", "host")
    truth = quiet_web.truth()
    host = truth.pages[truth.seeds[0]].host
    assert kept(space / "c") == {url for url in truth.storable if truth.pages[url].host == host}


def test_include_and_exclude_filter_what_is_followed(quiet_web: WitnessedWeb, space: Path) -> None:
    seed = quiet_web.seeds[0]
    arguments = ("--include", "/$", "--include", "html$", "--exclude", "/blog/", "--exclude", "/news/")
    crawl(quiet_web, space / "c", seed, *arguments)
    found = kept(space / "c")
    assert len(found) > 12
    assert all(url.endswith(("/", "html")) and "/blog/" not in url and "/news/" not in url for url in found)


@pytest.mark.parametrize("depth", [0, 2])
def test_max_depth_is_the_number_of_links_from_a_seed(quiet_web: WitnessedWeb, space: Path, depth: int) -> None:
    crawl(quiet_web, space / "c", *quiet_web.seeds, "--max-depth", str(depth), sitemaps=False)
    assert kept(space / "c") == within(quiet_web.truth(), depth)


def within(truth: Truth, depth: int) -> set[str]:
    """The pages at most this many links away from a seed; a redirect is no link."""
    reached, edge = set(truth.seeds), set(truth.seeds)
    for _ in range(depth):
        edge = _ends(truth, {link for url in edge for link in truth.pages[url].links}) - reached
        reached |= edge
    return {url for url in reached if truth.pages[url].is_allowed and truth.is_storable(url)}


def _ends(truth: Truth, urls: set[str]) -> set[str]:
    ends, waiting = set(), list(urls)
    while waiting:
        page = truth.pages[waiting.pop()]
        if page.url in ends or not page.is_allowed:
            continue
        ends.add(page.url)
        if page.redirects_to:
            waiting.append(page.redirects_to)
    return ends


@pytest.mark.parametrize("order", ["breadth", "depth", "best"])
def test_every_order_finds_everything(quiet_web: WitnessedWeb, space: Path, order: str) -> None:
    ended = crawl(quiet_web, space / "c", *quiet_web.seeds, "--order", order)
    assert ended.exit_code == 0
    assert kept(space / "c") == quiet_web.truth().storable


@pytest.mark.parametrize("workers", [3])
def test_any_number_of_workers_finds_everything_once(quiet_web: WitnessedWeb, space: Path, workers: int) -> None:
    crawl(quiet_web, space / "c", *quiet_web.seeds, workers=workers)
    assert kept(space / "c") == quiet_web.truth().storable


def test_a_revisit_asks_for_changes_only(quiet_web: WitnessedWeb, space: Path) -> None:
    first = crawl(quiet_web, space / "c", *quiet_web.seeds)
    pages = kept(space / "c")
    idle = crawl(quiet_web, space / "c")
    assert (idle.exit_code, idle.summary["pages"]) == (0, first.summary["pages"])
    again = crawl(quiet_web, space / "c", "--revisit", "--once")
    assert again.exit_code == 0
    assert again.summary["changes"] == {"new": 0, "changed": 0, "unchanged": len(pages), "vanished": 0}
    rows = evidence.by_outcome(evidence.pages(space / "c"))
    assert set(rows["unchanged"]) == pages
    assert set(rows["unchanged"].values()) == {1}


def test_the_folder_knows_its_seeds_and_settings(quiet_web: WitnessedWeb, space: Path) -> None:
    crawl(quiet_web, space / "c", *quiet_web.seeds, "--max-pages", "3", "--scope", "host")
    # Only where names resolve is given again: the port of the web's name server may be another one.
    ended = crawl(quiet_web, space / "c", "--max-pages", "0", scope=None)
    assert ended.exit_code == 0
    hosts = {row["host"] for row in evidence.pages(space / "c")}
    assert len(hosts) == 1
