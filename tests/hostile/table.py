"""One table of the hostile web: every row of the specification with what its tests say and the figures they measured.

`python -m tests.hostile.table` runs the quick tests, `--full` all of them. Exit code 1 if a row fails or has no test.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from .rows import FILES, ROWS

HOME = Path(__file__).parents[2]
NOT_YET = {"S10": "not in this table: tests/render"}


class Tally:
    """Listens to a run of pytest and sorts what happens into rows."""

    def __init__(self) -> None:
        self.results: dict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: Counter[str] = Counter()
        self.figures: dict[str, dict[str, None]] = defaultdict(dict)
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not (report.when == "setup" and report.outcome != "passed"):
            return
        if report.outcome == "failed":
            self.broken.append(report.nodeid)
        rows = [str(value) for name, value in report.user_properties if name == "row"]
        for row in rows:
            self.results[row][report.outcome] += 1
            self.seconds[row] += round(report.duration)
            for name, figure in report.user_properties:
                if name == row:
                    self.figures[row][str(figure)] = None

    def verdict(self, row: str) -> str:
        """pass, FAIL, not yet, or missing."""
        if self.results[row]["failed"]:
            return "FAIL"
        if row in NOT_YET:
            return "not yet"
        return "pass" if self.results[row]["passed"] else "MISSING"

    def lines(self) -> list[str]:
        """The table."""
        lines = []
        for row, text in ROWS.items():
            passed, all_ = self.results[row]["passed"], self.results[row].total()
            tests = f"{passed} of {all_} tests, {self.seconds[row]} s" if all_ else NOT_YET.get(row, "no test ran")
            lines.append(f"{row:<4} {self.verdict(row):<8} {text:<62} {tests}")
            lines += [f"{'':<14}{figure}" for figure in self.figures[row]]
        return lines

    @property
    def is_good(self) -> bool:
        return not self.broken and all(self.verdict(row) in ("pass", "not yet") for row in ROWS)


def main(arguments: list[str] | None = None) -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.table", description=__doc__)
    parser.add_argument("--full", action="store_true", help="also the tests that take long")
    parser.add_argument("--only", action="append", metavar="PATH", help="only the tests of this file (may repeat)")
    parser.add_argument("--at-once", default="4", metavar="N", help="how many tests run at once (default: 4)")
    options = parser.parse_args(arguments)
    tally = Tally()
    plugins: list[Any] = [tally]
    pytest.main(
        ["-q", "--no-header", "--tb=short", "--no-summary", "-p", "no:cacheprovider", "-p", "tests.hostile.rows",
         "-n", options.at_once, "--dist", "worksteal", "-m", "full or not full" if options.full else "not full",
         f"--rootdir={HOME}", "-c", str(HOME / "pyproject.toml"),
         *(str(HOME / file) for file in options.only or FILES)],
        plugins=plugins,
    )  # fmt: skip
    print()
    print("\n".join(tally.lines()))
    for nodeid in tally.broken:
        print(f"failed: {nodeid}")
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
