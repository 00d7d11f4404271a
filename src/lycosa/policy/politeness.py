"""How long a host is left alone after a request. Pure: the answer depends on the arguments only."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

MAX_RETRY_AFTER_SECONDS = 7 * 86_400.0
# Five failures in a row open the circuit: the host rests, then one probe decides.
CIRCUIT_FAILURES = 5
# So many refusals (403) in a row of a host that has given pages are no forbidden pages any more: it has banned us.
BAN_REFUSALS = 3
# A host that bans is asked half as often from then on; each page it gives makes up for a twentieth of that.
MAX_SLOWDOWN, RECOVERY = 64.0, 0.95

# Targets of one host that are given out together: visited in a moment, so that better ones found meanwhile hardly
# wait; and those that are topped up once so many are through, and such a part of them. Shorter ones end first.
MAX_RUN, RUN_SECONDS, MIN_TOP_UP, TOP_UP_PART = 128, 0.25, 8, 8
# Of a host of which little is known, or whose targets are in doubt: what each brings decides about the next ones.
CAUTIOUS_RUN, KNOWN_VISITS = 32, 256
# After so many visits in a row that sent nothing more are given out together; at most so many.
UNSENT_BEFORE_RUN, MAX_UNSENT_RUN = 4, 256


class Pace(msgspec.Struct, frozen=True):
    """The operator's choice of politeness."""

    min_delay_seconds: float = 1.0
    max_delay_seconds: float = 60.0
    delay_factor: float = 10.0
    max_crawl_delay_seconds: float = 86_400.0
    max_backoff_seconds: float = 3600.0
    circuit_seconds: float = 1800.0
    ip_delay_seconds: float = 0.5
    domain_delay_seconds: float = 0.5

    @property
    def address_gap_seconds(self) -> float:
        """From one request to the next at one address. Whoever waits for no host waits for no address either."""
        return min(self.ip_delay_seconds, self.min_delay_seconds)

    @property
    def domain_gap_seconds(self) -> float:
        """From one request to the next in one registered domain."""
        return min(self.domain_delay_seconds, self.min_delay_seconds)


def own_delay(delays: Mapping[str, float], host: str) -> float | None:
    """The pause that the operator chose for a host, by its name or the longest end of it; None if there is none."""
    if not delays:
        return None
    while host:
        if (delay := delays.get(host)) is not None:
            return delay
        host = host.partition(".")[2]
    return None


@lru_cache(maxsize=1024)
def with_delay(pace: Pace, delay: float | None) -> Pace:
    """How politely a host is asked for which the operator chose a pause of its own."""
    if delay is None:
        return pace
    longest = max(delay, pace.max_delay_seconds)
    return replace(pace, min_delay_seconds=delay, max_delay_seconds=longest, delay_factor=0.0)


class HostAnswer(Enum):
    """What an answer says of its host."""

    PAGE = "page"
    OTHER = "other"
    REFUSED = "refused"
    TROUBLE = "trouble"
    BAN = "ban"


_BAD = frozenset({HostAnswer.REFUSED, HostAnswer.TROUBLE, HostAnswer.BAN})


class Standing(msgspec.Struct, frozen=True):
    """How we stand with a host."""

    failures: int = 0  # in a row
    refusals: int = -1  # in a row, since it last gave a page; -1: it has not given any
    slowdown: float = 1.0

    def after(self, answer: HostAnswer, *, is_evidence: bool = True) -> Standing:
        """How we stand after one more answer. Only bans and trouble leave failures.

        Without evidence, the answer may be the URL's alone (see `policy/kin.py`).
        """
        if not is_evidence and self.refusals >= 0 and answer in _BAD:
            return self._after_doubtful(answer)
        refusals = self.refusals
        if answer is HostAnswer.PAGE:
            refusals = 0
        elif refusals >= 0 and answer is not HostAnswer.TROUBLE and answer is not HostAnswer.BAN:
            refusals = refusals + 1 if answer is HostAnswer.REFUSED else 0
        is_ban = answer is HostAnswer.BAN or (answer is HostAnswer.REFUSED and refusals >= BAN_REFUSALS)
        slowdown = self.slowdown
        if is_ban:
            slowdown = min(2.0 * slowdown, MAX_SLOWDOWN)
        elif answer is HostAnswer.PAGE and slowdown > 1.0:
            slowdown = max(1.0, RECOVERY * slowdown)
        failures = self.failures + 1 if is_ban or answer is HostAnswer.TROUBLE else 0
        return Standing(failures, refusals, slowdown)

    def _after_doubtful(self, answer: HostAnswer) -> Standing:
        """A host that gives pages is slowed down by what it answers to other URLs, and never closed."""
        if answer is HostAnswer.REFUSED:
            # Whoever refuses is there. Whoever has banned us lately may mean it.
            failures = self.failures if self.slowdown > 1.0 else 0
        else:
            # A circuit that is open already stays so.
            failures = max(self.failures, min(self.failures + 1, CIRCUIT_FAILURES - 1))
        return Standing(failures, self.refusals, self.slowdown)


def delay_seconds(pace: Pace, fetch_seconds: float, crawl_delay_seconds: float) -> float:
    """The ordinary pause: a multiple of the last fetch time within bounds, or the site's own wish if longer."""
    own = min(max(pace.delay_factor * fetch_seconds, pace.min_delay_seconds), pace.max_delay_seconds)
    return max(own, min(crawl_delay_seconds, pace.max_crawl_delay_seconds))


def run_length(pause_seconds: float, fetch_seconds: float, unsent: int, connections: int, most: int = MAX_RUN) -> int:
    """How many targets of a host may be given out together, to be visited one after the other.

    Where no pause is kept, as many as take a moment. Where the last visits sent nothing, as many as those were: the
    next ones will hardly send more.
    """
    refused = min(unsent, MAX_UNSENT_RUN) if unsent >= UNSENT_BEFORE_RUN else 1
    if pause_seconds > 0.0:
        return refused
    quick = most + top_up_length(most) * (connections - 1)
    return max(refused, min(quick, int(connections * RUN_SECONDS / fetch_seconds))) if fetch_seconds else refused


def top_up_length(run: int) -> int:
    """How many targets of a run must be through before more are given out."""
    return max(MIN_TOP_UP, run // TOP_UP_PART)


def backoff_seconds(pace: Pace, failures: int, delay: float, retry_after_seconds: float) -> float:
    """The pause after `failures` failures in a row: doubled each time, a longer rest from the fifth on."""
    asked = max(delay, min(retry_after_seconds, MAX_RETRY_AFTER_SECONDS))
    if failures == 0:
        return asked
    doubled = min(delay * 2.0 ** min(failures, 32), pace.max_backoff_seconds)
    rest = pace.circuit_seconds if failures >= CIRCUIT_FAILURES else 0.0
    return max(asked, doubled, rest)


def slowed_seconds(pace: Pace, delay: float, slowdown: float) -> float:
    """The ordinary pause of a host that has banned us before."""
    return max(delay, min(delay * slowdown, pace.max_delay_seconds)) if slowdown > 1.0 else delay


def is_host_trouble(status: int, *, is_failure: bool) -> bool:
    """Whether an answer says that the host, not the page, is in trouble. 0 means that no answer came."""
    return is_failure and (status in (0, 429) or status >= 500)
