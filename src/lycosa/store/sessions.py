"""The cookies of logged-in sessions, kept in a crawl's folder so that a restart need not log in again.

They are as good as a password while they last: each file is encrypted with a key that only the password gives.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lycosa.fetch.cookies import Cookie

_DECODER = msgspec.msgpack.Decoder(list[Cookie])
# 16 MiB and 50 ms once for each site: guessing passwords at a stolen file is slow.
_COST = {"n": 2**14, "r": 8, "p": 1}


class SessionFile:
    """The session of one origin."""

    def __init__(self, folder: Path, origin: str, password: str) -> None:
        from cryptography.fernet import Fernet

        name = hashlib.sha256(origin.encode()).hexdigest()[:32]
        key = hashlib.scrypt(password.encode(), salt=origin.encode(), dklen=32, **_COST)
        self._cipher = Fernet(urlsafe_b64encode(key))
        self._path = folder / f"{name}.session"
        self._lock = folder / f"{name}.lock"
        self._seen = 0  # when the file was written that is known here

    def read(self) -> list[Cookie]:
        """What was kept; nothing if there is nothing, or if it was kept under another password."""
        from cryptography.fernet import InvalidToken

        self._seen = self._written()
        try:
            return _DECODER.decode(self._cipher.decrypt(self._path.read_bytes()))
        except (FileNotFoundError, InvalidToken, msgspec.DecodeError):
            return []

    def write(self, cookies: list[Cookie]) -> None:
        """Keep these in place of what was kept. What a power cut takes is had again by logging in."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        whole = self._path.with_suffix(f".{os.getpid()}")
        fd = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(self._cipher.encrypt(msgspec.msgpack.encode(cookies)))
        whole.replace(self._path)
        self._seen = self._written()

    def has_news(self) -> bool:
        """Whether somebody else has written since this was last read or written."""
        return self._written() > self._seen

    def _written(self) -> int:
        return self._path.stat().st_mtime_ns if self._path.exists() else 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While one worker logs in, others of this machine wait for what it brings. Blocks."""
        self._lock.parent.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
