"""An archive with its requisites replays whole in pywb, which has a Python of its own: it wants an old Redis client."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder
from lycosa.store.replay import write_replay

from .conftest import HandCrawl
from .test_requisites import furnish

PROGRAM = Path(__file__).with_name("replay_all.py")


@pytest.fixture
def python_with_pywb() -> str:
    if not (python := os.environ.get("PYWB_PYTHON", "")):
        pytest.skip("no pywb here")
    return python


async def test_pywb_replays_a_page_with_all_that_it_shows(
    web: HandWeb, crawl: HandCrawl, space: Path, python_with_pywb: str
) -> None:
    home = web.url("a.test", "/")
    shown = furnish(web)
    await crawl(home, scope="host", requisites=True)
    write_replay(CrawlFolder(crawl.folder), space / "replay")
    asked, command = "\n".join([home, *shown]), [python_with_pywb, str(PROGRAM), str(space / "replay")]
    ended = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=60)
    # pywb says something of each request, too.
    lines = [line for line in ended.stdout.splitlines() if line.startswith('{"url"')]
    answers = {each["url"]: each for each in map(json.loads, lines)}
    assert set(answers) == {home, *shown}
    moved = web.url("a.test", "/img/old.png")
    assert {url: each["status"] for url, each in answers.items() if each["status"] != 200} == {moved: 301}
    assert all(each["bytes"] for url, each in answers.items() if url != moved)
    assert answers[web.url("cdn.test", "/print.css")]["type"] == "text/css"
