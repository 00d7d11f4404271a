"""What one robots.txt says to one agent. RFC 9309 decides; where it is silent, Google's open parser does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, hexdigits

import msgspec

Rule = tuple[bool, str]
"""(is allowed, pattern): the pattern as written, with non-ASCII percent-encoded and hex digits in upper case."""

# RFC 9309 2.5 asks for at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 1024
# What is asked for: one byte more than is read tells that the last line may have been cut.
FETCHED_ROBOTS_BYTES = MAX_ROBOTS_BYTES + 1
# Google's limit: eight times the longest URL that Internet Explorer knew. The rest of a longer line is ignored.
MAX_LINE_CHARACTERS = 2083 * 8 - 1
# Lines tried one by one when a rule stands in a file more than once.
MAX_CANDIDATES = 50
MAX_SITEMAPS = 100
MAX_SITEMAP_CHARACTERS = 2048
MAX_USAGES = 32
MAX_USAGE_CHARACTERS = 512
MAX_CRAWL_DELAY_SECONDS = 86_400.0

_TOKEN_CHARACTERS = ascii_letters + "-_"
# Only these: other white space is part of a path that somebody has.
_BLANK = " \t\v\f\r\n"


class RobotsRules(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one robots.txt says to our agent; sitemaps are as written, so perhaps relative."""

    rules: tuple[Rule, ...] = ()
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    usages: tuple[tuple[str, str], ...] = ()


ALLOW_ALL = RobotsRules()
DISALLOW_ALL = RobotsRules(rules=((False, "/"),))


class _Group:
    """What the groups of one agent have said so far."""

    __slots__ = ("crawl_delay_seconds", "is_named", "rules", "usages")

    def __init__(self) -> None:
        self.is_named = False
        # A dictionary as an ordered set: some files repeat the same rules thousands of times.
        self.rules: dict[Rule, None] = {}
        self.crawl_delay_seconds: float | None = None
        self.usages: list[tuple[str, str]] = []


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """The rules of `body` for the product token `agent` (a version after "/" is ignored); any bytes give an answer."""
    token = agent.lower().partition("/")[0]
    preamble, own, everyone = _Group(), _Group(), _Group()
    addressed = [preamble]
    sitemaps: dict[str, None] = {}
    has_rules = True
    for key, value in _records(_text_of(body)):
        match key:
            case "user-agent":
                # Only rules end the list of agents of a group: blank lines and other records do not.
                if has_rules:
                    addressed, has_rules = [], False
                group = _group_named(value, token, own, everyone)
                if group is not None:
                    group.is_named = True
                    addressed.append(group)
            case "allow" | "disallow":
                has_rules = True
                if addressed and value.startswith(("/", "*")):
                    rule = (key == "allow", escape_pattern(value))
                    for group in addressed:
                        group.rules[rule] = None
            case "crawl-delay":
                # A rule to those who wrote it: a group that has nothing else must not fall to the agents after it.
                has_rules = True
                _hear_delay(addressed, value)
            case "sitemap":
                if len(sitemaps) < MAX_SITEMAPS and 0 < len(value) <= MAX_SITEMAP_CHARACTERS:
                    sitemaps[_well_formed(value)] = None
            case _:
                _hear_usage(addressed, key, value)
    chosen = own if own.is_named else everyone
    return RobotsRules(
        rules=tuple(chosen.rules),
        crawl_delay_seconds=chosen.crawl_delay_seconds,
        sitemaps=tuple(sitemaps),
        usages=tuple((preamble.usages + chosen.usages)[:MAX_USAGES]),
    )


def line_of(body: bytes, agent: str, rule: Rule) -> int:
    """The line of the file on which a rule stands that holds for the agent; 0 if that cannot be said.

    Told by the parser itself: it is the line without which the rule does not hold.
    """
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    alike = [
        number
        for number, line in enumerate(lines)
        if b"llow" in line.lower() and parse_robots(b"User-agent: *\n" + line, agent).rules == (rule,)
    ]
    for number in alike[:MAX_CANDIDATES]:
        without = b"\n".join(lines[:number] + lines[number + 1 :])
        if rule not in parse_robots(without, agent).rules:
            return number + 1
    return alike[0] + 1 if alike else 0


def _group_named(value: str, token: str, own: _Group, everyone: _Group) -> _Group | None:
    if value == "*" or (value[:1] == "*" and value[1:2] in _BLANK):
        return everyone
    return own if is_agent_named(value, token) else None


def is_agent_named(value: str, token: str) -> bool:
    """Whether a User-agent line with `value` speaks to the lower-case product token `token`."""
    named = value.lower()
    if not token or not named.startswith(product_token(token) or token):
        return False
    # "Foobot/2.1" and "Foobot Bar" name Foobot (Google); tokens with digits, which RFC 9309 does not know, are
    # compared as whole words.
    words = named.split(maxsplit=1)
    return product_token(named) == token or words[0].partition("/")[0] == token


def product_token(agent: str) -> str:
    """The leading part of a user agent that RFC 9309 calls the product token."""
    return agent[: len(agent) - len(agent.lstrip(_TOKEN_CHARACTERS))]


def is_product_token(agent: str) -> bool:
    """Whether robots.txt files can name this agent at all."""
    return bool(agent) and product_token(agent) == agent


def _hear_delay(groups: list[_Group], value: str) -> None:
    seconds = _delay_seconds(value)
    if seconds is None:
        return
    for group in groups:
        # Of two delays the longer one is surely polite.
        group.crawl_delay_seconds = max(seconds, group.crawl_delay_seconds or 0.0)


def _delay_seconds(value: str) -> float | None:
    """The number that `value` begins with: "10", "1.5", "1,5", "10s" and "10 # seconds" are all seen."""
    number = value.replace(",", ".")
    number = number[: len(number) - len(number.lstrip("0123456789."))]
    whole, _, fraction = number.partition(".")
    digits = f"{whole or '0'}.{fraction.partition('.')[0] or '0'}"
    if not any(character.isdigit() for character in number):
        return None
    # Whatever is longer than any number of days is as long as the longest pause.
    return min(float(digits), MAX_CRAWL_DELAY_SECONDS) if len(digits) <= 64 else MAX_CRAWL_DELAY_SECONDS


def _hear_usage(groups: list[_Group], key: str, value: str) -> None:
    for group in groups:
        if value and len(value) <= MAX_USAGE_CHARACTERS and len(group.usages) < MAX_USAGES:
            group.usages.append((key, _well_formed(value)))


def _text_of(body: bytes) -> str:
    """The text, without byte order mark, without the partial last line past the limit, without NULs."""
    if len(body) > MAX_ROBOTS_BYTES:
        text = _text_of(body[:MAX_ROBOTS_BYTES])
        return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace").replace("\0", "")
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):  # Google skips the partial ones too.
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    # Without its NULs, unmarked UTF-16 of ASCII text is ASCII.
    return body.decode("utf-8", "surrogateescape").replace("\0", "")


def _records(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of every line that has a meaning here, keys in their usual spelling."""
    # Not splitlines(): a form feed or U+2028 is no line end in robots.txt.
    for raw_line in text.replace("\r", "\n").split("\n"):
        line = raw_line[:MAX_LINE_CHARACTERS].partition("#")[0]
        key, colon, value = line.partition(":")
        if not colon:
            # Google's tolerance: a forgotten colon, if the line is exactly two words.
            words = re.split(f"[{_BLANK}]+", line.strip(_BLANK))
            if len(words) != 2:
                continue
            key, value = words
        usual = _KEYS.get(key) or _usual_key(key)
        if usual:
            yield usual, value.strip(_BLANK)


_KEYS = {
    "User-agent": "user-agent",
    "User-Agent": "user-agent",
    "user-agent": "user-agent",
    "Disallow": "disallow",
    "disallow": "disallow",
    "Allow": "allow",
    "allow": "allow",
    "Sitemap": "sitemap",
}

# Beginnings, as in Google's parser: "Disallow-foo: /" is a Disallow. The typos are Google's, too.
_SPELLINGS = (
    ("user-agent", ("user-agent", "useragent", "user agent")),
    ("allow", ("allow",)),
    ("disallow", ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")),
    ("sitemap", ("sitemap", "site-map")),
    ("crawl-delay", ("crawl-delay", "crawldelay", "crawl delay")),
    ("content-signal", ("content-signal",)),
    ("content-usage", ("content-usage",)),
)


def _usual_key(key: str) -> str | None:
    lowered = key.strip(_BLANK).lower()
    for usual, beginnings in _SPELLINGS:
        if lowered.startswith(beginnings):
            return usual
    return None


def _well_formed(value: str) -> str:
    """Without lone surrogates, which MessagePack cannot carry."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# RFC 9309 2.2.2 makes a character and its escape equal. Not for these: an escaped "?" or "/" is data where the
# bare one is structure, and "Disallow: /*?" must not catch /wiki/What%3F (Google agrees).
_STRUCTURE = "/?#[]&=+;%"


def _spelling(code: int) -> str:
    return chr(code) if 0x20 <= code < 0x7F and chr(code) not in _STRUCTURE else f"%{code:02X}"


_ESCAPES = {high + low: _spelling(int(high + low, 16)) for high in hexdigits for low in hexdigits}


def escape_pattern(pattern: str) -> str:
    """Non-ASCII as percent escapes, escapes in upper case; nothing else changes (Google's MaybeEscapePattern)."""
    if "%" not in pattern and pattern.isascii():
        return pattern
    if not pattern.isascii():
        octets = _octets(pattern)
        pattern = "".join(chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in octets)
    first, *rest = pattern.split("%")
    return first + "".join(f"%{part[:2].upper()}{part[2:]}" if part[:2] in _ESCAPES else f"%{part}" for part in rest)


def _octets(text: str) -> bytes:
    """The bytes that a text stands for; half of a surrogate pair, which nobody can send, stands for "?"."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def canonical_path(text: str) -> str:
    """Equal for equal paths: what may stand bare stands bare, the rest is escaped in upper case."""
    if "%" not in text and text.isascii():
        return text
    if not text.isascii():
        text = escape_pattern(text)
    first, *rest = text.split("%")
    return first + "".join([_ESCAPES.get(part[:2], f"%{part[:2]}") + part[2:] for part in rest])


def path_and_query(url: str) -> str:
    """The part of a URL that rules are compared with (Google's GetPathParamsQuery); fragments do not count."""
    start = 2 if url.startswith("//") else 0
    scheme_end = url.find("://", start)
    if scheme_end >= 0 and _first_of(url, "/?;", start) > scheme_end:
        start = scheme_end + 3
    path_start = _first_of(url, "/?;", start)
    end = url.find("#", start)
    end = len(url) if end < 0 else end
    if path_start >= end:
        return "/"
    path = url[path_start:end]
    return path if path[0] == "/" else f"/{path}"


def _first_of(text: str, characters: str, start: int) -> int:
    found = [at for at in (text.find(character, start) for character in characters) if at >= 0]
    return min(found, default=len(text))
