"""Pages that kill whoever reads them: counted against the page and nobody else, given up the second time.

A hook that Python loads at its start makes the parser of real workers really die; everything else is as it is.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lycosa.frontier.view import open_rocks_view
from lycosa.model import OutcomeKind
from lycosa.ports import NoWatchdog
from lycosa.process.watchdog import BIG_BODY_BYTES, Slot
from lycosa.simweb import HandWeb

from .command import Ended, crawl
from .test_visits import page

HOOK = """
import sys

if {"lycosa.wiring", "lycosa.cli.main"} & set(sys.orig_argv):
    import os, signal
    from lycosa.page.parser import PageParser

    parse = PageParser.parse

    def fragile(self, body, *rest, **named):
        if b"poison: fault" in body:
            os.kill(os.getpid(), signal.SIGSEGV)
        if b"poison: killed" in body:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"poison: exit" in body:
            os._exit(7)
        while b"poison: endless" in body:
            pass
        if b"poison: greedy" in body:
            named["hoard"] = bytearray(256 * 1024 * 1024)
            named["hoard"][::4096] = b"x" * (256 * 256)
            del named["hoard"]
        return parse(self, body, *rest, **named)

    PageParser.parse = fragile
"""


@pytest.fixture
def poisonous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH")))))


async def crawled(web: HandWeb, folder: Path, *seeds: str, **settings: object) -> Ended:
    return await asyncio.to_thread(
        crawl, web, folder, *seeds, **{"workers": 1, "durability": "process", "max_backoff_seconds": 0.0, **settings}
    )


def histories(folder: Path) -> dict[str, tuple[OutcomeKind, str, str]]:
    with closing(open_rocks_view(folder / "frontier")) as view:
        return {past.url: (past.outcome, past.reason, past.detail) for past in view.histories()}


@pytest.mark.parametrize(
    ("poison", "cause"),
    [
        ("fault", ("killed", "Segmentation fault")),
        ("killed", ("killed", "Killed")),
        ("exit", ("exited", "7")),
        ("endless", ("cpu-limit", "0.2 s")),
    ],
)
@pytest.mark.usefixtures("poisonous")
async def test_a_page_that_kills_its_worker_twice_is_given_up_and_the_crawl_goes_on(
    web: HandWeb, space: Path, poison: str, cause: tuple[str, str]
) -> None:
    good = [web.page(f"http://a.test/{number}", page(title=str(number))) for number in range(8)]
    bad = web.page("http://a.test/bad", page(title=f"poison: {poison}"))
    others = [web.page(f"http://h{number}.test/", page(title=f"h{number}")) for number in range(8)]
    seed = web.page("http://a.test/", page("/0", "/1", "/bad", *(f"/{number}" for number in range(2, 8))))
    ended = await crawled(web, space / "c", seed, *others, parse_seconds=0.2)
    assert ended.exit_code == 0, ended.said
    outcomes = histories(space / "c")
    assert outcomes[bad] == (OutcomeKind.CRASHED, *cause)
    assert {url for url, (outcome, _, _) in outcomes.items() if outcome is OutcomeKind.STORED} == {seed, *good, *others}
    assert sum(request.path == "/bad" for request in web.requests) == 2


@pytest.mark.usefixtures("poisonous")
async def test_more_poison_than_deaths_are_borne_does_not_end_the_crawl(web: HandWeb, space: Path) -> None:
    """Whose page kills rests like a host in trouble, so that the others come first."""
    bad = [web.page(f"http://b{number}.test/", page(title="poison: exit")) for number in range(12)]
    good = [web.page(f"http://h{number}.test/", page(title=f"h{number}")) for number in range(4)]
    ended = await crawled(web, space / "c", *bad, *good)
    assert ended.exit_code == 0, ended.said
    outcomes = histories(space / "c")
    assert [outcomes[url][0] for url in bad] == [OutcomeKind.CRASHED] * len(bad)
    assert [outcomes[url][0] for url in good] == [OutcomeKind.STORED] * len(good)


@pytest.mark.usefixtures("poisonous")
async def test_a_page_that_takes_too_much_memory_ends_its_own_visit(web: HandWeb, space: Path) -> None:
    bad = web.page("http://a.test/bad", page(title="poison: greedy") + " " * BIG_BODY_BYTES)
    good = web.page("http://a.test/good", page(title="good") + " " * BIG_BODY_BYTES)
    ended = await crawled(web, space / "c", bad, good, max_parse_memory_bytes=64 * 1024 * 1024)
    assert [each["seed"] for each in ended.summary["missed_seeds"]] == [bad]
    assert ended.exit_code == 3, ended.said
    outcomes = histories(space / "c")
    assert outcomes[bad] == (OutcomeKind.CRASHED, "memory-limit", "64 MiB")
    assert outcomes[good][0] is OutcomeKind.STORED


# ---- the parts


def test_a_slot_is_shared_with_a_child_and_outlives_it() -> None:
    slot = Slot()
    code = f"from lycosa.process.watchdog import Slot; import os; Slot({slot.fd}).write(1 << 60); os.abort()"
    child = subprocess.run([sys.executable, "-c", code], pass_fds=[slot.fd], stderr=subprocess.DEVNULL, check=False)
    assert child.returncode == -signal.SIGABRT
    assert slot.read() == 1 << 60
    slot.close()


def test_a_program_of_its_own_is_not_limited() -> None:
    with NoWatchdog()(17, BIG_BODY_BYTES):
        assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
