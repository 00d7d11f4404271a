"""What a person or a program sees while a crawl runs, and the summary at its end."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from lycosa.crawl.session import Ending, Session
from lycosa.errors import LycosaError
from lycosa.inspect.freshness import CollectionFreshness
from lycosa.inspect.left_out import LeftOut, unseen_share
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.seeds import MissedSeed
from lycosa.inspect.wording import visible
from lycosa.observe.tally import Tally
from lycosa.ports import Counts
from lycosa.site_rules import ignores_robots

# Imported where somebody looks at a terminal.
if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live

    from lycosa.inspect.changes import Kind

Style = Literal["human", "json", "quiet"]
_SECONDS_BETWEEN = {"human": 0.25, "json": 1.0, "quiet": 3600.0}
MAX_SHOWN = 5
# How often it is estimated how fresh the collection is.
FRESHNESS_SECONDS = 30.0


class Progress:
    """Shows a crawl while it runs; leaves the screen as it found it."""

    def __init__(self, session: Session, tally: Tally, style: Style) -> None:
        self._session = session
        self._tally = tally
        self._style: Style = style
        self._live: Live | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._freshness: CollectionFreshness | None = None

    async def __aenter__(self) -> Progress:
        if self._style == "human":
            self._live = _live_picture()
        self._tasks = [asyncio.create_task(self._show_while_seen())]
        if self._session.settings.continuous and self._style != "quiet":
            self._tasks.append(asyncio.create_task(self._estimate_forever()))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        if self._live:
            with suppress(OSError):  # the terminal may be gone
                self._live.stop()

    async def _show_while_seen(self) -> None:
        # Whoever looked may have closed the terminal: the crawl goes on.
        with suppress(OSError):
            await self._show_forever()

    async def _estimate_forever(self) -> None:
        """How fresh the collection is, now and then: it takes a look at some thousand pages."""
        from lycosa.inspect.freshness import freshness_of_folder

        while True:
            await asyncio.sleep(FRESHNESS_SECONDS)
            # Others tell it if nothing can be read any more.
            with suppress(LycosaError, OSError):
                self._freshness = await asyncio.to_thread(freshness_of_folder, self._session.folder, time.time())

    async def _show_forever(self) -> None:
        # Into a file or a pipe: a line now and then, not a picture four times a second.
        pause = 10.0 if self._style == "human" and self._live is None else _SECONDS_BETWEEN[self._style]
        while True:
            await asyncio.sleep(pause)
            counts, rate = self._session.counts(), self._tally.rate()
            if self._live:
                self._live.update(self._picture(counts, rate), refresh=True)
            elif self._style == "json":
                line = _line(self._session, self._tally, counts, rate)
                if self._freshness:
                    line["freshness"] = msgspec.structs.asdict(self._freshness)
                print(json.dumps(line), file=sys.stderr, flush=True)
            elif self._style == "human":
                paused = f"paused: {self._session.paused}; " if self._session.paused else ""
                fresh = f"; {self._freshness.in_words()}" if self._freshness else ""
                harvest = _harvest(self._session, self._tally, counts)
                print(paused + _sentence(counts, rate) + harvest + fresh, file=sys.stderr, flush=True)

    def _picture(self, counts: Counts, rate: float) -> Group:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 3))
        table.add_row(
            f"[bold]{counts.pages:,}[/] pages",
            f"[bold]{rate:,.1f}[/] pages/s",
            f"{counts.fetched_bytes / 1e6:,.1f} MB",
            f"{counts.hosts:,} hosts",
            _duration(self._tally.seconds()),
        )
        table.add_row(
            f"{counts.queued:,} queued",
            f"{counts.leased:,} under way",
            f"{counts.resting:,} rest" if counts.resting else f"{counts.delayed:,} to retry",
            f"{counts.refused:,} refused",
            f"[red]{counts.failed + counts.crashed:,} failed[/]" if counts.failed + counts.crashed else "0 failed",
        )
        if self._session.settings.order == "topic":
            table.add_row(
                f"[bold]{counts.on_topic:,}[/] on topic",
                f"{counts.harvest:.0%} of pages",
                f"{self._tally.harvest():.0%} lately",
            )
        total = self._session.settings.max_pages or counts.pages + counts.queued + counts.delayed or 1
        bar = Table.grid()  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=total, completed=min(counts.pages, total), width=72))
        fresh = [Text(self._freshness.in_words(), style="dim")] if self._freshness else []
        return Group(table, bar, *fresh, Text(self._state(counts, rate, total), style="dim"))

    def _state(self, counts: Counts, rate: float, total: int) -> str:
        if self._session.paused:
            return f"paused: {self._session.paused}"
        if (due := self._session.waits_until()) is not None:
            return f"waiting: only retries are left, the next in {_duration(max(0.0, due - time.time()))}"
        left = f", about {_duration((total - counts.pages) / rate)} left of what is known" if rate > 0 else ""
        if self._session.settings.continuous:
            left = ", goes on until stopped"
        return f"{self._session.workers} workers{left} · Ctrl-C stops cleanly"


class OriginWaiting(msgspec.Struct, frozen=True):
    """An origin in trouble: its targets are set aside until its robots.txt can be read."""

    origin: str
    reason: str
    detail: str
    next_try_at: float


class Times(msgspec.Struct, frozen=True):
    """How often visits gave nothing for one reason. The detail of `status` is which, that of others is left out."""

    reason: str
    detail: str
    times: int


class CrawlSummary(msgspec.Struct, frozen=True):
    """A crawl at its end, in figures."""

    ending: str
    pages: int
    stored: int
    duplicate: int
    unchanged: int
    moved: int
    refused: int
    failed: int
    crashed: int
    queued: int
    delayed: int
    dropped: int
    hosts: int
    known: int
    fetched_bytes: int
    seconds: float
    pages_per_second: float
    worker_restarts: int
    folder: str
    reasons: list[Times]  # the most frequent first
    troubled: list[OriginWaiting]
    recovered_rows: int
    missed_seeds: list[MissedSeed] = []
    left_out: list[LeftOut] = []
    missed_share: float = 0.0  # of what was found: left out, and it may be worth something
    left_out_share: float = 0.0  # more than this is too much
    has_report: bool = True
    beyond: int = 0  # links that lie deeper than max_depth
    requisites: int = 0  # files that pages need to be shown, where those are fetched
    requisites_queued: int = 0
    robots_ignored: list[str] = []  # hosts whose robots.txt was not obeyed
    began_at: float = 0.0
    changes: dict[str, int] = {}  # of a run that visits pages again: how many were new, changed, unchanged, vanished
    freshness: CollectionFreshness | None = None  # of such a collection now
    on_topic: int = 0
    harvest: float | None = None  # the share of the pages that is on topic; None without a topic

    def show(self) -> None:
        from rich.console import Console

        console = Console(highlight=False)
        colour = {"finished": "green"}.get(self.ending, "yellow")
        console.print(
            f"[bold {colour}]{self.ending.upper()}[/]  {self.pages:,} pages from {self.hosts:,} hosts "
            f"in {_duration(self.seconds)} ({self.pages_per_second:,.1f} pages/s this run)"
        )
        console.print(
            f"  stored {self.stored:,} · duplicate {self.duplicate:,} · unchanged {self.unchanged:,} · "
            f"moved {self.moved:,} · refused {self.refused:,} · failed {self.failed:,} · crashed {self.crashed:,}",
            soft_wrap=True,
        )
        if self.requisites or self.requisites_queued:
            left = f", {self.requisites_queued:,} more are queued" if self.requisites_queued else ""
            console.print(f"  and {self.requisites:,} files that these pages need to be shown{left}")
        self._show_changes(console)
        if self.harvest is not None:
            console.print(f"  on topic {self.on_topic:,}, {self.harvest:.1%} of the pages that were read")
        if self.reasons:
            console.print("  why visits of this run gave nothing, each try counted:")
        for each in self.reasons[:MAX_SHOWN]:
            console.print(f"  {each.times:>7,} x {sentence_of(each.reason, each.detail)}", markup=False)
        if self.robots_ignored:
            console.print(f"  [bold red]robots.txt was not obeyed[/] on {', '.join(self.robots_ignored)}")
        self._show_missed_seeds(console)
        self._show_left_out(console)
        if self.queued or self.delayed:
            console.print(
                f"  {self.queued:,} URLs are queued and {self.delayed:,} wait for a retry: the same command goes on"
            )
        self._show_troubled(console)
        if self.dropped:
            console.print(f"  {self.dropped:,} times a URL was dropped, since the queue of its host was full")
        if self.recovered_rows:
            console.print(f"  {self.recovered_rows:,} rows of an earlier run were recovered")
        report = " report.html" if self.has_report else ""
        console.print(f"  in [bold]{self.folder}[/]: warc/ pages/ links/{report}", soft_wrap=True)

    def _show_changes(self, console: Console) -> None:
        if self.changes:
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began_at))
            told = " · ".join(f"{kind} {number:,}" for kind, number in self.changes.items())
            console.print(f"  this run: {told}")
            console.print(f"    `lycosa changes --since {since} --folder {self.folder}` lists them", soft_wrap=True)
        if self.freshness:
            console.print(f"  {self.freshness.in_words()}", soft_wrap=True)

    def _show_missed_seeds(self, console: Console) -> None:
        if self.missed_seeds:
            console.print(f"  [bold red]{len(self.missed_seeds):,} of the seeds gave no page[/]:")
        for each in self.missed_seeds[:MAX_SHOWN]:
            console.print(f"    {visible(each.sentence())}", markup=False, soft_wrap=True)
        if (more := len(self.missed_seeds) - MAX_SHOWN) > 0:
            console.print(f"    and {more:,} more: `lycosa query` finds them in pages, where depth = 0")

    def _show_left_out(self, console: Console) -> None:
        if self.beyond:
            console.print(f"  {self.beyond:,} links lead deeper than max_depth: `--max-depth` takes them in")
        if not self.left_out:
            return
        console.print(f"  [bold]left out by rule[/], {sum(each.urls for each in self.left_out):,} URLs in all:")
        for each in self.left_out[:MAX_SHOWN]:
            line = f"  {each.urls:>7,} x {each.host}: {sentence_of(each.reason, '')}"
            console.print(visible(line), markup=False, soft_wrap=True)
        if (more := len(self.left_out) - MAX_SHOWN) > 0:
            console.print(f"          and {more:,} more hosts and rules")
        limit = f"left_out_share = {self.left_out_share:.1%}"
        is_too_much = self.missed_share > self.left_out_share
        told = f"more than {limit}: exit code 3" if is_too_much else f"within {limit}"
        console.print(f"    what may be missed of that is {self.missed_share:.1%} of all that was found, {told}")
        host = self.left_out[0].host
        console.print(
            f"    `lycosa why --left-out {host} --folder {self.folder}` lists them; `--set patience=N`, greater than "
            "now, takes more of them in, `--set traps=false` all",
            markup=False,
            soft_wrap=True,
        )

    def _show_troubled(self, console: Console) -> None:
        if self.troubled:
            console.print("  set aside until their robots.txt can be read:")
        for each in self.troubled[:MAX_SHOWN]:
            moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(each.next_try_at))
            why = sentence_of(each.reason, each.detail)
            line = f"    {each.origin}: {why}, to be tried again at {moment}"
            console.print(line, markup=False, soft_wrap=True)
        if (more := len(self.troubled) - MAX_SHOWN) > 0:
            console.print(f"    and {more:,} more: `lycosa status` lists them")


def summary(
    session: Session,
    tally: Tally,
    place: object,
    ending: Ending,
    missed: Sequence[MissedSeed] = (),
    left_out: Sequence[LeftOut] = (),
    changes: Mapping[Kind, int] | None = None,
    freshness: CollectionFreshness | None = None,
) -> CrawlSummary:
    """The figures at the end of a crawl."""
    counts = session.counts()
    seconds = tally.seconds()
    names = [
        "stored",
        "duplicate",
        "unchanged",
        "moved",
        "refused",
        "failed",
        "crashed",
        "queued",
        "delayed",
        "dropped",
        "hosts",
        "known",
        "fetched_bytes",
        "beyond",
        "requisites",
        "requisites_queued",
        "on_topic",
    ]
    return CrawlSummary(
        ending=ending.value,
        pages=counts.pages,
        seconds=seconds,
        pages_per_second=tally.pages / seconds if seconds else 0.0,
        worker_restarts=session.restarts,
        folder=str(place),
        reasons=[Times(reason.code, reason.detail, times) for reason, times in tally.reasons.most_common(20)],
        troubled=[
            OriginWaiting(origin, trouble.reason.code, trouble.reason.detail, trouble.next_try_at)
            for origin, trouble in tally.troubled.items()
        ],
        recovered_rows=session.recovery.rows,
        missed_seeds=list(missed),
        left_out=list(left_out),
        missed_share=unseen_share(left_out, counts.pages),
        left_out_share=session.settings.left_out_share,
        has_report=session.settings.report,
        harvest=counts.harvest if session.settings.order == "topic" else None,
        robots_ignored=sorted(ignores_robots(session.settings.site)),
        began_at=tally.started_at,
        changes={str(kind): number for kind, number in (changes or {}).items()},
        freshness=freshness,
        **{name: getattr(counts, name) for name in names},
    )


def _live_picture() -> Live | None:
    """A part of the terminal that can be drawn again and again; None if nobody looks at one."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    live = Live(console=console, auto_refresh=False, transient=True)
    live.start()
    return live


def _harvest(session: Session, tally: Tally, counts: Counts) -> str:
    if session.settings.order != "topic":
        return ""
    return f", {counts.on_topic:,} on topic ({counts.harvest:.0%}; {tally.harvest():.0%} lately)"


def _line(session: Session, tally: Tally, counts: Counts, rate: float) -> dict[str, object]:
    line: dict[str, object] = {"at": time.time(), "pages_per_second": round(rate, 2), **msgspec.structs.asdict(counts)}
    if session.settings.order == "topic":
        line |= {"harvest": round(counts.harvest, 4), "harvest_lately": round(tally.harvest(), 4)}
    return {**line, "paused": session.paused} if session.paused else line


def _sentence(counts: Counts, rate: float) -> str:
    return (
        f"{counts.pages:,} pages, {rate:,.1f} pages/s, {counts.queued:,} queued, {counts.leased:,} under way, "
        f"{counts.delayed:,} to retry, {counts.failed + counts.crashed:,} failed, {counts.hosts:,} hosts"
    )


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
