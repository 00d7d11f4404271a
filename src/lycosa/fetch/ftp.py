"""FTP by libcurl, a thread for each transfer: few crawls meet any. Anonymous, passive, within the limits of a page.

Both connections, for commands and for data, go to addresses that the gate has permitted, at the socket; where a server
says that its data is elsewhere, nobody listens.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic
from typing import Any
from urllib.parse import unquote_to_bytes

import pycurl

from lycosa.errors import AddressRefused, Shortage, Unreachable, VisitError
from lycosa.fetch.curl import CurlFetcher, LentSocket
from lycosa.fetch.errors import trouble_of
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.listings import LISTING_TYPE, listed_by_server, listing_page, split_listing_url
from lycosa.fetch.plain import plain_response, type_of
from lycosa.fetch.spacing import RequestSpacing
from lycosa.model import Failure, RequestParts, Response, origin_of
from lycosa.settings import Settings
from lycosa.site_rules import SiteTable, host_of

MAX_TRANSFERS = 8
# What a reply means, by its number: no such file, who are you, come later.
_MISSING, _NOT_YOU, _LATER = (550, 551, 553), (530, 532), range(400, 500)


class FtpFetcher:
    """Fetches files, and folders as pages of links. Where names lead is asked of the fetcher for the web."""

    def __init__(
        self,
        settings: Settings,
        network: CurlFetcher,
        gate: AddressGate,
        spacing: RequestSpacing | None,
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._network = network
        self._gate = gate
        self._spacing = spacing
        self._clock = clock
        self._sites = SiteTable(settings.site)
        self._threads = ThreadPoolExecutor(MAX_TRANSFERS, thread_name_prefix="ftp")
        self._places = asyncio.Semaphore(MAX_TRANSFERS)
        self._closing = Event()

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """One file, or one page of a listing; raises `VisitError` or `NoNetwork`."""
        host = host_of(url)
        if self._sites.of(url).proxy:
            # Past the proxy its operator would be seen.
            raise VisitError(Failure.PROTOCOL, "ftp goes by no proxy", sent=False)
        address = await self._network.address_of(host, address)
        async with self._places:
            if self._spacing:
                await self._spacing.wait(host, address)
                self._spacing.note(host, address)
            max_bytes = max_body_bytes or self._settings.max_body_bytes
            transfer = _Transfer(url, address, self._settings, self._gate, max_bytes, self._closing)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, transfer.run, self._clock)
            except asyncio.CancelledError:
                transfer.is_left = True
                raise

    async def close(self) -> None:
        """End every transfer under way."""
        self._closing.set()
        await asyncio.to_thread(self._threads.shutdown)


class _Transfer:
    """One transfer, in a thread of its own."""

    def __init__(
        self, url: str, address: str, settings: Settings, gate: AddressGate, max_bytes: int, closing: Event
    ) -> None:
        self.is_left = False
        self._url = url
        self._place, self._page = split_listing_url(url)
        self._path = self._place[len(origin_of(self._place)) :]
        self._address = address
        self._settings = settings
        self._gate = gate
        self._closing = closing
        self._max_bytes = self._room = max_bytes
        self._chunks: list[bytes] = []
        self._closed_address = ""
        self._lack = ""

    def run(self, clock: Callable[[], float]) -> Response:
        """The file or listing; raises `VisitError`."""
        if any(byte < 0x20 or byte == 0x7F for byte in unquote_to_bytes(self._path)):
            raise VisitError(Failure.PROTOCOL, "a control character would be a command", sent=False)
        easy, began, trouble = self._easy(), monotonic(), None
        began_at = clock()
        try:
            easy.perform()
        except pycurl.error as error:
            trouble = error.args
        try:
            return self._response(easy, trouble, began_at, monotonic() - began)
        finally:
            easy.close()

    def _easy(self) -> pycurl.Curl:
        settings, easy = self._settings, pycurl.Curl()
        options: dict[int, Any] = {
            # In a path libcurl reads `;type=` as a wish.
            pycurl.URL: self._place.replace(";", "%3B"),
            pycurl.NOSIGNAL: 1,
            pycurl.PROTOCOLS: pycurl.PROTO_FTP,
            pycurl.NETRC: pycurl.NETRC_IGNORED,
            pycurl.PROXY: "",
            pycurl.NOPROXY: "",
            pycurl.USERNAME: "anonymous",
            pycurl.PASSWORD: settings.user_agent,  # by custom, who asks
            pycurl.CONNECT_TO: [f"::[{self._address}]:" if ":" in self._address else f"::{self._address}:"],
            pycurl.FTP_SKIP_PASV_IP: 1,
            pycurl.FTP_FILEMETHOD: pycurl.FTPMETHOD_SINGLECWD,
            pycurl.OPENSOCKETFUNCTION: self._open_socket,
            pycurl.WRITEFUNCTION: self._write,
            pycurl.NOPROGRESS: 0,
            pycurl.XFERINFOFUNCTION: self._go_on,
            pycurl.FORBID_REUSE: 1,
            pycurl.CONNECTTIMEOUT_MS: _milliseconds(settings.connect_seconds),
            pycurl.TIMEOUT_MS: _milliseconds(settings.fetch_seconds),
            pycurl.FTP_RESPONSE_TIMEOUT: max(1, round(settings.first_byte_seconds)),
            pycurl.LOW_SPEED_LIMIT: max(1, settings.min_bytes_per_second),
            pycurl.LOW_SPEED_TIME: max(1, round(settings.idle_seconds)),
        }
        for option, value in options.items():
            easy.setopt(option, value)
        return easy

    def _open_socket(self, _purpose: int, peer: Any) -> LentSocket | int:
        address = peer.addr[0]
        text = address.decode("ascii", "replace") if isinstance(address, bytes) else address
        if peer.family not in (socket.AF_INET, socket.AF_INET6) or not self._gate.permits(text):
            self._closed_address = text
            return int(pycurl.SOCKET_BAD)
        try:
            return LentSocket(peer.family, peer.socktype, peer.protocol)
        except OSError as error:
            self._lack = str(error)
            return int(pycurl.SOCKET_BAD)

    def _write(self, data: bytes) -> int | None:
        self._chunks.append(data)
        self._room -= len(data)
        return None if self._room >= 0 else 0

    def _go_on(self, *_figures: object) -> int:
        return int(self.is_left or self._closing.is_set())

    def _response(self, easy: pycurl.Curl, trouble: Any, began_at: float, seconds: float) -> Response:
        if self._lack:
            raise Shortage(f"no socket can be opened: {self._lack}")
        if self._closed_address:
            raise AddressRefused(Failure.ADDRESS, self._closed_address, sent=False)
        headers: list[tuple[str, str]] = []
        body, truncated = b"".join(self._chunks)[: self._max_bytes], ""
        if trouble and (status := self._status(easy.getinfo(pycurl.RESPONSE_CODE))) and not body:
            if status == 404 and self._may_be_folder:
                status, headers = 301, [("location", f"{self._place}/")]
        else:
            status, truncated = 200, self._truncation(easy, trouble)
            headers = [("content-type", type_of(self._path))]
            if self._path.endswith("/"):
                body, headers = self._listing(body), [("content-type", LISTING_TYPE)]
        return plain_response(
            self._url,
            "ftp",
            status,
            began_at,
            seconds,
            headers=headers,
            body=body,
            address=self._address,
            truncated=truncated,
            connect_seconds=easy.getinfo(pycurl.CONNECT_TIME),
        )

    def _listing(self, told: bytes) -> bytes:
        return listing_page(self._path, listed_by_server(told), self._page)

    @property
    def _may_be_folder(self) -> bool:
        """Whether what is no file may be a folder whose slash somebody forgot."""
        last = self._path.rpartition("/")[2]
        return bool(last) and "." not in last

    @staticmethod
    def _status(reply: int) -> int:
        """What a reply would be in HTTP; 0 if it is no refusal."""
        if reply in _MISSING:
            return 404
        if reply in _NOT_YOU:
            return 403
        return 503 if reply in _LATER else 0

    def _truncation(self, easy: pycurl.Curl, trouble: Any) -> str:
        """Why what came is not whole, or an empty string; raises `Unreachable` when there is nothing to keep."""
        if self._room < 0:
            return "length"
        if not trouble:
            return ""
        is_connected = easy.getinfo(pycurl.CONNECT_TIME) > 0
        told = trouble_of(*trouble, is_connected=is_connected, number=easy.getinfo(pycurl.OS_ERRNO))
        if not self._chunks:
            raise Unreachable(told.reason, told.detail, sent=told.sent)
        return "time" if told.reason is Failure.TIMEOUT else "disconnect"


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
