"""The frontier on Redis or Valkey, for as many machines as join: one server, Sentinel or a cluster.

Hosts are spread over partitions, and each partition has one owner at a time, which runs the ordinary scheduler over it;
the store is its table. This file tells what a machine does: the verbs of its workers, and what is to be done from time
to time. Whose a partition is, is the affair of `ownership.py`; what goes to other machines that of `routing.py` and
`lending.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set

from lycosa.clock import Clock, machine_clock, steady_clock
from lycosa.dedupe.comparison import Signature
from lycosa.dedupe.groups import ContentGroups
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.errors import BackendLost, SettingsError
from lycosa.figures import FilterFigures
from lycosa.frontier.arrivals import in_full
from lycosa.frontier.gathering import Gathering
from lycosa.frontier.obeying import is_pardoned
from lycosa.frontier.poison import readable_history
from lycosa.frontier.ranking import classes_for
from lycosa.frontier.records import site_notes
from lycosa.frontier.redis import mail, server_check
from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.addresses import SharedAddresses
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import SharedContents
from lycosa.frontier.redis.crawl import Crawl, open_crawl
from lycosa.frontier.redis.lending import Lending
from lycosa.frontier.redis.membership import Member, Membership
from lycosa.frontier.redis.overview import NEVER, NOTHING_TO_DO, Overview
from lycosa.frontier.redis.ownership import Ownership
from lycosa.frontier.redis.page_limit import PageGrants
from lycosa.frontier.redis.partition import Partition, PartitionOpener
from lycosa.frontier.redis.routing import Routing
from lycosa.frontier.redis.tables import LETTERS
from lycosa.frontier.redis.together import gathering
from lycosa.frontier.rules import FrontierRules, Which, host_of_origin, is_for_revisit
from lycosa.frontier.spacing import ADDRESS_MARGIN
from lycosa.frontier.tables import HISTORY, ROBOTS, SITES
from lycosa.model import History, Lease, Placement, Settlement, Target
from lycosa.orders import Given, Pardon, SetPolicy
from lycosa.ports import Counts

logger = logging.getLogger(__name__)

# How often mail is looked for: while there is some, while there is none, and while nobody could send any.
BUSY_SECONDS, QUIET_SECONDS, ALONE_SECONDS = 0.02, 0.1, 1.0
# How often a machine that has less than its share looks for what others have given up.
LACKING_SECONDS = 0.5
READMITTED_TOGETHER = 500
# From one round of settlements to the next; less than a fetch takes. Every partition that a round touches costs this
# machine and the servers about as much as a page: the more pages share it, the less.
ROUND_SECONDS = 0.02


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
        self.durations = {"round trip": self._connection.round_trips}
        self._reading = gathering(self._connection)
        self._settling = Gathering(self._settle_round, ROUND_SECONDS)
        self._crawl: Crawl | None = None
        self._tell: Callable[[], None] = lambda: None
        self._opening = asyncio.Lock()
        self._ticking = asyncio.Lock()
        self._pulse: asyncio.Task[None] | None = None
        self._trouble: BackendLost | None = None
        self._beat_at = float("-inf")

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        await self._ready()
        return await self._routing.spread(targets)

    async def take(self, worker: int, limit: int) -> list[Lease]:
        await self._ready()
        if not self._fake_clock and machine_clock() - self._beat_at > self.rules.silence_seconds / 2:
            # Whoever was not heard for so long may be taken for dead before its requests have begun.
            await self.tick()
        node = self._membership.node(worker)
        leases = self._lending.take(node, limit)
        exhausted: set[int] = set()
        while (left := limit - _hosts_in(leases)) > 0 and (due := self._due(node, exhausted)[:left]):
            share = -(-left // len(due))
            await self._ownership.grant(due, share)
            given = await asyncio.gather(*(self._ownership.take(partition, node, share) for partition in due))
            if not any(given):
                break
            leases += [lease for some in given for lease in some]
            # One whose pages were withheld may have what another one did not need of the page limit.
            exhausted |= {
                each.number
                for each, some in zip(due, given, strict=True)
                if _hosts_in(some) < share and not each.scheduler.was_withheld
            }
        self._lending.wish(node, limit - _hosts_in(leases))
        await self._contents.end_claims()
        permitted = await self._routing.permitted(leases)
        self._membership.asked[worker] += len(permitted)
        return permitted

    def _due(self, node: int, exhausted: Set[int]) -> list[Partition]:
        """Partitions that may have something for a worker now."""
        moments = [(each, each.next_at(node)) for each in self._ownership.active() if each.number not in exhausted]
        # "Now" is what the clock says when a partition has been asked, so not earlier.
        return [each for each, moment in moments if moment is not None and moment <= self._now()]

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        await self._ready()
        mine: list[Settlement] = []
        lent: dict[int, list[Settlement]] = defaultdict(list)
        # Which partition has each link is for this machine to say.
        for settlement in map(in_full, settlements):
            home, is_lent = self._ready_crawl.home_of(settlement.token), self._lending.pop(settlement.token)
            if is_lent and home in self._ownership.partitions:
                # It is ours by now, and its lease is gone.
                self._contents.end(settlement.token)
                is_lent = False
            (lent[home] if is_lent else mine).append(settlement)
        # Not in rounds with the others: whoever lent them may have died, and what is ours must not wait for that.
        settling: list[Awaitable[list[int]]] = [self._lending.settle(number, its) for number, its in lent.items()]
        if mine:
            settling.append(self._settling.ask(mine))
        late = {token for tokens in await asyncio.gather(*settling) for token in tokens}
        return [settlement.token for settlement in settlements if settlement.token in late]

    async def _settle_round(self, asked: list[list[Settlement]]) -> list[list[int]]:
        late = await self._routing.settle([settlement for settlements in asked for settlement in settlements])
        return [late] * len(asked)

    async def may_ask_at(self, token: int, address: str) -> bool:
        await self._ready()
        return await self._routing.may_ask_at(token, address)

    async def give_back(self, tokens: Sequence[int]) -> None:
        await self._ready()
        await self._routing.give_back(tokens)

    async def is_finished(self) -> bool:
        await self._ready()
        return await self._overview.is_finished()

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
        released = await self._ownership.release([node]) + await self._lending.release(node)
        await self._contents.end_claims()
        return released

    def filter_figures(self) -> FilterFigures | None:
        """None: what is known is a set of the servers, which is asked itself."""
        return None

    def counts(self) -> Counts:
        return self._overview.counts() if self._crawl else Counts()

    def next_at(self, worker: int) -> float | None:
        if self._crawl is None:
            return None
        node = self._membership.node(worker)
        if self._lending.has_for(node):
            return self._clock()
        moments = [each.scheduler.next_at(node) for each in self._ownership.active()]
        first = min((moment for moment in moments if moment is not None), default=None)
        return None if first is None else first - self._offset

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do anywhere; None while there is work."""
        if self._crawl is None:
            return None
        here = self._idle_here()
        others = [machine.idle_until for machine in self._membership.others]
        if not here or not all(others) or not self._ownership.is_all_owned:
            return None
        first = min(here, *others, NOTHING_TO_DO)
        if first >= NOTHING_TO_DO:
            return None
        return first - self._offset if first < NEVER else math.inf

    async def history(self, url_fingerprint: bytes) -> History | None:
        """What is known of a visited URL. Asks every partition: a fingerprint does not tell its host."""
        await self._ready()
        tags = self._ready_crawl.tags(self.address)
        found = await asyncio.gather(*(self._read(tag, HISTORY, url_fingerprint) for tag in tags))
        return next((past for raw in found if (past := readable_history(raw))), None)

    async def readmit(self, which: Which = is_for_revisit, *, is_lost: bool = False) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many there are of our own."""
        assert which is is_for_revisit, "what is chosen by one machine cannot be told to the others"
        assert not is_lost, "the counters are of all machines"
        await self._ready()
        queued = 0
        for number in range(self._ready_crawl.partitions):
            if partition := self._ownership.partitions.get(number):
                queued += await self._readmit(partition)
            else:
                await self._routing.post(number, mail.Readmit(number))
        return queued

    async def _readmit(self, partition: Partition, which: Which = is_for_revisit) -> int:
        tag = self.address.tag(partition.number)
        cursor, queued = b"0", 0
        is_taken_in = self.rules.is_continuous and which is is_for_revisit
        if is_taken_in and partition.scheduler.is_whole:
            return 0
        with self._ownership.losing(partition):
            while True:
                words = ("HSCAN", f"{tag}{LETTERS[HISTORY]}", cursor, "COUNT", READMITTED_TOGETHER)
                cursor, flat = await self._connection.command(tag, *words, durable=False)
                queued += await partition.scheduler.readmit(zip(flat[::2], flat[1::2], strict=True), which)
                if int(cursor) == 0:
                    break
            partition.scheduler.is_whole = partition.scheduler.is_whole or is_taken_in
        return queued

    async def readmit_lost(self, fingerprints: Sequence[bytes]) -> int:
        """A fingerprint does not tell its host, nor that its partition: none can be queued from here."""
        return 0

    @property
    def changes_found(self) -> int:
        """Those who own partitions are fenced: there is nothing to compare with."""
        return 0

    async def durable_changes(self) -> int:
        return 0

    async def obey(self, given: Given, targets: Sequence[Target] = ()) -> str:
        """Bring an order to all partitions: their owners carry it out soon."""
        await self._ready()
        message = mail.Ordered(given, list(targets))
        await asyncio.gather(*(self._routing.post(number, message) for number in range(self._ready_crawl.partitions)))
        return "on its way"

    @property
    def paused(self) -> str:
        """Why an operator wants nothing begun; empty if nobody does, or not of all that this machine has."""
        reasons = {partition.scheduler.paused for partition in self._ownership.active()} if self._crawl else {""}
        return reasons.pop() if len(reasons) == 1 else ""

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when something may have become available."""
        self._tell = tell

    def tell(self) -> None:
        """Something may have become available."""
        self._tell()

    def crawl_key(self) -> bytes:
        return bytes.fromhex(self._ready_crawl.key)

    @property
    def crawl_id(self) -> str:
        return self._ready_crawl.id

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
                await self._contents.end_claims()
                await self._ownership.give_up_all()
                await self._membership.leave()
            await self._ownership.close()
        await self._connection.close()
        self._like_texts.close()

    # ---- taking part

    async def begin(self) -> None:
        """Reach the servers, see that they will do, and join. Raises `SettingsError` or `BackendLost` soon."""
        async with self._opening:
            if self._crawl:
                return
            await self._connection.reach()
            self.warnings = await server_check.examine(self._connection)
            for warning in self.warnings:
                logger.warning("frontier: %s", warning)
            if self.rules.is_continuous and not self.address.keeps_history:
                raise SettingsError("frontier: a crawl that goes on for ever needs its history: leave out history=no")
            crawl = await open_crawl(self._connection, self._known_as)
            self._make_parts(crawl)
            await self._join()
            self._crawl = crawl
            if not self._fake_clock:
                self._pulse = asyncio.create_task(self._live())

    def _make_parts(self, crawl: Crawl) -> None:
        rules, connection = self.rules, self._connection
        gap = rules.pace.address_gap_seconds * ADDRESS_MARGIN
        mine: dict[int, Partition] = {}
        self._membership = members = Membership(connection, crawl, self._name, rules, self._fake_clock)
        self._limit = PageGrants(connection, crawl.partitions, rules.max_pages)
        self._overview = Overview(connection, crawl, rules.max_pages, mine)
        self._contents = contents = SharedContents(
            connection, crawl.partitions, rules.lease_seconds, self._has_lease, members.takes_part
        )
        opener = PartitionOpener(
            connection, crawl, rules, self._now, contents, self._overview.is_full, self.tell, classes_for(rules), mine
        )
        self._ownership = owned = Ownership(connection, crawl, rules, members, self._limit, opener, mine)
        self._lending = Lending(connection, crawl, rules, self._now, members, owned, contents)
        addresses = SharedAddresses(connection, crawl.partitions, gap, self._fake_clock)
        self._routing = Routing(connection, crawl, members, owned, self._lending, contents, addresses)

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
        self._box = mail.MailReader(self._connection, tag, mail.box_of(tag, self._membership.nonce))
        await self._share_out()

    async def _live(self) -> None:
        """Show that this machine lives, and do what others ask of it."""
        try:
            while True:
                had_mail = await self.tick()
                pause = BUSY_SECONDS if had_mail else QUIET_SECONDS if self._membership.has_company else ALONE_SECONDS
                await asyncio.sleep(min(pause, self._membership.beat_seconds))
        except BaseException as error:
            self._trouble = error if isinstance(error, BackendLost) else BackendLost(repr(error))
            self._lending.give_up(self._trouble)
            self._tell()
            raise

    async def tick(self) -> bool:
        """What is to be done from time to time. Returns whether there was mail."""
        async with self._ticking:
            usual = self._membership.beat_seconds
            pause = min(LACKING_SECONDS, usual) if self._ownership.lacks else usual
            if self._fake_clock or machine_clock() - self._beat_at >= pause:
                await self._beat()
            had_mail = await self._read_mail()
            await self._lending.hand_out()
            await self._ownership.give_up_surplus()
            await self._ownership.return_spare()
            await self._contents.end_claims()
            return had_mail

    async def _beat(self) -> None:
        before = self._membership.outlook.machines
        # Taken before it is sent: by no clock is it heard earlier.
        beat_at = machine_clock()
        if not await self._membership.beat(self._connection.trouble, self._idle_here()):
            logger.warning("%s took this machine for dead; it goes on as a new one", self.address)
            for partition in list(self._ownership.partitions.values()):
                self._ownership.lose(partition)
            self._lending.forget()
            await self._join()
            return
        self._beat_at = beat_at
        self._limit.note(self._membership.outlook.granted)
        if self._membership.has_new_settings:
            raise BackendLost("the settings of this crawl were changed; the same command goes on with the new ones")
        if _company(self._membership.outlook.machines) != _company(before):
            # Another machine may have the numbers of those that are gone by now.
            gone = [machine for machine in before if not self._membership.is_alive(machine.nonce)]
            await self._ownership.release(node for machine in gone for node in machine.nodes())
            await self._ownership.reassign(self._ownership.partitions.values())
            self._lending.forget_wishes()
        await self._share_out()

    async def _share_out(self) -> None:
        if await self._ownership.share_out():
            self._tell()
        await self._overview.look()
        if self.rules.is_continuous:
            self._overview.share_budget()

    # ---- mail

    async def _read_mail(self) -> bool:
        readers = [self._box, *(partition.inbox for partition in self._ownership.partitions.values())]
        for reader, messages in zip(readers, await mail.read_together(self._connection, readers), strict=True):
            for message in messages:
                await self._act_upon(message)
            if reader.has_read:
                await reader.done()
                self._tell()
        return any(reader.has_read for reader in readers)

    async def _act_upon(self, message: mail.Message) -> None:
        match message:
            case mail.Found():
                await self._routing.spread(message.targets, message.news)
            case mail.SettleLent():
                late = await self._routing.settle(message.settlements)
                await self._lending.tell(message.machine, mail.LentSettled(message.question, late))
            case mail.GiveLentBack():
                await self._routing.give_back(message.tokens, message.address, message.until)
            case mail.Release():
                await self._ownership.release([message.node], message.tokens)
            case mail.Readmit():
                if partition := self._ownership.partitions.get(message.partition):
                    await self._readmit(partition)
            case mail.Ordered():
                await self._obey(message)
            case mail.LentSettled():
                self._lending.answered(message)
            case mail.Wish():
                self._lending.hear(message)
            case mail.Handed():
                self._lending.accept(message)

    async def _obey(self, message: mail.Ordered) -> None:
        order = message.given.order
        host = order.host if isinstance(order, SetPolicy | Pardon) else ""
        its = [self._crawl_partition(host)] if host else [*self._ownership.partitions.values()]
        for partition in its:
            if partition:
                pardoned = await self._readmit(partition, is_pardoned(host)) if isinstance(order, Pardon) else 0
                with self._ownership.losing(partition):
                    mine = [target for target in message.targets if self._crawl_partition(target.host) is partition]
                    await partition.scheduler.obey(message.given, mine, pardoned)

    def _crawl_partition(self, host: str) -> Partition | None:
        return self._ownership.partitions.get(self._ready_crawl.partition_of(host))

    # ---- small things

    @property
    def _ready_crawl(self) -> Crawl:
        assert self._crawl, "begun"
        return self._crawl

    def _now(self) -> float:
        return self._clock() + self._offset

    def _has_lease(self, token: int) -> bool:
        return token in self._lending or self._ownership.held(token) is not None

    def _idle_here(self) -> float:
        """When this machine has something to do again, by the servers' time; 0 while it has."""
        return 0.0 if self._lending else self._overview.idle_here()

    async def _value(self, host: str, table: str, key: bytes) -> bytes | None:
        await self._ready()
        return await self._read(self.address.tag(self._ready_crawl.partition_of(host)), table, key)

    async def _read(self, tag: str, table: str, key: bytes) -> bytes | None:
        value: bytes | None
        (value,) = await self._reading.ask((tag, [("HGET", f"{tag}{LETTERS[table]}", key)]))
        return value


def _hosts_in(leases: Iterable[Lease]) -> int:
    return len({lease.target.host for lease in leases})


def _company(machines: Iterable[Member]) -> list[tuple[str, int, str]]:
    """What matters of who takes part."""
    return [(each.nonce, each.workers, each.region) for each in machines]
