from __future__ import annotations

import csv
import io
import json

import pytest

from lycosa.cli.main import main

from .world import HOSTILE_TITLE, World


def ask(world: World, sql: str, capsys: pytest.CaptureFixture[str], style: str = "json") -> str:
    assert main(["query", sql, *world.place, "--format", style]) == 0
    return capsys.readouterr().out


def test_pages_and_links_are_views(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    joined = "pages JOIN links ON target = url WHERE outcome = 'refused'"
    sql = f"SELECT url, count(*) AS n FROM {joined} GROUP BY ALL"
    assert json.loads(ask(world, sql, capsys)) == {"url": world.url("/private/x"), "n": 1}


def test_history_and_hosts_come_from_the_frontier(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    due = json.loads(ask(world, "SELECT url, visits, status FROM history WHERE next_at IS NOT NULL", capsys))
    assert due == {"url": world.url("/broken"), "visits": 1, "status": 503}
    hosts = ask(world, "SELECT host, address, crawl_delay_seconds FROM hosts ORDER BY host", capsys).splitlines()
    assert [json.loads(line)["host"] for line in hosts] == ["a.test", "closed.test"]
    same = "SELECT count(*) AS n FROM pages JOIN history USING (url, digest) WHERE pages.digest <> ''"
    assert json.loads(ask(world, same, capsys))["n"] == 6


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("COPY pages TO 'x.csv'", "a query can only read"),
        ("SET threads = 1", "a query can only read"),
        ("SELECT 1; DROP VIEW pages", "a query can only read"),
        ("INSTALL httpfs", "a query can only read"),
        ("SELEC 1", "cannot be read"),
        ("SELECT nope FROM pages", "nope"),
        (" ", "the query is empty"),
    ],
)
def test_only_reading_is_allowed_and_errors_are_sentences(
    world: World, sql: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", sql, *world.place]) == 2
    assert message in capsys.readouterr().err


def test_csv_cells_are_no_formulas(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(ask(world, "SELECT title, -1 FROM pages WHERE depth = 0", capsys, "csv"))))
    title = next(title for title, _ in rows[1:] if "cmd()" in title)
    assert title.startswith("'=cmd()")
    assert rows[1][1] == "-1"


def test_a_table_is_plain_text_without_escapes(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    out = ask(world, "SELECT title FROM pages WHERE title LIKE '=%'", capsys, "table")
    assert out.splitlines()[0] == "title"
    assert "\\x1b]0;owned\\x07" in out
    assert HOSTILE_TITLE not in out


def test_json_keeps_every_character(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    out = ask(world, "SELECT title FROM pages WHERE title LIKE '=%'", capsys)
    assert "\x1b" not in out
    assert json.loads(out)["title"] == " ".join(HOSTILE_TITLE.split())


def test_a_long_table_says_that_it_was_cut(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "SELECT * FROM range(1001)", *world.place]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1001
    assert "only the first 1,000 rows" in said.err


@pytest.mark.parametrize("style", ["json", "csv", "table"])
def test_times_say_that_they_are_in_utc(world: World, capsys: pytest.CaptureFixture[str], style: str) -> None:
    answer = ask(world, "SELECT max(fetched_at) AS at FROM pages", capsys, style).strip().splitlines()[-1]
    assert answer.rstrip('"}').endswith(("Z", "+00:00", " UTC"))
