from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

import lycosa
from lycosa.cli import simweb
from lycosa.simweb.hostile import BEHAVIOURS

from .fixtures import ask

_MAIN = """
import argparse, sys
from lycosa.cli import simweb
parser = argparse.ArgumentParser()
simweb.add_parser(parser.add_subparsers())
args = parser.parse_args()
sys.exit(args.run(args))
"""


def _run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    simweb.add_parser(parser.add_subparsers())
    args = parser.parse_args(["simweb", *words])
    code = args.run(args)
    assert isinstance(code, int)
    return code


def test_the_truth_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("truth", "--hosts", "5") == 0
    assert "seed            http://" in capsys.readouterr().out


def test_the_truth_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--profile", "clean", "truth", "--hosts", "2", "--pages", "3", "--port", "8080", "--json") == 0
    truth = json.loads(capsys.readouterr().out)
    assert len(truth["pages"]) == 6
    assert all(":8080/" in page["url"] for page in truth["pages"])


def test_a_page_is_printed_as_it_is_served(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert _run("page", "http://h00000.test:99/", "--profile", "bench") == 0
    printed = capfdbinary.readouterr()
    assert printed.out.startswith(b"<!doctype html>")
    assert printed.err.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_page_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("page", "http://h00000.test:99/none", "--profile", "bench", "--json") == 0
    assert json.loads(capsys.readouterr().out)["status"] == 404


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--profile", "calm"), "clean, mixed, traps, bench"),
        (("truth", "--hosts", "0"), "0 x 20"),
        (("page", "ftp://h00000.test/"), "no URL of a simulated web"),
        (("serve", "--hosts", "1", "--log", "/nowhere/log"), "/nowhere/log"),
    ],
)
def test_bad_options_end_with_2_and_a_sentence(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(*words) == 2
    assert expected in capsys.readouterr().err


def test_help_explains_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _run("--help")
    assert "deterministic internet" in capsys.readouterr().out


async def test_serving_prints_a_crawl_command_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    home = str(Path(lycosa.__file__).parents[1])
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _MAIN, "simweb", "--hosts", "3", "--log", str(tmp_path / "log"), "--json",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": home},
    )  # fmt: skip
    assert child.stdout is not None
    async with asyncio.timeout(60):
        ready = json.loads(await child.stdout.readline())
        assert (await ask(ready["seeds"][0])).status == 200
        assert "--open-network 127.0.0.0/8" in ready["crawl"]
        assert ready["dns_address"] in ready["crawl"]
        child.send_signal(signal.SIGINT)
        assert await child.wait() == 0
    assert len((tmp_path / "log").read_text().splitlines()) == 1


async def test_the_worst_of_the_web_is_served_by_name() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _MAIN, "simweb", "serve", "--hostile",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(lycosa.__file__).parents[1])},
    )  # fmt: skip
    assert child.stdout is not None
    async with asyncio.timeout(60):
        said = (await child.stdout.readuntil(b"Ctrl-C stops\n")).decode()
        seed = said.partition("seed: ")[2].split()[0]
        assert (await ask(seed)).status == 200
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    hosts = {line.split()[0] for line in said.splitlines() if line.startswith("  ") and ".test" in line}
    assert hosts >= {"calendar.test", *(f"{name}.bad.test" for name in BEHAVIOURS)}
