"""Where the frontier lives: one server, whoever is master under Sentinel, or the slots of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from redis.crc import key_slot
from redis.exceptions import RedisError, ResponseError

from lycosa.frontier.redis.address import Address, Server
from lycosa.frontier.redis.wire import Command, ask_once

# Of one server that may know; there are others to ask.
SEEK_SECONDS = 1.5


class NotThere(RedisError):
    """Somebody answers, but not what the address says: no Sentinel, no cluster, no such master."""


class Places(Protocol):
    """Which server holds which slot, as of when it was last looked for."""

    def discover(self) -> None:
        """Look. Blocks for a moment; raises `OSError`, `ResponseError` or `NotThere`."""

    def of(self, tag: str) -> Server:
        """The server that holds a tag; raises `RedisError` if none is known to."""

    def servers(self) -> list[Server]:
        """All that hold something."""


class OneServer:
    """The address is the place."""

    def __init__(self, address: Address) -> None:
        self._server = address.servers[0]

    def discover(self) -> None:
        return

    def of(self, tag: str) -> Server:
        return self._server

    def servers(self) -> list[Server]:
        return [self._server]


class MasterOfSentinel:
    """Whoever is master now."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._with_login = msgspec.structs.replace(address, db=0)
        self._without_login = msgspec.structs.replace(self._with_login, username=None, password=None)
        self._master: Server | None = None

    def discover(self) -> None:
        name = self._address.master
        command = ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        try:
            server, answer = _first_answer(self._with_login, command)
        except ResponseError:
            # The login is the master's, and most Sentinels have none.
            server, answer = _first_answer(self._without_login, command)
        if isinstance(answer, ResponseError):
            raise _told(answer, f"{server} is no Sentinel")
        if not answer:
            raise NotThere(f"the Sentinel at {server} knows no master {name!r}")
        host, port = answer
        self._master = Server(host.decode(), int(port))

    def of(self, tag: str) -> Server:
        if self._master is None:
            raise NotThere(f"no Sentinel has told where {self._address.master!r} is")
        return self._master

    def servers(self) -> list[Server]:
        return [self._master] if self._master else []


class ClusterSlots:
    """The slots as the cluster tells them. Only some dozens matter: those of the partitions."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._ranges: list[tuple[int, int, Server]] = []

    def discover(self) -> None:
        known = {*self._address.servers, *self.servers()}
        asked = msgspec.structs.replace(self._address, servers=tuple(sorted(known)))
        server, answer = _first_answer(asked, ("CLUSTER", "SLOTS"))
        if isinstance(answer, ResponseError):
            raise _told(answer, f"{server} is not of a cluster")
        # An empty name means: the server that was asked.
        self._ranges = [
            (first, last, Server((main[0] or b"").decode() or server.host, main[1])) for first, last, main, *_ in answer
        ]

    def of(self, tag: str) -> Server:
        slot = key_slot(tag.encode())
        for first, last, server in self._ranges:
            if first <= slot <= last:
                return server
        raise NotThere(f"no server of the cluster is known to hold slot {slot}")

    def servers(self) -> list[Server]:
        return sorted({server for _, _, server in self._ranges})


def _first_answer(address: Address, command: Command) -> tuple[Server, Any]:
    """Ask one server after the other; whose answer it was, too."""
    trouble: Exception = NotThere("the address names no server")
    for server in address.servers:
        try:
            return server, _only(ask_once(server, address, [command], SEEK_SECONDS))
        except (OSError, RedisError) as error:
            trouble = error
    raise trouble


def _told(error: ResponseError, otherwise: str) -> RedisError:
    """What a server's refusal means: with a word of its own (LOADING, NOAUTH), what it says."""
    return NotThere(f"{otherwise} ({error})") if str(error).startswith("ERR") else error


def _only(answers: Sequence[Any]) -> Any:
    (answer,) = answers
    return answer


def places_of(address: Address) -> Places:
    """How to find the servers of an address."""
    match address.kind:
        case "cluster":
            return ClusterSlots(address)
        case "sentinel":
            return MasterOfSentinel(address)
        case _:
            return OneServer(address)
