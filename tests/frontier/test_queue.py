"""The queue of a host: whatever happens to it, in memory and in the store, it is what a few lists would be."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Raw

from lycosa.frontier import queue
from lycosa.frontier.entries import (
    encode_block,
    entry_of,
    length_of,
    longer_block,
    mark_of,
    origin_under,
    readable_block,
    target_of,
)
from lycosa.frontier.queue import BLOCK_ENTRIES, MAX_MARKS, OTHERS_MARK, ROBOTS_MARK, HostQueue, Spot, lane_mark
from lycosa.frontier.records import HostRecord, Lane, block_key, encode, readable_host
from lycosa.frontier.rules import RANKS, rank_of
from lycosa.frontier.tables import QUEUE, Batch
from lycosa.model import WAITS_LAST, Kind, Target, origin_of

from .stage import page, robots_for

ORIGINS = ["http://a", "https://a", "http://a:8080"]


class Stored:
    """A host's queue with the rows that its batches leave in a store."""

    def __init__(self) -> None:
        self.record = HostRecord("a", 7)
        self.queue = HostQueue(self.record)
        self.rows: dict[bytes, bytes] = {}

    def write(self, batch: Batch) -> None:
        for key, value in batch.tables.get(QUEUE, {}).items():
            if value is None:
                del self.rows[key]
            else:
                self.rows[key] = value

    def load(self, key: bytes | None) -> None:
        if key and not self.queue.has(key):
            self.queue.load(key, self.rows[key])

    def push(self, *targets: Target) -> None:
        batch = Batch()
        for target in targets:
            mark = lane_mark(target, origin_of(target.url))
            self.load(self.queue.tail_key(mark, rank_of(target)))
            self.queue.push(batch, self.queue.lane_for(mark, rank_of(target)), [entry_of(target)])
        self.write(batch)

    def next_in(self, lane: Lane, *, is_last_first: bool = False) -> tuple[Spot, Target]:
        while not (found := self.queue.next_in(lane, is_last_first=is_last_first)):
            key = self.queue.head_key(lane, is_last_first=is_last_first)
            assert not self.queue.has(key), "what is there is found"
            self.load(key)
        target = target_of(found[1], "a", lane.rank)
        assert target
        return found[0], target

    def remove(self, spot: Spot) -> None:
        batch = Batch()
        self.queue.remove(batch, spot)
        self.write(batch)

    def pop(self, *, is_last_first: bool = False) -> str:
        spot, target = self.next_in(self.record.lanes[0], is_last_first=is_last_first)
        self.remove(spot)
        return target.url.removeprefix("http://")

    def restart(self) -> None:
        """Nothing is left but what was written."""
        record = readable_host(encode(self.record), "a")
        assert record
        self.record = record
        self.queue = HostQueue(record)


def urls(number: int, start: int = 0) -> list[str]:
    return [f"a/{each}" for each in range(start, start + number)]


# ---- one lane


@pytest.mark.parametrize("is_last_first", [False, True])
def test_a_lane_is_a_queue_from_either_end(is_last_first: bool) -> None:
    stored = Stored()
    wanted = urls(3 * BLOCK_ENTRIES + 5)
    stored.push(*map(page, wanted))
    assert stored.record.queued == len(wanted)
    assert [stored.pop(is_last_first=is_last_first) for _ in wanted] == wanted[:: -1 if is_last_first else 1]
    assert (stored.record.queued, stored.record.lanes, stored.rows) == (0, [], {})


def test_what_leaves_the_front_of_a_block_writes_nothing_but_the_record() -> None:
    stored = Stored()
    stored.push(*map(page, urls(BLOCK_ENTRIES)))
    before = dict(stored.rows)
    for _ in range(BLOCK_ENTRIES - 1):
        stored.pop()
        assert stored.rows == before
    stored.pop()
    assert stored.rows == {}


def test_a_block_takes_so_many_and_no_more() -> None:
    stored = Stored()
    for url in urls(2 * BLOCK_ENTRIES + 1):
        stored.push(page(url))
    assert [length_of(block) for block in stored.rows.values()] == [BLOCK_ENTRIES, BLOCK_ENTRIES, 1]


def test_what_stands_in_the_middle_can_leave_while_others_come() -> None:
    """Depth first, others are found behind what is under way."""
    stored = Stored()
    stored.push(*map(page, urls(3)))
    spot, target = stored.next_in(stored.record.lanes[0], is_last_first=True)
    stored.push(*map(page, urls(2 * BLOCK_ENTRIES, start=3)))
    assert target == page("a/2")
    stored.remove(spot)
    wanted = [url for url in urls(2 * BLOCK_ENTRIES + 3) if url != "a/2"]
    assert [stored.pop() for _ in wanted] == wanted


@pytest.mark.parametrize("at_end", [False, True])
def test_blocks_at_the_ends_that_were_emptied_in_any_order_are_gone(at_end: bool) -> None:
    """One that stayed at the front would keep all that follow: each would be passed over whenever one is looked for."""
    stored = Stored()
    stored.push(*map(page, urls(4 * BLOCK_ENTRIES)))
    (lane,) = stored.record.lanes
    given = []
    for _ in range(4 * BLOCK_ENTRIES):
        spot, _ = stored.next_in(lane)
        stored.queue.give(spot)
        given.append(spot)
    blocks = [given[start : start + BLOCK_ENTRIES] for start in range(0, len(given), BLOCK_ENTRIES)]
    one_end, *rest = reversed(blocks[1:]) if at_end else blocks[:-1]
    for spot in [*(spot for block in rest for spot in block), *reversed(one_end)]:
        stored.remove(spot)
    assert (len(stored.rows), lane.end - lane.first) == (1, 1)
    assert lane.entries == BLOCK_ENTRIES


def test_a_block_that_is_not_in_memory_has_no_next() -> None:
    stored = Stored()
    stored.push(*map(page, urls(BLOCK_ENTRIES + 1)))
    stored.queue.forget()
    (lane,) = stored.record.lanes
    for is_last_first in (False, True):
        key = stored.queue.head_key(lane, is_last_first=is_last_first)
        assert not stored.queue.has(key)
        assert stored.queue.next_in(lane, is_last_first=is_last_first) is None
    assert stored.queue.tail_key(lane.mark, lane.rank) == stored.queue.head_key(lane, is_last_first=True)


@given(st.lists(st.integers(1, 3 * BLOCK_ENTRIES), min_size=1, max_size=4))
def test_entries_join_together_as_they_would_one_by_one(portions: list[int]) -> None:
    together, alone = Stored(), Stored()
    for number, size in enumerate(portions):
        targets = [page(f"a/{number}/{each}") for each in range(size)]
        alone.push(*targets)
        batch, rank, mark = Batch(), rank_of(targets[0]), lane_mark(targets[0], origin_of(targets[0].url))
        together.load(together.queue.tail_key(mark, rank))
        together.queue.push(batch, together.queue.lane_for(mark, rank), [entry_of(each) for each in targets])
        together.write(batch)
        assert (together.rows, together.record) == (alone.rows, alone.record)


def test_whoever_cannot_join_a_block_begins_one() -> None:
    stored = Stored()
    stored.push(page("a/1"))
    stored.queue.forget()
    batch = Batch()
    stored.queue.push(batch, stored.record.lanes[0], [entry_of(page("a/2"))])
    stored.write(batch)
    assert len(stored.rows) == 2
    assert [stored.pop(), stored.pop()] == ["a/1", "a/2"]


def test_trimming_keeps_the_ends() -> None:
    stored = Stored()
    stored.push(*map(page, urls(9 * BLOCK_ENTRIES)))
    stored.queue.trim()
    (lane,) = stored.record.lanes
    keys = list(stored.queue.keys(lane))
    assert len(keys) == 9
    assert [key for key in keys if stored.queue.has(key)] == [keys[0], keys[-1]]
    assert [stored.pop() for _ in range(9 * BLOCK_ENTRIES)] == urls(9 * BLOCK_ENTRIES)


@pytest.mark.parametrize("at_end", [False, True])
def test_a_dropped_block_takes_its_entries_and_no_others(at_end: bool) -> None:
    stored = Stored()
    stored.push(*map(page, urls(2 * BLOCK_ENTRIES + 3)))
    for _ in range(2):
        stored.pop()
    (lane,) = stored.record.lanes
    batch = Batch()
    key = stored.queue.head_key(lane, is_last_first=at_end)
    stored.queue.drop_block(batch, lane, key, 3 if at_end else BLOCK_ENTRIES - 2)
    stored.write(batch)
    left = urls(2 * BLOCK_ENTRIES - 2, start=2) if at_end else urls(BLOCK_ENTRIES + 3, start=BLOCK_ENTRIES)
    assert stored.record.queued == len(left)
    assert [stored.pop() for _ in left] == left


# ---- many lanes


def test_lanes_stand_by_class_and_origins_of_one_class_take_turns() -> None:
    stored = Stored()
    for number in range(2):
        for origin in ORIGINS:
            stored.push(page(f"{origin}/{number}", priority=5), page(f"{origin}/high{number}", priority=9))
    given = [stored.pop() for _ in range(12)]
    assert [mark.rpartition("/")[2] for mark in given] == [
        f"{kind}{n}" for kind in ("high", "") for n in (0, 0, 0, 1, 1, 1)
    ]
    assert [url.rpartition("/")[0] for url in given[:3]] == ["a", "https://a", "a:8080"]


def test_robots_and_probes_have_lanes_of_their_own_class() -> None:
    stored = Stored()
    probe = Target("http://a/no", "a", b"", kind=Kind.PROBE, priority=10)
    stored.push(page("a/1", priority=10), probe, robots_for("http://b", "http://a/robots.txt"))
    assert [lane.mark for lane in stored.record.lanes] == [ROBOTS_MARK, ""]
    assert [stored.pop() for _ in range(3)] == ["a/robots.txt", "a/1", "a/no"]


def test_origins_beyond_some_share_a_lane() -> None:
    stored = Stored()
    ports = range(8000, 8000 + 3 * MAX_MARKS)
    for number in range(2):
        stored.push(*(page(f"a:{port}/{number}") for port in ports))
    marks = [lane.mark for lane in stored.record.lanes]
    assert marks == [f":{port}" for port in ports[:MAX_MARKS]] + [OTHERS_MARK]
    assert sorted(stored.pop() for _ in range(2 * len(ports))) == sorted(f"a:{p}/{n}" for p in ports for n in range(2))


def test_a_place_among_the_lanes_that_is_free_again_is_taken_by_another_origin() -> None:
    stored = Stored()
    ports = range(8000, 8000 + MAX_MARKS)
    stored.push(*(page(f"a:{port}/") for port in ports))
    assert stored.pop() == "a:8000/"
    stored.push(page("a:9000/"))
    assert {lane.mark for lane in stored.record.lanes} == {f":{port}" for port in (*ports[1:], 9000)}
    assert len({lane.number for lane in stored.record.lanes}) == MAX_MARKS


def test_the_number_of_a_lane_fits_its_key() -> None:
    assert (MAX_MARKS + 1) * RANKS < 256
    keys = [block_key(host, lane, block) for host in (1, 2) for lane in (0, 255) for block in (0, 1, 2**32 - 1)]
    assert keys == sorted({*keys})


# ---- entries


words = st.text(st.characters(exclude_characters="/", codec="utf-8"), max_size=6)
targets = st.builds(
    lambda base, path, **known: Target(f"{base}/{path}", "a", **known),
    st.sampled_from(ORIGINS),
    st.lists(words, max_size=3).map("/".join),
    fingerprint=st.binary(min_size=8, max_size=8),
    kind=st.sampled_from([Kind.PAGE, Kind.PROBE, Kind.ROBOTS]),
    priority=st.integers(-3, 12).filter(bool),  # 0 is taken for the lowest
    depth=st.integers(0, 99),
    referrer=st.one_of(st.sampled_from(["", "http://a", "http://a/", "https://a/x/y", "http://b/x"]), words),
    redirects=st.integers(0, 9),
    attempt=st.integers(0, 9),
    origin=st.sampled_from(["", "http://b"]),
    crashes=st.integers(0, 2),
    visits=st.integers(0, 3),
    deferred=st.integers(0, WAITS_LAST),
)


@given(targets)
def test_a_target_is_the_same_when_it_leaves_its_queue(target: Target) -> None:
    assert target_of(entry_of(target), "a", rank_of(target)) == target


@given(st.sampled_from(["a", "b.test", "[::1]", "192.0.2.1"]), st.booleans(), st.integers(0, 65_535))
def test_an_origin_is_told_by_its_mark(host: str, is_secure: bool, port: int) -> None:
    origin = f"http{'s' * is_secure}://{host}{f':{port}' if port else ''}"
    assert origin_under(mark_of(origin, host), host) == origin


@given(st.lists(st.integers(0, 1 << 40).map(encode), min_size=1, max_size=40), st.integers(1, 8))
def test_a_block_grows_as_if_it_had_been_made_whole(entries: list[bytes], together: int) -> None:
    block = encode_block(entries[:1])
    for start in range(1, len(entries), together):
        block = longer_block(block, entries[start : start + together])
    assert block == encode_block(entries)
    assert length_of(block) == len(entries)
    assert readable_block(block) == [Raw(entry) for entry in entries]


# ---- whatever happens


class ModelLane:
    def __init__(self, rank: int, mark: str) -> None:
        self.rank = rank
        self.mark = mark
        self.urls: list[str] = []


class Queues(RuleBasedStateMachine):
    """A queue beside lists. At most one entry is given out, as of any host."""

    def __init__(self) -> None:
        super().__init__()
        # Small, so that blocks come and go.
        self.small = patch.object(queue, "BLOCK_ENTRIES", 3)
        self.small.start()
        self.stored = Stored()
        self.lanes: list[ModelLane] = []
        self.held: tuple[ModelLane, Spot, str] | None = None
        self.was_last = False
        self.numbers = 0

    def teardown(self) -> None:
        self.small.stop()

    # ---- the lists

    def insert(self, lane: ModelLane) -> None:
        self.lanes.insert(sum(other.rank <= lane.rank for other in self.lanes), lane)

    def leave(self, lane: ModelLane, gone: list[str]) -> None:
        for url in gone:
            lane.urls.remove(url)
        self.lanes.remove(lane)
        if lane.urls:
            self.insert(lane)

    def real(self, lane: ModelLane) -> Lane:
        return self.stored.record.lanes[self.lanes.index(lane)]

    # ---- what happens

    @rule(origin=st.sampled_from(ORIGINS), priority=st.sampled_from([1, 5, 9]), number=st.integers(1, 5))
    def push(self, origin: str, priority: int, number: int) -> None:
        found = [page(f"{origin}/{self.numbers + each}", priority=priority) for each in range(number)]
        self.numbers += number
        self.stored.push(*found)
        place = (rank_of(found[0]), mark_of(origin, "a"))
        lane = next((lane for lane in self.lanes if (lane.rank, lane.mark) == place), None)
        if lane is None:
            self.insert(lane := ModelLane(*place))
        lane.urls += [target.url for target in found]

    @precondition(lambda self: self.lanes and not self.held)
    @rule(draw=st.integers(0, 99), is_last_first=st.booleans())
    def give_out(self, draw: int, is_last_first: bool) -> None:
        lane = self.lanes[draw % len(self.lanes)]
        spot, target = self.stored.next_in(self.real(lane), is_last_first=is_last_first)
        assert target.url == lane.urls[-1 if is_last_first else 0]
        self.held, self.was_last = (lane, spot, target.url), is_last_first

    @precondition(lambda self: self.held)
    @rule()
    def settle(self) -> None:
        assert self.held
        lane, spot, url = self.held
        self.stored.remove(spot)
        self.leave(lane, [url])
        self.held = None

    @precondition(lambda self: self.lanes)
    @rule(is_last_first=st.booleans())
    def make_room(self, is_last_first: bool) -> None:
        """One leaves the lowest class, at the other end than the one from which targets are given out."""
        lane = self.lanes[-1]
        if self.held and (self.was_last == is_last_first or self.held[2] == lane.urls[-1 if is_last_first else 0]):
            return
        assert self.stored.queue.worst_lane() is self.real(lane)
        spot, target = self.stored.next_in(self.real(lane), is_last_first=is_last_first)
        assert target.url == lane.urls[-1 if is_last_first else 0]
        self.stored.remove(spot)
        self.leave(lane, [target.url])

    @precondition(lambda self: self.lanes and not self.held)
    @rule(draw=st.integers(0, 99), is_last_first=st.booleans())
    def lose_block(self, draw: int, is_last_first: bool) -> None:
        lane = self.lanes[draw % len(self.lanes)]
        real, keys = self.real(lane), list(self.stored.queue.keys(self.real(lane)))
        key = keys[-1 if is_last_first else 0]
        lost = length_of(self.stored.rows[key]) - (real.gone if key == keys[0] else 0)
        batch = Batch()
        self.stored.queue.drop_block(batch, real, key, lost)
        self.stored.write(batch)
        self.leave(lane, lane.urls[-lost:] if is_last_first else lane.urls[:lost])

    @precondition(lambda self: not self.held)
    @rule(how=st.sampled_from(["forget", "trim", "restart"]))
    def leave_memory(self, how: str) -> None:
        match how:
            case "forget":
                self.stored.queue.forget()
            case "trim":
                self.stored.queue.trim()
            case _:
                self.stored.restart()

    @precondition(lambda self: self.held)
    @rule()
    def crash(self) -> None:
        """What was given out is still queued."""
        self.stored.restart()
        self.held = None

    # ---- what must be so

    @invariant()
    def the_record_tells_the_same(self) -> None:
        record = self.stored.record
        assert [(lane.rank, lane.mark, lane.entries) for lane in record.lanes] == [
            (lane.rank, lane.mark, len(lane.urls)) for lane in self.lanes
        ]
        assert record.queued == sum(len(lane.urls) for lane in self.lanes)
        assert len({lane.number for lane in record.lanes}) == len(record.lanes)

    @invariant()
    def the_store_has_the_same_and_nothing_else(self) -> None:
        keys = {key for lane in self.stored.record.lanes for key in self.stored.queue.keys(lane)}
        assert keys == {*self.stored.rows}
        for lane, wanted in zip(self.stored.record.lanes, self.lanes, strict=True):
            blocks = [readable_block(self.stored.rows[key]) or [] for key in self.stored.queue.keys(lane)]
            assert all(blocks)
            entries = [entry for block in blocks for entry in block][lane.gone :]
            found = [target_of(entry, "a", lane.rank) for entry in entries]
            assert [target.url if target else "" for target in found] == wanted.urls


TestQueues = Queues.TestCase
TestQueues.settings = settings(max_examples=100, stateful_step_count=40, deadline=None, derandomize=True)


def test_a_long_life_of_a_queue() -> None:
    """The machine above finds short stories; this one goes far."""
    draw, queues = Random(5), Queues()
    try:
        for _ in range(3000):
            match draw.choice(["push", "give", "give", "give", "room", "lose", "memory"]):
                case "push":
                    queues.push(draw.choice(ORIGINS), draw.choice([1, 5, 9]), draw.randrange(1, 6))
                case "give" if queues.lanes and not queues.held:
                    queues.give_out(draw.randrange(99), draw.random() < 0.5)
                case "give" if queues.held:
                    queues.settle()
                case "room" if queues.lanes:
                    queues.make_room(draw.random() < 0.5)
                case "lose" if queues.lanes and not queues.held and draw.random() < 0.2:
                    queues.lose_block(draw.randrange(99), draw.random() < 0.5)
                case "memory" if not queues.held:
                    queues.leave_memory(draw.choice(["forget", "trim", "restart"]))
            queues.the_record_tells_the_same()
            queues.the_store_has_the_same_and_nothing_else()
    finally:
        queues.teardown()


@given(
    pushed=st.integers(1, 90),
    given_out=st.integers(1, 70),
    draw=st.randoms(use_true_random=False),
    is_last_first=st.booleans(),
    is_restarted=st.booleans(),
)
def test_what_is_given_out_may_leave_in_any_order(
    pushed: int, given_out: int, draw: Random, *, is_last_first: bool, is_restarted: bool
) -> None:
    stored = Stored()
    stored.push(*(page(f"a/{number}") for number in range(pushed)))
    (lane,) = stored.record.lanes
    left = [f"a/{number}" for number in range(pushed)]
    out: list[tuple[Spot, str]] = []
    for _ in range(min(given_out, pushed)):
        spot, target = stored.next_in(lane, is_last_first=is_last_first)
        stored.queue.give(spot)
        out.append((spot, target.url.removeprefix("http://")))
    expected = left[::-1] if is_last_first else left
    assert [path for _, path in out] == expected[: len(out)]
    draw.shuffle(out)
    for number, (spot, path) in enumerate(out):
        if draw.random() < 0.1:
            stored.queue.put_back(spot)
            continue
        stored.remove(spot)
        left.remove(path)
        if draw.random() < 0.3:
            stored.push(page(f"a/new{number}"))
            left.append(f"a/new{number}")
    assert stored.record.queued == len(left)
    if is_restarted:
        stored.restart()
    else:
        stored.queue.trim()
    assert [stored.pop() for _ in left] == left
    assert stored.rows == {}
