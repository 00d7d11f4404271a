"""What became of the seeds: a crawl whose seed gave nothing has not done what it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from lycosa.inspect.opened import folder_settings
from lycosa.inspect.reasons import sentence_of
from lycosa.model import Failure, Reason, Refusal
from lycosa.settings import Settings
from lycosa.site_rules import SiteTable
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.scope import Scope, Verdict

MAX_HOPS = 20
_MISSED = ("refused", "failed", "crashed")
# What became of a seed beside the outcomes of visits: its origin waits for its robots.txt; its redirects led to a
# page whose links are not followed.
WAITING, LED_OUT = "waiting", "led_out"
_LAST_VISITS = """
SELECT url, arg_max(outcome, fetched_at), arg_max(reason, fetched_at), arg_max(detail, fetched_at)
FROM pages WHERE depth = 0 AND outcome <> 'read' GROUP BY url
"""
# What the operator can do about it, by the code of the reason.
_REMEDIES: dict[str, str] = {
    Refusal.ADDRESS: "--open-network CIDR opens its network to this crawl",
    Refusal.NAME: "look whether it is spelt right",
    Refusal.ROBOTS: "its site does not want it to be crawled: ask there, or begin at another page",
    Failure.DNS: "look whether it is spelt right, and whether names can be resolved here",
    LED_OUT: "name that as a seed, too, or widen --scope",
}
_OTHER_REMEDY = "`lycosa fetch URL` shows what it answers now"


class MissedSeed(msgspec.Struct, frozen=True):
    """A seed that gave no page of this crawl. `url` is where its redirects led, if there were any."""

    seed: str
    url: str
    outcome: str
    reason: str
    detail: str

    def sentence(self) -> str:
        """What became of it, and what can be done."""
        if self.outcome == LED_OUT:
            why = f"it redirects out of this crawl, which follows no links of {self.url}"
            return f"{self.seed}: {why}; {remedy_of(LED_OUT)}"
        led = f" (led to {self.url})" if self.url != self.seed else ""
        return f"{self.seed}{led}: {sentence_of(self.reason, self.detail)}; {remedy_of(self.reason)}"


def remedy_of(reason: str) -> str:
    """What the operator can do about a seed that gave no page for this reason."""
    return _REMEDIES.get(reason, _OTHER_REMEDY)


def missed_seeds(folder: CrawlFolder, troubled: Mapping[str, Reason] | None = None) -> list[MissedSeed]:
    """The seeds whose last visit, or the one that their redirects led to, gave no page of this crawl.

    `troubled` are the origins that wait until their robots.txt can be read.
    """
    seeds = folder.read_seeds()
    with connect(folder) as connection:
        visits = {url: facts for url, *facts in connection.execute(_LAST_VISITS).fetchall()}
    scope = _scope_of(folder_settings(folder), seeds)
    found = (_waiting(seed, troubled or {}) or _missed(seed.url, visits, scope) for seed in seeds)
    return [each for each in found if each]


def _waiting(seed: ParsedUrl, troubled: Mapping[str, Reason]) -> MissedSeed | None:
    why = troubled.get(seed.origin)
    return MissedSeed(seed.url, seed.url, WAITING, why.code, why.detail) if why else None


def _missed(seed: str, visits: Mapping[str, list[str]], scope: Scope) -> MissedSeed | None:
    url = seed
    for _ in range(MAX_HOPS):
        outcome, reason, detail = visits.get(url, ("", "", ""))
        if outcome in _MISSED:
            return MissedSeed(seed, url, outcome, reason, detail)
        if outcome != "moved":
            has_left = outcome and url != seed and not _has(scope, url)
            return MissedSeed(seed, url, LED_OUT, "", "") if has_left else None
        url = detail
    return None


def _scope_of(settings: Settings, seeds: Sequence[ParsedUrl]) -> Scope:
    return Scope(seeds, settings.scope, sites=SiteTable(settings.site))


def _has(scope: Scope, url: str) -> bool:
    """Whether links of a page are followed, by where it lies; patterns are for each link by itself."""
    parsed = parse(url)
    if not isinstance(parsed, ParsedUrl):
        return True
    return scope.verdict(parsed.url, parsed.host, registered_domain(parsed.host)) is not Verdict.OUT_OF_SCOPE
