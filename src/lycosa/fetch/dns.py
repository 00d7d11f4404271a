"""Names to addresses, asked of DNS servers directly and remembered.

It reads no hosts file and no search domains, and does not know which addresses are allowed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

import aiodns
import pycares

from lycosa.errors import NoSuchName, SettingsError, Unreachable
from lycosa.figures import Hits
from lycosa.model import Failure

MIN_TTL_SECONDS, MAX_TTL_SECONDS = 60.0, 6 * 3600.0
NEGATIVE_SECONDS = 300.0
# RFC 8767: while no server answers, an old answer may serve for a day, and is tried anew every 30 s.
MAX_STALE_SECONDS, STALE_RETRY_SECONDS = 86_400.0, 30.0
MAX_PREFETCHES = 64
# Pages name new hosts faster than servers can be asked for them: each that waits costs 3 KB, and a page may name 2,000.
MAX_PREFETCHES_WAITING = 512
# So many zones are asked before the servers are held to be gone.
MAX_WITNESSES = 3
MAX_WITNESS_CHARACTERS = 200

# The servers have spoken: there is no such name, or no address under it, or it cannot be a name.
_FINAL = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME})
# What is heard of servers that are gone, or that have lost their own way out.
_NOBODY = frozenset({pycares.errno.ARES_ETIMEOUT, pycares.errno.ARES_ECONNREFUSED, pycares.errno.ARES_ESERVFAIL})


class _Answer(NamedTuple):
    addresses: tuple[str, ...]
    error: str
    fresh_until: float
    stale_until: float
    is_final: bool = False  # there is no such name


class Resolver:
    """Finds the addresses of names, each asked for once however many wait for it; never blocks the loop."""

    def __init__(
        self,
        servers: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
        *,
        timeout_seconds: float = 2.0,
        tries: int = 3,
        max_names: int = 20_000,
    ) -> None:
        self._servers = [_checked_server(text) for text in servers]
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._tries = tries
        self._max_names = max_names
        self.hits = Hits()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._pending: dict[str, asyncio.Task[_Answer]] = {}
        self._prefetches = asyncio.Semaphore(MAX_PREFETCHES)
        self._prefetches_waiting = 0
        self._channel: aiodns.DNSResolver | None = None
        self._heard_at = self._failed_at = float("-inf")
        self._has_found = False
        self._probe: asyncio.Task[None] | None = None

    def known(self, host: str) -> tuple[str, ...]:
        """The addresses of a host if no query is needed for them, else nothing."""
        answer = self._answers.get(host)
        if answer is not None and answer.fresh_until > self._clock():
            self._answers.move_to_end(host)
            self.hits.asked += 1
            return answer.addresses
        return ()

    async def addresses(self, host: str) -> tuple[str, ...]:
        """All addresses of a host, IPv6 only where there is no IPv4.

        Raises `NoSuchName` where there are none, and `Unreachable` (DNS) where nobody knows.
        """
        if literal := literal_address(host):
            return (literal,)
        name = _absolute(host)
        answer = self._answers.get(name)
        self.hits.asked += 1
        if answer is None or answer.fresh_until <= self._clock():
            self.hits.missed += 1
            answer = await self._look_up(name)
        if not answer.addresses:
            raise (NoSuchName if answer.is_final else Unreachable)(Failure.DNS, answer.error, sent=False)
        return answer.addresses

    def forget_absence(self, host: str) -> None:
        """Whoever asks next for a name that led nowhere has the servers asked, however lately they were.

        c-ares keeps such an answer only for the time that the zone's own SOA record allows: then it is still true.
        """
        name = _absolute(host)
        if (answer := self._answers.get(name)) and answer.is_final:
            del self._answers[name]

    async def prefetch(self, hosts: Sequence[str]) -> None:
        """Make names known that will be needed soon, a bounded number at a time, the rest not at all. Never raises."""
        now, room = self._clock(), MAX_PREFETCHES_WAITING - self._prefetches_waiting
        names: set[str] = set()
        for host in hosts:
            if len(names) >= room:
                break
            name = _absolute(host)
            if not literal_address(host) and not ((old := self._answers.get(name)) and old.fresh_until > now):
                names.add(name)
        self._prefetches_waiting += len(names)
        await asyncio.gather(*map(self._prefetch_one, names))

    def now(self) -> float:
        """By the clock that `is_answered` knows."""
        return self._clock()

    async def is_answered(self, since: float) -> bool:
        """Whether the servers have answered since then, or do so now, and can ask others."""
        if self._heard_at < since:
            if self._probe is None:
                self._probe = asyncio.get_running_loop().create_task(self._ask_witnesses())
            await asyncio.shield(self._probe)
        return self._heard_at >= since

    def has_said_nothing_else(self, since: float) -> bool:
        """Whether all that is known of the servers is that they failed since then: no host was ever found."""
        return self._failed_at >= since and not self._has_found

    async def close(self) -> None:
        """End every look-up under way and let go of the sockets."""
        if self._channel is not None:
            await self._channel.close()
        if under_way := [*self._pending.values(), *filter(None, [self._probe])]:
            await asyncio.wait(under_way)

    async def _prefetch_one(self, name: str) -> None:
        try:
            async with self._prefetches:
                await self._look_up(name)
        finally:
            self._prefetches_waiting -= 1

    async def _look_up(self, name: str) -> _Answer:
        task = self._pending.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._ask(name))
            self._pending[name] = task
        # Shielded: others may wait for the same answer when this visit is cancelled.
        return await asyncio.shield(task)

    async def _ask(self, name: str) -> _Answer:
        """One look-up, whose end is always a value: nobody may be left to hear an exception."""
        try:
            answer = self._positive(*await self._hear(name))
            self._has_found = True
        except aiodns.error.DNSError as error:
            answer = self._without_answer(name, error)
        finally:
            del self._pending[name]
        self._remember(name, answer)
        return answer

    async def _ask_witnesses(self) -> None:
        """Ask for names that cannot be in any server's memory, below hosts of this crawl: nobody else is bothered."""
        asked_at = self._clock()
        try:
            for host in self._witnesses():
                with suppress(aiodns.error.DNSError):
                    await self._hear(f"{secrets.token_hex(8)}.{host}")
                if self._heard_at >= asked_at:
                    return
        finally:
            self._probe = None

    def _witnesses(self) -> list[str]:
        """Some hosts that were found, of different zones as far as their names tell, the last ones first."""
        found: dict[str, str] = {}
        for name, answer in reversed(self._answers.items()):
            if answer.addresses and len(name) <= MAX_WITNESS_CHARACTERS:
                found.setdefault(".".join(name.split(".")[-2:]), name)
                if len(found) == MAX_WITNESSES:
                    break
        return list(found.values())

    async def _hear(self, name: str) -> tuple[tuple[str, ...], int]:
        """A query, noting what it tells of the servers."""
        try:
            answer = await self._query(name)
        except aiodns.error.DNSError as error:
            if error.args[0] not in _NOBODY:
                self._heard_at = self._clock()
            elif error.args[0] == pycares.errno.ARES_ESERVFAIL:
                self._failed_at = self._clock()
            raise
        self._heard_at = self._clock()
        return answer

    async def _query(self, name: str) -> tuple[tuple[str, ...], int]:
        """The addresses and their smallest TTL. AAAA is asked only where there is no A: one query for most names."""
        try:
            return _records(await self._dns().query_dns(name, "A"), pycares.QUERY_TYPE_A)
        except aiodns.error.DNSError as error:
            if error.args[0] != pycares.errno.ARES_ENODATA:
                raise
        return _records(await self._dns().query_dns(name, "AAAA"), pycares.QUERY_TYPE_AAAA)

    def _dns(self) -> aiodns.DNSResolver:
        if self._channel is None:
            self._channel = aiodns.DNSResolver(
                nameservers=self._servers or None,
                loop=asyncio.get_running_loop(),
                timeout=self._timeout_seconds,
                tries=self._tries,
                flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_NOALIASES | pycares.ARES_FLAG_EDNS,
                lookups="b",
            )
        return self._channel

    def _positive(self, addresses: tuple[str, ...], ttl: int) -> _Answer:
        fresh_until = self._clock() + min(max(ttl, MIN_TTL_SECONDS), MAX_TTL_SECONDS)
        return _Answer(addresses, "", fresh_until, fresh_until + MAX_STALE_SECONDS)

    def _without_answer(self, name: str, error: aiodns.error.DNSError) -> _Answer:
        now = self._clock()
        if error.args[0] in _FINAL:
            return _Answer((), str(error.args[1]), now + NEGATIVE_SECONDS, 0.0, is_final=True)
        old = self._answers.get(name)
        if old is not None and old.stale_until > now:
            return old._replace(fresh_until=now + STALE_RETRY_SECONDS)
        # Not remembered as a fact about the name: when the servers are back, the next visit succeeds.
        return _Answer((), str(error.args[1]), now, 0.0)

    def _remember(self, name: str, answer: _Answer) -> None:
        self._answers[name] = answer
        self._answers.move_to_end(name)
        while len(self._answers) > self._max_names:
            self._answers.popitem(last=False)


@lru_cache(maxsize=4096)
def literal_address(host: str) -> str:
    """The address if the host is written as one (IPv6 with or without brackets), else an empty string."""
    if not host or not (host[-1].isdigit() or ":" in host):
        return ""
    try:
        return str(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        return ""


def _absolute(host: str) -> str:
    return host.lower().removesuffix(".")


def _records(result: pycares.DNSResult, record_type: int) -> tuple[tuple[str, ...], int]:
    records = [record for record in result.answer if record.type == record_type]
    # A chain of aliases may end without an address.
    if not records:
        raise aiodns.error.DNSError(pycares.errno.ARES_ENODATA, "DNS server returned answer with no data")
    return tuple(str(getattr(record.data, "addr", "")) for record in records), min(record.ttl for record in records)


def _checked_server(text: str) -> str:
    """A server as c-ares takes it: `address`, `address:port`, `[IPv6]:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or (text.count(":") > 1 and not host.endswith("]")):
        host, port = text, "53"
    if not literal_address(host) or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise SettingsError(f"dns_servers: {text!r} is no server; expected an address or address:port")
    return text
