from __future__ import annotations

import gzip
import shutil
import zlib
from pathlib import Path

import brotli
import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa.errors import SettingsError
from lycosa.model import OutcomeKind, Visit
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.read import all_records, connect, page_at, response_of_visit, versions
from lycosa.store.record import RecordLost, read_record, read_response, records
from lycosa.store.warc import WarcWriter

from .. import suites
from .samples import NO_LINKS, START, body_with, parse, response, visit

URL = "http://a.example/"


async def keep(folder: CrawlFolder, *visits: tuple[Visit, bytes | None], status: int = 200) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    for row, body in visits:
        answer = None if body is None else response(row.url, body, status=row.status)
        page, links = parse(row, answer) if answer and row.status == 200 else (None, NO_LINKS)
        store.put(row, answer, page, links)
    await store.close()


def test_a_crawl_without_rows_has_empty_tables(folder: CrawlFolder) -> None:
    with connect(folder) as connection:
        assert connection.execute("SELECT count(*), max(fetched_at), min(outcome) FROM pages").fetchall() == [
            (0, None, None)
        ]
        assert connection.execute("SELECT count(target), max(rel) FROM links").fetchall() == [(0, None)]
    assert versions(folder, URL) == []
    assert page_at(folder, URL) is None


async def test_the_columns_have_the_same_types_with_and_without_parts(folder: CrawlFolder) -> None:
    def types() -> list[object]:
        with connect(folder) as connection:
            return [connection.execute(f"DESCRIBE {table}").fetchall() for table in ("pages", "links")]

    empty = types()
    await keep(folder, (visit(), body_with(1)))
    assert types() == empty


async def test_tables_of_another_version_are_refused(folder: CrawlFolder) -> None:
    await keep(folder, (visit("http://a.example/"), b"hello"))
    (part,) = folder.pages.glob("*.parquet")
    rows = pq.read_table(part)
    pq.write_table(rows.drop_columns(["detail"]).rename_columns({"reason": "error"}), part)
    with pytest.raises(SettingsError, match="another version"):
        connect(folder)


async def test_times_are_shown_in_utc(folder: CrawlFolder) -> None:
    await keep(folder, (visit(), b"x"))
    with connect(folder) as connection:
        (shown,) = connection.execute("SELECT fetched_at::VARCHAR FROM pages").fetchall()
    assert shown == ("2026-02-02 02:40:00",)


async def test_every_version_can_be_read_by_url_and_time(folder: CrawlFolder) -> None:
    await keep(
        folder,
        (visit(at=START), b"first"),
        (visit("http://b.example/", START + 1), b"other"),
        (visit(at=START + 10), b"second"),
        (Visit(URL, "a.example", START + 20, OutcomeKind.UNCHANGED, 304), b""),
        (Visit(URL, "a.example", START + 30, OutcomeKind.FAILED, 0), None),
    )
    assert [each.fetched_at - START for each in versions(folder, URL)] == [0, 10, 20, 30]
    texts = {at: found.text for at in (0, 9, 10, 25, 99) if (found := page_at(folder, URL, START + at))}
    assert texts == {0: "first", 9: "first", 10: "second", 25: "second", 99: "second"}
    assert page_at(folder, URL, START - 1) is None


async def test_an_unchanged_visit_has_the_response_it_was_compared_with(folder: CrawlFolder) -> None:
    unchanged = Visit(URL, "a.example", START + 20, OutcomeKind.UNCHANGED, 304)
    await keep(
        folder, (visit(), b"first"), (unchanged, b""), (Visit(URL, "a.example", START + 30, OutcomeKind.FAILED), None)
    )
    bodies = [found.body if (found := response_of_visit(folder, row)) else None for row in versions(folder, URL)]
    assert bodies == [b"first", b"first", None]


async def test_a_url_is_data_and_never_sql(folder: CrawlFolder) -> None:
    url = "http://a.example/' OR 1=1 --"
    await keep(folder, (visit(url), b"x"), (visit(), b"y"))
    assert [row.url for row in versions(folder, url)] == [url]


@pytest.mark.parametrize("name", ["it's", "a [b] c", "star*", "ünï", "{x,y}", "q?"])
async def test_any_folder_name_can_be_read(tmp_path: Path, name: str) -> None:
    folder = CrawlFolder(tmp_path / name)
    folder.create()
    await keep(folder, (visit(), b"x"))
    assert len(versions(folder, URL)) == 1


async def test_a_folder_name_is_never_a_pattern(tmp_path: Path) -> None:
    for name in ("crawl*", "crawl2"):
        folder = CrawlFolder(tmp_path / name)
        folder.create()
        await keep(folder, (visit(), b"x"))
    assert len(versions(CrawlFolder(tmp_path / "crawl*"), URL)) == 1


async def test_rows_are_seen_once_while_their_journal_is_still_there(folder: CrawlFolder, tmp_path: Path) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    store.put(visit(), response(), None, NO_LINKS)
    await store.sync()
    (journal,) = folder.journals()
    shutil.copy(journal, tmp_path / "journal")
    await store.close()
    shutil.copy(tmp_path / "journal", journal)
    assert len(versions(folder, URL)) == 1


async def test_rows_of_a_running_crawl_are_seen_before_their_part_is_written(folder: CrawlFolder) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    answer = response(body=body_with(1))
    store.put(visit(), answer, *parse(visit(), answer))
    await store.sync()
    found = page_at(folder, URL)
    assert found is not None
    assert found.text is None
    again = response_of_visit(folder, found.visit)
    assert again is not None
    assert again.body == body_with(1)
    await store.close()
    closed = page_at(folder, URL)
    assert closed is not None
    assert closed.text is not None
    assert len(versions(folder, URL)) == 1


async def test_all_records_come_file_by_file(folder: CrawlFolder) -> None:
    await keep(folder, (visit(), b"x"))
    store = FolderStore(folder, 1, Settings(), lambda: START)
    store.put(visit(), response(body=b"y"), None, NO_LINKS)
    await store.sync()
    assert [record.kind for record in all_records(folder)] == ["warcinfo", "response", "request"] * 2
    await store.close()


HEADER_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: name not in ("content-encoding", "x-crawler-transfer-encoding")
)
HEADER_VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc"]), max_size=40).map(
    str.strip
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bodies=st.lists(
        st.one_of(st.binary(max_size=2_000), st.binary(max_size=8).map(lambda part: part * 200)), min_size=1
    ),
    headers=st.lists(st.tuples(HEADER_NAMES, HEADER_VALUES), max_size=8),
    status=st.integers(100, 999),
)
def test_what_was_put_is_what_is_read(
    folder: CrawlFolder, bodies: list[bytes], headers: list[tuple[str, str]], status: int
) -> None:
    writer = WarcWriter(folder, 0, Settings(durability="process"), lambda: START + len(folder.warc_files()))
    sent = [response(body=body, headers=headers, status=status) for body in bodies]
    places = [writer.append(each, each.started_at) for each in sent]
    writer.finish()
    writer.commit()
    for each, place in zip(sent, places, strict=True):
        found = read_response(folder, *place)
        assert (found.url, found.status, found.headers) == (each.url, each.status, each.headers)
        assert (found.body, found.raw_body, found.started_at) == (each.body, each.raw_body, each.started_at)
        assert (found.address, found.protocol, found.truncated) == (each.address, each.protocol, "")
        assert found.head == each.head.rstrip(b"\r\n")


@pytest.mark.parametrize(
    ("coding", "raw"),
    [
        ("gzip", gzip.compress(b"words " * 100, mtime=0)),
        ("deflate", zlib.compress(b"words " * 100)),
        ("br", brotli.compress(b"words " * 100)),
        ("identity", b"words " * 100),
        ("made-up", b"words " * 100),
    ],
)
def test_content_codings_are_taken_off_and_the_raw_payload_kept(folder: CrawlFolder, coding: str, raw: bytes) -> None:
    writer = WarcWriter(folder, 0, Settings(), lambda: START)
    place = writer.append(response(raw_body=raw, headers=[("content-encoding", coding)]), START)
    writer.finish()
    writer.commit()
    found = read_response(folder, *place)
    assert (found.body, found.raw_body) == (b"words " * 100, raw)
    assert read_response(folder, *place, max_body_bytes=5).body == b"words"


@pytest.mark.parametrize(
    ("file", "offset", "length"),
    [("../pages/x", 0, 0), ("..", 0, 0), ("none.warc.gz", 0, 0), ("", 0, 0), ("there.warc.gz", 5, 0),
     ("there.warc.gz", 0, 7), ("there.warc.gz", 10**9, 0), ("there.warc.gz", -1, 0)],
)  # fmt: skip
def test_a_place_without_a_record_is_an_error(folder: CrawlFolder, file: str, offset: int, length: int) -> None:
    (folder.warc / "there.warc.gz").write_bytes(gzip.compress(b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n"))
    with pytest.raises(RecordLost):
        read_record(folder, file, offset, length)


# Several records in one gzip member, and one record in several.
BROKEN = {"example-bad-non-chunked.warc.gz", "example-wrong-chunks.warc.gz"}


@pytest.mark.parametrize("path", suites.find_all("conformance/warc/*/*.warc.gz"), ids=lambda path: path.name)
def test_the_files_of_others_are_read_as_fastwarc_reads_them(path: Path) -> None:
    if path.name in BROKEN:
        with pytest.raises(RecordLost):
            list(records(path))
        return
    with path.open("rb") as stream:
        expected = [
            (record.stream_pos, record.headers["WARC-Type"], record.reader.read())
            for record in ArchiveIterator(stream, parse_http=False)
        ]
    assert [(record.offset, record.kind, record.block) for record in records(path)] == expected


@pytest.mark.parametrize("name", ["example.warc", "bad.arc", "example-bad.warc.gz.bad"])
def test_a_file_that_is_no_gzipped_warc_is_an_error(name: str) -> None:
    with pytest.raises(RecordLost):
        list(records(suites.find(f"conformance/warc/warcio/{name}")))
