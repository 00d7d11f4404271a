"""How long a host is left alone after a request. Pure: the answer depends on the arguments only."""

from __future__ import annotations

import msgspec

MAX_RETRY_AFTER_SECONDS = 7 * 86_400.0
# Five failures in a row open the circuit: the host rests, then one probe decides.
CIRCUIT_FAILURES = 5


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


def delay_seconds(pace: Pace, fetch_seconds: float, crawl_delay_seconds: float) -> float:
    """The ordinary pause: a multiple of the last fetch time within bounds, or the site's own wish if longer."""
    own = min(max(pace.delay_factor * fetch_seconds, pace.min_delay_seconds), pace.max_delay_seconds)
    return max(own, min(crawl_delay_seconds, pace.max_crawl_delay_seconds))


def backoff_seconds(pace: Pace, failures: int, delay: float, retry_after_seconds: float) -> float:
    """The pause after `failures` failures in a row: doubled each time, a longer rest from the fifth on."""
    asked = max(delay, min(retry_after_seconds, MAX_RETRY_AFTER_SECONDS))
    if failures == 0:
        return asked
    doubled = min(delay * 2.0 ** min(failures, 32), pace.max_backoff_seconds)
    rest = pace.circuit_seconds if failures >= CIRCUIT_FAILURES else 0.0
    return max(asked, doubled, rest)


def is_host_trouble(status: int, *, is_failure: bool) -> bool:
    """Whether an answer says that the host, not the page, is in trouble. 0 means that no answer came."""
    return is_failure and (status in (0, 429) or status >= 500)
