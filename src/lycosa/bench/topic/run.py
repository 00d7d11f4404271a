"""The run: all of a web once, breadth first, then of each topic so many pages, the most promising first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from lycosa.bench.experiments.section import table
from lycosa.bench.topic.webs import FoundPage, TopicWeb
from lycosa.errors import LycosaError
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

_CRAWL_SECONDS = 300
# A server of our own needs no rest.
_NO_PAUSES = ["--min-delay", "0", "--delay-factor", "0"]
_NO_PAUSES += ["--set", "ip_delay_seconds=0", "--set", "domain_delay_seconds=0", "--set", "report=false"]
_PAGES = (
    "SELECT url, outcome, title, coalesce(nullif(content, ''), text) FROM pages"
    " WHERE outcome IN ('stored', 'duplicate') ORDER BY fetched_at"
)


class TopicRow(msgspec.Struct, frozen=True):
    """One topic: how many of the first pages are on topic; copies of others are not."""

    topic: str
    on_topic: int  # in the whole web
    breadth: int
    focused: int
    pages: int  # that were fetched of it

    @property
    def gain(self) -> float:
        """How many times the harvest of breadth-first."""
        return self.focused / max(1, self.breadth)


class TopicResult(msgspec.Struct, frozen=True):
    """What came out on one web."""

    web: str
    pages: int
    rows: list[TopicRow]

    @property
    def gain(self) -> float:
        """Of all topics together."""
        return sum(row.focused for row in self.rows) / max(1, sum(row.breadth for row in self.rows))


def compare(web: TopicWeb, limit: int, folder: Path, say: Callable[[str], None]) -> TopicResult:
    """Crawl a web breadth first, and with each of its topics up to so many pages."""
    say(f"{web.name}: all of it, breadth first …")
    whole = _crawled(web, folder / "breadth", [])
    rows = []
    for number, (topic, is_on_topic) in enumerate(web.topics.items()):
        say(f"{topic} …")
        found = _crawled(web, folder / f"topic-{number}", ["--topic", topic, "--max-pages", str(limit)])
        every, first, focused = (_count(pages, is_on_topic) for pages in (whole, whole[:limit], found[:limit]))
        rows.append(TopicRow(topic, every, first, focused, min(limit, len(whole))))
    return TopicResult(web.name, len(whole), rows)


def _crawled(web: TopicWeb, folder: Path, options: Sequence[str]) -> list[FoundPage | None]:
    """The pages of a crawl in the order in which they were fetched; None for a copy."""
    command = [sys.executable, "-m", "lycosa.cli.main", "crawl", "--quiet", "--folder", str(folder), "--workers", "1"]
    done = subprocess.run(
        [*command, *_NO_PAUSES, *web.options, *options, *web.seeds],
        check=False,
        timeout=_CRAWL_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode not in (0, 3):
        raise LycosaError(f"the crawl in {folder} ended with exit code {done.returncode}")
    with connect(CrawlFolder(folder)) as connection:
        rows = connection.execute(_PAGES).fetchall()
    return [FoundPage(url, title, text) if outcome == "stored" else None for url, outcome, title, text in rows]


def _count(pages: Sequence[FoundPage | None], is_on_topic: Callable[[FoundPage], bool]) -> int:
    return sum(page is not None and is_on_topic(page) for page in pages)


def cells(result: TopicResult) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the table, in words."""
    columns = ["topic", "pages on topic", "fetched", "breadth-first", "topic", "gain"]
    rows = [
        [
            row.topic,
            f"{row.on_topic:,}",
            f"{row.pages:,}",
            f"{row.breadth:,} ({row.breadth / row.pages:.1%})",
            f"{row.focused:,} ({row.focused / row.pages:.1%})",
            f"{row.gain:.1f}",
        ]
        for row in result.rows
    ]
    return columns, [*rows, ["all", "", "", "", "", f"{result.gain:.1f}"]]


def markdown(result: TopicResult) -> str:
    """The table as Markdown."""
    return f"**{result.web}**, {result.pages:,} pages\n\n{table(*cells(result))}\n"
