"""Finite sites, each whole of the kind that rules against endless ones take for such; all their pages are to be found.

`HARD` are those of which nobody can be sure.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

from .site import (
    Answer,
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
    table,
    urlset,
    without,
)
from .words import drawing, paragraphs, proper, rare, slug, text, title

GOOD: dict[str, Callable[[], Site]] = {}
HARD: dict[str, Callable[[], Site]] = {}
MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]


def good(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    GOOD[make.__name__.replace("_", "-")] = make
    return make


def hard(make: Callable[[], Site]) -> Callable[[], Site]:
    """The same, for what is hoped for."""
    HARD[make.__name__.replace("_", "-")] = make
    return make


@good
def job_offers() -> Site:
    """Long identical openings and closings, forty own words between them."""
    count, each = 900, 20
    frame = Frame("job-offers", {"Offers": "/jobs?page=1"})
    opening, closing = paragraphs(260, "jobs", "opening"), paragraphs(220, "jobs", "closing")

    def path(number: int) -> str:
        return f"/jobs/{slug(3, 'job', number)}-{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Work with us", paragraphs(80, "jobs") + links([("/jobs?page=1", "All offers")]))
        if at.path == "/jobs" and 0 < at.number <= count // each:
            shown = range((at.number - 1) * each, at.number * each)
            offers = links([(path(number), title(3, "job", number)) for number in shown])
            return frame.page("Offers", offers + pager("/jobs?page=", at.number, count // each))
        if (found := match(r"/jobs/[a-z-]+-(\d+)", at.path)) and at.path == path(number := int(found[0])):
            own = f"<p>{text(40, 'job', number)}</p>\n"
            return frame.page(title(3, "job", number), opening + own + closing + link("/jobs?page=1", "All offers"))
        return None

    return make_site(frame, answer, good=r"/jobs/.+", total=count)


@good
def court_decisions() -> Site:
    """Formulas of a court around the reasons of each case."""
    years, each = range(2008, 2020), 50
    frame = Frame("court-decisions", {str(year): f"/decisions/{year}/" for year in years})
    opening, closing = paragraphs(300, "court", "opening"), paragraphs(150, "court", "closing")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Decisions", links([(f"/decisions/{year}/", f"Decisions of {year}") for year in years]))
        if (found := match(r"/decisions/(\d+)/", at.path)) and int(found[0]) in years:
            cases = [(f"case-{case}", f"Case {case}/{found[0]}") for case in range(100, 100 + each)]
            return frame.page(f"Decisions of {found[0]}", links(cases))
        if (found := match(r"/decisions/(\d+)/case-(\d+)", at.path)) and 100 <= int(found[1]) < 100 + each:
            year, case = found
            parties = f"<p>{proper(at.path, 1)} v. {proper(at.path, 2)}, No. {case}/{year}</p>\n"
            own = "".join(f"<p>{number}. {text(30, 'case', year, case, number)}</p>\n" for number in (1, 2))
            return frame.page(f"Case {case}/{year}", parties + opening + own + closing)
        return None

    return make_site(frame, answer, good=r"/decisions/\d+/case-\d+", total=len(years) * each)


@good
def weather_tables() -> Site:
    """Hours of a day at a station: numbers, and five words."""
    stations, first, days = [slug(1, "station", number) for number in range(5)], date(2023, 3, 1), 120
    frame = Frame("weather-tables", {name.capitalize(): f"/weather/{name}/" for name in stations})
    skies = ("clear", "cloudy", "overcast", "rain", "fog")

    def day_link(day: date) -> list[tuple[str, str]]:
        return [(f"{day}", f"{day}")] if first <= day < first + timedelta(days) else []

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            places = [(f"/weather/{name}/", f"Weather in {name.capitalize()}") for name in stations]
            return frame.page("Weather", links(places))
        if (found := match(r"/weather/(\w+)/", at.path)) and found[0] in stations:
            listed = [day for number in range(days) for day in day_link(first + timedelta(number))]
            return frame.page(f"Weather in {found[0].capitalize()}", links(listed))
        found = match(r"/weather/(\w+)/(\d{4}-\d\d-\d\d)", at.path)
        if found and found[0] in stations and day_link(day := date.fromisoformat(found[1])):
            chance = drawing("weather", *found)
            mean, pressure = chance.uniform(-5, 25), chance.randint(990, 1030)
            rows = [
                (
                    f"{hour:02}:00",
                    f"{chance.gauss(mean, 3):.1f}",
                    pressure + chance.randint(-3, 3),
                    chance.randint(30, 99),
                    f"{chance.expovariate(0.2):.1f}",
                    chance.choice(skies),
                )
                for hour in range(24)
            ]
            near = [*day_link(day - timedelta(1)), *day_link(day + timedelta(1))]
            grid = table(("Hour", "Temperature", "Pressure", "Humidity", "Wind", "Sky"), rows)
            return frame.page(f"{found[0].capitalize()}, {day}", grid + links(near))
        return None

    return make_site(frame, answer, good=r"/weather/\w+/[\d-]+", total=len(stations) * days)


@good
def paged_lists() -> Site:
    """A list of eight hundred pages whose main content is the same on all of them."""
    last = 800
    frame = Frame("paged-lists", {"Catalogue": "/catalogue?page=1"})
    main = f"<article><h2>About this catalogue</h2>{paragraphs(220, 'catalogue')}</article>\n"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Welcome", paragraphs(70, "catalogue home") + link("/catalogue?page=1", "Catalogue"))
        if at.path == "/catalogue" and 0 < at.number <= last:
            items = "".join(f"<li>{title(4, 'lot', at.number, item)}</li>\n" for item in range(12))
            return frame.page("Catalogue", f"{main}<ul>{items}</ul>" + pager("/catalogue?page=", at.number, last))
        return None

    return make_site(frame, answer, good=r"/catalogue\?page=\d+", total=last)


@good
def translations() -> Site:
    """Sixty pages in five languages, chosen by a variable; the links are the same in all."""
    tongues = {"en": "english", "la": "latin", "no": "nordic", "sk": "slavic", "fr": "romance"}
    names = [f"{slug(2, 'translated', number)}-{number}" for number in range(60)]
    frame = Frame("translations")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Pages", links([(f"/page/{name}?lang=en", name.replace("-", " ")) for name in names]))
        if (found := match(r"/page/([a-z0-9-]+)", at.path)) and found[0] in names:
            code = at.query.get("lang", "")
            if code not in tongues:
                return redirect(f"{at.path}?lang=en")
            place, tongue = names.index(found[0]), tongues[code]
            body = paragraphs(110, "translated", found[0], code, tongue=tongue)
            others = links([(f"{at.path}?lang={other}", other) for other in tongues])
            near = links([(f"/page/{name}?lang={code}", name) for name in names[max(0, place - 2) : place + 3]])
            return frame.page(title(4, "translated", found[0], code, tongue=tongue), others + body + near)
        return None

    return make_site(frame, answer, good=r"/page/[^?]+\?lang=\w+", total=len(names) * len(tongues))


@good
def query_shop() -> Site:
    """Products by ids in queries, a short description of each within a long common text."""
    shelves, per_list, last = range(20), 12, 5
    per_shelf = per_list * last
    frame = Frame("query-shop", {f"Shelf {shelf}": f"/list?cat={shelf}&page=1" for shelf in shelves[:8]})
    shipping, returns = paragraphs(160, "shop", "shipping"), paragraphs(110, "shop", "returns")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Shop", links([(f"/list?cat={shelf}&page=1", f"Shelf {shelf}") for shelf in shelves]))
        if at.path == "/list" and (shelf := int(at.query.get("cat", "-1"))) in shelves and 0 < at.number <= last:
            start = shelf * per_shelf + (at.number - 1) * per_list
            items = links([(f"/item?id={item}", title(3, "item", item)) for item in range(start, start + per_list)])
            return frame.page(f"Shelf {shelf}", items + pager(f"/list?cat={shelf}&page=", at.number, last))
        if at.path == "/item" and 0 <= (item := int(at.query.get("id", "-1"))) < len(shelves) * per_shelf:
            price = drawing("price", item).randint(199, 9999) / 100
            own = f"<p>{text(22, 'item', item)}</p><p>{price:.2f}</p>\n"
            near = links([(f"/item?id={drawing(item, each).randrange(1200)}", "See also") for each in range(3)])
            return frame.page(title(3, "item", item), shipping + own + returns + near)
        return None

    return make_site(frame, answer, good=r"/item\?id=\d+", total=len(shelves) * per_shelf)


@good
def newspaper() -> Site:
    """Sections with several pages each, and articles with related ones."""
    sections, per_list, last = [slug(1, "section", number) for number in range(10)], 15, 10
    count = len(sections) * per_list * last
    frame = Frame("newspaper", {name.capitalize(): f"/{name}/" for name in sections})

    def path(number: int) -> str:
        return f"/{sections[number % 10]}/{2012 + number % 9}/{slug(4, 'news', number)}-{number}.html"

    def teaser(number: int) -> tuple[str, str]:
        return path(number), title(6, "news", number)

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Today", links([teaser(number) for number in range(30)]))
        if (found := match(r"/(\w+)/(?:page/(\d+))?", at.path)) and found[0] in sections:
            section, number = sections.index(found[0]), int(found[1] or 1)
            if not 0 < number <= last:
                return None
            shown = [teaser((start * 10) + section) for start in range((number - 1) * per_list, number * per_list)]
            return frame.page(found[0].capitalize(), links(shown) + pager(f"/{found[0]}/page/", number, last))
        found = match(r"/\w+/\d+/[a-z-]+-(\d+)\.html", at.path)
        if found and at.path == path(number := int(found[0])) and number < count:
            related = [teaser(drawing("related", number, each).randrange(count)) for each in range(4)]
            body = f"<p>By {proper('author', number % 40)}</p>" + paragraphs(180, "news", number)
            return frame.page(title(6, "news", number), f"<article>{body}</article>\n" + links(related))
        return None

    return make_site(frame, answer, good=r"/\w+/\d+/.+\.html", total=count)


@good
def dense_wiki() -> Site:
    """Three thousand entries without navigation; the popular ones are linked most."""
    count = 3000
    frame = Frame("dense-wiki")

    def path(number: int) -> str:
        return f"/wiki/{slug(1, 'entry', number).capitalize()}_{number}"

    def answer(at: At) -> Answer | None:
        found = match(r"/wiki/\w+_(\d+)", at.path)
        number = int(found[0]) if found else 0
        if number >= count or at.path not in ("/", path(number)):
            return None
        chance = drawing("entry", number)
        targets = [*(int(count * chance.random() ** 2) for _ in range(11)), (number + 1) % count]
        words = "".join(
            f"<p>{text(8, number, each)} {link(path(target), slug(1, 'entry', target))} {text(6, number, -each)}</p>\n"
            for each, target in enumerate(targets)
        )
        return html(path(number)[6:], f"<h1>{path(number)[6:]}</h1>\n{words}")

    return make_site(frame, answer, good=r"/wiki/.+", total=count)


@good
def deep_tree() -> Site:
    """Listings of directories five deep, with files at the bottom only."""
    depth, width = 5, 4
    frame = Frame("deep-tree")

    @cache
    def names(path: str) -> tuple[str, ...]:
        return tuple(f"{name}{number}" for number, name in enumerate(rare(width, "tree", path)))

    def exists(parts: list[str]) -> bool:
        return all(name in names("/".join(parts[:place])) for place, name in enumerate(parts))

    def answer(at: At) -> Answer | None:
        parts = [part for part in at.path.split("/") if part]
        is_file = at.path.endswith(".txt.html")
        if not exists([part.removesuffix(".txt.html") for part in parts]) or is_file != (len(parts) == depth):
            return None
        if is_file:
            return html(parts[-1], f"<h1>{parts[-1]}</h1>" + paragraphs(100, at.path) + link("./", "Up"))
        ending = ".txt.html" if len(parts) == depth - 1 else "/"
        rows = links([("../", "Parent directory"), *((f"{name}{ending}", name) for name in names("/".join(parts)))])
        return html(f"Index of {at.path}", f"<h1>Index of {at.path}</h1>{rows}")

    return make_site(frame, answer, good=r"/.+\.txt\.html", total=width**depth)


@good
def chain_of_next() -> Site:
    """A discussion of which each page leads to the next one only, a thousand deep."""
    count = 1000
    frame = Frame("chain-of-next", {"Discussion": "/topic/1"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Forum", paragraphs(60, "chain") + link("/topic/1", "Begin"))
        if (found := match(r"/topic/(\d+)", at.path)) and 0 < (number := int(found[0])) <= count:
            said = "".join(f"<p>{proper(number, each)}: {text(25, 'said', number, each)}</p>\n" for each in range(3))
            return frame.page("Discussion", said + (link(f"/topic/{number + 1}", "Next") if number < count else ""))
        return None

    return make_site(frame, answer, good=r"/topic/\d+", total=count)


@good
def forum() -> Site:
    """Threads of two pages; pages of users that are all alike; links to reply, which want a login."""
    count, each, users = 600, 20, 200
    last = count // each
    frame = Frame("forum", {"Threads": "/threads/1"})

    def posts(number: int, page: int) -> str:
        chance = drawing("posts", number, page)
        return "".join(
            f'<div class="post">{link(f"/user/{user}", f"member{user}")} {text(20, "post", number, page, post)} '
            f"{link(f'/reply?thread={number}&post={post}', 'Reply')}</div>\n"
            for post, user in enumerate(chance.randrange(users) for _ in range(5))
        )

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Forum", link("/threads/1", "All threads"))
        if (found := match(r"/threads/(\d+)", at.path)) and 0 < (number := int(found[0])) <= last:
            shown = range((number - 1) * each, number * each)
            threads = links([(f"/thread/{thread}", title(5, "thread", thread)) for thread in shown])
            return frame.page("Threads", threads + pager("/threads/", number, last))
        if (found := match(r"/thread/(\d+)", at.path)) and (number := int(found[0])) < count and at.number in (1, 2):
            other = link(f"/thread/{number}?page=2" if at.number == 1 else f"/thread/{number}", "Other page")
            return frame.page(title(5, "thread", number), posts(number, at.number) + other)
        if (found := match(r"/user/(\d+)", at.path)) and int(found[0]) < users:
            return frame.page(
                "Member", f"<p>member{found[0]} joined in 2019 and prefers to keep an air of mystery.</p>"
            )
        if at.path == "/reply":
            return frame.page("Log in", "<p>You must be logged in to reply to this post.</p>")
        return None

    return make_site(frame, answer, good=r"/thread/\d+(\?page=2)?", total=2 * count)


@good
def documentation() -> Site:
    """The same chapters in three languages, and a variable that changes nothing."""
    tongues = {"en": "english", "no": "nordic", "fr": "romance"}
    names = [f"{slug(1, 'chapter', number)}{number}" for number in range(300)]
    frame = Frame("documentation", {code: f"/{code}/" for code in tongues})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Documentation", links([(f"/{code}/", code) for code in tongues]))
        if (found := match(r"/(\w\w)/", at.path)) and found[0] in tongues:
            return frame.page("Contents", links([(f"/{found[0]}/doc/{name}", name) for name in names]))
        if (found := match(r"/(\w\w)/doc/(\w+)", at.path)) and found[0] in tongues and found[1] in names:
            code, name = found
            body = paragraphs(90, "docs", code, name, tongue=tongues[code])
            same = [(f"/{other}/doc/{name}", other) for other in tongues]
            versions = [(f"{at.path}?v={version}", f"Version {version}") for version in (1, 2, 3)]
            return frame.page(f"{name} ({code})", links(versions) + body + links(same))
        return None

    return make_site(frame, answer, good=r"/\w\w/doc/\w+", total=3 * len(names), plain=without("v"))


@good
def short_pages() -> Site:
    """Eight own words a page, below a menu of two hundred links."""
    names = [f"{slug(2, 'short', number)}-{number}" for number in range(600)]
    frame = Frame("short-pages")

    def menu(start: int) -> str:
        return links([(f"/{name}", name.replace("-", " ")) for name in (names * 2)[start : start + 200]])

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Welcome", f"<p>{text(8, 'short')}</p>", more=menu(0))
        if (found := match(r"/([a-z0-9-]+)", at.path)) and found[0] in names:
            place = names.index(found[0])
            main = f"<p>{text(8, 'short', found[0])}</p>"
            return frame.page(found[0].replace("-", " "), main, more=menu(place // 100 * 100))
        return None

    return make_site(frame, answer, good=r"/[a-z]+-[a-z]+-\d+", total=600)


@good
def about_captchas() -> Site:
    """Small pages that speak of what other sites use to keep crawlers out."""
    count = 300
    subjects = ("Captcha", "reCAPTCHA", "hCaptcha", "Access denied", "Rate limit", "Bot check")
    frame = Frame("about-captchas", {"Guides": "/guides?page=1"})

    def path(number: int) -> str:
        return f"/guide/captcha-{slug(2, 'captcha', number)}-{number}"

    def heading(number: int) -> str:
        return f"{subjects[number % 6]}: {title(2, 'captcha', number)} - verify that you are human"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("All about captchas", links([(path(number), heading(number)) for number in range(10)]))
        if at.path == "/guides" and 0 < at.number <= 15:
            shown = range((at.number - 1) * 20, at.number * 20)
            listed = links([(path(number), heading(number)) for number in shown])
            return frame.page("Guides to captchas", listed + pager("/guides?page=", at.number, 15))
        if (found := match(r"/guide/[a-z-]+-(\d+)", at.path)) and at.path == path(number := int(found[0])):
            body = f"<p>Please enable cookies, says the captcha. {text(30, 'captcha', number)}</p>"
            return frame.page(heading(number), body + link(path((number + 1) % count), "Next captcha"))
        return None

    return make_site(frame, answer, good=r"/guide/.+", total=count)


@good
def photo_gallery() -> Site:
    """Pages of one image and two or three words."""
    albums, each = 20, 20
    frame = Frame("photo-gallery")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Albums", links([(f"/album/{album}/", f"Album {album}") for album in range(albums)]))
        if (found := match(r"/album/(\d+)/", at.path)) and int(found[0]) < albums:
            shown = [
                (f"photo-{number}", f'<img src="/thumb/{found[0]}-{number}.jpg" alt="">') for number in range(each)
            ]
            return frame.page(f"Album {found[0]}", links(shown))
        found = match(r"/album/(\d+)/photo-(\d+)", at.path)
        if found and int(found[0]) < albums and (number := int(found[1])) < each:
            caption = title(2 + number % 2, "photo", *found)
            picture = (
                f'<figure><img src="/image/{slug(1, *found)}.jpg" alt=""><figcaption>{caption}</figcaption></figure>'
            )
            near = [(f"photo-{other}", "›") for other in (number - 1, number + 1) if 0 <= other < each]
            return frame.page("Photo", picture + links([*near, ("./", "Album")]))
        return None

    return make_site(frame, answer, good=r"/album/\d+/photo-\d+", total=albums * each)


@good
def recipes() -> Site:
    """Pages by numbers, with gaps between them."""
    ids = sorted(drawing("recipes").sample(range(1000, 90_000), 700))
    frame = Frame("recipes", {"Recipes": "/recipes?page=1"})
    known = set(ids)

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Recipes", links([(f"/recipe/{each}", title(3, "recipe", each)) for each in ids[:8]]))
        if at.path == "/recipes" and 0 < at.number <= 28:
            shown = ids[(at.number - 1) * 25 : at.number * 25]
            listed = links([(f"/recipe/{each}", title(3, "recipe", each)) for each in shown])
            return frame.page("All recipes", listed + pager("/recipes?page=", at.number, 28))
        if (found := match(r"/recipe/(\d+)", at.path)) and (number := int(found[0])) in known:
            chance = drawing("recipe", number)
            parts = "".join(f"<li>{chance.randint(1, 500)} g {word}</li>" for word in rare(7, "recipe", number))
            steps = "".join(f"<li>{text(14, 'step', number, step)}</li>" for step in range(5))
            also = links([(f"/recipe/{each}", title(3, "recipe", each)) for each in chance.sample(ids, 3)])
            return frame.page(title(3, "recipe", number), f"<ul>{parts}</ul><ol>{steps}</ol>{also}")
        return None

    return make_site(frame, answer, good=r"/recipe/\d+", total=len(ids))


@good
def dictionary() -> Site:
    """Three thousand short definitions, found by letters and by each other."""
    words = sorted(dict.fromkeys(rare(9000, "dictionary")))[:3000]
    letters = sorted({word[0] for word in words})
    frame = Frame("dictionary", {letter.upper(): f"/letter/{letter}" for letter in letters})
    known = set(words)

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Dictionary", paragraphs(60, "dictionary"))
        if (found := match(r"/letter/(\w)", at.path)) and found[0] in letters:
            return frame.page(
                found[0].upper(), links([(f"/define/{word}", word) for word in words if word[0] == found[0]])
            )
        if (found := match(r"/define/(\w+)", at.path)) and found[0] in known:
            also = [(f"/define/{word}", word) for word in drawing("also", found[0]).sample(words, 2)]
            return frame.page(found[0], f"<p><i>n.</i> {text(12, 'definition', found[0])}</p>" + links(also))
        return None

    return make_site(frame, answer, good=r"/define/\w+", total=len(words))


@good
def mailing_list() -> Site:
    """Months of letters, an index of each by thread and by date, and letters that lead to the next."""
    months = [(year, month) for year in (2014, 2015) for month in range(12)]
    each = 40
    frame = Frame("mailing-list")

    def folder(place: int) -> str:
        return f"/archives/{months[place][0]}-{MONTHS[months[place][1]]}"

    def subject(place: int, number: int) -> str:
        return ("Re: " if number % 4 else "") + title(4, "thread", place, number // 4)

    def letter(place: int, number: int) -> Answer:
        lines = f"<b>{proper('writer', number % 30)}</b><pre>{text(70, 'letter', place, number)}</pre>"
        near = ((number - 1, "Previous by date"), (number + 1, "Next by date"))
        steps = [(f"msg{other:05}.html", words) for other, words in near if 0 <= other < each]
        more = links([*steps, ("thread.html", "Threads"), ("date.html", "Dates")])
        return html(subject(place, number), f"<h1>{subject(place, number)}</h1>{more}{lines}{more}")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            listed = [
                (f"{folder(place)}/{by}.html", folder(place)[10:]) for place in range(24) for by in ("thread", "date")
            ]
            return html("Archives", f"<h1>Archives of the list</h1>{links(listed)}")
        place = next((place for place in range(len(months)) if at.path.startswith(f"{folder(place)}/")), -1)
        if place < 0:
            return None
        name = at.path.rpartition("/")[2]
        if name in ("thread.html", "date.html"):
            order = sorted(range(each), key=lambda number: (number % 7, number)) if name == "date.html" else range(each)
            return html(name, links([(f"msg{number:05}.html", subject(place, number)) for number in order]))
        found = match(r"msg(\d{5})\.html", name)
        return letter(place, int(found[0])) if found and int(found[0]) < each else None

    return make_site(frame, answer, good=r"/archives/[^/]+/msg\d+\.html", total=len(months) * each)


@good
def code_host() -> Site:
    """Repositories: trees, files, lists of commits, commits."""
    repositories = [f"{slug(1, 'owner', number % 5)}/{slug(1, 'repository', number)}" for number in range(12)]
    folders, files, commits = ("src", "docs", "tests", "src/core"), 6, 40
    frame = Frame("code-host", {"Explore": "/explore"})

    def sha(name: str, number: int) -> str:
        return f"{drawing('sha', name, number).getrandbits(160):040x}"

    def file_names(folder: str) -> list[str]:
        return [f"{word}{number}.py" for number, word in enumerate(rare(files, "file", folder))]

    def code(*key: object) -> str:
        chance, names = drawing("code", *key), rare(30, *key)
        lines = [f"{name} = {chance.choice(names)}({chance.randint(0, 999)})" for name in names]
        return "<pre>" + "\n".join(lines) + "</pre>"

    @cache
    def shas(name: str) -> dict[str, int]:
        return {sha(name, number): number for number in range(commits)}

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/explore"):
            return frame.page("Explore", links([(f"/{name}", name) for name in repositories]))
        found = match(r"/(\w+/\w+)(?:/(tree|blob|commits|commit)/(.+))?", at.path)
        if not found or found[0] not in repositories:
            return None
        name, kind, rest = found
        if kind == "commits" and rest == "main" and 0 < at.number <= 4:
            shown = range((at.number - 1) * 10, at.number * 10)
            listed = [(f"/{name}/commit/{sha(name, each)}", title(5, "commit", name, each)) for each in shown]
            return frame.page("Commits", links(listed) + pager(f"/{name}/commits/main?page=", at.number, 4))
        if kind == "commit" and rest in shas(name):
            number = shas(name)[rest]
            parent = link(f"/{name}/commit/{sha(name, number + 1)}", "Parent") if number + 1 < commits else ""
            about = f"<p>{proper(name, number)} committed {text(15, 'commit', name, number)}</p>"
            return frame.page(title(5, "commit", name, number), about + code(name, number) + parent)
        branch, _, path = rest.partition("/")
        folder, _, file = path.rpartition("/")
        if kind == "blob" and branch == "main" and folder in folders and file in file_names(folder):
            history = links([(f"/{name}/commits/main?page=1", "History"), (f"/{name}/tree/main/{folder}", folder)])
            return frame.page(path, history + code(name, path))
        if not kind or (kind == "tree" and branch == "main" and path in folders):
            entries = [(f"/{name}/tree/main/{each}", each) for each in folders if each.startswith(path)]
            entries += [(f"/{name}/blob/main/{path}/{each}", each) for each in file_names(path)] if path else []
            entries.append((f"/{name}/commits/main?page=1", "Commits"))
            return frame.page(name, f"<p>{text(20, 'about', name)}</p>" + links(entries))
        return None

    total = len(repositories) * (len(folders) * files + commits)
    return make_site(frame, answer, good=r"/\w+/\w+/(blob|commit)/.+", total=total)


@good
def press_releases() -> Site:
    """Releases by date, found by their years and months."""
    first = date(2015, 1, 5)
    days = [first + timedelta(number * 3) for number in range(700)]
    paths = {f"/{day:%Y/%m/%d}/{slug(4, 'release', day)}": day for day in days}
    frame = Frame("press-releases", {str(year): f"/{year}/" for year in range(2015, 2021)})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page(
                "Press", links([(path, title(5, "release", day)) for path, day in list(paths.items())[-10:]])
            )
        if day := paths.get(at.path):
            return frame.page(title(5, "release", day), f"<p>{day:%d %B %Y}</p>" + paragraphs(120, "release", day))
        if match(r"/\d{4}/", at.path):
            months = sorted({path[:9] for path in paths if path.startswith(at.path)})
            return (
                frame.page(f"Releases of {at.path[1:5]}", links([(month, month[1:8]) for month in months]))
                if months
                else None
            )
        if match(r"/\d{4}/\d\d/", at.path):
            shown = [(path, title(5, "release", day)) for path, day in paths.items() if path.startswith(at.path)]
            return frame.page(f"Releases of {at.path[1:8]}", links(shown)) if shown else None
        return None

    return make_site(frame, answer, good=r"/\d{4}/\d\d/\d\d/.+", total=len(paths))


@good
def forty_blogs() -> Site:
    """Blogs on subdomains of one domain, all linked from its front page."""
    names, each = [f"{slug(1, 'blog', number)}{number}" for number in range(40)], 40
    frame = Frame("forty-blogs")
    hosts = {f"{name}.{frame.domain}": name for name in names}

    def blog(name: str, at: At) -> Answer | None:
        own = Frame(f"blog-{name}", {"Front page": f"http://{frame.host}/"})
        if (at.path == "/" or match(r"/page/\d+", at.path)) and (number := int(at.path[6:] or 1)) <= 4:
            shown = range((number - 1) * 10, number * 10)
            posts = links([(f"/{slug(3, name, post)}-{post}", title(4, name, post)) for post in shown])
            return own.page(name.capitalize(), posts + pager("/page/", number, 4))
        found = match(r"/[a-z-]+-(\d+)", at.path)
        if found and (post := int(found[0])) < each and at.path == f"/{slug(3, name, post)}-{post}":
            friend = drawing(name, post).choice(names)
            roll = link(f"http://{friend}.{frame.domain}/", f"{friend} says")
            return own.page(title(4, name, post), paragraphs(120, name, post) + roll)
        return own.static(at)

    def answer(at: At) -> Answer | None:
        if at.host in hosts:
            return blog(hosts[at.host], at)
        if at.path == "/":
            return frame.page("Our blogs", links([(f"http://{host}/", name) for host, name in hosts.items()]))
        return None

    good_pages = r"[a-z]+\d+\.forty-blogs\.test/[a-z]+-[a-z]+-[a-z]+-\d+"
    return make_site(frame, answer, good=good_pages, total=len(names) * each, hosts=tuple(hosts))


@good
def sports_results() -> Site:
    """Tables of rounds: names of clubs that repeat, and numbers."""
    leagues, seasons, rounds = [slug(1, "league", number) for number in range(8)], range(2015, 2020), range(1, 21)
    frame = Frame("sports-results", {name.capitalize(): f"/{name}/2019/" for name in leagues})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Results", links([(f"/{name}/2019/", name) for name in leagues]))
        found = match(r"/(\w+)/(\d{4})/(?:round-(\d+))?", at.path)
        if not found or found[0] not in leagues or int(found[1]) not in seasons:
            return None
        league, season, number = found[0], found[1], int(found[2] or 0)
        if not number:
            listed = [(f"round-{each}", f"Round {each}") for each in rounds]
            listed += [(f"/{league}/{year}/", f"Season {year}") for year in seasons]
            return frame.page(f"{league.capitalize()} {season}", links(listed))
        if number not in rounds:
            return None
        chance, clubs = drawing("round", *found), [word.capitalize() for word in rare(16, "clubs", league)]
        chance.shuffle(clubs)
        games = [
            (*pair, f"{chance.randint(0, 5)}:{chance.randint(0, 5)}")
            for pair in zip(clubs[::2], clubs[1::2], strict=True)
        ]
        standing = [
            (place + 1, club, chance.randint(0, 60), chance.randint(-30, 30)) for place, club in enumerate(clubs)
        ]
        grid = table(("Home", "Guest", "Result"), games) + table(("Place", "Club", "Points", "Difference"), standing)
        steps = [(f"round-{each}", f"Round {each}") for each in (number - 1, number + 1) if each in rounds]
        return frame.page(f"{league.capitalize()}, round {number}, {season}", grid + links(steps))

    return make_site(frame, answer, good=r"/\w+/\d+/round-\d+", total=len(leagues) * len(seasons) * len(rounds))


@good
def partial_copy() -> Site:
    """An original and a copy of a part of it under a shorter name; the original is to be found whole."""
    count, copied = 400, 60
    frame = Frame("an-original-with-a-long-name", {"Essays": "/essays?page=1"})
    copy = "cop.test"

    def path(number: int) -> str:
        return f"/essay/{slug(3, 'essay', number)}-{number}"

    def answer(at: At) -> Answer | None:
        here = copied if at.host == copy else count
        if at.path == "/":
            both = [
                (f"http://{frame.host}/", "The original"),
                (f"http://{copy}/", "A copy"),
                ("/essays?page=1", "Essays"),
            ]
            return frame.page("Essays", paragraphs(60, "essays") + links(both))
        if at.path == "/essays" and 0 < at.number <= here // 20:
            shown = range((at.number - 1) * 20, at.number * 20)
            listed = links([(path(number), title(4, "essay", number)) for number in shown])
            return frame.page("All essays", listed + pager("/essays?page=", at.number, here // 20))
        found = match(r"/essay/[a-z-]+-(\d+)", at.path)
        if found and (number := int(found[0])) < here and at.path == path(number):
            near = links(
                [(path(other), title(4, "essay", other)) for other in (number - 1, number + 1) if 0 <= other < here]
            )
            twin = link(f"http://{copy}{path(number)}", "Copy") if number < copied else ""
            return frame.page(title(4, "essay", number), paragraphs(150, "essay", number) + near + twin)
        return None

    good_pages = rf"{frame.host}/essay/.+".replace(".", r"\.", 2)
    seeds = (f"http://{copy}/", f"http://{frame.host}/")
    return make_site(frame, answer, good=good_pages, total=count, hosts=(copy,), seeds=seeds)


@good
def chinese() -> Site:
    """Texts without spaces."""
    count, each = 500, 25
    frame = Frame("chinese", {"文章": "/list?page=1"}, tongue="han")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("首页", paragraphs(60, "chinese", tongue="han") + link("/list?page=1", "文章"))
        if at.path == "/list" and 0 < at.number <= count // each:
            shown = range((at.number - 1) * each, at.number * each)
            listed = links([(f"/wen/{number}", title(4, "wen", number, tongue="han")) for number in shown])
            return frame.page("文章", listed + pager("/list?page=", at.number, count // each))
        if (found := match(r"/wen/(\d+)", at.path)) and (number := int(found[0])) < count:
            body = paragraphs(90, "wen", number, tongue="han")
            also = drawing("wen", number).randrange(count)
            return frame.page(title(4, "wen", number, tongue="han"), body + link(f"/wen/{also}", "相关"))
        return None

    return make_site(frame, answer, good=r"/wen/\d+", total=count)


@good
def sitemap_only() -> Site:
    """Two thousand pages that no page links to."""
    count, maps = 2000, 4
    frame = Frame("sitemap-only")

    def path(number: int) -> str:
        return f"/notice/{slug(3, 'notice', number)}-{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Notices", paragraphs(80, "notices"))
        if at.path == "/sitemap.xml":
            return sitemap_index([f"http://{frame.host}/sitemap-{part}.xml" for part in range(maps)])
        if (found := match(r"/sitemap-(\d)\.xml", at.path)) and int(found[0]) < maps:
            part = range(int(found[0]), count, maps)
            return urlset([f"http://{frame.host}{path(number)}" for number in part])
        found = match(r"/notice/[a-z-]+-(\d+)", at.path)
        if found and (number := int(found[0])) < count and at.path == path(number):
            return frame.page(title(4, "notice", number), paragraphs(80, "notice", number))
        return None

    robots = f"User-agent: *\nDisallow:\n\nSitemap: http://{frame.host}/sitemap.xml\n"
    return make_site(frame, answer, good=r"/notice/.+", total=count, robots=robots)


@good
def numbered_lists() -> Site:
    """Eight hundred lists of own entries, each leading to its neighbours, with hardly anything else on the page."""
    last = 800
    frame = Frame("numbered-lists")

    def answer(at: At) -> Answer | None:
        found = match(r"/p/(\d+)", at.path)
        number = int(found[0]) if found else int(at.path == "/")
        if not 0 < number <= last:
            return None
        rows = [
            (number * 20 + row, title(3, "row", number, row), drawing(number, row).randint(1, 9999))
            for row in range(20)
        ]
        steps = [(f"/p/{each}", f"{each}") for each in (number - 1, number + 1) if 0 < each <= last]
        return html(f"Entries, page {number}", table(("id", "name", "value"), rows) + links(steps))

    return make_site(frame, answer, good=r"/p/\d+", total=last)


@good
def hundred_links_each() -> Site:
    """Two thousand pages, each of which leads to a hundred others."""
    names = [f"{slug(2, 'dense', number)}-{number}" for number in range(2000)]
    places = {name: place for place, name in enumerate(names)}
    frame = Frame("hundred-links-each")

    def answer(at: At) -> Answer | None:
        place = 0 if at.path == "/" else places.get(at.path.removeprefix("/on/"))
        if place is None:
            return None
        others = [*drawing("dense", place).sample(names, 99), names[(place + 1) % len(names)]]
        near = links([(f"/on/{name}", name.replace("-", " ")) for name in others])
        return frame.page(title(3, "dense", place), paragraphs(70, "dense", place) + near)

    return make_site(frame, answer, good=r"/on/.+", total=len(names))


@good
def slow_glossary() -> Site:
    """Terms that stand on lists all of whose other entries are known by then."""
    count = 450
    frame = Frame("slow-glossary", {"Lists": "/list/0"})

    def path(number: int) -> str:
        return f"/term/{slug(1, 'term', number)}-{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Glossary", paragraphs(60, "glossary") + link("/list/0", "Lists"))
        if (found := match(r"/list/(\d+)", at.path)) and (number := int(found[0])) < count:
            chance = drawing("list", number)
            shown = sorted({number, *(chance.randrange(number + 1) for _ in range(9))})
            listed = links([(path(each), slug(1, "term", each)) for each in shown])
            steps = [(f"/list/{each}", f"List {each}") for each in range(number - 2, number + 3) if 0 <= each < count]
            return frame.page("A list of terms", listed + links(steps))
        found = match(r"/term/[a-z]+-(\d+)", at.path)
        if found and (number := int(found[0])) < count and at.path == path(number):
            return frame.page(slug(1, "term", number), f"<p>{text(30, 'term', number)}</p>" + link("/list/0", "Lists"))
        return None

    return make_site(frame, answer, good=r"/term/.+", total=count)


@good
def random_ids() -> Site:
    """Documents whose names are drawn by lot."""
    ids = [str(uuid.UUID(int=drawing("uuid", number).getrandbits(128), version=4)) for number in range(800)]
    places = {name: place for place, name in enumerate(ids)}
    frame = Frame("random-ids", {"Browse": "/browse"})

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/browse"):
            return frame.page("Documents", links([(f"/doc/{name}", title(3, "doc", name)) for name in ids[:40]]))
        place = places.get(at.path.removeprefix("/doc/"))
        if place is None:
            return None
        near = [*drawing("doc", place).sample(ids, 4), ids[(place + 40) % len(ids)]]
        more = links([(f"/doc/{name}", title(3, "doc", name)) for name in near])
        return frame.page(title(3, "doc", ids[place]), paragraphs(110, "doc", place) + more)

    return make_site(frame, answer, good=r"/doc/.+", total=len(ids))


@good
def event_calendar() -> Site:
    """Months of a year and more, and three hundred days on which something takes place."""
    first, last = date(2023, 1, 1), date(2024, 6, 30)
    span = [first + timedelta(number) for number in range((last - first).days + 1)]
    days = set(drawing("events").sample(span, 300))
    months = sorted({(day.year, day.month) for day in span})
    frame = Frame("event-calendar", {"Calendar": f"/calendar/{first:%Y/%m}"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Events", paragraphs(60, "events") + link(f"/calendar/{first:%Y/%m}", "Calendar"))
        found = match(r"/calendar/(\d{4})/(\d\d)(?:/(\d\d))?", at.path)
        if not found or (int(found[0]), int(found[1])) not in months:
            return None
        year, month = int(found[0]), int(found[1])
        if found[2]:
            day = date(year, month, int(found[2]))
            if day not in days:
                return None
            times = f"<p>{drawing(day).randint(9, 21)}:00, {proper('place', day)}</p>"
            return frame.page(f"{title(4, 'event', day)}, {day:%d %B %Y}", times + paragraphs(60, "event", day))
        grid = "".join(
            f"<td>{link(f'/calendar/{day:%Y/%m/%d}', str(day.day)) if day in days else day.day}</td>"
            for day in span
            if (day.year, day.month) == (year, month)
        )
        place = months.index((year, month))
        near = [months[other] for other in (place - 1, place + 1) if 0 <= other < len(months)]
        steps = links([(f"/calendar/{other[0]}/{other[1]:02}", f"{MONTHS[other[1] - 1]} {other[0]}") for other in near])
        return frame.page(f"{MONTHS[month - 1]} {year}", f"<table><tr>{grid}</tr></table>{steps}")

    return make_site(frame, answer, good=r"/calendar/\d+/\d+/\d+", total=len(days))


@good
def sorted_listings() -> Site:
    """Listings of directories as servers make them: each can be sorted in four ways, up and down."""
    frame = Frame("sorted-listings")
    names = [f"{name}{number}" for number, name in enumerate(rare(20, "listing"))]
    sizes = [(name, f"{name[:4]}{number}.html") for name in names for number in range(20)]

    def listing(path: str, entries: list[tuple[str, str]]) -> Answer:
        columns = links([(f"?C={column};O={order}", column) for column in "NMSD" for order in "AD"])
        return html(f"Index of {path}", f"<h1>Index of {path}</h1>{columns}{links([('../', 'Parent'), *entries])}")

    def answer(at: At) -> Answer | None:
        parts = at.path.strip("/").split("/")
        order = at.query.get("C", "").endswith("O=D") or at.target.endswith("O=D")
        if at.path == "/":
            return listing("/", sorted(((f"{name}/", name) for name in names), reverse=order))
        if at.path.endswith("/") and parts[0] in names and len(parts) == 1:
            files = [(file, file) for name, file in sizes if name == parts[0]]
            return listing(at.path, sorted(files, reverse=order))
        if len(parts) == 2 and tuple(parts) in sizes:
            return html(parts[1], f"<h1>{parts[1]}</h1>" + paragraphs(110, at.path) + link("./", "Up"))
        return None

    return make_site(frame, answer, good=r"/\w+/\w+\.html", total=len(sizes))


@hard
def statistics() -> Site:
    """Sentences that differ in their figures only."""
    places, years = [slug(1, "district", number) for number in range(40)], range(2010, 2020)
    frame = Frame("statistics", {"Districts": "/districts"})
    sentences = [text(14, "statistics", number)[:-1] for number in range(12)]

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/districts"):
            return frame.page(
                "Districts", links([(f"/district/{number}/2019", f"District {number}") for number in range(40)])
            )
        found = match(r"/district/(\d+)/(\d{4})", at.path)
        if not found or int(found[0]) >= len(places) or int(found[1]) not in years:
            return None
        chance = drawing("statistics", *found)
        body = "".join(f"<p>{sentence}: {chance.randint(10, 99_999)}.</p>\n" for sentence in sentences)
        others = links([(f"/district/{found[0]}/{year}", str(year)) for year in years])
        return frame.page(f"District {found[0]}, {found[1]}", body + others)

    return make_site(frame, answer, good=r"/district/\d+/\d+", total=len(places) * len(years))
