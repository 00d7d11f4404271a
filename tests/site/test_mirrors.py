from __future__ import annotations

import pytest

from lycosa.site.mirrors import MIN_MIRRORED, are_mirrors, is_before
from lycosa.site.notes import Sighting, Site
from lycosa.site.variants import Sameness

ONE, OTHER = "http://a.test", "http://www.a.test"


def show(site: Site, origin: str, pages: range, text: str = "") -> None:
    for number in pages:
        site.note_page(origin)
        site.compare(origin, f"/doc-{number}", lambda names, n=number: Sighting(hash((text, n)), 1 << n % 64))  # type: ignore[misc]


def test_two_origins_with_the_same_pages_are_mirrors_once_enough_are_met() -> None:
    site = Site("a.test", 160)
    show(site, ONE, range(40))
    show(site, OTHER, range(MIN_MIRRORED - 1))
    assert site.alias_of(OTHER) == ""
    show(site, OTHER, range(MIN_MIRRORED - 1, 40))
    assert site.alias_of(OTHER) == ONE
    assert site.alias_of(ONE) == ""


def test_a_part_of_a_site_is_no_mirror_of_it() -> None:
    assert are_mirrors(Sameness(MIN_MIRRORED), MIN_MIRRORED)
    assert not are_mirrors(Sameness(MIN_MIRRORED), 3 * MIN_MIRRORED)
    site = Site("a.test", 160)
    # Some pages are on both, most are not.
    show(site, ONE, range(65))
    show(site, OTHER, range(100, 180))
    show(site, OTHER, range(25))
    assert site.alias_of(OTHER) == site.alias_of(ONE) == ""


def test_pages_that_differ_under_the_same_path_make_no_mirror() -> None:
    site = Site("a.test", 160)
    show(site, ONE, range(60))
    show(site, OTHER, range(60), "another language")
    assert not site.notes.aliases
    assert not are_mirrors(Sameness(100, 0, 11), 100)


def test_a_host_that_the_operator_named_is_never_left() -> None:
    site = Site("a.test", 160)
    site.note_root("www.a.test")
    show(site, ONE, range(60))
    show(site, OTHER, range(60))
    assert site.alias_of(OTHER) == ""


def test_the_origin_that_has_more_to_show_is_kept() -> None:
    site = Site("a.test", 160)
    show(site, OTHER, range(100))
    show(site, ONE, range(40))
    assert site.alias_of(ONE) == OTHER
    assert site.alias_of(OTHER) == ""


def test_samples_that_differ_take_it_back() -> None:
    site = Site("a.test", 160)
    show(site, ONE, range(40))
    show(site, OTHER, range(40))
    site.has_changed = False
    for _ in range(3):
        site.note_sample(OTHER, is_same=True)
    assert site.alias_of(OTHER) == ONE
    needed = 0
    while site.alias_of(OTHER):
        site.note_sample(OTHER, is_same=False)
        needed += 1
    assert 1 <= needed <= 6
    assert site.has_changed


def test_a_copy_on_another_domain_is_told_by_its_originals() -> None:
    site = Site("b-long.test", 160)
    for number in range(MIN_MIRRORED):
        assert site.alias_of("http://b-long.test") == ""
        site.note_page("http://b-long.test")
        site.note_original("http://b-long.test", f"http://a.test/{number}", f"/{number}")
    assert site.alias_of("http://b-long.test") == "http://a.test"


def test_pages_taken_from_elsewhere_make_no_mirror() -> None:
    site = Site("b-long.test", 160)
    for number in range(100):
        site.note_page("http://b-long.test")
        original = f"http://a.test/{number}" if number % 5 == 0 else ""
        site.note_original("http://b-long.test", original, f"/{number}")
    assert not site.notes.aliases


@pytest.mark.parametrize(
    ("first", "second"),
    [("https://a.test", "http://a.test"), ("http://a.test", "http://www.a.test"), ("http://a.test", "http://b.test")],
)
def test_which_of_two_is_crawled(first: str, second: str) -> None:
    assert is_before(first, second)
    assert not is_before(second, first)
