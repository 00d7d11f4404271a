"""The life of one URL, from lease to outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hashlib import sha1
from typing import TYPE_CHECKING, cast

import msgspec

from lycosa.clock import Clock, machine_clock
from lycosa.crawl.discovery import Discovery
from lycosa.crawl.extraction import Extraction
from lycosa.crawl.logins import Logins
from lycosa.dedupe.comparison import changed_share, text_mark
from lycosa.errors import AddressRefused, BackendLost, NoNetwork, PlaceRefused, Shortage, TooMuchMemory, VisitError
from lycosa.hooks import FailedVisit, HookFailed, Hooks, OnFailure, OnRequest, Request, called, request_of
from lycosa.model import (
    Crash,
    Failure,
    Kind,
    Lease,
    Note,
    Page,
    Reason,
    Refusal,
    Response,
    Target,
    Validators,
)
from lycosa.outcome import (
    Crashed,
    Deferred,
    Failed,
    Moved,
    Outcome,
    Postponed,
    Read,
    Refused,
    Stored,
    Unchanged,
    duplicate_of,
)
from lycosa.page.digest import Digester
from lycosa.page.media import Media, media_of
from lycosa.page.parser import PageParser
from lycosa.page.requisites import css_text, is_stylesheet, requisites_of_css
from lycosa.page.sitemap import MAX_SITEMAP_BYTES, SitemapKind, parse_sitemap
from lycosa.policy.ban import challenge_in
from lycosa.ports import Dispatcher, Fetcher, Watchdog
from lycosa.render.renderer import PageRenderer
from lycosa.robots.cache import RobotsCache
from lycosa.robots.parse import FETCHED_ROBOTS_BYTES
from lycosa.robots.usage import Usage, refused, usage_in_headers
from lycosa.site.judge import SiteJudge
from lycosa.store.warc import digested

if TYPE_CHECKING:
    from lycosa.topic.guide import Guide

MAX_ROBOTS_REDIRECTS = 5
MAX_SITEMAP_NESTING = 3
PAGES_PER_SITEMAP = 100
RENDERED_TYPE = "text/html; charset=utf-8"
# What a library says of a page may quote all of it.
MAX_DETAIL_CHARACTERS = 500


class _NotNow(Exception):
    """Nothing must be sent under this lease; the frontier has it back."""


async def _nobody_waits() -> None:
    pass


class Visitor:
    """Visits targets. Every visit ends in exactly one outcome."""

    def __init__(
        self,
        fetcher: Fetcher,
        robots_cache: RobotsCache,
        judge: SiteJudge,
        parser: PageParser,
        discovery: Discovery,
        digester: Digester,
        dispatcher: Dispatcher,
        clock: Clock,
        max_redirects: int,
        max_requisites: int,
        watchdog: Watchdog,
        spaces_addresses: bool,
        extraction: Extraction,
        hooks: Hooks,
        logins: Logins,
        renderer: PageRenderer | None = None,
        guide: Guide | None = None,
    ) -> None:
        self._guide = guide
        self._logins = logins
        self._extraction = extraction
        self._hooks = hooks
        self._fetcher = fetcher
        self._robots_cache = robots_cache
        self._judge = judge
        self._parser = parser
        self._discovery = discovery
        self._digester = digester
        self._dispatcher = dispatcher
        self._clock = clock
        self._max_redirects = max_redirects
        self._max_requisites = max_requisites
        self._watchdog = watchdog
        self._spaces_addresses = spaces_addresses
        self._renderer = renderer

    async def close(self) -> None:
        """Let go of what visits made use of."""
        if self._renderer:
            await self._renderer.close()

    async def visit(self, lease: Lease, answered: Callable[[], Awaitable[None]] = _nobody_waits) -> Outcome:
        """The visit of whatever the lease is for; what goes wrong on the way is an outcome too.

        `answered` is awaited when a page has come from which nothing follows for its host, before it is read.
        """
        outcome = await self._outcome(lease, answered)
        return self._told(lease, outcome) if self._hooks.on_failure else outcome

    async def _outcome(self, lease: Lease, answered: Callable[[], Awaitable[None]]) -> Outcome:
        try:
            match lease.target.kind:
                case Kind.PAGE if self._renderer and self._renderer.expects(lease.target.url):
                    return await self._visit_rendered(self._renderer, lease, answered)
                case Kind.PAGE:
                    return await self._visit_page(lease, answered)
                case Kind.ROBOTS:
                    return await self._read_robots(lease)
                case Kind.SITEMAP:
                    return await self._read_sitemap(lease)
                case Kind.PROBE:
                    return await self._probe(lease)
                case Kind.REQUISITE:
                    return await self._fetch_requisite(lease)
        except _NotNow:
            return Deferred()
        except NoNetwork:
            await self._dispatcher.give_back([lease.token])
            return Deferred()
        except AddressRefused as error:
            return Refused(Refusal.ADDRESS, error.detail)
        except PlaceRefused as error:
            return Refused(error.refusal, error.detail)
        except VisitError as error:
            return Failed(error.reason, error.detail, sent=error.sent)
        except (asyncio.CancelledError, BackendLost):
            raise
        except MemoryError as error:
            # A page that takes too much is told apart by whoever limits it: this is the machine's lack.
            raise Shortage("there is no memory left") from error
        except TooMuchMemory as error:
            return Crashed(Crash.MEMORY, str(error))
        except HookFailed as error:
            return Crashed(Crash.HOOK, str(error)[:MAX_DETAIL_CHARACTERS])
        except Exception as error:  # the one catch-all: a page can end at most its own visit
            return Crashed(Crash.CRASHED, f"{type(error).__name__}: {error}"[:MAX_DETAIL_CHARACTERS])

    async def _visit_rendered(
        self, renderer: PageRenderer, lease: Lease, answered: Callable[[], Awaitable[None]]
    ) -> Outcome:
        """The visit of a page that will need the browser, once that has time for it."""
        async with renderer.queue() as has_place:
            if has_place:
                return await self._visit_page(lease, answered)
        await self._dispatcher.give_back([lease.token])
        raise _NotNow

    async def _visit_page(self, lease: Lease, answered: Callable[[], Awaitable[None]]) -> Outcome:
        target = lease.target
        if objection := await self._robots_cache.refusal(lease) or await self._judge.objection(lease):
            return objection
        if objection := self._logins.objection(target.url):
            return objection
        if self._guide and self._guide.is_postponed(target):
            return Postponed(1)
        request = target.request
        if self._hooks.on_request:
            with self._watchdog(lease.token, 0):
                wanted = self._wanted(self._hooks.on_request, target)
            if wanted is None:
                return Refused(Refusal.HOOK)
            request = wanted.parts
        # What is asked in another way gives no page that could be compared.
        asked_for_changes = [] if request and request.method != "GET" else conditions(lease.validators)
        response = await self._logins.fetch(lease, self._address, asked_for_changes, request)
        if response.status == 304 and asked_for_changes:
            return Unchanged(response)
        if response.is_redirect:
            return self._moved(target, response)
        if failure := _failure_of(response):
            return failure
        await answered()
        digest, response = digested(response)
        if (before := lease.validators) and before.digest == digest:
            return Unchanged(response)
        with self._watchdog(lease.token, len(response.body)):
            page = self._parse(response)
            cause = self._renderer.cause(response, page) if self._renderer else None
        if self._renderer and cause:
            fetch = partial(self._logins.fetch_for, target.url)
            response, page = await self._renderer.render(
                response, page, cause, fetch, partial(self._parse_rendered, lease)
            )
        with self._watchdog(lease.token, len(response.body)):
            if self._judge.is_soft_404(lease, page):
                return Failed(Failure.SOFT_404, response=response)
            found = self._discovery.of_page(target, page, self._judge.renaming(lease))
            links, told = found.links, self._told_by(target, response)
            shown = as_shown(response)
            items, new = self._extraction.read(target, shown, page, links, found.new)
            new = with_listings(new, told)
            page_digest, relevance, again = self._digester.read(page), 0.0, found.again
            if guide := self._guide:
                language, relevance = page_digest.language, guide.relevance_of(page, page_digest.language)
                leads_on = self._discovery.leads_on(target, page)
                new, again = guide.rate(target, relevance, language, links, new, is_followed=leads_on)
            discovered = [*self._judge.deferred(lease, new), *again, *found.requisites]
            beyond = self._discovery.beyond(target, links)
            if shown is not response:
                digest = sha1(shown.body, usedforsecurity=False).digest()
        changed = change_since(before, page_digest.signature)
        if changed == 0.0 and not items:
            return Unchanged(response, discovered, digest, told)
        usage = str(usage_of(response, page) | await self._robots_cache.usage(lease))
        original, placement = await self._dispatcher.recognise(
            digest,
            target.url,
            lease.token,
            page_digest.signature,
            # The host is asked for its next page meanwhile, or rests; but what is learnt here may decide about that.
            is_urgent=not self._judge.is_sound(lease),
        )
        closed = self._discovery.closed_schemes(target, page)
        if self._guide:
            self._guide.learn(target, 0.0 if original else relevance)
        stored = Stored(
            response,
            page,
            links,
            discovered,
            digest,
            page_digest,
            placement,
            usage,
            beyond,
            items,
            found.others,
            changed or 0.0,
            closed,
            told,
            relevance,
            on_topic=not original and self._guide is not None and self._guide.is_on_topic(relevance),
        )
        return duplicate_of(original, stored) if original else stored

    @staticmethod
    def _wanted(hook: OnRequest, target: Target) -> Request | None:
        """What is asked of a target by the operator's leave; None if nothing is to be."""
        wanted = called("on_request", hook, request_of(target))
        if wanted is not None and (not isinstance(wanted, Request) or wanted.url != target.url):
            raise HookFailed("on_request: answers the request, with the same URL, or None")
        return wanted

    def _told(self, lease: Lease, outcome: Outcome) -> Outcome:
        """The outcome, after the operator's hook heard of it if it brought no page."""
        if lease.target.kind is not Kind.PAGE or not isinstance(outcome, Failed | Refused | Crashed):
            return outcome
        status = outcome.response.status if isinstance(outcome, Failed) and outcome.response else 0
        kind = type(outcome).__name__.lower()
        failed = FailedVisit(request_of(lease.target), kind, outcome.reason.value, outcome.detail, status)
        try:
            with self._watchdog(lease.token, 0):
                called("on_failure", cast("OnFailure", self._hooks.on_failure), failed)
        except HookFailed as error:
            return Crashed(Crash.HOOK, str(error)[:MAX_DETAIL_CHARACTERS])
        return outcome

    def _parse(self, response: Response) -> Page:
        directives = [value for name, value in response.headers if name == "x-robots-tag"]
        return self._parser.parse(response.body, response.header("content-type"), directives, url=response.url)

    def _told_by(self, target: Target, response: Response) -> list[Target]:
        """What a page that is a feed says of when pages of its site changed."""
        if media_of(response.header("content-type"), response.body) is not Media.FEED:
            return []
        return self._discovery.of_feed(target, parse_sitemap(response.body, target.url))

    def _parse_rendered(self, lease: Lease, html: bytes) -> Page:
        with self._watchdog(lease.token, len(html)):
            return self._parser.parse(html, RENDERED_TYPE, url=lease.target.url)

    def _moved(self, target: Target, response: Response) -> Outcome:
        location = response.header("location")
        if not location:
            return Failed(Failure.NO_LOCATION, response=response)
        if target.redirects >= self._max_redirects:
            return Failed(Failure.REDIRECTS, str(self._max_redirects), response)
        if target.kind is Kind.REQUISITE:
            to, discovered = self._discovery.requisites.moved(target, location)
        else:
            to, discovered = self._discovery.of_redirect(target, location, response.status)
        return Moved(response, to, discovered)

    async def _address(self, lease: Lease) -> str:
        """Where the request may go now; raises `_NotNow`."""
        host, address = lease.target.host, lease.address
        if lease.target.url.startswith("file:"):
            return ""
        if self._spaces_addresses and not (address and self._fetcher.is_still_at(host, address)):
            address = await self._fetcher.address_of(host, address)
            if not await self._dispatcher.may_ask_at(lease.token, address):
                raise _NotNow
        # Just before the request, after everything that may take long.
        if lease.begin_by and machine_clock() >= lease.begin_by:
            await self._dispatcher.give_back([lease.token])
            raise _NotNow
        return address

    async def _read_robots(self, lease: Lease) -> Outcome:
        target = lease.target
        origin = target.origin
        if refused := await self._judge.objection_to_host(lease):
            news = self._robots_cache.left(origin, refused.reason, self._clock())
            return msgspec.structs.replace(refused, robots=news)
        previous = await self._robots_cache.previous(origin)
        if previous and previous.failures:
            self._fetcher.look_again(target.host)
        try:
            address = await self._address(lease)
            response = await self._fetcher.fetch(target.url, address=address, max_body_bytes=FETCHED_ROBOTS_BYTES)
        except PlaceRefused:
            # Nobody there has any; the pages themselves are told why they are refused.
            return Read(None, [], self._robots_cache.gave_up(origin, self._clock()))
        except VisitError as error:
            news = self._robots_cache.unanswered(lease, error, previous, self._clock())
            return Read(None, [], news, note=Reason(error.reason, error.detail))
        now = self._clock()
        if not (response.is_redirect and response.header("location")):
            with self._watchdog(lease.token, len(response.body)):
                news, sitemaps = self._robots_cache.answered(origin, response, previous, now)
            return Read(response, self._discovery.of_robots(target, sitemaps), news)
        further = self._discovery.robots_elsewhere(target, response.header("location"))
        if further is None or target.redirects >= MAX_ROBOTS_REDIRECTS:
            return Read(response, [], self._robots_cache.gave_up(origin, now), note=Reason(Note.ROBOTS_REDIRECTS))
        return Moved(response, further.url, [further], self._robots_cache.redirected(origin, further.host, now))

    async def _read_sitemap(self, lease: Lease) -> Outcome:
        target = lease.target
        if refused := await self._robots_cache.refusal(lease) or await self._judge.objection_to_host(lease):
            return refused
        address = await self._address(lease)
        # Whole for a second time: when it was read first, most of its pages had not been visited, and were not told.
        asked_for_changes = conditions(lease.validators) if target.visits > 1 else []
        response = await self._fetcher.fetch(
            target.url, address=address, headers=asked_for_changes, max_body_bytes=MAX_SITEMAP_BYTES
        )
        if response.status == 304 and lease.validators and asked_for_changes:
            return Read(response, [], digest=lease.validators.digest)
        if response.is_redirect:
            return self._moved(target, response)
        if failure := _failure_of(response):
            return failure
        digest = sha1(response.body, usedforsecurity=False).digest()
        with self._watchdog(lease.token, len(response.body)):
            sitemap = parse_sitemap(response.body, target.url)
        # Up to 50 MiB once decoded, and of no more use: what is archived is what came.
        response = msgspec.structs.replace(response, body=b"")
        if sitemap.kind is SitemapKind.INDEX and target.depth >= MAX_SITEMAP_NESTING:
            return Read(response, [], note=Reason(Note.SITEMAP_NESTING, str(target.depth)), digest=digest)
        found = self._discovery.of_sitemap(target, sitemap)
        if self._guide:
            found = self._guide.rate_listed(found)
        # Each further sitemap stands for many pages.
        listed = len(found) * (PAGES_PER_SITEMAP if sitemap.kind is SitemapKind.INDEX else 1)
        return Read(response, found, note=sitemap.trouble, digest=digest, listed=listed)

    async def _fetch_requisite(self, lease: Lease) -> Outcome:
        """What a page needs to be shown. It is kept as it came; only a stylesheet is read, for what it names."""
        target = lease.target
        if refused := await self._robots_cache.refusal(lease):
            return refused
        asked_for_changes = conditions(lease.validators)
        response = await self._logins.fetch(lease, self._address, asked_for_changes, None)
        note = Reason(Note.REQUISITE)
        if response.status == 304 and lease.validators and asked_for_changes:
            return Read(response, [], note=note, digest=lease.validators.digest)
        if response.is_redirect:
            return self._moved(target, response)
        if failure := _failure_of(response):
            return failure
        with self._watchdog(lease.token, len(response.body)):
            named = self._named_in(target, response)
        return Read(response, named, note=note, digest=sha1(response.body, usedforsecurity=False).digest())

    def _named_in(self, target: Target, response: Response) -> list[Target]:
        content_type = response.header("content-type")
        if not is_stylesheet(content_type, target.url):
            return []
        hrefs = requisites_of_css(css_text(response.body, content_type), self._max_requisites)
        return self._discovery.requisites.of(target, target.url, hrefs).targets

    async def _probe(self, lease: Lease) -> Outcome:
        """What the host answers to a URL that cannot exist: pages that look like it are none."""
        if refused := await self._robots_cache.refusal(lease) or await self._judge.objection_to_host(lease):
            return refused
        try:
            response = await self._fetcher.fetch(lease.target.url, address=await self._address(lease))
        except VisitError as error:
            return Read(None, [], note=Reason(error.reason, error.detail))
        text, found = "", []
        if 200 <= response.status < 300:
            with self._watchdog(lease.token, len(response.body)):
                page = self._parse(response)
                text, found = page.text, self._discovery.of_page(lease.target, page).new
        self._judge.learn_probe(lease, response.status, text, found)
        return Read(response, [], note=Reason(Note.PROBE))


def with_listings(targets: list[Target], told: Sequence[Target]) -> list[Target]:
    """The targets, each with what a feed says of it."""
    if not told:
        return targets
    listings = {each.fingerprint: each.listing for each in told}
    return [msgspec.structs.replace(each, listing=listings.get(each.fingerprint)) for each in targets]


def as_shown(response: Response) -> Response:
    """What a page was read from: two applications may have the same body until a browser shows them."""
    if response.rendering is None or not response.rendering.html:
        return response
    headers = [("content-type", RENDERED_TYPE), *(each for each in response.headers if each[0] != "content-type")]
    return msgspec.structs.replace(response, body=response.rendering.html, headers=headers)


def _failure_of(response: Response) -> Failed | None:
    """What is wrong with an answer that should be a page."""
    if challenge := challenge_in(response.status, response.headers, response.body):
        return Failed(Failure.BANNED, f"{response.status}, {challenge}", response)
    if not 200 <= response.status < 300:
        return Failed(Failure.STATUS, str(response.status), response)
    return None


def usage_of(response: Response, page: Page) -> Usage:
    """What a page and its headers say of its use."""
    usage = usage_in_headers(response.headers)
    if page.noindex:
        usage |= refused("search")
    if page.noarchive:
        usage |= refused("archive")
    if page.noai:
        usage |= refused("ai")
    if page.noimageai:
        usage |= refused("ai-images")
    return usage


def change_since(before: Validators | None, signature: bytes) -> float | None:
    """How much of a text is another than at the last visit; None if there was none, or it is not known what it was."""
    if before is None or not before.digest:
        return None
    if before.text and signature:
        return changed_share(before.text, text_mark(signature))
    # Without words on one side, or both, the bytes decide, and those are others.
    return 1.0


def conditions(validators: Validators | None) -> list[tuple[str, str]]:
    """The request headers that ask for a page only if it changed."""
    if validators is None:
        return []
    headers = []
    if validators.etag:
        headers.append(("If-None-Match", validators.etag))
    if validators.last_modified:
        headers.append(("If-Modified-Since", validators.last_modified))
    return headers
