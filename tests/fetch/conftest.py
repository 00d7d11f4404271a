"""A web of raw bytes and a fetcher with short limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.settings import Settings

from .certificate import make_certificate
from .rawweb import RawWeb

SHORT: dict[str, Any] = {"connect_seconds": 5.0, "first_byte_seconds": 5.0, "idle_seconds": 5.0, "fetch_seconds": 10.0}


class MakeFetcher(Protocol):
    def __call__(self, ca_file: str = "", **changes: Any) -> CurlFetcher: ...


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of its own for 127.0.0.1, with its key in the same file."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def web() -> AsyncIterator[RawWeb]:
    web = RawWeb()
    await web.start()
    yield web
    web.close()


@pytest.fixture
async def make_fetcher() -> AsyncIterator[MakeFetcher]:
    made: list[CurlFetcher] = []

    def make(ca_file: str = "", **changes: Any) -> CurlFetcher:
        settings = Settings(**{"open_networks": ["127.0.0.0/8"], **SHORT, **changes})
        gate = AddressGate(settings.open_networks)
        made.append(CurlFetcher(settings, Resolver(settings.dns_servers), gate, ca_file=ca_file, sweep_seconds=0.02))
        return made[-1]

    yield make
    for fetcher in made:
        await fetcher.close()


@pytest.fixture
def fetcher(make_fetcher: MakeFetcher) -> CurlFetcher:
    return make_fetcher()
