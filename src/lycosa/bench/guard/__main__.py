"""`python -m lycosa.bench.guard --figures FILE`: measure the stages, and say which became slower."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lycosa.bench.guard.run import GuardPlan, guard, keep
from lycosa.errors import SettingsError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lycosa.bench.guard", description=__doc__)
    parser.add_argument("--figures", type=Path, required=True, metavar="FILE", help="the figures kept")
    parser.add_argument("--others", type=Path, metavar="FOLDER", help="sets of recorded pages to read as well")
    parser.add_argument("--pages", type=int, default=300, metavar="N", help="pages of each web (default: 300)")
    parser.add_argument("--rounds", type=int, default=12, metavar="N", help="of which the median counts (default: 12)")
    parser.add_argument("--keep", action="store_true", help="write the figures instead of comparing with them")
    options = parser.parse_args(arguments)
    if min(options.pages, options.rounds) < 1:
        parser.error("--pages and --rounds must be at least 1")
    plan = GuardPlan(options.figures, options.others, options.pages, options.rounds)
    try:
        return (keep if options.keep else guard)(plan, lambda line: print(line, flush=True))
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
