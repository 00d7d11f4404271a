from __future__ import annotations

from lycosa.inspect.differences import LineChange, differences


def test_changed_lines_are_told_with_some_around_them() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:5], "five is new", *old[6:30], *old[31:]]
    told = list(differences("\n".join(old), "\n\n".join(new)))
    assert [each for each in told if each.kind in "+-"] == [
        LineChange("-", "line 5"),
        LineChange("+", "five is new"),
        LineChange("-", "line 30"),
    ]
    assert [each.kind for each in told].count("gap") == 1
    assert LineChange(" ", "line 4") in told
    assert LineChange(" ", "line 20") not in told


def test_where_only_white_space_changed_nothing_did() -> None:
    assert not list(differences("a\n\n b", "a\nb\n"))
