"""The comparison of readers counts right; how good or fast anything is, no test says."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from lycosa.bench.install import Cache
from lycosa.bench.quality import content, detectors
from lycosa.bench.quality.content import Validated, measure_content
from lycosa.bench.quality.detectors import LABELLED, READ, measure_encodings
from lycosa.bench.quality.duplicates import Edit, edited, found_of_edits, pairs
from lycosa.bench.quality.encodings import Labelled, pages_written_anew
from lycosa.bench.quality.page import markdown
from lycosa.bench.quality.readers import ContentReader, Ours, Peer, open_peers
from lycosa.bench.quality.run import QualityPlan, measure_quality
from lycosa.bench.quality.scoring import ScoreTally, precision_recall, segments
from lycosa.cli.main import main
from lycosa.errors import SettingsError

from .. import suites

PROSE = "Die Bäume im Park wurden früh gefällt, weil sie über die Straße zu stürzen drohten und niemand sie stützte. "
MENU = "<nav>" + "".join(f'<a href="/{n}">Rubrik {n}</a>' for n in range(20)) + "</nav>"


def nobody(_: str) -> None:
    """Hears what the comparison says."""


def page_of(number: int) -> dict[str, str]:
    text = "\n".join(f"{PROSE}Absatz {number} {part}." * 3 for part in range(4))
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    html = (
        f"<html><head><meta charset=utf-8><title>Seite</title></head><body>{MENU}<article>{paragraphs}</article></body>"
    )
    return {"id": str(number), "html": html, "text": text, "url": f"http://a{number}.example/"}


@pytest.fixture(name="data")
def small_data(tmp_path: Path) -> Path:
    """A data folder of three pages and two files."""
    folder = tmp_path / "data"
    pages = folder / "extraction" / "small"
    pages.mkdir(parents=True)
    rows = [page_of(number) for number in range(3)]
    with gzip.open(pages / "html.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"id": row["id"], "html": row["html"]}) + "\n" for row in rows)
    with (pages / "truth.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps({key: row[key] for key in ("id", "text", "url")}) + "\n" for row in rows)
    for name, charset in {
        "chardet-tests/windows-1252/a.txt": "cp1252",
        "uchardet-tests/de/utf-16.le": "utf-16le",
    }.items():
        file = folder / "conformance" / "encoding" / name
        file.parent.mkdir(parents=True)
        file.write_bytes((PROSE * 3).encode(charset))
    return folder


class Fixed:
    """A reader that always gives the same answer."""

    def __init__(self, name: str, found: str) -> None:
        self._reader = Ours(name, lambda _: found, prepare=lambda question: question)
        self.name, self.ask = name, self._reader.ask


# Scoring


@pytest.mark.parametrize(
    ("truth", "found", "expected"),
    [
        ("a b c d e", "a b c d e", (1.0, 1.0)),
        ("a b c d e", "a b c d e f", (2 / 3, 1.0)),
        ("a b c d e", "", (0.0, 0.0)),
        ("a b", "a b", (1.0, 1.0)),
        ("中文网页正文", "中文网页", (1.0, 1 / 3)),
    ],
)
def test_runs_of_four_tokens_are_counted(truth: str, found: str, expected: tuple[float, float]) -> None:
    assert precision_recall(truth, found) == pytest.approx(expected)


def test_segments_are_counted_whatever_their_spaces() -> None:
    truth = {"with": ["one  two", "three"], "without": ["menu"]}
    assert segments(truth, "Menu menu\none two") == (1, 1, 1)
    tally = ScoreTally()
    tally.add(truth, "Menu menu\none two")
    assert tally.figures() == pytest.approx((0.5, 0.5, 0.5))


def test_an_empty_answer_lowers_recall_alone() -> None:
    tally = ScoreTally()
    tally.add({"text": "a b c d e"}, "a b c d e")
    tally.add({"text": "a b c d e"}, " ")
    assert tally.figures() == pytest.approx((1.0, 0.5, 2 / 3))


def test_scores_are_those_of_the_sets_own_script() -> None:
    texts = [page_of(number)["text"] for number in range(3)] + ["日本語の 文章 is mixed, isn't it?", "", "two words"]
    ours = []
    for truth in texts:
        for found in (*texts, texts[0][:500] + texts[1][200:]):
            parts = {"with": [truth[:20], truth[50:80]], "without": [truth[-9:]]}
            ours.append([list(precision_recall(truth, found)), list(segments(parts, found))])
    assert ours == suites.load("extraction/scores.json")


# Content


def test_everybody_is_counted_on_the_same_pages(data: Path) -> None:
    perfect = page_of(0)["text"]
    figures = measure_content(data, [content.our_reader(), Fixed("first only", perfect)], 1, 60, nobody)
    assert figures.pages == {"small": 1}
    assert figures.f1["first only"]["small"] == 1.0
    assert 0.5 < figures.f1["lycosa"]["small"] <= 1.0
    table = content.f1_table(figures)
    assert "| first only | 1.000 | 1.000 |" in table
    assert "which may have learnt from these pages" in table


def test_the_time_is_shared_by_sets_and_over_for_all(data: Path) -> None:
    figures = measure_content(data, [Fixed("slow", "")], 9, -1.0, nobody)
    assert figures.pages == {}


def test_figures_of_the_training_count_only_for_its_model_and_its_pages() -> None:
    known = content.validated()
    sets = dict.fromkeys(known.sets, 0) | {sorted(known.sets)[0]: known.pages}
    assert known.is_about(sets), (
        "the model was made anew without its figures: run tools/train_content.py with --figures"
    )
    assert not known.is_about(sets | {"another": 0})
    assert not known.is_about(dict.fromkeys(known.sets, 1))
    assert not Validated(known.pages, known.sites, known.folds, known.sets, "0123").is_about(sets)


# Encodings


def test_a_right_text_is_right_whatever_the_charset_is_called(data: Path) -> None:
    readers: list[ContentReader] = [detectors.our_reader(), Fixed("latin", "ISO-8859-1"), Fixed("silent", "")]
    figures = measure_encodings(data, readers, nobody)
    assert figures.counts[LABELLED] == 2
    assert figures.right["lycosa"] == figures.counts
    assert figures.right["latin"][LABELLED] == figures.right["silent"][LABELLED] == 1
    assert figures.wrong == []
    assert f"| **lycosa** | 100.0% | {'100.0% | ' * (len(figures.counts) - 1)}" in detectors.encoding_table(figures)
    assert figures.counts[READ] == 9  # three pages in windows-1252, ISO 8859-15 and MacRoman


def test_pages_written_anew_declare_nothing(data: Path) -> None:
    files = list(pages_written_anew(data))
    assert {file.label for file in files} == {"cp1252", "iso8859-15", "mac-roman"}
    assert not any(b"charset" in file.body for file in files)
    assert all(file.is_read_as(file.body.decode(file.label)) for file in files)


def test_a_label_that_nothing_can_decode_makes_every_text_wrong() -> None:
    assert not Labelled("x", "euc-tw", b"abc").is_read_as("abc")


# Near duplicates


def test_pairs_and_edits_are_counted() -> None:
    assert pairs("aabbbc") == 4
    found = found_of_edits([Edit(0.95, True), Edit(0.95, False), Edit(0.8, True), Edit(0.8, False)])
    assert (found.true, found.said, found.hits, found.precision, found.recall) == (2, 2, 1, 0.5, 0.5)


def test_edits_of_a_text_leave_about_as_much_as_wanted() -> None:
    texts = [" ".join(f"word{(seed * 7 + n * n) % 997}" for n in range(400)) for seed in range(8)]
    edits = edited(texts)
    assert len(edits) == 32
    assert all(0.6 < each.resemblance <= 1.0 for each in edits)
    assert found_of_edits([each for each in edits if abs(each.resemblance - 0.9) > 0.03]).precision == 1.0


# Peers


@pytest.fixture(name="peers")
def pretended_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An interpreter that starts, with peers that answer as told."""
    script = tmp_path / "readers.py"
    script.write_text(
        "import json, sys\n"
        "name = sys.argv[1]\n"
        "if name == 'dies': sys.exit(1)\n"
        "print(json.dumps({'missing': 'no module' if name == 'absent' else '', 'version': '1.0'}), flush=True)\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    if name == 'tires' and number == 1: sys.exit(1)\n"
        "    print(json.dumps({'found': json.loads(line)['html'].upper(), 'seconds': 0.5}), flush=True)\n"
    )
    monkeypatch.setattr("lycosa.bench.quality.readers._SCRIPT", script)
    return iter([Path(sys.executable)])


def test_a_peer_answers_from_its_own_process(peers: Iterator[Path]) -> None:
    said: list[str] = []
    with open_peers(next(peers), ("shouts", "absent", "dies", "tires"), said.append) as found:
        assert [peer.name for peer in found] == ["shouts 1.0", "tires 1.0"]
        shouts, tires = found
        assert shouts.ask({"html": "é"}) == ("É", 0.5)
        assert tires.ask({"html": "a"}).found == "A"
        assert tires.ask({"html": "a"}) == ("", 0.0)
        assert shouts.ask({"html": "still there"}).found == "STILL THERE"
    assert said == ["absent: left out, no module", "dies: left out, it did not start"]
    assert isinstance(shouts, Peer)
    assert shouts.ask({"html": "over"}) == ("", 0.0)


def test_without_an_installation_there_are_no_peers(tmp_path: Path) -> None:
    with open_peers(Cache(tmp_path).readers_python, content.PEERS, nobody) as found:
        assert found == []


def test_the_script_of_the_peers_says_what_is_missing() -> None:
    # Beside this interpreter is turbohtml, which lycosa needs, and a peer that nobody has.
    said: list[str] = []
    with open_peers(Path(sys.executable), ("turbohtml main_text", "chardet"), said.append) as found:
        assert [peer.name.split()[0] for peer in found] == ["turbohtml", "chardet"]
        assert "Absatz 0" in found[0].ask(page_of(0)).found
        assert found[1].ask({"body": "4OHi4+Tl"}).found != ""
        assert found[1].ask({"body": "not base64"}).found == ""


# The page


def test_the_page_has_every_table(data: Path, tmp_path: Path) -> None:
    plan = QualityPlan(data, tmp_path / "nowhere", hosts=4)
    page = markdown(measure_quality(plan, date(2024, 5, 17), nobody))
    assert "Measured on 2024-05-17" in page
    for start in ("| F1 |", "| CPU per page", "| right, text for text |", "| | pairs alike |", "| signature, "):
        assert start in page
    assert "No peer is installed" in page
    assert "$" not in page


def test_one_command_writes_the_page(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "quality.md"
    nowhere = str(tmp_path / "cache")
    options = ["--data", str(data), "--write", str(page), "--cache", nowhere, "--hosts", "2", "--pages", "1"]
    assert main(["bench", "extraction", *options]) == 0
    assert page.read_text(encoding="utf-8").startswith("# Quality\n")


def test_a_folder_without_labelled_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no labelled pages"):
        measure_quality(QualityPlan(tmp_path, tmp_path), date(2024, 5, 17), nobody)
    assert main(["bench", "extraction", "--data", str(tmp_path), "--cache", str(tmp_path)]) == 2
    assert main(["bench", "extraction", "--cache", str(tmp_path)]) == 2
