"""Endless parts of kinds that no rule was fitted to, beside finite parts of 300 to 1,200 pages.

They differ in how the endless part is reached: from every page, from one, by a sitemap, by a redirect, on other hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import count
from urllib.parse import parse_qsl, quote, unquote

from .endless import both, marked
from .good import MONTHS
from .parts import handbook, journal, shop
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
    redirect,
    sitemap_index,
    table,
    urlset,
    without,
)
from .unseen_parts import chronicle, dictionary, registry, topics, wiki
from .words import TONGUES, drawing, fresh, hash_of, paragraphs, proper, rare, slug, text, title

UNSEEN_ENDLESS: dict[str, Callable[[], Site]] = {}


def unseen(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens; what its program cannot read, such as a 31st of April, is not found."""

    def careful() -> Site:
        site = make()

        def answer(host: str, target: str) -> Answer:
            try:
                return site.answer(host, target)
            except (KeyError, ValueError, OverflowError):
                return html("Not found", "<p>There is no such page here.</p>", status=404)

        return replace(site, answer=answer)

    UNSEEN_ENDLESS[make.__name__.replace("_", "-")] = careful
    return careful


def digits(length: int, *key: object) -> str:
    """Hexadecimal digits that nothing else has."""
    return f"{drawing('digits', *key).getrandbits(4 * length):0{length}x}"


def on_the_first(html: str) -> Callable[[At], str]:
    """What stands on the first page only."""
    return lambda at: html if at.target == "/" else ""


def pairs(chosen: Iterable[tuple[str, object]]) -> str:
    """A query."""
    return "&".join(f"{name}={quote(str(value), safe='')}" for name, value in chosen)


# Mazes


@unseen
def keyed_maze() -> Site:
    """A maze without navigation that knows its own names by a check at their end; others it does not find."""

    def sealed(name: str) -> str:
        return f"/commentary/{name}.{digits(6, 'seal', name)}"

    frame = Frame("keyed-maze")
    part = wiki(frame, 700, lambda at: link(sealed("first"), "Commentary"))

    def bottomless(at: At) -> Answer | None:
        found = match(r"/commentary/(.+)\.[0-9a-f]{6}", at.path)
        if not found or at.path != sealed(found[0]):
            return None
        near = [sealed("/".join(rare(1 + each % 3, at.path, each))) for each in range(5)]
        return html(title(4, at.path), paragraphs(150, at.path) + links([(path, path[12:-7]) for path in near]))

    return both(frame, part, bottomless, r"/commentary/.*")


@unseen
def names_by_letters() -> Site:
    """People by the first letters of their names, on a host of its own; every page leads back to all letters before."""
    frame = Frame("names-by-letters")
    people = f"people.{frame.domain}"
    part = chronicle(frame, 2, on_the_first(link(f"http://{people}/a", "People")))

    def bottomless(at: At) -> Answer | None:
        if at.host != people or not match(r"/[a-z]+", at.path):
            return None
        chance = drawing(at.path)
        deeper = [(f"{at.path}{letter}", f"{at.path[1:]}{letter}…") for letter in chance.sample("aeiourstlnmkdgbp", 6)]
        back = [(at.path[:length], at.path[1:length]) for length in range(2, len(at.path))]
        known = "".join(
            f"<li>{at.path[1:].capitalize()}{each} {text(8, at.path, each)}</li>" for each in rare(8, at.path)
        )
        return html(f"Names with {at.path[1:]}", links(back) + f"<ul>{known}</ul>" + links(deeper))

    return both(frame, part, bottomless, r"people\.names-by-letters\.test/.*", hosts=[people])


@unseen
def ten_small_mazes() -> Site:
    """Ten hosts, each with another kind of maze, linked from the first page."""
    frame = Frame("ten-small-mazes")
    hosts = [f"{word}.{frame.domain}" for word in dict.fromkeys(rare(10, "small mazes"))]
    part = topics(frame, 450, on_the_first(links([(f"http://{host}/", host) for host in hosts])))
    ways: list[Callable[[str], str]] = [
        lambda name: f"/{name}",
        lambda name: f"/?page={name}",
        lambda name: f"/{name[:2]}/{name[2:4]}/{name}",
        lambda name: f"/{name}.html",
        lambda name: f"/item?id={digits(5, name)}&ref={name}",
    ]

    def bottomless(at: At) -> Answer | None:
        if at.host not in hosts:
            return None
        place = hosts.index(at.host)
        near = [(ways[place % 5](name), name) for name in fresh(3 + place // 3, at.host, at.target)]
        body = paragraphs(30 + 15 * place, at.host, at.target) + links(near)
        return frame.page(title(3, at.target), body) if place % 2 else html(title(3, at.target), body)

    return both(frame, part, bottomless, r"(?!www\.)[^/]+\.ten-small-mazes\.test/.*", hosts=hosts)


@unseen
def hosts_below_hosts() -> Site:
    """Every page leads to two names below that of its own host."""
    frame = Frame("hosts-below-hosts")
    part = journal(frame, on_the_first(link(f"http://regions.{frame.domain}/", "Regions")))

    def bottomless(at: At) -> Answer | None:
        if at.host == frame.host:
            return None
        host = at.host if len(at.host) < 120 else f"{rare(1, at.host)[0]}.{frame.domain}"
        near = [(f"http://{word}.{host}/", word.capitalize()) for word in rare(2, "below", at.host)]
        return frame.page(f"Region {at.host.partition('.')[0]}", paragraphs(70, at.host) + links(near))

    return both(frame, part, bottomless, r"(?!www\.)[^/]+\.test/.*", wild=frame.domain)


@unseen
def story_of_choices() -> Site:
    """A story of which each page asks what to do next."""
    frame = Frame("story-of-choices")
    part = shop(frame, on_the_first(link("/story?so-far=", "Our story")))

    def bottomless(at: At) -> Answer | None:
        if at.path != "/story":
            return None
        so_far = at.query.get("so-far", "")
        near = [(f"/story?so-far={so_far[-60:]}{step}", text(6, so_far, step)) for step in "lrw"]
        return frame.page(f"Part {len(so_far) + 1}", paragraphs(110, "story", so_far) + links(near))

    return both(frame, part, bottomless, r"/story\?.*")


@unseen
def followers() -> Site:
    """Members who follow other members, with a few lines of each; the comments of every page name some."""
    frame = Frame("followers")

    def named(number: int, *key: object) -> list[tuple[str, str]]:
        return [(f"/@{name.replace('-', '_')}", name.partition("-")[0]) for name in fresh(number, "member", *key)]

    part = journal(frame, lambda at: links(named(2, at.target)))

    def bottomless(at: At) -> Answer | None:
        if not at.path.startswith("/@"):
            return None
        said = "".join(f"<li>{text(14, at.path, each)}</li>\n" for each in range(1 + hash_of(at.path) % 6))
        body = f"<p>{text(10, at.path)}</p><ul>{said}</ul><h2>Follows</h2>" + links(named(8, at.path))
        return frame.page(proper(at.path), body)

    return both(frame, part, bottomless, r"/@.*")


@unseen
def recommender() -> Site:
    """Offers made from few words, six others with each; every product shows two."""
    frame = Frame("recommender")
    part = shop(frame, lambda at: links([(f"/offers/{_offer(at.target, each)}", "You may like") for each in (0, 1)]))

    def bottomless(at: At) -> Answer | None:
        return _offered(frame, at, "/offers/") if match(r"/offers/\d+", at.path) else None

    return both(frame, part, bottomless, r"/offers/.*")


@unseen
def products_among_products() -> Site:
    """The same below the path of the good products, with longer numbers."""
    frame = Frame("products-among-products")
    part = shop(frame, lambda at: links([(f"/product/{_offer(at.target, each)}", "You may like") for each in (0, 1)]))

    def bottomless(at: At) -> Answer | None:
        return _offered(frame, at, "/product/") if match(r"/product/\d{8}", at.path) else None

    return both(frame, replace(part, good=r"/product/\d{4}"), bottomless, r"/product/\d{8}")


def _offer(*key: object) -> int:
    return drawing("offer", *key).randrange(10**7, 10**8)


def _offered(frame: Frame, at: At, folder: str) -> Answer:
    chance, few = drawing(at.path), rare(60, "offers")
    sentences = " ".join(f"{' '.join(chance.choices(few, k=9)).capitalize()}." for _ in range(5))
    near = [(f"{folder}{_offer(at.path, each)}", " ".join(chance.choices(few, k=3))) for each in range(6)]
    body = f"<p>{chance.randint(100, 9999) / 100}</p><p>{sentences}</p>" + links(near)
    return frame.page(" ".join(chance.choices(few, k=3)).capitalize(), body)


# Calendars and clocks


@unseen
def event_views() -> Site:
    """Days, weeks, months and agendas of any date, each a click from the others; most show that nothing is on."""
    frame = Frame("event-views", {"Events": "/events?view=month&date=2024-05-01"})
    part = chronicle(frame, 3)
    steps = {"day": 1, "week": 7, "month": 30, "agenda": 14}

    def bottomless(at: At) -> Answer | None:
        if at.path != "/events":
            return None
        day, view = date.fromisoformat(at.query["date"]), at.query["view"]
        near = [
            (f"/events?view={view}&date={day + timedelta(step * sign)}", words)
            for step, sign, words in ((steps[view], -1, "Before"), (steps[view], 1, "After"))
        ]
        near += [(f"/events?view={other}&date={day}", other.capitalize()) for other in steps]
        if view == "month":
            near += [(f"/events?view=day&date={day + timedelta(each)}", str(each + 1)) for each in range(28)]
        is_on = hash_of("event", day) < 150
        event = link(part.paths[hash_of(day) % part.total], text(6, day)) if is_on else "Nothing is on."
        return frame.page(f"{view.capitalize()} of {day:%d %B %Y}", f"<p>{event}</p>" + links(near))

    return both(frame, part, bottomless, r"/events\?.*")


@unseen
def weeks_in_words() -> Site:
    """Weeks of months of years, all in words, linked from one page."""
    frame = Frame("weeks-in-words")
    part = registry(frame, 300, on_the_first(link("/march-2031/week-two", "This week")))
    months, weeks = [month.lower() for month in MONTHS], ("one", "two", "three", "four")

    def bottomless(at: At) -> Answer | None:
        found = match(r"/([a-z]+)-(\d+)/week-([a-z]+)", at.path)
        if not found or found[0] not in months or found[2] not in weeks:
            return None
        place = (int(found[1]) * 12 + months.index(found[0])) * 4 + weeks.index(found[2])
        near = [
            (f"/{months[each // 4 % 12]}-{each // 48}/week-{weeks[each % 4]}", words)
            for each, words in ((place - 1, "Last week"), (place + 1, "Next week"), (place + 48, "In a year"))
        ]
        plan = [
            (day, drawing(place, day).choice(("closed", "open", "guided tour", "by request"))) for day in range(1, 8)
        ]
        return frame.page(f"Week {found[2]} of {found[0]}", table(("Day", "Plan"), plan) + links(near))

    return both(frame, part, bottomless, r"/[a-z]+-\d+/week-\w+")


@unseen
def chat_by_the_second() -> Site:
    """What was said in a room in each second, on a host of its own, with the seconds, minutes and hours near it."""
    frame = Frame("chat-by-the-second")
    log = f"log.{frame.domain}"
    part = wiki(frame, 500, lambda at: link(f"http://{log}/room/2024-05-01T10:00:00", "Room"))

    def bottomless(at: At) -> Answer | None:
        if at.host != log or not (found := match(r"/room/([\dT:-]{19})", at.path)):
            return None
        moment = datetime.fromisoformat(found[0])
        seconds = (-3600, -60, -1, 1, 60, 3600)
        near = [(f"/room/{(moment + timedelta(seconds=step)).isoformat()}", f"{step:+} s") for step in seconds]
        said = "".join(
            f"<p>{proper(each, moment.hour)}: {text(9, moment, each)}</p>" for each in range(hash_of(moment) % 4)
        )
        return html(f"Room at {found[0]}", said + links(near))

    return both(frame, part, bottomless, r"log\.chat-by-the-second\.test/.*", hosts=[log])


@unseen
def bookings() -> Site:
    """Every room can be asked for from any day, for any nights and guests."""
    frame = Frame("bookings")

    def booking(room: object, day: date, nights: int, guests: int) -> str:
        return f"/book?room={room}&from={day}&nights={nights}&guests={guests}"

    def book(at: At) -> str:
        return link(booking(at.query["id"], date(2026, 6, 1), 1, 2), "Book") if at.path == "/record.php" else ""

    part = registry(frame, 300, book)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/book":
            return None
        room, day = at.query["room"], date.fromisoformat(at.query["from"])
        nights, guests = int(at.query["nights"]), int(at.query["guests"])
        near = [
            (booking(room, day + timedelta(step), nights, guests), f"{day + timedelta(step):%d.%m.}")
            for step in (1, 2, 7)
        ]
        near += [
            (booking(room, day, nights + 1, guests), "A night more"),
            (booking(room, day, nights, guests % 8 + 1), "Guests"),
        ]
        price = nights * (60 + 15 * guests + hash_of(room, day) % 40)
        return frame.page(f"Room {room}", f"<p>{nights} nights from {day}: {price}.00</p>" + links(near))

    return both(frame, part, bottomless, r"/book\?.*")


# Queries and paths that multiply


@unseen
def words_in_any_order() -> Site:
    """Filters without names as segments, in the order in which they were chosen."""
    frame = Frame("words-in-any-order", {"Catalogue": "/catalogue/"})
    part = shop(frame)
    filters = tuple(dict.fromkeys(rare(24, "filters")))

    def bottomless(at: At) -> Answer | None:
        chosen = at.path.split("/")[2:-1]
        if not at.path.startswith("/catalogue/") or not at.path.endswith("/") or set(chosen) - set(filters):
            return None
        fits = [path for path in part.paths if all(hash_of(path, each) < 300 for each in chosen)]
        more = [(f"{at.path}{each}/", each) for each in filters if each not in chosen]
        shown = links([(path, title(3, frame.name, path)) for path in fits[:24]])
        return frame.page(" ".join(chosen).capitalize(), f"<p>{len(fits)} products</p>" + shown + links(more))

    return both(frame, part, bottomless, r"/catalogue/.*")


@unseen
def tag_combinations() -> Site:
    """Lists of what has several tags, each of which offers further tags to add."""
    tags = tuple(dict.fromkeys(rare(40, "tags")))
    frame = Frame("tag-combinations")

    def own(path: str) -> list[str]:
        return drawing("tags of", path).sample(tags, 5)

    part = journal(frame, lambda at: links([(f"/tags/{tag}", tag) for tag in own(at.path)]))

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/tags/([a-z+]+)", at.path)):
            return None
        chosen = found[0].split("+")
        fits = [path for path in part.paths if set(chosen) <= set(own(path))]
        shown = links([(path, title(5, frame.name, path)) for path in fits[:20]])
        more = [(f"/tags/{found[0]}+{tag}", tag) for tag in tags if tag not in chosen]
        return frame.page(f"Tagged {' and '.join(chosen)}", shown + links(more))

    return both(frame, part, bottomless, r"/tags/.*")


@unseen
def related_searches() -> Site:
    """Searches as paths, with a text made up for each and others that are like it."""
    frame = Frame("related-searches", {"Topics": "/topics/everything"})
    part = topics(frame, 300)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/topics/([a-z-]+)", at.path)):
            return None
        asked = found[0].split("-")
        near = ["-".join([*asked[-1:], *rare(1 + each % 2, at.path, each)]) for each in range(8)]
        results = [part.paths[drawing(at.path, each).randrange(part.total)] for each in range(5)]
        about = f"<p>All about {' '.join(asked)}: {text(40, *asked)}</p>"
        shown = (
            about + links([(path, "Topic") for path in results]) + links([(f"/topics/{name}", name) for name in near])
        )
        return frame.page(" ".join(asked).capitalize(), shown)

    return both(frame, part, bottomless, r"/topics/.*")


@unseen
def comparisons() -> Site:
    """Any products beside each other; every product can be added to what is compared."""
    frame = Frame("comparisons")

    def compare(at: At) -> str:
        found = match(r"/product/(\d+)", at.path)
        return link(f"/compare?ids={found[0]}", "Compare") if found else ""

    part = shop(frame, compare)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/compare":
            return None
        ids = at.query["ids"].split(",")
        rows = [(link(f"/product/{each}", title(3, frame.name, f"/product/{each}")), text(12, each)) for each in ids]
        others = [str(number) for number in drawing(at.target).sample(range(1000, 1480), 8)]
        more = [(f"/compare?ids={','.join([*ids, each][-6:])}", f"Add {each}") for each in others if each not in ids]
        return frame.page("Compare", table(("Product", "About"), rows) + links(more))

    return both(frame, part, bottomless, r"/compare\?.*")


@unseen
def carts() -> Site:
    """The cart stands in the path, and every product can be put into it."""
    frame = Frame("carts")

    def add(at: At) -> str:
        found = match(r"/product/(\d+)", at.path)
        return link(f"/cart/{found[0]}-1", "Put into the cart") if found else ""

    part = shop(frame, add)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/cart/([\d,-]+)", at.path)):
            return None
        held = dict(each.split("-") for each in found[0].split(","))
        carts = [{**held, each: str(int(number) + 1)} for each, number in held.items() if int(number) < 9]
        carts += [{**held, str(each): "1"} for each in drawing(at.path).sample(range(1000, 1480), 3)]
        more = [(f"/cart/{','.join('-'.join(pair) for pair in cart.items())}", "Change") for cart in carts]
        rows = [(title(3, frame.name, f"/product/{each}"), number) for each, number in held.items()]
        return frame.page("Your cart", table(("Product", "Number"), rows) + links(more))

    return both(frame, part, bottomless, r"/cart/.*")


@unseen
def shown_otherwise() -> Site:
    """Every page in another currency, language or view, which all of its links then keep."""
    ways = {"currency": ("EUR", "USD", "GBP", "JPY"), "language": ("en", "de", "fr"), "view": ("full", "short", "wide")}
    frame = Frame("shown-otherwise")
    part = shop(frame)

    def answer(at: At) -> Answer | None:
        answered = part.answer(at) or frame.static(at)
        if answered is None:
            return None
        chosen = {name: at.query[name] for name in ways if name in at.query}
        rest = [(name, value) for name, value in at.query.items() if name not in ways]
        switches = [
            (f"{at.path}?{pairs([*rest, *{**chosen, name: value}.items()])}", value)
            for name, values in ways.items()
            for value in values
        ]
        kept = marked(answered, pairs(chosen.items())) if chosen else answered
        note = f"<p>{' '.join(chosen.values())}</p>{links(switches)}</main>"
        return kept._replace(body=kept.body.replace(b"</main>", note.encode(), 1))

    return make_site(frame, answer, good=part.good, total=part.total, plain=without(*ways), endless=_never())


def _never() -> str:
    return r"/\b\B"


@unseen
def map_views() -> Site:
    """A map to be moved and enlarged, linked from one page."""
    frame = Frame("map-views")
    part = handbook(frame, on_the_first(link("/map?lat=47.0000&lon=8.0000&zoom=9", "Map")))

    def bottomless(at: At) -> Answer | None:
        if at.path != "/map":
            return None
        lat, lon, zoom = float(at.query["lat"]), float(at.query["lon"]), int(at.query["zoom"])
        step = 8 / 2**zoom
        moves = [(step, 0, 0), (-step, 0, 0), (0, step, 0), (0, -step, 0), (0, 0, 1), (0, 0, -1)]
        near = [
            (f"/map?lat={lat + north:.4f}&lon={lon + east:.4f}&zoom={zoom + nearer}", words)
            for (north, east, nearer), words in zip(moves, ("North", "South", "East", "West", "+", "-"), strict=True)
            if 3 <= zoom + nearer <= 18
        ]
        places = ", ".join(word.capitalize() for word in rare(5, f"{lat:.2f}", f"{lon:.2f}"))
        return frame.page(f"Map at {lat:.3f}, {lon:.3f}", f"<p>{places}</p>" + links(near))

    return both(frame, part, bottomless, r"/map\?.*")


@unseen
def translator() -> Site:
    """A page that shows any page of the site in another language, itself too."""
    frame = Frame("translator")

    def translate(at: At) -> str:
        return links([(f"/translate?to={tongue}&url={quote(at.target, safe='')}", tongue) for tongue in TONGUES[1:4]])

    part = topics(frame, 210, translate)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/translate":
            return None
        url, to = at.query["url"], at.query["to"]
        inner, _, query = url.partition("?")
        shown = at._replace(path=inner, query=dict(parse_qsl(query)), target=url)
        answered = bottomless(shown) if inner == "/translate" else part.answer(shown) or frame.static(shown)
        if answered is None or len(url) > 1500:
            return frame.page("Translation", "<p>There is nothing to translate.</p>")
        found = [unquote(each) for each in re.findall(r'href="(/[^"]*)"', answered.body.decode().replace("&amp;", "&"))]
        near = [(f"/translate?to={to}&url={quote(each, safe='')}", each[:30]) for each in found]
        other = [(f"/translate?to={tongue}&url={quote(at.target, safe='')}", tongue) for tongue in TONGUES[1:4]]
        return html(f"{to} {url[:40]}", paragraphs(80, url[:60], to, tongue=to) + links(near + other))

    return both(frame, part, bottomless, r"/translate\?.*")


@unseen
def special_pages() -> Site:
    """A wiki with talk about each page, what links there, and the same of these pages; red links too."""
    frame = Frame("special-pages")

    def tools(at: At) -> str:
        name = at.path.removeprefix("/wiki/")
        pages = [f"Talk:{name}", f"Special:Links_to/{name}", f"Special:Changes_near/{name}"]
        red = slug(1, "red", at.path).capitalize()
        more = [(f"/edit?title={name}&section={each}", "Edit") for each in range(4)]
        return links([*((f"/wiki/{page}", page) for page in pages), (f"/wiki/{red}", red), *more])

    part = wiki(frame, 600, lambda at: tools(at) if at.path.startswith("/wiki/") else "")

    def bottomless(at: At) -> Answer | None:
        if at.path == "/edit":
            return frame.page("Edit", f"<p>Log in to edit {at.query['title']}.</p>")
        if not at.path.startswith("/wiki/") or at.path in part.paths or len(at.path) > 900:
            return None
        name = at.path.removeprefix("/wiki/")
        kind, _, about = name.rpartition(":")
        said = text(25, at.path) if kind == "Talk" and hash_of(about) < 300 else "There is nothing here yet."
        near = [(path, path[6:]) for path in drawing(at.path).sample(part.paths, 3)] if kind == "Special" else []
        return frame.page(name, f"<p>{said}</p>" + links(near) + tools(at))

    return both(frame, part, bottomless, r"/edit\?.* | /wiki/(?![A-Z][a-z]+_\d+$).*")


# Lists that go on


@unseen
def load_more() -> Site:
    """A stream that begins anew with the oldest posts where it should end."""
    frame = Frame("load-more", {"Stream": "/stream?offset=0"})
    part = chronicle(frame, 2)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/stream":
            return None
        offset = int(at.query["offset"])
        shown = "".join(
            f"<p>{link(path, title(4, path))} {text(20, frame.name, path)}</p>\n"
            for path in (part.paths[each * 7 % part.total] for each in range(offset, offset + 10))
        )
        return frame.page("Stream", shown + link(f"/stream?offset={offset + 10}", "Load more"))

    return both(frame, part, bottomless, r"/stream\?.*")


@unseen
def pages_after_the_last() -> Site:
    """Lists that answer any page of theirs, and have a next one for ever."""
    frame = Frame("pages-after-the-last")
    shelves = [f"/department/{word}" for word in dict.fromkeys(rare(12, "departments"))]
    part = shop(frame, lambda at: links([(f"{shelf}?page=1", shelf[12:]) for shelf in shelves]))

    def bottomless(at: At) -> Answer | None:
        if at.path not in shelves:
            return None
        start = shelves.index(at.path) * 40 + (at.number - 1) * 10
        shown = part.paths[start : start + 10] if at.number <= 4 else []
        listed = links([(path, title(3, frame.name, path)) for path in shown]) or "<p>No products.</p>"
        steps = [
            (f"{at.path}?page={at.number + step}", f"Page {at.number + step}")
            for step in (-1, 1, 2)
            if at.number + step
        ]
        return frame.page(at.path[12:].capitalize(), listed + links(steps))

    return both(frame, part, bottomless, r"/department/\w+\?page=([5-9]|\d\d+)")


@unseen
def short_links() -> Site:
    """Short names for good pages, by lists that go on; each leads to one with a note of where from."""
    frame = Frame("short-links", {"Shared": "/shared?after=start"})
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        if found := match(r"/s/([0-9a-f]{6})", at.path):
            return redirect(f"{part.paths[drawing('short', *found).randrange(part.total)]}?via={found[0]}")
        if at.path != "/shared":
            return None
        names = [digits(6, "short", at.query["after"], each) for each in range(12)]
        body = links([(f"/s/{name}", f"{name} {text(3, name)}") for name in names])
        return frame.page("Shared", body + link(f"/shared?after={names[-1]}", "Older"))

    return both(frame, part, bottomless, r"/s/.* | /shared\?.* | /articles/[^?]+\?via=.*", plain=without("via"))


@unseen
def numbers() -> Site:
    """What is known of a number, and the numbers near it."""
    frame = Frame("numbers", {"Numbers": "/number/42"})
    part = dictionary(frame, 600)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/number/(\d{1,30})", at.path)):
            return None
        number = int(found[0])
        near = [number + 1, abs(number - 1), 2 * number, number**2 % 10**30, number // 2, int(found[0][::-1])]
        rows = [("Square", number**2), ("Binary", f"{number:b}"), ("Digits", len(found[0])), ("Even", number % 2 == 0)]
        return frame.page(
            f"The number {number}",
            table(("What", "Is"), rows) + links([(f"/number/{each}", str(each)) for each in near]),
        )

    return both(frame, part, bottomless, r"/number/.*")


@unseen
def hashes() -> Site:
    """A drawing for every hash, and the hashes that come of it, linked from the first page."""
    frame = Frame("hashes")
    part = registry(frame, 900, on_the_first(link(f"/hash/{digits(40, 'first')}", "Explorer")))

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/hash/([0-9a-f]{40})", at.path)):
            return None
        rows = ["".join(" .:+*#"[int(digit, 16) % 6] for digit in digits(24, found[0], row)) for row in range(10)]
        near = [(f"/hash/{digits(40, found[0], each)}", f"Step {each}") for each in range(4)]
        return frame.page(f"Hash {found[0][:12]}", "<pre>" + "\n".join(rows) + "</pre>" + links(near))

    return both(frame, part, bottomless, r"/hash/.*")


@unseen
def game_of_life() -> Site:
    """A board of cells as a name; the next one, and those that are turned or have another cell."""
    frame = Frame("game-of-life", {"Life": f"/life/{digits(16, 'life')}"})
    part = handbook(frame)

    def after(cells: int) -> int:
        alive = [cells >> place & 1 for place in range(64)]
        around = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if row or column]
        result = 0
        for place in range(64):
            near = sum(alive[(place // 8 + row) % 8 * 8 + (place + column) % 8] for row, column in around)
            result |= (near == 3 or (near == 2 and bool(alive[place]))) << place
        return result

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/life/([0-9a-f]{16})", at.path)):
            return None
        cells = int(found[0], 16)
        lines = [f"{cells >> 8 * row & 255:08b}".replace("0", ".").replace("1", "#") for row in range(8)]
        others = [after(cells), cells ^ (1 << hash_of(cells) % 64), int(f"{cells:064b}"[::-1], 2), cells ^ (2**64 - 1)]
        near = [
            (f"/life/{each:016x}", words)
            for each, words in zip(others, ("Next", "Change", "Turn", "Invert"), strict=True)
        ]
        return frame.page("Board", "<pre>" + "\n".join(lines) + "</pre>" + links(near))

    return both(frame, part, bottomless, r"/life/.*")


@unseen
def did_you_mean() -> Site:
    """A dictionary that answers every word, and offers words that are spelt like it."""
    frame = Frame("did-you-mean")

    def near(word: str, *key: object) -> str:
        chance = drawing("near", word, *key)
        place = chance.randrange(len(word))
        return word[:place] + chance.choice("aeioulnrst") + word[place + chance.randint(0, 1) :]

    def seen_also(at: At) -> str:
        found = match(r"/define/([a-z]+)", at.path)
        return link(f"/define/{near(found[0])}", "Like it") if found else ""

    part = dictionary(frame, 1000, seen_also)
    known = part.good.removeprefix("/define/")

    def bottomless(at: At) -> Answer | None:
        found = match(r"/define/([a-z]{1,40})", at.path)
        if not found or at.path in part.paths:
            return None
        others = [near(found[0], each) for each in range(5)]
        shown = f"<p>There is no entry for {found[0]}. Did you mean:</p>" + links(
            [(f"/define/{each}", each) for each in others]
        )
        return frame.page(found[0].capitalize(), shown)

    return both(frame, part, bottomless, rf"/define/(?!{known}$).*")


# Names without end for the same thing


@unseen
def settings_as_segments() -> Site:
    """Ids of a visit after a semicolon in every link, new with each answer, in front of ids that matter."""
    frame = Frame("settings-as-segments")
    part = journal(frame)
    answers = count(1)

    def bare(target: str) -> str:
        return re.sub(r";ctx=[0-9a-f]+", "", target)

    def answer(at: At) -> Answer | None:
        inner = at._replace(path=bare(at.path))
        answered = part.answer(inner) or frame.static(inner)
        if answered is None:
            return None
        mark = f";ctx={digits(12, 'context', next(answers))}"
        body = re.sub(r'href="(/[^"?]+)', rf'href="\1{mark}', answered.body.decode())
        return answered._replace(body=body.encode())

    return make_site(frame, answer, good=part.good, total=part.total, plain=bare, endless=_never())


@unseen
def tokens_before_ids() -> Site:
    """A token that is new with each answer, in front of the id that matters, and one in the fragment."""
    frame = Frame("tokens-before-ids")
    part = registry(frame, 600)
    answers = count(1)

    def answer(at: At) -> Answer | None:
        answered = part.answer(at) or frame.static(at)
        if answered is None:
            return None
        token = digits(16, "token", next(answers))
        body = re.sub(r'href="(/\w+\.php)\?([^"]+)"', rf'href="\1?tok={token}&amp;\2#{token}"', answered.body.decode())
        return answered._replace(body=body.encode())

    return make_site(frame, answer, good=part.good, total=part.total, plain=without("tok"), endless=_never())


@unseen
def time_stamps() -> Site:
    """The time in milliseconds in every link, as scripts do against caches."""
    frame = Frame("time-stamps")
    part = topics(frame, 300)
    answers = count(1_712_345_678_901, 137)

    def answer(at: At) -> Answer | None:
        answered = part.answer(at) or frame.static(at)
        return answered and marked(answered, f"_={next(answers)}")

    return make_site(frame, answer, good=part.good, total=part.total, plain=without("_"), endless=_never())


@unseen
def trodden_paths() -> Site:
    """Every link says by which five pages one came."""
    frame = Frame("trodden-paths")
    part = wiki(frame, 500)

    def answer(at: At) -> Answer | None:
        inner = at._replace(query={name: value for name, value in at.query.items() if name != "from"})
        answered = part.answer(inner) or frame.static(inner)
        if answered is None:
            return None
        before = [value for name, value in parse_qsl(at.target.partition("?")[2]) if name == "from"]
        trail = pairs(("from", each) for each in [*before, at.path][-5:])
        return marked(answered, trail, '/(?:wiki|contents)[^"]*')

    return make_site(frame, answer, good=part.good, total=part.total, plain=without("from"), endless=_never())


@unseen
def any_page() -> Site:
    """A link to any page, under a new name each time."""
    frame = Frame("any-page")
    part = wiki(frame, 900, lambda at: link(f"/any?try={digits(8, at.target)}", "Any page"))

    def bottomless(at: At) -> Answer | None:
        return redirect(part.paths[drawing(at.target).randrange(part.total)]) if at.path == "/any" else None

    return both(frame, part, bottomless, r"/any\?.*")


@unseen
def consent_wall() -> Site:
    """Every article leads to a question for consent, which asks again and again by redirects."""
    frame = Frame("consent-wall")
    part = chronicle(frame, 1, lambda at: link(f"/consent?to={quote(at.target, safe='')}&asked=0", "Comments"))

    def bottomless(at: At) -> Answer | None:
        if at.path != "/consent":
            return None
        return redirect(f"/consent?{pairs({**at.query, 'asked': int(at.query['asked']) + 1}.items())}")

    return both(frame, part, bottomless, r"/consent\?.*")


@unseen
def languages_below_languages() -> Site:
    """Relative links to other languages on a server that takes any number of them in front of a path."""
    frame = Frame("languages-below-languages")
    tongues = ("en", "de", "fr", "it")

    def switch(at: At) -> str:
        return links([(f"/{tongue}{at.target}", tongue) for tongue in tongues])

    part = journal(frame, switch)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"((?:/(?:en|de|fr|it))+)(/.*)", at.path)):
            return None
        inner = at._replace(path=found[1], target=at.target[len(found[0]) :])
        answered = part.answer(inner) or frame.static(inner)
        if answered is None:
            return None
        mark = found[0].encode()
        return answered._replace(body=answered.body.replace(b'href="/', b'href="%s/' % mark))

    return both(frame, part, bottomless, r"/(en|de|fr|it)/.*")


@unseen
def linked_folders() -> Site:
    """Listings of folders, some of which are links to folders above them."""
    frame = Frame("linked-folders")
    folders = [
        f"/pub/{one}{a}/{two}{b}/" for a, one in enumerate(rare(8, "one")) for b, two in enumerate(rare(8, "two"))
    ]
    tops = list(dict.fromkeys("/".join(folder.split("/")[:3]) + "/" for folder in folders))
    files = [f"{folder}{slug(1, folder, each)}{each}.html" for folder in folders for each in range(8)]

    def real(path: str) -> str:
        while (shorter := re.sub(r"^(.*/)(?:latest|current)/", "/pub/", path)) != path:
            path = shorter
        return path

    def answer(at: At) -> Answer | None:
        path = real(at.path)
        if path == "/":
            return frame.page("Files", links([("/pub/", "pub")]))
        if path in files:
            return frame.page(path.rpartition("/")[2], paragraphs(90, path))
        if path != "/pub/" and path not in tops and path not in folders:
            return None
        below = (
            tops if path == "/pub/" else [each for each in (*folders, *files) if each.startswith(path) and each != path]
        )
        names = list(dict.fromkeys(re.sub(r"^([^/]+/?).*", r"\1", each[len(path) :]) for each in below))
        names += ["latest/", "current/"] if path != "/pub/" else []
        return html(f"Index of {at.path}", "<pre>" + "\n".join(link(name, name) for name in ["../", *names]) + "</pre>")

    return make_site(
        frame,
        answer,
        good=r"/pub/[a-z]+\d/[a-z]+\d/[a-z]+\d\.html",
        total=len(files),
        endless=r"/pub/.*(latest|current)/.*",
    )


@unseen
def feeds_of_feeds() -> Site:
    """Every path has a feed below it, the feeds too."""
    frame = Frame("feeds-of-feeds")
    part = journal(frame, lambda at: links([(f"{at.path.rstrip('/')}/feed/", "Feed")]))

    def bottomless(at: At) -> Answer | None:
        if not at.path.endswith("/feed/"):
            return None
        chosen = drawing(at.path).sample(part.paths, 4)
        items = "".join(
            f"<item><title>{title(4, path)}</title><link>http://{frame.host}{path}</link>"
            f"<comments>http://{frame.host}{path}/feed/</comments></item>\n"
            for path in chosen
        )
        own = f"http://{frame.host}{at.path}feed/"
        body = (
            f'<rss version="2.0"><channel><title>{title(2, at.path)}</title><link>{own}</link>{items}</channel></rss>'
        )
        return Answer(200, (("Content-Type", "application/rss+xml"),), f'<?xml version="1.0"?>\n{body}'.encode())

    return both(frame, part, bottomless, r"/(.*/)?feed/")


@unseen
def sitemap_after_sitemap() -> Site:
    """Beside the sitemap of the good pages, one that leads to an older one, and so on, with twenty pages each."""
    frame = Frame("sitemap-after-sitemap")
    part = dictionary(frame, 800)
    root = f"http://{frame.host}"

    def bottomless(at: At) -> Answer | None:
        if at.path == "/sitemap.xml":
            return sitemap_index([f"{root}/words.xml", f"{root}/news-1.xml"])
        if at.path == "/words.xml":
            return urlset([root + path for path in part.paths])
        if found := match(r"/news-(\d+)\.xml", at.path):
            return sitemap_index([f"{root}/news-{int(found[0]) + 1}.xml", f"{root}/news-pages-{found[0]}.xml"])
        if found := match(r"/news-pages-(\d+)\.xml", at.path):
            return urlset([f"{root}/news/{name}" for name in fresh(20, at.path)])
        if match(r"/news/[a-z0-9-]+", at.path):
            return frame.page(title(5, at.path), paragraphs(100, at.path))
        return None

    robots = f"User-agent: *\nDisallow:\n\nSitemap: {root}/sitemap.xml\n"
    return both(frame, part, bottomless, r"/news-.*\.xml | /news/.*", robots=robots)
