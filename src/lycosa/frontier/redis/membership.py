"""Who takes part: every machine shows again and again that it lives; whoever is silent for too long is forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from lycosa.clock import Clock
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.crawl import Crawl, gone
from lycosa.frontier.rules import FrontierRules

NODES_PER_MACHINE = 1024
# Of the silence after which a machine is taken for dead; but often enough that its death is soon seen.
BEATS_PER_SILENCE, MAX_BEAT_SECONDS = 8, 3.0


class Member(msgspec.Struct, frozen=True, array_like=True):
    """One that takes part, as all see it."""

    number: int
    name: str
    nonce: str  # of its joining: another one, if it was taken for dead and joined anew
    workers: int
    region: str
    waits_for: str  # what keeps it from working at present; empty if nothing does
    idle_until: float  # when it has something to do again; 0 while it has

    def nodes(self) -> list[int]:
        """Its workers as all machines know them."""
        return [self.number * NODES_PER_MACHINE + worker for worker in range(self.workers)]


class Outlook(msgspec.Struct, frozen=True, array_like=True):
    """How the crawl stands."""

    number: int = -1  # of this machine; -1: it takes no part
    machines: list[Member] = []
    settings_version: int = 0
    now: float = 0.0
    granted: int = 0  # of the page limit, to all partitions


class Membership:
    """This machine among the others."""

    def __init__(
        self, connection: Connection, crawl: Crawl, name: str, rules: FrontierRules, fake_clock: Clock | None
    ) -> None:
        self._connection = connection
        self._crawl = crawl
        self._name = name
        self._workers = max(1, rules.workers)
        self._region = rules.region
        self._fake_clock = fake_clock
        self._settings_version: int | None = None  # of those by which this machine goes
        self.silence_seconds = rules.silence_seconds
        self.nonce = ""
        self.asked = [0] * self._workers  # leases that each worker has had
        self.outlook = Outlook()

    @property
    def beat_seconds(self) -> float:
        return min(self.silence_seconds / BEATS_PER_SILENCE, MAX_BEAT_SECONDS)

    @property
    def has_new_settings(self) -> bool:
        """Whether the crawl goes by other settings by now than this machine does."""
        return self._settings_version is not None and self.outlook.settings_version != self._settings_version

    @property
    def others(self) -> list[Member]:
        return [machine for machine in self.outlook.machines if machine.number != self.outlook.number]

    @property
    def has_company(self) -> bool:
        return len(self.outlook.machines) > 1

    def is_alive(self, nonce: str) -> bool:
        """Whether a machine takes part, as far as was last heard."""
        return any(machine.nonce == nonce for machine in self.outlook.machines)

    def node(self, worker: int) -> int:
        """A worker of this machine as all machines know it."""
        return max(self.outlook.number, 0) * NODES_PER_MACHINE + worker

    def nodes(self) -> list[int]:
        return [self.node(worker) for worker in range(self._workers)]

    async def takes_part(self, nonce: str) -> bool:
        """Whether a machine is among them, also one that this one has not heard of yet."""
        if self.is_alive(nonce):
            return True
        tag = self._connection.address.tag()
        found = await self._connection.command(tag, "HVALS", f"{tag}m", durable=False)
        return any(msgspec.msgpack.decode(raw)["nonce"] == nonce for raw in found)

    async def join(self) -> None:
        """Take part, in the place of whoever had this name."""
        self.nonce = secrets.token_hex(8)
        await self._say("join", "", 0.0)
        if self._settings_version is None:
            self._settings_version = self.outlook.settings_version

    async def beat(self, waits_for: str, idle_until: float) -> bool:
        """Show that this machine lives. False if it was taken for dead: then it takes no part any more."""
        await self._say("beat", waits_for, idle_until)
        return self.outlook.number >= 0

    async def leave(self) -> None:
        """Take no further part."""
        if self.outlook.number >= 0:
            await self._say("leave", "", 0.0)

    async def _say(self, verb: str, waits_for: str, idle_until: float) -> None:
        machine = {
            "name": self._name or self.nonce,
            "nonce": self.nonce,
            "workers": self._workers,
            "region": self._region,
            "waits_for": waits_for,
            "idle_until": idle_until,
        }
        args: dict[str, Any] = {"verb": verb, "id": self._crawl.id, "machine": machine, "asked": self.asked}
        args["silence_seconds"] = self.silence_seconds
        if self._fake_clock:
            args["now"] = self._fake_clock()
        raw = await self._connection.run("members", self._connection.address.tag(), args)
        if raw is None:
            raise gone(self._connection.address)
        self.outlook = msgspec.msgpack.decode(raw, type=Outlook)


def shares(machines: Sequence[Member], partitions: int) -> dict[str, int]:
    """How many partitions each machine should own, by nonce: in proportion to its workers, together all of them."""
    whole = sum(machine.workers for machine in machines)
    exact = {machine.nonce: partitions * machine.workers / whole for machine in machines}
    share = {nonce: int(wish) for nonce, wish in exact.items()}
    # What is left goes to whoever is furthest below its wish; among equals to whoever joined first.
    rest = sorted(machines, key=lambda machine: (share[machine.nonce] - exact[machine.nonce], machine.number))
    for machine in rest[: partitions - sum(share.values())]:
        share[machine.nonce] += 1
    return share
