"""Finite parts of sites that have an endless one too: three kinds of 480 ordinary pages each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .site import Answer, Answering, At, Frame, links, match, pager
from .words import drawing, paragraphs, proper, rare, slug, title


@dataclass(frozen=True)
class Part:
    """A finite part: whose it is, how it answers, the pattern of its pages, and their paths."""

    name: str
    answer: Answering
    good: str
    paths: Sequence[str]

    @property
    def total(self) -> int:
        """How many pages there are."""
        return len(self.paths)


def journal(frame: Frame, extra: Callable[[At], str] = lambda at: "") -> Part:
    """Sections with articles that lead to related ones; `extra` stands at the end of every page."""
    name, sections, last, each = frame.name, 8, 6, 10
    paths = [f"/articles/{slug(3, name, number)}-{number}" for number in range(sections * last * each)]
    numbers = {path: number for number, path in enumerate(paths)}
    frame.sections = {
        f"Section {section}": f"/section/{section}?page=1" for section in range(sections)
    } | frame.sections

    def teasers(shown: Sequence[int]) -> str:
        return links([(paths[number], title(5, name, number)) for number in shown])

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Today", teasers(range(0, len(paths), 50)) + extra(at))
        if (found := match(r"/section/(\d)", at.path)) and int(found[0]) < sections and 0 < at.number <= last:
            start = (int(found[0]) * last + at.number - 1) * each
            steps = pager(f"/section/{found[0]}?page=", at.number, last)
            return frame.page(f"Section {found[0]}", teasers(range(start, start + each)) + steps + extra(at))
        if (number := numbers.get(at.path)) is None:
            return None
        related = [drawing(name, "related", number, other).randrange(len(paths)) for other in range(4)]
        body = f"<article><p>By {proper(name, number % 20)}</p>{paragraphs(130, name, number)}</article>\n"
        return frame.page(title(5, name, number), body + teasers(related) + extra(at))

    return Part(name, answer, r"/articles/[a-z0-9-]+", paths)


def handbook(frame: Frame, extra: Callable[[At], str] = lambda at: "") -> Part:
    """Parts, chapters and pages, each with links to its neighbours."""
    name, width = frame.name, (6, 8, 10)
    parts = [f"{word}{number}" for number, word in enumerate(rare(width[0], name, "parts"))]
    chapters = [f"/handbook/{part}/{word}{number}" for part in parts for number, word in enumerate(rare(8, name, part))]
    paths = [f"{chapter}/page-{number}" for chapter in chapters for number in range(width[2])]
    frame.sections = {part.capitalize(): f"/handbook/{part}" for part in parts} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page(
                "Handbook", paragraphs(70, name) + links([(f"/handbook/{part}", part) for part in parts]) + extra(at)
            )
        if at.path.removeprefix("/handbook/") in parts:
            shown = [(chapter, chapter.rpartition("/")[2]) for chapter in chapters if chapter.startswith(f"{at.path}/")]
            return frame.page(f"Part {at.path[10:]}", links(shown) + extra(at))
        if at.path in chapters:
            return frame.page(
                "Chapter", links([(f"{at.path}/page-{number}", f"Page {number}") for number in range(10)]) + extra(at)
            )
        found = match(r"(.+)/page-(\d)", at.path)
        if not found or found[0] not in chapters:
            return None
        number = int(found[1])
        near = [(f"page-{other}", f"Page {other}") for other in (number - 1, number + 1) if 0 <= other < width[2]]
        body = paragraphs(110, name, at.path) + links([*near, (found[0], "Chapter")])
        return frame.page(title(4, name, at.path), body + extra(at))

    return Part(name, answer, r"/handbook/\w+/\w+/page-\d", paths)


def shop(frame: Frame, extra: Callable[[At], str] = lambda at: "") -> Part:
    """Shelves of products with short descriptions."""
    name, shelves, last, each = frame.name, 10, 4, 12
    paths = [f"/product/{1000 + number}" for number in range(shelves * last * each)]
    frame.sections = {f"Shelf {shelf}": f"/shelf/{shelf}?page=1" for shelf in range(shelves)} | frame.sections

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Shop", links([(path, title(3, name, path)) for path in paths[::40]]) + extra(at))
        if (found := match(r"/shelf/(\d)", at.path)) and 0 < at.number <= last:
            start = (int(found[0]) * last + at.number - 1) * each
            shown = links([(path, title(3, name, path)) for path in paths[start : start + each]])
            return frame.page(
                f"Shelf {found[0]}", shown + pager(f"/shelf/{found[0]}?page=", at.number, last) + extra(at)
            )
        if at.path not in paths:
            return None
        also = [(path, title(3, name, path)) for path in drawing(name, at.path).sample(paths, 3)]
        body = f"<p>{drawing(at.path).randint(100, 9999) / 100}</p>{paragraphs(50, name, at.path)}"
        return frame.page(title(3, name, at.path), body + links(also) + extra(at))

    return Part(name, answer, r"/product/\d+", paths)
