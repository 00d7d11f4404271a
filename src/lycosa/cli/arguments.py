"""What commands take: the options they share, and how the texts behind options are read."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.commands import COMMANDS
from lycosa.errors import SettingsError
from lycosa.store.objects import ObjectPlace, parse_place

if TYPE_CHECKING:
    from lycosa.settings import Settings
    from lycosa.url.canonical import ParsedUrl


def new_parser(commands: Any, name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A command with its examples below its options."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=COMMANDS[name],
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


def parse_url(text: str, *, is_kept: bool = False) -> ParsedUrl:
    """A URL as people type it; without a scheme it is http. What a crawl has kept may have any that can be opened."""
    from lycosa.url.canonical import DEFAULT_LIMITS, FETCHED, Rejection, parse_seed

    parsed = parse_seed(text, FETCHED if is_kept else DEFAULT_LIMITS)
    if isinstance(parsed, Rejection):
        raise SettingsError(f"{text!r} is no URL that can be fetched: {parsed.value}")
    return parsed


def read_bytes(path: Path) -> bytes:
    """The bytes of a file that the user named; `-` is standard input."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


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
