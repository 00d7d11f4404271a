"""How evenly requests are spread over clients by both assignments: simulated, and in a crawl of a simulated web."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import Section, table
from lycosa.bench.experiments.sketches import heavy_tailed
from lycosa.errors import LycosaError
from lycosa.policy.balance import Balance, coefficient_of_variation
from lycosa.policy.ring import Ring
from lycosa.simweb import SimWebProcess, WebPlan
from lycosa.store.files import maker_of
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect
from lycosa.url.domain import registered_domain

ASSIGNMENTS = ("ring", "balanced")
CRAWL_SECONDS = 300


class Spread(NamedTuple):
    """Coefficients of variation over the clients: of all requests, and of the requests of a domain, on average."""

    of_load: float
    of_domains: float


def simulated(clients: tuple[int, ...], domains: int, requests: int) -> Section:
    """A heavy-tailed crawl given out by both assignments."""
    stream = _stream(domains, requests)
    found = {name: {count: _give_out(name, count, stream) for count in clients} for name in ASSIGNMENTS}
    rows = [
        (
            count,
            *(f"{found[name][count].of_load:.3f}" for name in ASSIGNMENTS),
            *(f"{found[name][count].of_domains:.3f}" for name in ASSIGNMENTS),
        )
        for count in clients
    ]
    columns = ("clients", "all requests: ring", "balanced", "requests of a domain: ring", "balanced")
    text = (
        f"{requests:,} requests to {domains:,} domains, the n-th largest with 1/n of the first, given out one by one. "
        "The coefficient of variation (standard deviation over mean, 0: even) of what the clients have in all; and of "
        "what they have of a domain, as the mean over the domains with at least four requests per client:\n\n"
        f"{table(columns, rows)}\n\nThe ring keeps a domain with one client, so it spreads a domain not at all "
        "(√(clients − 1)), and the largest domains make it uneven in all. The balanced assignment gives every request "
        "to whoever had its domain least."
    )
    lines = [
        PlotLine(f"{name}, {what}", [(count, found[name][count][part]) for count in clients], colour=2 * part + place)
        for part, what in enumerate(("all", "of a domain"))
        for place, name in enumerate(ASSIGNMENTS)
    ]
    drawn = plot("Unevenness over clients", Axis("clients"), Axis("coefficient of variation"), lines)
    return Section("Balance over clients, simulated", text, {"balance.svg": drawn})


def crawled(hosts: int, pages: int, workers: int) -> Section:
    """Two real crawls of one simulated web; who had a page is told by the file that holds it."""
    plan = WebPlan.named("clean", hosts=hosts, pages_per_host=pages, crawl_delay_share=0.0, slow_host_share=0.0)
    rows = []
    with SimWebProcess(plan) as web, tempfile.TemporaryDirectory(prefix="lycosa-balance-") as place:
        for name in ASSIGNMENTS:
            had = _crawl(web, Path(place) / name, name, workers)
            spread = _spread(had, workers, at_least=2 * workers)
            kept = sum(counts.total() for counts in had.values())
            rows.append((name, f"{kept:,}", f"{spread.of_load:.3f}", f"{spread.of_domains:.3f}"))
    columns = ("assignment", "pages", "all pages", "pages of a domain")
    text = (
        f"A web of {hosts:,} hosts with {pages:,} pages each, crawled by `lycosa crawl` with {workers} workers and a "
        f"pause of 0.1 s; coefficients of variation over the workers:\n\n{table(columns, rows)}"
    )
    return Section("Balance over workers, in a crawl", text, {})


def _stream(domains: int, requests: int) -> list[str]:
    counts = heavy_tailed(domains, requests)
    stream = [f"site-{number}.example" for number, count in enumerate(counts) for _ in range(count)]
    Random(1).shuffle(stream)
    return stream


def _give_out(assignment: str, clients: int, stream: list[str]) -> Spread:
    had: dict[str, Counter[int]] = defaultdict(Counter)
    load = Counter(dict.fromkeys(range(clients), 0))
    if assignment == "ring":
        ring = Ring(range(clients))
        owners = {domain: ring.owner(domain) for domain in set(stream)}
        for domain in stream:
            had[domain][owners[domain]] += 1
    else:
        balance = Balance(range(clients))
        for domain in stream:
            client = balance.choose(domain, load.__getitem__).client
            load[client] += 1
            had[domain][client] += 1
    return _spread(had, clients, at_least=4 * clients)


def _spread(had: dict[str, Counter[int]], clients: int, at_least: int) -> Spread:
    load = sum(had.values(), Counter[int]())
    domains = [counts for counts in had.values() if counts.total() >= at_least]
    return Spread(
        coefficient_of_variation([load[client] for client in range(clients)]),
        fmean(coefficient_of_variation([counts[client] for client in range(clients)]) for counts in domains),
    )


def _crawl(web: SimWebProcess, folder: Path, assignment: str, workers: int) -> dict[str, Counter[int]]:
    settings = {
        "assignment": f'"{assignment}"',
        "dns_servers": f'["{web.dns_address}"]',
        "open_networks": '["127.0.0.0/8"]',
        "min_delay_seconds": 0.1,
        "delay_factor": 0,
        "max_wait_seconds": 5,
        "traps": "false",
        "report": "false",
    }
    command = [sys.executable, "-m", "lycosa.cli.main", "crawl", *web.seeds, "--folder", str(folder), "--scope", "any"]
    command += ["--workers", str(workers), "--quiet", *(f"--set={name}={value}" for name, value in settings.items())]
    ended = subprocess.run(command, timeout=CRAWL_SECONDS, check=False, capture_output=True, text=True)
    if ended.returncode not in (0, 3):
        raise LycosaError(f"the crawl for the experiment ended with {ended.returncode}: {ended.stderr[-500:]}")
    had: dict[str, Counter[int]] = defaultdict(Counter)
    with connect(CrawlFolder(folder)) as connection:
        kept = connection.execute("SELECT host, warc_file FROM pages WHERE outcome IN ('stored', 'duplicate')")
        for host, file in kept.fetchall():
            if maker := maker_of(file):
                had[registered_domain(host)][maker.worker] += 1
    return had
