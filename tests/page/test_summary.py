from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.page.sentences import MAX_SENTENCE_CHARS, sentences_of
from lycosa.page.summary import (
    MAX_CHARS,
    METHODS,
    Method,
    damped,
    inverse_frequency,
    summarise,
    why,
)

TITLE = "男友只要發脾氣就會亂摔東西"
# Of the worked example: the words of the title, in how many of 815 sentences each stands, and its IDF and TF-IDF there.
WORKED = [
    ("男友", 9, 4.505963535904644, 0.5632454419880805),
    ("只要", 1, 6.703188113240863, 0.8378985141551079),
    ("發脾氣", 1, 6.703188113240863, 0.8378985141551079),
    ("就", 9, 4.505963535904644, 0.5632454419880805),
    ("會", 4, 5.316893752120972, 0.6646117190151215),
    ("亂", 2, 6.010040932680917, 0.7512551165851147),
    ("摔", 6, 4.911428644012807, 0.6139285805016009),
    ("東西", 9, 4.505963535904644, 0.5632454419880805),
]
# Of the same example: how often a word stands in the text, and its score. The mean follows from any of them.
MEAN = (2.773765098232483 * 4) ** 0.5
DAMPED = [
    (1, 1.0), (2, 2.0), (3, 3.0), (4, 2.773765098232483), (6, 1.8491767321549888), (7, 1.5850086275614188),
    (9, 1.2327844881033259), (10, 1.1095060392929932), (11, 1.008641853902721), (28, 0.3962521568903547),
    (60, 0.18491767321549887), (536, 0.02069973953904838),
]  # fmt: skip


@pytest.mark.parametrize(("word", "sentences", "idf", "tfidf"), WORKED)
def test_the_worked_idf_of_815_sentences(word: str, sentences: int, idf: float, tfidf: float) -> None:
    assert isclose(inverse_frequency(815, sentences), idf, rel_tol=1e-12)
    assert isclose(inverse_frequency(815, sentences) / len(WORKED), tfidf, rel_tol=1e-12)


@pytest.mark.parametrize(("count", "score"), DAMPED)
def test_the_worked_scores_of_words(count: int, score: float) -> None:
    assert isclose(damped(count, MEAN), score, rel_tol=1e-12)


def test_the_worked_title_scores_its_words_as_in_the_example() -> None:
    """A text of 815 sentences in which the title's words stand as often as in the example."""
    lines = [TITLE] + [word for word, sentences, _, _ in WORKED for _ in range(sentences - 1)]
    lines += [f"filler{place}" for place in range(815 - len(lines))]
    title = why("\n".join(lines), "tfidf")[0]
    assert title.text == TITLE
    for word, _, _, tfidf in WORKED:
        assert isclose(title.words[word], tfidf, rel_tol=1e-12)
    assert isclose(title.score, sum(tfidf for *_, tfidf in WORKED), rel_tol=1e-12)


def test_frequency_counts_words_in_the_whole_text_and_damps_the_commonest() -> None:
    # Counts: a 6, b 2, c 1, d 1; the mean is 2.5, so a counts 2.5 * 2.5 / 6.
    first, second, third = why("a a a b\na a b c\na d", "frequency")
    a = 2.5 * 2.5 / 6
    assert first.words == pytest.approx({"a": 3 * a, "b": 2})
    assert second.score == pytest.approx(2 * a + 2 + 1)
    assert third.score == pytest.approx(a + 1)


def test_frequency_can_damp_sentences_instead() -> None:
    # Sums: 3 * 6 + 2 = 20, 12 + 2 + 1 = 15, 6 + 1 = 7; the mean is 14.
    scores = [sentence.score for sentence in why("a a a b\na a b c\na d", "frequency-sentences")]
    assert scores == pytest.approx([14 * 14 / 20, 14 * 14 / 15, 7])


@pytest.mark.parametrize("method", METHODS)
def test_the_best_twenty_stand_in_the_order_of_the_text(method: Method) -> None:
    text = "\n".join(f"Line {number} tells of thing{number} and of place{number % 7}." for number in range(60))
    summary = summarise(text, method)
    assert len(summary.sentences) == 20
    assert [sentence.place for sentence in summary.sentences] == sorted(
        sentence.place for sentence in summary.sentences
    )
    chosen = [scored for scored in why(text, method) if scored.is_chosen]
    assert [scored.text for scored in chosen] == summary.text.split("\n")
    left_out = [scored.score for scored in why(text, method) if not scored.is_chosen]
    assert min(scored.score for scored in chosen) >= max(left_out)


def test_a_short_text_is_its_own_summary() -> None:
    assert summarise("One. Two. Three.").text == "One.\nTwo.\nThree."
    assert summarise("").sentences == ()


def test_a_huge_text_is_read_to_a_limit() -> None:
    assert len(why("word " * MAX_CHARS)) <= MAX_CHARS / 500
    assert summarise("a.\n" * MAX_CHARS, sentences=1).text == "a."


@given(st.text(max_size=400), st.sampled_from(METHODS), st.integers(min_value=0, max_value=5))
def test_any_text_has_a_summary(text: str, method: Method, limit: int) -> None:
    summary = summarise(text, method, sentences=limit)
    assert len(summary.sentences) <= limit
    assert all(sentence.score >= 0 for sentence in summary.sentences)


# Sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains. It pours!  Does it? Yes.", ["It rains.", "It pours!", "Does it?", "Yes."]),
        (
            "Dr. Smith paid 3.5 dollars, e.g. to Mr. Jones. He left.",
            ["Dr. Smith paid 3.5 dollars, e.g. to Mr. Jones.", "He left."],
        ),
        ("J. R. R. Tolkien wrote it. Others read it.", ["J. R. R. Tolkien wrote it.", "Others read it."]),
        ("Am 3. Mai kam er. Danach nicht.", ["Am 3. Mai kam er.", "Danach nicht."]),
        ("He said: “Go!” Then he left...  Nobody knew.", ["He said: “Go!”", "Then he left...", "Nobody knew."]),
        ("Visit www.a.example/b.html now. Bye.", ["Visit www.a.example/b.html now.", "Bye."]),
        ("今天下雨。你去哪裡？「不去！」他說。", ["今天下雨。", "你去哪裡？", "「不去！」", "他說。"]),
        ("雨です。どこへ行く？", ["雨です。", "どこへ行く？"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("هل أنت هنا؟ نعم.", ["هل أنت هنا؟", "نعم."]),
        ("A heading\n\nA line without end\nanother", ["A heading", "A line without end", "another"]),
        ("Wait… what", ["Wait… what"]),
        ("等等……好吧", ["等等……", "好吧"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, sentences: list[str]) -> None:
    assert list(sentences_of(text)) == sentences


@given(st.text(max_size=300))
def test_sentences_lose_nothing_but_space(text: str) -> None:
    sentences = list(sentences_of(text))
    assert all(sentence.strip() == sentence != "" for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(text.split())


def test_a_sentence_without_an_end_is_cut() -> None:
    assert max(map(len, sentences_of("word " * 5000 + "\n" + "x" * 5000))) <= MAX_SENTENCE_CHARS
