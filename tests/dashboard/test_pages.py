"""What the pages tell of a small crawl, and that what it met on the web stays text."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lycosa.dashboard import graph
from lycosa.dashboard.glance import take_look
from lycosa.dashboard.markup import tag, text
from lycosa.dashboard.metrics import exposition
from lycosa.dashboard.overview import parts, visited_share, visited_urls
from lycosa.dashboard.watch import Now
from lycosa.inspect.freshness import CollectionFreshness
from lycosa.inspect.opened import opened_crawl
from lycosa.ports import Counts

from ..cli.world import World
from .visitor import Tags, Visitor, served, tables_of

OWN_SCRIPTS = {"/assets/uPlot.iife.min.js", "/assets/dashboard.js"}


def check_only_text(page: str) -> Tags:
    """No element or attribute came from the web."""
    tags = Tags(page)
    assert {attributes.get("src") for tag, attributes in tags.found if tag == "script"} == OWN_SCRIPTS
    assert not [name for _, attributes in tags.found for name in attributes if name.startswith("on") or name == "style"]
    assert not {tag for tag, _ in tags.found} & {"iframe", "object", "embed", "base", "style"}
    return tags


def test_the_overview_says_how_the_crawl_stands(visitor: Visitor) -> None:
    tags = check_only_text(visitor.page("/"))
    assert "stopped before its end" in tags.text
    assert "robots.txt disallows it" in tags.text
    plots = [json.loads(found["data-series"] or "") for _, found in tags.found if "data-plot" in found]
    assert len(plots) == 4
    assert all(len(line["values"]) == len(plot["at"]) > 0 for plot in plots for line in plot["lines"])


def test_coverage_and_what_the_filter_gets_wrong_are_told(world: World, visitor: Visitor) -> None:
    overview = Tags(visitor.page("/")).text
    # /broken waits to be tried again, all else was visited.
    counts = read_status_counts(world)
    assert f"% of {counts.known:,} URLs that are known" in overview
    assert "come back tono page: this crawl ends" in overview
    assert "of new URLs look known (0 of " in overview
    assert "which costs a look at the disk and no page" in overview


def read_status_counts(world: World) -> Counts:
    with opened_crawl(world.folder.path) as crawl:
        assert crawl.view
        return crawl.view.counts()


@pytest.mark.parametrize(
    ("counts", "visited"),
    [
        (Counts(known=10, queued=3, delayed=1), 6),
        (Counts(known=10, queued=5, aliases=1, moved_up=4, passed_over=2), 6),
        (Counts(known=10, queued=9, resting=4), 4),
        (Counts(), 0),
    ],
)
def test_visited_is_all_that_is_known_and_does_not_wait(counts: Counts, visited: int) -> None:
    assert visited_urls(counts) == visited
    assert visited_share(counts) == pytest.approx(visited / ((counts.known - counts.aliases) or 1))


def test_freshness_is_shown_and_measured_once_pages_are_come_back_to(visitor: Visitor, world: World) -> None:
    look = take_look(world.folder.path, None)
    fresh = CollectionFreshness(9, 0.9, 0.95, 3600.0, 60.0)
    look = msgspec.structs.replace(look, status=msgspec.structs.replace(look.status, freshness=fresh))
    now = Now(look.at, Counts(known=10, resting=9), 0.0, [], [], look, "", [], may_order=False)
    shown = Tags(parts(now)["collection"]).text
    assert "90.0% of the pages; 95.0% by importance" in shown
    assert "1 h 00 min on average; 1 min 00 s by importance" in shown
    families = {family.name: family for family in text_string_to_metric_families(exposition(now).decode())}  # type: ignore[no-untyped-call]
    assert {each.labels["by"]: each.value for each in families["lycosa_fresh_ratio"].samples} == {
        "page": 0.9,
        "importance": 0.95,
    }


@pytest.mark.parametrize(("state", "is_offered"), [("finished", False), ("stopped before its end", True)])
def test_only_what_goes_on_can_be_paused(world: World, state: str, *, is_offered: bool) -> None:
    look = take_look(world.folder.path, None)
    look = msgspec.structs.replace(look, status=msgspec.structs.replace(look.status, state=state))
    now = Now(look.at, Counts(), 0.0, [], [], look, "", [], may_order=True)
    assert ("Pause the crawl" in Tags(parts(now)["steering"]).text) is is_offered


def test_the_graph_has_hosts_pages_and_what_was_found(world: World, visitor: Visitor) -> None:
    tags = check_only_text(visitor.page("/graph"))
    hosts = [
        found.get("href")
        for name, found in tags.found
        if name == "a" and "links from others" in (found.get("aria-label") or "")
    ]
    assert "/host?name=elsewhere.test" in hosts
    [plot] = [json.loads(found["data-series"] or "") for _, found in tags.found if "data-plot" in found]
    assert [line["name"] for line in plot["lines"]] == ["pages", "PageRank"]
    assert 0 < plot["lines"][0]["values"][-1] <= 100
    assert world.url("/") in tags.text


def test_of_a_large_crawl_no_ranks_are_computed_in_passing(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "MAX_RANKED_LINKS", 3)
    made = graph.GraphPage(world.folder.path, None).page()
    assert "lycosa graph --coverage" in made
    assert "data-plot" not in made


def test_links_that_cannot_be_read_are_said_to_be(world: World, tmp_path: Path) -> None:
    copy = tables_of(world, tmp_path / "crawl")
    (copy / "links").unlink()
    (copy / "links").mkdir()
    (copy / "links" / "lycosa-20260101T000000-w0-00000.parquet").write_bytes(b"PAR1 no")
    with served(copy) as visitor:
        answer = visitor.ask("/graph")
    assert answer.status == 503
    assert "cannot be read" in answer.body


def test_what_a_visit_brought_is_shown_as_text(world: World, visitor: Visitor) -> None:
    page = visitor.page("/url", url=world.url("/"))
    assert f"/kept?{urlencode({'url': world.url('/'), 'version': 0})}" in {
        found.get("href") for name, found in Tags(page).found if name == "a"
    }
    kept = visitor.page("/kept", url=world.url("/"), version="0")
    tags = check_only_text(kept)
    assert "HTTP/1.1 200" in tags.text
    assert "&lt;script>alert(1)" in tags.text  # its source, as it stands there
    assert "\x1b" not in kept
    assert "application/octet-stream is no text" in visitor.page("/kept", url=world.url("/data.bin"), version="0")
    for version in ("7", "-1", "x", ""):
        assert visitor.ask(f"/kept?{urlencode({'url': world.url('/'), 'version': version})}").status == 404
    assert visitor.ask("/kept?url=http://nowhere.test/&version=0").status == 404


def test_what_changed_is_sent_part_by_part(visitor: Visitor) -> None:
    events = visitor.events(4)
    assert [name for name, _ in events] == ["parts", "series", "parts", "series"]
    first, second = (json.loads(data) for name, data in events if name == "parts")
    assert {"state", "tiles", "outcomes"} <= set(first)
    # The crawl is over: nothing is sent twice.
    assert "outcomes" not in second
    assert json.loads(events[1][1]).keys() == {"rate", "queue", "under-way", "bytes"}


def test_what_changed_of_a_host_is_sent_part_by_part(visitor: Visitor) -> None:
    (first, sent), (second, anew) = visitor.events(2, "/live?host=a.test")
    assert first == second == "parts"
    assert {"standing", "history", "robots"} <= json.loads(sent).keys()
    assert "Disallow: /private/" in Tags(json.loads(sent)["robots"]).text
    assert not {"history", "robots"} & json.loads(anew).keys()
    assert 'data-live="/live?host=a.test"' in visitor.page("/host", name="a.test")
    assert visitor.page("/live", host="unknown.test") == ""


def test_a_host_has_its_policy_queue_and_rules(world: World, visitor: Visitor) -> None:
    tags = check_only_text(visitor.page("/host", name="a.test"))
    for words in ("Disallow: /private/", "How visits ended", "between requests", "Last visits"):
        assert words in tags.text


def test_a_title_with_a_script_in_it_stays_text(world: World, visitor: Visitor) -> None:
    for page in (visitor.page("/host", name="a.test"), visitor.page("/url", url=world.url("/"))):
        tags = check_only_text(page)
        assert "<script>alert(1)</script>" in tags.text
        assert "\x1b" not in page
        assert "\u202e" not in page


def test_a_url_has_its_reason_versions_links_and_text(world: World, visitor: Visitor) -> None:
    tags = check_only_text(visitor.page("/url", url=world.url("/one")))
    assert "It was visited, and its page is kept." in tags.text
    assert "The quick brown fox" in tags.text
    links = {found.get("href") for name, found in tags.found if name == "a"}
    assert world.url("/one") in links
    assert "It was not requested: robots.txt disallows it." in visitor.page("/url", url=world.url("/private/x"))


def test_two_versions_are_compared(world: World, visitor: Visitor) -> None:
    page = visitor.page("/url", url=world.url("/one"), old="0", new="0")
    assert "nothing in its text" in page
    assert visitor.ask(f"/url?url={world.url('/one')}&old=0&new=7").status == 404


@pytest.mark.parametrize("path", ["/host?name=unknown.test", "/url?url=javascript:alert(1)", "/url?url=", "/nowhere"])
def test_what_is_not_there_is_said(visitor: Visitor, path: str) -> None:
    answer = visitor.ask(path)
    assert answer.status in (200, 404)
    check_only_text(answer.body)


def test_a_host_and_a_url_are_found_by_typing_them(world: World, visitor: Visitor) -> None:
    assert visitor.ask("/go?what=A.test").headers["location"] == "/host?name=a.test"
    assert visitor.ask(f"/go?what={world.url('/one')}").headers["location"].startswith("/url?url=http")
    assert visitor.ask("/go").headers["location"] == "/"


def test_metrics_are_what_prometheus_reads(visitor: Visitor) -> None:
    answer = visitor.ask("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = {family.name: family for family in text_string_to_metric_families(answer.body)}  # type: ignore[no-untyped-call]
    outcomes = {sample.labels["outcome"]: sample.value for sample in families["lycosa_visits"].samples}
    assert outcomes["stored"] > 0
    assert outcomes["refused"] > 0
    assert families["lycosa_up"].samples[0].value == 0
    assert families["lycosa_frontier_seconds"].type == "histogram"


def test_a_folder_without_a_crawl_is_said_and_nothing_else(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("empty")) as visitor:
        assert "there is no crawl in this folder" in visitor.page("/")
        assert visitor.ask("/host?name=a.test").status == 404


def test_all_that_is_no_markup_is_escaped() -> None:
    made = tag("p", "<b>", ["&", tag("i", "x", class_="y<z")], None, 1234, 0.5, True, title='"')
    assert made == '<p title="&quot;">&lt;b&gt;&amp;<i class="y&lt;z">x</i>1,2340.5yes</p>'
    assert text("\x1b[31m") == "\\x1b[31m"
