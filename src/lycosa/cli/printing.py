"""How commands print: facts, tables and bodies for people, JSON for machines.

Nothing that comes from pages reaches a terminal as it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from lycosa.inspect.wording import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from lycosa.model import Response

# Beside the control characters: marks that turn text around, and so can make one name look like another.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@contextmanager
def standard_output() -> Iterator[None]:
    """Whoever read what is printed here may be gone (a closed terminal, `head`): then it is not, and nothing fails."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit):
        # The second is what rich makes of a closed pipe.
        silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """What is written to this stream from now on, and what it still holds, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_json(value: object) -> None:
    """One line of JSON; any text comes out as valid UTF-8."""
    import msgspec

    try:
        line = msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as in a file name that is no UTF-8.
        import json

        line = json.dumps(msgspec.to_builtins(value, enc_hook=str))
    print_json_text(line)


def print_json_text(line: str) -> None:
    """JSON that is a text already."""
    # Such characters stand within strings only, where the escape means the same and no terminal obeys it.
    print(line if line.isprintable() else _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line))


def write_body(response: Response) -> None:
    """A body to standard output: its bytes into a file or pipe, its text to a terminal, which would obey bytes."""
    if sys.stdout.isatty():
        from lycosa.page.encoding import decode

        print(visible_lines(decode(response.body, response.header("content-type")).text))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(response.body)


def console() -> Console:
    """Where people read: colours on a terminal, plain text into a file or a pipe."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # Not the end of the program with an exit code of 1: whoever read this has seen enough.
            raise BrokenPipeError

    return Output(highlight=False, markup=False, soft_wrap=True, emoji=False)


def print_facts(facts: Iterable[tuple[str, object]], *, indent: str = "") -> None:
    """Label and value in two columns; facts without a value are left out."""
    from rich.text import Text

    pairs = [(label, value) for label, value in facts if value not in ("", None)]
    width = max((len(label) for label, _ in pairs), default=0)
    out = console()
    for label, value in pairs:
        out.print(Text.assemble(indent, (f"{label:<{width}}", "cyan"), "  ", visible(value)))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """A table: fitted to the screen on a terminal, in full and with two spaces between columns elsewhere."""
    from rich.table import Table

    out = console()
    rows = list(rows)
    cells = [[_cell(value) for value in row] for row in rows]
    numbers = [all(isinstance(row[at], (int, float)) or row[at] is None for row in rows) for at in range(len(columns))]
    if title:
        out.print(title, style="bold")
    if not out.is_terminal:
        for line in _plain_lines([list(columns), *cells], numbers):
            print(line)
        return
    table = Table(box=None, pad_edge=False, header_style="cyan")
    for column, is_number in zip(columns, numbers, strict=True):
        table.add_column(visible(column), justify="right" if is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    out.print(table, soft_wrap=False)


def _plain_lines(cells: list[list[str]], numbers: list[bool]) -> Iterable[str]:
    from rich.cells import cell_len  # Chinese characters take two places

    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = []
        for cell, width, is_number in zip(row, widths, numbers, strict=True):
            blank = " " * (width - cell_len(cell))
            padded.append(blank + cell if is_number else cell + blank)
        yield "  ".join(padded).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()
    return visible(value)


def say(text: str) -> None:
    """A line for people that is no result, so that results can be piped."""
    print(visible(text), file=sys.stderr)
