"""What `--frontier redis://…` says. The only place that reads such a text, and that knows where its password stands."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from lycosa.errors import SettingsError

# Of a new crawl. Few on one server, so that batches are large; a cluster spreads them over its servers.
ONE_SERVER_PARTITIONS, CLUSTER_PARTITIONS = 8, 32
MAX_PARTITIONS = 1024
_PORT, _SENTINEL_PORT = 6379, 26379
_SCHEMES = {
    "redis": ("one", False),
    "rediss": ("one", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
}
_FORM = "redis://[user:password@]host[:port][/db][?crawl=NAME&partitions=N&replicas=N]"
_SERVER = re.compile(r"(\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]:\s]*))(:(?P<port>.*))?")
_CRAWL = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Server(NamedTuple):
    """One server of the frontier."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """What `--frontier` says."""

    kind: str
    servers: tuple[Server, ...]
    is_encrypted: bool = False
    username: str | None = None
    password: str | None = None
    db: int = 0
    master: str = ""
    crawl: str = "crawl"
    partitions: int | None = None  # None: as the crawl has, or the usual number
    # How many replicas must have a write before it counts; None: all that the server has at the start.
    replicas: int | None = None
    keeps_history: bool = True
    # Whether this command line may replace the settings in the store.
    may_update: bool = False

    def tag(self, partition: int | None = None) -> str:
        """The hash tag under which all keys of a partition, or of the crawl as a whole, live."""
        return f"{{lycosa:{self.crawl}}}" if partition is None else f"{{lycosa:{self.crawl}:{partition}}}"

    @property
    def usual_partitions(self) -> int:
        return CLUSTER_PARTITIONS if self.kind == "cluster" else ONE_SERVER_PARTITIONS

    def __str__(self) -> str:
        """Without the password: this is shown and logged."""
        kind = "redis" if self.kind == "one" else self.kind
        return f"{kind} {','.join(map(str, self.servers))}/{self.db} crawl {self.crawl!r}"

    # A traceback must not tell more than a log.
    __repr__ = __str__


class _Parts(NamedTuple):
    """An address in pieces, not yet looked at."""

    scheme: str
    login: str
    servers: str
    path: str
    query: str


def is_redis(frontier: str) -> bool:
    """Whether a frontier setting names a Redis or Valkey."""
    return frontier.partition("://")[0] in _SCHEMES


def has_password(text: str) -> bool:
    """Whether this text tells a password to whoever reads it."""
    return redacted(text) != text


def redacted(text: str) -> str:
    """The address without its password, to be shown or written anywhere. Of a text that is none, what could be one."""
    parts = _apart(text)
    scheme, mark, rest = text.partition("://")
    if parts.scheme not in _SCHEMES or "@" in parts.path + parts.query:
        return scheme + mark + rest.rpartition("@")[2] if mark else text.rpartition("@")[2]
    username, colon, _ = parts.login.partition(":")
    if not colon:
        return text
    return scheme + mark + (f"{username}@" if username else "") + rest[len(parts.login) + 1 :]


def parse_address(text: str) -> Address:
    """Read `redis://…`; the error says what is wrong with it, and never the password."""
    parts = _apart(text)
    if parts.scheme not in _SCHEMES:
        raise SettingsError(f"frontier: {redacted(text)!r} does not begin with one of {', '.join(_SCHEMES)}")
    if "@" in parts.path + parts.query:
        raise SettingsError("frontier: an @ stands behind the servers: write / ? # in a password as %2F %3F %23")
    kind, is_encrypted = _SCHEMES[parts.scheme]
    username, _, password = parts.login.partition(":")
    path = [unquote(part) for part in parts.path.split("/") if part]
    master = path.pop(0) if kind == "sentinel" and path else ""
    if kind == "sentinel" and not master:
        raise SettingsError(f"frontier: {redacted(text)!r} names no master: redis+sentinel://host:port/MASTER[/db]")
    port = _SENTINEL_PORT if kind == "sentinel" else _PORT
    return Address(
        kind=kind,
        servers=tuple(_server(each, port) for each in parts.servers.split(",")),
        is_encrypted=is_encrypted,
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number("db", path[0], 0, 1_000_000) if path else 0,
        master=master,
        **_options(parts.query),
    )


def _apart(text: str) -> _Parts:
    scheme, _, rest = text.partition("://")
    rest, hash_mark, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    # A password may hold an @ as it is: only the last one ends it.
    login, _, servers = authority.rpartition("@")
    return _Parts(scheme, login, servers, slash + path, query + hash_mark + fragment)


def _server(text: str, port: int) -> Server:
    if not (parts := _SERVER.fullmatch(text)):
        raise SettingsError(f"frontier: {text!r} is no HOST:PORT; an IPv6 address stands in [ ]")
    number = parts["port"] if parts["port"] is not None else str(port)
    return Server(parts["ipv6"] or parts["host"] or "127.0.0.1", _number("port", number, 1, 65_535))


def _options(query: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        match name:
            case "crawl" if _CRAWL.fullmatch(value):
                chosen["crawl"] = value
            case "partitions":
                chosen["partitions"] = _number(name, value, 1, MAX_PARTITIONS)
            case "replicas":
                chosen["replicas"] = _number(name, value, 0, 100)
            case "history" if value in ("yes", "no"):
                chosen["keeps_history"] = value == "yes"
            case "settings" if value == "update":
                chosen["may_update"] = True
            case _:
                raise SettingsError(f"frontier: {name}={value} is none of the options of {_FORM}")
    return chosen


def _number(name: str, text: str, least: int, most: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not (is_number and least <= int(text) <= most):
        raise SettingsError(f"frontier: {name} must be a number from {least} to {most}, not {text!r}")
    return int(text)
