"""How a crawl begins, and goes on: what its folder must have, what is planted, what is said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lycosa import Crawler
from lycosa.crawl import session
from lycosa.crawl.session import NO_CONTACT, _is_at_home
from lycosa.errors import SettingsError
from lycosa.settings import Settings
from lycosa.simweb import HandWeb
from lycosa.url.canonical import parse_seeds

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


@pytest.mark.parametrize("damage", [b"", b"\n\n", b"\xff\xfe\x00"], ids=["empty", "blank", "not UTF-8"])
async def test_seeds_that_cannot_be_read_are_an_error(web: HandWeb, space: Path, damage: bytes) -> None:
    await crawler_of(web, some_pages(web, 1), space / "c").run()
    (space / "c" / "seeds.txt").write_bytes(damage.strip(b"\n") if damage == b"" else damage)
    with pytest.raises(SettingsError, match=r"seed"):
        await crawler_of(web, [], space / "c").run()


def test_settings_that_are_gone_are_an_error_and_never_defaults(tmp_path: Path) -> None:
    (tmp_path / "lycosa.toml").write_text("# nothing\n")
    ended = command("http://127.0.0.1:9/", "--folder", str(tmp_path))
    assert ended.returncode == 2
    assert "lycosa.toml: the settings of this crawl are gone" in ended.stderr
    (tmp_path / "lycosa.toml").write_bytes(b"\xff")
    assert command("http://127.0.0.1:9/", "--folder", str(tmp_path)).returncode == 2


# ---- seeds


async def test_seeds_that_a_killed_crawl_did_not_plant_are_planted_by_the_next(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = some_pages(web, 7)
    monkeypatch.setattr(session, "SEEDS_AT_ONCE", 2)
    real, calls = session.note_planted, 0

    class Killed(BaseException):
        pass

    def targets_until_killed(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Killed
        return plant(*arguments)

    crawler = crawler_of(web, seeds, space / "c")
    from lycosa import build

    plant = build.seed_targets
    monkeypatch.setattr(build._Wiring, "seed_targets", staticmethod(targets_until_killed))
    with pytest.raises(Killed):
        await crawler.run()
    monkeypatch.undo()
    assert real is session.note_planted
    assert (await crawler_of(web, [], space / "c").run()).pages == 7


async def test_seeds_are_planted_once(web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lycosa import build

    plant, planted = build.seed_targets, list[str]()

    def noted(settings: Settings, seeds: Any, key: bytes) -> Any:
        planted.extend(seed.url for seed in seeds)
        return plant(settings, seeds, key)

    monkeypatch.setattr(build._Wiring, "seed_targets", staticmethod(noted))
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
def test_a_crawl_whose_output_goes_nowhere_ends_as_it_would(web: HandWeb, space: Path, closed: str) -> None:
    ended = _shell(f'"$@" {closed}', space, "--max-pages", "0")
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0


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
