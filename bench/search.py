"""What searching costs: pages indexed per CPU-second, part by part, and how long a question takes on 100,000 pages.

Pages are made up: words by Zipf's law, a title, headings, 50 links. `python bench/search.py [PAGES] [WORDS]`.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

from lycosa.inspect.ranks import page_rank
from lycosa.model import Links, OutcomeKind, Texts, Visit
from lycosa.search import open_index, rank, taking_in, tokens
from lycosa.search.fields import page_document
from lycosa.store.folder import CrawlFolder
from lycosa.store.tables import MAX_BUFFER_BYTES, TablePart

T = TypeVar("T")
VOCABULARY, LINKS, ROWS_OF_PART, QUESTIONS = 50_000, 50, 20_000, 400


def made_up(count: int, words: int) -> Iterator[tuple[Visit, Texts, Links]]:
    """So many pages of so many words each, on hosts of a thousand pages."""
    draw, dice = random.Random(1), np.random.default_rng(1)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    vocabulary = np.array(["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(VOCABULARY)])
    drawn = dice.choice(vocabulary, (count, words), p=shares / shares.sum())
    for number in range(count):
        row = drawn[number].tolist()
        host = f"h{number // 1000}.example"
        lines = [" ".join(row[at : at + 60]) + "." for at in range(0, words, 60)]
        headings = "\n".join(" ".join(row[at : at + 3]) for at in range(0, words, 200))
        content = "\n".join(lines[2:])
        text = "\n".join(lines)
        base = number // 1000 * 1000
        targets = [
            f"http://{host}/{min(count - 1, base + int(at))}"
            for at in (draw.random() ** 3 * 1000 for _ in range(LINKS))
        ]
        anchors = [" ".join(row[at : at + 2]) for at in range(LINKS)]
        visit = Visit(
            f"http://{host}/{number}", host, 1.8e9 + number, OutcomeKind.STORED, 200, "text/html", "utf-8", "en",
            title=" ".join(row[:5]), out_links=LINKS, group_id=f"g{number}",
        )  # fmt: skip
        yield visit, Texts(text, content, "", headings), Links(targets, anchors, [""] * LINKS)


def write_tables(folder: CrawlFolder, count: int, words: int) -> None:
    part: TablePart | None = None
    for number, row in enumerate(made_up(count, words)):
        if number % ROWS_OF_PART == 0:
            finish(part)
            part = TablePart(folder, f"lycosa-20270101T000000-w0-{number // ROWS_OF_PART:05d}")
        assert part
        part.add(*row)
        if part.buffered_bytes > MAX_BUFFER_BYTES:
            part.write(part.take())
    finish(part)


def finish(part: TablePart | None) -> None:
    if part:
        part.write(part.take())
        part.finish()


def timed(name: str, pages: int, do: Callable[[], T]) -> T:
    began = time.process_time()
    result = do()
    print(f"  {name:<34} {1e6 * (time.process_time() - began) / pages:7.0f} µs a page", flush=True)
    return result


def parts_of_the_cost(folder: CrawlFolder) -> None:
    """What one part costs, step by step."""
    [part, *_] = taking_in.parts_of(folder, frozenset())
    count = part.rows
    changes = timed("which rows count", count, lambda: taking_in.changes_of(folder, [part]))
    pages = timed("rows read", count, lambda: list(taking_in.pages_in(part, changes.newest)))
    timed("texts to tokens", count, lambda: [tokens.analysed(page.text, page.language) for page in pages])
    timed("documents (with their tokens)", count, lambda: [page_document(page) and None for page in pages])
    timed("anchors read", count, lambda: [None for _ in taking_in.anchors_in(part)])
    _, edges = timed("graph read", count, lambda: rank._graph([part.pages], [part.links]))
    timed("PageRank", count, lambda: page_rank(edges, tolerance=1e-6))


def questions(folder: CrawlFolder) -> list[str]:
    """Words of pages: one to four of them, some as a phrase, some with a field."""
    draw = random.Random(2)
    [part, *_] = taking_in.parts_of(folder, frozenset())
    pages = list(taking_in.pages_in(part, taking_in.changes_of(folder, [part]).newest))
    found = []
    for number in range(QUESTIONS):
        page = draw.choice(pages)
        words = page.text.replace(".", "").split()
        at, some = draw.randrange(len(words) - 4), draw.randint(1, 4)
        text = " ".join(words[at : at + some])
        found.append((text, f'"{text}"', f"{text} site:{page.host}", f"{text} lang:en before:2040")[number % 4])
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    words = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    with tempfile.TemporaryDirectory(prefix="lycosa-search-") as place:
        folder = CrawlFolder(Path(place))
        folder.create()
        write_tables(folder, count, words)
        print(f"{count:,} pages of {words:,} words and {LINKS} links", flush=True)
        began = time.process_time()
        with open_index(folder) as index:
            index.update()
            seconds = time.process_time() - began
            size = sum(path.stat().st_size for path in index.path.rglob("*") if path.is_file())
            print(
                f"indexed in {seconds:.1f} CPU-seconds: {count / seconds:,.0f} a second; {size / count:,.0f} bytes each"
            )
            parts_of_the_cost(folder)
            times = []
            for text in questions(folder):
                began = time.process_time(), time.perf_counter()
                index.search(text)
                times.append((1000 * (time.perf_counter() - began[1]), 1000 * (time.process_time() - began[0])))
            for name, column in zip(("ms", "CPU-ms"), zip(*times, strict=True), strict=True):
                ranked = sorted(column)
                shares = [f"{share} %: {ranked[len(ranked) * share // 100 - 1]:.1f}" for share in (50, 95, 99)]
                print(f"a question, {name}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
