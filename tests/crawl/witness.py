"""A simulated web in its own process, and a witness who hears of every request in the moment it ends.

The log goes through a pipe, so that a test can act after the k-th request without ever polling or sleeping.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from lycosa.simweb import LoggedRequest, SimWebProcess, Truth, WebPlan

from .command import HANG_SECONDS


class WitnessedWeb:
    """`with WitnessedWeb(plan, folder) as web: ...`: the web of a plan, and its requests as they end."""

    def __init__(self, plan: WebPlan, folder: Path) -> None:
        self._pipe = folder / "requests.pipe"
        os.mkfifo(self._pipe)
        self._web = SimWebProcess(plan, log_file=self._pipe)
        self._heard: list[LoggedRequest] = []
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._listener.start()
        self._web.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._web.__exit__(kind, error, trace)
        self._listener.join(HANG_SECONDS)

    @property
    def plan(self) -> WebPlan:
        return self._web.plan

    @property
    def dns_address(self) -> str:
        return self._web.dns_address

    @property
    def seeds(self) -> tuple[str, ...]:
        return self._web.seeds

    @property
    def origin_port(self) -> int:
        return self._web.port

    def truth(self) -> Truth:
        return self._web.truth()

    @property
    def requests(self) -> list[LoggedRequest]:
        """Every request that ended so far, in the order of arrival."""
        with self._news:
            return sorted(self._heard, key=lambda request: request.arrived_at)

    def wait_for(self, happened: Callable[[list[LoggedRequest]], bool]) -> None:
        """Return as soon as the requests so far make this true."""
        with self._news:
            assert self._news.wait_for(lambda: happened(self._heard), HANG_SECONDS), (
                f"it has not happened after {HANG_SECONDS:g} s and {len(self._heard)} requests"
            )

    def wait_for_requests(self, count: int) -> None:
        """Return as soon as this many requests have ended."""
        self.wait_for(lambda heard: len(heard) >= count)

    def _listen(self) -> None:
        decode = msgspec.json.Decoder(LoggedRequest).decode
        with self._pipe.open("rb") as lines:
            for line in lines:
                with self._news:
                    self._heard.append(decode(line))
                    self._news.notify_all()
