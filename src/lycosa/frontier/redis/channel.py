"""One ordered connection that partitions share: whatever they write and read at the same time travels together.

A round trip is MULTI, the commands of all batches, EXEC, [WAIT,] what is read, WATCH and MGET of the fences. A fence
says who owns a partition. Because it was watched before it was found to be ours, the next EXEC is refused whole if
anybody has touched a fence in between: whoever lost a partition changes nothing in it, without a script.

One round trip is under way at a time, and the next begins when it has been answered: so what must be sent again after
a lost connection is always the last that was sent, and it goes before anything new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from lycosa.errors import BackendLost
from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.records import decode_state
from lycosa.frontier.redis.connection import TROUBLE, Connection, Patience
from lycosa.frontier.redis.rounds import ChannelPartition, ChannelRead, ChannelWrite, Round
from lycosa.frontier.redis.wire import Command, Wire, first_error, pack

# From the moment a new primary is chosen until everybody is told.
FAIL_OVER_SECONDS = 15.0


class NotOwner(BackendLost):
    """Somebody else has taken this partition over; nothing was changed since."""


class Channel:
    """The way of this machine's partitions to one server; on a cluster, of one partition: its slot may move alone."""

    def __init__(self, connection: Connection, tag: str) -> None:
        """`tag`: of any partition there, which tells the server."""
        self.connection = connection
        self._tag = tag
        self._wire: Wire | None = None
        self._members: list[ChannelPartition] = []
        # Whose fences were found to be ours after they were watched, since the last EXEC.
        self._guarded: set[ChannelPartition] = set()
        self._writes: list[ChannelWrite] = []
        self._reads: list[ChannelRead] = []
        self._running: asyncio.Task[None] | None = None
        # Nearly always for the same members.
        self._last_watch: tuple[list[ChannelPartition], bytes] = ([], b"")

    def join(self, member: ChannelPartition) -> None:
        """Take in a partition that is ours now. Its fence is looked at before its first write."""
        self._members.append(member)

    def leave(self, member: ChannelPartition) -> None:
        """Forget a partition. What it has not been answered yet, it will not be."""
        member.lost = member.lost or NotOwner(f"partition {member.partition} was given up")
        self._members.remove(member)
        self._guarded.discard(member)

    def write(
        self, member: ChannelPartition, commands: Sequence[Command], state: bytes | None = None
    ) -> asyncio.Future[None]:
        """Have commands take effect together, after all before them. `state`: the partition's, as they leave it."""
        write = ChannelWrite(member, commands, state)
        self._writes.append(write)
        self._start()
        return write.done

    def read(self, member: ChannelPartition, ask: Callable[[], Sequence[Command]]) -> asyncio.Future[list[Any]]:
        """The answers to commands that change nothing, as of after all writes before them.

        `ask` makes them when they are sent: writes that came later may go first, and change what there is to ask.
        """
        read = ChannelRead(member, ask)
        self._reads.append(read)
        self._start()
        return read.done

    async def close(self) -> None:
        """Let go of the server. Whoever still waits for it gets `BackendLost`."""
        self._abandon(BackendLost("the frontier was closed"))
        if self._running:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
            # A task that is cancelled before its first step does not even learn of it.
            self._running = None
            self._gather().drop_lost()
        self._disconnect()

    # ---- rounds

    def _start(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())

    def _gather(self) -> Round:
        writes, self._writes = self._writes, []
        reads, self._reads = self._reads, []
        return Round(writes, reads)

    async def _run(self) -> None:
        """Carry out what has gathered, until nothing has."""
        gathered = Round([], [])
        try:
            while True:
                # Once around the loop: what is asked for in the same turn, and by those just answered, goes along.
                await asyncio.sleep(0)
                if not (gathered := self._gather()):
                    # No await from here to the end: else somebody might wait for a run that is over.
                    return
                await self._carry_out(gathered)
        except BaseException as error:
            self._abandon(error if isinstance(error, BackendLost) else BackendLost(repr(error)))
            gathered.drop_lost()
            if not isinstance(error, BackendLost):
                raise
        finally:
            self._running = None

    def _abandon(self, error: BackendLost) -> None:
        """Nobody must wait for an answer that cannot come, or build on what was not written."""
        for member in self._members:
            member.lost = member.lost or error
        self._gather().drop_lost()

    async def _carry_out(self, gathered: Round) -> None:
        with Patience(self.connection) as patience:
            while True:
                gathered.drop_lost()
                if not gathered:
                    return
                try:
                    await self._try(gathered, patience)
                except TROUBLE as error:
                    await self.connection.wait_out(error, patience)

    async def _try(self, gathered: Round, patience: Patience) -> None:
        """One round trip. It answers everybody, or it must be made again: with fewer, if partitions were lost."""
        wire = await self._connected(patience)
        if not gathered.writers() <= self._guarded:
            await self._guard(wire, patience)
            if not gathered.writers() <= self._guarded:
                return
        members, replicas = self._owned(), self.connection.replicas
        packed, count = gathered.pack(replicas, self._watch(members))
        async with self.connection.limited():
            answers = await wire.ask(packed, count)
        if gathered.writes:
            self._guarded.clear()
        gathered.sort_out(answers, replicas)
        if gathered.writes:
            await self._judge(members, gathered.fences, patience)
            if not gathered.is_executed:
                return
            if gathered.confirmed < replicas:
                await self.connection.confirm(wire, patience)
        gathered.acknowledge()

    # ---- fences

    def _owned(self) -> list[ChannelPartition]:
        return [member for member in self._members if not member.lost]

    def _watch(self, members: list[ChannelPartition]) -> bytes:
        if self._last_watch[0] != members:
            self._last_watch = members, pack(_watch_commands(members))
        return self._last_watch[1]

    async def _guard(self, wire: Wire, patience: Patience) -> None:
        if members := self._owned():
            _, fences = await self._ask(wire, _watch_commands(members))
            await self._judge(members, fences, patience)

    async def _judge(self, members: list[ChannelPartition], fences: list[bytes | None], patience: Patience) -> None:
        """Find out whose partitions these are, by what their fences were after they were watched."""
        for member, fence in zip(members, fences, strict=True):
            if fence == member.fence:
                self._guarded.add(member)
            elif fence is not None:
                member.lost = NotOwner(f"partition {member.partition} belongs to another machine now")
        gone = [member for member, fence in zip(members, fences, strict=True) if fence is None]
        if gone:
            await self._judge_gone(gone, patience)

    async def _judge_gone(self, members: list[ChannelPartition], patience: Patience) -> None:
        """A primary that comes back empty is not the one to ask, if another server has taken over."""
        assert self._wire
        server, loop = self._wire.server, asyncio.get_running_loop()
        until = loop.time() + (0.0 if self.connection.address.kind == "one" else FAIL_OVER_SECONDS)
        while loop.time() < until:
            await patience.pause(f"{server} has lost the crawl's data: has another taken over?")
            with suppress(*TROUBLE):
                await self.connection.look()
            if await self.connection.server_of(self._tag) != server:
                raise ConnectionResetError(f"{server} was replaced")
        for member in members:
            member.lost = BackendLost(
                f"INCOMPLETE: the data of this crawl are gone from {server}. "
                "Pages fetched so far are in the folders; give the crawl another name to begin anew"
            )

    # ---- the connection

    async def _connected(self, patience: Patience) -> Wire:
        server = await self.connection.server_of(self._tag)
        if self._wire and self._wire.is_open and self._wire.server == server:
            return self._wire
        self._disconnect()
        async with self.connection.limited():
            self._wire = await Wire.open(server, self.connection.address)
        try:
            await self._take_up(self._wire, patience)
        except BaseException:
            self._disconnect()
            raise
        return self._wire

    async def _take_up(self, wire: Wire, patience: Patience) -> None:
        """Go on where another connection broke off, if the server is where it left off."""
        is_ours = False
        while not is_ours and (members := self._owned()):
            states = [("HGET", f"{member.tag}m", "state") for member in members]
            _, fences, *found = await self._ask(wire, [*_watch_commands(members), *states])
            await self._judge(members, fences, patience)
            for member, state in zip(members, found, strict=True):
                _must_not_go_back(member, state)
            # What was sent on the old connection may still be on its way. It watches the fences too: to set them,
            # even to what they are, has it refused.
            fences_again = [("SET", member.fence_key, member.fence, "XX", "KEEPTTL") for member in self._owned()]
            *_, executed = await self._ask(wire, [("MULTI",), *fences_again, ("EXEC",)])
            self._guarded.clear()
            is_ours = executed is not None
        await self._guard(wire, patience)

    async def _ask(self, wire: Wire, commands: Sequence[Command]) -> list[Any]:
        async with self.connection.limited():
            answers = await wire.ask_all(commands)
        if error := first_error(answers):
            raise error
        return answers

    def _disconnect(self) -> None:
        self._guarded.clear()
        if self._wire:
            self._wire.close()
        self._wire = None


def _watch_commands(members: Sequence[ChannelPartition]) -> list[Command]:
    keys = [member.fence_key for member in members]
    return [("WATCH", *keys), ("MGET", *keys)]


def _must_not_go_back(member: ChannelPartition, state: bytes | None) -> None:
    """A partition in which fewer changes are found than were acknowledged lost some of them."""
    acknowledged, found = _changes(member.state), _changes(state)
    if found < acknowledged:
        member.lost = member.lost or BackendLost(
            f"INCOMPLETE: partition {member.partition} went back in time by {acknowledged - found} changes: its server "
            "lost acknowledged work (a fail-over, or a restart without durable settings). The same command goes on "
            "with what is left"
        )


def _changes(state: bytes | None) -> int:
    try:
        return decode_state(state).changes if state else 0
    except UNREADABLE:
        return 0
