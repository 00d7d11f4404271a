"""The way to the servers of one frontier: scripts, plain commands, and patience with what passes.

Every error of a server or a socket ends here: trouble that may pass (a server that restarts, fails over, is full) is
waited for, everything else leaves as `BackendLost`. What is asked may be asked twice, when nobody knows whether the
first time arrived: commands and scripts must bear that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, Self

import msgspec
from redis.exceptions import RedisError, ResponseError

from lycosa.clock import machine_clock
from lycosa.errors import BackendLost
from lycosa.figures import Durations
from lycosa.frontier.redis.address import Address, Server
from lycosa.frontier.redis.first_contact import introduce, not_reached
from lycosa.frontier.redis.places import NotThere, places_of
from lycosa.frontier.redis.wire import Command, Wire, first_error

logger = logging.getLogger(__name__)

# A server that is away longer than this is not about to come back.
MAX_OUTAGE_SECONDS = 600.0
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.02, 2.0
ANSWER_SECONDS = 30.0
# How long an answer is still waited for once the operator wants to stop.
LAST_ANSWER_SECONDS = 1.0
CONFIRM_MILLISECONDS = 1000
MAX_IDLE_WIRES = 8  # to each server
# What a server says while it starts, fails over, or has no room: all of that may pass.
_PASSING = {
    "OOM": "out of memory",
    "LOADING": "reading its data from disk",
    "MISCONF": "cannot write to its disk",
    "READONLY": "a replica at the moment: a fail-over is under way",
    "MASTERDOWN": "a replica without its primary",
    "UNBLOCKED": "a replica at the moment: a fail-over is under way",
    "ERR WAIT cannot be used with replica": "a replica at the moment: a fail-over is under way",
    "NOREPLICAS": "has too few replicas",
    "CLUSTERDOWN": "a part of its cluster is away",
    "MOVED": "moving slots to another server",
    "ASK": "moving slots to another server",
    "TRYAGAIN": "moving slots to another server",
    "BUSY": "busy with a script",
    "ERR max number of clients reached": "has too many clients",
}
_ABORTED = "EXECABORT Transaction discarded because of: "

# What may be wrong with a server or the way to it.
Trouble = OSError | RedisError
TROUBLE = (OSError, RedisError)


def passing(error: Trouble) -> str:
    """What there is to wait for; empty if this does not pass."""
    if isinstance(error, OSError):
        return "does not answer"
    if isinstance(error, NotThere):
        return str(error)
    told = str(error).removeprefix(_ABORTED)
    return next((words for code, words in _PASSING.items() if told.startswith(code)), "")


class Connection:
    """The servers of one frontier, for as many as ask at the same time."""

    def __init__(self, address: Address, replicas: int = 0) -> None:
        self.address = address
        self.replicas = replicas  # that must have a durable change before it counts
        self._places = places_of(address)
        self._idle: dict[Server, list[Wire]] = defaultdict(list)
        self._troubles: dict[Patience, str] = {}
        self._stopping = asyncio.Event()
        self._limits: set[asyncio.Timeout] = set()
        self._has_looked = False
        self.round_trips = Durations()

    @property
    def trouble(self) -> str:
        """What is being waited for at the moment; empty if nothing is."""
        return next(iter(self._troubles.values()), "")

    async def reach(self, seconds: float = 5.0) -> None:
        """First contact: raise `SettingsError` if the address is wrong, `BackendLost` if nobody answers in time."""
        try:
            async with asyncio.timeout(seconds):
                servers = await self.servers()
                await asyncio.gather(*(introduce(server, self.address, seconds) for server in servers))
        except TROUBLE as error:
            raise not_reached(error, self.address, seconds) from error

    async def run(self, script: str, tag: str, args: Any, *raw: bytes, durable: bool = True) -> Any:
        """What a script (`lua/NAME.lua`) answers that is given one key, the tag, and these arguments in msgpack.

        Lua's msgpack knows no bytes: what is `raw` stands behind them as it is.
        """
        words: list[bytes | str | int] = [1, tag, msgspec.msgpack.encode(args), *raw]
        call: Command = ("EVALSHA", _digest(script), *words)
        with Patience(self) as patience:
            while True:
                try:
                    (answer,) = await self._ask(tag, [call], patience, durable=durable)
                    return answer
                except TROUBLE as error:
                    if str(error).startswith("NOSCRIPT"):
                        # Which the server will remember.
                        call = ("EVAL", script_text(script), *words)
                    else:
                        await self.wait_out(error, patience)

    async def command(self, tag: str, *words: bytes | str | int, durable: bool = True) -> Any:
        """The answer to one plain command."""
        (answer,) = await self.commands(tag, [words], durable=durable)
        return answer

    async def commands(self, tag: str, commands: Sequence[Command], *, durable: bool = True) -> list[Any]:
        """The answers to plain commands about one tag, sent together."""
        with Patience(self) as patience:
            while True:
                try:
                    return await self._ask(tag, commands, patience, durable=durable)
                except TROUBLE as error:
                    await self.wait_out(error, patience)

    async def ask_server(self, server: Server, commands: Sequence[Command]) -> list[Any]:
        """What one server answers now, errors among it; raises `OSError` or `RedisError` if it does not."""
        async with self.limited():
            wire = await self._wire(server)
            answers = await wire.ask_all(commands)
        self._put_back(wire)
        return answers

    def give_up(self) -> None:
        """End all waiting for what may pass with `BackendLost`, now and later; a server that answers is still asked."""
        self._stopping.set()
        soon = asyncio.get_running_loop().time() + LAST_ANSWER_SECONDS
        for limit in self._limits:
            limit.reschedule(min(soon, limit.when() or soon))

    async def close(self) -> None:
        """Let go of all servers."""
        for wires in self._idle.values():
            for wire in wires:
                wire.close()
        self._idle.clear()

    # ---- for those who bring wires of their own

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Raises `TimeoutError` where answers take too long."""
        async with asyncio.timeout(LAST_ANSWER_SECONDS if self._stopping.is_set() else ANSWER_SECONDS) as limit:
            self._limits.add(limit)
            began_at = machine_clock()
            try:
                yield
            finally:
                self.round_trips.note(machine_clock() - began_at)
                self._limits.discard(limit)

    async def server_of(self, tag: str) -> Server:
        """The server that holds a tag, as far as is known."""
        if not self._has_looked:
            await self.look()
        return self._places.of(tag)

    async def servers(self) -> list[Server]:
        """All servers that hold something, as far as is known."""
        if not self._has_looked:
            await self.look()
        return self._places.servers()

    async def look(self) -> None:
        """Find out where the servers are now."""
        if self.address.kind != "one":
            async with self.limited():
                await asyncio.to_thread(self._places.discover)
        self._has_looked = True

    async def confirm(self, wire: Wire, patience: Patience) -> None:
        """Return once the replicas have what this wire has changed."""
        while self.replicas:
            async with self.limited():
                (confirmed,) = await wire.ask_all([("WAIT", self.replicas, CONFIRM_MILLISECONDS)])
            if isinstance(confirmed, ResponseError):
                raise confirmed
            if confirmed >= self.replicas:
                return
            await patience.pause(f"{self.replicas} replicas should have every write, {confirmed} confirmed the last")

    async def wait_out(self, error: Trouble, patience: Patience) -> None:
        """Wait a moment and look where the servers are now; raise `BackendLost` for an error that does not pass."""
        if not (trouble := passing(error)):
            raise BackendLost(f"{self.address}: {error}") from error
        await patience.pause(trouble, error)
        with suppress(*TROUBLE):
            await self.look()

    # ---- one try

    async def _ask(self, tag: str, commands: Sequence[Command], patience: Patience, *, durable: bool) -> list[Any]:
        async with self.limited():
            wire = await self._wire(await self.server_of(tag))
            answers = await wire.ask_all(commands)
        try:
            if error := first_error(answers):
                raise error
            if durable:
                await self.confirm(wire, patience)
        finally:
            self._put_back(wire)
        return answers

    async def _wire(self, server: Server) -> Wire:
        idle = self._idle[server]
        while idle:
            if (wire := idle.pop()).is_open:
                return wire
        return await Wire.open(server, self.address)

    def _put_back(self, wire: Wire) -> None:
        if len(self._idle[wire.server]) < MAX_IDLE_WIRES:
            self._idle[wire.server].append(wire)
        else:
            wire.close()


class Patience:
    """What one operation waits for: with growing pauses, until that has lasted too long or the operator has not."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._since: float | None = None
        self._pause_seconds = FIRST_PAUSE_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        was_waiting = self._connection._troubles.pop(self, None)
        if was_waiting and kind is None and not self._connection.trouble:
            logger.warning("%s: the trouble has passed; the crawl goes on", self._connection.address)

    async def pause(self, trouble: str, error: object = "") -> None:
        """Wait a little longer than the last time."""
        connection, now = self._connection, asyncio.get_running_loop().time()
        if not connection.trouble:
            words = f"{trouble} ({error})" if error else trouble
            logger.warning("%s: %s; the crawl waits until this has passed", connection.address, words)
        connection._troubles[self] = trouble
        self._since = now if self._since is None else self._since
        lasted, ends = f"{connection.address}: {trouble}", "the same command goes on"
        if now - self._since >= MAX_OUTAGE_SECONDS:
            raise BackendLost(f"{lasted}, for {MAX_OUTAGE_SECONDS:.0f} s; {ends}")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause_seconds):
                await connection._stopping.wait()
        if connection._stopping.is_set():
            raise BackendLost(f"{lasted}, and the crawl was stopped; {ends}")
        self._pause_seconds = min(2 * self._pause_seconds, MAX_PAUSE_SECONDS)


@cache
def script_text(name: str) -> str:
    """A script as it stands in its file."""
    return (files("lycosa.frontier.redis") / "lua" / f"{name}.lua").read_text()


@cache
def _digest(name: str) -> str:
    return sha1(script_text(name).encode(), usedforsecurity=False).hexdigest()
