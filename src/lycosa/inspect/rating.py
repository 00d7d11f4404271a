"""How relevant a page of a crawl with a topic is, and what its link promised: the figures, and what they are made of.

From the crawl's tables; what the links of other pages promised since is in none. Only looks.
"""

from __future__ import annotations

from typing import NamedTuple

from lycosa.inspect.wording import visible
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect
from lycosa.topic.guide import PROMISE_PARTS, promise_of_page
from lycosa.topic.relevance import Inputs, Relevance, section_of, shared_among, source_of

MAX_SHOWN = 8
_PAGE = (
    "SELECT title, headings, coalesce(nullif(content, ''), text), language, relevance, promise, depth FROM pages"
    " WHERE url = ? AND outcome IN ('stored', 'duplicate') ORDER BY fetched_at DESC LIMIT 1"
)
_LINKS = "SELECT target, anchor FROM links WHERE source = ? AND NOT contains(coalesce(rel, ''), ?)"
_NOTHING = "nothing"


class _Row(NamedTuple):
    """A page as the tables have it."""

    title: str
    headings: str
    text: str
    language: str
    relevance: float
    promise: float
    depth: int


def rating_facts(
    folder: CrawlFolder | None, settings: Settings, url: str, referrer: str, promise: float
) -> list[tuple[str, str]]:
    """Labelled facts; none in a crawl without a topic. `promise` of the link on the referrer; 0 for a seed."""
    if settings.order != "topic" or not settings.topic_terms:
        return []
    relevance = Relevance(settings.topic_terms)
    facts = [("topic", _terms(settings))]
    page = _page(folder, url) if folder else None
    if page:
        facts.append(("relevance", _of_page(relevance, page, settings)))
    if not promise:
        return [*facts, ("promise", "none: it was named by the operator, or found without a topic")]
    facts.append(("promise", f"{promise:.2f}, by the link that led to it"))
    return facts + (_of_link(folder, settings, relevance, url, referrer, promise) if folder else [])


def _terms(settings: Settings) -> str:
    terms = list(settings.topic_terms.items())
    more = f" and {len(terms) - MAX_SHOWN} more" if len(terms) > MAX_SHOWN else ""
    return ", ".join(f"{visible(term)} {weight:.2f}" for term, weight in terms[:MAX_SHOWN]) + more


def _of_page(relevance: Relevance, page: _Row, settings: Settings) -> str:
    parts = {"title": page.title, "headings": page.headings, "text": page.text}
    told = {name: relevance.terms_in(text or "", page.language)[:MAX_SHOWN] for name, text in parts.items()}
    found = "; ".join(f"{name}: {visible(', '.join(terms))}" for name, terms in told.items() if terms)
    verdict = "on topic" if page.relevance >= settings.on_topic_from else "not on topic"
    return f"{page.relevance:.2f}, {verdict} (from {settings.on_topic_from:.2f} on). " + (
        f"Found in its {found}" if found else "No term is in it"
    )


def _of_link(
    folder: CrawlFolder, settings: Settings, relevance: Relevance, url: str, referrer: str, promise: float
) -> list[tuple[str, str]]:
    source = _page(folder, referrer)
    if source is None:
        return [("made of", f"its URL, {relevance.of_address(url):.2f}; {visible(referrer)} is no page that was kept")]
    links = _links(folder, settings, referrer)
    anchors = [anchor for target, anchor in links if target == url]
    best = max(anchors, key=lambda anchor: relevance.of_anchor(anchor, source.language), default="")
    own, count = (
        source_of(source.relevance, promise_of_page(source.promise, source.depth)),
        len({to for to, _ in links}),
    )
    inputs = Inputs(
        relevance.of_anchor(best, source.language), relevance.of_address(url), own * shared_among(max(1, count))
    )
    return [
        ("by its text", f"{inputs.anchor:.2f}: “{visible(best)}”"),
        ("by its URL", f"{inputs.address:.2f}: {visible(', '.join(relevance.terms_in_address(url))) or _NOTHING}"),
        ("by its page", f"{inputs.source:.2f}: relevance {source.relevance:.2f}, {count:,} links share it"),
        ("by its place", f"x {section_of(inputs, promise):.1f}, from what was found there before"),
    ]


def _page(folder: CrawlFolder, url: str) -> _Row | None:
    with connect(folder) as connection:
        row = connection.execute(_PAGE, [url]).fetchone()
    return _Row._make(row) if row else None


def _links(folder: CrawlFolder, settings: Settings, source: str) -> list[tuple[str, str]]:
    with connect(folder) as connection:
        rows = connection.execute(_LINKS, [source, "nofollow" if settings.obey_nofollow else "\0"]).fetchall()
    return [(target, anchor or "") for target, anchor in rows]


def promised(thousandths: int) -> float:
    """A promise as a share of one."""
    return thousandths / PROMISE_PARTS
