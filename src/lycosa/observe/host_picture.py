"""The graph of hosts as a picture: who links to whom, drawn the same way every time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.inspect.link_graph import HostLink

MAX_LINES = 200
_MARGIN = 60
_ROUNDS = 300
_LABEL_CHARS = 28
_STYLE = """
  .hosts text { font: 12px system-ui, sans-serif; fill: #1d2733; text-anchor: middle }
  .hosts circle { fill: #2a78d6; stroke: #fff } .hosts path { fill: none; stroke: #7d93a8 }
  @media (prefers-color-scheme: dark) { .hosts text { fill: #e6ebf0 } .hosts circle { stroke: #14181d } }
"""


class Frame(NamedTuple):
    """How large a picture is, and how many hosts have room in it."""

    width: int
    height: int
    hosts: int


WIDE, NARROW = Frame(960, 640, 60), Frame(340, 420, 16)


class _Line(NamedTuple):
    """A connection: where it runs, and what is told of it."""

    path: str
    width: float
    told: str


class _Circle(NamedTuple):
    """A host."""

    host: str
    x: float
    y: float
    radius: float
    told: str


class _Label(NamedTuple):
    """The name of a host, as far as there is room for it."""

    x: float
    y: float
    name: str


class HostPicture(NamedTuple):
    """What stands where."""

    title: str
    lines: list[_Line]
    circles: list[_Circle]
    labels: list[_Label]


def arrange(links: Sequence[HostLink], frame: Frame = WIDE) -> HostPicture:
    """The hosts with the most links between them; a larger circle is linked to by more."""
    between = [link for link in links if link.source != link.target]
    weights: dict[str, int] = {}
    for link in links:
        for host in (link.source, link.target):
            weights[host] = weights.get(host, 0) + link.links
    hosts = sorted(weights, key=lambda host: (-weights[host], host))[: frame.hosts]
    numbers = {host: number for number, host in enumerate(hosts)}
    drawn = [link for link in between if link.source in numbers and link.target in numbers]
    ends = np.array([(numbers[link.source], numbers[link.target]) for link in drawn], dtype=np.int64).reshape(-1, 2)
    counts = np.array([link.links for link in drawn], dtype=np.float64)
    places = _places(len(hosts), ends, counts, frame)
    linked: NDArray[np.float64] = np.zeros(len(hosts))
    np.add.at(linked, ends[:, 1], counts)
    radii = 5 + 15 * np.sqrt(linked / max(1.0, float(linked.max(initial=0.0))))
    left_out = f"; {len(weights) - len(hosts):,} more are not drawn" if len(weights) > len(hosts) else ""
    circles = [
        _Circle(host, x, y, radius, f"{host}: {count:,.0f} links from others")
        for (x, y), radius, host, count in zip(places.tolist(), radii.tolist(), hosts, linked.tolist(), strict=True)
    ]
    some = f"the {MAX_LINES} weightiest of " if len(drawn) > MAX_LINES else ""
    title = f"{len(hosts)} hosts and {some}{len(drawn):,} connections between them{left_out}"
    return HostPicture(title, _lines(places, ends, counts, drawn), circles, _labels(circles, frame))


def host_picture(links: Sequence[HostLink], frame: Frame = WIDE, *, style: str = _STYLE) -> str:
    """The picture as SVG."""
    title, lines, circles, labels = arrange(links, frame)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hosts" viewBox="0 0 {frame.width} {frame.height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style>" if style else "",
        *(
            f'<path d="{path}" stroke-width="{width:.1f}" opacity=".45"><title>{escape(told)}</title></path>'
            for path, width, told in lines
        ),
        *(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.1f}"><title>{escape(told)}</title></circle>'
            for _, x, y, radius, told in circles
        ),
        *(f'<text x="{x:.0f}" y="{y:.0f}">{escape(name)}</text>' for x, y, name in labels),
    ]
    return "\n".join((*parts, "</svg>\n"))


def _places(count: int, ends: NDArray[np.int64], counts: NDArray[np.float64], frame: Frame) -> NDArray[np.float64]:
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
    scaled: NDArray[np.float64] = _MARGIN + shares * np.array([frame.width - 2 * _MARGIN, frame.height - 2 * _MARGIN])
    return scaled


def _lines(
    places: NDArray[np.float64], ends: NDArray[np.int64], counts: NDArray[np.float64], drawn: Sequence[HostLink]
) -> list[_Line]:
    most = float(counts.max(initial=1.0))
    lines = []
    weightiest = np.argsort(-counts, kind="stable")[:MAX_LINES].tolist()
    for number in weightiest:
        (source, target), count, link = ends[number].tolist(), float(counts[number]), drawn[number]
        (x1, y1), (x2, y2) = places[source], places[target]
        # Bent a little, so that there and back are two lines.
        x, y = (x1 + x2) / 2 + (y2 - y1) * 0.08, (y1 + y2) / 2 - (x2 - x1) * 0.08
        width = 0.5 + 3 * float(np.log1p(count) / np.log1p(most))
        path = f"M{x1:.0f} {y1:.0f}Q{x:.0f} {y:.0f} {x2:.0f} {y2:.0f}"
        lines.append(_Line(path, width, f"{link.source} → {link.target}: {link.links:,} links"))
    return lines


def _labels(circles: Sequence[_Circle], frame: Frame) -> list[_Label]:
    """Names below their circles, the weightiest first; one that would stand on another is left out."""
    taken: list[tuple[float, float, float, float]] = []
    labels = []
    for host, x, y, radius, _ in circles:
        name = host if len(host) <= _LABEL_CHARS else host[: _LABEL_CHARS - 1] + "…"
        half = 3.4 * len(name)
        at = min(max(x, half + 4), frame.width - half - 4)
        box = (at - half, y + radius, at + half, y + radius + 15)
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            labels.append(_Label(at, y + radius + 12, name))
    return labels
