"""`rediss://`: the same frontier behind TLS, and nobody else behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from ..fetch.certificate import make_certificate
from .redis_servers import INSTALLED, RedisServer, free_ports, needs_tls
from .together import crawl_together

pytestmark = needs_tls


class TlsServer(RedisServer):
    """Speaks TLS and nothing else."""

    def __init__(self, certificate: Path) -> None:
        self._certificate = str(certificate)
        (port,) = free_ports(1)
        keys = ("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file")
        files = [word for key in keys for word in (key, self._certificate)]
        assert INSTALLED
        options = ("--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", *files)
        super().__init__(*options, port=port, program=INSTALLED)

    def client(self) -> Any:
        return Redis(self.host, self.port, socket_timeout=10, ssl=True, ssl_ca_certs=self._certificate)

    @property
    def address(self) -> str:
        return f"rediss://{self.host}:{self.port}/0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TlsServer]:
    with TlsServer(make_certificate(tmp_path)) as server:
        yield server


def test_two_commands_crawl_over_tls(
    server: TlsServer, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    crawled = crawl_together(space, server.address)
    crawled.assert_finished()
    crawled.assert_complete()
