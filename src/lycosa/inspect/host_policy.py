"""How one host is treated, and what is known of it: its row of the domain-policy table, put into words."""

from __future__ import annotations

import msgspec

from lycosa.frontier.records import HostPolicy, HostRecord
from lycosa.frontier.revisits import DAY
from lycosa.inspect.opened import OpenedCrawl
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.status import waits_for
from lycosa.inspect.wording import duration, moment
from lycosa.policy.listing import Trust
from lycosa.robots.cache import Ruling
from lycosa.robots.verdict import RobotsKind
from lycosa.site.notes import Site
from lycosa.site.sections import DOMAIN
from lycosa.url.domain import registered_domain


class HostFacts(msgspec.Struct):
    """What a host is owed, what an operator wants of it, and how it does."""

    host: str
    is_known: bool
    facts: list[tuple[str, str]]
    policy: HostPolicy | None = None


def host_facts(crawl: OpenedCrawl, name: str, now: float) -> HostFacts:
    """The facts on a host; of one that was never met there are hardly any."""
    record = crawl.view.host(name) if crawl.view else None
    if crawl.view is None or record is None:
        return HostFacts(name, is_known=False, facts=[("known", "no: nothing of it was found yet")])
    facts = [
        *_pauses(record),
        *_wishes(record.policy or HostPolicy()),
        *_robots(crawl, record),
        ("health", _health(record, now)),
        ("visits", f"{record.visits:,}, of which {record.pages:,} gave a page"),
        ("queued", f"{record.queued:,}"),
        ("changes", _changes(record)),
        ("tells", _signals(record)),
        ("new", _worth(crawl, record)),
    ]
    return HostFacts(
        name, is_known=True, facts=[(label, value) for label, value in facts if value], policy=record.policy
    )


def _pauses(record: HostRecord) -> list[tuple[str, str]]:
    by_robots = (
        f", its robots.txt asks for {duration(record.crawl_delay_seconds)}" if record.crawl_delay_seconds else ""
    )
    slowed = f", {record.slowdown:g} times what it was before a ban" if record.slowdown > 1 else ""
    return [("pause", f"{duration(record.delay_seconds)} between requests{by_robots}{slowed}")]


def _wishes(policy: HostPolicy) -> list[tuple[str, str]]:
    return [
        ("blocked", "by the operator: nothing is asked for" if policy.is_blocked else ""),
        ("delay", f"at least {duration(policy.delay_seconds)}, by the operator" if policy.delay_seconds else ""),
        ("budget", f"at most {policy.pages_per_day:g} pages a day, by the operator" if policy.pages_per_day else ""),
        ("priority", f"{policy.priority:+d} classes, by the operator" if policy.priority else ""),
    ]


def _robots(crawl: OpenedCrawl, record: HostRecord) -> list[tuple[str, str]]:
    """The rules in force, origin by origin."""
    assert crawl.view
    found = []
    for origin, state in record.origins.items():
        raw = crawl.view.robots(origin)
        ruling = msgspec.msgpack.decode(raw, type=Ruling) if raw else None
        if ruling is None or state.is_pending:
            why = sentence_of(state.trouble.code, state.trouble.detail) if state.trouble else "not read yet"
            found.append(("robots.txt", f"{origin}: {why}; next try {moment(state.closed_until)}"))
            continue
        rules = f"{len(ruling.record.rules.rules):,} rules for us"
        if ruling.record.kind is RobotsKind.ALLOW_ALL:
            rules = "there is none, so everything is allowed"
        elif ruling.record.kind is RobotsKind.DISALLOW_ALL:
            rules = "it could not be read, so nothing is allowed"
        found.append(
            ("robots.txt", f"{origin}: {rules}; read {moment(state.fetched_at)}, until {moment(state.expires_at)}")
        )
    return found


def _health(record: HostRecord, now: float) -> str:
    if record.ban:
        return f"it told us to go away: {sentence_of(record.ban.code, record.ban.detail)}"
    if record.failures:
        return f"{record.failures:,} failures in a row"
    return f"good; it waits for {waits_for(record, now)}" if record.queued else "good"


def _signals(record: HostRecord) -> str:
    """How good what its sitemaps and feeds say of changes has been."""
    if not record.trust:
        return ""
    trust = Trust(*record.trust)
    return (
        f"of {trust.right:.0%} of its changes, and of one at {trust.false:.0%} of the visits that find none: "
        f"a change is {trust.odds(is_told=True):.2g} times as likely if it tells of one"
    )


def _worth(crawl: OpenedCrawl, record: HostRecord) -> str:
    """How much of what it shows is new, as it was judged at visits."""
    assert crawl.view
    domain = registered_domain(record.name)
    sections = Site(domain, crawl.settings.patience, raw=crawl.view.site(domain)).sections.all
    section = sections.get(record.name) or sections.get(DOMAIN)
    return f"{section.lately:.0%} of what its last visits showed" if section and section.visits else ""


def _changes(record: HostRecord) -> str:
    """How often its content changes, as far as pages were visited again."""
    if not record.rated:
        return "no page was visited again yet"
    days = record.rated / max(record.rates, 1e-12) / DAY
    pages = f"{record.rated:,.0f} {'page' if record.rated == 1 else 'pages'} visited again"
    return f"a page changes about every {duration(days * DAY)} ({pages})"
