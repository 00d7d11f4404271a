"""Which pages are given to a browser: by what they look like, and by what it has made of others of their kind."""

from __future__ import annotations

import pytest

from lycosa.model import Page, RawLink, RenderCause
from lycosa.page.parser import PageParser
from lycosa.render.lessons import LOOK_AGAIN_EVERY, TRIES_PER_HOST, TRIES_PER_TEMPLATE, Lessons, has_gained
from lycosa.render.need import has_scripts, need_of
from lycosa.settings import Settings

from .. import suites

WORDS = "Nobody who has seen the harbour in the morning forgets the colour of its boats. "
MENU = "".join(f'<a href="/{name}">{name}</a> ' for name in ("home", "news", "about", "contact", "legal"))
STATISTICS = "<script async src=/stats.js></script><script>window.dataLayer = []; stats('page');</script>"


def need(html: str, content_type: str = "text/html") -> RenderCause | None:
    page = PageParser(Settings(), "lycosa").parse(html.encode(), content_type, url="http://a.test/")
    return need_of(content_type, html.encode(), page)


@pytest.mark.parametrize(
    ("html", "cause"),
    [
        ('<div id="root"></div><script src=/a.js></script>', RenderCause.EMPTY_ROOT),
        ('<div class="x" id=app>\n<!-- here --> </div><script type=module src=/a.js></script>', RenderCause.EMPTY_ROOT),
        ('<div id="root"><div class="spinner"></div></div><script src=/a.js></script>', RenderCause.NO_TEXT),
        ("<app-root></app-root><script src=/main.js type=module></script>", RenderCause.EMPTY_ROOT),
        (f'{MENU}<div id="__next"></div><script src=/a.js></script>', RenderCause.EMPTY_ROOT),
        (
            f"{MENU}<noscript>You need to enable JavaScript to run this app.</noscript><script src=/a.js></script>",
            RenderCause.NOSCRIPT,
        ),
        ("<p>Loading…</p><script src=/a.js></script>", RenderCause.NO_TEXT),
        (
            "<h1>All that we have</h1><p>One moment, please.</p><ul></ul><script src=/a.js></script>",
            RenderCause.NO_TEXT,
        ),
        (
            f'<p>{WORDS * 8}</p><div id="root"></div><p>We use cookies.</p><script src=/a.js></script>',
            RenderCause.EMPTY_ROOT,
        ),
        (f"{MENU}<script>{'draw(1); ' * 500}</script>", RenderCause.SCRIPTS),
    ],
)
def test_pages_that_are_empty_without_scripts(html: str, cause: RenderCause) -> None:
    assert need(f"<!doctype html><html><head><title>t</title></head><body>{html}</body></html>") is cause


@pytest.mark.parametrize(
    "html",
    [
        "<p>Loading…</p>",
        '<div id="root"></div>',
        f"{MENU}<p>{WORDS}</p>{STATISTICS}",
        f"{MENU}<p>{WORDS * 30}</p>{STATISTICS}",
        f'{MENU}<div id="root"><p>{WORDS * 10}</p></div><script>hydrate({"1," * 600})</script>{STATISTICS}',
        f"{MENU}<p>{WORDS * 10}</p><noscript>This map needs JavaScript.</noscript>{STATISTICS}",
        f"{MENU}<p>Not found.</p>{STATISTICS}",
        f"<h1>Thank you</h1><p>We have your letter, and will answer.</p>{STATISTICS}",
        f"{MENU}<p>{WORDS * 9}</p><script>{'track(1); ' * 1000}</script>",
        f'{MENU}<p>{WORDS}</p><script type="application/ld+json">{"{}" * 2000}</script>',
        f'{MENU}<p>{WORDS}</p><script type="text/template">{"<p>" * 2000}</script>',
        f'{MENU}<noscript><img src="/pixel"></noscript><p>{WORDS}</p>{STATISTICS}',
    ],
)
def test_ordinary_pages_start_no_browser(html: str) -> None:
    assert need(f"<!doctype html><html><head><title>t</title></head><body>{html}</body></html>") is None


def test_hardly_any_page_of_the_open_web_starts_the_browser() -> None:
    """Pages of all kinds, as they were fetched, from the sets that main content is measured on."""
    parser, pages, started = PageParser(Settings(), "lycosa"), 0, []
    for place in sorted({path.parent.name for path in suites.COPIES.glob("extraction/*/html.jsonl.xz")}):
        for row in suites.pages(place):
            html = row["html"].encode()
            page = parser.parse(html, "text/html; charset=utf-8", url="http://a.test/")
            pages += 1
            if need_of("text/html", html, page):
                started.append((place, len(page.text)))
    assert pages >= 120
    assert len(started) <= 0.05 * pages
    assert [each for each in started if each[1] > 0] == [], "those that do are empty"


SCRIPT = "<script src=/a.js></script>"


@pytest.mark.parametrize(
    "body",
    [
        "<div id=root>" + "<!---->" * 60 + "x",
        "<div>" + "<!-- -->" * 60 + "x",
        "<div id=root>" + " " * 200_000,
        "<div " * 40_000,
        "<div id=r" * 40_000,
        "<a-b " * 40_000,
        "<a-a-a-a-a-a-a-a-a-a-a-a-a-a" * 10_000,
        "<noscript>java" * 20_000,
        "<script " * 40_000,
        "<script type=" * 20_000,
        "<" * 300_000,
    ],
)
def test_no_page_keeps_us_looking(body: str) -> None:
    """A matcher that tries all ways would look at some of these for years."""
    nothing = Page("", "", "", [])
    need_of("text/html", (SCRIPT + body).encode(), nothing)
    has_scripts(body.encode())


@pytest.mark.parametrize(
    ("html", "is_one"),
    [
        ("<div id=root></div>", True),
        ("<DIV class=a id='app' data-x=y>\n<!-- a - b -- c -->\t<!----></DIV>", True),
        ("<div id=root>One moment</div>", True),
        ("<div id=root><p>Here</p></div>", False),
        ("<div id=rooted></div>", False),
        ("<section id=main></div>", False),
        ("<x-app></x-app>", True),
        ("<x-app></y-app>", False),
    ],
)
def test_where_applications_put_themselves(html: str, *, is_one: bool) -> None:
    cause = need_of("text/html", (SCRIPT + html).encode(), Page("", "", "x" * 100, [RawLink("/a", "", "")] * 3))
    assert (cause is RenderCause.EMPTY_ROOT) is is_one


def test_only_html_is_rendered() -> None:
    assert need('{"a": "<div id=root></div><script src=/a.js></script>"}', "application/json") is None
    assert need("<div id=root></div><script src=/a.js></script>", "text/plain") is None


def test_data_is_no_script() -> None:
    assert not has_scripts(b'<script type="application/json">{}</script>')
    assert has_scripts(b"<SCRIPT SRC=a.js></SCRIPT>")
    assert has_scripts(b'<script type="module">go()</script>')
    assert has_scripts(b"<script>go()")


def page(text: str, *hrefs: str) -> Page:
    return Page("", "", text, [RawLink(href, "", "") for href in hrefs])


@pytest.mark.parametrize(
    ("rendered", "gained"),
    [
        (page(WORDS, "/a"), False),
        (page(f"{WORDS}\nAccept cookies", "/a", "#top", "javascript:void(0)", "mailto:a@b.test"), False),
        (page("", "/a"), False),
        (page(WORDS, "/a", "/b"), True),
        (page(f"{WORDS}\n{'More than there was before. ' * 4}", "/a"), True),
    ],
)
def test_what_counts_as_a_gain(rendered: Page, gained: bool) -> None:
    assert has_gained(page(WORDS, "/a"), rendered) is gained


def test_pages_of_a_kind_for_which_it_did_nothing_are_left_alone_but_for_samples() -> None:
    lessons, decisions = Lessons(), []
    for number in range(200):
        cause = lessons.decide("a.test", f"/item/{number}", RenderCause.NO_TEXT)
        decisions.append(cause)
        if cause is not RenderCause.STATIC:
            lessons.learn("a.test", f"/item/{number}", has_gained=False)
    rendered = [number for number, cause in enumerate(decisions) if cause is RenderCause.NO_TEXT]
    assert rendered[:TRIES_PER_TEMPLATE] == list(range(TRIES_PER_TEMPLATE))
    assert len(rendered) == TRIES_PER_TEMPLATE + (200 - TRIES_PER_TEMPLATE) // LOOK_AGAIN_EVERY


def test_a_host_for_which_it_did_nothing_is_left_alone_whatever_its_pages_are_called() -> None:
    lessons = Lessons()
    for name in "abcdefghij"[:TRIES_PER_HOST]:
        assert lessons.decide("a.test", f"/{name}", RenderCause.NO_TEXT) is RenderCause.NO_TEXT
        lessons.learn("a.test", f"/{name}", has_gained=False)
    assert lessons.decide("a.test", "/z", RenderCause.NO_TEXT) is RenderCause.STATIC
    assert lessons.decide("b.test", "/z", RenderCause.NO_TEXT) is RenderCause.NO_TEXT


def test_pages_of_a_kind_for_which_it_did_something_are_rendered_whatever_they_look_like() -> None:
    lessons = Lessons()
    assert lessons.decide("a.test", "/item/1", None) is None
    lessons.learn("a.test", "/item/1", has_gained=True)
    assert lessons.decide("a.test", "/item/2", None) is RenderCause.LEARNT
    assert lessons.decide("a.test", "/item/2", RenderCause.NO_TEXT) is RenderCause.NO_TEXT
    assert lessons.decide("a.test", "/about", None) is None
    for number in range(3, 6):
        lessons.learn("a.test", f"/item/{number}", has_gained=False, is_plain=True)
    assert lessons.decide("a.test", "/item/9", None) is None, "what it did once was not of its kind"


def test_ordinary_pages_among_applications_of_their_kind_are_left_alone() -> None:
    """Every third page is an application; the others are what they look like."""
    lessons, started = Lessons(), 0
    for number in range(300):
        is_empty = number % 3 == 0
        cause = lessons.decide("a.test", f"/page/{number}", RenderCause.EMPTY_ROOT if is_empty else None)
        assert cause or not is_empty
        started += bool(cause) and not is_empty
        if cause:
            lessons.learn("a.test", f"/page/{number}", has_gained=is_empty, is_plain=cause is RenderCause.LEARNT)
    assert started == TRIES_PER_TEMPLATE
