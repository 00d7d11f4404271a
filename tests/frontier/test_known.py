"""How often the filter of known URLs is wrong is measured, in both modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lycosa.figures import FilterFigures
from lycosa.frontier.rocks import known
from lycosa.frontier.rocks.database import Database
from lycosa.frontier.rocks.known import KnownUrls, SeenMode
from lycosa.frontier.tables import Batch


def marks(first: int, count: int) -> list[bytes]:
    """Fingerprints, spread as those of URLs are."""
    return [
        (number * 0x9E37_79B9_7F4A_7C15 & (1 << 64) - 1).to_bytes(8, "big") for number in range(first, first + count)
    ]


@contextmanager
def urls(folder: Path, mode: SeenMode, *, capacity: int, error: float, full: int) -> Iterator[KnownUrls]:
    """So many known URLs."""
    database = Database(folder)
    made = KnownUrls(database, mode, capacity, error)
    batch = Batch()
    batch.known = dict.fromkeys(marks(1, full), True)
    made.note(batch)
    try:
        yield made
    finally:
        database.close()


def test_the_rows_tell_where_the_filter_was_wrong(tmp_path: Path) -> None:
    with urls(tmp_path, "exact", capacity=1000, error=0.1, full=1000) as made:
        assert made.figures().new == 0
        # Nothing has a row here: all that looks known is a mistake of the filter, and is told as new.
        assert made.are_known(marks(50_000, 5000)) == [False] * 5000
        found = made.figures()
        assert found.new == 5000
        assert found.measured == pytest.approx(found.expected, rel=0.3)
        assert made.figures() == found, "being asked changes nothing where rows know better"


def test_a_filter_that_has_the_last_word_is_tried_out(tmp_path: Path) -> None:
    with urls(tmp_path, "bloom", capacity=100, error=0.1, full=150) as made:
        for _ in range(20):
            found = made.figures()
        assert found.new == 20 * 200
        assert found.measured == pytest.approx(found.expected, rel=0.3)
        made.are_known(marks(50_000, 5000))
        assert made.figures().new == 21 * 200, "whether those were new nobody knows"


def test_what_was_measured_long_ago_weighs_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_MAX_MEASURED", 300)
    with urls(tmp_path, "exact", capacity=1000, error=0.1, full=0) as made:
        for first in range(0, 2000, 100):
            made.are_known(marks(50_000 + first, 100))
        assert 200 <= made.figures().new <= 400


def test_a_filter_that_was_never_asked_was_never_wrong() -> None:
    assert FilterFigures(0.01, 100).measured == 0.0
