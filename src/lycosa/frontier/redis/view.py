"""The crawl of many machines as others see it: its tables, and who takes part."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis.address import Address, parse_address
from lycosa.frontier.redis.crawl import Crawl, decode_fence, gone
from lycosa.frontier.redis.reader import RedisReader
from lycosa.frontier.view import Agreed, CrawlView, Crew, Machine, Shares
from lycosa.settings import Settings


class _Member(msgspec.Struct):
    """What `lua/members.lua` keeps of a machine."""

    name: str
    nonce: str
    workers: int
    region: str
    waits_for: str


def open_redis_view(text: str) -> CrawlView:
    """Raises `SettingsError` if there is no such crawl, `BackendLost` if nobody answers or its data are gone."""
    address = parse_address(text)
    with closing(RedisReader(address, None)) as whole:
        whole.reach()
        (raw,) = whole.ask(("GET", "c"))
        if raw is None:
            raise SettingsError(f"{address}: there is no such crawl; crawl=NAME in the address names it")
        crawl = msgspec.msgpack.decode(raw, type=Crawl)
        settings, seeds = whole.ask(("HGET", "s", "settings"), ("HGET", "s", "seeds"))
        agreed = Agreed(msgspec.json.decode(settings or b"{}"), msgspec.json.decode(seeds or b"[]", type=list[str]))
        readers = [RedisReader(address, number) for number in range(crawl.partitions)]
        crew = _crew(address, whole, readers, agreed)
        asked = whole.ask(("HVALS", "asked"))[0]
    is_balanced = agreed.settings.get("assignment") == "balanced"
    # Of a machine that came and went without a visit, no worker had less than its share.
    workers = [some for raw in asked if any(some := msgspec.msgpack.decode(raw, type=list[int]))]
    requests = sorted(times for some in workers for times in some)
    shares = Shares(requests, 0) if is_balanced and requests else None
    key = bytes.fromhex(crawl.key)
    return CrawlView(
        readers,
        crawl.partition_of,
        crew=crew,
        shares=shares,
        agreed=agreed,
        key=key,
        servers=lambda: [reader.server_figures() for reader in {each.server: each for each in readers}.values()],
    )


def _crew(address: Address, whole: RedisReader, readers: list[RedisReader], agreed: Agreed) -> Crew:
    rows, heard, clock, (now, _) = whole.ask(
        ("HGETALL", "m"), ("ZRANGE", "b", 0, -1, "WITHSCORES"), ("GET", "u"), ("TIME",)
    )
    silence_seconds = float(str(agreed.settings.get("silence_seconds", Settings().silence_seconds)))
    heard_at = dict(zip(heard[::2], map(float, heard[1::2]), strict=True))
    # The clock of the hearts, and when somebody last looked at it.
    ticked, looked_at = msgspec.msgpack.decode(clock) if clock else (0.0, 0.0)
    since = max(0.0, float(now) - looked_at)
    fences = [reader.ask(("GET", "f"))[0] for reader in readers]
    if any(fence is None for fence in fences):
        raise gone(address)
    owned = Counter(decode_fence(fence).nonce for fence in fences)
    machines = []
    for number, raw in rows.items():
        member = msgspec.msgpack.decode(raw, type=_Member)
        ago, has = ticked - heard_at.get(number, 0.0) + since, owned.pop(member.nonce, 0)
        is_silent = ago > silence_seconds
        machines.append(Machine(member.name, member.workers, member.region, ago, is_silent, member.waits_for, has))
    return Crew(sorted(machines, key=lambda machine: machine.name), sum(owned.values()))
