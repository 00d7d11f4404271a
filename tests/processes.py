"""What `make check` leaves out: tests that start processes (the mark `process`) and those that compute or wait for
seconds (the mark `long`). Under --no-processes any other that starts a process fails, so the first list stays true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

# As fnmatch has it, from the folder of tests.
STARTERS = (
    "bench/test_bench.py::test_a_page_counts_once*",
    "bench/test_bench.py::test_crawlers_take_turns*",
    "bench/test_bench.py::test_hosts_go_by_addresses*",
    "bench/test_bench.py::test_lycosa_is_credited*",
    "bench/test_bench.py::test_nobody_is_credited*",
    "bench/test_bench.py::test_of_strewn_links*",
    "bench/test_quality.py::test_a_peer_answers*",
    "bench/test_quality.py::test_the_script_of_the_peers*",
    "bench/test_supervise.py::*",
    "bench/test_search.py::*",
    "cli/test_demo.py::*",
    "cli/test_dropped.py::*",
    "cli/test_quick_start.py::*",
    "cli/test_reference.py::test_the_installed_command*",
    "cli/test_shared.py::*",
    "cli/test_status.py::test_a_crawl_on_a_medium*",
    "crawl/test_exact.py::*",
    "crawl/test_faults.py::*",
    "crawl/test_kill.py::*",
    "crawl/test_library.py::test_a_program_that_ends*",
    "crawl/test_hooks.py::*outlive_kill_9*",
    "crawl/test_logins.py::*over_kill_9*",
    "crawl/test_mending.py::*",
    "crawl/test_origins.py::*",
    "crawl/test_poison.py::*",
    "crawl/test_replay.py::*",
    "crawl/test_runs.py::test_a_worker_that_is_killed*",
    "crawl/test_runs.py::test_a_crawl_that_is_stopped*",
    "crawl/test_shortage.py::*",
    "crawl/test_start.py::*",
    "crawl/test_stop.py::*",
    "crawl/test_understood.py::*",
    "dashboard/test_browser.py::*",
    "dashboard/test_deploy.py::*",
    "dashboard/test_deploy.py::*",
    "dashboard/test_entrance.py::*",
    "dashboard/test_live.py::*",
    "dashboard/test_pages.py::*",
    "frontier/test_poisoned.py::*",
    "frontier/test_redis*.py::*",
    "frontier/test_rocks_recovery.py::test_nothing_acknowledged_is_lost_to_kill_9*",
    "frontier/test_scale.py::*",
    "frontier/test_stores.py::*a_second_process*",
    "frontier/test_stores.py::*full_disk*",
    "frontier/test_stores.py::*kill_9*",
    "fuzz/test_guided.py::*",
    "hostile/test_bombs.py::*",
    "hostile/test_traps.py::*",
    "policy/test_kin.py::test_another_process*",
    "search/test_killed.py::test_a_killed_update*",
    "simweb/test_cli.py::*",
    "simweb/test_process.py::*",
    "render/test_apps.py::*",
    "render/test_hostile.py::*",
    "render/test_life.py::*",
    "render/test_polite.py::test_the_browser*",
    "site/test_web.py::test_a_made_up_site_is_found_whole*",
    "site/test_web.py::test_what_was_left_out*",
    "store/test_folder.py::*",
    "store/test_folder_store.py::test_a_disk_that_takes_little*",
    "store/test_recover.py::test_kill_9*",
    "store/test_repair.py::test_a_cut_anywhere*",
    "store/test_shipper.py::test_an_upload_that_a_crash_ended*",
    "store/test_warc.py::test_a_closed_file_passes_gunzip*",
    "test_built.py::*",
)
# A tenth of the tests that start no process, and half of their time.
LONG = (
    "audit/test_planted.py::*",
    "bench/test_experiments.py::*",
    "crawl/test_robots_answers.py::test_rules_that_expire*",
    "crawl/test_visits.py::test_a_host_that_asks_for_time*",
    "dedupe/test_quality.py::*",
    "fetch/test_curl.py::test_two_thousand_connections*",
    "fetch/test_malformed.py::test_a_damaged_coding*",
    "frontier/test_bloom.py::*",
    "frontier/test_queue.py::*",
    "frontier/test_twins.py::*",
    "hostile/test_politeness.py::*",
    "hostile/test_security.py::test_the_source_has_no_pickle*",
    "hostile/test_sites.py::*",
    "hostile/test_tarpits.py::*",
    "page/test_parser.py::test_any_bytes_make_a_page*",
    "page/test_readers.py::*soup*",
    "page/test_readers.py::test_what_is_read_of_a_body*",
    "page/test_sitemap.py::test_a_bomb_takes_little_memory*",
    "page/test_sitemap.py::test_endless_tags_are_cut*",
    "policy/test_balance.py::test_domains_are_spread*",
    "simweb/test_layout.py::*",
    "simweb/test_render.py::*",
    "simweb/test_web.py::*",
    "store/test_read.py::test_what_was_put*",
    "store/test_shipper.py::test_readers_at_the_same_time*",
)
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}


def mark_by_lists(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        for mark, patterns in (("process", STARTERS), ("long", LONG)):
            if any(fnmatchcase(place, pattern) for pattern in patterns):
                item.add_marker(mark)


class NoProcesses:
    """Refuses every process while a test runs. What a test swallows is remembered and fails it all the same."""

    def __init__(self) -> None:
        self._is_watching = False
        self._started: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_watching and event in STARTS:
            self._started.append(f"{event} {arguments[:2]}")
            raise AssertionError("this test starts a process: name it in tests/processes.py")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._is_watching = True
        try:
            return (yield)
        finally:
            self._is_watching = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self._started.clear()
        result = yield
        assert not self._started, f"starts a process, and is not named in tests/processes.py: {self._started[0]}"
        return result
