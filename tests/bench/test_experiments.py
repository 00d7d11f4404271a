"""The experiments come out as theory says, and make a page with plots that can be shown."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from lycosa.bench.experiments import balance, scale
from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.run import QUICK, experiments, write
from lycosa.bench.experiments.sketches import bloom_error, heavy_tailed, sketch_error
from lycosa.cli.main import main


def cells(text: str) -> list[list[str]]:
    """The rows of the first table, its head left out."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def number(cell: str) -> float:
    return float(re.sub("[^0-9.]", "", cell))


def test_the_ring_leaves_a_domain_with_one_client_and_the_balanced_assignment_spreads_it() -> None:
    for row in cells(balance.simulated((2, 4), domains=200, requests=4_000).text):
        clients, ring, balanced = int(row[0]), number(row[3]), number(row[4])
        assert ring == pytest.approx((clients - 1) ** 0.5, abs=0.001)
        assert balanced < 0.1


def test_a_sketch_is_seldom_beyond_its_bound_and_better_the_larger() -> None:
    rows = cells(sketch_error(names=2_000, total=20_000).text)
    assert all(number(row[6]) <= number(row[7]) for row in rows)
    means = [number(row[2]) for row in rows]
    assert means == sorted(means, reverse=True)


def test_a_bloom_filter_is_as_wrong_as_expected() -> None:
    for row in cells(bloom_error(items=20_000).text):
        for expected, measured in ((number(row[2]), number(row[3])), (number(row[5]), number(row[6]))):
            # Four standard deviations of a share among 20,000, in percent.
            slack = 4 * (expected / 100 * (1 - expected / 100) / 20_000) ** 0.5 * 100
            assert abs(measured - expected) <= slack + 0.02


def test_heavy_tails_add_up() -> None:
    counts = heavy_tailed(100, 10_000)
    assert sum(counts) == 10_000
    assert counts[0] > 10 * counts[50]


def test_a_week_is_bound_by_capacity_by_pages_and_by_politeness() -> None:
    web = scale.Hosts(np.array([1000.0, 1000.0], np.float32), np.array([1.0, 1.0], np.float32), np.array([0, 1]))
    both = np.array([0, 0])
    assert scale._week(web, 5.0, None, 2, spare=1.0).share == pytest.approx(1.0)
    assert scale._week(web, 5.0, both, 2, spare=1.0).share == pytest.approx(0.5), "the other worker has no host"
    assert scale._week(web, 0.5, None, 2, spare=2.0).share == pytest.approx(0.5)
    slow = web._replace(gap_seconds=np.array([6048.0, 6048.0], np.float32))
    assert scale._week(slow, 5.0, None, 2, spare=2.0).share == pytest.approx(0.1)


def test_the_ring_moves_only_what_it_must() -> None:
    points = np.random.default_rng(1).integers(0, 1 << 48, 50_000, dtype=np.int64)
    ring = scale._ring(20, points, scale._owners(list(range(20)), points))
    assert ring.moved_wrongly == 0
    assert 0.5 < ring.moved_by_join < 1.5
    assert 0.5 < ring.moved_by_crash < 1.5


def test_the_page_and_its_plots(tmp_path: Path) -> None:
    sections = list(experiments(("balance", "sketch", "bloom", "scale"), QUICK, lambda _: None))
    page = tmp_path / "experiments.md"
    write(sections, "the command", page)
    text = page.read_text()
    shown = re.findall(r"!\[.*\]\((.*)\)", text)
    assert len(shown) == 4
    for name in shown:
        assert ElementTree.parse(page.parent / name).getroot().tag.endswith("svg")
    assert "`the command`" in text


def test_a_plot_has_no_place_for_nothing_in_powers_of_ten() -> None:
    drawn = plot("t <", Axis("x"), Axis("y", is_log=True), [PlotLine("a", [(1, 0.0), (2, 10.0), (3, 100.0)])])
    assert drawn.count("<circle") == 2
    assert "t &lt;" in drawn


def test_an_experiment_that_does_not_exist_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "experiments", "--only", "rate,speed"]) == 2
    assert "'speed'" in capsys.readouterr().err


@pytest.mark.full
def test_rate_and_balance_of_real_crawls() -> None:
    rate, crawl = experiments(("rate", "crawl"), QUICK, lambda _: None)
    assert [int(row[0]) for row in cells(rate.text)] == [1, 2]
    ring, balanced = cells(crawl.text)
    assert number(balanced[3]) < number(ring[3])
