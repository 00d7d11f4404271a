"""The dashboard as a web application: which address shows what."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from lycosa.dashboard import host, kept, metrics, orders, overview, search, url
from lycosa.dashboard.graph import GraphPage
from lycosa.dashboard.markup import Html, link, tag
from lycosa.dashboard.search import Answered, PageSearch
from lycosa.dashboard.watch import LOOK_SHARE, Watch
from lycosa.errors import LycosaError, SettingsError
from lycosa.orders import Pardon, SetPolicy
from lycosa.search import IndexInUse
from lycosa.search.formats import as_json, as_opensearch, opensearch_description

_ASSETS = {
    "dashboard.css": "text/css",
    "dashboard.js": "text/javascript",
    "uPlot.iife.min.js": "text/javascript",
    "uPlot.min.css": "text/css",
    "uPlot.LICENSE.txt": "text/plain",
    "lycosa.svg": "image/svg+xml",
}
_PLACES = (("/", "Overview"), ("/search", "Search"), ("/graph", "Links"))
# From one look at a host to the next.
MIN_HOST_SECONDS = 2.0
# What a form may send: some ten thousand seeds.
MAX_FORM_BYTES, MAX_FORM_FIELDS = 2_000_000, 20


class Dashboard:
    """The pages of one crawl."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._search = PageSearch(watch.place, watch.frontier)
        self._graph = GraphPage(watch.place, watch.frontier)
        # By name, never by path: nothing else can be asked for.
        folder = Path(__file__).with_name("assets")
        self._assets = {name: (folder / name).read_bytes() for name in _ASSETS}

    def application(self) -> Starlette:
        """All of it, without anybody at the door."""
        application = Starlette(
            routes=[
                Route("/", self.overview),
                Route("/live", self.live),
                Route("/go", self.go),
                Route("/host", self.host),
                Route("/url", self.url),
                Route("/kept", self.kept),
                Route("/graph", self.graph),
                Route("/search", self.search),
                Route("/search.json", self.search_json),
                Route("/search.rss", self.search_rss),
                Route("/opensearch.xml", self.opensearch),
                Route("/order", self.order, methods=["POST"]),
                Route("/metrics", self.metrics),
                Route("/assets/{name}", self.asset),
            ],
            exception_handlers={404: self._nothing_here, SettingsError: self._refused, LycosaError: self._failed},
        )
        # What is not there is not looked for elsewhere: a redirect would name whatever host was asked for.
        application.router.redirect_slashes = False
        return application

    async def overview(self, _: Request) -> Response:
        now = await self._watch.now()
        return self._page("Overview", tag("h1", "Crawl"), overview.page(now), at="/", live="/live")

    async def search(self, request: Request) -> Response:
        query = request.query_params.get("q", "").strip()
        answered, trouble, is_behind = None, "", False
        if not query:
            self._search.begin()
        else:
            try:
                answered = await self._answer(request)
                is_behind = answered.is_behind
            except SettingsError as error:
                trouble, is_behind = str(error), isinstance(error, IndexInUse)
        content = search.page(query, answered, trouble)
        title = f"{query} · Search" if query else "Search"
        return self._page(title, content, at="/search", is_unfinished=is_behind)

    async def search_json(self, request: Request) -> Response:
        try:
            found = as_json((await self._answer(request)).results)
        except SettingsError as error:
            return JSONResponse({"error": str(error)}, _status_of(error))
        return Response(found, media_type="application/json")

    async def search_rss(self, request: Request) -> Response:
        try:
            results = (await self._answer(request)).results
        except SettingsError as error:
            return PlainTextResponse(str(error), _status_of(error))
        people = f"{request.base_url}search?{urlencode({'q': results.query})}"
        return Response(as_opensearch(results, people), media_type="application/rss+xml")

    async def opensearch(self, request: Request) -> Response:
        description = opensearch_description(str(request.base_url))
        return Response(description, media_type="application/opensearchdescription+xml")

    async def _answer(self, request: Request) -> Answered:
        asked = request.query_params
        # Browsers send what they have no value for as nothing.
        limit, offset = asked.get("limit") or str(search.LIMIT), asked.get("offset") or "0"
        if not (limit.isdecimal() and offset.isdecimal() and len(limit + offset) < 20):
            raise SettingsError("limit and offset are numbers")
        return await self._search.answer(asked.get("q", ""), int(limit), int(offset))

    async def order(self, request: Request) -> Response:
        """Have the crawl obey what a form of ours says, and show where it is recorded."""
        try:
            sent = await _form(request)
            wanted = await asyncio.to_thread(orders.order, self._watch.place, self._watch.frontier, sent)
        except SettingsError as error:
            return self._page("Not ordered", tag("h1", "Not ordered"), tag("p", str(error)), status=400)
        if isinstance(wanted, (SetPolicy, Pardon)):
            return RedirectResponse(f"/host?{urlencode({'name': wanted.host})}", 303)
        return RedirectResponse("/", 303)

    async def live(self, request: Request) -> Response:
        name = request.query_params.get("host", "")
        events = self._host_events(name) if name else self._events()
        return StreamingResponse(events, media_type="text/event-stream")

    async def go(self, request: Request) -> Response:
        """To a host or a URL, whichever was typed."""
        what = request.query_params.get("what", "").strip()
        if not what:
            return RedirectResponse("/", 303)
        is_url = "/" in what
        address = f"/url?{urlencode({'url': what})}" if is_url else f"/host?{urlencode({'name': what.lower()})}"
        return RedirectResponse(address, 303)

    async def host(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        content = await self._read(host.page, name)
        return self._page(name, content, live=f"/live?{urlencode({'host': name})}")

    async def url(self, request: Request) -> Response:
        asked = request.query_params
        content = await self._read(url.page, asked.get("url", ""), asked.get("old", ""), asked.get("new", ""))
        return self._page(asked.get("url", ""), content)

    async def kept(self, request: Request) -> Response:
        asked = request.query_params
        content = await self._read(kept.page, asked.get("url", ""), asked.get("version", ""))
        return self._page(asked.get("url", ""), content)

    async def graph(self, _: Request) -> Response:
        return self._page("Links", await asyncio.to_thread(self._graph.page), at="/graph")

    async def metrics(self, _: Request) -> Response:
        now = await self._watch.now()
        figures = await asyncio.to_thread(metrics.exposition, now)
        return Response(figures, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._assets:
            return PlainTextResponse("there is no such file", 404)
        return Response(self._assets[name], media_type=_ASSETS[name])

    async def _read(self, page: Callable[..., Html], *asked: str) -> Html:
        return await asyncio.to_thread(partial(page, self._watch.place, self._watch.frontier, *asked))

    async def _host_events(self, name: str) -> AsyncIterator[str]:
        """The parts of a host's page that changed, as often as they cost little."""
        shown: dict[str, Html] = {}
        while not self._watch.is_over():
            began_at = time.process_time()
            try:
                parts = await self._read_parts(name)
            except LycosaError:
                return
            cost = time.process_time() - began_at
            yield _changed(shown, parts)
            shown = parts
            await self._watch.rest(max(MIN_HOST_SECONDS, LOOK_SHARE * cost))

    async def _read_parts(self, name: str) -> dict[str, Html]:
        return await asyncio.to_thread(host.parts, self._watch.place, self._watch.frontier, name)

    async def _events(self) -> AsyncIterator[str]:
        """The parts that changed, and the curves, second by second."""
        shown: dict[str, Html] = {}
        async for now in self._watch.follow():
            parts = overview.parts(now)
            yield _changed(shown, parts)
            shown = parts
            yield f"event: series\ndata: {json.dumps(overview.series(now.course))}\n\n"

    def _page(
        self,
        title: str,
        *content: object,
        at: str = "",
        live: str | None = None,
        is_unfinished: bool = False,
        status: int = 200,
    ) -> HTMLResponse:
        """A whole page. `live`: where what changes of it comes from; unfinished: it is asked for again in a moment."""
        places = [link(path, name, aria_current="page" if path == at else None) for path, name in _PLACES]
        find = tag(
            "form",
            tag("label", "Search pages", for_="q", class_="unseen"),
            tag("input", id="q", name="q", type="search", placeholder="words of a page", autocomplete="off"),
            tag("button", "Search"),
            action="/search",
            role="search",
        )
        go = tag(
            "form",
            tag("label", "Host or URL", for_="what", class_="unseen"),
            tag("input", id="what", name="what", type="search", placeholder="host or URL", autocomplete="off"),
            tag("button", "Open"),
            action="/go",
        )
        head = [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", f"{title} · lycosa"),
            tag("link", rel="icon", href="/assets/lycosa.svg", type="image/svg+xml"),
            tag(
                "link",
                rel="search",
                href="/opensearch.xml",
                type="application/opensearchdescription+xml",
                title="lycosa",
            ),
            tag("link", rel="stylesheet", href="/assets/uPlot.min.css"),
            tag("link", rel="stylesheet", href="/assets/dashboard.css"),
            tag("script", src="/assets/uPlot.iife.min.js", defer=True),
            tag("script", src="/assets/dashboard.js", type="module"),
        ]
        body = [
            tag("a", "To the content", href="#content", class_="skip"),
            tag(
                "header",
                link(
                    "/", tag("img", src="/assets/lycosa.svg", alt="", width="28", height="28"), "lycosa", class_="brand"
                ),
                tag("nav", places, aria_label="Pages"),
                tag("span", self._watch.name, class_="crawl", title=self._watch.name),
                find,
                go,
            ),
            tag("main", *content, id="content", data_live=live, data_unfinished=is_unfinished),
        ]
        page = tag("html", tag("head", head), tag("body", body), lang="en")
        return HTMLResponse(f"<!doctype html>\n{page}", status)

    async def _nothing_here(self, _: Request, __: Exception) -> Response:
        return self._page("Nothing here", tag("h1", "Nothing here"), tag("p", "There is no such page."), status=404)

    async def _refused(self, _: Request, error: Exception) -> Response:
        return self._page("Not to be had", tag("h1", "Not to be had"), tag("p", str(error)), status=404)

    async def _failed(self, _: Request, error: Exception) -> Response:
        return self._page("Not to be had", tag("h1", "Not to be had"), tag("p", str(error)), status=503)


def _status_of(error: SettingsError) -> int:
    """Whoever asks for what is being made may ask again."""
    return 503 if isinstance(error, IndexInUse) else 400


def _changed(shown: Mapping[str, Html], parts: Mapping[str, Html]) -> str:
    """What of a page is not shown yet, as an event."""
    changed = {key: part for key, part in parts.items() if shown.get(key) != part}
    return f"event: parts\ndata: {json.dumps(changed)}\n\n"


async def _form(request: Request) -> dict[str, str]:
    """The fields that were sent. Raises `SettingsError` for what no form of ours sends."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM_BYTES:
            raise SettingsError(f"more than {MAX_FORM_BYTES:,} bytes were sent")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError as error:
        raise SettingsError(f"this is no form: {error}") from None
    return dict(fields)
