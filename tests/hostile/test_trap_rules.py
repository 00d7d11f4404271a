"""The rules against endless sites: each for itself, and all of them together in a thought crawl of every trap."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy import traps as rules
from lycosa.policy.traps import Sameness, Yield
from lycosa.simweb.hostile import TRAPS, Trap
from lycosa.simweb.hostile.traps import babble, html
from lycosa.simweb.http import Ask

from .thought import Thought

# ---- templates


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/", "/"),
        ("/about", "/about"),
        ("/2026/05/17", "/{n}/{n}/{n}"),
        ("/calendar/2026-05", "/calendar/{slug}"),
        ("/item-17", "/{slug}"),
        ("/item17", "/item{n}"),
        ("/blog/how-to-cook-rice.html", "/blog/{slug}.html"),
        ("/s/0123456789abcdef/x", "/s/{hex}/x"),
        ("/d/550e8400-e29b-41d4-a716-446655440000", "/d/{hex}"),
        ("/d/aB3dE5fG7hI9jK1lM3nO", "/d/{token}"),
        ("/list?b=2&a=x", "/list?a=x&b={n}"),
        ("/list?a=x&b=9", "/list?a=x&b={n}"),
        ("/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/h/{deeper}"),
        ("/p.php?id=5&id=6", "/p.php?id={n}"),
        ("//", "//"),
    ],
)
def test_urls_that_differ_in_numbers_and_titles_have_one_template(path: str, template: str) -> None:
    assert rules.template_of(path) == template


def test_templates_that_differ_in_their_query_are_one_family() -> None:
    assert rules.family_of(rules.template_of("/s?f1=1")) == rules.family_of(rules.template_of("/s?f2=1&f3=2"))
    assert rules.family_of(rules.template_of("/s")) != rules.family_of(rules.template_of("/s?f2=1"))


@given(st.text(max_size=200))
def test_any_path_has_a_template_and_a_key(text: str) -> None:
    path = f"/{text}"
    assert rules.template_of(path).startswith("/")
    assert rules.difference(path, path) == ""
    assert rules.without(path, set()).startswith("/")


# ---- what visits bring


def test_a_template_closes_when_its_visits_bring_nothing_new_for_long() -> None:
    counts = Yield()
    for _ in range(rules.TEMPLATE_PATIENCE - 1):
        counts = rules.after_visit(counts, is_useful=False)
    assert rules.is_open(counts)
    assert not rules.is_open(rules.after_visit(counts, is_useful=False))
    assert rules.is_open(rules.after_visit(counts, is_useful=True))


def test_a_template_that_brought_much_may_have_a_longer_drought() -> None:
    assert rules.is_open(Yield(1_000, 400, 100))
    assert not rules.is_open(Yield(1_000, 4, 100))
    assert rules.is_open(Yield(1_000, 4, 100), rules.FAMILY_PATIENCE)


def test_numbers_alone_are_no_new_content() -> None:
    assert rules.shape_digest("May 2026: nothing") == rules.shape_digest("May 2027: nothing")
    assert rules.shape_digest("May 2026") != rules.shape_digest("June 2026")
    assert rules.content_digest("page 1") != rules.content_digest("page 2")


# ---- budgets


def test_a_budget_grows_with_links_from_others_and_with_what_was_found() -> None:
    assert rules.domain_budget(0, 0) == 50
    assert rules.domain_budget(3, 0) == 200
    assert rules.domain_budget(0, 10.5) == 60
    assert rules.domain_budget(0, 0, is_seeded=True) > 10**12


def test_no_page_that_opens_up_more_pays_for_itself() -> None:
    assert rules.credit(has_new_content=False, new_on_domain=0) == 0
    assert rules.credit(has_new_content=True, new_on_domain=0) == 1
    credits = [rules.credit(has_new_content=True, new_on_domain=count) for count in range(1, 50)]
    assert credits == sorted(credits, reverse=True)
    assert all(0 < earned < 1 for earned in credits)


# ---- variables


@pytest.mark.parametrize(
    ("one", "other", "thing"),
    [
        ("/a?sid=1&x=2", "/a?sid=3&x=2", "?sid"),
        ("/a?x=2", "/a?sid=3&x=2", "?sid"),
        ("/a?x=2&y=1", "/a?y=1&x=2", "order"),
        ("/a?x=2", "/a?x=2", ""),
        ("/a?x=1&y=1", "/a?x=2&y=2", ""),
        ("/a/0123456789abcdef/b", "/a/fedcba9876543210/b", "/2"),
        ("/a/one/b", "/a/two/b", ""),
        ("/a", "/b", ""),
        ("/a?x=1", "/b?x=2", ""),
    ],
)
def test_the_one_thing_in_which_two_urls_differ(one: str, other: str, thing: str) -> None:
    assert rules.difference(one, other) == thing
    if thing:
        assert rules.without(one, {thing}) == rules.without(other, {thing})


def test_a_variable_is_meaningless_once_enough_pages_agree() -> None:
    counts = Sameness()
    for page in range(2):
        counts = rules.after_pair(counts, is_same=True, is_new_page=True)
        assert rules.is_meaningless(counts, is_drawn=True) == (page == 1)
    assert not rules.is_meaningless(counts)
    assert rules.is_meaningless(Sameness(4, 2, 0))


def test_two_copies_of_one_document_do_not_make_all_documents_one() -> None:
    assert not rules.is_meaningless(Sameness(same=3, pages=1), is_drawn=True)
    assert rules.is_meaningless(Sameness(same=20, pages=1), is_drawn=True)


def test_one_contradiction_outweighs_twenty_agreements() -> None:
    assert not rules.is_meaningless(Sameness(20, 10, 1), is_drawn=True)
    assert rules.is_meaningless(Sameness(25, 10, 1))


# ---- soft 404 and mirrors


def test_a_page_like_the_answer_to_an_impossible_url_is_a_soft_404() -> None:
    sorry = "Oops. We could not find {}. It may have moved. " + babble("sorry", 60)
    probe = rules.shingles(sorry.format("/probe-zzz"), "/probe-zzz")
    assert rules.is_soft_404(rules.shingles(sorry.format("/old/page"), "/old/page"), probe)
    assert not rules.is_soft_404(rules.shingles(babble("a real page"), "/real"), probe)
    assert rules.likeness(frozenset(), frozenset()) == 1.0


def test_hosts_are_mirrors_when_their_paths_agree() -> None:
    assert rules.are_mirrors(Sameness(same=10))
    assert not rules.are_mirrors(Sameness(same=9))
    assert not rules.are_mirrors(Sameness(same=30, different=10))


# ---- all rules together


def thought(*traps: Trap) -> Thought:
    crawl = Thought(traps)
    crawl.run([f"http://{trap.domain}/" for trap in traps])
    return crawl


def found(crawl: Thought, trap: Trap) -> tuple[int, int]:
    wanted = {f"http://{trap.domain}{path}" for path in trap.wanted}
    return len(wanted & set(crawl.fetched)), len(wanted)


GATES = {
    "calendar": 150 + 48,
    "sessions": 72,
    "loops": 60,
    "permutations": 20,
    "facets": 500 + 300,
    "soft-404": 80,
    "pagination": 150,
    "mirrors": 260,
    "maze": 300,
}


@pytest.mark.parametrize("name", GATES)
def test_in_thought_a_trap_takes_no_more_than_its_gate(name: str, record_property: Any) -> None:
    trap = TRAPS[name]
    crawl = thought(trap)
    got, wanted = found(crawl, trap)
    record_property(trap.row, f"in thought {name}: {len(crawl.fetched)} fetches, {got} of {wanted} wanted")
    assert len(crawl.fetched) <= GATES[name]
    assert got == wanted


def test_in_thought_a_farm_takes_few_hosts() -> None:
    crawl = thought(TRAPS["farm"])
    hosts = {urlsplit(url).hostname for url in crawl.fetched}
    assert len(hosts) <= 200


def good_site(number: int, sites: int, pages: int) -> Trap:
    """A site of a tree of pages, linked by three others."""

    def page(ask: Ask) -> str | None:
        name = ask.target.removeprefix("/page-") or "0"
        at = 0 if ask.target == "/" else int(name) if name.isdecimal() else pages
        if at >= pages:
            return None
        links = [f"/page-{each}" for each in (at + 1, at * 2 + 1, at * 2 + 2) if each < pages]
        if at == 0:
            links += [f"http://good{(number + step) % sites}.test/" for step in (1, 3, 7)]
        return html(f"Site {number}, page {at}", links, babble(f"{number}/{at}", 40))

    paths = ("/", *(f"/page-{at}" for at in range(1, pages)))
    return Trap(f"good{number}", "T1", "A good site.", f"good{number}.test", page, paths)


@pytest.mark.full
@pytest.mark.row("T1")
def test_in_thought_good_sites_are_found_and_endless_ones_take_little(record_property: Any) -> None:
    good = [good_site(number, 20, 1_000) for number in range(20)]
    endless = [
        TRAPS["maze"]._replace(name=f"maze{number}", domain=f"maze{number}.test") for number in range(8)
    ]  # fmt: skip
    crawl = Thought([*good, *endless])
    crawl.run(["http://good0.test/", *(f"http://{trap.domain}/" for trap in endless)], max_fetches=60_000)
    on_endless = sum((urlsplit(url).hostname or "").startswith("maze") for url in crawl.fetched)
    got = sum(found(crawl, site)[0] for site in good)
    share = on_endless / len(crawl.fetched)
    record_property("T1", f"in thought: {share:.1%} of fetches on 8 mazes, {got:,} of 20,000 good pages")
    assert share <= 0.05
    assert got >= 0.99 * 20_000
