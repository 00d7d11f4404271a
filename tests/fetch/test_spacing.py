"""Requests of one process to one domain or address leave one after the other."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.spacing import MIN_KEPT, RequestSpacing
from lycosa.policy.politeness import Pace
from lycosa.settings import Settings

from .rawweb import RawWeb, page

GAP = 0.05


class OnePlace(Resolver):
    """Every name leads to one address."""

    def __init__(self) -> None:
        super().__init__([])

    async def addresses(self, host: str) -> tuple[str, ...]:
        return ("127.0.0.1",)


def spacing_of(pace: Pace) -> RequestSpacing:
    return RequestSpacing(domain_gap_seconds=pace.domain_gap_seconds, address_gap_seconds=pace.address_gap_seconds)


SISTERS = ["h1.a.test", "h2.a.test", "h3.a.test"]
NEIGHBOURS = ["h1.test", "h2.test", "h3.test"]


@pytest.mark.parametrize(
    ("hosts", "pace"),
    [
        (SISTERS, Pace(min_delay_seconds=GAP, ip_delay_seconds=0.0)),
        (NEIGHBOURS, Pace(min_delay_seconds=GAP, domain_delay_seconds=0.0)),
    ],
)
async def test_requests_at_once_leave_one_after_the_other(web: RawWeb, hosts: list[str], pace: Pace) -> None:
    web.answers["/"] = page(b"hello")
    port = web.url("/").rpartition(":")[2].rstrip("/")
    fetcher = CurlFetcher(Settings(), OnePlace(), AddressGate(["127.0.0.0/8"]), spacing=spacing_of(pace))
    responses = await asyncio.gather(*(fetcher.fetch(f"http://{host}:{port}/") for host in hosts))
    await fetcher.close()
    at = sorted(response.started_at for response in responses)
    assert all(second - first >= GAP for first, second in pairwise(at))


async def test_others_need_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    spacing = spacing_of(Pace(min_delay_seconds=3600.0))
    for number in range(3):
        await spacing.wait(f"h{number}.test", f"192.0.2.{number}")
        spacing.note(f"h{number}.test", f"192.0.2.{number}")


def test_whoever_waits_for_no_host_needs_no_spacing() -> None:
    assert not spacing_of(Pace(min_delay_seconds=0.0)).is_wanted
    assert not spacing_of(Pace(ip_delay_seconds=0.0, domain_delay_seconds=0.0)).is_wanted
    assert spacing_of(Pace(domain_delay_seconds=0.0)).is_wanted


def test_what_was_asked_long_ago_is_forgotten() -> None:
    spacing = spacing_of(Pace(min_delay_seconds=1e-9))
    for number in range(2 * MIN_KEPT):
        spacing.note(f"h{number}", f"address{number}")
    assert len(spacing._free_at) <= MIN_KEPT
