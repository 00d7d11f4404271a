from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

from lycosa.bench.order.graph import from_file, synthetic
from lycosa.bench.order.orders import ORDERS
from lycosa.bench.order.run import compare_orders
from lycosa.cli.main import main

# A root, two pages that link back, one page that only the second has a link to; and one that nothing leads to.
PAIRS = [("r", "a"), ("r", "b"), ("a", "r"), ("b", "r"), ("b", "c"), ("lost", "r")]


def write(path: Path, between: str = "\t") -> Path:
    text = "# who links to whom\n" + "".join(f"{source}{between}{target}\n" for source, target in PAIRS)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(("name", "between"), [("e.tsv", "\t"), ("e.csv", ","), ("e.txt", " "), ("e.txt.gz", "\t")])
def test_edges_are_read_from_text(tmp_path: Path, name: str, between: str) -> None:
    graph = from_file(write(tmp_path / name, between), ["r"])
    assert (graph.pages, len(graph.links), graph.seeds) == (4, 5, [0])


def test_edges_are_read_from_parquet_and_urls_tell_their_hosts(tmp_path: Path) -> None:
    place = tmp_path / "edges.parquet"
    rows = "('http://a.test/', 'http://b.test/'), ('http://b.test/', 'http://b.test/x')"
    duckdb.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t(s, t)) TO '{place}'")
    graph = from_file(place, [])
    assert graph.hosts.tolist() == [0, 1, 1]


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_crawls_everything_once(order: str) -> None:
    graph = synthetic(2_000)
    ranks = np.random.default_rng(1).random(graph.pages)
    assert sorted(ORDERS[order](graph, ranks)) == list(range(graph.pages))


def test_the_made_up_web_is_the_same_every_time_and_has_farms_and_traps() -> None:
    one, other = synthetic(2_000), synthetic(2_000)
    assert (one.links == other.links).all()
    assert not (
        one.links.shape == (elsewhere := synthetic(2_000, seed=2).links).shape and (one.links == elsewhere).all()
    )
    assert 0.1 < one.is_spam.mean() < 0.3


def test_ours_is_better_than_opic_and_breadth_on_the_made_up_web() -> None:
    result = compare_orders(synthetic(5_000), ["breadth-first", "OPIC", "lycosa"], lambda text: None)
    breadth, opic, ours = (row.mass for row in result.rows)
    assert ours[0] > max(breadth[0], opic[0])
    assert ours[1] > max(breadth[1], opic[1])


def test_the_command_prints_and_keeps_its_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = write(tmp_path / "e.tsv")
    assert main(["bench", "order", "--edges", str(edges), "--start", "r", "--folder", str(tmp_path / "out")]) == 0
    assert "partial PageRank" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "order.json").read_text())["pages"] == 4
    assert "| lycosa |" in (tmp_path / "out" / "order.md").read_text()
    assert "<svg" in (tmp_path / "out" / "order.svg").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "luck"], "no order 'luck'"),
        (["--start", "x"], "--start is for --edges"),
        (["--edges", "nowhere.tsv"], "there is no file"),
        (["--pages", "3"], "at least 1,000"),
    ],
)
def test_impossible_wishes_are_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "order", *options]) == 2
    assert message in capsys.readouterr().err
