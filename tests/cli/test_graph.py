from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from lycosa.cli.main import main

from .world import World


def test_edges_are_source_and_target(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", *world.place, "--edges"]) == 0
    edges = [tuple(line.split("\t")) for line in capsys.readouterr().out.splitlines()]
    assert (world.url("/"), world.url("/one")) in edges
    assert (world.url("/one"), world.url("/")) in edges
    assert len(edges) == len(set(edges))


def test_edges_between_hosts_are_counted(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", *world.place, "--edges", "--hosts", "--json"]) == 0
    edges = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"source": "a.test", "target": "elsewhere.test", "links": 1} in edges


@pytest.mark.parametrize(
    ("style", "reader"), [("parquet", "read_parquet"), ("jsonl", "read_json"), ("tsv", "read_csv")]
)
def test_edges_go_to_a_file(
    world: World, tmp_path: Path, style: str, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"edges.{style}"
    assert main(["graph", *world.place, "--edges", "--format", style, "--out", str(out)]) == 0
    header = ", header = false, delim = '\t'" if style == "tsv" else ""
    rows = duckdb.connect().execute(f"SELECT * FROM {reader}('{out}'{header})").fetchall()
    assert (world.url("/"), world.url("/one")) in rows
    assert f"{len(rows)} edges" in capsys.readouterr().err


def test_degrees_and_the_most_linked(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", *world.place, "--json", "--top", "1"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["sources"] == 3
    assert figures["most_linked"] == [{"target": world.url("/"), "in_links": 2}]
    assert 0 < figures["foreign_share"] < 1
    assert main(["graph", *world.place, "--hosts"]) == 0
    assert "hosts linked to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--out", "x"], "--out is for --edges"), (["--edges", "--format", "parquet"], "needs --out")],
)
def test_impossible_wishes_are_refused(
    world: World, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", *world.place, *options]) == 2
    assert message in capsys.readouterr().err
