"""Office documents (OOXML and OpenDocument): their text, title and links, out of the XML in their archives.

No macro, formula or drawing is looked at, no XML with a DTD is read, and archives are unpacked piece by piece.
"""

from __future__ import annotations

import re
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Protocol
from xml.parsers import expat

from lycosa.model import Page, RawLink
from lycosa.page.reading import MAX_TITLE_CHARS, DocumentLimits, collapsed

# All parts that are read, unpacked: a page of text has about 3 KB of it.
MAX_UNPACKED_BYTES = 32 * 1024 * 1024
MAX_PARTS = 2_000
_PIECE_BYTES = 64 * 1024
# Where texts are: in Word, in Writer and its kin, in Excel's strings, in PowerPoint's slides and notes.
_TEXT_PARTS = re.compile(
    r"word/(?:document|footnotes|endnotes)\.xml|content\.xml|xl/sharedStrings\.xml|ppt/(?:slides|notesSlides)/\w+\.xml"
)
_LINK_PARTS = re.compile(r"(?:word|ppt/slides|xl/worksheets)/_rels/[\w.]+\.rels")
_ABOUT_PARTS = ("docProps/core.xml", "meta.xml")
_HREF = "http://www.w3.org/1999/xlink href"
# Elements by their local names: what ends a line, what is no text at all.
_LINES = frozenset(("p", "h", "si", "br", "tr", "table-row", "line-break"))
_SPACES = frozenset(("tab", "s", "tc", "table-cell"))
_SILENT = frozenset(("instrText", "delText", "annotation", "tracked-changes", "script", "fld"))
_ABOUT = {"title": "title", "creator": "author", "initial-creator": "author", "created": "published",
          "creation-date": "published", "description": "description", "language": "language"}  # fmt: skip


class _EnoughError(Exception):
    """A limit is reached: what was read until here counts."""


def read_office(body: bytes, limits: DocumentLimits) -> Page:
    """The page of a document; one that cannot be unpacked has no text."""
    try:
        archive = zipfile.ZipFile(BytesIO(body))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError):
        return Page("", "", "", [])
    with archive:
        return _Reading(archive, limits).page()


class _Reading:
    """One document, part by part, until it is read or a limit is reached."""

    def __init__(self, archive: zipfile.ZipFile, limits: DocumentLimits) -> None:
        self._archive = archive
        self._limits = limits
        self._ends_at = time.thread_time() + limits.seconds if limits.seconds else float("inf")
        self._unpacked = 0
        self._pieces: list[str] = []
        self._chars = 0
        self._links: dict[str, None] = {}
        self._about: dict[str, str] = {}
        self._is_cut = False

    def page(self) -> Page:
        names = sorted((info.filename for info in self._archive.infolist()[:MAX_PARTS]), key=_in_reading_order)
        try:
            for name in names:
                if name in _ABOUT_PARTS:
                    self._read(name, _AboutPart(self._about))
                elif _TEXT_PARTS.fullmatch(name):
                    self._read(name, _TextPart(self._say, self._lead_to))
                elif _LINK_PARTS.fullmatch(name):
                    self._read(name, _LinkPart(self._lead_to))
        except _EnoughError:
            self._is_cut = True
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        text = "\n".join(filter(None, lines))[: self._limits.max_text_chars]
        return Page(
            title=collapsed(self._about.get("title", ""), MAX_TITLE_CHARS),
            description=collapsed(self._about.get("description", ""), MAX_TITLE_CHARS),
            text=text,
            content=text,
            links=[RawLink(url, "", "") for url in self._links][: self._limits.max_links],
            charset="utf-8",
            language=collapsed(self._about.get("language", ""), 35),
            author=collapsed(self._about.get("author", ""), MAX_TITLE_CHARS),
            published=self._about.get("published", "").strip()[:10],
            truncated=self._is_cut,
        )

    def _say(self, text: str) -> None:
        self._pieces.append(text)
        self._chars += len(text)
        if self._chars > self._limits.max_text_chars:
            raise _EnoughError

    def _lead_to(self, url: str) -> None:
        if url.startswith(("http://", "https://")):
            self._links[url] = None
            if len(self._links) > self._limits.max_links:
                raise _EnoughError

    def _read(self, name: str, parts: _Parts) -> None:
        """Feed a part to its reader; what is damaged counts as far as it can be read."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = parts.begin, parts.end
        parser.CharacterDataHandler = parts.text
        parser.StartDoctypeDeclHandler = _refuse_dtd
        try:
            for piece in self._unpack(name):
                parser.Parse(piece, False)
        except (expat.ExpatError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError):
            self._is_cut = True

    def _unpack(self, name: str) -> Iterator[bytes]:
        with self._archive.open(name) as part:
            while piece := part.read(_PIECE_BYTES):
                self._unpacked += len(piece)
                if self._unpacked > MAX_UNPACKED_BYTES or time.thread_time() > self._ends_at:
                    raise _EnoughError
                yield piece


class _Parts(Protocol):
    """What is done at the tags of a part."""

    def begin(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


class _TextPart:
    """Text is said in lines, and where it links to."""

    def __init__(self, say: Callable[[str], None], lead_to: Callable[[str], None]) -> None:
        self._say = say
        self._lead_to = lead_to
        self._silent = 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        self._silent += local in _SILENT
        if local in _SPACES:
            self._say(" ")
        elif local == "a" and (href := attributes.get(_HREF)):
            self._lead_to(href)

    def end(self, name: str) -> None:
        local = _local(name)
        self._silent -= local in _SILENT
        if local in _LINES:
            self._say("\n")

    def text(self, text: str) -> None:
        if not self._silent:
            self._say(text)


class _LinkPart:
    """Links stand in a part of their own in OOXML."""

    def __init__(self, lead_to: Callable[[str], None]) -> None:
        self._lead_to = lead_to

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if attributes.get("TargetMode") == "External":
            self._lead_to(attributes.get("Target", ""))

    def end(self, name: str) -> None: ...
    def text(self, text: str) -> None: ...


class _AboutPart:
    """Title, author and the like."""

    def __init__(self, about: dict[str, str]) -> None:
        self._about = about
        self._name = ""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._name = _ABOUT.get(_local(name), "")

    def end(self, name: str) -> None:
        self._name = ""

    def text(self, text: str) -> None:
        if self._name:
            self._about[self._name] = self._about.get(self._name, "") + text


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _in_reading_order(name: str) -> tuple[bool, int, str]:
    """What a document says of itself first, so that no limit cuts it; then slides by their numbers."""
    digits = re.search(r"\d+", name)
    return name not in _ABOUT_PARTS, int(digits[0][:9]) if digits else 0, name


def _refuse_dtd(*_: object) -> None:
    # Entities could grow without bound, or name files.
    raise expat.ExpatError("it has a document type")
