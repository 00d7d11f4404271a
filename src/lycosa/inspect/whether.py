"""Whether a URL is visited, or visited again, and when: one decision, its inputs, and how much each of them counts.

The same records and rules that the crawl goes by, put into words. It decides nothing.
"""

from __future__ import annotations

import msgspec

from lycosa.frontier.listings import PACED_VISITS, odds_of
from lycosa.frontier.records import HostRecord, Schedule
from lycosa.frontier.revisits import CLASS_WORTH, belief_of, is_gone, prior_in
from lycosa.inspect.status import waits_for
from lycosa.inspect.traces import Traces
from lycosa.inspect.wording import duration, moment, until
from lycosa.model import WAITS, History, Listing, Target
from lycosa.policy.freshness import FORGOTTEN, Belief, freshness, value
from lycosa.policy.listing import Trust
from lycosa.policy.priority import ORDINARY
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import path_and_query
from lycosa.robots.verdict import RobotsKind
from lycosa.settings import Settings
from lycosa.site.notes import Site
from lycosa.site.sections import Soundness
from lycosa.site_rules import SiteTable


class Input(msgspec.Struct, frozen=True):
    """One input of the decision: what it says, and what it counts for."""

    name: str
    says: str
    weight: str


def inputs_of(
    traces: Traces, settings: Settings, now: float, past: History | None, target: Target | None = None
) -> list[Input]:
    """The inputs for a URL that was visited, or that waits as a target; at last what they come to together."""
    if traces.host is None:
        return []
    return _Decision(traces, traces.host, settings, now, past, target).inputs()


class _Decision:
    def __init__(
        self,
        traces: Traces,
        host: HostRecord,
        settings: Settings,
        now: float,
        past: History | None,
        target: Target | None,
    ) -> None:
        self._traces = traces
        self._host = host
        self._settings = settings
        self._now = now
        self._past = past
        self._target = target
        self._schedule: Schedule | None = traces.schedule()
        self._prior = prior_in(host, self._schedule, past)

    def inputs(self) -> list[Input]:
        found = [self._robots(), self._hints(), self._last_crawl(), self._similar_urls(), self._like_pages()]
        found += [self._host_load(), self._experience(), self._importance(), self._all_together()]
        return [each for each in found if each]

    # ---- what the site wants and says

    def _robots(self) -> Input:
        ruling = self._traces.ruling()
        rules = SiteTable(self._settings.site).of(self._traces.link.url)
        if rules.robots == "ignore":
            return Input("robots.txt", "not obeyed, by a rule of its site", "none")
        if ruling is None:
            return Input("robots.txt", "not read yet", "is read before anything else")
        if ruling.record.kind is RobotsKind.ALLOW_ALL:
            return Input("robots.txt", "there is none", "lets it through")
        if ruling.record.kind is RobotsKind.DISALLOW_ALL:
            return Input("robots.txt", "could not be read", "decides alone: not now")
        decision = RobotsMatcher(ruling.record.rules).explain(path_and_query(self._traces.link.url))
        if decision.rule is None:
            return Input("robots.txt", "no rule speaks of it", "lets it through")
        said = f"{'Allow' if decision.rule[0] else 'Disallow'}: {decision.rule[1]}"
        return Input("robots.txt", said, "lets it through" if decision.rule[0] else "decides alone: never")

    def _hints(self) -> Input:
        """Robots.txt and sitemaps may say how often to come; so may the operator."""
        if own := SiteTable(self._settings.site).of_host(self._host.name).revisit_seconds:
            return Input("frequency hints", f"the operator: every {duration(own)}", "decides when, within the budget")
        listing = self._listing()
        if listing is None:
            return Input("frequency hints", "no sitemap or feed says anything of it", "none")
        said = f"modified {moment(listing.modified_at)}" if listing.modified_at else "not when it was modified"
        if self._past and self._past.is_told:
            said += ", which is news since the last visit"
        if listing.pace != 100:
            said += f"; changes {listing.pace / 100:.2g} times as often as others of its list"
        return Input("frequency hints", said, self._weight_of_hints(listing))

    def _weight_of_hints(self, listing: Listing) -> str:
        visits = self._past.visits if self._past else 0
        paced = f"; a prior until visit {PACED_VISITS + 1}" if listing.pace != 100 and visits <= PACED_VISITS else ""
        if not listing.modified_at:
            return f"none{paced}"
        trust = Trust(*self._host.trust)
        odds = odds_of(self._host, self._past) if self._past else 1.0
        return (
            f"odds of a change x {odds:.2g}: {self._host.name} tells of {trust.right:.0%} of its changes, and of one "
            f"at {trust.false:.0%} of the visits that find none{paced}"
        )

    def _listing(self) -> Listing | None:
        if self._past:
            return self._past.listing
        return self._target.listing if self._target else None

    # ---- what is known of it, and of its like

    def _last_crawl(self) -> Input:
        if self._past is None:
            return Input("last crawl", "never", "new: it competes with all that is due")
        ago = duration(max(self._now - self._past.visited_at, 0.0))
        said = f"{ago} ago: {self._past.outcome.name.lower()}"
        if self._past.changed_at:
            said += f"; changed last {moment(self._past.changed_at)}"
        if not self._past.outcome.is_page:
            return Input("last crawl", said, "no page to compare with")
        return Input("last crawl", said, f"{1 - self._fresh():.0%} likely to have changed since")

    def _similar_urls(self) -> Input:
        """What the visits of URLs like it brought."""
        link = self._traces.link
        site = Site(link.domain, self._settings.patience, raw=self._traces.site_notes())
        chain = site.spot_of(link.url, self._host.name).chain
        referrer = self._past.referrer if self._past else self._target.referrer if self._target else ""
        depth = self._past.depth if self._past else self._target.depth if self._target else 0
        verdict = site.sections.verdict(chain, depth, site.source_of(referrer))
        deferred = self._target.deferred if self._target else 0
        weight = {
            Soundness.SOUND: "first come, first visited",
            Soundness.DOUBTFUL: "goes behind others of its host",
            Soundness.SPENT: "waits until nothing else is left",
        }[verdict]
        if not self._settings.traps:
            weight = "none: traps = false"
        elif deferred:
            weight = "waits until nothing else is left" if deferred >= WAITS else f"goes behind others, {deferred} of 3"
        elif self._past and self._past.outcome.is_page:
            weight = "none: it was worth a visit before"
        return Input("similar URLs", site.sections.figures(chain), weight)

    def _like_pages(self) -> Input:
        """How pages of its host change, and whether its text is that of others."""
        pages = f"{self._host.rated:,.0f} of its host were visited again" if self._host.rated else "none visited again"
        group = f"; its text is of group {self._past.group.hex()}" if self._past and self._past.group else ""
        is_all = self._past is None or not self._past.rate_shape
        weight = "all that is known of its changes" if is_all else f"{FORGOTTEN:.0%} of what is believed, at each visit"
        return Input("similar pages", f"change every {duration(1 / self._prior.rate)} ({pages}){group}", weight)

    def _host_load(self) -> Input:
        host = self._host
        asks = f", its robots.txt asks for {duration(host.crawl_delay_seconds)}" if host.crawl_delay_seconds else ""
        said = f"{duration(host.delay_seconds)} between requests{asks}; {host.queued:,} queued"
        if host.queued:
            said += f"; waits for {waits_for(host, self._now)}"
        if host.policy and host.policy.is_blocked:
            return Input("host load", said, "decides alone: blocked by the operator")
        if host.failures or host.ban:
            return Input("host load", f"{said}; {host.failures:,} failures in a row", "one visit at a time, to see")
        if host.price:
            return Input("host load", said, f"more is due than its pauses let through: worth {duration(host.price)}")
        return Input("host load", said, "none beyond the pauses")

    def _experience(self) -> Input:
        past = self._past
        if past is None:
            host = self._host
            return Input("experience", f"{host.pages:,} of {host.visits:,} visits of its host gave a page", "none yet")
        said = f"{past.changes:,} changes in {past.visits:,} visits"
        if past.failures:
            return Input("experience", f"{said}; {past.failures:,} failures in a row", "decides when it is tried again")
        if not past.rate_shape:
            return Input("experience", said, "none before the second visit")
        return Input("experience", said, f"it changes about every {duration(1 / self._belief().rate)}")

    def _importance(self) -> Input:
        if self._past and self._past.weight:
            weight = self._past.weight
            return Input("importance", f"{weight:.2g} times that of an ordinary page", f"x {weight:.2g}")
        if self._target is None:
            return Input("importance", "that of an ordinary page", "x 1")
        number = self._target.priority
        said = f"class {number} of 10, order {self._settings.order}"
        return Input("importance", said, f"x {CLASS_WORTH ** (number - ORDINARY):.2g}")

    def _all_together(self) -> Input:
        past, schedule = self._past, self._schedule
        if past is None:
            return Input("together", "it is new", "visited when its turn comes")
        if is_gone(past):
            return Input("together", "gone", f"forgotten {until(past.next_at, self._now)}")
        if schedule is None or not past.weight:
            return Input("together", "each page is visited once", "crawl --revisit comes back")
        elapsed = max(self._now - past.visited_at, 0.0)
        worth = value(self._belief(), past.weight, elapsed, odds_of(self._host, past))
        due = f"next {until(past.next_at, self._now)} ({moment(past.next_at)})" if past.next_at else "not planned"
        interval = f", every {duration(past.interval)} as things stand" if past.interval else ""
        said = f"worth {duration(worth)} of being up to date now; the price is {duration(schedule.price)}"
        if past.listed:
            said = f"it is read for the {past.listed:,} URLs that it lists"
        return Input("together", said, due + interval)

    def _belief(self) -> Belief:
        assert self._past
        return belief_of(self._past, self._prior)

    def _fresh(self) -> float:
        assert self._past
        elapsed = max(self._now - self._past.visited_at, 0.0)
        return freshness(self._belief(), elapsed, odds_of(self._host, self._past))
