"""The benchmark counts right; how fast anything is, no test says."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from urllib.request import urlopen

import msgspec
import pytest
from rich.console import Console

from lycosa.bench.contestants import PEER_NAMES, Contestant, Job, Launch, lycosa_on, peers
from lycosa.bench.install import Cache, checked_names
from lycosa.bench.report import markdown, show
from lycosa.bench.run import BenchPlan, BenchRow, Result, Run, bench, measure
from lycosa.bench.web import BenchWeb, many_hosts
from lycosa.errors import SettingsError


def nobody(_: str) -> None:
    """Hears what the benchmark says."""


def test_lycosa_is_credited_with_what_the_server_saw(tmp_path: Path) -> None:
    plan = BenchPlan(hosts=20, pages=5, max_seconds=60, folder=tmp_path)
    result = bench(plan, [lycosa_on("many", workers=1)], nobody)
    run = result.rows[0].runs[0]
    summary = msgspec.json.decode((tmp_path / "lycosa-many-1" / "output.txt").read_bytes().splitlines()[-1])
    assert (run.exit_code, run.is_cut, run.trouble) == (0, False, "")
    assert run.pages == run.claimed == summary["pages"] == 100
    assert (run.robots, run.requests, run.repeated) == (20, 120, 0)
    assert run.processes >= 2
    assert run.cpu_seconds > 0
    assert run.peak_bytes > 10_000_000
    assert 2_800_000 <= run.page_bytes <= 2_900_000


def fetching(paths: tuple[str, ...], claims: int) -> Contestant:
    """A crawler that asks for some paths and says what it likes."""
    code = (
        "import json, sys, urllib.request\nfrom urllib.error import HTTPError\n"
        f"for path in {paths!r}:\n"
        "    try: urllib.request.urlopen(sys.argv[1] + path).read()\n"
        "    except HTTPError: pass\n"
        f"print(json.dumps({{'pages': {claims}}}))"
    )

    def launch(job: Job) -> Launch:
        return Launch([sys.executable, "-c", code, job.seed])

    return Contestant("pretender", "many", "", launch)


def test_nobody_is_credited_with_pages_it_did_not_fetch(tmp_path: Path) -> None:
    with BenchWeb(many_hosts(2, 3), tmp_path / "log") as web:
        urlopen(web.seed).read()
        run = measure(fetching(("", "", "robots.txt", "no-such-page"), claims=6), web, tmp_path, 30)
        assert (run.pages, run.claimed, run.requests, run.repeated, run.robots) == (1, 6, 4, 1, 1)
        run = measure(fetching(("",), claims=0), web, tmp_path, 30)
        assert (run.pages, run.requests) == (0, 1)


def test_hosts_go_by_addresses_so_that_nobody_needs_a_resolver(tmp_path: Path) -> None:
    with BenchWeb(many_hosts(3, 2), tmp_path / "log") as web:
        assert web.seed.startswith("http://127.1.0.1:")
        assert b'href="http://127.1.0.' in urlopen(web.seed).read()


def test_pages_are_as_large_as_asked_for(tmp_path: Path) -> None:
    for wanted in (28_000, 65_536):
        web = BenchWeb(many_hosts(2, 3, wanted), tmp_path / "log")
        assert abs(web.mean_page_bytes - wanted) < wanted / 20


def test_a_crawler_that_is_not_installed_is_a_row_that_says_how(tmp_path: Path) -> None:
    missing = [peer for peer in peers(Cache(tmp_path), PEER_NAMES) if peer.name != "wget2"]
    assert all("lycosa bench --install" in peer.missing for peer in missing)
    result = bench(BenchPlan(hosts=1, pages=1), missing, nobody)
    assert [row.runs for row in result.rows] == [[], [], []]
    assert "| scrapy | not installed: lycosa bench --install |" in markdown(result)


def test_an_unknown_crawler_is_refused_by_name() -> None:
    assert checked_names("none", PEER_NAMES) == ()
    assert checked_names("wget2, scrapy", PEER_NAMES) == ("wget2", "scrapy")
    with pytest.raises(SettingsError, match=r"'nutch'.*scrapy, crawlee, wget2, spider-rs"):
        checked_names("nutch", PEER_NAMES)


def run_of(pages: int, cpu_seconds: float) -> Run:
    return Run(
        pages=pages, claimed=pages, requests=pages, repeated=0, robots=0, page_bytes=28_000 * pages, kept_bytes=0,
        wall_seconds=2.0, cpu_seconds=cpu_seconds, peak_bytes=10_000_000, processes=1, exit_code=0, is_cut=False,
    )  # fmt: skip


def test_a_report_shows_the_best_run_the_spread_and_the_ratio() -> None:
    ours = BenchRow(crawler="lycosa", web="many", does="", runs=[run_of(1000, 1.0), run_of(1000, 0.5)])
    theirs = BenchRow(crawler="scrapy", web="many", does="", runs=[run_of(1000, 10.0)])
    result = Result(
        machine="Linux", python="3.11", cores=2, lycosa="0.1", hosts=10, pages_per_host=100, repeat=2, max_seconds=9,
        rows=[ours, theirs],
    )  # fmt: skip
    text = markdown(result)
    assert "| lycosa | 1,000 | 1,000 | 2.0 | 500 | 0.50 | 2,000 | 1,000-2,000 | 10 | 28 | 0 | 1 |" in text
    assert "| scrapy | 1,000 | 1,000 | 2.0 | 500 | 10.00 | 100 | 100-100 | 10 | 28 | 0 | 20.00 x |" in text
    console = Console(file=StringIO(), width=160)
    show(result, console)
    assert isinstance(console.file, StringIO)
    assert "20.00 x" in console.file.getvalue()
