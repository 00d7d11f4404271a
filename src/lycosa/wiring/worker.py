"""Settings to what a worker is made of, down to the last part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.crawl.discovery import Discovery, DiscoveryRules
from lycosa.crawl.extraction import Extraction
from lycosa.crawl.logins import Logins
from lycosa.crawl.settlement import Kept
from lycosa.crawl.visit import RENDERED_TYPE, Visitor
from lycosa.crawl.widening import Follow
from lycosa.crawl.worker import Worker
from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.schemes import FetcherRegistry, SchemeFetcher
from lycosa.fetch.spacing import RequestSpacing
from lycosa.hooks import Hooks, load_hooks
from lycosa.model import Links, Page, Response, Target, Visit
from lycosa.page.digest import Digester
from lycosa.page.parser import PageParser
from lycosa.page.reading import DocumentLimits
from lycosa.ports import Dispatcher, Fetcher, NoWatchdog, Watchdog
from lycosa.render.renderer import together
from lycosa.robots.cache import RobotsCache
from lycosa.robots.parse import product_token
from lycosa.settings import Settings
from lycosa.site.judge import SiteJudge, TrapRules
from lycosa.site_rules import SiteTable, any_origin, ignores_robots, known_origins
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.recover import Parse
from lycosa.url.canonical import ParsedUrl
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.links import page_links
from lycosa.url.memo import LinkPolicy
from lycosa.wiring.machine import connection_count
from lycosa.wiring.pace import has_regions, pace_of
from lycosa.wiring.rendering import make_renderer, renders

if TYPE_CHECKING:
    from lycosa.topic.guide import Guide


def page_parser(settings: Settings) -> PageParser:
    # Half of the time after which the kernel ends whoever reads a page: a long document is cut, and not given up.
    limits = DocumentLimits(settings.max_text_chars, settings.max_links, settings.parse_seconds / 2)
    documents = limits if settings.documents else None
    return PageParser(settings, product_token(settings.user_agent), SiteTable(settings.site), documents=documents)


def digester(settings: Settings) -> Digester:
    return Digester(has_groups=settings.content_groups, summary=settings.summary, sentences=settings.summary_sentences)


def make_fetcher(settings: Settings, clock: Clock, is_known: Callable[[str], bool] = any_origin) -> CurlFetcher:
    """The one way out: names through our own resolver, every address through the gate.

    `is_known` says of an origin whether it may be told what the rules of its host have for that host alone.
    """
    pace = pace_of(settings)
    return CurlFetcher(
        settings,
        Resolver(settings.dns_servers, clock),
        AddressGate(settings.open_networks),
        spacing=RequestSpacing(
            domain_gap_seconds=pace.domain_gap_seconds,
            address_gap_seconds=pace.address_gap_seconds,
            sites=SiteTable(settings.site),
        ),
        clock=clock,
        is_known=is_known,
    )


def make_fetchers(settings: Settings, network: CurlFetcher, clock: Clock) -> Fetcher:
    """Who fetches what: beside the web what the operator has opened."""
    others: dict[str, SchemeFetcher] = {}
    if "ftp" in settings.schemes:
        # Imported where it is wanted, as few crawls want it.
        from lycosa.fetch.ftp import FtpFetcher

        gate = AddressGate(settings.open_networks)
        others["ftp"] = FtpFetcher(settings, network, gate, network.spacing, clock)
    if "file" in settings.schemes:
        from lycosa.fetch.files import FileFetcher

        others["file"] = FileFetcher(settings.file_roots, settings.max_body_bytes, clock)
    return FetcherRegistry(network, others) if others else network


def make_discovery(settings: Settings, seeds: Iterable[ParsedUrl], crawl_key: bytes) -> Discovery:
    fingerprinter = Fingerprinter(crawl_key)
    rules = DiscoveryRules(
        max_depth=settings.max_depth,
        max_links_per_domain=settings.max_links_per_domain,
        order=settings.order,
        obey_nofollow=settings.obey_nofollow,
        sitemaps=settings.sitemaps,
    )
    policy = LinkPolicy.from_settings(settings, seeds, fingerprinter)
    links = page_links(policy, tells_others=settings.order == "best")
    return Discovery(policy, links, fingerprinter, rules, SiteTable(settings.site))


def make_guide(settings: Settings) -> Guide | None:
    """What rates pages and links; None in a crawl without a topic."""
    if settings.order != "topic":
        return None
    # Imported here: stems and segmentation are nothing to other crawls.
    from lycosa.topic.guide import Guide
    from lycosa.topic.relevance import Relevance

    relevance = Relevance(settings.topic_terms)
    return Guide(relevance, settings.on_topic_from, obeys_nofollow=settings.obey_nofollow)


def make_judge(settings: Settings, seeds: list[ParsedUrl], crawl_key: bytes, dispatcher: Dispatcher) -> SiteJudge:
    policy = LinkPolicy.from_settings(settings, seeds, Fingerprinter(crawl_key))
    takes_turns = settings.assignment == "balanced" or has_regions(settings)
    rules = TrapRules(is_on=settings.traps, patience=settings.patience, is_shared=takes_turns)
    return SiteJudge(dispatcher, policy, rules)


def make_worker(
    settings: Settings,
    folder: CrawlFolder,
    number: int,
    dispatcher: Dispatcher,
    crawl_key: bytes,
    on_kept: Callable[[Kept], None] | None = None,
    watchdog: Watchdog | None = None,
    hooks: Hooks | None = None,
    clock: Clock | None = None,
) -> Worker:
    """A worker with all its parts; without hooks, those that the settings name."""
    hooks = hooks or load_hooks(settings.hooks)
    settings = msgspec.structs.replace(settings, connections=connection_count(settings))
    clock = clock or steady_clock()
    seeds, sites = folder.read_seeds(), SiteTable(settings.site)
    is_known = known_origins((seed.origin for seed in seeds), settings.site) if sites else any_origin
    network = make_fetcher(settings, clock, is_known)
    fetcher = make_fetchers(settings, network, clock)
    renderer = None
    if renders(settings):
        fetcher, renderer = make_renderer(settings, fetcher, dispatcher, clock)
    discovery, guide = make_discovery(settings, seeds, crawl_key), make_guide(settings)
    judge = make_judge(settings, seeds, crawl_key, dispatcher)
    tries = len(settings.retry_after_seconds)
    robots_cache = RobotsCache(
        dispatcher,
        product_token(settings.user_agent),
        settings.robots_cache_seconds,
        tries,
        ignores_robots(settings.site),
    )
    visitor = Visitor(
        fetcher,
        robots_cache,
        judge,
        page_parser(settings),
        discovery,
        digester(settings),
        dispatcher,
        clock,
        max_redirects=settings.max_redirects,
        max_requisites=settings.max_requisites,
        watchdog=watchdog or NoWatchdog(),
        spaces_addresses=pace_of(settings).address_gap_seconds > 0,
        extraction=Extraction(discovery, sites, hooks),
        hooks=hooks,
        logins=Logins(sites, folder.path / "sessions", fetcher, robots_cache, pace_of(settings), clock, is_known),
        renderer=renderer,
        guide=guide,
    )
    store = FolderStore(folder, number, settings, clock)
    return Worker(
        dispatcher,
        visitor,
        judge,
        discovery,
        fetcher,
        store,
        settings.connections,
        clock,
        on_kept,
        sites.named_hosts("connections"),
        caches={"links": discovery.hits, "DNS": network.hits, "robots.txt": robots_cache.hits},
        guide=guide,
    )


def page_reader(settings: Settings, folder: CrawlFolder) -> Parse:
    """Reads pages again exactly as visits read them, after a crash."""
    parser = page_parser(settings)
    discovery = make_discovery(settings, folder.read_seeds(), bytes(16))

    def parse(visit: Visit, response: Response) -> tuple[Page, Links]:
        page = parser.parse(response.body, response.header("content-type"), url=visit.url)
        if html := response.rendering and response.rendering.html:
            page = together(page, parser.parse(html, RENDERED_TYPE, url=visit.url))
        return page, discovery.of_page(Target(visit.url, visit.host, b""), page).links

    return parse


def link_follower(settings: Settings, folder: CrawlFolder, crawl_key: bytes) -> Follow:
    """Finds on pages that were stored what a visit would find on them now."""
    parser = page_parser(settings)
    discovery = make_discovery(settings, folder.read_seeds(), crawl_key)

    def follow(visit: Visit, response: Response) -> list[Target]:
        directives = [value for name, value in response.headers if name == "x-robots-tag"]
        page = parser.parse(response.body, response.header("content-type"), directives, url=visit.url)
        if html := response.rendering and response.rendering.html:
            page = together(page, parser.parse(html, RENDERED_TYPE, url=visit.url))
        found = discovery.of_page(Target(visit.url, visit.host, b"", depth=visit.depth), page)
        return [*found.new, *found.requisites]

    return follow
