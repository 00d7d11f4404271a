from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from lycosa.model import Response
from lycosa.settings import Settings
from lycosa.store.digest import base32
from lycosa.store.folder import CrawlFolder
from lycosa.store.record import read_record, read_response, records
from lycosa.store.warc import (
    IDENTICAL,
    NOT_MODIFIED,
    Exchange,
    WarcWriter,
    date,
    microseconds,
    payload_digest,
    request_record,
    response_record,
)

from .samples import START, body_with, response

Write = Callable[..., list[Path]]


@pytest.fixture
def write(folder: CrawlFolder) -> Write:
    """Write exchanges, one second apart, and close the files."""

    def run(*responses: Response, settings: Settings | None = None) -> list[Path]:
        writer = WarcWriter(folder, 3, settings or Settings(), lambda: START)
        for number, each in enumerate(responses):
            writer.append(each, START + number)
        writer.finish()
        writer.commit()
        return folder.warc_files()

    return run


def by_warcio(path: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """Every record as warcio reads it; a digest that does not fit raises."""
    with path.open("rb") as stream:
        return [
            (record.rec_type, dict(record.rec_headers.headers), record.content_stream().read())
            for record in ArchiveIterator(stream, check_digests="raise")
        ]


def by_fastwarc(path: Path) -> list[tuple[str, dict[str, str], bytes]]:
    with path.open("rb") as stream:
        return [
            (record.headers["WARC-Type"], dict(record.headers), record.reader.read())
            for record in FastIterator(stream, strict_mode=True)
        ]


def test_a_closed_file_passes_gunzip_and_both_readers(write: Write) -> None:
    (path,) = write(response(body=b"<p>hello</p>"), response("http://b.example/x", b""))
    subprocess.run(["gunzip", "-t", str(path)], check=True)
    assert [kind for kind, _, _ in by_warcio(path)] == ["warcinfo", "response", "request", "response", "request"]
    assert [kind for kind, _, _ in by_fastwarc(path)] == ["warcinfo", "response", "request", "response", "request"]
    assert by_warcio(path)[1][2] == b"<p>hello</p>"


def test_every_record_is_a_gzip_member_of_its_own(write: Write) -> None:
    (path,) = write(response())
    data = path.read_bytes()
    found = list(records(path))
    assert len(found) == 3
    for record in found:
        assert gzip.decompress(data[record.offset : record.offset + record.length]).startswith(b"WARC/1.1\r\n")
    assert found[-1].offset + found[-1].length == len(data)


def test_the_request_names_its_response(write: Write) -> None:
    (path,) = write(response())
    _, answer, request = records(path)
    assert request.headers["warc-concurrent-to"] == answer.headers["warc-record-id"]
    assert request.headers["warc-record-id"] != answer.headers["warc-record-id"]
    assert request.block == b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


def test_the_header_says_where_when_and_how(write: Write) -> None:
    (path,) = write(response("http://a.example/ü?q=1", protocol="h2", truncated="length"))
    _, headers, _ = by_warcio(path)[1]
    assert headers["WARC-Target-URI"] == "http://a.example/ü?q=1"
    assert headers["WARC-Date"] == "2026-02-02T02:40:00.000000Z"
    assert headers["WARC-IP-Address"] == "192.0.2.7"
    assert headers["WARC-Protocol"] == "h2"
    assert headers["WARC-Truncated"] == "length"


def test_the_payload_digest_is_of_the_payload_as_it_came(write: Write) -> None:
    raw = gzip.compress(b"<p>hello</p>")
    coded = response(body=b"<p>hello</p>", raw_body=raw, headers=[("content-encoding", "gzip")])
    (path,) = write(coded)
    expected = base64.b32encode(hashlib.sha1(raw).digest()).decode()
    _, headers, _ = by_warcio(path)[1]
    assert headers["WARC-Payload-Digest"] == f"sha1:{expected}"


def test_every_record_has_the_digest_of_its_block(write: Write) -> None:
    body = b"<p>hello</p>" * 100
    (path,) = write(response(body=body), response(body=body), response(status=304, body=b""))
    found = records(path)
    assert {record.kind for record in found} == {"warcinfo", "response", "request", "revisit"}
    for record in found:
        expected = base64.b32encode(hashlib.sha1(record.block).digest()).decode()
        assert record.headers["warc-block-digest"] == f"sha1:{expected}"


def test_a_digest_known_already_is_used_only_where_it_is_of_the_payload() -> None:
    plain, coded = response(body=b"<p>"), response(body=b"<p>", raw_body=gzip.compress(b"<p>"))
    known = payload_digest(plain)
    assert payload_digest(plain, "sha1:" + "A" * 32) == "sha1:" + "A" * 32
    assert payload_digest(plain, "md5:" + "A" * 33) == payload_digest(plain, "sha1:A") == known
    assert payload_digest(coded, known) == payload_digest(coded) != known


@pytest.mark.parametrize("name", [b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING"])
def test_a_transfer_coding_that_was_taken_off_is_renamed(write: Write, name: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n%b: chunked\r\nContent-Type: text/html\r\n\r\n" % name
    (path,) = write(response(body=b"no chunks here", head=head))
    _, answer, _ = records(path)
    assert b"\r\nX-Crawler-Transfer-Encoding: chunked\r\n" in answer.block
    assert by_warcio(path)[1][2] == by_fastwarc(path)[1][2] == b"no chunks here"


def test_a_blank_line_within_the_head_does_not_end_it(write: Write) -> None:
    (path,) = write(response(body=b"body", head=b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\nB: 2\n\nC: 3\r\n\r\n"))
    assert by_warcio(path)[1][2] == b"body"


def test_a_response_without_a_head_gets_a_status_line(folder: CrawlFolder, write: Write) -> None:
    (path,) = write(response(body=b"body", head=b""))
    record = list(records(path))[1]
    assert read_response(folder, path.name, record.offset).status == 200
    assert by_warcio(path)[1][2] == b"body"


def test_an_identical_payload_is_kept_once_and_referred_to(folder: CrawlFolder, write: Write) -> None:
    same = body_with(1)
    (path,) = write(response("http://a.example/1", same), response("http://b.example/2", same))
    found = [record for record in records(path) if record.kind in ("response", "revisit")]
    original, revisit = found
    assert (original.kind, revisit.kind) == ("response", "revisit")
    assert revisit.headers["warc-profile"] == IDENTICAL
    assert revisit.headers["warc-refers-to-target-uri"] == original.url == "http://a.example/1"
    assert revisit.headers["warc-refers-to-date"] == original.headers["warc-date"]
    assert revisit.headers["warc-payload-digest"] == original.headers["warc-payload-digest"]
    assert same not in revisit.block
    assert read_response(folder, path.name, revisit.offset).body == same
    assert by_warcio(path)[3][2] == b""


def test_a_payload_that_was_cut_is_neither_referred_to_nor_refers(write: Write) -> None:
    same = body_with(1)
    (path,) = write(response(body=same, truncated="time"), response(body=same), response(body=same, truncated="length"))
    kinds = [record.kind for record in records(path) if record.kind != "request"]
    assert kinds == ["warcinfo", "response", "response", "response"]


def test_a_short_payload_is_kept_again(write: Write) -> None:
    (path,) = write(response(body=b"short"), response(body=b"short"))
    assert "revisit" not in [record.kind for record in records(path)]


def test_not_modified_is_a_revisit_of_the_same_url(write: Write) -> None:
    (path,) = write(response("http://a.example/", b"", status=304))
    revisit = list(records(path))[1]
    assert revisit.kind == "revisit"
    assert revisit.headers["warc-profile"] == NOT_MODIFIED
    assert revisit.headers["warc-refers-to-target-uri"] == "http://a.example/"
    assert [kind for kind, _, _ in by_fastwarc(path)] == ["warcinfo", "revisit", "request"]


def test_files_are_rotated_at_their_size_and_each_has_its_own_warcinfo(folder: CrawlFolder, write: Write) -> None:
    paths = write(*(response(body=body_with(number)) for number in range(6)), settings=Settings(warc_bytes=1_000))
    assert len(paths) > 2
    assert folder.open_warcs() == []
    for path in paths:
        kinds = [kind for kind, _, _ in by_warcio(path)]
        assert kinds[:2] == ["warcinfo", "response"]
        assert next(records(path)).headers["warc-filename"] == path.name


def test_names_come_from_worker_time_and_serial_only(write: Write) -> None:
    (path,) = write(response("http://a.example/../../etc/passwd\r\nX: y"))
    assert path.name == "lycosa-20260202T024000-w3-00000.warc.gz"


def test_a_second_writer_in_the_same_second_takes_another_name(write: Write) -> None:
    write(response())
    assert len(write(response())) == 2


def test_a_file_being_written_is_marked_open(folder: CrawlFolder) -> None:
    writer = WarcWriter(folder, 0, Settings(), lambda: START)
    place = writer.append(response(), START)
    assert [path.name for path in folder.open_warcs()] == [place.file + ".open"]
    assert folder.warc_files() == []


def test_what_is_committed_can_be_read_while_the_file_is_open(folder: CrawlFolder) -> None:
    writer = WarcWriter(folder, 0, Settings(), lambda: START)
    place = writer.append(response(body=b"early"), START)
    writer.stage()
    writer.append(response(body=b"late"), START)
    writer.commit()
    assert read_response(folder, *place).body == b"early"
    assert [record.kind for record in records(folder.warc_path(place.file))] == ["warcinfo", "response", "request"]


@given(st.text(), st.text(max_size=50), st.text(max_size=50))
def test_nothing_from_the_web_can_add_a_header_line(url: str, address: str, protocol: str) -> None:
    hostile = Response(url, 200, [], b"", b"", b"HTTP/1.1 200 OK", b"GET /", address, protocol, START, 0.0, protocol)
    about = Exchange(*_cleaned(url), "<urn:uuid:1>", "<urn:uuid:2>")
    for member in (response_record(hostile, about, "sha1:X", None), request_record(hostile, about)):
        header = gzip.decompress(member).partition(b"\r\n\r\n")[0].decode()
        names = [line.partition(":")[0] for line in header.splitlines()[1:]]
        assert len(names) == len(set(names))
        assert set(names) <= KNOWN_NAMES


KNOWN_NAMES = {
    "WARC-Block-Digest",
    "WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Target-URI", "WARC-Concurrent-To", "WARC-IP-Address",
    "WARC-Protocol", "WARC-Payload-Digest", "WARC-Truncated", "Content-Type", "Content-Length",
}  # fmt: skip


def _cleaned(url: str) -> tuple[str, str]:
    from lycosa.store.warc import clean_uri

    return clean_uri(url), date(microseconds(START))


@given(st.binary(min_size=20, max_size=20))
def test_base32_is_that_of_the_standard(digest: bytes) -> None:
    assert base32(digest) == base64.b32encode(digest).decode()


def test_a_location_leads_to_its_record(folder: CrawlFolder, write: Write) -> None:
    writer = WarcWriter(folder, 0, Settings(), lambda: START)
    places = [writer.append(response(body=body_with(number)), START + number) for number in range(5)]
    writer.finish()
    writer.commit()
    for number, place in enumerate(places):
        assert read_record(folder, *place).block.endswith(body_with(number))
