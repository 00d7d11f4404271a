"""The cookies of one origin: taken from its answers, given to its requests, and to nobody else.

A small part of RFC 6265: there is no domain to match, since cookies of an origin go to that origin alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import mktime_tz, parsedate_tz
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from lycosa.errors import SettingsError

MAX_COOKIES, MAX_COOKIE_BYTES = 100, 4096
_NETSCAPE_COLUMNS = 7
_FOR_SCRIPTS = "#HttpOnly_"


class Cookie(msgspec.Struct, frozen=True):
    """One cookie, and where and how long it is sent."""

    name: str
    value: str
    path: str = "/"
    is_secure: bool = False
    ends_at: float = 0.0  # POSIX seconds; 0: with the session


class Cookies:
    """All cookies of one origin."""

    def __init__(self, origin: str, cookies: Iterable[Cookie] = ()) -> None:
        self.origin = origin
        self._is_encrypted = origin.startswith("https:")
        self._host = urlsplit(origin).hostname or ""
        self._cookies = {(cookie.name, cookie.path): cookie for cookie in cookies}

    def __bool__(self) -> bool:
        return bool(self._cookies)

    def all(self) -> list[Cookie]:
        """What there is, to be kept."""
        return list(self._cookies.values())

    def take(self, url: str, values: Iterable[str], now: float) -> bool:
        """Take the cookies of an answer; `values` are those of its Set-Cookie lines. Returns whether any changed."""
        before = dict(self._cookies)
        for value in values:
            if cookie := self._read(value, url, now):
                key = cookie.name, cookie.path
                if cookie.ends_at and cookie.ends_at <= now:
                    self._cookies.pop(key, None)
                elif key in self._cookies or len(self._cookies) < MAX_COOKIES:
                    self._cookies[key] = cookie
        return self._cookies != before

    def header(self, url: str, now: float) -> str:
        """The value of the Cookie line for a URL of this origin; empty if there is none."""
        path = urlsplit(url).path or "/"
        sent = [cookie for cookie in self._cookies.values() if self._goes_to(cookie, path, now)]
        # Longer paths first, as browsers do.
        sent.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)

    def _goes_to(self, cookie: Cookie, path: str, now: float) -> bool:
        if (cookie.is_secure and not self._is_encrypted) or (cookie.ends_at and cookie.ends_at <= now):
            return False
        return path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")

    def _read(self, value: str, url: str, now: float) -> Cookie | None:
        pair, *attributes = value.split(";")
        name, equals, content = (part.strip() for part in pair.partition("="))
        if not (equals and name) or len(value) > MAX_COOKIE_BYTES or not value.isprintable():
            return None
        said = {key.strip().lower(): text.strip() for key, _, text in (part.partition("=") for part in attributes)}
        domain = said.get("domain", "").lstrip(".").lower()
        if domain and self._host != domain and not self._host.endswith("." + domain):
            return None
        path = said.get("path", "")
        if not path.startswith("/"):
            path = (urlsplit(url).path.rpartition("/")[0]) or "/"
        return Cookie(name, content, path, "secure" in said, _ends_at(said, now))


def _ends_at(said: dict[str, str], now: float) -> float:
    if age := said.get("max-age"):
        digits = age.removeprefix("-")
        if digits.isdigit() and len(digits) < 12:
            return max(now + int(age), 1.0)
    moment = parsedate_tz(said.get("expires", "").replace("-", " "))
    try:
        return max(float(mktime_tz(moment)), 1.0) if moment else 0.0
    except (OverflowError, ValueError):
        return 0.0


def read_cookie_file(path: Path, origin: str) -> Cookies:
    """The cookies for an origin in a file of Netscape's format, as browsers and curl write it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingsError(f"login: the cookies in {path} cannot be read: {reason}") from None
    host = urlsplit(origin).hostname or ""
    found = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(_FOR_SCRIPTS)
        if not text.strip() or text.startswith("#"):
            continue
        columns = text.split("\t")
        if len(columns) != _NETSCAPE_COLUMNS or not columns[4].isdigit():
            raise SettingsError(f"login: {path}: line {number} is not of Netscape's format: seven columns, with tabs")
        domain, _, cookie_path, is_secure, ends_at, name, value = columns
        if host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain)):
            found.append(Cookie(name, value, cookie_path, is_secure == "TRUE", float(ends_at)))
    if not found:
        raise SettingsError(f"login: {path} has no cookies for {host}")
    return Cookies(origin, found)
