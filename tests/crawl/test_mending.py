"""A folder that came to harm: what is missing is said, queued again, and there at the end."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lycosa.audit import AuditReport, Question, Rule, audit
from lycosa.frontier.view import open_rocks_view
from lycosa.inspect.opened import folder_settings
from lycosa.model import OutcomeKind
from lycosa.simweb import WebPlan
from lycosa.store.folder import CrawlFolder
from lycosa.store.logbook import incidents
from lycosa.store.read import connect
from lycosa.store.record import RecordLost, read_record

from . import evidence
from .command import Ended, crawl, start
from .witness import WitnessedWeb

PLAN = WebPlan.named(
    "mixed", hosts=6, pages_per_host=12, min_page_bytes=2_000, max_page_bytes=4_000, is_prerendered=True
)
SETTINGS: dict[str, Any] = {"workers": 1, "parquet_rows": 20, "circuit_seconds": 0.5, "max_backoff_seconds": 0.5}
KEPT = ("stored", "duplicate", "unchanged", "moved", "refused", "failed")


@pytest.fixture
def web(space: Path) -> Iterator[WitnessedWeb]:
    with WitnessedWeb(PLAN, space) as web:
        yield web


def finish(web: WitnessedWeb, folder: Path, *arguments: str, **settings: Any) -> Ended:
    return crawl(web, folder, *(arguments or web.seeds), **{**SETTINGS, **settings})


def kill_after(web: WitnessedWeb, folder: Path, requests: int, **settings: Any) -> None:
    # Hosts are given pauses: without them a crawl of 88 requests is through a tenth of a second after the sixtieth, and
    # on a busy machine a kill comes later than that.
    with start(web, folder, *web.seeds, **{**SETTINGS, "min_delay_seconds": 0.4, **settings}) as running:
        web.wait_for_requests(requests)
        running.kill_all()


def kept_urls(folder: Path) -> Counter[str]:
    return Counter(row["url"] for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT)


def texts(folder: Path) -> dict[str, str]:
    return {row["url"]: row["text"] for row in evidence.pages(folder) if row["outcome"] == "stored"}


def answered(web: WitnessedWeb) -> set[str]:
    truth = web.truth()
    return {url for url in truth.reachable if truth.pages[url].status == 200}


def counters(ended: Ended) -> Counter[str]:
    return Counter({name: ended.summary[name] for name in KEPT if ended.summary[name]})


def rows(folder: Path) -> Counter[str]:
    found = evidence.by_outcome(evidence.pages(folder))
    return Counter({name: found[name].total() for name in KEPT if found[name]})


def audited(folder: Path) -> AuditReport:
    whole = CrawlFolder(folder)
    return audit([whole], folder_settings(whole), Question(host_gap_seconds=0, runs=2))


def largest_part(folder: Path) -> Path:
    return max((folder / "pages").glob("*.parquet"), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("harm", ["gone", "cut", "emptied"])
def test_a_part_that_came_to_harm_is_said_and_its_urls_are_visited_again(
    web: WitnessedWeb, space: Path, harm: str
) -> None:
    folder = space / "crawl"
    assert finish(web, folder).exit_code == 0
    assert set(kept_urls(folder)) == answered(web)
    part, texts_before = largest_part(folder), texts(folder)
    whole, rows_before = part.read_bytes(), pq.read_metadata(part).num_rows
    match harm:
        case "gone":
            part.unlink()
        case "cut":
            part.write_bytes(whole[: len(whole) // 2])
        case "emptied":
            part.write_bytes(b"")
    ended = finish(web, folder)
    assert ended.exit_code == 0, ended.said
    assert f"damaged or gone ({part.name.removesuffix('.parquet')}), with {rows_before} rows" in ended.said
    assert "URLs are queued again" in ended.said
    assert set(kept_urls(folder)) == answered(web)
    assert set(kept_urls(folder).values()) == {1}
    assert texts(folder) == texts_before
    assert counters(ended) == rows(folder)
    assert len(incidents(CrawlFolder(folder))) == 2
    quiet = finish(web, folder)
    assert quiet.exit_code == 0
    assert "not in the tables" not in quiet.said


def test_links_that_came_to_harm_are_read_again_without_a_request(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    finish(web, folder)
    before, asked = evidence.links(folder), len(web.requests)
    part = max((folder / "links").glob("*.parquet"), key=lambda path: path.stat().st_size)
    part.unlink()
    rows_before = pq.read_metadata(folder / "pages" / part.name).num_rows
    ended = finish(web, folder)
    assert ended.exit_code == 0
    assert ended.summary["recovered_rows"] == rows_before
    assert len(web.requests) == asked
    assert _as_set(evidence.links(folder)) == _as_set(before)


def _as_set(links: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(link["source"], link["target"], link["anchor"]) for link in links}


def test_rows_that_were_torn_with_their_journal_are_said_and_visited_again(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    kill_after(web, folder, 60, parquet_rows=1000)
    (journal,) = CrawlFolder(folder).journals()
    os.truncate(journal, journal.stat().st_size // 2)
    ended = finish(web, folder, parquet_rows=1000)
    assert ended.exit_code == 0, ended.said
    assert "rows of earlier visits are not in the tables" in ended.said
    assert set(kept_urls(folder)) == answered(web)
    assert counters(ended) == rows(folder)


def test_rows_whose_records_were_cut_are_said_and_visited_again(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    kill_after(web, folder, 60, parquet_rows=1000)
    (warc,) = CrawlFolder(folder).open_warcs()
    os.truncate(warc, warc.stat().st_size // 2)
    ended = finish(web, folder, parquet_rows=1000)
    assert ended.exit_code == 0, ended.said
    assert "had lost their WARC records" in ended.said
    assert set(kept_urls(folder)) == answered(web)
    assert counters(ended) == rows(folder)
    assert not audited(folder).of(Rule.ROW_WITHOUT_RECORD)


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_closed_warc_file_that_came_to_harm_is_said_and_its_urls_are_visited_again(
    web: WitnessedWeb, space: Path, harm: str
) -> None:
    folder = space / "crawl"
    before = finish(web, folder)
    warc = max((folder / "warc").glob("*.warc.gz"), key=lambda path: path.stat().st_size)
    if harm == "gone":
        warc.unlink()
    else:
        os.truncate(warc, warc.stat().st_size // 2)
    ended = finish(web, folder)
    assert f"1 WARC file is gone or cut ({warc.name})" in ended.said
    assert ended.exit_code == 0
    assert counters(ended) == counters(before)
    lost = {row["url"] for row in evidence.pages(folder) if row["outcome"] == "stored"} - _readable(folder)
    assert not lost, "each has a record again"
    # Requests were repeated, and say so; nothing else is amiss, and nothing is asked for a third time.
    assert {finding.rule for finding in audited(folder).findings} <= {Rule.EXTRA}
    requests = len(web.requests)
    assert "WARC file" not in finish(web, folder).said
    assert len(web.requests) == requests


def test_warc_files_that_were_moved_away_on_purpose_are_not_asked_for_again(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    finish(web, folder)
    for warc in (folder / "warc").glob("*.warc.gz"):
        warc.rename(space / warc.name)
    requests = len(web.requests)
    ended = finish(web, folder, replace_lost_records=False)
    assert ended.exit_code == 0, ended.said
    assert "WARC file" not in ended.said
    assert len(web.requests) == requests


def _readable(folder: Path) -> set[str]:
    found = set()
    for row in evidence.pages(folder):
        with suppress(RecordLost):
            read_record(CrawlFolder(folder), row["warc_file"], row["warc_offset"], row["warc_length"])
            found.add(row["url"])
    return found


def test_a_frontier_whose_log_was_cut_says_that_it_was_rolled_back(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    kill_after(web, folder, 50)
    log = max((folder / "frontier").glob("*.log"), key=lambda path: path.stat().st_size)
    os.truncate(log, log.stat().st_size // 4)
    ended = finish(web, folder)
    assert "the frontier was rolled back: the last" in ended.said
    assert "rolled back" in incidents(CrawlFolder(folder))[0].sentence
    assert ended.exit_code == 0, ended.said
    assert set(kept_urls(folder)) == answered(web)
    assert "rolled back" not in finish(web, folder).said


def test_an_ordinary_kill_says_nothing_of_the_kind(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    kill_after(web, folder, 60)
    ended = finish(web, folder)
    assert ended.exit_code == 0
    assert "did not end by itself" in ended.said
    assert incidents(CrawlFolder(folder)) == []
    assert set(kept_urls(folder).values()) == {1}
    assert counters(ended) == rows(folder)
    report = audited(folder)
    assert [finding.rule for finding in report.findings if finding.rule is not Rule.EXTRA] == []


def test_rows_that_nobody_can_name_end_the_crawl_as_incomplete_once(web: WitnessedWeb, space: Path) -> None:
    folder = space / "crawl"
    finish(web, folder)
    first = set((folder / "pages").glob("*.parquet"))
    # The pages of this round are other versions of the same URLs; of the first round only its parts have rows.
    finish(web, folder, "--revisit", "--once")
    for part in first:
        part.unlink()
    ended = finish(web, folder)
    assert ended.exit_code == 3
    assert "rows of earlier visits are missing, and nobody knows which" in ended.said
    assert finish(web, folder).exit_code == 0


def test_what_was_refused_before_a_kill_is_still_in_the_tables(space: Path) -> None:
    folder = space / "crawl"
    with WitnessedWeb(dataclasses.replace(PLAN, disallowed_share=0.4), space) as web:
        kill_after(web, folder, 50)
    with closing(open_rocks_view(folder / "frontier")) as view:
        refused = {past.url for past in view.histories() if past.outcome is OutcomeKind.REFUSED}
    with connect(CrawlFolder(folder)) as tables:
        rows = {url for (url,) in tables.execute("SELECT url FROM pages WHERE outcome = 'refused'").fetchall()}
    assert refused
    assert refused <= rows
