"""What sites say of their URLs, as far as it matters when those are visited again.

How good a host's word is stands in its record, what it said of a URL in that URL's row of the history. The rules of
belief are `policy/listing.py`; here they meet the tables' records. Nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lycosa.frontier.records import HostRecord
from lycosa.model import History, Listing, Settlement, Target
from lycosa.policy.freshness import Belief
from lycosa.policy.listing import Trust, is_signal

# For whoever only looks, what leases need is not imported.
if TYPE_CHECKING:
    from lycosa.frontier.leases import Held

# After so many visits a page's own changes tell more than what its site says of how often it changes.
PACED_VISITS = 2
# A list said all that it says of earlier moments when it was read before; the clocks of sites go wrong by this.
_MARGIN_SECONDS = 2 * 86_400.0


def odds_of(record: HostRecord, past: History) -> float:
    """How much higher the odds that a URL has changed are by what its site says of it; 1 if it says nothing."""
    if past.listing is None or not past.listing.modified_at:
        return 1.0
    return Trust(*record.trust).odds(is_told=past.is_told)


def paced(prior: Belief, listing: Listing | None, visits: int) -> Belief:
    """What is believed of a page before it showed how often it changes, where its site says that it is not like others.

    The shape stays: it is as uncertain as ever.
    """
    if listing is None or visits > PACED_VISITS or listing.pace == 100:
        return prior
    return Belief(prior.a, prior.b * 100.0 / listing.pace)


def count_visit(record: HostRecord, past: History, *, changed: bool) -> None:
    """Note whether what a host said of a listed URL, or did not, was right."""
    if past.listing is not None and past.listing.modified_at:
        record.trust = list(Trust(*record.trust).visited(is_told=past.is_told, changed=changed))


def told_of(past: History, listing: Listing) -> History | None:
    """The row of a URL with what its site says of it now; None if that is nothing new."""
    before = past.listing.modified_at if past.listing else 0
    if past.listing is None:
        # It was found by a link, before the list was read.
        past = replace(past, weight=past.weight * listing.weight / 100.0)
    elif not is_signal(listing.modified_at, before, past.visited_at):
        return None
    return replace(past, listing=listing, is_told=is_signal(listing.modified_at, before, past.visited_at))


def worth_a_look(
    ended: Iterable[tuple[Held, Settlement]], fresh: Container[bytes], pasts: Mapping[bytes, History]
) -> list[Target]:
    """Of what lists named, the known URLs of which they may say what they did not when they were read last.

    At the second reading that is all of them: at the first most had not been visited.
    """
    found = []
    for held, settlement in ended:
        if not settlement.listed:
            continue
        past = pasts.get(held.target.fingerprint)
        since = past.visited_at - _MARGIN_SECONDS if past and past.visits > 1 else -1.0
        found += [
            each
            for each in chain(settlement.discovered, settlement.told)
            if each.listing and each.listing.modified_at > since and each.fingerprint not in fresh
        ]
    return found
