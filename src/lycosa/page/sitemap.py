"""Sitemaps, sitemap indexes, RSS and Atom feeds and plain lists of URLs: bytes in, entries out.

One linear scan for well-formed and broken files alike. It knows no DTD and no entities but the five of XML and the
numeric ones, opens nothing, and holds a piece of the text at a time. How a URL is canonically written and whether it is
visited is decided elsewhere.
"""

import codecs
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice

import msgspec
from isal import isal_zlib
from isal.igzip_lib import IsalError

from lycosa.model import NO_REASON, Note, Reason

MAX_SITEMAP_BYTES = 50 * 1024 * 1024
MAX_SITEMAP_ENTRIES = 50_000
MAX_LOC_CHARACTERS = 2048
# What a URL without one has, by sitemaps.org.
ORDINARY_PRIORITY = 0.5

_CHUNK_BYTES = 128 * 1024
# Of the text between two tags nothing longer is of use here; it also bounds what an endless text can hold.
_MAX_TEXT_CHARACTERS = 16 * 1024
# 40 for each entry of a full file; 50 MiB of "<" would take half a minute.
_MAX_TAGS = 2_000_000


class SitemapKind(StrEnum):
    """What a file turned out to be; the entries of an index are sitemaps, those of all others are pages."""

    URLSET = "urlset"
    INDEX = "index"
    FEED = "feed"
    TEXT = "text"


class SitemapEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL and what its site says of it."""

    loc: str
    lastmod_at: float | None = None
    changefreq: str | None = None
    priority: float | None = None


class Sitemap(msgspec.Struct, frozen=True):
    """What could be read of one file: `truncated` says that a limit cut it, `trouble` is the first that was met."""

    kind: SitemapKind
    entries: tuple[SitemapEntry, ...] = ()
    truncated: bool = False
    trouble: Reason = NO_REASON


def parse_sitemap(
    body: bytes,
    url: str,
    *,
    max_bytes: int = MAX_SITEMAP_BYTES,
    max_entries: int = MAX_SITEMAP_ENTRIES,
) -> Sitemap:
    """What `body`, plain or gzipped, fetched from `url`, lists; any bytes give an answer."""
    source = _Source(body, max_bytes)
    texts = source.texts()
    # Blank chunks say nothing of the kind, and a bomb may begin with many of them.
    head = next((text for text in texts if not text.isspace()), "")
    kind, records = _kind_and_records(source, head, chain([head], texts))
    entries = (entry for record in records if (entry := _entry(record, url)) is not None)
    kept = tuple(islice(entries, max_entries))
    if next(entries, None) is not None:
        source.truncated = True
    return Sitemap(kind, kept, source.truncated, source.trouble)


def entries_allowed(
    sitemap: Sitemap, sitemap_url: str, robots_origins: Collection[str] = ()
) -> tuple[SitemapEntry, ...]:
    """The entries that this sitemap may speak for: those of its own host, and of the origins (or hosts) whose
    robots.txt names it."""
    speaks_for = {_host(sitemap_url), *(_host(origin) for origin in robots_origins)}
    return tuple(entry for entry in sitemap.entries if _host(entry.loc) in speaks_for)


def _host(url: str) -> str:
    """The host of a URL or origin, without port and without `www.`, which is the same site to all but its DNS."""
    _, has_scheme, rest = url.partition("://")
    authority = rest if has_scheme else url
    for delimiter in "/?#\\":
        authority = authority.partition(delimiter)[0]
    host = authority.rpartition("@")[2].lower()
    host = host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return host.rstrip(".").removeprefix("www.")


# --- bytes to text ----------------------------------------------------------------------------------------


class _Source:
    """The text of a body in chunks, and what went wrong on the way."""

    def __init__(self, body: bytes, max_bytes: int) -> None:
        self._body = body
        self._max_bytes = max_bytes
        self.truncated = False
        self.trouble = NO_REASON

    def note(self, code: Note, detail: str = "") -> None:
        self.trouble = self.trouble or Reason(code, detail)

    def texts(self) -> Iterator[str]:
        decoder: codecs.IncrementalDecoder | None = None
        for octets in self._limited(self._plain()):
            decoder = decoder or codecs.getincrementaldecoder(_encoding(octets))("replace")
            if text := decoder.decode(octets):
                yield text

    def _limited(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        left_bytes = self._max_bytes
        for octets in chunks:
            if len(octets) > left_bytes:
                self.truncated = True
                yield octets[:left_bytes]
                return
            left_bytes -= len(octets)
            yield octets

    def _plain(self) -> Iterator[bytes]:
        if not self._body.startswith(b"\x1f\x8b"):
            return _slices(self._body)
        return self._inflated()

    def _inflated(self) -> Iterator[bytes]:
        inflater = isal_zlib.decompressobj(31)
        try:
            for octets in _slices(self._body):
                pending = octets
                while True:
                    if inflater.eof:
                        # Many files are several gzip members one after the other; what is no member is padding.
                        if not pending.startswith(b"\x1f"):
                            return
                        inflater = isal_zlib.decompressobj(31)
                    plain = inflater.decompress(pending, _CHUNK_BYTES)
                    if plain:
                        yield plain
                    pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                    if not pending and (inflater.eof or len(plain) < _CHUNK_BYTES):
                        break
        except IsalError as error:  # type: ignore[misc]  # its stubs declare an instance, not a class
            self.note(Note.SITEMAP_DAMAGED, f"gzip: {error}")
        if not inflater.eof:
            self.note(Note.SITEMAP_CUT, "gzip")


def _slices(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), _CHUNK_BYTES):
        yield body[start : start + _CHUNK_BYTES]


# Named one by one: Python also has codecs that inflate or take quadratic time ("zlib", "punycode").
_ENCODINGS = frozenset(
    [
        *("utf-8", "us-ascii", "koi8-r", "koi8-u", "macintosh", "tis-620"),
        *("gb2312", "gbk", "gb18030", "big5", "euc-jp", "shift_jis", "iso-2022-jp", "euc-kr"),
        *(f"iso-8859-{part}" for part in range(1, 17) if part != 12),
        *(f"windows-{page}" for page in (874, *range(1250, 1259))),
    ]
)


def _encoding(octets: bytes) -> str:
    """By byte order mark, by the first tag, by the XML declaration, else UTF-8."""
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if octets.startswith((b"<\0", b"\0<")):
        return "utf-16-le" if octets[0] else "utf-16-be"
    declaration = octets[:1024].partition(b"<?xml")[2].partition(b"?>")[0]
    value = declaration.partition(b"encoding")[2].lstrip(b" \t\r\n=")
    name = value[1:].partition(value[:1] or b'"')[0].decode("ascii", "replace").lower()
    return name if name in _ENCODINGS and not octets.startswith(codecs.BOM_UTF8) else "utf-8-sig"


# --- text to records --------------------------------------------------------------------------------------

# What the scan finds of one entry: raw texts by the name of their meaning.
_Record = dict[str, str]
# The inside of a tag, "loc" or "/loc" or 'link href="…"/', and the text after it.
_Tag = tuple[str, str]

_SECTIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"))
_XML_BEGINNINGS = ("<?xml", "<urlset", "<sitemapindex", "<rss", "<feed", "<rdf:rdf")
_ROOTS = {
    "urlset": SitemapKind.URLSET,
    "sitemapindex": SitemapKind.INDEX,
    "rss": SitemapKind.FEED,
    "rdf": SitemapKind.FEED,
    "feed": SitemapKind.FEED,
    # Files without a root, as some generators write them.
    "url": SitemapKind.URLSET,
    "loc": SitemapKind.URLSET,
    "sitemap": SitemapKind.INDEX,
}


def _kind_and_records(source: _Source, head: str, texts: Iterator[str]) -> tuple[SitemapKind, Iterator[_Record]]:
    beginning = head[:_MAX_TEXT_CHARACTERS].lstrip("\ufeff \t\r\n").lower()
    if not beginning.startswith("<") and not any(tag in beginning for tag in _XML_BEGINNINGS):
        return SitemapKind.TEXT, _line_records(source, texts)
    tags = _tags(source, texts)
    for tag, text in tags:
        name = _tag_name(tag).lower()
        prefix, colon, local = name.rpartition(":")
        if local in _ROOTS:
            kind = _ROOTS[local]
            # Of <rdf:RDF> only the root has the prefix, of <sit:urlset> all of its own tags have it.
            own_prefix = "" if local == "rdf" else _tag_name(tag)[: len(prefix + colon)]
            read = _feed_records if kind is SitemapKind.FEED else _sitemap_records
            return kind, read(source, own_prefix, chain([(tag, text)], tags))
        if local == "html":
            break
    source.note(Note.SITEMAP_UNKNOWN)
    return SitemapKind.URLSET, iter(())


def _line_records(source: _Source, texts: Iterator[str]) -> Iterator[_Record]:
    has_urls = False
    for line in _split((text.replace("\r", "\n") for text in texts), "\n"):
        words = line.strip("\ufeff").split()
        # Anything may arrive as text, error messages too.
        if len(words) == 1 and "." in words[0]:
            has_urls = True
            yield {"loc": words[0]}
    if not has_urls:
        source.note(Note.SITEMAP_EMPTY)


def _split(texts: Iterable[str], separator: str) -> Iterator[str]:
    """The pieces between separators, over the borders of chunks; of a very long piece only the two ends."""
    rest = ""
    for text in texts:
        *pieces, rest = (rest + text).split(separator)
        yield from pieces
        if len(rest) > 2 * _MAX_TEXT_CHARACTERS:
            # The end is kept as it may hold half of "-->".
            rest = rest[:_MAX_TEXT_CHARACTERS] + rest[-_MAX_TEXT_CHARACTERS:]
    yield rest


def _tags(source: _Source, texts: Iterable[str]) -> Iterator[_Tag]:
    """Every tag with the text after it: comments and declarations are gone, CDATA is text."""
    pieces = _split(texts, "<")
    next(pieces, "")
    tag, text, section_end = "", "", ""
    for piece in islice(pieces, _MAX_TAGS):
        if not section_end and not piece.startswith("!"):
            yield tag, text
            tag, _, text = piece.partition(">")
            continue
        content = f"<{piece}"
        for beginning, end in _SECTIONS:
            if not section_end and content.startswith(beginning):
                section_end, content = end, content[len(beginning) :]
        inside, is_over, after = content.partition(section_end or ">")
        if len(text) < _MAX_TEXT_CHARACTERS:
            text += inside + after if section_end == "]]>" else after
        if is_over:
            section_end = ""
    if next(pieces, None) is not None:
        source.truncated = True
    if section_end:
        source.note(Note.SITEMAP_CUT, section_end)
    # The last text was not ended by a tag: of a file that was cut it may be half a URL.
    yield tag, ""


def _tag_name(tag: str) -> str:
    """The name in "loc", "/loc", "loc/", 'link href="…"/'; empty if there is none."""
    words = tag.split(maxsplit=1)
    return words[0].rstrip("/") if words else ""


def _attribute(tag: str, name: str) -> str | None:
    _, found, rest = tag.partition(f" {name}=")
    quote = rest[:1]
    return rest[1:].partition(quote)[0] if found and quote in {'"', "'"} else None


_SITEMAP_FIELDS = ("loc", "lastmod", "changefreq", "priority")
_FOREIGN, _ENTRY, _END, _END_OF_FILE = "", "<entry>", "</>", "</file>"
_MAX_MEANINGS = 1000


def _sitemap_meanings(prefix: str) -> dict[str, str]:
    meanings = {f"{prefix}{field}": field for field in _SITEMAP_FIELDS}
    # By its usual prefix: <video:publication_date> is not of the page.
    meanings["news:publication_date"] = "published"
    meanings |= {f"{prefix}{name}": _ENTRY for name in ("url", "sitemap")}
    meanings |= {f"/{name}": _END for name in meanings}
    return meanings | {f"/{prefix}{name}": _END_OF_FILE for name in ("urlset", "sitemapindex")}


def _sitemap_records(source: _Source, prefix: str, tags: Iterable[_Tag]) -> Iterator[_Record]:
    """An entry lasts until the next one begins, not until its end tag: that may be missing, doubled or misplaced."""
    meanings = _sitemap_meanings(prefix)
    record: _Record = {}
    field, value = "", ""
    is_whole = False
    for tag, text in tags:
        meaning = meanings.get(tag)
        if meaning is None:
            meaning = meanings.get(_tag_name(tag).lower(), _FOREIGN)
            # A file has few tags, many times; those with attributes are many.
            if len(meanings) < _MAX_MEANINGS:
                meanings[tag] = meaning
        if meaning is _FOREIGN or (meaning is _ENTRY and field and not value.strip()):
            # Inside a field everything else only lends its text: <loc><url>…</url></loc> exists.
            if field and len(value) < _MAX_TEXT_CHARACTERS:
                value += text
            continue
        if field:
            record.setdefault(field, value)
            field = ""
        if meaning is _END:
            continue
        if meaning is _END_OF_FILE:
            is_whole = True
        elif meaning is _ENTRY or (meaning == "loc" and "loc" in record):
            if record:
                yield record
            # <sitemap>https://…</sitemap> without <loc> exists, too.
            record = {"text": text} if meaning is _ENTRY else {}
        if (meaning in _SITEMAP_FIELDS or meaning == "published") and not tag.endswith("/"):
            field, value = meaning, text
    if field:
        record.setdefault(field, value)
    if record:
        yield record
    if not is_whole:
        source.note(Note.SITEMAP_CUT)


_FEED_FIELDS = {
    "link": "loc",
    "guid": "id",
    "id": "id",
    "pubdate": "lastmod",
    "updated": "lastmod",
    "published": "published",
    "dc:date": "published",
}


def _feed_records(source: _Source, prefix: str, tags: Iterable[_Tag]) -> Iterator[_Record]:
    """The items of a feed; links and dates outside of items are those of the feed itself."""
    record: _Record | None = None
    field, value = "", ""
    is_whole = False
    for tag, text in tags:
        full_name = _tag_name(tag).lower()
        name = full_name.replace(prefix.lower(), "", 1) if prefix else full_name
        if name in {"item", "entry", "/item", "/entry"}:
            if record:
                yield record
            record = {} if name[0] != "/" else None
        elif record is None:
            is_whole = is_whole or name in {"/rss", "/feed", "/rdf:rdf"}
        elif name in _FEED_FIELDS:
            field, value = _FEED_FIELDS[name], text
            if name == "link" and (href := _attribute(tag, "href")):
                field = ""
                if _attribute(tag, "rel") in {None, "alternate"}:
                    record.setdefault("loc", href)
        elif field:
            record.setdefault(field, value)
            field = ""
    if record:
        yield record
    if not is_whole:
        source.note(Note.SITEMAP_CUT)


# --- records to entries -----------------------------------------------------------------------------------

_CHANGE_FREQUENCIES = frozenset(["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"])


def _entry(record: _Record, base: str) -> SitemapEntry | None:
    get = record.get
    loc = _loc(get("loc") or get("text") or "", base) or _loc(get("id") or "", base)
    if loc is None:
        return None
    lastmod, changefreq, priority = get("lastmod") or get("published"), get("changefreq"), get("priority")
    return SitemapEntry(
        loc,
        posix_seconds(_unescaped(lastmod)) if lastmod else None,
        _changefreq(changefreq) if changefreq else None,
        _priority(priority) if priority else None,
    )


def _loc(text: str, base: str) -> str | None:
    """The absolute http(s) URL that `text` means, seen from the sitemap at `base`."""
    loc = _unescaped(text).strip()
    # U+FFFD: bytes that were not in the declared encoding; such a URL exists nowhere.
    if not loc or len(loc) > MAX_LOC_CHARACTERS or "\ufffd" in loc:
        return None
    if loc.startswith(("https://", "http://")) or loc[:8].lower().startswith(("https://", "http://")):
        return loc
    scheme, _, rest = base.partition("://")
    authority = rest.partition("/")[0]
    if loc.startswith("//"):
        return f"{scheme}:{loc}"
    if loc.startswith("/"):
        return f"{scheme}://{authority}{loc}"
    return f"{scheme}://{loc}" if loc.lower().startswith(f"{authority.lower()}/") else None


_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def _unescaped(text: str) -> str:
    """With the five entities and numeric references resolved, others gone, and a bare "&" as it stands.

    CDATA comes here too: "&amp;" inside of it is nearly always an escape by mistake.
    """
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")
    first, *parts = text.split("&")
    return first + "".join(_resolved(part) for part in parts)


def _resolved(part: str) -> str:
    name, semicolon, after = part.partition(";")
    if not semicolon:
        return f"&{part}"
    if name in _ENTITIES:
        return _ENTITIES[name] + after
    if name.startswith("#"):
        return _character(name[1:]) + after
    # An entity of a DTD that we do not read stands for nothing; "&b=2;" is part of a query.
    return after if name.isidentifier() else f"&{part}"


def _character(number: str) -> str:
    digits, base = (number[1:], 16) if number[:1] in {"x", "X"} else (number, 10)
    if not digits.isalnum() or not digits.isascii() or len(digits) > 8:
        return ""
    try:
        code = int(digits, base)
    except ValueError:
        return ""
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else ""


def _changefreq(text: str) -> str | None:
    word = text.strip().lower()
    return word if word in _CHANGE_FREQUENCIES else None


@lru_cache(maxsize=256)
def _priority(text: str) -> float | None:
    try:
        priority = float(text.strip()[:32].replace(",", "."))
    except ValueError:
        return None
    return priority if 0.0 <= priority <= 1.0 else None


# --- dates ------------------------------------------------------------------------------------------------

_LATEST_SECONDS = 4_102_444_800.0  # The year 2100.


@lru_cache(maxsize=4096)
def posix_seconds(text: str) -> float | None:
    """The moment that a W3C, ISO 8601, RFC 822 or commonly broken date means, UTC unless it says otherwise."""
    stripped = text.strip()
    if not 4 <= len(stripped) <= 64:
        return None
    for read in (_iso_seconds, _loose_iso_seconds, _mail_seconds, _numeric_seconds):
        try:
            seconds = read(stripped)
        # What the readers of the standard library raise on strange text differs from version to version.
        except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
            continue
        if seconds is not None:
            # "0001-01-01" and its like mean that nobody knows.
            return seconds if 0.0 < seconds < _LATEST_SECONDS else None
    return None


def _iso_seconds(text: str) -> float | None:
    if len(text) == 10 and text[4] == "-":
        return (date.fromisoformat(text).toordinal() - 719_163) * 86_400.0
    if text.isdigit() and len(text) in {4, 10, 13}:
        # A year, or a Unix time in seconds or milliseconds.
        number = int(text)
        return datetime(number, 1, 1, tzinfo=UTC).timestamp() if len(text) == 4 else number / 10 ** (len(text) - 10)
    found = datetime.fromisoformat(f"{text}-01" if len(text) == 7 else text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _loose_iso_seconds(text: str) -> float | None:
    """ISO 8601 with a zone that stands apart: "2009-08-16 12:00:00 +02:00", "… UTC"."""
    words = text.upper().replace("UTC", "Z").replace("GMT", "Z").split()
    return _iso_seconds("".join([f"{words[0]}T", *words[1:]])) if len(words) == 3 else None


def _mail_seconds(text: str) -> float | None:
    """RFC 822, as feeds write it."""
    from email.utils import mktime_tz, parsedate_tz  # with half of that package, for the few who write so

    found = parsedate_tz(text) if any(character.isalpha() for character in text) else None
    return None if found is None else float(mktime_tz(found))


def _numeric_seconds(text: str) -> float | None:
    """Three numbers of a date in any writing that is not ambiguous, then perhaps those of a time."""
    separated = "".join(character if character.isdigit() else " " for character in text)
    numbers = [int(number) for number in separated.split()]
    first, second, third = numbers[:3]
    if first > 31:
        year, month, day = first, second, third
    elif "." in text[:6] or "-" in text[:6] or first > 12:
        year, month, day = third, second, first
    elif second > 12:
        year, month, day = third, first, second
    else:
        return None
    hour, minute, second = (*numbers[3:6], 0, 0, 0)[:3]
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
