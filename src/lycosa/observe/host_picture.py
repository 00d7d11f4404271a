"""The graph of hosts as a picture: who links to whom, drawn the same way every time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_HOSTS = 60
_WIDTH, _HEIGHT, _MARGIN = 960, 640, 60
_ROUNDS = 300
_LABEL_CHARS = 28
_STYLE = """
  .hosts text { font: 12px system-ui, sans-serif; fill: #1d2733; text-anchor: middle }
  .hosts circle { fill: #2a78d6; stroke: #fff } .hosts path { fill: none; stroke: #7d93a8 }
  @media (prefers-color-scheme: dark) { .hosts text { fill: #e6ebf0 } .hosts circle { stroke: #14181d } }
"""


class HostLink(NamedTuple):
    """How many links lead from one host to another."""

    source: str
    target: str
    links: int


def host_picture(links: Sequence[HostLink]) -> str:
    """An SVG of the hosts with the most links between them; a larger circle is linked to by more."""
    between = [link for link in links if link.source != link.target]
    weights: dict[str, int] = {}
    for link in links:
        for host in (link.source, link.target):
            weights[host] = weights.get(host, 0) + link.links
    hosts = sorted(weights, key=lambda host: (-weights[host], host))[:MAX_HOSTS]
    numbers = {host: number for number, host in enumerate(hosts)}
    drawn = [link for link in between if link.source in numbers and link.target in numbers]
    ends = np.array([(numbers[link.source], numbers[link.target]) for link in drawn], dtype=np.int64).reshape(-1, 2)
    counts = np.array([link.links for link in drawn], dtype=np.float64)
    places = _places(len(hosts), ends, counts)
    linked: NDArray[np.float64] = np.zeros(len(hosts))
    np.add.at(linked, ends[:, 1], counts)
    radii = 5 + 15 * np.sqrt(linked / max(1.0, float(linked.max(initial=0.0))))
    left_out = f"; {len(weights) - len(hosts):,} more are not drawn" if len(weights) > len(hosts) else ""
    title = f"{len(hosts)} hosts and {len(drawn):,} connections between them{left_out}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hosts" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        *_lines(places, ends, counts, drawn),
        *_circles(places, radii, hosts, linked),
        *_labels(places, radii, hosts),
    ]
    return "\n".join((*parts, "</svg>\n"))


def _places(count: int, ends: NDArray[np.int64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each host stands: all push each other away, connections pull together (Fruchterman and Reingold)."""
    if count == 0:
        return np.zeros((0, 2))
    turns = 2 * np.pi * 0.381966 * np.arange(count)  # a sunflower to begin with: no two in one place
    places = np.sqrt((np.arange(count) + 0.5) / count)[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    wanted = 1 / np.sqrt(count)
    pull = 0.2 + np.log1p(counts) / max(1.0, float(np.log1p(counts).max(initial=0.0)))
    for number in range(_ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
        force = (apart * (wanted**2 / distance**2)[..., None]).sum(axis=1) - 0.3 * places
        if len(ends):
            along = places[ends[:, 0]] - places[ends[:, 1]]
            strength = (pull * np.hypot(along[:, 0], along[:, 1]) / wanted)[:, None] * along * 0.5
            np.add.at(force, ends[:, 0], -strength)
            np.add.at(force, ends[:, 1], strength)
        length = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-9)[:, None]
        places += force / length * np.minimum(length, 0.1 * (1 - number / _ROUNDS))
    low, high = places.min(axis=0), places.max(axis=0)
    shares = (places - low) / np.where(high > low, high - low, 1) if count > 1 else np.full((1, 2), 0.5)
    scaled: NDArray[np.float64] = _MARGIN + shares * np.array([_WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN])
    return scaled


def _lines(
    places: NDArray[np.float64], ends: NDArray[np.int64], counts: NDArray[np.float64], drawn: Sequence[HostLink]
) -> list[str]:
    most = float(counts.max(initial=1.0))
    lines = []
    for (source, target), count, link in zip(ends.tolist(), counts.tolist(), drawn, strict=True):
        (x1, y1), (x2, y2) = places[source], places[target]
        # Bent a little, so that there and back are two lines.
        x, y = (x1 + x2) / 2 + (y2 - y1) * 0.08, (y1 + y2) / 2 - (x2 - x1) * 0.08
        width = 0.5 + 3 * np.log1p(count) / np.log1p(most)
        told = escape(f"{link.source} → {link.target}: {link.links:,} links")
        lines.append(
            f'<path d="M{x1:.0f} {y1:.0f}Q{x:.0f} {y:.0f} {x2:.0f} {y2:.0f}" stroke-width="{width:.1f}"'
            f' opacity=".45"><title>{told}</title></path>'
        )
    return lines


def _circles(
    places: NDArray[np.float64], radii: NDArray[np.float64], hosts: Sequence[str], linked: NDArray[np.float64]
) -> list[str]:
    return [
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.1f}">'
        f"<title>{escape(host)}: {count:,.0f} links from others</title></circle>"
        for (x, y), radius, host, count in zip(places.tolist(), radii.tolist(), hosts, linked.tolist(), strict=True)
    ]


def _labels(places: NDArray[np.float64], radii: NDArray[np.float64], hosts: Sequence[str]) -> list[str]:
    """Names below their circles, the weightiest first; one that would stand on another is left out."""
    taken: list[tuple[float, float, float, float]] = []
    labels = []
    for (x, y), radius, host in zip(places.tolist(), radii.tolist(), hosts, strict=True):
        name = host if len(host) <= _LABEL_CHARS else host[: _LABEL_CHARS - 1] + "…"
        half = 3.4 * len(name)
        at = min(max(x, half + 4), _WIDTH - half - 4)
        box = (at - half, y + radius, at + half, y + radius + 15)
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            labels.append(f'<text x="{at:.0f}" y="{y + radius + 12:.0f}">{escape(name)}</text>')
    return labels
