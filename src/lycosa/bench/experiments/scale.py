"""A week of a very large crawl without a network: 1,000 workers, 10 million hosts, both assignments.

A host is asked at the pace that politeness allows, as long as it has pages; a worker does what it can of what its
hosts want. Hour by hour, all hosts at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import Section, table
from lycosa.policy.balance import coefficient_of_variation
from lycosa.policy.ring import Ring

WEEK_HOURS = 168
HOUR = 3600.0
WANTED_PAGES = 8.5e9
# How many pages the hosts have, over those that are wanted: a crawl that chooses, and one that wants nearly all.
PLENTY, SCARCE = 5.0, 1.25
STEP_HOURS = 6
# Of a partition of the Redis frontier: rows and counters per worker (docs/decisions/0066-balanced-assignment.md).
SKETCH_ROWS, SKETCH_COUNTERS = 4, 512
PARTITIONS = 64
SPARE = (1.0, 1.25, 2.0)

Floats = npt.NDArray[np.float32]


class Hosts(NamedTuple):
    """Every host: how many pages it has, how far apart its visits are, and where it lies on the ring."""

    pages: Floats
    gap_seconds: Floats
    points: npt.NDArray[np.int64]


class Week(NamedTuple):
    """How a crawl went: the pages of each step, as shares of those wanted."""

    steps: list[float]

    @property
    def share(self) -> float:
        return sum(self.steps)

    @property
    def hours(self) -> str:
        """Until all wanted pages were fetched."""
        place = int(np.searchsorted(np.cumsum(self.steps), 0.9999))
        return f"{(place + 1) * STEP_HOURS}" if place < len(self.steps) else "over a week"

    def curve(self) -> list[tuple[float, float]]:
        """The share fetched by hours."""
        done = np.cumsum([0.0, *self.steps])
        return [(float(number * STEP_HOURS), float(share)) for number, share in enumerate(done)]


# A point of the ring and its owner.
RING_BYTES = 16


class RingShares(NamedTuple):
    """What the ring does to hosts: shares over the mean, and what a join and a crash move, over a fair share."""

    most: float
    least: float
    moved_by_join: float
    moved_by_crash: float
    moved_wrongly: int
    table_bytes: int


class SimPartition(NamedTuple):
    """One partition under the balanced assignment: unevenness of all visits, and of the domains that every worker could
    have had; and by how many visits of a domain two workers differ at most."""

    visits: int
    of_load: float
    of_domains: float
    most_apart: int


def simulate(workers: int, hosts: int) -> Section:
    """Both assignments over all hosts, and a week of the crawl."""
    web = _draw(hosts)
    owners = _owners(list(range(workers)), web.points)
    ring = _ring(workers, web.points, owners)
    partition = _balanced_partition(workers, hosts // PARTITIONS)
    weeks = {
        (found, spare): (_week(web, found, owners, workers, spare), _week(web, found, None, workers, spare))
        for found in (PLENTY, SCARCE)
        for spare in SPARE
    }
    text = "\n\n".join((_about(web, workers, hosts), _about_assignments(ring, partition, workers), _about_weeks(weeks)))
    drawn = plot(
        f"{SCARCE:g} pages found for each that is wanted, no spare capacity",
        Axis("hours"),
        Axis("share of the wanted pages"),
        [
            PlotLine(name, week.curve(), colour=place)
            for place, (name, week) in enumerate(zip(("ring", "balanced"), weeks[SCARCE, 1.0], strict=True))
        ],
    )
    return Section(f"{workers:,} workers, {hosts:,} hosts: a week", text, {"scale.svg": drawn})


def _draw(hosts: int) -> Hosts:
    """Most hosts small, few very large; as many pages in all as are wanted of so many hosts."""
    draw = np.random.default_rng(1)
    pages = draw.pareto(1.1, hosts)
    pages *= WANTED_PAGES * (hosts / 10_000_000) / pages.sum()
    fetch_seconds = draw.lognormal(np.log(0.2), 0.8, hosts).astype(np.float32)
    gaps = np.clip(10 * fetch_seconds, 1.0, 60.0) + fetch_seconds
    return Hosts(pages.astype(np.float32), gaps, draw.integers(0, 1 << 48, hosts, dtype=np.int64))


def _owners(nodes: list[int], points: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Whose each point is, by the very ring that the frontier uses, as precisely as 48 bits tell."""
    ring = Ring(nodes)
    places = np.array([point >> 16 for point in ring.points], dtype=np.int64)
    owners = np.array(ring.owners, dtype=np.int64)
    found: npt.NDArray[np.int64] = owners[np.searchsorted(places, points, side="right") % len(places)]
    return found


def _ring(workers: int, points: npt.NDArray[np.int64], owners: npt.NDArray[np.int64]) -> RingShares:
    loads = np.bincount(owners, minlength=workers)
    joined = _owners(list(range(workers + 1)), points) != owners
    crashed = _owners(list(range(1, workers)), points) != owners
    wrongly = joined & (_owners(list(range(workers + 1)), points) != workers) | crashed & (owners != 0)
    return RingShares(
        float(loads.max() / loads.mean()),
        float(loads.min() / loads.mean()),
        float(joined.mean()) * (workers + 1),
        float(crashed.mean()) * workers,
        int(wrongly.sum()),
        RING_BYTES * len(Ring(range(workers)).points),
    )


def _balanced_partition(workers: int, hosts: int) -> SimPartition:
    """Every visit to whoever had its domain least, by sketches of the size that a partition has."""
    draw = np.random.default_rng(2)
    visits = np.minimum(draw.pareto(1.1, hosts) + 1, 20 * workers).astype(np.int64)
    stream = np.repeat(np.arange(hosts), visits)
    draw.shuffle(stream)
    stream = stream[: 2 * hosts]
    places = draw.integers(0, SKETCH_COUNTERS, (hosts, SKETCH_ROWS))
    counters = np.zeros((SKETCH_ROWS, SKETCH_COUNTERS, workers), dtype=np.uint32)
    load = np.zeros(workers, dtype=np.int64)
    largest = {int(host): np.zeros(workers, dtype=np.int64) for host in np.argsort(visits)[-50:]}
    rows = np.arange(SKETCH_ROWS)
    for host in stream:
        mine = counters[rows, places[host]]
        had = mine.min(axis=0)
        tied = np.flatnonzero(had == had.min())
        # As the frontier does: some of those that had it equally often are compared by what they have to do.
        some = np.take(tied, range(int(host), int(host) + 8), mode="wrap")
        chosen = int(some[load[some].argmin()])
        counters[rows, places[host], chosen] += 1
        load[chosen] += 1
        if int(host) in largest:
            largest[int(host)][chosen] += 1
    often = [counts for counts in largest.values() if counts.sum() >= 2 * workers]
    return SimPartition(
        len(stream),
        coefficient_of_variation(load.tolist()),
        float(np.mean([coefficient_of_variation(counts.tolist()) for counts in often])) if often else 0.0,
        max((int(counts.max() - counts.min()) for counts in often), default=0),
    )


def _week(web: Hosts, found: float, owners: npt.NDArray[np.int64] | None, workers: int, spare: float) -> Week:
    """Without owners a page may be fetched by any worker."""
    wanted = float(web.pages.sum(dtype=np.float64))
    left, at_most = web.pages * np.float32(found), np.float32(STEP_HOURS * HOUR) / web.gap_seconds
    capacity, steps = spare * wanted / WEEK_HOURS * STEP_HOURS, []
    for _ in range(WEEK_HOURS // STEP_HOURS):
        done = np.minimum(left, at_most)
        if owners is None:
            done *= np.float32(min(1.0, capacity / max(done.sum(dtype=np.float64), 1e-9)))
        else:
            asked = np.bincount(owners, done, workers)
            done *= np.minimum(1.0, capacity / workers / np.maximum(asked, 1e-9)).astype(np.float32)[owners]
        left -= done
        steps.append(float(done.sum(dtype=np.float64)) / wanted)
    return Week(steps)


def _about(web: Hosts, workers: int, hosts: int) -> str:
    wanted = web.pages.sum(dtype=np.float64)
    largest = np.sort(web.pages)[-hosts // 1000 :].sum(dtype=np.float64) / wanted
    polite = [
        np.minimum(web.pages * found, HOUR * WEEK_HOURS / web.gap_seconds).sum(dtype=np.float64) / wanted
        for found in (PLENTY, SCARCE)
    ]
    return (
        f"No network. {workers:,} workers are to fetch {wanted / 1e9:,.2f} billion pages of {hosts:,} hosts in a week. "
        f"Hosts are heavy-tailed: the largest thousandth has {largest:.0%} of all pages. A visit takes 0.2 s in the "
        "middle, and the next one comes ten times that later, at least 1 s. If five times as many pages are found as "
        f"are wanted, politeness alone allows {polite[0]:.2f} of the wanted in a week, whatever the machines; if 1.25 "
        f"times as many are found, {polite[1]:.2f}."
    )


def _about_assignments(ring: RingShares, partition: SimPartition, workers: int) -> str:
    sketches = SKETCH_ROWS * SKETCH_COUNTERS * 4 * workers
    rows = [
        ("largest share of the hosts, over the mean", f"{ring.most:.2f}", "-"),
        ("smallest", f"{ring.least:.2f}", "-"),
        ("moved by a join, over a fair share", f"{ring.moved_by_join:.2f}", "nothing"),
        ("moved by a crash, over a fair share", f"{ring.moved_by_crash:.2f}", "what it had next"),
        ("moved without need", f"{ring.moved_wrongly:,}", "0"),
        (
            "variation of a domain's requests over the workers",
            f"{(workers - 1) ** 0.5:.1f}",
            f"{partition.of_domains:.2f}",
        ),
        ("variation of all requests over the workers", "by the hosts", f"{partition.of_load:.3f}"),
        ("memory per partition of Redis", f"{ring.table_bytes / 1e6:.2f} MB", f"{sketches / 1e6:.2f} MB"),
    ]
    return (
        f"{table(('', 'ring', 'balanced'), rows)}\n\n"
        "The ring by the frontier's own table over all hosts; the balanced assignment by sketches of the frontier's "
        f"size over one of {PARTITIONS} partitions and {partition.visits:,} visits, where two workers differ by "
        f"at most {partition.most_apart} visits of the same domain."
    )


def _about_weeks(weeks: dict[tuple[float, float], tuple[Week, Week]]) -> str:
    rows = [
        (f"{found:g}", f"{spare:g}", *(f"{week.share:.1%}" for week in both), *(week.hours for week in both))
        for (found, spare), both in weeks.items()
    ]
    columns = (
        "found per wanted",
        "capacity per needed",
        "in a week: ring",
        "balanced",
        "hours until all: ring",
        "balanced",
    )
    return (
        "What a week brings of the wanted pages, when all workers together can do as many as are needed, or more. With "
        "the ring a worker fetches from its own hosts only, so it may be idle while others have too much:\n\n"
        f"{table(columns, rows)}"
    )
