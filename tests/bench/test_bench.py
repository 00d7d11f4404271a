"""The benchmark counts right; how fast anything is, no test says."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace as changed
from rich.console import Console

from lycosa.bench.chart import chart
from lycosa.bench.contestants import PEER_NAMES, Contestant, Job, Launch, lycosa_on, peers
from lycosa.bench.install import Cache, checked_names
from lycosa.bench.report import markdown, show
from lycosa.bench.run import BenchPlan, BenchRow, Result, Run, bench, measure
from lycosa.bench.supervise import Generation
from lycosa.bench.web import BenchWeb, WebKind, many_hosts
from lycosa.cli.bench import worker_counts
from lycosa.errors import SettingsError
from lycosa.simweb import PageRef
from lycosa.simweb.layout import Layout


def nobody(_: str) -> None:
    """Hears what the benchmark says."""


def test_lycosa_is_credited_with_what_the_server_saw(tmp_path: Path) -> None:
    # Long enough for its workers to be seen, which is five times a second.
    plan = BenchPlan(hosts=20, pages=60, max_seconds=60, folder=tmp_path, webs=("navigation",))
    result = bench(plan, [lycosa_on("many", workers=1)], nobody)
    run = result.rows[0].runs[0]
    output = tmp_path / "navigation-many-lycosa-1-1" / "output.txt"
    summary = msgspec.json.decode(output.read_bytes().splitlines()[-1])
    assert (run.exit_code, run.is_cut, run.trouble) == (0, False, "")
    assert run.pages == run.claimed == summary["pages"] == 1_200
    assert (run.robots, run.repeated) == (20, 0)
    # Hosts are asked for pages that cannot be there, too.
    assert 1_220 <= run.requests <= 1_280
    assert run.processes >= 2
    assert run.cpu_seconds > 0
    assert run.peak_bytes > 10_000_000
    assert 33_600_000 <= run.page_bytes <= 34_800_000
    parent, forkserver, workers = run.generations
    assert (parent.processes, forkserver.processes, workers.processes) == (1, 1, 1)
    assert parent.cpu_seconds + forkserver.cpu_seconds + workers.cpu_seconds == pytest.approx(run.cpu_seconds)
    assert min(each.cpu_seconds for each in run.generations) > 0
    assert min(each.largest_bytes for each in run.generations) > 1_000_000


def test_of_strewn_links_only_so_many_pages_are_fetched(tmp_path: Path) -> None:
    plan = BenchPlan(hosts=4, pages=5, max_seconds=60, folder=tmp_path, webs=("strewn",))
    run = bench(plan, [lycosa_on("many", workers=1)], nobody).rows[0].runs[0]
    assert (run.exit_code, run.pages, run.claimed, run.trouble) == (0, 20, 20, "")


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


def test_a_page_counts_once_under_whatever_name(tmp_path: Path) -> None:
    plan = many_hosts(1, 5, kind="strewn")
    layout = Layout(plan)
    path = next(path for page in range(1, 99) if "&" in (path := layout.path(PageRef(0, page))[1:]))
    stem, _, query = path.partition("?")
    one, other = query.split("&")
    names = (path, f"{stem}?{other}&{one}", f"{path}&utm_source=mail", f"{stem}?{one}9&{other}x")
    with BenchWeb(plan, tmp_path / "log") as web:
        run = measure(fetching(names, claims=9), web, tmp_path, 30)
    assert (web.size, run.pages, run.requests, run.repeated) == (5, 1, 4, 2)


def test_crawlers_take_turns() -> None:
    said: list[str] = []
    one, other = (replace(fetching(("",), claims=1), name=name) for name in ("one", "other"))
    plan = BenchPlan(hosts=1, pages=1, repeat=3, webs=("navigation",))
    result = bench(plan, [one, other], said.append)
    assert [line.split(":")[0].strip() for line in said[1:]] == ["one", "other"] * 3
    assert [len(row.runs) for row in result.rows] == [3, 3]


def test_whoever_must_be_told_when_to_stop_is_told(tmp_path: Path) -> None:
    whole = Job("http://a/", 100, tmp_path)
    part = Job("http://a/", 100, tmp_path, is_part=True, page_bytes=28_000.4)
    ours, (wget2, scrapy) = lycosa_on("many"), peers(Cache(tmp_path), ("wget2", "scrapy"))
    assert "--max-pages" not in ours.launch(whole).command
    assert ours.launch(part).command[-2:] == ["--max-pages", "100"]
    assert not [word for word in wget2.launch(whole).command if word.startswith("--quota")]
    assert "--quota=2800040" in wget2.launch(part).command
    assert (scrapy.launch(whole).command[-1], scrapy.launch(part).command[-1]) == ("1100", "100")


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
    assert [row.runs for row in result.rows] == [[]] * 6
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


def result_of(*rows: BenchRow) -> Result:
    return Result(
        machine="Linux", python="3.11", cores=2, lycosa="0.1", hosts=10, pages_per_host=100, repeat=3, max_seconds=9,
        rows=list(rows),
    )  # fmt: skip


def row_of(crawler: str, *runs: Run, web: WebKind = "navigation", workers: int = 0) -> BenchRow:
    return BenchRow(crawler=crawler, web=web, hosts="many", does="", runs=list(runs), workers=workers)


def test_a_report_shows_the_median_run_the_spread_and_the_ratio_of_each_web() -> None:
    ours = row_of("lycosa", run_of(1000, 1.0), run_of(1000, 0.2), run_of(1000, 0.5))
    theirs = row_of("scrapy", run_of(1000, 10.0))
    strewn = [row_of("lycosa", run_of(100, 1.0), web="strewn"), row_of("scrapy", run_of(50, 1.0), web="strewn")]
    result = result_of(ours, theirs, *strewn)
    text = markdown(result)
    assert "| lycosa | 1,000 | 1,000 | 2.0 | 500 | 0.50 | 2,000 | 1,000-5,000 | 10 | 28 | 0 | 1 |" in text
    assert "| scrapy | 1,000 | 1,000 | 2.0 | 500 | 10.00 | 100 | 100-100 | 10 | 28 | 0 | 20.00 x |" in text
    assert "- navigation, many hosts: lycosa has 20.00 x the pages per CPU-second of Scrapy" in text
    assert "- strewn, many hosts: lycosa has 2.00 x the pages per CPU-second of Scrapy" in text
    console = Console(file=StringIO(), width=160)
    show(result, console)
    assert isinstance(console.file, StringIO)
    assert "20.00 x" in console.file.getvalue()


def test_a_crawler_with_fewer_pages_in_its_time_is_compared_by_cpu() -> None:
    cut = changed(run_of(100, 100.0), is_cut=True)
    text = markdown(result_of(row_of("lycosa", run_of(1000, 10.0)), row_of("scrapy", cut)))
    assert "| scrapy | 100 (cut) |" in text
    assert "| 100.00 x |" in text


def test_a_report_tells_what_workers_and_parent_cost() -> None:
    def run(workers: int) -> Run:
        parts = [Generation(1, 0.2, 30_000_000, 30_000_000), Generation(1, 0.1, 5_000_000, 5_000_000)]
        parts.append(Generation(workers, 0.7, 90_000_000, 40_000_000))
        return changed(run_of(1000, 1.0), generations=parts)

    text = markdown(result_of(row_of("lycosa", run(1), workers=1), row_of("lycosa", run(2), workers=2)))
    assert "| lycosa, 2 | 1,000 |" in text
    assert "| 1 | 1,000 | 1,000 | 200 | 100 | 700 | 10 | 30 | 40 | 90 |" in text
    assert "| 2 | 1,000 | 1,000 | 200 | 100 | 700 | 10 | 30 | 40 | 90 |" in text


def test_a_chart_has_a_bar_for_each_crawler_of_many_hosts() -> None:
    ours = row_of("lycosa", run_of(1000, 1.0), run_of(1000, 0.5), run_of(1000, 0.6))
    alone = BenchRow(crawler="wget2", web="navigation", hosts="one", does="", runs=[run_of(1000, 0.1)])
    missing = row_of("crawlee")
    drawn = chart(result_of(ours, row_of("scrapy", run_of(1000, 10.0)), missing, alone))
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("}text")]
    assert "1,667" in texts
    assert "100, lycosa is 16.7 x" in texts
    assert drawn.count("class='ours'") == drawn.count("class='theirs'") == drawn.count("class='spread'") == 1
    assert "prefers-color-scheme: dark" in drawn


def test_numbers_of_workers_are_read_and_others_refused() -> None:
    assert worker_counts("1,2,4,2") == [1, 2, 4]
    for wrong in ("", "two", "1,-2"):
        with pytest.raises(SettingsError, match="--workers"):
            worker_counts(wrong)
