"""What a crawl tells of itself while it runs, and its dashboard beside it."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.dashboard.serve import listen
from lycosa.errors import SettingsError
from lycosa.figures import Durations, Hits
from lycosa.observe.live import MAX_SAMPLES, Sample, Samples, read_live
from lycosa.ports import Counts

from ..cli.world import World


def test_a_crawl_leaves_its_figures(world: World) -> None:
    live = read_live(world.folder)
    assert live
    assert live.ending == "incomplete"
    assert live.counts.pages == live.pages > 0
    assert live.durations["settle"].times > 0
    assert live.course[-1].pages == live.counts.pages


def test_no_figures_and_torn_ones_are_none(world: World, tmp_path: Path) -> None:
    folder = type(world.folder)(tmp_path)
    assert read_live(folder) is None
    folder.live.write_bytes(world.folder.live.read_bytes()[:-10])
    assert read_live(folder) is None


def test_samples_stay_few_however_long_a_crawl_takes() -> None:
    samples = Samples()
    for second in range(10_000):
        samples.add(Sample.of(Counts(stored=second), float(second)))
    assert MAX_SAMPLES / 3 < len(samples.kept) <= MAX_SAMPLES
    assert samples.kept[0].at == 0.0
    assert samples.kept[-1].at > 9_900
    assert [sample.pages for sample in samples.kept] == [int(sample.at) for sample in samples.kept]


def test_durations_have_means_and_quantiles() -> None:
    durations = Durations()
    for seconds in (*[0.0009] * 98, 0.03, 9.0):
        durations.note(seconds)
    assert (durations.times, durations.quantile(0.5), durations.quantile(0.99)) == (100, 0.001, 0.05)
    assert durations.quantile(1.0) == 10.0
    assert Durations().quantile(0.5) == 0.0
    earlier = Durations()
    earlier.note(0.0009)
    assert durations.since(earlier).times == 99


def test_a_cache_that_was_never_asked_failed_nobody() -> None:
    assert Hits().share == 1.0
    assert Hits(4, 1).share == 0.75


def test_where_it_cannot_listen_is_said() -> None:
    taken = listen("127.0.0.1:0")
    with pytest.raises(SettingsError, match="cannot listen there"):
        listen(f"127.0.0.1:{taken.port}")
    taken.socket.close()
    for address in ("here", "127.0.0.1:x", "127.0.0.1:99999", "http://x/"):
        with pytest.raises(SettingsError, match="no address to listen on"):
            listen(address)


def test_a_token_is_kept_where_only_its_owner_reads_it(tmp_path: Path) -> None:
    kept = tmp_path / "token"
    tokens = []
    for _ in range(2):
        listening = listen("0", kept)
        tokens.append(listening.token)
        listening.socket.close()
    assert tokens[0] == tokens[1] == kept.read_text().strip()
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_text("short")
    with pytest.raises(SettingsError, match="at least"):
        listen("0", kept)


BESIDE = """
import os, sys, urllib.request
from pathlib import Path
from lycosa.dashboard.serve import ANYWHERE, ServedBeside, listen

listening = listen(ANYWHERE)
beside = ServedBeside(Path(sys.argv[1]), None, listening).__enter__()
headers = {"Authorization": f"Bearer {listening.token}"}
asked = urllib.request.Request(f"http://127.0.0.1:{listening.port}/metrics", headers=headers)
print(urllib.request.urlopen(asked).status, beside.process_id, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_dashboard_beside_a_crawl_ends_with_it_even_if_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BESIDE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    status, process = map(int, done.stdout.split())
    assert status == 200
    wait_until_gone(process)


ALONE = """
import sys
from pathlib import Path
from lycosa.dashboard.serve import ANYWHERE, listen, serve

serve(Path(sys.argv[1]), None, listen(ANYWHERE), until_eof=True)
print({"uvicorn", "starlette", "duckdb", "numpy"} & set(sys.modules))
"""


def test_a_dashboard_that_nobody_opens_loads_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE, str(tmp_path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "set()\n", done.stderr


def wait_until_gone(process: int) -> None:
    try:
        fd = os.pidfd_open(process)
    except ProcessLookupError:
        return
    with contextlib.closing(os.fdopen(fd)):
        readable, _, _ = select.select([fd], [], [], 30)
    assert readable, "the dashboard outlives its crawl"
