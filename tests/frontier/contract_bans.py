"""Promises about hosts that tell us to go away, for any frontier. Part of the contract."""

from __future__ import annotations

from lycosa.model import OutcomeKind, Reason
from lycosa.policy.politeness import BAN_REFUSALS, CIRCUIT_FAILURES

from .stage import Stage

FAILED = OutcomeKind.FAILED


class BansContract:
    """Inherited by `FrontierContract`."""

    async def refuse(self, stage: Stage, times: int) -> None:
        for _ in range(times):
            (lease,) = await stage.next_leases()
            await stage.settle(lease, FAILED, status=403)

    async def test_forbidden_pages_are_no_ban(self, stage: Stage) -> None:
        """Of a host that never gave a page: then nobody knows it otherwise."""
        await stage.open_hosts(*(f"a/{number}" for number in range(20)))
        await self.refuse(stage, 10)
        counts = stage.frontier.counts()
        assert (counts.failed, counts.delayed) == (10, 0)
        assert stage.frontier.idle_until() is None

    async def test_a_row_of_refusals_after_pages_is_a_ban(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(20)))
        await stage.settle(await stage.take_one(), status=200)
        await self.refuse(stage, BAN_REFUSALS - 1)
        before = stage.clock()
        await self.refuse(stage, CIRCUIT_FAILURES)
        counts = stage.frontier.counts()
        assert (counts.failed, counts.delayed) == (BAN_REFUSALS - 1, CIRCUIT_FAILURES)
        assert stage.clock() - before < 120.0
        assert stage.frontier.idle_until() is not None
        (probe,) = await stage.next_leases()
        assert stage.clock() >= before + 1800.0
        await stage.settle(probe, status=200)
        assert stage.frontier.idle_until() is None

    async def test_a_banned_target_is_kept(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        captcha = Reason("banned", "200, captcha")
        await stage.settle(await stage.take_one(), FAILED, status=200, is_ban=True, reason=captcha)
        counts = stage.frontier.counts()
        assert (counts.failed, counts.delayed) == (0, 1)
        assert stage.frontier.idle_until() is not None
        (lease,) = await stage.next_leases()
        assert (lease.target.url, lease.target.attempt) == ("http://a/1", 1)

    async def test_a_host_that_banned_us_is_asked_less_often_for_a_while(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(200)))
        await stage.settle(await stage.take_one(), FAILED, status=429)
        gaps = []
        for _ in range(40):
            (lease,) = await stage.next_leases()
            await stage.settle(lease, status=200)
            asked = stage.clock()
            due = stage.frontier.next_at(0)
            assert due is not None
            gaps.append(due - asked)
        assert 1.8 < gaps[0] <= 2.0
        assert gaps == sorted(gaps, reverse=True)
        assert round(gaps[-1], 6) == 1.0
