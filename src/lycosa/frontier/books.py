"""A frontier's tables as readers see them, wherever they are kept. Reading disturbs no crawl that writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from lycosa.frontier.tables import HostRecord
from lycosa.model import History, Target
from lycosa.ports import Counts


class Lines(NamedTuple):
    """How many hosts wait for their turn, how many rest for long, and when the first retry and host are due."""

    waiting_hosts: int
    parked_hosts: int
    next_retry_at: float  # 0: none
    next_host_at: float


class Sum(NamedTuple):
    """A counter, and what the table it counts adds up to."""

    name: str
    says: int
    found: int


class Books(Protocol):
    """What `status`, `why`, `query` and `audit` ask of a frontier."""

    @property
    def is_exact(self) -> bool:
        """Whether every known URL is in a table, or only in a filter."""

    def crawl_key(self) -> bytes:
        """The secret of the crawl's fingerprints; empty if the crawl has not begun."""

    def counts(self) -> Counts: ...

    def host(self, name: str) -> HostRecord | None: ...

    def hosts(self) -> Iterator[HostRecord]: ...

    def queue(self, host: HostRecord) -> Iterator[Target]:
        """What is queued for a host, in the order in which it will be visited."""

    def queued(self) -> Iterator[Target]:
        """What is queued for any host."""

    def retries(self) -> Iterator[tuple[float, Target]]:
        """What waits to be queued again, with the moment it is due; the first due first."""

    def history(self, host: str, fingerprint: bytes) -> History | None: ...

    def histories(self) -> Iterator[History]: ...

    def is_known(self, host: str, fingerprint: bytes) -> bool: ...

    def robots(self, origin: str) -> bytes:
        """The robots record in force; empty if there is none."""

    def site(self, domain: str) -> bytes:
        """The notes on a registered domain; empty if there are none."""

    def lines(self) -> Lines: ...

    def sums(self) -> list[Sum]:
        """Every counter that a table can be counted for."""

    def stranded(self) -> Iterator[HostRecord]:
        """Hosts with something queued that neither wait for their turn nor rest until a time."""

    def close(self) -> None: ...
