"""The oracle's silence counts only because it speaks up when something is wrong: every bug planted here is found."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lycosa.audit import Rule
from lycosa.audit.asked import place_of
from lycosa.cli.main import main
from lycosa.frontier.poison import readable_history
from lycosa.frontier.records import HostRecord, decode_state, encode, readable_host
from lycosa.frontier.rocks.database import KNOWN, Database
from lycosa.frontier.tables import HISTORY, HOSTS, META
from lycosa.model import OutcomeKind
from lycosa.simweb import LoggedRequest

from .conftest import Evidence


def rules(evidence: Evidence, **question: Any) -> set[Rule]:
    return {finding.rule for finding in evidence.audit(**question).findings}


def kept_urls(evidence: Evidence) -> list[str]:
    rows = [row for part in evidence.folder.pages.glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    return [row["url"] for row in rows if row["outcome"] == "stored"]


def warc(evidence: Evidence) -> Path:
    return evidence.folder.warc_files()[0]


def part(evidence: Evidence) -> Path:
    return next(iter(evidence.folder.pages.glob("*.parquet")))


def rewrite_rows(evidence: Evidence, change: Any) -> None:
    table = pq.read_table(part(evidence))
    pq.write_table(change(table), part(evidence))


def host(database: Database, name: str) -> HostRecord | None:
    return readable_host(database.get(HOSTS, [name.encode()])[0], name)


def count_more(database: Database, counter: str, number: int) -> None:
    """Let a counter say so many more than there are."""
    (raw,) = database.get(META, [b"state"])
    assert raw
    state = decode_state(raw)
    state.counts = msgspec.structs.replace(state.counts, **{counter: getattr(state.counts, counter) + number})
    database.put(META, b"state", encode(state))


# ---- nothing planted


def test_a_crawl_that_went_well_is_clean(clean: Evidence) -> None:
    report = clean.audit()
    assert report.findings == []
    assert report.is_clean()
    assert report.figures["requests"] == len(clean.requests())
    assert report.figures["smallest gap per host (s)"] >= 0.02  # type: ignore[operator]


def test_its_own_fetch_log_says_the_same(clean: Evidence) -> None:
    report = clean.audit(own_log=True)
    assert report.findings == []
    assert report.figures["requests"] == len(clean.requests())


# ---- what was asked


def test_a_lost_url_is_found(evidence: Evidence) -> None:
    url = kept_urls(evidence)[-1]
    evidence.rewrite_log(lambda requests: [each for each in requests if each.host + each.path != place_of(url)])
    assert [finding.about for finding in evidence.audit().of(Rule.LOST)] == [url]


def test_a_request_that_only_the_crawl_knows_of_is_found(evidence: Evidence) -> None:
    url = kept_urls(evidence)[0]
    evidence.rewrite_log(lambda requests: [each for each in requests if each.host + each.path != place_of(url)])
    assert [finding.about for finding in evidence.audit().of(Rule.UNSEEN)] == [url]


def test_a_page_asked_for_and_not_kept_is_found(evidence: Evidence) -> None:
    url = kept_urls(evidence)[-1]
    rewrite_rows(evidence, lambda table: table.filter(pc.not_equal(table["url"], url)))
    assert Rule.NOT_KEPT in rules(evidence)


def test_a_double_fetch_is_found(evidence: Evidence) -> None:
    def twice(requests: list[LoggedRequest]) -> list[LoggedRequest]:
        page = next(request for request in requests if request.path != "/robots.txt" and request.status == 200)
        again = msgspec.structs.replace(page, arrived_at=requests[-1].arrived_at + 1)
        return [*requests, again]

    evidence.rewrite_log(twice)
    report = evidence.audit()
    assert [finding.rule for finding in report.findings] == [Rule.EXTRA]
    assert not report.is_clean()
    assert evidence.audit(allowed={"extra": 1}).is_clean()


def test_a_double_fetch_in_its_own_log_is_found(evidence: Evidence) -> None:
    rewrite_rows(evidence, lambda table: pa.concat_tables([table, table.slice(len(table) - 1)]))
    assert Rule.EXTRA in rules(evidence, own_log=True)


def close_up(requests: list[LoggedRequest], first: int, second: int) -> list[LoggedRequest]:
    """The requests with the second moved right behind the first."""
    near = msgspec.structs.replace(requests[second], arrived_at=requests[first].arrived_at + 0.001)
    return [*requests[:second], near, *requests[second + 1 :]]


def test_two_requests_too_close_to_a_host_are_found(evidence: Evidence) -> None:
    def crowd(requests: list[LoggedRequest]) -> list[LoggedRequest]:
        own = [at for at, each in enumerate(requests) if each.host == requests[0].host]
        return close_up(requests, own[1], own[2])

    evidence.rewrite_log(crowd)
    found = evidence.audit().of(Rule.HOST_GAP)
    assert len(found) == 1
    assert found[0].seen.startswith("0.001")


def test_two_requests_too_close_to_an_address_are_found(evidence: Evidence) -> None:
    hosts = sorted({request.host for request in evidence.requests()})[:2]

    def share(database: Database) -> None:
        for name in hosts:
            record = host(database, name)
            assert record is not None
            record.address = "127.9.9.9"
            database.put(HOSTS, name.encode(), encode(record))

    evidence.change_frontier(share)
    at = {host: next(i for i, each in enumerate(evidence.requests()) if each.host == host) for host in hosts}
    evidence.rewrite_log(lambda requests: close_up(requests, at[hosts[0]], at[hosts[1]]))
    found = evidence.audit(address_gap_seconds=0.02).of(Rule.ADDRESS_GAP)
    assert [finding.about for finding in found] == ["127.9.9.9"]


def test_what_the_settings_promise_an_address_and_a_domain_is_judged_without_being_asked(evidence: Evidence) -> None:
    hosts = {request.host for request in evidence.requests()}

    def share(database: Database) -> None:
        for name in hosts:
            if record := host(database, name):
                record.address = "127.9.9.9"
                database.put(HOSTS, name.encode(), encode(record))

    assert not {Rule.ADDRESS_GAP, Rule.DOMAIN_GAP} & set(evidence.audit().counts())
    evidence.change_frontier(share)
    assert [finding.about for finding in evidence.audit().of(Rule.ADDRESS_GAP)] == ["127.9.9.9"]


def test_two_requests_too_close_to_a_registered_domain_are_found(evidence: Evidence) -> None:
    def siblings(requests: list[LoggedRequest]) -> list[LoggedRequest]:
        start = requests[-1].arrived_at + 10
        one = LoggedRequest(start, start, "a.sisters.test", "/robots.txt", 1)
        return [*requests, one, msgspec.structs.replace(one, host="b.sisters.test", arrived_at=start + 0.1)]

    evidence.rewrite_log(siblings)
    found = evidence.audit(domain_gap_seconds=0.5).of(Rule.DOMAIN_GAP)
    assert "sisters.test" in [finding.about for finding in found]
    assert Rule.DOMAIN_GAP not in rules(evidence, domain_gap_seconds=0.0)


def test_a_request_that_the_truth_disallows_is_found(evidence: Evidence) -> None:
    truth = msgspec.json.decode(evidence.truth.read_bytes())
    forbidden = next(page["url"] for page in truth["pages"] if not page["is_allowed"])

    def trespass(requests: list[LoggedRequest]) -> list[LoggedRequest]:
        host = forbidden.split("/")[2].partition(":")[0]
        path = forbidden[forbidden.index("/", 8) :]
        start = requests[-1].arrived_at + 10
        robots = LoggedRequest(start, start, host, "/robots.txt", 1)
        return [*requests, robots, msgspec.structs.replace(robots, path=path, arrived_at=start + 10)]

    evidence.rewrite_log(trespass)
    assert Rule.DISALLOWED in rules(evidence)


def test_a_row_that_the_kept_robots_txt_disallows_is_found(evidence: Evidence) -> None:
    rows = pq.read_table(part(evidence)).to_pylist()
    robots = [row["url"].removesuffix("/robots.txt") for row in rows if row["url"].endswith("/robots.txt")]
    with_rules = {
        row["url"].split("/robots")[0] for row in rows if row["status"] == 200 and "/robots.txt" in row["url"]
    }
    assert robots
    victim = next(row["url"] for row in rows if row["outcome"] == "stored" and origin(row["url"]) in with_rules)

    def trespass(table: pa.Table) -> pa.Table:
        urls = [f"{origin(url)}/private/x" if url == victim else url for url in table["url"].to_pylist()]
        return table.set_column(table.schema.get_field_index("url"), "url", pa.array(urls))

    rewrite_rows(evidence, trespass)
    assert Rule.DISALLOWED in rules(evidence)


def origin(url: str) -> str:
    return url[: url.index("/", 8)]


def test_a_page_before_robots_txt_is_found(evidence: Evidence) -> None:
    evidence.rewrite_log(lambda requests: requests[1:])
    assert Rule.ROBOTS_FIRST in rules(evidence)


# ---- what lies on disk


def test_a_corrupt_warc_member_is_found(evidence: Evidence) -> None:
    data = bytearray(warc(evidence).read_bytes())
    data[len(data) // 2] ^= 0xFF
    warc(evidence).write_bytes(data)
    assert Rule.INVALID_WARC in rules(evidence)


def test_a_truncated_warc_is_found(evidence: Evidence) -> None:
    data = warc(evidence).read_bytes()
    warc(evidence).write_bytes(data[:-5])
    assert Rule.INVALID_WARC in rules(evidence)


def test_an_empty_warc_is_found(evidence: Evidence) -> None:
    (evidence.folder.warc / "lycosa-20310101T000000-w7-00000.warc.gz").touch()
    assert Rule.INVALID_WARC in rules(evidence)


def test_a_record_with_another_payload_than_it_says_is_found(evidence: Evidence) -> None:
    member = zlib.decompressobj(31)
    data = warc(evidence).read_bytes()
    rest = member.decompress(data) and member.unused_data
    second = zlib.decompressobj(31)
    record = second.decompress(rest)
    assert b"WARC-Payload-Digest" in record
    start = data[: len(data) - len(rest)]
    forged = gzip.compress(record[:-5] + bytes((record[-5] ^ 1,)) + record[-4:])
    warc(evidence).write_bytes(start + forged + second.unused_data)
    seen = [finding.seen for finding in evidence.audit().of(Rule.INVALID_WARC)]
    assert "its payload digest is wrong" in seen


def test_an_unreadable_parquet_file_is_found(evidence: Evidence) -> None:
    data = part(evidence).read_bytes()
    part(evidence).write_bytes(data[:-20])
    assert Rule.INVALID_PARQUET in rules(evidence)


def test_damage_within_a_parquet_file_is_found(evidence: Evidence) -> None:
    links = next(iter(evidence.folder.links.glob("*.parquet")))
    data = bytearray(links.read_bytes())
    data[40:400] = b"\xff" * 360
    links.write_bytes(data)
    assert Rule.INVALID_PARQUET in rules(evidence)


@pytest.mark.parametrize(
    "name",
    [
        "warc/lycosa-20310101T000000-w0-00000.warc.gz.open",
        "pages/lycosa-20310101T000000-w0-00000.journal.open",
        "links/lycosa-20310101T000000-w0-00000.parquet.open",
    ],
)
def test_a_file_left_open_is_found(evidence: Evidence, name: str) -> None:
    (evidence.folder.path / name).touch()
    assert [finding.about for finding in evidence.audit().of(Rule.LEFT_OPEN)] == [name]
    assert Rule.LEFT_OPEN not in rules(evidence, is_running=True)


def test_a_stored_page_without_its_record_is_found(evidence: Evidence) -> None:
    def misplace(table: pa.Table) -> pa.Table:
        offsets = [offset + 1 if offset > 0 else offset for offset in table["warc_offset"].to_pylist()]
        return table.set_column(table.schema.get_field_index("warc_offset"), "warc_offset", pa.array(offsets))

    rewrite_rows(evidence, misplace)
    assert {Rule.ROW_WITHOUT_RECORD, Rule.RECORD_WITHOUT_ROW} <= rules(evidence)


def test_a_row_that_names_the_record_of_another_page_is_found(evidence: Evidence) -> None:
    def swap(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        kept = [row for row in rows if row["outcome"] == "stored"]
        for name in ("warc_offset", "warc_length"):
            kept[0][name], kept[1][name] = kept[1][name], kept[0][name]
        return pa.Table.from_pylist(rows, schema=table.schema)

    rewrite_rows(evidence, swap)
    assert len(evidence.audit().of(Rule.ROW_WITHOUT_RECORD)) == 2


def test_a_stored_page_without_a_row_is_found(evidence: Evidence) -> None:
    url = kept_urls(evidence)[0]
    rewrite_rows(evidence, lambda table: table.filter(pc.not_equal(table["url"], url)))
    report = evidence.audit()
    assert [finding.about for finding in report.of(Rule.PAGE_WITHOUT_ROW)] == [url]
    assert report.of(Rule.RECORD_WITHOUT_ROW)


# ---- the frontier


@pytest.mark.parametrize("counter", ["queued", "known", "delayed", "hosts", "stored"])
def test_counters_that_do_not_add_up_are_found(evidence: Evidence, counter: str) -> None:
    evidence.change_frontier(lambda database: count_more(database, counter, 100))
    assert rules(evidence) == {Rule.COUNTERS}


def test_late_settles_are_found(evidence: Evidence) -> None:
    evidence.change_frontier(lambda database: count_more(database, "late", 2))
    assert len(evidence.audit().of(Rule.LATE)) == 2


def test_a_stranded_host_is_found(evidence: Evidence) -> None:
    def strand(database: Database) -> None:
        name, _ = next(database.rows(HOSTS))
        record = host(database, name.decode())
        assert record is not None
        record.queued += 1
        database.put(HOSTS, name, encode(record))

    evidence.change_frontier(strand)
    assert Rule.STRANDED in rules(evidence)


def test_a_link_that_the_frontier_forgot_is_found(evidence: Evidence) -> None:
    def forget(database: Database) -> None:
        fingerprint = next(
            key
            for key, raw in database.rows(HISTORY)
            if (past := readable_history(raw)) and past.outcome is OutcomeKind.STORED and past.depth == 1
        )
        for family in (KNOWN, HISTORY):
            del database.families[family][fingerprint]

    evidence.change_frontier(forget)
    assert Rule.LINK_LOST in rules(evidence)
    assert Rule.LINK_LOST not in rules(evidence, has_links=False)


# ---- the command


def test_the_command_says_what_it_found(
    evidence: Evidence, clean: Evidence, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["audit", "--folder", str(clean.folder.path), "--log", str(clean.log), "--truth", str(clean.truth)]
    assert main(given) == 0
    assert "clean" in capsys.readouterr().out
    (evidence.folder.warc / "lycosa-20310101T000000-w7-00000.warc.gz").touch()
    assert main(["audit", "--folder", str(evidence.folder.path), "--json"]) == 3
    report = msgspec.json.decode(capsys.readouterr().out)
    assert not report["is_clean"]
    assert report["counts"]["invalid-warc"] == 1
    assert main(["audit", "--folder", str(evidence.folder.path), "--allow", "invalid-warc=1"]) == 0
    assert main(["audit", "--folder", str(evidence.folder.path), "--allow", "nonsense=1"]) == 2
    evidence.log.write_text("no JSON\n")
    assert main(["audit", "--folder", str(evidence.folder.path), "--log", str(evidence.log)]) == 2


# ---- what left no record


def test_a_refusal_without_a_row_is_found(evidence: Evidence) -> None:
    refused = [row["url"] for row in pq.read_table(part(evidence)).to_pylist() if row["outcome"] == "refused"]
    assert refused
    rewrite_rows(evidence, lambda table: table.filter(pc.not_equal(table["outcome"], "refused")))
    report = evidence.audit()
    assert sorted(finding.about for finding in report.of(Rule.OUTCOME_WITHOUT_ROW)) == sorted(refused)
    assert [finding.about for finding in report.of(Rule.COUNTERS)] == ["refused"]


def test_two_rows_of_one_visit_are_found(evidence: Evidence) -> None:
    url = kept_urls(evidence)[0]
    rewrite_rows(evidence, lambda table: pa.concat_tables([table, table.filter(pc.equal(table["url"], url))]))
    assert [(finding.about, finding.seen) for finding in evidence.audit().of(Rule.DOUBLED)] == [
        (url, "2 rows, 1 visits")
    ]


def test_a_url_that_vanished_on_its_way_is_found(evidence: Evidence) -> None:
    def forget(database: Database) -> None:
        key = next(key for key, raw in database.rows(HISTORY) if (past := readable_history(raw)) and past.depth > 1)
        del database.families[HISTORY][key]

    evidence.change_frontier(forget)
    report = evidence.audit()
    assert len(report.of(Rule.VANISHED)) == 1
    assert report.figures["left no record"] == 1
