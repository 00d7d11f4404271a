"""Putting a crawl's folder in order beside the crawl, and saying what is missing in it.

Before the first lease it is fixed what there is to do; that takes moments. Then pages whose text no part has are read
again on a thread, at half its speed while the crawl goes on, and the counters are compared with the tables. Whatever
turns out to be lost is queued again; what cannot be is told.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lycosa.crawl.widening import Follow, Widening
from lycosa.errors import BackendLost
from lycosa.model import History
from lycosa.ports import Counts, CrawlFrontier
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.journal import is_done, name_of, read_rows
from lycosa.store.logbook import Incident, RowsMissing, note
from lycosa.store.parts import DAMAGED, DamagedPart, check_parts
from lycosa.store.recover import (
    Leftovers,
    Parse,
    Recovery,
    RecoveryStopped,
    leftovers,
    note_uncounted,
    recover,
)
from lycosa.store.shortfall import ROWLESS, SLACK_SECONDS, LostRecord, NewestRows, lost_records, missing_rows, parts_of

T = TypeVar("T")
# How often it is noted, outside of the frontier, how far the frontier has come.
WATERMARK_SECONDS = 2.0
_WATERMARK_BYTES = 20
# Reading pages again begins this much later: the processor is the crawl's until its first requests are out.
HEAD_START_SECONDS = 3.0
MAX_NAMED = 3


class Mending:
    """What earlier runs and dead workers left, from `begin` to `close`.

    `say` tells the operator. Raises `BackendLost`, if need be only in `finish`.
    """

    def __init__(
        self,
        folder: CrawlFolder,
        settings: Settings,
        frontier: CrawlFrontier,
        parse: Callable[[], Parse],
        say: Callable[[str], None],
        now: float,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._frontier = frontier
        self._parse = parse
        self._say = say
        self._began_at = now
        # Only this frontier has all visits of the folder, and no others.
        self._is_alone = settings.frontier == "rocks"
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mending")
        self._tasks: list[asyncio.Task[None]] = []
        self._taken: set[Path] = set()  # what a task will put in order
        self._watermark: asyncio.Task[None] | None = None
        self._is_hurried = threading.Event()
        self._is_stopped = threading.Event()
        self._rested_at = time.monotonic()
        self.recovery = Recovery()
        self.queued = 0  # URLs that were queued again, since nothing was kept of their visits
        self.missing = 0  # rows that are gone for good

    async def begin(self) -> None:
        """Fix what there is to do. No lease may be out."""
        self._look_at_watermark()
        self._watermark = asyncio.create_task(self._keep_watermark())
        damaged = await asyncio.to_thread(check_parts, self._folder)
        if damaged:
            self._tell(_damage(damaged))
        found, waiting = await self._leftovers(None)
        counts, parts = self._frontier.counts(), parts_of(self._folder)
        if found.journals:
            self._say(
                f"an earlier run did not end by itself: {waiting.total():,} rows of it are brought into the tables "
                "beside the crawl"
            )
        self._take(found)
        if self._is_alone:
            self._spawn(self._look_for_losses(counts, parts, waiting))
        elif damaged:
            self.missing += sum(max(part.rows, 1) for part in damaged)

    async def recover(self, worker: int) -> None:
        """Put in order what a worker left that is gone; another may take its place as soon as this returns."""
        found, _ = await self._leftovers(worker)
        self._take(found)

    def widen(self, widening: Widening, follow: Callable[[], Follow], done: Callable[[int], None]) -> None:
        """Take in what a crawl left out by the settings that it had, after all else is in order."""
        self._spawn(self._widen(widening, follow, done))

    async def finish(self) -> int:
        """Return when all is in order, with how many URLs were queued again since this was last asked."""
        self._is_hurried.set()
        while self._tasks:
            with suppress(RecoveryStopped):
                await self._tasks[0]
            self._tasks.pop(0)
        queued, self.queued = self.queued, 0
        return queued

    def stop(self) -> None:
        """Leave for the next start what is not done yet."""
        self._is_stopped.set()
        self._is_hurried.set()

    async def close(self) -> None:
        """End what is under way. The frontier is open still."""
        self.stop()
        for task in (*self._tasks, *([self._watermark] if self._watermark else [])):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown()
        if self._watermark:
            with suppress(OSError, BackendLost):
                self._write_watermark(await self._frontier.durable_changes())

    # ---- what was left behind

    async def _leftovers(self, worker: int | None) -> tuple[Leftovers, Counter[str]]:
        """What there is to put in order; and how many rows of each outcome will come of it."""
        found = leftovers(self._folder, worker).without(self._taken)
        uncounted: dict[Path, list[int]] = {}
        waiting: Counter[str] = Counter()
        for journal in found.journals:
            if is_done(self._folder, journal):
                continue
            before = set(found.uncounted.get(name_of(journal), ()))
            uncounted[journal] = []
            for number, row in enumerate(read_rows(journal)):
                if number in before:
                    continue
                if self._is_alone and row.fingerprint:
                    past = await self._frontier.history(row.fingerprint)
                    if past is None or past.visits < row.number:
                        uncounted[journal].append(number)
                        continue
                waiting[row.visit.outcome.name.lower()] += 1
        return note_uncounted(self._folder, found, uncounted), waiting

    def _take(self, found: Leftovers) -> None:
        if found:
            self._taken |= found.files
            self._spawn(self._mend(found))

    async def _mend(self, found: Leftovers) -> None:
        recovery = await self._in_thread(lambda: self._recover(found))
        self._taken -= found.files
        self.recovery = self.recovery.and_then(recovery)
        if recovery.dropped:
            queued = await self._frontier.readmit_lost(recovery.lost)
            self.queued += queued
            # Of a robots.txt nothing is missing: it is asked for again in time.
            self.missing += len(recovery.lost) - queued
            self._tell(
                f"{recovery.dropped:,} rows of an earlier run had lost their WARC records and are not in the tables: "
                f"{queued:,} URLs are queued again"
            )

    def _recover(self, found: Leftovers) -> Recovery:
        self._is_hurried.wait(HEAD_START_SECONDS)
        self._rested_at = time.monotonic()
        return recover(self._folder, self._settings, self._parse(), found=found, rest=self._rest)

    def _rest(self) -> None:
        """Between two pages: give the crawl as much time as the last one took."""
        if self._is_stopped.is_set():
            raise RecoveryStopped
        if not self._is_hurried.is_set():
            self._is_hurried.wait(time.monotonic() - self._rested_at)
        self._rested_at = time.monotonic()

    # ---- what was left out

    async def _widen(self, widening: Widening, follow: Callable[[], Follow], done: Callable[[int], None]) -> None:
        found = await self._in_thread(lambda: widening.targets(follow(), self._rest))
        taken_in = 0
        while targets := await self._in_thread(lambda: next(found, None)):
            taken_in += await self._frontier.add(targets)
        taken_in += await self._frontier.readmit(widening.is_asked_again)
        self.queued += taken_in
        done(taken_in)

    # ---- what is missing

    async def _look_for_losses(self, counts: Counts, parts: list[Path], waiting: Counter[str]) -> None:
        await self._compare(counts, parts, waiting)
        if self._settings.replace_lost_records and not self._folder.away:
            await self._look_at_records(parts)

    async def _look_at_records(self, parts: list[Path]) -> None:
        """Closed WARC files against the rows that name their records."""
        files, rows = await self._in_thread(lambda: lost_records(self._folder, parts))
        if not files:
            return
        last = {(row.url, row.outcome): row for row in sorted(rows, key=lambda row: row.fetched_at)}

        def has_lost_its_record(past: History) -> bool:
            row: LostRecord | None = last.get((past.url, past.outcome.name.lower()))
            # A later visit has a record of its own.
            earliest = past.visited_at - self._settings.lease_seconds - SLACK_SECONDS
            return row is not None and past.visited_at < self._began_at and earliest <= row.fetched_at

        queued = await self._frontier.readmit(has_lost_its_record, is_lost=True)
        self.queued += queued
        note(self._folder, *files)
        names = ", ".join(each.file for each in files[:MAX_NAMED]) + (", …" if len(files) > MAX_NAMED else "")
        subject = "1 WARC file is" if len(files) == 1 else f"{len(files):,} WARC files are"
        self._tell(
            f"{subject} gone or cut ({names}), with the records of {len(rows):,} rows: {queued:,} URLs are queued again"
            " (--set replace_lost_records=false, where files were moved away on purpose)"
        )

    async def _compare(self, counts: Counts, parts: list[Path], waiting: Counter[str]) -> None:
        """Counters against tables, as both were before the first lease."""
        missing = await self._in_thread(lambda: missing_rows(self._folder, counts, parts, waiting))
        if not missing:
            return
        newest = await self._in_thread(lambda: NewestRows(parts_of(self._folder)))
        found: Counter[str] = Counter()

        def has_no_row(past: History) -> bool:
            is_earlier = past.visited_at < self._began_at and past.outcome is not ROWLESS
            is_gone = is_earlier and not newest.has(past, self._settings.lease_seconds)
            # One that is due again was found before.
            found[past.outcome.name.lower()] += is_gone and not past.next_at
            return is_gone

        queued = await self._frontier.readmit(has_no_row, is_lost=True)
        self.queued += queued
        left = {kind: rest for kind, number in missing.items() if (rest := number - found[kind]) > 0}
        self.missing += sum(number for kind, number in left.items() if kind != "read")
        if left:
            note(self._folder, RowsMissing(self._began_at, left))
        self._tell(_shortfall(missing.total(), queued, left))

    # ---- how far the frontier had come

    @property
    def _watermark_file(self) -> Path:
        return self._folder.home / "watermark"

    def _look_at_watermark(self) -> None:
        try:
            noted = int(self._watermark_file.read_bytes() or b"0")
        except (FileNotFoundError, ValueError):
            return
        if self._is_alone and 0 <= (found := self._frontier.changes_found) < noted:
            self._tell(
                f"the frontier was rolled back: the last {noted - found:,} of its {noted:,} changes are gone (its log "
                "is damaged, or it is an older copy); what was found since then is looked for once more"
            )

    async def _keep_watermark(self) -> None:
        last = 0
        while True:
            # Whoever needs the frontier, or the disk, says it when they fail.
            with suppress(OSError, BackendLost):
                if (changes := await self._frontier.durable_changes()) != last:
                    await asyncio.to_thread(self._write_watermark, changes)
                    last = changes
            await asyncio.sleep(WATERMARK_SECONDS)

    def _write_watermark(self, changes: int) -> None:
        if not changes:
            return
        fd = os.open(self._watermark_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # In place, and always as long: there need not be room for it.
            os.pwrite(fd, str(changes).encode().rjust(_WATERMARK_BYTES), 0)
            os.fdatasync(fd)
        finally:
            os.close(fd)

    # ---- small things

    def _tell(self, sentence: str) -> None:
        """Say it, and let `status` say it later."""
        self._say(sentence)
        with suppress(OSError):
            note(self._folder, Incident(time.time(), sentence))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _damage(damaged: list[DamagedPart]) -> str:
    names = ", ".join(part.name for part in damaged[:MAX_NAMED]) + (", …" if len(damaged) > MAX_NAMED else "")
    gone = sum(part.is_gone for part in damaged)
    rows = sum(part.rows for part in damaged if part.rows > 0)
    known = f"with {rows:,} rows" if rows else "with nobody knows how many rows"
    aside = f", the damaged ones set aside in pages/{DAMAGED}" if gone < len(damaged) else ""
    subject = "1 part of the tables is" if len(damaged) == 1 else f"{len(damaged):,} parts of the tables are"
    return f"{subject} damaged or gone ({names}), {known}{aside}"


def _shortfall(missing: int, queued: int, left: dict[str, int]) -> str:
    sentence = f"{missing:,} rows of earlier visits are not in the tables: {queued:,} URLs are queued again"
    if not left:
        return sentence
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in left.items())
    return f"{sentence}; of {sum(left.values()):,} rows ({kinds}) it is not known which they were"
