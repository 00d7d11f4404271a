"""Settings to what renders pages."""

from __future__ import annotations

from lycosa.clock import Clock
from lycosa.policy.politeness import delay_seconds, own_delay, with_delay
from lycosa.ports import Dispatcher, Fetcher
from lycosa.render.browser import Browser, BrowserLimits, find_browser
from lycosa.render.renderer import Mode, PageRenderer
from lycosa.render.turns import PacedFetcher
from lycosa.robots.elsewhere import RobotsElsewhere
from lycosa.robots.parse import product_token
from lycosa.settings import Settings
from lycosa.site_rules import SiteTable, ignores_robots
from lycosa.url.canonical import ParsedUrl
from lycosa.wiring.pace import pace_of


def renders(settings: Settings) -> bool:
    """Whether any page may be given to a browser."""
    modes = {settings.render, *(rules.render for rules in settings.site.values())}
    return not modes <= {"never", None}


def make_renderer(
    settings: Settings, fetcher: Fetcher, dispatcher: Dispatcher, clock: Clock
) -> tuple[PacedFetcher, PageRenderer]:
    """What renders pages, and the fetcher that keeps the pauses of hosts between what browsers ask for and visits."""
    sites = SiteTable(settings.site)
    pace, delays = pace_of(settings), sites.named_hosts("delay_seconds")

    def pause(host: str, fetch_seconds: float, crawl_delay_seconds: float) -> float:
        return delay_seconds(with_delay(pace, own_delay(delays, host)), fetch_seconds, crawl_delay_seconds)

    paced = PacedFetcher(fetcher, pause, sites.named_hosts("connections"))
    agent, ignored = product_token(settings.user_agent), ignores_robots(settings.site)
    robots = RobotsElsewhere(dispatcher, paced, agent, settings.robots_cache_seconds, clock)

    async def permits(page_host: str, url: ParsedUrl) -> bool:
        rules = sites.of(url.url)
        if url.host != page_host and (rules.headers or rules.cookies):
            # They would go along: what only we may see would be shown to a page of somebody else.
            return False
        permit = await robots.permit(url)
        paced.note_crawl_delay(url.host, permit.crawl_delay_seconds)
        return permit.is_given or url.host in ignored

    def mode_of(url: str) -> Mode:
        return sites.of(url).render or settings.render

    limits = BrowserLimits(
        find_browser(settings.browser),
        settings.user_agent,
        settings.render_pages,
        settings.render_seconds,
        settings.render_scrolls,
        settings.render_memory_bytes,
        settings.max_body_bytes,
    )
    renderer = PageRenderer(
        Browser(limits),
        permits,
        mode_of,
        max_requests=settings.render_requests,
        max_redirects=settings.max_redirects,
        lease_seconds=settings.lease_seconds,
        has_media=settings.render_media,
    )
    return paced, renderer
