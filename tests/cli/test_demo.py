from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from lycosa.cli.demo import compare
from lycosa.cli.main import main
from lycosa.simweb.layout import Layout
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.truth import truth_of
from lycosa.simweb.web import seeds_of
from lycosa.store.folder import CrawlFolder

from .world import World, lycosa


def test_the_demo_finds_everything_and_says_what_to_try(tmp_path: Path) -> None:
    options = ["demo", "--hosts", "3", "--pages", "6", "--folder", "demo"]
    done = lycosa(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Everything was found" in done.stdout
    assert "lycosa why" in done.stdout
    search = next(line for line in done.stdout.splitlines() if "lycosa search" in line)
    assert lycosa(*shlex.split(search)[1:], cwd=tmp_path).stdout.startswith("\n1. "), "what is to be tried finds a page"
    assert (tmp_path / "demo" / "report.html").read_text().startswith("<!doctype html>")
    again = lycosa(*options, cwd=tmp_path)
    assert again.returncode == 2
    assert "there is a crawl in this folder already" in again.stderr


def test_the_demo_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--hosts", "1", "--pages", "3", "--folder", str(tmp_path / "demo"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["holds"]
    assert facts["found"] == facts["expected"] > 0


def test_a_web_without_pages_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--hosts", "0"]) == 2
    assert "a web needs a host" in capsys.readouterr().err


def test_a_crawl_of_another_web_does_not_pass(world: World) -> None:
    layout = Layout(WebPlan.named("clean", hosts=1, pages_per_host=3))
    comparison = compare(CrawlFolder(world.folder.path), truth_of(layout, 80, seeds_of(layout, 80)))
    assert not comparison.holds
    assert comparison.missing
    assert world.url("/one") in comparison.extra
