"""Which worker looks after a host: consistent hashing, so that a change of workers moves only its share.

All hosts of a registered domain have the same worker: what is owed to the domain as a whole is then decided in one
place, and a domain's share of requests is far below what one worker can do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from lycosa.url.domain import registered_domain

POINTS_PER_NODE = 128


class Ring:
    """Nodes on a circle of 64-bit points; a host belongs to the next node clockwise."""

    def __init__(self, nodes: Sequence[int]) -> None:
        assert nodes, "a ring needs a node"
        points = sorted((_place(f"{node}#{turn}"), node) for node in nodes for turn in range(POINTS_PER_NODE))
        self.points = [point for point, _ in points]
        self.owners = [node for _, node in points]

    def owner(self, host: str) -> int:
        """The node that looks after this host."""
        place = bisect_right(self.points, point_of(host))
        return self.owners[place % len(self.owners)]


@lru_cache(maxsize=65_536)
def point_of(host: str) -> int:
    """Where a host stands: all hosts of a registered domain at the same point."""
    return _place(registered_domain(host))


def _place(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
