"""The rooms of the package, on which floor each stands, and who imports whom: `python tools/rooms.py docs/rooms.svg`.

A room is a folder of `src/lycosa`, or a module at its top. A test keeps the floors; this draws them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "lycosa"
GROUND = (
    "model",
    "clock",
    "figures",
    "errors",
    "orders",
    "ports",
    "outcome",
    "settings",
    "site_rules",
    "keywords",
    "version",
)
# From the ground up. A room may import what stands on lower floors, and within itself; the modules on the ground floor
# are one room.
FLOORS: tuple[tuple[str, ...], ...] = (
    GROUND,
    ("url", "dedupe"),
    ("policy", "page", "fetch"),
    ("robots", "site", "store", "frontier", "hooks", "render", "topic"),
    ("crawl", "inspect", "simweb"),
    ("process", "observe", "search"),
    ("wiring",),
    ("library", "audit", "bench", "dashboard"),
    ("__init__", "cli"),
)

# ---- the graph


def modules() -> dict[str, Path]:
    """Every module of the package by its full name; packages end in `.__init__`."""
    return {
        ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


MODULES = modules()


def room_of(module: str) -> str:
    """The folder, or the top module, that a module belongs to."""
    return module.split(".")[1]


def floor_of(room: str) -> int:
    """Where a room is."""
    floors = [floor for floor, rooms in enumerate(FLOORS) if room in rooms]
    assert floors, f"{room} stands on no floor: say in tools/rooms.py where it belongs"
    return floors[0]


def imported_by(module: str) -> Iterator[str]:
    """The modules of this package that a module imports, wherever in its text."""
    package = module.rpartition(".")[0]
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (_module(name.name) for name in names if name.name.split(".")[0] == PACKAGE.name)
            case ast.ImportFrom(module=source, level=level, names=names):
                if level:
                    above = package.split(".")[: len(package.split(".")) - level + 1]
                    source = ".".join([*above, *([source] if source else [])])
                if source and source.split(".")[0] == PACKAGE.name:
                    yield from (_module(f"{source}.{name.name}") for name in names)


def _module(name: str) -> str:
    """The module behind an imported name: the name's own, or the nearest one above (a value, a compiled module)."""
    while name not in MODULES and f"{name}.__init__" not in MODULES:
        name = name.rpartition(".")[0]
        assert name, "every import of this package has a module of it"
    return name if name in MODULES else f"{name}.__init__"


def arrows() -> set[tuple[str, str]]:
    """Who imports whom, room by room; the ground floor, which everybody stands on, is left out."""
    pairs = {(room_of(module), room_of(other)) for module in MODULES for other in imported_by(module)}
    return {(one, other) for one, other in pairs if one != other and floor_of(other) and floor_of(one)}


def implied(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those among the arrows that one could also go by way of another room."""
    rooms = {room for pair in pairs for room in pair}
    above: dict[str, set[str]] = {}  # whatever leads to a room
    for room in sorted(rooms, key=floor_of, reverse=True):
        direct = {one for one, other in pairs if other == room}
        above[room] = direct.union(*(above[one] for one in direct))
    return {(one, other) for one, other in pairs if any((via, other) in pairs and one in above[via] for via in rooms)}


# ---- the picture

WIDTH, FLOOR_HEIGHT, BOX_HEIGHT, MARGIN = 860, 76, 34, 24
_STYLE = """
  text { font: 14px system-ui, sans-serif; text-anchor: middle; fill: #1d2733 }
  .floor { fill: #f4f6f8 } .room { fill: #fff; stroke: #51606f } .ground { font-size: 13px }
  path { fill: none; stroke: #7d93a8; stroke-width: 1.1; opacity: .85 } .implied { opacity: .22 }
"""


def picture() -> str:
    """The floors, the ground at the bottom; arrows lead to what a room imports, pale where others lead there too."""
    height = FLOOR_HEIGHT * len(FLOORS) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        "<title>Who imports whom in lycosa</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" style="fill:#7d93a8;stroke:none;opacity:1"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    parts += [
        f'<rect class="floor" y="{_top(floor)}" width="{WIDTH}" height="{FLOOR_HEIGHT}"/>'
        for floor in range(0, len(FLOORS), 2)
    ]
    drawn = arrows()
    pale = implied(drawn)
    parts += [_arrow(*pair, is_pale=pair in pale) for pair in sorted(drawn)]
    for floor, rooms in enumerate(FLOORS):
        parts += [_ground()] if floor == 0 else [_box(room) for room in rooms]
    return "\n".join((*parts, "</svg>\n"))


def _top(floor: int) -> int:
    return MARGIN + FLOOR_HEIGHT * (len(FLOORS) - 1 - floor)


def _centre(room: str) -> tuple[float, float]:
    floor = floor_of(room)
    rooms = FLOORS[floor]
    # No two floors have their rooms in one line: an arrow past a room must not seem to end there.
    x = WIDTH * (rooms.index(room) + 1) / (len(rooms) + 1) + 36 * (floor % 3 - 1)
    return x, _top(floor) + FLOOR_HEIGHT / 2


def _box(room: str) -> str:
    x, y = _centre(room)
    name = "lycosa" if room == "__init__" else room if (PACKAGE / room).is_dir() else f"{room}.py"
    label = f"{name}/" if (PACKAGE / room).is_dir() else name
    box = f'<rect class="room" x="{x - 52:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="104" height="{BOX_HEIGHT}" rx="5"/>'
    return f'{box}<text x="{x:.0f}" y="{y + 5:.0f}">{label}</text>'


def _ground() -> str:
    y = _top(0) + FLOOR_HEIGHT / 2
    names = " · ".join(f"{name}.py" for name in GROUND)
    box = f'<rect class="room" x="{MARGIN}" y="{y - 20:.0f}" width="{WIDTH - 2 * MARGIN}" height="40" rx="5"/>'
    return f'{box}<text class="ground" x="{WIDTH / 2:.0f}" y="{y + 5:.0f}">{names} (imported by all)</text>'


def _arrow(one: str, other: str, *, is_pale: bool) -> str:
    (x1, y1), (x2, y2) = _centre(one), _centre(other)
    y1, y2 = y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2
    bend = (y2 - y1) / 2
    curve = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
    kind = ' class="implied"' if is_pale else ""
    return f'<path{kind} d="{curve}" marker-end="url(#head)"/>'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
