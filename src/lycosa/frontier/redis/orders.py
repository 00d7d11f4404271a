"""Brings an order to the partitions of a crawl that many machines share: into their inboxes, whoever owns them."""

from __future__ import annotations

from contextlib import closing

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.crawl import Crawl
from lycosa.frontier.redis.mail import Ordered, encode_message, inbox_of
from lycosa.frontier.redis.reader import RedisReader
from lycosa.orders import AddSeeds, Given, Pardon, SetPolicy


def bring(text: str, given: Given) -> None:
    """Safe with the servers on return. Raises `SettingsError` if there is no such crawl, `BackendLost` without them."""
    address = parse_address(text)
    with closing(RedisReader(address, None)) as whole:
        whole.reach()
        (raw,) = whole.ask(("GET", "c"))
    if raw is None:
        raise SettingsError(f"{address}: there is no such crawl; crawl=NAME in the address names it")
    if isinstance(given.order, AddSeeds):
        raise SettingsError("seeds of a shared crawl are added by the crawl command: lycosa crawl URL --frontier …")
    crawl = msgspec.msgpack.decode(raw, type=Crawl)
    order, numbers = given.order, list(range(crawl.partitions))
    if isinstance(order, SetPolicy | Pardon):
        numbers = [crawl.partition_of(order.host)]
    message = encode_message(Ordered(given))
    for number in numbers:
        with closing(RedisReader(address, number)) as partition:
            partition.send(inbox_of(""), message)
