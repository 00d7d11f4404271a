"""A crawl in a process of its own, which tells how far its memory grew: `python -m tests.hostile.bomb_child JSON`.

It first crawls the harmless seeds, so that libraries are loaded and buffers made, then the bombs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from lycosa import Crawler


def held_bytes(name: str) -> int:
    """Memory of this process: `VmRSS` now, `VmHWM` the most since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Let the peak begin anew at what is held now."""
    Path("/proc/self/clear_refs").write_text("5")


async def _crawl(seeds: list[str], settings: dict[str, Any]) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        crawler = Crawler(seeds, folder=folder, **settings)
        counts = await crawler.run()
    return {"stored": counts.stored, "failed": counts.failed, "read": counts.read, "crashed": counts.crashed}


async def main(order: dict[str, Any]) -> None:
    settings = order["settings"]
    await _crawl(order["harmless"], settings)
    at_first = held_bytes("VmRSS")
    result = []
    for bomb in order["bombs"]:
        forget_peak()
        before = held_bytes("VmRSS")
        counts = await _crawl([bomb], settings)
        # What a bomb takes while it explodes, or what all bombs so far have left behind.
        grown = max(held_bytes("VmHWM") - before, held_bytes("VmRSS") - at_first)
        result.append({"url": bomb, "growth_bytes": grown, **counts})
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
