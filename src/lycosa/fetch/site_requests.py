"""What requests to single sites have of their own: header fields, cookies, and the proxy they go by.

They are looked up by the URL of each request, so none goes anywhere else: a redirect is a request of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from lycosa.errors import SettingsError
from lycosa.fetch.cookies import read_cookie_file
from lycosa.fetch.head import request_lines
from lycosa.model import RequestParts, origin_of
from lycosa.site_rules import (
    Proxy,
    SiteRules,
    SiteTable,
    any_origin,
    check_cookie,
    check_header,
    check_login,
    place_of,
    proxy_of,
    value_of,
)

Header = tuple[str, str]
# All others may be keys to a site, so their values stand in no record of a request.
_TOLD = frozenset({"accept", "accept-language", "content-type", "from", "referer", "user-agent"})
WITHHELD = "withheld"
_FORM: Header = ("Content-Type", "application/x-www-form-urlencoded")


class RequestLines(NamedTuple):
    """The header lines of a request: as they are sent, and as they are told."""

    sent: list[bytes]
    told: list[bytes]
    has_secrets: bool = False


class SiteRequest(NamedTuple):
    """What the requests to one site have of their own."""

    headers: tuple[Header, ...] = ()
    proxy: Proxy | None = None


_ORDINARY = SiteRequest()


class SiteRequests:
    """The header lines and proxies of requests by their URLs."""

    def __init__(
        self, user_agent: str, rules: Mapping[str, SiteRules], is_known: Callable[[str], bool] = any_origin
    ) -> None:
        self._user_agent = user_agent
        self._is_known = is_known  # an origin that may be told what is for its host alone
        self._sites = SiteTable(with_values(rules))
        self._has_own = any(map(self._sites.says, ("headers", "cookies", "proxy")))
        # One object for all alike: who is given the same again need not set it again.
        self._lines: dict[tuple[Header, ...], RequestLines] = {(): self._new_lines(())}

    def of(self, url: str) -> SiteRequest:
        """What a request has of its own by the site it goes to."""
        if not self._has_own:
            return _ORDINARY
        rules = self._sites.of(url)
        headers = tuple((rules.headers or {}).items())
        if rules.cookies:
            headers += (("Cookie", "; ".join(f"{name}={value}" for name, value in rules.cookies.items())),)
        if headers and not self._is_known(origin_of(url)):
            headers = tuple(each for each in headers if _is_told(each))
        return SiteRequest(headers, proxy_of(rules.proxy) if rules.proxy else None)

    def lines(self, own: SiteRequest, headers: Sequence[Header], parts: RequestParts | None = None) -> RequestLines:
        """The lines of a request to a site, with headers of its own, and what else is asked."""
        if parts and (parts.headers or parts.body):
            names = {name.lower() for name, _ in parts.headers}
            form = [] if "content-type" in names or not parts.body else [_FORM]
            return self._new_lines(_together(own.headers, parts.headers), [*headers, *form])
        if headers:
            return self._new_lines(own.headers, headers)
        lines = self._lines.get(own.headers)
        if lines is None:
            # As many as there are rules for sites.
            lines = self._lines[own.headers] = self._new_lines(own.headers)
        return lines

    def _new_lines(self, own: Sequence[Header], headers: Sequence[Header] = ()) -> RequestLines:
        sent = request_lines(self._user_agent, [*own, *headers])
        if not own:
            return RequestLines(sent, sent)
        told = [(name, value) if _is_told((name, value)) else (name, WITHHELD) for name, value in own]
        return RequestLines(sent, request_lines(self._user_agent, [*told, *headers]), not all(map(_is_told, own)))


def _is_told(header: Header) -> bool:
    return header[0].lower() in _TOLD


def _together(own: Sequence[Header], more: Sequence[Header]) -> list[Header]:
    """Both; cookies of a session join those of the rules."""
    cookies = [value for name, value in (*own, *more) if name.lower() == "cookie"]
    headers = [each for each in (*own, *more) if each[0].lower() != "cookie"]
    return [*headers, ("Cookie", "; ".join(cookies))] if cookies else headers


def with_values(rules: Mapping[str, SiteRules]) -> dict[str, SiteRules]:
    """The rules with what stands in the environment; raises `SettingsError` where that lacks, or does not fit."""
    return {place: _with_values(place, said) for place, said in rules.items()}


def _with_values(place: str, said: SiteRules) -> SiteRules:
    try:
        headers = {name: value_of(value) for name, value in (said.headers or {}).items()}
        cookies = {name: value_of(value) for name, value in (said.cookies or {}).items()}
        proxy = said.proxy and value_of(said.proxy)
        if said.login:
            check_login(said.login)
            if said.login.cookies:
                read_cookie_file(Path(said.login.cookies).expanduser(), f"https://{place_of(place).host}")
        for name, value in headers.items():
            check_header(name, value)
        for name, value in cookies.items():
            check_cookie(name, value)
        if proxy:
            proxy_of(proxy)
    except ValueError as error:
        raise SettingsError(f'site."{place}": {error}') from None
    # What says nothing stays so: an empty table would hide what is said elsewhere.
    return replace(said, headers=said.headers and headers, cookies=said.cookies and cookies, proxy=proxy)
