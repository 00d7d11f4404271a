from __future__ import annotations

import argparse
import io
import json

import pytest

from lycosa.cli import urls
from lycosa.errors import SettingsError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    urls.add_parser(parser.add_subparsers())
    args = parser.parse_args(["urls", *words])
    code = args.run(args)
    assert isinstance(code, int)
    return code


def test_it_prints_the_url_to_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("HTTP://A.com/b/../c#d", "mailto:x") == 0
    assert capsys.readouterr().out.splitlines() == [
        "http://a.com/c",
        "mailto:x  rejected: its scheme is not http or https",
    ]


def test_it_reads_lines_where_no_url_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("x\n/y\n"))
    assert run("--base", "http://a/b/") == 0
    assert capsys.readouterr().out.splitlines() == ["http://a/b/x", "http://a/y"]


def test_it_explains_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    run("--explain", "--rules", "sort_query,drop_www", "http://www.a.com/?b&a#c")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["http://www.a.com/?b&a#c"],
        ["drop_fragment", "http://www.a.com/?b&a"],
        ["drop_www", "http://a.com/?b&a"],
        ["sort_query", "http://a.com/?a&b"],
        ["fetch", "http://www.a.com/?b&a"],
        ["dedup", "key", "http://a.com/?a&b"],
    ]


def test_it_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    run("--json", "http://a/#b", "http://a:0/")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["url"], first["rejection"], first["steps"][0]["rule"]) == ("http://a/", None, "drop_fragment")
    assert second["rejection"] == "bad_port"


def test_no_control_character_of_a_url_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run("--explain", "http://a/\x1b[2J", "tel:\x1b[2J")
    run("tel:\x1b[2J\ud800")
    assert "\x1b" not in capsys.readouterr().out


def test_an_unknown_rule_is_an_error_of_the_operator() -> None:
    with pytest.raises(SettingsError, match="no such rule 'nonsense'"):
        run("--rules", "nonsense", "http://a/")
