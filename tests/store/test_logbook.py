from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

from lycosa.store.folder import CrawlFolder
from lycosa.store.logbook import Begun, Event, Incident, PartKept, RowsLeft, begun_at, events, incidents, note


def test_what_was_noted_is_read_back_in_order(folder: CrawlFolder) -> None:
    noted: list[Event] = [
        Begun(1.0),
        PartKept("a", 3, 100),
        RowsLeft("j", [1, 2], [("w", 7)]),
        Incident(2.0, "rows\nwere lost"),
    ]
    note(folder, *noted[:2])
    note(folder)
    note(folder, *noted[2:])
    assert list(events(folder)) == noted


def test_a_torn_line_costs_only_itself(folder: CrawlFolder) -> None:
    note(folder, Begun(1.0), Incident(2.0, "lost"))
    os.truncate(folder.logbook, folder.logbook.stat().st_size - 3)
    note(folder, Incident(3.0, "found"))
    folder.logbook.write_bytes(folder.logbook.read_bytes() + b'\n{"what":"of a later version"}\n\xff\xfe')
    assert list(events(folder)) == [Begun(1.0), Incident(3.0, "found")]


def test_many_may_note_at_once(folder: CrawlFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: note(folder, PartKept(str(number), number, 0)), range(200)))
    assert sorted(part.rows for part in events(folder) if isinstance(part, PartKept)) == list(range(200))


def test_a_folder_tells_of_all_its_seats(folder: CrawlFolder) -> None:
    seat = CrawlFolder(folder.path, "one-aa")
    seat.create()
    note(seat, Incident(1.0, "there"))
    note(folder, Incident(2.0, "here"))
    assert [each.sentence for each in incidents(folder)] == ["there", "here"]
    assert [each.sentence for each in incidents(seat)] == ["there"]


def test_a_crawl_older_than_its_logbook_began_with_its_frontier(folder: CrawlFolder) -> None:
    assert begun_at(folder) == 0
    (folder.frontier / "IDENTITY").touch()
    assert abs(begun_at(folder) - time.time()) < 60
    note(folder, Begun(5.0))
    assert begun_at(folder) == 5.0
