"""Any text and any bytes where the web may put them: an answer, within limits, fit to be stored; never an exception."""

from __future__ import annotations

import math
import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import VisitError
from lycosa.fetch.head import HeadLimits, read_head, request_lines, split_url
from lycosa.frontier.rules import host_of_origin
from lycosa.model import Target, origin_of
from lycosa.page.directives import directives_of, directives_of_header, refresh_of
from lycosa.page.encoding import decode
from lycosa.page.parser import PageParser
from lycosa.page.sitemap import entries_allowed, parse_sitemap, posix_seconds
from lycosa.policy.retry import retry_after_seconds
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import parse_robots, path_and_query
from lycosa.robots.verdict import robots_verdict
from lycosa.settings import Settings
from lycosa.url.canonical import ParsedUrl, parse, parse_seed
from lycosa.url.domain import registered_domain
from lycosa.url.rules import RISKY_RULES, CanonicalRules, dedup_key
from lycosa.wiring.worker import make_discovery

from .conftest import fuzz
from .shapes import BASES, CONTENT_TYPES, HEAD_LINES, MARKUP, PATHS, ROBOTS, TEXT, URLS, XML, encoded

LIMITS = Settings(max_links=50, max_text_chars=500, max_parse_nodes=200, max_parse_depth=40)
PARSER = PageParser(LIMITS, "lycosa")
SEED = parse("http://a.test/")
assert isinstance(SEED, ParsedUrl)
DISCOVERY = make_discovery(Settings(scope="any"), [SEED], bytes(16))
ALL_RULES = CanonicalRules.from_names([name for name in RISKY_RULES if name != "drop_variables"] + ["drop:a"])


# ---- URLs


@fuzz
@given(URLS, st.none() | BASES | URLS)
def test_a_url_is_rejected_or_fit_to_be_fetched(raw: str, base: str | None) -> None:
    parsed = parse(raw, base)
    if not isinstance(parsed, ParsedUrl):
        return
    assert parsed.url.isascii()
    assert parsed.url.isprintable()
    assert " " not in parsed.url
    assert len(parsed.url) <= 2048
    assert parsed.url == parsed.origin + parsed.path_and_query
    assert origin_of(parsed.url) == parsed.origin
    assert host_of_origin(parsed.origin) == parsed.host
    assert "@" not in parsed.origin
    assert registered_domain(parsed.host)
    assert parse(parsed.url) == parsed
    again = parse_seed(parsed.url)
    assert again == parsed


@fuzz
@given(URLS, BASES)
def test_what_is_requested_is_what_was_decided(raw: str, base: str) -> None:
    """The authority that libcurl is given is the one that was resolved and passed the gate."""
    parsed = parse(raw, base)
    if isinstance(parsed, ParsedUrl):
        try:
            where = split_url(parsed.url)
        except VisitError:
            return
        assert where.host == parsed.host
        assert where.target == parsed.path_and_query


@fuzz
@given(URLS, BASES)
def test_the_key_of_a_url_is_one_whatever_the_rules(raw: str, base: str) -> None:
    parsed = parse(raw, base)
    if isinstance(parsed, ParsedUrl):
        assert dedup_key(parsed).isascii()
        assert dedup_key(parsed, ALL_RULES) == dedup_key(parsed, ALL_RULES)


# ---- robots.txt


@fuzz
@given(encoded(ROBOTS), PATHS | URLS)
def test_any_robots_txt_answers_for_any_path(body: bytes, path: str) -> None:
    record = robots_verdict(200, body, "lycosa", 1.0)
    matcher = RobotsMatcher(record.rules)
    assert matcher.allows(path_and_query(path)) == matcher.explain(path_and_query(path)).allowed
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=type(record)) == record
    delay = record.rules.crawl_delay_seconds
    assert delay is None or 0 <= delay <= 86_400


PATTERNS = st.lists(st.sampled_from(["*", "a", "b", "/", "?", "aa"]), max_size=6).map(
    lambda pieces: "/" + "".join(pieces)
)


@fuzz
@given(st.lists(st.tuples(st.booleans(), PATTERNS, st.booleans()), max_size=8), PATHS)
def test_the_matcher_agrees_with_one_made_of_regular_expressions(
    rules: list[tuple[bool, str, bool]], path: str
) -> None:
    if "%" in path or not path.isascii() or path == "/robots.txt":
        return
    lines = [
        f"{'Allow' if allowed else 'Disallow'}: {pattern}{'$' if ends else ''}" for allowed, pattern, ends in rules
    ]
    matcher = RobotsMatcher(parse_robots("\n".join(["User-agent: *", *lines]).encode(), "lycosa"))
    best = (0, True)
    for allowed, pattern, ends in rules:
        expression = ".*".join(map(re.escape, pattern.split("*"))) + ("$" if ends else "")
        if re.match(expression, path):
            best = max(best, (len(pattern) + ends, allowed))
    assert matcher.allows(path) == best[1]


# ---- sitemaps and feeds


@fuzz
@given(encoded(XML))
def test_any_sitemap_gives_entries_within_limits(body: bytes) -> None:
    sitemap = parse_sitemap(body, "http://a.test/s.xml", max_entries=20, max_bytes=2_000)
    assert len(sitemap.entries) <= 20
    for entry in sitemap.entries:
        assert entry.loc[:8].lower().startswith(("http://", "https://"))
        assert len(entry.loc) <= 2048 + 32
        assert entry.priority is None or 0 <= entry.priority <= 1
        assert entry.lastmod_at is None or math.isfinite(entry.lastmod_at)
    assert set(entries_allowed(sitemap, "http://a.test/s.xml")) <= set(sitemap.entries)
    DISCOVERY.of_sitemap(Target("http://a.test/s.xml", "a.test", b"x"), sitemap)


@fuzz
@given(TEXT | st.sampled_from(["0", "2024", "2024-13-45", "9" * 64, "Tue, 31 Feb 99999 00:00:00 GMT", "1e400"]))
def test_any_date_is_a_moment_or_none(text: str) -> None:
    moment = posix_seconds(text)
    assert moment is None or math.isfinite(moment)
    assert 0 <= retry_after_seconds(text, 1e9) < math.inf


# ---- pages


@fuzz
@given(encoded(MARKUP), CONTENT_TYPES, st.lists(TEXT, max_size=3))
def test_any_page_is_read_within_limits(body: bytes, content_type: str, x_robots: list[str]) -> None:
    page = PARSER.parse(body, content_type, x_robots)
    assert len(page.links) <= 50
    assert len(page.text) <= 500
    target = Target("http://a.test/x/", "a.test", b"12345678")
    links, discovered, *_ = DISCOVERY.of_page(target, page)
    assert len(links.targets) == len(links.anchors) == len(links.rels)
    for found in discovered:
        assert isinstance(parse(found.url), ParsedUrl)
    # What is discovered travels to the parent as it is.
    msgspec.msgpack.encode(discovered)


@fuzz
@given(encoded(MARKUP), CONTENT_TYPES, st.sampled_from(["", "de", "jp", "\0", "x" * 99]))
def test_any_bytes_spell_a_text_that_can_be_stored(body: bytes, content_type: str, tld: str) -> None:
    text, charset, _ = decode(body, content_type, tld)
    text.encode("utf-8")
    assert charset


@fuzz
@given(TEXT, st.lists(TEXT, max_size=4))
def test_any_directive_is_heard_or_not(content: str, values: list[str]) -> None:
    directives_of(content)
    directives_of_header(values, "lycosa")
    refresh_of(content)


# ---- HTTP heads


@fuzz
@given(HEAD_LINES)
def test_any_head_is_one_or_is_refused(lines: list[bytes]) -> None:
    try:
        head = read_head(lines, HeadLimits(10, 2_000, 300))
    except VisitError:
        return
    if head is not None:
        assert 0 <= head.status <= 999
        assert not 100 <= head.status < 200
        assert all(not any(ord(character) < 32 for character in name + value) for name, value in head.headers)


@fuzz
@given(st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_no_extra_header_breaks_out_of_its_line(extra: list[tuple[str, str]]) -> None:
    for line in request_lines("lycosa/1", extra):
        assert b"\r" not in line
        assert b"\n" not in line
        assert b"\0" not in line


def test_half_of_a_surrogate_pair_in_a_path_is_no_error() -> None:
    """Found by the test of any robots.txt."""
    assert RobotsMatcher(parse_robots(b"User-agent: *\nDisallow: /x", "lycosa")).allows("/\ud800")
