"""A crawl whose files lie in an object store: what has arrived is shown and found, and no order is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.world import World
from ..store.object_server import ObjectServer, use
from .visitor import served


def test_what_has_arrived_is_shown_and_found(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ObjectServer() as server:
        use(server, monkeypatch)
        folder = world.folder
        files = [
            folder.settings,
            folder.seeds,
            *folder.pages.iterdir(),
            *folder.links.iterdir(),
            *folder.warc.iterdir(),
        ]
        for file in files:
            server.put(f"web/{file.relative_to(folder.path)}", file.read_bytes())
        with served(server.place("web")) as visitor:
            overview = visitor.page("/")
            assert "a.test" in overview
            assert "/order" not in overview
            assert "what has arrived there" in overview
            # Nobody knows what is queued; how many pages there are, the tables tell.
            assert "<span>queued</span>" not in overview
            assert "Hosts by state" not in overview
            assert "<b>0</b><span>pages" not in overview
            assert "The quick brown fox" in visitor.page("/url", url=world.url("/one"))
            assert "HTTP/1.1 200" in visitor.page("/kept", url=world.url("/one"), version="0")
            assert "elsewhere.test" in visitor.page("/graph")
            while "<mark>" not in (page := visitor.page("/search", q="fox")):
                assert "index" in page
            assert visitor.ask("/order", method="POST", body="type=pause").status == 400
