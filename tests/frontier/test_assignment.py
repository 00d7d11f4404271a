"""Who visits a host next: at home by the ring, evenly if balanced, and from its region if it has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from lycosa.frontier.assignment import UNREACHED_SECONDS, Assignment
from lycosa.frontier.host import NOBODY, Host
from lycosa.frontier.records import HostRecord
from lycosa.frontier.rules import FrontierRules
from lycosa.model import OutcomeKind, Settlement
from lycosa.policy.ring import Ring

NAMES = [f"www.site{number}.test" for number in range(60)]
EUROPE, AMERICA = range(2), range(2, 4)
BOTH = dict.fromkeys(EUROPE, "eu") | dict.fromkeys(AMERICA, "us")


def host(name: str = "www.a.test") -> Host:
    return Host(HostRecord(name, 1))


def chosen(assignment: Assignment, it: Host, load: Mapping[int, int] | None = None) -> int:
    assignment.choose(it, lambda worker: (load or {}).get(worker, 0))
    return it.owner


def visit(assignment: Assignment, it: Host, by: int, connect_seconds: float = 0.0) -> None:
    settlement = Settlement(1, OutcomeKind.STORED, connect_seconds=connect_seconds)
    assignment.asked(it, by, settlement)


def of_two_regions(**rules: object) -> Assignment:
    """Of the machine in Europe, which has heard of the other one."""
    assignment = Assignment(FrontierRules(region="eu", **rules), EUROPE)  # type: ignore[arg-type]
    assignment.change(EUROPE, BOTH)
    return assignment


# ---- the ring


def test_the_ring_keeps_hosts_at_home() -> None:
    assignment = Assignment(FrontierRules(), EUROPE)
    assignment.change(EUROPE, dict.fromkeys(range(4), ""))
    ring = Ring(EUROPE)
    assert assignment.workers == [0, 1, 2, 3]
    assert [chosen(assignment, host(name)) for name in NAMES] == [ring.owner(name) for name in NAMES]
    assert not assignment.takes_turns


def test_whoever_has_a_worker_keeps_it_while_that_is_there() -> None:
    assignment = Assignment(FrontierRules(), EUROPE)
    assignment.change(EUROPE, dict.fromkeys(range(4), ""))
    it = host()
    it.owner = 3
    assert chosen(assignment, it) == 3
    visit(assignment, it, by=3)
    assert it.owner == 3
    assignment.change(EUROPE, dict.fromkeys(EUROPE, ""))
    assert chosen(assignment, it) in EUROPE


# ---- balanced


def test_a_balanced_domain_goes_round_all_workers() -> None:
    assignment = Assignment(FrontierRules(assignment="balanced"), EUROPE)
    assignment.change(EUROPE, dict.fromkeys(range(4), ""))
    assert assignment.takes_turns
    hosts, had = [host("www.a.test"), host("m.a.test")], Counter[int]()
    for turn in range(40):
        it = hosts[turn % 2]
        had[chosen(assignment, it)] += 1
        assert chosen(assignment, it) == it.owner, "one that was not asked stays"
        visit(assignment, it, by=it.owner)
        assert it.owner == NOBODY
    assert had == dict.fromkeys(range(4), 10)


def test_of_workers_that_had_a_domain_equally_often_the_idlest_is_next() -> None:
    assignment = Assignment(FrontierRules(assignment="balanced"), range(4))
    assert chosen(assignment, host(), {0: 5, 1: 3, 2: 1, 3: 9}) == 2


def test_a_balanced_worker_that_joins_need_not_make_up_for_the_past() -> None:
    assignment = Assignment(FrontierRules(assignment="balanced"), EUROPE)
    it = host()
    for _ in range(20):
        visit(assignment, it, by=chosen(assignment, it))
    assignment.change(EUROPE, dict.fromkeys(range(3), ""))
    had = Counter[int]()
    for _ in range(30):
        had[chosen(assignment, it)] += 1
        visit(assignment, it, by=it.owner)
    assert had == dict.fromkeys(range(3), 10)


# ---- regions


def test_a_bound_host_is_visited_from_its_region() -> None:
    assignment = of_two_regions(region_rules={"site1.test": "us", "site2.test": "eu"})
    assert chosen(assignment, host("www.site1.test")) in AMERICA
    assert chosen(assignment, host("www.site2.test")) in EUROPE
    # Whoever is bound to none stays at home.
    assert {chosen(assignment, host(name)) for name in NAMES[3:]} == {*EUROPE}


def test_a_bound_host_is_balanced_within_its_region() -> None:
    assignment = of_two_regions(region_rules={"a.test": "us"}, assignment="balanced")
    it, had = host(), Counter[int]()
    for _ in range(20):
        had[chosen(assignment, it)] += 1
        visit(assignment, it, by=it.owner)
    assert had == dict.fromkeys(AMERICA, 10)


@pytest.mark.parametrize("kind", ["ring", "balanced"])
def test_while_nobody_of_its_region_is_there_anybody_visits_a_host(kind: str) -> None:
    assignment = of_two_regions(region_rules={"a.test": "us"}, assignment=kind)
    it = host()
    assert chosen(assignment, it) in AMERICA
    assignment.change(EUROPE, dict.fromkeys(EUROPE, "eu"))
    assert chosen(assignment, it) in EUROPE
    assignment.change(EUROPE, BOTH)
    it.owner = NOBODY
    assert chosen(assignment, it) in AMERICA


def test_every_region_asks_a_host_once_and_the_nearest_keeps_it() -> None:
    assignment, it = of_two_regions(region_by="connect time"), host()
    visit(assignment, it, by=chosen(assignment, it), connect_seconds=0.2)
    assert it.owner == NOBODY
    assert chosen(assignment, it) in AMERICA
    visit(assignment, it, by=it.owner, connect_seconds=0.02)
    assert it.record.nearest == "us"
    assert chosen(assignment, it) in AMERICA
    assert it.record.measured == {"eu": 0.2, "us": 0.02}


def test_a_measurement_is_an_average_of_late_ones() -> None:
    assignment, it = of_two_regions(region_by="connect time"), host()
    for seconds in (0.4, 0.2, 0.0):
        visit(assignment, it, by=0, connect_seconds=seconds)
    # A connection that was there already tells nothing.
    assert it.record.measured == {"eu": pytest.approx(0.3)}


def test_a_region_that_cannot_reach_a_host_leaves_it_to_another() -> None:
    assignment, it = of_two_regions(region_by="connect time"), host()
    it.record.failures = 1
    visit(assignment, it, by=0)
    assert it.record.measured == {"eu": UNREACHED_SECONDS}
    assert chosen(assignment, it) in AMERICA
    visit(assignment, it, by=2, connect_seconds=0.5)
    assert it.record.nearest == "us"


def test_what_the_operator_said_holds_whatever_was_measured() -> None:
    assignment = of_two_regions(region_by="connect time", region_rules={"a.test": "eu"})
    it = host()
    visit(assignment, it, by=0, connect_seconds=9.0)
    visit(assignment, it, by=2, connect_seconds=0.01)
    it.owner = NOBODY
    assert chosen(assignment, it) in EUROPE


def test_nothing_is_measured_unless_it_is_wanted() -> None:
    assignment, it = of_two_regions(), host()
    visit(assignment, it, by=chosen(assignment, it), connect_seconds=0.2)
    assert (it.record.measured, it.record.nearest) == ({}, "")


def test_a_worker_that_is_gone_measures_nothing() -> None:
    assignment, it = of_two_regions(region_by="connect time"), host()
    visit(assignment, it, by=77, connect_seconds=0.2)
    assert it.record.measured == {}
