"""What a full queue had no room for: counted, shown, and named as a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.simweb import SimWebProcess, WebPlan

from ..crawl import evidence
from ..crawl.command import crawl
from ..frontier.redis_servers import RedisServer

PLAN = WebPlan.named("clean", hosts=2, pages_per_host=30, crawl_delay_share=0.0, is_prerendered=True)
LIMIT = 4


@pytest.mark.parametrize("kind", ["rocks", "redis"])
def test_dropped_urls_are_counted_and_named(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "crawl"
    with RedisServer() as server, SimWebProcess(PLAN) as web:
        address = server.address if kind == "redis" else kind
        ended = crawl(
            web, folder, *web.seeds, frontier=address, workers=1, max_queued_per_host=LIMIT, min_delay_seconds=0.0
        )
        assert ended.exit_code == 0, ended.said
        visited = {row["url"] for row in evidence.pages(folder)}
        lost = sorted(web.truth().reachable - visited)
        assert main(["status", "--folder", str(folder), "--json"]) == 0
        counts = json.loads(capsys.readouterr().out)["counts"]
        assert counts["dropped"] == ended.summary["dropped"] >= len(lost) > 0
        assert main(["status", "--folder", str(folder)]) == 0
        assert f"{counts['dropped']:,} times a host's queue was full" in capsys.readouterr().out
        assert main(["why", lost[0], "--folder", str(folder)]) == 0
        assert f"max_queued_per_host = {LIMIT}" in " ".join(capsys.readouterr().out.split())
    assert "was dropped from a full queue" in (folder / "report.html").read_text(encoding="utf-8")
