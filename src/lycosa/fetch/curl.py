"""One HTTP exchange at a time per slot, many slots at once, over libcurl.

Every byte that leaves goes to an address the gate has permitted, twice: when the name is resolved and when the
socket is opened; a proxy is asked for no other. Redirects are answers. No cookies, credentials or proxies but those
that the operator has set for a site.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pycurl

from lycosa.errors import AddressRefused, Shortage, Unreachable, VisitError
from lycosa.fetch.body_budget import BodyBudget
from lycosa.fetch.coding import content_codings, decode
from lycosa.fetch.connectivity import Connectivity
from lycosa.fetch.dns import Resolver, literal_address
from lycosa.fetch.errors import CurlTrouble, trouble_of
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.head import Authority, HeadLimits, ResponseHead, read_head, request_head, split_url
from lycosa.fetch.idle import IdleConnections, Place
from lycosa.fetch.multi import Multi
from lycosa.fetch.site_requests import RequestLines, SiteRequests
from lycosa.fetch.spacing import RequestSpacing
from lycosa.model import Failure, RequestParts, Response
from lycosa.settings import Settings
from lycosa.site_rules import Proxy, any_origin

# A body comes in as few reads as possible; libcurl has one such buffer per multi handle, not per transfer.
BUFFER_BYTES = 256 * 1024
# A host with a dead address is tried at one more.
MAX_ADDRESSES = 2
SPEED_WINDOW_SECONDS = 10.0
# Open requests of a fetcher whose settings leave their number to the machine, if nobody asked that.
USUAL_CONNECTIONS = 512
# Bodies this long are decoded one in a turn of the loop, and read in the same turn: a hundred at once would fill the
# memory, and keep answers of name servers waiting until they are too late. While the budget is used up by what came
# before, all bodies wait as they came: decoded and read they are ten times as large.
LONG_BODY_BYTES = 32 * 1024
# Many servers close a kept connection after five seconds. When one closes just as we ask, the visit has failed, and
# whether the request was read nobody knows: connections that old are not used.
MAX_IDLE_CONNECTION_SECONDS = 4


class _Request(NamedTuple):
    url: str
    where: Authority
    lines: RequestLines
    max_bytes: int
    task: asyncio.Task[Any]  # that asks
    proxy: Proxy | None = None  # with an address in place of its name
    method: str = "GET"
    body: bytes = b""


class _Slot:
    """One libcurl handle, made ready once, and the exchange it is busy with."""

    __slots__ = (
        "abort",
        "address",
        "chunks",
        "done",
        "easy",
        "ended",
        "flight",
        "is_asked",
        "is_fresh",
        "is_refused",
        "is_repeated",
        "lack",
        "lines",
        "max_bytes",
        "method",
        "moved_at",
        "moved_bytes",
        "place",
        "proxy",
        "request_lines",
        "room",
        "started",
        "verifies",
        "window_at",
        "window_bytes",
    )

    def __init__(self, easy: pycurl.Curl, flight: BodyBudget, abort: Callable[[_Slot, CurlTrouble], None]) -> None:
        self.easy = easy
        self.abort = abort
        self.flight = flight
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.address = ""
        self.proxy: Proxy | None = None
        self.method = "GET"
        self.request_lines: list[bytes] = []
        self.is_fresh, self.verifies = False, True
        self.place: Place
        self.done: asyncio.Future[CurlTrouble | None]

    def begin(self, loop: asyncio.AbstractEventLoop, max_bytes: int) -> None:
        self.lines.clear()
        self.chunks.clear()
        self.max_bytes = self.room = max_bytes
        self.is_refused = self.is_asked = self.is_repeated = False
        self.lack = ""
        self.done = loop.create_future()
        self.started = self.ended = self.moved_at = self.window_at = time.monotonic()
        self.moved_bytes = self.window_bytes = 0

    def write(self, data: bytes) -> int | None:
        """Take a piece of the body. Any count but its length makes libcurl stop: the body is longer than wanted."""
        if not self.flight.may_grow(self, len(data)):
            return int(pycurl.WRITEFUNC_PAUSE)
        self.chunks.append(data)
        self.room -= len(data)
        return None if self.room >= 0 else 0

    def ask(self, *_where: object) -> int:
        """Told just before a request is written. libcurl would write five more, on the stream or connection next to it.

        It does so within milliseconds when a kept connection ends unanswered, or a stream of HTTP/2 is refused.
        """
        self.is_repeated = self.is_asked
        self.is_asked = True
        # What came so far came from a proxy.
        self.lines.clear()
        return int(pycurl.PREREQFUNC_ABORT if self.is_repeated else pycurl.PREREQFUNC_OK)

    def go_on(self) -> None:
        try:
            self.easy.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:
            # What was kept back was more than wanted, or broken: libcurl tells it here, and nowhere else.
            self.abort(self, trouble_of(*error.args, is_connected=True))

    @property
    def body_bytes(self) -> int:
        return self.max_bytes - self.room

    @property
    def received_bytes(self) -> int:
        return self.body_bytes + sum(map(len, self.lines))

    @property
    def raw_body(self) -> bytes:
        raw = self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)
        return raw if self.room >= 0 else raw[: self.max_bytes]


class LentSocket(socket.socket):
    """pycurl takes a copy of the descriptor and drops the socket: closing ours then is no oversight to warn of."""

    def __del__(self) -> None:
        self.close()


class CurlFetcher:
    """Fetches over libcurl; implements `ports.Fetcher`. Belongs to the loop that runs its first fetch."""

    def __init__(
        self,
        settings: Settings,
        resolver: Resolver,
        gate: AddressGate,
        *,
        ca_file: str = "",
        sweep_seconds: float = 1.0,
        spacing: RequestSpacing | None = None,
        clock: Callable[[], float] = time.time,
        is_known: Callable[[str], bool] = any_origin,
    ) -> None:
        self._settings = settings
        self._resolver = resolver
        self.hits = resolver.hits
        self._connectivity = Connectivity(resolver)
        self._gate = gate
        # The bundle that libcurl was built with may lie where another Linux keeps it.
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile
        self._sweep_seconds = sweep_seconds
        self.spacing = spacing if spacing and spacing.is_wanted else None
        self._clock = clock
        self._limits = HeadLimits(settings.max_header_lines, settings.max_header_bytes, settings.max_header_line_bytes)
        self._site_requests = SiteRequests(settings.user_agent, settings.site, is_known)
        self._connections = settings.connections or USUAL_CONNECTIONS
        self._open_requests = asyncio.Semaphore(self._connections)
        self._body_budget = BodyBudget(settings.body_budget_bytes)
        self._one_after_the_other = asyncio.Lock()
        self._idle: list[_Slot] = []
        self._idle_connections = IdleConnections(MAX_IDLE_CONNECTION_SECONDS)
        self._busy: dict[pycurl.Curl, _Slot] = {}
        self._lent_bytes: dict[asyncio.Task[Any], int] = {}
        self._loop: asyncio.AbstractEventLoop
        self._multi: Multi | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """One request and its answer, whatever its status; raises `VisitError` or `NoNetwork`."""
        task = asyncio.current_task()
        assert task is not None
        self._take_back(task)
        where, own = split_url(url), self._site_requests.of(url)
        lines = self._site_requests.lines(own, headers, parts)
        request = _Request(url, where, lines, max_body_bytes or self._settings.max_body_bytes, task)
        if parts:
            request = request._replace(method=parts.method, body=parts.body)
        trial = self._connectivity.begin()
        try:
            known = self._resolver.known(where.host) or await self._resolver.addresses(where.host)
            if own.proxy:
                request = request._replace(proxy=await self._proxy(own.proxy))
            response = await self._ask(request, self._permitted(known, first=address))
        except Unreachable as failure:
            await self._connectivity.check(where.host, failure, trial)
            raise
        self._connectivity.is_cut = False
        return response

    async def _ask(self, request: _Request, addresses: Sequence[str]) -> Response:
        async with self._open_requests:
            for first in addresses[:-1]:
                try:
                    return await self._exchange(request, first)
                except Unreachable as failure:
                    if failure.reason is not Failure.CONNECT:
                        raise
            return await self._exchange(request, addresses[-1])

    async def _proxy(self, proxy: Proxy) -> Proxy:
        """A proxy, by an address that the gate permits."""
        addresses = self._permitted(await self._resolver.addresses(proxy.host))
        return proxy._replace(host=addresses[0])

    def is_still_at(self, host: str, address: str) -> bool:
        """Whether a host is known, without asking, to be at this address."""
        return address in self._resolver.known(host) or address == literal_address(host)

    async def address_of(self, host: str, usual: str) -> str:
        """Where a host is to be asked; raises `VisitError` or `NoNetwork`."""
        trial = self._connectivity.begin()
        try:
            known = await self._resolver.addresses(host)
        except Unreachable as failure:
            await self._connectivity.check(host, failure, trial)
            raise
        return self._permitted(known, first=usual)[0]

    def look_again(self, host: str) -> None:
        """Whoever asks next for a name that led nowhere has the servers asked."""
        self._resolver.forget_absence(host)

    def hold(self, size_bytes: int) -> None:
        """So many bytes of bodies, or of what was found in them, are kept by others, or no longer."""
        self._body_budget.hold(size_bytes)

    @property
    def is_cut_off(self) -> bool:
        return self._connectivity.is_cut

    async def prefetch(self, hosts: Sequence[str]) -> None:
        """Resolve names that will be needed soon. Never raises."""
        await self._resolver.prefetch(hosts)

    async def close(self) -> None:
        """End every exchange under way, every connection and every look-up."""
        self._is_closed = True
        for slot in list(self._busy.values()):
            self._abort(slot, CurlTrouble(Failure.RESET, "the fetcher was closed"))
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._multi is not None:
            self._multi.close()
            self._multi = None
        await self._resolver.close()

    def _permitted(self, addresses: Sequence[str], first: str = "") -> list[str]:
        if len(addresses) == 1:
            self._gate.check(addresses[0])
            return [*addresses]
        permitted = [address for address in addresses if self._gate.permits(address)]
        if not permitted:
            self._gate.check(addresses[0])
        if first in permitted:
            permitted.remove(first)
            permitted.insert(0, first)
        return permitted[:MAX_ADDRESSES]

    async def _exchange(self, request: _Request, address: str) -> Response:
        if self._is_closed:
            raise Unreachable(Failure.RESET, "the fetcher is closed", sent=False)
        if self.spacing:
            await self.spacing.wait(request.where.host, address)
        slot = self._start(request, address)
        # Read after the clock of the exchange: the pause of the host must not begin before its answer has come.
        started_at = self._clock()
        if self.spacing:
            self.spacing.note(request.where.host, address)
        try:
            trouble = await slot.done
            if slot.body_bytes >= LONG_BODY_BYTES or self._body_budget.is_full:
                async with self._one_after_the_other:
                    await self._body_budget.wait_for_room()
                    await asyncio.sleep(0)
                    return self._lent(self._response(request, slot, trouble, started_at), request.task)
            return self._lent(self._response(request, slot, trouble, started_at), request.task)
        except asyncio.CancelledError:
            self._stop(slot)
            raise
        finally:
            self._body_budget.end(slot)
            slot.chunks.clear()
            self._idle.append(slot)

    def _lent(self, response: Response, task: asyncio.Task[Any]) -> Response:
        """A response whose bodies count until its task is over, or asks again: it may wait for others with them."""
        size_bytes = len(response.raw_body)
        if response.body is not response.raw_body:
            size_bytes += len(response.body)
        self._lent_bytes[task] = size_bytes
        self._body_budget.hold(size_bytes)
        task.add_done_callback(self._take_back)
        return response

    def _take_back(self, task: asyncio.Task[Any]) -> None:
        if task in self._lent_bytes:
            task.remove_done_callback(self._take_back)
            self._body_budget.hold(-self._lent_bytes.pop(task))

    def _start(self, request: _Request, address: str) -> _Slot:
        if self._multi is None:
            self._loop = asyncio.get_running_loop()
            self._multi = Multi(self._end, self._connections)
        slot = self._idle.pop() if self._idle else self._new_slot()
        slot.begin(self._loop, request.max_bytes)
        slot.easy.setopt(pycurl.URL, request.url)
        if slot.address != address:
            # Whatever libcurl takes the host to be, it connects to the address that passed the gate.
            slot.easy.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
            slot.address = address
        if slot.request_lines is not request.lines.sent:
            slot.easy.setopt(pycurl.HTTPHEADER, request.lines.sent)
            slot.request_lines = request.lines.sent
        if slot.method != "GET" or request.method != "GET":
            _set_method(slot.easy, request.method, request.body)
            slot.method = request.method
        if slot.proxy != request.proxy:
            _set_proxy(slot.easy, request.proxy)
            slot.proxy = request.proxy
        # Whoever cannot prove to be the host is told nothing that is for it alone.
        verifies = self._settings.tls == "verify" or request.lines.has_secrets
        if slot.verifies is not verifies:
            slot.easy.setopt(pycurl.SSL_VERIFYPEER, int(verifies))
            slot.easy.setopt(pycurl.SSL_VERIFYHOST, 2 if verifies else 0)
            slot.verifies = verifies
        by = f" by {request.proxy.url}" if request.proxy else ""
        slot.place = (request.url[:5], request.where.host_header, address + by)
        is_fresh = self._idle_connections.has_ended(slot.place, slot.started)
        if slot.is_fresh is not is_fresh:
            slot.easy.setopt(pycurl.FRESH_CONNECT, int(is_fresh))
            slot.is_fresh = is_fresh
        self._multi.start(slot.easy)
        self._busy[slot.easy] = slot
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)
        return slot

    def _new_slot(self) -> _Slot:
        """A handle with every option that is the same for all requests."""
        settings, easy = self._settings, pycurl.Curl()
        slot = _Slot(easy, self._body_budget, self._abort)
        options: dict[int, Any] = {
            pycurl.NOSIGNAL: 1,
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.NETRC: pycurl.NETRC_IGNORED,
            pycurl.PROXY: "",  # an empty name also keeps http_proxy of the environment out
            pycurl.NOPROXY: "",  # and this no_proxy
            pycurl.PATH_AS_IS: 1,
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.HTTP09_ALLOWED: 0,
            pycurl.HTTP_CONTENT_DECODING: 0,
            pycurl.BUFFERSIZE: BUFFER_BYTES,
            # Names are never asked of libcurl, yet it keeps every address and walks them all after each transfer:
            # 25 µs a page at 2,000 hosts.
            pycurl.DNS_CACHE_TIMEOUT: 0,
            pycurl.CONNECTTIMEOUT_MS: _milliseconds(settings.connect_seconds),
            pycurl.TIMEOUT_MS: _milliseconds(settings.fetch_seconds),
            pycurl.SSL_VERIFYPEER: 1,
            pycurl.SSL_VERIFYHOST: 2,
            pycurl.HEADERFUNCTION: slot.lines.append,
            pycurl.WRITEFUNCTION: slot.write,
            pycurl.MAXAGE_CONN: MAX_IDLE_CONNECTION_SECONDS,
            pycurl.PREREQFUNCTION: slot.ask,
            pycurl.OPENSOCKETFUNCTION: partial(self._open_socket, slot),
        }
        if self._ca_file:
            options[pycurl.CAINFO] = self._ca_file
        for option, value in options.items():
            easy.setopt(option, value)
        return slot

    def _open_socket(self, slot: _Slot, _purpose: int, peer: Any) -> LentSocket | int:
        """The second look of the gate, at the very address that is about to be connected to."""
        if slot.is_asked:
            # A connection for the same request once more: nobody is to see one.
            slot.is_repeated = True
            return int(pycurl.SOCKET_BAD)
        if peer.family not in (socket.AF_INET, socket.AF_INET6) or not self._gate.permits(_text(peer.addr[0])):
            slot.is_refused = True
            return int(pycurl.SOCKET_BAD)
        try:
            return LentSocket(peer.family, peer.socktype, peer.protocol)
        except OSError as error:
            slot.lack = str(error)
            return int(pycurl.SOCKET_BAD)

    def _end(self, easy: pycurl.Curl, code: int, message: str, descriptor: int) -> None:
        slot = self._busy.pop(easy)
        slot.ended = time.monotonic()
        trouble = None
        if code:
            self._idle_connections.leave(slot.place, slot.ended)
        elif descriptor >= 0:
            # HTTP/2 says goodbye in frames, which libcurl reads; HTTP/1.1 leaves it to TLS.
            is_opaque = slot.place[0] == "https" and not b"".join(slot.lines[:1]).startswith(b"HTTP/2")
            self._idle_connections.keep(slot.place, descriptor, slot.ended, is_opaque=is_opaque)
        if slot.is_repeated:
            trouble = CurlTrouble(Failure.RESET, "the request was left without an answer")
        elif code:
            is_connected = easy.getinfo(pycurl.CONNECT_TIME) > 0 or easy.getinfo(pycurl.PRETRANSFER_TIME) > 0
            number = easy.getinfo(pycurl.OS_ERRNO)
            trouble = trouble_of(code, message, is_connected=is_connected, number=number)
        if not slot.done.done():
            slot.done.set_result(trouble)

    def _stop(self, slot: _Slot) -> None:
        if self._busy.pop(slot.easy, None) is not None and self._multi is not None:
            self._multi.stop(slot.easy)

    def _abort(self, slot: _Slot, trouble: CurlTrouble) -> None:
        self._stop(slot)
        slot.ended = time.monotonic()
        if not slot.done.done():
            slot.done.set_result(trouble)

    def _sweep(self) -> None:
        """Once a second, the time limits of all exchanges: cheaper than a timer for each."""
        now = time.monotonic()
        for slot in list(self._busy.values()):
            if trouble := self._overdue(slot, now):
                self._abort(slot, trouble)
        self._idle_connections.forget(now)
        self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep) if self._busy else None

    def _overdue(self, slot: _Slot, now: float) -> CurlTrouble | None:
        settings, received = self._settings, slot.received_bytes
        if not received:
            return self._unanswered(slot, now)
        if slot in self._body_budget.waiting:
            # It is we who keep it waiting.
            slot.moved_at, slot.window_at, slot.window_bytes = now, now, received
            return None
        if received != slot.moved_bytes:
            if not slot.moved_bytes:
                slot.window_at = now
            slot.moved_bytes, slot.moved_at = received, now
        elif now - slot.moved_at > settings.idle_seconds:
            return CurlTrouble(Failure.TIMEOUT, f"nothing came for {settings.idle_seconds:g} s")
        if now - slot.window_at >= SPEED_WINDOW_SECONDS:
            if received - slot.window_bytes < settings.min_bytes_per_second * SPEED_WINDOW_SECONDS:
                return CurlTrouble(Failure.SLOW, f"less than {settings.min_bytes_per_second} bytes/s")
            slot.window_at, slot.window_bytes = now, received
        return None

    def _unanswered(self, slot: _Slot, now: float) -> CurlTrouble | None:
        limit = self._settings.first_byte_seconds
        if now - slot.started <= limit:
            return None
        asked_after = slot.easy.getinfo(pycurl.PRETRANSFER_TIME)
        # Still connecting: libcurl's own limit is for that.
        if not asked_after or now - slot.started - asked_after <= limit:
            return None
        return CurlTrouble(Failure.TIMEOUT, f"no answer within {limit:g} s")

    def _response(self, request: _Request, slot: _Slot, trouble: CurlTrouble | None, started_at: float) -> Response:
        if slot.is_refused:
            raise AddressRefused(Failure.ADDRESS, slot.address, sent=False)
        if slot.lack:
            # The host has nothing to do with it: nothing is recorded of it.
            raise Shortage(f"no socket can be opened: {slot.lack}")
        head = read_head(slot.lines, self._limits)
        truncated = _truncation(slot, head, trouble)
        assert head is not None
        raw = slot.raw_body
        # What follows may be large: nothing is held twice meanwhile.
        slot.chunks.clear()
        decoded = decode(raw, _codings(head), request.max_bytes)
        if not truncated and (decoded.is_cut or decoded.is_damaged):
            truncated = "length" if decoded.is_cut else "coding"
        return Response(
            url=request.url,
            status=head.status,
            headers=head.headers,
            body=decoded.body,
            raw_body=raw,
            head=head.raw,
            request_head=request_head(request.where, request.lines.told, request.method, request.body),
            request_body=request.body,
            address=slot.address,
            protocol=head.protocol,
            started_at=started_at,
            seconds=slot.ended - slot.started,
            truncated=truncated,
            connect_seconds=slot.easy.getinfo(pycurl.CONNECT_TIME),
        )


def _truncation(slot: _Slot, head: ResponseHead | None, trouble: CurlTrouble | None) -> str:
    """Why the body was cut, or an empty string; raises `Unreachable` when there is nothing to keep."""
    if head is None:
        trouble = trouble or CurlTrouble(Failure.PROTOCOL, "no response head")
    elif slot.room < 0:
        return "length"
    elif trouble is None:
        return ""
    # A redirect or an error says all it has to say in its head; a page needs some of its body.
    elif trouble.reason is not Failure.SLOW and (slot.chunks or not head.is_success):
        return "time" if trouble.reason is Failure.TIMEOUT else "disconnect"
    raise Unreachable(trouble.reason, trouble.detail, sent=trouble.sent)


def _set_proxy(easy: pycurl.Curl, proxy: Proxy | None) -> None:
    """A proxy gets the address that has passed the gate, never a name: it is a tunnel for http, too."""
    easy.setopt(pycurl.PROXY, proxy.url if proxy else "")
    easy.setopt(pycurl.PROXYUSERPWD, proxy.user if proxy else "")
    easy.setopt(pycurl.HTTPPROXYTUNNEL, int(proxy is not None))


def _set_method(easy: pycurl.Curl, method: str, body: bytes) -> None:
    """What is asked, and what goes with it; GET makes a handle as it was."""
    easy.unsetopt(pycurl.CUSTOMREQUEST)
    easy.setopt(pycurl.HTTPGET, 1)
    if method != "GET":
        easy.setopt(pycurl.POSTFIELDS, body)
        easy.setopt(pycurl.CUSTOMREQUEST, method)


def _codings(head: ResponseHead) -> list[str]:
    named = [value for name, value in head.headers if name == "content-encoding"]
    try:
        return content_codings(named) if named else []
    except VisitError:
        if head.is_success:
            raise
        return []


def _text(address: str | bytes) -> str:
    return address.decode("ascii", "replace") if isinstance(address, bytes) else address


def _milliseconds(seconds: float) -> int:
    # 0 would mean libcurl's own default of minutes.
    return max(1, round(seconds * 1000))
