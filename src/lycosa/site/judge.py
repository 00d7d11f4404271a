"""The notes a worker goes by: what it knows of the sites it visits, and what is to become of the next URL of one.

On the ring all hosts of a registered domain belong to one worker, so nobody else changes its notes. The frontier keeps
them; what a crash loses is the last few counts. Where workers take turns with a domain, each passes its notes on with
every visit; what two of them learn of it in the same moment, only one remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import msgspec

from lycosa.model import WAITS, WAITS_LAST, Failure, Kind, Lease, Page, Refusal, SiteNews, Target, origin_of
from lycosa.outcome import Deferred, Duplicate, Failed, Moved, Outcome, Postponed, Read, Refused, Stored
from lycosa.policy.priority import SEED
from lycosa.ports import Dispatcher
from lycosa.site.notes import Shown, Sighting, Site, UrlSpot
from lycosa.site.novelty import News, made_up, pictures_in
from lycosa.site.sections import DOMAIN, NOTHING_BROUGHT, Brought, Chain, Soundness
from lycosa.site.variants import links_shown, without
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.memo import KnownLink, LinkPolicy

# Entries of about 100 bytes, over all sites that are kept ready.
MAX_WEIGHT = 300_000
FULL_WEIGHT = MAX_WEIGHT * 9 // 10
# Notes are sent at the first visits of a site, then every so often (more seldom if they are long), and when they say
# something new.
VISITS_PER_NEWS, SECTIONS_PER_VISIT = 8, 8
# The path of a URL that cannot exist begins like this, so that whoever reads it in a log knows what it was.
PROBE_PATH = "/lycosa-probe-"
# What a visit is worth: new content, content nearly known, known lines with numbers of their own, known lines put
# together as on no other page.
NEW_WORTH, NEAR_WORTH, NUMBERS_WORTH, OWN_WORTH = 1.0, 0.15, 0.12, 0.05
# A page that leads to so many new ones is a list, or a search.
MAX_FOUND = 48
# A text that is shorter than this says little of its page.
FEW_CHARACTERS = 64
# Links of a page that can make it worth a visit.
MAX_PROMISING = 8
# What is said of a name that stands for nothing: not found, or no name at all.
MISSING = (400, 404, 410, 422)
# A target is put behind others in doubt at most this far once it is queued.
MAX_POSTPONED = 2
# Most sites raise a first doubt while so little of them is known; what is queued then is not leased twice for that.
NEW_SITE = 64
# Of the links that are known by another name, one in so many is looked at all the same.
RENAMED_PER_SAMPLE = 20
# In a crawl with a topic: the promise, in thousandths, from which on doubt puts nothing off.
WANTED_FROM = 250

Renaming = Callable[[KnownLink], KnownLink]


class TrapRules(msgspec.Struct, frozen=True):
    """What the operator chose."""

    is_on: bool = True
    patience: int = 120
    is_shared: bool = False  # workers take turns with a domain


class Learnt(msgspec.Struct, frozen=True):
    """What a visit taught, for its settlement."""

    news: SiteNews | None = None
    known: list[bytes] = []
    probes: list[Target] = []
    left_out: list[tuple[Target, Refused]] = []  # found on the page, and not worth another look


_NOTHING = Learnt()


@dataclass(slots=True)
class _UnderWay:
    """A visit that may have sent its request."""

    site: Site
    spot: UrlSpot
    source: Chain = ()  # of the page that led to it
    verdict: Soundness = Soundness.SOUND
    is_sample: bool = False
    is_new_host: bool = False  # of its domain
    # What it found on its own site that no page led to before, with the sections of each.
    found: list[tuple[Target, Chain]] = field(default_factory=list)
    left_out: list[tuple[Target, Refused]] = field(default_factory=list)


class SiteJudge:
    """Answers what is to become of a target, and learns from every visit."""

    def __init__(self, dispatcher: Dispatcher, policy: LinkPolicy, rules: TrapRules) -> None:
        self._dispatcher = dispatcher
        self._policy = policy
        self._rules = rules
        self._sites: OrderedDict[str, Site] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._weight = 0
        # Visits whose requests may be out, by the token of their lease.
        self._under_way: dict[int, _UnderWay] = {}

    # ---- before the request

    async def objection(self, lease: Lease) -> Refused | Postponed | None:
        """Why this page is not requested, for good or for now; None if it is, and its visit is to be learnt from."""
        target = lease.target
        if not self._rules.is_on or _is_beyond_doubt(lease):
            return None
        site = await self._open(lease)
        # Nothing is awaited from here on: two visits must not both take the last of a budget.
        if target.depth == 0:
            # Named by the operator, or where that leads.
            site.note_root(target.host)
        visit = _UnderWay(site, site.spot_of(target.url, target.host), site.source_of(target.referrer))
        visit.is_new_host = visit.spot.chain[0] == DOMAIN and visit.spot.host not in site.sections.all
        objection = self._objection(visit, target) if target.depth else None
        if objection is None:
            self._under_way[lease.token] = visit
            site.sections.under_way += _is_doubtful_host(visit)
        return objection

    async def objection_to_host(self, lease: Lease) -> Refused | None:
        """Why nothing is asked of a host, not even its robots.txt: it is one of ever more hosts of its domain."""
        if not self._rules.is_on or _is_beyond_doubt(lease):
            return None
        site = await self._open(lease)
        visit = _UnderWay(site, site.spot_of(lease.target.url, lease.target.host))
        chain = visit.spot.chain[:2]
        verdict = site.sections.verdict(chain, 0) if chain[0] == DOMAIN else Soundness.SOUND
        if verdict is Soundness.SPENT:
            return Refused(Refusal.ENDLESS, site.sections.figures(chain))
        if verdict is Soundness.DOUBTFUL and lease.target.kind is Kind.ROBOTS:
            site.sections.charge_host()
        self._under_way[lease.token] = visit
        return None

    def _objection(self, visit: _UnderWay, target: Target) -> Refused | Postponed | None:
        site, spot = visit.site, visit.spot
        if primary := site.alias_of(spot.origin):
            return self._objection_to_mirror(visit, target, primary)
        if meaningless := site.meaningless_of(spot.origin):
            key = self._learnt_key(spot.origin, spot.tail, meaningless)
            if key and (refused := self._variant(visit, target, key)):
                return refused
        visit.verdict = site.sections.verdict(spot.chain, target.depth, visit.source)
        # Where a page that was let in redirects to is that page.
        if visit.verdict is Soundness.SOUND or target.redirects == 1:
            return None
        if visit.verdict is Soundness.DOUBTFUL:
            doubt = site.sections.doubt_of(spot.chain, visit.source)
            if _is_wanted(target) or (doubt <= 1 and site.notes.requests < NEW_SITE):
                return None
            # Not further behind: a section with many thousand of them would have each leased again for that.
            return Postponed(doubt) if target.deferred < min(doubt, MAX_POSTPONED) else None
        return self._held_back(visit, target, self._refused(site, spot.chain))

    @staticmethod
    def _held_back(visit: _UnderWay, target: Target, refused: Refused) -> Refused | Postponed | None:
        """Behind everything else, twice; some are visited all the same, before any is refused for good."""
        sections, chain = visit.site.sections, visit.spot.chain
        if target.deferred >= WAITS_LAST and sections.wants_last_look(chain):
            visit.is_sample = True
            return None
        if target.deferred >= WAITS_LAST or (target.deferred and sections.is_sure(chain, visit.source)):
            return refused
        if sections.wants_sample(chain):
            visit.is_sample = True
            return None
        return Postponed(WAITS_LAST if target.deferred == WAITS else WAITS)

    def _objection_to_mirror(self, visit: _UnderWay, target: Target, primary: str) -> Refused | Postponed | None:
        parsed = parse(primary + visit.spot.tail, limits=self._policy.limits)
        if not isinstance(parsed, ParsedUrl) or not (link := self._policy.judge(parsed)).in_scope:
            return None
        held_back = self._held_back(visit, target, Refused(Refusal.MIRROR, primary))
        if not isinstance(held_back, Postponed) or target.deferred:
            return held_back
        there = msgspec.structs.replace(target, url=link.url, host=link.host, fingerprint=link.fingerprint)
        return msgspec.structs.replace(held_back, discovered=[there])

    def _variant(self, visit: _UnderWay, target: Target, key: str) -> Refused | None:
        fingerprint = self._policy.fingerprint(key)
        # Where a redirect leads is fetched under whatever name, if the name without it may be where it came from.
        if fingerprint == target.fingerprint or (target.redirects and self._may_come_from(target, fingerprint)):
            return None
        is_drawn = target.fingerprint[-1] % RENAMED_PER_SAMPLE == 0
        if is_drawn and visit.site.sections.wants_sample(visit.spot.chain, free=0):
            visit.is_sample = True
            return None
        return Refused(Refusal.VARIANT, key, [msgspec.structs.replace(target, fingerprint=fingerprint)])

    def _may_come_from(self, target: Target, fingerprint: bytes) -> bool:
        """Whether the redirect that led to a target may have begun at the page with this fingerprint."""
        source = parse(target.referrer, limits=self._policy.limits)
        if target.redirects > 1 or not isinstance(source, ParsedUrl):
            return True
        return self._policy.judge(source).fingerprint == fingerprint

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

    def deferred(self, lease: Lease, discovered: list[Target]) -> list[Target]:
        """The targets found, those of this site as far behind others as their sections are in doubt."""
        visit = self._under_way.get(lease.token)
        if visit is None or not discovered:
            return discovered
        site = visit.site
        self._note_found(visit, discovered)
        sections = site.sections
        behind: dict[bytes, int] = {}
        source = visit.spot.chain
        verdicts: dict[str, tuple[Soundness, int]] = {}
        for target, chain in visit.found:
            name = sections.finest(chain)
            if name not in verdicts:
                verdict = sections.verdict(chain, target.depth, source)
                verdicts[name] = verdict, sections.doubt_of(chain, source) if verdict is Soundness.DOUBTFUL else 0
            verdict, doubt = verdicts[name]
            if verdict is Soundness.DOUBTFUL:
                behind[target.fingerprint] = 0 if _is_wanted(target) else doubt
            elif verdict is Soundness.SPENT and sections.is_sure(chain, source):
                visit.left_out.append((target, self._refused(site, chain)))
            elif verdict is Soundness.SPENT:
                behind[target.fingerprint] = WAITS
        left_out = {target.fingerprint for target, _ in visit.left_out}
        if not behind and not left_out:
            return discovered
        return [
            msgspec.structs.replace(each, deferred=how_far)
            if (how_far := behind.get(each.fingerprint, 0)) > each.deferred
            else each
            for each in discovered
            if each.fingerprint not in left_out
        ]

    @staticmethod
    def _refused(site: Site, chain: Chain) -> Refused:
        sections = site.sections
        poor = Refusal.ALIKE if sections.is_telling(chain) else Refusal.BARREN
        return Refused(poor if sections.is_poor(chain) else Refusal.ENDLESS, sections.figures(chain))

    @staticmethod
    def _note_found(visit: _UnderWay, discovered: Sequence[Target]) -> None:
        site, host = visit.site, visit.spot.host
        own = [each for each in discovered if each.host == host or registered_domain(each.host) == site.domain]
        visit.found = [
            (each, site.chain_of(each.host, each.url[len(origin_of(each.url)) :])) for each in site.new_links(own)
        ]

    def is_sound(self, lease: Lease) -> bool:
        """Whether nothing is held against the page of this visit, nor likely to be soon: its site is known well."""
        visit = self._under_way.get(lease.token)
        return visit is None or (
            visit.verdict is Soundness.SOUND and visit.site.sections.is_well_known(visit.spot.chain)
        )

    def is_soft_404(self, lease: Lease, page: Page) -> bool:
        """Whether this page is what its host answers to any URL."""
        visit = self._under_way.get(lease.token)
        return visit is not None and lease.target.depth > 0 and visit.site.is_soft_404(visit.spot, page.text)

    # ---- after the visit

    def learn(self, lease: Lease, outcome: Outcome) -> Learnt:
        """What this visit taught."""
        visit = self._under_way.pop(lease.token, None)
        if visit and _is_doubtful_host(visit):
            visit.site.sections.under_way -= 1
        if visit is None or isinstance(outcome, Deferred | Postponed | Refused):
            return _NOTHING
        known, probes = self._learn(visit, lease.target, outcome)
        news, left_out = self._news(visit.site), visit.left_out
        return Learnt(news, known, probes, left_out) if news or known or probes or left_out else _NOTHING

    def learn_probe(self, lease: Lease, status: int, text: str, found: Sequence[Target]) -> None:
        """What the host answers to a URL that cannot exist, or that was made up: no text and no links if no page."""
        if not (visit := self._under_way.get(lease.token)):
            return
        site, spot = visit.site, visit.spot
        if spot.tail.startswith(PROBE_PATH):
            site.note_probe(spot, text)
        elif status in MISSING or (text and self._says_nothing(visit, text, found)):
            site.sections.note_missing(site.source_of(lease.target.referrer))
            site.has_changed = True
        elif text:
            site.sections.note_there(site.source_of(lease.target.referrer))

    def _says_nothing(self, visit: _UnderWay, text: str, found: Sequence[Target]) -> bool:
        """Whether a page says "not found", or is an empty list that leads no further.

        Only where a number was made up, and nothing else says what to show: whoever takes no notice of a name shows
        what is known.
        """
        site, spot = visit.site, visit.spot
        if site.is_soft_404(spot, text):
            return True
        name = spot.tail.partition("?")[2] or spot.tail
        has_number = "&" not in name and any(letter.isdecimal() for letter in name)
        if not has_number or site.lines.news_in(text, spot.tail) is News.WORDS:
            return False
        self._note_found(visit, found)
        section = site.sections.finest(spot.chain)
        return not any(section in chain for _, chain in visit.found)

    def _learn(self, visit: _UnderWay, target: Target, outcome: Outcome) -> tuple[list[bytes], list[Target]]:
        site, spot = visit.site, visit.spot
        is_page = target.kind is Kind.PAGE
        match outcome:
            case Stored() | Duplicate() if is_page:
                site.note_request()
                known = self._learn_page(visit, target, outcome)
                return known, self._probes(visit, target)
            case Moved() if is_page:
                site.note_request()
                # Where it leads counts like a link: names that lead to ever new names have no end either.
                self._note_found(visit, [each for each in outcome.discovered if not self._learnt_name(site, each.url)])
                self._learn_visit(visit, Brought(self._worth_of_redirect(visit)))
            case Failed() if outcome.sent:
                site.note_request()
                status = outcome.response.status if outcome.response else 0
                if is_page and (outcome.reason is Failure.SOFT_404 or status in (404, 410)):
                    self._learn_visit(visit, NOTHING_BROUGHT)
                if status in (404, 410):
                    site.note_missing(spot.origin)
            case Read() | Moved():
                site.note_request()
            case _:
                pass
        return [], []

    def _learnt_name(self, site: Site, url: str) -> str:
        """The key of a URL by what was learnt of its site; empty if that is nothing."""
        origin = origin_of(url)
        meaningless = site.meaningless_of(origin)
        return self._learnt_key(origin, url[len(origin) :], meaningless) if meaningless else ""

    def _learn_page(self, visit: _UnderWay, target: Target, outcome: Stored | Duplicate) -> list[bytes]:
        site, spot = visit.site, visit.spot
        original = outcome.original if isinstance(outcome, Duplicate) else ""
        site.note_page(spot.origin)
        self._learn_visit(visit, self._brought(visit, outcome))
        if primary := site.alias_of(spot.origin):
            site.note_sample(spot.origin, is_same=original == primary + spot.tail)
        elif not original or registered_domain(_host_of(original)) != site.domain:
            site.note_original(spot.origin, original, spot.tail)
        origin, tail = spot.origin, spot.tail
        if "?" in tail:
            key = self._policy.key(origin, tail)
            path_at = key.find("/", 8)
            origin, tail = key[:path_at], key[path_at:]
        keys = site.compare(origin, tail, _shown(outcome, spot.origin))
        return [self._policy.fingerprint(origin + key) for key in keys]

    def _learn_visit(self, visit: _UnderWay, brought: Brought) -> None:
        found = [chain for _, chain in visit.found]
        visit.site.sections.learn(
            visit.spot.chain, visit.verdict, brought, found, source=visit.source, is_sample=visit.is_sample
        )

    def _brought(self, visit: _UnderWay, outcome: Stored | Duplicate) -> Brought:
        news = visit.site.lines.news_in(outcome.page.text, visit.spot.tail) if outcome.page.text else News.NOTHING
        is_own = visit.site.has_own_text(outcome.page_digest.text_digest) and isinstance(outcome, Stored)
        worth = max(self._worth(visit, outcome, news), self._promise(visit))
        return Brought(worth, is_own, news is not News.NOTHING)

    def _worth(self, visit: _UnderWay, outcome: Stored | Duplicate, news: News) -> float:
        """What a page brought, by its text; by its bytes if there is none."""
        if not outcome.page.text:
            return NEW_WORTH if isinstance(outcome, Stored) else 0.0
        if len(outcome.page.text) < FEW_CHARACTERS and not visit.found:
            # A picture with its number: there is more in it than its words.
            return NUMBERS_WORTH if isinstance(outcome, Stored) else 0.0
        if news is News.NOTHING and isinstance(outcome, Stored):
            # Where the words are those of other pages, what is new may be a picture.
            is_picture = visit.site.has_new_picture(pictures_in(outcome.response.body))
            news = News.NUMBERS if is_picture else news
        placement = outcome.placement
        is_new = isinstance(outcome, Stored) and (placement.is_first or not placement.group)
        match news:
            case News.WORDS:
                return NEW_WORTH if is_new else NEAR_WORTH
            case News.NUMBERS:
                # How many there are of each kind is no news: where a search may be narrowed down in any way.
                return NUMBERS_WORTH if len(visit.found) < MAX_FOUND else 0.0
            case _:
                return OWN_WORTH if is_new and not visit.found else 0.0  # a list of known things may have no end

    def _worth_of_redirect(self, visit: _UnderWay) -> float:
        """What redirects like it are worth, but no more than the page there is believed to be; nothing if known."""
        if not visit.found:
            return 0.0
        sections, chain = visit.site.sections, visit.spot.chain
        is_apart = any(sections.finest(found) not in chain for _, found in visit.found)
        worth = sections.worth_of(chain)
        return min(worth, self._promise(visit)) if is_apart else worth

    @staticmethod
    def _promise(visit: _UnderWay) -> float:
        """What a page is worth by the new pages of other kinds that it leads to."""
        sections, source = visit.site.sections, visit.spot.chain
        promising = [chain for target, chain in visit.found[:MAX_PROMISING] if target.host == visit.spot.host]
        return max((sections.promise(source, chain) for chain in promising), default=0.0)

    def _probes(self, visit: _UnderWay, target: Target) -> list[Target]:
        site, spot = visit.site, visit.spot
        probes = []
        if site.wants_probe(spot.origin):
            mark = self._policy.fingerprint(f"{spot.origin}{PROBE_PATH}").hex()
            probes.append(f"{spot.origin}{PROBE_PATH}{mark}")
        if visit.verdict is Soundness.DOUBTFUL and spot.tail != "/" and site.sections.wants_probe(spot.chain):
            names = made_up(spot.tail)
            site.sections.note_asked(spot.chain, len(names))
            probes += [spot.origin + name for name in names]
        return [Target(url, target.host, b"", Kind.PROBE, SEED, referrer=target.url) for url in probes]

    # ---- keeping

    async def _open(self, lease: Lease) -> Site:
        domain = registered_domain(lease.target.host)
        site = self._sites.get(domain)
        if site is None or site.version < lease.site_at:
            raw = await self._dispatcher.site(domain) if lease.site_at else b""
            site = self._sites.get(domain)
            # Meanwhile another visit may have brought them.
            if site is None or site.version < lease.site_at:
                site = Site(domain, self._rules.patience, version=lease.site_at, raw=raw)
                self._sites[domain] = site
                self._weigh(site)
        self._sites.move_to_end(domain)
        return site

    def _news(self, site: Site) -> SiteNews | None:
        requests = site.notes.requests
        is_early = requests <= VISITS_PER_NEWS and requests & (requests - 1) == 0
        # Memory that is full may lose notes as soon as they are taken: those must not begin anew each time.
        is_at_risk = self._weight > FULL_WEIGHT and requests <= VISITS_PER_NEWS
        enough = max(VISITS_PER_NEWS, len(site.sections.all) // SECTIONS_PER_VISIT)
        if not (site.has_changed or is_early or is_at_risk or site.unsent >= enough or self._rules.is_shared):
            return None
        self._weigh(site)
        site.version += 1
        site.unsent, site.has_changed = 0, False
        return SiteNews(site.domain, site.version, site.encoded(keeps_all=self._rules.is_shared))

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
    # Of what the operator asked for himself, he knows what it is worth.
    return (
        is_revisit
        or lease.target.request is not None
        or (lease.target.kind is Kind.ROBOTS and lease.target.redirects > 0)
    )


def _is_doubtful_host(visit: _UnderWay) -> bool:
    return visit.is_new_host and visit.verdict is not Soundness.SOUND


def _host_of(url: str) -> str:
    authority = origin_of(url).partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


def _shown(outcome: Stored | Duplicate, origin: str) -> Shown:
    """What a page says and where it leads, apart from the variables of some names and from what is drawn by lot."""
    text = crc32(outcome.page.text.encode("utf-8", "replace") or outcome.digest)
    targets = outcome.links.targets
    return lambda names: Sighting(text, links_shown(targets, origin, names))


def _is_wanted(target: Target) -> bool:
    """Whether so much is promised of a target that doubt, which decides the order alone, does not put it off."""
    return target.promise >= WANTED_FROM
