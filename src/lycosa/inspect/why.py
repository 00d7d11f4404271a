"""What became of a URL in a crawl, and for which reason: the traces of it, put into words.

Its robots records decide as they did for the crawl.
"""

from __future__ import annotations

import msgspec
import re2

from lycosa.frontier.records import HostRecord
from lycosa.frontier.rules import MAX_CRASHES
from lycosa.inspect.opened import OpenedCrawl
from lycosa.inspect.rating import promised, rating_facts
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.status import waits_for
from lycosa.inspect.traces import Source, Traces, Waiting
from lycosa.inspect.whether import Input, inputs_of
from lycosa.inspect.wording import duration, moment, until
from lycosa.model import Crash, History, Kind, Note, OutcomeKind, Refusal
from lycosa.policy.region import RegionRules
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import path_and_query
from lycosa.robots.verdict import RobotsKind
from lycosa.settings import Settings
from lycosa.site_rules import SiteTable, in_words
from lycosa.url.canonical import ANY_SCHEME, WEB, ParsedUrl, Rejection, UrlLimits, parse_seed
from lycosa.url.scope import Verdict

# What the figures behind a refusal by the rules against endless sites are called.
_TRAP_RULES: dict[str, str] = {
    Refusal.VARIANT: "known as",
    Refusal.MIRROR: "crawled as",
    Refusal.ENDLESS: "so far",
    Refusal.ALIKE: "so far",
    Refusal.BARREN: "so far",
}
_SHOWN_BY = "a page that needs it to be shown; on any host, and beside the page limit"
_KILLERS = frozenset({Crash.CPU, Crash.KILLED, Crash.EXITED})


class Answer(msgspec.Struct):
    """What became of a URL: one word, one sentence, and the facts behind it."""

    url: str
    state: str
    sentence: str
    facts: list[tuple[str, str]] = []
    linked_from: list[Source] = []
    inputs: list[Input] = []  # of the decision whether, and when, it is visited


def explain(crawl: OpenedCrawl, text: str, now: float) -> Answer:
    """What became of a URL in a crawl."""
    settings = crawl.settings
    limits = UrlLimits(settings.max_url_length, settings.max_path_depth, schemes=WEB.union(settings.schemes))
    parsed = parse_seed(text, limits)
    if parsed is Rejection.SCHEME and isinstance(named := parse_seed(text, ANY_SCHEME), ParsedUrl):
        # Where it was met, it was refused; and is known as that.
        answer = _Inquiry(crawl, named, now).answer()
        return answer if answer.state == "refused" else _rejected(settings, text, parsed)
    if not isinstance(parsed, ParsedUrl):
        return _rejected(settings, text, parsed)
    answer = _Inquiry(crawl, parsed, now).answer()
    answer.facts += _site_facts(settings, parsed.url)
    return answer


def _site_facts(settings: Settings, url: str) -> list[tuple[str, str]]:
    """The rules of its site, without what may be secret."""
    rules = SiteTable(settings.site).of(url)
    facts = [("robots.txt", "NOT obeyed, by a rule of its site")] if rules.robots == "ignore" else []
    return facts + [("site rule", told) for told in in_words(rules)]


def _rejected(settings: Settings, text: str, reason: Rejection) -> Answer:
    facts = []
    if reason is Rejection.TOO_LONG:
        facts.append(("setting", f"max_url_length = {settings.max_url_length}; it has {len(text)} characters"))
    elif reason is Rejection.TOO_DEEP:
        facts.append(("setting", f"max_path_depth = {settings.max_path_depth}"))
    return Answer(text, "rejected", f"This crawl would never fetch it: {reason.value}.", facts)


class _Inquiry:
    """One URL, and what its traces tell."""

    def __init__(self, crawl: OpenedCrawl, parsed: ParsedUrl, now: float) -> None:
        self._traces = Traces(crawl, parsed)
        self._link = self._traces.link
        self._host = self._traces.host
        self._has_folder = crawl.folder is not None
        self._settings = crawl.settings
        self._seeds = crawl.seeds
        self._rules = SiteTable(crawl.settings.site).of_host(self._link.host)
        self._now = now

    def answer(self) -> Answer:
        if self._link.url == f"{self._link.origin}/robots.txt":
            return self._robots_file()
        past, fingerprint = self._traces.past()
        is_known = past is not None or self._traces.is_known(fingerprint)
        if not is_known and (learnt := self._traces.learnt_fingerprint()):
            return self._variant(learnt)
        if (waiting := self._traces.waiting(fingerprint)) is not None and not _is_copy(waiting, past):
            return self._waits(waiting, past)
        if past is not None:
            return self._visited(past)
        if is_known:
            return self._new("known", "It is known, but in no queue at this moment: it is being visited, or just was.")
        return self._unknown()

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
                sentence = f"It was not requested: {self._reason(past)}."
            case OutcomeKind.READ if past.kind is Kind.REQUISITE:
                sentence = "It was fetched since a page that is kept needs it to be shown, not as a page."
            case OutcomeKind.READ:
                sentence = "It was read for what it lists, not as a page."
            case OutcomeKind.FAILED:
                sentence = f"It was visited, and gave no page: {self._reason(past)}."
            case OutcomeKind.CRASHED:
                sentence = f"Its visit failed by a fault of the crawler: {self._reason(past)}."
        answer = self._new(past.outcome.name.lower(), sentence, self._history_facts(past))
        if past.outcome in (OutcomeKind.STORED, OutcomeKind.DUPLICATE):
            answer.facts += self._rendering_facts()
            visit = self._traces.last_visit()
            answer.facts += self._rating_facts(past.referrer, visit.promise if visit else 0.0)
        if past.outcome is OutcomeKind.REFUSED:
            answer.facts += self._refusal_facts(past)
        answer.inputs = inputs_of(self._traces, self._settings, self._now, past)
        if not self._link.in_scope and past.kind is not Kind.REQUISITE:
            answer.facts.append(("scope", f"{self._link.verdict.value}; it was reached by a redirect"))
        return answer

    @staticmethod
    def _reason(past: History) -> str:
        # The figures behind these have facts of their own.
        return sentence_of(past.reason, "" if past.reason in _TRAP_RULES else past.detail)

    def _variant(self, fingerprint: bytes) -> Answer:
        """It was never met like this, but is one page with a URL that is known."""
        past = self._traces.past_of(fingerprint)
        waiting = None if past else self._traces.waiting(fingerprint)
        if past:
            answer = self._visited(past)
        elif waiting:
            answer = self._waits(waiting, None)
        else:
            answer = self._new("known", "It is one page with a URL that was visited before.")
        answer.facts.append(("changes nothing", ", ".join(self._traces.meaningless())))
        return answer

    def _history_facts(self, past: History) -> list[tuple[str, str]]:
        same_page = f"{past.url} (both count as one page)" if past.url != self._link.url else ""
        facts = [
            ("visited as", same_page),
            ("when", moment(past.visited_at)),
            ("visits", f"{past.visits:,}"),
            ("status", str(past.status) if past.status else ""),
            ("duplicate of", past.original),
            ("redirect", f"to {past.detail}" if past.reason == Note.MOVED else ""),
            ("note", sentence_of(past.reason, past.detail) if _has_note(past) else ""),
            ("fetched for", _SHOWN_BY if past.kind is Kind.REQUISITE else ""),
            ("given up", f"{MAX_CRASHES} workers died while they read it" if _has_killed(past) else ""),
            ("depth", f"{past.depth} of at most {self._settings.max_depth}"),
            ("found on", past.referrer or "nowhere: it is a seed"),
        ]
        return [(label, value) for label, value in facts if value]

    def _rating_facts(self, referrer: str, promise: float) -> list[tuple[str, str]]:
        """How relevant it is to the topic of the crawl, and what its link promised of that."""
        return rating_facts(self._traces.folder, self._settings, self._link.url, referrer, promise)

    def _rendering_facts(self) -> list[tuple[str, str]]:
        """Whether a browser had a part in it, and why."""
        if self._settings.render == "never" or (visit := self._traces.last_visit()) is None:
            return []
        facts = [("rendered", sentence_of(visit.rendered)), ("since", sentence_of(visit.render_cause))]
        return [(label, text) for label, text in facts if text] or [("rendered", "no: it was read as it was fetched")]

    def _refusal_facts(self, past: History) -> list[tuple[str, str]]:
        if label := _TRAP_RULES.get(past.reason):
            facts = [("rule", past.reason), (label, past.detail)]
            if past.reason == Refusal.VARIANT:
                facts.append(("changes nothing", ", ".join(self._traces.meaningless())))
            is_spent = past.reason in (Refusal.ENDLESS, Refusal.ALIKE, Refusal.BARREN)
            off = f"patience = {10 * self._settings.patience}, or traps = false" if is_spent else "traps = false"
            return [*((label, value) for label, value in facts if value), ("to let it in", off)]
        if past.reason == Refusal.ADDRESS:
            address = past.detail or (self._host.address if self._host else "")
            opened = ", ".join(self._settings.open_networks) or "none beside the public ones"
            facts = [("address", address), ("open networks", opened), ("to open one", "--open-network CIDR")]
            return [(label, value) for label, value in facts if value]
        if past.reason == Refusal.SCHEME:
            return [("schemes", ", ".join(self._settings.schemes))]
        if past.reason == Refusal.ROOTS:
            return [("file_roots", ", ".join(self._settings.file_roots) or "none")]
        return self._robots_facts()

    def _robots_facts(self) -> list[tuple[str, str]]:
        """What the crawl's robots record for this origin says of the URL."""
        ruling = self._traces.ruling()
        if ruling is None:
            return [("robots.txt", "not read yet")]
        record = ruling.record
        asked = "last asked for" if record.failures else "read"
        facts = [("robots.txt", f"{self._link.origin}/robots.txt, {asked} {moment(record.fetched_at)}")]
        match record.kind:
            case RobotsKind.ALLOW_ALL:
                return [*facts, ("rule", "there is no robots.txt, so everything is allowed")]
            case RobotsKind.DISALLOW_ALL:
                tries = f"{record.failures:,} {'time' if record.failures == 1 else 'times'}"
                trouble = sentence_of(ruling.trouble.code, ruling.trouble.detail)
                because = f"{tries}, the last time: {trouble}" if trouble else tries
                return [*facts, ("rule", f"it could not be read ({because}), so nothing is allowed")]
        decision = RobotsMatcher(record.rules).explain(path_and_query(self._link.url))
        if decision.rule is None:
            return [*facts, ("rule", "no rule speaks of it, so it is allowed")]
        line = self._traces.robots_line(decision.rule)
        rule = f"{'Allow' if decision.rule[0] else 'Disallow'}: {decision.rule[1]}"
        return [*facts, ("rule", f"{rule} (line {line})" if line else rule)]

    def _waits(self, waiting: Waiting, past: History | None) -> Answer:
        target, due, place = waiting
        facts = [
            ("class", f"{target.priority} of 10"),
            ("depth", f"{target.depth} of at most {self._settings.max_depth}"),
            ("found on", target.referrer or "nowhere: it is a seed"),
            *([("fetched for", _SHOWN_BY)] if target.kind is Kind.REQUISITE else []),
            *self._rating_facts(target.referrer, promised(target.promise)),
            *self._aside_facts(),
        ]
        if due:
            left = f"in {duration(due - self._now)}" if due > self._now else "now"
            pauses = len(self._settings.retry_after_seconds)
            facts += [
                ("due", f"{left} ({moment(due)}), try {target.attempt + 1} of {pauses + 1}"),
                ("because", self._reason(past) if past else "its last visit failed"),
            ]
            return self._new("retry", "It failed in a way that may pass, and waits to be tried again.", facts)
        assert self._host is not None
        facts = [("place", f"{place:,} of {self._host.queued:,} on {self._host.name}"), *facts, *self._host_facts()]
        again = f" again; it was last visited {moment(past.visited_at)}" if past else ""
        aside = " once its origin can be asked" if self._traces.troubled_origin() else ""
        answer = self._new("queued", f"It is queued, to be visited{aside}{again}.", facts)
        answer.inputs = inputs_of(self._traces, self._settings, self._now, past, target)
        return answer

    def _aside_facts(self) -> list[tuple[str, str]]:
        if (troubled := self._traces.troubled_origin()) is None:
            return []
        return [
            ("set aside", f"{troubled.origin}: {sentence_of(troubled.reason.code, troubled.reason.detail)}"),
            ("next try", f"{until(troubled.next_try_at, self._now)} ({moment(troubled.next_try_at)})"),
        ]

    def _host_facts(self) -> list[tuple[str, str]]:
        if (host := self._host) is None:
            return []
        is_free = host.free_at <= self._now
        region = RegionRules(self._settings.region_rules).of(host.name) or host.nearest
        facts = [
            *([("region", region)] if region else []),
            ("host is free", "now" if is_free else f"in {duration(host.free_at - self._now)}"),
            ("host waits for", waits_for(host, self._now)),
            ("pause", f"{duration(host.delay_seconds)} between requests"),
        ]
        if host.crawl_delay_seconds:
            facts.append(("crawl-delay", f"{duration(host.crawl_delay_seconds)}, by its robots.txt"))
        return facts + self._robots_facts()

    def _unknown(self) -> Answer:
        """Nothing is known of it: say what would happen, and what the crawl saw of it."""
        answer = self._new("undiscovered", "", [])
        answer.linked_from = self._traces.sources()
        if not self._link.in_scope:
            answer.state, answer.facts = "out of scope", self._scope_facts()
            answer.sentence = f"This crawl does not follow it: {self._link.verdict.value}."
        elif not answer.linked_from and not self._has_folder:
            answer.sentence = "It is not known to the frontier; what links to it is told by the machines' folders."
        elif not answer.linked_from:
            answer.sentence = "It was never discovered: no page, redirect or sitemap that this crawl read leads to it."
        else:
            answer.sentence, answer.facts = self._not_followed(answer.linked_from)
        if self._host and self._host.dropped and self._link.in_scope:
            answer.facts.append(("dropped", self._dropped_note(self._host)))
        if not self._traces.is_exact and self._link.in_scope:
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
        settings, url = self._settings, self._link.url.encode()
        match self._link.verdict:
            case Verdict.EXCLUDED:
                patterns = settings.exclude if self._rules.exclude is None else self._rules.exclude
                matching = [pattern for pattern in patterns if re2.compile(pattern).search(url)]
                return [("exclude", pattern) for pattern in matching]
            case Verdict.NOT_INCLUDED:
                patterns = settings.include if self._rules.include is None else self._rules.include
                return [("include", pattern) for pattern in patterns]
            case _:
                hosts = sorted({seed.host for seed in self._seeds})
                scope = self._rules.scope or settings.scope
                return [("scope", scope), ("seeds are on", ", ".join(hosts[:10]))]

    def _robots_file(self) -> Answer:
        facts = self._robots_facts()[:1]
        state = self._host.origins.get(self._link.origin) if self._host else None
        if state is None:
            return self._new("undiscovered", "It was not asked for: no page of its origin was due.", facts)
        if state.is_pending:
            sentence = "It could not be read; the pages of its origin wait until it can."
            return self._new("failed", sentence, [*facts, *self._aside_facts()])
        facts.append(("used until", moment(state.expires_at)))
        return self._new("read", "It was read for its rules, and is read again once they are older than that.", facts)


def _has_note(past: History) -> bool:
    """Whether there is more to tell of what was read."""
    return past.outcome is OutcomeKind.READ and past.kind is not Kind.REQUISITE


def _has_killed(past: History) -> bool:
    """Whether workers died of it, so that it is not read again."""
    return past.reason in _KILLERS and not past.next_at


def _is_copy(waiting: Waiting, past: History | None) -> bool:
    """Whether an entry of a queue is what is left of a URL that moved up, and was visited from there."""
    return past is not None and not waiting.due_at and not waiting.target.visits
