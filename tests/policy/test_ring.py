"""Consistent hashing: fair, stable, and moving little when workers change."""

from collections import Counter

import pytest

from lycosa.policy.ring import Ring

HOSTS = [f"host-{number}.example" for number in range(20_000)]
GOLDEN = dict(zip(HOSTS, [3, 0, 0, 3, 1, 0, 3, 2, 1, 1, 1, 1], strict=False))


def test_a_host_stays_with_its_worker() -> None:
    assert list(map(Ring(range(4)).owner, HOSTS[:100])) == list(map(Ring(range(4)).owner, HOSTS[:100]))


def test_the_assignment_never_changes_between_versions() -> None:
    """A restart after an upgrade must find every host where its connections and rules are warm."""
    ring = Ring(range(4))
    assert {host: ring.owner(host) for host in GOLDEN} == GOLDEN


def test_the_order_of_the_nodes_does_not_matter() -> None:
    one, other = Ring([0, 1, 2]), Ring([2, 0, 1])
    assert all(one.owner(host) == other.owner(host) for host in HOSTS[:1000])


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_every_worker_has_about_its_share(workers: int) -> None:
    shares = Counter(map(Ring(range(workers)).owner, HOSTS))
    fair = len(HOSTS) / workers
    assert all(0.7 * fair < shares[worker] < 1.35 * fair for worker in range(workers))


def test_a_new_worker_takes_only_its_share_and_nothing_moves_between_the_others() -> None:
    before, after = Ring(range(4)), Ring(range(5))
    moved = [(before.owner(host), after.owner(host)) for host in HOSTS if before.owner(host) != after.owner(host)]
    assert {now for _, now in moved} == {4}
    assert len(moved) < 0.3 * len(HOSTS)


def test_one_worker_has_everything() -> None:
    assert {Ring([7]).owner(host) for host in HOSTS[:100]} == {7}


def test_a_ring_needs_a_node() -> None:
    with pytest.raises(AssertionError, match="needs a node"):
        Ring([])


def test_the_hosts_of_a_domain_have_one_worker() -> None:
    ring = Ring(range(8))
    assert len({ring.owner(f"h{number}.example.co.uk") for number in range(100)}) == 1
