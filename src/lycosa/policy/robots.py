"""robots.txt: what one file says to one agent, and what an answer or its absence means.

Everything here is a function of values and of `now`. How the file is fetched, where records are kept and how
URLs are parsed is known elsewhere. RFC 9309 decides; where it is silent, Google's open parser does.
"""

from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from string import ascii_letters, hexdigits

import msgspec

Rule = tuple[bool, str]
"""(is allowed, pattern): the pattern as written, with non-ASCII percent-encoded and hex digits in upper case."""

# RFC 9309 2.5 asks for at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 1024
# Google's limit: eight times the longest URL that Internet Explorer knew. The rest of a longer line is ignored.
MAX_LINE_CHARACTERS = 2083 * 8 - 1
MAX_SITEMAPS = 100
MAX_SITEMAP_CHARACTERS = 2048
MAX_USAGES = 32
MAX_USAGE_CHARACTERS = 512
MAX_CRAWL_DELAY_SECONDS = 86_400.0
# Past these a Disallow forbids all that begins like it and an Allow is ignored: never less polite than asked. 43,000
# of them, which fit into one file, would take 0.2 s for a long path.
MAX_WILDCARDS = 5_000

CACHE_SECONDS = 86_400.0
FIRST_RETRY_SECONDS = 300.0
MAX_RETRY_SECONDS = 6 * 3600.0
# A name that has never led anywhere is looked for twice more, and soon: what a name server says while it starts, or
# while another takes its place, is over in seconds. Within one run, since a link to a name that nobody has would
# otherwise keep every crawl that finds it from its end.
NAME_RETRY_SECONDS = (5.0, 20.0)
LAST_COPY_AFTER_SECONDS = 12 * 3600.0

_TOKEN_CHARACTERS = ascii_letters + "-_"


class RobotsRules(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one robots.txt says to our agent; sitemaps are as written, so perhaps relative."""

    rules: tuple[Rule, ...] = ()
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    usages: tuple[tuple[str, str], ...] = ()


ALLOW_ALL = RobotsRules()
DISALLOW_ALL = RobotsRules(rules=((False, "/"),))


# --- reading the file -------------------------------------------------------------------------------------


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


def _group_named(value: str, token: str, own: _Group, everyone: _Group) -> _Group | None:
    if value == "*" or (value[:1] == "*" and value[1:2].isspace()):
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
    if not any(character.isdigit() for character in number) or len(digits) > 64:
        return None
    return min(float(digits), MAX_CRAWL_DELAY_SECONDS)


def _hear_usage(groups: list[_Group], key: str, value: str) -> None:
    for group in groups:
        if value and len(value) <= MAX_USAGE_CHARACTERS and len(group.usages) < MAX_USAGES:
            group.usages.append((key, _well_formed(value)))


def _text_of(body: bytes) -> str:
    """The text, without byte order mark, without the partial last line past the limit, without NULs."""
    if len(body) > MAX_ROBOTS_BYTES:
        body = body[:MAX_ROBOTS_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
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
            words = line.split()
            if len(words) != 2:
                continue
            key, value = words
        usual = _KEYS.get(key) or _usual_key(key)
        if usual:
            yield usual, value.strip()


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
    lowered = key.strip().lower()
    for usual, beginnings in _SPELLINGS:
        if lowered.startswith(beginnings):
            return usual
    return None


def _well_formed(value: str) -> str:
    """Without lone surrogates, which MessagePack cannot carry."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# --- one spelling for equal paths -------------------------------------------------------------------------

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


def _canonical(text: str) -> str:
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


# --- matching ---------------------------------------------------------------------------------------------


# (length of the pattern, is allowed, pattern as written): the greatest wins, so the longest, then Allow.
_Verdict = tuple[int, bool, str]
_SILENCE: _Verdict = (0, True, "")


class RobotsDecision(msgspec.Struct, frozen=True, gc=False):
    """Whether a path may be fetched, and the rule that decided; None: no rule speaks of it."""

    allowed: bool
    rule: Rule | None = None


class _Wildcard(msgspec.Struct, frozen=True, gc=False):
    """A pattern with `*` inside, cut at its stars: head, then every part in order, then tail at the very end."""

    needle: str
    head: str
    parts: tuple[str, ...]
    tail: str
    verdict: _Verdict

    @property
    def wants_query(self) -> bool:
        return any("?" in part for part in (self.head, self.tail, *self.parts))

    def matches(self, path: str) -> bool:
        # Greedy from the left is right, as each part needs to be found only once: no backtracking, so the work is
        # linear in path and pattern.
        end = len(path) - len(self.tail)
        at = len(self.head)
        if at > end or not path.startswith(self.head) or not path.endswith(self.tail):
            return False
        for part in self.parts:
            at = path.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


class RobotsMatcher:
    """The rules of one file, made ready for many questions; each costs time linear in rules and path at worst."""

    __slots__ = ("_exact", "_parents", "_prefixes", "_verdicts", "_wildcards", "_wildcards_without_query")

    def __init__(self, rules: RobotsRules) -> None:
        prefixes: dict[str, _Verdict] = {}
        wildcards: list[_Wildcard] = []
        self._exact: dict[str, _Verdict] = {}
        for allowed, pattern in _with_index_pages(rules.rules):
            _sort_in(pattern, (len(pattern), allowed, pattern), self._exact, prefixes, wildcards)
        self._prefixes = sorted(prefixes)
        self._parents, self._verdicts = _nested(self._prefixes, prefixes)
        # The first that matches is the one that counts.
        wildcards.sort(key=lambda wildcard: wildcard.verdict, reverse=True)
        self._wildcards = [(wildcard.needle, wildcard) for wildcard in wildcards]
        self._wildcards_without_query = [
            (needle, wildcard) for needle, wildcard in self._wildcards if not wildcard.wants_query
        ]

    def allows(self, path_and_query: str) -> bool:
        """Whether our agent may fetch this path, given as it stands in the URL."""
        return self._verdict(path_and_query)[1]

    def explain(self, path_and_query: str) -> RobotsDecision:
        """The same answer as `allows`, with the rule that decided."""
        length, allowed, pattern = self._verdict(path_and_query)
        return RobotsDecision(allowed=allowed, rule=(allowed, pattern) if length else None)

    def _verdict(self, path: str) -> _Verdict:
        if "%" in path or not path.isascii():
            path = _canonical(path)
        verdict = self._exact.get(path, _SILENCE)
        # The last prefix not greater than the path, or one of the prefixes of that, is the longest that fits.
        at = bisect_right(self._prefixes, path) - 1
        while at >= 0:
            if path.startswith(self._prefixes[at]):
                verdict = max(verdict, self._verdicts[at])
                break
            at = self._parents[at]
        for needle, wildcard in self._wildcards if "?" in path else self._wildcards_without_query:
            if needle in path:
                if wildcard.verdict <= verdict:
                    break
                if wildcard.matches(path):
                    verdict = wildcard.verdict
                    break
        # RFC 9309 2.2.2: the file itself is always allowed.
        return _SILENCE if path == "/robots.txt" else verdict


def _with_index_pages(rules: tuple[Rule, ...]) -> Iterator[Rule]:
    for allowed, pattern in rules:
        yield allowed, pattern
        # Google's rule: who allows /a/index.html allows /a/, which is the same page.
        if allowed and "/index.htm" in pattern:
            directory, _, name = pattern.rpartition("/")
            if name.startswith("index.htm"):
                yield True, f"{directory}/$"


def _sort_in(
    pattern: str,
    verdict: _Verdict,
    exact: dict[str, _Verdict],
    prefixes: dict[str, _Verdict],
    wildcards: list[_Wildcard],
) -> None:
    is_anchored = pattern.endswith("$")
    # Escaped stars and dollars become bare only here, after the cut, and so stand for themselves.
    head, *parts = [_canonical(part) for part in pattern.removesuffix("$").split("*")]
    if is_anchored and not parts:
        exact[head] = max(verdict, exact.get(head, _SILENCE))
    elif not any(parts) or (len(wildcards) >= MAX_WILDCARDS and not verdict[1]):
        prefixes[head] = max(verdict, prefixes.get(head, _SILENCE))
    elif len(wildcards) < MAX_WILDCARDS:
        tail = parts.pop() if is_anchored else ""
        inner = tuple(part for part in parts if part)
        wildcards.append(_Wildcard(max((head, tail, *inner), key=len), head, inner, tail, verdict))


def _nested(ordered: list[str], verdicts: dict[str, _Verdict]) -> tuple[list[int], list[_Verdict]]:
    """For each prefix in order: the longest other prefix that it begins with, and the best verdict of both."""
    parents: list[int] = []
    best: list[_Verdict] = []
    for at, prefix in enumerate(ordered):
        parent = at - 1
        while parent >= 0 and not prefix.startswith(ordered[parent]):
            parent = parents[parent]
        parents.append(parent)
        best.append(max(verdicts[prefix], best[parent] if parent >= 0 else _SILENCE))
    return parents, best


# --- what an answer means ---------------------------------------------------------------------------------


class RobotsKind(StrEnum):
    """Where the rules of a record come from."""

    RULES = "rules"
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"
    LAST_COPY = "last_copy"


class RobotsRecord(msgspec.Struct, frozen=True, array_like=True):
    """What holds for an origin until `expires_at`; after that robots.txt is asked for again before any page."""

    kind: RobotsKind
    rules: RobotsRules
    fetched_at: float
    expires_at: float
    failures: int = 0
    failing_since_at: float | None = None
    # The last good copy while `rules` is something else, so that no record carries its rules twice.
    set_aside: RobotsRules | None = None

    @property
    def last_copy(self) -> RobotsRules | None:
        """The rules of the last robots.txt that could be read."""
        return self.rules if self.kind in {RobotsKind.RULES, RobotsKind.LAST_COPY} else self.set_aside


def robots_verdict(
    status: int | None,
    body: bytes,
    agent: str,
    now: float,
    previous: RobotsRecord | None = None,
    *,
    cache_seconds: float = CACHE_SECONDS,
    is_name_unknown: bool = False,
) -> RobotsRecord:
    """What holds after this answer; `status` is None when there was none (DNS, TLS, network, timeout).

    `is_name_unknown`: there is no such name, as far as this crawl has ever heard.
    """
    expires_at = now + cache_seconds
    last_copy = previous.last_copy if previous else None
    if status is not None and 200 <= status < 300:
        return RobotsRecord(RobotsKind.RULES, parse_robots(body, agent), now, expires_at)
    if status == 304 and last_copy is not None:
        return RobotsRecord(RobotsKind.RULES, last_copy, now, expires_at)
    # 429 means too many requests, so less of them (Google; RFC 9309 leaves it open).
    if status is not None and 400 <= status < 500 and status != 429:
        return RobotsRecord(RobotsKind.ALLOW_ALL, ALLOW_ALL, now, expires_at, set_aside=last_copy)
    return _failed(now, previous, last_copy, is_name_unknown=is_name_unknown)


def _failed(
    now: float, previous: RobotsRecord | None, last_copy: RobotsRules | None, *, is_name_unknown: bool
) -> RobotsRecord:
    """No answer to rely on: everything is disallowed, then the last copy holds; never is everything allowed."""
    failures = previous.failures + 1 if previous else 1
    since_at = now
    if previous is not None and previous.failing_since_at is not None:
        since_at = previous.failing_since_at
    last_copy_at = since_at + LAST_COPY_AFTER_SECONDS
    expires_at = now + _retry_seconds(failures, is_name_unknown=is_name_unknown)
    if last_copy is None:
        return RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, expires_at, failures, since_at)
    if now >= last_copy_at:
        return RobotsRecord(RobotsKind.LAST_COPY, last_copy, now, expires_at, failures, since_at)
    expires_at = min(expires_at, last_copy_at)
    return RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, expires_at, failures, since_at, last_copy)


def _retry_seconds(failures: int, *, is_name_unknown: bool) -> float:
    if is_name_unknown and failures <= len(NAME_RETRY_SECONDS):
        return NAME_RETRY_SECONDS[failures - 1]
    # 2 ** 7 is already past the longest wait; an unbounded exponent would overflow after a year of failures.
    return min(FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 7), MAX_RETRY_SECONDS)
