"""Rules of the operator for single sites: what can be said of one, and which rules are in force for a URL.

A rule stands under a place: a host with all below it, or less of one. The most specific place that speaks of a
matter decides it, each matter by itself; what no place speaks of goes by the settings of the crawl.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from lycosa.errors import SettingsError

Type = Literal["str", "int", "float", "date", "url", "bool"]


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One field of a record: where it stands on the page, and what is made of it."""

    css: Annotated[str, "The elements it is read from, as a CSS selector."] = ""
    xpath: Annotated[str, "The same as an XPath expression."] = ""
    attr: Annotated[str, "The attribute that is read, instead of the text."] = ""
    html: Annotated[bool, "Whether the markup of the element is kept, instead of its text."] = False
    type: Annotated[Type, "What the text is read as; what cannot be read so is null."] = "str"
    is_list: Annotated[bool, "Whether all elements count, as a list, and not the first alone."] = msgspec.field(
        default=False, name="list"
    )
    each: Annotated[str, "A list of records, one for each element this selector finds, with `fields` within."] = ""
    fields: Annotated[dict[str, "str | Field"], "The fields of those records."] = {}


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How to log in to a host: by a form, by name and password with every request, by a token, or by cookies."""

    form: Annotated[str, "The page that has the form; a path of the host, or a URL on it."] = ""
    user: Annotated[str, "Who logs in; env:NAME takes it from the environment, file:PATH from a file."] = ""
    password: Annotated[str, "With which password; env:NAME or file:PATH."] = ""
    fields: Annotated[dict[str, str], "Further fields of the form; with the names of its own, instead of those."] = {}
    success: Annotated[str, "A pattern (RE2) of what a page says only to those who are logged in."] = ""
    token: Annotated[str, "Instead of a form: a bearer token sent with every request; env:NAME or file:PATH."] = ""
    cookies: Annotated[str, "Instead of a form: a file of cookies in Netscape's format."] = ""
    logout: Annotated[str, "A pattern (RE2) of the URLs that would end the session: they are not visited."] = (
        r"(?i)(?:^|[/?&=._])(?:(?:log|sign)[-_]?(?:out|off)|abmelden|deconnexion|cerrar[-_]?sesion|tuichu|zhuxiao)(?:$|[/?&=.;])"
    )

    @property
    def way(self) -> str:
        """By which of the ways."""
        return "form" if self.form else "token" if self.token else "cookies" if self.cookies else "password"


class SiteRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is said of one place. None: nothing is said of it there."""

    # How it is asked
    delay_seconds: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        "The pause between two requests to a host, instead of min_delay_seconds and delay_factor.",
    ] = None
    connections: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        "For hosts of your own only: requests at once, where no pause is kept; to others they are an attack. Else 1.",
    ] = None
    robots: Annotated[
        Literal["obey", "ignore"] | None,
        "ignore: what its robots.txt forbids is fetched all the same, for sites of your own. Pauses still hold.",
    ] = None
    headers: Annotated[dict[str, str] | None, "Header fields of the requests to this host alone."] = None
    cookies: Annotated[dict[str, str] | None, "Cookies of the requests to this host alone."] = None
    proxy: Annotated[
        str | None, "By which proxy it is reached: http://HOST:PORT or socks5://HOST:PORT; an empty text for none."
    ] = None
    login: Annotated[Login | None, "How to log in to this host; see docs/how-to/logins.md."] = None
    render: Annotated[
        Literal["never", "auto", "always"] | None, "Whether a browser renders its pages before they are read."
    ] = None
    requisites: Annotated[
        bool | None, "Whether what a browser loads to show its pages (styles, images, scripts, fonts) is fetched, too."
    ] = None
    # What is followed, and when
    scope: Annotated[
        Literal["host", "domain", "any"] | None,
        "Which of its URLs belong to the crawl: those on a host with a seed, in a domain with one, or any.",
    ] = None
    include: Annotated[list[str] | None, "Only URLs that match one of these patterns (RE2) are followed."] = None
    exclude: Annotated[list[str] | None, "URLs that match one of these patterns (RE2) are not followed."] = None
    links: Annotated[
        list[str] | None, "Selectors (CSS or XPath) of the links, or of what they stand in, that count."
    ] = None
    drop: Annotated[
        list[str] | None, "Query variables that make no other page of it. Fetched is what the link says."
    ] = None
    priority: Annotated[
        Annotated[int, Meta(ge=1, le=10)] | None, "How early its pages are visited: from 10, the first, to 1."
    ] = None
    revisit_seconds: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        "In a crawl that goes on (--revisit): how soon each of its pages is visited again, instead of as it changes.",
    ] = None
    # What its pages say
    content: Annotated[
        str | None, "A selector (CSS or XPath) of what its pages are about, instead of our own judgement."
    ] = None
    each: Annotated[
        str | None, "A selector (CSS or XPath): each element it finds gives a record; without it, a page gives one."
    ] = None
    fields: Annotated[
        dict[str, str | Field] | None, "The fields of its records: a selector (CSS or XPath) each, or a table."
    ] = None


NAMES = SiteRules.__struct_fields__
LOGIN_HELP: dict[str, str] = {name: hint.__metadata__[-1] for name, hint in Login.__annotations__.items()}
RULE_HELP: dict[str, str] = {name: hint.__metadata__[-1] for name, hint in SiteRules.__annotations__.items()}
FIELD_HELP: dict[str, str] = {name: hint.__metadata__[-1] for name, hint in Field.__annotations__.items()}
# What is decided for a host as a whole, before any of its URLs is known.
OF_HOSTS = frozenset({"delay_seconds", "connections", "robots", "proxy", "scope", "include", "exclude", "drop"})
# What holds for the host that is named and not for those below it: credentials, and what only its owner may say.
OF_NAMED_HOSTS = frozenset({"connections", "robots", "headers", "cookies", "login"})

_NOTHING = SiteRules()
_PLACE = re.compile(r"(?:(https?)://)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(/[^#\s]*)?")
_PORTS = {"http": "80", "https": "443"}
MAX_HOSTS = 20_000


class SitePlace(NamedTuple):
    """Where a rule holds: a host and all below it, or of these only what is asked in one way, or under a path."""

    host: str
    scheme: str = ""
    port: str = ""
    path: str = ""  # `*` stands for any text

    @property
    def is_whole(self) -> bool:
        """Whether it is a host with all its URLs."""
        return not (self.scheme or self.port or self.path)

    def covers(self, scheme: str, port: str, path: str) -> bool:
        """Whether a URL of a host that it is about belongs to it."""
        return (
            (not self.scheme or self.scheme == scheme)
            and (not self.port or self.port == port)
            and (not self.path or is_like(path, self.path))
        )

    @property
    def weight(self) -> tuple[int, int, int]:
        """Places that come later in this order are more specific."""
        return len(self.host), len(self.path), bool(self.scheme) + bool(self.port)


def place_of(text: str) -> SitePlace:
    """A place as it is written: `example.com`, `https://example.com:8443`, `example.com/blog/*`."""
    match = _PLACE.fullmatch(text.strip())
    host = _ascii(match[2].lower().strip(".")) if match else ""
    if match is None or not host:
        raise SettingsError(
            f"site: {text!r} names no site; expected a host or domain (example.com), or a URL pattern "
            "(https://example.com, example.com/blog/*)"
        )
    scheme, _, port, path = (part or "" for part in match.groups())
    return SitePlace(host, scheme, port, "" if path in ("/", "/*") else path)


def _ascii(host: str) -> str:
    """A host's name as it stands in URLs; empty if it cannot."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ""


def is_like(text: str, pattern: str) -> bool:
    """Whether all of a text is as a pattern says, in which `*` stands for anything. In linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    *middle, last = rest
    at = len(first)
    for piece in middle:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(text) - at >= len(last) and text.endswith(last)


class SiteTable:
    """The rules of all sites, to be asked by host or by URL. Canonical ones: nothing else is understood."""

    def __init__(self, rules: Mapping[str, SiteRules]) -> None:
        places = [(place_of(text), said) for text, said in rules.items()]
        self._by_host: dict[str, list[tuple[SitePlace, SiteRules]]] = {}
        for place, said in sorted(places, key=lambda each: each[0].weight):
            self._by_host.setdefault(place.host, []).append((place, said))
        # Bound here, so that a table that is gone takes what it remembered along.
        self.of_host: Callable[[str], SiteRules] = lru_cache(MAX_HOSTS)(self._of_host)
        self._about = lru_cache(MAX_HOSTS)(self._find)

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def of(self, url: str) -> SiteRules:
        """The rules in force for a URL."""
        if not self._by_host:
            return _NOTHING
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        host, port = _host_and_port(authority)
        if all(place.is_whole for place, _ in self._about(host)):
            return self.of_host(host)
        port, path = port or _PORTS.get(scheme, ""), slash + path.partition("#")[0]
        return self._merged(host, lambda place: place.covers(scheme, port, path))

    def says(self, name: str) -> bool:
        """Whether any site has a rule of this name."""
        return any(getattr(rules, name) is not None for said in self._by_host.values() for _, rules in said)

    def named_hosts(self, name: str) -> dict[str, Any]:
        """What is said under a name of hosts as a whole, by host or by the end of the names of hosts."""
        return {
            host: value
            for host, said in self._by_host.items()
            for place, rules in said
            if place.is_whole and (value := getattr(rules, name)) is not None
        }

    def _of_host(self, host: str) -> SiteRules:
        return self._merged(host, lambda place: place.is_whole)

    def _merged(self, host: str, is_in: Callable[[SitePlace], bool]) -> SiteRules:
        merged: dict[str, object] = {}
        for place, said in self._about(host):
            if is_in(place):
                merged |= {
                    name: value
                    for name in NAMES
                    if (value := getattr(said, name)) is not None and (place.host == host or name not in OF_NAMED_HOSTS)
                }
        return SiteRules(**merged) if merged else _NOTHING  # type: ignore[arg-type]

    def _find(self, host: str) -> list[tuple[SitePlace, SiteRules]]:
        """What is said of a host, the most specific last."""
        found: list[tuple[SitePlace, SiteRules]] = []
        name = host
        while name:
            found[:0] = self._by_host.get(name, [])
            name = name.partition(".")[2]
        return found


def host_of(url: str) -> str:
    """The host of a canonical URL or origin."""
    return _host_and_port(url.partition("://")[2].partition("/")[0])[0]


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        return f"{host}]", port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


NO_RULES = SiteTable({})


def ignores_robots(rules: Mapping[str, SiteRules]) -> frozenset[str]:
    """The hosts whose robots.txt is read and not obeyed."""
    said = SiteTable(rules).named_hosts("robots")
    return frozenset(host for host, robots in said.items() if robots == "ignore")


def intervals_of(places: Mapping[str, float]) -> Callable[[str], float | None]:
    """How soon the page of a URL is visited again, where its place says so."""
    table = SiteTable({place: SiteRules(revisit_seconds=seconds) for place, seconds in places.items()})
    return lambda url: table.of(url).revisit_seconds


def any_origin(_: str) -> bool:
    """Whether an origin may be told what the operator alone knows: yes, where he names each URL himself."""
    return True


def known_origins(seeds: Iterable[str], places: Iterable[str]) -> Callable[[str], bool]:
    """Which origins may be told what a host's operator alone may know, given the origins of the seeds.

    Of one host, another port may be somebody else's, and plain http is overheard: those of its seeds are trusted, and
    what a place names; of hosts without seeds those that are asked as some seed is; https at its own port always.
    """
    by_host: dict[str, set[str]] = {}
    ways = set[tuple[str, str]]()
    for origin in seeds:
        host, port = _host_and_port(origin.partition("://")[2])
        by_host.setdefault(host, set()).add(origin)
        ways.add((origin.partition("://")[0], port))
    named = {origin for place in map(place_of, places) for origin in _origins_of(place)}

    def is_known(origin: str) -> bool:
        scheme, _, authority = origin.partition("://")
        host, port = _host_and_port(authority)
        if (scheme == "https" and not port) or origin in named:
            return True
        return origin in by_host[host] if host in by_host else (scheme, port) in ways

    return is_known


def _origins_of(place: SitePlace) -> list[str]:
    """The origins that a place names."""
    if not (place.scheme or place.port):
        return []
    schemes = [place.scheme] if place.scheme else list(_PORTS)
    return [
        f"{scheme}://{place.host}" + (f":{place.port}" if place.port not in ("", _PORTS[scheme]) else "")
        for scheme in schemes
    ]


def warnings_of(rules: Mapping[str, SiteRules], seeds: Iterable[str] = ()) -> list[str]:
    """What the operator must be told of the rules before a crawl goes by them; `seeds` are the hosts of the seeds."""
    ignored = [
        f'!! robots.txt of {host} is read and NOT obeyed: robots = "ignore" is for sites of your own'
        for host in sorted(ignores_robots(rules))
    ]
    return ignored + _not_meant(rules, set(seeds)) if rules else []


def _not_meant(rules: Mapping[str, SiteRules], seeds: set[str]) -> list[str]:
    """Of seeds below a name, or above it, for which something is said that holds for that name alone."""
    told = []
    for text, said in rules.items():
        host = place_of(text).host
        names = [name for name in sorted(OF_NAMED_HOSTS) if getattr(said, name) is not None]
        kin = sorted(seed for seed in seeds if seed.removeprefix("www.") == host or host.removeprefix("www.") == seed)
        if names and kin and host not in seeds:
            told.append(f'site."{text}": {", ".join(names)} will be for {host} alone, not for {kin[0]}: name each host')
    return told


def has_secrets(rules: Mapping[str, SiteRules]) -> bool:
    """Whether a value stands in the rules themselves that may be a secret."""
    tables = [table for said in rules.values() for table in (said.headers, said.cookies) if table]
    tables += [said.login.fields for said in rules.values() if said.login]
    values = [value for table in tables for value in table.values()]
    values += [said.proxy for said in rules.values() if said.proxy and "@" in said.proxy]
    return not all(map(_is_elsewhere, values))


def _is_elsewhere(value: str) -> bool:
    """Whether a value names where it stands."""
    return bool(_FROM_ENVIRONMENT.fullmatch(value)) or value.startswith(FROM_FILE)


def in_words(rules: SiteRules) -> list[str]:
    """What the rules say, a line each; of headers and cookies the names alone, since their values may be secret."""
    lines = []
    for name in NAMES:
        match getattr(rules, name):
            case None:
                continue
            case dict() as table if name in ("headers", "cookies", "fields"):
                value = ", ".join(table)
            case Login() as login:
                value = login.way
            case str() as proxy if name == "proxy":
                value = proxy_of(proxy).url if proxy and not _FROM_ENVIRONMENT.fullmatch(proxy) else proxy
            case list() as several:
                value = ", ".join(several)
            case other:
                value = str(other)
        lines.append(f"{name}: {value}")
    return lines


# ---- what may be said

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_COOKIE_VALUE = re.compile(r'[^\x00-\x20",;\\\x7f-\U0010ffff]*')
_FROM_ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
FROM_FILE = "file:"
# What makes a request a request, what asks for changes only, and what cookies are for.
KEPT_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "if-modified-since",
        "if-none-match",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def check(rules: Mapping[str, SiteRules]) -> None:
    """Raise a `SettingsError` for what no site may be told."""
    places: dict[SitePlace, str] = {}
    for text, said in rules.items():
        place = place_of(text)
        if place in places:
            raise SettingsError(f"site: {places[place]!r} and {text!r} are the same place")
        places[place] = text
        try:
            _check(place, said)
        except ValueError as error:
            raise SettingsError(f'site."{text}": {error}') from None


def _check(place: SitePlace, said: SiteRules) -> None:
    for name in sorted(OF_HOSTS):
        if getattr(said, name) is not None and not place.is_whole:
            raise ValueError(f"{name} is decided for whole hosts: name {place.host} alone")
    for name, value in (said.headers or {}).items():
        check_header(name, value)
    for name, value in (said.cookies or {}).items():
        check_cookie(name, value)
    if said.login is not None:
        _check_login(place, said.login)
    if said.proxy and not _FROM_ENVIRONMENT.fullmatch(said.proxy):
        proxy_of(said.proxy)
    if said.each is not None and not said.fields:
        raise ValueError("each gives records only with fields")
    for selector in [said.content, said.each, *(said.links or ())]:
        if selector is not None:
            check_selector(selector)
    check_fields(said.fields or {})


def _check_login(place: SitePlace, login: Login) -> None:
    if place.path:
        raise ValueError(f"login is for whole hosts: name {place.host} alone")
    ways = [name for name in ("form", "token", "cookies") if getattr(login, name)]
    if len(ways) > 1:
        raise ValueError(f"login: {ways[0]} or {ways[1]}, not both")
    if ways in ([], ["form"]) and not (login.user and login.password):
        raise ValueError("login: user and password are needed, or a token, or a file of cookies")
    for name in ("password", "token"):
        if (value := getattr(login, name)) and not _is_elsewhere(value):
            raise ValueError(f"login: {name}: write env:NAME or file:PATH, so that it stands in no file of the crawl")
    for name in ("success", "logout"):
        check_pattern(f"login: {name}", getattr(login, name))
    if "://" in login.form and host_of(login.form) != place.host:
        raise ValueError(f"login: the form is on another host than {place.host}: name that one instead")


def check_pattern(name: str, pattern: str) -> None:
    """Raise a `ValueError` for what RE2 cannot match."""
    import re2

    try:
        re2.compile(pattern)
    except re2.error as error:
        text = error.args[0]
        raise ValueError(f"{name}: {text.decode() if isinstance(text, bytes) else text}") from None


def check_login(login: Login) -> None:
    """Raise a `ValueError` where a value that a login takes from elsewhere is not there, or cannot be sent."""
    for text in (login.user, login.password, login.token):
        if text and not value_of(text):
            raise ValueError(f"login: {text}: it is empty")
    for text in login.fields.values():
        value_of(text)
    if login.way == "token":
        check_header("Authorization", f"Bearer {value_of(login.token)}")


def check_header(name: str, value: str) -> None:
    """Raise a `ValueError` for a header field that requests may not have."""
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"headers: {name!r} is no name of a header field")
    if name.lower() in KEPT_HEADERS:
        hint = "; there is a table for cookies" if name.lower() == "cookie" else ""
        raise ValueError(f"headers: {name} is set by the crawler itself{hint}")
    if not value.strip() or not value.isprintable() or not value.isascii():
        raise ValueError(f"headers: {name}: the value must be one line of printable ASCII")


def check_cookie(name: str, value: str) -> None:
    """Raise a `ValueError` for a cookie that requests may not have."""
    if not _TOKEN.fullmatch(name) or not _COOKIE_VALUE.fullmatch(value):
        raise ValueError(f"cookies: {name!r} is no cookie: it has neither spaces, commas, semicolons nor quotes")


class Proxy(NamedTuple):
    """Where a proxy is, and how it is spoken to."""

    scheme: str
    host: str
    port: int
    user: str = ""  # with the password, as `user:password`

    @property
    def url(self) -> str:
        """Where it is; who asks is nobody else's affair."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


_PROXY = re.compile(r"(http|socks5)://(?:([^@/\s]+)@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})/?")


def proxy_of(text: str) -> Proxy:
    """A proxy as it is written; raises `ValueError`."""
    match = _PROXY.fullmatch(text)
    if match is None or not 0 < int(match[4]) < 65536:
        raise ValueError("proxy: expected http://HOST:PORT or socks5://HOST:PORT")
    scheme, user, host, port = match.groups()
    return Proxy(scheme, host.lower().strip("[]"), int(port), user or "")


def is_xpath(selector: str) -> bool:
    """Whether a selector is an XPath expression: no selector of CSS begins so."""
    return selector.lstrip().startswith(("/", "./", "../", "("))


def check_selector(selector: str) -> None:
    """Raise a `ValueError` for what is neither a CSS selector nor an XPath expression."""
    if is_xpath(selector):
        check_xpath(selector)
    else:
        check_css(selector)


def check_css(selector: str) -> None:
    """Raise a `ValueError` for what is no CSS selector."""
    # Few crawls have selectors; the parser takes 20 ms to import.
    import turbohtml

    if not selector.strip():
        raise ValueError("an empty text is no CSS selector")
    try:
        turbohtml.parse("").select(selector)
    except ValueError as error:
        raise ValueError(f"{selector!r} is no CSS selector: {error}") from None


def check_xpath(expression: str) -> None:
    """Raise a `ValueError` for what is no XPath expression."""
    import turbohtml

    try:
        turbohtml.parse("").xpath(expression)
    except ValueError as error:
        raise ValueError(f"{expression!r} is no XPath expression: {error}") from None


def check_fields(fields: Mapping[str, str | Field]) -> None:
    """Raise a `ValueError` for a field that cannot be read."""
    for name, field in fields.items():
        try:
            check_field(as_field(field))
        except ValueError as error:
            raise ValueError(f"fields: {name}: {error}") from None


def check_field(field: Field) -> None:
    if sum(map(bool, (field.css, field.xpath, field.each))) != 1:
        raise ValueError("a field has one of css, xpath and each")
    if bool(field.each) is not bool(field.fields):
        raise ValueError("each and fields belong together")
    if field.each and field != Field(each=field.each, fields=field.fields):
        raise ValueError("a list of records has nothing but each and fields")
    if field.attr and field.html:
        raise ValueError("attr and html exclude each other")
    if field.html and field.type != "str":
        raise ValueError("html is a text")
    if field.xpath:
        check_xpath(field.xpath)
    elif field.css:
        check_css(field.css)
    else:
        check_selector(field.each)
    check_fields(field.fields)


def as_field(field: str | Field) -> Field:
    """A field, of which a text alone is the selector."""
    if not isinstance(field, str):
        return field
    return Field(xpath=field) if is_xpath(field) else Field(css=field)


def value_of(text: str) -> str:
    """A value as it is used: `env:NAME` and `file:PATH` say where it stands; raises `ValueError` where it lacks."""
    if text.startswith(FROM_FILE):
        try:
            return Path(text.removeprefix(FROM_FILE)).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{text}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    match = _FROM_ENVIRONMENT.fullmatch(text)
    if match is None:
        return text
    try:
        return os.environ[match[1]]
    except KeyError:
        raise ValueError(f"{text}: there is no {match[1]} in the environment") from None
