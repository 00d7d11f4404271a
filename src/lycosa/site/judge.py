"""The notes a worker goes by: what it knows of the sites it visits, and whether the next URL of one is worth a visit.

On the ring all hosts of a registered domain belong to one worker, so nobody else changes its notes. The frontier keeps
them; what a crash loses is the last few counts. Where workers take turns with a domain, each passes its notes on with
every visit; what two of them learn of it in the same moment, only one remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from lycosa.model import Failure, Kind, Lease, Links, Page, Refusal, SiteNews, Target, origin_of
from lycosa.outcome import Deferred, Duplicate, Failed, Moved, Outcome, Read, Refused, Stored
from lycosa.page.digest import telling_text
from lycosa.policy.priority import SEED
from lycosa.ports import Dispatcher
from lycosa.site import traps
from lycosa.site.notes import MAX_KNOWN, PageFindings, Site, UrlSpot, mark_of_bytes, shape_of_text, spot_of
from lycosa.site.variants import without
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.memo import KnownLink, LinkPolicy

# Entries of about 100 bytes, over all sites that are kept ready.
MAX_WEIGHT = 300_000
FULL_WEIGHT = MAX_WEIGHT * 9 // 10
# Notes are sent at the first visits of a site, then every so often, and when they say something new.
VISITS_PER_NEWS = 8
# The path of a URL that cannot exist begins like this, so that whoever reads it in a log knows what it was.
PROBE_PATH = "/lycosa-probe-"

Renaming = Callable[[KnownLink], KnownLink]


class TrapRules(msgspec.Struct, frozen=True):
    """What the operator chose."""

    is_on: bool = True
    domain_pages: int = 50
    is_shared: bool = False  # workers take turns with a domain


class Learnt(msgspec.Struct, frozen=True):
    """What a visit taught, for its settlement."""

    news: SiteNews | None = None
    known: list[bytes] = []
    probes: list[Target] = []


_NOTHING = Learnt()


class _UnderWay(NamedTuple):
    """A visit that may have sent its request."""

    site: Site
    spot: UrlSpot


class SiteJudge:
    """Answers whether a target is worth a visit, and learns from every visit."""

    def __init__(
        self, dispatcher: Dispatcher, policy: LinkPolicy, seeded_domains: Iterable[str], rules: TrapRules
    ) -> None:
        self._dispatcher = dispatcher
        self._policy = policy
        self._seeded = frozenset(seeded_domains)
        self._rules = rules
        self._sites: OrderedDict[str, Site] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._weight = 0
        # Visits whose requests may be out, by the token of their lease.
        self._under_way: dict[int, _UnderWay] = {}

    # ---- before the request

    async def refusal(self, lease: Lease) -> Refused | None:
        """Why this target is not worth a request; None if it is, and then its visit is to be learnt from."""
        target = lease.target
        if not self._rules.is_on or _is_beyond_doubt(lease):
            return None
        site, spot = await self._open(lease), spot_of(target.url)
        # Nothing is awaited from here on: two visits must not both take the last of a budget for free.
        if target.referrer and not target.referrer.startswith(spot.origin) and target.kind is Kind.PAGE:
            site.refer(registered_domain(_host_of(target.referrer)))
        refused = self._refused(site, target, spot)
        if refused is None:
            site.under_way += 1
            self._under_way[lease.token] = _UnderWay(site, spot)
        return refused

    def _refused(self, site: Site, target: Target, spot: UrlSpot) -> Refused | None:
        if target.kind is not Kind.PAGE:
            found = site.refusal_of_all(self._rules.domain_pages)
        elif target.depth == 0:
            # Named by the operator, or where that leads.
            return None
        else:
            if primary := site.alias_of(spot.origin):
                return self._mirror(target, primary, spot.tail)
            if meaningless := site.meaningless_of(spot.origin):
                key = self._learnt_key(spot.origin, spot.tail, meaningless)
                if key and (refused := self._variant(target, key)):
                    return refused
            found = site.refusal(spot, self._rules.domain_pages)
        return Refused(*found) if found else None

    def _mirror(self, target: Target, primary: str, tail: str) -> Refused | None:
        parsed = parse(primary + tail, limits=self._policy.limits)
        if not isinstance(parsed, ParsedUrl) or not (link := self._policy.judge(parsed)).in_scope:
            return None
        there = msgspec.structs.replace(target, url=link.url, host=link.host, fingerprint=link.fingerprint)
        return Refused(Refusal.MIRROR, primary, [there])

    def _variant(self, target: Target, key: str) -> Refused | None:
        fingerprint = self._policy.fingerprint(key)
        # Where a redirect leads is fetched under whatever name: the name without it may be where it came from.
        if fingerprint == target.fingerprint or target.redirects:
            return None
        return Refused(Refusal.VARIANT, key, [msgspec.structs.replace(target, fingerprint=fingerprint)])

    def _learnt_key(self, origin: str, tail: str, meaningless: list[str]) -> str:
        """The key without what means nothing here; empty if it is no other than the ordinary one."""
        key = self._policy.key(origin, tail)
        path_at = key.find("/", 8)
        shorter = without(key[path_at:], meaningless)
        return key[:path_at] + shorter if shorter != key[path_at:] else ""

    # ---- between the answer and its end

    def renaming(self, lease: Lease) -> Renaming | None:
        """How links to this site are known by what was learnt of it; None if by nothing but their keys."""
        visit = self._under_way.get(lease.token)
        learnt = visit.site.learnt if visit else {}
        if not learnt:
            return None

        def renamed(link: KnownLink) -> KnownLink:
            meaningless = learnt.get(link.origin)
            key = self._learnt_key(link.origin, link.url[len(link.origin) :], meaningless) if meaningless else ""
            return msgspec.structs.replace(link, fingerprint=self._policy.fingerprint(key)) if key else link

        return renamed

    def lowered(self, lease: Lease, discovered: list[Target]) -> list[Target]:
        """The targets found, those of this site in lower classes where it keeps repeating what is known."""
        visit = self._under_way.get(lease.token)
        if visit is None or not discovered or not visit.site.repeats():
            return discovered
        return [self._lowered(visit.site, target) for target in discovered]

    def _lowered(self, site: Site, target: Target) -> Target:
        if target.kind is not Kind.PAGE or registered_domain(target.host) != site.domain:
            return target
        priority = site.lowered(target.url, target.priority)
        return msgspec.structs.replace(target, priority=priority) if priority != target.priority else target

    def is_soft_404(self, lease: Lease, page: Page) -> bool:
        """Whether this page is what its host answers to any URL."""
        visit = self._under_way.get(lease.token)
        return visit is not None and lease.target.depth > 0 and visit.site.is_soft_404(visit.spot, page.text)

    # ---- after the visit

    def learn(self, lease: Lease, outcome: Outcome) -> Learnt:
        """What this visit taught."""
        visit = self._under_way.pop(lease.token, None)
        if visit is None:
            return _NOTHING
        visit.site.under_way -= 1
        if isinstance(outcome, Deferred):
            return _NOTHING
        known, probes = self._learn(visit, lease.target, outcome)
        news = self._news(visit.site)
        return Learnt(news, known, probes) if news or known or probes else _NOTHING

    def learn_probe(self, lease: Lease, text: str) -> None:
        """What the host answers to a URL that cannot exist; an empty text if that is no page."""
        if visit := self._under_way.get(lease.token):
            visit.site.note_probe(visit.spot, text)

    def _learn(self, visit: _UnderWay, target: Target, outcome: Outcome) -> tuple[list[bytes], list[Target]]:
        site, spot = visit
        match outcome:
            case Stored() | Duplicate() if target.kind is Kind.PAGE:
                known = self._learn_page(site, spot, target, outcome)
                return known, [self._probe(spot.origin, target)] if site.wants_probe(spot.origin) else []
            case Moved() if target.kind is Kind.PAGE:
                site.pay(traps.IDLE_PRICE)
                site.note_yield(spot, is_useful=self._leads_on(site, outcome.discovered))
            case Failed() if outcome.sent:
                site.pay(traps.IDLE_PRICE)
                status = outcome.response.status if outcome.response else 0
                if outcome.reason is Failure.SOFT_404 or status in (404, 410):
                    site.note_yield(spot, is_useful=False)
                if status in (404, 410):
                    site.note_missing(spot.origin)
            case Read() | Moved():
                site.pay(traps.ROBOTS_PRICE if target.kind is Kind.ROBOTS else traps.IDLE_PRICE)
            case _:
                pass
        return [], []

    def _learn_page(self, site: Site, spot: UrlSpot, target: Target, outcome: Stored | Duplicate) -> list[bytes]:
        original = outcome.original if isinstance(outcome, Duplicate) else ""
        new = self._new_on_site(site, target, outcome.discovered) if outcome.discovered else []
        known = _known_links(outcome.links, new, spot.origin, site.domain) if new else 0
        # What has no words is what its bytes are.
        shape = shape_of_text(telling_text(outcome.page)) or mark_of_bytes(outcome.digest)
        placement = outcome.placement
        is_repeat = bool(original or (placement.group and not placement.is_first))
        site.note_page(spot, PageFindings(shape, bool(original), new, known, is_repeat))
        if not original or registered_domain(_host_of(original)) != site.domain:
            site.note_original(spot.origin, original, spot.tail)
        digest = mark_of_bytes(outcome.page_digest.text_digest or outcome.digest)
        if "?" not in spot.tail:
            return self._compared(site, spot, spot.origin, spot.tail, digest)
        key = self._policy.key(spot.origin, spot.tail)
        path_at = key.find("/", 8)
        return self._compared(site, spot, key[:path_at], key[path_at:], digest)

    def _compared(self, site: Site, spot: UrlSpot, origin: str, key: str, digest: int) -> list[bytes]:
        return [self._policy.fingerprint(origin + renamed) for renamed in site.compare(spot, key, digest)]

    def _new_on_site(self, site: Site, target: Target, discovered: list[Target]) -> list[str]:
        host, domain = target.host, site.domain
        return site.new_links(
            [each for each in discovered if each.host == host or registered_domain(each.host) == domain]
        )

    def _leads_on(self, site: Site, discovered: list[Target]) -> bool:
        """Whether a redirect leads to something that is not known yet."""
        return any(registered_domain(each.host) != site.domain or site.new_links([each]) for each in discovered)

    def _probe(self, origin: str, target: Target) -> Target:
        mark = self._policy.fingerprint(f"{origin}{PROBE_PATH}").hex()
        return Target(f"{origin}{PROBE_PATH}{mark}", target.host, b"", Kind.PROBE, SEED, referrer=target.url)

    # ---- keeping

    async def _open(self, lease: Lease) -> Site:
        domain = registered_domain(lease.target.host)
        site = self._sites.get(domain)
        if site is None or site.version < lease.site_at:
            raw = await self._dispatcher.site(domain) if lease.site_at else b""
            site = self._sites.get(domain)
            # Meanwhile another visit may have brought them.
            if site is None or site.version < lease.site_at:
                site = Site(domain, is_seeded=domain in self._seeded, version=lease.site_at, raw=raw)
                self._sites[domain] = site
                self._weigh(site)
        self._sites.move_to_end(domain)
        return site

    def _news(self, site: Site) -> SiteNews | None:
        requests = site.notes.requests
        is_early = requests <= VISITS_PER_NEWS and requests & (requests - 1) == 0
        # Memory that is full may lose notes as soon as they are taken: those must not begin anew each time.
        is_at_risk = self._weight > FULL_WEIGHT and site.paid <= VISITS_PER_NEWS
        is_due = site.unsent >= VISITS_PER_NEWS or self._rules.is_shared
        if not (site.has_changed or is_early or is_at_risk or is_due):
            return None
        self._weigh(site)
        site.version += 1
        site.unsent, site.has_changed = 0, False
        return SiteNews(site.domain, site.version, site.encoded())

    def _weigh(self, site: Site) -> None:
        if self._sites.get(site.domain) is not site:
            return
        weight = site.weight
        self._weight += weight - self._weights.get(site.domain, 0)
        self._weights[site.domain] = weight
        while self._weight > MAX_WEIGHT and len(self._sites) > 1:
            domain, _ = self._sites.popitem(last=False)
            self._weight -= self._weights.pop(domain)


def _is_beyond_doubt(lease: Lease) -> bool:
    """Whether a target is not judged: a revisit of what was worth a visit before, a robots.txt for somebody else."""
    is_revisit = lease.validators is not None and lease.target.attempt == 0
    return is_revisit or (lease.target.kind is Kind.ROBOTS and lease.target.redirects > 0)


def _host_of(url: str) -> str:
    authority = origin_of(url).partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


def _known_links(links: Links, new: list[str], origin: str, domain: str) -> int:
    """How many links of a page lead to pages of its domain that were known; not all are counted."""
    met = set(new)
    enough = len(met) + MAX_KNOWN
    for url in links.targets:
        if url not in met and (url.startswith(origin) or registered_domain(_host_of(url)) == domain):
            met.add(url)
            if len(met) >= enough:
                return MAX_KNOWN
    return MAX_KNOWN - (enough - len(met))
