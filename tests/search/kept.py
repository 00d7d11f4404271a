"""Pages put into the tables of a folder, as a crawl puts them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from lycosa.model import Links, OutcomeKind, Page, Visit
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore

from ..store.samples import START, response

_serial = count()


class Kept(NamedTuple):
    """A page that a visit found; of a visit without a page the text is None."""

    path: str
    text: str | None = "some words"
    title: str = ""
    headings: str = ""
    language: str = "en"
    at: float = START
    group: str = ""
    links: Sequence[tuple[str, str]] = ()
    outcome: OutcomeKind = OutcomeKind.STORED
    status: int = 200
    host: str = "a.example"
    published: str = ""
    usage: str = ""
    noindex: bool = False
    reason: str = ""
    digest: str = ""
    original: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


def keep(folder: CrawlFolder, *pages: Kept) -> None:
    """One more part with these visits."""
    asyncio.run(_keep(folder, pages))


def new_folder(path: Path) -> CrawlFolder:
    folder = CrawlFolder(path)
    folder.create()
    return folder


async def _keep(folder: CrawlFolder, pages: Sequence[Kept]) -> None:
    # Names of parts are made of the time: each part has a second of its own.
    at = START + next(_serial)
    store = FolderStore(folder, 0, Settings(), lambda: at)
    for each in pages:
        visit = Visit(
            each.url, each.host, each.at, each.outcome, each.status, "text/html", "utf-8", each.language,
            title=each.title, group_id=each.group, published=each.published, usage=each.usage, noindex=each.noindex,
            out_links=len(each.links), reason=each.reason, text_digest=each.digest, original=each.original,
        )  # fmt: skip
        if each.text is None:
            store.put(visit, None, None)
            continue
        page = Page(each.title, "", each.text, [], content=each.text, headings=each.headings)
        targets, anchors = [list(column) for column in zip(*each.links, strict=True)] or ([], [])
        body = each.text.encode()
        store.put(visit, response(each.url, body), page, Links(targets, anchors, [""] * len(targets)))
    await store.close()
