"""libcurl's multi interface driven by the event loop. Knows handles and sockets, nothing of HTTP."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress

import pycurl

_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
# What libcurl is told of each combination of readiness; errors and hang-ups it finds out by reading.
_READY = [
    (pycurl.CSELECT_IN if mask & ~select.EPOLLOUT else 0) | (pycurl.CSELECT_OUT if mask & ~select.EPOLLIN else 0)
    for mask in range(64)
]
_MAX_EVENTS = 256


class Multi:
    """Runs many transfers at once and says of each how it ended; nothing here waits.

    Told are libcurl's code and words for it, and after a whole transfer the descriptor of its connection, or -1.
    """

    def __init__(self, on_end: Callable[[pycurl.Curl, int, str, int], None], max_connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        # libcurl's sockets live in an epoll set of their own, and the loop watches that one descriptor: 15 % less CPU
        # per page than a reader per socket, and a descriptor that libcurl has closed leaves the set by itself.
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._run_ready)
        self._watched: set[int] = set()
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)

    def start(self, easy: pycurl.Curl) -> None:
        """Begin a transfer; it runs from the next turn of the loop on."""
        self._multi.add_handle(easy)

    def stop(self, easy: pycurl.Curl) -> None:
        """End a transfer at once, with its connection if the transfer was not over."""
        self._multi.remove_handle(easy)

    def close(self) -> None:
        """Close every connection. No transfer may be running."""
        self._drop_timer()
        self._loop.remove_reader(self._epoll.fileno())
        self._multi.close()
        self._epoll.close()

    def _watch(self, event: int, descriptor: int, _multi: object, _data: object) -> None:
        if event == pycurl.POLL_REMOVE:
            self._watched.discard(descriptor)
            with suppress(OSError):
                self._epoll.unregister(descriptor)
            return
        try:
            if descriptor in self._watched:
                self._epoll.modify(descriptor, _EVENTS[event])
                return
        except FileNotFoundError:
            # libcurl closed it, and the number was given out anew before the removal was told.
            pass
        self._watched.add(descriptor)
        self._epoll.register(descriptor, _EVENTS[event])

    def _set_timer(self, timeout_ms: int) -> None:
        if timeout_ms < 0:
            self._drop_timer()
            return
        due_at = self._loop.time() + timeout_ms / 1000
        if self._timer is not None:
            # Too early is harmless, libcurl sets the timer again; a new timer for every transfer is not.
            if self._timer_at <= due_at:
                return
            self._timer.cancel()
        self._timer_at = due_at
        if timeout_ms == 0:
            self._timer = self._loop.call_soon(self._run_due)
        else:
            self._timer = self._loop.call_later(timeout_ms / 1000, self._run_due)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run_due(self) -> None:
        self._timer = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _run_ready(self) -> None:
        act = self._multi.socket_action
        for descriptor, mask in self._epoll.poll(0, _MAX_EVENTS):
            act(descriptor, _READY[mask & 63])
        self._collect()

    def _collect(self) -> None:
        queued = 1
        while queued:
            queued, whole, failed = self._multi.info_read()
            for easy in whole:
                descriptor = easy.getinfo(pycurl.ACTIVESOCKET)
                self._multi.remove_handle(easy)
                self._on_end(easy, 0, "", descriptor)
            for easy, code, message in failed:
                self._multi.remove_handle(easy)
                self._on_end(easy, code, message, -1)
