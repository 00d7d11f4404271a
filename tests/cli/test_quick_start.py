"""What a command imports before it does anything: time that is lost at every start, and is not seen in any one change.

Each is asked in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.cli.commands import COMMANDS

from .world import World

ARROW = {"duckdb", "numpy", "pyarrow"}
PAGES = {"chardet", "pycld2", "rjieba", "turbohtml", "lycosa.page.parser"}
NETWORK = {"aiodns", "pycares", "pycurl", "redis", "boto3"}
# Of the standard library, what takes longer than all that --help needs.
SLOW = {"asyncio", "dataclasses", "email", "importlib.metadata", "inspect", "zipfile"}
HEAVY = ARROW | PAGES | NETWORK | {"rich", "rocksdict", "uvloop"}


def imported_by(code: str) -> set[str]:
    """The modules there are after this code has run."""
    report = "import sys; print('\\n', *sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, timeout=120, check=True
    )
    return set(done.stdout.splitlines())


def test_what_is_heavy_is_noticed() -> None:
    assert {"numpy", "pyarrow"} <= imported_by("import pyarrow")


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_imports_no_command(argument: str) -> None:
    found = imported_by(
        f"from lycosa.cli.main import main\ntry:\n    main([{argument!r}])\nexcept SystemExit:\n    pass"
    )
    assert not found & (HEAVY | SLOW | {"msgspec", "typing_extensions"})
    assert not found & {f"lycosa.cli.{command}" for command in COMMANDS}


def test_the_options_of_all_commands_need_nothing_that_runs_them() -> None:
    found = imported_by("from lycosa.cli.main import make_parser\nmake_parser()")
    assert {f"lycosa.cli.{command}" for command in COMMANDS} <= found
    assert not found & HEAVY


def test_status_reads_no_table_and_imports_no_crawler(world: World) -> None:
    found = imported_by(f"from lycosa.cli.main import main\nassert main({['status', *world.place]}) == 0")
    assert "rocksdict" in found
    assert not found & (
        ARROW | PAGES | NETWORK | {"uvloop", "lycosa.crawl.session"} | SLOW - {"dataclasses", "inspect"}
    )


def test_a_crawl_has_its_first_lease_before_anything_is_imported_that_visits(tmp_path: Path) -> None:
    """The command itself; what visits is imported by the process that workers are forked from, meanwhile."""
    code = f"""
import os, sys
from lycosa.cli.main import main
from lycosa.process.forkserver import Forkserver

async def forks_none(self, *_):
    print("\\n", *sys.modules, sep="\\n", flush=True)
    os._exit(0)

Forkserver.fork = forks_none
main(["crawl", "http://127.0.0.1:9/", "--folder", {str(tmp_path / "c")!r}])
"""
    found = imported_by(code)
    assert {"rocksdict", "lycosa.process.supervisor"} <= found
    assert not found & (HEAVY - {"rocksdict", "uvloop", "rich"})
