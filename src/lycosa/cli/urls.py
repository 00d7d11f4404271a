"""`lycosa urls`: what the crawler makes of URLs, and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lycosa.cli.commands import COMMANDS

if TYPE_CHECKING:
    from rich.console import Console

    from lycosa.url.explain import Explanation


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "urls",
        help=COMMANDS["urls"],
        description="Print the URL that would be fetched for each URL given (or each line of standard input).",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="URLs as a page or a person writes them")
    parser.add_argument("--explain", action="store_true", help="show each rule that changed something")
    parser.add_argument("--base", metavar="URL", help="resolve relative URLs against this one")
    parser.add_argument("--rules", default="", metavar="A,B", help="risky rules for the dedup key, as in `url_rules`")
    parser.add_argument("--json", action="store_true", help="one JSON object per URL")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain each URL. Bad rules raise `SettingsError`."""
    from lycosa.url.explain import explain
    from lycosa.url.rules import CanonicalRules

    rules = CanonicalRules.from_names(filter(None, args.rules.split(",")))
    explanations = (explain(raw, args.base, rules) for raw in _texts(args.urls))
    if args.json:
        _print_json(explanations)
    else:
        _print(explanations, in_full=args.explain)
    return 0


def _texts(urls: list[str]) -> Iterable[str]:
    return urls or (line.rstrip("\n") for line in sys.stdin)


def _print_json(explanations: Iterable[Explanation]) -> None:
    import msgspec

    for explanation in explanations:
        values = msgspec.to_builtins(explanation, enc_hook=str) | {"rejection": _reason(explanation)}
        sys.stdout.write(msgspec.json.encode(values).decode() + "\n")


def _reason(explanation: Explanation) -> str | None:
    return explanation.rejection.name.lower() if explanation.rejection else None


def _print(explanations: Iterable[Explanation], *, in_full: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for explanation in explanations:
        if in_full:
            _print_steps(console, explanation)
        else:
            _print_line(console, explanation)


def _print_line(console: Console, explanation: Explanation) -> None:
    from rich.text import Text

    if explanation.rejection:
        refused = f"{_visible(explanation.raw)}  rejected: {explanation.rejection.value}"
        console.print(Text(refused, style="red"))
    else:
        console.print(Text(explanation.url))


def _print_steps(console: Console, explanation: Explanation) -> None:
    from rich.text import Text

    console.print(Text(_visible(explanation.raw), style="bold"))
    for step in explanation.steps:
        console.print(Text.assemble("  ", (f"{step.rule:<20}", "cyan"), _visible(step.after)))
    if explanation.rejection:
        console.print(Text.assemble("  ", (f"{'rejected':<20}", "red"), explanation.rejection.value))
        return
    console.print(Text.assemble("  ", (f"{'fetch':<20}", "green"), explanation.url))
    console.print(Text.assemble("  ", (f"{'dedup key':<20}", "green"), explanation.key))


def _visible(text: str) -> str:
    # Raw URLs hold anything, terminal escapes included.
    return text if text.isprintable() else text.encode("unicode_escape").decode()
