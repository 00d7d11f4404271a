"""Count-min sketches and the balanced assignment: bounds that hold, domains spread evenly."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.balance import Balance, coefficient_of_variation, turn_of
from lycosa.policy.sketch import CountMinSketch


@given(st.lists(st.sampled_from([f"d{number}.example" for number in range(50)]), max_size=300))
def test_an_estimate_is_never_too_low(names: list[str]) -> None:
    sketch = CountMinSketch(16, 3)
    for name in names:
        sketch.add(name)
    assert all(sketch.estimate(name) >= times for name, times in Counter(names).items())
    assert sketch.total == len(names)


def test_the_reported_bound_holds_as_often_as_promised() -> None:
    draw, sketch, truth = Random(1), CountMinSketch.for_error(share=0.005, risk=0.02), Counter[str]()
    for _ in range(30_000):
        name = f"domain{int(draw.paretovariate(1.1)) % 5000}.example"
        truth[name] += 1
        sketch.add(name)
    over = [name for name, times in truth.items() if sketch.estimate(name) - times > sketch.max_overestimate]
    assert len(over) <= (1 - sketch.confidence) * len(truth)
    assert sketch.max_overestimate == int(2.718281828 / sketch.width * 30_000)


def test_merged_sketches_count_as_one() -> None:
    one, other = CountMinSketch(64, 4), CountMinSketch(64, 4)
    one.add("a", 3)
    other.add("a", 4)
    one.merge(other)
    assert (one.estimate("a"), one.total) == (7, 7)
    one.take_least([one, other])
    assert (one.estimate("a"), one.total) == (4, 4)
    with pytest.raises(ValueError, match="same size"):
        one.merge(CountMinSketch(32, 4))


@pytest.mark.parametrize(("width", "depth"), [(0, 4), (8, 0), (8, 9)])
def test_an_impossible_size_is_refused(width: int, depth: int) -> None:
    with pytest.raises(ValueError, match="rows"):
        CountMinSketch(width, depth)


def idle(client: int) -> int:
    return 0


def test_a_domain_is_spread_evenly_over_the_clients() -> None:
    draw, balance, had = Random(2), Balance(range(4)), Counter[tuple[str, int]]()
    for _ in range(8000):
        domain = f"d{min(int(draw.paretovariate(0.9)), 40)}.example"
        had[domain, balance.choose(domain, idle).client] += 1
    for domain in ("d1.example", "d2.example", "d3.example"):
        assert coefficient_of_variation([had[domain, client] for client in range(4)]) < 0.01
        assert balance.spread(domain) < 0.05


def test_who_has_least_to_do_is_chosen_among_those_who_had_a_domain_equally_often() -> None:
    balance, loads = Balance([7, 8, 9]), {7: 5, 8: 1, 9: 3}
    chosen = [balance.choose("a.example", loads.__getitem__) for _ in range(4)]
    assert chosen == [(8, 0), (9, 0), (7, 0), (8, 1)]


def test_domains_are_spread_over_the_clients_by_what_they_have_to_do() -> None:
    balance, loads = Balance(range(50)), Counter[int]()
    for number in range(5000):
        loads[balance.choose(f"d{number}.example", loads.__getitem__).client] += 1
    assert max(loads.values()) <= 1.1 * min(loads.values())


def test_a_newcomer_takes_its_share_and_no_more() -> None:
    balance = Balance([0, 1])
    for _ in range(100):
        balance.choose("a", idle)
    balance.join(2)
    had = Counter(balance.choose("a", idle).client for _ in range(60))
    assert had == {0: 20, 1: 20, 2: 20}


def test_what_a_client_that_is_gone_had_does_not_matter() -> None:
    balance = Balance([0, 1, 2])
    for _ in range(30):
        balance.choose("a", idle)
    balance.leave(1)
    assert Counter(balance.choose("a", idle).client for _ in range(30)) == {0: 15, 2: 15}


def test_a_domain_that_was_had_often_waits_but_not_for_ever() -> None:
    assert turn_of(100.0, 0) == 100.0
    assert turn_of(100.0, 50) > turn_of(100.2, 0)
    assert turn_of(100.0, 10**9) < turn_of(111.0, 0)


def test_the_coefficient_of_variation_of_nothing_is_zero() -> None:
    assert coefficient_of_variation([0, 0]) == 0.0
    assert coefficient_of_variation([1, 3]) == 0.5
