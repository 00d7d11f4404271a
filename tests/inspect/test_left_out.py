"""What of what was left out may be missed."""

from __future__ import annotations

from lycosa.inspect.left_out import LeftOut, unseen_share


def test_what_has_no_end_or_said_something_now_and_then_may_be_missed() -> None:
    assert unseen_share([LeftOut("a.test", "endless", 50)], 50) == 0.5
    assert unseen_share([LeftOut("a.test", "alike", 30), LeftOut("b.test", "endless", 20)], 150) == 0.25


def test_copies_and_other_names_of_pages_are_not_missed() -> None:
    nothing = [LeftOut("a.test", rule, 10_000) for rule in ("barren", "mirror", "variant")]
    assert unseen_share(nothing, 10) == 0.0
    assert unseen_share([], 0) == 0.0
