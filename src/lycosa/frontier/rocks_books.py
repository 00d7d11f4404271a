"""The books of a frontier in RocksDB: its tables, opened beside the crawl that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lycosa.frontier.books import Lines, Sum
from lycosa.frontier.poison import readable_history
from lycosa.frontier.tables import HostRecord, Tables, due_of, first_due, readable_target, site_notes
from lycosa.model import History, Target
from lycosa.ports import Counts


class RocksBooks:
    """Implements `Books`."""

    def __init__(self, folder: Path) -> None:
        self.tables = Tables(folder, read_only=True)

    @property
    def is_exact(self) -> bool:
        return bool((self.tables.meta.get(b"seen") or b"exact") == b"exact")

    def crawl_key(self) -> bytes:
        return self.tables.meta.get(b"key") or b""

    def counts(self) -> Counts:
        return self.tables.counts()

    def host(self, name: str) -> HostRecord | None:
        return self.tables.host(name)

    def hosts(self) -> Iterator[HostRecord]:
        return self.tables.host_records()

    def queue(self, host: HostRecord) -> Iterator[Target]:
        prefix = host.number.to_bytes(4)
        for key, raw in self.tables.queue.items(from_key=prefix + host.cursor) if host.queued else ():
            if not key.startswith(prefix):
                return
            if target := readable_target(raw):
                yield target

    def queued(self) -> Iterator[Target]:
        return (target for raw in self.tables.queue.values() if (target := readable_target(raw)))

    def retries(self) -> Iterator[tuple[float, Target]]:
        rows = ((due_of(key), readable_target(raw)) for key, raw in self.tables.delayed.items())
        return ((due, target) for due, target in rows if target)

    def history(self, host: str, fingerprint: bytes) -> History | None:
        raw = self.tables.seen.get(fingerprint)
        return readable_history(raw)

    def histories(self) -> Iterator[History]:
        return (past for raw in self.tables.seen.values() if (past := readable_history(raw)))

    def is_known(self, host: str, fingerprint: bytes) -> bool:
        return self.tables.seen.get(fingerprint) is not None

    def robots(self, origin: str) -> bytes:
        return self.tables.robots.get(origin.encode()) or b""

    def site(self, domain: str) -> bytes:
        return site_notes(self.tables.sites.get(domain.encode()))

    def lines(self) -> Lines:
        tables = self.tables
        return Lines(
            _count(tables.waiting.keys()),
            _count(tables.parked.keys()),
            first_due(tables.delayed) or 0.0,
            first_due(tables.parked) or 0.0,
        )

    def sums(self) -> list[Sum]:
        tables, counts = self.tables, self.counts()
        in_queue = _count(tables.queue.keys())
        sums = [
            Sum("queued", counts.queued, in_queue),
            Sum("delayed", counts.delayed, _count(tables.delayed.keys())),
            Sum("queued, over all hosts", sum(host.queued for host in self.hosts()), in_queue),
            Sum("hosts", counts.hosts, _count(tables.hosts.keys())),
        ]
        return [*sums, Sum("known", counts.known, _count(tables.seen.keys()))] if self.is_exact else sums

    def stranded(self) -> Iterator[HostRecord]:
        tables = self.tables
        lined_up = {name for family in (tables.waiting, tables.parked) for name in family.values()}
        return (host for host in self.hosts() if host.queued and host.name.encode() not in lined_up)

    def close(self) -> None:
        self.tables.close()


def _count(keys: Iterable[object]) -> int:
    return sum(1 for _ in keys)
