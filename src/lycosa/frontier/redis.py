"""The frontier on Redis or Valkey, for as many machines as join: one server, Sentinel or a cluster.

Hosts are spread over partitions; a partition's keys live in one slot, and one script per verb changes them at once.
What a visit discovered is in its partitions before the visit is settled in its own: a crash in between repeats work
and loses nothing. The scripts hold the rules of leases, queues and pauses; this file knows who must be asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.dedupe.groups import ContentGroups
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.signature import Signature
from lycosa.errors import BackendLost
from lycosa.frontier import redis_check
from lycosa.frontier.poison import readable_history
from lycosa.frontier.redis_budget import Budget, Grant
from lycosa.frontier.redis_crawl import Crawl, open_crawl
from lycosa.frontier.redis_link import Call, Link
from lycosa.frontier.redis_members import Members
from lycosa.frontier.redis_place import MAX_PARTITIONS, parse_address
from lycosa.frontier.redis_ring import point_on_ring
from lycosa.frontier.redis_state import Overview, PartitionState
from lycosa.frontier.redis_value import encode, entry_of, mark_of, number_of, origin_under, readable_target, text
from lycosa.frontier.rules import (
    MAX_ORIGINS_PER_HOST,
    Again,
    FrontierRules,
    again_after,
    answer_of,
    history_of,
    host_of_origin,
    in_turn,
    lost_robots,
    rank_of,
    robots_target,
)
from lycosa.frontier.spacing import ADDRESS_MARGIN
from lycosa.model import (
    History,
    Kind,
    Lease,
    OutcomeKind,
    Placement,
    RobotsNews,
    Settlement,
    SiteNews,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.politeness import (
    BAN_REFUSALS,
    CIRCUIT_FAILURES,
    MAX_RETRY_AFTER_SECONDS,
    MAX_SLOWDOWN,
    RECOVERY,
    Answer,
)
from lycosa.policy.region import RegionRules
from lycosa.ports import Counts

T = TypeVar("T")
logger = logging.getLogger(__name__)

# Other machines find links to our hosts: look at each partition at least this often while there is too little to do.
LOOK_SECONDS = 0.5
# Leases of one partition per call: fewer calls cost less, more partitions are fairer.
LEASES_PER_CALL = 8
# A lease that ends sooner than this is made longer before the links of its visit are sent to other partitions.
HOLD_SECONDS = 15.0
FIRST_CLAIM_PAUSE_SECONDS, MAX_CLAIM_PAUSE_SECONDS = 0.02, 0.5
READMIT_BATCH = 500
_FOR_EVER = 2**52  # later than any ring

_decode_state = msgspec.msgpack.Decoder(PartitionState).decode
_decode_heads = msgspec.msgpack.Decoder(list[tuple[int, float]]).decode
_decode_moments = msgspec.msgpack.Decoder(list[float]).decode
_decode_moment = msgspec.msgpack.Decoder(tuple[float, int]).decode


class _Held(msgspec.Struct):
    """A lease that a worker of this machine has."""

    target: Target
    is_queued: bool  # False for a robots.txt asked for on the fly
    worker: int
    expires_at: float
    visits: int
    address: str
    digests: list[bytes]


class _Answer(msgspec.Struct):
    """What a verb had to say, and the bytes that came with it."""

    says: Any
    blobs: list[bytes]


class RedisFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates` for one machine among many.

    `name` is this machine's own: whoever joins under it takes the place of its past. So are its groups of like texts:
    a kilobyte for each page would fill the servers, and most like texts are of one domain, which has one machine. A
    group is named by the words of its first text, so machines agree on those of texts that are the same. Time is the
    servers', unless a test gives its own.
    """

    def __init__(
        self,
        address: str,
        rules: FrontierRules,
        *,
        name: str = "",
        groups: ContentGroups | None = None,
        clock: Clock | None = None,
        fake_clock: Clock | None = None,
    ) -> None:
        self.rules = rules
        self._like_texts = MemoryContentGroups() if groups is None else groups
        self.address = parse_address(address)
        self._clock = fake_clock or clock or steady_clock()
        self._fake_clock = fake_clock
        self._offset = 0.0  # of the servers' time from our clock
        self._crawl, replicas, self.warnings = _apart(self._open)
        for warning in self.warnings:
            logger.warning("frontier: %s", warning)
        self._link = Link(self.address, replicas)
        self._members = Members(self._link, self._crawl, name, rules, fake_clock)
        self._budget = Budget(self._link, self._crawl, rules.max_pages)
        self._overview = Overview(self._crawl.partitions)
        self._held: dict[int, _Held] = {}
        self._settling: dict[int, _Held] = {}  # being settled just now
        self._claims_ended = asyncio.Event()
        self._joining: asyncio.Lock = asyncio.Lock()
        self._heart: asyncio.Task[None] | None = None
        self._address_gap = rules.pace.address_gap_seconds * ADDRESS_MARGIN
        self._regions = RegionRules(rules.region_rules)
        self._spoilt: list[tuple[int, str]] = []
        self._has_warned = False

    async def _open(self) -> tuple[Crawl, int, list[str]]:
        """The crawl, how many replicas must confirm, and what the operator should know."""
        link = Link(self.address)
        try:
            # Enough tags to meet every server of a cluster, whatever the number of partitions.
            found = await redis_check.conditions(link, [*map(self.address.tag, range(MAX_PARTITIONS))])
            for condition in found:
                redis_check.refuse_what_cannot_work(condition)
            sentences = [sentence for condition in found for sentence in redis_check.warnings(condition)]
            replicas = self.address.replicas
            if replicas is None:
                replicas = min(1, *(condition.replicas for condition in found), 1)
            return await open_crawl(link), replicas, sentences
        finally:
            await link.close()

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        await self._ready()
        answers = await self._run(self._pushes(targets, []))
        return sum(answer.says for answer in answers)

    async def take(self, worker: int, limit: int) -> list[Lease]:
        await self._ready()
        node, leases, exhausted = self._members.node(worker), list[Lease](), set[int]()
        while len(leases) < limit:
            fresh_since = asyncio.get_running_loop().time() - LOOK_SECONDS
            due = [
                partition
                for partition in self._overview.due(node, self._now(), fresh_since)
                if partition not in exhausted
            ]
            if not due:
                break
            shares = _deal(limit - len(leases), due)
            grants = await self._grants(shares) if self.rules.max_pages else {}
            calls = [self._take_call(partition, worker, share, grants) for partition, share in shares.items()]
            for (partition, share), answer in zip(shares.items(), await self._run(calls), strict=True):
                given = self._leases_of(answer, worker)
                leases += given
                if len(given) < share:
                    exhausted.add(partition)
        await self._set_aside()
        return await self._permitted(leases)

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        await self._ready()
        await self._hold_what_ends_soon(settlements)
        ended: list[tuple[Settlement, _Held]] = []
        late: list[int] = []
        for settlement in settlements:
            if held := self._held.pop(settlement.token, None):
                ended.append((settlement, held))
                self._settling[settlement.token] = held
            else:
                late.append(settlement.token)
        await self._push(ended)
        late += await self._settle(ended, strangers=list(late))
        for settlement, _ in ended:
            del self._settling[settlement.token]
        await self._unreserve(ended)
        await self._end_claims((settlement.token, held) for settlement, held in ended)
        return late

    async def approach(self, token: int, address: str) -> bool:
        await self._ready()
        if not (held := self._held.get(token)):
            return False
        held.address = address
        if not self._address_gap or not (due := (await self._reserve([(token, address)]))[token]):
            return token in self._held
        await self._defer([(token, due)])
        return False

    async def give_back(self, token: int) -> None:
        await self._ready()
        if held := self._held.get(token):
            if held.address and self._address_gap:
                wants = [(held.address, token)]
                await self._link.one("unreserve", self._address_partition(held.address), {"wants": wants})
            await self._defer([(token, 0.0)])

    async def is_finished(self) -> bool:
        await self._ready()
        if self._is_busy() and self._is_fresh():
            return False
        # Two looks with nothing changed in between are one look at all partitions in the same moment. A machine that
        # leaves also changes them, and is no reason to go on.
        before = await self._look()
        while not self._is_busy():
            after = await self._look()
            if after == before:
                return True
            before = after
        return False

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        record: bytes = await self._link.one("robots", self._partition(host_of_origin(origin)), {"origin": origin})
        return record

    async def site(self, domain: str) -> bytes:
        notes: bytes = await self._link.one("site", self._partition(domain), {"point": str(point_on_ring(domain))})
        return notes

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        await self._ready()
        pause = FIRST_CLAIM_PAUSE_SECONDS
        while True:
            news, held = self._claims_ended, self._held.get(token)
            holder, original = await self._claim(digest, url, token, held)
            if original:
                return original
            if holder == 0:
                if held:
                    await self._note_claim(digest, token, held)
                return ""
            if pause == MAX_CLAIM_PAUSE_SECONDS and not await self._is_out(holder):
                # Whoever held it is dead, and its leases were given back.
                await self._unclaim([(digest, holder)])
                continue
            # Whoever holds the claim may be on another machine.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
            pause = min(2 * pause, MAX_CLAIM_PAUSE_SECONDS)

    async def place(self, signature: bytes) -> Placement:
        return self._like_texts.place([Signature.from_bytes(signature)])[0]

    async def release(self, worker: int) -> int:
        await self._ready()
        args = {"nodes": [self._members.node(worker)], "before_ring": _FOR_EVER, "is_for_good": False}
        calls = [Call("release", partition, dict(args)) for partition in range(self._crawl.partitions)]
        gone = {token for answer in await self._run(calls) for token in answer.says[0]}
        # Also those that a first try gave back whose answer was lost.
        gone |= {token for token, held in self._held.items() if held.worker == worker}
        await self._forget(list(gone))
        return len(gone)

    def counts(self) -> Counts:
        return self._overview.counts()

    def next_at(self, worker: int) -> float | None:
        moments = self._overview.first("next_expiry")
        if self._may_lease():
            moments += self._overview.first("next_retry") + self._overview.first_head(self._members.node(worker))
        return min(moments) - self._offset if moments else None

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        if self._overview.total("leased") or self._overview.total("healthy"):
            return None
        moments = self._overview.first("next_retry") + self._overview.first("idle_due")
        return min(moments) - self._offset if moments else None

    async def history(self, url_fingerprint: bytes) -> History | None:
        """What is known of a visited URL. Asks every partition: a fingerprint does not tell its host."""
        tags = [self.address.tag(partition) for partition in range(self._crawl.partitions)]
        found = await asyncio.gather(*(self._link.command(tag, "HGET", f"{tag}y", url_fingerprint) for tag in tags))
        return next((past for raw in found if (past := readable_history(raw))), None)

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many."""
        await self._ready()
        queued = 0
        for partition in range(self._crawl.partitions):
            async for rows in self._histories(partition):
                pages = [page for fingerprint, past in rows if (page := self._revisit(fingerprint, past))]
                if pages:
                    args = {"pages": pages, "is_depth_first": self.rules.order == "depth"}
                    (answer,) = await self._run([Call("readmit", partition, args)])
                    queued += answer.says
        return queued

    def crawl_key(self) -> bytes:
        return bytes.fromhex(self._crawl.key)

    async def close(self) -> None:
        if self._heart:
            self._heart.cancel()
            # Whoever asked last has heard of it, if the heart failed.
            with contextlib.suppress(asyncio.CancelledError, BackendLost):
                await self._heart
            with contextlib.suppress(BackendLost):
                await self._members.leave(self._run_for_answers)
        await self._link.close()
        self._like_texts.close()

    # ---- taking part

    async def _ready(self) -> None:
        """Joined, and alive. A heart that failed fails whoever asks next."""
        if self._heart is None:
            async with self._joining:
                if self._heart is None:
                    await self._members.join(self._run_for_answers)
                    self._heart = asyncio.create_task(self._beat_forever())
        elif self._heart.done():
            self._heart.result()

    async def _beat_forever(self) -> None:
        while True:
            await asyncio.sleep(self._members.beat_seconds)
            version = self._members.outlook.version
            if not await self._members.beat(self._run_for_answers):
                logger.warning("%s took this machine for dead; it goes on as a new one", self.address)
                await self._forget(list(self._held))
            if self._members.outlook.version != version:
                self._overview.forget_heads()
            if self._members.has_new_settings:
                raise BackendLost("the settings of this crawl were changed; the same command goes on with the new ones")

    # ---- calls to partitions

    async def _run(self, calls: Sequence[Call]) -> list[_Answer]:
        """Run verbs of partitions and note how these stand now."""
        if not calls:
            return []
        before = [self._overview.confirmed[call.partition] for call in calls if call.partition is not None]
        must_confirm = self._link.replicas > 0
        for call in calls:
            call.args["id"] = self._crawl.id
            if self._fake_clock:
                call.args["now"] = self._fake_clock()
        began_at = asyncio.get_running_loop().time()
        replies = await self._link.run(calls)
        answers = []
        for call, known, (state, heads, moment, says, *blobs) in zip(calls, before, replies, strict=True):
            assert call.partition is not None
            now, found = _decode_moment(moment)
            self._overview.must_not_go_back(call.partition, known, found)
            decoded = _decode_state(state)
            self._overview.note(call.partition, decoded, _decode_heads(heads), began_at)
            # Replicas confirm what we wrote, and all before it; what others wrote meanwhile they may not have yet.
            if not must_confirm or (call.is_durable and decoded.changes > found):
                self._overview.confirm(call.partition, decoded.changes)
            self._offset = now - self._clock()
            answers.append(_Answer(msgspec.msgpack.decode(says), blobs))
        return answers

    async def _run_for_answers(self, calls: Sequence[Call]) -> list[Any]:
        return [answer.says for answer in await self._run(calls)]

    async def _look(self) -> list[int]:
        """Look at every partition; returns how often each has changed."""
        args = {"nodes": self._members.nodes()}
        await self._run([Call("look", partition, dict(args)) for partition in range(self._crawl.partitions)])
        return [state.changes for state in self._overview.states]

    def _is_fresh(self) -> bool:
        return min(self._overview.looked_at) >= asyncio.get_running_loop().time() - LOOK_SECONDS

    def _is_busy(self) -> bool:
        if self._overview.total("leased"):
            return True
        if self.rules.max_pages and self._overview.total("used") >= self.rules.max_pages:
            return False
        return self._overview.total("queued") + self._overview.total("delayed") > 0

    def _now(self) -> float:
        return self._clock() + self._offset

    def _partition(self, host: str) -> int:
        return point_on_ring(host) % self._crawl.partitions

    # ---- adding

    def _pushes(self, targets: Iterable[Target], news: Iterable[RobotsNews]) -> list[Call]:
        """One call for every partition that has to know something."""
        calls: dict[int, dict[str, list[Any]]] = defaultdict(lambda: {"groups": [], "news": []})
        for partition, groups in self._groups(targets).items():
            calls[partition]["groups"] = groups
        for each in news:
            calls[self._partition(host_of_origin(each.origin))]["news"].append(self._news(each))
        return [Call("add", partition, args | self._queue_rules()) for partition, args in sorted(calls.items())]

    def _groups(self, targets: Iterable[Target]) -> dict[int, list[list[Any]]]:
        """Targets by partition and host, as the scripts take them."""
        hosts: dict[str, list[Any]] = {}
        if self.rules.max_queued_per_host:
            targets = in_turn(targets)
        for target in targets:
            if target.host not in hosts:
                hosts[target.host] = [target.host, point_on_ring(target.host), self._regions.of(target.host)]
            hosts[target.host].append((number_of(target.fingerprint), rank_of(target), text(entry_of(target))))
        groups: dict[int, list[list[Any]]] = defaultdict(list)
        for host, group in hosts.items():
            groups[self._partition(host)].append(group)
        return groups

    def _queue_rules(self) -> dict[str, Any]:
        return {
            "is_depth_first": self.rules.order == "depth",
            "max_origins": MAX_ORIGINS_PER_HOST,
            "max_queued": self.rules.max_queued_per_host,
        }

    # ---- leasing

    def _may_lease(self) -> bool:
        return not self.rules.max_pages or self._overview.total("used") < self.rules.max_pages

    async def _grants(self, shares: dict[int, int]) -> dict[int, Grant]:
        """What these partitions may lease towards the page limit, as far as there is any left."""
        if not self._may_lease():
            return {}
        states = self._overview.states
        wanted = {
            partition: share - spare
            for partition, share in shares.items()
            if (spare := states[partition].granted - states[partition].used) < share
        }
        if not wanted:
            return {}
        others = [partition for partition in range(len(states)) if partition not in shares]
        spare_ones = [partition for partition in others if states[partition].granted > states[partition].used]
        return await self._budget.grants(wanted, spare_ones or others, self._run_for_answers)

    def _take_call(self, partition: int, worker: int, share: int, grants: dict[int, Grant]) -> Call:
        fresh_since = asyncio.get_running_loop().time() - LOOK_SECONDS
        args = {
            "node": self._members.node(worker),
            # One look for all workers of this machine.
            "listeners": self._overview.stale(partition, self._members.nodes(), fresh_since),
            "limit": share,
            "partition": partition,
            "partitions": self._crawl.partitions,
            "lease_seconds": self.rules.lease_seconds,
            "is_limited": self.rules.max_pages > 0,
            "is_budget_left": self._may_lease(),
            "grant": grants.get(partition, False),
            "pace": self._pace(),
        }
        return Call("take", partition, args | self._queue_rules(), lambda: self._known_leases(partition, worker))

    def _known_leases(self, partition: int, worker: int) -> dict[str, Any]:
        """What a second try of `take` says: other leases of this worker are from the first, and nobody knows them."""
        here = [
            token
            for token, held in [*self._held.items(), *self._settling.items()]
            if held.worker == worker and token % self._crawl.partitions == partition
        ]
        return {"held": here}

    def _pace(self) -> dict[str, float]:
        pace = self.rules.pace
        return {
            "min_delay": pace.min_delay_seconds,
            "max_delay": pace.max_delay_seconds,
            "factor": pace.delay_factor,
            "max_crawl_delay": pace.max_crawl_delay_seconds,
            "max_backoff": pace.max_backoff_seconds,
            "circuit": pace.circuit_seconds,
            "circuit_failures": CIRCUIT_FAILURES,
            "domain_gap": pace.domain_gap_seconds,
            "ban_refusals": BAN_REFUSALS,
            "max_slowdown": MAX_SLOWDOWN,
            "recovery": RECOVERY,
        }

    def _leases_of(self, answer: _Answer, worker: int) -> list[Lease]:
        rows, expired = answer.says
        for token in expired:
            self._drop(token)
        leases = []
        for place, (token, host, rank, robots_at, expires_at, mark, address, site_at) in enumerate(rows):
            entry, past = answer.blobs[2 * place : 2 * place + 2]
            asked = robots_target(origin_under(mark, host), host) if rank < 0 else readable_target(entry, host, rank)
            if asked is None:
                self._spoilt.append((token, host))
                continue
            target, history = asked, readable_history(past)
            visits = history.visits if history else 0
            self._held[token] = _Held(target, rank >= 0, worker, expires_at, visits, address, [])
            validators = Validators(history.etag, history.last_modified, history.digest) if history else None
            version = int(site_at)
            leases.append(Lease(token, target, float(expires_at), float(robots_at), validators, address, version))
        return leases

    async def _set_aside(self) -> None:
        """Targets that cannot be read are nobody's; the scripts have found some, and some only we can tell."""
        spoilt, self._spoilt = self._spoilt, []
        leases: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for token, host in spoilt:
            leases[token % self._crawl.partitions].append((token, host))
        await self._run([Call("spoil", partition, {"leases": some}) for partition, some in leases.items()])
        if self._overview.total("poisoned") and not self._has_warned:
            self._has_warned = True
            logger.warning("%s: a record cannot be read; it is set aside, and so are others like it", self.address)

    # ---- addresses

    async def _permitted(self, leases: list[Lease]) -> list[Lease]:
        """The leases whose addresses may be asked now; the others come again when it is their turn."""
        known = [(lease.token, lease.address) for lease in leases if lease.address]
        if not known or not self._address_gap:
            return leases
        dues = await self._reserve(known)
        deferred = [(token, due) for token, due in dues.items() if due]
        await self._defer(deferred)
        gone = {token for token, _ in deferred}
        return [lease for lease in leases if lease.token not in gone]

    async def _reserve(self, wanted: Sequence[tuple[int, str]]) -> dict[int, float]:
        """When each lease may ask its address: 0 for now."""
        wants: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for token, address in wanted:
            wants[self._address_partition(address)].append((address, token))
        args: dict[str, Any] = {"gap": self._address_gap}
        if self._fake_clock:
            args["now"] = self._fake_clock()
        calls = [Call("reserve", partition, args | {"wants": some}) for partition, some in wants.items()]
        dues: dict[int, float] = {}
        for call, answer in zip(calls, await self._link.run(calls), strict=True):
            moments = _decode_moments(answer)
            dues |= {token: due for (_, token), due in zip(call.args["wants"], moments, strict=True)}
        return dues

    async def _defer(self, deferred: Sequence[tuple[int, float]]) -> None:
        given_back: dict[int, list[tuple[int, str, str, float]]] = defaultdict(list)
        for token, due in deferred:
            if held := self._held.pop(token, None):
                row = (token, held.target.host, held.address, due)
                given_back[token % self._crawl.partitions].append(row)
        await self._run([Call("defer", partition, {"leases": some}) for partition, some in given_back.items()])

    async def _unreserve(self, ended: Iterable[tuple[Settlement, _Held]]) -> None:
        """What was not sent has asked nobody."""
        wants: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for settlement, held in ended:
            if held.address and not _pause(settlement):
                wants[self._address_partition(held.address)].append((held.address, settlement.token))
        if wants and self._address_gap:
            await self._link.run([Call("unreserve", partition, {"wants": some}) for partition, some in wants.items()])

    def _address_partition(self, address: str) -> int:
        return crc32(address.encode()) % self._crawl.partitions

    # ---- settling

    async def _hold_what_ends_soon(self, settlements: Sequence[Settlement]) -> None:
        soon = self._now() + HOLD_SECONDS
        ending: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for settlement in settlements:
            if (held := self._held.get(settlement.token)) and held.expires_at < soon:
                ending[settlement.token % self._crawl.partitions].append((settlement.token, held.target.host))
        calls = [
            Call("hold", partition, {"leases": leases, "seconds": HOLD_SECONDS}) for partition, leases in ending.items()
        ]
        for answer in await self._run(calls):
            for token in answer.says:
                self._drop(token)

    async def _push(self, ended: Sequence[tuple[Settlement, _Held]]) -> None:
        """Send what visits found for other partitions, and what they stored."""
        targets: list[Target] = []
        news: list[RobotsNews] = []
        contents: list[tuple[bytes, str]] = []
        for settlement, held in ended:
            home = self._partition(held.target.host)
            targets += [target for target in settlement.discovered if self._partition(target.host) != home]
            learnt = self._learnt(settlement, held)
            if learnt and self._partition(host_of_origin(learnt.origin)) != home:
                news.append(learnt)
            if settlement.outcome is OutcomeKind.STORED and settlement.digest:
                contents.append((settlement.digest, held.target.url))
                # Its claim ends by being kept.
                held.digests = [digest for digest in held.digests if digest != settlement.digest]
        keeping = self._link.run(self._keeps(contents))
        await asyncio.gather(keeping, self._run(self._pushes(targets, news)))

    async def _settle(self, ended: Sequence[tuple[Settlement, _Held]], strangers: Sequence[int]) -> list[int]:
        visits: dict[int, list[dict[str, Any]]] = defaultdict(list)
        unknown: dict[int, int] = defaultdict(int)
        for settlement, held in ended:
            visits[settlement.token % self._crawl.partitions].append(self._visit(settlement, held))
        for token in strangers:
            unknown[token % self._crawl.partitions] += 1
        common = self._queue_rules() | {"pace": self._pace(), "measures": self._measures()}
        calls = [
            Call("settle", partition, {"visits": visits[partition], "strangers": unknown[partition], **common})
            for partition in sorted({*visits, *unknown})
        ]
        answers = await self._run(calls)
        late = [token for answer in answers for token in answer.says]
        return self._truly_late(late, ended) if any("is_again" in call.args for call in calls) else late

    def _truly_late(self, late: list[int], ended: Sequence[tuple[Settlement, _Held]]) -> list[int]:
        """Of what was sent twice: a lease that has not expired can only have been ended by the first try."""
        expires_at = {settlement.token: held.expires_at for settlement, held in ended}
        return [token for token in late if expires_at.get(token, 0.0) <= self._now()]

    def _visit(self, settlement: Settlement, held: _Held) -> dict[str, Any]:
        """A settlement as the script takes it."""
        target = held.target
        home = self._partition(target.host)
        learnt = self._learnt(settlement, held)
        may_ban = answer_of(settlement) in (Answer.REFUSED, Answer.BAN)
        return {
            "token": settlement.token,
            "host": target.host,
            "outcome": settlement.outcome.name.lower(),
            "pause": _pause(settlement),
            "address": settlement.address or held.address,
            **self._ending(settlement, held, may_retry=settlement.may_retry),
            # Whether a refusal is a ban is known where the host's record is.
            "if_ban": may_ban and self._ending(settlement, held, may_retry=True),
            "connect": settlement.connect_seconds,
            "news": [self._news(learnt)] if learnt and self._partition(host_of_origin(learnt.origin)) == home else [],
            "fingerprint": text(target.fingerprint),
            "body_bytes": settlement.body_bytes,
            "site": _site(settlement.site) if settlement.site else False,
            "known": [number_of(fingerprint) for fingerprint in settlement.known],
            "groups": self._groups(
                target for target in settlement.discovered if self._partition(target.host) == home
            ).get(home, []),
        }

    def _ending(self, settlement: Settlement, held: _Held, *, may_retry: bool) -> dict[str, Any]:
        """Whether the target comes again, and what is written of it."""
        target, now = held.target, self._now()
        again = (
            again_after(settlement, target, self.rules.retry_pauses, may_retry=may_retry) if held.is_queued else None
        )
        history = b""
        if target.fingerprint and self.address.keeps_history:
            due = now + again.pause_seconds if again else None
            history = encode(history_of(target, settlement, held.visits + 1, now, due))
        return {"retry": _retry(again) if again else False, "history": text(history)}

    def _measures(self) -> str | bool:
        """The region for which visits of this machine tell how near a host is; False if nobody wants to know."""
        return self.rules.region_by == "connect time" and self.rules.region

    def _news(self, news: RobotsNews) -> tuple[Any, ...]:
        """What was learnt of an origin as the scripts take it."""
        host = host_of_origin(news.origin)
        return (
            host,
            point_on_ring(host),
            mark_of(news.origin, host),
            news.fetched_at,
            news.expires_at,
            news.is_pending,
            news.crawl_delay_seconds,
            news.origin,
            text(news.record),
            self._regions.of(host),
        )

    def _learnt(self, settlement: Settlement, held: _Held) -> RobotsNews | None:
        if settlement.robots is None and held.target.kind is Kind.ROBOTS and not held.is_queued:
            return lost_robots(held.target, self._now())
        return settlement.robots

    # ---- contents

    def _digest_partition(self, digest: bytes) -> int:
        return crc32(digest) % self._crawl.partitions

    def _keeps(self, contents: Iterable[tuple[bytes, str]]) -> list[Call]:
        kept: dict[int, list[tuple[msgspec.Raw, str]]] = defaultdict(list)
        for digest, url in contents:
            kept[self._digest_partition(digest)].append((text(digest), url))
        return [Call("keep", partition, {"contents": some}) for partition, some in kept.items()]

    async def _claim(self, digest: bytes, url: str, token: int, held: _Held | None) -> tuple[int, str]:
        """Who has the claim, 0 if we; and the URL that has the content, if any."""
        args: dict[str, Any] = {"digest": text(digest), "url": url, "token": 0, "until_at": 0.0}
        if held:
            args |= {"token": token, "until_at": held.expires_at}
        if self._fake_clock:
            args["now"] = self._fake_clock()
        holder, original = await self._link.one("claim", self._digest_partition(digest), args)
        return holder, original.decode()

    async def _is_out(self, token: int) -> bool:
        return bool(await self._link.one("holds", token % self._crawl.partitions, {"token": token}))

    async def _note_claim(self, digest: bytes, token: int, held: _Held) -> None:
        held.digests.append(digest)
        if token not in self._held:
            # Its lease ended while the claim was on its way: nobody else would end it.
            await self._end_claims([(token, held)])

    async def _end_claims(self, ended: Iterable[tuple[int, _Held]]) -> None:
        await self._unclaim([(digest, token) for token, held in ended for digest in held.digests])
        self._claims_ended.set()
        self._claims_ended = asyncio.Event()

    async def _unclaim(self, ended: Sequence[tuple[bytes, int]]) -> None:
        claims: dict[int, list[tuple[msgspec.Raw, int]]] = defaultdict(list)
        for digest, token in ended:
            claims[self._digest_partition(digest)].append((text(digest), token))
        if claims:
            await self._link.run([Call("unclaim", partition, {"claims": some}) for partition, some in claims.items()])

    def _drop(self, token: int) -> None:
        """A lease of ours has expired; so have its claims."""
        if self._held.pop(token, None):
            self._claims_ended.set()
            self._claims_ended = asyncio.Event()

    async def _forget(self, tokens: Sequence[int]) -> None:
        """Leases of ours were given back."""
        await self._end_claims([(token, held) for token in tokens if (held := self._held.pop(token, None))])

    # ---- revisits

    async def _histories(self, partition: int) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        tag, cursor = self.address.tag(partition), b"0"
        while True:
            cursor, flat = await self._link.command(tag, "HSCAN", f"{tag}y", cursor, "COUNT", READMIT_BATCH)
            rows = list(flat.items()) if isinstance(flat, dict) else list(zip(flat[::2], flat[1::2], strict=True))
            yield rows
            if int(cursor) == 0:
                return

    def _revisit(self, fingerprint: bytes, packed: bytes) -> dict[str, Any] | None:
        past = readable_history(packed)
        # One that is due already stands in a queue: asking twice must not fetch it twice.
        if past is None or past.next_at or not past.outcome.is_page:
            return None
        host = host_of_origin(origin_of(past.url))
        target = Target(past.url, host, fingerprint, depth=past.depth, referrer=past.referrer)
        return {
            "fingerprint": text(fingerprint),
            "before": text(packed),
            "after": text(encode(msgspec.structs.replace(past, next_at=self._now()))),
            "host": host,
            "point": point_on_ring(host),
            "region": self._regions.of(host),
            "rank": rank_of(target),
            "value": text(entry_of(target)),
        }


def _deal(limit: int, due: Sequence[int]) -> dict[int, int]:
    """How many leases to ask each partition for: several of few rather than one of each."""
    chosen = due[: max(4, -(-limit // LEASES_PER_CALL))][:limit]
    share, more = divmod(limit, len(chosen))
    return {partition: share + (place < more) for place, partition in enumerate(chosen)}


def _site(news: SiteNews) -> tuple[Any, ...]:
    return point_on_ring(news.domain), news.version, text(news.notes)


def _retry(again: Again) -> dict[str, Any]:
    return {"pause": again.pause_seconds, "rank": rank_of(again.target), "value": text(entry_of(again.target))}


def _pause(settlement: Settlement) -> dict[str, Any] | bool:
    """What a visit means for its host's pause; False if nothing was sent, which costs the host nothing."""
    is_failure = settlement.outcome is OutcomeKind.FAILED
    if not settlement.sent and not is_failure:
        return False
    return {
        "fetch": settlement.fetch_seconds,
        "answer": answer_of(settlement).value,
        "reason": settlement.reason if is_failure else "",
        "retry_after": min(settlement.retry_after_seconds, MAX_RETRY_AFTER_SECONDS),
    }


def _apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run something to its end before anything else happens, wherever we are: opening, as one opens a file."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()
