"""The ring as the partitions keep it: points and owners as bytes, searched by the scripts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from lycosa.policy.ring import POINTS_PER_NODE
from lycosa.url.domain import registered_domain

# Numbers of the scripts are doubles, exact up to 53 bits. Hosts and nodes lose the same bits, so the owners stay.
_POINT_BYTES = 6
_NODE_BYTES = 4


@lru_cache(maxsize=65_536)
def point_on_ring(host: str) -> int:
    """Where a host stands: the same point as `policy.ring.Ring` gives it, as precisely as the scripts count."""
    return int.from_bytes(_point(registered_domain(host)))


def ring_entries(nodes: Sequence[int]) -> bytes:
    """The ring over these nodes: ascending points, each with its owner."""
    points = sorted((_point(f"{node}#{turn}"), node) for node in nodes for turn in range(POINTS_PER_NODE))
    return b"".join(point + node.to_bytes(_NODE_BYTES) for point, node in points)


def _point(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()[:_POINT_BYTES]
