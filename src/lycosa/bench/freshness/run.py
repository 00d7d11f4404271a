"""All policies on a made-up web: how fresh each keeps the collection, beside what is possible."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Sequence
from math import exp
from statistics import fmean
from time import process_time

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import table
from lycosa.bench.freshness import policies
from lycosa.bench.freshness.optimum import best_course
from lycosa.bench.freshness.ours import OurPolicy
from lycosa.bench.freshness.policies import RevisitPolicy
from lycosa.bench.freshness.web import ChangingWeb, Floats, Scenario, changing_web

POLICIES: dict[str, Callable[[ChangingWeb], RevisitPolicy]] = {
    "uniform": policies.uniform,
    "proportional (known)": policies.proportional,
    "Nutch adaptive": policies.nutch,
    "StormCrawler adaptive": policies.stormcrawler,
    "optimum (known)": policies.optimum,
    "lycosa": OurPolicy,
}


class FreshnessRow(msgspec.Struct, frozen=True):
    """One policy on one web. The second half of the time counts."""

    policy: str
    fresh: float  # by weight
    fresh_pages: float  # each page counts as one
    regret: float  # how much less fresh than possible, as a share of that
    used: float  # of the budget
    cpu_microseconds: float  # a visit
    course: list[float]  # by weight, in windows of ten days
    estimate: float | None  # of freshness at the end, by weight, as the policy itself would tell
    truth: float  # at the end


class FreshnessResult(msgspec.Struct, frozen=True):
    """What came out of one scenario with one seed."""

    scenario: str
    pages: int
    days: int
    seed: int
    visits: int
    possible: float
    course: list[float]
    rows: list[FreshnessRow]


class _Log:
    """Which page was visited when."""

    def __init__(self) -> None:
        self.pages, self.moments = array("q"), array("d")

    def note(self, page: int, moment: float) -> None:
        self.pages.append(page)
        self.moments.append(moment)


def compare_policies(
    scenario: Scenario, pages: int, seed: int, names: Sequence[str], say: Callable[[str], None]
) -> FreshnessResult:
    """Keep one web fresh by each of the policies."""
    web = changing_web(scenario, pages, seed)
    best = best_course(web)
    half = web.windows // 2
    possible = fmean(best[half:])
    rows = []
    for name in names:
        row = _row(name, web, possible, seed)
        say(f"{scenario.name}, seed {seed}: {name}: regret {row.regret:.2%}, {row.cpu_microseconds:.0f} µs a visit")
        rows.append(row)
    visits = int(web.visits_per_second * web.seconds)
    return FreshnessResult(scenario.name, pages, scenario.days, seed, visits, possible, best, rows)


def _row(name: str, web: ChangingWeb, possible: float, seed: int) -> FreshnessRow:
    began = process_time()
    policy = POLICIES[name](web)
    log = play(web, policy, seed)
    seconds = process_time() - began
    course, pages_course, truth = _courses(web, log)
    half = web.windows // 2
    fresh = fmean(course[half:])
    slots = int(web.visits_per_second * web.seconds)
    estimate = policy.estimate(web.seconds) if isinstance(policy, OurPolicy) else None
    return FreshnessRow(
        name,
        fresh,
        fmean(pages_course[half:]),
        1 - fresh / possible,
        len(log.pages) / slots,
        1e6 * seconds / max(len(log.pages), 1),
        course,
        estimate,
        truth,
    )


def play(web: ChangingWeb, policy: RevisitPolicy, seed: int) -> _Log:
    """Spend the whole budget, visit by visit, at even moments; chance decides what has changed."""
    chance, log = random.Random(seed), _Log()
    # Changes expected since each page's last visit follow from sums: what had passed then, and what has by now.
    passed_then: list[float] = (web.first * web.rates[0]).tolist()
    each = 1.0 / web.visits_per_second
    slots, slot = int(web.visits_per_second * web.seconds), 0
    for window in range(web.windows):
        rates, passed = web.rates[window].tolist(), web.passed[window].tolist()
        begin = window * web.window_seconds
        end = begin + web.window_seconds
        while slot < slots and (now := (slot + 0.5) * each) < end:
            slot += 1
            page = policy.take(now)
            if page is None:
                continue
            by_now = passed[page] + rates[page] * (now - begin)
            changed = chance.random() > exp(passed_then[page] - by_now)
            passed_then[page] = by_now
            policy.visited(page, now, changed=changed)
            log.note(page, now)
    return log


def _courses(web: ChangingWeb, log: _Log) -> tuple[list[float], list[float], float]:
    """The mean freshness in each window, by weight and by page; and at the end, by weight.

    Expected values, given the visits: less left to chance than by counting what was fresh.
    """
    everyone = np.arange(web.pages)
    pages = np.concatenate([everyone, np.frombuffer(log.pages, np.int64), everyone])
    moments = np.concatenate([web.first, np.frombuffer(log.moments, np.float64), np.full(web.pages, web.seconds)])
    order = np.lexsort((moments, pages))
    pages, moments = pages[order], moments[order]
    is_pair = pages[1:] == pages[:-1]
    page, begin, end = pages[:-1][is_pair], moments[:-1][is_pair], moments[1:][is_pair]
    passed = _passed(web, page, begin)
    by_weight, by_page = [], []
    for window in range(web.windows):
        opens = window * web.window_seconds
        closes = opens + web.window_seconds
        among = np.flatnonzero((end > opens) & (begin < closes))
        its, low, high = page[among], np.maximum(begin[among], opens), np.minimum(end[among], closes)
        rates = web.rates[window][its]
        changes = web.passed[window][its] + rates * (low - opens) - passed[among]
        fresh = np.exp(-changes) * -np.expm1(-rates * (high - low)) / rates
        by_weight.append(float((fresh * web.weights[its]).sum() / (web.weights.sum() * web.window_seconds)))
        by_page.append(float(fresh.sum() / (web.pages * web.window_seconds)))
    last = np.flatnonzero(end == web.seconds)
    at_end = np.exp(passed[last] - _passed(web, page[last], end[last]))
    truth = float((web.weights[page[last]] * at_end).sum() / web.weights[page[last]].sum())
    return by_weight, by_page, truth


def _passed(web: ChangingWeb, page: NDArray[np.int64], moment: Floats) -> Floats:
    """Changes expected up to a moment; less than none before the beginning."""
    window = np.clip((moment / web.window_seconds).astype(np.int64), 0, web.windows - 1)
    passed: Floats = web.passed[window, page] + web.rates[window, page] * (moment - window * web.window_seconds)
    return passed


# ---- words and pictures


def cells(results: Sequence[FreshnessResult]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table of one scenario, its seeds taken together."""
    columns = ["policy", "fresh, by weight", "regret", "fresh pages", "budget used", "µs a visit"]
    return columns, [_cells_of([result.rows[number] for result in results]) for number in range(len(results[0].rows))]


def _cells_of(rows: Sequence[FreshnessRow]) -> list[str]:
    regrets = [row.regret for row in rows]
    lie_apart = f" ({min(regrets):.1%} to {max(regrets):.1%})" if len(rows) > 1 else ""
    return [
        rows[0].policy,
        f"{fmean(row.fresh for row in rows):.1%}",
        f"{fmean(regrets):.2%}{lie_apart}",
        f"{fmean(row.fresh_pages for row in rows):.1%}",
        f"{fmean(row.used for row in rows):.1%}",
        f"{fmean(row.cpu_microseconds for row in rows):.0f}",
    ]


def summary(results: Sequence[FreshnessResult]) -> str:
    """What was tried, and what is possible, in some sentences."""
    one = results[0]
    possible = fmean(result.possible for result in results)
    seeds = " and ".join(str(result.seed) for result in results)
    text = (
        f"{one.pages:,} pages, {one.visits:,} visits in {one.days} days, seed {seeds}. "
        f"Who knows all rates can keep {possible:.1%} fresh."
    )
    ours = [row for result in results for row in result.rows if row.estimate is not None]
    if ours:
        estimate, truth = fmean(row.estimate or 0.0 for row in ours), fmean(row.truth for row in ours)
        text += f" Lycosa held {estimate:.1%} to be fresh at the end, and {truth:.1%} was."
    return text


def markdown(results: Sequence[Sequence[FreshnessResult]], plots: str) -> str:
    """Each scenario as a section with its table and its plot, which lies in the folder `plots`."""
    return "\n".join(
        f"## {each[0].scenario.capitalize()}\n\n{summary(each)}\n\n{table(*cells(each))}\n\n"
        f"![{each[0].scenario.capitalize()}]({plots}/{plot_name(each[0].scenario)})\n"
        for each in results
    )


def plot_name(scenario: str) -> str:
    """The file of a scenario's plot."""
    return scenario.replace(" ", "-") + ".svg"


def drawing(result: FreshnessResult) -> str:
    """The freshness over time, a line for each policy."""
    days = result.days / len(result.course)

    def points(course: Sequence[float]) -> list[tuple[float, float]]:
        return [(days * (window + 0.5), 100 * fresh) for window, fresh in enumerate(course)]

    lines = [PlotLine(row.policy, points(row.course), colour=number) for number, row in enumerate(result.rows)]
    possible = PlotLine("possible", points(result.course), is_theory=True)
    return plot(f"When to come back: {result.scenario}", Axis("days"), Axis("% fresh, by weight"), [*lines, possible])
