"""What can be found, and in which order: over tables that a store wrote."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest

from lycosa.errors import SettingsError
from lycosa.model import OutcomeKind
from lycosa.search import find, open_index
from lycosa.search.formats import as_json, as_opensearch, as_text, opensearch_description
from lycosa.search.query import BadQuery
from lycosa.search.results import Hit, Results, plain
from lycosa.store.folder import CrawlFolder

from ..store.samples import START
from .kept import Kept, keep

FILLER = "Words that say nothing stand here, so that there is something to read on every page of the crawl. " * 3


def results(folder: CrawlFolder, query: str, limit: int = 10, offset: int = 0) -> Results:
    with open_index(folder) as index:
        index.update()
        return index.search(query, limit, offset, now=START)


def paths(folder: CrawlFolder, query: str) -> list[str]:
    return [hit.url.partition("example")[2] for hit in results(folder, query).hits]


def only(folder: CrawlFolder, query: str) -> Hit:
    [hit] = results(folder, query).hits
    return hit


# ---- matching


def test_a_page_is_found_by_any_form_of_its_words(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "Spiders were running."), Kept("/2", "Katzen, Häuser.", language="de"), Kept("/3"))
    assert paths(folder, "spider run") == ["/1"]
    assert paths(folder, "haus") == ["/2"]
    assert paths(folder, "SPIDERS") == ["/1"]


def test_pages_with_all_words_or_else_with_some(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "red green"), Kept("/2", "green blue"))
    assert paths(folder, "red green") == ["/1"]
    found = results(folder, "red blue")
    assert found.is_relaxed
    assert {hit.url[-2:] for hit in found.hits} == {"/1", "/2"}
    assert not results(folder, "absent").hits


def test_phrases_titles_exclusions(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "a silk web", "Orb"), Kept("/2", "a web of silk", "Cob"), Kept("/3", "orb", "Other"))
    assert paths(folder, '"silk web"') == ["/1"]
    assert paths(folder, "title:orb") == ["/1"]
    assert paths(folder, "silk -cob") == ["/1"]
    assert paths(folder, 'web -"silk web"') == ["/2"]
    assert paths(folder, '"web silk"') == []


def test_sites_hold_their_subdomains_and_folders(folder: CrawlFolder) -> None:
    keep(folder, Kept("/docs/x", host="www.a.example"), Kept("/x", host="b.example"))
    assert [hit.host for hit in results(folder, "site:a.example").hits] == ["www.a.example"]
    assert [hit.host for hit in results(folder, "words site:www.a.example/docs").hits] == ["www.a.example"]
    assert [hit.host for hit in results(folder, "words -site:a.example").hits] == ["b.example"]
    assert not results(folder, "words site:a.example/other").hits


def test_languages_and_dates(folder: CrawlFolder) -> None:
    keep(
        folder,
        Kept("/old", language="de", published="2020-03"),
        Kept("/new", language="zh-Hant", at=datetime(2026, 6, 1, tzinfo=UTC).timestamp()),
    )
    assert paths(folder, "words lang:de") == ["/old"]
    assert paths(folder, "words lang:zh") == ["/new"]
    assert paths(folder, "words -lang:zh") == ["/old"]
    assert paths(folder, "words before:2020-03-02") == ["/old"]
    assert paths(folder, "words before:2020-03-01") == []
    assert paths(folder, "words after:2020-03-01 before:2026-06-01") == ["/old"]
    assert paths(folder, "after:2026-06-01") == ["/new"]


def test_chinese_and_japanese_are_found_by_words_and_characters(folder: CrawlFolder) -> None:
    keep(
        folder,
        Kept("/zh", "我来到北京清华大学学习自然语言处理。", language="zh"),
        Kept("/ja", "吾輩は猫である。名前はまだ無い。東京タワーが見える。", language="ja"),
        Kept("/ko", "안녕하세요 세계", language="ko"),
    )
    assert paths(folder, "清华大学") == ["/zh"]
    assert paths(folder, "清华") == ["/zh"]
    assert paths(folder, "自然语言处理") == ["/zh"]
    assert paths(folder, "猫") == ["/ja"]
    assert paths(folder, "東京タワー") == ["/ja"]
    assert paths(folder, '"名前は"') == ["/ja"]
    assert paths(folder, "세계") == ["/ko"]
    assert not paths(folder, "大阪")


# ---- order


def test_a_title_or_heading_that_says_just_this_comes_first(folder: CrawlFolder) -> None:
    keep(
        folder,
        Kept("/often", "logical operators " * 30 + FILLER),
        Kept("/heading", FILLER + "logical operators", headings="Intro\nLogical operators\nMore"),
        Kept("/longer", FILLER + "logical operators", headings="On logical operators and all the rest"),
    )
    assert paths(folder, "logical operators")[:2] == ["/heading", "/longer"]


def test_the_anchors_of_links_find_a_page(folder: CrawlFolder) -> None:
    keep(folder, Kept("/from", "a list", links=[("http://a.example/to", "best pancakes")]), Kept("/to", "flour, milk"))
    hit = only(folder, "pancakes")
    assert hit.url.endswith("/to")
    assert hit.why["anchors"] > 0
    assert not results(folder, "pancakes lang:de").hits


def test_of_like_pages_the_most_linked_comes_first(folder: CrawlFolder) -> None:
    links = [("http://a.example/good", "x")]
    keep(folder, *(Kept(f"/{number}", "a b", links=links) for number in range(5)))
    keep(folder, Kept("/bad", f"kettle {FILLER}"), Kept("/good", f"kettle {FILLER}"))
    assert paths(folder, "kettle") == ["/good", "/bad"]


def test_near_duplicates_are_one_result(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "kettle", group="g"), Kept("/2", "kettle", group="g"), Kept("/3", "kettle x", group="h"))
    found = results(folder, "kettle")
    assert found.total == 3
    assert sorted(len(hit.also) for hit in found.hits) == [0, 1]


def test_the_original_stands_for_its_copies(folder: CrawlFolder) -> None:
    copy = Kept("", "kettle", outcome=OutcomeKind.DUPLICATE, group="g", original="http://a.example/original")
    copies = [copy._replace(path=f"/{number}") for number in range(8)]
    keep(folder, *copies[:4], Kept("/original", "kettle", group="g"), *copies[4:])
    assert paths(folder, "kettle") == ["/original"]
    links = [("http://a.example/3", "the famous kettle")]
    keep(folder, *(Kept(f"/from{number}", "a b", links=links) for number in range(20)))
    assert paths(folder, "famous kettle")[0] == "/3", "unless a copy answers clearly better"


def test_results_come_in_pages(folder: CrawlFolder) -> None:
    keep(folder, *(Kept(f"/{number}", f"kettle {number}") for number in range(25)))
    found = [hit.url for offset in (0, 10, 20) for hit in results(folder, "kettle", 10, offset).hits]
    assert len(found) == len(set(found)) == 25
    for limit, offset in ((0, 0), (101, 0), (10, -1), (10, 2000)):
        with pytest.raises(SettingsError, match="from 1 to 100"):
            results(folder, "kettle", limit, offset)


@pytest.mark.parametrize(("query", "total"), [("kettle", 7), ("kettle pot", 7), ("kettle lang:en", 7), ("tea", 1)])
def test_who_is_found_by_words_and_by_links_is_counted_once(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch, query: str, total: int
) -> None:
    # Few come to the second look, so most of those that are linked to must be looked for.
    monkeypatch.setattr(find, "_CANDIDATES", 2)
    texts = ["kettle pot"] * 6 + ["cup"]
    links = [(f"http://a.example/{number}", "kettle pot") for number in range(len(texts))]
    links.append(("http://a.example/6", "tea"))
    keep(folder, *(Kept(f"/{number}", text, group=str(number)) for number, text in enumerate(texts)))
    keep(folder, Kept("/from", "a list", links=links))
    found = results(folder, query, 1)
    assert found.total == total
    assert found.pages == 8


# ---- what is in the index


def test_an_update_takes_in_only_what_is_new(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1"))
    with open_index(folder) as index:
        assert index.update()[:2] == (1, 1)
        assert index.update()[:2] == (0, 0)
        keep(folder, Kept("/2"))
        assert index.update()[:2] == (1, 1)
        assert index.pages == 2


def test_a_revisit_replaces_the_older_version_in_whatever_order_parts_come(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "newest kettle", at=START + 20))
    assert paths(folder, "kettle") == ["/1"]
    keep(folder, Kept("/1", "older teapot", at=START + 10))
    keep(folder, Kept("/1", "failed", at=START + 30, outcome=OutcomeKind.FAILED, status=500))
    assert paths(folder, "kettle") == ["/1"]
    assert paths(folder, "teapot") == []
    keep(folder, Kept("/1", "changed cup", at=START + 40))
    assert paths(folder, "kettle") == []
    assert paths(folder, "cup") == ["/1"]


@pytest.mark.parametrize(
    "last",
    [
        Kept("/1", None, at=START + 9, outcome=OutcomeKind.FAILED, status=404, reason="status"),
        Kept("/1", None, at=START + 9, outcome=OutcomeKind.FAILED, status=410, reason="status"),
        Kept("/1", None, at=START + 9, outcome=OutcomeKind.FAILED, status=200, reason="soft-404"),
        Kept("/1", None, at=START + 9, outcome=OutcomeKind.MOVED, status=301),
        Kept("/1", None, at=START + 9, outcome=OutcomeKind.REFUSED, status=0, reason="robots"),
        Kept("/1", "kettle", at=START + 9, noindex=True),
        Kept("/1", "kettle", at=START + 9, usage="ai=y, search=n"),
    ],
)
@pytest.mark.parametrize("is_at_once", [False, True])
def test_what_is_gone_or_not_to_be_searched_leaves(folder: CrawlFolder, last: Kept, is_at_once: bool) -> None:
    keep(folder, Kept("/1", "kettle"), Kept("/2", "kettle two"))
    if not is_at_once:
        assert sorted(paths(folder, "kettle")) == ["/1", "/2"]
    keep(folder, last)
    assert paths(folder, "kettle") == ["/2"]


@pytest.mark.parametrize("code", ["timeout", "dns", "connect"])
def test_a_page_that_could_not_be_had_this_time_stays(folder: CrawlFolder, code: str) -> None:
    keep(folder, Kept("/1", "kettle"))
    keep(folder, Kept("/1", None, at=START + 9, outcome=OutcomeKind.FAILED, status=0, reason=code))
    assert paths(folder, "kettle") == ["/1"]
    keep(folder, Kept("/1", None, at=START + 19, outcome=OutcomeKind.UNCHANGED, status=304))
    assert paths(folder, "kettle") == ["/1"]


def test_a_page_that_allows_searching_is_found(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "kettle", usage="ai=n, search=y"))
    assert paths(folder, "kettle") == ["/1"]


def test_an_index_that_cannot_be_read_is_made_anew(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "kettle"))
    assert paths(folder, "kettle") == ["/1"]
    for file in (folder.path / "search" / "pages").glob("meta.json"):
        file.write_bytes(b"{")
    assert paths(folder, "kettle") == ["/1"]


def test_a_damaged_part_is_named(folder: CrawlFolder) -> None:
    (folder.pages / "lycosa-20260101T000000-w0-00000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SettingsError, match=r"w0-00000\.parquet: cannot be read"):
        results(folder, "x")


def test_a_query_without_words_is_refused(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1"))
    with pytest.raises(BadQuery, match="there is no word"):
        results(folder, "!!! ***")


# ---- what is shown


def test_snippets_show_the_words_marked(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", f"{FILLER}\nThe kettles boiled <b>over</b> twice. {FILLER}", "On kettles"))
    hit = only(folder, "kettle boil")
    assert {span.text for span in hit.snippet if span.is_hit} == {"kettles", "boiled"}
    assert "The kettles boiled <b>over</b> twice." in plain(hit.snippet)
    assert len(plain(hit.snippet)) < 300
    assert [span.text for span in hit.title_spans if span.is_hit] == ["kettles"]


def test_snippets_mark_chinese_words(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "他们在北京喝茶。" * 40 + "清华大学很大。", language="zh"))
    hit = only(folder, "清华大学")
    assert "清华大学" in plain(hit.snippet)
    assert "".join(span.text for span in hit.snippet if span.is_hit) == "清华大学"


def test_results_as_text_json_and_opensearch(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1?a=1&b=2", "kettle <script>\x07", 'T & "q"'))
    found = results(folder, 'kettle "kettle"')
    assert "*kettle*" in as_text(found)
    [hit] = json.loads(as_json(found))["hits"]
    assert {"text": "kettle", "is_hit": True} in hit["snippet"]
    feed = ET.fromstring(as_opensearch(found, "http://x/search?q=kettle&y"))
    assert feed.findtext(".//item/link") == "http://a.example/1?a=1&b=2"
    assert feed.findtext(".//{http://a9.com/-/spec/opensearch/1.1/}totalResults") == "1"
    template = ET.fromstring(opensearch_description("http://x/"))[3].attrib["template"]
    assert template.startswith("http://x/search?q={searchTerms}")
