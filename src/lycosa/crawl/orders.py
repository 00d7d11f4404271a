"""Brings what operators want to a crawl, whether it runs or not: into its folder, or to the machines that share it.

An order lies in the folder as a file of its own until the frontier has carried it out and says so in the same write;
then the file goes. So none is lost, and none is carried out twice, whenever anybody dies.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis.address import is_redis
from lycosa.model import Target
from lycosa.orders import AddSeeds, Given, Order, Pardon, SetPolicy
from lycosa.ports import CrawlFrontier
from lycosa.store.files import replace_file
from lycosa.store.folder import CrawlFolder
from lycosa.url.canonical import ParsedUrl, parse_seed, parse_seeds

# Orders that may lie in a folder: whoever gives more has lost a loop.
MAX_PENDING = 10_000
SUFFIX = ".json"

# Makes targets of seeds.
Plant = Callable[[Sequence[ParsedUrl]], list[Target]]


def give(order: Order, *, folder: CrawlFolder | None = None, frontier: str = "rocks", by: str = "") -> Given:
    """Have a crawl obey an order: soon if it runs, else when it goes on. Durable on return. Raises `SettingsError`."""
    _check(order)
    now = time.time()
    given = Given(f"{time.time_ns():020}-{secrets.token_hex(4)}", now, order, by)
    if is_redis(frontier):
        from lycosa.frontier.redis.orders import bring

        bring(frontier, given)
        return given
    if folder is None or frontier == "memory":
        raise SettingsError("the frontier of this crawl is kept in memory: nobody can give it orders")
    folder.orders.mkdir(exist_ok=True)
    if len(list(folder.orders.glob(f"*{SUFFIX}"))) >= MAX_PENDING:
        raise SettingsError(f"{folder.orders}: {MAX_PENDING:,} orders wait there already for a crawl to obey them")
    replace_file(folder.orders / f"{given.id}{SUFFIX}", msgspec.json.encode(given).decode(), folder.orders)
    return given


def pending(folder: CrawlFolder) -> list[Given]:
    """The orders that no crawl has obeyed yet, the oldest first; what cannot be read is passed over."""
    found = []
    for path in sorted(folder.orders.glob(f"*{SUFFIX}")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Given))
        except (FileNotFoundError, msgspec.DecodeError):
            continue
    return found


async def obey_pending(folder: CrawlFolder, frontier: CrawlFrontier, plant: Plant) -> list[tuple[Given, str]]:
    """Carry out the orders that lie in a folder; each with what came of it."""
    done = []
    for given in pending(folder):
        targets = plant(parse_seeds(given.order.urls)) if isinstance(given.order, AddSeeds) else []
        done.append((given, await frontier.obey(given, targets)))
        (folder.orders / f"{given.id}{SUFFIX}").unlink(missing_ok=True)
    return done


def _check(order: Order) -> None:
    """An order that means nothing is refused here, not by a crawl that nobody may look at."""
    match order:
        case AddSeeds(urls):
            parse_seeds(urls)
        case SetPolicy() | Pardon():
            parsed = parse_seed(f"http://{order.host}/")
            if not isinstance(parsed, ParsedUrl) or parsed.host != order.host:
                raise SettingsError(f"{order.host!r} is no host name as a crawl knows it: lower case, without a port")
    try:
        msgspec.convert(msgspec.to_builtins(order), Order)
    except msgspec.ValidationError as error:
        raise SettingsError(f"this cannot be ordered: {error}") from None
