"""The shape of the package: imports go one way, modules say what they are, names say what things do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tools.rooms import FLOORS, MODULES, PACKAGE, floor_of, imported_by, picture, room_of

# Functions of values and of `now`: no clock, no chance, no disk, no network, and nothing that waits.
PURE = ("policy", "url")
IMPURE = {
    *("asyncio", "concurrent", "datetime", "glob", "http", "io", "multiprocessing", "os", "pathlib", "random"),
    *("secrets", "select", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile"),
    *("threading", "time", "urllib.request", "uuid"),
    *("aiodns", "duckdb", "pyarrow", "pycurl", "redis", "requests", "rocksdict", "uvloop"),
}
VAGUE = {"util", "utils", "common", "helper", "helpers", "base", "manager", "misc", "core", "shared", "tools"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    own = room_of(module)
    for other in imported_by(module):
        room = room_of(other)
        is_ground = floor_of(room) == floor_of(own) == 0
        assert room == own or is_ground or floor_of(room) < floor_of(own), f"{module} imports {other}"


def test_every_floor_names_rooms_that_are_there() -> None:
    rooms = {room_of(module) for module in MODULES}
    assert rooms == {room for floor in FLOORS for room in floor}


def test_the_picture_of_the_rooms_is_up_to_date() -> None:
    drawn = PACKAGE.parents[1] / "docs" / "rooms.svg"
    assert drawn.read_text(encoding="utf-8") == picture(), "draw it anew: make docs"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module: str) -> None:
    text = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert text, f"{module} has no docstring"
    assert "placeholder" not in text.lower(), module


@pytest.mark.parametrize("module", MODULES)
def test_no_module_has_a_name_that_says_nothing(module: str) -> None:
    assert not VAGUE & set(module.split("."))


def all_imports(text: str) -> Iterator[str]:
    """Every module that a text imports from, wherever in it: `a.b` for `import a.b`, and for `from a.b import c`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(source), names=names):
                yield source
                yield from (f"{source}.{name.name}" for name in names)


def impurities(text: str) -> set[str]:
    names = {".".join(name.split(".")[:depth]) for name in all_imports(text) for depth in (1, 2)}
    return names & IMPURE


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module) in PURE])
def test_pure_parts_know_no_clock_no_disk_and_no_network(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    assert not impurities(text)
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


@pytest.mark.parametrize(
    "text", ["import time", "from time import time", "def f():\n    from os import path", "import urllib.request as u"]
)
def test_what_is_impure_is_noticed(text: str) -> None:
    assert impurities(text)
