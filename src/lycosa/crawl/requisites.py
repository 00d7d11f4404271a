"""From what a page or a stylesheet shows to targets: requisites, which may lie anywhere and open no host to the crawl.

A requisite is known by its whole URL, apart from pages: whether the same URL is a page, too, is decided without it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import msgspec

from lycosa.model import Kind, Target
from lycosa.policy import priority
from lycosa.url.canonical import ParsedUrl, encode_query
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkPolicy, clean

# A stylesheet may import another one, and so on.
MAX_STEPS = 5
# Hosts of a domain that are asked for what pages of others show: a few share the load of some; more are made up.
MAX_HOSTS_PER_DOMAIN, MAX_DOMAINS = 100, 10_000
# A link to one of these on a page that shows it leads to no page.
_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg", ".bmp", ".ico")


class ShownFiles(NamedTuple):
    """What a page shows: targets that have not been sent before, and the images among all that it shows."""

    targets: list[Target]
    images: set[str]


class Requisites:
    """Decides which of them are fetched."""

    def __init__(self, policy: LinkPolicy, fingerprinter: Fingerprinter, remembered: Container[bytes]) -> None:
        self._policy = policy
        self._fingerprinter = fingerprinter
        self._remembered = remembered
        self._hosts: dict[str, set[str]] = {}

    def of(self, source: Target, base: str, hrefs: Sequence[str], encoding: str = "utf-8") -> ShownFiles:
        """What a page, or a requisite of one, shows."""
        steps = source.steps + 1 if source.kind is Kind.REQUISITE else 0
        targets: dict[bytes, Target] = {}
        images: set[str] = set()
        for parsed in self._urls(base, hrefs if steps <= MAX_STEPS else (), encoding):
            if _is_image(parsed):
                images.add(parsed.url)
            target = self._target(source, parsed, steps)
            if target.fingerprint not in self._remembered and self._may_ask(source, parsed):
                targets.setdefault(target.fingerprint, target)
        return ShownFiles(list(targets.values()), images)

    def moved(self, target: Target, location: str) -> tuple[str, list[Target]]:
        """Where the redirect of a requisite leads, and the target it makes, if it makes one."""
        for parsed in self._urls(target.url, [location]):
            further = self._target(target, parsed, target.steps)
            if self._may_ask(target, parsed):
                return parsed.url, [msgspec.structs.replace(further, redirects=target.redirects + 1)]
            return parsed.url, []
        return location, []

    def _urls(self, base: str, hrefs: Iterable[str], encoding: str = "utf-8") -> Iterable[ParsedUrl]:
        for href in hrefs:
            if clean(href)[:1] in ("", "#"):
                continue
            parsed = self._policy.read(encode_query(href, encoding), base)
            if isinstance(parsed, ParsedUrl) and not self._policy.is_excluded(parsed.url, parsed.host):
                yield parsed

    def _target(self, source: Target, parsed: ParsedUrl, steps: int) -> Target:
        return Target(
            parsed.url,
            parsed.host,
            self._fingerprinter.of_requisite(parsed.url),
            Kind.REQUISITE,
            priority.REQUISITE,
            source.depth + 1 if source.kind is not Kind.REQUISITE else source.depth,
            source.url,
            steps=steps,
        )

    def _may_ask(self, source: Target, parsed: ParsedUrl) -> bool:
        """Whether a host is that of the page, or one of not too many of its domain."""
        if parsed.host == source.host:
            return True
        hosts = self._hosts.setdefault(registered_domain(parsed.host), set())
        if parsed.host not in hosts and len(hosts) >= MAX_HOSTS_PER_DOMAIN:
            return False
        hosts.add(parsed.host)
        if len(self._hosts) > MAX_DOMAINS:
            del self._hosts[next(iter(self._hosts))]
        return True


def _is_image(parsed: ParsedUrl) -> bool:
    return parsed.path_and_query.partition("?")[0].lower().endswith(_IMAGE_ENDINGS)
