"""Logged-in sessions: who we are to a site whose operator gave us an account.

A session begins with its form: it is fetched, filled in and sent, with the host's pause between the requests, by the
visit that needs it first. Credentials and cookies go to the origin of the form and nowhere else, and into no record.
"""

from __future__ import annotations

import asyncio
import logging
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qsl, urljoin, urlsplit

import re2
from msgspec.structs import replace

from lycosa.clock import Clock
from lycosa.errors import SettingsError, VisitError
from lycosa.fetch.cookies import Cookies, read_cookie_file
from lycosa.fetch.site_requests import WITHHELD
from lycosa.model import Failure, Lease, Refusal, RequestParts, Response, origin_of
from lycosa.outcome import Refused
from lycosa.page.encoding import decode
from lycosa.page.forms import LoginForm, login_form
from lycosa.policy.politeness import Pace, delay_seconds
from lycosa.ports import Fetcher
from lycosa.robots.cache import RobotsCache
from lycosa.site_rules import Login, SiteTable, any_origin, value_of
from lycosa.store.sessions import SessionFile
from lycosa.url.canonical import joined
from lycosa.url.template import template_of

# After so many tries in a row that failed nobody tries any more: accounts are locked for less.
MAX_TRIES = 3
TRY_AGAIN_SECONDS = 240.0
# Sessions begun anew that did not help: for so many pages of a kind what the site refuses is refused to us. And
# after so many in a row the next one waits as after a failure.
MAX_USELESS_OF_KIND, MAX_USELESS, MAX_KINDS = 2, 3, 1_000
MAX_HOPS = 5
MAX_STRANGERS = 100
# New cookies of every answer are kept, but not written each time.
KEEP_SECONDS = 5.0

# Where those who are not known are sent, whatever the page with the form is called.
_TO_LOG_IN = re.compile(r"(?i)/(?:log|sign)[-_]?(?:in|on)(?:[/.]|$)")
_LINK_TO_LOG_IN = re.compile(rb"(?i)\b(?:log|sign)[-_]?(?:in|on)[/.?\"'#]")
_SET_COOKIE = re.compile(rb"(?im)^(set-cookie:)[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*")

logger = logging.getLogger(__name__)

Header = tuple[str, str]
AddressOf = Callable[[Lease], Awaitable[str]]
IsKnown = Callable[[str], bool]


class LoginFailed(VisitError):
    """Nobody could log in."""

    def __init__(self, detail: str, *, sent: bool = True) -> None:
        super().__init__(Failure.LOGIN, detail, sent=sent)


class _Session:
    """What is known of one account, between visits."""

    def __init__(self, login: Login, origin: str, folder: Path) -> None:
        self.login = login
        self.origin = origin
        self.form_url = urljoin(origin + "/", login.form) if login.form else ""
        self.cookies = Cookies(origin)
        self.headers: tuple[Header, ...] = ()
        self.file: SessionFile | None = None
        self.is_open = False
        self.logout = re2.compile(login.logout)
        self.success = re2.compile(login.success) if login.success else None
        self.turn = asyncio.Lock()
        self.began = 0  # how often
        self.useless = 0  # how often in a row that changed nothing
        self.refused: dict[str, int] = {}  # for how many pages of a kind
        self.failures = 0
        self.failed_because = ""
        self.try_at = 0.0
        self.keep_at = 0.0
        match login.way:
            case "cookies":
                self.cookies = read_cookie_file(Path(login.cookies).expanduser(), origin)
            case "token":
                self.headers = (("Authorization", f"Bearer {value_of(login.token)}"),)
            case "password":
                pair = f"{value_of(login.user)}:{value_of(login.password)}"
                self.headers = (("Authorization", f"Basic {b64encode(pair.encode()).decode()}"),)
            case _:
                self.file = SessionFile(folder, origin, value_of(login.password))
                self.cookies = Cookies(origin, self.file.read())
        self.is_open = self.file is None or bool(self.cookies)

    def learn(self, url: str, now: float, *, has_helped: bool) -> None:
        """It was begun anew for a URL."""
        kind = template_of(_path_of(url))
        if has_helped:
            self.useless = 0
            self.refused.pop(kind, None)
            return
        self.useless += 1
        if len(self.refused) < MAX_KINDS:
            self.refused[kind] = self.refused.get(kind, 0) + 1
        if self.useless >= MAX_USELESS:
            self.try_at = now + TRY_AGAIN_SECONDS
            self.failed_because = "the site does not know us, and new sessions changed nothing"

    def is_refused(self, url: str) -> bool:
        """Whether pages of this kind are refused to us in new sessions as well."""
        return self.refused.get(template_of(_path_of(url)), 0) >= MAX_USELESS_OF_KIND

    def credentials(self, url: str, now: float) -> tuple[Header, ...]:
        cookies = self.cookies.header(url, now)
        return (*self.headers, ("Cookie", cookies)) if cookies else self.headers


class Logins:
    """The sessions of a worker, by origin."""

    def __init__(
        self,
        sites: SiteTable,
        folder: Path,
        fetcher: Fetcher,
        robots_cache: RobotsCache,
        pace: Pace,
        clock: Clock,
        is_known: IsKnown = any_origin,
    ) -> None:
        self._is_known = is_known
        self._sites = sites
        self._folder = folder
        self._fetcher = fetcher
        self._robots_cache = robots_cache
        self._pace = pace
        self._clock = clock
        self._has_any = sites.says("login")
        self._sessions: dict[str, _Session] = {}
        self._strangers = set[str]()  # origins that are not told who we are

    def objection(self, url: str) -> Refused | None:
        """Why a URL is not to be visited while we are logged in to its site."""
        session = self._session(url)
        ends = session is not None and session.logout.search(_path_of(url))
        return Refused(Refusal.LOGOUT) if ends else None

    async def fetch(
        self, lease: Lease, address_of: AddressOf, headers: Sequence[Header], parts: RequestParts | None
    ) -> Response:
        """The answer to a request as who we are there; where the session had ended, from a new one."""
        url, session = lease.target.url, self._session(lease.target.url)
        if session is None:
            address = await address_of(lease)
            return await self._fetcher.fetch(url, address=address, headers=headers, parts=parts)
        began = await self._begin(session, lease, address_of)
        response = await self._ask(session, lease, address_of, headers, parts)
        if not self._has_ended(session, url, response):
            session.refused.pop(template_of(_path_of(url)), None)
        elif session.file is None:
            raise LoginFailed(f"the site does not know the cookies of {session.login.cookies}, or not any more")
        elif not session.is_refused(url):
            await self._rest(session, response)
            await self._begin(session, lease, address_of, ended=began)
            response = await self._ask(session, lease, address_of, headers, parts)
            session.learn(url, self._clock(), has_helped=not self._has_ended(session, url, response))
        return _without_cookies(response)

    async def fetch_for(self, page_url: str, url: str, headers: Sequence[Header]) -> Response:
        """The answer to what a page asks for: as who we are there, if that is its own origin."""
        session = self._session(url) if origin_of(url) == origin_of(page_url) else None
        if session is None:
            return await self._fetcher.fetch(url, headers=headers)
        if session.logout.search(_path_of(url)):
            raise LoginFailed("it would end the session", sent=False)
        parts = RequestParts(headers=session.credentials(url, self._clock()))
        response = await self._fetcher.fetch(url, headers=headers, parts=parts)
        self._take_cookies(session, response)
        return _without_cookies(response)

    # ---- one session

    def _session(self, url: str) -> _Session | None:
        if not self._has_any or (login := self._sites.of(url).login) is None:
            return None
        origin = origin_of(url)
        if origin not in self._sessions:
            is_own = origin_of(login.form) == origin if "://" in login.form else self._is_known(origin)
            if not is_own:
                self._tell_stranger(origin)
                return None
            self._sessions[origin] = _Session(login, origin, self._folder)
        return self._sessions[origin]

    def _tell_stranger(self, origin: str) -> None:
        """Say once that an origin is asked without the login of its host."""
        if origin not in self._strangers and len(self._strangers) < MAX_STRANGERS:
            self._strangers.add(origin)
            logger.warning('the login of its host is not used at %s; if it is to be: [site."%s".login]', origin, origin)

    async def _ask(
        self,
        session: _Session,
        lease: Lease,
        address_of: AddressOf,
        headers: Sequence[Header],
        parts: RequestParts | None,
    ) -> Response:
        url, own = lease.target.url, session.credentials(lease.target.url, self._clock())
        parts = parts or RequestParts()
        parts = replace(parts, headers=(*parts.headers, *own))
        response = await self._fetcher.fetch(url, address=await address_of(lease), headers=headers, parts=parts)
        self._take_cookies(session, response)
        return response

    def _take_cookies(self, session: _Session, response: Response) -> None:
        now = self._clock()
        values = [value for name, value in response.headers if name == "set-cookie"]
        if not values or session.login.way not in ("form", "cookies"):
            return
        if not session.cookies.take(response.url, values, now) or session.file is None or now < session.keep_at:
            return
        session.keep_at = now + KEEP_SECONDS
        if not session.file.has_news():
            # Else another worker has begun anew since: ours are of the session before.
            session.file.write(session.cookies.all())

    def _has_ended(self, session: _Session, url: str, response: Response) -> bool:
        """Whether an answer is that of a site that does not know us (any more)."""
        if session.login.way not in ("form", "cookies") or url == session.form_url:
            return False
        if response.is_redirect:
            return _leads_to_login(joined(url, response.header("location")), session)
        if response.status == 401:
            return bool(session.form_url)
        # Without a form nothing can be begun anew: there only what the operator calls success decides.
        if response.status not in (200, 403) or not (session.form_url or session.success):
            return False
        shows_form = _has_login_form(response)
        if response.status == 403 or session.success:
            # What says no, or says nothing that only those hear who are known, and where to log in.
            shows_form = shows_form or _names(session.form_url, response.body)
        # A page with a small form for those who are not known shows its own text all the same.
        return shows_form and not (session.success and self._is_welcome(session, response))

    # ---- logging in

    async def _begin(self, session: _Session, lease: Lease, address_of: AddressOf, ended: int = -1) -> int:
        """Log in unless somebody has since the session number `ended`. Returns the number of the session in force."""
        if session.file is None or (session.is_open and session.began != ended):
            return session.began
        async with session.turn:
            if session.is_open and session.began != ended:
                return session.began
            with ExitStack() as stack:
                await asyncio.to_thread(stack.enter_context, session.file.alone())
                if session.file.has_news():
                    # Another worker was here first.
                    session.cookies = Cookies(session.origin, session.file.read())
                else:
                    await self._log_in(session, lease, address_of)
                    session.file.write(session.cookies.all())
                session.is_open = True
                session.began += 1
        return session.began

    async def _log_in(self, session: _Session, lease: Lease, address_of: AddressOf) -> None:
        if session.failures >= MAX_TRIES or self._clock() < session.try_at:
            raise LoginFailed(session.failed_because, sent=False)
        session.is_open = False
        session.cookies = Cookies(session.origin)
        try:
            await self._fill_in(session, lease, address_of)
        except VisitError as error:
            if isinstance(error, LoginFailed):
                session.failures += 1
            session.try_at = self._clock() + TRY_AGAIN_SECONDS
            session.failed_because = error.detail
            raise
        session.failures = 0

    async def _fill_in(self, session: _Session, lease: Lease, address_of: AddressOf) -> None:
        page = await self._get(session, lease, address_of, session.form_url)
        form = login_form(page.body, page.header("content-type"), page.url)
        if form is None:
            raise LoginFailed(f"{session.form_url} has no form with a password ({page.status})")
        if not form.is_post or origin_of(form.action) != session.origin:
            raise LoginFailed(f"the form of {session.form_url} does not post to its own origin")
        await self._check_robots(lease, form.action)
        sent = RequestParts("POST", form.filled(_values(session.login, form)), self._form_headers(session, form, page))
        response = await self._fetcher.fetch(form.action, address=await address_of(lease), parts=sent)
        self._take_cookies(session, response)
        await self._rest(session, response)
        if response.is_redirect:
            to = joined(form.action, response.header("location"))
            response = await self._get(session, lease, address_of, to)
        if session.success and not self._is_welcome(session, response) and not _has_login_form(response):
            # Many sites say that they will lead on, on a page of its own.
            response = await self._get(session, lease, address_of, f"{session.origin}/")
        if not self._is_welcome(session, response):
            raise LoginFailed(f"the answer is none for those who are logged in ({response.status})")
        if not session.cookies:
            raise LoginFailed("the answer has no cookies to be known by")

    async def _get(self, session: _Session, lease: Lease, address_of: AddressOf, url: str) -> Response:
        """A page of the origin, past redirects within it."""
        for _ in range(MAX_HOPS):
            if origin_of(url) != session.origin:
                raise LoginFailed(f"it leads to another origin, {origin_of(url)}")
            await self._check_robots(lease, url)
            parts = RequestParts(headers=session.credentials(url, self._clock()))
            response = await self._fetcher.fetch(url, address=await address_of(lease), parts=parts)
            self._take_cookies(session, response)
            await self._rest(session, response)
            if not response.is_redirect:
                return response
            url = joined(url, response.header("location"))
        raise LoginFailed("too many redirects")

    async def _check_robots(self, lease: Lease, url: str) -> None:
        elsewhere = replace(lease, target=replace(lease.target, url=url))
        if await self._robots_cache.refusal(elsewhere):
            raise LoginFailed(f"robots.txt disallows {url}", sent=False)

    async def _rest(self, session: _Session, response: Response) -> None:
        """The pause of the host, as the frontier would keep it between two visits."""
        own = self._sites.of(session.form_url).delay_seconds
        record = await self._robots_cache.previous(session.origin)
        wish = (record.rules.crawl_delay_seconds or 0.0) if record else 0.0
        pause = delay_seconds(self._pace, response.seconds, wish)
        await asyncio.sleep(pause if own is None else max(own, wish))

    @staticmethod
    def _form_headers(session: _Session, form: LoginForm, page: Response) -> tuple[Header, ...]:
        cookies = session.cookies.header(form.action, page.started_at)
        # Sites with a check against forged requests look at these.
        own = (("Referer", page.url), ("Origin", session.origin))
        return (*own, ("Cookie", cookies)) if cookies else own

    @staticmethod
    def _is_welcome(session: _Session, response: Response) -> bool:
        if session.success:
            return bool(session.success.search(decode(response.body, response.header("content-type")).text.encode()))
        return 200 <= response.status < 300 and not _has_login_form(response)


def _values(login: Login, form: LoginForm) -> dict[str, str]:
    try:
        typed = {form.user: value_of(login.user)} if form.user else {}
        typed[form.password] = value_of(login.password)
        return typed | {name: value_of(value) for name, value in login.fields.items()}
    except ValueError as error:
        raise SettingsError(f"login: {error}") from None


def _has_login_form(response: Response) -> bool:
    if b"password" not in response.body.lower():
        return False
    form = login_form(response.body, response.header("content-type"), response.url)
    return form is not None and form.asks_once


def _leads_to_login(url: str, session: _Session) -> bool:
    """Whether a redirect sends away those who are not known."""
    if origin_of(url) != session.origin:
        return False
    to, form = urlsplit(url), urlsplit(session.form_url)
    is_form = bool(session.form_url) and to.path == form.path and set(parse_qsl(form.query)) <= set(parse_qsl(to.query))
    return is_form or bool(_TO_LOG_IN.search(to.path))


def _names(url: str, body: bytes) -> bool:
    """Whether a page may have a link to the form, by the last part of its path; if nobody knows it, to any."""
    if not url:
        return bool(_LINK_TO_LOG_IN.search(body))
    name = urlsplit(url).path.rstrip("/").rpartition("/")[2].encode()
    return len(name) > 1 and name in body


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _without_cookies(response: Response) -> Response:
    """The answer as it may be kept: whoever has its cookies is who we are."""
    if not response.header("set-cookie"):
        return response
    headers = [(name, WITHHELD if name == "set-cookie" else value) for name, value in response.headers]
    return replace(response, head=_SET_COOKIE.sub(rb"\1 withheld", response.head), headers=headers)
