"""Work of many callers in rounds: what is asked for while one is under way, and a moment longer, goes together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from lycosa.errors import BackendLost

Q = TypeVar("Q")
A = TypeVar("A")


class Gathering(Generic[Q, A]):
    """Asks for callers who do not know of each other; rounds begin at least `pause_seconds` apart.

    `carry_out` gives an answer for each question. What it raises is raised to all of its round, and to no other.
    """

    def __init__(self, carry_out: Callable[[list[Q]], Awaitable[Sequence[A]]], pause_seconds: float = 0.0) -> None:
        self._carry_out = carry_out
        self._pause_seconds = pause_seconds
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._running: asyncio.Task[None] | None = None
        self._began_at = float("-inf")

    async def ask(self, question: Q) -> A:
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        # Of its own: whoever is not interested any more must not end the round for others.
        return await answer

    async def finish(self) -> None:
        """Wait for what is under way."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                # Once around the loop at least: what is asked for in the same turn goes along.
                await asyncio.sleep(self._began_at + self._pause_seconds - loop.time())
                self._began_at = loop.time()
                waiting, self._waiting = self._waiting, []
                await self._round(waiting)
        finally:
            # No await since nobody was found to wait: else somebody might, for nobody.
            self._running = None

    async def _round(self, waiting: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            found = await self._carry_out([question for question, _ in waiting])
        except BaseException as error:
            # Whatever it was: nobody must wait for an answer that cannot come.
            for _, answer in waiting:
                if not answer.done():
                    answer.set_exception(error if isinstance(error, Exception) else BackendLost(repr(error)))
                    answer.exception()  # heard, also where nobody is left to hear it
            if not isinstance(error, Exception):
                raise
            return
        for (_, answer), told in zip(waiting, found, strict=True):
            if not answer.done():
                answer.set_result(told)
