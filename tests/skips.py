"""The skips that are known, by name. Under --named-skips-only any other fails the run: a test that is skipped and
missed by nobody is no test.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest

NO_SMALL_DISK = "this machine lets nobody mount a small file system"


@dataclass(frozen=True)
class NamedSkip:
    """Tests that may be skipped, with which words, and what would make them run."""

    tests: str  # as fnmatch has it, from the folder of tests
    words: str  # of the skip
    runs_with: str


NAMED = (
    NamedSkip("frontier/test_redis_tls.py::*", "speaks TLS", "Debian's server: apt-get install redis-server"),
    NamedSkip("frontier/test_redis_connection.py::*no_tls*", "speaks TLS", "apt-get install redis-server"),
    NamedSkip("frontier/test_redis_faults.py::*", "ip command", "apt-get install iproute2"),
    NamedSkip("frontier/test_redis_faults.py::*", "network namespace", "root, or CAP_NET_ADMIN and CAP_SYS_ADMIN"),
    NamedSkip("frontier/test_stores.py::*full_disk*", NO_SMALL_DISK, "root, or CAP_SYS_ADMIN"),
    NamedSkip("crawl/test_shortage.py::*", NO_SMALL_DISK, "root, or CAP_SYS_ADMIN"),
    NamedSkip("frontier/test_redis_connection.py::*a_name_that*", "no name server", "a network with a name server"),
    NamedSkip("fetch/test_curl.py::*ipv6*", "no IPv6 here", "an IPv6 loopback"),
    NamedSkip("fetch/test_curl.py::*two_thousand*", "too few descriptors", "ulimit -Hn 6000"),
    NamedSkip("simweb/test_server.py::*outside*", "no address but loopback", "any network"),
    NamedSkip("test_built.py::*", "there is no compiler", "apt-get install gcc libc6-dev"),
    NamedSkip(
        "crawl/test_replay.py::*",
        "no pywb",
        "PYWB_PYTHON=…/bin/python of an environment of its own, with pip install pywb",
    ),
    NamedSkip("render/*", "no browser", "apt-get install chromium"),
    NamedSkip("dashboard/test_browser.py::*", "no browser", "apt-get install chromium"),
    NamedSkip("dashboard/test_deploy.py::*alerts_speak*", "no promtool", "apt-get install prometheus"),
    NamedSkip("dashboard/test_deploy.py::*real_prometheus*", "no prometheus", "apt-get install prometheus"),
    NamedSkip("*", "the compiled parts are not built", "apt-get install gcc libc6-dev, then make clean"),
    NamedSkip(
        "page/test_page_conformance.py::test_files_that_declare_nothing_are_read_as_labelled",
        "no labelled files",
        "the files of chardet and uchardet in ../shared/data: they may be used for tests and not be copied",
    ),
)


class NamedSkips:
    """Hears of every skip, from all workers, and judges when the last test is over."""

    def __init__(self) -> None:
        self._skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            words = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._skipped[report.nodeid] = words.removeprefix("Skipped: ")

    def unnamed(self) -> dict[str, str]:
        return {test: words for test, words in self._skipped.items() if name_of(test, words) is None}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unnamed() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        known: dict[NamedSkip, int] = {}
        for test, words in self._skipped.items():
            if name := name_of(test, words):
                known[name] = known.get(name, 0) + 1
        for name, times in known.items():
            line = f"skipped {times}, as named: {name.tests} ({name.words}); needs {name.runs_with}"
            terminalreporter.write_line(line)
        for test, words in self.unnamed().items():
            terminalreporter.write_line(f"FAILED {test}: skipped ({words}), and not named in tests/skips.py", red=True)


def name_of(test: str, words: str) -> NamedSkip | None:
    """Where this skip stands in the list."""
    place = test.removeprefix("tests/")
    return next((named for named in NAMED if fnmatchcase(place, named.tests) and named.words in words), None)
