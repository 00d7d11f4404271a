"""One fsync serves everybody who waits."""

import asyncio

import pytest

from lycosa.errors import BackendLost
from lycosa.frontier.rocks.commit import GroupCommit


class Disk:
    def __init__(self) -> None:
        self.syncs = 0
        self.is_broken = False

    def sync(self) -> None:
        self.syncs += 1
        if self.is_broken:
            raise BackendLost("no space left on device")


async def test_many_writers_share_an_fsync() -> None:
    disk = Disk()
    commit = GroupCommit(disk.sync, is_wanted=True)

    async def write() -> None:
        commit.note_write()
        await commit.durable()

    await asyncio.gather(*(write() for _ in range(100)))
    assert disk.syncs == 1
    await commit.durable()
    assert disk.syncs == 1, "nothing was written since"
    await write()
    assert disk.syncs == 2


async def test_a_write_during_an_fsync_waits_for_the_next() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    syncs = []

    def sync() -> None:
        syncs.append(1)
        if len(syncs) == 1:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(5)

    commit = GroupCommit(sync, is_wanted=True)
    commit.note_write()
    first = asyncio.create_task(commit.durable())
    await begun.wait()
    commit.note_write()
    second = asyncio.create_task(commit.durable())
    await asyncio.sleep(0)
    go_on.set()
    await first
    await second
    assert len(syncs) == 2


async def test_nobody_waits_when_the_log_of_the_system_is_enough() -> None:
    disk = Disk()
    commit = GroupCommit(disk.sync, is_wanted=False)
    commit.note_write()
    await commit.durable()
    assert disk.syncs == 0


async def test_a_failing_disk_is_told_to_everybody_who_waits() -> None:
    disk = Disk()
    disk.is_broken = True
    commit = GroupCommit(disk.sync, is_wanted=True)
    commit.note_write()
    told = await asyncio.gather(commit.durable(), commit.durable(), return_exceptions=True)
    assert [type(error) for error in told] == [BackendLost, BackendLost]
    disk.is_broken = False
    await commit.durable()
    assert disk.syncs == 2


async def test_finish_waits_for_what_is_under_way() -> None:
    disk = Disk()
    commit = GroupCommit(disk.sync, is_wanted=True)
    commit.note_write()
    waiting = asyncio.create_task(commit.durable())
    await asyncio.sleep(0)
    await commit.finish()
    assert waiting.done() or disk.syncs == 1
    await waiting


async def test_a_waiter_that_left_does_not_disturb_the_others() -> None:
    commit = GroupCommit(Disk().sync, is_wanted=True)
    commit.note_write()
    gone, stays = asyncio.create_task(commit.durable()), asyncio.create_task(commit.durable())
    await asyncio.sleep(0)
    gone.cancel()
    await stays
    with pytest.raises(asyncio.CancelledError):
        await gone
