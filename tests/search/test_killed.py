"""A process that is killed while it brings an index up to date: the next one has every page once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.search import open_index
from lycosa.store.folder import CrawlFolder

from .kept import Kept, keep

# A part is a commit; the number says at which call of a function of the index the process dies.
CHILD = """
import os, signal, sys
from pathlib import Path
from lycosa.search import index, open_index
from lycosa.store.folder import CrawlFolder

folder, name, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
index._COMMIT_ROWS = 1
whole, calls = getattr(index, name), []

def dying(*arguments):
    calls.append(name)
    if len(calls) == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*arguments)

setattr(index, name, dying)
with open_index(CrawlFolder(folder)) as opened:
    opened.update()
"""


def killed(folder: CrawlFolder, name: str, number: int) -> bool:
    command = [sys.executable, "-c", CHILD, str(folder.path), name, str(number)]
    return subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL


def contents(folder: CrawlFolder) -> list[tuple[str, str]]:
    with open_index(folder) as index:
        index.update()
        return sorted((hit.url, hit.title) for hit in index.search("kettle", 100).hits)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        # With all pages of a part in the writer, none committed: in the anchors' index, then in that of the pages.
        ("_note", (2, 1)),
        # Within a part; the last time when there is no more.
        ("page_document", (3, 9)),
        # With everything committed but the ranks.
        ("write_ranks", (1,)),
    ],
)
def test_a_killed_update_loses_nothing_and_doubles_nothing(
    folder: CrawlFolder, tmp_path: Path, name: str, numbers: tuple[int, ...]
) -> None:
    link = [("http://a.example/0", "pot")]
    for part in range(3):
        keep(
            folder,
            *(Kept(f"/{part + page}", "kettle", f"of part {part}", at=1e9 + part, links=link) for page in (0, 1)),
        )
    expected = [(f"http://a.example/{page}", f"of part {min(page, 2)}") for page in range(4)]
    assert [killed(folder, name, number) for number in numbers].count(True) >= len(numbers) - 1
    assert contents(folder) == expected
    keep(folder, Kept("/3", "teapot", at=2e9))
    assert contents(folder) == expected[:3]


def test_two_at_a_time_do_not_disturb_each_other(folder: CrawlFolder) -> None:
    keep(folder, Kept("/1", "kettle"))
    with open_index(folder) as one, open_index(folder) as other, one._alone() as is_alone:
        assert is_alone
        assert other.update().is_busy
        assert not other.search("kettle").hits
    assert len(contents(folder)) == 1
