"""What became of the seeds: a crawl whose seed gave nothing has not done what it was asked for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from lycosa.inspect.reasons import sentence_of
from lycosa.model import Failure, Refusal
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

MAX_HOPS = 20
_MISSED = ("refused", "failed", "crashed")
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
}
_OTHER_REMEDY = "`lycosa fetch URL` shows what it answers now"


class MissedSeed(msgspec.Struct, frozen=True):
    """A seed that gave no page. `url` is where its redirects led, if there were any."""

    seed: str
    url: str
    outcome: str
    reason: str
    detail: str

    def sentence(self) -> str:
        """What became of it, and what can be done."""
        led = f" (led to {self.url})" if self.url != self.seed else ""
        remedy = _REMEDIES.get(self.reason, _OTHER_REMEDY)
        return f"{self.seed}{led}: {sentence_of(self.reason, self.detail)}; {remedy}"


def missed_seeds(folder: CrawlFolder) -> list[MissedSeed]:
    """The seeds whose last visit, or the one that their redirects led to, gave no page."""
    seeds = folder.read_seeds()
    with connect(folder) as connection:
        visits = {url: facts for url, *facts in connection.execute(_LAST_VISITS).fetchall()}
    found = (_missed(seed.url, visits) for seed in seeds)
    return [each for each in found if each]


def _missed(seed: str, visits: Mapping[str, list[str]]) -> MissedSeed | None:
    url = seed
    for _ in range(MAX_HOPS):
        outcome, reason, detail = visits.get(url, ("", "", ""))
        if outcome != "moved":
            return MissedSeed(seed, url, outcome, reason, detail) if outcome in _MISSED else None
        url = detail
    return None
