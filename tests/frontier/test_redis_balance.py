"""Count-min sketches and the balanced assignment: bounds that hold, domains spread evenly."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.balance import Balance, coefficient_of_variation
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
    with pytest.raises(ValueError, match="same size"):
        one.merge(CountMinSketch(32, 4))


@pytest.mark.parametrize(("width", "depth"), [(0, 4), (8, 0), (8, 9)])
def test_an_impossible_size_is_refused(width: int, depth: int) -> None:
    with pytest.raises(ValueError, match="rows"):
        CountMinSketch(width, depth)


def test_a_domain_is_spread_evenly_over_the_clients() -> None:
    draw, balance = Random(2), Balance[str](range(4))
    for number in range(8000):
        domain = f"d{min(int(draw.paretovariate(0.9)), 40)}.example"
        balance.add(domain, f"http://{domain}/{number}")
    assert all(balance.spread(f"d{number}.example") < 0.05 for number in (1, 2, 3))


def test_every_item_is_taken_once_least_fetched_domains_first() -> None:
    balance = Balance[int]([7])
    for number in range(3):
        balance.add("much", number)
    balance.add("little", 99)
    assert balance.take(7, 2) == [0, 99]
    assert balance.take(7, 10) == [1, 2]
    assert balance.take(7, 10) == []


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["add", "join", "leave", "take"])), max_size=120))
def test_nothing_is_lost_when_clients_join_and_leave(events: list[tuple[int, str]]) -> None:
    balance, clients, added, taken = Balance[int]([0, 1]), [0, 1], 0, list[int]()
    for number, (draw, event) in enumerate(events):
        match event:
            case "add":
                balance.add(f"d{draw}", number)
                added += 1
            case "join":
                clients.append(100 + number)
                balance.join(clients[-1])
            case "leave" if len(clients) > 1:
                balance.leave(clients.pop(draw % len(clients)))
            case "take":
                taken += balance.take(clients[draw % len(clients)], draw)
    left = [item for client in clients for item in balance.take(client, 1000)]
    assert len(taken + left) == added == len(set(taken + left))


def test_a_newcomer_catches_up() -> None:
    balance = Balance[int]([0, 1])
    for number in range(100):
        balance.add("a", number)
    balance.join(2)
    assert [balance.add("a", 200 + number) for number in range(50)] == [2] * 50


def test_the_coefficient_of_variation_of_nothing_is_zero() -> None:
    assert coefficient_of_variation([0, 0]) == 0.0
    assert coefficient_of_variation([1, 3]) == 0.5
