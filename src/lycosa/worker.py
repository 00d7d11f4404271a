"""Many visits at once: takes leases, runs visits, keeps what they found, settles them in groups.

The order of a commit is the promise of the crawl: the WARC record and the journal row are on disk first,
then one atomic write of the frontier makes the visit count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from lycosa.clock import Clock
from lycosa.crawler import Visitor
from lycosa.discovery import Discovery
from lycosa.dispatch import Dispatch
from lycosa.errors import BackendLost
from lycosa.model import (
    Failure,
    Lease,
    Links,
    OutcomeKind,
    Page,
    Response,
    Settlement,
    Visit,
)
from lycosa.outcome import (
    NO_LINKS,
    Crashed,
    Deferred,
    Duplicate,
    Failed,
    Moved,
    Read,
    Refused,
    Settled,
    Stored,
    Unchanged,
    response_of,
    urls_found,
)
from lycosa.policy.retry import may_pass, retry_after_seconds
from lycosa.ports import Fetcher, Store
from lycosa.sitebook import Learnt, Sitebook
from lycosa.store.warc import base32

MAX_PREFETCHED = 10_000
# How long requests under way may take to end when the crawl is stopped.
STOP_SECONDS = 10.0
# How often, without a network, a lease is taken to see whether there is one again.
CUT_OFF_SECONDS = 3.0
# Trouble on the way may pass; what the server said wrong, it will say again.
_PASSING = frozenset({Failure.DNS, Failure.CONNECT, Failure.TIMEOUT, Failure.SLOW, Failure.RESET, Failure.STATUS})

_KINDS: dict[type[Settled], OutcomeKind] = {
    Stored: OutcomeKind.STORED,
    Duplicate: OutcomeKind.DUPLICATE,
    Unchanged: OutcomeKind.UNCHANGED,
    Moved: OutcomeKind.MOVED,
    Read: OutcomeKind.READ,
    Refused: OutcomeKind.REFUSED,
    Failed: OutcomeKind.FAILED,
    Crashed: OutcomeKind.CRASHED,
}


class Kept(NamedTuple):
    """A visit as it goes to the store."""

    visit: Visit
    response: Response | None
    page: Page | None
    links: Links


class Worker:
    """Runs visits until the crawl is over or `stop` is called. Holds nothing that must survive."""

    def __init__(
        self,
        dispatch: Dispatch,
        visitor: Visitor,
        sitebook: Sitebook,
        discovery: Discovery,
        fetcher: Fetcher,
        store: Store,
        connections: int,
        clock: Clock,
        on_kept: Callable[[Kept], None] | None = None,
    ) -> None:
        self._dispatch = dispatch
        self._visitor = visitor
        self._sitebook = sitebook
        self._discovery = discovery
        self._fetcher = fetcher
        self._store = store
        self._connections = connections
        self._clock = clock
        self._on_kept = on_kept
        self._visits: set[asyncio.Task[None]] = set()
        self._pending: list[tuple[Settlement, Kept | None]] = []
        self._unsettled = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_cut_off = False
        self._prefetched: set[str] = set()
        self._prefetches: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Visit until there is nothing left; everything begun is settled when this returns. Raises `BackendLost`."""
        try:
            async with asyncio.TaskGroup() as group:
                committer = group.create_task(self._commit_forever())
                while leases := await self._take():
                    for lease in leases:
                        self._unsettled += 1
                        visit = group.create_task(self._visit(lease))
                        self._visits.add(visit)
                        visit.add_done_callback(self._visits.discard)
                await self._finish()
                committer.cancel()
        except* BackendLost as errors:
            raise errors.exceptions[0] from None
        finally:
            for prefetch in self._prefetches:
                prefetch.cancel()

    async def _finish(self) -> None:
        """Let what is under way come to its end; what takes too long goes back to the frontier with its lease."""
        if self._visits:
            _, slow = await asyncio.wait(self._visits, timeout=STOP_SECONDS)
            for visit in slow:
                visit.cancel()
            self._unsettled -= len(slow)
        await self._wait_for_room(0)

    async def close(self) -> None:
        await self._fetcher.close()
        await self._store.close()

    async def _take(self) -> list[Lease]:
        if self._unsettled >= self._connections:
            await self._wait_for_room(self._connections - 1)
        await self._notice_network()
        if self._is_cut_off:
            await asyncio.sleep(CUT_OFF_SECONDS)
            return await self._dispatch.take(1)
        return await self._dispatch.take(self._connections - self._unsettled)

    async def _notice_network(self) -> None:
        if self._is_cut_off is not self._fetcher.is_cut_off:
            self._is_cut_off = self._fetcher.is_cut_off
            await self._dispatch.pause("no name server answers, nobody can be reached" if self._is_cut_off else "")

    async def _wait_for_room(self, at_most: int) -> None:
        while self._unsettled > at_most:
            self._room.clear()
            await self._room.wait()

    async def _visit(self, lease: Lease) -> None:
        outcome = await self._visitor.visit(lease)
        learnt = self._sitebook.learn(lease, outcome)
        if isinstance(outcome, Deferred):
            self._unsettled -= 1
            self._room.set()
            return
        kept = visit_row(lease, outcome, self._clock())
        self._store.put(*kept)
        settlement = settlement_of(lease, outcome, learnt)
        self._fetcher.hold(settlement.body_bytes)
        # Bodies and texts are with the store by now.
        self._pending.append((settlement, kept if self._on_kept else None))
        self._news.set()

    async def _commit_forever(self) -> None:
        """One group at a time: while one is synced and settled, the next gathers."""
        while True:
            await self._news.wait()
            self._news.clear()
            group, self._pending = self._pending, []
            # A refusal leaves a row and no record. A trap has a hundred thousand in a row, each of which would wait.
            if any(settlement.outcome is not OutcomeKind.REFUSED for settlement, _ in group):
                await self._store.sync()
            late = set(await self._dispatch.settle([settlement for settlement, _ in group]))
            for settlement, kept in group:
                if settlement.token not in late:
                    self._acknowledged(settlement, kept)
            self._fetcher.hold(-sum(settlement.body_bytes for settlement, _ in group))
            self._unsettled -= len(group)
            self._room.set()

    def _acknowledged(self, settlement: Settlement, kept: Kept | None) -> None:
        """The frontier has it: only now may the same links be left out of later settlements."""
        if settlement.discovered:
            self._discovery.remembered.add(target.fingerprint for target in settlement.discovered)
            self._prefetch({target.host for target in settlement.discovered})
        if self._on_kept and kept:
            self._on_kept(kept)

    def _prefetch(self, hosts: set[str]) -> None:
        hosts -= self._prefetched
        if hosts:
            if len(self._prefetched) > MAX_PREFETCHED:
                self._prefetched.clear()
            self._prefetched |= hosts
            task = asyncio.create_task(self._fetcher.prefetch(list(hosts)))
            self._prefetches.add(task)
            task.add_done_callback(self._prefetches.discard)


def settlement_of(lease: Lease, outcome: Settled, learnt: Learnt) -> Settlement:
    """The one place where an outcome becomes frontier state."""
    response = response_of(outcome)
    # Only of what was kept: a page must not count as unchanged since an error or a redirect.
    is_kept = isinstance(outcome, Stored | Duplicate | Unchanged)
    facts = Settlement(
        token=lease.token,
        outcome=_KINDS[type(outcome)],
        reason=_encodable(reason_of(outcome)),
        discovered=urls_found(outcome) + learnt.errands if learnt.errands else urls_found(outcome),
        started_at=response.started_at if response else 0.0,
        fetch_seconds=response.seconds if response else 0.0,
        status=response.status if response else 0,
        body_bytes=len(response.raw_body) if response else 0,
        address=response.address if response else "",
        etag=_validator(response, "etag") if is_kept else "",
        last_modified=_validator(response, "last-modified") if is_kept else "",
        retry_after_seconds=_retry_after(response),
        site=learnt.news,
        known=learnt.known,
        connect_seconds=response.connect_seconds if response else 0.0,
    )
    match outcome:
        case Stored():
            return msgspec.structs.replace(facts, digest=outcome.digest, group=outcome.placement.group)
        case Duplicate():
            return msgspec.structs.replace(
                facts, digest=outcome.digest, group=outcome.placement.group, original=outcome.original
            )
        case Unchanged():
            past = lease.validators
            assert past is not None
            return msgspec.structs.replace(
                facts,
                digest=past.digest,
                etag=facts.etag or past.etag,
                last_modified=facts.last_modified or past.last_modified,
            )
        case Moved() | Read():
            return msgspec.structs.replace(facts, robots=outcome.robots, sent=True)
        case Failed():
            is_ban = outcome.reason is Failure.BANNED
            retry = is_ban or (outcome.reason in _PASSING and may_pass(facts.status))
            return msgspec.structs.replace(facts, sent=outcome.sent, may_retry=retry, is_ban=is_ban)
        case Refused():
            return msgspec.structs.replace(facts, sent=False, robots=outcome.robots)
        case Crashed():
            return facts


def visit_row(lease: Lease, outcome: Settled, now: float) -> Kept:
    """The row that a visit leaves in the `pages` table, with what belongs to it."""
    target, response = lease.target, response_of(outcome)
    row = Visit(
        url=target.url,
        host=target.host,
        fetched_at=response.started_at if response else now,
        outcome=_KINDS[type(outcome)],
        depth=target.depth,
        referrer=target.referrer,
        priority=target.priority,
        error=reason_of(outcome),
    )
    if response:
        row = msgspec.structs.replace(
            row,
            status=response.status,
            media_type=response.header("content-type").partition(";")[0].strip().lower(),
            etag=response.header("etag"),
            last_modified=response.header("last-modified"),
            fetch_seconds=response.seconds,
            body_bytes=len(response.body) or len(response.raw_body),
            truncated=response.truncated,
        )
    if not isinstance(outcome, Stored | Duplicate):
        return Kept(row, response, None, NO_LINKS)
    page = outcome.page
    if page.noindex:
        # The site does not want this text found: it stays out of every table.
        page = msgspec.structs.replace(page, text="", content="", comments="", description="")
    gist = outcome.gist
    row = msgspec.structs.replace(
        row,
        charset=page.charset,
        language=gist.language,
        title=page.title,
        description=page.description,
        author=page.author,
        published=page.published,
        summary="" if page.noindex else gist.summary,
        digest=f"sha1:{base32(outcome.digest)}",
        text_digest=gist.text_digest.hex(),
        group_id=outcome.placement.group.hex(),
        original=outcome.original if isinstance(outcome, Duplicate) else "",
        out_links=len(outcome.links.targets),
        noindex=page.noindex,
        usage=outcome.usage,
    )
    return Kept(row, response, page, outcome.links)


def reason_of(outcome: Settled) -> str:
    """Why a visit gave no page, in a few words; empty if it gave one."""
    match outcome:
        case Refused():
            return f"{outcome.reason.value}: {outcome.detail}" if outcome.detail else outcome.reason.value
        case Failed():
            return f"{outcome.reason.value}: {outcome.detail}" if outcome.detail else outcome.reason.value
        case Crashed():
            return outcome.detail
        case Moved():
            return f"to {outcome.to}"
        case Read():
            return outcome.note
        case _:
            return ""


def _encodable(text: str) -> str:
    """The text without half surrogate pairs: what a library says of a page may have them, and no message can."""
    return text.encode("utf-8", "replace").decode()


def _validator(response: Response | None, name: str) -> str:
    value = response.header(name) if response else ""
    return value if len(value) <= 256 else ""


def _retry_after(response: Response | None) -> float:
    if response is None or response.status not in (429, 503):
        return 0.0
    return retry_after_seconds(response.header("retry-after"), response.started_at + response.seconds)
