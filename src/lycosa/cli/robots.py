"""`lycosa robots`: what a site's robots.txt says of a URL, and by which of its lines."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.cli.arguments import add_stage_options, new_parser, parse_url, read_bytes, stage_settings
from lycosa.cli.printing import console, print_facts, print_json
from lycosa.errors import VisitError
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, visible
from lycosa.model import Note

if TYPE_CHECKING:
    from lycosa.robots.parse import Rule
    from lycosa.robots.verdict import RobotsRecord
    from lycosa.settings import Settings
    from lycosa.url.canonical import ParsedUrl

MAX_REDIRECTS = 5
_EXAMPLES = """\
  lycosa robots https://example.org/private/page
  lycosa robots https://example.org/x --file robots.txt --user-agent "mybot/1.0"
"""


class RobotsReport(msgspec.Struct, kw_only=True):
    """What robots.txt says of a URL."""

    url: str
    robots_url: str
    agent: str
    answer: str
    kind: str
    allowed: bool
    rule: str = ""
    line: int = 0
    reason: str = ""
    crawl_delay_seconds: float | None = None
    rules: int = 0
    sitemaps: tuple[str, ...] = ()


class _Found(NamedTuple):
    """Where robots.txt was found in the end, with its status (None: no answer), its body, and how it went."""

    url: str
    status: int | None
    body: bytes
    answer: str


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "robots",
        "Fetch a site's robots.txt and show which of its rules decides for a URL.",
        _EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="the URL to ask about")
    parser.add_argument("--file", type=Path, metavar="FILE", help="read this file instead of the site's robots.txt")
    add_stage_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    settings = stage_settings(options)
    url = parse_url(options.url)
    found = _Found(str(options.file), 200, read_bytes(options.file), "a file") if options.file else None
    found = found or asyncio.run(_fetch(settings, url))
    report = decide(settings, url, found.status, found.body)
    report.robots_url, report.answer = found.url, found.answer
    if options.json:
        print_json(report)
    else:
        _print(report)
    return 0


async def _fetch(settings: Settings, url: ParsedUrl) -> _Found:
    from lycosa.clock import steady_clock
    from lycosa.robots.parse import FETCHED_ROBOTS_BYTES
    from lycosa.robots.verdict import reliable_status
    from lycosa.url.canonical import ParsedUrl, parse
    from lycosa.wiring.worker import make_fetcher

    fetcher = make_fetcher(settings, steady_clock())
    at = f"{url.origin}/robots.txt"
    try:
        for _ in range(MAX_REDIRECTS + 1):
            response = await fetcher.fetch(at, max_body_bytes=FETCHED_ROBOTS_BYTES)
            if not (response.is_redirect and response.header("location")):
                cut = f", cut by {response.truncated}" if response.truncated else ""
                return _Found(at, reliable_status(response), response.body, f"status {response.status}{cut}")
            further = parse(response.header("location"), at)
            if not isinstance(further, ParsedUrl):
                break
            at = further.url
        # RFC 9309, 2.3.1.2: as if there were none.
        return _Found(at, 404, b"", sentence_of(Note.ROBOTS_REDIRECTS))
    except VisitError as error:
        return _Found(at, None, b"", f"no answer: {sentence_of(error.reason, error.detail)}")
    finally:
        await fetcher.close()


def decide(settings: Settings, url: ParsedUrl, status: int | None, body: bytes) -> RobotsReport:
    """What an answer to the request for robots.txt means for a URL."""
    from lycosa.robots.match import RobotsMatcher
    from lycosa.robots.parse import line_of, path_and_query, product_token
    from lycosa.robots.verdict import robots_verdict

    agent = product_token(settings.user_agent)
    record = robots_verdict(status, body, agent, time.time())
    decision = RobotsMatcher(record.rules).explain(path_and_query(url.url))
    report = RobotsReport(
        url=url.url,
        robots_url="",
        agent=agent,
        answer="",
        kind=record.kind.value,
        allowed=decision.allowed,
        reason=_reason(record, decision.rule),
        crawl_delay_seconds=record.rules.crawl_delay_seconds,
        rules=len(record.rules.rules),
        sitemaps=record.rules.sitemaps,
    )
    if decision.rule is not None and record.kind.value == "rules":
        report.rule = f"{'Allow' if decision.rule[0] else 'Disallow'}: {decision.rule[1]}"
        report.line = line_of(body, agent, decision.rule)
    return report


def _reason(record: RobotsRecord, rule: Rule | None) -> str:
    from lycosa.robots.verdict import RobotsKind

    if record.kind is RobotsKind.ALLOW_ALL:
        return "there is no robots.txt, so everything is allowed"
    if record.kind is RobotsKind.DISALLOW_ALL:
        return "robots.txt could not be read, so nothing is allowed until it can"
    return "the longest rule that matches decides" if rule else "no rule speaks of it"


def _print(report: RobotsReport) -> None:
    out = console()
    out.print(visible(report.url), style="bold")
    out.print("allowed" if report.allowed else "disallowed", style="green" if report.allowed else "red")
    delay = report.crawl_delay_seconds
    print_facts(
        [
            ("rule", f"{report.rule}{f' (line {report.line})' if report.line else ''}" if report.rule else ""),
            ("because", report.reason),
            ("robots.txt", f"{report.robots_url} ({report.answer})"),
            ("agent", f"{report.agent}, {report.rules:,} rules"),
            ("crawl-delay", duration(delay) if delay is not None else ""),
            *(("sitemap", sitemap) for sitemap in report.sitemaps),
        ],
        indent="  ",
    )
