"""All experiments, one after the other, and the page they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lycosa.bench.experiments.balance import crawled, simulated
from lycosa.bench.experiments.rate import rate
from lycosa.bench.experiments.scale import simulate
from lycosa.bench.experiments.section import Section
from lycosa.bench.experiments.sketches import bloom_error, sketch_error
from lycosa.bench.run import BenchPlan

NAMES = ("rate", "balance", "crawl", "sketch", "bloom", "scale")


class Effort(NamedTuple):
    """How large the experiments are."""

    workers: tuple[int, ...]
    web: BenchPlan
    clients: tuple[int, ...]
    domains: int
    requests: int
    crawl_hosts: int
    crawl_pages: int
    counted: int
    names: int
    items: int
    sim_workers: int
    sim_hosts: int


FULL = Effort(
    workers=(1, 2, 4),
    web=BenchPlan(hosts=200, pages=25, repeat=2),
    clients=(2, 4, 8, 16, 32),
    domains=20_000,
    requests=100_000,
    crawl_hosts=16,
    crawl_pages=24,
    counted=1_000_000,
    names=50_000,
    items=200_000,
    sim_workers=1_000,
    sim_hosts=10_000_000,
)
QUICK = Effort(
    workers=(1, 2),
    web=BenchPlan(hosts=10, pages=10),
    clients=(2, 4, 8),
    domains=500,
    requests=5_000,
    crawl_hosts=4,
    crawl_pages=8,
    counted=20_000,
    names=2_000,
    items=10_000,
    sim_workers=20,
    sim_hosts=64_000,
)


def experiments(names: Sequence[str], effort: Effort, say: Callable[[str], None]) -> Iterator[Section]:
    """The experiments of these names, in the order of the page."""
    for name in NAMES:
        if name not in names:
            continue
        say(f"{name} …")
        match name:
            case "rate":
                yield rate(effort.workers, effort.web, say)
            case "balance":
                yield simulated(effort.clients, effort.domains, effort.requests)
            case "crawl":
                yield crawled(effort.crawl_hosts, effort.crawl_pages, workers=4)
            case "sketch":
                yield sketch_error(effort.names, effort.counted)
            case "bloom":
                yield bloom_error(effort.items)
            case "scale":
                yield simulate(effort.sim_workers, effort.sim_hosts)


def markdown(sections: Sequence[Section], command: str, plots: str) -> str:
    """The page; `plots` is the folder of the plots as seen from it."""
    parts = [
        "# Experiments",
        f"Made by `{command}`. Random draws are seeded, so all but the rates come out the same every time.",
    ]
    for section in sections:
        parts += [f"## {section.title}", section.text]
        parts += [f"![{section.title}]({plots}/{name})" for name in section.plots]
    return "\n\n".join(parts) + "\n"


def write(sections: Sequence[Section], command: str, page: Path) -> None:
    """The page, and its plots in a folder of its name beside it."""
    plots = page.with_suffix("")
    plots.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for name, drawn in section.plots.items():
            (plots / name).write_text(drawn, encoding="utf-8")
    page.write_text(markdown(sections, command, plots.name), encoding="utf-8")
