"""`/metrics`: the figures of a crawl in OpenMetrics, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from lycosa.dashboard.overview import visited_share
from lycosa.dashboard.watch import Now
from lycosa.figures import ENDS
from lycosa.inspect.left_out import unseen_share
from lycosa.version import VERSION

_OUTCOMES = ("stored", "unchanged", "duplicate", "moved", "refused", "failed", "crashed", "read")


def exposition(now: Now) -> bytes:
    """All figures as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(now))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


class _Figures(Collector):
    def __init__(self, now: Now) -> None:
        self._now = now

    def collect(self) -> Iterator[Metric]:
        now = self._now
        yield InfoMetricFamily("lycosa", "The program", {"version": VERSION})
        yield _gauge("lycosa_up", "Whether anybody crawls", float(now.is_running))
        yield _gauge("lycosa_paused", "Whether the crawl waits for what its machine lacks", float(_is_paused(now)))
        yield from _of_queue(now)
        yield from _of_visits(now)
        yield from _of_workers(now)
        yield from _of_frontier(now)
        yield from _of_traps(now)
        yield from _of_collection(now)


def _of_queue(now: Now) -> Iterator[Metric]:
    counts = now.counts
    yield _gauge("lycosa_queued_urls", "URLs that are queued", counts.queued)
    yield _gauge("lycosa_leased_urls", "URLs that are being visited", counts.leased)
    yield _gauge("lycosa_delayed_urls", "URLs that wait to be tried again", counts.delayed)
    yield _gauge("lycosa_known_urls", "URLs that are known", counts.known)
    yield _gauge("lycosa_hosts", "Hosts that are known", counts.hosts)
    yield _counter("lycosa_dropped_urls", "URLs for which the queue of their host had no room", counts.dropped)
    yield _counter("lycosa_poisoned_records", "Records of the frontier that could not be read", counts.poisoned)
    if now.look:
        yield _gauges("lycosa_hosts_by_state", "Hosts by what they do", "state", now.look.host_states)
        yield _gauges("lycosa_queued_urls_by_class", "Queued URLs by class", "class", now.look.queued_by_class)
        yield _gauge("lycosa_look_age_seconds", "How old figures of tables are", now.at - now.look.at)


def _of_visits(now: Now) -> Iterator[Metric]:
    counts = now.counts
    yield _gauge("lycosa_pages_per_second", "Pages per second over the last ten", now.pages_per_second)
    family = CounterMetricFamily("lycosa_visits", "Visits by outcome", labels=["outcome"])
    for name in _OUTCOMES:
        family.add_metric([name], getattr(counts, name))
    yield family
    yield _counter("lycosa_fetched_bytes", "Bytes of bodies", counts.fetched_bytes)
    yield _counter("lycosa_late_settlements", "Settlements whose lease was gone", counts.late)
    family = CounterMetricFamily(
        "lycosa_fruitless_visits", "Visits of this run without a page", labels=["reason", "detail"]
    )
    for each in now.reasons:
        family.add_metric([each.reason, each.detail], each.times)
    yield family


def _of_workers(now: Now) -> Iterator[Metric]:
    names = ["machine", "worker"]
    silent = GaugeMetricFamily("lycosa_worker_silent_seconds", "Since a worker was heard last", labels=names)
    busy = GaugeMetricFamily("lycosa_worker_loop_busy_ratio", "Load of a worker's event loop", labels=names)
    lag = GaugeMetricFamily("lycosa_worker_loop_lag_seconds", "By which a worker's event loop was late", labels=names)
    leases = GaugeMetricFamily("lycosa_worker_leases", "Leases that a worker has", labels=names)
    for seat, worker in now.workers:
        labels = [seat, str(worker.number)]
        silent.add_metric(labels, worker.silent_seconds)
        busy.add_metric(labels, worker.figures.busy_share)
        lag.add_metric(labels, worker.figures.lag_seconds)
        leases.add_metric(labels, worker.leases)
    yield from (silent, busy, lag, leases)
    yield _gauge("lycosa_workers", "Workers at work", len(now.workers))
    yield _counter("lycosa_worker_restarts", "Workers that died and were replaced", _restarts(now))
    asked = CounterMetricFamily("lycosa_cache_requests", "How often caches were asked", labels=["cache"])
    missed = CounterMetricFamily("lycosa_cache_misses", "How often caches had no answer", labels=["cache"])
    for cache, hits in now.caches.items():
        asked.add_metric([cache], hits.asked)
        missed.add_metric([cache], hits.missed)
    yield from (asked, missed)
    error = now.known_filter.measured if now.known_filter else None
    yield _gauge("lycosa_filter_error_ratio", "Share of new URLs that the filter took for known", error)


def _of_frontier(now: Now) -> Iterator[Metric]:
    family = HistogramMetricFamily("lycosa_frontier_seconds", "How long the frontier takes", labels=["what"])
    for what, some in now.durations.items():
        buckets, passed = [], 0
        for end, times in zip((*map(str, ENDS), "+Inf"), some.buckets, strict=True):
            passed += times
            buckets.append((end, float(passed)))
        family.add_metric([what], buckets, some.seconds)
    yield family
    if now.look is None:
        return
    yield _gauge("lycosa_disk_bytes", "What the crawl takes on disk", now.look.status.disk_bytes)
    used = GaugeMetricFamily("lycosa_server_used_bytes", "Memory of a server of the frontier", labels=["server"])
    limit = GaugeMetricFamily("lycosa_server_max_bytes", "What it may use; 0: no limit", labels=["server"])
    commands = GaugeMetricFamily("lycosa_server_commands_per_second", "Commands it carries out", labels=["server"])
    cpu = CounterMetricFamily("lycosa_server_cpu_seconds", "CPU time it took", labels=["server"])
    for server in now.look.servers:
        used.add_metric([server.address], server.used_bytes)
        limit.add_metric([server.address], server.max_bytes)
        commands.add_metric([server.address], server.commands_per_second)
        cpu.add_metric([server.address], server.cpu_seconds)
    yield from (used, limit, commands, cpu)
    crew = now.look.status.crew
    silent = sum(machine.is_silent for machine in crew.machines) if crew else 0
    # Of a crawl of one machine there is nothing to tell.
    yield _gauge("lycosa_machines", "Machines that were heard lately", len(crew.machines) - silent if crew else None)
    yield _gauge("lycosa_silent_machines", "Machines that were not", silent if crew else None)
    yield _gauge(
        "lycosa_unowned_partitions", "Partitions that nobody visits", crew.unowned_partitions if crew else None
    )


def _of_traps(now: Now) -> Iterator[Metric]:
    if now.look is None:
        return
    found = [each.found for each in now.look.left_out]
    family = GaugeMetricFamily("lycosa_left_out_urls", "URLs that a rule left out", labels=["host", "rule"])
    for each in found:
        family.add_metric([each.host, each.reason], each.urls)
    yield family
    yield _gauge(
        "lycosa_left_out_ratio", "Share of what may be pages that was left out", unseen_share(found, now.counts.pages)
    )
    yield _gauge("lycosa_troubled_origins", "Origins whose robots.txt cannot be read", now.look.status.troubled_origins)
    yield _gauge("lycosa_banned_hosts", "Hosts that told us to go away, at most", len(now.look.status.banned))


def _of_collection(now: Now) -> Iterator[Metric]:
    counts, fresh = now.counts, now.look.status.freshness if now.look else None
    yield _gauge("lycosa_visited_ratio", "Share of the known URLs that was visited", visited_share(counts))
    yield _gauge("lycosa_resting_urls", "Pages that are visited again when they are due", counts.resting)
    ratio = GaugeMetricFamily("lycosa_fresh_ratio", "Share of the pages believed to be up to date", labels=["by"])
    age = GaugeMetricFamily("lycosa_age_seconds", "By how much pages are believed to be behind", labels=["by"])
    believed = (
        [
            ("page", fresh.fresh, fresh.age_seconds),
            ("importance", fresh.fresh_by_importance, fresh.age_by_importance),
        ]
        if fresh
        else []
    )
    for by, share, seconds in believed:
        ratio.add_metric([by], share)
        age.add_metric([by], seconds)
    yield from (ratio, age)


def _is_paused(now: Now) -> bool:
    return any(each.live.paused for each in now.machines if each.is_running)


def _restarts(now: Now) -> int:
    return sum(each.live.restarts for each in now.machines)


def _gauge(name: str, help_: str, value: float | None) -> Metric:
    return GaugeMetricFamily(name, help_, value=value)


def _gauges(name: str, help_: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, help_, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _counter(name: str, help_: str, value: float) -> Metric:
    return CounterMetricFamily(name, help_, value=value)
