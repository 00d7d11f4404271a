"""A walk through sites that are functions: the rules against endless sites alone, without network or clock.

Breadth first, one visit after another, as a frontier would give them out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from hashlib import sha1
from itertools import count
from typing import Any, NamedTuple

from lycosa.build import make_discovery, make_judge, seed_targets
from lycosa.crawl.discovery import Discovery
from lycosa.model import (
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
from lycosa.outcome import Duplicate, Failed, Moved, Read, Refused, Settled, Stored, urls_found
from lycosa.settings import from_values
from lycosa.site.judge import Learnt, SiteJudge
from lycosa.url.canonical import parse_seeds

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


class Walk:
    """Visits what a web leads to. `asked` are the URLs that were requested, in order."""

    def __init__(self, web: Web, *seeds: str, **settings: Any) -> None:
        self._web = web
        self._settings = from_values({"scope": "any"} | settings)
        self._seeds = parse_seeds(seeds)
        self._tokens = count(1)
        self._known: set[bytes] = set()
        self._stored: dict[bytes, str] = {}
        self._queue: deque[Target] = deque()
        self.notes = Notes()
        self.asked: list[str] = []
        self.refused: dict[str, Refused] = {}
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
            if not target.fingerprint:
                self._queue.appendleft(target)
            elif target.fingerprint not in self._known:
                self._known.add(target.fingerprint)
                self._queue.append(target)

    async def run(self, max_requests: int = 20_000) -> Walk:
        while self._queue and len(self.asked) < max_requests:
            await self.visit(self._queue.popleft())
        return self

    async def visit(self, target: Target, validators: Validators | None = None) -> Settled:
        domain = ".".join(target.host.split(".")[-2:])
        lease = Lease(next(self._tokens), target, 0.0, validators=validators, site_at=self.notes.version(domain))
        outcome = await self.judge.refusal(lease) or self._ask(lease)
        learnt = self.judge.learn(lease, outcome)
        self.learnt.append(learnt)
        if isinstance(outcome, Refused):
            self.refused[target.url] = outcome
        if learnt.news:
            self.notes.kept[learnt.news.domain] = (learnt.news.version, learnt.news.notes)
        self._known.update(learnt.known)
        found = urls_found(outcome) + learnt.probes
        self.add(found)
        self.discovery.remembered.add(each.fingerprint for each in found)
        return outcome

    def _ask(self, lease: Lease) -> Settled:
        target = lease.target
        self.asked.append(target.url)
        answer = self._web(target.url)
        body = answer.body or repr(answer).encode()
        response = Response(target.url, answer.status, [], body, body, b"", b"", "", "h2", 0.0, 0.0)
        page = html_page(answer)
        if target.kind is Kind.PROBE:
            self.judge.learn_probe(lease, page.text if answer.status == 200 else "")
            return Read(response, [])
        if answer.location:
            return Moved(response, *self.discovery.of_redirect(target, answer.location))
        if answer.status != 200:
            return Failed(Failure.STATUS, str(answer.status), response)
        if self.judge.is_soft_404(lease, page):
            return Failed(Failure.SOFT_404, "", response)
        links, discovered = self.discovery.of_page(target, page, self.judge.renaming(lease))
        digest = sha1(body).digest()
        original = self._stored.setdefault(digest, target.url)
        page_digest = PageDigest(text_digest=sha1(answer.text.encode()).digest() if answer.text else b"")
        common = (response, page, links, discovered, digest, page_digest, Placement())
        return Stored(*common) if original == target.url else Duplicate(*common, original)
