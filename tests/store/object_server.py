"""A real S3-compatible server on a free port, and a gateway before it that can be shut or made to hold its breath."""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import suppress
from typing import Any, Self

import boto3
from moto.server import ThreadedMotoServer

from lycosa.store.objects import ObjectPlace

HANG_SECONDS = 120.0


class Gateway:
    """Passes bytes on to a server, for as long as it is told to."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_open = threading.Event()
        self._is_open.set()
        # How many more bytes may go to the server before everything stands still; None: any number.
        self._room: int | None = None
        self._change = threading.Lock()
        self.is_full = threading.Event()
        self.was_refused = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        """Refuse everybody, those who are talking too."""
        self.was_refused.clear()
        self._is_open.clear()

    def open(self) -> None:
        with self._change:
            self._room = None
        self.is_full.clear()
        self._is_open.set()

    def hold_after(self, count: int) -> None:
        """Pass on so many more bytes, then stand still."""
        with self._change:
            self._room = count

    def close(self) -> None:
        self.shut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._is_open.is_set():
                client.close()
                self.was_refused.set()
                continue
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._to)) as server:
            other = {client: server, server: client}
            while self._is_open.is_set():
                for side in select.select(list(other), [], [], 0.05)[0]:
                    data = side.recv(65536)
                    if not data or (side is client and not self._may_pass(len(data))):
                        return
                    other[side].sendall(data)

    def _may_pass(self, count: int) -> bool:
        with self._change:
            if self._room is None:
                return True
            self._room -= count
            has_room = self._room > 0
        if not has_room:
            self.is_full.set()
            # Whoever sends hears nothing until the gateway is opened or shut, or gives up.
            while self.is_full.is_set() and self._is_open.is_set():
                self._is_open.wait(0.05)
        return has_room


class ObjectServer:
    """`with ObjectServer() as server: ...`: an empty bucket, and the environment that leads to it."""

    def __enter__(self) -> Self:
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        port = self._server.get_host_and_port()[1]
        self.gateway = Gateway(port)
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.gateway.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        )
        # The server keeps its buckets for all of this process.
        self.bucket = f"crawls-{port}"
        self._client.create_bucket(Bucket=self.bucket)
        return self

    def __exit__(self, *_: object) -> None:
        self.gateway.close()
        self._server.stop()

    def place(self, prefix: str) -> ObjectPlace:
        return ObjectPlace(self.bucket, prefix)

    def keys(self) -> list[str]:
        """What is there and whole."""
        return [each["Key"] for each in self._client.list_objects_v2(Bucket=self.bucket).get("Contents", ())]

    def put(self, key: str, body: bytes) -> None:
        self._client.put_object(Bucket=self.bucket, Key=key, Body=body)

    def begin(self, key: str) -> None:
        """Begin an upload and never end it."""
        self._client.create_multipart_upload(Bucket=self.bucket, Key=key)

    def body(self, key: str) -> bytes:
        found: bytes = self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return found

    def remove(self, key: str) -> None:
        self._client.delete_object(Bucket=self.bucket, Key=key)

    def unfinished(self) -> list[str]:
        """Uploads that were begun and not ended."""
        return [each["Key"] for each in self._client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", ())]


def wait_for(event: threading.Event) -> None:
    assert event.wait(HANG_SECONDS), "it has not happened"


def use(server: ObjectServer, monkeypatch: Any) -> None:
    """Let this process, and those it starts, find the server."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
