"""How a crawl begins, and goes on: what its folder must have, what is planted, what is said."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lycosa import Crawler
from lycosa.crawl import session
from lycosa.crawl.session import NO_CONTACT, _is_at_home
from lycosa.errors import SettingsError
from lycosa.inspect.seeds import missed_seeds
from lycosa.settings import Settings
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder
from lycosa.url.canonical import parse_seeds
from lycosa.wiring import crawl as wiring

from . import evidence
from .conftest import hand_settings
from .test_visits import page


def crawler_of(web: HandWeb, seeds: list[str], folder: Path, **settings: Any) -> Crawler:
    return Crawler(seeds, folder=folder, **{**hand_settings(web), **settings})


def some_pages(web: HandWeb, count: int) -> list[str]:
    return [web.page(f"http://h{number}.test/", page(title=str(number))) for number in range(count)]


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lycosa.cli.main", "crawl", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


# ---- a folder that is not whole


async def test_pages_without_their_queue_are_refused(web: HandWeb, space: Path) -> None:
    seeds = some_pages(web, 3)
    await crawler_of(web, seeds, space / "c").run()
    shutil.rmtree(space / "c" / "frontier")
    for _ in range(2):
        with pytest.raises(SettingsError, match="the queue of this crawl is gone, but its pages are here"):
            await crawler_of(web, seeds, space / "c").run()


async def test_a_folder_in_which_nothing_was_stored_yet_needs_no_queue(web: HandWeb, space: Path) -> None:
    (space / "c" / "frontier").mkdir(parents=True)
    assert (await crawler_of(web, some_pages(web, 2), space / "c").run()).pages == 2


async def test_a_queue_in_memory_leaves_none_behind_and_needs_none(web: HandWeb, space: Path) -> None:
    seeds = some_pages(web, 2)
    for _ in range(2):
        assert (await crawler_of(web, seeds, space / "c", frontier="memory").run()).pages == 2
    # By its folder alone all of its seeds are planted again.
    assert (await crawler_of(web, [], space / "c", frontier="memory").run()).pages == 2


@pytest.mark.parametrize("damage", [b"", b"http://\xff/\n"], ids=["empty", "not UTF-8"])
async def test_seeds_that_cannot_be_read_are_an_error(web: HandWeb, space: Path, damage: bytes) -> None:
    await crawler_of(web, some_pages(web, 1), space / "c").run()
    (space / "c" / "seeds.txt").write_bytes(damage)
    with pytest.raises(SettingsError, match=r"seed"):
        await crawler_of(web, [], space / "c").run()


async def test_settings_and_seeds_that_are_cut_off_are_an_error(web: HandWeb, space: Path) -> None:
    seeds = some_pages(web, 2)
    await crawler_of(web, seeds, space / "c").run()
    folder = CrawlFolder(space / "c")
    for path, share in ((folder.settings, 0.3), (folder.settings, 0.9), (folder.seeds, 0.9)):
        whole = path.read_bytes()
        cut = whole[: int(len(whole) * share)]
        # At the end of a line, so that what is left is valid by itself.
        path.write_bytes(cut[: cut.rfind(b"\n") + 1] if path == folder.settings else cut)
        ended = command("--folder", str(space / "c"))
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "cut off" in ended.stderr
        path.write_bytes(whole)


def test_settings_that_are_gone_are_an_error_and_never_defaults(tmp_path: Path) -> None:
    (tmp_path / "lycosa.toml").write_text("# nothing\n")
    ended = command("http://127.0.0.1:9/", "--folder", str(tmp_path))
    assert ended.returncode == 2
    assert "lycosa.toml: the settings of this crawl are gone" in ended.stderr
    (tmp_path / "lycosa.toml").write_bytes(b"\xff")
    assert command("http://127.0.0.1:9/", "--folder", str(tmp_path)).returncode == 2


@pytest.mark.parametrize("damage", ["gone", "empty"])
async def test_pages_without_their_settings_are_crawled_on_by_a_file_that_is_named(
    web: HandWeb, space: Path, damage: str
) -> None:
    await crawler_of(web, some_pages(web, 2), space / "c").run()
    kept, other = space / "c" / "lycosa.toml", space / "other.toml"
    shutil.copy(kept, other)
    kept.unlink() if damage == "gone" else kept.write_bytes(b"")
    with pytest.raises(SettingsError, match="the settings of this crawl are gone"):
        await crawler_of(web, [], space / "c").run()
    refused = command("--folder", str(space / "c"))
    assert (refused.returncode, "name a file with -c" in refused.stderr) == (2, True)
    assert command("--folder", str(space / "c"), "-c", str(other)).returncode == 0


async def test_a_damaged_table_is_said_in_a_sentence_and_made_anew(web: HandWeb, space: Path) -> None:
    seeds = some_pages(web, 2)
    await crawler_of(web, seeds, space / "c").run()
    (part,) = (space / "c" / "pages").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:100])
    ended = await asyncio.to_thread(command, "--folder", str(space / "c"), "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith("1 part of the tables is damaged or gone")
    assert "Traceback" not in ended.stderr
    assert {row["url"] for row in evidence.pages(space / "c")} >= set(seeds)


# ---- seeds


class Killed(BaseException):
    """As good as a kill: nothing catches it."""


async def test_seeds_that_a_killed_crawl_did_not_plant_are_planted_by_the_next(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, calls = wiring.seed_targets, count(1)

    def killed_at_the_third(settings: Settings, seeds: Any, key: bytes) -> Any:
        if next(calls) == 3:
            raise Killed
        return plant(settings, seeds, key)

    seeds = some_pages(web, 7)
    with monkeypatch.context() as patch:
        patch.setattr(session, "SEEDS_AT_ONCE", 2)
        patch.setattr(wiring._Wiring, "seed_targets", staticmethod(killed_at_the_third))
        with pytest.raises(Killed):
            await crawler_of(web, seeds, space / "c").run()
    assert (await crawler_of(web, [], space / "c").run()).pages == 7


async def test_seeds_are_planted_once(web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, planted = wiring.seed_targets, list[str]()

    def noted(settings: Settings, seeds: Any, key: bytes) -> Any:
        planted.extend(seed.url for seed in seeds)
        return plant(settings, seeds, key)

    monkeypatch.setattr(wiring._Wiring, "seed_targets", staticmethod(noted))
    first, second = some_pages(web, 2)
    for seeds in ([first], [first], [], [second], [second, first]):
        await crawler_of(web, seeds, space / "c").run()
    assert planted == [first, first, second]


def test_seeds_that_are_not_utf_8_are_named_in_a_sentence(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_bytes(b"http://a.test/\nhttp://b\xe4.test/\n")
    ended = command("--seeds", str(seeds), "--folder", str(tmp_path / "c"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"lycosa: {seeds}: the seeds are not UTF-8")
    assert len(ended.stderr.splitlines()) == 1


def test_seeds_and_settings_may_begin_with_a_mark_of_utf_8(tmp_path: Path) -> None:
    seeds, settings = tmp_path / "seeds.txt", tmp_path / "own.toml"
    seeds.write_bytes(b"\xef\xbb\xbfhttp://127.0.0.1:9/\r\n # of no use\r\n")
    settings.write_bytes(b"\xef\xbb\xbfmax_pages = 3\r\n")
    folder = tmp_path / "c"
    assert command("--seeds", str(seeds), "--config", str(settings), "--folder", str(folder)).returncode == 3
    assert CrawlFolder(folder).seeds.read_text() == "http://127.0.0.1:9/\n"


async def test_a_seed_that_redirects_out_of_the_crawl_is_named(web: HandWeb, space: Path) -> None:
    new = web.page("http://new.test/", page("/more", title="Elsewhere"))
    out = web.redirect("http://old.test/", new)
    near = web.redirect("http://near.test/", web.page("http://www.near.test/", page(title="Beside")))
    await crawler_of(web, [out, near], space / "c", scope="domain").run()
    (missed,) = missed_seeds(CrawlFolder(space / "c"))
    assert (missed.seed, missed.url, missed.outcome) == (out, new, "led_out")
    assert "name that as a seed, too" in missed.sentence()
    await crawler_of(web, [out, near], space / "any", scope="any").run()
    assert missed_seeds(CrawlFolder(space / "any")) == []


def test_a_seed_that_waits_is_named_with_a_remedy_also_when_nobody_asks_it(tmp_path: Path) -> None:
    ended = command("http://127.0.0.1:9/", "--folder", str(tmp_path / "c"), "--open-network", "127.0.0.0/8")
    assert ended.returncode == 3
    assert "INCOMPLETE" in ended.stdout
    said = "http://127.0.0.1:9/: no connection could be made (Connection refused); `lycosa fetch URL`"
    assert said in ended.stdout
    # Nothing is due yet when it goes on: what it waits for is told all the same.
    again = command("--folder", str(tmp_path / "c"))
    assert again.returncode == 3
    assert said in again.stdout


async def test_seeds_that_gave_no_page_are_named_with_a_remedy(web: HandWeb, space: Path) -> None:
    good = web.page("http://good.test/", page("/gone", title="Good"))
    gone = good.replace("good", "gone") + "missing"
    web.page("http://gone.test/", page(title="Not the seed"))
    forbidden = web.page("http://forbidden.test/", page(title="Secret"))
    web.robots("forbidden.test", "User-agent: *\nDisallow: /")
    moved = web.redirect("http://moved.test/", gone)
    await crawler_of(web, [good, gone, forbidden, moved], space / "c").run()
    missed = {each.seed: each for each in missed_seeds(CrawlFolder(space / "c"))}
    assert set(missed) == {gone, forbidden, moved}
    assert (missed[gone].outcome, missed[gone].reason, missed[gone].detail) == ("failed", "status", "404")
    assert (missed[moved].url, missed[moved].reason) == (gone, "status")
    assert missed[forbidden].reason == "robots"
    assert "ask there" in missed[forbidden].sentence()
    assert f"(led to {gone})" in missed[moved].sentence()


async def test_a_seed_that_came_at_the_second_try_is_not_missed(web: HandWeb, space: Path) -> None:
    seed = web.page("http://a.test/", page(title="Later"), status=503)
    tried = []
    async for visit in crawler_of(web, [seed], space / "c", retry_after_seconds=(0.5,)).outcomes():
        tried.append(visit.status)
        web.page("http://a.test/", page(title="Later"))
    assert tried == [503, 200]
    assert missed_seeds(CrawlFolder(space / "c")) == []


def test_a_crawl_that_was_not_let_to_its_only_seed_does_not_end_well(tmp_path: Path) -> None:
    ended = command("http://127.0.0.1:9/", "--folder", str(tmp_path / "c"))
    assert ended.returncode == 3
    assert "1 of the seeds gave no page" in ended.stdout
    assert "--open-network" in ended.stdout


# ---- whom to write to


@pytest.mark.parametrize(
    ("seed", "servers", "is_at_home"),
    [
        ("http://127.0.0.1:8000/", [], True),
        ("http://[::1]/", [], True),
        ("http://localhost/", [], True),
        ("http://a.localhost/", [], True),
        ("http://a.test/", ["127.0.0.1:53", "[::1]:53"], True),
        ("http://a.test/", ["127.0.0.1:53", "9.9.9.9"], False),
        ("http://example.org/", [], False),
        ("http://10.0.0.1/", [], False),
    ],
)
def test_whether_others_are_asked(seed: str, servers: list[str], is_at_home: bool) -> None:
    assert _is_at_home(Settings(dns_servers=servers), parse_seeds([seed])) is is_at_home


async def test_a_crawl_without_a_contact_says_so_once(
    web: HandWeb, space: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = some_pages(web, 2)
    await crawler_of(web, seeds, space / "home").run()
    assert NO_CONTACT not in caplog.text
    monkeypatch.setattr(session, "_is_at_home", lambda *_: False)
    await crawler_of(web, seeds, space / "named", user_agent="mybot/1.0 (+https://example.org/bot)").run()
    assert NO_CONTACT not in caplog.text
    await crawler_of(web, seeds, space / "away").run()
    assert [record.getMessage() for record in caplog.records].count(NO_CONTACT) == 1


# ---- nobody who looks


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "| true", "> /dev/full"])
def test_a_crawl_whose_output_goes_nowhere_ends_as_it_would(space: Path, closed: str) -> None:
    ended = _shell(f'"$@" {closed}', space, "--max-pages", "0")
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 3, "its only seed cannot be reached"


def _shell(line: str, space: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A crawl of nothing, whose exit code is told whatever stands behind a pipe."""
    seed = f"http://127.0.0.1:{_closed_port()}/"
    crawl = [sys.executable, "-m", "lycosa.cli.main", "crawl", seed, "--folder", str(space / "c"), *arguments]
    settings = ["--set", "max_wait_seconds=0.0", "--set", "retry_after_seconds=[]", "--open-network", "127.0.0.0/8"]
    script = f"set -o pipefail; {line}"
    command = ["bash", "-c", script, "bash", *crawl, *settings]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def _closed_port() -> int:
    import socket

    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        port: int = end.getsockname()[1]
        return port
