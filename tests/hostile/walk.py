"""A walk through sites that are functions: the rules against endless sites alone, without network or clock.

One visit after another, as a frontier would give them out: breadth first, behind that what is in doubt (the less the
sooner), and when nothing else is left what waits for that.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from hashlib import sha1
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from lycosa.crawl.discovery import Discovery
from lycosa.frontier.rules import is_last_first, rank_of
from lycosa.model import (
    WAITS,
    Failure,
    Kind,
    Lease,
    Page,
    PageDigest,
    Placement,
    RawLink,
    Refusal,
    Response,
    Target,
    Validators,
)
from lycosa.outcome import Duplicate, Failed, Moved, Postponed, Read, Refused, Settled, Stored, urls_found
from lycosa.settings import from_values
from lycosa.site.judge import Learnt, SiteJudge
from lycosa.url.canonical import parse_seeds
from lycosa.url.domain import registered_domain
from lycosa.wiring.crawl import seed_targets
from lycosa.wiring.worker import make_discovery, make_judge

KEY = bytes(16)


class Answer(NamedTuple):
    """What a server says to a request."""

    text: str = ""
    links: Iterable[str] = ()
    status: int = 200
    location: str = ""
    body: bytes = b""


Web = Callable[[str], Answer]


def html_page(answer: Answer) -> Page:
    return Page("", "", answer.text, [RawLink(href, "", "") for href in answer.links])


class Notes:
    """Keeps what a frontier would keep of sites."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[int, bytes]] = {}
        self.asked = 0

    def version(self, domain: str) -> int:
        return self.kept.get(domain, (0, b""))[0]

    async def site(self, domain: str) -> bytes:
        self.asked += 1
        return self.kept[domain][1]


class Lanes:
    """What waits to be visited."""

    def __init__(self) -> None:
        self._lanes: list[deque[Target]] = [deque() for _ in range(WAITS + 1)]

    def push(self, target: Target) -> None:
        if target.fingerprint:
            self._lanes[min(target.deferred, WAITS)].append(target)
        else:
            # A probe: before all others.
            self._lanes[0].appendleft(target)

    def pop(self) -> Target | None:
        for lane in self._lanes:
            if lane:
                return lane.pop() if is_last_first(rank_of(lane[-1]), "breadth") else lane.popleft()
        return None


class Walk:
    """Visits what a web leads to. `asked` are the URLs that were requested, in order."""

    def __init__(self, web: Web, *seeds: str, **settings: Any) -> None:
        self._web = web
        self._settings = from_values({"scope": "any"} | settings)
        self._seeds = parse_seeds(seeds)
        self._tokens = count(1)
        self._known: set[bytes] = set()
        self._stored: dict[bytes, str] = {}
        self._lanes = Lanes()
        self.notes = Notes()
        self.asked: list[str] = []
        self.refused: dict[str, Refused] = {}
        self.left_out: set[str] = set()  # those of the refused that never had a visit
        self.postponed: Counter[int] = Counter()
        self.probes: list[str] = []
        self.learnt: list[Learnt] = []
        self.begin()
        self.add(seed_targets(self._settings, self._seeds, KEY))

    @property
    def reasons(self) -> Counter[Refusal]:
        return Counter(refused.reason for refused in self.refused.values())

    def begin(self) -> None:
        """A worker starts, and knows nothing but what was kept."""
        self.discovery: Discovery = make_discovery(self._settings, self._seeds, KEY)
        self.judge: SiteJudge = make_judge(self._settings, self._seeds, KEY, self.notes)  # type: ignore[arg-type]

    def add(self, targets: Iterable[Target]) -> None:
        for target in targets:
            if target.fingerprint not in self._known:
                self._known.update({target.fingerprint} - {b""})
                self._lanes.push(target)

    async def run(self, max_requests: int = 20_000) -> Walk:
        while len(self.asked) < max_requests and (target := self._lanes.pop()):
            await self.visit(target)
        return self

    async def visit(self, target: Target, validators: Validators | None = None) -> Settled | Postponed:
        lease = self.lease(target, validators)
        objection = await self._objection(lease)
        outcome = self._ask(lease) if objection is None else objection
        learnt = self.judge.learn(lease, outcome)
        if isinstance(outcome, Postponed):
            assert outcome.deferred > target.deferred, "else it would be looked at for ever"
            self.postponed[outcome.deferred] += 1
            self._lanes.push(replace(target, deferred=outcome.deferred))
            self.add(outcome.discovered)
            return outcome
        self.learnt.append(learnt)
        if isinstance(outcome, Refused):
            self.refused[target.url] = outcome
        for left, refused in learnt.left_out:
            if left.fingerprint not in self._known:
                self.refused[left.url] = refused
                self.left_out.add(left.url)
        if learnt.news:
            self.notes.kept[learnt.news.domain] = (learnt.news.version, learnt.news.notes)
        self._known.update(learnt.known)
        found = urls_found(outcome) + learnt.probes
        self.add(found)
        self.discovery.remembered.add(each.fingerprint for each in found)
        return outcome

    def lease(self, target: Target, validators: Validators | None = None) -> Lease:
        version = self.notes.version(registered_domain(target.host))
        return Lease(next(self._tokens), target, 0.0, validators=validators, site_at=version)

    async def _objection(self, lease: Lease) -> Refused | Postponed | None:
        if lease.target.kind is Kind.PAGE:
            return await self.judge.objection(lease)
        return await self.judge.objection_to_host(lease)

    def _ask(self, lease: Lease) -> Settled:
        target = lease.target
        self.asked.append(target.url)
        answer = self._web(target.url)
        body = answer.body or repr(answer).encode()
        response = Response(target.url, answer.status, [], body, body, b"", b"", "", "h2", 0.0, 0.0)
        page = html_page(answer)
        if target.kind is Kind.PROBE:
            self.probes.append(target.url)
            found = self.discovery.of_page(target, page)[1] if answer.status == 200 else []
            self.judge.learn_probe(lease, answer.status, page.text if answer.status == 200 else "", found)
            return Read(response, [])
        if answer.location:
            return Moved(response, *self.discovery.of_redirect(target, answer.location))
        if answer.status != 200:
            return Failed(Failure.STATUS, str(answer.status), response)
        if self.judge.is_soft_404(lease, page):
            return Failed(Failure.SOFT_404, "", response)
        links, found, *_ = self.discovery.of_page(target, page, self.judge.renaming(lease))
        discovered = self.judge.deferred(lease, found)
        digest = sha1(body).digest()
        original = self._stored.setdefault(digest, target.url)
        page_digest = PageDigest(text_digest=sha1(answer.text.encode()).digest() if answer.text else b"")
        common = (response, page, links, discovered, digest, page_digest, Placement())
        return Stored(*common) if original == target.url else Duplicate(*common, original)
