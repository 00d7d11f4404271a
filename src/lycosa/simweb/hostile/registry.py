"""Behaviours by name: what each does in one sentence, and which part of the specification it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..server import Behaviour, ServedExchange


class Hostile(NamedTuple):
    """A named behaviour; `part` is T, M, P, R or S."""

    name: str
    part: str
    says: str
    behave: Behaviour


BEHAVIOURS: dict[str, Hostile] = {}


def hostile(part: str) -> Callable[[Behaviour], Behaviour]:
    """Register a coroutine under its own name, with dashes, and its docstring."""

    def register(behave: Behaviour) -> Behaviour:
        name = str(getattr(behave, "__name__", "")).replace("_", "-")
        assert name not in BEHAVIOURS, f"two behaviours are called {name}"
        assert behave.__doc__, f"{name} does not say what it does"
        BEHAVIOURS[name] = Hostile(name, part, behave.__doc__.strip(), behave)
        return behave

    return register


def answers(part: str, name: str, says: str, data: bytes | Callable[[], bytes]) -> None:
    """Register a behaviour that sends these bytes and closes; megabytes are made when they are first asked for."""

    async def behave(exchange: ServedExchange) -> None:
        exchange.send(data() if callable(data) else data)
        await exchange.drain()
        exchange.close()

    assert name not in BEHAVIOURS, f"two behaviours are called {name}"
    BEHAVIOURS[name] = Hostile(name, part, says, behave)
