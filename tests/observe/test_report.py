from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.errors import LycosaError
from lycosa.inspect.link_graph import HostLink, host_graph
from lycosa.model import Links, OutcomeKind, Page, Visit
from lycosa.observe import report_svg as svg
from lycosa.observe.report import write_report
from lycosa.observe.report_figures import Skip, TroubledHost, gather
from lycosa.observe.report_page import render
from lycosa.ports import Counts
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.logbook import Incident, note

from ..cli.world import World, crawled
from ..store.samples import response

START = 1_900_000_000.0
HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with crawled(tmp_path_factory.mktemp("report") / "crawl", "--max-pages", "3") as made:
        yield made


async def keep(path: Path, *visits: Visit) -> CrawlFolder:
    folder = CrawlFolder(path)
    folder.create()
    store = FolderStore(folder, 0, Settings(), lambda: START)
    for visit in visits:
        store.put(visit, None, None, Links([], [], []))
    await store.close()
    return folder


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def tags_of(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    return tags


def test_a_crawl_leaves_a_report(world: World) -> None:
    page = world.folder.report.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "URLs are still queued" in page
    assert "a.test" in page
    assert not list(world.folder.path.glob("*.part"))


def test_the_report_loads_and_runs_nothing(world: World) -> None:
    page = world.folder.report.read_text(encoding="utf-8")
    tags = tags_of(page)
    assert not tags.found & {"script", "link", "img", "iframe", "object", "a", "form"}
    assert not {name for name in tags.attributes if name.startswith("on")} | tags.attributes & {"src", "href"}
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page


async def test_hosts_that_link_to_each_other_are_drawn(tmp_path: Path) -> None:
    targets = [f"http://b.test/{HOSTILE}", "http://b.test/2", "http://c.test/"]
    page = await report_of(tmp_path / "two", Links(targets, [""] * 3, [""] * 3))
    assert page.count("a.test → b.test: 2 links") == 2, "once for screens, once for phones"
    assert page.count('class="hosts"') == 2
    assert "Hosts and their links" not in await report_of(tmp_path / "one", Links(["http://a.test/2"], [""], [""]))


async def test_of_many_links_the_newest_are_looked_at(tmp_path: Path) -> None:
    targets = [f"http://b.test/{number}" for number in range(8)]
    await report_of(tmp_path / "one", Links(targets, [""] * 8, [""] * 8))
    folder = CrawlFolder(tmp_path / "one")
    whole, some = host_graph(folder), host_graph(folder, 2)
    assert (whole.looked_at, whole.share) == (8, 1.0)
    assert (some.looked_at, some.share) == (2, 0.25)
    assert some.links == [HostLink("a.test", "b.test", 2)]


async def test_links_that_cannot_be_read_keep_no_crawl_from_its_end(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    folder.create()
    (folder.links / "lycosa-20260101T000000-w0-00000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(LycosaError, match="cannot be written"):
        write_report(folder)


async def report_of(path: Path, links: Links) -> str:
    folder = CrawlFolder(path)
    folder.create()
    store = FolderStore(folder, 0, Settings(), lambda: START)
    visit = Visit("http://a.test/", "a.test", START, OutcomeKind.STORED, 200, "text/html", out_links=len(links.targets))
    store.put(visit, response(visit.url, b"x"), Page("", "", "x", []), links)
    await store.close()
    write_report(folder)
    return folder.report.read_text(encoding="utf-8")


async def test_figures_count_what_happened(tmp_path: Path) -> None:
    folder = await keep(
        tmp_path / "crawl",
        Visit("http://a/", "a", START, OutcomeKind.STORED, 200, "text/html", "utf-8", "en-GB", fetch_seconds=0.03),
        Visit(
            "http://a/2", "a", START + 10, OutcomeKind.DUPLICATE, 200, original="http://a/", depth=2, body_bytes=5000
        ),
        Visit("http://b/", "b", START + 20, OutcomeKind.FAILED, 0, reason="dns", detail="no such name"),
        Visit("http://b/2", "b", START + 20, OutcomeKind.FAILED, 500, reason="status", detail="500", fetch_seconds=3.0),
        Visit("http://b/3", "b", START + 21, OutcomeKind.FAILED, 500, reason="status", detail="500", fetch_seconds=5.0),
        Visit("http://c/", "c", START + 22, OutcomeKind.REFUSED, reason="robots"),
    )
    counts = Counts(stored=1, duplicate=1, on_topic=1)
    assert "<b>50.0%</b><span>on topic</span>" in render(gather(folder, START + 30, (counts, [])))
    figures = gather(folder, START + 30)
    assert "on topic" not in render(figures)
    assert dict(figures.outcomes) == {"failed": 3, "stored": 1, "duplicate": 1, "refused": 1}
    assert dict(figures.statuses) == {"200": 2, "500": 2}
    assert figures.skips == [
        Skip("failed", "status", 500, 2),
        Skip("failed", "dns", 0, 1),
        Skip("refused", "robots", 0, 1),
    ]
    assert figures.depths == [("0", 1), ("1", 0), ("2", 1)]
    assert figures.languages == [("en", 1)]
    assert sum(figures.course.pages) == 2
    assert figures.course.seconds == pytest.approx(10)
    assert figures.troubled == [TroubledHost("b", 3, 3, "status", 500)]
    assert figures.slow[0].host == "b"
    assert dict(figures.fetch_times)["< 5 s"] == 1
    assert figures.body_sizes == [("< 8 KiB", 1)]
    assert figures.duplicates == [("http://a/", 1)]


async def test_words_of_pages_stay_words(tmp_path: Path) -> None:
    visits = [
        Visit(f"http://a/{HOSTILE}{kind}", HOSTILE, START + kind, kind, 200, HOSTILE, HOSTILE, HOSTILE, reason=HOSTILE)
        for kind in OutcomeKind
    ]
    page = render(gather(await keep(tmp_path / "crawl", *visits), START))
    assert "script" not in tags_of(page).found
    assert "&lt;script&gt;alert(1)" in page
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing)


async def test_a_crawl_without_pages_has_a_report(tmp_path: Path) -> None:
    folder = await keep(tmp_path / "crawl")
    write_report(folder)
    assert "no page was kept" in folder.report.read_text(encoding="utf-8")


async def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = await keep(tmp_path / "crawl")
    folder.report.mkdir()
    with pytest.raises(LycosaError, match="the report cannot be written"):
        write_report(folder)


labels = st.text(max_size=60).filter(lambda text: all(character >= " " for character in text))


@given(st.lists(st.tuples(labels, st.integers(0, 10**12)), max_size=15))
def test_any_bars_are_well_formed(bars: list[tuple[str, int]]) -> None:
    for drawing in (svg.columns(bars, title="t"), svg.rows(bars, title="t")):
        _check_drawing(drawing)


@given(st.lists(st.floats(0, 1e12), max_size=50))
@example([5e-324])
def test_any_curve_is_well_formed(values: list[float]) -> None:
    _check_drawing(svg.area(values, title="t", ends=("<a>", "&")))


def _check_drawing(drawing: str) -> None:
    allowed = re.sub("[\ud800-\udfff\ufffe\uffff]", "", drawing)
    root = ElementTree.fromstring(allowed)
    assert not re.search(r"\bnan\b|\binf\b", "".join(str(element.attrib) for element in root.iter()))


@pytest.mark.parametrize(("limit", "step"), [(0, 1.0), (4, 1.0), (100, 25.0), (543, 200.0), (0.03, 0.01)])
def test_steps_are_round(limit: float, step: float) -> None:
    assert svg.nice_step(limit) == pytest.approx(step)


async def test_what_happened_to_the_folder_stands_at_the_head(tmp_path: Path) -> None:
    folder = await keep(tmp_path / "crawl", Visit("http://a/", "a", START, OutcomeKind.STORED))
    note(folder, Incident(1_770_000_000.0, "2 rows <were> lost"))
    assert "2026-02-02 02:40" in (page := render(gather(folder, 0.0)))
    assert "2 rows &lt;were&gt; lost</p>" in page


def _texts(drawing: str, shown: str) -> list[tuple[float, float, str]]:
    [plot] = [each for each in ElementTree.fromstring(drawing) if each.attrib["class"] == shown]
    return [(float(each.attrib["x"]), float(each.attrib["y"]), "".join(each.itertext())) for each in plot.iter("text")]


@pytest.mark.parametrize("shown", ["wide", "narrow"])
def test_words_below_columns_do_not_overlap(shown: str) -> None:
    bars = [(f"up to {number} kB", number) for number in range(16)]
    words = [each for each in _texts(svg.columns(bars, title="t"), shown) if each[2].startswith("up to")]
    assert 2 <= len(words) <= 16
    assert all(next_x - x > 6.5 * len(word) for (x, _, word), (next_x, *_) in pairwise(words))


@pytest.mark.parametrize("shown", ["wide", "narrow"])
def test_the_ends_of_a_curve_do_not_overlap(shown: str) -> None:
    ends = ("2031-01-01 00:00:00 UTC", "2031-01-01 00:04:00 UTC (4 min later)")
    words = [each for each in _texts(svg.area([1, 2, 3], title="t", ends=ends), shown) if each[2] in ends]
    (x, y, _), (end_x, end_y, _) = words
    assert y != end_y or x + 6.5 * len(ends[0]) < end_x - 6.5 * len(ends[1])
