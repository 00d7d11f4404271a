"""The guide: in which class everything that a visit found is to wait."""

from __future__ import annotations

from lycosa.model import WAITS, Kind, Links, OutcomeKind, Page, Settlement, Target
from lycosa.topic.guide import Guide
from lycosa.topic.relevance import Relevance
from lycosa.topic.terms import terms_of

HOME = Target("http://a.test/", "a.test", b"12345678", priority=10)


def a_guide(**how: bool) -> Guide:
    return Guide(Relevance(terms_of("falcon nests")), 0.5, obeys_nofollow=how.get("obeys_nofollow", True))


def target(path: str, **known: object) -> Target:
    url = f"http://a.test/{path}"
    return Target(url, "a.test", path.encode().ljust(8, b"-")[:8], depth=1, referrer=HOME.url, **known)  # type: ignore[arg-type]


def links(*linked: tuple[str, str], rel: str = "") -> Links:
    return Links([f"http://a.test/{path}" for path, _ in linked], [text for _, text in linked], [rel] * len(linked))


def rate(guide: Guide, found: Links, *new: Target, source: Target = HOME, relevance: float = 0.0) -> list[Target]:
    return guide.rate(source, relevance, "en", found, new, is_followed=True).new


def told(guide: Guide, *targets: Target) -> None:
    guide.acknowledge(Settlement(1, OutcomeKind.STORED, discovered=list(targets)))


def test_the_words_of_a_link_decide_its_class() -> None:
    found = links(("x", "Falcon nests"), ("y", "Imprint"))
    good, other = rate(a_guide(), found, target("x"), target("y"))
    assert good.priority == 9
    assert 1 < other.priority < good.priority
    assert (good.deferred, other.deferred) == (0, 0)


def test_what_promises_nothing_comes_last_and_is_not_lost() -> None:
    far = target("far", promise=1)
    (nothing,) = rate(a_guide(), links(("x", "Imprint")), target("x"), source=far)
    assert (nothing.priority, nothing.deferred) == (1, WAITS)
    assert nothing.promise > 0


def test_a_relevant_page_recommends_what_it_links_to() -> None:
    guide, found = a_guide(), links(("x", "next"))
    off = rate(guide, found, target("x"), source=target("o", promise=100))[0]
    on = rate(guide, found, target("x"), source=target("o", promise=100), relevance=0.9)[0]
    assert on.priority > off.priority


def test_what_the_operator_ranks_keeps_its_class() -> None:
    ranked = target("x", priority=8)
    (kept,) = rate(a_guide(), links(("x", "falcon nests")), ranked)
    assert (kept.priority, kept.deferred) == (8, 0)


def test_a_doubt_of_others_stays() -> None:
    (doubtful,) = rate(a_guide(), links(("x", "falcon nests")), target("x", deferred=2))
    assert doubtful.deferred == 2


def test_what_waits_is_sent_again_when_more_is_promised_and_only_then() -> None:
    guide = a_guide()
    far = target("far", promise=1)
    first = rate(guide, links(("x", "next")), target("x"), source=far)
    told(guide, *first)
    same = guide.rate(far, 0.0, "en", links(("x", "next")), [], is_followed=True)
    assert same.again == []
    more = guide.rate(far, 0.0, "en", links(("x", "falcon nests")), [], is_followed=True)
    (again,) = more.again
    assert (again.url, again.fingerprint) == (first[0].url, first[0].fingerprint)
    assert again.priority > first[0].priority
    assert (again.deferred, again.referrer, again.depth) == (0, far.url, 2)
    told(guide, again)
    assert guide.rate(far, 0.0, "en", links(("x", "falcon nests")), [], is_followed=True).again == []


def test_what_was_not_acknowledged_is_not_taken_for_known() -> None:
    guide = a_guide()
    rate(guide, links(("x", "next")), target("x"))
    assert guide.rate(HOME, 0.0, "en", links(("x", "falcon nests")), [], is_followed=True).again == []


def test_links_that_are_not_followed_lift_nothing() -> None:
    guide = a_guide()
    told(guide, *rate(guide, links(("x", "next")), target("x"), source=target("far", promise=1)))
    good = links(("x", "falcon nests"))
    assert guide.rate(HOME, 0.0, "en", good, [], is_followed=False).again == []
    nofollow = links(("x", "falcon nests"), rel="nofollow")
    assert guide.rate(HOME, 0.0, "en", nofollow, [], is_followed=True).again == []


def test_what_is_told_of_is_bounded() -> None:
    guide = a_guide()
    for number in range(50_000):
        told(guide, target(str(number), promise=5))
    assert len(guide._told) + len(guide._told_before) <= 40_002


def test_a_sitemap_is_read_by_the_words_of_its_urls() -> None:
    sitemap = target("s.xml", kind=Kind.SITEMAP, priority=9)
    good, other, index = a_guide().rate_listed([target("falcon-nests"), target("imprint"), sitemap])
    assert good.priority > 6
    assert other.deferred == WAITS
    assert index == sitemap


def test_a_barren_folder_is_put_behind_but_not_what_words_speak_for() -> None:
    guide = a_guide()
    weak, good = target("x/weak", promise=60, priority=3), target("x/good", promise=900, priority=9)
    assert not guide.is_postponed(weak)
    for number in range(60):
        guide.learn(target(f"x/{number}"), 0.0)
    assert guide.is_postponed(weak)
    assert not guide.is_postponed(good)
    assert not guide.is_postponed(target("x/weak", promise=60, deferred=1))
    assert not guide.is_postponed(target("x/plain"))


def test_a_page_is_rated_by_its_main_content() -> None:
    guide = a_guide()
    page = Page("Falcons", "", "Nests of falcons. " * 9, [], content="Falcons build nests. " * 9)
    assert guide.is_on_topic(guide.relevance_of(page, "en"))
    assert not guide.is_on_topic(guide.relevance_of(Page("Rivers", "", "Water.", []), "en"))
