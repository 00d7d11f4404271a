"""What happens to a URL, rule by rule: for people who wonder why two URLs are one page, or why one is refused."""

from __future__ import annotations

import msgspec

from lycosa.url.canonical import (
    DEFAULT_LIMITS,
    ParsedUrl,
    Rejection,
    UrlLimits,
    drop_empty_query,
    drop_fragment,
    parse,
    serialise,
    upper_case_escapes,
)
from lycosa.url.rules import SAFE_RULES, CanonicalRules, dedup_key, key_steps


class Step(msgspec.Struct, frozen=True):
    """One rule that changed something. `makes` says what: the URL that is fetched, or the key that is compared."""

    rule: str
    makes: str
    before: str
    after: str


class Explanation(msgspec.Struct, frozen=True):
    """The way from a raw text to its URL and dedup key, or to its rejection."""

    raw: str
    steps: list[Step]
    url: str = ""
    key: str = ""
    rejection: Rejection | None = None


def explain(
    raw: str, base: str | None = None, rules: CanonicalRules = SAFE_RULES, limits: UrlLimits = DEFAULT_LIMITS
) -> Explanation:
    """The same as `parse` and `dedup_key`, with each step that changed something."""
    parsed = parse(raw, base, limits)
    if not isinstance(parsed, ParsedUrl):
        return Explanation(raw, [], rejection=parsed)
    steps = [*_fetch_steps(raw, base, parsed), *_key_steps(parsed, rules)]
    return Explanation(raw, steps, parsed.url, dedup_key(parsed, rules))


def _fetch_steps(raw: str, base: str | None, parsed: ParsedUrl) -> list[Step]:
    serialised = serialise(raw, base)
    assert isinstance(serialised, str), "what was parsed can be serialised"
    tail = serialised[serialised.find("/", 8) :]
    is_relative = base is not None and serialise(raw) != serialised
    forms = [
        # Scheme and host in lower case, IDNA, dot segments, default port, escapes: one pass of the parser.
        ("resolve" if is_relative else "whatwg", serialised),
        ("plain_host", parsed.origin + tail),  # no userinfo, no final dot
        ("drop_fragment", parsed.origin + (tail := drop_fragment(tail))),
        ("drop_empty_query", parsed.origin + (tail := drop_empty_query(tail))),
        ("upper_case_escapes", parsed.origin + upper_case_escapes(tail)),
    ]
    return _changes("url", raw, forms)


def _key_steps(parsed: ParsedUrl, rules: CanonicalRules) -> list[Step]:
    return _changes("key", parsed.url, list(key_steps(parsed, rules)))


def _changes(makes: str, start: str, forms: list[tuple[str, str]]) -> list[Step]:
    befores = [start, *(after for _, after in forms)]
    return [
        Step(rule, makes, before, after)
        for before, (rule, after) in zip(befores, forms, strict=False)
        if before != after
    ]
