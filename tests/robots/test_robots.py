"""What a robots.txt says, and what an answer or its absence means."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.robots.match import MAX_WILDCARDS, RobotsDecision, RobotsMatcher
from lycosa.robots.parse import (
    ALLOW_ALL,
    DISALLOW_ALL,
    MAX_CRAWL_DELAY_SECONDS,
    MAX_ROBOTS_BYTES,
    MAX_SITEMAPS,
    RobotsRules,
    parse_robots,
)
from lycosa.robots.verdict import CACHE_SECONDS, NAME_RETRY_SECONDS, RobotsKind, RobotsRecord, robots_verdict
from lycosa.settings import Settings

HOUR = 3600.0
FORBID_X = b"User-agent: *\nDisallow: /x"


def allows(body: bytes | str, path: str, agent: str = "lycosa") -> bool:
    octets = body.encode() if isinstance(body, str) else body
    return RobotsMatcher(parse_robots(octets, agent)).allows(path)


# --- reading the file ---


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /x",
        b"User-agent: *\r\nDisallow: /x\r\n",
        b"User-agent: *\rDisallow: /x\r",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x",
        b"\xef\xbbUser-agent: *\nDisallow: /x",
        "\ufeffUser-agent: *\nDisallow: /x".encode("utf-16-le"),
        "\ufeffUser-agent: *\nDisallow: /x".encode("utf-16-be"),
        "User-agent: *\nDisallow: /x".encode("utf-16-le"),
        b"\0\0User-agent: *\nDis\0allow: /x\0",
        b"  user-AGENT  :\t*  \n\tDISALLOW   :/x   # comment",
        b"useragent *\ndisallow /x",
        b"User-agent: * and more\nDissalow: /x",
        b"User-agent: *\n\n\nSitemap: /s.xml\nunknown: 1\nDisallow: /x",
        b"User-agent: lycosa\nUser-agent: other\nDisallow: /x",
        b"User-agent: Lycosa/2.0 (+http://e.com)\nDisallow: /x",
        b"User-agent: *\nDisallow: /y\nUser-agent: lycosa\nDisallow: /x",
    ],
)
def test_a_rule_is_read_however_it_is_written(body: bytes) -> None:
    assert not allows(body, "/x")
    assert allows(body, "/other")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Disallow: /x",
        b"User-agent: *\nDisallow:",
        b"User-agent: *\nDisallow: x",
        b"User-agent: *\nDisallow: /x too many words".replace(b":", b""),
        b"User-agent: lycosabot\nDisallow: /x",
        b"User-agent: lycos\nDisallow: /x",
        b"User-agent: *\nDisallow: /x\nUser-agent: lycosa\nCrawl-delay: 1",
        b"<!doctype html><html><head><title>404</title></head>\n<body>\n<p>User-agent: *</p>\nDisallow: /x</body>",
    ],
)
def test_what_is_no_rule_for_us_forbids_nothing(body: bytes) -> None:
    assert allows(body, "/x")


def test_groups_of_the_same_agent_are_one() -> None:
    body = "User-agent: lycosa\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: LYCOSA\nDisallow: /b"
    assert [allows(body, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_a_line_that_the_size_limit_cuts_is_dropped() -> None:
    start = b"User-agent: *\nDisallow: /a\n"
    padding = b"#" * (MAX_ROBOTS_BYTES - len(start) - len(b"\nDisallow: /b"))
    rules = parse_robots(start + padding + b"\nDisallow: /bc\nDisallow: /d\n", "lycosa").rules
    assert rules == ((False, "/a"),)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("1.5", 1.5),
        ("1,5", 1.5),
        (".5", 0.5),
        ("10s", 10.0),
        ("10 seconds # please", 10.0),
        ("0", 0.0),
        ("999999999", MAX_CRAWL_DELAY_SECONDS),
        ("9" * 400, MAX_CRAWL_DELAY_SECONDS),
        ("0." + "1" * 400, MAX_CRAWL_DELAY_SECONDS),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (".", None),
        ("²", None),
    ],
)
def test_crawl_delays_are_read_and_bounded(value: str, seconds: float | None) -> None:
    rules = parse_robots(f"User-agent: *\nCrawl-delay: {value}".encode(), "lycosa")
    assert rules.crawl_delay_seconds == seconds


def test_the_longest_of_our_delays_counts_and_those_of_others_do_not() -> None:
    body = b"User-agent: a\nCrawl-delay: 9\nDisallow:\nUser-agent: *\nCrawl-delay: 2\nCrawl-delay: 3\nCrawl-delay: 1"
    assert parse_robots(body, "lycosa").crawl_delay_seconds == 3.0


def test_a_group_with_nothing_but_a_crawl_delay_ends_at_the_next_agent() -> None:
    body = "User-agent: lycosa\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /"
    assert allows(body, "/private/")
    assert parse_robots(body.encode(), "lycosa").crawl_delay_seconds == 10.0
    assert not allows(body, "/private/", agent="other")
    assert parse_robots(body.encode(), "other").crawl_delay_seconds is None


def test_a_list_of_agents_shares_the_crawl_delay_below_it() -> None:
    body = b"User-agent: a\nUser-agent: lycosa\nCrawl-delay: 7\nDisallow: /x"
    assert parse_robots(body, "lycosa") == RobotsRules(rules=((False, "/x"),), crawl_delay_seconds=7.0)


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read_with_and_without_its_mark(coding: str) -> None:
    body = "User-agent: *\r\nDisallow: /geheim/\r\nDisallow: /ä".encode(coding)
    assert not allows(body, "/geheim/x")
    assert allows(body, "/offen")


def test_a_long_utf_16_file_is_cut_between_lines() -> None:
    body = ("User-agent: *\nDisallow: /x\n" + "# comment\n" * MAX_ROBOTS_BYTES).encode("utf-16")
    assert parse_robots(body, "lycosa").rules == ((False, "/x"),)


def test_a_long_utf_16_file_has_no_half_of_a_line_whose_letters_look_like_line_ends() -> None:
    # One byte of U+0A05 is that of a line feed.
    body = ("User-agent: *\n" + "Disallow: /\u0a05\u0a05\u0a05x\n" * 40_000).encode("utf-16")
    assert len(body) > MAX_ROBOTS_BYTES
    assert parse_robots(body, "lycosa").rules == ((False, "/%E0%A8%85%E0%A8%85%E0%A8%85x"),)


def test_a_star_and_white_space_that_is_not_ascii_names_somebody_else() -> None:
    assert allows("User-agent: *\u00a0\nDisallow: /", "/")
    assert not allows("User-agent: *\t x\nDisallow: /", "/")


def test_only_ascii_white_space_is_trimmed() -> None:
    assert parse_robots("User-agent: *\nDisallow:\t /x\u00a0 \f".encode(), "lycosa").rules == ((False, "/x%C2%A0"),)


def test_sitemaps_belong_to_everyone_and_are_bounded() -> None:
    lines = ["User-agent: other", "Sitemap: /a.xml", "site-map: https://e.com/ü.xml", "Sitemap: /a.xml", "Sitemap:"]
    lines += [f"Sitemap: /{number}.xml" for number in range(2 * MAX_SITEMAPS)]
    sitemaps = parse_robots("\n".join(lines).encode(), "lycosa").sitemaps
    assert sitemaps[:3] == ("/a.xml", "https://e.com/ü.xml", "/0.xml")
    assert len(sitemaps) == MAX_SITEMAPS


def test_usage_preferences_are_those_of_our_group_and_of_the_preamble() -> None:
    body = b"""Content-Signal: search=yes
        User-agent: other
        Content-Signal: ai-train=yes
        Disallow: /x
        User-agent: *
        Content-Signal: ai-train=no
        Content-Usage: train-ai=n"""
    assert parse_robots(body, "lycosa").usages == (
        ("content-signal", "search=yes"),
        ("content-signal", "ai-train=no"),
        ("content-usage", "train-ai=n"),
    )


@given(st.binary(max_size=400) | st.text(alphabet="User-agent:*Disallow/ \n\r%$#é", max_size=200).map(str.encode))
def test_any_bytes_give_rules_that_travel_as_messagepack(body: bytes) -> None:
    rules = parse_robots(body, "lycosa")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rules), type=RobotsRules) == rules
    RobotsMatcher(rules).explain("/%zz/é?")


# --- matching ---


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Disallow: /a*\nAllow: /a", "/a", False),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /a$b", "/a$b", False),
        ("Disallow: /*.php$", "/x.php", False),
        ("Disallow: /*.php$", "/x.php?a", True),
        ("Disallow: *.gif", "/x.gif?a", False),
        ("Disallow: /a*b*c", "/a--b--c--", False),
        ("Disallow: /a*b*c", "/a--c--b--", True),
        ("Disallow: /ab*b$", "/ab", True),
        ("Disallow: /ab*b$", "/abb", False),
        ("Disallow: /a**$", "/abc", False),
        ("Disallow: *", "/abc", False),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /*?", "/wiki/What%3F", True),
        ("Disallow: /*?", "/wiki?What", False),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /a%2fb", "/a/b", True),
        ("Disallow: /%61", "/a", False),
        ("Disallow: /a", "/%61", False),
        ("Disallow: /a b{c}", "/a%20b%7Bc%7D", False),
        ("Disallow: /a%2A", "/a*", False),
        ("Disallow: /a%2A", "/ab", True),
        ("Disallow: /%", "/%", False),
        ("Disallow: /é", "/%c3%a9", False),
        ("Disallow: /\nAllow: /a/index.html", "/a/", True),
        ("Disallow: /\nAllow: /a/index.html", "/a/b", False),
    ],
)
def test_the_longest_rule_decides(rules: str, path: str, allowed: bool) -> None:
    assert allows(f"User-agent: *\n{rules}", path) is allowed


def test_an_explanation_names_the_rule_as_written() -> None:
    matcher = RobotsMatcher(parse_robots("User-agent: *\nDisallow: /\nAllow: /é*$".encode(), "lycosa"))
    assert matcher.explain("/x") == RobotsDecision(allowed=False, rule=(False, "/"))
    assert matcher.explain("/%C3%A9") == RobotsDecision(allowed=True, rule=(True, "/%C3%A9*$"))
    assert RobotsMatcher(ALLOW_ALL).explain("/x") == RobotsDecision(allowed=True)
    assert not RobotsMatcher(DISALLOW_ALL).allows("/x")


def matches_by_table(pattern: str, path: str) -> bool:
    """The definition of the standard, by dynamic programming over all positions at once."""
    is_anchored = pattern.endswith("$")
    reached = {0}
    for character in pattern.removesuffix("$"):
        if character == "*":
            reached = set(range(min(reached), len(path) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(path) and path[at] == character}
    return len(path) in reached if is_anchored else bool(reached)


def allows_by_table(rules: tuple[tuple[bool, str], ...], path: str) -> bool:
    verdicts = [(len(pattern), allowed) for allowed, pattern in rules if matches_by_table(pattern, path)]
    return max(verdicts, default=(0, True))[1]


PATTERNS = st.tuples(st.sampled_from("/*"), st.text(alphabet="ab*$/?", max_size=9)).map("".join)


@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=12), st.text(alphabet="ab/?$", max_size=14))
def test_the_matcher_agrees_with_the_definition(rules: list[tuple[bool, str]], rest: str) -> None:
    matcher = RobotsMatcher(RobotsRules(rules=tuple(rules)))
    decision = matcher.explain(f"/{rest}")
    assert decision.allowed == allows_by_table(tuple(rules), f"/{rest}")
    assert decision.rule is None or matches_by_table(decision.rule[1], f"/{rest}")


class CountedPath(str):
    """A path that counts how many characters its searches may have looked at."""

    looked_at = 0

    def find(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        stop = len(self) if end is None else end
        found = super().find(part, start, stop)
        type(self).looked_at += (stop if found < 0 else found + len(part)) - start
        return found


@pytest.mark.parametrize("pattern", ["/" + "*a" * 2000 + "*b", "/" + "a*" * 2000 + "b*c$", "/*" + "aaaa*" * 500 + "c"])
def test_many_stars_cost_one_pass_over_the_path(pattern: str) -> None:
    CountedPath.looked_at = 0
    matcher = RobotsMatcher(RobotsRules(rules=((False, pattern),)))
    path = CountedPath("/" + "a" * 8000 + "c")
    matcher.allows(path)
    assert 0 < CountedPath.looked_at <= 2 * len(path)


def test_too_many_wildcards_forbid_more_and_never_less() -> None:
    many = tuple((False, f"/a*{number}$") for number in range(MAX_WILDCARDS))
    rules = RobotsRules(rules=(*many, (False, "/b*x"), (True, "/c*x"), (False, "/c")))
    matcher = RobotsMatcher(rules)
    assert matcher.explain("/a-77").rule == (False, "/a*77$")
    assert matcher.explain("/b").rule == (False, "/b*x")
    assert matcher.explain("/cx").rule == (False, "/c")
    assert matcher.allows("/a")


# --- what an answer means ---


def good(now: float = 0.0) -> RobotsRecord:
    return robots_verdict(200, FORBID_X, "lycosa", now)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, RobotsKind.RULES),
        (204, RobotsKind.RULES),
        (401, RobotsKind.ALLOW_ALL),
        (403, RobotsKind.ALLOW_ALL),
        (404, RobotsKind.ALLOW_ALL),
        (410, RobotsKind.ALLOW_ALL),
        (429, RobotsKind.DISALLOW_ALL),
        (500, RobotsKind.DISALLOW_ALL),
        (503, RobotsKind.DISALLOW_ALL),
        (None, RobotsKind.DISALLOW_ALL),
        (301, RobotsKind.DISALLOW_ALL),
        (304, RobotsKind.DISALLOW_ALL),
        (0, RobotsKind.DISALLOW_ALL),
        (999, RobotsKind.DISALLOW_ALL),
    ],
)
def test_every_status_has_a_meaning(status: int | None, kind: RobotsKind) -> None:
    record = robots_verdict(status, FORBID_X, "lycosa", 0.0)
    assert record.kind == kind
    assert RobotsMatcher(record.rules).allows("/") is (kind != RobotsKind.DISALLOW_ALL)
    assert RobotsMatcher(record.rules).allows("/x") is (kind == RobotsKind.ALLOW_ALL)


def test_good_answers_hold_for_the_cache_time() -> None:
    assert good(5.0).expires_at == 5.0 + CACHE_SECONDS
    assert robots_verdict(404, b"", "lycosa", 5.0, cache_seconds=60.0).expires_at == 65.0


def test_not_modified_renews_the_last_copy() -> None:
    record = robots_verdict(304, b"", "lycosa", 100.0, good())
    assert (record.kind, record.rules, record.expires_at) == (RobotsKind.RULES, good().rules, 100.0 + CACHE_SECONDS)


def test_failures_are_retried_after_five_minutes_doubling_to_six_hours() -> None:
    now, record, waits = 0.0, None, []
    for _ in range(10):
        record = robots_verdict(None, b"", "lycosa", now, record)
        waits.append(record.expires_at - now)
        now = record.expires_at
    assert waits == [300.0 * 2**doubling for doubling in range(7)] + [6 * HOUR] * 3
    assert record is not None
    assert record.kind == RobotsKind.DISALLOW_ALL


def test_a_name_that_leads_nowhere_is_looked_for_twice_more_and_soon() -> None:
    now, record = 0.0, None
    waits: list[float] = []
    for _ in range(4):
        record = robots_verdict(None, b"", "lycosa", now, record, is_name_unknown=True)
        assert (record.kind, record.failures) == (RobotsKind.DISALLOW_ALL, len(waits) + 1)
        waits.append(record.expires_at - now)
        now = record.expires_at
    assert waits == [*NAME_RETRY_SECONDS, 1200.0, 2400.0]
    assert sum(NAME_RETRY_SECONDS) < Settings().max_wait_seconds, "within the run that has found it"


def test_an_answer_of_any_kind_ends_the_hurry_about_a_name() -> None:
    record = robots_verdict(None, b"", "lycosa", 0.0, is_name_unknown=True)
    assert robots_verdict(503, b"", "lycosa", 5.0, record).expires_at == 605.0
    assert robots_verdict(200, b"", "lycosa", 5.0, record, is_name_unknown=True).expires_at == 5.0 + CACHE_SECONDS


def test_the_last_copy_holds_after_twelve_hours_of_failures_and_not_before() -> None:
    now, record = CACHE_SECONDS, good()
    kinds = {}
    while now <= CACHE_SECONDS + 24 * HOUR:
        record = robots_verdict(503, b"", "lycosa", now, record)
        kinds[now - CACHE_SECONDS] = record.kind
        now = record.expires_at
    assert kinds[12 * HOUR] == RobotsKind.LAST_COPY
    assert {kind for after, kind in kinds.items() if after < 12 * HOUR} == {RobotsKind.DISALLOW_ALL}
    assert record.rules == good().rules


def test_a_site_without_robots_is_not_open_while_its_server_fails() -> None:
    record = robots_verdict(404, b"", "lycosa", 0.0)
    for day in range(1, 60):
        record = robots_verdict(500, b"", "lycosa", day * 24 * HOUR, record)
        assert record.kind == RobotsKind.DISALLOW_ALL


def test_a_good_answer_ends_the_failures() -> None:
    record = robots_verdict(500, b"", "lycosa", 0.0)
    record = robots_verdict(200, b"", "lycosa", 300.0, record)
    assert (record.failures, record.failing_since_at) == (0, None)
    assert robots_verdict(500, b"", "lycosa", 1e6, record).failures == 1


@given(st.lists(st.sampled_from([None, 200, 304, 404, 429, 500]), max_size=20))
def test_a_failure_never_opens_a_site(statuses: list[int | None]) -> None:
    record, now = None, 0.0
    for status in statuses:
        record = robots_verdict(status, FORBID_X, "lycosa", now, record)
        assert record.expires_at > now
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=RobotsRecord) == record
        if status != 404:
            assert not RobotsMatcher(record.rules).allows("/x")
        now = record.expires_at
