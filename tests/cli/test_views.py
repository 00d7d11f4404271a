"""What commands show of a crawl beside its rows: changes of a page, links to it, the graph, databases, replay."""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.inspect.examples import EXAMPLES
from lycosa.store.folder import CrawlFolder
from lycosa.store.replay import _keyed

from ..search.kept import Kept, keep, new_folder
from .world import World


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> CrawlFolder:
    """A page with three versions, two of which say the same."""
    folder = new_folder(tmp_path_factory.mktemp("changed") / "crawl")
    for at, text in (
        (100.0, "one\ntwo\nthree"),
        (200.0, "one\nTWO\x1b[31m\nthree"),
        (300.0, "one\nTWO\x1b[31m\nthree"),
    ):
        keep(folder, Kept("/1", text, at=at, digest=text))
    keep(folder, Kept("/still", "as ever", at=100.0, digest="x"))
    return folder


def test_the_last_change_of_a_page(changed: CrawlFolder, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--folder", str(changed.path)]
    assert main(["page", "http://a.example/1", *place, "--diff"]) == 0
    out = capsys.readouterr().out
    assert "- two\n+ TWO\\x1b[31m\n" in out
    assert "\x1b" not in out
    assert main(["page", "http://a.example/1", *place, "--diff", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["change"] for each in told["changes"]] == ["-", "+"]
    assert (told["from"], told["until"]) == (100, 300)


def test_the_change_between_two_moments(changed: CrawlFolder, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--folder", str(changed.path)]
    assert main(["page", "http://a.example/1", *place, "--diff", "250", "350"]) == 0
    assert "nothing changed" in capsys.readouterr().err
    assert main(["page", "http://a.example/1", *place, "--diff", "150", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["until"] == 300
    for url, moments, message in (
        ("http://a.example/still", [], "has not changed so far"),
        ("http://a.example/1", ["1", "2", "3"], "two moments at most"),
        ("http://a.example/1", ["50"], "no version that old"),
    ):
        assert main(["page", url, *place, "--diff", *moments]) == 2
        assert message in capsys.readouterr().err


def test_links_to_a_page_with_their_texts(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--in-links", world.url("/one"), *world.place, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert world.url("/") in [row["source"] for row in rows]
    assert main(["graph", "--in-links", world.url("/never-linked"), *world.place]) == 0
    assert "no page of this crawl links to" in capsys.readouterr().err


@pytest.mark.parametrize("hosts", [[], ["--hosts"]])
def test_the_graph_as_graphml(
    world: World, tmp_path: Path, hosts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "graph.graphml"
    assert main(["graph", "--edges", "--format", "graphml", "--out", str(out), *hosts, *world.place]) == 0
    name = "{http://graphml.graphdrawing.org/xmlns}"
    root = ET.parse(out).getroot()
    nodes = {each.attrib["id"] for each in root.iter(f"{name}node")}
    edges = [(each.attrib["source"], each.attrib["target"]) for each in root.iter(f"{name}edge")]
    assert edges
    assert {end for edge in edges for end in edge} == nodes
    capsys.readouterr()
    assert main(["graph", "--edges", *hosts, *world.place]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(edges)


def test_a_picture_of_the_hosts(world: World, tmp_path: Path) -> None:
    out = tmp_path / "hosts.svg"
    assert main(["graph", "--picture", str(out), *world.place]) == 0
    assert "a.test" in out.read_text()
    assert main(["graph", "--picture", str(tmp_path / "no" / "hosts.svg"), *world.place]) == 2


@pytest.mark.parametrize("question", list(EXAMPLES))
def test_every_example_of_sql_runs(world: World, question: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", EXAMPLES[question], *world.place, "--json"]) == 0
    assert "error" not in capsys.readouterr().err


def test_examples_of_sql_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--examples"]) == 0
    out = capsys.readouterr().out
    assert out.count("lycosa query") == len(EXAMPLES) == 10
    assert main(["query"]) == 2
    assert "--examples" in capsys.readouterr().err


def test_a_database_for_sqlite(world: World, tmp_path: Path) -> None:
    out = tmp_path / "crawl.sqlite"
    assert main(["export", "--format", "sqlite", "--out", str(out), "--where", "url LIKE '%/one'", *world.place]) == 0
    with closing(sqlite3.connect(out)) as database:
        assert database.execute("SELECT url, status FROM pages").fetchall() == [(world.url("/one"), 200)]
        [(at,)] = database.execute("SELECT fetched_at FROM pages").fetchall()
        assert at.endswith("Z")
        assert {row[0] for row in database.execute("SELECT source FROM links")} <= {world.url("/one")}
    out = tmp_path / "hosts.sqlite"
    assert main(["export", "--format", "sqlite", "--what", "hosts", "--out", str(out), *world.place]) == 0
    with closing(sqlite3.connect(out)) as database:
        assert database.execute("SELECT count(*) FROM hosts").fetchone()[0] > 0


def test_a_folder_for_pywb(world: World, tmp_path: Path) -> None:
    out = tmp_path / "replay"
    assert main(["export", "--format", "pywb", "--out", str(out), *world.place]) == 0
    collection = json.loads((out / "config.yaml").read_text())["collections"]["crawl"]
    assert Path(collection["archive_paths"]) == world.folder.warc.absolute()
    lines = (out / "indexes" / "index.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    fields = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert world.url("/one") in [each["url"] for each in fields]
    for each in fields:
        file = (Path(collection["archive_paths"]) / each["filename"]).read_bytes()
        assert file[int(each["offset"]) :][:2] == b"\x1f\x8b"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"127.0.0.1:8080)/x 2031 {}\n", b"1,0,0,127:8080)/x 2031 {}\n"),
        (b"10.0.0.9)/ 2031 {}\n", b"9,0,0,10)/ 2031 {}\n"),
        (b"example,a)/1.2.3.4) 2031 {}\n", b"example,a)/1.2.3.4) 2031 {}\n"),
    ],
)
def test_addresses_stand_in_the_index_as_pywb_looks_them_up(line: bytes, kept: bytes) -> None:
    assert _keyed(line) == kept
