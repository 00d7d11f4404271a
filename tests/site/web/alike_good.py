"""Finite sites whose pages hardly differ from each other: versions, years, places, tongues, variants of one thing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from .site import Answer, At, Frame, Site, links, make_site, match, pager, table
from .unseen_good import near
from .words import drawing, hash_of, paragraphs, proper, rare, slug, text, title

ALIKE_GOOD: dict[str, Callable[[], Site]] = {}


def alike(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    ALIKE_GOOD[make.__name__.replace("_", "-")] = make
    return make


@alike
def half_translated() -> Site:
    """A help in six languages; what was not translated, which is most, stands there in English."""
    tongues = ("en", "de", "fr", "es", "it", "pl")
    count = 130
    frame = Frame("half-translated", {tongue: f"/{tongue}/help/" for tongue in tongues})
    names = [f"{slug(2, 'help', number)}" for number in range(count)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Help", links([(f"/{tongue}/help/", tongue) for tongue in tongues]))
        found = match(r"/(\w\w)/help/([a-z-]*)", at.path)
        if not found or found[0] not in tongues:
            return None
        if not found[1]:
            return frame.page("Help", links([(name, title(3, name)) for name in names]))
        if found[1] not in names:
            return None
        number, place = names.index(found[1]), tongues.index(found[0])
        done = [place and hash_of("translated", number, place, each) < 120 for each in range(5)]
        body = "".join(
            f"<p>{text(30, 'help', number, each, tongue='romance' if is_done else 'english')}</p>\n"
            for each, is_done in enumerate(done)
        )
        others = [(f"/{tongue}/help/{found[1]}", tongue) for tongue in tongues if tongue != found[0]]
        steps = [(names[each], title(3, names[each])) for each in near(number, count)]
        return frame.page(title(3, found[1]), body + links(steps) + links(others))

    return make_site(frame, answer, good=r"/\w\w/help/[a-z-]+", total=count * len(tongues))


@alike
def product_variants() -> Site:
    """Machines in eight sizes and colours each, every one a page: one paragraph and the number differ."""
    products, variants = 90, 8
    frame = Frame("product-variants", {"Machines": "/machines?page=1"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Machines", paragraphs(50, "machines"))
        if at.path == "/machines" and 0 < at.number <= 6:
            shown = range((at.number - 1) * 15, at.number * 15)
            listed = links([(f"/machine/{slug(1, 'machine', n)}-{n}/1", title(2, "machine", n)) for n in shown])
            return frame.page("Machines", listed + pager("/machines?page=", at.number, 6))
        found = match(r"/machine/([a-z]+)-(\d+)/(\d)", at.path)
        if not found or (number := int(found[1])) >= products or found[0] != slug(1, "machine", number):
            return None
        variant = int(found[2])
        if not 1 <= variant <= variants:
            return None
        colours = ("red", "green", "blue", "white", "black", "silver", "orange", "yellow")
        own = f"<p>In {colours[variant - 1]}, {variant * 5} litres, article {number * 100 + variant}.</p>"
        others = [(f"/machine/{found[0]}-{number}/{n}", colours[n - 1]) for n in range(1, variants + 1)]
        return frame.page(title(2, "machine", number), paragraphs(90, "machine", number) + own + links(others))

    return make_site(frame, answer, good=r"/machine/[a-z]+-\d+/\d", total=products * variants)


@alike
def tables_by_year() -> Site:
    """The same table of a district for each of twenty years: the words are the same, the numbers are not."""
    districts, years = 40, range(2001, 2021)
    frame = Frame("tables-by-year", {"Districts": "/districts"})
    rows = [" ".join(rare(2, "row", each)).capitalize() for each in range(12)]

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/districts"):
            listed = [(f"/district/{n}/2020", proper("district", n)) for n in range(districts)]
            return frame.page("Districts", links(listed))
        found = match(r"/district/(\d+)/(\d{4})", at.path)
        if not found or int(found[0]) >= districts or int(found[1]) not in years:
            return None
        chance = drawing("district", *found)
        shown = table(("What", "How many"), [(row, chance.randint(10, 90000)) for row in rows])
        others = links([(f"/district/{found[0]}/{year}", str(year)) for year in years])
        return frame.page(f"{proper('district', int(found[0]))} {found[1]}", shown + others)

    return make_site(frame, answer, good=r"/district/\d+/\d{4}", total=districts * len(years))


@alike
def ten_minor_versions() -> Site:
    """The reference of an interface for ten minor versions: most functions have not changed for years."""
    modules, functions, versions = 12, 9, [f"v3.{number}" for number in range(10)]
    frame = Frame("ten-minor-versions", {version: f"/docs/{version}/" for version in versions})
    names = [f"{rare(1, 'module', n)[0]}{n}" for n in range(modules)]
    calls = [[f"{rare(1, name, n)[0]}_{n}" for n in range(functions)] for name in names]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Reference", paragraphs(40, "reference"))
        found = match(r"/docs/([^/]+)/(?:(\w+)/(?:(\w+)\.html)?)?", at.path)
        if not found or found[0] not in versions:
            return None
        if not found[1]:
            return frame.page(f"Reference {found[0]}", links([(f"{name}/", name) for name in names]))
        if found[1] not in names:
            return None
        module = names.index(found[1])
        if not found[2]:
            shown = links([(f"{call}.html", call) for call in calls[module]])
            return frame.page(found[1], paragraphs(25, found[1]) + shown)
        if found[2] not in calls[module]:
            return None
        version, changed = versions.index(found[0]), drawing("changed", found[1], found[2]).randrange(25)
        note = (
            f"<p>Changed in version 3.{changed}: {text(9, found[1], found[2], 'note')}</p>"
            if changed <= version
            else ""
        )
        others = [(f"/docs/{other}/{found[1]}/{found[2]}.html", other) for other in versions]
        body = f"<pre>{found[2]}(value, *, {rare(1, found[2])[0]}=None)</pre>{paragraphs(45, found[1], found[2])}{note}"
        return frame.page(f"{found[1]}.{found[2]}", body + links(others))

    return make_site(frame, answer, good=r"/docs/[^/]+/\w+/\w+\.html", total=modules * functions * len(versions))


@alike
def revised_laws() -> Site:
    """Sections of laws with each wording that was in force, as a page by its date; one sentence changes at a time."""
    laws, sections, wordings = 10, 14, 5
    frame = Frame("revised-laws", {"Laws": "/laws"})
    first = date(1990, 1, 1)

    def day(law: int, section: int, wording: int) -> date:
        return first + timedelta(wording * 2100 + hash_of("in force", law, section, wording) * 2)

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/laws"):
            return frame.page("Laws", links([(f"/laws/{n}/", title(3, "law", n)) for n in range(laws)]))
        found = match(r"/laws/(\d+)/(?:(\d+)/(?:([\d-]+))?)?", at.path)
        if not found or int(found[0]) >= laws or int(found[1] or 0) >= sections:
            return None
        law, section = int(found[0]), int(found[1] or 0)
        if not found[1]:
            return frame.page(title(3, "law", law), links([(f"{n}/", f"Section {n}") for n in range(sections)]))
        days = [day(law, section, wording).isoformat() for wording in range(wordings)]
        if not found[2]:
            return frame.page(f"Section {section}", links([(each, f"As of {each}") for each in days]))
        if found[2] not in days:
            return None
        wording = days.index(found[2])
        sentences = [text(14, "law", law, section, n, wording if n == wording else 0) for n in range(7)]
        body = f"<p>In force from {found[2]}</p>" + "".join(
            f"<p>({n}) {said}</p>\n" for n, said in enumerate(sentences)
        )
        return frame.page(f"Section {section}", body + links([(each, f"As of {each}") for each in days]))

    return make_site(frame, answer, good=r"/laws/\d+/\d+/[\d-]+", total=laws * sections * wordings)


@alike
def terms_by_city() -> Site:
    """A company's conditions for each of six hundred towns: the name, the court and an address differ."""
    count, each = 600, 40
    frame = Frame("terms-by-city", {"Towns": "/towns?page=1"})

    def path(number: int) -> str:
        return f"/conditions/{slug(1, 'town', number)}-{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Company", paragraphs(60, "company"))
        if at.path == "/towns" and 0 < at.number <= count // each:
            shown = range((at.number - 1) * each, at.number * each)
            listed = links([(path(n), proper("town", n)) for n in shown])
            return frame.page("Towns", listed + pager("/towns?page=", at.number, count // each))
        found = match(r"/conditions/[a-z]+-(\d+)", at.path)
        if not found or (number := int(found[0])) >= count or at.path != path(number):
            return None
        town = slug(1, "town", number).capitalize()
        said = "".join(
            f"<p>{text(20, 'terms', n)[:-1]} in {town}. {text(25, 'terms', n, 'rest')}</p>\n" for n in range(6)
        )
        court = f"<p>Court: {town}. Office: {proper('street', number)} {number % 90}, {10000 + number * 7}.</p>"
        return frame.page(f"Conditions for {town}", said + court)

    return make_site(frame, answer, good=r"/conditions/[a-z]+-\d+", total=count)


@alike
def change_logs() -> Site:
    """Changes of some packages: each release has a page with all that came before, and one line more."""
    packages, releases = 45, 14
    frame = Frame("change-logs", {"Packages": "/packages"})
    names = [f"lib{rare(1, 'lib', n)[0]}{n}" for n in range(packages)]

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/packages"):
            return frame.page("Packages", links([(f"/changelog/{name}/", name) for name in names]))
        found = match(r"/changelog/(\w+)/(?:(\d+)\.txt\.html)?", at.path)
        if not found or found[0] not in names or int(found[1] or 0) >= releases:
            return None
        if not found[1]:
            return frame.page(found[0], links([(f"{n}.txt.html", f"Release {n}") for n in range(releases)]))
        common = ("New upstream release.", "Rebuilt.", "Fixed a typing error.", "Updated translations.")

        def line(release: int) -> str:
            is_common = hash_of(found[0], release, "kind") < 700
            said = common[hash_of(found[0], release) % 4] if is_common else text(7, found[0], release)
            return f"<p>{found[0]} ({release}) * {said}</p>\n"

        said = "".join(map(line, range(int(found[1]), -1, -1)))
        return frame.page(f"{found[0]} {found[1]}", said)

    return make_site(frame, answer, good=r"/changelog/\w+/\d+\.txt\.html", total=packages * releases)


@alike
def handbook_by_year() -> Site:
    """A course handbook for eight years: nine of ten courses are what they were; each year has a list of its own."""
    courses, years = 110, range(2016, 2024)
    frame = Frame("handbook-by-year", {str(year): f"/{year}/courses.html" for year in years})
    codes = [f"{rare(1, 'subject', n % 9)[0][:4]}{1000 + n}" for n in range(courses)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page(
                "Handbook", paragraphs(40, "courses") + links([(f"/{year}/courses.html", str(year)) for year in years])
            )
        found = match(r"/(\d{4})/(?:course/)?(\w+)\.html", at.path)
        if not found or int(found[0]) not in years:
            return None
        if found[1] == "courses":
            return frame.page(f"Courses {found[0]}", links([(f"course/{code}.html", code) for code in codes]))
        if found[1] not in codes or "/course/" not in at.path:
            return None
        number, year = codes.index(found[1]), int(found[0])
        versions = [hash_of("rewritten", number, each) < 100 for each in range(2016, year + 1)]
        rows = [("Points", number % 3 * 5 + 5), ("Teacher", proper("teacher", (number + year) % 25)), ("Year", year)]
        said = paragraphs(70, "course", number, sum(versions))
        return frame.page(f"{found[1]} {title(2, 'course', number)}", table(("What", "Is"), rows) + said)

    return make_site(frame, answer, good=r"/\d{4}/course/\w+\.html", total=courses * len(years))
