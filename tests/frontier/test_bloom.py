"""The Bloom filter: its sizes, its error, its two layouts."""

from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier.bloom import BloomFilter

LAYOUTS = [
    pytest.param(lambda n: BloomFilter.for_error(n, 0.01), id="standard"),
    pytest.param(lambda n: BloomFilter.blocked_for_error(n, 0.01), id="blocked"),
    pytest.param(lambda n: BloomFilter(n, 12 * n, 6, words=2), id="two words"),
]


def fingerprints(count: int, seed: int) -> list[bytes]:
    """As in a crawl: the first two bytes belong to one of a few hosts."""
    draw = Random(seed)
    hosts = [draw.randbytes(2) for _ in range(50)]
    return [draw.choice(hosts) + draw.randbytes(6) for _ in range(count)]


@pytest.mark.parametrize("sized", LAYOUTS)
def test_what_was_added_is_never_new_again(sized) -> None:  # type: ignore[no-untyped-def]
    bloom, marks = sized(5_000), fingerprints(5_000, 1)
    added = sum(bloom.add(mark) for mark in marks)
    assert bloom.added == added > 4_900
    assert all(mark in bloom for mark in marks)
    assert not any(bloom.add(mark) for mark in marks)


@pytest.mark.parametrize("sized", LAYOUTS)
def test_loading_many_is_the_same_as_adding_each(sized) -> None:  # type: ignore[no-untyped-def]
    one, many, marks = sized(3_000), sized(3_000), fingerprints(3_000, 2)
    for mark in marks:
        one.add(mark)
    many.add_many(b"".join(marks))
    assert one.to_bytes() == many.to_bytes()


@pytest.mark.parametrize("sized", LAYOUTS)
def test_a_batch_is_answered_and_added_as_if_one_by_one(sized) -> None:  # type: ignore[no-untyped-def]
    one, batched, marks = sized(300), sized(300), fingerprints(900, 5)
    for start in range(0, len(marks), 90):
        some = marks[start : start + 90]
        assert batched.which_are_in(some) == [mark in one for mark in some]
        batched.add_each(some)
        for mark in some:
            one.add(mark)
        assert all(batched.which_are_in(some))
    assert batched.which_are_in([]) == []
    assert (batched.added, batched.to_bytes()) == (one.added, one.to_bytes())


@pytest.mark.parametrize("sized", LAYOUTS)
def test_the_measured_error_is_the_expected_one(sized) -> None:  # type: ignore[no-untyped-def]
    bloom = sized(100_000)
    bloom.add_many(b"".join(fingerprints(100_000, 3)))
    asked = fingerprints(100_000, 4)
    measured = sum(mark in bloom for mark in asked) / len(asked)
    if bloom.words in (1, bloom.hashes):
        assert measured == pytest.approx(bloom.expected_error(100_000), rel=0.15)
        assert bloom.expected_error(100_000) <= 0.0101
    else:
        assert measured < 0.012


def test_from_capacity_and_error() -> None:
    bloom = BloomFilter.for_error(1_000_000, 0.001)
    assert bloom.bits == pytest.approx(-1_000_000 * log(0.001) / log(2) ** 2, rel=1e-4)
    assert bloom.hashes == 10
    assert bloom.expected_error(1_000_000) == pytest.approx(0.001, rel=0.01)


def test_from_capacity_alone() -> None:
    bloom = BloomFilter.for_capacity(10_000)
    assert bloom.bits == pytest.approx(200_000, abs=64)
    assert bloom.hashes == 13
    assert bloom.expected_error(10_000) == pytest.approx(0.0000679, rel=0.01)
    # The figure of the original document belongs to ten hash functions.
    assert BloomFilter(10_000, 200_000, 10).expected_error(10_000) == pytest.approx(0.0000889, rel=0.01)


def test_from_capacity_bits_and_hashes() -> None:
    bloom = BloomFilter(1_000, 4_096, 3)
    assert (bloom.capacity, bloom.bits, bloom.hashes, bloom.size_bytes) == (1_000, 4_096, 3, 512)


def test_an_empty_filter_makes_no_error() -> None:
    assert BloomFilter.for_capacity(10).expected_error() == 0.0
    assert BloomFilter.blocked_for_error(10, 0.01).expected_error() == 0.0


def test_the_bits_can_be_taken_to_another_filter_of_the_same_shape() -> None:
    first, second = BloomFilter.blocked_for_error(1_000, 0.01), BloomFilter.blocked_for_error(1_000, 0.01)
    first.add(b"12345678")
    second.load(first.to_bytes(), first.added)
    assert b"12345678" in second
    assert second.added == 1


@given(st.lists(st.binary(min_size=8, max_size=8), max_size=200))
def test_no_fingerprint_is_ever_forgotten(marks: list[bytes]) -> None:
    for bloom in (BloomFilter.for_error(50, 0.1), BloomFilter.blocked_for_error(50, 0.1)):
        for mark in marks:
            bloom.add(mark)
        assert all(mark in bloom for mark in marks)
