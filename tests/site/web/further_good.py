"""Finite sites of a third collection, made after the rules had been fitted to the others: archives and registers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from .good import hard
from .site import Answer, At, Frame, Site, link, links, make_site, match, pager, redirect, table
from .unseen_good import near, number_in
from .words import drawing, paragraphs, proper, rare, slug, text, title

FURTHER_GOOD: dict[str, Callable[[], Site]] = {}


def further(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    FURTHER_GOOD[make.__name__.replace("_", "-")] = make
    return make


@further
def radio_playlists() -> Site:
    """What a station played, a page for each hour of sixty days, of a stock of 400 songs; days and hours in a row."""
    days, first = 60, date(2023, 3, 1)
    frame = Frame("radio-playlists", {"Today": f"/playlist/{first + timedelta(days - 1)}"})
    songs = [(proper("singer", number % 90), title(3, "song", number)) for number in range(400)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Radio", paragraphs(60, "radio"))
        found = match(r"/playlist/(\d{4}-\d\d-\d\d)(?:/(\d\d))?", at.path)
        day = (date.fromisoformat(found[0]) - first).days if found else -1
        if not found or not 0 <= day < days:
            return None
        around = links(
            [(f"/playlist/{first + timedelta(each)}", str(first + timedelta(each))) for each in near(day, days)]
        )
        if not found[1]:
            hours = [(f"/playlist/{found[0]}/{hour:02}", f"{hour}:00") for hour in range(24)]
            return frame.page(f"Playlist of {found[0]}", links(hours) + around)
        if (hour := int(found[1])) > 23:
            return None
        chance = drawing("radio", day, hour)
        minute, rows = 1, []
        while minute < 60:
            rows.append((f"{hour:02}:{minute:02}", *chance.choice(songs)))
            minute += chance.randint(3, 6)
        steps = links([(f"/playlist/{found[0]}/{each:02}", f"{each}:00") for each in near(hour, 24)])
        return frame.page(f"{found[0]}, {hour}:00", table(("Time", "By", "Title"), rows) + steps + around)

    return make_site(frame, answer, good=r"/playlist/[\d-]+/\d\d", total=days * 24)


@further
def star_catalogue() -> Site:
    """Stars with nothing but figures, in lists by constellation."""
    count, houses = 1500, [title(1, "constellation", number) for number in range(60)]
    frame = Frame("star-catalogue", {"Constellations": "/constellations"})

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/constellations"):
            return frame.page("Constellations", links([(f"/in/{number}", name) for number, name in enumerate(houses)]))
        if (found := match(r"/in/(\d+)", at.path)) and int(found[0]) < len(houses):
            shown = range(int(found[0]), count, len(houses))
            return frame.page(
                houses[int(found[0])], links([(f"/star/HD{17 * star + 3}", f"HD {17 * star + 3}") for star in shown])
            )
        found = match(r"/star/HD(\d+)", at.path)
        star, rest = divmod(int(found[0]) - 3, 17) if found else (-1, 0)
        if rest or not 0 <= star < count:
            return None
        chance = drawing("star", star)
        rows = [
            ("Right ascension", f"{chance.randrange(24)} {chance.randrange(60)} {chance.random() * 60:.2f}"),
            ("Declination", f"{chance.randrange(-90, 90)} {chance.randrange(60)} {chance.random() * 60:.1f}"),
            ("Magnitude", f"{chance.random() * 9:.2f}"),
            ("Parallax", f"{chance.random() * 50:.3f}"),
            ("Class", chance.choice("OBAFGKM") + str(chance.randrange(10))),
        ]
        return frame.page(
            f"HD {17 * star + 3}", table(("Of", "Value"), rows) + link(f"/in/{star % len(houses)}", "Constellation")
        )

    return make_site(frame, answer, good=r"/star/HD\d+", total=count)


@hard
def manual_versions() -> Site:
    """The manual of a program in six versions, each page but a line or two like that of the version before."""
    chapters, versions = 140, ["1.0", "1.1", "2.0", "2.1", "3.0", "stable"]
    frame = Frame("manual-versions", {version: f"/en/{version}/" for version in versions})
    names = [f"{slug(2, 'chapter', number)}.html" for number in range(chapters)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return redirect("/en/stable/")
        found = match(r"/en/([^/]+)/(.*)", at.path)
        if not found or found[0] not in versions:
            return None
        version = versions.index(found[0])
        if not found[1]:
            return frame.page(f"Manual {found[0]}", links([(name, title(3, name)) for name in names]))
        if found[1] not in names:
            return None
        number = names.index(found[1])
        changed = drawing("since", number).randrange(6)
        body = "".join(
            f"<p>{text(45, 'manual', number, each, version > changed and each == 2)}</p>\n" for each in range(5)
        )
        steps = links([(names[each], title(3, names[each])) for each in near(number, chapters)])
        return frame.page(title(3, found[1]), f"<p>Version {found[0]}</p>{body}{steps}")

    return make_site(frame, answer, good=r"/en/[^/]+/[a-z-]+\.html", total=chapters * len(versions))


@further
def parliament() -> Site:
    """Speeches in order, all with the same words before and after, in sittings that a calendar of years leads to."""
    sittings, speeches = 48, 20
    frame = Frame("parliament", {"Sittings": "/sittings/2016"})
    days = [date(2016, 1, 12) + timedelta(21 * number) for number in range(sittings)]

    def answer(at: At) -> Answer | None:
        years = sorted({day.year for day in days})
        if at.path == "/" or ((found := match(r"/sittings/(\d{4})", at.path)) and int(found[0]) in years):
            year = int(at.path[-4:]) if at.path != "/" else years[-1]
            shown = [(f"/sitting/{day}", f"Sitting of {day}") for day in days if day.year == year]
            return frame.page(
                f"Sittings of {year}", links(shown + [(f"/sittings/{each}", str(each)) for each in years])
            )
        found = match(r"/sitting/([\d-]{10})(?:/speech/(\d+))?", at.path)
        day = date.fromisoformat(found[0]) if found else None
        if not found or day not in days:
            return None
        if not found[1]:
            rows = [(f"/sitting/{day}/speech/{each + 1}", proper("member", each % 13)) for each in range(speeches)]
            return frame.page(f"Sitting of {day}", links(rows))
        if not 1 <= (number := int(found[1])) <= speeches:
            return None
        said = paragraphs(20 + drawing(at.path).randrange(200), "speech", day, number)
        steps = links([(f"/sitting/{day}/speech/{each + 1}", "Another speech") for each in near(number - 1, speeches)])
        opening, closing = f"<p>{text(60, 'standing order')}</p>", f"<p>{text(60, 'stenographer')}</p>"
        return frame.page(proper("member", (number - 1) % 13), opening + said + closing + steps)

    return make_site(frame, answer, good=r"/sitting/[\d-]+/speech/\d+", total=sittings * speeches)


@further
def parted_articles() -> Site:
    """Long articles in up to seven parts each, by a variable."""
    count = 180
    frame = Frame("parted-articles", {"All": "/all?page=1"})
    paths = [f"/{slug(3, 'long read', number)}" for number in range(count)]
    parts = [1 + number * 5 % 7 for number in range(count)]

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/all") and 1 <= at.number <= 9:
            shown = paths[(at.number - 1) * 20 : at.number * 20]
            return frame.page(
                "All articles", links([(path, title(4, path)) for path in shown]) + pager("/all?page=", at.number, 9)
            )
        if at.path not in paths or not 1 <= at.number <= parts[paths.index(at.path)]:
            return None
        last = parts[paths.index(at.path)]
        more = links(
            [(f"{at.path}?page={each}" if each > 1 else at.path, f"Part {each}") for each in range(1, last + 1)]
        )
        return frame.page(title(4, at.path), paragraphs(160, at.path, at.number) + more)

    return make_site(frame, answer, good=r"/[a-z]+-[a-z]+-[a-z]+(\?page=[2-7])?", total=sum(parts))


@further
def tickets() -> Site:
    """Tickets by number, lists of them by state and owner, and the changes that closed them."""
    count, each = 900, 45
    frame = Frame("tickets", {"Open": "/query?state=open&page=1", "Closed": "/query?state=closed&page=1"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Project", paragraphs(70, "project"))
        if at.path == "/query" and at.query.get("state") in ("open", "closed"):
            state = at.query["state"]
            chosen = list(range(1 if state == "open" else 2, count + 1, 2))
            chosen = [number for number in chosen if at.query.get("owner", str(number % 7)) == str(number % 7)]
            shown, last = chosen[(at.number - 1) * each : at.number * each], -(-len(chosen) // each)
            base = f"/query?state={state}" + (f"&owner={at.query['owner']}" if "owner" in at.query else "") + "&page="
            rows = links([(f"/ticket/{number}", f"#{number} {title(3, 'ticket', number)}") for number in shown])
            return frame.page(f"Tickets: {state}", rows + pager(base, at.number, last)) if shown else None
        if (found := match(r"/ticket/(\d+)", at.path)) and 0 < (number := int(found[0])) <= count:
            state = "open" if number % 2 else "closed"
            owner = link(f"/query?state={state}&owner={number % 7}&page=1", proper("owner", number % 7))
            close = link(f"/changeset/{number * 3}", f"[{number * 3}]") if state == "closed" else ""
            said = "".join(f"<li>{text(18, 'ticket', number, each)}</li>" for each in range(number % 5))
            steps = links([(f"/ticket/{each + 1}", "Ticket") for each in near(number - 1, count)])
            return frame.page(
                f"#{number} {title(3, 'ticket', number)}",
                f"<p>{text(40, number)}</p><ol>{said}</ol>{owner}{close}{steps}",
            )
        if (found := match(r"/changeset/(\d+)", at.path)) and not int(found[0]) % 6 and 0 < int(found[0]) // 3 <= count:
            lines = "".join(f"{sign} {text(6, at.path, sign, each)}\n" for each in range(4) for sign in "-+")
            return frame.page(
                f"Changeset {found[0]}",
                f"<p>{text(12, at.path)}</p><pre>{lines}</pre>" + link(f"/ticket/{int(found[0]) // 3}", "Ticket"),
            )
        return None

    return make_site(frame, answer, good=r"/(ticket|changeset)/\d+", total=count + count // 2)


@further
def number_puzzles() -> Site:
    """Puzzles that are a square of figures and no words, by number, in lists of a hundred."""
    count, each = 1000, 100
    frame = Frame("number-puzzles", {"Puzzles": "/puzzles/1"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Puzzles", paragraphs(60, "puzzles"))
        if (found := match(r"/puzzles/(\d+)", at.path)) and 0 < (page := int(found[0])) <= count // each:
            shown = range((page - 1) * each + 1, page * each + 1)
            return frame.page(
                "Puzzles",
                links([(f"/puzzle/{one}", f"No. {one}") for one in shown]) + pager("/puzzles/", page, count // each),
            )
        if not (found := match(r"/puzzle/(\d+)", at.path)) or not 0 < int(found[0]) <= count:
            return None
        chance = drawing("puzzle", found[0])
        rows = [[chance.choice("123456789      ") for _ in range(9)] for _ in range(9)]
        steps = links([(f"/puzzle/{other + 1}", "Another") for other in near(int(found[0]) - 1, count)])
        return frame.page(f"No. {found[0]}", table(list("ABCDEFGHI"), rows) + steps)

    return make_site(frame, answer, good=r"/puzzle/\d+", total=count)


@further
def acquaintances() -> Site:
    """Two thousand members who are found by their friends only, ten each, with some words about themselves."""
    count = 2000
    frame = Frame("acquaintances")
    names = [f"{slug(1, 'member', number)}{number}" for number in range(count)]
    places = {name: number for number, name in enumerate(names)}

    def answer(at: At) -> Answer | None:
        number = places.get(at.path.removeprefix("/people/"), 0 if at.path == "/" else -1)
        if number < 0:
            return None
        chance = drawing("friends", number)
        friends = [chance.randrange(count) for _ in range(8)] + [(number * 3 + 1) % count, (number + 1) % count]
        body = f"<p>{text(25, 'about', number)}</p>" + links(
            [(f"/people/{names[each]}", names[each]) for each in friends]
        )
        return frame.page(names[number] if at.path != "/" else "People", body)

    return make_site(frame, answer, good=r"/people/[a-z]+\d+", total=count)


@further
def minutes_and_papers() -> Site:
    """A council: for each meeting an agenda, minutes and five papers below a path of year, month and day."""
    meetings = 110
    days = [date(2012, 2, 2) + timedelta(28 * number) for number in range(meetings)]
    papers = ["agenda", "minutes", *(f"papers/{number}" for number in range(1, 6))]
    frame = Frame("minutes-and-papers", {"Meetings": "/council/"})
    form = f"<p>{text(80, 'rules of procedure')}</p>"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Town", paragraphs(80, "town"))
        found = match(r"/council/(?:(\d{4})/)?(?:(\d\d/\d\d)/)?(.*)", at.path)
        if not found:
            return None
        year, day, paper = found
        if not year:
            return frame.page("Years", links([(f"{each}/", str(each)) for each in sorted({day.year for day in days})]))
        known = [f"{each:%m/%d}" for each in days if str(each.year) == year]
        if not day and not paper and known:
            return frame.page(year, links([(f"{each}/", f"Meeting of {each}") for each in known]))
        if day not in known or (paper and paper not in papers):
            return None
        if not paper:
            return frame.page(f"Meeting {year}/{day}", links([(each, each) for each in papers]))
        return frame.page(
            f"{paper}, {year}/{day}", form + f"<p>{text(30, at.path)}</p>" + link(f"/council/{year}/{day}/", "Meeting")
        )

    return make_site(frame, answer, good=r"/council/\d{4}/\d\d/\d\d/.+", total=meetings * len(papers))


@further
def gene_pages() -> Site:
    """Genes by numbers of eleven digits, with places and figures, in lists of chromosomes and by the gene beside."""
    count, each = 1100, 50
    frame = Frame("gene-pages", {"Genes": "/genes?page=1"})

    def path(number: int) -> str:
        return f"/gene/ENSL{drawing('gene', number).randrange(10**5):05}{number:06}"

    paths = [path(number) for number in range(count)]
    places = {path: number for number, path in enumerate(paths)}

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/genes") and 0 < at.number <= count // each:
            shown = paths[(at.number - 1) * each : at.number * each]
            return frame.page(
                "Genes", links([(path, path[6:]) for path in shown]) + pager("/genes?page=", at.number, count // each)
            )
        if (number := places.get(at.path, -1)) < 0:
            return None
        chance = drawing("exons", number)
        start = number * 90_000
        rows = [
            (exon + 1, start + chance.randrange(9000), chance.randrange(60, 900))
            for exon in range(chance.randint(2, 9))
        ]
        steps = links([(paths[other], paths[other][6:]) for other in near(number, count)])
        return frame.page(at.path[6:], table(("Exon", "Start", "Length"), rows) + f"<p>{text(6, at.path)}</p>" + steps)

    return make_site(frame, answer, good=r"/gene/ENSL\d+", total=count)


@further
def bus_lines() -> Site:
    """From each of thirty towns to each other: how long the bus takes, what it costs and when it leaves."""
    towns = list(dict.fromkeys(rare(36, "towns")))[:30]
    frame = Frame("bus-lines", {"Towns": "/towns"})

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/towns"):
            return frame.page("Towns", links([(f"/from/{town}", town.capitalize()) for town in towns]))
        if (found := match(r"/from/(\w+)", at.path)) and found[0] in towns:
            to = [(f"/bus/{found[0]}/{town}", town.capitalize()) for town in towns if town != found[0]]
            return frame.page(f"From {found[0].capitalize()}", links(to))
        found = match(r"/bus/(\w+)/(\w+)", at.path)
        if not found or found[0] not in towns or found[1] not in towns or found[0] == found[1]:
            return None
        chance, (start, end) = drawing(at.path), found
        minutes, price = chance.randint(20, 400), chance.randint(4, 80)
        said = f"<p>The bus from {start} to {end} takes {minutes} minutes and costs {price}.50.</p>"
        rows = [
            (f"{hour:02}:{chance.randrange(60):02}", chance.randint(1, 30))
            for hour in range(5, 23, chance.randint(1, 4))
        ]
        back = links(
            [
                (f"/bus/{end}/{start}", "Back"),
                (f"/from/{start}", start.capitalize()),
                (f"/from/{end}", end.capitalize()),
            ]
        )
        return frame.page(f"{start.capitalize()} to {end.capitalize()}", said + table(("Leaves", "Stand"), rows) + back)

    return make_site(frame, answer, good=r"/bus/\w+/\w+", total=30 * 29)


@further
def one_picture_each() -> Site:
    """Pictures with a name and nothing else, in albums; the viewer knows its place in the album by a variable."""
    albums, each = 40, 24
    frame = Frame("one-picture-each", {"Albums": "/albums"})

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/albums"):
            return frame.page(
                "Albums", links([(f"/album/{slug(2, 'album', one)}/", title(2, "album", one)) for one in range(albums)])
            )
        found = match(r"/album/([a-z-]+)/", at.path)
        place = next((one for one in range(albums) if found and found[0] == slug(2, "album", one)), -1)
        if place < 0:
            return None
        if "show" not in at.query:
            return frame.page(
                title(2, "album", place), links([(f"?show={one}", title(1, place, one)) for one in range(each)])
            )
        if not 0 <= (one := number_in(at, "show")) < each:
            return None
        steps = links([(f"?show={other}", "Next") for other in near(one, each)])
        return frame.page(title(1, place, one), f'<img src="/files/{place}-{one}.jpg" alt="">' + steps)

    return make_site(frame, answer, good=r"/album/[a-z-]+/\?show=\d+", total=albums * each)
