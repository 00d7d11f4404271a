"""The page of one URL: what became of it and why, its versions and what changed, its links, its text."""

from __future__ import annotations

import time
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode

from lycosa.dashboard.kept import kept_link
from lycosa.dashboard.markup import Html, card, facts, host_link, lines, link, outside, table, tag, text, url_link
from lycosa.errors import SettingsError
from lycosa.inspect.opened import OpenedCrawl, folder_settings, opened_crawl
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.why import Answer, explain
from lycosa.inspect.wording import duration, moment, size
from lycosa.model import OutcomeKind, Visit
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace
from lycosa.store.read import RecordLost, Version, connect, page_at, response_of_visit, versions
from lycosa.url.canonical import FETCHED, Rejection, parse_seed
from lycosa.wiring.worker import page_parser

MAX_LINKS, MAX_VERSIONS = 25, 50
MAX_TEXT_CHARACTERS = 50_000
# Longer texts are compared as far as this: the time it takes grows with the square.
MAX_COMPARED_LINES = 2_000
_LINKS_OUT = """
SELECT DISTINCT target, anchor, rel FROM links
WHERE source = ? AND fetched_at = (SELECT max(fetched_at) FROM links WHERE source = ?) LIMIT ?
"""
_LINKS_IN = "SELECT DISTINCT source, anchor, rel FROM links WHERE target = ? AND source <> target ORDER BY 1 LIMIT ?"


def page(place: Path | ObjectPlace, frontier: str | None, asked: str, old: str, new: str) -> Html:
    """All that a crawl knows of a URL; `old` and `new` are the numbers of two versions to compare."""
    with opened_crawl(place, frontier) as crawl:
        url = _canonical(asked)
        # Of what is no URL no frontier is asked.
        is_told = crawl.view is not None or isinstance(parse_seed(asked), Rejection)
        answer = explain(crawl, asked, time.time()) if is_told else _told_by_tables(crawl, url)
        return text(
            tag("h1", answer.url),
            _became(answer),
            _of_folder(crawl.folder, url, old, new) if crawl.folder else None,
        )


def _canonical(asked: str) -> str:
    parsed = parse_seed(asked, FETCHED)
    return asked if isinstance(parsed, Rejection) else parsed.url


def _became(answer: Answer) -> Html:
    parsed = parse_seed(answer.url, FETCHED)
    host = None if isinstance(parsed, Rejection) else host_link(parsed.host)
    sources = [
        tag("li", url_link(source.url), f" ({source.rel})" if source.rel else "") for source in answer.linked_from
    ]
    return card(
        "What became of it",
        tag("p", tag("strong", answer.sentence)),
        facts([("page", outside(answer.url)), ("host", host), ("state", answer.state), *answer.facts]),
        table(
            ("whether and when", "says", "counts"),
            [(each.name, each.says, each.weight) for each in answer.inputs],
            caption="What decides whether and when it is visited",
        )
        if answer.inputs
        else None,
        [tag("h3", "Linked from"), tag("ul", sources)] if sources else None,
    )


def _told_by_tables(crawl: OpenedCrawl, url: str) -> Answer:
    """What became of a URL where nobody has the frontier: what its last visit says. Raises `SettingsError`."""
    visits = versions(crawl.folder, url) if crawl.folder else []
    if not visits:
        raise SettingsError(f"{url}: no visit of it is in the tables, and the frontier of this crawl is not at hand")
    last = visits[-1]
    why = sentence_of(last.reason, last.detail)
    sentence = f"Its last visit, at {moment(last.fetched_at)}, ended as {last.outcome.name.lower()}"
    return Answer(url, "visited", f"{sentence}: {why}." if why else f"{sentence}.", [])


def _of_folder(folder: CrawlFolder, url: str, old: str, new: str) -> Html:
    visits = versions(folder, url)
    with connect(folder) as connection:
        out = connection.execute(_LINKS_OUT, [url, url, MAX_LINKS]).fetchall()
        into = connection.execute(_LINKS_IN, [url, MAX_LINKS]).fetchall()
    kept = page_at(folder, url)
    return text(
        _versions(url, visits) if visits else None,
        _difference(folder, url, visits, old, new),
        _text(folder, kept) if kept else None,
        tag(
            "div",
            card("Links in", _links(into, "Pages that link here"), note=_cut(into)),
            card("Links out", _links(out, "Where this page leads"), note=_cut(out)),
            class_="pair",
        ),
    )


def _cut(rows: list[tuple[str, str, str]]) -> str:
    return f"The first {MAX_LINKS}." if len(rows) == MAX_LINKS else ""


def _links(rows: list[tuple[str, str, str]], caption: str) -> Html:
    return table(("URL", "anchor", "rel"), [(url_link(url), anchor, rel) for url, anchor, rel in rows], caption=caption)


def _versions(url: str, visits: list[Visit]) -> Html:
    rows = []
    for number, visit in islice(reversed(list(enumerate(visits))), MAX_VERSIONS):
        before = number - 1
        compare = (
            link(f"/url?{urlencode({'url': url, 'old': before, 'new': number})}#diff", "compare") if number else ""
        )
        rows.append(
            (
                f"{number}",
                moment(visit.fetched_at),
                visit.outcome.name.lower(),
                visit.status or None,
                size(visit.body_bytes),
                duration(visit.fetch_seconds),
                sentence_of(visit.reason, visit.detail) or (f"duplicate of {visit.original}" if visit.original else ""),
                compare,
                kept_link(url, number) if visit.warc_offset >= 0 else "",
            )
        )
    columns = ("version", "at", "outcome", "status", "size", "took", "note", "with the one before", "response")
    return card("Versions", table(columns, rows, caption="All visits, the newest first"))


def _difference(folder: CrawlFolder, url: str, visits: list[Visit], old: str, new: str) -> Html | None:
    if not (old.isdecimal() and new.isdecimal()):
        return None
    if max(int(old), int(new)) >= len(visits):
        raise SettingsError(f"{url}: there are {len(visits):,} versions")
    before, after = (
        _text_at(folder, url, visits[int(number)]).splitlines()[:MAX_COMPARED_LINES] for number in (old, new)
    )
    changed = list(unified_diff(before, after, lineterm="", n=2))[2:]
    kinds = {"+": "added", "-": "removed", "@": "place"}
    body = [tag("span", lines(line), "\n", class_=kinds.get(line[:1])) for line in changed]
    return tag(
        "div",
        card(
            f"What changed from version {old} to {new}",
            tag("pre", body, class_="diff", tabindex="0") if body else tag("p", "nothing in its text", class_="none"),
            key="difference",
        ),
        id="diff",
    )


def _text_at(folder: CrawlFolder, url: str, visit: Visit) -> str:
    version = page_at(folder, url, visit.fetched_at)
    return text_of(folder, version) if version else ""


def _text(folder: CrawlFolder, version: Version) -> Html:
    visit, body = version.visit, text_of(folder, version)
    where = f"{visit.warc_file} at {visit.warc_offset:,}" if visit.warc_offset >= 0 else ""
    about = facts(
        [
            ("title", visit.title),
            ("language", visit.language),
            ("description", visit.description),
            ("author", visit.author),
            ("published", visit.published),
            ("duplicate of", url_link(visit.original) if visit.outcome is OutcomeKind.DUPLICATE else ""),
            ("type", f"{visit.media_type or 'not given'}, {visit.charset or 'no charset'}"),
            ("use", visit.usage),
            ("kept in", where),
        ]
    )
    cut = f"The first {MAX_TEXT_CHARACTERS:,} of {len(body):,} characters." if len(body) > MAX_TEXT_CHARACTERS else ""
    words = tag("pre", lines(body[:MAX_TEXT_CHARACTERS]), class_="words", tabindex="0")
    return card("Text", about, words if body else tag("p", "no text", class_="none"), note=cut)


def text_of(folder: CrawlFolder, version: Version) -> str:
    """The text of a version; while only the journal has it, it is read again out of its record."""
    if version.text is not None:
        return version.text
    try:
        response = response_of_visit(folder, version.visit)
    except RecordLost:
        return ""
    if response is None:
        return ""
    parser = page_parser(folder_settings(folder))
    page = parser.parse(response.body, response.header("content-type"), url=version.visit.url)
    return "" if page.noindex else page.text
