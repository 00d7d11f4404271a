"""Machines of one process on one Redis, under a clock that only moves when told: so do their hearts, then."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any, TypeVar

from lycosa.errors import BackendLost
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Lease

from .stage import FakeClock, Stage

T = TypeVar("T")
WORKERS = 2
# Whoever has company is soon told what it must know: of whom there is, what they leave, and what they hand over.
TICKS_UNTIL_TOLD = 3


class Machine(Stage):
    """One of them. Its frontier's heart beats by itself only without a clock of the test."""

    def __init__(self, frontier: RedisFrontier, clock: FakeClock, name: str) -> None:
        super().__init__(frontier, clock)
        self.redis = frontier
        self.name = name

    async def tick(self) -> None:
        await self.redis.tick()

    async def take_all(self) -> list[Lease]:
        """What all its workers get."""
        return [lease for worker in range(self.redis.rules.workers) for lease in await self.take(worker)]

    async def die(self) -> None:
        """As if killed: its connections end, and it says nothing more to anybody."""
        if self.redis._pulse:
            self.redis._pulse.cancel()
            with contextlib.suppress(asyncio.CancelledError, BackendLost):
                await self.redis._pulse
        await self.redis._ownership.close()
        await self.redis._connection.close()


class Crew:
    """All machines of a crawl. Those that neither died nor left leave when the test is over."""

    def __init__(self, address: str, clock: FakeClock, **rules: Any) -> None:
        self.address = address
        self.clock = clock
        self.machines: list[Machine] = []
        self._rules = {"workers": WORKERS, **rules}

    async def join(self, name: str, *, address: str = "", is_live: bool = False, **rules: Any) -> Machine:
        """A machine takes part. One that is live has a heart that beats by itself."""
        chosen = FrontierRules(**{**self._rules, **rules})
        clock = None if is_live else self.clock
        frontier = RedisFrontier(address or self.address, chosen, name=name, fake_clock=clock)
        await frontier.begin()
        self.machines.append(Machine(frontier, self.clock, name))
        return self.machines[-1]

    async def die(self, machine: Machine) -> None:
        self.machines.remove(machine)
        await machine.die()

    async def leave(self, machine: Machine) -> None:
        self.machines.remove(machine)
        await machine.redis.close()

    async def close(self) -> None:
        for machine in self.machines:
            # A server that is gone by now, or cannot be reached any more, is not waited for.
            machine.redis.give_up()
            await machine.redis.close()

    async def meet(self) -> None:
        """Everybody hears of everybody, leaves what is beyond its share, takes what is missing, and reads its mail."""
        for _ in range(TICKS_UNTIL_TOLD):
            for machine in self.machines:
                await machine.tick()

    async def outlive(self, seconds: float, *machines: Machine) -> None:
        """So much time goes by, in which only these are heard."""
        for _ in range(8):
            self.clock.advance(seconds / 7)
            for machine in machines:
                await machine.tick()
        await self.told(*machines)

    async def told(self, *machines: Machine) -> None:
        for _ in range(TICKS_UNTIL_TOLD):
            for machine in machines:
                await machine.tick()

    async def meanwhile(self, work: Awaitable[T]) -> T:
        """What something comes to that others must have a part in."""
        working = asyncio.ensure_future(work)
        while not working.done():
            for machine in self.machines:
                await machine.tick()
            await asyncio.wait((working,), timeout=0.001)
        return working.result()
