"""`lycosa why`: what became of a URL in a crawl, and for which reason.

Asks the crawl's own parts: its limits, dedup rules, scope and secret make the fingerprint under which the frontier
knows the URL, and its robots records decide as they did for the crawl.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli import show
from lycosa.errors import SettingsError
from lycosa.model import History, OutcomeKind, Refusal, Target, origin_of

if TYPE_CHECKING:
    from lycosa.frontier.records import HostRecord
    from lycosa.frontier.view import TroubledOrigin
    from lycosa.settings import Settings
    from lycosa.url.canonical import ParsedUrl, Rejection
    from lycosa.url.fingerprint import Fingerprinter
    from lycosa.url.memo import KnownLink, LinkPolicy

# Entries of a queue that are looked through: a second's work.
MAX_LOOKED_AT = 500_000
MAX_SOURCES = 5
# What the figures behind a refusal by the rules against endless sites are called.
_TRAP_RULES = {
    Refusal.VARIANT: "known as",
    Refusal.MIRROR: "crawled as",
    Refusal.MAZE: "so far",
    Refusal.BUDGET: "so far",
    Refusal.TEMPLATE: "kind of page",
    Refusal.FAMILY: "kind of page",
}
_EXAMPLES = """\
  lycosa why https://example.org/private/ --folder broad
  lycosa why example.org/a --json
  lycosa why example.org/a --frontier 'redis://10.0.0.1/0?crawl=web'
"""


class Source(msgspec.Struct, frozen=True):
    """A page of the crawl that links to the URL."""

    url: str
    rel: str


class Answer(msgspec.Struct):
    """What became of a URL: one word, one sentence, and the facts behind it."""

    url: str
    state: str
    sentence: str
    facts: list[tuple[str, str]] = []
    linked_from: list[Source] = []


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = show.new_parser(
        commands,
        "why",
        "what became of a URL, and for which reason",
        "Explain any URL: whether the crawl knows it, visited it, refused it, or where it waits and what for.",
        _EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="any URL, as a page or a person writes it")
    show.add_crawl_options(parser)
    show.add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with show.opened_crawl(options) as crawl:
        answer = explain(crawl, options.url, time.time())
    if options.json:
        show.print_json({**msgspec.structs.asdict(answer), "facts": dict(answer.facts)})
        return 0
    show.console().print(show.visible(answer.url), style="bold")
    show.console().print(show.visible(answer.sentence))
    show.print_facts(answer.facts, indent="  ")
    for source in answer.linked_from:
        rel = f"  (rel={source.rel})" if source.rel else ""
        show.print_facts([("linked from", f"{source.url}{rel}")], indent="  ")
    return 0


def explain(crawl: show.OpenedCrawl, text: str, now: float) -> Answer:
    """What became of a URL in a crawl."""
    from lycosa.url.canonical import ParsedUrl, UrlLimits, parse_seed

    settings = crawl.settings
    parsed = parse_seed(text, UrlLimits(settings.max_url_length, settings.max_path_depth))
    if not isinstance(parsed, ParsedUrl):
        return _rejected(settings, text, parsed)
    return _Inquiry(crawl, parsed, now).answer()


def _rejected(settings: Settings, text: str, reason: Rejection) -> Answer:
    from lycosa.url.canonical import Rejection

    facts = []
    if reason is Rejection.TOO_LONG:
        facts.append(("setting", f"max_url_length = {settings.max_url_length}; it has {len(text)} characters"))
    elif reason is Rejection.TOO_DEEP:
        facts.append(("setting", f"max_path_depth = {settings.max_path_depth}"))
    return Answer(text, "rejected", f"This crawl would never fetch it: {reason.value}.", facts)


class _Inquiry:
    """One URL, looked for in every place where it could be."""

    def __init__(self, crawl: show.OpenedCrawl, parsed: ParsedUrl, now: float) -> None:
        from lycosa.build import link_policy
        from lycosa.url.fingerprint import Fingerprinter

        if crawl.view is None:
            raise SettingsError("the frontier of this crawl was kept in memory only, so nothing is known of it now")
        if not (key := crawl.view.crawl_key()):
            raise SettingsError("this crawl has not begun")
        self._folder = crawl.folder
        self._settings = crawl.settings
        self._view = crawl.view
        self._parsed = parsed
        self._now = now
        self._seeds = crawl.seeds
        self._fingerprinter: Fingerprinter = Fingerprinter(key)
        self._policy: LinkPolicy = link_policy(crawl.settings, self._seeds, self._fingerprinter)
        self._link: KnownLink = self._policy.judge(parsed)
        self._host = crawl.view.host(parsed.host)

    def answer(self) -> Answer:
        if self._link.url == f"{self._link.origin}/robots.txt":
            return self._robots_file()
        past, fingerprint = self._past()
        is_known = past is not None or self._view.is_known(self._link.host, fingerprint)
        if not is_known and (learnt := self._learnt_fingerprint()):
            return self._variant(learnt)
        waiting = self._waiting_target(fingerprint)
        if waiting is not None:
            return self._waits(waiting, past)
        if past is not None:
            return self._visited(past)
        if is_known:
            return self._new("known", "It is known, but in no queue at this moment: it is being visited, or just was.")
        return self._unknown()

    # ---- looking

    def _past(self) -> tuple[History | None, bytes]:
        """Its row of the crawl-history table, and the fingerprint under which it has one."""
        own = self._link.fingerprint
        # Reached by a redirect from a URL that counts as the same page, it has a fingerprint of its own.
        moved = self._fingerprinter.fingerprint(f"{self._link.url}#moved")
        for fingerprint in (moved, own):
            if past := self._view.history(self._link.host, fingerprint):
                return past, fingerprint
        return None, own

    def _meaningless(self) -> list[str]:
        """What changes nothing in URLs of this origin, as the crawl has found."""
        from lycosa.site.notes import Site

        domain = self._link.domain
        site = Site(domain, is_seeded=False, raw=self._view.site(domain))
        return site.meaningless_of(self._link.origin)

    def _learnt_fingerprint(self) -> bytes | None:
        """The fingerprint under which the URL is known by what was learnt of its site; None if by nothing."""
        from lycosa.site.variants import without

        key = self._policy.key(self._link.origin, self._parsed.path_and_query)
        path_at = key.find("/", 8)
        shorter = without(key[path_at:], self._meaningless())
        fingerprint = self._fingerprinter.fingerprint(key[:path_at] + shorter)
        is_known = shorter != key[path_at:] and self._view.is_known(self._link.host, fingerprint)
        return fingerprint if is_known else None

    def _waiting_target(self, fingerprint: bytes) -> tuple[Target, float, int] | None:
        """The target in its host's queue or among the retries: with the moment it is due (0: now) and its place."""
        is_last_first = self._settings.order == "depth"
        queue = self._view.queue(self._host, is_last_first=is_last_first) if self._host else iter(())
        for place, target in enumerate(islice(queue, MAX_LOOKED_AT)):
            if target.fingerprint == fingerprint:
                return target, 0.0, place + 1
        for due, target in islice(self._view.retries(), MAX_LOOKED_AT):
            if target.fingerprint == fingerprint:
                return target, due, 0
        return None

    def _sources(self) -> list[Source]:
        from lycosa.store.read import connect

        if self._folder is None:
            return []
        query = "SELECT DISTINCT source, rel FROM links WHERE target = ? ORDER BY ALL LIMIT ?"
        with connect(self._folder) as connection:
            rows = connection.execute(query, [self._link.url, MAX_SOURCES]).fetchall()
        return [Source(url, rel or "") for url, rel in rows]

    # ---- answering

    def _new(self, state: str, sentence: str, facts: list[tuple[str, str]] | None = None) -> Answer:
        return Answer(self._link.url, state, sentence, facts or [])

    def _visited(self, past: History) -> Answer:
        match past.outcome:
            case OutcomeKind.STORED:
                sentence = "It was visited, and its page is kept."
            case OutcomeKind.UNCHANGED:
                sentence = "It was visited again, and had not changed."
            case OutcomeKind.DUPLICATE:
                sentence = "It was visited, and has the same content as another URL."
            case OutcomeKind.MOVED:
                sentence = "It was visited, and redirects to another URL."
            case OutcomeKind.REFUSED:
                sentence = f"It was not requested: {past.reason}."
            case OutcomeKind.READ:
                sentence = "It was read for what it lists, not as a page."
            case OutcomeKind.FAILED:
                sentence = f"It was visited, and gave no page: {past.reason}."
            case OutcomeKind.CRASHED:
                sentence = f"Its visit failed by a fault of the crawler: {past.reason}."
        answer = self._new(past.outcome.name.lower(), sentence, self._history_facts(past))
        if past.outcome is OutcomeKind.REFUSED:
            answer.facts += self._refusal_facts(past)
        if not self._link.in_scope:
            answer.facts.append(("scope", f"{self._link.verdict.value}; it was reached by a redirect"))
        return answer

    def _variant(self, fingerprint: bytes) -> Answer:
        """It was never met like this, but is one page with a URL that is known."""
        past = self._view.history(self._link.host, fingerprint)
        waiting = None if past else self._waiting_target(fingerprint)
        if past:
            answer = self._visited(past)
        elif waiting:
            answer = self._waits(waiting, None)
        else:
            answer = self._new("known", "It is one page with a URL that was visited before.")
        answer.facts.append(("changes nothing", ", ".join(self._meaningless())))
        return answer

    def _history_facts(self, past: History) -> list[tuple[str, str]]:
        same_page = f"{past.url} (both count as one page)" if past.url != self._link.url else ""
        facts = [
            ("visited as", same_page),
            ("when", show.moment(past.visited_at)),
            ("visits", f"{past.visits:,}"),
            ("status", str(past.status) if past.status else ""),
            ("duplicate of", past.original),
            ("redirect", past.reason if past.outcome is OutcomeKind.MOVED else ""),
            ("depth", f"{past.depth} of at most {self._settings.max_depth}"),
            ("found on", past.referrer or "nowhere: it is a seed"),
        ]
        return [(label, value) for label, value in facts if value]

    def _refusal_facts(self, past: History) -> list[tuple[str, str]]:
        sentence, _, figures = past.reason.partition(": ")
        if rule := next((rule for rule in _TRAP_RULES if rule.value == sentence), None):
            facts = [("rule", rule.name.lower()), (_TRAP_RULES[rule], figures)]
            if rule is Refusal.VARIANT:
                facts.append(("changes nothing", ", ".join(self._meaningless())))
            off = "domain_pages = 0" if rule is Refusal.BUDGET else "traps = false"
            return [*((label, value) for label, value in facts if value), ("to switch off", off)]
        if past.reason.startswith(Refusal.ADDRESS.value):
            address = self._host.address if self._host else ""
            opened = ", ".join(self._settings.open_networks) or "none beside the public ones"
            facts = [("address", address), ("open networks", opened), ("to open one", "--open-network CIDR")]
            return [(label, value) for label, value in facts if value]
        return self._robots_facts()

    def _robots_facts(self) -> list[tuple[str, str]]:
        """What the crawl's robots record for this origin says of the URL."""
        from lycosa.robots.cache import Ruling
        from lycosa.robots.match import RobotsMatcher
        from lycosa.robots.parse import path_and_query
        from lycosa.robots.verdict import RobotsKind

        origin = origin_of(self._link.url)
        raw = self._view.robots(origin)
        if not raw:
            return [("robots.txt", "not read yet")]
        ruling = msgspec.msgpack.decode(raw, type=Ruling)
        record = ruling.record
        asked = "last asked for" if record.failures else "read"
        facts = [("robots.txt", f"{origin}/robots.txt, {asked} {show.moment(record.fetched_at)}")]
        match record.kind:
            case RobotsKind.ALLOW_ALL:
                return [*facts, ("rule", "there is no robots.txt, so everything is allowed")]
            case RobotsKind.DISALLOW_ALL:
                tries = f"{record.failures:,} {'time' if record.failures == 1 else 'times'}"
                because = f"{tries}, the last time: {ruling.trouble}" if ruling.trouble else tries
                return [*facts, ("rule", f"it could not be read ({because}), so nothing is allowed")]
        decision = RobotsMatcher(record.rules).explain(path_and_query(self._link.url))
        if decision.rule is None:
            return [*facts, ("rule", "no rule speaks of it, so it is allowed")]
        line = self._robots_line(f"{origin}/robots.txt", decision.rule)
        return [*facts, ("rule", f"{'Allow' if decision.rule[0] else 'Disallow'}: {decision.rule[1]}{line}")]

    def _robots_line(self, url: str, rule: tuple[bool, str]) -> str:
        """Where the rule stands in the file, if the file is still at hand."""
        from lycosa.cli.robots import line_of
        from lycosa.robots.parse import product_token
        from lycosa.store.read import RecordLost, response_of_visit, versions

        if self._folder is None:
            return ""
        for visit in reversed(versions(self._folder, url)):
            if visit.status == 200:
                try:
                    response = response_of_visit(self._folder, visit)
                except RecordLost:
                    return ""
                number = line_of(response.body, product_token(self._settings.user_agent), rule) if response else 0
                return f" (line {number})" if number else ""
        return ""

    def _waits(self, waiting: tuple[Target, float, int], past: History | None) -> Answer:
        target, due, place = waiting
        facts = [
            ("class", f"{target.priority} of 10"),
            ("depth", f"{target.depth} of at most {self._settings.max_depth}"),
            ("found on", target.referrer or "nowhere: it is a seed"),
            *self._aside_facts(),
        ]
        if due:
            left = f"in {show.duration(due - self._now)}" if due > self._now else "now"
            pauses = len(self._settings.retry_after_seconds)
            facts += [
                ("due", f"{left} ({show.moment(due)}), try {target.attempt + 1} of {pauses + 1}"),
                ("because", past.reason if past else "its last visit failed"),
            ]
            return self._new("retry", "It failed in a way that may pass, and waits to be tried again.", facts)
        assert self._host is not None
        facts = [("place", f"{place:,} of {self._host.queued:,} on {self._host.name}"), *facts, *self._host_facts()]
        again = f" again; it was last visited {show.moment(past.visited_at)}" if past else ""
        aside = " once its origin can be asked" if self._troubled_origin() else ""
        return self._new("queued", f"It is queued, to be visited{aside}{again}.", facts)

    def _troubled_origin(self) -> TroubledOrigin | None:
        """Its origin, if that is set aside."""
        from lycosa.frontier.view import troubled_origins_of

        troubled = troubled_origins_of(self._host) if self._host else []
        return next((each for each in troubled if each.origin == self._link.origin), None)

    def _aside_facts(self) -> list[tuple[str, str]]:
        from lycosa.cli.status import until

        if (troubled := self._troubled_origin()) is None:
            return []
        return [
            ("set aside", f"{troubled.origin}: {troubled.trouble}"),
            ("next try", f"{until(troubled.next_try_at, self._now)} ({show.moment(troubled.next_try_at)})"),
        ]

    def _host_facts(self) -> list[tuple[str, str]]:
        host: HostRecord | None = self._host
        if host is None:
            return []
        from lycosa.cli.status import waits_for
        from lycosa.policy.region import RegionRules

        is_free = host.free_at <= self._now
        region = RegionRules(self._settings.region_rules).of(host.name) or host.nearest
        facts = [
            *([("region", region)] if region else []),
            ("host is free", "now" if is_free else f"in {show.duration(host.free_at - self._now)}"),
            ("host waits for", waits_for(host, self._now)),
            ("pause", f"{show.duration(host.delay_seconds)} between requests"),
        ]
        if host.crawl_delay_seconds:
            facts.append(("crawl-delay", f"{show.duration(host.crawl_delay_seconds)}, by its robots.txt"))
        return facts + self._robots_facts()

    def _unknown(self) -> Answer:
        """Nothing is known of it: say what would happen, and what the crawl saw of it."""
        answer = self._new("undiscovered", "", [])
        answer.linked_from = self._sources()
        if not self._link.in_scope:
            answer.state, answer.facts = "out of scope", self._scope_facts()
            answer.sentence = f"This crawl does not follow it: {self._link.verdict.value}."
        elif not answer.linked_from and self._folder is None:
            answer.sentence = "It is not known to the frontier; what links to it is told by the machines' folders."
        elif not answer.linked_from:
            answer.sentence = "It was never discovered: no page, redirect or sitemap that this crawl read leads to it."
        else:
            answer.sentence, answer.facts = self._not_followed(answer.linked_from)
        if self._host and self._host.dropped and self._link.in_scope:
            answer.facts.append(("dropped", self._dropped_note(self._host)))
        if not self._view.is_exact and self._link.in_scope:
            answer.facts.append(("certainty", self._bloom_note()))
        return answer

    def _not_followed(self, sources: list[Source]) -> tuple[str, list[tuple[str, str]]]:
        if self._settings.obey_nofollow and all("nofollow" in source.rel for source in sources):
            return "It was not followed: the pages that link to it say nofollow.", [("setting", "obey_nofollow = true")]
        facts = [
            ("deepest", f"max_depth = {self._settings.max_depth}: links of pages that deep are not followed"),
            ("per domain", f"max_links_per_domain = {self._settings.max_links_per_domain} on each page"),
            ("whole page", "a page with meta robots nofollow has its links kept, but not followed"),
        ]
        return "Pages link to it, and yet it was not followed. What can keep a link from being followed:", facts

    def _dropped_note(self, host: HostRecord) -> str:
        return (
            f"the queue of {host.name} was full {host.dropped:,} times (max_queued_per_host = "
            f"{self._settings.max_queued_per_host}): what had no room is forgotten until it is found again, and this "
            "may have been among it"
        )

    def _bloom_note(self) -> str:
        return (
            f"seen = bloom: about {self._settings.seen_error:.2%} of new URLs are taken for known and never visited, "
            "and this may be one of them"
        )

    def _scope_facts(self) -> list[tuple[str, str]]:
        import re2

        from lycosa.url.scope import Verdict

        settings, url = self._settings, self._link.url.encode()
        match self._link.verdict:
            case Verdict.EXCLUDED:
                matching = [pattern for pattern in settings.exclude if re2.compile(pattern).search(url)]
                return [("exclude", pattern) for pattern in matching]
            case Verdict.NOT_INCLUDED:
                return [("include", pattern) for pattern in settings.include]
            case _:
                hosts = sorted({seed.host for seed in self._seeds})
                return [("scope", settings.scope), ("seeds are on", ", ".join(hosts[:10]))]

    def _robots_file(self) -> Answer:
        facts = self._robots_facts()[:1]
        state = self._host.origins.get(self._link.origin) if self._host else None
        if state is None:
            return self._new("undiscovered", "It was not asked for: no page of its origin was due.", facts)
        if state.is_pending:
            sentence = "It could not be read; the pages of its origin wait until it can."
            return self._new("failed", sentence, [*facts, *self._aside_facts()])
        facts.append(("used until", show.moment(state.expires_at)))
        return self._new("read", "It was read for its rules, and is read again once they are older than that.", facts)
