from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lycosa.cli.main import main
from lycosa.frontier.entries import encode_block, entry_of
from lycosa.frontier.records import HostRecord, Lane, block_key
from lycosa.frontier.rules import OriginState
from lycosa.frontier.tables import META, QUEUE, Batch
from lycosa.inspect.why import Answer, explain
from lycosa.model import Reason, Refusal, Target
from lycosa.url.fingerprint import Fingerprinter

from .rows import KEY, change_rows, crawl_of
from .world import World


def why(world: World, url: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["why", url, *world.place, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize(
    ("path", "state", "sentence"),
    [
        ("/", "stored", "its page is kept"),
        ("/moved", "moved", "redirects"),
        ("/gone", "failed", "an error status (410)"),
        ("/broken", "retry", "waits to be tried again"),
        ("/shop/x", "out of scope", "exclude pattern"),
        ("/unfollowed", "undiscovered", "nofollow"),
        ("/never", "undiscovered", "never discovered"),
        ("/robots.txt", "read", "for its rules"),
        ("/" + "x" * 3000, "rejected", "longer than the limit"),
        ("/a" * 30, "rejected", "more segments than the limit"),
    ],
)
def test_every_url_is_explained(
    world: World, path: str, state: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = why(world, world.url(path), capsys)
    assert answer["state"] == state
    assert sentence in answer["sentence"]


def test_a_visit_tells_when_how_and_from_where(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    facts = why(world, world.url("/one"), capsys)["facts"]
    assert facts["status"] == "200"
    assert facts["visits"] == "1"
    assert facts["found on"] == world.url("/")
    assert facts["depth"] == "1 of at most 3"
    assert facts["when"].endswith("UTC")


def test_a_duplicate_names_its_original(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [why(world, world.url(path), capsys) for path in ("/one", "/copy")]
    assert {answer["state"] for answer in answers} == {"stored", "duplicate"}
    [copy] = [answer for answer in answers if answer["state"] == "duplicate"]
    assert copy["facts"]["duplicate of"] in {world.url("/one"), world.url("/copy")} - {copy["url"]}


def test_a_refusal_names_the_rule_and_its_line(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answer = why(world, world.url("/private/x"), capsys)
    assert answer["state"] == "refused"
    assert answer["facts"]["rule"] == "Disallow: /private/ (line 7)"


def test_a_closed_address_says_how_to_open_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answer = why(world, world.url("/", "closed.test"), capsys)
    assert answer["state"] == "refused"
    assert answer["facts"]["open networks"] == "127.0.0.0/8"


def test_the_exclude_pattern_and_the_linking_page_are_named(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answer = why(world, world.url("/shop/x"), capsys)
    assert answer["facts"]["exclude"] == "/shop/"
    assert [source["url"] for source in answer["linked_from"]] == [world.url("/")]


def test_another_domain_is_out_of_scope(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answer = why(world, "http://elsewhere.test/", capsys)
    assert answer["state"] == "out of scope"
    assert answer["facts"]["seeds are on"] == "a.test, closed.test"


def test_a_queued_url_has_a_place_and_a_host_that_waits(begun: World, capsys: pytest.CaptureFixture[str]) -> None:
    answer = why(begun, begun.url("/latin"), capsys)
    assert answer["state"] == "queued"
    assert answer["facts"]["place"].endswith("on a.test")
    assert answer["facts"]["class"] == "5 of 10"
    assert answer["facts"]["host waits for"] == "its turn"
    assert answer["facts"]["rule"].startswith("Allow: /")


def test_spelling_does_not_matter(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    spelt = world.url("/one").replace("a.test", "A.TEST") + "#part"
    assert why(world, spelt, capsys)["url"] == world.url("/one")


def test_what_is_no_url_is_rejected(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert why(world, "javascript:alert(1)", capsys)["sentence"].endswith("its scheme is not http or https.")
    assert main(["why", "x\x1b[31m", *world.place]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_bloom_filter_leaves_a_doubt(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = World(type(world.folder)(shutil.copytree(world.folder.path, tmp_path / "crawl")), world.web)
    batch = Batch()
    batch.put(META, b"seen", b"bloom")
    change_rows(copy.folder.frontier, batch)
    assert "taken for known" in why(copy, world.url("/never"), capsys)["facts"]["certainty"]


def test_people_read_sentences(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", world.url("/private/x"), *world.place]) == 0
    assert "It was not requested: robots.txt disallows it." in capsys.readouterr().out


# ---- what is in the tables

NOW = 1_700_000_000.0


def explained(url: str, *queued: str, **states: OriginState) -> Answer:
    """What is said of a URL while these are queued on the host a, whose origins stand like this."""
    batch, marks = Batch(), {"http": "", "https": "s"}
    lanes = []
    for number, scheme in enumerate(states):
        targets = [Target(url, "a", Fingerprinter(KEY).fingerprint(url)) for url in queued if f"{scheme}:" in url]
        batch.put(QUEUE, block_key(1, number, 0), encode_block([entry_of(target) for target in targets]))
        lanes.append(Lane(number, marks[scheme], 6, end=1, entries=len(targets)))
    origins = {f"{scheme}://a": state for scheme, state in states.items()}
    host = HostRecord("a", 1, queued=len(queued), lanes=lanes, origins=origins, nearest="eu")
    return explain(crawl_of(batch, host), url, NOW)


def test_a_url_whose_origin_is_set_aside_says_which_why_and_until_when() -> None:
    origins = {
        "http": OriginState(NOW, NOW + 1000),
        "https": OriginState(0.0, NOW + 300, is_pending=True, trouble=Reason(Refusal.NAME)),
    }
    queued = ("http://a/1", "https://a/1", "https://a/2")
    answer = explained("https://a/2", *queued, **origins)
    facts = dict(answer.facts)
    assert (answer.state, answer.sentence) == ("queued", "It is queued, to be visited once its origin can be asked.")
    assert facts["set aside"] == "https://a: its robots.txt could not be read (its name does not resolve)"
    assert facts["next try"] == "in 5 min 00 s (2023-11-14 22:18:20 UTC)"
    assert (facts["place"], facts["region"]) == ("3 of 3 on a", "eu")
    well = explained("http://a/1", *queued, **origins)
    assert well.sentence == "It is queued, to be visited."
    assert "set aside" not in dict(well.facts)


def test_a_robots_file_that_cannot_be_read_says_why_and_when_it_is_tried_again() -> None:
    state = OriginState(0.0, NOW + 300, is_pending=True, trouble=Reason("connect", "refused"))
    answer = explained("http://a/robots.txt", http=state)
    assert answer.state == "failed"
    assert dict(answer.facts)["set aside"].endswith("(connect: refused)")
    assert dict(answer.facts)["next try"].startswith("in 5 min")
