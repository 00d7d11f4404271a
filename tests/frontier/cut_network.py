"""A network that can be cut: a namespace of its own, with two cables to ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CABLES = 2


class CutNetwork:
    """What runs under `prefix` is reached at each of `addresses`, as long as that cable is not cut."""

    def __init__(self) -> None:
        self._name = f"lycosa{os.getpid()}"
        # From the range for benchmarks (RFC 2544), which nobody routes.
        subnet = os.getpid() % 120 * CABLES
        self.addresses = [f"198.18.{subnet + cable}.2" for cable in range(CABLES)]

    @property
    def prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self._name]

    def _cable(self, cable: int) -> tuple[str, str]:
        return f"ly{os.getpid()}a{cable}", f"ly{os.getpid()}b{cable}"

    def lay(self) -> None:
        _ip("netns", "add", self._name)
        for cable, address in enumerate(self.addresses):
            near, far = self._cable(cable)
            _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", self._name)
            _ip("address", "add", address.removesuffix("2") + "1/24", "dev", near)
            _ip("link", "set", near, "up")
            _ip("-n", self._name, "address", "add", f"{address}/24", "dev", far)
            _ip("-n", self._name, "link", "set", far, "up")

    def cut(self, cable: int) -> None:
        _ip("link", "set", self._cable(cable)[0], "down")

    def mend(self, cable: int) -> None:
        _ip("link", "set", self._cable(cable)[0], "up")

    def remove(self) -> None:
        subprocess.run(["ip", "netns", "del", self._name], capture_output=True, check=False)


@contextmanager
def cut_network() -> Iterator[CutNetwork]:
    """Skips the test where no network can be made."""
    if not shutil.which("ip"):
        pytest.skip("there is no ip command (apt-get install iproute2)")
    network = CutNetwork()
    try:
        try:
            network.lay()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
        yield network
    finally:
        network.remove()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, check=True)
