"""What an operator may want of a crawl, while it runs or before it goes on: orders, each obeyed once and recorded.

Only the values. `crawl/orders.py` brings them to a crawl; what they mean for it stands in `frontier/obeying.py`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MIN_FAVOUR, MAX_FAVOUR = -9, 9
_Rate = Annotated[float, Meta(ge=0, le=1e9)]


class SetPolicy(msgspec.Struct, frozen=True, tag="policy", omit_defaults=True):
    """How one host is treated from now on. What is None stays as it is; what is nothing is taken back."""

    host: str
    delay_seconds: _Rate | None = None  # between two requests, if that is longer than what politeness asks for
    pages_per_day: _Rate | None = None  # at most
    # By how many classes what is queued there goes before (or behind) what others have in its class.
    priority: Annotated[int, Meta(ge=MIN_FAVOUR, le=MAX_FAVOUR)] | None = None
    is_blocked: bool | None = None  # nothing is asked for; what is queued stays queued


class PauseCrawl(msgspec.Struct, frozen=True, tag="pause", omit_defaults=True):
    """Nothing new is begun, in this run and in those to come, until `ResumeCrawl`."""

    reason: str = ""


class ResumeCrawl(msgspec.Struct, frozen=True, tag="resume"):
    """Go on."""


class AddSeeds(msgspec.Struct, frozen=True, tag="seeds"):
    """These are visited like seeds."""

    urls: Annotated[list[str], Meta(min_length=1, max_length=10_000)]


class Pardon(msgspec.Struct, frozen=True, tag="pardon"):
    """What was refused on a host as a part without an end, or as worth nothing, is visited after all."""

    host: str


Order = SetPolicy | PauseCrawl | ResumeCrawl | AddSeeds | Pardon


class Given(msgspec.Struct, frozen=True):
    """An order on its way. Its id stands for the moment and is never used twice."""

    id: str
    at: float
    order: Order
    by: str = ""


class Obeyed(msgspec.Struct, frozen=True):
    """An order that was carried out, and what came of it."""

    given: Given
    at: float
    result: str


def order_of(values: object) -> Order:
    """An order from plain values, as a program or a page sends them. Raises `msgspec.ValidationError`."""
    order: Order = msgspec.convert(values, Order)
    return order
