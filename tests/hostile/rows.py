"""The rows of the specification of the hostile web, and the tests of each. As a plugin it tells tests of them.

A test says itself which rows it is for (`@pytest.mark.row`), or is named here if it lives in another suite.
"""

from __future__ import annotations

import pytest

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
    "G10": "out of disk, descriptors, memory, DNS: pause and resume alone",
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
    "F1": "the oracle finds planted bugs",
    "F2": "kill -9 of worker, parent, everything",
    "F3": "kill -9 at named points of the commit",
    "F4": "a worker stopped past its lease",
    "F5": "disk full, failing fsync",
    "F6": "slow disk",
    "F7": "clock jumps",
    "F8": "out of memory",
    "F9": "out of descriptors",
    "F10": "no name server, no network",
    "F11": "10,000 hosts at once",
    "F12": "a million queued URLs",
    "F13": "one hot host",
    "F14": "two parents on one folder",
    "F15": "poison pages",
    "F16": "workers added and removed",
    "F17": "a crash during recovery",
    "F18": "clean stop on SIGTERM",
    "F19": "Redis killed, failing over, emptied",
}

# Beginnings of the names of tests in other suites, by file; no name: all of the file.
ELSEWHERE: dict[str, list[str]] = {
    "G1": ["crawl/test_kill.py::test_two_kills", "frontier/test_rocks_recovery.py::test_nothing_acknowledged_is_lost"],
    "G2": ["store/test_recover.py::test_kill_9_loses_no_row", "audit/test_planted.py::test_a_link_that"],
    "G3": ["crawl/test_exact.py::test_a_crawl_is_exact", "crawl/test_kill.py::test_two_kills"],
    "G4": ["crawl/test_stop.py::test_a_worker_that_hangs_is_replaced"],
    "G5": [
        "frontier/test_rocks_recovery.py::test_a_token_of_an_earlier_run",
        "frontier/test_rocks.py::TestRocksFrontier::test_a_late",
    ],
    "G6": ["crawl/test_kill.py::test_a_pause_longer_than_a_restart", "crawl/test_kill.py::test_two_kills"],
    "G7": [
        "crawl/test_visits.py::test_a_host_that_asks_for_time_gets_it_over",
        "crawl/test_robots_answers.py::test_rules_are_kept",
    ],
    "G8": ["store/test_repair.py", "audit/test_planted.py::test_a_crawl_that_went_well"],
    "G9": ["store/test_folder_store.py::test_the_part_of_pages_appears_last", "store/test_recover.py::test_recovered"],
    "G10": ["crawl/test_shortage.py"],
    "G12": ["frontier/test_rocks_recovery.py::test_a_clock_set_back", "crawl/test_faults.py::test_a_clock"],
    "G13": [
        "crawl/test_stop.py::test_hosts_without_readable_robots",
        "frontier/test_rocks.py::TestRocksFrontier::test_finished",
    ],
    "G14": ["frontier/test_scale.py", "fetch/test_body_budget.py"],
    "P3": ["crawl/test_exact.py::test_crawl_delays", "frontier/test_rocks.py::TestRocksFrontier::test_the_crawl_delay"],
    "P9": ["crawl/test_visits.py::test_a_revisit_asks_for_changes_only"],
    "P10": [
        "robots/test_usage.py",
        "crawl/test_visits.py::test_what_a_site_wants",
        "cli/test_export.py::test_pages_are_left_out",
    ],
    "R": ["crawl/test_robots_answers.py", "robots/test_robots.py", "robots/test_robots_conformance.py"],
    "S1": ["fetch/test_gate.py", "crawl/test_gate.py"],
    "S6": ["frontier/test_poisoned.py"],
    "S8": ["dashboard/test_entrance.py", "dashboard/test_pages.py", "dashboard/test_browser.py"],
    "S11": ["fetch/test_tls.py"],
    "F1": ["audit/test_planted.py", "crawl/test_evidence.py"],
    "F2": [
        "crawl/test_kill.py::test_two_kills",
        "crawl/test_kill.py::test_a_kill_at_any",
        "crawl/test_kill.py::test_ten_kills",
    ],
    "F3": ["crawl/test_faults.py::test_a_kill_at_a_named_point"],
    "F4": ["crawl/test_stop.py::test_a_worker_that_hangs"],
    "F5": ["crawl/test_shortage.py::test_a_full_disk", "crawl/test_shortage.py::test_a_disk_that_fails"],
    "F6": ["crawl/test_faults.py::test_a_slow_disk"],
    "F7": ["crawl/test_faults.py::test_a_clock"],
    "F8": ["crawl/test_faults.py::test_a_lack_of_memory", "crawl/test_poison.py::test_a_page_that_takes_too_much"],
    "F9": ["crawl/test_shortage.py::test_a_lack_of_descriptors"],
    "F10": ["crawl/test_shortage.py::test_a_network", "fetch/test_curl.py::test_a_host_is_not_blamed"],
    "F11": ["crawl/test_faults.py::test_ten_thousand_hosts"],
    "F12": ["frontier/test_scale.py"],
    "F13": ["crawl/test_faults.py::test_one_hot_host"],
    "F14": ["crawl/test_stop.py::test_a_second_parent", "frontier/test_rocks_recovery.py::test_a_second"],
    "F15": ["crawl/test_poison.py"],
    "F16": [
        "crawl/test_exact.py::test_any_number_of_workers",
        "frontier/test_redis_faults.py::test_machines_come_and_go",
    ],
    "F17": ["crawl/test_kill.py::test_a_kill_during_recovery", "store/test_recover.py::test_recovery_itself"],
    "F18": ["crawl/test_stop.py::test_a_signal", "crawl/test_stop.py::test_a_first_signal"],
    "F19": ["frontier/test_redis_faults.py"],
}
FILES = [
    "tests/hostile",
    *sorted({f"tests/{name.partition('::')[0]}" for names in ELSEWHERE.values() for name in names}),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever is measured travels with the report of a test, also from another process; so do its rows."""
    for item in items:
        marked = {row for mark in item.iter_markers("row") for row in mark.args}
        named = {row for row, names in ELSEWHERE.items() if any(f"tests/{name}" in item.nodeid for name in names)}
        item.user_properties += [("row", row) for row in sorted(marked | named)]
