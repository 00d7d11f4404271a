"""What the commands share: the folder they read, the settings of a single stage, and how results are shown.

All that comes from pages passes `visible` on its way to a person: a title may hold anything, terminal escapes included.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lycosa.errors import LycosaError, SettingsError
from lycosa.store.objects import ObjectPlace, Objects, parse_place

if TYPE_CHECKING:
    from rich.console import Console

    from lycosa.frontier.view import CrawlView
    from lycosa.model import Response
    from lycosa.settings import Settings
    from lycosa.store.folder import CrawlFolder
    from lycosa.url.canonical import ParsedUrl

# Beside the control characters: marks that turn text around, and so can make one name look like another.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# ---- options


def new_parser(commands: Any, name: str, help_: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A command with its examples below its options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def place(text: str) -> Path | ObjectPlace:
    """Where a crawl is kept, as an option."""
    try:
        return parse_place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_folder_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=place, default=Path("crawl"), metavar="DIR", help="the folder of the crawl, or s3://…"
    )


def add_crawl_options(parser: argparse.ArgumentParser) -> None:
    """Which crawl a command is about: by its folder, or by the frontier that its machines share."""
    add_folder_option(parser)
    parser.add_argument(
        "--frontier", metavar="ADDRESS", help="instead of a folder: the crawl of many machines at redis://…"
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")


def add_stage_options(parser: argparse.ArgumentParser) -> None:
    """The options of a command that runs one stage alone."""
    parser.add_argument(
        "--open-network", action="append", metavar="CIDR", help="also fetch from this non-public network (may repeat)"
    )
    parser.add_argument("--user-agent", metavar="TEXT", help="how the crawler names itself")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="settings file (TOML)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting (may repeat)")
    add_json_option(parser)


def stage_settings(options: argparse.Namespace) -> Settings:
    """The settings of a stage alone: defaults, then the file, then the command line."""
    from lycosa import settings

    changes = dict(settings.parse_change(text) for text in options.set)
    for option, name in (("open_network", "open_networks"), ("user_agent", "user_agent")):
        if (value := getattr(options, option)) is not None:
            changes[name] = value
    return settings.load(options.config, changes)


@contextmanager
def opened_folder(options: argparse.Namespace) -> Iterator[CrawlFolder]:
    """The crawl that the command is about, while its tables are read; a damaged table is said in a sentence."""
    import duckdb

    folder = open_folder(options.folder)
    try:
        yield folder
    except duckdb.Error as error:
        raise LycosaError(f"{folder.path}: its tables cannot be read: {visible_lines(str(error))}") from error


class OpenedCrawl(NamedTuple):
    """A crawl to look at. `folder` is None for a crawl seen from its shared frontier alone."""

    folder: CrawlFolder | None
    settings: Settings
    seeds: list[ParsedUrl]
    view: CrawlView | None  # None: its frontier was kept in memory only


@contextmanager
def opened_crawl(options: argparse.Namespace) -> Iterator[OpenedCrawl]:
    """The crawl that `add_crawl_options` chose, with a view of its frontier."""
    if options.frontier:
        with _opened_frontier(options.frontier) as crawl:
            yield crawl
        return
    from lycosa.build import read_seeds
    from lycosa.inspect.sql import has_frontier, open_view

    with opened_folder(options) as folder, ExitStack() as stack:
        view = stack.enter_context(open_view(folder)) if has_frontier(folder) else None
        yield OpenedCrawl(folder, folder_settings(folder), read_seeds(folder), view)


@contextmanager
def _opened_frontier(address: str) -> Iterator[OpenedCrawl]:
    from lycosa.build import is_shared, parse_seeds
    from lycosa.settings import from_values

    if not is_shared(address):
        raise SettingsError(f"--frontier takes the address of a shared frontier (redis://…), not {address!r}")
    from lycosa.frontier.redis.view import open_redis_view

    with closing(open_redis_view(address)) as view:
        assert view.agreed is not None, "machines that share a crawl agree on it"
        agreed, seeds = view.agreed
        yield OpenedCrawl(None, from_values({**agreed, "frontier": address}), parse_seeds(seeds), view)


def open_folder(place: Path | ObjectPlace) -> CrawlFolder:
    """The crawl that the command is about."""
    from lycosa.store.folder import CrawlFolder
    from lycosa.store.mirror import MirroredFolder

    folder = MirroredFolder(Objects(place)) if isinstance(place, ObjectPlace) else CrawlFolder(place)
    if not folder.exists:
        raise SettingsError(f"{place}: there is no crawl in this folder; name another with --folder")
    return folder


def folder_settings(folder: CrawlFolder) -> Settings:
    """The settings a crawl was last run with."""
    from lycosa import settings

    return settings.load(folder.settings if folder.settings.exists() else None, {})


def parse_url(text: str) -> ParsedUrl:
    """A URL as people type it; without a scheme it is http."""
    from lycosa.url.canonical import Rejection, parse_seed

    parsed = parse_seed(text)
    if isinstance(parsed, Rejection):
        raise SettingsError(f"{text!r} is no URL that can be fetched: {parsed.value}")
    return parsed


def read_bytes(path: Path) -> bytes:
    """The bytes of a file that the user named; `-` is standard input."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


# ---- values as text


def visible(value: object) -> str:
    """A value on one line, with everything spelt out that a terminal would obey instead of show."""
    text = str(value)
    if text.isprintable() and _TURNING.isdisjoint(text):
        return text
    return "".join(_shown(character) for character in text)


def visible_lines(text: str) -> str:
    """The same for a text of many lines, whose lines and tabs stay."""
    return "\n".join(visible(line).replace("\\t", "\t") for line in text.splitlines())


def _shown(character: str) -> str:
    # White space that is not the ASCII one counts as unprintable, but does no harm.
    if (character.isprintable() or character.isspace()) and character >= " " and character not in _TURNING:
        return character if character not in "\x85\u2028\u2029" else " "
    return character.encode("unicode_escape").decode()


def moment(at: float) -> str:
    """A moment as people read it, in UTC."""
    if not at:
        return "never"
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} s after 1970"


def parse_moment(text: str) -> float:
    """A moment as people write it: a date, a date with a time (UTC where no zone is given), or POSIX seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise SettingsError(
            f"{text!r} is not a moment; expected for example 2031-05-01, 2031-05-01T10:30:00Z or POSIX seconds"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def duration(seconds: float) -> str:
    """A stretch of time in the two units that matter."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def size(count: float) -> str:
    """A number of bytes in the unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


# ---- results


def print_json(value: object) -> None:
    """One line of JSON; any text comes out as valid UTF-8."""
    import msgspec

    try:
        line = msgspec.json.encode(value, enc_hook=str).decode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as in a file name that is no UTF-8.
        import json

        line = json.dumps(msgspec.to_builtins(value, enc_hook=str))
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

    return Console(highlight=False, markup=False, soft_wrap=True, emoji=False)


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
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return visible(value)


def say(text: str) -> None:
    """A line for people that is no result, so that results can be piped."""
    print(visible(text), file=sys.stderr)
