"""What the parts of a running crawl tell of themselves: counted in passing, read by whoever looks on."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

# Upper ends of the buckets of `Durations` in seconds; the last bucket takes the rest.
ENDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Hits(msgspec.Struct, array_like=True):
    """How often a cache was asked, and how often it had no answer."""

    asked: int = 0
    missed: int = 0

    @property
    def share(self) -> float:
        """The share that it could answer; 1 if it was never asked."""
        return 1.0 - self.missed / self.asked if self.asked else 1.0


class Durations(msgspec.Struct, array_like=True):
    """How long something took, each time that it was done."""

    times: int = 0
    seconds: float = 0.0
    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(ENDS) + 1))

    def note(self, seconds: float) -> None:
        """It was done once more."""
        self.times += 1
        self.seconds += seconds
        self.buckets[bisect_left(ENDS, seconds)] += 1

    def since(self, earlier: Durations) -> Durations:
        """Those that were noted after an earlier state of the same."""
        buckets = [now - then for now, then in zip(self.buckets, earlier.buckets, strict=True)]
        return Durations(self.times - earlier.times, self.seconds - earlier.seconds, buckets)

    def quantile(self, share: float) -> float:
        """Which bucket's end this share of them stays within, in seconds; 0 if there are none."""
        wanted, passed = share * self.times, 0
        for end, times in zip((*ENDS, 2 * ENDS[-1]), self.buckets, strict=True):
            passed += times
            if times and passed >= wanted:
                return end
        return 0.0


class FilterFigures(msgspec.Struct, array_like=True):
    """How well a filter of known URLs tells them from new ones: of so many new ones, so many looked known."""

    expected: float  # the share that is to be expected at its fill
    size_bytes: int
    new: int = 0
    mistaken: int = 0

    @property
    def measured(self) -> float:
        """The share that looked known; 0 if nothing was new."""
        return self.mistaken / self.new if self.new else 0.0


class WorkerFigures(msgspec.Struct, array_like=True):
    """What a worker tells of itself every few seconds."""

    busy_share: float = 0.0  # of its event loop, since it told last
    lag_seconds: float = 0.0  # by which its event loop came too late to something, at most, since it told last
    under_way: int = 0  # visits that have begun and are not settled
    caches: dict[str, Hits] = {}


class WorkerStanding(msgspec.Struct):
    """A worker as its supervisor sees it."""

    number: int
    process: int  # 0: it is being started
    leases: int
    silent_seconds: float
    figures: WorkerFigures = msgspec.field(default_factory=WorkerFigures)
