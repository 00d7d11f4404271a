"""Promises about pages that kill whoever reads them, for any frontier. Part of the contract."""

from __future__ import annotations

from lycosa.frontier.rules import LOST_ROBOTS_SECONDS
from lycosa.model import Crash, OutcomeKind, Reason

from .stage import Stage, page

CRASHED = OutcomeKind.CRASHED


class PoisonContract:
    """Inherited by `FrontierContract`."""

    async def test_a_page_that_killed_its_worker_is_tried_once_more(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        fault = Reason(Crash.KILLED, "Segmentation fault")
        await stage.settle(await stage.take_one(), CRASHED, was_fatal=True, reason=fault)
        counts = stage.frontier.counts()
        assert (counts.crashed, counts.delayed, counts.queued) == (0, 1, 1)
        past = await stage.frontier.history(page("a/1").fingerprint)
        assert past is not None
        assert (past.reason, past.detail) == (Crash.KILLED, "Segmentation fault")
        assert past.next_at
        visited = {}
        for _ in range(2):
            (lease,) = await stage.next_leases()
            visited[lease.target.url] = lease.target.crashes
            await stage.settle(lease, status=200)
        assert visited == {"http://a/1": 1, "http://a/2": 0}
        assert await stage.frontier.is_finished()

    async def test_a_page_that_killed_two_workers_is_given_up(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        for _ in range(2):
            (lease,) = await stage.next_leases()
            await stage.settle(lease, CRASHED, was_fatal=True, may_retry=True, reason=Reason(Crash.KILLED, "Killed"))
        assert await stage.frontier.is_finished()
        assert stage.frontier.counts().crashed == 1
        past = await stage.frontier.history(page("a/1").fingerprint)
        assert past is not None
        assert (past.outcome, past.reason, past.next_at) == (CRASHED, Crash.KILLED, 0.0)

    async def test_deaths_and_other_retries_are_counted_apart(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.settle(await stage.take_one(), OutcomeKind.FAILED, status=503, may_retry=True)
        (lease,) = await stage.next_leases()
        await stage.settle(lease, CRASHED, was_fatal=True)
        (lease,) = await stage.next_leases()
        assert (lease.target.attempt, lease.target.crashes) == (1, 1)

    async def test_a_host_whose_pages_kill_rests_like_one_in_trouble(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(9)))
        began = stage.clock()
        for _ in range(5):
            (lease,) = await stage.next_leases()
            await stage.settle(lease, CRASHED, was_fatal=True)
        await stage.next_leases()
        assert stage.clock() >= began + 1800.0

    async def test_a_robots_txt_that_kills_is_not_read_again_at_once(self, stage: Stage) -> None:
        await stage.add("a/1")
        await stage.settle(await stage.take_one(), CRASHED, was_fatal=True)
        stage.clock.advance(LOST_ROBOTS_SECONDS - 1.0)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert len(await stage.take()) == 1
