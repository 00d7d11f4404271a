"""Results as others take them: plain text, JSON, OpenSearch, with all escaped that comes from pages."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

import msgspec

from lycosa.search.results import Results, plain

OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
# Characters that no XML may have, not even written as references.
_NOT_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)])


def as_json(results: Results) -> str:
    """One object; in snippets each span has its text and whether it is a hit."""
    value = msgspec.to_builtins(results)
    for hit in value["hits"]:
        for name in ("snippet", "title_spans"):
            hit[name] = [{"text": text, "is_hit": is_hit} for text, is_hit in hit[name]]
    return msgspec.json.encode(value).decode()


def as_text(results: Results) -> str:
    """A result per paragraph: title, URL, snippet; hits stand between asterisks."""
    blocks = []
    for number, hit in enumerate(results.hits, results.offset + 1):
        marked = "".join(f"*{text}*" if is_hit else text for text, is_hit in hit.snippet)
        blocks.append(f"{number}. {hit.title or hit.url}\n{hit.url}\n{marked}\n")
    return "\n".join(blocks)


def as_opensearch(results: Results, search_url: str) -> str:
    """An RSS feed with OpenSearch's elements; `search_url` is the page where people see these results."""
    items = "".join(
        f"<item><title>{_xml(hit.title or hit.url)}</title><link>{_xml(hit.url)}</link>"
        f"<description>{_xml(plain(hit.snippet))}</description>"
        f"<pubDate>{_moment(hit.fetched_at)}</pubDate></item>"
        for hit in results.hits
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<rss version="2.0" xmlns:opensearch="{OPENSEARCH}"><channel>'
        f"<title>{_xml(results.query)}</title><link>{_xml(search_url)}</link><description>lycosa search</description>"
        f"<opensearch:totalResults>{results.total}</opensearch:totalResults>"
        f"<opensearch:startIndex>{results.offset + 1}</opensearch:startIndex>"
        f"<opensearch:itemsPerPage>{results.limit}</opensearch:itemsPerPage>"
        f'<opensearch:Query role="request" searchTerms={quoteattr(results.query.translate(_NOT_XML))}/>'
        f"{items}</channel></rss>\n"
    )


def opensearch_description(base_url: str) -> str:
    """What a browser reads to add a search; below `base_url` are `search` (for people) and `search.rss`."""
    base = base_url.rstrip("/")
    query = "?q={searchTerms}&amp;offset={startIndex?}&amp;limit={count?}"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<OpenSearchDescription xmlns="{OPENSEARCH}"><ShortName>lycosa</ShortName>'
        "<Description>The pages of a crawl</Description><InputEncoding>UTF-8</InputEncoding>"
        f'<Url type="text/html" indexOffset="0" template="{_xml(base)}/search{query}"/>'
        f'<Url type="application/rss+xml" indexOffset="0" template="{_xml(base)}/search.rss{query}"/>'
        "</OpenSearchDescription>\n"
    )


def _xml(text: str) -> str:
    return escape(text.translate(_NOT_XML), {'"': "&quot;"})


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
