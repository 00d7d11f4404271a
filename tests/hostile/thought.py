"""A crawl as a thought: the traps of the hostile web without network or clock, under the rules of `policy/traps.py`.

It shows that the rules and their figures meet the gates, before any frontier keeps their counters. Every table here
stands for one that a frontier would have to bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lycosa.page.parser import PageParser
from lycosa.policy import traps as rules
from lycosa.settings import Settings
from lycosa.simweb.hostile.traps import Trap
from lycosa.simweb.http import Ask
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.rules import CanonicalRules, dedup_key

# Sightings kept per host to compare new pages with; pairs are found among them.
WINDOW = 100
PROBE = "/lycosa-probe-5c1f2a7d9e3b4680"
MAX_DEPTH = 20
# The two of the risky rules that are wrong least often.
PLAIN = CanonicalRules.from_names(["drop_tracking", "sort_query"])


@dataclass
class _Site:
    """What is remembered of a host."""

    templates: dict[str, rules.Yield] = field(default_factory=lambda: defaultdict(rules.Yield))
    families: dict[str, rules.Yield] = field(default_factory=lambda: defaultdict(rules.Yield))
    sightings: deque[tuple[str, bytes]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    sameness: dict[str, rules.Sameness] = field(default_factory=lambda: defaultdict(rules.Sameness))
    rests: set[tuple[str, str]] = field(default_factory=set)
    meaningless: set[str] = field(default_factory=set)
    by_path: dict[str, bytes] = field(default_factory=dict)
    probe: frozenset[int] | None = None
    visits: int = 0
    alias_of: str = ""


class Thought:
    """Visits traps by the rules; `fetched` is what it would have asked for."""

    def __init__(self, traps: Iterable[Trap]) -> None:
        self._traps = list(traps)
        self._parser = PageParser(Settings(), "lycosa")
        self._sites: dict[str, _Site] = defaultdict(_Site)
        self._mirrors: dict[tuple[str, str], rules.Sameness] = defaultdict(rules.Sameness)
        self._owners: dict[tuple[str, bytes], str] = {}
        self._contents: set[bytes] = set()
        self._pages: Counter[str] = Counter()
        self._earned: dict[str, float] = defaultdict(float)
        self._referring: dict[str, set[str]] = defaultdict(set)
        self._known: set[str] = set()
        self._visited: set[str] = set()
        self._queue: deque[tuple[ParsedUrl, int]] = deque()
        self.fetched: list[str] = []
        self.refusals: Counter[str] = Counter()

    def run(self, seeds: Iterable[str], max_fetches: int = 20_000) -> None:
        """Visit until nothing is left that the rules allow."""
        for seed in seeds:
            self._add(seed, "elsewhere.test", 0)
        while self._queue and len(self.fetched) < max_fetches:
            url, depth = self._queue.popleft()
            if reason := self._refusal(url):
                self.refusals[reason] += 1
            else:
                self._visit(url, depth)

    def _add(self, text: str, from_domain: str, depth: int) -> bool:
        url = parse(text)
        if not isinstance(url, ParsedUrl) or depth > MAX_DEPTH:
            return False
        domain = registered_domain(url.host)
        if from_domain != domain:
            self._referring[domain].add(from_domain)
        if url.url in self._known:
            return False
        self._known.add(url.url)
        self._queue.append((url, depth))
        return True

    def _refusal(self, url: ParsedUrl) -> str:
        site, domain = self._sites[url.host], registered_domain(url.host)
        if site.alias_of:
            return "mirror"
        if self._key(url) in self._visited:
            return "variant"
        if self._pages[domain] >= rules.domain_budget(len(self._referring[domain]), self._earned[domain]):
            return "domain"
        template = rules.template_of(url.path_and_query)
        if not rules.is_open(site.templates[template]):
            return "template"
        if not rules.is_open(site.families[rules.family_of(template)], rules.FAMILY_PATIENCE):
            return "family"
        return ""

    def _key(self, url: ParsedUrl) -> str:
        plain = dedup_key(url, PLAIN)[len(url.origin) :]
        return self._key_of(url.origin, plain, self._sites[url.host])

    @staticmethod
    def _key_of(origin: str, path_and_query: str, site: _Site) -> str:
        return origin + rules.without(path_and_query, site.meaningless)

    def _visit(self, url: ParsedUrl, depth: int) -> None:
        site, domain = self._sites[url.host], registered_domain(url.host)
        body = self._fetch(url.host, url.path_and_query)
        self._visited.add(self._key(url))
        # The robots.txt of a new host is a request like any other.
        self._pages[domain] += 1 if site.visits else 2
        site.visits += 1
        template = rules.template_of(url.path_and_query)
        if body is None:
            self._note(site, template, is_useful=False)
            return
        page = self._parser.parse(body.encode(), "text/html; charset=utf-8")
        if self._is_soft_404(site, url, page.text):
            self._note(site, template, is_useful=False)
            return
        shape = rules.shape_digest(page.text)
        is_new = shape not in self._contents
        self._contents.add(shape)
        self._compare(site, url, rules.content_digest(page.text))
        elsewhere = on_domain = 0
        for link in page.links:
            if "nofollow" in link.rel:
                continue
            found = parse(link.href, url.url)
            if isinstance(found, ParsedUrl) and self._add(found.url, domain, depth + 1):
                on_domain += registered_domain(found.host) == domain
                other = rules.template_of(found.path_and_query)
                if rules.family_of(other) != rules.family_of(template):
                    elsewhere += rules.is_productive(self._sites[found.host].templates[other])
        self._earned[domain] += rules.credit(has_new_content=is_new, new_on_domain=on_domain)
        self._note(site, template, is_useful=rules.is_useful(has_new_content=is_new, new_elsewhere=elsewhere))

    def _fetch(self, host: str, target: str) -> str | None:
        self.fetched.append(f"http://{host}{target}")
        ask = Ask("GET", host, target, {"host": host}, is_last=False)
        trap = next((trap for trap in self._traps if trap.has_host(host)), None)
        return trap.page(ask) if trap else None

    def _note(self, site: _Site, template: str, *, is_useful: bool) -> None:
        site.templates[template] = rules.after_visit(site.templates[template], is_useful=is_useful)
        family = rules.family_of(template)
        site.families[family] = rules.after_visit(site.families[family], is_useful=is_useful)

    def _is_soft_404(self, site: _Site, url: ParsedUrl, prose: str) -> bool:
        if site.probe is None and site.visits == 10:
            body = self._fetch(url.host, PROBE)
            text = self._parser.parse(body.encode(), "text/html").text if body else ""
            site.probe = rules.shingles(text, PROBE) if text else frozenset()
        return bool(site.probe) and rules.is_soft_404(rules.shingles(prose, url.url), site.probe or frozenset())

    def _compare(self, site: _Site, url: ParsedUrl, digest: bytes) -> None:
        plain = dedup_key(url, PLAIN)[len(url.origin) :]
        for other, other_digest in site.sightings:
            if thing := rules.difference(plain, other):
                is_same, rest = digest == other_digest, rules.without(plain, {thing})
                is_new_page = is_same and (thing, rest) not in site.rests
                if is_same:
                    site.rests.add((thing, rest))
                site.sameness[thing] = rules.after_pair(site.sameness[thing], is_same=is_same, is_new_page=is_new_page)
                if rules.is_meaningless(site.sameness[thing], is_drawn=_is_drawn(thing, url.path_and_query)):
                    site.meaningless.add(thing)
                    # What was visited under the old key is known under the new one as well.
                    self._visited |= {self._key_of(url.origin, path, site) for path, _ in site.sightings}
                else:
                    site.meaningless.discard(thing)
        site.sightings.append((plain, digest))
        owner = self._owners.setdefault((url.path_and_query, digest), url.host)
        if owner != url.host:
            pair = (owner, url.host)
            self._mirrors[pair] = rules.after_pair(self._mirrors[pair], is_same=True)
            if rules.are_mirrors(self._mirrors[pair]):
                site.alias_of = owner


def _is_drawn(thing: str, path_and_query: str) -> bool:
    if thing.startswith("/"):
        return True
    query = path_and_query.partition("?")[2]
    values = [variable.partition("=")[2] for variable in query.split("&") if f"?{variable.partition('=')[0]}" == thing]
    return bool(values) and all(map(rules.is_drawn, values))
