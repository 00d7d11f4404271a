"""One table of the hostile web: every row of the specification with what its tests say and the figures they measured.

`python -m tests.hostile.table` runs the quick tests, `--full` all of them. Exit code 1 if a row fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2]

ROWS = {
    "G1": "no discovered URL is lost",
    "G2": "a stored page has its record and its links",
    "G3": "a URL is fetched once per revisit window",
    "G4": "work of a dead worker goes on by itself",
    "G5": "a worker that overslept changes nothing",
    "G6": "the pause of a host holds over crash and restart",
    "G7": "back-off, Retry-After and robots survive a restart",
    "G8": "every closed WARC file is valid",
    "G9": "Parquet files appear whole or not at all",
    "G10": "out of disk, memory, DNS: pause and resume alone",
    "G11": "one bad host does not hurt the others",
    "G12": "wall-clock jumps change nothing but dates",
    "G13": "finished is proved, otherwise incomplete",
    "G14": "memory is bounded by settings",
    "L": "limits have their defaults",
    "P1": "one connection and one pause per host",
    "P2": "paces per address and registered domain",
    "P3": "Crawl-delay in full, up to a day",
    "P4": "robots, sitemaps and redirects count too",
    "P5": "429 and 503: the host waits, also over restarts",
    "P6": "failures double the pause and open a circuit",
    "P7": "one honest user agent",
    "P8": "noindex, nofollow, X-Robots-Tag obeyed",
    "P9": "conditional GET on revisits",
    "P10": "usage preferences recorded and obeyed on export",
    "R": "robots.txt by RFC 9309, never allowed by default",
    "T1": "endless sites take at most 5 % of fetches",
    "T2": "calendar",
    "T3": "session ids",
    "T4": "relative-link loops",
    "T5": "query permutations",
    "T6": "faceted navigation",
    "T7": "wildcard DNS farm",
    "T8": "soft 404, endless pagination, mirrors",
    "T9": "link floods",
    "T10": "tarpits",
    "T11": "mazes and honeypots",
    "M": "malformed answers",
    "S1": "no request to a closed network",
    "S2": "http and https only",
    "S3": "no credentials, no cookies",
    "S4": "no entities, no bombs",
    "S5": "linear matchers",
    "S6": "no pickle, no eval; poisoned records",
    "S7": "file names are ours",
    "S8": "dashboard",
    "S9": "escaped at the border",
    "S10": "browser",
    "S11": "TLS verified, failures recorded",
    "S12": "dependencies at their floors",
    "F": "faults: kills, signals, full disk, two parents",
}

# Rows whose tests live in other suites: parts of their names, by file.
ELSEWHERE: dict[str, list[str]] = {
    "G1": ["crawl/test_kill.py::test_two_kills", "test_rocks_recovery.py::test_nothing_acknowledged_is_lost"],
    "G2": ["store/test_recover.py::test_kill_9_loses_no_row", "test_a_link_that_the_frontier_forgot_is_found"],
    "G3": ["crawl/test_exact.py::test_a_crawl_is_exact", "audit/test_planted.py::test_a_double_fetch"],
    "G4": ["crawl/test_stop.py::test_a_worker_that_hangs_is_replaced"],
    "G5": ["test_rocks.py::.*late_settlement", "test_rocks_recovery.py::test_a_token_of_an_earlier_run"],
    "G6": ["crawl/test_kill.py::test_a_pause_longer_than_a_restart", "crawl/test_exact.py::test_crawl_delays"],
    "G7": ["test_visits.py::test_a_host_that_asks_for_time_gets_it_over", "test_rules_are_kept_over_a_restart"],
    "G8": ["store/test_repair.py", "audit/test_planted.py::test_a_crawl_that_went_well"],
    "G9": ["store/test_folder_store.py::test_the_part_of_pages_appears_last", "test_recover.py::test_recovered_tables"],
    "G12": ["test_rocks_recovery.py::test_a_clock_set_back"],
    "G13": ["crawl/test_stop.py::test_hosts_without_readable_robots", "test_rocks.py::.*finished_means"],
    "P3": ["crawl/test_exact.py::test_crawl_delays", "test_rocks.py::.*crawl_delay_is_kept_in_full"],
    "P9": ["crawl/test_visits.py::test_a_revisit_asks_for_changes_only"],
    "R": ["crawl/test_robots_answers.py", "policy/test_robots"],
    "S1": ["fetch/test_gate.py", "crawl/test_gate.py"],
    "S11": ["fetch/test_tls.py"],
    "F": ["crawl/test_kill.py", "crawl/test_stop.py"],
}
NOT_YET = {
    "G10": "a full disk ends the crawl with a sentence and loses nothing; it does not pause and resume",
    "S8": "there is no dashboard",
    "S10": "there is no browser",
}
FILES = [
    "tests/hostile", "tests/audit", "tests/crawl/test_kill.py", "tests/crawl/test_stop.py",
    "tests/crawl/test_exact.py", "tests/crawl/test_visits.py", "tests/crawl/test_robots_answers.py",
    "tests/crawl/test_gate.py", "tests/fetch/test_gate.py", "tests/fetch/test_tls.py", "tests/frontier/test_rocks.py",
    "tests/frontier/test_rocks_recovery.py", "tests/policy/test_robots.py", "tests/store/test_repair.py",
    "tests/store/test_recover.py", "tests/store/test_folder_store.py",
]  # fmt: skip


class Tally:
    """Listens to a run of pytest and sorts what happens into rows."""

    def __init__(self) -> None:
        self.results: dict[str, list[str]] = defaultdict(list)
        self.figures: dict[str, dict[str, None]] = defaultdict(dict)
        self.broken: list[str] = []
        self._rows: dict[str, set[str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            marked = {row for mark in item.iter_markers("row") for row in mark.args}
            self._rows[item.nodeid] = marked | {row for row in ELSEWHERE if _is_named(item.nodeid, ELSEWHERE[row])}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """What a quick run leaves out must not make a row look better than it is."""
        for item in items:
            if item.get_closest_marker("xfail"):
                for row in (row for mark in item.iter_markers("row") for row in mark.args):
                    self.results[row].append("not yet")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not (report.when == "setup" and report.outcome != "passed"):
            return
        result = "not yet" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if result == "failed":
            self.broken.append(report.nodeid)
        for row in self._rows.get(report.nodeid, ()):
            self.results[row].append(result)
            for name, figure in report.user_properties:
                if name == row:
                    self.figures[row][str(figure)] = None

    def verdict(self, row: str) -> str:
        """pass, FAIL, not yet, or untested."""
        results = self.results[row]
        if "failed" in results:
            return "FAIL"
        if "not yet" in results or row in NOT_YET:
            return "not yet"
        return "pass" if "passed" in results else "untested"

    def lines(self) -> list[str]:
        """The table."""
        lines = []
        for row, text in ROWS.items():
            passed, all_ = self.results[row].count("passed"), len(self.results[row])
            figures = list(self.figures[row]) or ([NOT_YET[row]] if row in NOT_YET else [])
            head = f"{row:<4} {self.verdict(row):<9} {passed:>4}/{all_:<4} {text}"
            lines += [head, *(f"{'':<24}{figure}" for figure in figures)]
        return lines


def _is_named(nodeid: str, patterns: list[str]) -> bool:
    for pattern in patterns:
        file, _, name = pattern.rpartition("::")
        if not file and pattern in nodeid:
            return True
        if file and file in nodeid and name.replace(".*", "") in nodeid.partition("::")[2]:
            return True
    return False


def main(arguments: list[str] | None = None) -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.table", description=__doc__)
    parser.add_argument("--full", action="store_true", help="also the tests that take long")
    parser.add_argument("--only", action="append", metavar="PATH", help="only the tests of this file (may repeat)")
    options = parser.parse_args(arguments)
    tally = Tally()
    files = options.only or [file for file in FILES if (HOME / file).exists()]
    which = "full or not full" if options.full else "not full"
    plugins: list[Any] = [tally]
    pytest.main(
        ["-q", "--no-header", "--tb=no", "--no-summary", "-p", "no:cacheprovider", "-m", which,
         f"--rootdir={HOME}", "-c", str(HOME / "pyproject.toml"), *(str(HOME / file) for file in files)],
        plugins=plugins,
    )  # fmt: skip
    print()
    print("\n".join(tally.lines()))
    for nodeid in tally.broken:
        print(f"failed: {nodeid}")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
