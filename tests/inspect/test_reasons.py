"""Reasons are codes with details; their sentences are told to people, and read back by nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lycosa
from lycosa.frontier.records import HostRecord, encode
from lycosa.frontier.tables import HISTORY, Batch
from lycosa.inspect import reasons
from lycosa.inspect.reasons import SENTENCES, sentence_of
from lycosa.inspect.why import Answer, explain
from lycosa.model import (
    Crash,
    Failure,
    History,
    Links,
    Note,
    OutcomeKind,
    Reason,
    Refusal,
    RenderCause,
    RenderEnd,
    Settlement,
    Visit,
)
from lycosa.observe.report_figures import gather
from lycosa.observe.report_page import render
from lycosa.observe.tally import Tally
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.url.fingerprint import Fingerprinter

from ..cli.rows import KEY, crawl_of

PACKAGE = Path(lycosa.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
CODES = [*Refusal, *Failure, *Crash, *Note, *RenderCause, *RenderEnd]
NOW = 1_700_000_000.0
URL = "http://a.test/x"


def test_every_code_has_a_sentence_of_its_own() -> None:
    assert set(SENTENCES) == set(CODES)
    assert len(set(CODES)) == len(CODES), "no code is in two sets"
    assert len(set(SENTENCES.values())) == len(SENTENCES)
    assert all(SENTENCES.values())


def test_a_code_is_one_word() -> None:
    assert all(code == code.lower() and code.replace("-", "").isalnum() for code in CODES)


def test_a_sentence_has_the_detail_in_brackets() -> None:
    assert sentence_of(Failure.STATUS, "404") == f"{SENTENCES[Failure.STATUS]} (404)"
    assert sentence_of("", "") == ""


def test_a_code_of_another_version_is_shown_as_it_is() -> None:
    assert sentence_of("no-such-code") == "no-such-code"
    assert sentence_of("no-such-code", "7") == "no-such-code (7)"


def test_a_reason_behind_a_reason_is_told_too() -> None:
    assert SENTENCES[Refusal.NAME] in sentence_of(Note.ROBOTS_PENDING, Refusal.NAME)
    assert sentence_of(Crash.CRASHED, "name") == f"{SENTENCES[Crash.CRASHED]} (name)", "only where it is one"


def test_the_docs_list_all_codes() -> None:
    listed = [line for line in (DOCS / "reasons.md").read_text().splitlines() if line.startswith("| `")]
    assert listed == [f"| `{code}` | {SENTENCES[code]} |" for code in CODES]


def test_the_sentences_stand_in_one_place() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path != Path(reasons.__file__):
            text = path.read_text(encoding="utf-8")
            assert not [sentence for sentence in SENTENCES.values() if f'"{sentence}' in text], path


# ---- nothing is read back


@pytest.fixture(params=["as they are", "worded anew", "all the same"])
def wording(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What is said of a code, in this wording of all of them."""
    match request.param:
        case "worded anew":
            said = {code: f"robots: {number}: moved (status)" for number, code in enumerate(CODES)}
        case "all the same":
            said = dict.fromkeys(CODES, "nobody knows")
        case _:
            said = dict(SENTENCES)
    monkeypatch.setattr(reasons, "SENTENCES", said)
    return said.__getitem__


def explained(outcome: OutcomeKind, reason: Reason, **facts: float) -> Answer:
    """What is said of a URL with such a row in the history."""
    batch = Batch()
    past = History(URL, outcome, NOW - 60, reason=reason.code, detail=reason.detail, **facts)  # type: ignore[arg-type]
    batch.put(HISTORY, Fingerprinter(KEY).fingerprint(URL), encode(past))
    return explain(crawl_of(batch, HostRecord("a.test", 1)), URL, NOW)


@pytest.mark.parametrize(
    ("refusal", "label", "off"),
    [
        (Refusal.VARIANT, "known as", "traps = false"),
        (Refusal.MIRROR, "crawled as", "traps = false"),
        (Refusal.ENDLESS, "so far", "patience = 1200, or traps = false"),
        (Refusal.ALIKE, "so far", "patience = 1200, or traps = false"),
        (Refusal.BARREN, "so far", "patience = 1200, or traps = false"),
    ],
)
def test_a_rule_against_endless_sites_is_told_with_its_figures(
    wording: Callable[[str], str], refusal: Refusal, label: str, off: str
) -> None:
    answer = explained(OutcomeKind.REFUSED, Reason(refusal, "12 of 7: so far"))
    facts = dict(answer.facts)
    assert answer.sentence == f"It was not requested: {wording(refusal)}."
    assert (facts["rule"], facts[label], facts["to let it in"]) == (refusal, "12 of 7: so far", off)


def test_what_else_was_refused_is_told_apart(wording: Callable[[str], str]) -> None:
    closed = explained(OutcomeKind.REFUSED, Reason(Refusal.ADDRESS, "10.0.0.1"))
    assert dict(closed.facts)["address"] == "10.0.0.1"
    assert wording(Refusal.ADDRESS) in closed.sentence
    forbidden = explained(OutcomeKind.REFUSED, Reason(Refusal.ROBOTS))
    assert dict(forbidden.facts)["robots.txt"] == "not read yet"


def test_a_redirect_tells_where_to(wording: Callable[[str], str]) -> None:
    del wording
    answer = explained(OutcomeKind.MOVED, Reason(Note.MOVED, "http://b.test/y"))
    assert dict(answer.facts)["redirect"] == "to http://b.test/y"


@pytest.mark.parametrize("code", [Crash.CPU, Crash.KILLED, Crash.EXITED])
def test_a_page_that_killed_its_workers_is_given_up_for_good(wording: Callable[[str], str], code: Crash) -> None:
    answer = explained(OutcomeKind.CRASHED, Reason(code, "7"))
    assert f"{wording(code)} (7)" in answer.sentence
    assert dict(answer.facts)["given up"].startswith("2 workers")
    assert "given up" not in dict(explained(OutcomeKind.CRASHED, Reason(code, "7"), next_at=NOW).facts)
    assert "given up" not in dict(explained(OutcomeKind.CRASHED, Reason(Crash.CRASHED, "ValueError: 7")).facts)


def test_the_tally_counts_by_code_and_status(wording: Callable[[str], str]) -> None:
    del wording
    tally = Tally(lambda: 0.0)
    tally.add(
        [
            Settlement(1, OutcomeKind.FAILED, status=404, reason=Reason(Failure.STATUS, "404")),
            Settlement(2, OutcomeKind.FAILED, status=500, reason=Reason(Failure.STATUS, "500")),
            Settlement(3, OutcomeKind.FAILED, reason=Reason(Failure.CONNECT, "to a.test: refused")),
            Settlement(4, OutcomeKind.FAILED, reason=Reason(Failure.CONNECT, "to b.test: refused")),
            Settlement(5, OutcomeKind.REFUSED, reason=Reason(Refusal.BARREN, "/{n}, 40 visits")),
            Settlement(6, OutcomeKind.MOVED, status=301, reason=Reason(Note.MOVED, "http://b.test/")),
            Settlement(7, OutcomeKind.STORED, status=200),
        ]
    )
    assert tally.reasons == {
        Reason("status", "404"): 1,
        Reason("status", "500"): 1,
        Reason("connect"): 2,
        Reason("barren"): 1,
    }


async def test_the_report_counts_by_code_and_status(wording: Callable[[str], str], tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path / "crawl")
    folder.create()
    store = FolderStore(folder, 0, Settings(), lambda: NOW)
    for number, (status, code, detail) in enumerate(
        [
            (404, Failure.STATUS, "404"),
            (404, Failure.STATUS, "404"),
            (0, Failure.CONNECT, "to a.test: refused"),
            (0, Failure.CONNECT, "to b.test: refused"),
            (500, Failure.STATUS, "500"),
            (404, Failure.STATUS, "404"),
        ]
    ):
        visit = Visit(f"{URL}{number}", "a.test", NOW, OutcomeKind.FAILED, status, reason=code, detail=detail)
        store.put(visit, None, None, Links([], [], []))
    await store.close()
    figures = gather(folder, NOW)
    assert [(skip.reason, skip.status, skip.visits) for skip in figures.skips] == [
        ("status", 404, 3),
        ("connect", 0, 2),
        ("status", 500, 1),
    ]
    assert [(host.reason, host.status) for host in figures.troubled] == [("status", 404)]
    page = render(figures)
    assert f"{wording(Failure.STATUS)} (404)" in page
    assert wording(Failure.CONNECT) in page
