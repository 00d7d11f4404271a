"""A few of the made-up sites, crawled by the real command; `python -m tests.site.web.run` crawls all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.inspect.left_out import left_out, left_out_of, unseen_share
from lycosa.store.folder import CrawlFolder

from .web.run import SITES, crawl_site, without_port
from .web.walk import walk

QUICK = (
    "about-captchas",
    "partial-copy",
    "event-calendar",
    "photo-gallery",
    "translations",
    "deep-tree",
    "manual-versions",
    "people-by-name",
    "timetables",
    "calendar-in-numbers",
    "growing-path",
    "orders-of-a-list",
    "sessions-in-paths",
    "sessions-in-queries",
    "sitemaps-of-sitemaps",
)


# The others as well: `python -m tests.site.web.run --walk`.
@pytest.mark.parametrize("name", QUICK[::3])
def test_the_good_pages_of_a_made_up_site_are_those_that_links_lead_to(name: str) -> None:
    site = SITES[name]()
    walked = walk(site)
    assert len(walked.good) == site.total
    assert walked.missing == []


@pytest.mark.parametrize("name", QUICK)
def test_a_made_up_site_is_found_whole_and_its_endless_part_is_left(name: str, tmp_path: Path) -> None:
    result = crawl_site(name, tmp_path / name)
    assert not result.faults, f"{result.row()}\n{result.said}"


def test_an_answer_depends_on_nothing_but_what_was_asked() -> None:
    for name in ("newspaper", "maze-of-words", "wild-names-new-text"):
        one, other = SITES[name](), SITES[name]()
        for target in ("/", "/about", "/stories/", "/robots.txt", "/nowhere"):
            assert one.answer(f"www.{name}.test", target) == other.answer(f"www.{name}.test", target)


def test_what_was_left_out_is_named_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = CrawlFolder(tmp_path / "maze")
    result = crawl_site("maze-of-words", folder.path)
    assert (result.exit_code, result.faults) == (3, [])
    (found,) = left_out(folder)
    assert (found.host, found.reason) == ("www.maze-of-words.test", "endless")
    assert unseen_share([found], result.found) > 0.05
    urls = [each.url for each in left_out_of(folder, found.host)]
    site = SITES["maze-of-words"]()
    assert len(urls) == found.urls
    assert all(site.is_endless(without_port(url)) for url in urls)
    assert main(["why", "--left-out", found.host, "--folder", str(folder.path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == found.urls
