"""Rules that bind hosts to regions."""

from __future__ import annotations

import pytest

from lycosa.errors import SettingsError
from lycosa.policy.region import RegionRules


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("www.example.de", "eu"),
        ("example.de", "eu"),
        ("de", "eu"),
        ("us.example.de", "us"),
        ("www.us.example.de", "us"),
        ("wide.example", ""),
        ("xn--fiqs8s.jp", "asia"),
        ("[::1]", ""),
        ("", ""),
    ],
)
def test_the_longest_end_of_a_name_holds(host: str, region: str) -> None:
    assert RegionRules({"de": "eu", ".JP": "asia", "us.example.de": "us"}).of(host) == region


def test_without_rules_no_host_is_bound() -> None:
    assert RegionRules({}).of("www.example.de") == ""


@pytest.mark.parametrize("name", ["", "EU", "e u", "-eu", "x" * 33])
def test_what_is_no_name_of_a_region_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="no name of a region"):
        RegionRules({"de": name})
