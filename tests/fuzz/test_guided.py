"""The compiled parts under sanitizers: short guided runs, the same each time, and memory that runs out.

A longer run: `make fuzz`, docs/how-to/fuzz.md.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .exchanges import FETCH, STORE
from .guided import MAX_BYTES, build_instrumented, corpus
from .hrefs import LINKS
from .sanitized import HOME, environment

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
INPUTS = 1_000
PAGES_OF_LINKS = 600


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_instrumented(tmp_path_factory.mktemp("instrumented"))


@pytest.fixture(scope="module")
def link_extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_instrumented(tmp_path_factory.mktemp("instrumented_links"), LINKS)


def run(module: str, *arguments: str) -> str:
    """The output of a module that ends well, in a process that can load sanitized extensions."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fuzz.{module}", *arguments],
        env=environment(),
        cwd=HOME.parents[1],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_changed_pages_do_no_harm(extension: Path, tmp_path: Path) -> None:
    noted = tmp_path / "input"
    noted.write_bytes(bytes(MAX_BYTES + 8))
    said = run("guided", "--extension", str(extension), "--noted", str(noted), "--inputs", str(INPUTS), "--seed", "1")
    assert said.startswith(f"{INPUTS:,} inputs")
    # Without guidance nothing is new.
    assert " 0 of them" not in said


def test_memory_that_runs_out_is_a_memory_error(extension: Path) -> None:
    assert "MemoryError was all" in run("allocations", str(extension))


def test_changed_links_are_decided_as_by_the_memo(link_extension: Path) -> None:
    said = run("hrefs", "--extension", str(link_extension), "--inputs", str(PAGES_OF_LINKS), "--seed", "1")
    assert said.startswith(f"{PAGES_OF_LINKS:,} pages")
    assert " 0 of them" not in said


def test_memory_that_runs_out_on_links_is_a_memory_error(link_extension: Path) -> None:
    assert "MemoryError was all" in run("hrefs", "--extension", str(link_extension), "--allocations")


def test_the_pages_to_begin_with_are_text() -> None:
    assert len(corpus()) >= 8
    for page in corpus():
        assert len(page.decode()) < MAX_BYTES


def test_answers_records_and_columns_do_no_harm(tmp_path: Path) -> None:
    built = []
    for folder in (FETCH, STORE):
        (place := tmp_path / folder.parent.name).mkdir()
        built.append(str(build_instrumented(place, folder)))
    said = run("exchanges", *built, "--inputs", str(INPUTS), "--seed", "1", "--seconds", "600")
    assert said.startswith(f"{INPUTS:,} inputs")
