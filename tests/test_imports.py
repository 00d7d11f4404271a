"""The shape of the package: imports go one way, modules say what they are, names say what things do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lycosa

PACKAGE = Path(lycosa.__file__).parent

# From the ground up. A module may import what stands on a lower floor, and its own folder; the longest name that
# fits a module decides where it stands.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("lycosa.model", "lycosa.clock"),
    ("lycosa.errors",),
    ("lycosa.ports", "lycosa.settings", "lycosa.process.watchdog"),
    # Content codings are pure, and stored bodies have them as much as fetched ones.
    ("lycosa.url", "lycosa.fetch.coding"),
    ("lycosa.policy", "lycosa.dedupe"),
    ("lycosa.site.notes", "lycosa.fetch", "lycosa.page", "lycosa.frontier", "lycosa.store", "lycosa.observe.tally"),
    ("lycosa.page.digest",),
    ("lycosa.outcome", "lycosa.process.messages"),
    ("lycosa.crawl.dispatcher",),
    ("lycosa.crawl.discovery", "lycosa.robots.cache", "lycosa.site.judge"),
    ("lycosa.crawl.visit",),
    ("lycosa.crawl.worker",),
    ("lycosa.build",),
    ("lycosa.process.worker_main", "lycosa.process.forkserver", "lycosa.process.shortage"),
    ("lycosa.process.supervisor", "lycosa.process.forkserver_main", "lycosa.library"),
    ("lycosa.__init__",),
    ("lycosa.observe", "lycosa.simweb"),
    ("lycosa.bench", "lycosa.audit", "lycosa.search"),
    ("lycosa.cli", "lycosa.dashboard"),
)
VAGUE = {"util", "utils", "common", "helper", "helpers", "base", "manager", "misc", "core", "shared", "tools"}


def modules() -> dict[str, Path]:
    """Every module of the package by its full name; packages end in `.__init__`."""
    return {
        ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


MODULES = modules()


def floor_of(module: str) -> int:
    """Where a module stands."""
    places = [
        (len(name), floor)
        for floor, names in enumerate(FLOORS)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    assert places, f"{module} stands on no floor: say in FLOORS where it belongs"
    return max(places)[1]


def imported_by(module: str) -> Iterator[str]:
    """The modules of this package that a module imports, wherever in its text."""
    package = module.rpartition(".")[0]
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (_module(name.name) for name in names if name.name.split(".")[0] == "lycosa")
            case ast.ImportFrom(module=source, level=level, names=names):
                if level:
                    above = package.split(".")[: len(package.split(".")) - level + 1]
                    source = ".".join([*above, *([source] if source else [])])
                if source and source.split(".")[0] == "lycosa":
                    yield from (_module(f"{source}.{name.name}") for name in names)


def _module(name: str) -> str:
    """The module behind an imported name: the name's own, or the nearest one above (a value, a compiled module)."""
    while name not in MODULES and f"{name}.__init__" not in MODULES:
        name = name.rpartition(".")[0]
        assert name, "every import of this package has a module of it"
    return name if name in MODULES else f"{name}.__init__"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    own_folder = module.split(".")[1]
    for other in imported_by(module):
        is_neighbour = other.split(".")[1] == own_folder
        assert is_neighbour or floor_of(other) < floor_of(module), f"{module} imports {other}"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module: str) -> None:
    text = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert text, f"{module} has no docstring"
    assert "placeholder" not in text.lower(), module


@pytest.mark.parametrize("module", MODULES)
def test_no_module_has_a_name_that_says_nothing(module: str) -> None:
    assert not VAGUE & set(module.split("."))


def test_pure_parts_know_no_clock_no_disk_and_no_network() -> None:
    forbidden = {"time", "socket", "asyncio", "subprocess", "threading", "requests", "random"}
    for module, path in MODULES.items():
        if floor_of(module) == floor_of("lycosa.url.rules"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
            assert not names & forbidden, module
