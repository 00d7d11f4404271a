"""What a running crawl has done so far, counted from settlements as they pass."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from lycosa.clock import Clock
from lycosa.model import NO_REASON, Failure, Note, OutcomeKind, Reason, RobotsNews, Settlement

RATE_SECONDS = 10.0
HARVEST_PAGES = 200
MAX_REASONS = 200
OTHER = Reason("other")
MAX_TROUBLED = 1000


class OriginTrouble(NamedTuple):
    """Why the robots.txt of an origin could not be read, and when it is tried again."""

    reason: Reason
    next_try_at: float


class Tally:
    """Counts of this run. Bounded: reasons beyond the first few hundred count as one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started_at = clock()
        self.pages = 0
        self.fetches = 0
        self.bytes = 0
        self.statuses: Counter[int] = Counter()
        self.reasons: Counter[Reason] = Counter()
        # Origins set aside until their robots.txt can be read, as far as this run has tried it.
        self.troubled: dict[str, OriginTrouble] = {}
        self.on_topic = 0
        # Of the pages that were read last, which are on topic.
        self._harvested: deque[bool] = deque(maxlen=HARVEST_PAGES)
        self._recent: deque[tuple[float, int]] = deque([(self.started_at, 0)])
        # (seconds since start, pages) for the plot of the report; thinned out as it grows.
        self.course: list[tuple[float, int]] = [(0.0, 0)]

    def add(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            self.pages += settlement.outcome.is_page
            self.bytes += settlement.body_bytes
            if settlement.outcome in (OutcomeKind.STORED, OutcomeKind.DUPLICATE):
                self.on_topic += settlement.on_topic
                self._harvested.append(settlement.on_topic)
            if settlement.status:
                self.fetches += 1
                self.statuses[settlement.status] += 1
            if reason := _reason_of(settlement):
                known = reason in self.reasons or len(self.reasons) < MAX_REASONS
                self.reasons[reason if known else OTHER] += 1
            if settlement.robots:
                self._note_origin(settlement.robots)
        self._note_course()

    def rate(self) -> float:
        """Pages per second over the last seconds."""
        now = self._clock()
        self._recent.append((now, self.pages))
        while len(self._recent) > 2 and self._recent[1][0] < now - RATE_SECONDS:
            self._recent.popleft()
        then, before = self._recent[0]
        return (self.pages - before) / (now - then) if now > then else 0.0

    def harvest(self) -> float:
        """The share of the pages read last that is on topic."""
        return sum(self._harvested) / max(1, len(self._harvested))

    def seconds(self) -> float:
        return self._clock() - self.started_at

    def _note_origin(self, news: RobotsNews) -> None:
        self.troubled.pop(news.origin, None)
        if news.is_pending and len(self.troubled) < MAX_TROUBLED:
            self.troubled[news.origin] = OriginTrouble(news.trouble, news.expires_at)

    def _note_course(self) -> None:
        at = self.seconds()
        if at - self.course[-1][0] >= max(0.5, at / 500):
            self.course.append((at, self.pages))


def _reason_of(settlement: Settlement) -> Reason:
    """Why a visit gave nothing, as far as others may have given nothing for the same reason."""
    code = settlement.reason.code
    match settlement.outcome:
        case OutcomeKind.FAILED | OutcomeKind.REFUSED | OutcomeKind.CRASHED:
            # Which status it was says it; of others the detail is what one host or library had to add.
            return Reason(code, str(settlement.status) if code == Failure.STATUS else "")
        case OutcomeKind.READ if settlement.robots and settlement.robots.is_pending:
            return Reason(Note.ROBOTS_PENDING, str(settlement.robots.trouble))
        case _:
            return NO_REASON
