"""A folder from which pywb replays a crawl: a configuration and a CDXJ index. The WARC files stay where they are."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

import msgspec

from lycosa.store.folder import CrawlFolder
from lycosa.store.record import records
from lycosa.store.wacz import cdxj_line

COLLECTION = "crawl"
# pywb turns the parts of an address around as if it were a name; other tools do not.
_ADDRESS = re.compile(rb"(\d+)\.(\d+)\.(\d+)\.(\d+)(?=[:)])")


def write_replay(folder: CrawlFolder, out: Path, left_out: Set[tuple[str, int]] = frozenset()) -> int:
    """Write the folder; returns how many records are in its index. `left_out` names responses by file and offset."""
    lines = sorted(
        _keyed(cdxj_line(record))
        for path in folder.warc_files()
        for record in records(path)
        if record.is_answer and record.url and (record.file, record.offset) not in left_out
    )
    indexes = out / "indexes"
    indexes.mkdir(parents=True)
    (indexes / "index.cdxj").write_bytes(b"".join(lines))
    # JSON is YAML, and quotes whatever a path may hold. The index is found where `wayback` is started.
    collection = {"index_paths": "indexes/", "archive_paths": f"{folder.warc.absolute()}/"}
    config = msgspec.json.format(msgspec.json.encode({"collections": {COLLECTION: collection}}))
    (out / "config.yaml").write_bytes(config + b"\n")
    return len(lines)


def _keyed(line: bytes) -> bytes:
    address = _ADDRESS.match(line)
    return b",".join(reversed(address.groups())) + line[address.end() :] if address else line
