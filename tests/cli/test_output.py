"""Output that nobody reads, or that has no room, and files that may not be touched: a sentence, no traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.cli import main as command
from lycosa.cli.main import main


def shell(line: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    lycosa = ["bash", "-c", f"set -o pipefail; {line}", "bash", sys.executable, "-m", "lycosa.cli.main"]
    return subprocess.run([*lycosa, *arguments], stderr=subprocess.PIPE, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [["settings"], ["settings", "--toml"], ["settings", "--json"], ["--help"]])
def test_whoever_has_read_enough_is_no_error(arguments: list[str]) -> None:
    ended = shell('"$@" | true', *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["settings"], ["settings", "--toml"]])
def test_an_output_without_room_is_told(arguments: list[str]) -> None:
    ended = shell('"$@" > /dev/full', *arguments)
    assert (ended.returncode, ended.stderr) == (1, "lycosa: the output: No space left on device\n")


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.EACCES, 2, "Permission denied"),
        (errno.EROFS, 2, "Read-only file system"),
        (errno.EIO, 1, "Input/output error"),
    ],
)
def test_a_file_that_cannot_be_touched_is_named(
    number: int,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, said, str(tmp_path / "lycosa.toml"))

    monkeypatch.setattr("lycosa.settings.as_toml", refuse)
    monkeypatch.setattr(command, "silence", lambda stream: None)
    assert main(["settings", "--toml"]) == code
    assert capsys.readouterr().err == f"lycosa: {tmp_path / 'lycosa.toml'}: {said}\n"
