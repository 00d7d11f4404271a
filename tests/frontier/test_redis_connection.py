"""The way to a Redis: addresses and their passwords, the first word with a server, patience with one that is away."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import ResponseError

from lycosa.errors import BackendLost, LycosaError, SettingsError
from lycosa.frontier.redis import connection as connection_module
from lycosa.frontier.redis.address import has_password, is_redis, parse_address, redacted
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.reader import RedisReader
from lycosa.frontier.redis.server_check import conditions, refuse_what_cannot_work, warnings
from lycosa.frontier.redis.wire import Answers, pack

from ..fetch.certificate import make_certificate
from .proxy import Proxy
from .redis_servers import PROGRAMS, RedisCluster, RedisServer, WatchedPair, free_ports, needs_tls
from .test_redis_tables import until
from .test_redis_tls import TlsServer

REACH_SECONDS = 5.0


@pytest.fixture(params=PROGRAMS, ids=lambda program: Path(program).name)
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    with RedisServer(program=request.param) as server:
        yield server


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


@asynccontextmanager
async def connected(address: str, replicas: int = 0) -> AsyncIterator[Connection]:
    connection = Connection(parse_address(address), replicas)
    try:
        yield connection
    finally:
        await connection.close()


# ---- addresses


def test_addresses_are_read() -> None:
    plain = parse_address("redis://127.0.0.1")
    assert (plain.kind, plain.servers, plain.db, plain.crawl) == ("one", (("127.0.0.1", 6379),), 0, "crawl")
    full = parse_address("rediss://me:pass@h:7000/3?crawl=web&partitions=32&replicas=2&history=no&settings=update")
    assert (full.is_encrypted, full.username, full.password, full.db) == (True, "me", "pass", 3)
    assert (full.crawl, full.partitions, full.replicas, full.keeps_history) == ("web", 32, 2, False)
    assert full.may_update
    cluster = parse_address("redis+cluster://a:1,b:2")
    assert (cluster.kind, cluster.servers) == ("cluster", (("a", 1), ("b", 2)))
    sentinel = parse_address("redis+sentinel://s1,s2:26380/main/2")
    assert (sentinel.servers, sentinel.master, sentinel.db) == ((("s1", 26379), ("s2", 26380)), "main", 2)
    assert parse_address("redis://[::1]:6380").servers == (("::1", 6380),)
    assert parse_address("redis://").servers == (("127.0.0.1", 6379),)
    assert (plain.tag(), plain.tag(7)) == ("{lycosa:crawl}", "{lycosa:crawl:7}")


@pytest.mark.parametrize(
    ("login", "username", "password"),
    [
        ("me:p%40s%3As%2F", "me", "p@s:s/"),
        ("me:p@ss@w", "me", "p@ss@w"),
        (":p:a:s:s", None, "p:a:s:s"),
        ("m%40e:%25", "m@e", "%"),
        (":a+b", None, "a+b"),
        ("me", "me", None),
        ("me:", "me", None),
    ],
)
def test_a_password_may_have_any_characters(login: str, username: str | None, password: str | None) -> None:
    address = parse_address(f"redis://{login}@h:7000/1?crawl=web")
    assert (address.username, address.password) == (username, password)
    assert (address.servers, address.db, address.crawl) == ((("h", 7000),), 1, "web")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://me:se%40cret@h:1/0?crawl=a", "redis://me@h:1/0?crawl=a"),
        ("redis://me:se@cr:et@h:1/0", "redis://me@h:1/0"),
        ("redis://:secret@h", "redis://h"),
        ("rediss+cluster://me:se@cret@a:1,b:2", "rediss+cluster://me@a:1,b:2"),
        ("redis+sentinel://:secret@a,b/main/1", "redis+sentinel://a,b/main/1"),
        ("redis://:se/cr?e#t@h:1", "redis://h:1"),
        ("http://me:secret@h", "http://h"),
        ("REDIS://me:secret@h", "REDIS://h"),
        ("me:secret@h", "h"),
        ("redis://:@h", "redis://h"),
    ],
)
def test_a_password_is_shown_nowhere(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(shown) == shown
    assert has_password(text)
    assert not has_password(shown)


@pytest.mark.parametrize(
    "text", ["rocks", "memory", "redis://h", "redis://me@h:1/0?crawl=a", "redis+sentinel://a,b/main", ""]
)
def test_what_has_no_password_is_shown_as_it_is(text: str) -> None:
    assert redacted(text) == text
    assert not has_password(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://h",
        "redis://h:port",
        "redis://h:0",
        "redis://h:99999999999999999999",
        "redis://h/x",
        "redis://h?crawl=a/b",
        "redis://h?what=1",
        "redis://h?replicas=-1",
        "redis://h#x",
        "redis+sentinel://h",
        "redis://[::1",
        "redis://a:1:2",
        "redis://a b",
        "redis://:se/cret@h",
        "redis://:se?cret@h",
    ],
)
@pytest.mark.parametrize("password", ["", "secret", "se@cret", "se%2Fcret"])
def test_a_bad_address_is_refused_with_a_sentence_that_keeps_the_secret(text: str, password: str) -> None:
    if password and "@" not in text:
        text = text.replace("://", f"://me:{password}@")
    with pytest.raises(SettingsError, match="frontier: ") as refused:
        parse_address(text)
    assert "cret" not in str(refused.value)


@given(st.text("abc@:/?#%[]-", max_size=12), st.sampled_from(["redis", "rediss+cluster", "redis+sentinel", "x"]))
def test_whatever_is_written_as_a_password_is_not_shown(password: str, scheme: str) -> None:
    text = f"{scheme}://me:{password}SECRET@h:1/main"
    assert "SECRET" not in redacted(text)
    try:
        address = parse_address(text)
        told = f"{address!r}{address}"
    except SettingsError as error:
        told = str(error)
    assert "SECRET" not in told


def test_which_frontiers_are_redis() -> None:
    assert [is_redis(text) for text in ("rocks", "redis://h", "redis+cluster://h", "http://h")] == [
        False,
        True,
        True,
        False,
    ]


# ---- the protocol


LEAVES = st.one_of(
    st.integers(0, 9),
    st.integers(-(2**63), 2**63 - 1),
    st.none(),
    st.binary(max_size=9),
    st.sampled_from([b"QUEUED", b"OK"]),
)
# As deep as the answer to an EXEC with a look at a stream in it.
ROWS = st.lists(LEAVES | st.lists(LEAVES | st.lists(LEAVES, max_size=6), max_size=6), max_size=6)
VALUES = LEAVES | ROWS | st.lists(ROWS, max_size=6)


def as_answer(value: Any) -> bytes:
    match value:
        case None:
            return b"$-1\r\n"
        case int():
            return b":%d\r\n" % value
        case b"QUEUED" | b"OK":
            return b"+%b\r\n" % value
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(value), value)
        case _:
            return b"*%d\r\n" % len(value) + b"".join(map(as_answer, value))


@given(st.lists(VALUES, max_size=30), st.data())
def test_answers_are_read_in_whatever_pieces_they_come(answers: list[Any], data: st.DataObject) -> None:
    raw = b"".join(map(as_answer, answers)) + b"-OOM full\r\n*-1\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=20)))
    reader = Answers()
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        reader.feed(raw[start:end])
    *values, error, last = reader.whole
    assert values == answers
    assert isinstance(error, ResponseError)
    assert (str(error), last) == ("OOM full", None)


def test_a_command_is_packed() -> None:
    assert pack([("SET", b"\xff\r\n", -12), ["PING"]]) == (
        b"*3\r\n$3\r\nSET\r\n$3\r\n\xff\r\n\r\n$3\r\n-12\r\n*1\r\n$4\r\nPING\r\n"
    )


# ---- first contact


async def refusal(address: str, seconds: float = REACH_SECONDS) -> LycosaError:
    """How `reach` ends, and in time."""
    began = time.monotonic()
    async with connected(address) as connection:
        with pytest.raises(LycosaError) as refused:
            await connection.reach(seconds)
    assert time.monotonic() - began < REACH_SECONDS + 0.5
    return refused.value


async def test_a_server_that_answers_is_reached(server: RedisServer) -> None:
    async with connected(server.address) as connection:
        await connection.reach()
        assert await connection.servers() == [("127.0.0.1", server.port)]


async def test_a_closed_port_is_said_to_be_closed() -> None:
    (port,) = free_ports(1)
    error = await refusal(f"redis://127.0.0.1:{port}")
    assert type(error) is BackendLost
    assert str(error) == f"127.0.0.1:{port} refuses connections: is the server running, and is this its port?"


@pytest.mark.parametrize("scheme", ["redis", "redis+sentinel", "redis+cluster"])
async def test_a_name_that_does_not_exist_is_the_operators_to_mend(scheme: str) -> None:
    with pytest.raises(socket.gaierror) as missing:
        socket.getaddrinfo("nosuch.invalid", 1)
    if missing.value.errno == socket.EAI_AGAIN:
        pytest.skip("no name server can be asked here")
    error = await refusal(f"{scheme}://nosuch.invalid:1/0")
    assert isinstance(error, SettingsError)
    assert "there is no such name" in str(error)


async def test_passwords_that_are_wrong_or_missing_are_the_operators_to_mend() -> None:
    with RedisServer() as server:
        client, where = server.client(), f"127.0.0.1:{server.port}"
        client.execute_command("ACL", "SETUSER", "weak", "on", ">weak", "~*", "+ping", "+select")
        client.execute_command("ACL", "SETUSER", "default", "resetpass", ">se@cret")
        async with connected(f"redis://:se@cret@{where}") as connection:
            await connection.reach()
        for login, words in {
            "": "asks for a password: write redis://:PASSWORD@HOST",
            ":wrong@": "does not accept this user and password",
            "nobody:se%40cret@": "does not accept this user and password",
            "weak:weak@": "does not allow this user what a crawl needs",
        }.items():
            error = await refusal(f"redis://{login}{where}")
            assert isinstance(error, SettingsError)
            assert words in str(error)
            assert where in str(error)
            assert "cret" not in str(error)


async def test_what_a_server_does_not_have_is_the_operators_to_mend(server: RedisServer) -> None:
    where = f"127.0.0.1:{server.port}"
    for address, words in {
        f"redis://:word@{where}": "has no password, but the address gives one: leave it out",
        f"redis://{where}/99": "has no such database",
        f"redis+cluster://{where}": "is not of a cluster",
        f"redis+sentinel://{where}/main": "is no Sentinel",
    }.items():
        error = await refusal(address)
        assert isinstance(error, SettingsError)
        assert words in str(error)


async def test_a_black_hole_is_noticed_in_time(proxy: Proxy) -> None:
    proxy.is_black_hole = True
    for scheme in ("redis", "rediss", "redis+cluster"):
        error = await refusal(f"{scheme}://127.0.0.1:{proxy.port}", seconds=0.3)
        assert type(error) is BackendLost
        assert f"127.0.0.1:{proxy.port}: no answer within" in str(error)
    assert "TLS" not in str(error)


async def test_a_server_that_is_busy_is_reached_all_the_same(server: RedisServer) -> None:
    server.client().config_set("maxmemory", "1")
    async with connected(server.address) as connection:
        await connection.reach()


async def test_tls_where_there_is_none_is_the_operators_to_mend(server: RedisServer) -> None:
    error = await refusal(f"rediss://127.0.0.1:{server.port}")
    assert isinstance(error, SettingsError)
    assert "does not speak TLS" in str(error)


@needs_tls
async def test_no_tls_where_there_is_nothing_else_is_the_operators_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    with TlsServer(certificate) as encrypted:
        error = await refusal(f"redis://127.0.0.1:{encrypted.port}")
        assert "if it speaks TLS only, write rediss:// for redis://" in str(error)
        error = await refusal(encrypted.address)
        assert isinstance(error, SettingsError)
        assert "has a certificate that is not trusted" in str(error)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with connected(encrypted.address) as connection:
            await connection.reach()
            assert await connection.command("t", "INCR", "t") == 1
        assert RedisReader(parse_address(encrypted.address), 0).count_known() == 0


async def test_sentinel_is_asked_with_the_password_if_it_has_one() -> None:
    with WatchedPair() as pair:
        pair.primary.client().config_set("requirepass", "secret")
        address = f"redis+sentinel://:secret@127.0.0.1:{pair.sentinel.port}/main"
        async with connected(address) as connection:
            await connection.reach()
        pair.sentinel.client().execute_command("ACL", "SETUSER", "default", "resetpass", ">secret")
        async with connected(address) as connection:
            await connection.reach()
            assert await connection.servers() == [("127.0.0.1", pair.primary.port)]
        error = await refusal(address.replace("secret", "wrong"))
        assert isinstance(error, SettingsError)


async def test_sentinel_is_asked_over_tls_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def tell_master(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"main\r\n")
        writer.write(b"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6380\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(tell_master, "127.0.0.1", 0, ssl=context) as sentinel:
        port = sentinel.sockets[0].getsockname()[1]
        async with connected(f"rediss+sentinel://127.0.0.1:{port}/main") as connection:
            assert await connection.servers() == [("127.0.0.1", 6380)]


async def test_sentinel_is_asked_for_the_master() -> None:
    with WatchedPair() as pair:
        async with connected(pair.address) as connection:
            await connection.reach()
            assert await connection.servers() == [("127.0.0.1", pair.primary.port)]
        error = await refusal(f"redis+sentinel://127.0.0.1:{pair.sentinel.port}/other")
        assert isinstance(error, SettingsError)
        assert "knows no master 'other'" in str(error)
        error = await refusal(f"redis://127.0.0.1:{pair.sentinel.port}")
        assert isinstance(error, SettingsError)
        assert "no Sentinel?" in str(error)


async def test_every_server_of_a_cluster_is_asked() -> None:
    with RedisCluster() as cluster:
        async with connected(cluster.address) as connection:
            await connection.reach()
            assert len(await connection.servers()) == 3
            assert [len(condition.settings) for condition in await conditions(connection)] == [6, 6, 6]
            for partition in range(6):
                tag = connection.address.tag(partition)
                assert await connection.command(tag, "INCR", f"{tag}x") == 1
        for server in cluster.servers[:3]:
            error = await refusal(server.address)
            assert isinstance(error, SettingsError)
            assert "is of a cluster: write redis+cluster://HOST:PORT" in str(error)


# ---- scripts and commands

SCRIPT = """
local args = cmsgpack.unpack(ARGV[1])
redis.call('SET', KEYS[1] .. 'x', ARGV[2])
return { #ARGV[2], args.list[2][1], tostring(args.number) }
"""


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    connection_module._digest.cache_clear()
    monkeypatch.setattr(connection_module, "script_text", {"remember": SCRIPT, "broken": "return nosuch()"}.__getitem__)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("size", [0, 31, 32, 255, 256, 65_535, 65_536])
async def test_a_script_gets_its_arguments_whole(server: RedisServer, size: int) -> None:
    raw = random.Random(size).randbytes(size)
    async with connected(server.address) as connection:
        args = {"list": (1, ["ÿ"]), "number": 7}
        assert await connection.run("remember", "t", args, raw) == [size, "ÿ".encode(), b"7"]
        assert await connection.command("t", "GET", "tx") == raw
        server.client().script_flush()
        assert await connection.run("remember", "t", args, raw, durable=False) == [size, "ÿ".encode(), b"7"]


@pytest.mark.usefixtures("scripts")
async def test_a_script_that_fails_is_not_waited_for(server: RedisServer) -> None:
    async with connected(server.address) as connection:
        with pytest.raises(BackendLost, match="nosuch"):
            await connection.run("broken", "t", {})
        with pytest.raises(BackendLost, match="WRONGTYPE"):
            await connection.commands("t", [("SET", "t", 1), ("SADD", "t", 1)])


async def test_commands_travel_together(server: RedisServer, proxy: Proxy) -> None:
    async with connected(proxy.address) as connection:
        assert await connection.commands("t", [("SET", "t", "a"), ("APPEND", "t", b"b"), ("GET", "t")]) == [
            b"OK",
            2,
            b"ab",
        ]
        assert await connection.commands("t", []) == []
        answers = await asyncio.gather(*(connection.command("t", "INCR", "n") for _ in range(20)))
        assert sorted(answers) == list(range(1, 21))
        # With the one that looks.
        await until(lambda: server.client().info()["connected_clients"] <= connection_module.MAX_IDLE_WIRES + 1)


@pytest.mark.usefixtures("scripts")
async def test_what_was_cut_off_is_asked_again(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with connected(proxy.address) as connection:
        proxy.cut_before_request("SET")
        assert await connection.command("t", "SET", "t", "1") == b"OK"
        proxy.cut_before_answer("EVALSHA")
        assert await connection.run("remember", "t", {"list": [1, [2]], "number": 1}, b"x") == [1, 2, b"1"]
        proxy.cut_all()
        assert await connection.command("t", "GET", "t") == b"1"
    told = [record.getMessage() for record in caplog.records if "lycosa" in record.name]
    assert sum("does not answer" in message for message in told) >= 2
    assert sum("the crawl goes on" in message for message in told) >= 2


async def test_a_server_that_is_away_is_waited_for(proxy: Proxy) -> None:
    async with connected(proxy.address) as connection:
        proxy.refuse()
        answers = [asyncio.ensure_future(connection.command("t", "INCR", f"n{number}")) for number in range(3)]
        await until(lambda: connection.trouble == "does not answer")
        proxy.accept()
        assert await asyncio.gather(*answers) == [1, 1, 1]
        assert connection.trouble == ""


async def test_waiting_ends_when_the_operator_stops(proxy: Proxy) -> None:
    async with connected(proxy.address) as connection:
        proxy.refuse()
        answer = asyncio.ensure_future(connection.command("t", "GET", "t"))
        await until(lambda: bool(connection.trouble))
        began = time.monotonic()
        connection.give_up()
        with pytest.raises(BackendLost, match="does not answer, and the crawl was stopped"):
            await answer
        with pytest.raises(BackendLost, match="the crawl was stopped"):
            await connection.command("t", "GET", "t")
        assert time.monotonic() - began < 1.0
        assert connection.trouble == ""
        proxy.accept()
        assert await connection.command("t", "GET", "t") is None


async def test_a_full_server_takes_no_commands_but_answers_questions(server: RedisServer) -> None:
    async with connected(server.address) as connection:
        server.client().config_set("maxmemory", "1")
        answer = asyncio.ensure_future(connection.command("t", "SET", "t", "1"))
        await until(lambda: connection.trouble == "out of memory")
        assert await connection.command("t", "GET", "t") is None
        assert connection.trouble == "out of memory"
        server.client().config_set("maxmemory", "0")
        assert await answer == b"OK"


# ---- how servers are set up


async def test_what_a_server_could_lose_is_said() -> None:
    for options, sentence in {
        ("--appendonly", "no"): "keeps the crawl in memory only (appendonly no): a restart of it loses everything",
        ("--appendonly", "yes", "--appendfsync", "everysec"): "writes to disk later than it answers",
        ("--appendonly", "yes", "--appendfsync", "always"): "",
        ("--appendonly", "yes", "--appendfsync", "always", "--set-max-intset-entries", "100"): "ten times the memory",
        ("--rename-command", "CONFIG", "NOCONFIG"): "does not tell its settings",
    }.items():
        with RedisServer(*options) as server:
            async with connected(server.address) as connection:
                (condition,) = await conditions(connection)
                refuse_what_cannot_work(condition)
                found = warnings(condition)
                assert len(found) == bool(sentence)
                assert all(sentence in each for each in found)


async def test_a_server_that_throws_data_away_is_refused() -> None:
    with RedisServer("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        async with connected(server.address) as connection:
            (condition,) = await conditions(connection)
            with pytest.raises(SettingsError, match="throws data away when it is full"):
                refuse_what_cannot_work(condition)


async def test_a_server_that_is_away_has_no_condition() -> None:
    (port,) = free_ports(1)
    async with connected(f"redis://127.0.0.1:{port}") as connection:
        with pytest.raises(BackendLost, match="cannot be reached"):
            await conditions(connection)
