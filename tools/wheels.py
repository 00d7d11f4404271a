"""Build the source archive and a wheel per Python and architecture into dist/, without docker and without gcc.

    python tools/wheels.py [python3.12 ...]      default: every Python from 3.11 on that is found here, with its headers

zig compiles for either architecture on either, against an old glibc, so one machine makes all wheels. Of Python only
the headers are used, which are alike on both. Every wheel is built from the source archive, and is looked into before
it counts: extensions are optional for setuptools, and a wheel without them would be of no use.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from zipfile import ZipFile

import toolchain

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = (3, 11)
EXTENSIONS = ("lycosa/page/_native", "lycosa/dedupe/_native", "lycosa/url/_native", "lycosa/site/_native")
# The machine's number in the head of an ELF file.
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
# Where pyenv and uv keep the Pythons that they do not put into PATH.
_KEPT = (".pyenv/versions/*/bin/python", ".local/share/uv/python/cpython-*/bin/python")
_ABOUT = "import os, sys, sysconfig as s; v = sys.version_info; print(v[0], v[1], sys.implementation.name, \
          s.get_config_var('Py_GIL_DISABLED') or 0, os.path.exists(s.get_path('include') + '/Python.h'))"
_BUILD = "import sys, build_backend as b; print(b.build_wheel(sys.argv[1], {b.PLATFORM: sys.argv[2]}))"
_ARCHIVE = "import sys, build_backend as b; print(b.build_sdist(sys.argv[1]))"


def main(wanted: list[str]) -> int:
    pythons = find_pythons(wanted)
    if not pythons:
        print("no Python from 3.11 on with its headers is here (on Debian they are in python3-dev)", file=sys.stderr)
        return 2
    out = ROOT / "dist"
    out.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="lycosa-wheels-") as scratch:
        packages = install_tools(Path(scratch))
        # What zig makes of its own C library is made once for all.
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(Path(scratch, "cache")))
        archive = out / build(sys.executable, copy_of_tree(Path(scratch)), packages, _ARCHIVE, str(out))
        print(archive.relative_to(ROOT))
        for python in pythons:
            for architecture in toolchain.ARCHITECTURES:
                begun_at = perf_counter()
                wheel = build_wheel(python, archive, packages, architecture)
                print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size:,} bytes, {perf_counter() - begun_at:.0f} s")
    return 0


def find_pythons(wanted: list[str]) -> list[str]:
    """One interpreter per version, those in PATH first; with headers, and with the usual ABI."""
    found: dict[tuple[int, int], str] = {}
    on_path = [sys.executable, *(f"python3.{minor}" for minor in range(OLDEST_PYTHON[1], 20))]
    kept = [str(path) for pattern in _KEPT for path in sorted(Path.home().glob(pattern))]
    for python in wanted or on_path + kept:
        if not shutil.which(python):
            continue
        ran = subprocess.run([python, "-c", _ABOUT], check=False, capture_output=True, text=True)
        if ran.returncode == 0:
            major, minor, *kind = ran.stdout.split()
            if kind == ["cpython", "0", "True"] and (int(major), int(minor)) >= OLDEST_PYTHON:
                found.setdefault((int(major), int(minor)), python)
    return [found[version] for version in sorted(found)]


def install_tools(scratch: Path) -> Path:
    """setuptools and zig, which any Python can use from one place."""
    packages = scratch / "packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
    subprocess.run([*command, "setuptools>=77", toolchain.ZIG_PACKAGE], check=True)
    return packages


def copy_of_tree(scratch: Path) -> Path:
    """Only what belongs into the archive, so that nothing built before gets into it."""
    tree = scratch / "tree"
    unwanted = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    for folder in ("src", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=unwanted)
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    return tree


def build_wheel(python: str, archive: Path, packages: Path, architecture: str) -> Path:
    """The wheel of one Python for one architecture."""
    with TemporaryDirectory(prefix="lycosa-wheel-") as scratch:
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        [tree] = Path(scratch).iterdir()
        platform = f"{toolchain.OLDEST_PLATFORM}_{architecture}"
        wheel = archive.parent / build(python, tree, packages, _BUILD, str(archive.parent), platform)
    if missing := missing_in(wheel, architecture):
        wheel.unlink()
        raise SystemExit(f"{wheel.name}: {', '.join(missing)} was not built for {architecture}")
    return wheel


def build(python: str, tree: Path, packages: Path, *code: str) -> str:
    """What the build backend makes in a tree: its name, which it prints last."""
    path = os.pathsep.join((str(packages), str(tree / "tools")))
    ran = subprocess.run(
        [python, "-c", *code],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise SystemExit(f"{ran.stdout}\n{ran.stderr}\n{python} could not build")
    return ran.stdout.rstrip().rpartition("\n")[2]


def missing_in(wheel: Path, architecture: str) -> list[str]:
    """The extensions that a wheel lacks, or has for another machine."""
    with ZipFile(wheel) as packed:
        heads = {name.partition(".")[0]: packed.read(name)[:20] for name in packed.namelist() if name.endswith(".so")}
    wanted = b"\x7fELF", ELF_MACHINES[architecture]
    return [
        name
        for name in EXTENSIONS
        if name not in heads or (heads[name][:4], struct.unpack_from("<H", heads[name], 18)[0]) != wanted
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
