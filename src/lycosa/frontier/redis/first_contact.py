"""The first word with a server: what is wrong with an address, and what to do about it, in one sentence."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from redis.exceptions import RedisError, ResponseError

from lycosa.errors import BackendLost, LycosaError, SettingsError
from lycosa.frontier.redis.address import Address, Server
from lycosa.frontier.redis.places import NotThere
from lycosa.frontier.redis.wire import Command, Wire

# What a server complains of that only the operator can mend, and what to say of it.
_REFUSALS = {
    "NOAUTH": "asks for a password: write redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST",
    "WRONGPASS": "does not accept this user and password: check both in the address",
    "ERR invalid password": "does not accept this password: check it in the address",
    "ERR AUTH": "has no password, but the address gives one: leave it out",
    "ERR Client sent AUTH": "has no password, but the address gives one: leave it out",
    "NOPERM": "does not allow this user what a crawl needs: give it ~{lycosa:* and +@all -@dangerous +info",
    "DENIED": "lets nobody in from other machines: give it a password, or set protected-mode no",
    "ERR DB index": "has no such database: check the number behind the / of the address",
    "ERR SELECT is not allowed": "is of a cluster, which has only database 0: write redis+cluster://HOST:PORT",
    "ERR unknown command": "does not know what a crawl needs: is it a Redis 7 or Valkey, and no Sentinel?",
    "MOVED": "is of a cluster: write redis+cluster://HOST:PORT",
    "CROSSSLOT": "is of a cluster: write redis+cluster://HOST:PORT",
}


async def introduce(server: Server, address: Address, seconds: float) -> None:
    """Ask a server for the kinds of things that a crawl asks for. That it is busy for a while is no matter yet."""
    try:
        # Half of the time, so that there is some left to find out why.
        async with asyncio.timeout(seconds / 2 if address.is_encrypted else None):
            answers = await _ask(server, address, _questions(address))
    except OSError as error:
        if isinstance(error, TimeoutError) and await _speaks_plainly(server, address):
            raise _without_tls(server, "it answers where there is none") from error
        raise _lost(server, error, address) from error
    for answer in answers:
        if isinstance(answer, ResponseError) and (refusal := _refusal(server, answer, address)):
            raise refusal


def not_reached(error: OSError | RedisError, address: Address, seconds: float) -> LycosaError:
    """Nobody could tell where the servers are, or they took too long."""
    names = " and ".join(map(str, address.servers))
    if isinstance(error, TimeoutError):
        return BackendLost(
            f"{names}: no answer within {seconds:.0f} s; is it the right address, does a firewall let us through"
            + (", and does it speak TLS (rediss)?" if address.is_encrypted else "?")
        )
    if isinstance(error, OSError):
        return _lost(names, error, address)
    if isinstance(error, NotThere):
        return SettingsError(f"frontier: {error}: check the address")
    return _refusal(names, error, address) or BackendLost(f"{names}: {error}")


async def _ask(server: Server, address: Address, questions: Sequence[Command]) -> list[Any]:
    try:
        wire = await Wire.open(server, address)
    except ResponseError as error:
        return [error]
    try:
        return await wire.ask_all(questions)
    finally:
        wire.close()


async def _speaks_plainly(server: Server, address: Address) -> bool:
    """A Redis without TLS waits for the end of what it takes for a command, and says nothing."""
    plain = msgspec.structs.replace(address, is_encrypted=False, username=None, password=None, db=0)
    with suppress(OSError):
        return bool(await _ask(server, plain, [("PING",)]))
    return False


def _questions(address: Address) -> list[Command]:
    if address.kind == "cluster":
        # The crawl's tag lives on one of them only.
        return [("PING",)]
    script = ("EVAL", "return redis.call('EXISTS', KEYS[1])", 1, address.tag())
    # A server of a cluster would not watch two partitions at once.
    return [("PING",), ("WATCH", f"{address.tag(0)}f", f"{address.tag(1)}f"), ("UNWATCH",), script]


def _refusal(server: Server | str, error: RedisError, address: Address) -> LycosaError | None:
    told = str(error)
    if told.startswith("MOVED") and address.kind == "cluster":
        return None
    for code, sentence in _REFUSALS.items():
        if told.startswith(code):
            return SettingsError(f"frontier: {server} {sentence} ({told})")
    return None


def _lost(server: Server | str, error: OSError, address: Address) -> LycosaError:
    match error:
        case socket.gaierror() if error.errno != socket.EAI_AGAIN:
            return SettingsError(f"frontier: {server}: there is no such name ({error.strerror}): check the address")
        case ssl.SSLCertVerificationError():
            return SettingsError(
                f"frontier: {server} has a certificate that is not trusted ({error.verify_message}): use the name it "
                "was made for, and set SSL_CERT_FILE to who made it"
            )
        case ssl.SSLError():
            return _without_tls(server, error.reason)
        case ConnectionRefusedError():
            return BackendLost(f"{server} refuses connections: is the server running, and is this its port?")
        case ConnectionError() if not address.is_encrypted:
            return BackendLost(f"{server} hangs up: if it speaks TLS only, write rediss:// for redis://")
    return BackendLost(f"{server} does not answer: {error}")


def _without_tls(server: Server | str, reason: str) -> SettingsError:
    return SettingsError(f"frontier: {server} does not speak TLS ({reason}): write redis:// for rediss://")
