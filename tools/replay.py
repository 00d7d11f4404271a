"""Whether pywb replays a crawl: `python tools/replay.py CRAWL WAYBACK`, the second being pywb's command of that name.

Every page is asked for as it was at the moment of its visit, in the form in which pywb changes nothing, and compared
with what lycosa itself reads back. pywb is not among lycosa's dependencies: `pip install pywb` somewhere else.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from lycosa.cli.main import main as lycosa
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import visits_among
from lycosa.store.record import read_visit

START_SECONDS = 60.0


def main(crawl: Path, wayback: str) -> int:
    """How many pages came back as they were; the exit code says whether all did."""
    with tempfile.TemporaryDirectory() as place:
        replay = Path(place) / "replay"
        lycosa(["export", "--format", "pywb", "--purpose", "any", "--folder", str(crawl), "--out", str(replay)])
        port = _free_port()
        with subprocess.Popen(
            [wayback, "-b", "127.0.0.1", "-p", str(port)],
            cwd=replay,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server:
            try:
                _wait_for(port)
                wrong = _wrong(CrawlFolder(crawl), f"http://127.0.0.1:{port}/crawl")
            finally:
                server.terminate()
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


def _wrong(folder: CrawlFolder, collection: str) -> list[str]:
    wrong, asked = [], 0
    for visit in visits_among(folder, lambda url, depth: True):
        moment = datetime.fromtimestamp(visit.fetched_at, UTC).strftime("%Y%m%d%H%M%S")
        expected, asked = read_visit(folder, visit), asked + 1
        try:
            with urllib.request.urlopen(f"{collection}/{moment}id_/{visit.url}") as answer:  # noqa: S310
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        if (status, body) not in ((expected.status, expected.body), (expected.status, expected.raw_body)):
            wrong.append(f"{visit.url}: status {status} instead of {expected.status}, {len(body):,} bytes")
    print(f"{asked - len(wrong):,} of {asked:,} pages are replayed as they came")
    return wrong


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return int(free.getsockname()[1])


def _wait_for(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"pywb does not listen after {START_SECONDS:.0f} s")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
