"""Who reads a page: lycosa in this process, and others, each in a process of its own environment.

Knows how a question is asked and an answer counted, not what is asked or what is right.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, Protocol

_SCRIPT = Path(__file__).parents[1] / "peers" / "readers.py"
_STOP_SECONDS = 10
Say = Callable[[str], None]


class ReaderAnswer(NamedTuple):
    """What was found, and the seconds of CPU it took."""

    found: str
    seconds: float


class ContentReader(Protocol):
    """Something with a name that answers questions."""

    name: str

    def ask(self, question: dict[str, str]) -> ReaderAnswer:
        """The answer; empty if it failed."""
        ...


class Ours:
    """lycosa, by a function."""

    def __init__(self, name: str, answer: Callable[[Any], str], prepare: Callable[[dict[str, str]], Any]) -> None:
        self.name = name
        self._answer = answer
        self._prepare = prepare

    def ask(self, question: dict[str, str]) -> ReaderAnswer:
        """The answer of this process; its errors are not hidden."""
        asked = self._prepare(question)
        started = process_time()
        found = self._answer(asked)
        return ReaderAnswer(found, process_time() - started)


class Peer:
    """Another reader, in its own process."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self._process = process

    def ask(self, question: dict[str, str]) -> ReaderAnswer:
        """The answer; of a process that has died, always an empty one."""
        try:
            given = self._exchange(json.dumps(question))
        except (OSError, ValueError):
            return ReaderAnswer("", 0.0)
        return ReaderAnswer(given["found"], given["seconds"])

    def missing(self) -> str:
        """Why it cannot be asked; empty if it can. To be called once, before anything is asked."""
        try:
            given = json.loads(self._line())
        except ValueError:
            return "it did not start"
        self.name = f"{self.name} {given.get('version', '')}"
        return str(given["missing"])

    def _exchange(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        given: dict[str, Any] = json.loads(self._line())
        return given

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def open_peers(python: Path, names: Sequence[str], say: Say) -> Iterator[list[ContentReader]]:
    """Those of the peers that are installed beside this interpreter, each started and ready."""
    processes: list[subprocess.Popen[str]] = []
    found: list[ContentReader] = []
    try:
        for name in names if python.exists() else ():
            command = [str(python), str(_SCRIPT), name]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            processes.append(subprocess.Popen(command, text=True, encoding="utf-8", **pipes))  # type: ignore[call-overload]
            peer = Peer(name, processes[-1])
            if reason := peer.missing():
                say(f"{name}: left out, {reason}")
            else:
                found.append(peer)
        yield found
    finally:
        for process in processes:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=_STOP_SECONDS)
    except (subprocess.TimeoutExpired, OSError):
        process.kill()
        process.wait()
