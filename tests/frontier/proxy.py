"""Stands between a client and a Redis server, and does on command what networks do: cuts, delays, swallows, refuses.

It reads the protocol, so that a test can say at which request or answer something happens, and nothing is left to time.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

START_SECONDS = 10.0
_LINE_END = b"\r\n"


class Proxy:
    """A port of its own in front of a server, served by a thread of its own."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._server = (host, port)
        self.port = 0
        # Since the beginning, by their first word.
        self.requests: list[str] = []
        self.answer_delay_seconds = 0.0
        self.is_black_hole = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listener: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._rules: list[_Rule] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        self._do(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)
        self._loop.close()

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    # ---- what may be commanded

    def cut_before_request(self, word: str, nth: int = 1) -> None:
        """The n-th request of this name from now on does not arrive: the connection is cut instead."""
        self._rules.append(_Rule(word, nth, "cut request"))

    def cut_before_answer(self, word: str, nth: int = 1) -> None:
        """The n-th request of this name from now on is carried out, but its answer does not arrive."""
        self._rules.append(_Rule(word, nth, "cut answer"))

    def hold_request(self, word: str, nth: int = 1) -> Held:
        """The n-th request of this name from now on stays on its way until it is released, whatever its sender does."""
        rule = _Rule(word, nth, "hold request")
        self._rules.append(rule)
        return Held(rule, lambda: self._loop.call_soon_threadsafe(rule.may_go.set))

    def cut_all(self) -> None:
        """Cut every connection there is."""
        self._do(self._cut_all())

    def refuse(self) -> None:
        """Cut every connection, and let nobody connect."""
        self._do(self._stop_listening())

    def accept(self) -> None:
        """Let everybody connect."""
        self._do(self._listen())

    def lead_to(self, port: int) -> None:
        """Cut every connection, and lead whoever comes again to another server."""
        self._server = (self._server[0], port)
        self.cut_all()

    # ---- in the thread

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(START_SECONDS)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        if self._listener:
            self._listener.close()
            self._listener = None
        await self._cut_all()

    async def _cut_all(self) -> None:
        for connection in list(self._connections):
            connection.cut()

    async def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection(*self._server)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(self, (reader, writer), server)
        self._connections.add(connection)
        # Cancelled at the end: the library would complain of that.
        with suppress(asyncio.CancelledError):
            await connection.carry()
        self._connections.discard(connection)

    def rule_for(self, word: str, action: str) -> _Rule | None:
        """The rule that this request or answer meets, if any."""
        for rule in self._rules:
            if rule.action.endswith(action) and rule.word in (word, "*"):
                rule.nth -= 1
                if rule.nth == 0:
                    self._rules.remove(rule)
                    return rule
        return None


class _Rule:
    def __init__(self, word: str, nth: int, action: str) -> None:
        self.word = word
        self.nth = nth
        self.action = action
        self.is_met = threading.Event()
        self.may_go = asyncio.Event()
        self.has_arrived = threading.Event()


class Held:
    """A request that is on its way."""

    def __init__(self, rule: _Rule, release: Callable[[], object]) -> None:
        self._rule = rule
        self._release = release

    @property
    def is_under_way(self) -> bool:
        return self._rule.is_met.is_set()

    def release(self) -> None:
        """Deliver it, and return when the server has answered."""
        self._release()
        assert self._rule.has_arrived.wait(START_SECONDS)


class _Connection:
    """One client and its way to the server."""

    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_server, self._to_server = server
        self._asked: deque[tuple[str, _Rule | None]] = deque()

    def cut(self) -> None:
        self._to_client.transport.abort()
        self._to_server.transport.abort()

    async def carry(self) -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(self._carry_requests())
            both.create_task(self._carry_answers())

    async def _carry_requests(self) -> None:
        async for message in _messages(self._from_client):
            word = _first_word(message)
            self._proxy.requests.append(word)
            rule = self._proxy.rule_for(word, "request")
            if rule and rule.action == "cut request":
                self.cut()
                return
            if rule:
                rule.is_met.set()
                await rule.may_go.wait()
            await self._sunk()
            self._asked.append((word, rule))
            self._to_server.write(message)
        if not self._to_server.is_closing():
            self._to_server.write_eof()

    async def _carry_answers(self) -> None:
        async for message in _messages(self._from_server):
            word, held = self._asked.popleft()
            if self._proxy.rule_for(word, "answer"):
                self.cut()
                return
            await asyncio.sleep(self._proxy.answer_delay_seconds)
            await self._sunk()
            self._to_client.write(message)
            if held:
                held.has_arrived.set()
        self.cut()

    async def _sunk(self) -> None:
        """Nothing comes out of a black hole."""
        while self._proxy.is_black_hole:
            await asyncio.sleep(0.01)


async def _messages(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole requests or answers, as bytes."""
    buffer = b""
    with suppress(OSError):
        while raw := await reader.read(1 << 16):
            buffer += raw
            while end := _end_of_message(buffer, 0):
                yield buffer[:end]
                buffer = buffer[end:]


def _end_of_message(buffer: bytes, start: int) -> int:
    """Where the message that begins here ends; 0 if it is not whole yet."""
    line_end = buffer.find(_LINE_END, start)
    if line_end < 0:
        return 0
    kind, end = buffer[start : start + 1], line_end + 2
    if kind == b"$" and (size := int(buffer[start + 1 : line_end])) >= 0:
        end += size + 2
    elif kind == b"*":
        for _ in range(int(buffer[start + 1 : line_end])):
            if not (end := _end_of_message(buffer, end)):
                return 0
    return end if end <= len(buffer) else 0


def _first_word(message: bytes) -> str:
    return message.split(_LINE_END)[2].decode().upper() if message.startswith(b"*") else ""
