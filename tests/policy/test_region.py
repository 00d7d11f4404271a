"""Rules that bind hosts to regions, and the region that is nearest."""

from __future__ import annotations

import pytest

from lycosa.errors import SettingsError
from lycosa.policy.region import RegionRules, nearest_region


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


@pytest.mark.parametrize(
    ("measured", "now_at", "nearest"),
    [
        # Each asks once, in the order of their names.
        ({}, "", "asia"),
        ({"asia": 0.1}, "asia", "eu"),
        ({"asia": 0.1, "eu": 0.2}, "eu", "us"),
        # Then the fastest has it.
        ({"asia": 0.1, "eu": 0.2, "us": 0.3}, "us", "asia"),
        ({"asia": 0.3, "eu": 0.2, "us": 0.05}, "asia", "us"),
        # It stays where it is unless another is clearly nearer.
        ({"asia": 0.1, "eu": 0.09, "us": 0.08}, "asia", "asia"),
        ({"asia": 0.1, "eu": 0.069, "us": 0.09}, "asia", "eu"),
        # One that is gone has nothing, however near it was.
        ({"asia": 0.3, "eu": 0.2, "us": 0.1, "mars": 0.001}, "mars", "us"),
    ],
)
def test_a_host_is_visited_from_where_it_is_nearest(measured: dict[str, float], now_at: str, nearest: str) -> None:
    assert nearest_region(measured, now_at, ["us", "asia", "eu"]) == nearest


def test_without_regions_none_is_nearest() -> None:
    assert nearest_region({"eu": 0.1}, "eu", []) == ""
    assert nearest_region({}, "", []) == ""


def test_a_host_does_not_go_to_and_fro() -> None:
    at = ""
    moves = []
    for turn in range(100):
        measured = {"eu": 0.1 + 0.01 * (turn % 2), "us": 0.1 + 0.01 * (turn % 3)}
        now = nearest_region(measured, at, ["eu", "us"])
        moves += [now] if now != at else []
        at = now
    assert len(moves) == 1
