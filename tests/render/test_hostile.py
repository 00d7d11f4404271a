"""A crawl of pages that mean harm to whoever shows them: each ends, and nobody is reached who may not be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lycosa.model import RenderEnd
from lycosa.simweb import HandWeb

from ..crawl.conftest import HandCrawl
from ..hostile.canary import Canary
from .hostile import MARK, PAGES, RESTLESS, html


def children() -> set[int]:
    """The processes that have this one among those they come from."""
    found, new = set[int](), {os.getpid()}
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(place.parent.name)] = int(fields[1])
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


@pytest.mark.usefixtures("browser_program")
async def test_every_hostile_page_ends_and_reaches_nothing_closed(web: HandWeb, crawl: HandCrawl) -> None:
    before = children()
    async with Canary() as canary:
        web.resolve("closed.test", "127.0.0.1")
        seeds = {}
        for name, script in PAGES.items():
            url = f"http://{name}.test/"
            seeds[name] = web.page(url, html(script % {"port": canary.port} if "%(" in script else script))
            web.redirect(f"{url}to-the-closed", f"http://closed.test:{canary.port}/x")
        # All of the web, and no more than that: where the canary sits is closed.
        addresses = [address for name in PAGES for address in web.addresses(f"{name}.test")]
        await crawl(
            *seeds.values(),
            render="always",
            open_networks=[f"{address}/32" for address in addresses],
            max_depth=0,
            lease_seconds=3600.0,
            render_seconds=2.5,
            render_requests=20,
            render_memory_bytes=700 * 1024**2,
        )
        rows = {name: crawl.row(seed) for name, seed in seeds.items()}
        assert canary.connections == []
    for name, row in rows.items():
        assert row["outcome"] == "stored", (name, row["reason"], row["detail"])
        # How it went may hang on how busy this machine is; that it went somehow does not.
        assert RenderEnd(row["rendered"]) is not RenderEnd.NO_PLACE, name
        assert row["rendered"] != RenderEnd.WHOLE or name not in RESTLESS, name
        assert "GOT" not in row["text"], name
        assert name == "document-write" or MARK in row["text"], name
    for name in PAGES:
        asked = [request.path for request in web.requests if request.host == f"{name}.test"]
        assert asked.count("/") == 1, f"{name}: the page itself is asked for once"
        assert len(asked) <= 2 + 20, name
    assert children() == before, "nothing of the browser is left"
