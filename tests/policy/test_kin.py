"""Which URLs of a host share one fate, and whose trouble says something of the host."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.kin import MAX_KINDS, is_evidence, kin_of, remember
from lycosa.policy.politeness import BAN_REFUSALS, CIRCUIT_FAILURES, HostAnswer, Standing

HOME = "http://wiki.test/"
kins = st.integers(0, 2**31 - 1)


class Site:
    """A host as a frontier sees it: how we stand with it, and which kinds of its URLs gave pages."""

    def __init__(self) -> None:
        self.standing = Standing()
        self.given: list[int] = []

    def answers(self, answer: HostAnswer, *urls: str, referrer: str = HOME) -> None:
        for url in urls:
            kin = kin_of(url, referrer)
            self.standing = self.standing.after(answer, is_evidence=is_evidence(kin, self.given))
            if answer is HostAnswer.PAGE:
                self.given = remember(kin, self.given)

    @property
    def is_open(self) -> bool:
        return self.standing.failures < CIRCUIT_FAILURES


def articles(number: int) -> list[str]:
    return [f"{HOME}article/{each}" for each in range(number)]


def edits(number: int) -> list[str]:
    return [f"{HOME}edit?article={each}" for each in range(number)]


# ---- what is of a kind


@pytest.mark.parametrize(
    ("one", "other", "is_kin"),
    [
        ("http://a.test/article/1", "http://a.test/article/22", True),
        ("http://a.test/article/1", "https://a.test:8443/article/2", True),
        ("http://a.test/", "http://a.test/?", False),
        ("http://a.test/article/1", "http://a.test/edit/1", False),
        ("http://a.test/w?title=x&action=edit", "http://a.test/w?title=x", False),
        ("http://a.test/w?action=edit&id=1", "http://a.test/w?id=2&action=edit", True),
        ("http://a.test", "http://a.test/", True),
    ],
)
def test_urls_of_one_template_are_kin(one: str, other: str, is_kin: bool) -> None:
    assert (kin_of(one, "") == kin_of(other, "")) is is_kin


@pytest.mark.parametrize(
    ("referrer", "is_own"),
    [
        ("", True),
        ("http://a.test/", True),
        ("https://a.test:8443/x", True),
        ("http://www.a.test/x", True),
        ("http://b.test/", False),
        ("http://a.test.b.test/", False),
        ("http://[2001:db8::1]:80/x", False),
    ],
)
def test_its_own_site_or_the_operator_names_a_url_or_a_stranger(referrer: str, is_own: bool) -> None:
    kin = kin_of("http://a.test/x", referrer)
    assert bool(kin & 1) is is_own
    assert kin | 1 == kin_of("http://a.test/x", ""), "nothing else differs"


def test_addresses_are_sites_of_their_own() -> None:
    assert kin_of("http://[2001:db8::1]/x", "http://[2001:db8::1]:8080/") & 1
    assert not kin_of("http://192.0.2.1/x", "http://192.0.2.2/") & 1


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_url_has_a_kin_of_31_bits(path: str, referrer: str) -> None:
    assert 0 <= kin_of(f"http://a.test/{path}", referrer) < 2**31


def test_another_process_finds_the_same_kin() -> None:
    code = "from lycosa.policy.kin import kin_of; print(kin_of('http://a.test/x?y=1', 'http://b.test/'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(said) == kin_of("http://a.test/x?y=1", "http://b.test/")


# ---- what is remembered


def test_kinds_are_remembered_once_and_the_latest_last() -> None:
    kinds: list[int] = []
    for kin in (1, 2, 3, 1):
        kinds = remember(kin, kinds)
    assert kinds == [2, 3, 1]
    assert remember(9, kinds, at_most=2) == [1, 9]
    assert remember(9, kinds, at_most=1) == [9]


@given(st.lists(kins, max_size=40))
def test_what_is_remembered_is_bounded_and_has_the_latest(several: list[int]) -> None:
    kinds: list[int] = []
    for kin in several:
        before = list(kinds)
        after = remember(kin, kinds)
        assert kinds == before, "the list that was given stays as it was"
        kinds = after
        assert kinds[-1] == kin
        assert len(kinds) == len(set(kinds)) <= MAX_KINDS


# ---- what is evidence


@given(kins)
def test_of_a_host_that_gave_nothing_everything_is_evidence(kin: int) -> None:
    assert is_evidence(kin, [])


@pytest.mark.parametrize(
    ("kin", "given", "expected"),
    [
        (0b11, [0b11], True),
        (0b11, [0b101, 0b11], True),
        (0b11, [0b101], False),
        (0b10, [0b11], False),
        (0b10, [0b10], True),
        (0b10, [0b10, 0b100], True),
        (0b10, [0b10, 0b101], False),
    ],
    ids=[
        "a kind that gave pages",
        "one of several",
        "a kind that gave none",
        "strangers name a kind that gave pages",
        "nobody but strangers speaks of the host",
        "nobody but strangers, of several kinds",
        "the host speaks for itself",
    ],
)
def test_a_kind_that_gave_pages_and_that_its_site_names_is_evidence(kin: int, given: list[int], expected: bool) -> None:
    assert is_evidence(kin, given) is expected


# ---- ordinary sites


def test_a_wiki_whose_edit_links_are_forbidden_has_not_banned_us() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3), referrer="")
    wiki.answers(HostAnswer.REFUSED, *edits(100))
    assert wiki.standing == Standing(refusals=0)


def test_a_ban_is_still_a_ban() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3))
    wiki.answers(HostAnswer.REFUSED, *articles(BAN_REFUSALS))
    assert wiki.standing == Standing(1, BAN_REFUSALS, 2.0)


def test_forbidden_edit_links_between_them_do_not_hide_a_ban() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3))
    for article, edit in zip(articles(BAN_REFUSALS), edits(BAN_REFUSALS), strict=True):
        wiki.answers(HostAnswer.REFUSED, edit, article)
    assert wiki.standing == Standing(1, BAN_REFUSALS, 2.0)
    wiki.answers(HostAnswer.REFUSED, *edits(3))
    assert wiki.standing == Standing(1, BAN_REFUSALS, 2.0), "nor do they end it"


def test_a_host_that_is_down_is_closed() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3))
    wiki.answers(HostAnswer.TROUBLE, *articles(CIRCUIT_FAILURES))
    assert not wiki.is_open


@pytest.mark.parametrize("answer", [HostAnswer.TROUBLE, HostAnswer.BAN, HostAnswer.REFUSED])
def test_what_strangers_link_to_does_not_close_a_host(answer: HostAnswer) -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3))
    wiki.answers(answer, *(f"{HOME}article/{each}" for each in range(30)), referrer="http://stranger.test/")
    assert wiki.is_open
    assert wiki.standing.slowdown == 1.0
    wiki.answers(HostAnswer.PAGE, *articles(1))
    assert wiki.standing == Standing(refusals=0)


def test_a_broken_kind_of_page_slows_its_host_and_does_not_close_it() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.PAGE, HOME, *articles(3))
    wiki.answers(HostAnswer.TROUBLE, *edits(30))
    assert wiki.standing == Standing(CIRCUIT_FAILURES - 1, 0)


def test_a_host_that_never_gave_a_page_is_closed_by_anything() -> None:
    wiki = Site()
    wiki.answers(HostAnswer.TROUBLE, *edits(CIRCUIT_FAILURES), referrer="http://stranger.test/")
    assert not wiki.is_open
