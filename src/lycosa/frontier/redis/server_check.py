"""What a server's own settings mean for a crawl: looked at once, at the start."""

from __future__ import annotations

from typing import Any

import msgspec
from redis.exceptions import ResponseError

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.redis.address import Server
from lycosa.frontier.redis.connection import TROUBLE, Connection

MIN_VERSION = (7, 0)
_WANTED = ("appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "set-max-intset-entries")
# Buckets of known URLs grow to this; beyond the server's limit each URL costs ten times as much.
_BUCKET_ENTRIES = 512


class Condition(msgspec.Struct, frozen=True):
    """One server as it is set up."""

    server: str
    version: tuple[int, int]
    replicas: int
    settings: dict[str, str]  # empty if the server does not tell


async def examine(connection: Connection) -> list[str]:
    """See that the servers will do, and how many replicas confirm a write. Returns what they could lose, and when."""
    found = await conditions(connection)
    for condition in found:
        refuse_what_cannot_work(condition)
    replicas = connection.address.replicas
    fewest = min((condition.replicas for condition in found), default=1)
    connection.replicas = min(1, fewest) if replicas is None else replicas
    return [sentence for condition in found for sentence in warnings(condition)]


async def conditions(connection: Connection) -> list[Condition]:
    """How the servers of a frontier are set up. They must answer now: nothing has begun that could wait."""
    try:
        return [await _condition(connection, server) for server in await connection.servers()]
    except TROUBLE as error:
        raise BackendLost(f"{connection.address} cannot be reached: {error}") from error


async def _condition(connection: Connection, server: Server) -> Condition:
    info, told = await connection.ask_server(server, [("INFO",), ("CONFIG", "GET", *_WANTED)])
    if isinstance(info, ResponseError):
        raise info
    facts = dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)
    major, minor, *_ = facts["redis_version"].split(".")
    return Condition(str(server), (int(major), int(minor)), int(facts["connected_slaves"]), _settings(told))


def _settings(told: Any) -> dict[str, str]:
    if isinstance(told, ResponseError):
        return {}
    names, values = told[::2], told[1::2]
    return {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}


def refuse_what_cannot_work(condition: Condition) -> None:
    """Raise `SettingsError` where a crawl would be damaged for certain."""
    if condition.version < MIN_VERSION:
        raise SettingsError(f"frontier: {condition.server} is version {condition.version}; 7.0 or later is needed")
    policy = condition.settings.get("maxmemory-policy", "noeviction")
    if policy != "noeviction" and condition.settings.get("maxmemory") != "0":
        raise SettingsError(
            f"frontier: {condition.server} throws data away when it is full (maxmemory-policy {policy}); "
            "a crawl needs noeviction"
        )


def warnings(condition: Condition) -> list[str]:
    """Sentences about what this server could lose, and when."""
    settings, name = condition.settings, condition.server
    if not settings:
        return [f"{name} does not tell its settings (CONFIG GET): whether it could lose data is not known"]
    found = []
    if settings["appendonly"] != "yes" and condition.replicas:
        found.append(
            f"{name} keeps nothing on disk (appendonly no): if it restarts before it is replaced, it comes back empty "
            "and its replicas with it; set appendonly yes"
        )
    elif settings["appendonly"] != "yes":
        found.append(
            f"{name} keeps the crawl in memory only (appendonly no): a restart of it loses "
            + ("what came after the last snapshot" if settings["save"] else "everything")
            + "; set appendonly yes and appendfsync always"
        )
    elif settings["appendfsync"] != "always" and not condition.replicas:
        found.append(
            f"{name} writes to disk later than it answers (appendfsync {settings['appendfsync']}): a power cut loses "
            "a second or more of acknowledged work; set appendfsync always, or add a replica"
        )
    if settings["maxmemory-policy"] != "noeviction":
        found.append(f"{name} would throw data away if maxmemory were set (maxmemory-policy): set noeviction")
    if int(settings["set-max-intset-entries"]) < _BUCKET_ENTRIES:
        found.append(f"{name} has set-max-intset-entries under {_BUCKET_ENTRIES}: known URLs take ten times the memory")
    return found
