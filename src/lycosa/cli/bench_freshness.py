"""`lycosa bench freshness`: when pages are best visited again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lycosa.cli.printing import print_json, print_table
from lycosa.errors import SettingsError

_LEAST_PAGES = 100
_EXAMPLES = """\
examples:
  lycosa bench freshness                                  six made-up webs that change, six policies
  lycosa bench freshness --scenarios "tight budget" --pages 20000 --seeds 7,8
  lycosa bench freshness --only uniform,lycosa --folder freshness/
"""


def add_freshness(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the action."""
    parser = actions.add_parser(
        "freshness",
        help="when pages are best visited again: evenly, by change, as Nutch and StormCrawler do, ours",
        description="Keep made-up webs that change fresh for 240 simulated days, without a network, by several "
        "policies that have the same budget, and show how fresh each keeps them beside what is possible for who knows "
        "all rates. Lycosa's beliefs, value and price are the product's own code. It takes some minutes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenarios", metavar="NAMES", help="some of the webs (default: all)")
    parser.add_argument("--only", metavar="NAMES", help="some of the policies (default: all)")
    parser.add_argument("--pages", type=int, default=5_000, metavar="N", help="of each web (default: 5000)")
    parser.add_argument("--seeds", default="1,2", metavar="NUMBERS", help="one web for each (default: 1,2)")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keep freshness.json, .md and the plots here")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run_freshness)


def run_freshness(options: argparse.Namespace) -> int:
    """Try the policies, then print and keep the result."""
    import msgspec

    from lycosa.bench.freshness.run import (
        POLICIES,
        cells,
        compare_policies,
        drawing,
        markdown,
        plot_name,
        summary,
    )
    from lycosa.bench.freshness.web import SCENARIOS

    names = _chosen("--only", options.only, list(POLICIES), "policy")
    scenarios = [SCENARIOS[name] for name in _chosen("--scenarios", options.scenarios, list(SCENARIOS), "scenario")]
    if options.pages < _LEAST_PAGES:
        raise SettingsError(f"--pages: a web has at least {_LEAST_PAGES} pages, not {options.pages}")
    results = [
        [compare_policies(scenario, options.pages, seed, names, _say) for seed in _numbers(options.seeds)]
        for scenario in scenarios
    ]
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        (options.folder / "freshness.json").write_bytes(msgspec.json.format(msgspec.json.encode(results)))
        (options.folder / "freshness.md").write_text(markdown(results, "."), encoding="utf-8")
        for same in results:
            (options.folder / plot_name(same[0].scenario)).write_text(drawing(same[0]), encoding="utf-8")
    if options.json:
        print_json(results)
    else:
        for same in results:
            print_table(*cells(same), title=f"{same[0].scenario}: {summary(same)}")
    return 0


def _chosen(option: str, text: str | None, names: list[str], what: str) -> list[str]:
    chosen = [name.strip() for name in text.split(",")] if text else names
    if unknown := [name for name in chosen if name not in names]:
        raise SettingsError(f"{option}: there is no {what} {unknown[0]!r} ({'; '.join(names)})")
    return chosen


def _numbers(text: str) -> list[int]:
    try:
        numbers = list(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise SettingsError(f"--seeds: {text!r} is no number, and no list of numbers like 1,2")
    return numbers


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
