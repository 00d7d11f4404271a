"""URLs as the web reads them: WHATWG parsing and resolution, and the one form in which a URL is fetched.

Knows nothing of scope, of duplicates (`rules.py`) or of what the network answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from urllib.parse import urljoin

import msgspec

import url as rust_url
from lycosa.errors import SettingsError

_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
# What every crawl fetches, and what one can that is told to.
WEB = frozenset(("http", "https"))
SCHEMES = WEB | {"ftp", "file"}
# Spaces, dot segments and fragments go, so a text longer than the limit may give a URL within it; but not any length.
_PARSE_FACTOR = 4


class Rejection(Enum):
    """Why a text is not a URL this crawler would fetch."""

    EMPTY = "it is empty"
    RELATIVE = "it is relative and there is no base to resolve it against"
    SAME_PAGE = "it leads to the page it stands on"
    SCHEME = "its scheme is not http or https"
    BAD_HOST = "its host is not a name or address that can exist"
    BAD_PORT = "its port is not a number from 1 to 65535"
    TOO_LONG = "it is longer than the limit"
    TOO_DEEP = "its path has more segments than the limit"
    REPEATED = "its path repeats a segment, as loops of relative links do"
    UNREADABLE = "it cannot be parsed"


class UrlLimits(msgspec.Struct, frozen=True):
    """How long and deep a URL may be, and how often a segment may recur in its path; 0 means no limit.

    And which schemes it may have; None: any that has a host.
    """

    max_length: int = 2048
    max_path_depth: int = 20
    max_repeats: int = 2
    schemes: frozenset[str] | None = WEB


DEFAULT_LIMITS = UrlLimits()
NO_LIMITS = UrlLimits(max_length=0, max_path_depth=0, max_repeats=0)
# What was fetched already, and what nobody fetches.
FETCHED = UrlLimits(max_length=0, max_path_depth=0, max_repeats=0, schemes=SCHEMES)
ANY_SCHEME = UrlLimits(schemes=None)


class ParsedUrl(msgspec.Struct, frozen=True, gc=False):
    """A URL in the form in which it is fetched; `url` is always `origin + path_and_query`.

    `host` is ASCII, lower case, without final dot; an IPv6 address keeps its brackets.
    """

    url: str
    scheme: str
    host: str
    port: int
    origin: str
    path_and_query: str


class Origin(msgspec.Struct, frozen=True, gc=False):
    """`scheme://host[:port]` as in the fetch form, `text`, and its parts."""

    scheme: str
    host: str
    port: int
    text: str


def parse(raw: str, base: str | None = None, limits: UrlLimits = DEFAULT_LIMITS) -> ParsedUrl | Rejection:
    """Resolve `raw` as a browser would and give its fetch form, or say why it has none. Never raises.

    A base many times longer than a URL may be is no base: each link of its page would cost as much as that is long.
    """
    if limits.max_length:
        longest = limits.max_length * _PARSE_FACTOR
        if len(raw) > longest:
            return _reason_unparsed(raw)
        if base is not None and len(base) > longest:
            base = None
    serialised = serialise(raw, base)
    return fetch_form(serialised, limits) if isinstance(serialised, str) else serialised


_HOST_AND_PORT = re.compile(r"[^/?#:]+:[0-9]+(?:[/?#]|$)")


def joined(base: str, href: str) -> str:
    """Where a reference leads, unchecked; to the page it stands on if nobody can tell."""
    try:
        return urljoin(base, href)
    except ValueError:
        return base


def parse_seed(raw: str, limits: UrlLimits = DEFAULT_LIMITS) -> ParsedUrl | Rejection:
    """Like `parse`, for what people type: without a scheme (`example.com/a`, `localhost:8080`) it is http."""
    text = raw.strip()
    parsed = Rejection.RELATIVE if _HOST_AND_PORT.match(text) else parse(text, limits=limits)
    return parse("http://" + text.lstrip("/"), limits=limits) if parsed is Rejection.RELATIVE else parsed


def parse_seeds(texts: Iterable[str], schemes: Iterable[str] = WEB) -> list[ParsedUrl]:
    """Seeds as URLs; a text that is none is the operator's to mend. Those of a crawl may have any of `SCHEMES`."""
    seeds, limits = [], UrlLimits(schemes=WEB.union(schemes))
    for text in texts:
        parsed = parse_seed(text, limits)
        if not isinstance(parsed, ParsedUrl):
            scheme = text.strip().partition(":")[0].lower()
            may_be_opened = parsed is Rejection.SCHEME and scheme in SCHEMES
            hint = f"; name {scheme} among `schemes` to open it" if may_be_opened else ""
            raise SettingsError(f"seed {text!r}: {parsed.value}{hint}")
        seeds.append(parsed)
    return seeds


def serialise(raw: str, base: str | None = None) -> str | Rejection:
    """The WHATWG serialisation of `raw` resolved against `base`, of any scheme, with its fragment."""
    try:
        opened = open_base(base) if base is not None else None
        return str(opened.join(raw) if opened is not None else rust_url.URL.parse(raw))
    except rust_url.URLError as error:
        return _second_opinion(raw, base, error)
    except UnicodeEncodeError:
        return serialise(without_lone_surrogates(raw), base)


def fetch_form(serialised: str, limits: UrlLimits = DEFAULT_LIMITS) -> ParsedUrl | Rejection:
    """The fetch form of a WHATWG-serialised URL."""
    if not serialised.startswith(("http://", "https://")):
        with_host = _other_form(serialised, limits.schemes)
        if isinstance(with_host, Rejection):
            return with_host
        serialised = with_host
    path_at = path_start(serialised)
    origin = _read_origin(serialised[:path_at])
    if not isinstance(origin, Origin):
        return origin
    if len(origin.text) < _SHORTEST_ORIGIN:
        return Rejection.BAD_HOST
    tail = settle_tail(serialised[path_at:])
    text = origin.text + tail
    if 0 < limits.max_length < len(text):
        return Rejection.TOO_LONG
    if (tail.count("/") > 2 or limits.max_path_depth < 3) and (rejection := _rejected_path(tail, limits)):
        return rejection
    return ParsedUrl(text, origin.scheme, origin.host, origin.port, origin.text, tail)


# The path of a URL is looked for behind so many characters (see `model.origin_of`).
_SHORTEST_ORIGIN = len("http://a")
_WITH_HOST = re.compile(r"([a-z][a-z0-9+.-]{1,30})://([^/?#]{3,})(/?)(.*)", re.DOTALL)


def _other_form(serialised: str, schemes: frozenset[str] | None) -> str | Rejection:
    """A URL that is not of the web, as if it were: with a host, and a path. Local files are on `localhost`."""
    scheme = serialised.partition(":")[0]
    if schemes is not None and (scheme not in schemes or scheme in WEB):
        return Rejection.SCHEME
    if serialised.startswith("file:///"):
        return "file://localhost" + serialised[len("file://") :]
    match = _WITH_HOST.fullmatch(serialised)
    if match is None:
        return Rejection.SCHEME
    return Rejection.BAD_HOST if scheme == "file" else f"{scheme}://{match[2]}/{match[4]}"


def path_start(url: str) -> int:
    """Where the path of a URL begins that has a host and a path."""
    return url.find("/", 8) if url.startswith("http") else url.find("/", url.find("://") + 3)


def settle_tail(tail: str) -> str:
    """Path and query in fetch form: no fragment, no empty query, upper-case escapes."""
    if "#" in tail:
        tail = drop_fragment(tail)
    if tail[-1] == "?":
        tail = drop_empty_query(tail)
    return upper_case_escapes(tail) if "%" in tail else tail


def drop_fragment(tail: str) -> str:
    """Path and query without `#…`; a serialised path or query holds no bare `#`."""
    return tail.partition("#")[0]


def drop_empty_query(tail: str) -> str:
    """Path and query without a `?` that nothing follows."""
    return tail[:-1] if tail.find("?") == len(tail) - 1 else tail


_LOWER_CASE_ESCAPE = re.compile("%(?:[0-9A-F][a-f]|[a-f][0-9A-Fa-f])")


def upper_case_escapes(tail: str) -> str:
    """`%c3` as `%C3`: the same octet (RFC 3986 6.2.2.1)."""
    return _LOWER_CASE_ESCAPE.sub(lambda escape: escape[0].upper(), tail)


# What the web calls by the first name is a superset of it (WHATWG Encoding).
_WEB_ENCODINGS = {"gb2312": "gbk", "shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs", "iso-8859-1": "cp1252"}
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_PLAIN_QUERY_OCTETS = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")


def encode_query(href: str, encoding: str) -> str:
    """Spell the query of `href` in the encoding of the page it stands on, as browsers do.

    Characters the encoding lacks become `&#…;`. Changes nothing for UTF-8 and for plain ASCII.
    """
    if href.isascii() or "?" not in href or encoding.lower().startswith("utf"):
        return href
    codec = _WEB_ENCODINGS.get(encoding.lower(), encoding)
    before, hash_sign, fragment = href.partition("#")
    path, question_mark, query = before.partition("?")
    try:
        query = _NOT_ASCII.sub(lambda run: _escaped_octets(run[0], codec), query)
    except LookupError:
        return href  # an encoding Python does not know: UTF-8 is the best guess left
    return path + question_mark + query + hash_sign + fragment


def _escaped_octets(run: str, codec: str) -> str:
    try:
        octets = run.encode(codec)
    except UnicodeError:
        if len(run) > 1:
            return "".join(_escaped_octets(character, codec) for character in run)
        return f"%26%23{ord(without_lone_surrogates(run))}%3B"
    return "".join(chr(octet) if octet in _PLAIN_QUERY_OCTETS else f"%{octet:02X}" for octet in octets)


def without_lone_surrogates(text: str) -> str:
    """Lone surrogates become U+FFFD, as in the DOM."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# A page's links share its base, and a base is parsed at about the cost of a link.
@lru_cache(maxsize=1024)
def open_base(base: str) -> rust_url.URL | None:
    """The parsed base, or None where only the second parser can read it."""
    try:
        return rust_url.URL.parse(base)
    except (rust_url.URLError, UnicodeEncodeError):
        return None


def read_origin(written: str) -> Origin | Rejection | None:
    """An origin as it was written (`http://…` up to the path); None where only the second parser can read it."""
    try:
        root = str(rust_url.URL.parse(written + "/"))
    except (rust_url.URLError, UnicodeEncodeError):
        return None
    return _read_origin(root[:-1])


_HOST_ERRORS = (
    rust_url.EmptyHost,
    rust_url.IdnaError,
    rust_url.InvalidDomainCharacter,
    rust_url.InvalidIPv4Address,
    rust_url.InvalidIPv6Address,
)


def _second_opinion(raw: str, base: str | None, error: rust_url.URLError) -> str | Rejection:
    import ada_url  # hardly ever needed

    # rust-url refuses some hosts that browsers take (`///host`, `xn--` labels that do not decode); ada does not.
    # Ada is right on every WPT case, but ten times slower, so it is asked only here.
    try:
        return str(ada_url.URL(raw, base).href if base is not None else ada_url.URL(raw).href)
    except (ValueError, UnicodeEncodeError):
        return _reason(raw, error)


def _reason(raw: str, error: rust_url.URLError) -> Rejection:
    match error:
        case rust_url.InvalidPort():
            return Rejection.BAD_PORT
        case rust_url.RelativeURLWithoutBase() | rust_url.RelativeURLWithCannotBeABaseBase():
            return Rejection.RELATIVE if raw.strip() else Rejection.EMPTY
        case _ if isinstance(error, _HOST_ERRORS):
            return Rejection.BAD_HOST
    return Rejection.UNREADABLE


_FOREIGN_SCHEME = re.compile(r"[\x00-\x20]*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def _reason_unparsed(raw: str) -> Rejection:
    # Megabytes of `data:` are common; only the reason is wanted, so they are not parsed.
    return Rejection.SCHEME if _FOREIGN_SCHEME.match(raw) else Rejection.TOO_LONG


@lru_cache(maxsize=4_096)
def _read_origin(prefix: str) -> Origin | Rejection:
    """Read `scheme://[userinfo@]host[:port]` as serialised. Userinfo goes: a link must not make us log in."""
    scheme, _, authority = prefix.partition("://")
    usual = _DEFAULT_PORTS.get(scheme, -1)
    host, port = _split_port(authority.rpartition("@")[2], usual)
    host = host.removesuffix(".")
    if port == 0:
        return Rejection.BAD_PORT  # allowed by the standard, reached by nobody
    if not _may_exist(host):
        return Rejection.BAD_HOST
    suffix = "" if port == usual else f":{port}"
    return Origin(scheme, host, port, f"{scheme}://{host}{suffix}")


def _split_port(authority: str, default: int) -> tuple[str, int]:
    host, colon, digits = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, default
    return host, int(digits)


def _may_exist(host: str) -> bool:
    # DNS: labels of 1 to 63 octets, 253 in all. Underscores and hyphens anywhere do occur.
    return host.startswith("[") or (len(host) <= 253 and all(0 < len(label) < 64 for label in host.split(".")))


def _rejected_path(tail: str, limits: UrlLimits) -> Rejection | None:
    path = tail.partition("?")[0]
    segments = path.split("/")
    if 0 < limits.max_path_depth < len(segments) - 1 - path.endswith("/"):
        return Rejection.TOO_DEEP
    # Nearly every path ends here: too few segments recur for a loop.
    if not limits.max_repeats or len(segments) - len(set(segments)) < limits.max_repeats:
        return None
    # Empty segments are slips of a template (`//a//b`), not a loop; the depth limit counts them.
    return Rejection.REPEATED if _is_loop([name for name in segments if name], limits.max_repeats) else None


def _is_loop(segments: list[str], max_repeats: int) -> bool:
    """Whether a segment recurs more than `max_repeats` times at one distance, or more than that plus one at any.

    A loop of period n puts the same segment n, 2n, 3n… places on, whatever n is. Mere counting would refuse
    `/django/django/tree/main/django`.
    """
    places: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        places.setdefault(segment, []).append(place)
    return any(
        len(found) > max_repeats + 1 or (len(found) > max_repeats and _evenly_spaced(found, max_repeats))
        for found in places.values()
    )


def _evenly_spaced(places: list[int], steps: int) -> bool:
    here = set(places)
    return any(
        all(first + step * (second - first) in here for step in range(2, steps + 1))
        for at, first in enumerate(places)
        for second in places[at + 1 :]
    )
