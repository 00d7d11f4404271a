"""What the links of a page cost: `python bench/links.py`. CPU per page from raw links to new targets, in microseconds.

The compiled pass and the memo take turns over the same pages, each page once as in a crawl; the best of some rounds.

- navigation: the web of `lycosa bench`; most links of a site are on all its pages, so the memo has met them.
- strewn: links lead to random pages of other hosts, with variants of queries and with fragments; hardly any repeats.
- real: where the labelled pages are at hand; one page of each site, so all is new.

Bounded: about a minute.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import process_time

from lycosa.crawl.discovery import Discovery, DiscoveryRules
from lycosa.model import Page, RawLink, Target
from lycosa.settings import Settings
from lycosa.simweb.layout import Layout, PageRef
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.render import Renderer
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.compiled import CompiledLinks
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.links import MemoLinks, PageLinks
from lycosa.url.memo import LinkPolicy
from lycosa.wiring.worker import page_parser

DATA = Path(__file__).parents[2] / "shared" / "data"
SETTINGS = Settings(scope="any")
PARSER = page_parser(SETTINGS)
Recorded = list[tuple[Target, Page]]


def main() -> None:
    """Print a line for each kind of web."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5, help="how often each is measured (default: 5)")
    rounds = arguments.parse_args().rounds
    for name, record in {"navigation": navigation, "strewn": strewn, "real": real}.items():
        if pages := record():
            print_costs(name, pages, record, rounds)


def print_costs(name: str, pages: Recorded, record: Callable[[], Recorded], rounds: int) -> None:
    links = sum(len(page.links) for _, page in pages) / len(pages)
    new = sum(run(MemoLinks, pages)[1]) / len(pages)
    # Texts that were looked up before have their hash, so each run gets its own.
    costs = [[run(way, record())[0] / len(pages) * 1e6 for way in (MemoLinks, CompiledLinks)] for _ in range(rounds)]
    memo, compiled = map(min, zip(*costs, strict=True))
    print(f"{name}: {len(pages):,} pages, {links:.0f} links, {new:.1f} new targets in the mean")
    print(f"  memo {memo:.1f} µs, compiled {compiled:.1f} µs a page: {memo / compiled:.1f} times")


def run(way: Callable[[LinkPolicy], PageLinks], pages: Recorded) -> tuple[float, list[int]]:
    """The CPU seconds that all pages take, and how many targets each of them brought."""
    fingerprinter = Fingerprinter(bytes(32))
    policy = LinkPolicy.from_settings(SETTINGS, [], fingerprinter)
    rules = DiscoveryRules(100, SETTINGS.max_links_per_domain, "breadth", obey_nofollow=True, sitemaps=True)
    discovery = Discovery(policy, way(policy), fingerprinter, rules)
    counts = []
    gc.collect()
    started = process_time()
    for target, page in pages:
        found = discovery.of_page(target, page).new
        discovery.remembered.add(each.fingerprint for each in found)
        counts.append(len(found))
    return process_time() - started, counts


def at(url: str) -> Target:
    parsed = parse(url)
    assert isinstance(parsed, ParsedUrl)
    return Target(parsed.url, parsed.host, bytes(8))


def navigation(hosts: int = 20) -> Recorded:
    layout = Layout(WebPlan.named("bench", hosts=hosts))
    renderer = Renderer(layout, 80)
    refs = [PageRef(host, page) for page in range(layout.plan.pages_per_host) for host in range(hosts)]
    pages = [PARSER.parse(b"".join(renderer.page(ref, 0)), "text/html; charset=utf-8") for ref in refs]
    return [(at(page.canonical), page) for page in pages]


def strewn(pages: int = 500, links: int = 100, hosts: int = 400) -> Recorded:
    draw = random.Random(1)
    return [
        (
            at(address(draw, hosts)),
            Page("", "", "", [RawLink(written(draw, hosts), "some words", "") for _ in range(links)]),
        )
        for _ in range(pages)
    ]


def address(draw: random.Random, hosts: int) -> str:
    page = draw.randrange(5_000)
    return f"http://www.host-{draw.randrange(hosts)}.example/section-{page % 40}/a-title-{page}.html"


def written(draw: random.Random, hosts: int) -> str:
    """A link to any page, with what does and what does not make another page of it."""
    variables = [f"id={draw.randrange(50)}", f"page={draw.randrange(3)}", "utm_source=feed", "lang=en"]
    query = "&".join(draw.sample(variables, draw.randrange(4)))
    fragment = f"#part-{draw.randrange(9)}" if draw.random() < 0.3 else ""
    return address(draw, hosts) + ("?" + query if query else "") + fragment


def real(pages_per_set: int = 25) -> Recorded:
    return [
        (at(url), PARSER.parse(body, "text/html; charset=utf-8", url=url))
        for folder in sorted(DATA.glob("extraction/*/html.jsonl.gz"))
        for url, body in islice(labelled(folder.parent), pages_per_set)
    ]


def labelled(folder: Path) -> Iterator[tuple[str, bytes]]:
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        urls = {row["id"]: row.get("url") or "" for row in map(json.loads, lines)}
    with gzip.open(folder / "html.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if isinstance(parse(urls.get(row["id"], "")), ParsedUrl):
                yield urls[row["id"]], row["html"].encode("utf-8", "replace")


if __name__ == "__main__":
    main()
