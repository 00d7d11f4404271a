"""Every malformed answer ends in the outcome written here; none crashes, hangs or hurts its neighbours."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import HandWeb
from lycosa.simweb.hostile import BEHAVIOURS

from .conftest import HandCrawl

MALFORMED = [name for name, hostile in BEHAVIOURS.items() if hostile.part == "M"]

# What is not kept, and why not. Everything else is kept, whole or cut.
FAILED = {
    "unknown-coding": "content-coding", "many-codings": "content-coding",
    "negative-content-length": "protocol", "word-as-content-length": "protocol", "two-content-lengths": "protocol",
    "bad-chunk-size": "reset", "negative-chunk-size": "reset", "huge-chunk-size": "reset",
    "many-trailers": "headers-too-large", "interim-flood": "headers-too-large", "header-flood": "headers-too-large",
    "long-header-line": "headers-too-large", "garbage-before-status": "protocol", "http-09": "protocol",
    "status-without-number": "protocol", "status-999": "status", "strange-version": "protocol",
    "unasked-304": "status", "unasked-101": "reset", "header-without-colon": "protocol",
    "nuls-in-headers": "protocol", "half-a-head": "protocol", "no-answer": "reset", "reset": "reset",
    "redirect-without-location": "redirect-without-location", "two-locations": "protocol",
}  # fmt: skip
MOVED = {"redirect-to-nonsense", "long-location", "binary-location", "redirect-loop", "redirect-to-itself"}
CUT = {
    "truncated-gzip": "coding", "truncated-deflate": "coding", "truncated-br": "coding", "corrupt-gzip": "coding",
    "truncated-zstd": "coding",
    "long-content-length": "disconnect", "no-last-chunk": "disconnect", "reset-in-body": "disconnect",
    "one-line": "length",
}  # fmt: skip


class Visited:
    """One crawl of a web in which each host answers in one malformed way."""

    def __init__(self, crawl: HandCrawl) -> None:
        self.counts = crawl.counts
        self.good = [row for row in crawl.rows() if row["host"] == "good.test" and row["outcome"] == "stored"]
        self.rows: dict[str, list[dict[str, Any]]] = {}
        for row in crawl.rows():
            if not row["url"].endswith("/robots.txt"):
                self.rows.setdefault(row["host"].removesuffix(".m.test"), []).append(row)


@pytest.fixture(scope="module")
def visited() -> Iterator[Visited]:
    place = Path(tempfile.mkdtemp(prefix="lycosa-malformed-"))
    yield asyncio.run(_visit(place))
    shutil.rmtree(place, ignore_errors=True)


async def _visit(place: Path) -> Visited:
    async with HandWeb() as web:
        seeds = [web.page("http://good.test/", '<a href="/two">two</a>')]
        web.page("http://good.test/two", "<title>two</title>")
        for name in MALFORMED:
            host = f"{name}.m.test"
            web.robots(host, "")
            web.behave_host(host, BEHAVIOURS[name].behave)
            seeds.append(web.url(host))
        crawl = HandCrawl(web, place / "crawl")
        # Nothing here holds a connection: whatever ends by a limit of time is a hang.
        await crawl(*seeds, circuit_seconds=0.0, scope="host")
        return Visited(crawl)


@pytest.mark.row("M")
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_gives_the_outcome_it_deserves(visited: Visited, name: str) -> None:
    first = visited.rows[name][0]
    if name in FAILED:
        assert (first["outcome"], first["reason"]) == ("failed", FAILED[name])
    elif name in MOVED:
        assert first["outcome"] == "moved"
    else:
        assert first["outcome"] in ("stored", "duplicate")
        assert first["truncated"] == CUT.get(name, "")
        assert first["reason"] == ("coding-damaged" if CUT.get(name) == "coding" else "")


@pytest.mark.row("M", "G11")
def test_nothing_crashes_and_the_good_host_is_read_to_its_end(visited: Visited, record_property: Any) -> None:
    assert visited.counts.crashed == 0
    assert visited.counts.queued == visited.counts.leased == 0
    assert len(visited.good) == 2
    record_property("M", f"{len(MALFORMED)} answers, 0 crashes")


@pytest.mark.row("M")
def test_redirects_and_refreshes_in_a_circle_end(visited: Visited) -> None:
    assert len(visited.rows["redirect-loop"]) == 6
    assert visited.rows["redirect-loop"][-1]["reason"] == "too-many-redirects"
    assert len(visited.rows["redirect-to-itself"]) == 1
    assert len(visited.rows["refresh-loop"]) == 2


@pytest.mark.row("M")
def test_of_strange_links_only_urls_on_the_own_host_are_followed(visited: Visited) -> None:
    urls = [row["url"] for row in visited.rows["strange-links"]]
    origins = {url[: url.index("/", 8)] for url in urls}
    assert len(origins) == 1
    assert all(url.isascii() and url.isprintable() and len(url) <= 2048 for url in urls)
    assert not any("secret" in url for url in urls)


@pytest.mark.row("M")
def test_texts_survive_wrong_mixed_and_missing_charsets(visited: Visited) -> None:
    for name in ("wrong-charset", "missing-charset", "mixed-charset", "unknown-charset"):
        assert visited.rows[name][0]["title"] == "Gr\u00fc\u00dfe"


def test_every_named_behaviour_says_what_it_does() -> None:
    assert all(hostile.says.endswith(".") and len(hostile.says) < 120 for hostile in BEHAVIOURS.values())
    assert {hostile.part[0] for hostile in BEHAVIOURS.values()} == {"M", "T", "P", "R"}
