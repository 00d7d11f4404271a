"""The index of a crawl, in its folder: brought up to its tables, and asked.

Two tantivy indexes: of pages, and of the anchors of links to them, since links come before their pages and keep coming.
What an index has taken in is a row of itself, so one commit holds both: whoever is killed in between has done nothing.
"""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import tantivy

from lycosa.errors import SettingsError
from lycosa.search import IndexInUse
from lycosa.search.fields import FORMAT, STATE_KEY, anchors_schema, id_of, key_of, page_document, pages_schema
from lycosa.search.find import Finder, Readers
from lycosa.search.query import parse_query
from lycosa.search.rank import Ranks, write_ranks
from lycosa.search.results import Results
from lycosa.search.taking_in import Part, anchors_in, changes_of, pages_in, parts_of
from lycosa.search.tokens import barred_tokens_of
from lycosa.store.folder import CrawlFolder

SEARCH = "search"
MAX_LIMIT, MAX_OFFSET = 100, 1000
# Memory of a writer before it writes a segment; the least that tantivy takes is 15 MB.
_HEAP_BYTES = 100_000_000
# Parts are committed together until they have as many rows: a commit takes some tens of milliseconds.
_COMMIT_ROWS = 20_000

# After each commit: how many rows of how many have been looked at.
OnProgress = Callable[[int, int], None]


class Update(NamedTuple):
    """What an update has done. Busy: another process is at it, and nothing was done."""

    parts: int = 0
    pages: int = 0
    gone: int = 0
    is_busy: bool = False


class _State(msgspec.Struct, frozen=True, array_like=True):
    """What an index has taken in."""

    format: int = FORMAT
    parts: frozenset[str] = frozenset()


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


class SearchIndex:
    """The index of one folder. May be asked from several threads, also while it is brought up to date."""

    def __init__(self, folder: CrawlFolder) -> None:
        self._folder = folder
        self.path = folder.path / SEARCH
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be made: {error.strerror}") from None
        with self._alone() as is_alone:
            self._pages = _opened(self.path / "pages", pages_schema(), may_make=is_alone)
            self._anchors = _opened(self.path / "anchors", anchors_schema(), may_make=is_alone)
        self._ranks = Ranks(self.path)

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open that must be given back."""

    def update(self, on_progress: OnProgress = lambda done, total: None) -> Update:
        """Take in what the tables have and the index has not; raises `SettingsError` where they cannot be read."""
        with self._alone() as is_alone:
            if not is_alone:
                return Update(is_busy=True)
            self._take_in_anchors()
            update = self._take_in_pages(on_progress)
            if update.parts:
                write_ranks(self._folder, self.path)
            return update

    def search(self, text: str, limit: int = 10, offset: int = 0, *, now: float | None = None) -> Results:
        """The pages that answer a query; raises `BadQuery`."""
        if not (1 <= limit <= MAX_LIMIT and 0 <= offset <= MAX_OFFSET):
            raise SettingsError(f"from 1 to {MAX_LIMIT} results are given at once, beginning at most at {MAX_OFFSET:,}")
        began = time.perf_counter()
        query = parse_query(text)
        for index in (self._pages, self._anchors):
            index.reload()
        finder = Finder(Readers(self._pages, self._anchors, self._ranks), query, time.time() if now is None else now)
        results = finder.results(limit, offset)
        return msgspec.structs.replace(results, seconds=time.perf_counter() - began)

    @property
    def pages(self) -> int:
        """How many pages can be found."""
        self._pages.reload()
        return max(0, self._pages.searcher().num_docs - 1)

    def _take_in_anchors(self) -> None:
        for parts, state in self._new_parts(self._anchors):
            with _writing(self._anchors) as writer:
                for part in parts:
                    # Once more after the tables were repaired: what came by this name before goes.
                    writer.delete_documents_by_term("part", part.name)
                    for target, anchors in anchors_in(part):
                        document = tantivy.Document()
                        document.add_unsigned("key", key_of(target))
                        document.add_text("part", part.name)
                        document.add_text("anchors", " ".join(barred_tokens_of(anchors, "")))
                        writer.add_document(document)
                _note(writer, state)

    def _take_in_pages(self, on_progress: OnProgress) -> Update:
        parts_done = pages = gone = rows = 0
        total = sum(part.rows for part in parts_of(self._folder, self._state(self._pages).parts))
        for parts, state in self._new_parts(self._pages):
            changes = changes_of(self._folder, parts)
            with _writing(self._pages) as writer:
                for url in changes.gone:
                    writer.delete_documents_by_term("id", id_of(key_of(url)))
                for part in parts:
                    for page in pages_in(part, changes.newest):
                        writer.delete_documents_by_term("id", id_of(key_of(page.url)))
                        writer.add_document(page_document(page))
                        pages += 1
                _note(writer, state)
            gone += len(changes.gone)
            parts_done += len(parts)
            rows += sum(part.rows for part in parts)
            on_progress(rows, total)
        return Update(parts_done, pages, gone)

    def _new_parts(self, index: tantivy.Index) -> Iterator[tuple[list[Part], _State]]:
        """Parts that an index has not taken in, some at a time, each time with what it has taken in thereafter."""
        known = self._state(index).parts
        for parts in _portions(parts_of(self._folder, known)):
            known |= {part.name for part in parts}
            yield parts, _State(parts=known)

    @staticmethod
    def _state(index: tantivy.Index) -> _State:
        return _state_of(index)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether nobody else changes the index meanwhile."""
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True


def _opened(path: Path, schema: tantivy.Schema, *, may_make: bool) -> tantivy.Index:
    """An index as it is on disk; one of another format or that cannot be read is made anew."""
    if path.is_dir() and tantivy.Index.exists(str(path)):
        # Whatever is wrong with it, all that is in it is in the tables, too.
        with suppress(ValueError, OSError, msgspec.MsgspecError):
            index = tantivy.Index.open(str(path))
            if _state_of(index).format == FORMAT:
                return index
    if not may_make:
        raise IndexInUse(f"{path.parent}: is just being made; try again in a moment")
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return tantivy.Index(schema, str(path))


def _state_of(index: tantivy.Index) -> _State:
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.term_query(index.schema, "key", STATE_KEY), 1).hits
    if not hits:
        return _State()
    facts: Any = searcher.doc(hits[0][1]).get_first("facts")
    return _decode(facts)


def _note(writer: tantivy.IndexWriter, state: _State) -> None:
    """Have what was taken in become part of the commit."""
    document = tantivy.Document()
    document.add_unsigned("key", STATE_KEY)
    document.add_text("id", id_of(STATE_KEY))
    document.add_bytes("facts", _encode(state))
    writer.delete_documents_by_term("id", id_of(STATE_KEY))
    writer.add_document(document)


@contextmanager
def _writing(index: tantivy.Index) -> Iterator[tantivy.IndexWriter]:
    """A writer whose work is committed at the end, or not at all."""
    writer = index.writer(_HEAP_BYTES, 1)
    try:
        yield writer
        writer.commit()
    except BaseException:
        writer.rollback()
        raise
    finally:
        writer.wait_merging_threads()


def _portions(parts: Sequence[Part]) -> Iterator[list[Part]]:
    portion: list[Part] = []
    for part in parts:
        portion.append(part)
        if sum(each.rows for each in portion) >= _COMMIT_ROWS:
            yield portion
            portion = []
    if portion:
        yield portion
