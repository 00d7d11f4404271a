"""The crawler as a library: `async for page in Crawler("https://…")`. The same session, in the caller's own process."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from lycosa.crawl.dispatcher import CentralDispatcher, LocalDispatcher
from lycosa.crawl.restart import kept_settings, settings_before
from lycosa.crawl.session import Ending, Session
from lycosa.crawl.settlement import Kept
from lycosa.errors import SettingsError
from lycosa.figures import WorkerStanding
from lycosa.frontier.redis.address import is_redis
from lycosa.hooks import Hooks, OnFailure, OnLinks, OnPage, OnRequest, PageTree, Request, text_of
from lycosa.inspect.reasons import sentence_of
from lycosa.keywords import SettingsKeywords
from lycosa.model import Lease, OutcomeKind, Settlement
from lycosa.ports import Counts, CrawlFrontier
from lycosa.settings import Settings, from_values
from lycosa.store.folder import CrawlFolder
from lycosa.url.canonical import Rejection, joined, parse, parse_seeds
from lycosa.wiring.crawl import LocalParts
from lycosa.wiring.worker import make_discovery, make_worker

if TYPE_CHECKING:
    from lycosa.topic.terms import Example

# Visits waiting for the caller: when it is slow, the crawl waits for it. Those under way still come in.
MAX_WAITING = 256


class CrawledPage(PageTree, msgspec.Struct, frozen=True, dict=True):
    """One page of a crawl, as the caller gets it: what stands in the `pages` and `links` tables, the body, its tree."""

    url: str
    status: int
    title: str
    description: str
    text: str
    links: list[str]
    media_type: str
    charset: str
    language: str
    depth: int
    referrer: str
    original: str
    fetched_at: float
    headers: list[tuple[str, str]]
    body: bytes
    content: str = ""  # the main text, without navigation
    comments: str = ""
    author: str = ""
    published: str = ""
    summary: str = ""
    group: str = ""  # the pages whose texts are 90 % alike
    items: list[dict[str, Any]] = []  # records, by the rules of its site and by `on_page`
    tag: str = ""  # of the request
    rendered: bytes = b""  # the document as a browser showed it, in UTF-8
    base: str = ""

    @cached_property
    def html(self) -> str:
        if self.rendered:
            return self.rendered.decode("utf-8", "replace")
        return text_of(self.body, self.charset, dict(self.headers).get("content-type", ""))


class MissedPage(msgspec.Struct, frozen=True):
    """A visit that brought no page: it failed, was refused, moved elsewhere, or found nothing changed."""

    url: str
    outcome: str  # "failed", "refused", "crashed", "moved", "unchanged"
    reason: str  # a code: "status", "robots", "timeout", …
    detail: str
    status: int  # 0 if there was no answer
    depth: int
    referrer: str
    at: float
    tag: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether there may be a page that is missing now."""
        return self.outcome in ("failed", "refused", "crashed")


class Crawler:
    """A crawl in this process. Iterate over it for its pages, each once it is safely kept.

    `folder` keeps the crawl and lets the same call go on with it later; without one everything is forgotten at the
    end. `revisit` visits the pages of a finished crawl again. Every setting of `lycosa crawl` is a keyword; those not
    given are as the folder was last crawled with, or have their defaults in a new one. Leaving the loop early ends the
    crawl and frees the folder soon; as a context (`async with Crawler(...) as crawler`) at a known point.
    """

    def __init__(
        self,
        seeds: str | Sequence[str],
        *,
        folder: str | Path | None = None,
        revisit: bool = False,
        on_page: OnPage | None = None,
        on_links: OnLinks | None = None,
        on_request: OnRequest | None = None,
        on_failure: OnFailure | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> None:
        texts = [seeds] if isinstance(seeds, str) else seeds
        if not texts and folder is None:
            raise SettingsError("no seeds: name a URL to start from, or the folder of a crawl")
        if str(folder or "").startswith("s3:"):
            raise SettingsError(f"{folder}: a crawl within a program keeps its pages in a folder of this machine")
        self._changes: dict[str, Any] = {**settings}
        self._folder = folder
        # Seen at once, if any of them cannot be.
        self._seeds = parse_seeds(texts, self._settings(CrawlFolder(folder or "")).schemes)
        self._revisit = revisit
        self._hooks = Hooks(on_page, on_links, on_request, on_failure)
        self._requests: list[Request] = []  # that wait for the crawl to begin
        self._ask: Callable[[Sequence[Request]], Awaitable[int]] | None = None
        self._session: Session | None = None
        self._waiting = _WaitingVisits()
        # Weak: a loop that is left drops the last reference to its iterator, and the crawl ends by that.
        self._iterating: weakref.ref[AsyncGenerator[Any, None]] | None = None
        self._freed = asyncio.Event()
        self._last_counts = Counts()

    async def run(self) -> Counts:
        """Crawl to the end without looking at the pages; they are in the folder."""
        async for _ in self.outcomes():
            pass
        return self.counts()

    async def add(self, *requests: str | Request) -> int:
        """Ask for more than what is found, whatever the scope. Returns how many are new, which is durable then.

        Before the crawl runs they are kept until it does, and count as new. Raises `ValueError` for what is no URL.
        """
        asked = [Request(each) if isinstance(each, str) else each for each in requests]
        for each in asked:
            if isinstance(why := parse(each.url), Rejection):
                raise ValueError(f"{each.url!r} cannot be fetched: {why.value}")
        if self._ask:
            return await self._ask(asked)
        self._requests += asked
        return len(asked)

    def counts(self) -> Counts:
        """Where all known URLs are."""
        return self._last_counts if self._session is None else self._session.counts()

    @property
    def paused(self) -> str:
        """What the machine lacks at present, if the crawl waits for that; else empty."""
        return self._session.paused if self._session else ""

    def stop(self) -> None:
        """No new requests; the iteration ends once what is under way has come in."""
        if self._session:
            self._session.stop()
        self._waiting.open()

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        return self._begin(self._pages(self._crawl()))

    def outcomes(self) -> AsyncIterator[CrawledPage | MissedPage]:
        """Every visit of a page, also those that brought none."""
        return self._begin(self._crawl())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        if (iterating := self._iterating() if self._iterating else None) is not None:
            await iterating.aclose()
        elif self._session is not None:
            # The loop was left: its iterator is being closed by itself.
            await self._freed.wait()

    def _begin(self, visits: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        if self._session is not None:
            raise RuntimeError("this crawler is being iterated over already; make another one for another crawl")
        self._iterating = weakref.ref(visits)
        return visits

    async def _pages(self, visits: AsyncGenerator[CrawledPage | MissedPage, None]) -> AsyncGenerator[CrawledPage, None]:
        try:
            async for visit in visits:
                if isinstance(visit, CrawledPage):
                    yield visit
        finally:
            await visits.aclose()

    async def _crawl(self) -> AsyncGenerator[CrawledPage | MissedPage, None]:
        with ExitStack() as stack:
            path = Path(self._folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-")))
            await self._until_left(path)
            self._waiting = waiting = _WaitingVisits()
            parts = LocalParts(lambda session: _LocalWorkers(session, waiting, self))
            session = Session(parts, CrawlFolder(path), self._settings, asked=frozenset(self._changes))
            stack.enter_context(session)
            self._session, self._freed = session, asyncio.Event()
            stack.callback(self._leave, path)
            _at_work[str(path)] = self
            await take_in_topic(session)
            running = asyncio.create_task(session.run(self._seeds, revisit=self._revisit))
            try:
                while visit := await waiting.next(running):
                    yield visit
                running.result()
            finally:
                self.stop()
                await _ended(running)

    def _settings(self, folder: CrawlFolder) -> Settings:
        """Those that the folder was last crawled with, changed by the keywords; the number of workers is none of ours.

        Whatever it says, there is one, in this process.
        """
        kept = kept_settings(folder, self._changes) if self._folder else None
        return kept or from_values({"workers": 1, **self._changes})

    @staticmethod
    async def _until_left(path: Path) -> None:
        """A loop over the pages of this folder may just have been left: let that crawl come to its end."""
        if (other := _at_work.get(str(path))) and (other._iterating is None or other._iterating() is None):
            await other._freed.wait()

    def _leave(self, path: Path) -> None:
        assert self._session
        self._last_counts, self._session = self._session.counts(), None
        del _at_work[str(path)]
        self._freed.set()


async def take_in_topic(session: Session) -> None:
    """Give a crawl with a topic its terms, unless it has them, before it runs. Raises `SettingsError` for want of any.

    Examples are read once, when the crawl begins or is given another topic: all later runs go by the same terms.
    """
    settings, before = session.settings, settings_before(session.folder)
    if settings.order != "topic":
        return
    is_outdated = (
        before is not None
        and before.topic_terms == settings.topic_terms
        and (before.topic, before.like) != (settings.topic, settings.like)
    )
    if settings.topic_terms and not is_outdated:
        return
    if not settings.topic and not settings.like:
        if is_redis(settings.frontier):
            return  # others have named it
        raise SettingsError('order: topic needs to know the topic: --topic "WORDS", or --like URL|FILE')
    from lycosa.topic.terms import terms_of

    examples = [await _example(each, settings) for each in settings.like]
    if not (terms := terms_of(settings.topic, examples)):
        raise SettingsError("topic: there is no word in what the topic is said to be")
    session.settings = msgspec.structs.replace(settings, topic_terms=terms)


async def _example(place: str, settings: Settings) -> Example:
    """A page at a URL, which is asked for as any page is, or in a file."""
    from lycosa.topic.terms import Example
    from lycosa.wiring.worker import page_parser

    body, content_type = await _fetched(place, settings) if "://" in place else (_read(Path(place)), "")
    page = page_parser(settings).parse(body, content_type, url=place if "://" in place else "http://file.invalid/")
    return Example(page.title, page.headings, page.content or page.text)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"like: {path} cannot be read: {error.strerror}") from None


async def _fetched(url: str, settings: Settings) -> tuple[bytes, str]:
    """A page by a crawl of its own, with the rules, limits and pauses of this one."""
    own: dict[str, Any] = {
        **{"order": "breadth", "topic": "", "like": [], "scope": "any", "include": [], "exclude": []},
        **{"sitemaps": False, "max_pages": 1, "max_depth": 0, "continuous": False, "frontier": "memory", "hooks": ""},
    }
    values = {name: value for name, value in msgspec.to_builtins(settings).items() if name != "seeds"}
    async for visit in Crawler(url, **{**values, **own}).outcomes():
        if isinstance(visit, CrawledPage):
            return visit.body, next((value for name, value in visit.headers if name == "content-type"), "")
        if visit.is_failure:
            raise SettingsError(f"like: {url} gave no page: {sentence_of(visit.reason, visit.detail)}")
    raise SettingsError(f"like: {url} gave no page")


# Who crawls into which folder, in this process.
_at_work: dict[str, Crawler] = {}


async def _ended(running: asyncio.Task[Any]) -> None:
    """Return when a crawl has closed everything; whoever is not to wait for that makes it hurry, and still waits."""
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError as error:
            cancelled = error
            running.cancel()
    if cancelled:
        raise cancelled


class _LocalWorkers:
    """One worker in this process."""

    restarts = 0

    def __init__(self, session: Session, waiting: _WaitingVisits, crawler: Crawler) -> None:
        self._session = session
        self._waiting = waiting
        self._crawler = crawler

    def standings(self) -> list[WorkerStanding]:
        return []

    async def work(self, frontier: CrawlFrontier, dispatcher: CentralDispatcher) -> None:
        settings, folder, waiting = self._session.settings, self._session.folder, self._waiting
        patient = _PatientDispatcher(dispatcher, waiting)
        with self._session.disk():
            key, crawler = frontier.crawl_key(), self._crawler
            worker = make_worker(settings, folder, 0, patient, key, on_kept=waiting.add, hooks=crawler._hooks)
            discovery = make_discovery(settings, folder.read_seeds(), key)

            async def ask(requests: Sequence[Request]) -> int:
                return await frontier.add([discovery.of_request(each) for each in requests])

            try:
                await ask(crawler._requests)
                crawler._requests, crawler._ask = [], ask
                # Whoever looks at the last page may ask for more.
                dispatcher.may_end, waiting.tell = waiting.may_end, dispatcher.tell
                await worker.run()
            finally:
                crawler._ask = None
                await worker.close()

    def stop(self) -> None:
        """A worker in the caller's own process ends by itself: it is not ours to kill."""


class _WaitingVisits:
    """Visits on their way to the caller."""

    def __init__(self) -> None:
        self._visits: asyncio.Queue[CrawledPage | MissedPage] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._is_open = False
        self._is_asked = False  # the caller has looked at all there was
        self.settling = 0  # commits that may bring visits
        self.changed = asyncio.Event()  # the caller took one, or what was under way ended
        self.tell: Callable[[], None] = lambda: None

    def may_end(self) -> bool:
        """Whether the caller has seen everything, and asks for no more."""
        return self._is_open or (self._is_asked and self._visits.empty() and not self.settling)

    def open(self) -> None:
        """Nobody waits for room from now on."""
        self._is_open = True
        self._room.set()
        self.changed.set()

    def add(self, kept: Kept) -> None:
        """Take in a visit; those of robots.txt and sitemaps are none of the caller's business."""
        if visit := _page_of(kept) or _missed_page_of(kept):
            self._visits.put_nowait(visit)
            # Before the caller has it: it may be taken from the queue by now, and is not looked at yet.
            self._is_asked = False
            if self._visits.qsize() >= MAX_WAITING and not self._is_open:
                self._room.clear()

    @property
    def free(self) -> int:
        """How many more the caller may be kept waiting with."""
        return sys.maxsize if self._is_open else MAX_WAITING - self._visits.qsize()

    async def room(self) -> None:
        """Return when the caller has not too much to do."""
        await self._room.wait()

    async def next(self, running: asyncio.Task[Ending]) -> CrawledPage | MissedPage | None:
        """The next one; None when the crawl has ended and all are taken."""
        if self._visits.empty() and not running.done():
            arrival = asyncio.ensure_future(self._visits.get())
            self._is_asked = True
            self.tell()
            try:
                await asyncio.wait((arrival, running), return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    return self._taken(arrival.result())
            finally:
                self._is_asked = False
                arrival.cancel()
        return None if self._visits.empty() else self._taken(self._visits.get_nowait())

    def _taken(self, visit: CrawledPage | MissedPage) -> CrawledPage | MissedPage:
        if self._visits.qsize() < MAX_WAITING:
            self._room.set()
        self.changed.set()
        return visit


class _PatientDispatcher(LocalDispatcher):
    """Gives out no leases while the caller has visits enough."""

    def __init__(self, dispatcher: CentralDispatcher, waiting: _WaitingVisits) -> None:
        super().__init__(dispatcher, worker=0)
        self._waiting = waiting
        self._out: dict[int, str] = {}  # the host of each lease that has not ended
        self._of_host = Counter[str]()

    async def take(self, limit: int) -> list[Lease]:
        while True:
            await self._waiting.room()
            leases = await super().take(limit)
            kept, surplus = list[Lease](), list[int]()
            for lease in leases:
                host = lease.target.host
                if self._of_host[host] and len(self._out) >= self._waiting.free:
                    # Of a run, as much as the caller has time for.
                    surplus.append(lease.token)
                    continue
                kept.append(lease)
                self._out[lease.token] = host
                self._of_host[host] += 1
            self._waiting.changed.clear()
            if surplus:
                await super().give_back(surplus)
            if kept or not leases:
                return kept
            await self._waiting.changed.wait()

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        self._waiting.settling += 1
        try:
            return await super().settle(settlements)
        finally:
            # Whoever called takes the visits to the caller before anything else runs: until then they are under way.
            asyncio.get_running_loop().call_soon(self._settled, [each.token for each in settlements])

    def _settled(self, tokens: Sequence[int]) -> None:
        self._ended(tokens)
        self._waiting.settling -= 1
        self._waiting.tell()

    async def may_ask_at(self, token: int, address: str) -> bool:
        is_permitted = await super().may_ask_at(token, address)
        if not is_permitted:
            self._ended([token])
        return is_permitted

    async def give_back(self, tokens: Sequence[int]) -> None:
        self._ended(tokens)
        await super().give_back(tokens)

    def _ended(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            if host := self._out.pop(token, ""):
                self._of_host[host] -= 1
                if not self._of_host[host]:
                    del self._of_host[host]
        self._waiting.changed.set()


def _page_of(kept: Kept) -> CrawledPage | None:
    visit, response, page, links, items, tag = kept
    if visit.outcome not in (OutcomeKind.STORED, OutcomeKind.DUPLICATE) or response is None or page is None:
        return None
    return CrawledPage(
        url=visit.url,
        status=visit.status,
        title=page.title,
        description=page.description,
        text=page.text,
        links=links.targets,
        media_type=visit.media_type,
        charset=page.charset,
        language=visit.language,
        depth=visit.depth,
        referrer=visit.referrer,
        original=visit.original,
        fetched_at=visit.fetched_at,
        headers=response.headers,
        body=response.body,
        content=page.content,
        comments=page.comments,
        author=page.author,
        published=page.published,
        summary=visit.summary,
        group=visit.group_id,
        items=[msgspec.json.decode(item) for item in items],
        tag=tag,
        rendered=response.rendering.html if response.rendering else b"",
        base=joined(visit.url, page.base),
    )


def _missed_page_of(kept: Kept) -> MissedPage | None:
    visit = kept.visit
    if visit.outcome is OutcomeKind.READ:
        return None
    return MissedPage(
        url=visit.url,
        outcome=visit.outcome.name.lower(),
        reason=visit.reason,
        detail=visit.detail,
        status=visit.status,
        depth=visit.depth,
        referrer=visit.referrer,
        at=visit.fetched_at,
        tag=kept.tag,
    )
