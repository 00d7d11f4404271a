"""`lycosa parse`: what the crawler reads out of one page."""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.cli import show
from lycosa.cli.parse_why import METHODS, Reasons, print_blocks, print_summary, reasons
from lycosa.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lycosa.model import Page, RawLink
    from lycosa.settings import Settings
    from lycosa.url.memo import Link

_EXAMPLES = """\
  lycosa parse https://example.org/
  lycosa parse page.html --base https://example.org/a/
  lycosa parse page.html --content
  lycosa parse page.html --why
  curl -s https://example.org/ | lycosa parse - --json | jq .links
"""


class Source(NamedTuple):
    """A page to be: its bytes, where it is from, and what its headers say."""

    body: bytes
    url: str
    content_type: str
    x_robots: Sequence[str] = ()


class ParsedLink(msgspec.Struct, frozen=True):
    """A link, where it leads, and whether a crawl that starts at this page follows it."""

    href: str
    url: str
    verdict: str
    anchor: str
    rel: str


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = show.new_parser(
        commands,
        "parse",
        "what is read out of a page: title, charset, links with verdicts, content, summaries",
        "Parse one page exactly as a crawl would. Verdicts are those of a crawl that starts at this page.",
        _EXAMPLES,
    )
    parser.add_argument("source", metavar="FILE|URL", help="a file, - for standard input, or a URL to fetch")
    parser.add_argument("--base", metavar="URL", default="http://file.invalid/", help="where a file's page is from")
    parser.add_argument("--content-type", metavar="TYPE", default="", help="what the server said a file's page is")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--text", action="store_true", help="only the text, all of it")
    shown.add_argument("--content", action="store_true", help="only the main content")
    shown.add_argument("--summary", choices=METHODS, metavar="METHOD", help=f"only one summary: {', '.join(METHODS)}")
    shown.add_argument("--why", action="store_true", help="why content and summaries are what they are, word by word")
    shown.add_argument("--links", action="store_true", help="only the links")
    show.add_stage_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.build import digester, page_parser
    from lycosa.page.digest import telling_text
    from lycosa.page.encoding import decode
    from lycosa.page.media import Media, media_of
    from lycosa.page.summary import summarise

    settings = show.stage_settings(options)
    source = _source(settings, options)
    page = page_parser(settings).parse(source.body, source.content_type, source.x_robots, url=source.url)
    links = _links(settings, source.url, page)
    decoded, media = decode(source.body, source.content_type), media_of(source.content_type, source.body)
    text, count = telling_text(page), settings.summary_sentences
    page_digest = digester(settings).read(page)
    facts = msgspec.structs.asdict(page) | {
        "url": source.url,
        "media": media.name.lower(),
        "charset_source": decoded.source if page.charset else "",
        "language": page_digest.language,
        "declared_language": page.language,
        "text_digest": page_digest.text_digest.hex(),
        "links": links,
    }
    if options.json:
        summaries = {method: summarise(text, method, count).sentences for method in METHODS}
        show.print_json(facts | {"summaries": summaries})
    elif options.text:
        print(show.visible_lines(page.text))
    elif options.content:
        print(show.visible_lines(page.content))
    elif options.links:
        _print_links(links)
    elif options.summary:
        print(show.visible_lines(summarise(text, options.summary, count).text))
    elif options.why:
        _print_why(reasons(decoded.text if media is Media.HTML else "", source.url, text, count))
    else:
        _print(facts, links, reasons("", source.url, text, count))
    return 0


def _source(settings: Settings, options: argparse.Namespace) -> Source:
    from lycosa.cli.fetch import fetch

    is_url = options.source.startswith(("http://", "https://")) and not Path(options.source).exists()
    if not is_url:
        # Without a server to say it, the file's name does.
        content_type = options.content_type or mimetypes.guess_type(options.source)[0] or ""
        return Source(show.read_bytes(Path(options.source)), show.parse_url(options.base).url, content_type)
    url = show.parse_url(options.source)
    fetched = asyncio.run(fetch(settings, url))
    if fetched.response is None:
        raise SettingsError(f"{url.url} cannot be fetched: {show.visible(fetched.error)}")
    response = fetched.response
    x_robots = [value for name, value in response.headers if name == "x-robots-tag"]
    return Source(response.body, response.url, response.header("content-type"), x_robots)


def _links(settings: Settings, url: str, page: Page) -> list[ParsedLink]:
    from lycosa.build import link_policy
    from lycosa.url.canonical import NO_LIMITS, ParsedUrl, parse
    from lycosa.url.fingerprint import Fingerprinter
    from lycosa.url.memo import LinkMemo

    policy = link_policy(settings, [show.parse_url(url)], Fingerprinter(bytes(16)))
    base = parse(page.base, url, NO_LIMITS) if page.base else None
    place = base.url if isinstance(base, ParsedUrl) else url
    decided = LinkMemo(policy).resolve_all(place, [link.href for link in page.links], page.charset or "utf-8")
    return [
        _parsed(raw, link, obeys_nofollow=settings.obey_nofollow, is_nofollow=page.nofollow)
        for raw, link in zip(page.links, decided, strict=True)
    ]


def _parsed(raw: RawLink, link: Link, *, obeys_nofollow: bool, is_nofollow: bool) -> ParsedLink:
    from lycosa.url.memo import Rejected

    if isinstance(link, Rejected):
        return ParsedLink(raw.href, "", link.reason.value, raw.anchor, raw.rel)
    verdict = link.verdict.value
    if link.in_scope:
        verdict = "nofollow" if obeys_nofollow and (is_nofollow or "nofollow" in raw.rel) else "followed"
    return ParsedLink(raw.href, link.url, verdict, raw.anchor, raw.rel)


def _print_why(found: Reasons) -> None:
    print_blocks(found.blocks)
    for method, sentences in found.sentences.items():
        print()
        print_summary(method, sentences, with_words=True)


def _print(facts: dict[str, Any], links: list[ParsedLink], found: Reasons) -> None:
    out = show.console()
    out.print(show.visible(facts["title"] or facts["url"]), style="bold")
    directives = [name for name in ("noindex", "nofollow", "noarchive") if facts[name]]
    charset = f"{facts['charset']} (from: {facts['charset_source']})" if facts["charset"] else ""
    show.print_facts(
        [
            ("url", facts["url"]),
            ("read as", facts["media"]),
            ("description", facts["description"]),
            ("charset", charset),
            ("language", _language(facts)),
            ("author", facts["author"]),
            ("published", facts["published"]),
            ("base", facts["base"]),
            ("canonical", facts["canonical"]),
            ("refresh to", facts["refresh"]),
            ("robots", ", ".join(directives)),
            ("cut", "parse limits were reached" if facts["truncated"] else ""),
            ("links", f"{len(links):,}, {sum(link.verdict == 'followed' for link in links):,} of them followed"),
            ("text", f"{len(facts['text']):,} characters, {len(facts['content']):,} of them content"),
        ],
        indent="  ",
    )
    if links:
        print()
        _print_links(links)
    for title in ("content", "comments") if facts["content"] else ("text",):
        if facts[title]:
            print()
            out.print(title, style="bold")
            print(show.visible_lines(facts[title]))
    for method, sentences in found.sentences.items():
        if sentences:
            print()
            print_summary(method, sentences, with_words=False)


def _language(facts: dict[str, Any]) -> str:
    found, declared = facts["language"], facts["declared_language"]
    return f"{found} (the page says {declared})" if declared and declared != found else str(found)


def _print_links(links: list[ParsedLink]) -> None:
    show.print_table(
        ["link", "verdict", "anchor"], [(link.url or link.href, link.verdict, link.anchor) for link in links]
    )
