"""How many requests a worker may have open, by what its machine has."""

from __future__ import annotations

import pytest

from lycosa.settings import Settings
from lycosa.wiring.machine import CONNECTION_BYTES, KEPT_DESCRIPTORS, connection_count, connections_within, memory_bytes

GIB = 1024**3


@pytest.mark.parametrize(
    ("descriptors", "memory", "connections"),
    [
        (1 << 20, 64 * GIB, 10_000),
        (1024, 64 * GIB, 1024 - KEPT_DESCRIPTORS),
        (16_384, 64 * GIB, 10_000),
        (8_000, 64 * GIB, 7_000),
        (1 << 20, 400 * CONNECTION_BYTES, 100),
        (16, GIB, 1),
    ],
)
def test_connections_follow_hosts_descriptors_and_memory(descriptors: int, memory: int, connections: int) -> None:
    assert connections_within(Settings(), descriptors, memory) == connections


def test_no_more_than_there_are_active_hosts() -> None:
    assert connections_within(Settings(max_active_hosts=77), 1 << 20, 64 * GIB) == 77


def test_what_is_set_is_so_whatever_the_machine_has() -> None:
    assert connection_count(Settings(connections=123_456)) == 123_456


def test_this_machine_has_some_memory_and_some_connections() -> None:
    assert memory_bytes() > 64 * 1024**2
    assert connection_count(Settings()) >= 1
