"""When two URLs are the same page: the dedup key, and the rules an operator may turn on.

The key is compared and never fetched, so a rule that is wrong for a site can hide a page but never break a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from lycosa.errors import SettingsError
from lycosa.url.canonical import ParsedUrl
from lycosa.url.domain import registered_domain


class CanonicalRules(msgspec.Struct, frozen=True):
    """The risky rules that are on, in the order in which they apply."""

    active: tuple[str, ...] = ()
    # Query variables that change nothing, by name; and `name=value` pairs that say what leaving them out says.
    superfluous: frozenset[str] = frozenset()
    defaults: frozenset[str] = frozenset()
    is_for_queries: bool = False  # a URL without a query stays as it is

    @classmethod
    def from_names(cls, names: Iterable[str]) -> CanonicalRules:
        """Rules from settings: names of `RISKY_RULES`, `drop:NAME` and `default:NAME=VALUE`."""
        active: set[str] = set()
        superfluous: set[str] = set()
        defaults: set[str] = set()
        for name in names:
            rule, colon, argument = name.strip().partition(":")
            if rule == "drop" and argument:
                active.add("drop_variables")
                superfluous.add(argument.lower())
            elif rule == "default" and "=" in argument:
                active.add("drop_defaults")
                defaults.add(argument)
            elif rule in RISKY_RULES and not colon and rule != "drop_variables":
                active.add(rule)
                defaults |= COMMON_DEFAULTS if rule == "drop_defaults" else frozenset()
            else:
                raise SettingsError(f"url_rules: no such rule {name!r} ({RULE_SYNTAX})")
        return cls(
            _in_order(active), frozenset(superfluous), frozenset(defaults), bool(active) and active <= _QUERY_RULES
        )

    def and_drop(self, names: Iterable[str]) -> CanonicalRules:
        """These rules, and that some more query variables change nothing."""
        active = _in_order({*self.active, "drop_variables"})
        return msgspec.structs.replace(
            self,
            active=active,
            superfluous=self.superfluous | {name.lower() for name in names},
            is_for_queries=_QUERY_RULES.issuperset(active),
        )

    @property
    def about_queries(self) -> QueryRules:
        """The rules that are on about the variables of queries."""
        names = _TRACKING_NAMES if "drop_tracking" in self.active else frozenset()
        return QueryRules(
            is_any=any(name in _QUERY_RULES for name in self.active),
            sorts="sort_query" in self.active,
            names=tuple(names | (self.superfluous if "drop_variables" in self.active else frozenset())),
            prefixes=_TRACKING_PREFIXES if "drop_tracking" in self.active else (),
            pairs=tuple(self.defaults if "drop_defaults" in self.active else ()),
        )

    @property
    def has_others(self) -> bool:
        """Whether a rule is on that changes more of a key than its origin and its query."""
        return not _QUERY_RULES.union(_ORIGIN_RULES).issuperset(self.active)


class QueryRules(NamedTuple):
    """Which variables of a query do not count: by name and beginning of the name in lower case, or with their value."""

    is_any: bool
    sorts: bool
    names: tuple[str, ...]
    prefixes: tuple[str, ...]
    pairs: tuple[str, ...]


SAFE_RULES = CanonicalRules()


class _Key:
    """A dedup key in the making. Rules change it in place: values would double their cost, paid per new link."""

    __slots__ = ("authority", "path", "scheme", "variables")

    def __init__(self, origin: str, tail: str) -> None:
        self.scheme, _, self.authority = origin.partition("://")
        self.path, _, query = tail.partition("?")
        self.variables = query.split("&") if query else []

    def __str__(self) -> str:
        query = "?" + "&".join(self.variables) if self.variables else ""
        return f"{self.scheme}://{self.authority}{self.path}{query}"

    def drop(self, is_needless: Callable[[str], bool]) -> None:
        if self.variables:
            self.variables = [part for part in self.variables if part and not is_needless(part)]


def dedup_key(parsed: ParsedUrl, rules: CanonicalRules = SAFE_RULES) -> str:
    """The text under which a URL is compared with others: itself URL-shaped, `scheme://host[:port]/…`."""
    return key_of(parsed.origin, parsed.path_and_query, rules)


def key_of(origin: str, tail: str, rules: CanonicalRules = SAFE_RULES) -> str:
    """The dedup key of a URL in fetch form, by its origin and the rest of it."""
    tail = settle_escapes(tail)
    # The rules that are on by default are for queries, which most URLs have not.
    if not rules.active or (rules.is_for_queries and "?" not in tail):
        return origin + tail
    key = _Key(origin, tail)
    for name in rules.active:
        RISKY_RULES[name](key, rules)
    return str(key)


def key_steps(parsed: ParsedUrl, rules: CanonicalRules) -> Iterator[tuple[str, str]]:
    """The rules that make the key, each with the key after it; the last is `dedup_key`."""
    tail = settle_escapes(parsed.path_and_query)
    yield "settle_escapes", parsed.origin + tail
    key = _Key(parsed.origin, tail)
    for name in rules.active:
        RISKY_RULES[name](key, rules)
        yield name, str(key)


_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# Characters that RFC 3986 wants escaped and browsers send bare.
UNWISE = "[]|^`{}\\"
_ESCAPES = {f"%{octet:02X}": chr(octet) if chr(octet) in _UNRESERVED else f"%{octet:02X}" for octet in range(256)}
_ESCAPES |= {"%": "%25"} | {character: f"%{ord(character):02X}" for character in UNWISE}
_UNSETTLED = re.compile(r"%(?:[0-9A-F]{2})?|[\[\]|^`{}\\]")
_UNSETTLED_OCTETS = b"%" + UNWISE.encode()


def settle_escapes(tail: str) -> str:
    """One spelling for each octet: unreserved characters bare, a stray `%` and unwise characters escaped."""
    # Deleting octets and comparing lengths is the quickest way to ask "any of these?" (0.2 µs; a search: 0.4).
    if len(tail.encode().translate(None, _UNSETTLED_OCTETS)) == len(tail):
        return tail
    return _UNSETTLED.sub(lambda found: _ESCAPES[found[0]], tail)


def merge_schemes(key: _Key, _: CanonicalRules) -> None:
    """http and https show the same site."""
    if ":" not in key.authority:
        key.scheme = "http"


def drop_www(key: _Key, _: CanonicalRules) -> None:
    """`www.example.com` is `example.com`; `www.co.uk`, a domain of its own, stays."""
    if key.authority.startswith("www."):
        host, colon, port = key.authority.partition(":")
        if registered_domain(host) != host:
            key.authority = host[4:] + colon + port


_SLASHES = re.compile("//+")


def merge_slashes(key: _Key, _: CanonicalRules) -> None:
    """`//` in a path is `/`."""
    if "//" in key.path:
        key.path = _SLASHES.sub("/", key.path)


_SURE_SESSION = "jsessionid phpsessid cfid cftoken oscsid zenid sessionid session_id sessid xtcsid bv_sessionid"
# Names that often mean something else (sid: story id): dropped only with a value that looks drawn by lot.
_DOUBTFUL_SESSION = "sid s session sess ssid lsid"
_SESSION_NAMES = frozenset(_SURE_SESSION.split())
_DOUBTFUL_SESSION_NAMES = frozenset(_DOUBTFUL_SESSION.split())
_LOT = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[0-9A-Za-z_-]{16,}")
# Not after `/.` or `/..`: without its session id such a segment would become a dot segment.
_PATH_SESSION = re.compile(r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sessionid|sid)=[^/;]*", re.IGNORECASE)
_ASP_SESSION = re.compile(r"/\((?:[A-Z]\([0-9A-Za-z_-]+\))+\)(?=/)")


def drop_sessions(key: _Key, _: CanonicalRules) -> None:
    """Session ids in path (`;jsessionid=`, `/(S(…))/`) and query say who asks, not what for."""
    if ";" in key.path:
        key.path = _PATH_SESSION.sub("", key.path)
    if "/(" in key.path:
        key.path = _ASP_SESSION.sub("", key.path)
    key.drop(_is_session)


def _is_session(variable: str) -> bool:
    name, _, value = variable.partition("=")
    name = name.lower()
    if name in _SESSION_NAMES or name.startswith("aspsessionid"):
        return True
    return name in _DOUBTFUL_SESSION_NAMES and _LOT.fullmatch(value) is not None


_DEFAULT_FILES = frozenset(
    [f"index.{kind}" for kind in ("html", "htm", "shtml", "xhtml", "php", "php5", "asp", "aspx", "jsp", "cgi", "cfm")]
    + [f"default.{kind}" for kind in ("html", "htm", "asp", "aspx")]
)


def drop_index(key: _Key, _: CanonicalRules) -> None:
    """`/a/index.html` is `/a/`."""
    directory, slash, file = key.path.rpartition("/")
    if file.lower() in _DEFAULT_FILES:
        key.path = directory + slash


_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "piwik_", "hsa_")
_TRACKING = """
    gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid twclid ttclid igshid igsh li_fat_id epik srsltid
    mc_cid mc_eid _ga _gl _hsenc _hsmi hsctatracking mkt_tok oly_anon_id oly_enc_id vero_id wickedid rb_clickid
    ml_subscriber ml_subscriber_hash s_cid zanpid spm _openstat
"""
_TRACKING_NAMES = frozenset(_TRACKING.split())


def drop_tracking(key: _Key, _: CanonicalRules) -> None:
    """Campaign and click identifiers (utm_*, gclid, fbclid…) say where a visitor came from."""
    key.drop(_is_tracking)


def _is_tracking(variable: str) -> bool:
    name = variable.partition("=")[0].lower()
    return name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES)


def drop_variables(key: _Key, rules: CanonicalRules) -> None:
    """Variables named by the operator, or learnt, to change nothing (`drop:NAME`)."""
    key.drop(lambda variable: _name(variable).lower() in rules.superfluous)


COMMON_DEFAULTS = frozenset(("page=1", "paged=1", "pagenum=1", "start=0", "offset=0"))


def drop_defaults(key: _Key, rules: CanonicalRules) -> None:
    """Variables at their default value (`page=1`, and `default:NAME=VALUE`)."""
    key.drop(rules.defaults.__contains__)


def sort_query(key: _Key, _: CanonicalRules) -> None:
    """Variables in order of their names. Those of one name keep their order, which may mean something."""
    if len(key.variables) > 1:
        key.variables = sorted(filter(None, key.variables), key=_name)


def _name(variable: str) -> str:
    return variable.partition("=")[0]


# In the order in which they apply: what one rule uncovers, a later one may act on.
RISKY_RULES: dict[str, Callable[[_Key, CanonicalRules], None]] = {
    rule.__name__: rule
    for rule in (
        merge_schemes,
        drop_www,
        merge_slashes,
        drop_sessions,
        drop_index,
        drop_tracking,
        drop_variables,
        drop_defaults,
        sort_query,
    )
}
_QUERY_RULES = {"drop_tracking", "drop_variables", "drop_defaults", "sort_query"}
_ORIGIN_RULES = {"merge_schemes", "drop_www"}
RULE_SYNTAX = ", ".join(
    [*(name for name in RISKY_RULES if name != "drop_variables"), "drop:NAME", "default:NAME=VALUE"]
)


def _in_order(names: set[str]) -> tuple[str, ...]:
    return tuple(name for name in RISKY_RULES if name in names)
