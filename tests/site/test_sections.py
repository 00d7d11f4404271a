"""The verdicts on sections of a site, by visits that are made up."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest

from lycosa.site.notes import Site
from lycosa.site.sections import (
    DOMAIN,
    ENOUGH_FOUND,
    FREE_SAMPLES,
    GROWN,
    HELD_BACK_PER_SAMPLE,
    LAST_LOOKS,
    MAX_KINDS,
    MAX_PROBES,
    MAX_SECTIONS,
    PAGES_PER_LAST_LOOK,
    PRIOR,
    SURE_HELD_BACK,
    SURE_SAMPLES,
    Brought,
    Chain,
    Sections,
    Soundness,
    chain_of,
)

PATIENCE = 160
IN_MAZE = "/maze/0badcafe00"
Links = Callable[[str], list[str]]


def chain(tail: str, host: str = "a.test", *, is_root: bool = True) -> Chain:
    return chain_of(host, tail, is_root=is_root)


class Crawl:
    """Visits what is not spent, what is in doubt after the rest and from both ends in turn."""

    def __init__(self, links: Links, *, worth: float = 1.0, is_finite: bool = False, host: str = "a.test") -> None:
        self.sections = Sections(PATIENCE, {})
        self.links = links
        self.worth = worth
        self.is_finite = is_finite
        self.host = host
        self.visited: list[str] = []
        self.spent: list[str] = []
        self.verdicts: list[Soundness] = []

    def run(self, first: str = "/", most: int = 5_000) -> Crawl:
        known = {first: ""}
        sound, doubtful = deque([(first, 0)]), deque[tuple[str, int]]()
        while (sound or doubtful) and len(self.visited) < most:
            is_behind = not sound
            is_last_first = is_behind and len(self.visited) % 2 == 0
            tail, depth = doubtful.pop() if is_last_first else (doubtful if is_behind else sound).popleft()
            sections, its_chain = self.sections, chain(tail, self.host)
            source = chain(known[tail], self.host) if known[tail] else ()
            verdict = sections.verdict(its_chain, depth, source)
            if verdict is Soundness.SPENT:
                self.spent.append(tail)
                continue
            if verdict is Soundness.DOUBTFUL and not is_behind:
                doubtful.append((tail, depth))
                continue
            self.visited.append(tail)
            self.verdicts.append(verdict)
            new = [each for each in dict.fromkeys(self.links(tail)) if each not in known]
            known.update(dict.fromkeys(new, tail))
            found = [chain(each, self.host) for each in new]
            sections.learn(its_chain, verdict, Brought(self.worth), found, source=source)
            if verdict is Soundness.DOUBTFUL and sections.wants_probe(its_chain):
                sections.note_asked(its_chain, 1)
                if self.is_finite:
                    sections.note_missing(its_chain)
            sound.extend((each, depth + 1) for each in new)
        return self


def maze(tail: str) -> list[str]:
    draw = random.Random(tail)
    return [f"/maze/{draw.getrandbits(40):010x}0" for _ in range(6)]


def next_pages(tail: str) -> list[str]:
    number = int(tail.rpartition("/")[2] or 0)
    return [f"/page/{number + 1}"] if number < 1_000 else []


# ---- names


def test_the_sections_of_a_url() -> None:
    assert chain("/") == ("a.test", "a.test/$")
    assert chain("/2026/05/a-title.html") == ("a.test", "a.test/{n}/", "a.test/{n}/{n}/", "a.test/{n}/{n}/{slug}.html$")
    assert chain("/a/b/c/d") == ("a.test", "a.test/a/", "a.test/a/b/", "a.test/a/b/c/d$")
    assert chain("/a/b?y=1&x=2") == ("a.test", "a.test/a/*?", "a.test/a/b?x&y$")
    assert chain("/a", "www.a.test", is_root=False) == (DOMAIN, "www.a.test", "www.a.test/a$")


# ---- verdicts


def test_what_is_not_known_is_sound() -> None:
    assert Sections(PATIENCE, {}).verdict(chain("/a/b"), 5) is Soundness.SOUND


def test_a_maze_becomes_doubtful_and_is_then_spent() -> None:
    crawl = Crawl(maze).run()
    assert crawl.spent
    assert crawl.verdicts[0] is Soundness.SOUND
    first_doubt = crawl.verdicts.index(Soundness.DOUBTFUL)
    assert first_doubt <= 30
    assert crawl.verdicts[first_doubt:].count(Soundness.SOUND) <= 3
    assert len(crawl.visited) <= 1.3 * PATIENCE
    assert not crawl.sections.is_poor(chain(IN_MAZE))


def test_what_brings_nothing_is_spent_sooner() -> None:
    crawl = Crawl(maze, worth=0.0).run()
    assert crawl.spent
    assert len(crawl.visited) <= PATIENCE / 2
    assert crawl.sections.is_poor(chain(IN_MAZE))


def test_a_finite_wiki_stays_open() -> None:
    def wiki(tail: str) -> list[str]:
        draw = random.Random(tail)
        return [f"/wiki/Article{draw.randrange(2_000)}" for _ in range(25)]

    crawl = Crawl(wiki).run()
    assert len(crawl.visited) >= 0.99 * 2_000
    assert not crawl.spent


def test_a_list_with_items_stays_open() -> None:
    def shop(tail: str) -> list[str]:
        if tail == "/" or tail.startswith("/list/"):
            number = int(tail.rpartition("/")[2] or 0)
            items = [f"/item/{number * 20 + each}" for each in range(20)]
            return items + ([f"/list/{number + 1}"] if number < 30 else [])
        return []

    crawl = Crawl(shop).run()
    assert len(crawl.visited) == 31 * 21
    assert not crawl.spent


@pytest.mark.parametrize("is_finite", [True, False])
def test_a_long_chain_is_let_through_once_a_made_up_name_is_not_there(is_finite: bool) -> None:
    crawl = Crawl(next_pages, is_finite=is_finite).run()
    if is_finite:
        assert len(crawl.visited) == 1_001
        assert not crawl.spent
    else:
        assert len(crawl.visited) <= 2 * PATIENCE
        assert crawl.spent
    assert sum(section.probes for section in crawl.sections.all.values()) <= MAX_PROBES * 2


@pytest.mark.parametrize("is_finite", [True, False])
def test_a_large_dense_site_is_let_through_once_a_made_up_name_is_not_there(is_finite: bool) -> None:
    def wiki(tail: str) -> list[str]:
        draw = random.Random(tail)
        return [f"/wiki/{draw.randrange(12_000)}" for _ in range(12)]

    crawl = Crawl(wiki, is_finite=is_finite).run(most=20_000)
    assert (len(crawl.visited) >= 0.99 * 12_000) is is_finite


def test_a_maze_of_names_that_are_handed_out_ends_too() -> None:
    crawl = Crawl(maze, is_finite=True).run()
    assert crawl.spent
    assert len(crawl.visited) <= 3 * PATIENCE


def test_all_names_that_were_made_up_must_be_missing() -> None:
    sections = Crawl(next_pages).run(most=100).sections
    here = chain("/page/60")
    sections.note_asked(here, 2)
    sections.note_missing(here)
    assert not sections.all["a.test/page/{n}$"].is_finite
    sections.note_missing(here)
    assert sections.all["a.test/page/{n}$"].is_finite


def test_lists_of_a_large_site_may_be_many() -> None:
    """One list for twenty good pages: the lists go on as long as the pages do."""

    def shop(tail: str) -> list[str]:
        if tail == "/" or tail.startswith("/list/"):
            number = int(tail.rpartition("/")[2] or 0)
            items = [f"/item/{number * 20 + each}" for each in range(20)]
            return items + ([f"/list/{number + 1}"] if number < 4_000 else [])
        return []

    crawl = Crawl(shop, is_finite=True).run(most=100_000)
    assert len(crawl.visited) == 4_001 * 21


def test_good_pages_on_lists_are_not_lost_to_made_up_ones_like_them() -> None:
    """Each product leads to two that are made up, and each of those to six more."""

    def shop(tail: str) -> list[str]:
        draw = random.Random(tail)
        made = [f"/item/{draw.randrange(10**6, 10**7)}" for _ in range(6)]
        if tail == "/":
            return [f"/list/{number}" for number in range(20)]
        number = int(tail.rpartition("/")[2])
        if tail.startswith("/list/"):
            return [f"/item/{number * 20 + each}" for each in range(20)]
        return made if number >= 10**6 else made[:2]

    crawl = Crawl(shop).run()
    good = [tail for tail in crawl.visited if tail.startswith("/item/") and len(tail) < 12]
    assert len(good) == 400
    assert len(crawl.visited) - len(good) <= 300


def test_good_pages_are_looked_at_although_made_up_ones_like_them_were_found_first() -> None:
    """The made-up ones have used up what may be charged before the first list comes."""
    sections = Sections(PATIENCE, {})
    inner = chain("/item/1")
    for number in range(2 * PATIENCE):
        here = chain(f"/item/{10**5 + number}")
        found = [chain(f"/item/{10**6 + 6 * number + each}") for each in range(6)]
        sections.learn(here, sections.verdict(here, 3, inner), Brought(1.0), found, source=inner)
    assert sections.verdict(chain("/item/7"), 3, inner) is Soundness.SPENT
    listed = chain("/list/1")
    verdicts = []
    for number in range(40):
        here = chain(f"/item/{number}")
        verdicts.append(sections.verdict(here, 3, listed))
        sections.learn(here, verdicts[-1], Brought(1.0), [inner], source=listed)
    assert verdicts == [Soundness.DOUBTFUL] * 16 + [Soundness.SOUND] * 24
    assert sections.verdict(chain("/item/7"), 3, inner) is Soundness.SPENT


def test_made_up_names_with_longer_numbers_are_pages_of_another_kind() -> None:
    assert chain("/item/12345") == chain("/item/7")
    assert chain("/item/12345678")[:-1] == chain("/item/7")[:-1]
    assert chain("/item/12345678")[-1] != chain("/item/7")[-1]
    assert chain("/item/12345678") == chain("/item/20260101000000")


def test_pages_found_elsewhere_are_not_sound_where_they_bring_nothing() -> None:
    """Months that the years lead to, before those that other months lead to: none has anything to say."""
    sections = Sections(PATIENCE, {})
    month, year = chain("/archive/2023/05"), chain("/archive/2023")
    visits = 0
    for number in range(600):
        source = year if number % 2 else month
        verdict = sections.verdict(month, 3, source)
        if verdict is not Soundness.SPENT:
            visits += 1
            sections.learn(month, verdict, Brought(0.02), [] if number % 2 else [month], source=source)
    assert visits <= 100


def test_a_maze_of_many_folders_is_doubted_in_each_of_them() -> None:
    def folders(tail: str) -> list[str]:
        draw = random.Random(tail)
        words = ["".join(random.Random(draw.randrange(60)).choices("abcdefgh", k=6)) for _ in range(8)]
        return [f"/{word}/{draw.getrandbits(40):010x}0" for word in words]

    crawl = Crawl(folders).run()
    assert crawl.spent
    assert len(crawl.visited) <= 2 * PATIENCE
    grown = [section for section in crawl.sections.all.values() if section.visits > 20]
    assert all(section.doubt > 0.5 for section in grown)


def test_new_kinds_of_copies_in_a_folder_that_is_spent_are_spent_soon() -> None:
    def shared(tail: str) -> list[str]:
        draw = random.Random(3)
        names = ["".join(draw.choices("abcdefgh", k=5)) for _ in range(60)]
        return [f"/s/{names[number % 60]}{number}" for number in range(1_200)] if tail == "/" else []

    assert len(Crawl(shared, worth=0.0).run().visited) <= 400


def test_a_made_up_name_of_one_folder_does_not_speak_for_a_host() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(25):
        sections.learn(chain(f"/{number % 2}x/a{number}"), Soundness.DOUBTFUL, Brought(1.0), [chain(f"/{number}")])
    assert sections.all["a.test"].visits >= 20
    assert not sections.wants_probe(chain("/new/a"))
    assert sections.wants_probe(chain("/new"))


def test_what_is_finite_and_known_is_not_charged_where_its_pages_are_no_copies() -> None:
    def shop(tail: str) -> list[str]:
        return [f"/item/{number}" for number in range(600)] if tail == "/" else []

    assert len(Crawl(shop, worth=0.05).run().visited) == 601
    assert len(Crawl(shop, worth=0.0).run().visited) <= 100


def test_a_part_of_which_all_lists_have_been_read_is_no_maze() -> None:
    """Many members that all have a template of their own, on lists that come late."""

    def members(tail: str) -> list[str]:
        draw = random.Random(tail)
        if tail == "/":
            return [f"/list/{number}" for number in range(40)]
        if tail.startswith("/list/"):
            return [f"/{''.join(random.Random(tail + str(each)).choices('abcdefghij', k=9))}" for each in range(30)]
        return [] if draw.random() < 0.5 else [f"/{''.join(draw.choices('abcdefghij', k=9))}"] * (draw.random() < 0.3)

    crawl = Crawl(members, worth=0.4).run()
    assert not crawl.spent


def test_growth_by_new_names_of_known_pages_is_forgotten() -> None:
    crawl = Crawl(maze).run()
    assert crawl.sections.verdict(chain(IN_MAZE), 5) is Soundness.SPENT
    crawl.sections.forget_growth("a.test")
    for number in range(60):
        here = chain(f"/maze/{number:010x}")
        crawl.sections.learn(here, crawl.sections.verdict(here, 5), Brought(1.0), [])
    assert crawl.sections.verdict(chain(IN_MAZE), 5) is Soundness.SOUND


def test_a_maze_elsewhere_on_the_host_does_not_spend_a_young_section() -> None:
    crawl = Crawl(maze).run()
    sections = crawl.sections
    assert sections.verdict(chain(IN_MAZE), 5) is Soundness.SPENT
    for number in range(12):
        tail = f"/stories/story-{number}"
        verdict = sections.verdict(chain(tail), 2)
        assert verdict is not Soundness.SPENT
        sections.learn(chain(tail), verdict, Brought(1.0), [chain(f"/stories/story-{number + 1}")])


def test_the_host_of_a_seed_is_not_touched_by_its_domain() -> None:
    sections = Sections(PATIENCE, {})
    draw = random.Random(1)
    for _ in range(2 * PATIENCE):
        host = f"h{draw.getrandbits(40):x}.a.test"
        found = [chain("/", f"h{draw.getrandbits(40):x}.a.test", is_root=False) for _ in range(8)]
        here = chain("/", host, is_root=False)
        verdict = sections.verdict(here, 3)
        if verdict is Soundness.SPENT:
            break
        sections.learn(here, verdict, Brought(1.0), found)
    assert sections.verdict(chain("/", "new.a.test", is_root=False), 3) is Soundness.SPENT
    assert "hosts of this domain" in sections.figures(chain("/", "new.a.test", is_root=False)[:1])
    assert sections.verdict(chain("/", "www.a.test"), 3) is Soundness.SOUND


def test_visits_under_way_are_as_good_as_charged() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(40):
        found = [chain("/", f"h{number}x{each}.a.test", is_root=False) for each in range(8)]
        here = chain("/", f"h{number}.a.test", is_root=False)
        sections.learn(here, sections.verdict(here, 3), Brought(1.0), found)
    new = chain("/", "new.a.test", is_root=False)
    assert sections.verdict(new, 3) is Soundness.DOUBTFUL
    sections.under_way = PATIENCE
    assert sections.verdict(new, 3) is Soundness.SPENT


def test_what_was_charged_more_goes_further_behind() -> None:
    sections = Crawl(maze).run(most=40).sections
    section = sections.all[sections.finest(chain(IN_MAZE))]
    doubts = []
    for section.charged in (0.0, 15.9, 16.0, 63.0, 64.0, 1_000.0):
        doubts.append(sections.doubt_of(chain(IN_MAZE), chain(IN_MAZE)))
    assert doubts == [1, 1, 2, 2, 3, 3]


def test_a_host_whose_many_folders_were_charged_a_little_each_is_looked_at_where_it_is_deepest() -> None:
    def folders(tail: str) -> list[str]:
        return [f"{tail}{name}{tail.count('/')}/" for name in ("red", "green", "blue", "grey")]

    sections = Crawl(folders).run(most=160).sections
    folder = chain("/red1/green2/blue3/grey4/")
    section = sections.all[sections.finest(folder)]
    assert section.charged < 16 <= sections.all["a.test"].total
    assert sections.doubt_of(folder, chain("/red1/green2/blue3/")) == 2


def test_a_tree_of_folders_with_its_files_at_the_bottom_is_whole() -> None:
    def tree(tail: str) -> list[str]:
        depth = tail.count("/")
        if not tail.endswith("/"):
            return []
        names = random.Random(tail).sample("abcdefghijklmnopqrstuvwxyz", 4)
        return [f"{tail}{name * depth}{'.html' if depth == 5 else '/'}" for name in names]

    crawl = Crawl(tree).run()
    assert sum(tail.endswith(".html") for tail in crawl.visited) == 4**5
    assert not crawl.spent


# ---- samples


def test_about_one_in_twenty_is_visited_all_the_same_up_to_a_bound() -> None:
    sections = Crawl(maze).run().sections
    spent = chain(IN_MAZE)
    before = sections.samples
    taken = [sections.wants_sample(spent) for _ in range(100)]
    assert 100 / HELD_BACK_PER_SAMPLE - 2 <= sum(taken) <= 100 / HELD_BACK_PER_SAMPLE + 2
    taken += [sections.wants_sample(spent) for _ in range(5_000)]
    assert sections.samples == before + sum(taken) <= FREE_SAMPLES + sections.sound / 40 + 1


def test_a_section_is_sure_after_enough_samples() -> None:
    sections = Crawl(maze).run().sections
    spent = chain(IN_MAZE)
    assert not sections.is_sure(spent, spent)
    for _ in range(SURE_HELD_BACK):
        sections.wants_sample(spent)
    assert sections.is_sure(spent, spent)
    for number in range(30):
        sections.learn(chain(f"/list/{number}"), Soundness.SOUND, Brought(1.0), [])
    assert not sections.is_sure(spent, chain("/list/7")), "what is found elsewhere may be of another kind"
    assert sections.all[sections.finest(spent)].samples >= SURE_SAMPLES


# ---- charges


def test_the_last_of_what_brings_little_and_ends_are_looked_at_and_a_maze_is_not() -> None:
    copies, maze = chain("/print/a-page"), chain(IN_MAZE)
    sections = Sections(PATIENCE, {})
    for _ in range(60):
        sections.learn(copies, Soundness.DOUBTFUL, Brought(0.0), [])
        sections.learn(maze, Soundness.DOUBTFUL, Brought(0.0), [maze] * 3)
    assert sections.verdict(copies, 1) is Soundness.SPENT
    assert sum(sections.wants_last_look(copies) for _ in range(200)) == LAST_LOOKS
    sections.last_looks = 0
    assert not sections.wants_last_look(maze)
    sections.sound = 40 * PAGES_PER_LAST_LOOK
    assert sum(sections.wants_last_look(copies) for _ in range(200)) == LAST_LOOKS + 40


def test_places_that_hardly_differ_are_whole_and_copies_and_views_are_not() -> None:
    """Five versions of a manual, each with a list of its pages; nothing in them is new, but no two are the same."""

    def visits(folder: str, listing: str, brought: Brought, *, at_once: int = 40) -> int:
        sections, number = Sections(PATIENCE, {}), 0
        sections.learn(chain("/"), Soundness.SOUND, Brought(1.0), [chain(listing)])
        for name in range(200):
            page, source = chain(f"{folder}a-page-{name}"), chain(listing)
            if name % at_once == 0:
                sections.learn(source, Soundness.SOUND, Brought(1.0), [page] * at_once)
            verdict = sections.verdict(page, 2, source)
            if verdict is not Soundness.SPENT:
                number += 1
                sections.learn(page, verdict, brought, [], source=source)
        return number

    alike, copy = Brought(0.0, is_own=True), Brought(0.0)
    assert visits("/manual/1.0/", "/manual/1.0/", alike) == 200
    assert visits("/manual/1.0/", "/manual/1.0/", copy) <= 100, "the same text again"
    assert visits("/manual/1.0/", "/articles/a-b", alike, at_once=1) <= 100, "each has one, as to print it"
    assert visits("/manual/?revision=", "/manual/", alike) <= 100, "a view of something"


def test_what_was_left_out_may_be_missed_if_some_of_its_kind_said_something() -> None:
    """But for what is found by ones and twos: a print of a page that was met long ago seems to say something."""
    silent, telling, prints = chain("/card/a-page"), chain("/notes/a-page"), chain("/a-page?print=1")
    listing, article, sections = chain("/all"), chain("/a-page"), Sections(PATIENCE, {})
    for number in range(60):
        says_more = Brought(0.0, is_telling=number % 10 == 0)
        sections.learn(silent, Soundness.DOUBTFUL, Brought(0.0), [])
        sections.learn(telling, Soundness.DOUBTFUL, says_more, [])
        sections.learn(prints, Soundness.DOUBTFUL, says_more, [])
        sections.learn(listing, Soundness.SOUND, Brought(1.0), [*[silent] * 4, *[telling] * 4])
        sections.learn(article, Soundness.SOUND, Brought(1.0), [prints])
    assert all(sections.is_poor(each) for each in (silent, telling, prints))
    assert [sections.is_telling(each) for each in (silent, telling, prints)] == [False, True, False]


def test_what_a_list_with_an_end_leads_to_is_not_cut_with_the_maze_around_it() -> None:
    listed, page_of_list, sections = chain("/wiki/a-tide"), chain("/contents?page=3"), Sections(PATIENCE, {})
    for _ in range(2 * PATIENCE):
        sections.learn(listed, Soundness.DOUBTFUL, Brought(1.0), [listed] * 4, source=listed)
    for _ in range(ENOUGH_FOUND):
        sections.learn(listed, Soundness.DOUBTFUL, Brought(1.0), [listed] * 4, source=page_of_list)
    assert sections.verdict(listed, 2, page_of_list) is Soundness.SPENT
    for _ in range(PRIOR + GROWN):
        sections.learn(page_of_list, Soundness.SOUND, Brought(1.0), [listed] * 8)
    assert sections.verdict(listed, 2, listed) is Soundness.SPENT
    assert sections.verdict(listed, 2, page_of_list) is Soundness.DOUBTFUL
    for _ in range(PRIOR + GROWN):
        sections.learn(page_of_list, Soundness.SOUND, Brought(1.0), [page_of_list, *[listed] * 8])
    assert sections.verdict(listed, 2, page_of_list) is Soundness.SPENT, "the list may have no end either"


def test_a_list_beside_a_maze_that_all_pages_lead_to_is_no_maze() -> None:
    """Each page, the lists as well, has one dead link, which is answered with entries and with more of its kind."""
    entry, dead, page_of_list = chain("/define/tide"), chain("/a-dead-link"), chain("/words?page=3")
    sections = Sections(PATIENCE, {})
    sections.learn(chain("/"), Soundness.SOUND, Brought(1.0), [page_of_list, entry, dead])
    for _ in range(PATIENCE):
        if entry[-1] in sections.all and sections.all[entry[-1]].visits < 2 * PRIOR:
            sections.learn(page_of_list, Soundness.SOUND, Brought(1.0), [dead, *[entry] * 8])
        sections.learn(entry, Soundness.DOUBTFUL, Brought(1.0), [dead], source=page_of_list)
        sections.learn(dead, Soundness.DOUBTFUL, Brought(1.0), [entry, dead, dead, dead], source=entry)
    assert sections.verdict(entry, 5, dead) is Soundness.SPENT
    assert sections.verdict(entry, 5, page_of_list) is Soundness.DOUBTFUL
    assert sections.verdict(entry, 1, chain("/")) is Soundness.DOUBTFUL, "the home page is a list that ends"
    assert sections.verdict(dead, 5, page_of_list) is Soundness.SPENT


def test_names_with_a_number_are_no_kinds_of_pages_with_variables() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(MAX_KINDS + 4):
        history = chain(f"/wiki/{chr(97 + number)}_7?action=history")
        sections.learn(history, Soundness.SOUND, Brought(0.2), [])
    assert sections.finest(history) == "a.test/wiki/*?"
    assert not any(name.endswith("?action$") for name in sections.all)
    assert sections.all["a.test/wiki/*?"].visits == MAX_KINDS + 4


def test_folders_of_names_without_variables_are_looked_at_one_by_one() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(MAX_KINDS + 4):
        article = chain(f"/wiki/{chr(97 + number)}_7")
        sections.learn(article, Soundness.SOUND, Brought(1.0), [])
    assert sections.finest(article) == article[-1]


def test_what_ends_after_all_gets_its_charges_back() -> None:
    def wiki(tail: str) -> list[str]:
        draw = random.Random(tail)
        return [f"/item/{draw.randrange(400)}" for _ in range(12)]

    crawl = Crawl(wiki).run()
    assert len(crawl.visited) == 401
    assert Soundness.DOUBTFUL in crawl.verdicts
    template = crawl.sections.all["a.test/item/{n}$"]
    assert template.charged < PATIENCE / 2
    for number in range(400, 500):
        here = chain(f"/item/{number}")
        crawl.sections.learn(here, crawl.sections.verdict(here, 2), Brought(1.0), [])
    assert template.charged == 0.0
    assert crawl.sections.verdict(chain("/item/1000"), 2) is Soundness.SOUND


def test_what_was_given_back_is_given_back_all_around() -> None:
    crawl = Crawl(lambda tail: [f"/item/{random.Random(tail + str(each)).randrange(400)}" for each in range(12)]).run()
    before = crawl.sections.all["a.test"].total
    for number in range(400, 500):
        here = chain(f"/item/{number}")
        crawl.sections.learn(here, crawl.sections.verdict(here, 2), Brought(1.0), [])
    assert crawl.sections.all["a.test"].total <= before


# ---- bounds, keeping


def test_the_number_of_sections_is_bounded_and_the_grown_ones_stay() -> None:
    sections = Crawl(maze).run().sections
    for number in range(3 * MAX_SECTIONS):
        name = "".join(random.Random(number).choices("abcdefghij", k=8))
        sections.learn(chain(f"/{name}/{name[::-1]}"), Soundness.SOUND, Brought(1.0), [chain(f"/{name}/x")])
    assert len(sections.all) <= MAX_SECTIONS
    assert sections.verdict(chain(IN_MAZE), 5) is Soundness.SPENT


def test_kept_notes_say_the_same() -> None:
    site = Site("a.test", PATIENCE)
    crawl = Crawl(maze)
    crawl.sections = site.sections
    crawl.run()
    site.note_root("a.test")
    for _ in range(50):
        site.sections.wants_sample(chain(IN_MAZE))
    again = Site("a.test", PATIENCE, version=3, raw=site.encoded())
    assert again.is_root("a.test")
    assert (again.sections.samples, again.sections.sound) == (site.sections.samples, site.sections.sound)
    for tail in (IN_MAZE, "/maze/1badcafe11"):
        assert again.sections.verdict(chain(tail), 3) is site.sections.verdict(chain(tail), 3)
        assert again.sections.figures(chain(tail)) == site.sections.figures(chain(tail))
    assert len(site.encoded()) <= 6_000


def test_notes_that_are_kept_after_every_visit_learn_as_well() -> None:
    """As where workers take turns: what is met once must not begin anew each time."""
    raw = b""
    for number in range(30):
        site = Site("a.test", PATIENCE, raw=raw)
        here = chain(f"/item/{number}")
        site.sections.learn(here, site.sections.verdict(here, 2), Brought(1.0), [])
        raw = site.encoded(keeps_all=True)
    assert Site("a.test", PATIENCE, raw=raw).sections.all["a.test/item/{n}$"].visits == 30


def test_an_alike_page_of_another_kind_promises_its_worth() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(30):
        sections.learn(chain(f"/item/{number}"), Soundness.SOUND, Brought(1.0), [])
    assert sections.promise(chain("/list/1"), chain("/item/99")) > 0.8
    assert sections.promise(chain("/item/1"), chain("/item/99")) == 0.0
    assert Sections(PATIENCE, {}).promise(chain("/list/1"), chain("/item/99")) == 0.0


def test_names_of_folders_in_a_crowded_one_are_no_kinds() -> None:
    """What people say of themselves is worth something; that their friends are known says nothing against it."""
    sections = Sections(PATIENCE, {})
    for number in range(3 * MAX_KINDS):
        name = "".join("abcdefghij"[int(digit)] for digit in f"{number:03}")
        for page, worth in (("", 0.2), ("friends", 0.0), ("likes", 0.0)):
            sections.learn(sections.in_kinds(chain(f"/people/{name}/{page}")), Soundness.SOUND, Brought(worth), [])
    home, friends = (sections.in_kinds(chain(f"/people/zora/{page}")) for page in ("", "friends"))
    assert home[-2:] == ("a.test/people/{name}/", "a.test/people/{name}/$")
    assert not sections.is_poor(home)
    assert sections.is_poor(friends)
    kept = Sections(PATIENCE, sections.all)
    assert kept.in_kinds(chain("/people/zora/")) == home, "also after the notes were read anew"


def test_folders_of_a_tree_are_judged_by_themselves() -> None:
    sections = Sections(PATIENCE, {})
    for number in range(3 * MAX_KINDS):
        name = "".join("abcdefghij"[int(digit)] for digit in f"{number:03}")
        for page in (f"/tree/{name}/", f"/tree/{name}/branch/", f"/tree/{name}/branch/leaf"):
            sections.learn(sections.in_kinds(chain(page)), Soundness.SOUND, Brought(1.0), [])
    assert sections.in_kinds(chain("/tree/zora/branch/")) == chain("/tree/zora/branch/")


def test_a_folder_with_many_pages_stays_one_in_a_crowded_one() -> None:
    sections = Sections(PATIENCE, {})
    for _ in range(GROWN):
        sections.learn(chain("/people/club/news"), Soundness.SOUND, Brought(1.0), [])
    for number in range(3 * MAX_KINDS):
        name = "".join("abcdefghij"[int(digit)] for digit in f"{number:03}")
        sections.learn(sections.in_kinds(chain(f"/people/{name}/")), Soundness.SOUND, Brought(0.0), [])
    assert sections.in_kinds(chain("/people/club/news")) == chain("/people/club/news")
    assert sections.in_kinds(chain("/people/anna/news"))[-1] == "a.test/people/{name}/news$"
