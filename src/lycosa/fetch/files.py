"""Local files and folders, below the roots that the operator opened and nowhere else.

What a path leads to is asked of the kernel once the file is open: neither `..`, however it is spelt, nor a link on the
way, nor one that is put there in between, leads out.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Sequence
from email.utils import formatdate
from time import monotonic
from urllib.parse import unquote_to_bytes

from lycosa.errors import PlaceRefused, Unreachable
from lycosa.fetch.listings import LISTING_TYPE, Listed, listing_page, split_listing_url
from lycosa.fetch.plain import plain_response, type_of
from lycosa.model import Failure, Refusal, RequestParts, Response

_PREFIX = "file://localhost"
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
_CLOSED = (errno.EACCES, errno.EPERM)


class FileFetcher:
    """Reads files as if they were fetched. A folder is a page of links to what is in it, but for hidden names."""

    def __init__(self, roots: Sequence[str], max_bytes: int, clock: Callable[[], float]) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._max_bytes = max_bytes
        self._clock = clock

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """One file, or one page of a listing; raises `VisitError`."""
        if url == f"{_PREFIX}/robots.txt":
            # It would be of whoever owns the machine.
            return plain_response(url, "file", 404, self._clock(), 0.0)
        known = dict(headers).get("If-Modified-Since", "")
        return await asyncio.to_thread(self._read, url, max_body_bytes or self._max_bytes, known)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _read(self, url: str, max_bytes: int, known: str) -> Response:
        began_at, began = self._clock(), monotonic()
        place, page = split_listing_url(url)
        path = unquote_to_bytes(place.removeprefix(_PREFIX))
        status, fields, body, truncated = self._found(url, path, page, max_bytes, known)
        return plain_response(
            url, "file", status, began_at, monotonic() - began, headers=fields, body=body, truncated=truncated
        )

    def _found(
        self, url: str, path: bytes, page: int, max_bytes: int, known: str
    ) -> tuple[int, list[tuple[str, str]], bytes, str]:
        """Status, header fields and body of what is there, and why the body is not whole."""
        if b"\0" in path:
            return 404, [], b"", ""
        self._check(os.path.realpath(path))
        try:
            # A pipe that nobody writes to must not be waited for.
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            return _status_of(error), [], b"", ""
        try:
            self._check(os.path.realpath(f"/proc/self/fd/{opened}"))
            facts = os.fstat(opened)
            if stat.S_ISDIR(facts.st_mode):
                if not path.endswith(b"/"):
                    return 301, [("location", f"{url.partition('?')[0]}/")], b"", ""
                body = listing_page(os.fsdecode(path), _entries(opened), page)
                return 200, [("content-type", LISTING_TYPE)], body, ""
            if not stat.S_ISREG(facts.st_mode):
                return 403, [], b"", ""
            changed = formatdate(int(facts.st_mtime), usegmt=True)
            fields = [("content-type", type_of(os.fsdecode(path))), ("last-modified", changed)]
            if changed == known:
                return 304, fields, b"", ""
            with os.fdopen(os.dup(opened), "rb") as stream:
                body = stream.read(max_bytes + 1)
            return 200, fields, body[:max_bytes], "length" if len(body) > max_bytes else ""
        except OSError as error:
            raise Unreachable(Failure.RESET, error.strerror or "", sent=False) from error
        finally:
            os.close(opened)

    def _check(self, real: str | bytes) -> None:
        text = os.fsdecode(real)
        if not any(text == root or text.startswith(root.rstrip("/") + "/") for root in self._roots):
            raise PlaceRefused(Refusal.ROOTS)


def _status_of(error: OSError) -> int:
    if error.errno in _MISSING:
        return 404
    if error.errno in _CLOSED:
        return 403
    raise Unreachable(Failure.CONNECT, error.strerror or "", sent=False) from error


def _entries(folder: int) -> list[Listed]:
    """What is in an open folder. A link is looked through: where it leads is checked when it is followed."""
    with os.scandir(folder) as entries:
        return [Listed(os.fsencode(each.name), each.is_dir()) for each in entries if not each.name.startswith(".")]
