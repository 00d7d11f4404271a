"""Where the frontier lives: one server, whoever is master under Sentinel, or the slots of a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from redis import Redis
from redis.crc import key_slot
from redis.exceptions import RedisError
from redis.sentinel import MasterNotFoundError, Sentinel

from lycosa.errors import SettingsError

# Of a new crawl. A call costs 20 µs before it does anything, so few on one server; a cluster spreads over more.
ONE_SERVER_PARTITIONS, CLUSTER_PARTITIONS = 16, 64
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
_CRAWL = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Server(NamedTuple):
    """One server of the frontier."""

    host: str
    port: int


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

    @property
    def options(self) -> dict[str, Any]:
        """How to connect to any of the servers."""
        options: dict[str, Any] = {"username": self.username, "password": self.password, "db": self.db}
        return options | ({"ssl": True} if self.is_encrypted else {})

    def __str__(self) -> str:
        """Without the password: this is shown and logged."""
        servers = ",".join(f"{host}:{port}" for host, port in self.servers)
        return f"{self.kind} {servers}/{self.db} crawl {self.crawl!r}"


def is_redis(frontier: str) -> bool:
    """Whether a frontier setting names a Redis or Valkey."""
    return frontier.partition("://")[0] in _SCHEMES


def parse_address(text: str) -> Address:
    """Read `redis://…`; the error says what is wrong with it."""
    parts = urlsplit(text)
    if parts.scheme not in _SCHEMES:
        raise SettingsError(f"frontier: {text!r} does not begin with one of {', '.join(_SCHEMES)}")
    kind, is_encrypted = _SCHEMES[parts.scheme]
    login, _, servers = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    path = [unquote(part) for part in parts.path.split("/") if part]
    master = path.pop(0) if kind == "sentinel" and path else ""
    if kind == "sentinel" and not master:
        raise SettingsError(f"frontier: {text!r} names no master: redis+sentinel://host:port/MASTER[/db]")
    return Address(
        kind=kind,
        servers=tuple(_server(each, _SENTINEL_PORT if kind == "sentinel" else _PORT) for each in servers.split(",")),
        is_encrypted=is_encrypted,
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number("db", path[0], 0, 1_000_000) if path else 0,
        master=master,
        **_options(parts.query),
    )


def _server(text: str, port: int) -> Server:
    host, colon, number = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, number = text, str(port)
    return Server(host.strip("[]") or "127.0.0.1", _number("port", number, 1, 65_535))


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
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise SettingsError(f"frontier: {name} must be a number from {least} to {most}, not {text!r}")
    return int(text)


class Places(Protocol):
    """Which server holds which slot, as far as is known."""

    def discover(self) -> None:
        """Look again. Blocks for a moment; raises `RedisError` or `OSError`."""

    def of(self, tag: str) -> Server: ...


class OneServer:
    """The address is the place."""

    def __init__(self, address: Address) -> None:
        self._server = address.servers[0]

    def discover(self) -> None:
        return

    def of(self, tag: str) -> Server:
        return self._server


class MasterOfSentinel:
    """Whoever is master now."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._master: Server | None = None

    def discover(self) -> None:
        options = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0}
        make: Any = Sentinel  # the library has no types here
        sentinel = make(list(self._address.servers), sentinel_kwargs=options, **options)
        try:
            self._master = Server(*sentinel.discover_master(self._address.master))
        except MasterNotFoundError as error:
            raise RedisError(str(error)) from error

    def of(self, tag: str) -> Server:
        if self._master is None:
            self.discover()
        assert self._master
        return self._master


class ClusterSlots:
    """The slots as the cluster tells them. Only some dozens matter: those of the partitions."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._known: set[Server] = set(address.servers)
        self._ranges: list[tuple[int, int, Server]] = []

    def discover(self) -> None:
        trouble: Exception = RedisError("the cluster has no servers")
        for server in sorted(self._known):
            try:
                self._ranges = self._ask(server)
                self._known |= {each for _, _, each in self._ranges}
                return
            except (RedisError, OSError) as error:
                trouble = error
        raise trouble

    def _ask(self, server: Server) -> list[tuple[int, int, Server]]:
        with Redis(server.host, server.port, socket_timeout=2.0, **self._address.options) as client:
            rows: Sequence[Sequence[Any]] = client.execute_command("CLUSTER SLOTS", NEVER_DECODE=True)
            # An empty name means: the server that was asked.
            ranges = [
                (int(first), int(last), Server(_name(main[0]) or server.host, int(main[1])))
                for first, last, main, *_ in _rows(rows, server)
            ]
        return ranges

    def of(self, tag: str) -> Server:
        slot = key_slot(tag.encode())
        for turn in range(2):
            for first, last, server in self._ranges:
                if first <= slot <= last:
                    return server
            if turn == 0:
                self.discover()
        raise RedisError(f"no server of the cluster holds slot {slot}")


def _rows(rows: Any, server: Server) -> list[Any]:
    """redis-py turns the reply into a mapping; older versions do not."""
    if isinstance(rows, Mapping):
        return [(first, last, facts["primary"]) for (first, last), facts in rows.items()]
    return list(rows)


def _name(raw: bytes | str) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


def places_of(address: Address) -> Places:
    """How to find the servers of an address."""
    match address.kind:
        case "cluster":
            return ClusterSlots(address)
        case "sentinel":
            return MasterOfSentinel(address)
        case _:
            return OneServer(address)
