"""Memory is bounded by settings, not by the length of the queue. Speed is for bench/frontier.py."""

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "frontier.py"


def fill(folder: Path, urls: int) -> dict[str, float]:
    """In a process of its own, so that nothing else is measured."""
    size = ["--urls", str(urls), "--hosts", "20000", "--durability", "process"]
    command = [sys.executable, str(BENCH), *size, "--part", "fill", "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_200_000_queued_urls_stay_on_disk(folder: Path) -> None:
    figures = fill(folder, 200_000)
    assert figures["urls"] == 200_000
    assert figures["memory_over_empty_mib"] < 150
    # The filter file is sized for ten million URLs; the queue and the fingerprints are what grows.
    assert figures["disk_bytes_per_url"] < 100 + 16_000_000 / 200_000
