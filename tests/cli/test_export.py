from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lycosa.cli.main import main
from lycosa.store.wacz import surt

from .world import World


def export(world: World, out: Path, style: str, *more: str) -> Path:
    assert main(["export", *world.place, "--format", style, "--out", str(out), *more]) == 0
    return out


def test_jsonl_has_a_row_per_visit(world: World, tmp_path: Path) -> None:
    lines = export(world, tmp_path / "x.jsonl", "jsonl", "--where", "outcome = 'stored'").read_text().splitlines()
    assert {json.loads(line)["outcome"] for line in lines} == {"stored"}
    assert len(lines) == 5


@pytest.mark.parametrize("what", ["pages", "links", "history", "hosts"])
def test_every_table_can_be_had_as_parquet(world: World, tmp_path: Path, what: str) -> None:
    out = export(world, tmp_path / "x.parquet", "parquet", "--what", what)
    table = pq.read_table(out)
    assert len(table) > 1
    moments = [field for field in table.schema if pa.types.is_timestamp(field.type)]
    assert moments
    assert {field.type.tz for field in moments} == {"UTC"}


def test_only_pages_are_exported_unless_all_is_asked_for(world: World, tmp_path: Path) -> None:
    def outcomes(out: Path) -> set[str]:
        return {json.loads(line)["outcome"] for line in out.read_text().splitlines()}

    assert outcomes(export(world, tmp_path / "pages.jsonl", "jsonl")) <= {"stored", "duplicate", "unchanged"}
    assert outcomes(export(world, tmp_path / "all.jsonl", "jsonl", "--all")) >= {"stored", "read"}


@pytest.mark.parametrize("style", ["jsonl", "csv"])
@pytest.mark.parametrize(("what", "column"), [("pages", "fetched_at"), ("hosts", "free_at"), ("history", "visited_at")])
def test_times_say_that_they_are_in_utc(world: World, tmp_path: Path, style: str, what: str, column: str) -> None:
    out = export(world, tmp_path / f"x.{style}", style, "--what", what)
    lines = out.read_text().splitlines()
    rows = map(json.loads, lines) if style == "jsonl" else csv.DictReader(lines)
    times = [row[column] for row in rows if row[column]]
    assert times
    assert all(datetime.fromisoformat(time).tzinfo is UTC for time in times)


def test_pages_are_left_out_where_their_site_does_not_want_the_purpose(world: World, tmp_path: Path) -> None:
    refused = {world.url("/one"), world.url("/copy")}
    for purpose in ("search", "ai"):
        out = export(world, tmp_path / f"{purpose}.jsonl", "jsonl", "--purpose", purpose)
        urls = {json.loads(line)["url"] for line in out.read_text().splitlines()}
        assert urls >= {world.url("/"), world.url("/latin")}
        assert urls & refused == (set() if purpose == "ai" else refused)
    links = export(world, tmp_path / "links.jsonl", "jsonl", "--purpose", "ai", "--what", "links").read_text()
    assert world.url("/one") in links


def test_a_wacz_holds_no_bytes_of_pages_that_are_left_out(world: World, tmp_path: Path) -> None:
    with zipfile.ZipFile(export(world, tmp_path / "x.wacz", "wacz", "--purpose", "ai")) as archive:
        names = [name for name in archive.namelist() if name.startswith("archive/")]
        content = b"".join(gzip.decompress(archive.read(name)) for name in names)
        listed = archive.read("pages/pages.jsonl") + gzip.decompress(archive.read("indexes/index.cdx.gz"))
    for told in (content, listed):
        assert world.url("/latin").encode() in told
    assert b"The quick brown fox" not in content
    assert f"WARC-Target-URI: {world.url('/one')}\r\n".encode() not in content
    assert world.url("/one").encode() not in listed


def test_csv_opens_safely_in_a_spreadsheet(world: World, tmp_path: Path) -> None:
    with export(world, tmp_path / "x.csv", "csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(row["title"].startswith("'=cmd()") for row in rows)
    assert all(row["warc_offset"].lstrip("-").isdigit() for row in rows)


def test_a_folder_has_pages_in_utf8_named_by_their_content(world: World, tmp_path: Path) -> None:
    out = export(world, tmp_path / "pages", "folder")
    index = {entry["url"]: entry for entry in map(json.loads, (out / "index.jsonl").read_text().splitlines())}
    assert len(index) == 6
    assert index[world.url("/one")]["file"] == index[world.url("/copy")]["file"]
    cyrillic = out / index[world.url("/latin")]["file"]
    assert "Паук плетёт" in cyrillic.read_text(encoding="utf-8-sig")
    assert cyrillic.read_bytes().startswith(b"\xef\xbb\xbf")
    assert (out / index[world.url("/data.bin")]["file"]).read_bytes() == bytes(range(256))
    names = [path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()]
    assert all(name == "index.jsonl" or name.removeprefix("pages/")[3:43].isalnum() for name in names)


def test_a_wacz_lists_what_it_holds_and_its_index_finds_it(world: World, tmp_path: Path) -> None:
    with zipfile.ZipFile(export(world, tmp_path / "x.wacz", "wacz")) as archive:
        manifest = json.loads(archive.read("datapackage.json"))
        assert manifest["wacz_version"] == "1.1.1"
        for resource in manifest["resources"]:
            content = archive.read(resource["path"])
            assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert resource["bytes"] == len(content)
        digest = json.loads(archive.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(archive.read('datapackage.json')).hexdigest()}"
        stored = [entry for entry in archive.infolist() if entry.filename.startswith("archive/")]
        assert {entry.compress_type for entry in stored} == {zipfile.ZIP_STORED}
        lines = gzip.decompress(archive.read("indexes/index.cdx.gz")).decode().splitlines()
        assert lines == sorted(lines)
        for line in lines:
            fields = json.loads(line.split(" ", 2)[2])
            warc = archive.read(f"archive/{fields['filename']}")
            start, length = int(fields["offset"]), int(fields["length"])
            with gzip.open(io.BytesIO(warc[start : start + length])) as member:
                assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in member.read()
        pages = [json.loads(line) for line in archive.read("pages/pages.jsonl").decode().splitlines()]
    assert pages[0] == {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    assert {page["url"] for page in pages[1:]} >= {world.url("/one"), world.url("/latin")}


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.Example.com:80/A//b/?b=2&a=1", "com,example)/a/b?a=1&b=2"),
        ("https://example.com", "com,example)/"),
        ("http://example.com:8080/x", "com,example:8080)/x"),
        ("http://www2.example.co.uk/", "uk,co,example)/"),
        ("http://[::1]:x/", "http://[::1]:x/"),
    ],
)
def test_keys_of_the_index_are_those_of_replay_tools(url: str, key: str) -> None:
    assert surt(url) == key


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "csv", "--out", "{dir}/there"], "exists already"),
        (["--format", "csv", "--out", "{dir}/no/such/x"], "there is no folder"),
        (["--format", "wacz", "--what", "links", "--out", "{dir}/x"], "holds pages"),
        (["--format", "csv", "--where", "nope = 1", "--out", "{dir}/x"], "nope"),
        (["--format", "csv", "--where", "true); DROP VIEW pages; --", "--out", "{dir}/x"], "can only read"),
    ],
)
def test_bad_wishes_leave_nothing_behind(
    world: World, tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").touch()
    assert main(["export", *world.place, *(option.format(dir=tmp_path) for option in options)]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
