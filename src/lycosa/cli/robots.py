"""`lycosa robots`: what a site's robots.txt says of a URL, and by which of its lines."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.cli import show
from lycosa.errors import VisitError

if TYPE_CHECKING:
    from lycosa.robots.parse import Rule
    from lycosa.robots.verdict import RobotsRecord
    from lycosa.settings import Settings
    from lycosa.url.canonical import ParsedUrl

MAX_REDIRECTS = 5
# Lines tried one by one when a rule stands in a file more than once.
MAX_CANDIDATES = 50
_EXAMPLES = """\
  lycosa robots https://example.org/private/page
  lycosa robots https://example.org/x --file robots.txt --user-agent "mybot/1.0"
"""


class Report(msgspec.Struct, kw_only=True):
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
    parser = show.new_parser(
        commands,
        "robots",
        "whether robots.txt lets a URL be fetched, and which rule decides",
        "Fetch a site's robots.txt and show which of its rules decides for a URL.",
        _EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="the URL to ask about")
    parser.add_argument("--file", type=Path, metavar="FILE", help="read this file instead of the site's robots.txt")
    show.add_stage_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    settings = show.stage_settings(options)
    url = show.parse_url(options.url)
    found = _Found(str(options.file), 200, show.read_bytes(options.file), "a file") if options.file else None
    found = found or asyncio.run(_fetch(settings, url))
    report = decide(settings, url, found.status, found.body)
    report.robots_url, report.answer = found.url, found.answer
    if options.json:
        show.print_json(report)
    else:
        _print(report)
    return 0


async def _fetch(settings: Settings, url: ParsedUrl) -> _Found:
    from lycosa.build import make_fetcher
    from lycosa.clock import steady_clock
    from lycosa.robots.parse import MAX_ROBOTS_BYTES
    from lycosa.url.canonical import ParsedUrl, parse

    fetcher = make_fetcher(settings, steady_clock())
    at = f"{url.origin}/robots.txt"
    try:
        for _ in range(MAX_REDIRECTS + 1):
            response = await fetcher.fetch(at, max_body_bytes=MAX_ROBOTS_BYTES)
            if not (response.is_redirect and response.header("location")):
                return _Found(at, response.status, response.body, f"status {response.status}")
            further = parse(response.header("location"), at)
            if not isinstance(further, ParsedUrl):
                break
            at = further.url
        # RFC 9309, 2.3.1.2: as if there were none.
        return _Found(at, 404, b"", "redirects without an end")
    except VisitError as error:
        return _Found(at, None, b"", f"no answer: {error}")
    finally:
        await fetcher.close()


def decide(settings: Settings, url: ParsedUrl, status: int | None, body: bytes) -> Report:
    """What an answer to the request for robots.txt means for a URL."""
    from lycosa.robots.match import RobotsMatcher
    from lycosa.robots.parse import path_and_query, product_token
    from lycosa.robots.verdict import robots_verdict

    agent = product_token(settings.user_agent)
    record = robots_verdict(status, body, agent, time.time())
    decision = RobotsMatcher(record.rules).explain(path_and_query(url.url))
    report = Report(
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


def line_of(body: bytes, agent: str, rule: Rule) -> int:
    """The line of the file on which a rule stands that holds for the agent; 0 if that cannot be said.

    Told by the parser itself: it is the line without which the rule does not hold.
    """
    from lycosa.robots.parse import parse_robots

    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    alike = [
        number
        for number, line in enumerate(lines)
        if b"llow" in line.lower() and parse_robots(b"User-agent: *\n" + line, agent).rules == (rule,)
    ]
    for number in alike[:MAX_CANDIDATES]:
        without = b"\n".join(lines[:number] + lines[number + 1 :])
        if rule not in parse_robots(without, agent).rules:
            return number + 1
    return alike[0] + 1 if alike else 0


def _print(report: Report) -> None:
    out = show.console()
    out.print(show.visible(report.url), style="bold")
    out.print("allowed" if report.allowed else "disallowed", style="green" if report.allowed else "red")
    delay = report.crawl_delay_seconds
    show.print_facts(
        [
            ("rule", f"{report.rule}{f' (line {report.line})' if report.line else ''}" if report.rule else ""),
            ("because", report.reason),
            ("robots.txt", f"{report.robots_url} ({report.answer})"),
            ("agent", f"{report.agent}, {report.rules:,} rules"),
            ("crawl-delay", show.duration(delay) if delay is not None else ""),
            *(("sitemap", sitemap) for sitemap in report.sitemaps),
        ],
        indent="  ",
    )
