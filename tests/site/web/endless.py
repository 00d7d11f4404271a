"""Sites with a part that has no end, beside a finite part of 480 ordinary pages that is to be found whole.

Most endless parts make their pages up from the path alone; a few count the requests, where that is the fault itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import count
from typing import Any
from urllib.parse import quote

from .good import MONTHS
from .parts import Part, handbook, journal, shop
from .site import (
    STATIC,
    Answer,
    Answering,
    At,
    Frame,
    Site,
    html,
    link,
    links,
    make_site,
    match,
    pager,
    redirect,
    sitemap_index,
    urlset,
    without,
)
from .words import drawing, fresh, hash_of, paragraphs, rare, slug, text, title

ENDLESS: dict[str, Callable[[], Site]] = {}


def endless(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    ENDLESS[make.__name__.replace("_", "-")] = make
    return make


def both(frame: Frame, part: Part, bottomless: Answering, pattern: str, **more: Any) -> Site:
    """A site of a finite part and an endless one, which is asked first."""

    def answer(at: At) -> Answer | None:
        return bottomless(at) or part.answer(at)

    return make_site(frame, answer, good=part.good, total=part.total, endless=pattern, **more)


def marked(answer: Answer, variable: str, href: str = '/[^"]*') -> Answer:
    """The page with a variable added to the query of its links."""

    def mark(found: re.Match[str]) -> str:
        return f'href="{found[1]}{"&amp;" if "?" in found[1] else "?"}{variable}"'

    return answer._replace(body=re.sub(f'href="({href})"', mark, answer.body.decode()).encode())


# Mazes


@endless
def maze_of_words() -> Site:
    """Random words in paths, new text on each page, and the navigation."""
    frame = Frame("maze-of-words", {"Stories": "/stories/"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not at.path.startswith("/stories/"):
            return None
        near = [f"/stories/{'/'.join(rare(2, at.path, each))}" for each in range(5)]
        return frame.page(title(4, at.path), paragraphs(120, at.path) + links([(path, path[9:]) for path in near]))

    return both(frame, part, bottomless, r"/stories/.*")


@endless
def maze_below_the_host() -> Site:
    """Pages below pages, with the navigation on each; every link is one level or none deeper."""
    frame = Frame("maze-below-the-host", {"Library": "/library/"})
    part = handbook(frame)

    def bottomless(at: At) -> Answer | None:
        if not at.path.startswith("/library/"):
            return None
        folder = at.path if at.path.count("/") < 6 else "/library/" + "/".join(rare(2, at.path)) + "/"
        near = [(f"{folder}{name}/", name) for name in fresh(4, at.path)]
        return frame.page(title(3, at.path), paragraphs(90, at.path) + links(near))

    return both(frame, part, bottomless, r"/library/.*")


@endless
def mazes_on_seven_subdomains() -> Site:
    """Mazes without navigation on other hosts of the domain, which lead to each other."""
    frame = Frame("mazes-on-seven-subdomains")
    hosts = [f"{slug(1, 'maze host', number)}{number}.{frame.domain}" for number in range(7)]
    part = journal(frame, lambda at: links([(f"http://{host}/", host.partition(".")[0]) for host in hosts]))

    def bottomless(at: At) -> Answer | None:
        if at.host not in hosts:
            return None
        chance = drawing("hosts", at.host, at.path)
        near = [(f"/{name}", name) for name in fresh(4, at.host, at.path)]
        near += [(f"http://{chance.choice(hosts)}/{name}", name) for name in fresh(2, at.path, at.host)]
        return html(title(3, at.host, at.path), paragraphs(100, at.host, at.path) + links(near))

    return both(frame, part, bottomless, r"\w+\d\.mazes-on-seven-subdomains\.test/.*", hosts=hosts)


@endless
def two_templates() -> Site:
    """Stories lead to galleries, and these to stories."""
    frame = Frame("two-templates", {"Stories": "/story/1"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/(story|gallery)/(\d+)", at.path)):
            return None
        other = "gallery" if found[0] == "story" else "story"
        near = [drawing(at.path, each).randrange(10**9) for each in range(3)]
        body = paragraphs(90, at.path) if found[0] == "story" else f"<figure>{text(12, at.path)}</figure>"
        return frame.page(title(3, at.path), body + links([(f"/{other}/{each}", title(2, each)) for each in near]))

    return both(frame, part, bottomless, r"/(story|gallery)/.*")


@endless
def relinker() -> Site:
    """Made-up pages that also lead back to seven earlier ones and to pages of the finite part."""
    frame = Frame("relinker", {"Archive": "/notes/1"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/notes/(\d+)", at.path)):
            return None
        number, chance = int(found[0]), drawing("relinker", at.path)
        earlier = [(f"/notes/{chance.randrange(max(1, number))}", "Earlier") for _ in range(7)]
        later = [(f"/notes/{number * 2 + each}", "Later") for each in (0, 1)]
        good = [(path, "Related") for path in chance.sample(part.paths, 3)]
        return frame.page(title(3, at.path), paragraphs(90, at.path) + links(earlier + later + good))

    return both(frame, part, bottomless, r"/notes/.*")


@endless
def growing_lists() -> Site:
    """Ten links on the first page, twenty on those behind it, then forty and so on."""
    frame = Frame("growing-lists", {"Index": "/index/0/all"})
    part = handbook(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/index/(\d+)/([\w-]+)", at.path)):
            return None
        level = int(found[0])
        near = [(f"/index/{level + 1}/{name}", name) for name in fresh(min(10 * 2**level, 640), at.path)]
        return frame.page(f"Index {found[1]}", f"<p>{text(30, at.path)}</p>" + links(near))

    return both(frame, part, bottomless, r"/index/.*")


@endless
def next_without_end() -> Site:
    """A chain of pages with new text each."""
    frame = Frame("next-without-end", {"Diary": "/diary/1"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/diary/(\d+)", at.path)):
            return None
        number = int(found[0])
        near = [(f"/diary/{number - 1}", "Previous")] if number > 1 else []
        near.append((f"/diary/{number + 1}", "Next"))
        return frame.page(f"Entry {number}", paragraphs(100, at.path) + links(near))

    return both(frame, part, bottomless, r"/diary/.*")


@endless
def nearly_the_same() -> Site:
    """One text in which a word or two change, and names drawn by lot."""
    frame = Frame("nearly-the-same", {"Services": "/services/all"})
    part = shop(frame)
    opening, closing = paragraphs(60, "services", 1), paragraphs(60, "services", 2)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/services/(\w+)(?:-\d+)?", at.path)):
            return None
        town = found[0].capitalize()
        own = f"<p>The best services in {town} for everybody in {town}.</p>"
        near = [(f"/services/{name}", "Services elsewhere") for name in fresh(6, at.path)]
        return frame.page(f"Services in {town}", opening + own + closing + links(near))

    return both(frame, part, bottomless, r"/services/.*")


# Calendars and archives


@endless
def calendar_in_numbers() -> Site:
    """Months before and after, for ever."""
    frame = Frame("calendar-in-numbers", {"Calendar": "/calendar/2024/05"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/calendar/(\d+)/(\d\d)", at.path)) or not 1 <= int(found[1]) <= 12:
            return None
        months = int(found[0]) * 12 + int(found[1]) - 1
        near = [
            (f"/calendar/{each // 12}/{each % 12 + 1:02}", words)
            for each, words in ((months - 1, "«"), (months + 1, "»"))
        ]
        days = " ".join(map(str, range(1, 31)))
        return frame.page(
            f"{MONTHS[months % 12]} {found[0]}", f"<p>{days}</p><p>No events this month.</p>" + links(near)
        )

    return both(frame, part, bottomless, r"/calendar/.*")


@endless
def calendar_in_words() -> Site:
    """Months by their names, with whole years before and after."""
    frame = Frame("calendar-in-words", {"Events": "/january-2024"})
    part = handbook(frame)
    names = [month.lower() for month in MONTHS]

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/([a-z]+)-(\d+)", at.path)) or found[0] not in names:
            return None
        months = int(found[1]) * 12 + names.index(found[0])
        near = [
            (f"/{names[each % 12]}-{each // 12}", names[each % 12])
            for each in (months - 12, months - 1, months + 1, months + 12)
        ]
        days = " ".join(f"{day} {found[0].capitalize()}" for day in range(1, 29))
        return frame.page(f"{found[0].capitalize()} {found[1]}", f"<p>{days}</p>" + links(near))

    return both(frame, part, bottomless, rf"/({'|'.join(names)})-\d+")


@endless
def any_year() -> Site:
    """An archive by days that lists what there is, and accepts every date."""
    frame = Frame("any-year", {"Archive": "/archive/2023"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/archive/(\d+)(?:/(\d\d))?(?:/(\d\d))?", at.path)):
            return None
        year, month, day = found
        near = [(f"/archive/{int(year) + step}" + (f"/{month}" if month else ""), "Other year") for step in (-1, 1)]
        if not month:
            near += [(f"/archive/{year}/{each:02}", MONTHS[each - 1]) for each in range(1, 13)]
        elif not day:
            near += [(f"/archive/{year}/{month}/{each:02}", str(each)) for each in range(1, 29)]
        posts = [hash_of(at.path, each) % part.total for each in range(2)] if year in ("2022", "2023") else []
        listed = (
            links([(part.paths[each], title(5, frame.name, each)) for each in posts]) if posts else "<p>No posts.</p>"
        )
        return frame.page(f"Archive of {at.path[9:]}", listed + links(near))

    return both(frame, part, bottomless, r"/archive/.*")


# Queries and paths that multiply

FACETS = {
    name: rare(6, "facet", name) for name in ("color", "size", "brand", "fit", "fabric", "season", "origin", "rating")
}


@endless
def facets_in_queries() -> Site:
    """Eight facets of six values, each of which may be added to what is chosen."""
    frame = Frame("facets-in-queries", {"Search": "/find"})
    part = shop(frame)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/find":
            return None
        chosen = {name: value for name, value in at.query.items() if name in FACETS}
        shown = _matching(part, chosen.items())
        more = [
            (
                "/find?" + "&".join(f"{each}={picked}" for each, picked in {**chosen, name: value}.items()),
                f"{name} {value}",
            )
            for name, values in FACETS.items()
            for value in values
        ]
        return frame.page("Search", shown + links(more))

    return both(frame, part, bottomless, r"/find.*")


@endless
def facets_in_paths() -> Site:
    """The same as segments of the path."""
    frame = Frame("facets-in-paths", {"Browse": "/browse/"})
    part = shop(frame)

    def bottomless(at: At) -> Answer | None:
        if not at.path.startswith("/browse/"):
            return None
        chosen = [tuple(each.split("-", 1)) for each in at.path.split("/")[2:] if "-" in each]
        taken = {each[0] for each in chosen}
        more = [
            (f"{at.path}{name}-{value}/", f"{name} {value}")
            for name, values in FACETS.items()
            if name not in taken
            for value in values
        ]
        return frame.page("Browse", _matching(part, [(each[0], each[1]) for each in chosen]) + links(more))

    return both(frame, part, bottomless, r"/browse/.*")


def _matching(part: Part, chosen: Collection[tuple[str, str]]) -> str:
    """Links to the products that have all that is chosen, of the first sixty."""
    fits = [
        path
        for path in part.paths[:60]
        if all(drawing(path, name).choice(FACETS.get(name, [""])) == value for name, value in chosen)
    ]
    return links([(path, title(3, part.name, path)) for path in fits]) if fits else "<p>Nothing fits.</p>"


@endless
def orders_of_a_list() -> Site:
    """A list that can be sorted, turned, shown in other ways and cut in pieces of any size, all at once."""
    ways = {
        "sort": ("name", "price", "date", "size"),
        "order": ("up", "down"),
        "view": ("grid", "list", "table"),
        "per": ("10", "20", "50", "100"),
        "show": ("all", "new", "sale"),
    }
    frame = Frame("orders-of-a-list", {"Everything": "/everything"})
    part = shop(frame)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/everything":
            return None
        chosen = [(name, value) for name, value in at.query.items() if name in ways]
        picked = part.paths[:30] if at.query.get("order") != "down" else part.paths[29::-1]
        more = [
            (
                "/everything?"
                + "&".join(f"{a}={b}" for a, b in [*(each for each in chosen if each[0] != name), (name, value)]),
                f"{name} {value}",
            )
            for name, values in ways.items()
            for value in values
        ]
        return frame.page("Everything", links([(path, title(3, frame.name, path)) for path in picked]) + links(more))

    return both(frame, part, bottomless, r"/everything\?.*")


@endless
def searches() -> Site:
    """Results with further searches to try, which have further searches to try."""
    frame = Frame("searches", {"Search": "/search?q=all"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/search":
            return None
        asked = at.query.get("q", "")
        results = [hash_of(asked, each) % part.total for each in range(6)]
        shown = "".join(
            f"<p>{link(part.paths[each], title(5, frame.name, each))} {text(15, frame.name, each)}</p>\n"
            for each in results
        )
        more = links([(f"/search?q={'+'.join(rare(2, 'search', asked, each))}", "Try this") for each in range(8)])
        return frame.page(f"Results for {asked}", '<form action="/search"><input name="q"></form>' + shown + more)

    return both(frame, part, bottomless, r"/search\?.*")


@endless
def revisions() -> Site:
    """A wiki that shows every revision of a page, and the difference of any two of them."""
    count_of, each = 480, 50
    frame = Frame("revisions", {"All pages": "/pages?page=1"})
    paths = [f"/wiki/{slug(1, 'revised', number).capitalize()}_{number}" for number in range(count_of)]
    numbers = {path: number for number, path in enumerate(paths)}

    def body(number: int, revision: int) -> str:
        parts = [text(20, "revised", number, part, revision // 10 * (part == revision % 5)) for part in range(5)]
        return "".join(f"<p>{part}</p>\n" for part in parts)

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/pages") and 0 < at.number <= 12:
            shown = paths[(at.number - 1) * 40 : at.number * 40]
            return frame.page(
                "All pages", links([(path, path[6:]) for path in shown]) + pager("/pages?page=", at.number, 12)
            )
        if (number := numbers.get(at.path)) is None:
            return None
        tabs = links([(at.path, "Page"), (f"{at.path}?action=history", "History"), (f"{at.path}?action=edit", "Edit")])
        if at.query.get("action") == "edit":
            return frame.page("Log in", tabs + "<p>Log in to edit this page.</p>")
        if at.query.get("action") == "history":
            rows = [(f"{at.path}?oldid={revision}", f"Revision {revision}") for revision in range(each)]
            rows += [(f"{at.path}?diff={revision + 1}&oldid={revision}", "Difference") for revision in range(each - 1)]
            return frame.page(f"History of {at.path[6:]}", tabs + links(rows))
        revision, other = int(at.query.get("oldid", each)), int(at.query.get("diff", -1))
        near = (
            [
                (f"{at.path}?diff={step}&oldid={revision}", "Difference")
                for step in range(other - 2, other + 3)
                if 0 <= step < each
            ]
            if other >= 0
            else []
        )
        also = [(path, path[6:]) for path in drawing("also", number).sample(paths, 5)]
        return frame.page(at.path[6:], tabs + body(number, revision) + links(near + also))

    return make_site(frame, answer, good=r"/wiki/\w+", total=count_of, endless=r"/wiki/\w+\?.*")


@endless
def back_links() -> Site:
    """Every link says where it stood, and every page offers a login that would return to it."""
    frame = Frame("back-links")
    part = journal(frame)

    def answer(at: At) -> Answer | None:
        if at.path == "/login":
            return frame.page(
                "Log in", '<form method="post"><input name="user"><input type="password" name="key"></form>'
            )
        answered = part.answer(at)
        if answered is None or answered.status != 200:
            return answered
        body = marked(answered, f"from={quote(at.path, safe='')}", '/(?:articles|section)/[^"]+').body
        login = link(f"/login?next={quote(at.target, safe='')}", "Log in").encode()
        return answered._replace(body=body.replace(b"<nav>", b"<nav>" + login, 1))

    return make_site(frame, answer, good=part.good, total=part.total, endless=r"/login\?.*", plain=without("from"))


@endless
def prints_and_shares() -> Site:
    """Every page once more to print, to send and to share."""
    frame = Frame("prints-and-shares")
    ways = ("twitter", "facebook", "mail")

    def variants(at: At) -> str:
        if not at.path.startswith("/articles/"):
            return ""
        shares = [(f"{at.path}?share={way}", f"Share by {way}") for way in ways]
        return links(
            [
                (f"{at.path}?print=1", "Print"),
                (f"/print{at.path}", "To print"),
                (f"/send?page={at.path}", "Send"),
                *shares,
            ]
        )

    part = journal(frame, variants)

    def bottomless(at: At) -> Answer | None:
        path = at.path.removeprefix("/print")
        if at.path == "/send":
            return frame.page("Send this page", '<form method="post"><input name="to"></form>')
        if (path != at.path or "print" in at.query) and path in part.paths:
            answered = part.answer(at._replace(path=path))
            return answered and html("Print", answered.body.decode().partition("<main>")[2].partition("</main>")[0])
        return None

    return both(frame, part, bottomless, r"/articles/[^?]+\?.* | /print/.* | /send\?.*")


# Ids that change nothing


@endless
def sessions_in_queries() -> Site:
    """Every answer starts a session of its own and writes it into all links."""
    frame = Frame("sessions-in-queries")
    part = journal(frame)
    sessions = count(1)

    def answer(at: At) -> Answer | None:
        answered = part.answer(at) or frame.static(at)
        return answered and marked(answered, f"sid={drawing('session', next(sessions)).getrandbits(128):032x}")

    return make_site(frame, answer, good=part.good, total=part.total, plain=without("sid"))


@endless
def sessions_in_paths() -> Site:
    """The same, as the first segment of every path."""
    frame = Frame("sessions-in-paths")
    part = journal(frame)
    sessions = count(1)

    def bare(target: str) -> str:
        return re.sub(r"/s-[0-9a-f]{16}(?=/)", "", target)

    def answer(at: At) -> Answer | None:
        inner = at._replace(path=bare(at.path))
        answered = part.answer(inner) or frame.static(inner)
        if answered is None:
            return None
        session = f"/s-{drawing('session', next(sessions)).getrandbits(64):016x}".encode()
        return answered._replace(body=answered.body.replace(b'href="/', b'href="%s/' % session))

    return make_site(frame, answer, good=part.good, total=part.total, plain=bare)


@endless
def visit_counter() -> Site:
    """Every link carries the number of requests so far."""
    frame = Frame("visit-counter")
    part = shop(frame)
    visits = count(1)

    def answer(at: At) -> Answer | None:
        answered = part.answer(at) or frame.static(at)
        return answered and marked(answered, f"visit={next(visits)}")

    return make_site(frame, answer, good=part.good, total=part.total, plain=without("visit"))


# Names without end for the same thing


@endless
def capitals() -> Site:
    """The same bytes under a name in whatever capitals; every ordinary page writes it in four new ways."""
    frame = Frame("capitals")
    word = "informationforvisitors"
    part = journal(
        frame, lambda at: links([(f"/{_capitals(word, at.target, each)}", "Information") for each in range(4)])
    )
    page = frame.page("Information", paragraphs(120, "capitals"))

    def bottomless(at: At) -> Answer | None:
        return page if at.path[1:].lower() == word else None

    return both(frame, part, bottomless, rf"/(?i:{word})")


@endless
def capitals_without_end() -> Site:
    """One text under a name in whatever capitals, which leads to itself in new capitals."""
    frame = Frame("capitals-without-end", {"Information": "/informationforinvestorsandvisitors"})
    word = "informationforinvestorsandvisitors"
    part = handbook(frame)

    def bottomless(at: At) -> Answer | None:
        if at.path[1:].lower() != word:
            return None
        near = links([(f"/{_capitals(word, at.path, each)}", "Information") for each in range(5)])
        return frame.page("Information", paragraphs(120, "capitals") + near)

    return both(frame, part, bottomless, rf"/(?i:{word})")


def _capitals(word: str, *key: object) -> str:
    chance = drawing("capitals", *key)
    return "".join(letter.upper() if chance.random() < 0.4 else letter for letter in word)


@endless
def canonical_chain() -> Site:
    """Every page says that its true name is another one, which says the same."""
    frame = Frame("canonical-chain", {"Papers": "/paper/first"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if not match(r"/paper/[\w-]+", at.path):
            return None
        true, *near = fresh(4, at.path)
        head = f'<link rel="canonical" href="http://{frame.host}/paper/{true}">'
        body = paragraphs(100, at.path) + links([(f"/paper/{name}", name) for name in near])
        return frame.page(title(3, at.path), body, head=head)

    return both(frame, part, bottomless, r"/paper/.*")


@endless
def redirects_to_new_paths() -> Site:
    """Three of four names lead on to another name; the fourth is a page with five new ones."""
    frame = Frame("redirects-to-new-paths", {"Go": "/go/first"})
    part = handbook(frame)

    def bottomless(at: At) -> Answer | None:
        if not match(r"/go/[\w-]+", at.path):
            return None
        near = fresh(5, at.path)
        if at.path != "/go/first" and hash_of(at.path) % 4:
            return redirect(f"/go/{near[0]}")
        return frame.page(
            "On your way", f"<p>{text(40, at.path)}</p>" + links([(f"/go/{name}", name) for name in near])
        )

    return both(frame, part, bottomless, r"/go/.*")


@endless
def redirects_to_new_hosts() -> Site:
    """The same over ever new subdomains."""
    frame = Frame("redirects-to-new-hosts")
    part = journal(frame, lambda at: link(f"http://{fresh(1, at.path)[0]}.{frame.domain}/", "Partner"))

    def bottomless(at: At) -> Answer | None:
        if at.host == frame.host:
            return None
        near = [f"http://{name}.{frame.domain}/" for name in fresh(4, at.host)]
        if hash_of(at.host) % 4:
            return redirect(near[0])
        return frame.page("Partners", f"<p>{text(40, at.host)}</p>" + links([(url, "Partner") for url in near]))

    return both(frame, part, bottomless, r"(?!www\.)[^/]+\.test/.*", wild=frame.domain)


@endless
def wild_names_new_text() -> Site:
    """Ever new subdomains with a text of their own each."""
    frame = Frame("wild-names-new-text")
    part = journal(frame, lambda at: link(f"http://{fresh(1, at.path)[0]}.{frame.domain}/", "Friends"))

    def bottomless(at: At) -> Answer | None:
        if at.host == frame.host:
            return None
        near = [(f"http://{name}.{frame.domain}/", name) for name in fresh(5, at.host)]
        near += [(f"/{name}", name) for name in fresh(2, at.host, at.path)]
        return html(title(3, at.host), paragraphs(110, at.host, at.path) + links(near))

    return both(frame, part, bottomless, r"(?!www\.)[^/]+\.test/.*", wild=frame.domain)


@endless
def wild_names_one_text() -> Site:
    """Ever new subdomains that all show the same page with other links."""
    frame = Frame("wild-names-one-text")
    part = handbook(frame, lambda at: link(f"http://{fresh(1, at.path)[0]}.{frame.domain}/", "Branch"))

    def bottomless(at: At) -> Answer | None:
        if at.host == frame.host:
            return None
        near = [(f"http://{name}.{frame.domain}/", "Branch") for name in fresh(5, at.host)]
        return frame.page("One of our branches", paragraphs(110, "branch") + links(near))

    return both(frame, part, bottomless, r"(?!www\.)[^/]+\.test/.*", wild=frame.domain)


# Sitemaps


@endless
def sitemaps_of_sitemaps() -> Site:
    """Beside a true sitemap, an index that leads to two others, and so on; none has a page."""
    return _sitemaps("sitemaps-of-sitemaps", pages_each=0)


@endless
def sitemaps_of_new_pages() -> Site:
    """The same with a hundred new pages behind each index."""
    return _sitemaps("sitemaps-of-new-pages", pages_each=100)


def _sitemaps(name: str, pages_each: int) -> Site:
    frame = Frame(name)
    part = journal(frame)
    root = f"http://{frame.host}"

    def bottomless(at: At) -> Answer | None:
        if at.path == "/sitemap.xml":
            return sitemap_index([f"{root}/sitemaps/1.xml", f"{root}/sitemap-articles.xml"])
        if at.path == "/sitemap-articles.xml":
            return urlset([root + path for path in part.paths])
        if found := match(r"/sitemaps/(\d+)\.xml", at.path):
            near = [f"{root}/sitemaps/{int(found[0]) * 2 + step}.xml" for step in (0, 1)]
            return sitemap_index([f"{root}/sitemaps/pages-{found[0]}.xml", *near] if pages_each else near)
        if match(r"/sitemaps/pages-\d+\.xml", at.path):
            return urlset([f"{root}/entry/{each}" for each in fresh(pages_each, at.path)])
        if match(r"/entry/[\w-]+", at.path):
            return frame.page(title(3, at.path), paragraphs(90, at.path))
        return None

    robots = f"User-agent: *\nDisallow:\n\nSitemap: {root}/sitemap.xml\n"
    return both(frame, part, bottomless, r"/sitemaps/.* | /entry/.*", robots=robots)


# Mistakes of those who made the site


@endless
def growing_path() -> Site:
    """Two folders that contain each other."""
    frame = Frame("growing-path", {"Files": "/files/a/"})
    part = handbook(frame)

    def bottomless(at: At) -> Answer | None:
        if not match(r"/files/(?:[ab]/)*", at.path):
            return None
        last = at.path[-2]
        return frame.page(
            f"Folder {last}", paragraphs(80, "folder", last) + links([("a/", "Folder a"), ("b/", "Folder b")])
        )

    return both(frame, part, bottomless, r"/files/.*")


@endless
def relative_links() -> Site:
    """Pages whose links lack the slash in front, on a server that looks at the last segment only."""
    frame = Frame("relative-links", {"Company": "/company/team/"})
    part = journal(frame)
    names = ("team", "jobs", "press", "history", "partners")

    def bottomless(at: At) -> Answer | None:
        last = at.path.rstrip("/").rpartition("/")[2]
        if not at.path.startswith("/company/") or last not in names:
            return None
        near = [(f"company/{name}/", name.capitalize()) for name in names]
        return frame.page(last.capitalize(), paragraphs(90, "company", last) + links(near))

    return both(frame, part, bottomless, r"/company/.*")


@endless
def never_not_found() -> Site:
    """A site that answers 200 to everything, and many of whose links are misspelt."""
    frame = Frame("never-not-found")

    def misspelt(path: str, *key: object) -> str:
        place = 1 + hash_of(path, *key) % max(1, len(path) - 1)
        return path[:place] + drawing(path, *key).choice("qxzjk") + path[place + 1 :]

    part = journal(frame, lambda at: link(misspelt(at.path, 1), "More of this"))

    def answer(at: At) -> Answer:
        sorry = "<p>We are sorry, but the page that you are looking for cannot be found. It may have moved.</p>"
        guess = links([(misspelt(at.path, each)[:60], "Did you mean this?") for each in range(3)])
        return part.answer(at) or frame.static(at) or frame.page("Sorry", sorry + guess)

    # That a link of a good page is dead cannot be known before it is asked for.
    dead = [misspelt(path, 1) for path in part.paths]
    known = "|".join(re.escape(path[1:]) for path in part.paths)
    asked = "|".join(re.escape(path[1:]) for path in (*part.paths, *dead))
    ordinary = rf"({'|'.join(STATIC)}|section/\d\?page=\d|robots\.txt)?"
    return make_site(frame, answer, good=f"/({known})", total=part.total, endless=rf"/(?!({asked}|{ordinary})$).*")
