"""A dashboard that is really served, and somebody who asks it: by hand, since browsers write no such requests."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

from lycosa.dashboard.serve import ANYWHERE, listen, make_server
from lycosa.search import IndexInUse, open_index
from lycosa.store.objects import ObjectPlace

from ..cli.world import World


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Visitor:
    """Asks with a token, unless told otherwise."""

    port: int
    token: str

    def ask(self, path: str, *, method: str = "GET", body: str = "", has_token: bool = True, **headers: str) -> Answer:
        """`headers` by their names, with _ for -."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if has_token:
            sent = {"Authorization": f"Bearer {self.token}", **sent}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read().decode())
        finally:
            connection.close()

    def page(self, path: str, **asked: str) -> str:
        answer = self.ask(f"{path}?{urlencode(asked)}" if asked else path)
        assert answer.status == 200, answer.body
        return answer.body

    def events(self, count: int, path: str = "/live") -> list[tuple[str, str]]:
        """The first events of a page: their names and data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            lines = connection.getresponse()
            found: list[tuple[str, str]] = []
            while len(found) < count:
                name = lines.readline().decode().removeprefix("event: ").strip()
                found.append((name, lines.readline().decode().removeprefix("data: ").strip()))
                assert lines.readline() == b"\n"
            return found
        finally:
            connection.close()


@contextmanager
def served(place: Path | ObjectPlace, frontier: str | None = None) -> Iterator[Visitor]:
    listening = listen(ANYWHERE)
    server = make_server(place, frontier, listening)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening.socket])))
    thread.start()
    try:
        yield Visitor(listening.port, listening.token)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.socket.close()


def tables_of(world: World, copy: Path) -> Path:
    """Another folder with the same pages, of which nobody has made an index yet."""
    copy.mkdir()
    for name in ("pages", "links"):
        (copy / name).symlink_to(getattr(world.folder, name))
    for path in (world.folder.settings, world.folder.seeds):
        (copy / path.name).symlink_to(path)
    return copy


def index(world: World) -> None:
    """Take all pages in, so that no search has to wait for it; a dashboard may be at it, too."""
    is_busy = True
    while is_busy:
        with suppress(IndexInUse), open_index(world.folder) as made:
            is_busy = made.update().is_busy


class Tags(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data
