from __future__ import annotations

import os

import pytest

from lycosa.store.folder import CrawlFolder
from lycosa.store.journal import Journal, JournalRow
from lycosa.store.logbook import PartKept, events
from lycosa.store.newest import newest_visit_at

from .samples import START, visit
from .test_parts import keep, path_of


def test_a_crawl_without_visits_has_no_newest(folder: CrawlFolder) -> None:
    assert newest_visit_at(folder) == 0.0


async def test_the_logbook_knows_the_newest_visit_of_every_part(folder: CrawlFolder) -> None:
    await keep(folder, rows=6)
    parts = [event.newest_at for event in events(folder) if isinstance(event, PartKept)]
    assert sorted(parts) == [START + 1, START + 3, START + 5]
    assert newest_visit_at(folder) == START + 5


async def test_a_part_that_the_logbook_does_not_know_is_read(folder: CrawlFolder) -> None:
    await keep(folder, rows=6)
    folder.logbook.unlink()
    assert newest_visit_at(folder) == START + 5


async def test_a_part_that_is_not_as_noted_is_read_with_its_errors(folder: CrawlFolder) -> None:
    import duckdb

    names = await keep(folder)
    os.truncate(path_of(folder, names[-1]), 1000)
    with pytest.raises(duckdb.Error):
        newest_visit_at(folder)


async def test_visits_that_wait_in_a_journal_count(folder: CrawlFolder) -> None:
    await keep(folder, rows=2)
    journal = Journal(folder, "lycosa-20260202T000000-w0-00007")
    journal.append(JournalRow(visit("http://a.example/late", START + 100)))
    journal.stage()
    journal.commit(power_safe=False)
    journal.close()
    assert newest_visit_at(folder) == START + 100
