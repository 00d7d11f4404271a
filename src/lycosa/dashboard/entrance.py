"""Who may come in: only by a name of ours, only with the token, and changes only from our own pages.

A browser runs and loads nothing but our own files, whatever an error in the escaping would let through.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without it a browser would not say where a form comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_CLOSED = (
    "<!doctype html><html lang=en><title>lycosa</title><h1>Not without the link</h1>"
    "<p>This dashboard opens by the link that lycosa printed when it was started: it ends in ?token=…"
)


class Entrance:
    """Stands before the whole dashboard. `names` are those by which it may be asked for, without a port."""

    def __init__(self, app: ASGIApp, token: str, port: int, names: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token.encode()
        self._names = {name.lower() for name in (*LOOPBACK, *names)}
        # Cookies know no ports: several dashboards of one machine have one each.
        self._cookie = f"lycosa-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to whoever may not come in; None: come in."""
        headers = Headers(scope=scope)
        # A page of the web that has its own name lead to this address (DNS rebinding) still asks for that name.
        if _without_port(headers.get("host", "")) not in self._names:
            return PlainTextResponse("this is not the name of a dashboard; --allow-host allows one more", 421)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = [value for name, value in query if name == "token"]
        if offered and scope["method"] == "GET":
            return self._let_in(scope, query) if self._is_token(offered[0]) else _turned_away()
        is_bearer = self._is_token(headers.get("authorization", "").removeprefix("Bearer "))
        if not is_bearer and not self._is_token(self._cookie_of(headers)):
            return _turned_away()
        if scope["method"] in ("GET", "HEAD"):
            return None
        # Who has the token in a header is no browser that was talked into something.
        if not is_bearer and not self._is_own(headers):
            return PlainTextResponse("changes are made from the pages of this dashboard only", 403)
        return None

    def _let_in(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        """The same address without the token, which is in a cookie from now on."""
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # Never to another host: one slash in front, whatever was asked for.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict", path="/")
        return answer

    def _cookie_of(self, headers: Headers) -> str:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""

    def _is_token(self, offered: str) -> bool:
        return secrets.compare_digest(offered.encode("utf-8", "surrogateescape"), self._token)

    @staticmethod
    def _is_own(headers: Headers) -> bool:
        """Whether one of our pages asks: other ports of this machine are the same site, but not the same origin."""
        origin = headers.get("origin", "").partition("://")[2]
        return origin == headers.get("host") and headers.get("sec-fetch-site", "same-origin") == "same-origin"


def _turned_away() -> Response:
    return HTMLResponse(_CLOSED, 403)


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() and not name.endswith(":") else host.lower()
