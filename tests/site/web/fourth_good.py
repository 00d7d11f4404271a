"""Finite sites of a fourth collection, written after all rules and tried unseen: archives, indexes, forums, a town."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from .site import Answer, At, Frame, Site, html, link, links, make_site, match, pager, redirect, table
from .unseen_good import near, number_in
from .words import drawing, hash_of, paragraphs, proper, rare, slug, text, title

FOURTH_GOOD: dict[str, Callable[[], Site]] = {}
PDF = ("Content-Type", "application/pdf")


def fourth(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    FOURTH_GOOD[make.__name__.replace("_", "-")] = make
    return make


def quoted(said: str) -> str:
    """What an answer quotes of the letter before."""
    return "".join(f"&gt; {line}.<br>\n" for line in said.split(".")[:4])


@fourth
def list_archive() -> Site:
    """Letters of a list by months, each month by thread, date, subject and author; answers quote what they answer."""
    months, each = [f"{2017 + number // 12}-{date(2000, number % 12 + 1, 1):%B}" for number in range(24)], 30
    frame = Frame("list-archive")

    def letter(number: int) -> str:
        own = text(35, "letter", number)
        return own if number % 4 == 0 else quoted(text(35, "letter", number - 1)) + f"<p>{own}</p>"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            rows = [
                " ".join(
                    [month, *(link(f"/list/{month}/{by}.html", by) for by in ("thread", "subject", "author", "date"))]
                )
                for month in months
            ]
            return html("The list archives", "<br>\n".join(rows))
        found = match(r"/list/(\d{4}-[A-Z][a-z]+)/(\w+)\.html", at.path)
        if not found or found[0] not in months:
            return None
        start = months.index(found[0]) * each
        shown = list(range(start, start + each))
        if found[1] in ("thread", "subject", "author", "date"):
            keys: dict[str, Callable[[int], object]] = {
                "subject": lambda number: title(4, "thread", number // 4),
                "author": lambda number: proper("writer", hash_of("letter", number) % 60),
            }
            rank = keys.get(found[1], int)
            shown.sort(key=lambda number: str(rank(number)))
            listed = [(f"{number:06}.html", f"[list] {title(4, 'thread', number // 4)}") for number in shown]
            return html(f"{found[0]} by {found[1]}", links(listed))
        if not found[1].isdecimal() or (number := int(found[1])) not in shown:
            return None
        steps = [(f"{other:06}.html", "Next message") for other in (number - 1, number + 1) if other in shown]
        steps += [(f"{by}.html#{number}", f"[ {by} ]") for by in ("date", "thread", "subject", "author")]
        head = f"<b>{proper('writer', hash_of('letter', number) % 60)}</b> {found[0]}"
        return html(title(4, "thread", number // 4), f"{head}{links(steps)}<pre>{letter(number)}</pre>{links(steps)}")

    return make_site(frame, answer, good=r"/list/[^/]+/\d+\.html", total=len(months) * each)


@fourth
def package_index() -> Site:
    """Projects with releases, their files, maintainers and trove classifiers; a list of links for programs too."""
    count, kinds = 260, 30
    frame = Frame("package-index", {"Browse": "/search/"})
    names = [f"{slug(1, 'project', number)}{number}" for number in range(count)]

    def releases(number: int) -> list[str]:
        return [f"{1 + each // 3}.{each % 3}" for each in range(2 + number % 6)]

    def project(number: int, release: str) -> Answer:
        name, known = names[number], releases(number)
        history = links([(f"/project/{name}/{each}/", each) for each in reversed(known)])
        about = paragraphs(40 + number % 90, "project", number)
        files = links([(f"/files/{name}-{release}.tar.gz", f"{name}-{release}.tar.gz")])
        kind = links([(f"/search/?c={each}", f"Topic {each}") for each in {number % kinds, number * 7 % kinds}])
        owner = link(f"/user/{slug(1, 'owner', number % 70)}/", "Maintainer")
        new = f"<p>Released {date(2015, 1, 1) + timedelta(hash_of(name, release))}: {text(12, name, release)}</p>"
        return frame.page(
            f"{name} {release}", f"<pre>install {name}=={release}</pre>{new}{about}{history}{files}{kind}{owner}"
        )

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page(
                "Index", paragraphs(30, "index") + link("/search/", "Browse") + link("/simple/", "Simple")
            )
        if at.path == "/simple/":
            return html("Simple index", links([(f"/simple/{name}/", name) for name in names]))
        if at.path == "/search/":
            kind = number_in(at, "c")
            fits = [n for n in range(count) if kind < 0 or kind in (n % kinds, n * 7 % kinds)]
            last = -(-len(fits) // 20)
            if not 0 < at.number <= last:
                return None
            shown = [(f"/project/{names[n]}/", names[n]) for n in fits[(at.number - 1) * 20 : at.number * 20]]
            base = f"/search/?c={kind}&page=" if kind >= 0 else "/search/?page="
            more = links([(f"/search/?c={each}", f"Topic {each}") for each in range(kinds)])
            return frame.page("Results", links(shown) + pager(base, at.number, last) + more)
        if match(r"/files/[\w.-]+", at.path):
            return Answer(200, (("Content-Type", "application/gzip"),), b"archive of " + at.path.encode())
        if found := match(r"/user/([a-z]+)/", at.path):
            owned = [n for n in range(count) if slug(1, "owner", n % 70) == found[0]]
            return frame.page(found[0], links([(f"/project/{names[n]}/", names[n]) for n in owned])) if owned else None
        found = match(r"/(project|simple)/([a-z]+\d+)/(?:([\d.]+)/)?", at.path)
        if not found or found[1] not in names:
            return None
        number = names.index(found[1])
        if found[0] == "simple":
            return html(found[1], links([(f"/files/{found[1]}-{each}.tar.gz", each) for each in releases(number)]))
        release = found[2] or releases(number)[-1]
        return project(number, release) if release in releases(number) else None

    total = count + sum(len(releases(number)) for number in range(count))
    return make_site(frame, answer, good=r"/project/[a-z]+\d+/([\d.]+/)?", total=total)


@fourth
def tagged_questions() -> Site:
    """Questions with answers, tags and users; lists by tabs, short names that redirect, revisions, editing."""
    count, users, tags = 480, 160, 45
    frame = Frame("tagged-questions", {"Questions": "/questions", "Tags": "/tags", "Users": "/users"})

    def path(number: int) -> str:
        return f"/questions/{7000 + 13 * number}/{slug(5, 'question', number)}"

    def tags_of(number: int) -> list[int]:
        return drawing("tags", number).sample(range(tags), 1 + number % 3)

    def teaser(n: int) -> str:
        marks = " ".join(link(f"/questions/tagged/tag{each}", f"tag{each}") for each in tags_of(n))
        who = link(f"/users/{n % users}/{slug(1, 'asker', n % users)}", proper("asker", n % users))
        asked = f"{link(path(n), title(6, 'question', n))} {text(15, 'question', n)}"
        return f"<div>{hash_of('votes', n) % 40} votes {asked} {marks} {who}</div>\n"

    def listing(base: str, numbers: list[int], at: At) -> Answer | None:
        last = max(1, -(-len(numbers) // 15))
        tab = at.query.get("tab", "newest")
        if not 0 < at.number <= last or tab not in ("newest", "active", "votes", "unanswered"):
            return None
        ordered = numbers if tab == "newest" else sorted(numbers, key=lambda number: hash_of(tab, number))
        shown = "".join(map(teaser, ordered[(at.number - 1) * 15 : at.number * 15]))
        tabs = links([(f"{base}?tab={each}", each) for each in ("newest", "active", "votes", "unanswered")])
        return frame.page(base[1:], tabs + shown + pager(f"{base}?tab={tab}&page=", at.number, last))

    def question(number: int) -> Answer:
        def post(each: int) -> str:
            user, identity = hash_of("by", number, each) % users, 7000 + 13 * number + each
            tools = [(f"/q/{identity}", "share"), (f"/posts/{identity}/edit", "improve this")]
            tools += [(f"/posts/{identity}/revisions", "edited"), (f"/users/{user}/{slug(1, 'asker', user)}", "writer")]
            return f"<div>{paragraphs(35, 'post', number, each)}{links(tools)}</div>"

        also = [(path(other), title(6, "question", other)) for other in drawing("also", number).sample(range(count), 5)]
        about = links([(f"/questions/tagged/tag{each}", f"tag{each}") for each in tags_of(number)])
        return frame.page(title(6, "question", number), "".join(map(post, range(1 + number % 4))) + about + links(also))

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/questions"):
            return listing("/questions", list(range(count)), at)
        if found := match(r"/questions/tagged/tag(\d+)", at.path):
            numbers = [number for number in range(count) if int(found[0]) in tags_of(number)]
            return listing(at.path, numbers, at) if numbers else None
        if at.path == "/tags":
            return frame.page("Tags", links([(f"/questions/tagged/tag{each}", f"tag{each}") for each in range(tags)]))
        if at.path == "/users" and 0 < at.number <= 4:
            shown = range((at.number - 1) * 40, at.number * 40)
            listed = [(f"/users/{user}/{slug(1, 'asker', user)}", proper("asker", user)) for user in shown]
            return frame.page("Users", links(listed) + pager("/users?page=", at.number, 4))
        if (found := match(r"/users/(\d+)/([a-z]+)", at.path)) and int(found[0]) < users:
            user = int(found[0])
            asked = [(path(n), title(6, "question", n)) for n in range(user, count, users)]
            about = f"<p>Member for {user % 9} years, {hash_of('fame', user)} reputation</p>"
            return frame.page(proper("asker", user), about + text(user % 12, "about", user) + links(asked))
        if found := match(r"/q/(\d+)", at.path):
            number = (int(found[0]) - 7000) // 13
            return redirect(path(number)) if 0 <= number < count else None
        if found := match(r"/posts/(\d+)/(edit|revisions)", at.path):
            if found[1] == "edit":
                return redirect(f"/users/login?return=/posts/{found[0]}/edit")
            number, each = divmod(int(found[0]) - 7000, 13)
            said = [(1, "created", text(35, "post", number, each)[:80])]
            return frame.page("Revisions", table(("No", "What", "Text"), said) + link(path(number), "Return"))
        if at.path == "/users/login":
            return frame.page("Log in", "<form>E-mail, password</form>")
        found = match(r"/questions/(\d+)/[a-z-]+", at.path)
        number = (int(found[0]) - 7000) // 13 if found else -1
        return question(number) if 0 <= number < count and at.path == path(number) else None

    return make_site(frame, answer, good=r"/questions/\d+/[a-z-]+ | /users/\d+/[a-z]+", total=count + users)


@fourth
def captioned_album() -> Site:
    """Albums of photographs with a caption of some words and the settings of the camera; sizes and a slide show."""
    albums, each = 28, 25
    frame = Frame("captioned-album", {"Albums": "/albums"})
    names = [f"{slug(2, 'album', number)}" for number in range(albums)]

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/albums"):
            return frame.page("Albums", links([(f"/albums/{name}/", title(2, name)) for name in names]))
        found = match(r"/albums/([a-z-]+)/(?:IMG_(\d+)\.html)?", at.path)
        if not found or found[0] not in names or int(found[1] or 0) >= each:
            return None
        album = names.index(found[0])
        if not found[1]:
            thumbs = "".join(f'<a href="IMG_{n:04}.html"><img src="thumb/{n:04}.jpg"></a>\n' for n in range(each))
            return frame.page(title(2, found[0]), f"{thumbs}{link('?slideshow=1', 'Slide show')}")
        number = int(found[1])
        size = at.query.get("size", "m")
        chance = drawing("camera", album, number)
        rows = [
            ("Exposure", f"1/{chance.choice((60, 125, 250, 500))}"),
            ("Aperture", f"f/{chance.choice((2, 4, 8, 11))}"),
        ]
        rows += [
            ("Taken", f"{date(2012, 3, 1) + timedelta(album * 11)} {chance.randint(7, 20)}:{chance.randint(10, 59)}")
        ]
        steps = [(f"IMG_{other:04}.html", "›") for other in near(number, each)]
        steps += [(f"IMG_{number:04}.html?size={other}", other) for other in ("s", "m", "l", "o")]
        picture = f'<img src="{size}/{number:04}.jpg">'
        caption = text(4 + chance.randrange(8), "caption", album, number)
        return frame.page(f"IMG_{number:04}", f"{picture}<p>{caption}</p>{table(('What', 'Is'), rows)}{links(steps)}")

    return make_site(frame, answer, good=r"/albums/[a-z-]+/IMG_\d+\.html", total=albums * each)


@fourth
def paper_with_copies() -> Site:
    """A newspaper by dates and sections, each article as AMP, to print, on one page, and with its comments."""
    count = 520
    parts = ("politics", "economy", "sport", "culture", "town")
    frame = Frame("paper-with-copies", {part.capitalize(): f"/{part}/" for part in parts})
    days = [date(2022, 1, 1) + timedelta(number // 2) for number in range(count)]
    paths = [f"/{parts[n % 5]}/{day:%Y/%m/%d}/{slug(4, 'news', n)}" for n, day in enumerate(days)]
    numbers = {path: number for number, path in enumerate(paths)}

    def article(number: int) -> str:
        by = link(f"/authors/{slug(1, 'reporter', number % 18)}", proper("reporter", number % 18))
        return f"<h2>{text(12, 'news', number, 'lead')}</h2><p>By {by}</p>{paragraphs(120, 'news', number)}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Today", links([(path, title(5, path)) for path in paths[-12:]]))
        if (found := match(r"/([a-z]+)/", at.path)) and found[0] in parts and 0 < at.number <= 7:
            own = [path for path in reversed(paths) if path.startswith(at.path)][(at.number - 1) * 15 : at.number * 15]
            return frame.page(
                found[0], links([(path, title(5, path)) for path in own]) + pager(f"{at.path}?page=", at.number, 7)
            )
        if found := match(r"/authors/([a-z]+)", at.path):
            own = [paths[n] for n in range(count) if slug(1, "reporter", n % 18) == found[0]][-20:]
            return frame.page(found[0], links([(path, title(5, path)) for path in own])) if own else None
        if at.path == "/share":
            return frame.page("Share", "<form>To whom?</form>")
        base, _, kind = at.path.rpartition("/")
        base, kind = (base, kind) if kind in ("amp", "print", "comments") else (at.path, "")
        if (number := numbers.get(base)) is None:
            return None
        head = f'<link rel="canonical" href="http://{frame.host}{base}"><link rel="amphtml" href="{base}/amp">'
        if kind == "amp":
            return html(title(5, base), f"<h1>{title(5, base)}</h1>{article(number)}", head=head)
        if kind == "print" or at.query.get("page") == "all":
            return html(title(5, base), f"<h1>{title(5, base)}</h1>{article(number)}<p>Printed for you.</p>")
        if kind == "comments":
            said = "".join(f"<p>{proper(n, number)}: {text(14, 'comment', number, n)}</p>" for n in range(number % 5))
            return frame.page("Comments", (said or "<p>Nobody has written yet.</p>") + link(base, "Article"))
        tools = [(f"{base}/{each}", each) for each in ("amp", "print", "comments")] + [
            (f"{base}?page=all", "On one page")
        ]
        tools += [(f"/share?to={way}&url={base}", way) for way in ("mail", "post")]
        also = [
            (paths[other], title(5, paths[other])) for other in drawing("read also", number).sample(range(count), 4)
        ]
        return frame.page(title(5, base), article(number) + links(tools) + links(also), head=head)

    pattern = rf"/(?:{'|'.join(parts)})/\d{{4}}/\d\d/\d\d/[a-z-]+"
    return make_site(frame, answer, good=pattern, total=count)


@fourth
def town_hall() -> Site:
    """Committees, their meetings with items and minutes as PDF, forms, offices with opening hours."""
    committees, meetings = 9, 22
    frame = Frame("town-hall", {"Council": "/council/", "Offices": "/offices/", "News": "/news.aspx?id=1"})
    names = [f"{slug(1, 'committee', number)}" for number in range(committees)]

    def minutes(*key: object) -> Answer:
        said = text(120, "minutes", *key).replace("(", "").replace(")", "")
        lines = "".join(f"({said[at : at + 80]}) Tj T*\n" for at in range(0, len(said), 80))
        stream = f"BT /F1 10 Tf 12 TL 40 780 Td\n{lines}ET"
        parts = [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
        body, places = "%PDF-1.4\n", []
        for number, part in enumerate(parts, 1):
            places.append(len(body))
            body += f"{number} 0 obj\n{part}\nendobj\n"
        table_at = len(body)
        body += "xref\n0 5\n0000000000 65535 f \n" + "".join(f"{place:010} 00000 n \n" for place in places)
        body += f"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n{table_at}\n%%EOF\n"
        return Answer(200, (PDF,), body.encode("ascii"))

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/council/"):
            return frame.page(
                "Council", links([(f"/council/{name}/", name) for name in names]) + paragraphs(40, "town")
            )
        if at.path == "/offices/":
            return frame.page("Offices", links([(f"/offices/{n}.html", title(2, "office", n)) for n in range(60)]))
        if (found := match(r"/offices/(\d+)\.html", at.path)) and (n := int(found[0])) < 60:
            hours = [
                (day, f"{8 + hash_of(n, day) % 2}-{12 + hash_of(n, day) % 5}") for day in ("Mo", "Tu", "We", "Th", "Fr")
            ]
            form = link(f"/forms/{n}.pdf", "Form")
            return frame.page(
                title(2, "office", n), f"<p>Room {n}, telephone 55-{400 + n}</p>{table(('Day', 'Open'), hours)}{form}"
            )
        if (found := match(r"/forms/(\d+)\.pdf", at.path)) and int(found[0]) < 60:
            return minutes("form", found[0])
        if at.path == "/news.aspx" and 0 < (n := number_in(at, "id")) <= 150:
            steps = [(f"/news.aspx?id={other}", "Older") for other in (n - 1, n + 1) if 0 < other <= 150]
            return frame.page(title(5, "town news", n), paragraphs(50, "town news", n) + links(steps))
        found = match(r"/council/([a-z]+)/(?:(\d+)/)?(?:(item-\d+|minutes\.pdf|invitation\.pdf)(?:\.html)?)?", at.path)
        if not found or found[0] not in names or int(found[1] or 0) >= meetings:
            return None
        if not found[1]:
            return frame.page(found[0], links([(f"{n}/", f"Meeting {n}") for n in range(meetings)]))
        if found[2].endswith("pdf"):
            return minutes(*found)
        items = [f"item-{n}" for n in range(1, 4)]
        if found[2] in items:
            return frame.page(
                title(4, *found), f"<p>Item {found[2][5:]} of meeting {found[1]}</p>{paragraphs(25, *found)}"
            )
        if found[2]:
            return None
        shown = [(f"{item}.html", title(4, *found[:2], item)) for item in items]
        shown += [("minutes.pdf", "Minutes"), ("invitation.pdf", "Invitation")]
        day = date(2020, 1, 7) + timedelta(int(found[1]) * 30 + names.index(found[0]))
        return frame.page(
            f"Meeting {found[1]}", f"<p>{day:%d %B %Y}, town hall, room {names.index(found[0])}</p>" + links(shown)
        )

    # Invitations are minutes by another name here; items, minutes and news are what one comes for.
    good = r"/council/[a-z]+/\d+/(item-\d\.html|minutes\.pdf) | /news\.aspx\?id=\d+ | /offices/\d+\.html"
    return make_site(frame, answer, good=good, total=committees * meetings * 4 + 150 + 60)


@fourth
def filtered_recipes() -> Site:
    """Recipes with filters of which one of each kind can be chosen, orders and portions; each to print as well."""
    count = 420
    facets = {"course": 6, "diet": 5, "time": 4}
    frame = Frame("filtered-recipes", {"Recipes": "/recipes"})
    paths = [f"/recipe/{slug(3, 'dish', number)}" for number in range(count)]
    numbers = {path: number for number, path in enumerate(paths)}

    def of(number: int, facet: str) -> int:
        return hash_of(facet, number) % facets[facet]

    def dish(number: int, portions: int) -> str:
        chance = drawing("dish", number)
        rows = [
            (f"{chance.randint(1, 40) * portions * 5} g", name)
            for name in rare(4 + number % 6, "ingredients", number % 90)
        ]
        steps = "".join(f"<li>{text(12, 'dish', number, step)}</li>\n" for step in range(3 + number % 3))
        return table(("How much", "Of what"), rows) + f"<ol>{steps}</ol>"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Recipes", links([(path, title(3, path)) for path in paths[:20]]))
        if at.path == "/recipes":
            chosen = {name: number_in(at, name) for name in facets if name in at.query}
            fits = [n for n in range(count) if all(of(n, name) == value for name, value in chosen.items())]
            if at.query.get("sort") == "title":
                fits.sort(key=lambda n: paths[n])
            last = max(1, -(-len(fits) // 24))
            if not 0 < at.number <= last:
                return None
            kept = "&".join(
                f"{name}={value}"
                for name, value in {**chosen, **({"sort": "title"} if "sort" in at.query else {})}.items()
            )
            shown = links([(paths[n], title(3, paths[n])) for n in fits[(at.number - 1) * 24 : at.number * 24]])
            more = [
                (f"/recipes?{'&'.join(f'{a}={b}' for a, b in {**chosen, name: value}.items())}", f"{name} {value}")
                for name, values in facets.items()
                for value in range(values)
            ]
            orders = [(f"/recipes?{kept}{'&' if kept else ''}sort=title", "By name")] if "sort" not in at.query else []
            base = f"/recipes?{kept}{'&' if kept else ''}page="
            return frame.page(
                "Recipes", f"<p>{len(fits)} recipes</p>{shown}{pager(base, at.number, last)}{links(more + orders)}"
            )
        path = at.path.removesuffix("/print")
        if (number := numbers.get(path)) is None:
            return None
        portions = number_in(at, "portions", 4)
        if not 1 <= portions <= 8:
            return None
        if at.path != path:
            return html(title(3, path), dish(number, 4))
        tools = [(f"{path}/print", "Print"), (f"{path}?portions=2", "For two"), (f"{path}?portions=8", "For eight")]
        also = [(paths[n], title(3, paths[n])) for n in drawing("goes with", number).sample(range(count), 3)]
        return frame.page(title(3, path), text(18, "about", number) + dish(number, portions) + links(tools + also))

    return make_site(frame, answer, good=r"/recipe/[a-z-]+", total=count)


@fourth
def far_events() -> Site:
    """A calendar from 1996 to 2033 with months, weeks and days; events stand in some months only, years apart."""
    first, last = date(1996, 1, 1), date(2033, 12, 1)
    frame = Frame("far-events", {"Calendar": "/calendar/2024/06/"})
    days = sorted({first + timedelta(drawing("event", number).randrange(13800)) for number in range(330)})
    paths = {f"/event/{day:%Y-%m-%d}-{slug(2, 'event', day)}": day for day in days}
    by_day = {day: path for path, day in paths.items()}

    def month_path(year: int, month: int) -> str:
        year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
        return f"/calendar/{year}/{month:02}/"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            coming = [by_day[day] for day in days if day >= date(2024, 6, 1)][:5]
            return frame.page(
                "What is on", paragraphs(40, "calendar") + links([(path, title(3, path)) for path in coming])
            )
        if at.path in paths:
            day = paths[at.path]
            where = f"<p>{day:%A, %d %B %Y}, {8 + day.day % 12}:00, {proper('hall', day.day % 7)}</p>"
            return frame.page(
                title(3, at.path), where + paragraphs(35, "event", day) + link(f"/calendar/{day:%Y/%m}/", "Month")
            )
        found = match(r"/calendar/(\d{4})/(\d\d)/(?:(\d\d)/)?", at.path)
        if not found or not first.year <= int(found[0]) <= last.year or not 1 <= int(found[1]) <= 12:
            return None
        year, month = int(found[0]), int(found[1])
        own = [day for day in days if (day.year, day.month) == (year, month)]
        if found[2]:
            on = [day for day in own if day.day == int(found[2])]
            return (
                frame.page(
                    f"{found[0]}-{found[1]}-{found[2]}", links([(by_day[day], title(3, by_day[day])) for day in on])
                )
                if on
                else None
            )
        steps = [month_path(year, month + step) for step in (-12, -1, 1, 12)]
        steps = [step for step in steps if first.year <= int(step[10:14]) <= last.year]
        cells = [(f"{at.path}{day:%d}/", str(day.day)) for day in own]
        shown = links([(by_day[day], title(3, by_day[day])) for day in own]) or "<p>Nothing in this month.</p>"
        return frame.page(
            f"{date(year, month, 1):%B %Y}", links(cells) + shown + links([(step, step[10:-1]) for step in steps])
        )

    return make_site(frame, answer, good=r"/event/[\d-]+-[a-z-]+", total=len(paths))


@fourth
def forum_of_members() -> Site:
    """A forum whose every post leads to the profile of its writer, and to itself by a redirect; profiles say little."""
    threads, members = 330, 420
    frame = Frame("forum-of-members", {"Forums": "/forums/", "Members": "/members/"})

    def member(number: int) -> str:
        return f"/members/{slug(1, 'nick', number)}.{number}/"

    def thread(number: int) -> str:
        return f"/threads/{slug(3, 'thread', number)}.{number}/"

    def pages(number: int) -> int:
        return 1 + number % 3

    def post(number: int, place: int) -> str:
        who = drawing("post", number, place).randrange(members)
        identity = number * 30 + place
        tools = [(member(who), slug(1, "nick", who)), (f"/posts/{identity}/", f"#{place + 1}")]
        tools += [(f"/posts/{identity}/react", "Like"), (f"/login/?redirect=/posts/{identity}/", "Answer")]
        return f"<article>{links(tools)}<p>{text(9 + place * 5 % 40, 'post', number, place)}</p></article>\n"

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/forums/"):
            return frame.page("Forums", links([(f"/forums/{n}/", f"Forum {n}") for n in range(6)]))
        if (found := match(r"/forums/(\d)/(?:page-(\d+))?", at.path)) and int(found[0]) < 6:
            own, page = range(int(found[0]), threads, 6), int(found[1] or 1)
            shown = own[(page - 1) * 20 : page * 20]
            listed = [(thread(n), title(4, "thread", n)) for n in shown]
            listed += [(f"{thread(n)}latest", "Latest") for n in shown]
            return (
                frame.page(f"Forum {found[0]}", links(listed) + pager(f"/forums/{found[0]}/page-", page, 3))
                if shown
                else None
            )
        if at.path == "/members/" and 0 < at.number <= 14:
            return frame.page(
                "Members",
                links([(member(n), slug(1, "nick", n)) for n in range((at.number - 1) * 30, at.number * 30)])
                + pager("/members/?page=", at.number, 14),
            )
        if found := match(r"/members/[a-z]+\.(\d+)/(about|recent-content)?", at.path):
            number = int(found[0])
            if number >= members or not at.path.startswith(member(number)):
                return None
            if found[1] == "about":
                return frame.page(slug(1, "nick", number), "<p>This member has not written anything about himself.</p>")
            if found[1]:
                wrote = [n for n in range(threads) if hash_of("wrote", n, number) < 12]
                return frame.page(slug(1, "nick", number), links([(thread(n), title(4, "thread", n)) for n in wrote]))
            rows = [
                ("Joined", f"{date(2008, 1, 1) + timedelta(number * 9)}"),
                ("Messages", hash_of("messages", number)),
                ("Points", number % 40),
            ]
            about = links([(f"{at.path}about", "About"), (f"{at.path}recent-content", "Postings")])
            return frame.page(slug(1, "nick", number), table(("What", "Is"), rows) + about)
        if found := match(r"/posts/(\d+)/(react)?", at.path):
            number, place = divmod(int(found[0]), 30)
            if number >= threads or found[1]:
                return redirect("/login/") if number < threads else None
            page = place // 8 + 1
            return redirect(thread(number) + (f"page-{page}" if page > 1 else ""))
        if at.path == "/login/":
            return frame.page("Log in", "<p>You must be logged in to do that.</p>")
        found = match(r"/threads/[a-z-]+\.(\d+)/(?:page-(\d)|latest)?", at.path)
        if not found or (number := int(found[0])) >= threads or not at.path.startswith(thread(number)):
            return None
        if at.path.endswith("latest"):
            return redirect(thread(number) + (f"page-{pages(number)}" if pages(number) > 1 else ""))
        page = int(found[1] or 1)
        if not 0 < page <= pages(number) or found[1] == "1":
            return redirect(thread(number), 301) if found[1] == "1" else None
        steps = [
            (f"{thread(number)}page-{n}" if n > 1 else thread(number), str(n)) for n in range(1, pages(number) + 1)
        ]
        return frame.page(
            title(4, "thread", number),
            "".join(post(number, place) for place in range(page * 8 - 8, page * 8)) + links(steps),
        )

    total = sum(pages(number) for number in range(threads)) + members
    good = r"/threads/[a-z-]+\.\d+/(page-\d)? | /members/[a-z]+\.\d+/"
    return make_site(frame, answer, good=good, total=total)


@fourth
def wiki_editions() -> Site:
    """A wiki in four languages on hosts of their own, whose articles lead to each other; talk and history in each."""
    tongues = {"en": "english", "de": "nordic", "fr": "romance", "pl": "slavic"}
    each = 170
    frame = Frame("wiki-editions")
    frames = {tongue: Frame(f"{tongue} wiki-editions", tongue=speech) for tongue, speech in tongues.items()}
    hosts = {f"{tongue}.{frame.domain}": tongue for tongue in tongues}

    def name(tongue: str, number: int) -> str:
        return f"{rare(1, 'edition', number, tongue=tongues[tongue])[0].capitalize()}_{number}"

    def answer(at: At) -> Answer | None:
        if at.host == frame.host:
            return (
                html("Choose a language", links([(f"http://{host}/wiki/Main", host) for host in hosts]))
                if at.path == "/"
                else None
            )
        if (tongue := hosts.get(at.host)) is None:
            return None
        own = frames[tongue]
        if at.path == "/":
            return redirect("/wiki/Main", 301)
        if at.path == "/wiki/Main":
            return own.page(
                "Main", paragraphs(50, tongue, tongue=tongues[tongue]) + link("/wiki/Special:AllPages?page=1", "All")
            )
        if at.path == "/wiki/Special:AllPages" and 0 < at.number <= 5:
            shown = [(f"/wiki/{name(tongue, n)}", name(tongue, n)) for n in range((at.number - 1) * 34, at.number * 34)]
            return own.page("All", links(shown) + pager("/wiki/Special:AllPages?page=", at.number, 5))
        asked = at.query.get("title", at.path.removeprefix("/wiki/"))
        found = match(r"(?:(\w+):)?([^_:]+)_(\d+)", asked)
        if not found or (number := int(found[2])) >= each or name(tongue, number) != f"{found[1]}_{found[2]}":
            return None
        if found[0]:
            said = paragraphs(30, tongue, "talk", number, tongue=tongues[tongue]) if number % 2 else "<p>-</p>"
            return own.page(asked, said)
        if at.path == "/w/index.php":
            rows = [(f"2{n:03}", proper(n, number)) for n in range(4)]
            return own.page(f"{asked} {at.query.get('action')}", table(("Id", "User"), rows))
        others = [
            (f"http://{host}/wiki/{name(other, number)}", other) for host, other in hosts.items() if other != tongue
        ]
        also = [(f"/wiki/{name(tongue, n)}", name(tongue, n)) for n in drawing("links", number).sample(range(each), 6)]
        tools = [(f"/wiki/Talk:{asked}", "Talk")]
        tools += [(f"/w/index.php?title={asked}&action={action}", action) for action in ("edit", "history")]
        body = paragraphs(60 + number % 70, tongue, number, tongue=tongues[tongue])
        return own.page(asked, body + links(also) + links(others) + links(tools))

    good = r"(en|de|fr|pl)\.wiki-editions\.test/wiki/[A-Z][a-z]+_\d+"
    return make_site(frame, answer, good=good, total=each * len(tongues), hosts=list(hosts))


@fourth
def people_by_name() -> Site:
    """A folder for each of 360 people, whose names are plain words: what they say of themselves is some numbers."""
    people = 360
    frame = Frame("people-by-name", {"People": "/people/", "Help": "/help"})
    names = sorted({slug(1, "person", number) + slug(1, "family", number) for number in range(2 * people)})[:people]
    places = {name: number for number, name in enumerate(names)}

    def home(number: int) -> str:
        return f"/people/{names[number % people]}/"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Welcome", links([("/people/", "Everybody")]))
        if at.path == "/people/" and 0 < at.number <= 12:
            shown = range((at.number - 1) * 30, at.number * 30)
            return frame.page(
                "People", links([(home(n), names[n]) for n in shown]) + pager("/people/?page=", at.number, 12)
            )
        found = match(r"/people/([a-z]+)/(about|following|likes)?", at.path)
        if not found or found[0] not in places:
            return None
        number = places[found[0]]
        if found[1] == "about":
            return frame.page(names[number], "<p>Nothing has been written here.</p>")
        if found[1] == "following":
            followed = [hash_of("follows", number, n) % people for n in range(12)]
            return frame.page(names[number], links([(home(n), names[n]) for n in followed]))
        if found[1] == "likes":
            return frame.page(names[number], f"<p>{hash_of('likes', number) % 30} likes.</p>")
        rows = [("Since", f"{date(2011, 1, 1) + timedelta(number * 11)}"), ("Letters", hash_of("letters", number))]
        steps = [(f"{home(number)}{what}", what.title()) for what in ("about", "following", "likes")]
        return frame.page(names[number], table(("What", "Is"), rows) + links(steps))

    return make_site(frame, answer, good=r"/people/[a-z]+/", total=people)
