"""How the embedded frontier does with many URLs: memory, speed, disk, restart.

    python bench/frontier.py [--urls 1000000] [--hosts 20000] [--visits 50000] [--seen exact|bloom] [--json]

Every figure comes from a process of its own. Bounded: a million URLs take about a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from lycosa.frontier.embedded import rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, Target
from lycosa.policy.politeness import Pace
from lycosa.url.fingerprint import Fingerprinter

BATCH = 5000
MIB = 1024 * 1024


def rss_bytes() -> int:
    gc.collect()
    # What the allocator keeps for later is not the frontier's.
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def targets(urls: int, hosts: int, key: bytes) -> Iterator[list[Target]]:
    """URLs like those of a crawl, made one batch at a time: hosts mixed, paths of 20 to 60 characters."""
    mark = Fingerprinter(key).fingerprint
    draw = Random(1)
    for start in range(0, urls, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, urls)):
            host = f"www.site-{draw.randrange(hosts)}.example"
            url = f"https://{host}/section-{draw.randrange(40)}/{draw.getrandbits(48):x}/page-{number}.html"
            batch.append(Target(url, host, mark(url), depth=2, referrer=f"https://{host}/"))
        yield batch


def rules(args: argparse.Namespace) -> FrontierRules:
    return FrontierRules(
        pace=Pace(min_delay_seconds=0.0, delay_factor=0.0),
        seen=args.seen,
        seen_capacity=max(args.urls, 10_000_000),
        durability=args.durability,
    )


async def fill(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    frontier = rocks_frontier(folder, rules(args))
    for batch in targets(BATCH, 1, b"x" * 16):  # import and warm everything before the memory is measured
        del batch
    empty = rss_bytes()
    peak, added, spent, cpu = empty, 0, 0.0, 0.0
    for batch in targets(args.urls, args.hosts, frontier.crawl_key()):
        began, cpu_began = time.perf_counter(), time.process_time()
        added += await frontier.add(batch)
        spent += time.perf_counter() - began
        cpu += time.process_time() - cpu_began
        if added % 50_000 == 0:
            peak = max(peak, rss_bytes())
    # The active hosts with the heads of their queues belong to the picture.
    while len(await frontier.take(0, 1000)) == 1000:
        pass
    peak = max(peak, rss_bytes())
    began = time.perf_counter()
    await frontier.close()
    closed = time.perf_counter() - began
    return {
        "urls": added,
        "memory_over_empty_mib": (peak - empty) / MIB,
        "add_urls_per_second": added / spent,
        "add_cpu_us_per_url": cpu / added * 1e6,
        "close_seconds": closed,
        "disk_bytes_per_url": size_bytes(folder) / added,
    }


async def visit(folder: Path, args: argparse.Namespace) -> dict[str, float]:
    began = time.perf_counter()
    frontier = rocks_frontier(folder, rules(args))
    opened = time.perf_counter() - began
    first = await frontier.take(0, 1)
    found = links(args, frontier.crawl_key())
    waiting: list[Lease] = first
    first_lease = time.perf_counter() - began
    visits, cpu = 0, time.process_time()
    while visits < args.visits and waiting:
        settlements = [settlement(lease, found[(visits + turn) % len(found)]) for turn, lease in enumerate(waiting)]
        await frontier.settle(settlements)
        visits += len(settlements)
        waiting = await frontier.take(0, args.batch)
    cpu = time.process_time() - cpu
    return {
        "visits": visits,
        "open_seconds": opened,
        "first_lease_seconds": first_lease,
        "cpu_us_per_visit": cpu / max(1, visits) * 1e6,
    }


def links(args: argparse.Namespace, key: bytes) -> list[list[Target]]:
    """What a page's links leave for the frontier: the caches of the workers let few known ones through."""
    (known,) = targets(min(BATCH, args.urls), args.hosts, key)
    return [known[start : start + args.links] for start in range(0, BATCH - args.links, 7)]


def settlement(lease: Lease, found: list[Target]) -> Settlement:
    if lease.target.kind is Kind.ROBOTS:
        news = RobotsNews(lease.target.origin, 1.0, 9e9, b"rules")
        return Settlement(lease.token, OutcomeKind.READ, status=200, robots=news)
    return Settlement(
        lease.token,
        OutcomeKind.STORED,
        status=200,
        digest=lease.target.fingerprint,
        discovered=found,
        body_bytes=28_000,
    )


def own_process(part: str, folder: Path, argv: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, *argv, "--part", part, "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def crashed(folder: Path) -> None:
    """As after kill -9: without the filter that a clean close leaves."""
    (folder / "seen.filter").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=20_000)
    parser.add_argument("--visits", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=64, help="leases per take")
    parser.add_argument("--links", type=int, default=5, help="links per visit that reach the frontier")
    parser.add_argument("--seen", choices=["exact", "bloom"], default="exact")
    parser.add_argument("--durability", choices=["power", "process"], default="power")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=["fill", "visit"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(asyncio.run((fill if args.part == "fill" else visit)(args.folder, args))))
        return
    base = Path(tempfile.mkdtemp(prefix="lycosa-bench-"))
    try:
        figures = own_process("fill", base / "frontier", sys.argv[1:])
        figures |= own_process("visit", base / "frontier", sys.argv[1:])
        crashed(base / "frontier")
        again = own_process("visit", base / "frontier", [*sys.argv[1:], "--visits", "0"])
        figures["open_seconds_after_crash"] = again["open_seconds"]
    finally:
        shutil.rmtree(base)
    if args.json:
        print(json.dumps(figures))
    else:
        for name, figure in figures.items():
            print(f"{name:28} {figure:14,.2f}")


if __name__ == "__main__":
    main()
