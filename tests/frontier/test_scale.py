"""Memory is bounded by settings, not by the length of the queue. Speed is for bench/frontier.py."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "frontier.py"


def fill(folder: Path, urls: int) -> dict[str, float]:
    """In a process of its own, so that nothing else is measured."""
    size = ["--urls", str(urls), "--hosts", "20000", "--durability", "process"]
    command = [sys.executable, str(BENCH), *size, "--part", "fill", "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("urls", [100_000, pytest.param(1_000_000, marks=pytest.mark.full)])
def test_queued_urls_stay_on_disk(folder: Path, urls: int, record_property: Any) -> None:
    figures = fill(folder, urls)
    for row in ("G14", "F12"):
        record_property(row, f"{urls:,} queued URLs: +{figures['memory_over_empty_mib']:.0f} MiB")
    assert figures["urls"] == urls
    assert figures["memory_over_empty_mib"] < 150
    # The filter file is sized for ten million URLs; the queue and the fingerprints are what grows.
    assert figures["disk_bytes_per_url"] < 100 + 16_000_000 / urls
