from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lycosa.bench.freshness.optimum import best_course, best_rates, freshness_of
from lycosa.bench.freshness.run import POLICIES, compare_policies, play
from lycosa.bench.freshness.web import SCENARIOS, Scenario, changing_web
from lycosa.cli.main import main
from lycosa.policy.freshness import Belief
from lycosa.policy.revisits import equal_share_of, rest

from .through_frontier import ThroughFrontier


def quiet(text: str) -> None:
    """Nobody reads it."""


def test_a_web_is_the_same_every_time_and_another_with_another_seed() -> None:
    one, same, other = (changing_web(SCENARIOS["base"], 200, seed) for seed in (1, 1, 2))
    assert (one.rates == same.rates).all()
    assert not (one.rates == other.rates).all()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_optimum_spends_the_budget_and_nothing_near_it_is_better(name: str) -> None:
    web = changing_web(SCENARIOS[name], 500, 1)
    visits = best_rates(web, 0)
    assert visits.sum() == pytest.approx(web.visits_per_second, rel=1e-4)
    best, chance = freshness_of(web, visits, 0), np.random.default_rng(1)
    for _ in range(20):
        other = visits * chance.lognormal(0, 0.1, web.pages)
        if not web.gaps.any():
            assert freshness_of(web, other * visits.sum() / other.sum(), 0) <= best
        # Within each host, which keeps to what it allows.
        used, its = np.bincount(web.hosts, visits), np.bincount(web.hosts, other)
        assert freshness_of(web, other * (used / np.maximum(its, 1e-30))[web.hosts], 0) <= best


def test_the_optimum_asks_no_host_more_often_than_it_allows() -> None:
    web = changing_web(SCENARIOS["big hosts capped"], 500, 1)
    used = np.bincount(web.hosts, best_rates(web, 0), minlength=len(web.gaps))
    assert (used[web.gaps > 0] <= 1.000_01 / web.gaps[web.gaps > 0]).all()


def test_what_is_measured_of_even_visits_is_what_the_formula_says() -> None:
    scenario = Scenario("short", days=120)
    web = changing_web(scenario, 300, 1)
    even = freshness_of(web, np.full(web.pages, 1 / web.equal_share), 0)
    row = compare_policies(scenario, 300, 1, ["uniform"], quiet).rows[0]
    assert row.fresh == pytest.approx(even, rel=0.01)


@pytest.mark.parametrize("name", SCENARIOS)
def test_ours_is_fresher_than_even_visits_and_spends_the_budget(name: str) -> None:
    scenario = SCENARIOS[name]._replace(days=max(80, 2 * int(SCENARIOS[name].days_per_visit)))
    even, ours = compare_policies(scenario, 300, 3, ["uniform", "lycosa"], quiet).rows
    assert ours.fresh > even.fresh
    assert ours.used >= 0.99


@pytest.mark.parametrize(("name", "regret"), [("base", 0.03), ("tight budget", 0.06), ("big hosts capped", 0.05)])
def test_ours_is_near_what_who_knows_the_rates_could_do(name: str, regret: float) -> None:
    row = compare_policies(SCENARIOS[name]._replace(days=160), 600, 1, ["lycosa"], quiet).rows[0]
    assert row.regret < regret
    assert row.estimate == pytest.approx(row.truth, abs=0.06)


@pytest.mark.parametrize("name", ["base", "tight budget"])
def test_the_frontier_of_a_crawl_keeps_pages_as_fresh_as_the_simulator_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(POLICIES, "the frontier", ThroughFrontier)
    scenario = SCENARIOS[name]._replace(days=8 * int(SCENARIOS[name].days_per_visit))
    simulated, crawled = compare_policies(scenario, 200, 2, ["lycosa", "the frontier"], quiet).rows
    assert crawled.regret == pytest.approx(simulated.regret, abs=0.015)
    assert crawled.used >= 0.99


@pytest.mark.parametrize("days_per_visit", [0.5, 40.0])
def test_the_frontier_of_a_crawl_has_pages_rest_by_the_rule_that_the_simulator_goes_by(days_per_visit: float) -> None:
    web = changing_web(SCENARIOS["base"]._replace(days_per_visit=days_per_visit), 100, 1)
    frontier, each = ThroughFrontier(web), 1.0 / web.visits_per_second
    rests = set()
    for number in range(100):
        now = (number + 1) * each
        page = frontier.take(now)
        assert page is not None
        # The one that is being visited counts, too.
        share = equal_share_of(frontier.resting + 1, web.visits_per_second)
        frontier.visited(page, now, changed=number % 3 == 0)
        row, price = frontier.row(page), frontier.price()
        seconds = rest(Belief(row.rate_shape, row.rate_scale), row.weight, price, share, shortest=frontier.shortest)
        assert row.next_at - row.visited_at == pytest.approx(seconds, rel=1e-3, abs=1.1)
        rests.add(round(seconds))
    assert len(rests) > 10


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_asks_a_host_before_its_pause_is_over(name: str) -> None:
    web = changing_web(SCENARIOS["big hosts capped"]._replace(days=40), 300, 1)
    log = play(web, POLICIES[name](web), 1)
    hosts = web.hosts[np.array(log.pages)]
    moments = np.array(log.moments)
    for host in np.flatnonzero(web.gaps):
        assert (np.diff(moments[hosts == host]) >= web.gaps[host] - 1e-6).all()


def test_rates_that_drift_are_known_to_the_optimum() -> None:
    web = changing_web(SCENARIOS["drifting rates"], 300, 1)
    course = best_course(web)
    assert len(set(course)) > 1
    assert len(course) == web.windows


def test_the_command_prints_and_keeps_its_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--pages", "100", "--seeds", "1", "--scenarios", "tight budget", "--folder", str(tmp_path)]
    assert main(["bench", "freshness", *options]) == 0
    assert "StormCrawler" in capsys.readouterr().out
    assert json.loads((tmp_path / "freshness.json").read_text())[0][0]["pages"] == 100
    assert "| lycosa |" in (tmp_path / "freshness.md").read_text()
    assert "<svg" in (tmp_path / "tight-budget.svg").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "luck"], "no policy 'luck'"),
        (["--scenarios", "x"], "no scenario 'x'"),
        (["--pages", "3"], "at least 100"),
        (["--seeds", "one"], "no list of numbers"),
    ],
)
def test_impossible_wishes_are_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "freshness", *options]) == 2
    assert message in capsys.readouterr().err
