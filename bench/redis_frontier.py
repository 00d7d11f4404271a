"""What the frontier on Redis costs: memory per URL, the server's CPU per page, and the rate beside the embedded one.

    python bench/redis_frontier.py [--urls 200000] [--hosts 4000] [--visits 20000] [--partitions 16] [--crawl] [--json]

Not `redis.py`: that would hide the library of this name. Starts its own server on the loopback.
`--crawl` also crawls the benchmark web, with both frontiers in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, Target
from lycosa.policy.politeness import Pace
from lycosa.url.fingerprint import Fingerprinter

sys.path.append(str(Path(__file__).parents[1]))
from tests.crawl.command import crawl as run
from tests.frontier.redis_servers import RedisServer

BATCH = 5000


def targets(urls: int, hosts: int, key: bytes, first: int = 0) -> Iterator[list[Target]]:
    """URLs like those of a crawl: hosts mixed, 75 characters, found on a page of the same host."""
    mark, draw = Fingerprinter(key).fingerprint, Random(first + 1)
    for start in range(first, first + urls, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, first + urls)):
            host = f"www.site-{draw.randrange(hosts)}.example"
            url = f"https://{host}/section-{draw.randrange(40)}/{draw.getrandbits(48):x}/page-{number}.html"
            batch.append(Target(url, host, mark(url), depth=2, referrer=f"https://{host}/section-1/"))
        yield batch


def memory(server: RedisServer) -> int:
    return int(server.client().info("memory")["used_memory_dataset"])


def cpu_seconds(server: RedisServer) -> float:
    used = server.client().info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def bytes_under(server: RedisServer, pattern: str) -> int:
    """What the keys of one kind take, names and all (MEMORY USAGE)."""
    client = server.client()
    return sum(client.memory_usage(key, samples=0) for key in client.scan_iter(match=pattern, count=10_000))


async def fill(server: RedisServer, frontier: RedisFrontier, args: argparse.Namespace) -> dict[str, float]:
    empty, cpu, spent = memory(server), cpu_seconds(server), 0.0
    for batch in targets(args.urls, args.hosts, frontier.crawl_key()):
        began = time.perf_counter()
        await frontier.add(batch)
        spent += time.perf_counter() - began
    known = bytes_under(server, "*}s*")
    queued = bytes_under(server, "*}q*")
    hosts = bytes_under(server, "*}h") + bytes_under(server, "*}a")
    return {
        "bytes_per_known_url": known / args.urls,
        "bytes_per_queued_url": queued / args.urls,
        "bytes_per_host": hosts / args.hosts,
        "bytes_per_url_in_all": (memory(server) - empty) / args.urls,
        "add_urls_per_second": args.urls / spent,
        "add_redis_cpu_us_per_url": (cpu_seconds(server) - cpu) / args.urls * 1e6,
    }


async def visit(server: RedisServer, frontier: RedisFrontier, args: argparse.Namespace) -> dict[str, float]:
    # Half of what a page links to is new; the workers' caches let few known ones through.
    (links,) = targets(BATCH, args.hosts, frontier.crawl_key(), first=args.urls - BATCH // 2)
    draw, visits, turn = Random(1), 0, 0
    calls, cpu, mine, began = commands(server), cpu_seconds(server), time.process_time(), time.perf_counter()
    while visits < args.visits and (leases := await frontier.take(0, args.batch)):
        settlements = []
        for lease in leases:
            turn += args.links
            found = [links[(turn + place) % len(links)] for place in range(args.links)]
            settlements.append(settlement(lease, found, draw))
        await frontier.settle(settlements)
        visits += sum(lease.target.kind is Kind.PAGE for lease in leases)
    return {
        "visits": visits,
        "redis_cpu_us_per_page": (cpu_seconds(server) - cpu) / visits * 1e6,
        "commands_per_page": (commands(server) - calls) / visits,
        "parent_cpu_us_per_page": (time.process_time() - mine) / visits * 1e6,
        "pages_per_second": visits / (time.perf_counter() - began),
        "history_bytes_per_page": bytes_under(server, "*}y") / visits,
        "content_bytes_per_page": bytes_under(server, "*}c") / visits,
    }


def commands(server: RedisServer) -> int:
    return int(server.client().info("stats")["total_commands_processed"])


def settlement(lease: Lease, found: list[Target], draw: Random) -> Settlement:
    if lease.target.kind is Kind.ROBOTS:
        news = RobotsNews(lease.target.origin, 1.0, 9e9, b"rules")
        return Settlement(lease.token, OutcomeKind.READ, status=200, robots=news)
    digest = draw.randbytes(20)
    return Settlement(lease.token, OutcomeKind.STORED, status=200, digest=digest, discovered=found, body_bytes=28_000)


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    rules = FrontierRules(pace=Pace(min_delay_seconds=0.0, delay_factor=0.0))
    with RedisServer() as server:
        frontier = RedisFrontier(f"{server.address}?partitions={args.partitions}", rules)
        await frontier.begin()
        try:
            figures = await fill(server, frontier, args)
            return figures | await visit(server, frontier, args)
        finally:
            await frontier.close()


def crawl(args: argparse.Namespace) -> dict[str, Any]:
    """The same web, workers and settings; once embedded, once on Redis."""
    from lycosa.simweb import SimWebProcess, WebPlan

    plan = WebPlan.named("bench", hosts=args.web_hosts, pages_per_host=args.web_pages, is_named=True)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server, SimWebProcess(plan) as web:
        for turn in range(args.repeat):
            for name, address in (("embedded", "rocks"), ("redis", f"{server.address}?crawl=c{turn}")):
                cpu = cpu_seconds(server)
                ended = run(web, Path(folder) / f"{name}{turn}", *web.seeds, frontier=address, workers=args.workers)
                assert ended.exit_code == 0, ended.said
                pages = ended.summary["pages"]
                rate = ended.summary["pages_per_second"]
                figures[f"{name}_pages_per_second"] = max(rate, figures.get(f"{name}_pages_per_second", 0.0))
                if name == "redis":
                    figures["crawl_redis_cpu_us_per_page"] = (cpu_seconds(server) - cpu) / pages * 1e6
    figures["redis_share_of_embedded"] = figures["redis_pages_per_second"] / figures["embedded_pages_per_second"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=200_000)
    parser.add_argument("--hosts", type=int, default=4_000)
    parser.add_argument("--visits", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=64, help="leases per take")
    parser.add_argument("--links", type=int, default=5, help="links per visit that reach the frontier")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--crawl", action="store_true", help="also crawl the benchmark web with both frontiers")
    parser.add_argument("--web-hosts", type=int, default=200)
    parser.add_argument("--web-pages", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures = asyncio.run(measure(args)) if args.urls else {}
    if args.crawl:
        figures |= crawl(args)
    if args.json:
        print(json.dumps(figures))
    else:
        for name, figure in figures.items():
            print(f"{name:30} {figure:14,.2f}")


if __name__ == "__main__":
    main()
