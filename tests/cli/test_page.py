from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore

from ..store.samples import NO_LINKS, START, response, visit
from .world import World


def test_a_page_is_read_back_with_its_facts(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", world.url("/one"), *world.place]) == 0
    out = capsys.readouterr().out
    assert "status 200" in out
    assert "The quick brown fox" in out


def test_bytes_come_back_as_they_were(world: World, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["page", world.url("/data.bin"), *world.place, "--raw"]) == 0
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == bytes(range(256))


def test_text_and_headers_alone(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", world.url("/latin"), *world.place, "--text"]) == 0
    assert capsys.readouterr().out.strip() == "Паук плетёт паутину."
    assert main(["page", world.url("/one"), *world.place, "--headers"]) == 0
    assert capsys.readouterr().out.startswith("HTTP/1.1 200 OK\nContent-Type: text/html")


@pytest.mark.parametrize("shown", [[], ["--text"], ["--headers"], ["--versions"]])
@pytest.mark.parametrize("path", ["/", "/plain.txt"])
def test_a_page_cannot_drive_the_terminal(
    world: World, path: str, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", world.url(path), *world.place, *shown]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_versions_are_listed_and_chosen_by_time(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", world.url("/one"), *world.place, "--versions", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert main(["page", world.url("/one"), *world.place, "--at", str(row["fetched_at"]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"].startswith("The quick brown fox")


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("/never", [], "has no visit of it"),
        ("/never", ["--versions"], "has no visit of it"),
        ("/gone", [], "no visit gave a page; the last one ended as failed: the answer has an error status (410)"),
        ("/one", ["--at", "1999-01-01"], "there is no version that old"),
        ("/one", ["--at", "yesterday"], "is not a moment"),
    ],
)
def test_what_is_not_there_is_said(
    world: World, path: str, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", world.url(path), *world.place, *more]) == 2
    assert message in capsys.readouterr().err


async def test_a_visit_that_only_the_journal_knows_has_its_text_from_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CrawlFolder(tmp_path / "crawl")
    folder.create()
    store = FolderStore(folder, 0, Settings(), lambda: START)
    store.put(visit(), response(body=b"<title>T</title><p>kept words"), None, NO_LINKS)
    await store.sync()
    assert main(["page", "http://a.example/", "--folder", str(folder.path), "--text"]) == 0
    assert capsys.readouterr().out.strip() == "kept words"
    await store.close()
