"""What a run has done, counted from settlements, and what its summary says of it."""

from __future__ import annotations

import msgspec
import pytest

from lycosa.model import NO_REASON, Failure, Note, OutcomeKind, Reason, RobotsNews, Settlement
from lycosa.observe.progress import CrawlSummary, OriginWaiting
from lycosa.observe.tally import HARVEST_PAGES, MAX_TROUBLED, OriginTrouble, Tally

DEAD = "http://a.test:3000"


REFUSED = Reason(Failure.CONNECT, "Connection refused")
SILENT = Reason(Failure.TIMEOUT)
BROKEN = Reason(Failure.STATUS, "503")


def read(origin: str, trouble: Reason = NO_REASON, next_try_at: float = 0.0) -> Settlement:
    """A visit to a robots.txt, which could be read if there was no trouble."""
    news = RobotsNews(origin, 1.0, next_try_at, b"", is_pending=bool(trouble), trouble=trouble)
    return Settlement(1, OutcomeKind.READ, robots=news, reason=trouble)


def test_an_origin_is_in_trouble_until_its_robots_txt_is_read() -> None:
    tally = Tally(lambda: 0.0)
    tally.add([read(DEAD, REFUSED, 300.0), read("http://a.test")])
    assert tally.troubled == {DEAD: OriginTrouble(REFUSED, 300.0)}
    tally.add([read(DEAD, BROKEN, 600.0)])
    assert tally.troubled == {DEAD: OriginTrouble(BROKEN, 600.0)}
    tally.add([read(DEAD)])
    assert tally.troubled == {}


def test_every_try_of_a_robots_txt_is_counted_by_its_trouble() -> None:
    tally = Tally(lambda: 0.0)
    tally.add([read(DEAD, SILENT, 1.0), read("http://b.test", SILENT, 1.0), read(DEAD)])
    assert tally.reasons == {Reason(Note.ROBOTS_PENDING, "timeout"): 2}


def test_what_is_kept_of_origins_in_trouble_is_bounded() -> None:
    tally = Tally(lambda: 0.0)
    tally.add([read(f"http://h{number}.test", SILENT, 1.0) for number in range(MAX_TROUBLED + 10)])
    assert len(tally.troubled) == MAX_TROUBLED


def summary_with(*troubled: OriginWaiting) -> CrawlSummary:
    fields = {field.name: 0 for field in msgspec.structs.fields(CrawlSummary)}
    words = {
        "ending": "incomplete",
        "folder": "crawl",
        "reasons": [],
        "missed_seeds": [],
        "left_out": [],
        "robots_ignored": [],
        "seconds": 1.0,
        "pages_per_second": 1.0,
        "changes": {},
        "freshness": None,
        "has_report": False,
    }
    return msgspec.convert(
        {**fields, **words, "troubled": [msgspec.to_builtins(each) for each in troubled]}, CrawlSummary
    )


def test_the_summary_names_the_origins_that_wait_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    summary_with(OriginWaiting(DEAD, "connect", "Connection refused", 86_400.0)).show()
    said = capsys.readouterr().out
    assert f"{DEAD}: no connection could be made (Connection refused), to be tried again at 1970-01-02" in said


def test_of_many_origins_the_summary_shows_some(capsys: pytest.CaptureFixture[str]) -> None:
    summary_with(*(OriginWaiting(f"http://h{number}.test", "timeout", "", 0.0) for number in range(12))).show()
    said = capsys.readouterr().out
    assert said.count(": the answer took too long, ") == 5
    assert "and 7 more" in said
    summary_with().show()
    assert "set aside" not in capsys.readouterr().out


def test_the_harvest_of_late_counts_pages_that_were_read() -> None:
    tally = Tally(lambda: 0.0)
    assert tally.harvest() == 0.0
    tally.add([Settlement(1, OutcomeKind.STORED, on_topic=True), Settlement(2, OutcomeKind.DUPLICATE)])
    tally.add([Settlement(3, OutcomeKind.MOVED), Settlement(4, OutcomeKind.UNCHANGED), read(DEAD)])
    assert (tally.on_topic, tally.harvest()) == (1, 0.5)
    tally.add([Settlement(5, OutcomeKind.STORED)] * HARVEST_PAGES)
    assert (tally.on_topic, tally.harvest()) == (1, 0.0)


def test_the_summary_tells_the_harvest_of_a_crawl_with_a_topic_alone(capsys: pytest.CaptureFixture[str]) -> None:
    msgspec.structs.replace(summary_with(), on_topic=15, harvest=0.125).show()
    assert "on topic 15, 12.5% of the pages that were read" in capsys.readouterr().out
    msgspec.structs.replace(summary_with(), harvest=None).show()
    assert "on topic" not in capsys.readouterr().out
