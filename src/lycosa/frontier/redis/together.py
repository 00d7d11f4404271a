"""Commands of many callers in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lycosa.frontier.gathering import Gathering
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.wire import Command

Request = tuple[str, Sequence[Command]]  # the tag that all its keys have, and the commands


async def ask_together(connection: Connection, requests: Sequence[Request]) -> list[list[Any]]:
    """The answers to each request: from one server in one go, from a cluster all at the same time."""
    if not requests:
        return []
    if connection.address.kind == "cluster":
        asked = (connection.commands(tag, commands, durable=False) for tag, commands in requests)
        return list(await asyncio.gather(*asked))
    flat = [command for _, commands in requests for command in commands]
    answers = iter(await connection.commands(requests[0][0], flat, durable=False))
    return [[next(answers) for _ in commands] for _, commands in requests]


def gathering(connection: Connection) -> Gathering[Request, list[Any]]:
    """For callers who do not know of each other: what they ask while others do travels together."""
    return Gathering(lambda requests: ask_together(connection, requests))
