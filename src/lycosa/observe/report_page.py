"""The report as one HTML page: no scripts, nothing loaded from anywhere, every word of a page escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import accumulate
from pathlib import Path

from lycosa.inspect.link_graph import HostGraph
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration
from lycosa.observe import report_svg as svg
from lycosa.observe.host_picture import NARROW, WIDE, host_picture
from lycosa.observe.report_figures import Figures, Share, Skip, TroubledHost

# A browser runs and loads nothing, whatever an error in the escaping would let through.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = Path(__file__).with_name("report.css")
_OUTCOME_CLASSES = {
    "stored": "bar good",
    "duplicate": "bar",
    "unchanged": "bar",
    "moved": "bar",
    "read": "bar rest",
    "refused": "bar warn",
    "failed": "bar bad",
    "crashed": "bar bad",
}


def render(figures: Figures, graph: HostGraph | None = None) -> str:
    """The whole page."""
    sections = [
        _head(figures),
        _tiles(figures),
        _course(figures),
        _kept_up(figures),
        _pair(
            _card(
                "How visits ended",
                svg.rows(figures.outcomes, title="Outcomes", classes=_OUTCOME_CLASSES) if figures.outcomes else "",
                "“read” are robots.txt files and sitemaps.",
            ),
            _card("Status codes", _bars(figures.statuses, "Statuses", _status_classes(figures.statuses))),
        ),
        _listed(
            "What was skipped or failed, and why",
            ("count", "outcome", "reason"),
            _skips(figures),
        ),
        _pair(
            _card("Hosts by pages", _bars(figures.hosts, "Hosts by pages")),
            _card("Depth", _columns(figures.depths, "Depth"), "Links away from a seed; sitemap entries count as 1."),
        ),
        _pair(
            _card("Fetch times", _columns(figures.fetch_times, "Fetch times")),
            _card("Body sizes", _columns(figures.body_sizes, "Body sizes"), "Without content codings."),
        ),
        _pair(
            _listed(
                "Hosts with most failures",
                ("host", "failed", "visits", "mostly"),
                _troubled(figures),
            ),
            _listed("Slowest hosts", ("host", "fetches", "median", "longest"), _slow(figures)),
        ),
        _pair(
            _listed(
                "Longest queues left",
                ("host", "queued", "visits", "failures in a row"),
                _queues(figures),
            ),
            _listed("Most copied pages", ("original", "copies"), figures.duplicates),
        ),
        _pair(
            _card("Languages", _bars(figures.languages, "Languages"), "As the pages declare them."),
            _card("Character sets", _bars(figures.charsets, "Character sets")),
        ),
        _card("Media types", _bars(figures.media_types, "Media types")),
        _hosts(graph) if graph else "",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Crawl report: {escape(Path(figures.folder).name)}</title>\n"
        f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


# ---- parts of the page


def _head(figures: Figures) -> str:
    course = figures.course
    when = f"{_moment(course.started_at)} to {_moment(course.ended_at)}" if course.pages else "no page was kept"
    return (
        f"<header><h1>Crawl report</h1><p>{escape(figures.folder)}<br>{when}, written {_moment(figures.written_at)}"
        f"</p><p class='state {_state_class(figures)}'>{_state(figures)}</p>{_lack(figures)}</header>"
    )


def _lack(figures: Figures) -> str:
    happened = [f"{_moment(each.at)}: {each.sentence}" for each in figures.incidents]
    lines = filter(None, (figures.missing, *happened))
    return "".join(f"<p class='state warn'>{escape(line)}</p>" for line in lines)


def _state(figures: Figures) -> str:
    counts = figures.counts
    dropped = f"; {counts.dropped:,} times a URL was dropped from a full queue" if counts.dropped else ""
    if counts.queued or counts.delayed:
        return f"{counts.queued:,} URLs are still queued, {counts.delayed:,} wait for a retry{dropped}"
    return f"Everything known has been visited{dropped}" if counts.known else "The frontier was kept in memory"


def _state_class(figures: Figures) -> str:
    return "warn" if figures.counts.queued or figures.counts.delayed or figures.counts.dropped else "good"


def _tiles(figures: Figures) -> str:
    outcomes = dict(figures.outcomes)
    pages = sum(outcomes.get(name, 0) for name in ("stored", "duplicate", "unchanged"))
    failed = outcomes.get("failed", 0) + outcomes.get("crashed", 0)
    seconds = figures.course.seconds
    tiles = [
        (f"{pages:,}", "pages", f"{outcomes.get('duplicate', 0):,} of them duplicates"),
        (f"{figures.counts.hosts:,}", "hosts", f"{figures.counts.known:,} URLs known"),
        (_duration(seconds), "from first to last page", f"{pages / seconds:,.1f} pages/s" if seconds else ""),
        (_size(figures.body_bytes), "of bodies", f"{_size(figures.body_bytes / pages)} a page" if pages else ""),
        (_duration(figures.median_seconds), "median fetch", f"{figures.visits:,} visits"),
        *_harvest(figures),
        (f"{failed / figures.visits:.1%}" if figures.visits else "0 %", "of visits failed", f"{failed:,} visits"),
    ]
    inner = "".join(
        f"<div><b>{number}</b><span>{word}</span><small>{note}</small></div>" for number, word, note in tiles
    )
    return f'<section class="tiles">{inner}</section>'


def _harvest(figures: Figures) -> list[tuple[str, str, str]]:
    """Of a crawl with a topic, how many of the pages are on it."""
    counts = figures.counts
    return [(f"{counts.harvest:.1%}", "on topic", f"{counts.on_topic:,} pages")] if counts.on_topic else []


def _course(figures: Figures) -> str:
    course = figures.course
    if not course.pages:
        return ""
    ends = (_moment(course.started_at), f"{_moment(course.ended_at)} ({_duration(course.seconds)} later)")
    rates = [pages / course.bucket_seconds for pages in course.pages]
    return _pair(
        _card("Pages over time", svg.area(list(accumulate(course.pages)), title="Pages over time", ends=ends)),
        _card("Pages per second", svg.area(rates, title="Pages per second", ends=ends)),
    )


def _kept_up(figures: Figures) -> str:
    """How fresh the collection is and how much of the web it covers, as far as either was asked for."""
    cards = [card for card in (_freshness(figures), _coverage(figures)) if card]
    return _pair(*cards) if len(cards) == 2 else "".join(cards)


def _freshness(figures: Figures) -> str:
    if (fresh := figures.freshness) is None:
        return ""
    rows = [
        ("pages that are up to date", f"{fresh.fresh:.1%}", f"{fresh.fresh_by_importance:.1%}"),
        ("age", duration(fresh.age_seconds), duration(fresh.age_by_importance)),
    ]
    note = (
        f"As believed, by {fresh.pages:,} pages. Age: for how long a copy has not been the page as it is. "
        "What is new and what changed: lycosa changes --since TIME."
    )
    return _card("Freshness", _table(("", "each page alike", "by importance"), rows), note)


def _coverage(figures: Figures) -> str:
    if (coverage := figures.coverage) is None:
        return ""
    lines = [
        ("pages", [0.0, *(100 * row.pages for row in coverage.course)]),
        ("PageRank", [0.0, *(100 * row.page_rank for row in coverage.course)]),
        ("HITS authority", [0.0, *(100 * row.authority for row in coverage.course)]),
    ]
    last = coverage.course[-1]
    plot = svg.curves(lines, title="Coverage", ends=("0 s", duration(last.seconds)))
    return _card(
        "Coverage, in % of what there is to find",
        plot,
        f"Of {coverage.targets:,} pages, {coverage.of}: found {last.pages:.1%}, with {last.page_rank:.1%} of their "
        f"PageRank and {last.authority:.1%} of their authority. Measured by lycosa graph --coverage.",
    )


def _skips(figures: Figures) -> list[tuple[int, str, str]]:
    return [(each.visits, each.outcome, _why(each) or "no reason given") for each in figures.skips]


def _troubled(figures: Figures) -> list[tuple[str, int, int, str]]:
    return [(each.host, each.failures, each.visits, _why(each)) for each in figures.troubled]


def _why(each: Skip | TroubledHost) -> str:
    return sentence_of(each.reason, str(each.status or ""))


def _slow(figures: Figures) -> list[tuple[str, int, str, str]]:
    return [
        (each.host, each.fetches, _duration(each.median_seconds), _duration(each.max_seconds)) for each in figures.slow
    ]


def _queues(figures: Figures) -> list[tuple[str, int, int, int]]:
    return [(each.host, each.queued, each.visits, each.failures) for each in figures.queues]


def _status_classes(statuses: Sequence[Share]) -> dict[str, str]:
    kinds = {"2": "bar good", "3": "bar", "4": "bar warn", "5": "bar bad"}
    return {status: kinds.get(status[:1], "bar") for status, _ in statuses}


def _hosts(graph: HostGraph) -> str:
    """Who links to whom, drawn twice like all plots; nothing of a crawl of one host."""
    if len({host for link in graph.links for host in link[:2]}) < 2:
        return ""
    drawn = "".join(
        f'<div class="{name}">{host_picture(graph.links, frame, style="")}</div>'
        for name, frame in (("wide", WIDE), ("narrow", NARROW))
    )
    sample = f" Of the newest {graph.share:.0%} of all links." if graph.share < 1 else ""
    return _card("Hosts and their links", drawn, f"A larger circle is linked to by more from other hosts.{sample}")


# ---- pieces


def _bars(shares: Sequence[Share], title: str, classes: dict[str, str] | None = None) -> str:
    return svg.rows(shares, title=title, classes=classes) if shares else ""


def _columns(shares: Sequence[Share], title: str) -> str:
    return svg.columns(shares, title=title) if shares else ""


def _pair(left: str, right: str) -> str:
    return f'<div class="pair">{left}{right}</div>'


def _card(title: str, content: str, note: str = "") -> str:
    below = f"<p class='note'>{escape(note)}</p>" if note and content else ""
    return f"<section><h2>{escape(title)}</h2>{content or '<p class=none>none</p>'}{below}</section>"


def _listed(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A part of the page that is a table."""
    return _card(title, _table(columns, rows, caption=title))


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    rows = list(rows)
    if not rows:
        return ""
    kinds = [" class=n" if isinstance(value, int) else "" for value in rows[0]]
    head = "".join(f"<th{kind}>{escape(column)}</th>" for column, kind in zip(columns, kinds, strict=True))
    lines = []
    for row in rows:
        cells = (f"<td{kind}>{_cell(value)}</td>" for value, kind in zip(row, kinds, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    table = f"<table>{named}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    # What can be moved aside can be reached by the keyboard.
    label = escape(caption or ", ".join(filter(None, columns)))
    return f"<div class='scroll' tabindex='0' role='region' aria-label='{label}'>{table}</div>"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


# ---- values


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 120 else f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
