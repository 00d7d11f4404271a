"""Connections that libcurl keeps for the next request, and which of them have ended meanwhile.

libcurl looks through those it keeps once a second, and asks again by itself where one ended since. Nobody is asked
twice here, so a connection is looked at just before it is used.
"""

from __future__ import annotations

import select
from typing import NamedTuple

# libcurl finds the ended ones among those it keeps when it begins a transfer so long after it looked last.
LOOKS_EVERY_SECONDS = 1.0
# Nobody has a say before the next request: what comes unasked is the goodbye of TLS or HTTP/2. Some servers wait for an
# answer to it before they close. A mere ping of HTTP/2 costs a connection.
_ENDED = select.POLLIN | select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL

# Scheme, host with port, address.
Place = tuple[str, str, str]


class _Kept(NamedTuple):
    descriptor: int
    since: float
    is_opaque: bool


class IdleConnections:
    """The last connection to each place, for as long as libcurl may use it. A wrong guess costs one more connection."""

    def __init__(self, max_idle_seconds: float) -> None:
        self._max_idle_seconds = max_idle_seconds
        self._kept: dict[Place, _Kept] = {}
        # Until when a place is asked over new connections only, as libcurl might use one that has ended.
        self._ended: dict[Place, float] = {}

    def keep(self, place: Place, descriptor: int, now: float, *, is_opaque: bool) -> None:
        """A transfer is over, and this was its connection.

        Opaque is one whose end libcurl may have read with the answer without a look at it, as TLS hides it: only after
        libcurl has looked through its connections may it be used again.
        """
        self._kept.pop(place, None)
        self._kept[place] = _Kept(descriptor, now, is_opaque)

    def leave(self, place: Place, now: float) -> None:
        """A transfer failed: a connection of HTTP/2 may have ended with it, and be kept all the same."""
        self._ended[place] = now + LOOKS_EVERY_SECONDS

    def has_ended(self, place: Place, now: float) -> bool:
        """Whether a request must not go over what is kept of connections to this place."""
        kept = self._kept.pop(place, None)
        # Its number may be somebody else's by now: then a sound connection may be left alone, which does no harm.
        if kept and ((kept.is_opaque and now - kept.since <= LOOKS_EVERY_SECONDS) or _is_ended(kept.descriptor)):
            self.leave(place, now)
        return self._ended.get(place, 0.0) > now

    def forget(self, now: float) -> None:
        """Let go of what libcurl no longer uses either."""
        for place, kept in list(self._kept.items()):
            if now - kept.since <= self._max_idle_seconds:
                break
            del self._kept[place]
        for place in [place for place, until in self._ended.items() if until <= now]:
            del self._ended[place]


def _is_ended(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, _ENDED)
    return bool(poll.poll(0))
