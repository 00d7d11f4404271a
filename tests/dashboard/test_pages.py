"""What the pages tell of a small crawl, and that what it met on the web stays text."""

from __future__ import annotations

import json

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lycosa.dashboard.markup import tag, text

from ..cli.world import World
from .visitor import Tags, Visitor

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


def test_what_changed_is_sent_part_by_part(visitor: Visitor) -> None:
    events = visitor.events(4)
    assert [name for name, _ in events] == ["parts", "series", "parts", "series"]
    first, second = (json.loads(data) for name, data in events if name == "parts")
    assert {"state", "tiles", "outcomes"} <= set(first)
    # The crawl is over: nothing is sent twice.
    assert "outcomes" not in second
    assert json.loads(events[1][1]).keys() == {"rate", "queue", "under-way", "bytes"}


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
    from .visitor import served

    with served(tmp_path_factory.mktemp("empty")) as visitor:
        assert "there is no crawl in this folder" in visitor.page("/")
        assert visitor.ask("/host?name=a.test").status == 404


def test_all_that_is_no_markup_is_escaped() -> None:
    made = tag("p", "<b>", ["&", tag("i", "x", class_="y<z")], None, 1234, 0.5, True, title='"')
    assert made == '<p title="&quot;">&lt;b&gt;&amp;<i class="y&lt;z">x</i>1,2340.5yes</p>'
    assert text("\x1b[31m") == "\\x1b[31m"
