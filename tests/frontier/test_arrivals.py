"""What messages name and what of it is new: sorted in by the compiled pass as by values, whatever the targets are."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.frontier import arrivals
from lycosa.frontier.bloom import BloomFilter
from lycosa.frontier.entries import entry_of, mark_of, target_of
from lycosa.frontier.rules import rank_of
from lycosa.model import Kind, Listing, OutcomeKind, RequestParts, Settlement, Target, origin_of

native = pytest.importorskip("lycosa.frontier._native", reason="the compiled parts are not built")

ORIGINS = st.sampled_from(
    ["http://a", "https://a", "http://a:8080", "https://b.example", "ftp://a", "http://a@a", "http://", "a", "HTTP://a"]
)
PATHS = st.sampled_from(["/", "", "/x", "/x/y?z=/", "/é", "/" + "x" * 40, "/" + "y" * 300, "/x" * 700, "?q"])
MARKS = st.sampled_from([*(bytes((number,)) * 8 for number in range(6)), b"", b"short"])
URLS = st.builds(str.__add__, ORIGINS, PATHS)
TARGETS = st.builds(
    Target,
    URLS,
    st.sampled_from(["a", "b.example", "", "é", "x" * 2000]),
    MARKS,
    priority=st.sampled_from([5, 5, 5, 1, 10, 0, 11, 2**40, -1]),
    depth=st.sampled_from([0, 1, 127, 128, 255, 256, 65_536, 2**33, -1]),
    referrer=st.just("") | URLS,
    deferred=st.sampled_from([0, 0, 0, 0, 1, 3, 4, 5, 127, 128, -1]),
)
UNUSUAL = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(list(Kind)),
        "redirects": st.integers(0, 300),
        "attempt": st.just(1),
        "origin": st.sampled_from(["http://a", "x" * 40]),
        "crashes": st.just(1),
        "visits": st.just(1),
        "request": st.just(RequestParts("POST", b"body", (("a", "b"),))),
        "steps": st.just(1),
        "listing": st.just(Listing(1)),
        "promise": st.just(1),
    },
)
ANY = TARGETS | st.builds(lambda target, more: msgspec.structs.replace(target, **more), TARGETS, UNUSUAL)
MESSAGES = st.lists(st.lists(ANY, max_size=20).map(arrivals.message_of), max_size=4)


@given(MESSAGES)
def test_the_compiled_pass_names_what_the_values_name(messages: list[bytes]) -> None:
    assert native.named_in(messages) == arrivals.named_by_values(messages)


@given(MESSAGES, st.sets(MARKS))
@example([arrivals.message_of([Target("http://a/x", "a", b"\0" * 8, deferred=3, referrer="http://a/")])], {b"\0" * 8})
def test_and_sorts_in_what_they_sort_in(messages: list[bytes], fresh: set[bytes]) -> None:
    left = set(fresh)
    assert native.arriving(messages, fresh) == arrivals.arriving_by_values(messages, left)
    assert fresh == left


@given(TARGETS)
def test_an_entry_is_that_target_again(target: Target) -> None:
    if not arrivals.is_plain(target):
        return
    (((host, mark, rank, entries),), marks) = native.arriving([arrivals.message_of([target])], {target.fingerprint})
    assert (host, mark, rank) == (target.host, mark_of(origin_of(target.url), target.host), rank_of(target))
    assert (entries, marks) == ([entry_of(target)], [target.fingerprint])
    assert target_of(entries[0], host, rank) == (None if "@" in target.url else target)


@given(st.binary(max_size=200) | MESSAGES.map(b"".join).flatmap(lambda raw: st.just(raw[: len(raw) // 2])))
def test_bytes_that_are_no_targets_are_refused_or_are_some(raw: bytes) -> None:
    with suppress(ValueError):
        native.named_in([raw])
    with suppress(ValueError):
        native.arriving([raw], {b"\0" * 8})


def test_deep_arrays_are_no_targets() -> None:
    deep = b"\x91\x99\xa1x\xa1x\xc4\x00\x00\x05\x00\xa0" + b"\x91" * 100_000
    with pytest.raises(ValueError, match="no targets"):
        native.named_in([deep])


def test_a_settlement_is_the_same_in_short_and_in_full() -> None:
    found = [Target("http://a/x", "a", b"12345678"), Target("http://a/y", "a", b"")]
    settlement = Settlement(1, OutcomeKind.STORED, discovered=found)
    short = arrivals.in_short(settlement)
    assert not short.discovered
    assert arrivals.in_short(short) == short
    assert arrivals.in_full(short) == arrivals.in_full(settlement) == settlement


@pytest.mark.parametrize(("hashes", "words"), [(5, 1), (6, 2), (7, 7)])
def test_the_compiled_filter_is_that_of_the_values(hashes: int, words: int) -> None:
    draw = Random(hashes)
    marks = [draw.randbytes(8) for _ in range(3_000)]
    compiled, values = (BloomFilter(2_000, 9_000, hashes, words) for _ in range(2))
    for some in (marks[:1], marks[:500], [], marks[:2_000]):
        compiled.add_each(some)
        values.add_each_by_values(some)
        assert (compiled.to_bytes(), compiled.added) == (values.to_bytes(), values.added)
    answers = values.which_are_in_by_values(marks)
    assert compiled.which_are_in(marks) == answers
    assert set(answers) == {True, False}


def test_a_filter_takes_fingerprints_only() -> None:
    bloom = BloomFilter(10, 640, 5, words=1)
    with pytest.raises(ValueError, match="eight bytes"):
        bloom.which_are_in([b"short"])
    with pytest.raises(ValueError, match="patterns"):
        native.bloom_has(b"\0" * 8, b"\0" * 24, 1, [])
    with pytest.raises(ValueError, match="bits"):
        native.bloom_patterns(64, 14)
