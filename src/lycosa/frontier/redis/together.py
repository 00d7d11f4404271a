"""Commands of many callers in one round trip: what is asked for while one is under way travels together after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lycosa.errors import BackendLost
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.wire import Command

Request = tuple[str, Sequence[Command]]  # the tag that all its keys have, and the commands


async def ask_together(connection: Connection, requests: Sequence[Request], *, durable: bool) -> list[list[Any]]:
    """The answers to each request: from one server in one go, from a cluster all at the same time."""
    if not requests:
        return []
    if connection.address.kind == "cluster":
        asked = (connection.commands(tag, commands, durable=durable) for tag, commands in requests)
        return list(await asyncio.gather(*asked))
    flat = [command for _, commands in requests for command in commands]
    answers = iter(await connection.commands(requests[0][0], flat, durable=durable))
    return [[next(answers) for _ in commands] for _, commands in requests]


class Gatherer:
    """Asks for callers who do not know of each other."""

    def __init__(self, connection: Connection, *, durable: bool) -> None:
        self._connection = connection
        self._durable = durable
        self._waiting: list[tuple[Request, asyncio.Future[list[Any]]]] = []
        self._running: asyncio.Task[None] | None = None

    async def ask(self, tag: str, *commands: Command) -> list[Any]:
        """The answers to these commands."""
        answers: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(((tag, commands), answers))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answers

    async def _run(self) -> None:
        # Once around the loop: what is asked for in the same turn goes along.
        await asyncio.sleep(0)
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                await self._run_once(waiting)
        finally:
            self._running = None

    async def _run_once(self, waiting: Sequence[tuple[Request, asyncio.Future[list[Any]]]]) -> None:
        try:
            found = await ask_together(self._connection, [request for request, _ in waiting], durable=self._durable)
        except BaseException as error:
            # Whatever it was: nobody must wait for an answer that cannot come.
            for _, answers in waiting:
                if not answers.done():
                    answers.set_exception(error if isinstance(error, BackendLost) else BackendLost(repr(error)))
                    answers.exception()  # heard, also where nobody is left to hear it
            if not isinstance(error, BackendLost):
                raise
            return
        for (_, answers), some in zip(waiting, found, strict=True):
            if not answers.done():
                answers.set_result(some)
