"""The search page as it is served: what it finds, and that it takes no text for markup."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from lycosa.dashboard import search
from lycosa.search.results import Hit, Results, Span

from ..cli.world import World
from .test_pages import check_only_text
from .visitor import Tags, Visitor, index, served, tables_of


@pytest.fixture(scope="module")
def indexed(world: World) -> World:
    index(world)
    return world


def links_of(page: str) -> set[str | None]:
    return {found.get("href") for name, found in Tags(page).found if name == "a"}


def test_words_find_pages_and_are_marked(indexed: World, visitor: Visitor) -> None:
    page = visitor.page("/search", q="quick fox")
    check_only_text(page)
    assert "<mark>fox</mark>" in page
    assert f"/url?{urlencode({'url': indexed.url('/one')})}" in links_of(page)
    assert "<mark>安装</mark>" in visitor.page("/search", q="安装 lang:zh")


def test_a_title_with_a_script_in_it_stays_text(indexed: World, visitor: Visitor) -> None:
    page = visitor.page("/search", q="welcome")
    assert "<script>alert(1)</script>" in check_only_text(page).text
    assert "\x1b" not in page


def test_what_was_typed_stays_text(indexed: World, visitor: Visitor) -> None:
    typed = '<script>alert(2)</script> "<img src=x onerror=alert(3)>"'
    tags = check_only_text(visitor.page("/search", q=typed))
    assert typed in {found.get("value") for name, found in tags.found if name == "input"}


def test_without_words_operators_are_explained(visitor: Visitor) -> None:
    page = visitor.page("/search")
    assert '"a phrase"' in check_only_text(page).text
    assert "/search?q=title%3Ainstallation" in links_of(page)


@pytest.mark.parametrize("query", ['"open', "-before:2031", "site:", "before:never", "x" * 2000])
def test_a_query_that_means_nothing_is_answered_by_a_sentence(indexed: World, visitor: Visitor, query: str) -> None:
    tags = check_only_text(visitor.page("/search", q=query))
    alerts = [name for name, found in tags.found if found.get("role") == "alert"]
    assert alerts == ["p"]
    asked = visitor.ask(f"/search.json?{urlencode({'q': query})}")
    assert asked.status == 400
    assert json.loads(asked.body)["error"]


@pytest.mark.parametrize(
    "more", ["limit=0", "limit=1000", "offset=-1", "offset=1e9", "limit=x", "offset=99999999999999999"]
)
def test_numbers_beyond_measure_are_refused(indexed: World, visitor: Visitor, more: str) -> None:
    assert visitor.ask(f"/search.json?q=fox&{more}").status == 400


def test_programs_get_json_and_opensearch(indexed: World, visitor: Visitor) -> None:
    answer = visitor.ask("/search.json?q=quick+fox&offset=&limit=")
    assert answer.headers["content-type"] == "application/json"
    [hit] = json.loads(answer.body)["hits"]
    assert {hit["url"], *hit["also"]} == {indexed.url("/one"), indexed.url("/copy")}
    feed = ElementTree.fromstring(visitor.page("/search.rss", q="welcome"))
    assert [link.text for link in feed.iter("link")][1:] == [indexed.url("/")]


def test_browsers_are_told_how_to_search(visitor: Visitor) -> None:
    head = [found for name, found in Tags(visitor.page("/")).found if name == "link" and found.get("rel") == "search"]
    assert [found["href"] for found in head] == ["/opensearch.xml"]
    description = ElementTree.fromstring(visitor.page("/opensearch.xml"))
    templates = [each.get("template", "") for each in description if each.tag.endswith("Url")]
    assert [each.partition("?")[0].rpartition("/")[2] for each in templates] == ["search", "search.rss"]
    assert all(each.startswith(f"http://127.0.0.1:{visitor.port}/search") for each in templates)


def test_results_go_on_page_by_page(indexed: World, visitor: Visitor) -> None:
    first = visitor.page("/search", q="site:a.test", limit="1")
    assert "/search?q=site%3Aa.test&offset=1&limit=1" in links_of(first)
    second = visitor.page("/search", q="site:a.test", limit="1", offset="1")
    assert "/search?q=site%3Aa.test&offset=0&limit=1" in links_of(second)


def test_near_duplicates_stand_below_the_page_they_are_like() -> None:
    also = tuple(f"http://b.test/{number}" for number in range(5))
    hit = Hit("http://a.test/", "A", (Span("a ", is_hit=False),), (), "a.test", "en", 0.0, "", 1.0, {}, also)
    made = search.page("a", search.Answered(Results("a", 6, 0, 10, 0.001, (hit,), 6), ""), "")
    assert "5 like it" in made
    assert "and 2 more" in made


def test_the_first_search_makes_the_index(world: World, tmp_path: Path) -> None:
    """Elsewhere it was made before; here nobody has."""
    copy = tables_of(world, tmp_path / "crawl")
    with served(copy) as visitor:
        # However long it takes: whoever asks is told that pages are missing yet, and asks again.
        while "<mark>" not in (page := visitor.page("/search", q="fox")):
            assert "index" in page
    assert (copy / "search").is_dir()


def test_whoever_opens_the_form_has_the_index_made(world: World, tmp_path: Path) -> None:
    copy = tables_of(world, tmp_path / "crawl")
    with served(copy) as visitor:
        assert "data-unfinished" not in visitor.page("/search")
        # Nobody has searched: it comes by itself, or this never ends.
        while not list(copy.glob("search/*/meta.json")):
            assert visitor.page("/search")


def test_a_folder_without_a_crawl_has_nothing_to_search(tmp_path: Path) -> None:
    with served(tmp_path) as visitor:
        assert "there is no crawl in this folder" in visitor.page("/search", q="fox")
    assert not (tmp_path / "search").exists()
