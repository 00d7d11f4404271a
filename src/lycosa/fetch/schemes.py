"""Who fetches what, by the scheme of its URL. What nobody is registered for is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lycosa.errors import PlaceRefused
from lycosa.fetch.curl import CurlFetcher
from lycosa.model import Refusal, RequestParts, Response


class SchemeFetcher(Protocol):
    """Fetches URLs of one scheme, as `ports.Fetcher` does."""

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response: ...

    async def close(self) -> None: ...


class FetcherRegistry:
    """A fetcher for each scheme (`ports.Fetcher`); hosts and addresses are the affair of that for the web."""

    def __init__(self, network: CurlFetcher, others: Mapping[str, SchemeFetcher]) -> None:
        self._network = network
        self._fetchers: dict[str, SchemeFetcher] = {"http": network, "https": network, **others}

    @property
    def is_cut_off(self) -> bool:
        return self._network.is_cut_off

    def is_still_at(self, host: str, address: str) -> bool:
        return self._network.is_still_at(host, address)

    async def address_of(self, host: str, usual: str) -> str:
        return await self._network.address_of(host, usual)

    def look_again(self, host: str) -> None:
        self._network.look_again(host)

    def hold(self, size_bytes: int) -> None:
        self._network.hold(size_bytes)

    async def prefetch(self, hosts: Sequence[str]) -> None:
        await self._network.prefetch(hosts)

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """By whoever is registered for its scheme; raises `VisitError` or `NoNetwork`."""
        scheme = url.partition(":")[0]
        if (fetcher := self._fetchers.get(scheme)) is None:
            raise PlaceRefused(Refusal.SCHEME, scheme)
        return await fetcher.fetch(url, address=address, headers=headers, max_body_bytes=max_body_bytes, parts=parts)

    async def close(self) -> None:
        for fetcher in {id(each): each for each in self._fetchers.values()}.values():
            await fetcher.close()
