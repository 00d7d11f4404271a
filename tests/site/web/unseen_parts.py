"""Finite parts for endless sites that the rules were not fitted to: five other kinds, of 300 to 1,200 pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .parts import Part
from .site import Answer, At, Frame, links, match, pager
from .words import drawing, paragraphs, proper, rare, slug, text, title

Extra = Callable[[At], str]


def nothing(at: At) -> str:
    """What stands at the end of a page without more."""
    return ""


def wiki(frame: Frame, total: int = 700, extra: Extra = nothing) -> Part:
    """Articles that lead to others, the popular ones most, and lists of all of them."""
    name, each = frame.name, 50
    paths = [f"/wiki/{slug(1, name, number).capitalize()}_{number}" for number in range(total)]
    numbers = {path: number for number, path in enumerate(paths)}
    last = -(-total // each)
    frame.sections = {"All articles": "/contents?page=1"} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/contents") and 0 < at.number <= last:
            shown = paths[(at.number - 1) * each : at.number * each]
            listed = links([(path, path[6:]) for path in shown]) + pager("/contents?page=", at.number, last)
            return frame.page("All articles", listed + extra(at))
        if (number := numbers.get(at.path)) is None or at.query:
            return None
        chance = drawing(name, "leads", number)
        near = [paths[min(int(chance.paretovariate(0.6)), total - 1)] for _ in range(6)]
        body = paragraphs(chance.randint(60, 200), name, number) + links([(path, path[6:]) for path in near])
        return frame.page(title(2, name, number), body + extra(at))

    return Part(name, answer, r"/wiki/[A-Z][a-z]+_\d+", paths)


def registry(frame: Frame, total: int = 300, extra: Extra = nothing) -> Part:
    """Records by ids in queries, as old programs show them: some words and figures each."""
    name, each = frame.name, 25
    ids = [1 + 7 * number for number in range(total)]
    frame.sections = {"Register": "/list.php?start=0"} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Register", paragraphs(60, name) + extra(at))
        if at.path == "/list.php" and 0 <= (start := int(at.query.get("start", "0"))) < total:
            shown = [(f"/record.php?id={one}", proper(name, one)) for one in ids[start : start + each]]
            steps = [(f"/list.php?start={step}", "Further") for step in (start - each, start + each)]
            steps = [step for step in steps if 0 <= int(step[0].partition("=")[2]) < total]
            return frame.page("Register", links(shown + steps) + extra(at))
        if at.path != "/record.php" or int(at.query.get("id", "0")) not in ids:
            return None
        record = int(at.query["id"])
        body = (
            f"<dl><dt>Born</dt><dd>{drawing(name, record).randint(1700, 1999)}</dd></dl>{paragraphs(45, name, record)}"
        )
        return frame.page(proper(name, record), body + extra(at))

    return Part(name, answer, r"/record\.php\?id=\d+", [f"/record.php?id={each}" for each in ids])


def chronicle(frame: Frame, years: int = 4, extra: Extra = nothing) -> Part:
    """Posts by their dates, found by years and months: 25 in each month."""
    name = frame.name
    months = [f"/{2019 + year}/{month:02}" for year in range(years) for month in range(1, 13)]
    paths = [f"{month}/{slug(3, name, month, each)}" for month in months for each in range(25)]
    known = frozenset(paths)
    frame.sections = {"Chronicle": "/2019/"} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Newest", links([(path, title(4, path)) for path in paths[-10:]]) + extra(at))
        if (found := match(r"/(\d{4})/", at.path)) and f"/{found[0]}/01" in months:
            shown = [(f"{month}/", month[1:]) for month in months if month.startswith(f"/{found[0]}/")]
            other = [(f"/{2019 + year}/", str(2019 + year)) for year in range(years)]
            return frame.page(found[0], links(shown + other) + extra(at))
        if at.path.endswith("/") and at.path[:-1] in months:
            shown = [(path, title(4, path)) for path in paths if path.startswith(at.path)]
            return frame.page(at.path[1:-1], links(shown) + extra(at))
        if at.path not in known:
            return None
        body = f"<article><time>{at.path[1:8]}</time>{paragraphs(100, name, at.path)}</article>"
        return frame.page(title(4, at.path), body + extra(at))

    return Part(name, answer, r"/20\d\d/\d\d/[a-z-]+", paths)


def topics(frame: Frame, total: int = 450, extra: Extra = nothing) -> Part:
    """A board whose topics have two pages of letters each."""
    name, each = frame.name, 30
    last = total // each
    frame.sections = {"Board": "/board?page=1"} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/board") and 0 < at.number <= last:
            start = (at.number - 1) * each
            shown = [(f"/topic/{topic}", title(4, name, topic)) for topic in range(start, start + each)]
            return frame.page("Board", links(shown) + pager("/board?page=", at.number, last) + extra(at))
        found = match(r"/topic/(\d+)", at.path)
        if not found or int(found[0]) >= total or at.number not in (1, 2):
            return None
        letters = "".join(
            f"<div><b>{proper('member', letter % 40)}</b><p>{text(30, name, found[0], at.number, letter)}</p></div>\n"
            for letter in range(4)
        )
        other = [(f"/topic/{found[0]}?page=2", "2")] if at.number == 1 else [(f"/topic/{found[0]}", "1")]
        return frame.page(title(4, name, found[0]), letters + links(other) + extra(at))

    paths = [f"/topic/{topic}{page}" for topic in range(total) for page in ("", "?page=2")]
    return Part(name, answer, r"/topic/\d+(\?page=2)?", paths)


def dictionary(frame: Frame, total: int = 1000, extra: Extra = nothing) -> Part:
    """Short entries by their words, found by lists and by the entries near them."""
    name, each = frame.name, 100
    entries = sorted({word for number in range(2 * total) for word in rare(1, name, number)})[:total]
    places = {word: place for place, word in enumerate(entries)}
    last = len(entries) // each
    frame.sections = {"Words": "/words?page=1"} | frame.sections

    def shown(words: Sequence[str]) -> str:
        return links([(f"/define/{word}", word) for word in words])

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/words") and 0 < at.number <= last:
            listed = shown(entries[(at.number - 1) * each : at.number * each])
            return frame.page("Words", listed + pager("/words?page=", at.number, last) + extra(at))
        if (place := places.get(at.path.removeprefix("/define/"))) is None:
            return None
        body = f"<p>{text(25, name, place)}</p>" + shown(entries[max(0, place - 2) : place + 3])
        return frame.page(entries[place].capitalize(), body + extra(at))

    return Part(name, answer, f"/define/({'|'.join(entries)})", [f"/define/{word}" for word in entries])
