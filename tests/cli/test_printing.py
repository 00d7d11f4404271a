from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.cli.arguments import parse_moment
from lycosa.cli.printing import print_json, print_table
from lycosa.errors import SettingsError
from lycosa.inspect.wording import duration, moment, size, visible, visible_lines


@given(st.text())
def test_nothing_visible_drives_a_terminal(text: str) -> None:
    for shown in (visible(text), visible_lines(text).replace("\n", "").replace("\t", "")):
        assert not any(character < " " or "\x7f" <= character < "\xa0" for character in shown)
        assert not any("\u202a" <= character <= "\u202e" for character in shown)


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S"))))
def test_what_harms_nobody_stays(text: str) -> None:
    assert visible(text) == text


def test_json_takes_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"title": "half \ud83d pair"})
    assert json.loads(capsys.readouterr().out) == {"title": "half \ud83d pair"}


def test_json_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\x1b \x7f \x9b31m \u202e \u2066"
    print_json(text)
    out = capsys.readouterr().out
    assert out.strip().isprintable()
    assert json.loads(out) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1900000000.5", 1900000000.5),
        ("2030-03-17", 1899936000.0),
        ("2030-03-17T17:46:40Z", 1900000000.0),
        ("2030-03-17 18:46:40+01:00", 1900000000.0),
    ],
)
def test_moments_are_read(text: str, seconds: float) -> None:
    assert parse_moment(text) == seconds


@pytest.mark.parametrize("text", ["", "tomorrow", "2030-13-01"])
def test_other_moments_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not a moment"):
        parse_moment(text)


def test_values_have_units() -> None:
    assert [duration(seconds) for seconds in (0.02, 5, 65, 7300, 200_000)] == [
        "20 ms",
        "5.0 s",
        "1 min 05 s",
        "2 h 01 min",
        "2 d 7 h",
    ]
    assert [size(count) for count in (999, 1500, 2e15)] == ["999 bytes", "1.5 kB", "2,000.0 TB"]
    assert (moment(0), moment(1e18)) == ("never", "1000000000000000000 s after 1970")


def test_a_table_in_a_pipe_is_aligned_for_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "n"], [("蜘蛛", 1), ("web", 23), (None, None)])
    assert capsys.readouterr().out.splitlines() == ["name   n", "蜘蛛   1", "web   23", ""]
