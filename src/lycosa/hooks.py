"""Python of the operator that takes part in visits: what it is given, and what it may answer.

Hooks run in the workers, within the visit that they are called for: one that raises ends that visit and no other.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import msgspec
import turbohtml

from lycosa.errors import SettingsError
from lycosa.model import Items, Page, RequestParts, Response, Target
from lycosa.page.encoding import decode
from lycosa.page.fields import records_of
from lycosa.site_rules import SiteRules, check_header

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# It waits in the queue, and stands in the archive.
MAX_REQUEST_BODY_BYTES = 1024**2
MAX_TAG_CHARS = 1000
MAX_ITEMS, MAX_LINKS = 10_000, 100_000


class HookFailed(Exception):
    """A hook raised, or answered what it may not."""


# Whatever ends a program or a task elsewhere ends but a visit here. Ctrl-C is not of the hook's making.
_RAISED = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)


class Request(msgspec.Struct, frozen=True):
    """What is to be asked: a URL, and what else goes with it. The tag comes back with the page."""

    url: str
    method: str = "GET"
    body: bytes | str = b""
    headers: dict[str, str] = {}
    tag: str = ""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method!r} is none of {', '.join(METHODS)}")
        if self.body and self.method == "GET":
            raise ValueError("a GET request has no body: say method='POST'")
        if len(self.body) > MAX_REQUEST_BODY_BYTES:
            raise ValueError(f"body: longer than {MAX_REQUEST_BODY_BYTES:,} bytes")
        if len(self.tag) > MAX_TAG_CHARS:
            raise ValueError(f"tag: longer than {MAX_TAG_CHARS:,} characters")
        for name, value in self.headers.items():
            check_header(name, value)

    @property
    def parts(self) -> RequestParts | None:
        """What is asked beyond the URL; None if nothing is."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        parts = RequestParts(self.method, body, tuple(self.headers.items()), self.tag)
        return None if parts == RequestParts() else parts


def request_of(target: Target) -> Request:
    """What a target is asked, as hooks see it."""
    parts = target.request or RequestParts()
    return Request(target.url, parts.method, parts.body, dict(parts.headers), parts.tag)


def request_facts(request: Request) -> str:
    """A request in a line."""
    tag = f"  ({request.tag})" if request.tag else ""
    return f"{request.method} {request.url}{tag}"


class PageTree:
    """What selectors find on a page. Whoever is one says what its text is, and what its URLs are relative to."""

    body: bytes

    @property
    def html(self) -> str:
        """The page as a text: as a browser showed it, if one did."""
        raise NotImplementedError

    @property
    def base(self) -> str:
        """What the URLs on this page are relative to."""
        raise NotImplementedError

    @cached_property
    def tree(self) -> turbohtml.Document:
        """The tree of the page; changing it changes nothing of what is kept."""
        return turbohtml.parse(self.html, positions=False)

    def css(self, selector: str) -> list[turbohtml.Element]:
        """The elements that a CSS selector finds."""
        return list(self.tree.select(selector))

    def xpath(self, expression: str) -> Any:
        """What an XPath expression comes to: elements, texts, or one value."""
        return self.tree.xpath(expression)

    def json(self) -> Any:
        """The body, which is JSON."""
        return msgspec.json.decode(self.body)

    def url_of(self, href: str) -> str:
        """Where an href on this page leads."""
        return urljoin(self.base, href)


def text_of(body: bytes, charset: str, content_type: str) -> str:
    """A body as the text that it was read as."""
    return decode(body, f"text/html; charset={charset}" if charset else content_type, "").text


class PageView(PageTree):
    """A page as hooks see it: what was read of it, and its tree."""

    def __init__(self, target: Target, response: Response, page: Page, links: Sequence[str] = ()) -> None:
        self.url = target.url
        self.depth = target.depth
        self.referrer = target.referrer
        self.tag = target.request.tag if target.request else ""
        self.status = response.status
        self.headers = dict(response.headers)
        self.body = response.body
        self.title = page.title
        self.text = page.text
        self.content = page.content
        self.links = list(links)
        self.charset = page.charset
        self._base = page.base

    @cached_property
    def html(self) -> str:
        return text_of(self.body, self.charset, self.headers.get("content-type", ""))

    @property
    def base(self) -> str:
        return urljoin(self.url, self._base) if self._base else self.url

    def records(self, rules: SiteRules) -> list[dict[str, Any]]:
        """The records that rules of a site make of it."""
        return records_of(self.tree, self.base, rules) if rules.fields else []


class FailedVisit(msgspec.Struct, frozen=True):
    """A visit that brought no page, as hooks see it."""

    request: Request
    outcome: str  # "failed", "refused", "crashed"
    reason: str
    detail: str
    status: int  # 0 if there was no answer


OnPage = Callable[[PageView], Iterable[Any] | None]
OnLinks = Callable[[PageView, list[str]], Iterable[str]]
OnRequest = Callable[[Request], Request | None]
OnFailure = Callable[[FailedVisit], None]


class Hooks(msgspec.Struct, frozen=True):
    """The hooks of a crawl; each is left out by default."""

    on_page: OnPage | None = None
    on_links: OnLinks | None = None
    on_request: OnRequest | None = None
    on_failure: OnFailure | None = None

    def __post_init__(self) -> None:
        for name in HOOK_NAMES:
            if (hook := getattr(self, name)) is not None:
                _check_hook(name, hook)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in HOOK_NAMES)


HOOK_NAMES = Hooks.__struct_fields__


def _check_hook(name: str, hook: object) -> None:
    """Raise a `SettingsError` for what could not be called, or would answer nothing before it is waited for."""
    if not callable(hook):
        raise SettingsError(f"hooks: {name} is no function")
    if inspect.iscoroutinefunction(hook) or inspect.isasyncgenfunction(hook):
        raise SettingsError(f"hooks: {name} is a coroutine: hooks are plain functions, in which nothing is waited for")


def load_hooks(path: str) -> Hooks:
    """The hooks that a Python file defines; raises `SettingsError` if it cannot be run, or has none."""
    if not path:
        return Hooks()
    name = f"lycosa_hooks_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise SettingsError(f"hooks: {path}: there is no such Python file")
    module = importlib.util.module_from_spec(spec)
    # What it defines may ask for its own module: dataclasses do.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except _RAISED as error:
        raise SettingsError(f"hooks: {path}: {type(error).__name__}: {error}") from error
    found = {name: hook for name in HOOK_NAMES if (hook := getattr(module, name, None)) is not None}
    if not found:
        raise SettingsError(f"hooks: {path}: it defines none of {', '.join(HOOK_NAMES)}")
    try:
        return Hooks(**found)
    except SettingsError as error:
        raise SettingsError(str(error).replace("hooks:", f"hooks: {path}:", 1)) from None


def yielded(hook: OnPage, view: PageView) -> tuple[list[Any], list[Request]]:
    """What `on_page` says of a page: items, and requests to be made."""
    try:
        given = hook(view)
        if given is None:
            return [], []
        if isinstance(given, Mapping | Request | msgspec.Struct):
            given = [given]
        items: list[Any] = []
        requests: list[Request] = []
        for each in given:
            (requests if isinstance(each, Request) else items).append(each)
            if len(items) + len(requests) > MAX_ITEMS:
                raise ValueError(f"more than {MAX_ITEMS:,} items and requests of one page")
        return items, requests
    except _RAISED as error:
        raise HookFailed(f"on_page: {type(error).__name__}: {error}") from error


def called(name: str, hook: Callable[..., Any], *arguments: Any) -> Any:
    """What a hook answers; raises `HookFailed`."""
    try:
        return _links_of(hook(*arguments)) if name == "on_links" else hook(*arguments)
    except _RAISED as error:
        raise HookFailed(f"{name}: {type(error).__name__}: {error}") from error


def _links_of(answer: Iterable[Any]) -> list[str]:
    if isinstance(answer, str):
        raise TypeError("one text is no list of links")
    links = list(islice(answer, MAX_LINKS + 1))
    if len(links) > MAX_LINKS:
        raise ValueError(f"more than {MAX_LINKS:,} links of one page")
    for link in links:
        if not isinstance(link, str):
            raise TypeError(f"a link is a text, not {type(link).__name__}")
    return links


def encoded(items: Iterable[Any]) -> Items:
    """Items as they are kept; raises `HookFailed` for one that is no record, or has no JSON."""
    kept = []
    for item in items:
        try:
            text = msgspec.json.encode(item).decode()
        except (TypeError, ValueError) as error:
            raise HookFailed(f"on_page: an item has no JSON: {error}") from error
        if not text.startswith("{"):
            raise HookFailed(f"on_page: an item is a record with names, not {type(item).__name__}")
        kept.append(text)
    return tuple(kept)
