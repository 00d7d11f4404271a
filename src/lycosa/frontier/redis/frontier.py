"""The frontier on Redis or Valkey, for as many machines as join: one server, Sentinel or a cluster.

Hosts are spread over partitions, and each partition has one owner at a time, which runs the ordinary scheduler over it;
the store is its table. What a visit discovered for hosts of another partition is there, or in its inbox, before the
visit is settled: a crash in between repeats work and loses nothing. This file knows whose a host is; the scheduler
knows what is to be done with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from itertools import count
from typing import Any

import msgspec
from msgspec.structs import replace

from lycosa.clock import Clock, machine_clock, steady_clock
from lycosa.dedupe.groups import ContentGroups
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.signature import Signature
from lycosa.errors import BackendLost
from lycosa.frontier.poison import readable_history
from lycosa.frontier.records import State, decode_state, site_notes
from lycosa.frontier.redis import server_check
from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.addresses import SharedAddresses
from lycosa.frontier.redis.channel import NotOwner
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import SharedContents
from lycosa.frontier.redis.crawl import Crawl, Fence, decode_fence, gone, open_crawl
from lycosa.frontier.redis.mail import (
    MAX_LINKS,
    Found,
    GiveBack,
    Handed,
    Message,
    Reader,
    Readmit,
    Release,
    Settle,
    Settled,
    Wish,
    box_of,
    inbox_of,
    post,
    read_together,
)
from lycosa.frontier.redis.membership import Machine, Membership, shares
from lycosa.frontier.redis.page_limit import PageLimit
from lycosa.frontier.redis.partition import Partition, PartitionOpener
from lycosa.frontier.redis.settling import SettlingRounds
from lycosa.frontier.redis.tables import LETTERS
from lycosa.frontier.redis.together import Gatherer, ask_together
from lycosa.frontier.redis.wire import Command
from lycosa.frontier.rules import FrontierRules, host_of_origin
from lycosa.frontier.spacing import ADDRESS_MARGIN
from lycosa.frontier.tables import HISTORY, META, ROBOTS, SITES
from lycosa.model import History, Lease, OutcomeKind, Placement, RobotsNews, Settlement, Target
from lycosa.ports import Counts

logger = logging.getLogger(__name__)

# How often mail is looked for: while there is some, while there is none, and while nobody could send any.
BUSY_SECONDS, QUIET_SECONDS, ALONE_SECONDS = 0.02, 0.1, 1.0
# How often a machine that has less than its share looks for what others have given up.
LACKING_SECONDS = 0.5
# A question that was not answered for so long may have gone to an owner that died: whoever is owner now is asked.
ANSWER_SECONDS = 10.0
READMITTED_TOGETHER = 500
# Published by a machine that has nothing to do: something later than any moment.
NOTHING_TO_DO = 1e15
# And by one where only that is queued which no host knows of.
NEVER = 1e14


class Look(msgspec.Struct, frozen=True):
    """One partition at a moment."""

    state: State
    inbox: int  # messages in it
    last_message: bytes


class _Losing:
    """A context that ends without an error where a partition was lost to another machine."""

    def __init__(self, lose: Callable[[], None]) -> None:
        self._lose = lose

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if is_lost := kind is not None and issubclass(kind, NotOwner):
            self._lose()
        return is_lost


class RedisFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates` for one machine among many.

    `name` is this machine's own: whoever joins under it takes the place of its past. So are its groups of like texts:
    a kilobyte for each page would fill the servers, and most like texts are of one domain, which has one owner. A
    group is named by the words of its first text, so machines agree on those of texts that are the same. Time is the
    servers', unless a test gives its own: then hearts beat, and mail is read, only when `tick` is called.
    `known_as` is the id of the crawl if this machine has taken part in it before: then it must be there.
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
        known_as: str = "",
    ) -> None:
        self.rules = rules
        self.address = parse_address(address)
        self.warnings: list[str] = []
        self._known_as = known_as
        self._name = name
        self._like_texts = MemoryContentGroups() if groups is None else groups
        self._clock = fake_clock or clock or steady_clock()
        self._fake_clock = fake_clock
        self._offset = 0.0  # of the servers' time from our clock, when this machine joined
        self._connection = Connection(self.address)
        self._reading = Gatherer(self._connection, durable=False)
        self._crawl: Crawl | None = None
        self._partitions: dict[int, Partition] = {}
        self._inboxes: dict[int, Reader] = {}
        self._looks: list[Look] = []
        self._wishes: dict[int, int] = {}  # leases that workers of other machines would take
        self._wished: dict[int, int] = {}  # what ours would take, as the others were told
        self._handed: dict[int, list[Lease]] = defaultdict(list)  # for our workers, from others
        self._lent: dict[int, int] = {}  # tokens of leases that our workers have from others, and the worker
        self._answers: dict[int, asyncio.Future[list[int]]] = {}
        self._questions = count(1)
        self._rounds = SettlingRounds(self._settle_here)
        self._tell: Callable[[], None] = lambda: None
        self._opening = asyncio.Lock()
        self._ticking = asyncio.Lock()
        self._pulse: asyncio.Task[None] | None = None
        self._trouble: BaseException | None = None
        self._beat_at = float("-inf")
        self._lacks = False  # partitions, to have its share
        self._regions_matter = bool(rules.region or rules.region_rules or rules.region_by != "rules")

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        await self._ready()
        return await self._spread(targets, [])

    async def take(self, worker: int, limit: int) -> list[Lease]:
        await self._ready()
        if not self._fake_clock and machine_clock() - self._beat_at > self.rules.silence_seconds / 2:
            # Whoever was not heard for so long may be taken for dead before its requests have begun.
            await self.tick()
        node = self._membership.node(worker)
        leases = self._from_others(node, limit)
        exhausted: set[int] = set()
        while len(leases) < limit and (due := self._due(node, exhausted, limit - len(leases))):
            share = -(-(limit - len(leases)) // len(due))
            await self._grant(due, share)
            given = await asyncio.gather(*(self._take(partition, node, share) for partition in due))
            if not any(given):
                break
            leases += [lease for some in given for lease in some]
            # One whose pages were withheld may have what another one did not need of the page limit.
            exhausted |= {
                each.number
                for each, some in zip(due, given, strict=True)
                if len(some) < share and not each.scheduler.was_withheld
            }
        self._wish(node, limit - len(leases))
        await self._contents.end_claims()
        permitted = await self._permitted(leases)
        self._membership.asked[worker] += len(permitted)
        return permitted

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        await self._ready()
        mine: list[Settlement] = []
        lent: dict[int, list[Settlement]] = defaultdict(list)
        for settlement in settlements:
            if self._lent.pop(settlement.token, None) is not None:
                lent[self._home(settlement.token)].append(settlement)
            else:
                mine.append(settlement)
        # Not in rounds with the others: whoever lent them may have died, and what is ours must not wait for that.
        settling: list[Awaitable[Sequence[int]]] = [self._settle_there(number, its) for number, its in lent.items()]
        if mine:
            settling.append(self._rounds.settle(mine))
        late = {token for tokens in await asyncio.gather(*settling) for token in tokens}
        return [settlement.token for settlement in settlements if settlement.token in late]

    async def may_ask_at(self, token: int, address: str) -> bool:
        await self._ready()
        partition = self._partitions.get(self._home(token))
        is_lent = token in self._lent
        is_free = is_lent
        if partition and not is_lent:
            with self._losing(partition):
                is_free = await partition.scheduler.may_ask_at(token, address)
        if not is_free:
            return False
        if not self._has_company:
            return True
        due = (await self._addresses.reserve([(token, address)]))[token]
        if due:
            await self._defer(token, address, due)
        return not due

    async def give_back(self, token: int) -> None:
        await self._ready()
        await self._defer(token, "", 0.0)

    async def is_finished(self) -> bool:
        await self._ready()
        if self._is_busy_here():
            return False
        # Two looks with nothing changed in between are one look at all partitions in the same moment.
        before = await self._look()
        while not self._is_busy(before):
            after = await self._look()
            if _signs(after) == _signs(before):
                return True
            before = after
        return False

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        return await self._value(host_of_origin(origin), ROBOTS, origin.encode()) or b""

    async def site(self, domain: str) -> bytes:
        return site_notes(await self._value(domain, SITES, domain.encode()))

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        await self._ready()
        return await self._contents.original_of(digest, url, token)

    async def group_of(self, signature: bytes) -> Placement:
        return self._like_texts.group_of([Signature.from_bytes(signature)])[0]

    async def release(self, worker: int) -> int:
        await self._ready()
        node = self._membership.node(worker)
        released = 0
        for partition in list(self._partitions.values()):
            with self._losing(partition):
                released += len(await partition.scheduler.release(node))
        lent = await self._release_lent(node)
        await self._contents.end_claims()
        return released + lent

    async def _release_lent(self, node: int) -> int:
        waiting = [lease.token for lease in self._handed.pop(node, [])]
        for token in waiting:
            await self._defer(token, "", 0.0)
        tokens: dict[int, list[int]] = defaultdict(list)
        for token in [token for token, its in self._lent.items() if its == node]:
            del self._lent[token]
            self._contents.end(token)
            tokens[self._home(token)].append(token)
        for number, some in tokens.items():
            tag = self.address.tag(number)
            await post(self._connection, tag, inbox_of(tag), Release(node, some))
        return len(waiting) + sum(map(len, tokens.values()))

    def counts(self) -> Counts:
        totals: dict[str, int] = defaultdict(int)
        for number in range(len(self._looks)):
            partition = self._partitions.get(number)
            counts = partition.scheduler.counts() if partition else self._looks[number].state.counts
            for name, figure in msgspec.structs.asdict(counts).items():
                totals[name] += figure
        return Counts(**totals)

    def next_at(self, worker: int) -> float | None:
        if self._crawl is None:
            return None
        node = self._membership.node(worker)
        if self._handed.get(node):
            return self._clock()
        here = [each for each in self._partitions.values() if not each.is_leaving]
        moments = [moment for each in here if (moment := each.scheduler.next_at(node)) is not None]
        return min(moments) - self._offset if moments else None

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do anywhere; None while there is work."""
        if self._crawl is None:
            return None
        here = self._idle_here()
        others = [machine.idle_until for machine in self._membership.others]
        if not here or not all(others) or self._unowned():
            return None
        first = min(here, *others, NOTHING_TO_DO)
        if first >= NOTHING_TO_DO:
            return None
        return first - self._offset if first < NEVER else math.inf

    async def history(self, url_fingerprint: bytes) -> History | None:
        """What is known of a visited URL. Asks every partition: a fingerprint does not tell its host."""
        await self._ready()
        found = await asyncio.gather(*(self._read(tag, HISTORY, url_fingerprint) for tag in self._tags()))
        return next((past for raw in found if (past := readable_history(raw))), None)

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many there are of our own."""
        await self._ready()
        queued = 0
        for number in range(self._steps):
            if partition := self._partitions.get(number):
                with self._losing(partition):
                    queued += await self._readmit(partition)
            else:
                tag = self.address.tag(number)
                await post(self._connection, tag, inbox_of(tag), Readmit(number))
        return queued

    async def _readmit(self, partition: Partition) -> int:
        tag = self.address.tag(partition.number)
        cursor, queued = b"0", 0
        while True:
            words = ("HSCAN", f"{tag}{LETTERS[HISTORY]}", cursor, "COUNT", READMITTED_TOGETHER)
            cursor, flat = await self._connection.command(tag, *words, durable=False)
            queued += await partition.scheduler.readmit(zip(flat[::2], flat[1::2], strict=True))
            if int(cursor) == 0:
                return queued

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when something may have become available."""
        self._tell = tell

    def crawl_key(self) -> bytes:
        assert self._crawl, "begun"
        return bytes.fromhex(self._crawl.key)

    @property
    def crawl_id(self) -> str:
        assert self._crawl, "begun"
        return self._crawl.id

    def give_up(self) -> None:
        """Wait no longer for servers that do not answer."""
        self._connection.give_up()

    async def close(self) -> None:
        if self._trouble or self._connection.trouble:
            # Servers that could not be reached are not waited for once more, only to take leave of them.
            self.give_up()
        if self._pulse:
            self._pulse.cancel()
            with contextlib.suppress(asyncio.CancelledError, BackendLost):
                await self._pulse
        if self._crawl and self._beat_at > float("-inf"):
            with contextlib.suppress(BackendLost):
                await self._leave()
            await self._opener.close()
        await self._connection.close()
        self._like_texts.close()

    async def _leave(self) -> None:
        await self._contents.end_claims()
        for partition in list(self._partitions.values()):
            with contextlib.suppress(NotOwner):
                await self._opener.give_up(partition)
        self._partitions.clear()
        await self._membership.leave()

    # ---- taking part

    async def begin(self) -> None:
        """Reach the servers, see that they will do, and join. Raises `SettingsError` or `BackendLost` soon."""
        async with self._opening:
            if self._crawl:
                return
            await self._connection.reach()
            found = await server_check.conditions(self._connection)
            for condition in found:
                server_check.refuse_what_cannot_work(condition)
            self.warnings = [sentence for condition in found for sentence in server_check.warnings(condition)]
            for warning in self.warnings:
                logger.warning("frontier: %s", warning)
            replicas = self.address.replicas
            self._connection.replicas = (
                min(1, *(condition.replicas for condition in found), 1) if replicas is None else replicas
            )
            crawl = await open_crawl(self._connection, self._known_as)
            self._make_parts(crawl)
            await self._join()
            self._crawl = crawl
            if not self._fake_clock:
                self._pulse = asyncio.create_task(self._live())

    def _make_parts(self, crawl: Crawl) -> None:
        rules, connection = self.rules, self._connection
        gap = rules.pace.address_gap_seconds * ADDRESS_MARGIN
        self._partition_of = crawl.partition_of
        self._membership = Membership(connection, crawl, self._name, rules, self._fake_clock)
        self._addresses = SharedAddresses(connection, crawl.partitions, gap, self._fake_clock)
        self._limit = PageLimit(connection, crawl.partitions, rules.max_pages)
        self._contents = SharedContents(
            connection, crawl.partitions, rules.lease_seconds, self._has_lease, self._membership.takes_part
        )
        self._opener = PartitionOpener(connection, crawl, rules, self._now, self._contents, self._is_full)
        self._looks = [Look(State(), 0, b"")] * crawl.partitions
        self._steps = crawl.partitions

    async def _ready(self) -> None:
        if self._crawl is None:
            await self.begin()
        if self._trouble:
            raise self._trouble

    async def _join(self) -> None:
        await self._membership.join()
        self._contents.nonce = self._membership.nonce
        self._offset = self._membership.outlook.now - self._clock()
        self._beat_at = machine_clock()
        tag = self.address.tag()
        self._box = Reader(self._connection, tag, box_of(tag, self._membership.nonce))
        await self._share_out()
        await self._look()

    async def _live(self) -> None:
        """Show that this machine lives, and do what others ask of it."""
        try:
            while True:
                had_mail = await self.tick()
                pause = BUSY_SECONDS if had_mail else QUIET_SECONDS if self._has_company else ALONE_SECONDS
                await asyncio.sleep(min(pause, self._membership.beat_seconds))
        except BaseException as error:
            self._trouble = error if isinstance(error, BackendLost) else BackendLost(repr(error))
            self._tell()
            raise

    async def tick(self) -> bool:
        """What is to be done from time to time. Returns whether there was mail."""
        async with self._ticking:
            usual = self._membership.beat_seconds
            pause = min(LACKING_SECONDS, usual) if self._lacks else usual
            if self._fake_clock or machine_clock() - self._beat_at >= pause:
                await self._beat()
            had_mail = await self._read_mail()
            await self._hand_out()
            await self._leave_partitions()
            await self._return_spare()
            await self._contents.end_claims()
            return had_mail

    async def _beat(self) -> None:
        before = self._membership.outlook.machines
        # Taken before it is sent: by no clock is it heard earlier.
        beat_at = machine_clock()
        if not await self._membership.beat(self._connection.trouble, self._idle_here()):
            logger.warning("%s took this machine for dead; it goes on as a new one", self.address)
            for partition in list(self._partitions.values()):
                self._lose(partition)
            self._lent.clear()
            self._handed.clear()
            await self._join()
            return
        self._beat_at = beat_at
        self._limit.note(self._membership.outlook.granted)
        if self._membership.has_new_settings:
            raise BackendLost("the settings of this crawl were changed; the same command goes on with the new ones")
        if _company(self._membership.outlook.machines) != _company(before):
            await self._release_gone(before)
            await self._reassign(self._partitions.values())
            self._wished.clear()
        await self._share_out()
        await self._look()

    async def _release_gone(self, before: Iterable[Machine]) -> None:
        """Take back what machines had that are gone. Another one may have their numbers by now."""
        nodes = [node for machine in before if not self._is_alive(machine.nonce) for node in machine.nodes()]
        for partition in list(self._partitions.values()):
            for node in nodes:
                with self._losing(partition):
                    await partition.scheduler.release(node)

    # ---- whose a partition is

    @property
    def _has_company(self) -> bool:
        return len(self._membership.outlook.machines) > 1

    def _is_alive(self, nonce: str) -> bool:
        return any(machine.nonce == nonce for machine in self._membership.outlook.machines)

    def _unowned(self) -> int:
        return self._steps - len(self._owners) if not self._has_company else 0

    async def _share_out(self) -> None:
        """Take what nobody has, up to this machine's share; leave what is beyond it."""
        machines = self._membership.outlook.machines
        fences = await self._fences()
        self._owners = {number: fence.nonce for number, (fence, _) in fences.items() if self._is_alive(fence.nonce)}
        for number, partition in list(self._partitions.items()):
            if fences[number][0] != partition.fence:
                self._lose(partition)
        share = shares(machines, self._steps)[self._membership.nonce]
        # Those that leave come last: they stay if whoever they were for is gone again.
        ours = sorted(self._partitions.values(), key=lambda partition: partition.is_leaving)
        for place, partition in enumerate(ours):
            partition.is_leaving = place >= share
        free = [number for number in fences if number not in self._owners]
        for number in free[: max(0, share - len(ours))]:
            await self._take_over(number, *fences[number])
        self._lacks = len(self._partitions) < share

    async def _fences(self) -> dict[int, tuple[Fence, bytes]]:
        asked = [(tag, [("GET", f"{tag}f")]) for tag in self._tags()]
        raw = [fence for (fence,) in await ask_together(self._connection, asked, durable=False)]
        if any(each is None for each in raw):
            raise gone(self.address)
        return {number: (decode_fence(each), each) for number, each in enumerate(raw)}

    async def _take_over(self, number: int, fence: Fence, raw: bytes) -> None:
        nonce, home = self._membership.nonce, self._membership.nodes()
        partition = None
        with contextlib.suppress(NotOwner):
            partition = await self._opener.open(number, fence, raw, nonce, home)
        if partition is None:
            # Somebody else was first, or took it over again while this machine stood still.
            return
        await self._reassign([partition])
        if self.rules.max_pages:
            await self._limit.ask({partition.grant: partition.scheduler.counts().pages})
        self._partitions[number] = partition
        self._inboxes[number] = self._opener.inbox(number)
        self._owners[number] = nonce
        self._tell()

    async def _reassign(self, partitions: Iterable[Partition]) -> None:
        """Tell schedulers who may be given leases: our own workers, and where that matters those of all machines."""
        home = self._membership.nodes()
        region_of = dict.fromkeys(home, self.rules.region)
        if self._is_lending:
            region_of = {
                node: machine.region for machine in self._membership.outlook.machines for node in machine.nodes()
            }
        for partition in list(partitions):
            with self._losing(partition):
                await partition.scheduler.reassign(home, region_of)
        self._wishes = {node: wish for node, wish in self._wishes.items() if node in region_of}

    @property
    def _is_lending(self) -> bool:
        """Whether machines visit hosts of each other's partitions."""
        return self.rules.assignment == "balanced" or self._regions_matter

    def _lose(self, partition: Partition) -> None:
        """Somebody else owns it: whatever was leased from it is late."""
        if self._partitions.get(partition.number) is partition:
            logger.warning("partition %d belongs to another machine now", partition.number)
            del self._partitions[partition.number]
            self._inboxes.pop(partition.number, None)

    def _losing(self, partition: Partition) -> _Losing:
        """What is done within may turn out to be another machine's affair by now."""
        return _Losing(lambda: self._lose(partition))

    async def _leave_partitions(self) -> None:
        """Give up those that are beyond our share, once nothing of them is under way."""
        for partition in [each for each in self._partitions.values() if each.is_leaving]:
            with self._losing(partition):
                # None are given out, but those that ran out end.
                await partition.scheduler.take(self._membership.node(0), 0)
            if partition.number not in self._partitions or partition.scheduler.counts().leased:
                continue
            del self._partitions[partition.number]
            self._inboxes.pop(partition.number, None)
            with contextlib.suppress(NotOwner):
                await self._opener.give_up(partition)

    # ---- looking at all partitions

    async def _look(self) -> list[Look]:
        asked = [(tag, _questions(tag)) for tag in self._tags()]
        answers = await ask_together(self._connection, asked, durable=False)
        if any(fence is None for fence, *_ in answers):
            raise gone(self.address)
        self._looks = [
            Look(decode_state(raw) if raw else State(), waiting, last[0][0] if last else b"")
            for _, raw, waiting, last in answers
        ]
        return self._looks

    def _is_busy_here(self) -> bool:
        return any(not partition.scheduler.is_finished() for partition in self._partitions.values())

    def _is_full(self) -> bool:
        """Whether all pages that the limit allows are fetched or leased, as far as is known here."""
        limit = self.rules.max_pages
        if not limit:
            return False
        looks = enumerate(self._looks)
        elsewhere = sum(look.state.counts.pages for number, look in looks if number not in self._partitions)
        return elsewhere + sum(partition.used for partition in self._partitions.values()) >= limit

    def _is_busy(self, looks: Sequence[Look]) -> bool:
        counts = [look.state.counts for look in looks]
        if any(each.leased for each in counts):
            return True
        if self.rules.max_pages and sum(each.pages for each in counts) >= self.rules.max_pages:
            return False
        return any(each.queued + each.delayed for each in counts) or any(look.inbox for look in looks)

    def _idle_here(self) -> float:
        """When this machine has something to do again, by the servers' time; 0 while it has."""
        moments = [NOTHING_TO_DO]
        for partition in self._partitions.values():
            counts = partition.scheduler.counts()
            if counts.queued + counts.delayed + counts.leased == 0:
                continue
            if (until := partition.scheduler.idle_until()) is None:
                return 0.0
            moments.append(min(until, NEVER))
        return 0.0 if self._lent else min(moments)

    # ---- adding

    async def _spread(self, targets: Iterable[Target], news: Iterable[RobotsNews]) -> int:
        """Bring targets and news to their partitions: our own, or the inboxes of others. Returns how many were new."""
        found: dict[int, Found] = defaultdict(Found)
        for target in targets:
            found[self._partition_of(target.host)].targets.append(target)
        for each in news:
            found[self._partition_of(host_of_origin(each.origin))].news.append(each)
        return sum(await asyncio.gather(*(self._bring(number, some) for number, some in found.items())))

    async def _bring(self, number: int, found: Found) -> int:
        if partition := self._partitions.get(number):
            with self._losing(partition):
                return await _take_in(partition, found)
        tag = self.address.tag(number)
        portions = range(0, max(1, len(found.targets)), MAX_LINKS)
        for start in portions:
            some = Found(found.targets[start : start + MAX_LINKS], [] if start else found.news)
            await post(self._connection, tag, inbox_of(tag), some)
        return 0

    # ---- leasing

    def _due(self, node: int, exhausted: Set[int], limit: int) -> list[Partition]:
        """Partitions that may have something for a worker now."""
        found: list[Partition] = []
        for partition in self._partitions.values():
            moment = None if partition.is_leaving or partition.number in exhausted else partition.next_at(node)
            # "Now" is what the clock says when a partition is asked, so not earlier.
            if moment is not None and moment <= self._now():
                found.append(partition)
        return found[:limit]

    async def _grant(self, partitions: Iterable[Partition], share: int) -> None:
        """See that these partitions may lease so much more, as far as the page limit goes."""
        if not self.rules.max_pages:
            return
        wanted = {each.grant: each.used + share for each in partitions if each.spare < share}
        if sum(total - grant.total for grant, total in wanted.items()) > self._limit.left:
            # What others of ours do not need comes first.
            rest = (each for each in self._partitions.values() if each.grant not in wanted and each.spare)
            wanted = {each.grant: each.used for each in rest} | wanted
        if wanted:
            await self._limit.ask(wanted)

    async def _return_spare(self) -> None:
        """What a partition was granted and does not use goes to others, if there is nothing left for them."""
        if not self.rules.max_pages or self._limit.left:
            return
        if spare := {each.grant: each.used for each in self._partitions.values() if each.spare}:
            await self._limit.ask(spare)

    async def _take(self, partition: Partition, node: int, limit: int) -> list[Lease]:
        with self._losing(partition):
            return await partition.scheduler.take(node, limit)
        return []

    async def _permitted(self, leases: list[Lease]) -> list[Lease]:
        """The leases whose addresses may be asked now; the others come again when it is their turn."""
        known = [(lease.token, lease.address) for lease in leases if lease.address]
        if not known or not self._has_company:
            return leases
        dues = await self._addresses.reserve(known)
        for token, address in known:
            if dues[token]:
                await self._defer(token, address, dues[token])
        return [lease for lease in leases if not dues.get(lease.token)]

    async def _defer(self, token: int, address: str, until: float) -> None:
        """Nothing is sent under a lease: it goes back, and its address, if that must wait, is not asked before."""
        home = self._home(token)
        if self._lent.pop(token, None) is not None:
            self._contents.end(token)
            tag = self.address.tag(home)
            await post(self._connection, tag, inbox_of(tag), GiveBack([token], address, until))
        elif partition := self._partitions.get(home):
            with self._losing(partition):
                await _take_back(partition, token, address, until)

    def _has_lease(self, token: int) -> bool:
        partition = self._partitions.get(self._home(token))
        return token in self._lent or bool(partition and partition.scheduler.has_lease(token))

    # ---- settling

    async def _settle_here(self, settlements: Sequence[Settlement]) -> list[int]:
        """Settle what our own partitions leased."""
        homes: dict[int, list[Settlement]] = defaultdict(list)
        for settlement in settlements:
            homes[self._home(settlement.token)].append(settlement)
        timely = [each for each in settlements if self._has_lease(each.token)]
        stored = [
            (each.digest, url)
            for each in timely
            if each.outcome is OutcomeKind.STORED and each.digest and (url := self._url_of(each.token))
        ]
        # Before the visits are settled: a crash in between repeats them.
        await asyncio.gather(self._contents.keep(stored), self._spread(*self._elsewhere(timely)))
        unsent = [each for each in timely if not each.sent and each.outcome is not OutcomeKind.FAILED]
        undone = [(each.token, address) for each in unsent if (address := self._address_of(each.token))]
        if undone and self._has_company:
            await self._addresses.undo(undone)
        late = await asyncio.gather(*(self._settle_at(number, some) for number, some in homes.items()))
        await self._contents.end_claims()
        return [token for tokens in late for token in tokens]

    def _elsewhere(self, settlements: Iterable[Settlement]) -> tuple[list[Target], list[RobotsNews]]:
        """What visits found for other partitions than their own."""
        targets, news = list[Target](), list[RobotsNews]()
        for settlement in settlements:
            home = self._home(settlement.token)
            targets += [target for target in settlement.discovered if self._partition_of(target.host) != home]
            told = settlement.robots
            if told and self._partition_of(host_of_origin(told.origin)) != home:
                news.append(told)
        return targets, news

    async def _settle_at(self, number: int, settlements: Sequence[Settlement]) -> list[int]:
        if partition := self._partitions.get(number):
            with self._losing(partition):
                return await partition.scheduler.settle([self._at_home(number, each) for each in settlements])
        return [settlement.token for settlement in settlements]

    def _at_home(self, number: int, settlement: Settlement) -> Settlement:
        """A settlement without what is another partition's affair."""
        kept = [target for target in settlement.discovered if self._partition_of(target.host) == number]
        told = settlement.robots
        if told and self._partition_of(host_of_origin(told.origin)) != number:
            told = None
        if len(kept) == len(settlement.discovered) and told is settlement.robots:
            return settlement
        return replace(settlement, discovered=kept, robots=told)

    async def _settle_there(self, number: int, settlements: list[Settlement]) -> list[int]:
        """Settle what another machine leased to us, and wait for what its owner, whoever that is by now, says to it."""
        if number in self._partitions:
            # It is ours by now, and its leases are gone.
            return await self._settle_here(settlements)
        question = next(self._questions)
        answer = self._answers[question] = asyncio.get_running_loop().create_future()
        tag = self.address.tag(number)
        try:
            while True:
                # Under whatever name this machine goes by now: only there does it look for the answer.
                message = Settle(self._membership.nonce, question, settlements)
                await post(self._connection, tag, inbox_of(tag), message)
                with contextlib.suppress(TimeoutError):
                    return await asyncio.wait_for(asyncio.shield(answer), ANSWER_SECONDS)
                if self._trouble:
                    raise self._trouble
        finally:
            del self._answers[question]
            for settlement in settlements:
                self._contents.end(settlement.token)
            await self._contents.end_claims()

    def _url_of(self, token: int) -> str:
        target = self._target_of(token)
        return target.url if target else ""

    def _target_of(self, token: int) -> Target | None:
        partition = self._partitions.get(self._home(token))
        return partition.scheduler.target_of(token) if partition else None

    def _address_of(self, token: int) -> str:
        partition = self._partitions.get(self._home(token))
        return partition.scheduler.address_of(token) if partition else ""

    # ---- mail

    async def _read_mail(self) -> bool:
        readers = [self._box, *self._inboxes.values()]
        for reader, messages in zip(readers, await read_together(self._connection, readers), strict=True):
            for message in messages:
                await self._act_upon(message)
            if reader.has_read:
                await reader.done()
                self._tell()
        return any(reader.has_read for reader in readers)

    async def _act_upon(self, message: Message) -> None:
        match message:
            case Found():
                await self._spread(message.targets, message.news)
            case Settle():
                late = await self._settle_here(message.settlements)
                await self._answer(message.machine, Settled(message.question, late))
            case GiveBack():
                for token in message.tokens:
                    await self._defer(token, message.address, message.until)
            case Release():
                for number in {self._home(token) for token in message.tokens}:
                    if partition := self._partitions.get(number):
                        with self._losing(partition):
                            await partition.scheduler.release(message.node, message.tokens)
            case Readmit():
                if partition := self._partitions.get(message.partition):
                    with self._losing(partition):
                        await self._readmit(partition)
            case Settled():
                if (answer := self._answers.get(message.question)) and not answer.done():
                    answer.set_result(message.late)
            case Wish():
                self._wishes[message.node] = message.leases
            case Handed():
                self._accept(message)

    async def _answer(self, nonce: str, message: Message) -> None:
        tag = self.address.tag()
        await post(self._connection, tag, box_of(tag, nonce), message, is_kept=False)

    # ---- leases for other machines, and from them

    def _wish(self, node: int, leases: int) -> None:
        if self._is_lending and self._has_company:
            self._wished[node] = max(0, leases)

    async def _hand_out(self) -> None:
        if not (self._is_lending and self._has_company):
            return
        await self._tell_wishes()
        nodes = {node: machine for machine in self._membership.others for node in machine.nodes()}
        for node, wish in list(self._wishes.items()):
            if wish > 0 and node in nodes and (leases := await self._take_for(node, wish)):
                self._wishes[node] = wish - len(leases)
                await self._answer(nodes[node].nonce, Handed(node, leases, self._now()))

    async def _take_for(self, node: int, limit: int) -> list[Lease]:
        leases: list[Lease] = []
        for partition in list(self._partitions.values()):
            if len(leases) < limit and not partition.is_leaving:
                await self._grant([partition], limit - len(leases))
                leases += await self._take(partition, node, limit - len(leases))
        return leases

    async def _tell_wishes(self) -> None:
        """What our workers would take, in equal parts to all others."""
        wished, self._wished = self._wished, {}
        others: list[Machine] = self._membership.others
        for node, leases in wished.items():
            for machine in others:
                await self._answer(machine.nonce, Wish(self._membership.nonce, node, -(-leases // len(others))))

    def _accept(self, handed: Handed) -> None:
        """Leases of another machine's partitions. They are the older, the longer they were on their way."""
        age = max(0.0, self._now() - handed.given_at)
        begin_by = machine_clock() + max(0.0, self.rules.silence_seconds / 2 - age)
        for lease in handed.leases:
            self._handed[handed.node].append(replace(lease, begin_by=begin_by))
            self._lent[lease.token] = handed.node

    def _from_others(self, node: int, limit: int) -> list[Lease]:
        handed = self._handed.get(node, [])
        taken, self._handed[node] = handed[:limit], handed[limit:]
        return taken

    # ---- small things

    def _now(self) -> float:
        return self._clock() + self._offset

    def _home(self, token: int) -> int:
        return token % self._steps

    def _tags(self) -> list[str]:
        return [self.address.tag(number) for number in range(self._steps)]

    async def _value(self, host: str, table: str, key: bytes) -> bytes | None:
        await self._ready()
        return await self._read(self.address.tag(self._partition_of(host)), table, key)

    async def _read(self, tag: str, table: str, key: bytes) -> bytes | None:
        value: bytes | None
        (value,) = await self._reading.ask(tag, ("HGET", f"{tag}{LETTERS[table]}", key))
        return value


def _company(machines: Iterable[Machine]) -> list[tuple[str, int, str]]:
    """What matters of who takes part."""
    return [(each.nonce, each.workers, each.region) for each in machines]


def _questions(tag: str) -> list[Command]:
    """What a look at a partition asks."""
    inbox = inbox_of(tag)
    return [
        ("GET", f"{tag}f"),
        ("HGET", f"{tag}{LETTERS[META]}", "state"),
        ("XLEN", inbox),
        ("XREVRANGE", inbox, "+", "-", "COUNT", 1),
    ]


async def _take_in(partition: Partition, found: Found) -> int:
    for news in found.news:
        await partition.scheduler.learn(news)
    return await partition.scheduler.add(found.targets) if found.targets else 0


async def _take_back(partition: Partition, token: int, address: str, until: float) -> None:
    if address:
        partition.scheduler.hold_address(token, address, until)
    await partition.scheduler.give_back(token)


def _signs(looks: Iterable[Look]) -> list[tuple[Any, ...]]:
    """What differs if anything has changed."""
    return [(look.state.changes, look.state.epoch, look.inbox, look.last_message) for look in looks]
