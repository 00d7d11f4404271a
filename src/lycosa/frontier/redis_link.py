"""Calls of scripts, many in one pipeline per server; waits out what passes, names what does not.

Every error of the library ends here: trouble that may pass (a server that restarts, fails over, is full) is waited
for, everything else leaves as `BackendLost`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, NoScriptError, RedisError, ResponseError, TimeoutError

from lycosa.errors import BackendLost
from lycosa.frontier.redis_place import Address, Places, Server, places_of
from lycosa.frontier.redis_value import encode

logger = logging.getLogger(__name__)

# A server that is away longer than this is not about to come back.
MAX_OUTAGE_SECONDS = 600.0
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.02, 2.0
CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
CONFIRM_MILLISECONDS = 1000
# From the moment a new primary is chosen until everybody is told.
FAIL_OVER_SECONDS = 15
# What a server says while it starts, fails over, or has no room: all of that may pass.
PASSING = (
    "MOVED",
    "ASK",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "READONLY",
    "LOADING",
    "MASTERDOWN",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
)
_UNSURE = (ConnectionError, TimeoutError, OSError)
# The verbs of a partition, and those of the crawl as a whole; each stands behind what all of its kind share.
_PRELUDES = {
    "partition": ("add", "take", "settle", "defer", "spoil", "release", "hold", "look", "readmit", "ring", "recall"),
    "lookup": ("claim", "unclaim", "keep", "holds", "robots", "reserve", "unreserve", "site"),
    "crawl": ("join", "beat", "leave", "done", "agree", "budget"),
}


# What may be lost in a fail-over: it is only looked at, or of a moment's use.
_FLEETING = frozenset({"look", "robots", "holds", "claim", "unclaim", "reserve", "unreserve", "site"})


class Call(NamedTuple):
    """One verb for one partition; for the crawl as a whole if that is None."""

    verb: str
    partition: int | None
    args: dict[str, Any]
    # What a second try must say beside, when nobody knows whether the first one arrived.
    once_more: Callable[[], dict[str, Any]] = dict

    @property
    def is_durable(self) -> bool:
        """Whether it counts only once replicas have it."""
        return self.verb not in _FLEETING

    def repeat(self) -> None:
        """Make this the next try."""
        self.args.update(self.once_more(), is_again=True)


class _Batch(NamedTuple):
    calls: Sequence[Call]
    replies: asyncio.Future[list[Any]]


@cache
def scripts() -> dict[str, str]:
    """The verbs as Lua."""
    folder = files("lycosa.frontier") / "lua"
    return {
        verb: (folder / f"{prelude}.lua").read_text() + (folder / f"{verb}.lua").read_text()
        for prelude, verbs in _PRELUDES.items()
        for verb in verbs
    }


@cache
def digests() -> dict[str, str]:
    """The names under which a server knows the scripts."""
    return {verb: sha1(script.encode(), usedforsecurity=False).hexdigest() for verb, script in scripts().items()}


class Link:
    """The way to the servers of one frontier."""

    def __init__(self, address: Address, replicas: int = 0) -> None:
        self.address = address
        self.replicas = replicas  # that must have a write before it counts
        self.has_been_unsure = False
        self._places: Places = places_of(address)
        self._clients: dict[Server, Redis] = {}
        self._is_away = False
        self._gathered: list[_Batch] = []
        self._running: asyncio.Task[None] | None = None

    async def one(self, verb: str, partition: int | None, args: dict[str, Any]) -> Any:
        """Run one verb."""
        (reply,) = await self.run([Call(verb, partition, args)])
        return reply

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The replies to these calls, in their order; durable ones are with the replicas when this returns.

        Calls made while others are under way travel together after them: a pipeline costs as much as ten calls.
        """
        batch = _Batch(calls, asyncio.get_running_loop().create_future())
        self._gathered.append(batch)
        if self._running is None:
            self._running = asyncio.create_task(self._run_gathered())
        return await batch.replies

    async def _run_gathered(self) -> None:
        # Once around the loop: what is asked for in the same turn goes along.
        await asyncio.sleep(0)
        try:
            while self._gathered:
                batches, self._gathered = self._gathered, []
                await self._run_together(batches)
        finally:
            self._running = None

    async def _run_together(self, batches: list[_Batch]) -> None:
        try:
            calls = [call for batch in batches for call in batch.calls]
            replies = await self._run(calls)
        except BaseException as error:
            # Whatever it was: nobody must wait for an answer that cannot come.
            for batch in batches:
                if not batch.replies.done():
                    batch.replies.set_exception(BackendLost(str(error) or repr(error)))
            if isinstance(error, BackendLost):
                return
            raise
        start = 0
        for batch in batches:
            end = start + len(batch.calls)
            if not batch.replies.done():
                batch.replies.set_result(replies[start:end])
            start = end

    async def _run(self, calls: Sequence[Call]) -> list[Any]:
        replies: dict[int, Any] = {}
        if not calls:
            return []
        async for _ in self._patience():
            waiting = [place for place in range(len(calls)) if place not in replies]
            try:
                groups = self._by_server(waiting, calls)
            except (RedisError, OSError) as error:
                self._note_trouble(error)
                continue
            done = await asyncio.gather(*(self._send(server, places, calls) for server, places in groups.items()))
            for some in done:
                replies |= some
            if len(replies) == len(calls):
                self._note_peace()
                return [replies[place] for place in range(len(calls))]
        raise BackendLost(f"{self.address} has not answered for {MAX_OUTAGE_SECONDS:.0f} s; the same command goes on")

    async def command(self, tag: str, *words: Any) -> Any:
        """One plain command to the server that holds this tag."""
        async for _ in self._patience():
            try:
                client: Any = self.client(self._places.of(tag))
                reply = await client.execute_command(*words)
                self._note_peace()
                return reply
            except (RedisError, OSError) as error:
                self._note_trouble(error)
                await self._look_again()
        raise BackendLost(f"{self.address} has not answered for {MAX_OUTAGE_SECONDS:.0f} s; the same command goes on")

    def servers(self, tags: Sequence[str]) -> list[Server]:
        """The servers that hold these tags."""
        return sorted({self._places.of(tag) for tag in tags})

    def client(self, server: Server) -> Redis:
        """The connections to one server."""
        if server not in self._clients:
            self._clients[server] = Redis(
                host=server.host,
                port=server.port,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
                **self.address.options,
            )
        return self._clients[server]

    async def close(self) -> None:
        if self._running:
            self._running.cancel()
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    # ---- one pipeline

    def _by_server(self, waiting: list[int], calls: Sequence[Call]) -> dict[Server, list[int]]:
        groups: dict[Server, list[int]] = defaultdict(list)
        for place in waiting:
            groups[self._places.of(self.address.tag(calls[place].partition))].append(place)
        return groups

    async def _send(self, server: Server, places: list[int], calls: Sequence[Call]) -> dict[int, Any]:
        """What was answered. What was not, will be sent again."""
        must_confirm = self.replicas > 0 and any(calls[place].is_durable for place in places)
        pipeline = self.client(server).pipeline(transaction=False)
        for place in places:
            call = calls[place]
            tag = self.address.tag(call.partition)
            pipeline.execute_command("EVALSHA", digests()[call.verb], 1, tag, encode(call.args))
        if must_confirm:
            pipeline.execute_command("WAIT", self.replicas, CONFIRM_MILLISECONDS)
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except (RedisError, OSError) as error:
            return await self._unanswered(error, places, calls)
        confirmed = answers.pop() if must_confirm else self.replicas
        tag = self.address.tag(calls[places[0]].partition)
        replies = await self._sorted_out(server, tag, places, answers)
        if isinstance(confirmed, int) and confirmed >= self.replicas:
            return replies
        self._note_trouble(f"{self.replicas} replicas should have every write, only {confirmed} confirmed the last")
        # Sent again until it is confirmed: whoever acted upon the first answer could act upon nothing.
        for place in replies:
            calls[place].repeat()
        return {}

    async def _sorted_out(self, server: Server, tag: str, places: list[int], answers: list[Any]) -> dict[int, Any]:
        replies: dict[int, Any] = {}
        for place, answer in zip(places, answers, strict=True):
            match answer:
                case NoScriptError():
                    await self._load(server)
                case ResponseError() if str(answer).startswith("LOST"):
                    if await self._has_moved(tag, server):
                        break
                    raise BackendLost(
                        f"INCOMPLETE: the data of this crawl are gone from {server.host}:{server.port} ({answer}). "
                        "Pages fetched so far are in the folders; give the crawl another name to begin anew"
                    )
                case RedisError() if _may_pass(answer):
                    self._note_trouble(answer)
                    await self._look_again()
                case RedisError():
                    raise BackendLost(f"{self.address}: {answer}")
                case _:
                    replies[place] = answer
        return replies

    async def _has_moved(self, tag: str, server: Server) -> bool:
        """Whether another server has taken over: a primary that comes back empty is not the one to ask."""
        for _ in range(0 if self.address.kind == "one" else FAIL_OVER_SECONDS):
            await self._look_again()
            with contextlib.suppress(RedisError, OSError):
                if self._places.of(tag) != server:
                    return True
            await asyncio.sleep(1.0)
        return False

    async def _unanswered(self, error: Exception, places: list[int], calls: Sequence[Call]) -> dict[int, Any]:
        if not isinstance(error, _UNSURE) and not _may_pass(error):
            raise BackendLost(f"{self.address}: {error}") from error
        self._note_trouble(error)
        self.has_been_unsure = True
        for place in places:
            calls[place].repeat()
        await self._look_again()
        return {}

    async def _load(self, server: Server) -> None:
        pipeline = self.client(server).pipeline(transaction=False)
        for script in scripts().values():
            pipeline.execute_command("SCRIPT LOAD", script)
        try:
            await pipeline.execute()
        except (RedisError, OSError) as error:
            self._note_trouble(error)

    # ---- trouble

    async def _patience(self) -> Any:
        """Turns with growing pauses between them, as many as fit into the longest outage."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + MAX_OUTAGE_SECONDS, FIRST_PAUSE_SECONDS
        while loop.time() < until:
            yield
            if self._is_away:
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _look_again(self) -> None:
        try:
            await asyncio.to_thread(self._places.discover)
        except (RedisError, OSError) as error:
            self._note_trouble(error)

    def _note_trouble(self, error: object) -> None:
        if not self._is_away:
            logger.warning("%s: %s; the crawl waits until this has passed", self.address, error)
        self._is_away = True

    def _note_peace(self) -> None:
        if self._is_away:
            logger.warning("%s answers again; the crawl goes on", self.address)
        self._is_away = False


def _may_pass(error: object) -> bool:
    return isinstance(error, _UNSURE) or str(error).startswith(PASSING) or type(error).__name__ in _PASSING_KINDS


# redis-py cuts off the code word of those it has a class for.
_PASSING_KINDS = {
    "MovedError",
    "AskError",
    "ClusterDownError",
    "MasterDownError",
    "TryAgainError",
    "ReadOnlyError",
    "BusyLoadingError",
    "OutOfMemoryError",
}
