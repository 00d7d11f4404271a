"""One set of settings and seeds for all machines of a crawl, kept in the store under a version."""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis.address import Address, parse_address
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.crawl import open_crawl
from lycosa.settings import OWN, Settings

# Beside a machine's own affair: how it reaches the store, and the seeds, which are agreed on by themselves.
LOCAL = OWN | {"frontier", "seeds"}
# Made from settings that an operator names: whoever changes one of those changes these.
MADE_FROM = {"topic_terms": ("topic", "like")}


class Agreement(msgspec.Struct, frozen=True):
    """What all machines go by."""

    version: int
    settings: dict[str, object]
    seeds: list[str]


async def agree(
    settings: Settings, seeds: Sequence[str], asked: Set[str], known_as: str = ""
) -> tuple[Settings, list[str]]:
    """The settings and seeds of the crawl: this command's if it is the first, else those of the store.

    Raises `SettingsError` where the command asked for something else than the store has; `BackendLost` if a crawl that
    is known to have begun, by its id, is not there.
    """
    connection = Connection(parse_address(settings.frontier))
    try:
        await connection.reach()
        await open_crawl(connection, known_as)
        while True:
            stored = await _exchange(connection)
            wanted = _wanted(connection.address, stored, settings, seeds, asked)
            # Somebody else may be the first in this very moment: then look again.
            if wanted.version == stored.version or (await _exchange(connection, wanted)).version == wanted.version:
                return _applied(settings, wanted), wanted.seeds
    finally:
        await connection.close()


async def _exchange(connection: Connection, wanted: Agreement | None = None) -> Agreement:
    args: dict[str, object] = {}
    if wanted:
        args["version"] = wanted.version - 1
        args["settings"] = msgspec.json.encode(wanted.settings).decode()
        args["seeds"] = msgspec.json.encode(wanted.seeds).decode()
    version, settings, seeds = await connection.run("agree", connection.address.tag(), args)
    return Agreement(
        version, msgspec.json.decode(settings or b"{}"), msgspec.json.decode(seeds or b"[]", type=list[str])
    )


def _wanted(address: Address, stored: Agreement, mine: Settings, seeds: Sequence[str], asked: Set[str]) -> Agreement:
    """What should be in force."""
    own = shared(mine)
    if stored.version == 0:
        if not seeds:
            raise SettingsError(f"the crawl {address.crawl!r} has not begun, so its first machine must name seeds")
        return Agreement(1, own, list(seeds))
    # A setting that is newer than the crawl has its default there.
    in_force = shared(Settings()) | stored.settings
    differing = [name for name, value in own.items() if name in asked and value != in_force[name]]
    added = [seed for seed in seeds if seed not in stored.seeds]
    if not differing and not added:
        return stored
    if not address.may_update:
        what = f"{added[0]} is no seed" if not differing else f"{differing[0]} is {in_force[differing[0]]!r}"
        if differing[:1] == ["site"]:
            what = "rules of sites differ"  # which may have secrets
        raise SettingsError(
            f"the crawl {address.crawl!r} is under way with other settings: {what} there. Leave it out of this "
            "command, or add settings=update to the frontier's address to change it for all machines"
        )
    made = [name for name, sources in MADE_FROM.items() if not set(sources).isdisjoint(differing)]
    changes = {name: own[name] for name in (*differing, *made)}
    return Agreement(stored.version + 1, stored.settings | changes, stored.seeds + added)


def shared(settings: Settings) -> dict[str, object]:
    """The settings that are the same for all machines."""
    # As JSON gives it back: there a tuple is a list.
    values = msgspec.json.decode(msgspec.json.encode(settings))
    return {name: value for name, value in values.items() if name not in LOCAL}


def local(settings: Settings) -> dict[str, object]:
    """The settings that are this machine's own affair."""
    return {name: value for name, value in msgspec.to_builtins(settings).items() if name in LOCAL}


def _applied(mine: Settings, agreement: Agreement) -> Settings:
    try:
        return msgspec.convert(agreement.settings | local(mine), Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"the settings of this crawl are those of another version of lycosa: {error}") from None
