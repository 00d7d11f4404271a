"""One round trip of a channel, as a value: what is sent, and what the answers mean for those who wait. No I/O."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from redis.exceptions import ResponseError

from lycosa.errors import BackendLost
from lycosa.frontier.redis.connection import CONFIRM_MILLISECONDS, passing
from lycosa.frontier.redis.wire import Command, first_error, pack

_MULTI, _EXEC = pack([("MULTI",)]), pack([("EXEC",)])


class ChannelPartition:
    """A partition on a channel: how its fence must look, and how far its server has acknowledged it."""

    def __init__(self, partition: int, tag: str, fence: bytes) -> None:
        self.partition = partition
        self.tag = tag
        self.fence = fence
        self.state = b""  # as the last acknowledged batch left it
        self.lost: BackendLost | None = None  # why nothing more can be written or read

    @property
    def fence_key(self) -> bytes:
        return f"{self.tag}f".encode()


class ChannelWrite:
    """Commands that take effect together; they may be sent twice."""

    __slots__ = ("count", "done", "has_failed", "member", "packed", "state")

    def __init__(self, member: ChannelPartition, commands: Sequence[Command], state: bytes | None) -> None:
        self.member = member
        self.packed, self.count = pack(commands), len(commands)
        self.state = state
        self.has_failed = False  # one of them did, where others may have taken effect
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class ChannelRead:
    """Commands that change nothing. They are made when they are sent (see `Channel.read`), and the same ever after."""

    __slots__ = ("ask", "count", "done", "member", "packed", "replies")

    def __init__(self, member: ChannelPartition, ask: Callable[[], Sequence[Command]]) -> None:
        self.member = member
        self.ask = ask
        self.packed, self.count = b"", 0
        self.replies: list[Any] = []
        self.done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    def prepare(self) -> None:
        commands = self.ask()
        self.packed, self.count = pack(commands), len(commands)


class Round:
    """Writes of several partitions in one transaction, and what is read after it."""

    def __init__(self, writes: list[ChannelWrite], reads: list[ChannelRead]) -> None:
        self.writes = writes
        self.reads = reads
        for read in reads:
            read.prepare()
        # What the answers told.
        self.is_executed = False
        self.confirmed = 0
        self.fences: list[bytes | None] = []

    def __bool__(self) -> bool:
        return bool(self.writes or self.reads)

    def writers(self) -> set[ChannelPartition]:
        return {write.member for write in self.writes}

    def drop_lost(self) -> None:
        """Tell those whose partition is lost; the others stay."""
        asked: list[ChannelWrite | ChannelRead] = [*self.writes, *self.reads]
        for each in asked:
            if each.member.lost:
                _fail(each.done, each.member.lost)
        self.writes = [write for write in self.writes if not write.member.lost]
        self.reads = [read for read in self.reads if not read.member.lost]

    # ---- there

    def pack(self, replicas: int, watch: bytes) -> tuple[bytes, int]:
        """What is sent, and how many answers come; `watch` are the two commands that look after the fences."""
        packed = [read.packed for read in self.reads]
        count = sum(read.count for read in self.reads)
        if self.writes:
            confirm = [pack([("WAIT", replicas, CONFIRM_MILLISECONDS)])] if replicas else []
            packed = [_MULTI, *(write.packed for write in self.writes), _EXEC, *confirm, *packed, watch]
            count += 2 + sum(write.count for write in self.writes) + len(confirm) + 2
        return b"".join(packed), count

    # ---- and back

    def sort_out(self, answers: Sequence[Any], replicas: int) -> None:
        """Raises a `ResponseError` if something passes and all must be sent again, or if nothing can help."""
        rest = iter(answers)
        if self.writes:
            next(rest)  # MULTI
            self._sort_out_writes(rest)
            self.confirmed = _sure(next(rest)) if replicas else 0
        for read in self.reads:
            read.replies = list(islice(rest, read.count))
            if (error := first_error(read.replies)) and passing(error):
                raise error
        if self.writes:
            _sure(next(rest))  # WATCH
            self.fences = _sure(next(rest))

    def _sort_out_writes(self, rest: Any) -> None:
        queued = [list(islice(rest, write.count)) for write in self.writes]
        executed = next(rest)
        self.is_executed = isinstance(executed, list)
        if isinstance(executed, ResponseError):
            self._blame(queued, executed)
        elif executed is not None:
            done = iter(executed)
            self._blame([list(islice(done, write.count)) for write in self.writes], None)

    def _blame(self, answers: list[list[Any]], otherwise: ResponseError | None) -> None:
        """Find whose commands a server complained of. It is not ours to mend, unless it passes."""
        is_found = False
        for write, some in zip(self.writes, answers, strict=True):
            if error := first_error(some):
                if passing(error):
                    raise error
                write.member.lost = BackendLost(f"partition {write.member.partition}: {error}")
                write.has_failed = is_found = True
        if otherwise and not is_found:
            raise otherwise

    def acknowledge(self) -> None:
        """Answer everybody."""
        for write in self.writes:
            if write.has_failed:
                assert write.member.lost
                _fail(write.done, write.member.lost)
                continue
            # Also where somebody else has taken over just now: it came before that.
            if write.state is not None:
                write.member.state = write.state
            if not write.done.done():
                write.done.set_result(None)
        for read in self.reads:
            if error := read.member.lost or _refused(read):
                _fail(read.done, error)
            elif not read.done.done():
                read.done.set_result(read.replies)
        self.writes, self.reads = [], []


def _refused(read: ChannelRead) -> BackendLost | None:
    error = first_error(read.replies)
    return BackendLost(f"partition {read.member.partition}: {error}") if error else None


def _sure(answer: Any) -> Any:
    if isinstance(answer, ResponseError):
        raise answer
    return answer


def _fail(done: asyncio.Future[Any], error: BackendLost) -> None:
    if not done.done():
        # An exception of its own for everybody: each gets a traceback.
        done.set_exception(type(error)(*error.args))
        # Whoever does not wait for this answer learns it from the next: that is no reason for a warning.
        done.exception()
