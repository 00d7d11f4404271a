"""The server of a dashboard: on a socket of this process, or in a process of its own beside a crawl.

Of its own: a crawl's event loop is for its frontier, and whoever looks must not keep it waiting.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lycosa.errors import SettingsError
from lycosa.store.files import replace_file
from lycosa.store.objects import ObjectPlace, parse_place

if TYPE_CHECKING:
    from uvicorn import Server

# As often as many tabs of a browser ask, and no more.
MAX_CONNECTIONS = 100
END_SECONDS = 5.0
TOKEN_BYTES, MIN_TOKEN_CHARACTERS = 32, 20
ANYWHERE = "127.0.0.1:0"  # a free port of this machine alone


class DashboardAddress(NamedTuple):
    """A dashboard's socket, and how one gets in."""

    socket: socket.socket
    host: str
    port: int
    token: str
    names: tuple[str, ...] = ()  # by which it may be asked for, beside those of this machine itself

    @property
    def link(self) -> str:
        """What opens it in a browser."""
        host = self.names[0] if self.names else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ip_address(self.host).is_loopback


def listen(address: str, token_file: Path | None = None, names: Sequence[str] = ()) -> DashboardAddress:
    """A socket at `HOST:PORT`, `PORT` or nothing: then at a free port. Raises `SettingsError`."""
    host, port = _parsed(address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server(found[4][:2], family=found[0], backlog=128)
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"{address}: the dashboard cannot listen there: {error}") from None
    token = _kept_token(token_file) if token_file else _new_token()
    return _listening(listening, token, names)


def _listening(listening: socket.socket, token: str, names: Sequence[str]) -> DashboardAddress:
    host, port = listening.getsockname()[:2]
    return DashboardAddress(listening, host, port, token, tuple(names))


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise SettingsError(f"{address!r} is no address to listen on; expected for example 127.0.0.1:8080 or 8080")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def _kept_token(path: Path) -> str:
    """The token that a file holds, which is made if there is none."""
    try:
        if not path.exists():
            replace_file(path, f"{_new_token()}\n", path.absolute().parent, is_private=True)
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the token cannot be kept there: {error}") from None
    if len(token) < MIN_TOKEN_CHARACTERS or not token.isprintable() or " " in token or ";" in token:
        raise SettingsError(f"{path}: a token is one word of at least {MIN_TOKEN_CHARACTERS} characters")
    return token


def make_server(place: Path | ObjectPlace, frontier: str | None, listening: DashboardAddress) -> Server:
    """What serves a crawl on a socket; it ends when `should_exit` is set."""
    import uvicorn

    from lycosa.dashboard.app import Dashboard
    from lycosa.dashboard.entrance import Entrance
    from lycosa.dashboard.watch import Watch

    watch = Watch(place, frontier)
    application = Dashboard(watch).application()
    host = listening.host
    names = [f"[{host}]" if ":" in host else host, *listening.names]
    config = uvicorn.Config(
        Entrance(application, listening.token, listening.port, names),
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)
    # Whoever follows is let go within a second: else their streams would be cut.
    watch.is_over = lambda: server.should_exit
    return server


def serve(
    place: Path | ObjectPlace, frontier: str | None, listening: DashboardAddress, *, until_eof: bool = False
) -> None:
    """Serve until a signal comes; or, if so wanted, until standard input ends."""
    # What serves is loaded for whoever comes first: a dashboard that nobody opens costs nothing.
    if until_eof and not _comes_before_eof(listening.socket):
        return
    import uvloop

    server = make_server(place, frontier, listening)
    if until_eof:
        threading.Thread(target=_end_at_eof, args=[server], daemon=True).start()
    uvloop.run(server.serve(sockets=[listening.socket]))


def _comes_before_eof(listening: socket.socket) -> bool:
    """Wait for the first visitor, or for the end of standard input."""
    ready, _, _ = select.select([listening, sys.stdin], [], [])
    return listening in ready


def _end_at_eof(server: Server) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True


class ServedBeside:
    """A dashboard in a process of its own, as long as one is within `with`; it ends with this process, however."""

    def __init__(self, place: Path | ObjectPlace, frontier: str | None, listening: DashboardAddress) -> None:
        self._asked = json.dumps([str(place), frontier, listening.token, listening.names])
        self._listening = listening
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServedBeside:
        fd = self._listening.socket.fileno()
        # In a session of its own: Ctrl-C is for the crawl, whose last pages one may want to see.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lycosa.dashboard.serve", str(fd)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[fd],
            start_new_session=True,
        )
        assert self._process.stdin
        # Not on its command line, which others can read.
        self._process.stdin.write(self._asked.encode() + b"\n")
        self._process.stdin.flush()
        self._listening.socket.close()
        return self

    @property
    def process_id(self) -> int:
        """Which process it is."""
        assert self._process
        return self._process.pid

    def wait(self) -> None:
        """Until it ends by itself."""
        assert self._process
        self._process.wait()

    def __exit__(self, *_: object) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _main(fd: int) -> None:
    place, frontier, token, names = json.loads(sys.stdin.buffer.readline())
    os.nice(5)
    serve(parse_place(place), frontier, _listening(socket.socket(fileno=fd), token, names), until_eof=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
