"""The interfaces between the parts. An implementation is chosen in `wiring/` and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import msgspec

from lycosa.figures import Durations, FilterFigures
from lycosa.model import (
    History,
    Items,
    Lease,
    Links,
    Page,
    Placement,
    RequestParts,
    Response,
    Settlement,
    Target,
    Visit,
)
from lycosa.orders import Given


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where all known URLs are; every figure is kept, none is counted by scanning."""

    known: int = 0
    queued: int = 0
    leased: int = 0
    delayed: int = 0
    hosts: int = 0
    stored: int = 0
    unchanged: int = 0
    duplicate: int = 0
    moved: int = 0
    refused: int = 0
    failed: int = 0
    crashed: int = 0
    read: int = 0
    fetched_bytes: int = 0
    late: int = 0
    poisoned: int = 0  # records that could not be read, and were set aside
    dropped: int = 0  # targets for which the queues of their hosts had no room
    beyond: int = 0  # links that were not followed, since they lie deeper than max_depth
    aliases: int = 0  # of those known: further names of pages that were visited, never targets themselves
    moved_up: int = 0  # times that a URL that waited was queued once more, in a higher class
    passed_over: int = 0  # entries of queues that were copies of URLs visited from another place
    resting: int = 0  # visited, and to be visited again when they are due
    requisites: int = 0  # of those read: what kept pages need to be shown
    requisites_queued: int = 0  # of those queued
    on_topic: int = 0  # of the pages that were read, those that are relevant to the topic of the crawl

    @property
    def pages(self) -> int:
        """Visits that count towards `max_pages`."""
        return self.stored + self.unchanged + self.duplicate

    @property
    def harvest(self) -> float:
        """The share of the pages that were read which is on topic."""
        return self.on_topic / max(1, self.stored + self.duplicate)


class Frontier(Protocol):
    """Which target is visited next, by whom and when."""

    async def add(self, targets: Sequence[Target]) -> int:
        """Make targets known; those known already change nothing. Returns how many were new. Durable on return."""

    async def take(self, worker: int, limit: int) -> list[Lease]:
        """Leases of up to `limit` hosts of this worker that may be visited now. May be empty.

        Mostly one per host. Those of a host that come together, or while others of it are out, are a run: the worker
        visits one after the other, as long as nothing that happens gives the host reason to rest (`Lease.at_once`).
        """

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        """Record how visits ended, with what they discovered, as one atomic durable write.

        Returns the tokens of late settlements: their leases were gone, so they changed nothing.
        """

    async def may_ask_at(self, token: int, address: str) -> bool:
        """The host of a lease is at this address: whether its request may go there now.

        If not, the lease is given back as if it had not been, and comes again when the address is free.
        """

    async def give_back(self, tokens: Sequence[int]) -> None:
        """End leases under which nothing was sent: as if they had not been."""

    async def is_finished(self) -> bool:
        """Nothing is queued, leased or delayed, or the page limit is reached and no lease is out."""

    async def robots(self, origin: str) -> bytes:
        """The robots record in force for an origin, as the visit that read it encoded it; empty if none."""

    async def site(self, domain: str) -> bytes:
        """The newest notes on a registered domain, as the visit that took them encoded them; empty if none."""

    async def release(self, worker: int) -> int:
        """Give back the leases of a worker that is gone. Returns how many."""

    def counts(self) -> Counts:
        """Where all known URLs are."""

    def next_at(self, worker: int) -> float | None:
        """When `take` may next give this worker something without further news; None if only news can."""

    async def history(self, url_fingerprint: bytes) -> History | None:
        """What is known of a visited URL."""

    async def close(self) -> None:
        """Write what is pending and let go."""


class Fetcher(Protocol):
    """One HTTP exchange. Redirects are answers like any other. Raises `VisitError`, or `NoNetwork`: then no host is
    to blame, and nothing was sent.
    """

    @property
    def is_cut_off(self) -> bool:
        """Nobody could be reached when this was last tried."""

    def is_still_at(self, host: str, address: str) -> bool:
        """Whether a host is known, without asking, to be at this address."""

    async def address_of(self, host: str, usual: str) -> str:
        """Where a host is to be asked: at its usual address while its name still leads there. Raises `VisitError`."""

    def look_again(self, host: str) -> None:
        """A name that led nowhere is asked for anew, however lately it was."""

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """Ask at this address first; without one, wherever the name leads."""

    def hold(self, size_bytes: int) -> None:
        """So many bytes, of bodies and of what was found in them, wait for the disk and the frontier, or no longer."""

    async def prefetch(self, hosts: Sequence[str]) -> None:
        """Resolve names that will be needed soon. Never raises."""

    async def close(self) -> None: ...


class Duplicates(Protocol):
    """Has this content been kept before?"""

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        """The URL under which this content was stored first, or an empty string: then this visit holds the claim.

        A claim ends when the visit's lease is settled or released; whoever asks meanwhile waits.
        """

    async def group_of(self, signature: bytes) -> Placement:
        """The group of texts that a text belongs to, by its signature: a new one if it is like none met before."""


class CrawlFrontier(Frontier, Duplicates, Protocol):
    """A frontier that also knows what has been stored."""

    def idle_until(self) -> float | None: ...

    @property
    def changes_found(self) -> int:
        """How many changes it had seen when it was opened; 0 if that is not counted."""

    async def durable_changes(self) -> int:
        """How many changes it has seen that are durable; 0 if that is not counted."""

    async def readmit(self, which: Callable[[History], bool] = ..., *, is_lost: bool = False) -> int:
        """Queue visited URLs once more: for a revisit, or what is chosen. What got lost does not count as visited."""

    async def readmit_lost(self, fingerprints: Sequence[bytes]) -> int:
        """Queue URLs once more of whose visits nothing was kept. Returns how many could be."""

    @property
    def durations(self) -> dict[str, Durations]:
        """How long its own work took: syncs of its disk, or round trips to its server."""

    def filter_figures(self) -> FilterFigures | None:
        """How good its filter of known URLs is; None if it has none."""

    async def obey(self, given: Given, targets: Sequence[Target] = ...) -> str:
        """Carry out an order, once; of `AddSeeds` the targets come with it. Returns what came of it."""

    @property
    def paused(self) -> str:
        """Why an operator wants nothing begun; empty if nobody does."""

    def crawl_key(self) -> bytes: ...

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when something may have become available, perhaps before whoever asked for it has an answer."""

    def give_up(self) -> None:
        """Wait no longer for a backend that does not answer."""


class Dispatcher(Protocol):
    """What a worker needs of the rest of the crawl."""

    async def take(self, limit: int) -> list[Lease]:
        """Leases of at least one host and at most `limit`, waiting if need be; none when the crawl is over."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]: ...

    async def may_ask_at(self, token: int, address: str) -> bool:
        """Whether the request of this lease may go to this address now; if not, the lease is gone."""

    async def give_back(self, tokens: Sequence[int]) -> None:
        """Nothing was sent under these leases, and nothing will be."""

    async def pause(self, reason: str) -> None:
        """Tell the operator why nothing is sent at present; without a reason, that it goes on."""

    async def robots(self, origin: str) -> bytes: ...

    async def site(self, domain: str) -> bytes: ...

    async def recognise(
        self, digest: bytes, url: str, token: int, signature: bytes, *, is_urgent: bool = True
    ) -> tuple[str, Placement]:
        """The URL that has this content already, or an empty string; and the group of its text."""


class Watchdog(Protocol):
    """`with watchdog(token, size):` stands around whatever reads a page."""

    def __call__(self, token: int, body_bytes: int) -> Self: ...

    def __enter__(self) -> object: ...

    def __exit__(self, *_: object) -> None: ...


class NoWatchdog:
    """Nobody is told and nothing is limited: a program that crawls in its own process is not ours to kill."""

    def __call__(self, token: int, body_bytes: int) -> Self:
        return self

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return


class Store(Protocol):
    """Keeps visits. What `put` took is on disk once `sync` returned."""

    def put(
        self,
        visit: Visit,
        response: Response | None,
        page: Page | None,
        links: Links,
        items: Items = (),
        *,
        fingerprint: bytes = b"",
        number: int = 0,
    ) -> None:
        """Buffer a visit. `fingerprint` is of its target, and `number` tells its visits apart: the first is 1."""

    async def sync(self, *, is_power_safe: bool = True) -> None:
        """Rows without records need not outlive the machine's power, only this process."""

    async def close(self) -> None: ...
