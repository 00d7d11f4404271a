"""The stages of the work on a page: each does on recorded visits what a crawl does, beginning with nothing known.

A stage measures one round of itself and says what a page cost. Its state is new in every round, as it would be in a
crawl of these pages; what it needs beforehand is not measured.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import msgspec

from lycosa.bench.guard.recording import AGENT, FREE_PACE, KEY, SETTINGS, Recording, record, recorded_pages
from lycosa.crawl.settlement import settlement_of, visit_row
from lycosa.dedupe.signature import signature_of
from lycosa.frontier.embedded import rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, Target, texts_of
from lycosa.page.digest import telling_text
from lycosa.page.language import language_of
from lycosa.robots.cache import RobotsCache
from lycosa.simweb import WebPlan
from lycosa.site.judge import Learnt
from lycosa.store.folder import CrawlFolder
from lycosa.store.tables import TablePart
from lycosa.store.warc import WarcWriter, digested
from lycosa.wiring.worker import make_discovery, make_judge, page_parser

_HTML = "text/html; charset=utf-8"
_GROUP = 32  # pages per sync, about what a worker settles at once
_LEASES = 64
# What the notes on a site are made of, by where it is done: measured within a round of `site_notes`.
SITE_PARTS = {
    "site notes: lines of text": "lycosa.site.novelty:LineMemory.news_in",
    "site notes: sections": "lycosa.site.sections:Sections.learn",
    "site notes: comparison": "lycosa.site.notes:Site.compare",
}


class Recordings(NamedTuple):
    """What is worked on: a crawl of either web, and pages of others."""

    navigation: Recording
    strewn: Recording
    others: list[bytes]


Costs = dict[str, float]
Stage = Callable[[Recordings], Costs]


async def make_recordings(pages: int, others: Path | None) -> Recordings:
    """Recordings of so many pages, and the pages in the folder."""
    hosts = max(1, pages // 20)
    navigation = await record(WebPlan.named("bench", hosts=hosts), pages)
    strewn = await record(WebPlan.named("strewn", hosts=hosts), pages)
    return Recordings(navigation, strewn, recorded_pages(others) if others else [])


class _Watch:
    """Adds up CPU seconds of this process, all threads of it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += process_time() - self._began


def _timed(name: str, pages: int, work: Callable[[], object]) -> Costs:
    began = process_time()
    work()
    return {name: (process_time() - began) / pages}


def read_page(material: Recordings) -> Costs:
    parser, bodies = page_parser(SETTINGS), [stored.response.body for _, stored in material.navigation.pages]
    return _timed("read page", len(bodies), lambda: [parser.parse(body, _HTML) for body in bodies])


def read_others(material: Recordings) -> Costs:
    if not material.others:
        return {}
    parser, bodies = page_parser(SETTINGS), material.others
    return _timed("read page, recorded", len(bodies), lambda: [parser.parse(body, _HTML) for body in bodies])


def links_decided(material: Recordings) -> Costs:
    return {
        **_links("links decided", material.navigation),
        **_links("links decided, strewn", material.strewn),
    }


def _links(name: str, recording: Recording) -> Costs:
    discovery = make_discovery(SETTINGS, [], KEY)
    # Texts that were looked up before have their hash: each round reads its pages anew.
    parser = page_parser(SETTINGS)
    pages = [(lease.target, parser.parse(stored.response.body, _HTML)) for lease, stored in recording.pages]

    def work() -> None:
        for target, page in pages:
            found = discovery.of_page(target, page).new
            discovery.remembered.add(each.fingerprint for each in found)

    return _timed(name, len(pages), work)


def language(material: Recordings) -> Costs:
    pages = [stored.page for _, stored in material.navigation.pages]
    texts = [(telling_text(page), page.language) for page in pages]
    return _timed("language", len(texts), lambda: [language_of(text, declared) for text, declared in texts])


def signature(material: Recordings) -> Costs:
    pages = material.navigation.pages
    texts = [telling_text(stored.page) for _, stored in pages]
    return _timed("signature", len(texts), lambda: [signature_of(text).to_bytes() for text in texts])


def groups(material: Recordings) -> Costs:
    signatures = [stored.page_digest.signature for _, stored in material.navigation.pages]

    async def work(folder: Path) -> Costs:
        frontier = rocks_frontier(folder, FrontierRules(pace=FREE_PACE, durability="process"))
        with (watch := _Watch()):
            for each in signatures:
                await frontier.group_of(each)
        await frontier.close()
        return {"groups": watch.seconds / len(signatures)}

    with _folder() as folder:
        return asyncio.run(work(folder))


def warc_member(material: Recordings) -> Costs:
    pages = [(digested(stored.response)[1], stored.response.started_at) for _, stored in material.navigation.pages]
    with _folder() as place:
        folder = CrawlFolder(place / "crawl")
        folder.create()
        writer = WarcWriter(folder, 0, msgspec.structs.replace(SETTINGS, durability="process"), lambda: 0.0)

        def work() -> None:
            for number, (response, at) in enumerate(pages):
                writer.append(response, at)
                if number % _GROUP == 0:
                    writer.stage()
                    writer.commit()
            writer.finish()
            writer.commit()

        return _timed("WARC member", len(pages), work)


def table_rows(material: Recordings) -> Costs:
    pages = material.navigation.pages
    with _folder() as place:
        folder = CrawlFolder(place / "crawl")
        folder.create()
        part = TablePart(folder, "part")

        def work() -> None:
            for lease, stored in pages:
                visit, _, page, links, *_ = visit_row(lease, stored, 0.0)
                assert page is not None, "it was stored"
                part.add(visit, texts_of(page), links)
            part.write(part.take())
            part.finish()

        return _timed("table rows", len(pages), work)


def site_notes(material: Recordings) -> Costs:
    """All that is asked of the judge and learnt, and of that the parts that cost most."""
    pages = material.navigation.pages
    judge = make_judge(SETTINGS, [], KEY, material.navigation.dispatcher)

    async def work() -> None:
        for lease, stored in pages:
            unknown = msgspec.structs.replace(lease, site_at=0)
            await judge.objection(unknown)
            judge.renaming(unknown)
            judge.is_soft_404(unknown, stored.page)
            judge.deferred(unknown, stored.discovered)
            judge.learn(unknown, stored)

    with _parts_timed(SITE_PARTS) as watches:
        whole = _timed("site notes", len(pages), lambda: asyncio.run(work()))
    return whole | {name: watch.seconds / len(pages) for name, watch in watches.items()}


@contextmanager
def _parts_timed(parts: dict[str, str]) -> Iterator[dict[str, _Watch]]:
    """Put a watch around methods, by `module:Class.method`, as long as this lasts."""
    watches: dict[str, _Watch] = {}
    undo: list[tuple[type, str, Any]] = []
    try:
        for name, where in parts.items():
            module, _, path = where.partition(":")
            owner_name, _, method = path.rpartition(".")
            owner = attrgetter(owner_name)(import_module(module))
            original = getattr(owner, method)
            watches[name] = watch = _Watch()
            undo.append((owner, method, original))
            setattr(owner, method, _watched(original, watch))
        yield watches
    finally:
        for owner, method, original in undo:
            setattr(owner, method, original)


def _watched(work: Callable[..., Any], watch: _Watch) -> Callable[..., Any]:
    def watched(*arguments: Any, **named: Any) -> Any:
        with watch:
            return work(*arguments, **named)

    return watched


def settlement(material: Recordings) -> Costs:
    """The digests of body and record, and what the outcome means for the frontier."""
    pages = material.navigation.pages

    def work() -> None:
        for lease, stored in pages:
            digested(stored.response)
            settlement_of(lease, stored, Learnt())

    return _timed("digest, settlement", len(pages), work)


def frontier(material: Recordings) -> Costs:
    return {
        **_visits("frontier", material.navigation),
        **_visits("frontier, strewn", material.strewn),
    }


def _visits(name: str, recording: Recording) -> Costs:
    """Leases and settlements: every visit finds what a recorded one found."""
    found = [stored.discovered for _, stored in recording.pages]

    async def work(folder: Path) -> Costs:
        here = rocks_frontier(folder, FrontierRules(pace=FREE_PACE, durability="process"))
        await here.add(recording.seeds)
        finds, visits = iter(found), 0
        with (watch := _Watch()):
            while visits < len(found):
                leases = await here.take(0, _LEASES)
                assert leases, "there is always somebody to visit"
                visits += sum(lease.target.kind is Kind.PAGE for lease in leases)
                await here.settle([_settled(lease, finds) for lease in leases])
        await here.close()
        return {name: watch.seconds / visits}

    with _folder() as folder:
        return asyncio.run(work(folder))


def _settled(lease: Lease, finds: Iterator[list[Target]]) -> Settlement:
    if lease.target.kind is Kind.ROBOTS:
        news = RobotsNews(lease.target.origin, 1.0, 9e9, b"rules")
        return Settlement(lease.token, OutcomeKind.READ, status=200, robots=news)
    mark = lease.target.fingerprint
    return Settlement(
        lease.token, OutcomeKind.STORED, status=200, digest=mark, discovered=next(finds, []), body_bytes=28_000
    )


def robots(material: Recordings) -> Costs:
    """Rules read once for each host, and asked for each page."""
    recording = material.navigation
    cache = RobotsCache(recording.dispatcher, AGENT, 86_400.0, 3)

    async def work() -> None:
        for response in recording.robots:
            cache.answered(response.url, response, None, 0.0)
        for lease, _ in recording.pages:
            await cache.refusal(lease)
            await cache.usage(lease)

    return _timed("robots", len(recording.pages), lambda: asyncio.run(work()))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lycosa-guard-") as place:
        yield Path(place)


STAGES: tuple[Stage, ...] = (
    read_page, read_others, links_decided, language, signature, groups, warc_member, table_rows, site_notes,
    settlement, frontier, robots,
)  # fmt: skip
