"""Where the other crawlers are installed: a folder of their own, never among lycosa's own libraries."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lycosa.errors import SettingsError

_PYTHON_PEERS = ("scrapy", "crawlee[parsel]", "uvloop")
# Each by itself: one that cannot be had must not take the others along.
_EXTRACTORS = ("trafilatura", "resiliparse", "readability-lxml", "jusText", "boilerpy3", "newspaper4k", "turbohtml")
_DETECTORS = ("chardet", "charset-normalizer", "faust-cchardet", "chardetng-py")
_SPIDER_RS = "@spider-rs/spider-rs"
_SPIDER_RS_VERSION = "0.0.157"
_SPIDER_RS_BINARY = "@spider-rs/spider-rs-linux-x64-gnu"
_WGET2_PACKAGES = ("wget2", "libwget0", "libgpgme11", "libassuan0", "libgpg-error0")
_INSTALL_SECONDS = 900
_HINT = "lycosa bench --install"


def default_cache() -> Path:
    """The usual place for things that can be fetched again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lycosa" / "bench"


@dataclass(frozen=True, slots=True)
class Cache:
    """The folder with the other crawlers."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that has the Python peers."""
        return self.folder / "py" / "bin" / "python"

    @property
    def readers_python(self) -> Path:
        """The interpreter that has other extractors and detectors."""
        return self.folder / "readers" / "bin" / "python"

    @property
    def node_modules(self) -> Path:
        """Where node finds the npm peers."""
        return self.folder / "node" / "node_modules"

    @property
    def wget2(self) -> str | None:
        """The command, if it is installed here or on the machine."""
        ours = self.folder / "wget2" / "usr" / "bin" / "wget2"
        return str(ours) if ours.exists() else shutil.which("wget2")

    @property
    def wget2_libraries(self) -> str:
        """The folders of the libraries that were unpacked with it."""
        root = self.folder / "wget2"
        machine = f"{platform.machine()}-linux-gnu"
        return os.pathsep.join(str(root / place) for place in ("usr/lib", f"usr/lib/{machine}", f"lib/{machine}"))

    def missing_module(self, name: str) -> str:
        """How to get a Python peer; empty if it is there."""
        return "" if any(self.folder.glob(f"py/lib/python*/site-packages/{name}/__init__.py")) else _HINT

    def missing_spider_rs(self) -> str:
        """How to get spider-rs; empty if it is there."""
        if shutil.which("node") is None:
            return f"install Node.js, then {_HINT}"
        return "" if all((self.node_modules / name).exists() for name in (_SPIDER_RS, _SPIDER_RS_BINARY)) else _HINT

    def missing_wget2(self) -> str:
        """How to get wget2; empty if it is there."""
        return "" if self.wget2 else f"apt install wget2, or {_HINT}"


def install(cache: Cache, say: Callable[[str], None]) -> None:
    """Install every peer that this machine can have; what cannot be had is said and left out."""
    cache.folder.mkdir(parents=True, exist_ok=True)
    for name, step in (("scrapy, crawlee", _install_python), ("spider-rs", _install_npm), ("wget2", _install_deb)):
        try:
            step(cache)
            say(f"{name}: installed in {cache.folder}")
        except (OSError, subprocess.SubprocessError) as error:
            detail = getattr(error, "stderr", "") or str(error)
            say(f"{name}: not installed: {detail.strip().splitlines()[-1]}")


def install_readers(cache: Cache, say: Callable[[str], None]) -> None:
    """Install every other extractor and detector that can be had; what cannot is said and left out."""
    cache.folder.mkdir(parents=True, exist_ok=True)
    if not cache.readers_python.exists():
        _run([sys.executable, "-m", "venv", str(cache.folder / "readers")])
    for name in ("pip", *_EXTRACTORS, *_DETECTORS):
        try:
            _run([str(cache.readers_python), "-m", "pip", "install", "--quiet", "--upgrade", name])
            say(f"{name}: installed in {cache.folder}")
        except (OSError, subprocess.SubprocessError) as error:
            detail = getattr(error, "stderr", "") or str(error)
            say(f"{name}: not installed: {detail.strip().splitlines()[-1]}")


def _install_python(cache: Cache) -> None:
    if not cache.python.exists():
        _run([sys.executable, "-m", "venv", str(cache.folder / "py")])
    _run([str(cache.python), "-m", "pip", "install", "--quiet", *_PYTHON_PEERS])


def _install_npm(cache: Cache) -> None:
    folder = cache.folder / "node"
    folder.mkdir(exist_ok=True)
    names = [f"{name}@{_SPIDER_RS_VERSION}" for name in (_SPIDER_RS, _SPIDER_RS_BINARY)]
    _run(["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *names])


def _install_deb(cache: Cache) -> None:
    """Unpack Debian's packages without installing them: that needs no rights and changes no machine."""
    if cache.wget2:
        return
    with tempfile.TemporaryDirectory() as place:
        _run(["apt-get", "download", *_WGET2_PACKAGES], place)
        for package in sorted(Path(place).glob("*.deb")):
            _run(["dpkg", "-x", str(package), str(cache.folder / "wget2")])


def _run(command: list[str], folder: str | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)


def checked_names(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a comma-separated list, each of which must be known."""
    names = tuple(name.strip() for name in text.split(",") if name.strip() and name.strip() != "none")
    for name in names:
        if name not in known:
            raise SettingsError(f"--peers: no such crawler {name!r} ({', '.join(known)}, none)")
    return names
