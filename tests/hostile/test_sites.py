"""What the rules against endless sites do to sites of every kind: the good ones are found, the others are left."""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from lycosa.model import WAITS, WAITS_LAST, Kind, Refusal, Target, Validators
from lycosa.outcome import Postponed, Refused, Stored
from lycosa.simweb.hostile.traps import babble, fresh
from lycosa.site.judge import PROBE_PATH
from lycosa.site.sections import FREE_SAMPLES, HELD_BACK_PER_SAMPLE, PAGES_PER_SAMPLE

from .walk import Answer, Walk, Web

MISSING = Answer("no such page", status=404)
DOOR = "http://door.test/"


def behind_a_door(site: Web, home: str = "http://site.test/") -> Web:
    """A site that one page of another domain leads to, which is the seed."""
    return lambda url: Answer("door", [home]) if url == DOOR else site(url)


def tail_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def tree(pages: int, children: int, navigation: int = 0, leaf_words: int = 30) -> Web:
    """A finite site: every page leads to some children, and all of them to the same few pages."""

    def site(url: str) -> Answer:
        name = tail_of(url).removeprefix("/").removeprefix("page-") or "0"
        if not name.isdecimal() or int(name) >= pages:
            return MISSING
        number = int(name)
        below = range(number * children + 1, number * children + children + 1)
        links = [f"/page-{each}" for each in (*range(1, navigation + 1), *below) if 0 < each < pages]
        return Answer(f"{babble(url, leaf_words)} {number}", ["/", *links] if navigation else links)

    return site


def maze(url: str) -> Answer:
    draw = random.Random(url)
    return Answer(babble(url, 60), [f"/{draw.choice('abcdef')}/{draw.getrandbits(32):x}" for _ in range(8)])


def found_on(walk: Walk, host: str) -> int:
    return len({url for url in walk.asked if urlsplit(url).hostname == host} - {*walk.probes})


# ---- finite sites are found


@pytest.mark.parametrize(("children", "navigation"), [(8, 20), (8, 10), (30, 10), (4, 5), (200, 12)], ids=str)
async def test_a_site_of_5000_pages_with_navigation_is_found(children: int, navigation: int) -> None:
    walk = await Walk(behind_a_door(tree(5_000, children, navigation)), DOOR).run()
    assert found_on(walk, "site.test") >= 0.99 * 5_000
    assert not walk.refused


async def test_a_small_site_without_any_navigation_is_found() -> None:
    walk = await Walk(behind_a_door(tree(600, 3)), DOOR).run()
    assert found_on(walk, "site.test") == 600


async def test_a_wiki_is_found() -> None:
    def wiki(url: str) -> Answer:
        draw, tail = random.Random(url), tail_of(url)
        if "action=" in tail:
            return Answer("Log in to see this page.", ["/wiki/Main"])
        links = [f"/wiki/Article{draw.randrange(2_000)}" for _ in range(25)]
        tools = [f"{tail}?action={action}" for action in ("edit", "history")]
        return Answer(babble(url, 40), [f"/wiki/Nav{each}" for each in range(12)] + links + tools)

    walk = await Walk(behind_a_door(wiki, "http://site.test/wiki/Main"), DOOR).run()
    articles = {url for url in walk.asked if "Article" in url and "?" not in url}
    assert len(articles) >= 0.99 * 2_000
    # What is behind the closed door is not worth asking for again and again.
    assert len(walk.refused) > 2_000


async def test_many_dead_links_do_not_end_a_site() -> None:
    good = tree(2_000, 8, 10)

    def site(url: str) -> Answer:
        number = url.rpartition("-")[2]
        if number.isdecimal() and int(number) % 5 == 4:
            return MISSING
        return good(url)

    walk = await Walk(behind_a_door(site), DOOR).run()
    assert not walk.refused


async def test_an_archive_of_files_is_found_although_its_lists_lead_to_new_pages_only() -> None:
    def archive(url: str) -> Answer:
        path = urlsplit(url).path
        if not path.endswith("/"):
            return Answer(body=path.encode())
        depth = path.count("/") - 1
        folders = [f"{name}{depth}/" for name in "abcdef"] if depth < 4 else []
        files = [f"{name}.bin" for name in ("data", "index", "more")]
        return Answer(f"Index of {path}", folders + files)

    walk = await Walk(archive, "http://site.test/").run()
    assert found_on(walk, "site.test") == sum(6**depth * 4 for depth in range(5))


async def test_files_without_text_are_not_all_the_same() -> None:
    def site(url: str) -> Answer:
        if urlsplit(url).path == "/":
            return Answer("files", [f"/file-{number}.pdf" for number in range(300)])
        return Answer(body=url.encode())

    walk = await Walk(site, "http://site.test/").run()
    assert found_on(walk, "site.test") == 301


# ---- endless sites are left


@pytest.mark.row("T11")
async def test_a_maze_ends_also_where_the_operator_named_it() -> None:
    walk = await Walk(maze, "http://site.test/").run()
    assert found_on(walk, "site.test") <= 900
    assert set(walk.reasons) == {Refusal.ENDLESS}


async def test_a_maze_that_one_site_links_to_ends_sooner() -> None:
    walk = await Walk(behind_a_door(maze), DOOR).run()
    assert found_on(walk, "site.test") <= 480
    assert set(walk.reasons) == {Refusal.ENDLESS}


async def test_a_maze_with_navigation_ends_too() -> None:
    def site(url: str) -> Answer:
        answer = maze(url)
        return answer._replace(links=[*(f"/nav-{each}" for each in range(20)), *answer.links])

    walk = await Walk(behind_a_door(site), DOOR).run()
    assert found_on(walk, "site.test") <= 600
    assert set(walk.reasons) == {Refusal.ENDLESS}


async def test_pages_that_say_nothing_new_are_left_soon() -> None:
    def site(url: str) -> Answer:
        draw, path = random.Random(url), urlsplit(url).path
        if path == "/":
            return Answer("home", ["/list/1", *(f"/page-{each}" for each in range(20))])
        if path.startswith("/page-"):
            return Answer(babble(url))
        if not path.startswith("/list/"):
            return MISSING
        return Answer("The list of everything", [f"/list/{draw.getrandbits(30)}" for _ in range(5)])

    walk = await Walk(site, "http://site.test/").run()
    assert sum("/page-" in url for url in walk.asked) == 20
    assert sum("/list/" in url for url in walk.asked) <= 120
    assert set(walk.reasons) == {Refusal.BARREN}


async def test_more_patience_takes_in_more() -> None:
    few = await Walk(maze, "http://site.test/", patience=20).run()
    many = await Walk(maze, "http://site.test/", patience=80).run()
    assert found_on(few, "site.test") + 60 <= found_on(many, "site.test")


async def test_all_rules_can_be_switched_off() -> None:
    walk = await Walk(maze, "http://site.test/", traps=False).run(max_requests=1_000)
    assert not walk.refused
    assert not walk.probes
    assert not walk.postponed
    assert not walk.notes.kept


async def test_nothing_is_refused_before_it_has_waited_twice() -> None:
    walk = await Walk(maze, "http://site.test/").run()
    at_visits = len(walk.refused) - len(walk.left_out)
    assert walk.postponed[WAITS_LAST] >= at_visits * 0.9
    assert walk.postponed[WAITS] + walk.postponed[WAITS_LAST] >= at_visits


async def test_what_is_in_doubt_comes_behind_the_rest_of_its_host() -> None:
    def site(url: str) -> Answer:
        path = urlsplit(url).path
        if path == "/":
            return Answer("home", ["/maze/a/0", "/list/0"])
        if path.startswith("/maze/"):
            return maze(url)._replace(links=[f"/maze{link}" for link in maze(url).links])
        name = path.rpartition("/")[2]
        if not name.isdecimal() or int(name) > 1_000:
            return MISSING
        number = int(name)
        if path.startswith("/list/"):
            items = [f"/item/{number * 20 + each}" for each in range(20)]
            return Answer(babble(url), [*items, *([f"/list/{number + 1}"] if number < 20 else [])])
        return Answer(babble(url))

    walk = await Walk(site, "http://site.test/").run()
    last_item = max(at for at, url in enumerate(walk.asked) if "/item/" in url)
    assert sum("/item/" in url for url in walk.asked) == 21 * 20
    assert sum("/maze/" in url for url in walk.asked[:last_item]) <= 160  # of which a third while nobody could tell


async def test_what_the_operator_named_is_asked_for_whatever_was_learnt() -> None:
    seeds = [f"http://site.test/same/{number}" for number in range(100)]
    walk = await Walk(lambda url: Answer("the same"), *seeds).run()
    assert set(seeds) <= set(walk.asked)


# ---- revisits, restarts


async def test_a_revisit_is_never_refused() -> None:
    walk = await Walk(maze, "http://site.test/").run()
    target = Target("http://site.test/a/badcafe1", "site.test", b"12345678", depth=3, deferred=WAITS_LAST)
    assert isinstance(await walk.visit(target), Refused)
    assert isinstance(await walk.visit(target, Validators("etag")), Stored)


async def test_a_new_worker_goes_on_where_the_old_one_was() -> None:
    alone = await Walk(behind_a_door(maze), DOOR).run()
    walk = Walk(behind_a_door(maze), DOOR)
    for requests in range(20, 200, 20):
        await walk.run(max_requests=requests)
        walk.begin()
    await walk.run()
    assert walk.notes.asked > 0
    # Each start may lose what was learnt since the last news.
    assert found_on(walk, "site.test") <= 1.5 * found_on(alone, "site.test")


async def test_workers_that_take_turns_with_a_domain_know_as_much_as_one() -> None:
    alone = await Walk(behind_a_door(maze), DOOR).run()
    walk = Walk(behind_a_door(maze), DOOR, assignment="balanced")
    workers = []
    for _ in range(4):
        walk.begin()
        workers.append(walk.judge)
    for requests in range(1, 2_000):
        walk.judge = workers[requests % 4]
        await walk.run(max_requests=requests)
    # What is held back counts for the one that did so.
    assert found_on(walk, "site.test") <= 1.3 * found_on(alone, "site.test")


@pytest.mark.parametrize("site", [maze, tree(5_000, 8, 20), tree(5_000, 30, 10)], ids=["maze", "tree", "wide"])
async def test_notes_are_small(site: Callable[[str], Answer]) -> None:
    walk = await Walk(site, "http://site.test/").run()
    _, notes = walk.notes.kept["site.test"]
    assert len(notes) <= 12_000
    assert walk.judge._sites["site.test"].weight <= 5_000


async def test_notes_of_a_hostile_site_are_small() -> None:
    """New hosts, new templates, new variables on every page."""

    def site(url: str) -> Answer:
        draw = random.Random(url)
        links = []
        for _ in range(8):
            name = "".join(draw.choices("abcdefghij", k=8))
            links.append(f"http://{name}.site.test/{name}/{draw.getrandbits(64):x}/{name}?{name}=1&{name[::-1]}=2")
        return Answer(babble(url), links)

    walk = await Walk(site, "http://site.test/").run(max_requests=300)
    _, notes = walk.notes.kept["site.test"]
    assert len(notes) <= 8_000
    assert walk.judge._sites["site.test"].weight <= 3_000


# ---- the same page under many URLs


async def test_pages_behind_session_ids_are_fetched_about_once() -> None:
    def shop(url: str) -> Answer:
        name = urlsplit(url).path.removeprefix("/item-")
        number = int(name) if name.isdecimal() else 0
        near = [(number * 2 + step) % 200 for step in (1, 2, 3)]
        return Answer(f"Item {babble(str(number))}", [f"/item-{each}?sid={fresh(url, each)}" for each in near])

    walk = await Walk(shop, "http://site.test/").run()
    assert len({urlsplit(url).path for url in walk.asked} - {"/"}) >= 199
    assert len(walk.asked) <= 1.2 * 200
    assert set(walk.reasons) == {Refusal.VARIANT}


async def test_a_variable_that_matters_is_kept() -> None:
    def list_of(url: str) -> Answer:
        page = int(parse_qs(urlsplit(url).query).get("page", ["0"])[0])
        return Answer(f"list {babble(str(page))}", [f"/?page={page + 1}"] if page < 18 else [])

    walk = await Walk(list_of, "http://site.test/").run()
    assert found_on(walk, "site.test") == 19
    assert not walk.refused


async def test_a_closed_door_does_not_make_one_page_of_all() -> None:
    """Every /view says the same, whatever its id: nothing follows for /doc."""

    def site(url: str) -> Answer:
        path = urlsplit(url).path
        if path == "/":
            views = [f"/view?id={fresh(each)}&lang={each % 3}" for each in range(60)]
            return Answer("home", views + [f"/doc?id={fresh(each)}" for each in range(60)])
        return Answer("Please log in." if path == "/view" else babble(url))

    walk = await Walk(site, "http://site.test/").run()
    assert sum("/doc" in url for url in walk.asked) == 60


async def test_a_page_that_redirects_to_its_own_session_is_not_lost() -> None:
    def site(url: str) -> Answer:
        parts = urlsplit(url)
        if parts.path == "/":
            return Answer("home", [f"/item-{each}" for each in range(50)])
        if "sid" not in parts.query:
            return Answer(status=302, location=f"{parts.path}?sid={fresh(url)}")
        others = [f"/item-{each}?sid={fresh(url, each)}" for each in range(5)]
        return Answer(babble(parts.path), others)

    walk = await Walk(site, "http://site.test/").run()
    read = {urlsplit(url).path for url in walk.asked if "sid" in url}
    assert read >= {f"/item-{each}" for each in range(50)}


async def test_pages_visited_before_a_part_was_learnt_are_known_without_it() -> None:
    walk = Walk(lambda url: Answer(babble(urlsplit(url).path)), "http://site.test/")
    paths = [f"/{name}?sid={fresh(turn, name)}" for name in ("a", "b", "c") for turn in range(2)]
    for number, path in enumerate(paths):
        await walk.visit(Target(f"http://site.test{path}", "site.test", bytes([number]) * 8, depth=1))
    known = [fingerprint for learnt in walk.learnt for fingerprint in learnt.known]
    assert len(set(known)) == 2
    variant = await walk.visit(Target("http://site.test/a?sid=0123456789abcdef", "site.test", b"87654321", depth=1))
    assert isinstance(variant, Refused)
    assert (variant.reason, variant.detail) == (Refusal.VARIANT, "http://site.test/a")
    assert variant.discovered[0].fingerprint in known


# ---- mirrors


def mirrored(*origins: str) -> Web:
    """One site under several names, each of which leads to the others."""
    site = tree(200, 3)

    def web(url: str) -> Answer:
        parts = urlsplit(url)
        answer = site(url.replace(f"{parts.scheme}://{parts.netloc}", "http://any.test"))
        return answer._replace(links=[*answer.links, *(f"{origin}/" for origin in origins)])

    return web


@pytest.mark.row("T8")
@pytest.mark.parametrize("other", ["http://www.site.test", "http://other-site.test"], ids=["www", "domain"])
async def test_a_mirror_is_recognised_and_its_pages_are_had_from_the_other(other: str) -> None:
    walk = await Walk(mirrored("http://site.test", other), "http://site.test/").run()
    assert len({tail_of(url) for url in {*walk.asked} - {*walk.probes}}) == 200
    assert len(walk.asked) < 2 * 200
    assert Refusal.MIRROR in walk.reasons


@pytest.mark.row("T8")
@pytest.mark.parametrize("other", ["http://www.site.test", "https://site.test", "http://site.test:8080"])
async def test_a_host_that_the_operator_named_is_no_mirror(other: str) -> None:
    origins = ("http://site.test", other)
    walk = await Walk(mirrored(*origins), *(f"{origin}/" for origin in origins)).run()
    assert len({tail_of(url) for url in {*walk.asked} - {*walk.probes}}) == 200
    assert Refusal.MIRROR not in walk.reasons


async def test_hosts_that_differ_are_no_mirrors() -> None:
    def web(url: str) -> Answer:
        host, path = urlsplit(url).hostname, urlsplit(url).path
        if path == "/":
            return Answer(f"{host}", ["/about", *(f"/{number}" for number in range(40)), "http://de.site.test/"])
        return Answer("imprint" if path == "/about" else babble(url))

    walk = await Walk(web, "http://site.test/").run()
    assert not walk.refused
    assert found_on(walk, "de.site.test") == found_on(walk, "site.test") == 42


# ---- soft 404


@pytest.mark.row("T8")
async def test_pages_that_only_say_sorry_are_none_and_lead_nowhere() -> None:
    def site(url: str) -> Answer:
        name = urlsplit(url).path
        if name == "/" or name.removeprefix("/page-").isdecimal():
            links = [f"/page-{number}" for number in range(30)]
            return Answer(babble(name), [*links, f"/old/{fresh(name)}"])
        return Answer(f"Sorry, {name} was not found. {babble('sorry', 60)}", [f"{name}/{each}" for each in "abc"])

    walk = await Walk(site, "http://site.test/").run(max_requests=2_000)
    assert sum("/page-" in url for url in walk.asked) == 30
    assert len(walk.asked) <= 80
    assert sum(PROBE_PATH in url for url in walk.probes) == 1


async def test_a_host_that_says_404_by_itself_is_not_asked_for_what_cannot_exist() -> None:
    def site(url: str) -> Answer:
        if urlsplit(url).path == "/":
            return Answer("home", ["/gone", *(f"/page-{number}" for number in range(30))])
        return MISSING if url.endswith("/gone") else Answer(babble(url))

    walk = await Walk(site, "http://site.test/").run()
    assert not any(PROBE_PATH in url for url in walk.asked)


# ---- farms


@pytest.mark.row("T7")
async def test_few_hosts_of_a_farm_are_asked_for_anything() -> None:
    def farm(url: str) -> Answer:
        draw = random.Random(url)
        return Answer(babble(url), [f"http://h{draw.getrandbits(40):x}.farm.test/" for _ in range(8)])

    walk = await Walk(behind_a_door(farm, "http://h0.farm.test/"), DOOR).run()
    assert len({urlsplit(url).hostname for url in walk.asked}) <= 200
    target = Target("http://new.farm.test/robots.txt", "new.farm.test", b"", Kind.ROBOTS, origin="http://new.farm.test")
    refused = await walk.judge.objection_to_host(walk.lease(target))
    assert refused is not None
    assert refused.reason is Refusal.ENDLESS
    assert "hosts of this domain" in refused.detail


async def test_the_host_of_a_seed_does_not_suffer_from_a_farm_around_it() -> None:
    good = tree(300, 30, 10)

    def web(url: str) -> Answer:
        if urlsplit(url).hostname == "www.farm.test":
            answer = good(url)
            return answer._replace(links=[*answer.links, f"http://h{random.Random(url).getrandbits(40):x}.farm.test/"])
        draw = random.Random(url)
        return Answer(babble(url), [f"http://h{draw.getrandbits(40):x}.farm.test/" for _ in range(8)])

    walk = await Walk(web, "http://www.farm.test/").run()
    assert found_on(walk, "www.farm.test") == 300
    assert len({urlsplit(url).hostname for url in walk.asked}) <= 200


# ---- samples


async def test_some_of_what_is_held_back_is_visited_all_the_same() -> None:
    walk = await Walk(maze, "http://site.test/").run()
    sections = walk.judge._sites["site.test"].sections
    assert 0 < sections.samples <= FREE_SAMPLES + sections.sound / PAGES_PER_SAMPLE + 1
    assert sections.samples * HELD_BACK_PER_SAMPLE <= sum(walk.postponed.values()) + 20 * len(sections.all)


async def test_a_target_waits_twice_and_is_then_refused() -> None:
    walk = await Walk(maze, "http://site.test/").run()
    ends = []
    for deferred in (0, WAITS, WAITS_LAST):
        name = f"{deferred}badcafe"
        target = Target(f"http://site.test/a/{name}", "site.test", name.encode(), depth=3, deferred=deferred)
        outcome = await walk.visit(target)
        ends.append(outcome.deferred if isinstance(outcome, Postponed) else type(outcome))
    assert ends == [WAITS, WAITS_LAST, Refused]
