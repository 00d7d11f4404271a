"""What the browser has brought, by host and kind of page: from that follows for which pages it is asked again.

A worker keeps it for the hosts it visits. It need not survive: a few pages teach it anew.
"""

from __future__ import annotations

from collections import OrderedDict

from lycosa.model import Page, RenderCause
from lycosa.url.template import template_of

MAX_LESSONS = 20_000
# So many pages of a template, or of a whole host, for which the browser did nothing: it is left alone then, but for
# one in so many pages.
TRIES_PER_TEMPLATE, TRIES_PER_HOST, LOOK_AGAIN_EVERY = 2, 6, 50
# What makes a rendered page worth more than the fetched one: so much text, and that share of what was there before.
MIN_GAINED_CHARS, MIN_GAINED_SHARE = 20, 0.1


class Lesson:
    """How often pages of a kind were rendered, and how often that brought something.

    `plain` are those that did not look as if they needed it.
    """

    __slots__ = ("gained", "passed", "plain_gained", "plain_tried", "tried")

    def __init__(self) -> None:
        self.tried = self.gained = self.passed = 0
        self.plain_tried = self.plain_gained = 0

    @property
    def helps_plain_pages(self) -> bool:
        """Whether also pages that look whole are worth a try: among those that are empty, others may be just pages."""
        if self.plain_tried < TRIES_PER_TEMPLATE:
            return self.gained > 0
        return 2 * self.plain_gained >= self.plain_tried


class Lessons:
    """Bounded: what was not needed for longest is forgotten first."""

    def __init__(self) -> None:
        self._lessons: OrderedDict[str, Lesson] = OrderedDict()

    def decide(self, host: str, path_and_query: str, cause: RenderCause | None) -> RenderCause | None:
        """Why a page is rendered, given what it looks like; `STATIC` or None if it is not."""
        if cause is None:
            known = self._known(_template(host, path_and_query))
            return RenderCause.LEARNT if known and known.helps_plain_pages else None
        if self.has_gained(host, path_and_query):
            return cause
        lesson, of_host = self._known(_template(host, path_and_query)), self._known(host)
        for known, tries in ((lesson, TRIES_PER_TEMPLATE), (of_host, TRIES_PER_HOST)):
            if known and known.tried >= tries and not known.gained:
                known.passed += 1
                if known.passed % LOOK_AGAIN_EVERY:
                    return RenderCause.STATIC
        return cause

    def has_gained(self, host: str, path_and_query: str) -> bool:
        """Whether the browser has brought something for pages of this kind, more often than not."""
        lesson = self._known(_template(host, path_and_query))
        return lesson is not None and lesson.gained > 0 and 2 * lesson.gained >= lesson.tried

    def learn(self, host: str, path_and_query: str, *, has_gained: bool, is_plain: bool = False) -> None:
        """A page was rendered, to this end."""
        for key in (_template(host, path_and_query), host):
            lesson = self._lessons.setdefault(key, Lesson())
            self._lessons.move_to_end(key)
            lesson.tried += 1
            lesson.gained += has_gained
            lesson.plain_tried += is_plain
            lesson.plain_gained += is_plain and has_gained
        while len(self._lessons) > MAX_LESSONS:
            self._lessons.popitem(last=False)

    def _known(self, key: str) -> Lesson | None:
        lesson = self._lessons.get(key)
        if lesson:
            self._lessons.move_to_end(key)
        return lesson


def has_gained(fetched: Page, rendered: Page) -> bool:
    """Whether a browser made more of a page than was in it: text that was not there, or links."""
    hrefs = {link.href for link in fetched.links}
    if any(link.href not in hrefs and _leads_somewhere(link.href) for link in rendered.links):
        return True
    lines = set(fetched.text.splitlines())
    gained = sum(len(line) for line in rendered.text.splitlines() if line not in lines)
    return gained >= max(MIN_GAINED_CHARS, MIN_GAINED_SHARE * len(fetched.text))


def _leads_somewhere(href: str) -> bool:
    return not href.lstrip().lower().startswith(("#", "javascript:", "mailto:", "tel:", "data:", "blob:"))


def _template(host: str, path_and_query: str) -> str:
    return host + template_of(path_and_query)
