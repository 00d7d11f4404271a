"""The public robots.txt suites: Google's parser, RFC 9309, crawler-commons.

They contradict each other. Where we differ from a suite, the case stands in a table here with the reason, and our
answer is checked to be exactly the opposite: a case that begins to agree fails as well.
"""

from typing import Any

import pytest

from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import escape_pattern, is_product_token, parse_robots, path_and_query

from .. import suites

RFC_OVER_GOOGLE = "RFC 9309 2.2.2: a character and its escape are equal; Google compares as written"
ONE_AGENT_A_LINE = "Google and RFC 9309 read one product token per line"

# Whoever gives an agent nothing but a pause does not mean the rules of the next one for it.
DELAY_ENDS_A_GROUP = "a group that has only a Crawl-delay ends at the next User-agent line"

DIFFERS_FROM_GOOGLE = {63: RFC_OVER_GOOGLE, 65: RFC_OVER_GOOGLE, 66: RFC_OVER_GOOGLE}
DIFFERS_FROM_CRAWLER_COMMONS = {
    **dict.fromkeys((21, 22, 23, 24, 64, 65, 70, 71, 82), DELAY_ENDS_A_GROUP),
    127: ONE_AGENT_A_LINE,
    130: ONE_AGENT_A_LINE,
    139: ONE_AGENT_A_LINE,
    148: ONE_AGENT_A_LINE,
    196: ONE_AGENT_A_LINE,
    230: ONE_AGENT_A_LINE,
    231: ONE_AGENT_A_LINE,
    266: "HTML instead of text gives no rules; tags are not stripped (Google)",
    329: "'Desallow' is not among the typos that Google reads",
    332: "'useg-agent' is not among the typos that Google reads",
    395: "a long Crawl-delay is honoured; it does not close the site",
}


def cases(suite: str) -> list[dict[str, Any]]:
    return suites.load(f"conformance/robots/{suite}")


def robots_of(name: str) -> bytes:
    return suites.find(f"conformance/robots/crawler-commons/{name}").read_bytes()


def is_allowed(case: dict[str, Any]) -> bool:
    rules = parse_robots(case["robots"].encode("utf-8", "surrogateescape"), case["agent"])
    return RobotsMatcher(rules).allows(path_and_query(case["url"]))


@pytest.mark.parametrize(
    ("suite", "count", "differs"),
    [
        ("google/robots_test.json", 145, DIFFERS_FROM_GOOGLE),
        ("rfc9309/cases.json", 25, {}),
        ("crawler-commons/cases.json", 396, DIFFERS_FROM_CRAWLER_COMMONS),
    ],
)
def test_the_suite_agrees_but_for_the_listed_cases(suite: str, count: int, differs: dict[int, str]) -> None:
    loaded = cases(suite)
    assert len(loaded) == count
    disagreeing = {at for at, case in enumerate(loaded) if is_allowed(case) != case["allowed"]}
    assert disagreeing == set(differs)


def test_paths_and_escapes_are_those_of_google() -> None:
    by_kind = {"path": path_and_query, "escape": escape_pattern}
    loaded = cases("google/path_escape.json")
    assert len(loaded) == 23
    assert [by_kind[case["kind"]](case["in"]) for case in loaded] == [case["out"] for case in loaded]


def test_agent_names_are_valid_as_for_google() -> None:
    loaded = cases("google/valid_agent.json")
    assert len(loaded) == 11
    assert [is_product_token(case["agent"]) for case in loaded] == [case["valid"] for case in loaded]


@pytest.mark.parametrize("mark", ["utf8", "utf16le", "utf16be"])
def test_byte_order_marks_change_nothing(mark: str) -> None:
    body = robots_of(f"robots-with-{mark}-bom.txt")
    assert not RobotsMatcher(parse_robots(body, "foobot")).allows("/profile")
    assert RobotsMatcher(parse_robots(body, "foobot")).allows("/foo/bar/")


def test_crawl_delays_are_merged_as_in_crawler_commons() -> None:
    body = robots_of("crawl-delay-group-merging.txt")
    delays = [parse_robots(body, agent).crawl_delay_seconds for agent in ("mybot", "yourbot", "otherbot")]
    assert delays == [10.0, None, 30.0]


def test_sitemaps_are_found_anywhere() -> None:
    body = robots_of("sitemap-robots.txt")
    assert parse_robots(body, "lycosa").sitemaps == (
        "http://domain.com/sitemap.xml",
        "http://domain.com/dir/MixedCased-sitemap.xml",
    )
