"""Several machines that crawl together into an object store: judged by what can be read back from there."""

from __future__ import annotations

import json
import re
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.audit import Question, audit
from lycosa.cli.main import main
from lycosa.inspect.opened import folder_settings
from lycosa.store.mirror import MirroredFolder
from lycosa.store.objects import Objects

from ..crawl import evidence
from ..crawl.command import Running, start
from ..crawl.witness import WitnessedWeb
from ..store.object_server import ObjectServer, use, wait_for
from .redis_servers import RedisServer
from .together import CONNECTIONS, SETTINGS, plan, save_evidence

IN_FLIGHT = 2 * CONNECTIONS


class Store:
    """A simulated web, a Redis, an object store; machines that know all three."""

    def __init__(self, space: Path, web: WitnessedWeb, redis: RedisServer, server: ObjectServer) -> None:
        self.space = space
        self.web = web
        self.server = server
        self.place = server.place("web/1")
        self._address = redis.address

    def spool(self, name: str) -> Path:
        return self.space / f"{name}.spool"

    def start(self, name: str) -> Running:
        settings = {**SETTINGS, "frontier": self._address, "machine": name, "parquet_rows": 5, "warc_bytes": 60_000}
        spool = ("--spool", str(self.spool(name)))
        return start(self.web, str(self.place), *spool, *self.web.seeds, said_in=self.space / name, **settings)

    def wait_for_all(self) -> None:
        """Return when every page has been asked for."""
        wanted = {url.partition("://")[2] for url in self.web.truth().reachable}
        port = f":{self.web.origin_port}"
        self.web.wait_for(lambda heard: wanted <= {each.host + port + each.path for each in heard})

    def assert_whole(self, extra: int = 0) -> None:
        """All that was crawled is in the store, and an audit of that finds nothing."""
        names = [name.removesuffix(".spool") for name in (path.name for path in self.space.glob("*.spool"))]
        assert [path for name in names for path in self.spool(name).glob("*/lycosa-*")] == [], "all has left"
        log, truth = save_evidence(self.space, self.web.requests, self.web.truth())
        folder = MirroredFolder(Objects(self.place))
        question = Question(log=log, truth=truth, host_gap_seconds=0.0 if extra else None, has_links=True)
        report = audit([folder], folder_settings(folder), question)
        # What a machine kept of a visit that nobody settled stands beside its repeat.
        report.allowed |= {"extra": extra, "late": extra, "doubled": extra}
        assert report.is_clean(), report.as_json()
        answered = {url for url in self.web.truth().reachable if self.web.truth().pages[url].status == 200}
        kept = {row["url"] for row in evidence.pages(folder.path) if row["outcome"] in evidence.KEPT}
        assert answered <= kept
        assert self.server.unfinished() == []


@pytest.fixture
def store(space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with RedisServer() as redis, ObjectServer() as server, WitnessedWeb(plan(12, 5), space) as web:
        use(server, monkeypatch)
        yield Store(space, web, redis, server)


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    capsys.readouterr()
    assert main(command) == 0
    return capsys.readouterr().out


def test_two_machines_crawl_into_one_place(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with store.start("one") as one, store.start("two") as two:
        for ended in (one.end(), two.end()):
            assert (ended.exit_code, ended.summary["ending"]) == (0, "finished"), ended.said
            assert ended.summary["folder"] == str(store.place)
    store.assert_whole()
    machines = {key.split("-")[2] for key in store.server.keys() if "/warc/" in key}
    assert machines <= {"one", "two"}
    assert "web/1/report.html" in store.server.keys()
    assert said(capsys, "page", store.web.seeds[0], "--raw", "--folder", str(store.place)).lower().count("<html") == 1
    history = said(capsys, "query", "SELECT count(*) AS n FROM history", "--json", "--folder", str(store.place))
    assert json.loads(history)["n"] > 12
    status = json.loads(said(capsys, "status", "--json", "--folder", str(store.place)))
    assert status["state"] == "finished: everything known has been visited"
    assert status["disk_bytes"] > 10_000
    assert (
        json.loads(said(capsys, "why", store.web.seeds[0], "--json", "--folder", str(store.place)))["state"] == "stored"
    )
    wacz = store.space / "crawl.wacz"
    said(capsys, "export", "--format", "wacz", "--out", str(wacz), "--folder", str(store.place))
    assert zipfile.is_zipfile(wacz)


def test_a_machine_killed_in_the_middle_of_an_upload_comes_back_and_ends_it(store: Store) -> None:
    # The settings and seeds pass; somewhere in the files everything stands still.
    store.server.gateway.hold_after(60_000)
    with store.start("one") as one:
        wait_for(store.server.gateway.is_full)
        one.kill_all()
    store.server.gateway.open()
    with store.start("one") as one:
        ended = one.end()
    assert ended.exit_code == 0, ended.said
    store.assert_whole(extra=IN_FLIGHT)


@pytest.mark.full
def test_a_store_that_is_away_while_all_is_crawled_gets_it_afterwards(store: Store) -> None:
    with store.start("one") as one:
        store.web.wait_for_requests(store.web.plan.hosts)
        store.server.gateway.shut()
        store.wait_for_all()
        wait_for(store.server.gateway.was_refused)
        store.server.gateway.open()
        ended = one.end()
    assert ended.exit_code == 0, ended.said
    store.assert_whole()


@pytest.mark.full
def test_who_stops_while_the_store_is_away_keeps_the_rest_and_the_same_command_ships_it(store: Store) -> None:
    with store.start("one") as one:
        store.web.wait_for_requests(store.web.plan.hosts)
        store.server.gateway.shut()
        store.wait_for_all()
        wait_for(store.server.gateway.was_refused)
        one.signal(signal.SIGINT)
        ended = one.end()
    assert ended.exit_code == 1
    assert re.search(r"[1-9]\d* files wait in .*one\.spool, the same command goes on", ended.said)
    store.server.gateway.open()
    with store.start("one") as one:
        ended = one.end()
    assert ended.exit_code == 0, ended.said
    store.assert_whole(extra=IN_FLIGHT)


def test_an_object_store_that_cannot_be_used_is_said_before_anything_is_fetched(store: Store) -> None:
    store.place = store.place._replace(bucket="no-such-bucket")
    with store.start("one") as one:
        ended = one.end()
    assert ended.exit_code == 2
    assert "NoSuchBucket" in ended.said
    assert store.web.requests == []
