"""The compiled parts: built wherever there is a way to build them, and asked for aloud where there was none."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lycosa.page.installation import what_is_missing

TOOLS = Path(__file__).parent.parent / "tools"
EXTENSIONS = [
    "lycosa.page._native",
    "lycosa.dedupe._native",
    "lycosa.url._native",
    "lycosa.site._native",
    "lycosa.policy._native",
    "lycosa.fetch._native",
    "lycosa.frontier._native",
    "lycosa.process._native",
    "lycosa.store._native",
]
LOUD = "stay EMPTY on every page"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
@pytest.mark.parametrize("name", EXTENSIONS)
def test_extensions_are_built_where_there_is_a_compiler(name: str) -> None:
    importlib.import_module(name)


# ---- what is said where they are missing


@pytest.mark.parametrize("name", EXTENSIONS)
def test_a_missing_extension_is_named_with_what_it_costs_and_how_to_get_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    missing = what_is_missing()
    assert name in missing
    assert "apt-get install gcc python3-dev" in missing
    assert (LOUD in missing) is (name == "lycosa.page._native")


@pytest.fixture
def lesser(tmp_path: Path) -> dict[str, str]:
    """The environment of commands, and of all their processes, that find no extension."""
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in EXTENSIONS)
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{blocked}")
    return os.environ | {"PYTHONPATH": str(tmp_path)}


def lycosa(environment: dict[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lycosa.cli.main", *arguments]
    return subprocess.run(
        command, env=environment, input=stdin, capture_output=True, text=True, timeout=120, check=True
    )


def test_a_crawl_its_status_and_its_report_say_that_content_is_missing(lesser: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled = lycosa(lesser, "demo", "--hosts", "2", "--pages", "3", "--folder", str(folder))
    assert crawled.stderr.count(LOUD) == 1
    assert LOUD in lycosa(lesser, "status", "--folder", str(folder)).stdout
    assert LOUD in (folder / "report.html").read_text()
    asked = lycosa(
        lesser, "query", "--folder", str(folder), "--json", "SELECT count(*) AS n FROM pages WHERE content <> ''"
    )
    assert '"n":0' in asked.stdout.replace(" ", "")
    assert LOUD not in lycosa(dict(os.environ), "status", "--folder", str(folder)).stdout


def test_a_page_parsed_alone_says_that_its_content_is_missing(lesser: dict[str, str]) -> None:
    page = "<title>A</title><p>" + "Something worth reading. " * 20
    parsed = lycosa(lesser, "parse", "-", "--content", stdin=page)
    assert LOUD in parsed.stderr
    assert not parsed.stdout.strip()


# ---- which compiler builds them


@pytest.fixture(scope="module")
def toolchain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("toolchain", TOOLS / "toolchain.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("working", "chosen"),
    [
        (("own", "cc", "gcc"), "own"),
        (("gcc",), "gcc"),
        ((), "zig"),
    ],
)
def test_the_machines_own_compiler_goes_before_zig(
    toolchain: ModuleType, working: tuple[str, ...], chosen: str
) -> None:
    machine = toolchain.Machine("", ("own", "cc", "gcc"), has_headers=True, platform="manylinux_2_17_x86_64")
    assert toolchain.choose(machine, lambda command: command in working) == chosen


@pytest.mark.parametrize(
    ("wish", "has_headers", "platform", "chosen"),
    [
        ("", False, "manylinux_2_17_x86_64", "none"),  # without Python.h a compiler is of no use
        ("", True, "", "none"),  # zig does not know this machine
        ("none", True, "manylinux_2_17_x86_64", "none"),
        ("zig", True, "manylinux_2_17_x86_64", "zig"),
    ],
)
def test_zig_is_fetched_only_where_it_helps(
    toolchain: ModuleType, wish: str, has_headers: bool, platform: str, chosen: str
) -> None:
    machine = toolchain.Machine(wish, ("cc",), has_headers, platform)
    assert toolchain.choose(machine, lambda command: False) == chosen


def test_a_compiler_that_is_not_there_does_not_work(toolchain: ModuleType) -> None:
    assert not toolchain.works("no-such-compiler -O2")
    assert not toolchain.works("false")


def test_what_a_build_changes_in_the_environment_is_put_back(
    toolchain: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "before")
    monkeypatch.delenv("LDSHARED", raising=False)
    with toolchain.ready("other-cc"):
        assert (os.environ["CC"], os.environ["LDSHARED"]) == ("other-cc", "other-cc -shared")
    assert os.environ["CC"] == "before"
    assert "LDSHARED" not in os.environ
