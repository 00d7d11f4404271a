"""`lycosa`: finds the command, runs it, turns errors into sentences and exit codes."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Collection, Sequence

from lycosa.cli.commands import COMMANDS
from lycosa.cli.printing import silence
from lycosa.errors import BackendLost, LycosaError, SettingsError
from lycosa.version import VERSION

EXIT_BACKEND_LOST = 1
EXIT_BAD_SETTINGS = 2
EXIT_INCOMPLETE = 3
# What files may not be, and what disks may lack: everybody knows what that means, and no traceback says it better.
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_POSSIBLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def make_parser(wanted: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line with the options of these commands; for none, with all commands by their names alone."""
    parser = argparse.ArgumentParser(
        prog="lycosa",
        description="A search-engine web crawler: polite, durable, fast. Start with: lycosa demo",
        epilog="`lycosa COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"lycosa {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help_ in COMMANDS.items():
        if name in wanted:
            importlib.import_module(f"lycosa.cli.{name}").add_parser(commands)
        elif not wanted:
            commands.add_parser(name, help=help_)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    # Started with one of them closed, Python has none: whatever is printed then goes nowhere.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    # No command multiplies matrices, and numpy's threads for that spin before they sleep: up to 0.1 s of CPU.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = sys.argv[1:] if arguments is None else arguments
    # Only the command that is named is imported: --help needs none of them.
    parser = make_parser(COMMANDS.keys() & arguments[:1])
    options, others = parser.parse_known_args(arguments)
    # Of words that are searched for, those begin with a dash that pages must not have.
    if others and not hasattr(options, "unwanted"):
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    options.unwanted = others
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except SettingsError as error:
        print(f"lycosa: {error}", file=sys.stderr)
        return EXIT_BAD_SETTINGS
    except BackendLost as error:
        print(f"lycosa: {error}", file=sys.stderr)
        return EXIT_BACKEND_LOST
    except LycosaError as error:
        print(f"lycosa: {error}", file=sys.stderr)
        return EXIT_INCOMPLETE
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough.
        silence(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in (*_NOT_ALLOWED, *_NOT_POSSIBLE):
            raise
        # It may be the output itself that has no room.
        silence(sys.stdout)
        print(f"lycosa: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return EXIT_BAD_SETTINGS if error.errno in _NOT_ALLOWED else EXIT_BACKEND_LOST


if __name__ == "__main__":
    sys.exit(main())
