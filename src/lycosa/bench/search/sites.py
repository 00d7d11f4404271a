"""Documentation of Debian packages as a web on loopback, crawled by the real command."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lycosa.errors import LycosaError, SettingsError

PACKAGES = ("python3.11-doc", "postgresql-doc-15", "apache2-doc", "debian-handbook")
# Where their documents begin, below the folder of all documents.
_STARTS = ("*/html/index.html", "*/html/*-*/index.html", "*/manual/*/index.html", "*/manual/index.html", "index.html")
_CRAWL_SECONDS, _UNPACK_SECONDS = 570, 300


def unpack(packages: Sequence[str], folder: Path) -> Path:
    """Download Debian packages with apt and unpack them; returns the folder of their documents."""
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", *packages], folder, _UNPACK_SECONDS)
    for package in sorted(folder.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(folder / "unpacked")], folder, _UNPACK_SECONDS)
    return folder / "unpacked" / "usr" / "share" / "doc"


def crawl_documents(documents: Path, folder: Path) -> None:
    """Serve the files of a folder, and crawl them from wherever they begin."""
    starts = sorted({path.relative_to(documents) for each in _STARTS for path in documents.glob(each)})
    if not starts:
        raise SettingsError(f"{documents}: holds no documents that begin with an index.html")
    with serving(documents) as origin:
        seeds = [f"{origin}/{start}" for start in starts]
        # A server of our own needs no rest.
        pauses = ["--min-delay", "0", "--delay-factor", "0"]
        pauses += ["--set", "ip_delay_seconds=0", "--set", "domain_delay_seconds=0"]
        command = [sys.executable, "-m", "lycosa.cli.main", "crawl", "--quiet", "--folder", str(folder), *pauses]
        done = subprocess.run(
            [*command, "--open-network", "127.0.0.0/8", *seeds],
            check=False,
            timeout=_CRAWL_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    # 3: some seed gave no page, as an empty index.html of a translation does.
    if done.returncode not in (0, 3):
        raise LycosaError(f"the crawl of {documents} ended with exit code {done.returncode}")


class _QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving(documents: Path, address: str = "127.0.0.1") -> Iterator[str]:
    """The origin under which the files of a folder are served, for as long as that is needed."""
    server = ThreadingHTTPServer((address, 0), partial(_QuietHandler, directory=str(documents)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{address}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _run(command: list[str], folder: Path, seconds: float) -> None:
    try:
        done = subprocess.run(command, cwd=folder, check=False, timeout=seconds, capture_output=True, text=True)
    except FileNotFoundError:
        raise SettingsError(f"there is no {command[0]} here; name a folder of documents with --documents") from None
    if done.returncode:
        raise LycosaError(f"{command[0]}: {done.stderr.strip()}")
