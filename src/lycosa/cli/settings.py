"""`lycosa settings`: everything that can be set."""

from __future__ import annotations

import argparse
from typing import Any

from lycosa.cli.arguments import new_parser
from lycosa.cli.printing import console, print_json

_EXAMPLES = """\
  lycosa settings
  lycosa settings --toml > lycosa.toml && lycosa crawl -c lycosa.toml https://example.org/
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "settings",
        "List all settings with their defaults. Set them with --set NAME=VALUE or in a TOML file.",
        _EXAMPLES,
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--toml", action="store_true", help="as a settings file, ready to change")
    shown.add_argument("--json", action="store_true", help="as JSON, for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from rich.text import Text

    from lycosa.cli.reference import known_settings
    from lycosa.settings import Settings, as_toml

    if options.toml:
        print(as_toml(Settings()))
        return 0
    if options.json:
        print_json([setting._asdict() for setting in known_settings()])
        return 0
    out = console()
    for setting in known_settings():
        out.print(Text.assemble((setting.name, "bold cyan"), f" = {setting.default}"))
        out.print(f"    {setting.help} ({setting.takes})")
    return 0
