"""`lycosa policy`, `lycosa changes`, and what `history` and `why` tell of pages that are visited again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lycosa.cli.changes import parse_since
from lycosa.cli.main import main
from lycosa.crawl.orders import pending
from lycosa.errors import SettingsError
from lycosa.library import Crawler
from lycosa.orders import SetPolicy
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder

LONG = "<p>The quick brown fox jumps over the lazy dog, and the spider sees it from its web, again and again.</p>"


def html(*hrefs: str, text: str = LONG) -> str:
    links = "".join(f'<a href="{href}">link</a>' for href in hrefs)
    return f"<html><title>t</title><body>{text}{links}</body></html>"


class Twice:
    """A small crawl, and a second round of it, after some pages had changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = CrawlFolder(folder)
        self.urls: dict[str, str] = {}
        self.between = 0.0

    @property
    def place(self) -> list[str]:
        return ["--folder", str(self.folder.path)]

    async def crawl(self) -> None:
        async with HandWeb() as web:
            self._write(web, "/", html("/same", "/changed", "/gone", "/moves"))
            self._write(web, "/moves", html(text=LONG + "moves"))
            self._write(web, "/same", html(text=LONG + "same"))
            self._write(web, "/changed", html(text=LONG + "before"))
            self._write(web, "/gone", html(text=LONG + "gone"))
            await self._round(web)
            rows = [*self.folder.journals(), *self.folder.pages.glob("*")]
            self.between = max(path.stat().st_mtime for path in rows)
            self._write(web, "/", html("/same", "/changed", "/gone", "/moves", "/new"))
            self._write(web, "/moved", html(text=LONG + "moved to another place"))
            web.redirect("http://a.test/moves", "/moved")
            self._write(web, "/changed", html(text=LONG + "after that quite another text stands here"))
            self._write(web, "/new", html(text="new"))
            web.page("http://a.test/gone", "", status=410)
            await self._round(web)

    def _write(self, web: HandWeb, path: str, text: str) -> None:
        self.urls[path] = web.page(f"http://a.test{path}", text)

    async def _round(self, web: HandWeb) -> None:
        settings: dict[str, Any] = {
            "min_delay_seconds": 0.0,
            "delay_factor": 0.0,
            "retry_after_seconds": (),
            "open_networks": ["127.0.0.0/8"],
            "dns_servers": [web.dns_address],
            "durability": "process",
            "seen_capacity": 10_000,
        }
        await Crawler(self.urls["/"], folder=self.folder.path, revisit=True, **settings).run()


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    made = Twice(tmp_path_factory.mktemp("twice") / "crawl")
    asyncio.run(made.crawl())
    return made


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_changes_tells_what_is_new_changed_unchanged_and_gone(twice: Twice, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--since", str(twice.between), *twice.place, "--json"]) == 0
    kinds = {row["url"]: row for row in lines(capsys)}
    paths = {path: kinds[url]["kind"] for path, url in twice.urls.items()}
    assert (paths["/"], paths["/same"], paths["/changed"]) == ("changed", "unchanged", "changed")
    assert (paths["/gone"], paths["/moves"], paths["/new"], paths["/moved"]) == ("vanished", "vanished", "new", "new")
    assert 0 < kinds[twice.urls["/changed"]]["changed"] <= 1
    assert kinds[twice.urls["/gone"]]["detail"] == "410"
    assert kinds[twice.urls["/moves"]]["detail"] == twice.urls["/moved"]
    assert main(["changes", "--since", "30d", *twice.place]) == 0
    told = capsys.readouterr().out
    assert "new" in told
    assert twice.urls["/same"] in told


def test_changes_of_one_kind_are_listed(twice: Twice, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--since", str(twice.between), "--what", "vanished", *twice.place]) == 0
    told = capsys.readouterr().out
    assert twice.urls["/gone"] in told
    assert twice.urls["/new"] not in told


def test_since_is_a_moment_or_how_long_ago() -> None:
    assert parse_since("2 h", 10_000.0) == 2_800.0
    assert parse_since("0.5d", 50_000.0) == 6_800.0
    assert parse_since("1970-01-01T00:01:00Z", 0.0) == 60.0
    with pytest.raises(SettingsError):
        parse_since("yesterday", 0.0)


def test_the_history_tells_what_visits_have_taught(twice: Twice, capsys: pytest.CaptureFixture[str]) -> None:
    names = "url, domain, visits, changes, changed_at, failures, is_gone, changes_per_day"
    assert main(["query", f"select {names}, length(id) as id from history", *twice.place, "--json"]) == 0
    rows = {row["url"]: row for row in lines(capsys)}
    changed, same, gone, moved = (rows[twice.urls[path]] for path in ("/changed", "/same", "/gone", "/moved"))
    assert moved["visits"] == 1, "its own, not those of what led there"
    assert (changed["visits"], changed["changes"], changed["domain"], changed["id"]) == (2, 1, "a.test", 16)
    assert changed["changed_at"]
    assert (same["visits"], same["changes"], same["changed_at"]) == (2, 0, None)
    assert changed["changes_per_day"] > same["changes_per_day"] > 0
    assert (gone["failures"], gone["is_gone"]) == (1, False)


def test_the_policy_of_a_host_is_shown_and_ordered(twice: Twice, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "a.test", *twice.place]) == 0
    told = capsys.readouterr().out
    assert "pages visited again" in told
    assert "robots.txt" in told
    wish = ["--delay", "7", "--pages-per-day", "100", "--priority", "2", "--block"]
    assert main(["policy", "a.test", *wish, *twice.place, "--json"]) == 0
    assert lines(capsys)[0]["pending"] == 1
    (given,) = pending(twice.folder)
    assert given.order == SetPolicy("a.test", 7.0, 100.0, 2, is_blocked=True)


@pytest.mark.parametrize("wish", [["--delay", "-1"], ["--priority", "10"]])
def test_a_policy_that_cannot_be_is_refused(twice: Twice, wish: list[str]) -> None:
    assert main(["policy", "a.test", *wish, *twice.place]) == 2


def inputs(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    (answer,) = lines(capsys)
    return {each["name"]: each for each in answer["inputs"]}


def test_why_names_what_decides_with_what_each_counts(twice: Twice, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", twice.urls["/changed"], *twice.place, "--json"]) == 0
    told = inputs(capsys)
    assert told["robots.txt"]["weight"] == "lets it through"
    assert told["last crawl"]["says"].split(": ")[1].startswith("stored")
    assert told["experience"]["says"] == "1 changes in 2 visits"
    assert told["frequency hints"]["weight"] == "none"
    assert "visited again" in told["similar pages"]["says"]
    assert set(told) >= {"similar URLs", "host load", "importance", "together"}
    assert main(["why", twice.urls["/changed"], *twice.place]) == 0
    assert "whether and when" in capsys.readouterr().out
