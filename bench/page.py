"""What pages cost and how well encodings are found: `python bench/page.py`. The best of many turns.

Pages: one drawn by lot (28 KB, 53 links), pages of the simulated web and, where the labelled pages are at hand, real
ones. Peers are compared where they are installed (selectolax, lxml), for the same work: tree, links with anchor text,
title and text. Bounded: about 25 seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

import turbohtml

from lycosa.bench.quality.encodings import labelled_files
from lycosa.page import tree
from lycosa.page.content import extract
from lycosa.page.encoding import decode
from lycosa.page.html import read
from lycosa.page.media import media_of
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.simweb.layout import Layout, PageRef
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.render import Renderer

DATA = Path(__file__).parents[2] / "shared" / "data"
Work = Callable[[bytes], object]
CONTENT_TYPE = "text/html; charset=utf-8"
PAGES_PER_SET = 15
SETTINGS = Settings()
PARSER = PageParser(SETTINGS, "lycosa")


def main() -> None:
    """Print a table of costs, one of hostile pages, and the encodings found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=3, help="how long each measurement takes (default: 3)")
    seconds = arguments.parse_args().seconds
    sets = {"drawn page": [drawn_page()], "simulated pages": simulated_pages(), "real pages": real_pages()}
    for name, pages in sets.items():
        if pages:
            print_costs(name, pages, seconds)
    print_hostile()
    print_encodings()


# Costs


def print_costs(name: str, pages: list[bytes], seconds: float) -> None:
    links = sum(len(PARSER.parse(page, CONTENT_TYPE).links) for page in pages) / len(pages)
    size = sum(map(len, pages)) / len(pages) / 1024
    print(f"\n{name}: {len(pages)}, {size:.0f} KiB and {links:.0f} links in the mean")
    whole = best({"whole": lambda page: PARSER.parse(page, CONTENT_TYPE)}, pages, seconds)["whole"]
    for step, cost in {**best_steps(pages, seconds), "whole": whole}.items():
        print(f"  {step:<22}{cost * 1e6:9.1f} µs {cost / whole:7.0%}")
    for peer, work in peers().items():
        print(f"  {peer:<22}{best({peer: work}, pages, seconds)[peer] / whole:9.2f} x the whole")


def best(works: dict[str, Work], pages: list[bytes], seconds: float) -> dict[str, float]:
    """Seconds a page for each of several works that take turns, the best of as many turns as there is time for."""
    costs = {(name, number): float("inf") for name in works for number in range(len(pages))}
    until = perf_counter() + seconds
    while perf_counter() < until:
        for number, page in enumerate(pages):
            for name, work in works.items():
                started = perf_counter()
                work(page)
                costs[name, number] = min(costs[name, number], perf_counter() - started)
    return {name: sum(costs[name, number] for number in range(len(pages))) / len(pages) for name in works}


def best_steps(pages: list[bytes], seconds: float) -> dict[str, float]:
    """As `best`, for the steps of one page after another."""
    texts = {page: decode(page, CONTENT_TYPE).text for page in pages}
    steps: dict[str, Work] = {
        "media": lambda page: media_of(CONTENT_TYPE, page),
        "decode": lambda page: decode(page, CONTENT_TYPE),
        "head, links, text": lambda page: read(texts[page], SETTINGS, "lycosa"),
        "main content": lambda page: extract(texts[page]),
        "(parser's tree alone)": lambda page: turbohtml.parse(texts[page], positions=False),
        "(the same by the tree)": lambda page: tree.read(texts[page], SETTINGS, "lycosa"),
    }
    return best(steps, pages, seconds)


def peers() -> dict[str, Work]:
    found: dict[str, Work] = {}
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        pass
    else:

        def selectolax(page: bytes) -> object:
            tree = LexborHTMLParser(page)
            links = [(a.attributes.get("href"), a.text(), a.attributes.get("rel")) for a in tree.css("a[href]")]
            tree.strip_tags(["script", "style", "noscript", "template"])
            return links, tree.css_first("title"), tree.body.text(separator="\n") if tree.body else ""

        found["selectolax"] = selectolax
    try:
        import lxml.html
    except ImportError:
        pass
    else:

        def lxml_html(page: bytes) -> object:
            tree = lxml.html.document_fromstring(page)
            links = [(a.get("href"), a.text_content(), a.get("rel")) for a in tree.iter("a") if a.get("href")]
            return links, tree.findtext(".//title"), tree.xpath("//body//text()[not(parent::script or parent::style)]")

        found["lxml"] = lxml_html
    return found


# Pages


def drawn_page(size: int = 28_000, links: int = 53, seed: int = 1) -> bytes:
    """A page of menus and prose, one link in three within the prose."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(600)]

    def some(count: int) -> str:
        return " ".join(draw.choices(words, k=count))

    menu = "".join(
        f'<li class="item"><a href="/{draw.choice(words)}/{n}.html">{some(3)}</a></li>\n' for n in range(links * 2 // 3)
    )
    parts = [f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{some(6)}</title>"]
    parts.append(f"<meta name=description content='{some(20)}'></head><body><nav><ul>{menu}</ul></nav><main>")
    left = links - links * 2 // 3
    while left or sum(map(len, parts)) < size:
        link = (
            f' <a href="../{draw.choice(words)}?x=1&amp;y=2" rel="nofollow">{some(2)} <b>{some(1)}</b></a> '
            if left
            else " "
        )
        left -= bool(left)
        parts.append(
            f'<p class="text">{some(20)}{link}{some(30)}</p>\n<div class="meta"><span>{some(2)}</span></div>\n'
        )
    return "".join([*parts, "</main></body></html>"]).encode()


def simulated_pages() -> list[bytes]:
    renderer = Renderer(Layout(WebPlan.named("bench", hosts=3)), 80)
    return [b"".join(renderer.page(PageRef(0, page), 0)) for page in range(1, 11)]


def real_pages() -> list[bytes]:
    pages = []
    for file in sorted(DATA.glob("extraction/*/html.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            pages += [json.loads(line)["html"].encode("utf-8", "replace") for line in islice(lines, PAGES_PER_SET)]
    return pages


def print_hostile() -> None:
    size = SETTINGS.max_body_bytes
    print("\nhostile pages of 5 MiB: CPU, elements, links kept")
    for name, piece in {
        "divs in divs": "<div>",
        "attributes": "a1=2 ",
        "links": "<a href=x>y</a>",
        "links in tables in links": "<a href=x>y<table><td>",
        "one line": "word ",
        "NULs": "\0",
        "<": "<",
        "misnested": "<b><i><p></b></i>",
        "paragraphs": "<p>",
        "forms": "<form><div>",
    }.items():
        body = (("<a " if name == "attributes" else "") + piece * (size // len(piece)))[:size].encode()
        started = process_time()
        page = PARSER.parse(body, CONTENT_TYPE)
        seconds = process_time() - started
        elements = sum(1 for _ in turbohtml.parse(body.decode(), positions=False).iter_elements())
        print(f"  {name:<26}{seconds * 1e3:7.0f} ms{elements:>10,}{len(page.links):>6}")


# Encodings


def print_encodings() -> None:
    """How many undeclared files are read as the text they are labelled to be, and what telling it costs."""
    files = list(labelled_files(DATA))
    wrong = [
        f"{file.label} as {decode(file.body).charset}" for file in files if not file.is_read_as(decode(file.body).text)
    ]
    if files:
        right = len(files) - len(wrong)
        print(f"\nencodings: {right} of {len(files)} files right ({right / len(files):.1%}); wrong: {', '.join(wrong)}")
    page = drawn_page().decode().replace("a", "ä").replace("<mäin>", "<main>").encode("cp1252")
    cost = best({"detect": lambda page: decode(page, "text/html")}, [page.replace(b"charset", b"")], 1)["detect"]
    print(f"an undeclared page of {len(page) / 1024:.0f} KiB: {cost * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
