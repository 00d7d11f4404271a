"""What an index has of a page: its fields, and a page as a document of them."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
import tantivy

from lycosa.search.query import base_code
from lycosa.search.tokens import BAR, analysed, barred_tokens_of, tokens_of

# Of another number, an index is made anew.
FORMAT = 2
# The same row holds what the index has taken in; it changes in the commit that takes it in.
STATE_KEY = 0
MAX_PLACES = 6
MAX_STORED_CHARS = 200_000
_MIN_CONTENT_CHARS = 200
_SEPARATORS = re.compile(r"[^\w]+|_")
_INDEX_FILES = re.compile(r"\.(?:html?|php|aspx?|jsp|xhtml|txt)$|^(?:index|default)$", re.IGNORECASE)


class Facts(msgspec.Struct, frozen=True, array_like=True):
    """What a result shows of a page, beside its text."""

    url: str
    title: str
    host: str
    language: str
    fetched_at: float
    published: str


class PageRow(NamedTuple):
    """A page as its row of the tables has it, as far as it matters here: the columns have these names."""

    url: str
    host: str
    fetched_at: int  # microseconds
    language: str
    title: str
    description: str
    text: str
    content: str
    headings: str
    published: str
    group_id: str
    text_digest: str
    original: str
    out_links: int


def pages_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("group", fast=True)
    builder.add_unsigned_field("copied", fast=True)
    builder.add_integer_field("at", fast=True)
    builder.add_integer_field("dated", indexed=True, fast=True)
    builder.add_float_field("quality", fast=True)
    for name in ("language", "place"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "headings", "address", "body", "rest"):
        builder.add_text_field(name, tokenizer_name="whitespace")
    builder.add_bytes_field("facts", stored=True)
    builder.add_bytes_field("text", stored=True)
    return builder.build()


def anchors_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("part", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("anchors", tokenizer_name="whitespace")
    builder.add_bytes_field("facts", stored=True)
    return builder.build()


def id_of(key: int) -> str:
    """A key as a word: what is deleted is named by words, since tantivy deletes nothing that is named by a number."""
    return f"{key:016x}"


def key_of(text: str) -> int:
    """64 bits that stand for a URL or a group; 0 for none."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little") or 1


_encode = msgspec.msgpack.Encoder().encode
decode_facts = msgspec.msgpack.Decoder(Facts).decode


def page_document(page: PageRow) -> tantivy.Document:
    """The document of a page."""
    language = page.language
    main = page.content if len(page.content) >= _MIN_CONTENT_CHARS else page.text
    document = tantivy.Document()
    key = key_of(page.url)
    document.add_unsigned("key", key)
    document.add_text("id", id_of(key))
    document.add_unsigned("group", key_of(page.group_id or page.text_digest or page.url))
    document.add_unsigned("copied", int(bool(page.original)))
    document.add_integer("at", page.fetched_at // 1_000_000)
    document.add_integer("dated", _dated(page))
    document.add_float("quality", quality_of(len(main), len(page.text), page.out_links, has_title=bool(page.title)))
    document.add_text("language", base_code(language))
    for place in places_of(page.url, page.host):
        document.add_text("place", place)
    document.add_text("title", " ".join(barred_tokens_of([page.title], language)))
    document.add_text("headings", " ".join(barred_tokens_of(page.headings.split("\n"), language)))
    document.add_text("address", " ".join(address_tokens(page.url, language)))
    document.add_text("body", f"{analysed(main, language)} {BAR} {analysed(page.description, language)}")
    if main is not page.text:
        document.add_text("rest", analysed(_beside(page.text, main), language))
    facts = Facts(page.url, page.title, page.host, language, page.fetched_at / 1_000_000, page.published)
    document.add_bytes("facts", _encode(facts))
    document.add_bytes("text", main[:MAX_STORED_CHARS].encode("utf-8", "replace"))
    return document


def places_of(url: str, host: str) -> list[str]:
    """What `site:` finds a page by: its host, the domains above it, and the folders below it."""
    labels = host.split(".")
    places = [".".join(labels[at:]) for at in range(len(labels))]
    rest = url.partition("://")[2]
    authority, _, path = rest.partition("/")
    if authority != host:
        places.append(authority.lower())
    folders = path.partition("?")[0].lower().strip("/").split("/")
    for site in {host, authority.lower()}:
        places += ["/".join((site, *folders[:depth])) for depth in range(1, min(len(folders), MAX_PLACES) + 1)]
    return places


def address_tokens(url: str, language: str) -> list[str]:
    """The words of a URL: its path before all; of the host what is not `www` or a top-level domain."""
    host, _, path = url.partition("://")[2].partition("/")
    words = [word for word in host.partition(":")[0].split(".")[:-1] if word != "www"]
    for piece in unquote(path).split("/"):
        if name := _INDEX_FILES.sub("", piece):
            words += [BAR, *_SEPARATORS.split(name)]
    return [token for word in words for token in ([BAR] if word == BAR else tokens_of(word, language))]


def quality_of(main_chars: int, all_chars: int, out_links: int, *, has_title: bool) -> float:
    """From 0 to 1: how much there is to read, against links and navigation."""
    length = min(1.0, main_chars / 1500)
    share = main_chars / all_chars if all_chars else 0.0
    prose = main_chars / (main_chars + 60 * out_links) if main_chars else 0.0
    return 0.4 * length + 0.2 * share + 0.3 * prose + 0.1 * has_title


def _beside(text: str, main: str) -> str:
    """The lines of a page's text that are not in its main content."""
    lines = {line.strip() for line in main.split("\n")}
    return "\n".join(line for line in text.split("\n") if line.strip() not in lines)


def _dated(page: PageRow) -> int:
    """When a page was published if it says so, else when it was fetched; seconds."""
    from datetime import UTC, datetime

    if page.published:
        for form in (page.published, page.published + "-01", page.published + "-01-01"):
            try:
                at = datetime.fromisoformat(form)
            except ValueError:
                continue
            return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    return page.fetched_at // 1_000_000
