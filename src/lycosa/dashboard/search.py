"""Pages found by their words: the form, the results, and the index behind them, which follows the crawl's tables."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from lycosa.dashboard.markup import Html, host_link, link, outside, tag, text, url_link
from lycosa.errors import LycosaError, SettingsError
from lycosa.inspect.opened import open_folder, readable_tables
from lycosa.inspect.wording import moment
from lycosa.search import IndexInUse, open_index
from lycosa.search.query import parse_query
from lycosa.search.results import Hit, Results, Snippet
from lycosa.store.objects import ObjectPlace

if TYPE_CHECKING:
    from lycosa.search.index import SearchIndex

LIMIT = 10
MAX_ALSO = 3
# Whoever searches waits so long for the newest pages, then has those that are in the index.
MAX_WAIT_SECONDS = 5.0
_EXAMPLES = (
    ("list comprehension", "pages with both words"),
    ('"a phrase"', "words that stand together"),
    ("site:example.org/docs", "one site, or a part of it"),
    ("title:installation", "a word of the title"),
    ("lang:de before:2031-05", "a language; a date (or after:)"),
    ("crawler -draft", "without a word"),
)


_BEHIND = "The index is being brought up to date: newer pages are missing yet. They are looked for again in a moment."
_BUSY = "Another process is bringing the index up to date: newer pages are missing yet."


class Answered(NamedTuple):
    """Results, and a remark on the index they come from; empty if it is up to date."""

    results: Results
    remark: str

    @property
    def is_behind(self) -> bool:
        """Whether there will be more to find in a moment."""
        return self.remark in (_BEHIND, _BUSY)


class PageSearch:
    """Searches one crawl. The index is brought up to date in a thread whenever somebody searches."""

    def __init__(self, place: Path | ObjectPlace, frontier: str | None) -> None:
        self._place = place
        self._frontier = frontier
        self._index: SearchIndex | None = None
        self._update: asyncio.Task[str] | None = None

    async def answer(self, query: str, limit: int = LIMIT, offset: int = 0) -> Answered:
        """What a query finds. Raises `SettingsError`, `BadQuery` among them."""
        parse_query(query)  # so that nobody waits for an index to hear of a mistake
        if self._frontier:
            raise SettingsError("seen from its frontier alone a crawl has no pages: search on one of its machines")
        remark = await self._brought_up_to_date()
        if self._index is None:
            raise (IndexInUse if remark in (_BEHIND, _BUSY) else SettingsError)(remark)
        return Answered(await asyncio.to_thread(self._index.search, query, limit, offset), remark)

    def begin(self) -> None:
        """Somebody is about to search: take in what is new meanwhile."""
        if not self._frontier:
            self._updating()

    def _updating(self) -> asyncio.Task[str]:
        if self._update is None or self._update.done():
            self._update = asyncio.create_task(asyncio.to_thread(self._bring_up_to_date))
        return self._update

    async def _brought_up_to_date(self) -> str:
        update = self._updating()
        await asyncio.wait([update], timeout=MAX_WAIT_SECONDS)
        return update.result() if update.done() else _BEHIND

    def _bring_up_to_date(self) -> str:
        try:
            # Opened anew each time: what has arrived in an object store since is seen only so.
            folder = open_folder(self._place)
            with readable_tables(folder):
                self._index = open_index(folder)
                is_busy = self._index.update().is_busy
        except IndexInUse:
            return _BUSY
        except LycosaError as error:
            return str(error)
        return _BUSY if is_busy else ""


def page(query: str, answered: Answered | None, trouble: str) -> Html:
    """The form, and below it what was found, or why nothing was."""
    field = tag("input", id="words", name="q", type="search", value=query, autocomplete="off", maxlength="1000")
    form = tag(
        "form", tag("label", "Words", for_="words"), field, tag("button", "Search", class_="main"), action="/search"
    )
    return text(
        tag("h1", "Search"),
        tag("section", form, None if answered else _examples()),
        tag("p", trouble, class_="state warn", role="alert") if trouble else None,
        _found(answered) if answered else None,
    )


def _examples() -> Html:
    rows = [
        (tag("dt", link(f"/search?{urlencode({'q': query})}", query)), tag("dd", meaning))
        for query, meaning in _EXAMPLES
    ]
    return tag("dl", rows, class_="facts")


def _found(answered: Answered) -> Html:
    results, remark = answered
    counted = f"{results.total:,} of {results.pages:,} pages, in {1000 * results.seconds:.0f} ms."
    relaxed = " No page has all words; these have some of them." if results.is_relaxed else ""
    return text(
        tag("p", remark, class_="state warn") if remark else None,
        tag("p", counted, relaxed, class_="note", role="status"),
        tag("ol", map(_hit, results.hits), class_="hits", start=str(results.offset + 1)),
        _paging(results),
    )


def _hit(hit: Hit) -> Html:
    facts = [hit.language, moment(hit.fetched_at), f"published {hit.published}" if hit.published else ""]
    also = [tag("li", url_link(url)) for url in hit.also[:MAX_ALSO]]
    more = f" and {len(hit.also) - MAX_ALSO:,} more" if len(hit.also) > MAX_ALSO else ""
    return tag(
        "li",
        tag("h2", url_link(hit.url, _marked(hit.title_spans) if hit.title else hit.url)),
        tag("p", outside(hit.url), class_="where"),
        tag("p", _marked(hit.snippet)),
        tag("p", " · ".join(filter(None, facts)), " · ", host_link(hit.host), class_="note"),
        tag("details", tag("summary", f"{len(hit.also):,} like it"), tag("ul", also), more or None) if also else None,
    )


def _marked(snippet: Snippet) -> Html:
    return text([tag("mark", span.text) if span.is_hit else span.text for span in snippet])


def _paging(results: Results) -> Html:
    """To the results before these and after."""
    offset, limit = results.offset, results.limit
    before = _at(results, max(0, offset - limit), "Before") if offset else None
    is_full = len(results.hits) == limit and offset + limit < results.total
    after = _at(results, offset + limit, "Next") if is_full else None
    return tag("nav", before, after, aria_label="More results") if before or after else text()


def _at(results: Results, offset: int, word: str) -> Html:
    asked = {"q": results.query, "offset": offset, "limit": results.limit}
    return link(f"/search?{urlencode(asked)}", word, rel="next" if offset > results.offset else "prev")
