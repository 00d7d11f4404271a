"""Damaged bytes of our own formats and of content codings: what can be read is read, and nothing else happens."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from pathlib import Path
from typing import Any

import brotli
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.fetch.coding import decode
from lycosa.model import OutcomeKind, Settlement, Target, Visit
from lycosa.process.frames import CallClient, CallFrame, CallServer, ReplyFrame
from lycosa.process.messages import AskRobots, Leases, Orders, Settle, Take
from lycosa.store.files import OPEN
from lycosa.store.folder import CrawlFolder
from lycosa.store.journal import Journal, JournalRow, read_rows
from lycosa.store.record import RecordLost, members, parse_record, records
from lycosa.store.repair import repair_file
from lycosa.store.warc import warcinfo_record

from .conftest import fuzz
from .shapes import damaged

# ---- content codings

PLAIN = st.binary(max_size=3_000) | st.binary(min_size=1, max_size=20).map(lambda piece: piece * 3_000)
CODED = st.one_of(
    st.tuples(st.just("gzip"), PLAIN.map(gzip.compress)),
    st.tuples(st.just("deflate"), PLAIN.map(zlib.compress)),
    st.tuples(st.just("br"), PLAIN.map(lambda plain: bytes(brotli.compress(plain, quality=1)))),
)


@fuzz
@given(st.lists(st.sampled_from(["gzip", "deflate", "br", "x-gzip"]), max_size=2), damaged(CODED.map(lambda x: x[1])))
def test_damaged_codings_give_at_most_what_is_wanted(codings: list[str], raw: bytes) -> None:
    decoded = decode(raw, codings, 1_000)
    assert len(decoded.body) <= 1_000


@fuzz
@given(CODED, st.integers(0, 5_000))
def test_a_coded_body_is_given_back_up_to_the_limit(coded: tuple[str, bytes], limit: int) -> None:
    coding, raw = coded
    plain = {"gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress}[coding](raw)
    decoded = decode(raw, [coding], limit)
    assert decoded.body == plain[:limit]
    assert decoded.is_cut == (len(plain) > limit)


@fuzz
@given(CODED, st.integers(1, 5_000))
def test_the_beginning_of_a_coded_body_gives_the_beginning_of_the_page(coded: tuple[str, bytes], cut: int) -> None:
    coding, raw = coded
    plain = {"gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress}[coding](raw)
    decoded = decode(raw[:-cut] or b"\x1f", [coding], 100_000)
    # Of very short beginnings nobody can tell that they were coded.
    assert plain.startswith(decoded.body) or len(raw) - cut < 20


# ---- messages between processes

TARGETS = st.builds(Target, st.text(max_size=20), st.text(max_size=20), st.binary(max_size=8))
SETTLEMENTS = st.builds(
    Settlement, st.integers(0, 2**40), st.sampled_from(OutcomeKind), discovered=st.lists(TARGETS, max_size=3)
)
CALLS = st.lists(
    st.builds(
        CallFrame,
        st.integers(0, 2**31),
        st.builds(Take, st.integers(0, 99))
        | st.builds(AskRobots, st.text(max_size=20))
        | st.builds(Settle, st.lists(SETTLEMENTS, max_size=3)),
    ),
    max_size=5,
)


def frame(messages: list[Any]) -> bytes:
    body = msgspec.msgpack.encode(messages)
    return len(body).to_bytes(4) + body


class Heard(CallServer):
    """The parent's end, which only listens."""

    def __init__(self) -> None:
        async def serve(_: Any) -> Any:
            raise AssertionError("nothing is served here")

        super().__init__(serve)
        self.messages: list[Any] = []

    def received(self, message: Any) -> None:
        self.messages.append(message)


@fuzz
@given(st.lists(CALLS, max_size=4), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_messages_arrive_whole_however_the_bytes_are_cut(frames: list[list[CallFrame]], steps: list[int]) -> None:
    async def run() -> list[Any]:
        server, data, at = Heard(), b"".join(map(frame, frames)), 0
        while at < len(data):
            step = steps[at % len(steps)]
            server.data_received(data[at : at + step])
            at += step
        return server.messages

    assert asyncio.run(run()) == [call for calls in frames for call in calls]


@fuzz
@given(damaged(CALLS.map(frame)))
def test_damaged_messages_are_refused_by_their_schema(data: bytes) -> None:
    async def run() -> None:
        server = Heard()
        try:
            server.data_received(data)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError):
            return
        assert all(isinstance(message, CallFrame) for message in server.messages)

    asyncio.run(run())


@fuzz
@given(damaged(st.just(frame([ReplyFrame(0, Orders(0, "f", "", b"", b"")), ReplyFrame(1, Leases([]))]))))
def test_a_worker_refuses_damaged_answers(data: bytes) -> None:
    async def run() -> None:
        client = CallClient()
        try:
            client.data_received(data)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, asyncio.InvalidStateError):
            return

    asyncio.run(run())


# ---- files that a crash left behind

RECORDS = [warcinfo_record(f"file-{number}", "lycosa/1", number * 1_000_000) for number in range(4)]


@fuzz
@given(damaged(st.integers(0, 4).map(lambda count: b"".join(RECORDS[:count]))), st.integers(0, 3_000))
def test_repair_keeps_every_whole_record_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, known: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lycosa-20310101T000000-w0-00000.warc.gz.open"
    path.write_bytes(data)
    whole = 0
    for record in RECORDS:
        if data[whole:].startswith(record):
            whole += len(record)
        else:
            break
    done = repair_file(path)
    closed = path.with_name(path.name.removesuffix(OPEN))
    assert done.kept_bytes >= whole
    if done.kept_bytes:
        kept = closed.read_bytes()
        assert kept == data[: done.kept_bytes]
        gzip.decompress(kept)
        closed.unlink()


@fuzz
@given(damaged(st.just(b"".join(RECORDS))))
def test_reading_damaged_warc_files_gives_records_or_says_so(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.warc.gz"
    path.write_bytes(data)
    try:
        for record in records(path):
            assert record.kind in ("warcinfo", "") or record.headers
    except RecordLost:
        return


@fuzz
@given(st.binary(max_size=500))
def test_any_content_of_a_member_is_a_record_or_not(content: bytes) -> None:
    import io

    data = gzip.compress(b"WARC/1.1\r\n" + content)
    for member in members(io.BytesIO(data)):
        try:
            parse_record("x.warc.gz", member)
        except RecordLost:
            continue


VISITS = st.builds(Visit, st.text(max_size=20), st.just("a.test"), st.just(1.5), st.sampled_from(OutcomeKind))


@fuzz
@given(
    st.lists(VISITS, max_size=5),
    st.integers(0, 400),
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255)), max_size=2),
)
def test_a_damaged_journal_gives_its_first_rows(
    tmp_path_factory: pytest.TempPathFactory, visits: list[Visit], cut: int, flips: list[tuple[int, int]]
) -> None:
    folder = CrawlFolder(tmp_path_factory.getbasetemp() / "journal")
    folder.create()
    journal = Journal(folder, "lycosa-20310101T000000-w0-00000")
    rows = [JournalRow(visit) for visit in visits]
    for row in rows:
        journal.append(row)
    journal.stage()
    journal.commit(power_safe=False)
    journal.close()
    path: Path = folder.journals()[0]
    data = bytearray(path.read_bytes())
    assert list(read_rows(path)) == rows
    del data[max(0, len(data) - cut) :]
    for place, mask in flips:
        if data:
            data[place % len(data)] ^= mask
    path.write_bytes(data)
    found = list(read_rows(path))
    path.unlink()
    assert found == rows[: len(found)]
