"""What every store of the frontier's tables must do; each implementation runs all of it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lycosa.frontier.memory import MemoryTables
from lycosa.frontier.records import block_key, due_key, waiting_key
from lycosa.frontier.tables import (
    CONTENTS,
    DELAYED,
    HISTORY,
    HOSTS,
    META,
    ORDERED,
    PARKED,
    POISONED,
    QUEUE,
    REVISITS,
    ROBOTS,
    SITES,
    TABLES,
    WAITING,
    Batch,
    Tables,
)

# Opens the store of this test; once it is closed, or its process is gone, again.
OpenTables = Callable[[], Awaitable[Tables]]


def mark(number: int) -> bytes:
    """A fingerprint."""
    return (number * 0x9E37_79B9_7F4A_7C15 % (1 << 64)).to_bytes(8)


def key_in(table: str, number: int) -> bytes:
    """A key as the scheduler makes them, the greater the greater its number."""
    keys: dict[str, Callable[[], bytes]] = {
        QUEUE: lambda: block_key(number, 6, number),
        WAITING: lambda: waiting_key(6, number),
        PARKED: lambda: due_key(1.7e9 + number, number, 4) + b"\1",
        DELAYED: lambda: due_key(1.7e9 + number, number, 7),
        REVISITS: lambda: due_key(1.7e9 + number, number, 8),
        HISTORY: lambda: mark(number),
        CONTENTS: lambda: mark(number) * 4,
        POISONED: lambda: b"queue:" + block_key(number, 6, number),
    }
    return keys[table]() if table in keys else b"name%d.test" % number


def batch_of(table: str, rows: dict[int, bytes | None]) -> Batch:
    batch = Batch()
    for number, value in rows.items():
        batch.put(table, key_in(table, number), value)
    return batch


def knowing(*numbers: int, is_known: bool = True) -> Batch:
    batch = Batch()
    batch.known.update((mark(number), is_known) for number in numbers)
    return batch


async def numbers_in(store: Tables, table: str, numbers: range) -> dict[int, bytes]:
    """Which of these keys have a value, and which."""
    values = await store.get(table, [key_in(table, number) for number in numbers])
    return {number: value for number, value in zip(numbers, values, strict=True) if value is not None}


class StoreContract:
    """Subclass it with a fixture `open_tables`."""

    can_forget = True

    @pytest.fixture
    async def store(self, open_tables: OpenTables) -> AsyncIterator[Tables]:
        store = await open_tables()
        yield store
        await store.close()

    # ---- rows

    @pytest.mark.parametrize("table", TABLES)
    async def test_what_is_put_is_there(self, store: Tables, table: str) -> None:
        await store.write(batch_of(table, {1: b"one", 3: b"\0three\xff"}))
        assert await numbers_in(store, table, range(5)) == {1: b"one", 3: b"\0three\xff"}

    @pytest.mark.parametrize("table", TABLES)
    async def test_a_later_batch_overwrites_and_deletes(self, store: Tables, table: str) -> None:
        await store.write(batch_of(table, {1: b"one", 2: b"two", 3: b"three"}))
        await store.write(batch_of(table, {1: None, 2: b"second", 4: None}))
        assert await numbers_in(store, table, range(5)) == {2: b"second", 3: b"three"}

    @pytest.mark.parametrize("table", [HOSTS, WAITING])
    async def test_within_a_batch_the_last_word_on_a_key_counts(self, store: Tables, table: str) -> None:
        await store.write(batch_of(table, {2: b"old"}))
        batch, keys = Batch(), [key_in(table, number) for number in range(4)]
        for key in keys[:2]:
            batch.put(table, key, b"first")
            batch.put(table, key, b"last")
        batch.delete(table, keys[1])
        batch.delete(table, keys[2])
        batch.put(table, keys[2], b"back")
        await store.write(batch)
        assert await store.get(table, keys) == [b"last", None, b"back", None]

    async def test_values_come_in_the_order_of_their_keys(self, store: Tables) -> None:
        await store.write(batch_of(HOSTS, {number: b"%d" % number for number in range(40)}))
        drawn = [37, 4, 4, 99, 0, 20]
        wanted = [b"37", b"4", b"4", None, b"0", b"20"]
        assert await store.get(HOSTS, [key_in(HOSTS, number) for number in drawn]) == wanted

    async def test_no_keys_have_no_values(self, store: Tables) -> None:
        assert await store.get(HOSTS, []) == []
        assert await store.known([]) == []

    async def test_tables_do_not_share_keys(self, store: Tables) -> None:
        batch = Batch()
        for table in (HOSTS, ROBOTS, SITES, META):
            batch.put(table, b"name", table.encode())
        await store.write(batch)
        assert [await store.get(table, [b"name"]) for table in (HOSTS, ROBOTS, SITES)] == [
            [b"hosts"],
            [b"robots"],
            [b"sites"],
        ]

    async def test_an_empty_batch_changes_nothing(self, store: Tables) -> None:
        await store.write(Batch())
        assert await store.get(META, [b"state"]) == [None]

    async def test_a_large_value_comes_back_whole(self, store: Tables) -> None:
        value = random.Random(3).randbytes(1 << 20)
        await store.write(batch_of(ROBOTS, {1: value}))
        assert await store.get(ROBOTS, [key_in(ROBOTS, 1)]) == [value]

    async def test_whoever_reads_after_a_write_sees_it_awaited_or_not(self, store: Tables) -> None:
        answers = [store.write(batch_of(WAITING, {1: b"%d" % turn})) for turn in range(20)]
        answers.append(store.write(knowing(1)))
        assert await store.get(WAITING, [key_in(WAITING, 1)]) == [b"19"]
        assert await store.scan(WAITING, b"", 5) == [(key_in(WAITING, 1), b"19")]
        assert await store.known([mark(1)]) == [True]
        for answer in answers:
            await answer

    async def test_everything_can_be_made_durable(self, store: Tables) -> None:
        await store.durable()
        await store.write(batch_of(META, {1: b"one"}))
        await store.durable()
        assert await store.get(META, [key_in(META, 1)]) == [b"one"]

    # ---- order

    @pytest.mark.parametrize("table", ORDERED)
    async def test_a_scan_goes_in_the_order_of_keys(self, store: Tables, table: str) -> None:
        for number in (300, 2, 255, 256, 1, 65_536):
            await store.write(batch_of(table, {number: b"%d" % number}))
        assert [value for _, value in await store.scan(table, b"", 10)] == [
            b"1",
            b"2",
            b"255",
            b"256",
            b"300",
            b"65536",
        ]

    @pytest.mark.parametrize("table", ORDERED)
    async def test_a_scan_begins_behind_its_key_and_ends_at_its_limit(self, store: Tables, table: str) -> None:
        await store.write(batch_of(table, {number: b"%d" % number for number in range(0, 40, 2)}))
        rows = [(key_in(table, number), b"%d" % number) for number in range(0, 40, 2)]
        assert await store.scan(table, rows[4][0], 3) == rows[5:8]
        assert await store.scan(table, key_in(table, 9), 3) == rows[5:8]
        assert await store.scan(table, rows[17][0], 10) == rows[18:]
        assert await store.scan(table, rows[-1][0], 10) == []
        assert await store.scan(table, b"", 1) == rows[:1]
        assert await store.scan(table, b"", 0) == []

    @pytest.mark.parametrize("table", ORDERED)
    async def test_a_scan_does_not_meet_what_was_deleted(self, store: Tables, table: str) -> None:
        await store.write(batch_of(table, dict.fromkeys(range(6), b"x")))
        await store.write(batch_of(table, {0: None, 3: None, 4: b"new"}))
        wanted = [(1, b"x"), (2, b"x"), (4, b"new"), (5, b"x")]
        assert await store.scan(table, b"", 9) == [(key_in(table, number), value) for number, value in wanted]

    async def test_keys_of_the_lowest_and_the_highest_bytes_are_scanned(self, store: Tables) -> None:
        keys = [bytes(8), waiting_key(0, 1), waiting_key(255, (1 << 56) - 1)]
        batch = Batch()
        for key in keys:
            batch.put(WAITING, key, b"host")
        await store.write(batch)
        assert [key for key, _ in await store.scan(WAITING, b"", 9)] == keys
        assert [key for key, _ in await store.scan(WAITING, keys[0], 9)] == keys[1:]

    # ---- known URLs

    async def test_what_was_made_known_is_known(self, store: Tables) -> None:
        await store.write(knowing(1, 3))
        assert await store.known([mark(number) for number in (0, 1, 2, 3, 1)]) == [False, True, False, True, True]
        await store.write(knowing(3, 4))
        assert await store.known([mark(number) for number in (1, 2, 3, 4)]) == [True, False, True, True]

    async def test_asking_makes_nothing_known(self, store: Tables) -> None:
        assert await store.known([mark(1)]) == [False]
        assert await store.known([mark(1)]) == [False]

    async def test_what_is_forgotten_can_be_known_again(self, store: Tables) -> None:
        await store.write(knowing(1, 2, 3))
        await store.write(knowing(2, 9, is_known=False))
        marks = [mark(number) for number in (1, 2, 3, 9)]
        assert await store.known(marks) == [True, not self.can_forget, True, False]
        await store.write(knowing(2))
        assert await store.known(marks) == [True, True, True, False]

    # ---- all together

    async def test_it_answers_as_dictionaries_would(self, store: Tables) -> None:
        draw, twin = random.Random(11), MemoryTables()
        for _ in range(60):
            batch = Batch()
            for _ in range(draw.randrange(30)):
                table, value = draw.choice(TABLES), draw.choice([None, draw.randbytes(9)])
                batch.put(table, key_in(table, draw.randrange(40)), value)
                batch.known[mark(draw.randrange(200))] = not self.can_forget or draw.random() < 0.7
            await store.write(batch)
            await twin.write(batch)
            table, ordered = draw.choice(TABLES), draw.choice(ORDERED)
            after = draw.choice([b"", key_in(ordered, draw.randrange(40))])
            assert await numbers_in(store, table, range(40)) == await numbers_in(twin, table, range(40))
            assert await store.scan(ordered, after, 7) == await twin.scan(ordered, after, 7)
            marks = [mark(draw.randrange(200)) for _ in range(20)]
            assert await store.known(marks) == await twin.known(marks)
