"""`lycosa`: finds the command, runs it, turns errors into sentences and exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from lycosa.cli.printing import silence
from lycosa.errors import BackendLost, LycosaError, SettingsError

# In the order in which --help shows them: run, look, one stage alone, try out.
COMMANDS = (
    "crawl",
    "status",
    "why",
    "page",
    "query",
    "audit",
    "export",
    "graph",
    "fetch",
    "parse",
    "robots",
    "urls",
    "settings",
    "simweb",
    "bench",
    "demo",
)

EXIT_BACKEND_LOST = 1
EXIT_BAD_SETTINGS = 2
EXIT_INCOMPLETE = 3


def make_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="lycosa",
        description="A search-engine web crawler: polite, durable, fast. Start with: lycosa demo",
        epilog="`lycosa COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"lycosa {version('lycosa')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"lycosa.cli.{name}").add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    # Started with one of them closed, Python has none: whatever is printed then goes nowhere.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    options = make_parser().parse_args(arguments)
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


if __name__ == "__main__":
    sys.exit(main())
