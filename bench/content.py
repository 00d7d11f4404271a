"""What main content costs: `python bench/content.py`. The best of many turns, next to parsing the same page.

Pages: one drawn by lot (28 KB), and real ones of 22 to 34 thousand characters where the labelled pages are at hand.
Then 5 MiB of each known kind of hostile markup, and how long the model takes to load. Bounded: about 20 seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from importlib.resources import files
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

from lycosa.page._native import Model, lay_out
from lycosa.page.content import extract
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from page import drawn_page

DATA = Path(__file__).parents[2] / "shared" / "data" / "extraction"
MIB = 1024 * 1024
Work = Callable[[Any], object]
PAGES_PER_SET = 12
HOSTILE = {
    "nested <div>": "<div>",
    "nested links": "<a href=x>",
    "paragraphs": "<p>x",
    "stray end tags": "</p>",
    "less-than signs": "<",
    "references": "&abcdefghij;",
    "open comments": "<!--",
    "open text areas": "<textarea>",
    "open quotes": '<a b="',
    "table cells": "<table><tr><td>x",
    "list items": "<ul><li>",
    "breaks": "x<br>",
    "Chinese": "中文",
    "lone surrogates": "\ud800",
}


def main() -> None:
    """Print the cost per page, of hostile pages and of the model."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=2, help="how long each measurement takes (default: 2)")
    seconds = arguments.parse_args().seconds
    parser = PageParser(Settings(), "lycosa")
    for name, pages in {"drawn page": [drawn_page().decode()], "real pages": real_pages()}.items():
        if not pages:
            continue
        size = sum(map(len, pages)) / len(pages)
        print(f"\n{name}: {len(pages)}, {size:,.0f} characters in the mean, µs of CPU per page")
        bodies = [page.encode() for page in pages]
        works: dict[str, tuple[Work, list[Any]]] = {
            "parse (tree, links, text)": (lambda body: parser.parse(body, "text/html; charset=utf-8"), bodies),
            "decode and extract": (lambda body: extract(body.decode()), bodies),
            "extract": (extract, pages),
            "of that, blocks and text": (lay_out, pages),
        }
        for step, (work, items) in works.items():
            print(f"  {step:<28}{best(work, items, seconds):8.0f}")
    print_hostile()
    data = files("lycosa.page.content").joinpath("content.model").read_bytes()
    print(f"\nmodel: {len(data):,} bytes, loaded in {best(Model, [data], 0.2) / 1000:.2f} ms")


def best(work: Work, items: list[Any], seconds: float) -> float:
    """Microseconds per item in the best of the turns that fit."""
    least, spent = float("inf"), 0.0
    while spent < seconds:
        started = process_time()
        for item in items:
            work(item)
        took = process_time() - started
        least, spent = min(least, took), spent + took
    return least / len(items) * 1e6


def real_pages() -> list[str]:
    pages: list[str] = []
    for path in sorted(DATA.glob("*/html.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as rows:
            htmls = (json.loads(row)["html"] for row in rows)
            pages += islice((html for html in htmls if 22_000 < len(html) < 34_000), PAGES_PER_SET)
    return pages


def print_hostile() -> None:
    print("\n5 MiB of hostile markup, ms")
    for name, unit in HOSTILE.items():
        html = unit * (5 * MIB // len(unit.encode("utf-8", "surrogatepass")))
        print(f"  {name:20} {best(extract, [html], 0.01) / 1000:8.0f}")


if __name__ == "__main__":
    main()
