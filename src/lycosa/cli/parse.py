"""`lycosa parse`: what the crawler reads out of one page."""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.cli.arguments import add_stage_options, new_parser, parse_url, read_bytes, stage_settings
from lycosa.cli.printing import console, print_facts, print_json, print_table, say
from lycosa.errors import LycosaError, SettingsError
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lycosa.hooks import PageView, Request
    from lycosa.model import Page, RawLink
    from lycosa.page.content import Block
    from lycosa.page.summary import Method, Scored
    from lycosa.settings import Settings
    from lycosa.url.memo import Link

_EXAMPLES = """\
  lycosa parse https://example.org/
  lycosa parse page.html --base https://example.org/a/
  lycosa parse page.html --content
  lycosa parse page.html --why
  lycosa parse https://books.example.com/ --site -c lycosa.toml
  curl -s https://example.org/ | lycosa parse - --json | jq .links
"""
# The two of the lecture project this crawler began with, and the one that finds most (docs/decisions/0055).
METHODS: tuple[Method, ...] = ("frequency", "tfidf", "weight")
_SHOWN_WORDS = 5


class PageSource(NamedTuple):
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


class Reasons(NamedTuple):
    """The blocks of the page, and per method all sentences of its text."""

    blocks: list[Block]
    sentences: dict[Method, list[Scored]]


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "parse",
        "Parse one page exactly as a crawl would. Verdicts are those of a crawl that starts at this page.",
        _EXAMPLES,
    )
    add_source_options(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--text", action="store_true", help="only the text, all of it")
    shown.add_argument("--content", action="store_true", help="only the main content")
    shown.add_argument("--summary", choices=METHODS, metavar="METHOD", help=f"only one summary: {', '.join(METHODS)}")
    shown.add_argument("--why", action="store_true", help="why content and summaries are what they are, word by word")
    shown.add_argument("--links", action="store_true", help="only the links")
    shown.add_argument("--site", action="store_true", help="what rules of its site, and hooks, make of it")
    add_stage_options(parser)
    parser.set_defaults(run=run)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """How a page is named: a file or a URL."""
    parser.add_argument("source", metavar="FILE|URL", help="a file, - for standard input, or a URL to fetch")
    parser.add_argument("--base", metavar="URL", default="http://file.invalid/", help="where a file's page is from")
    parser.add_argument("--content-type", metavar="TYPE", default="", help="what the server said a file's page is")


def run(options: argparse.Namespace) -> int:
    from lycosa.page.digest import telling_text
    from lycosa.page.encoding import decode
    from lycosa.page.installation import what_is_missing
    from lycosa.page.media import Media, media_of
    from lycosa.page.summary import summarise
    from lycosa.wiring.worker import digester, page_parser

    settings = stage_settings(options)
    if missing := what_is_missing():
        say(missing)
    source = source_of(settings, options)
    if options.site:
        return _show_site(settings, source, as_json=options.json)
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
        print_json(facts | {"summaries": summaries})
    elif options.text:
        print(visible_lines(page.text))
    elif options.content:
        print(visible_lines(page.content))
    elif options.links:
        _print_links(links)
    elif options.summary:
        print(visible_lines(summarise(text, options.summary, count).text))
    elif options.why:
        _print_why(_reasons(decoded.text if media is Media.HTML else "", source.url, text, count))
    else:
        _print(facts, links, _reasons("", source.url, text, count))
    return 0


def view_of(settings: Settings, source: PageSource) -> PageView:
    """A page as hooks see it."""
    from lycosa.hooks import PageView
    from lycosa.model import Response, Target
    from lycosa.wiring.worker import page_parser

    page = page_parser(settings).parse(source.body, source.content_type, source.x_robots, url=source.url)
    links = [link.url for link in _links(settings, source.url, page) if link.url]
    headers = [("content-type", source.content_type)] if source.content_type else []
    response = Response(source.url, 200, headers, source.body, source.body, b"", b"", "", "", 0.0, 0.0)
    return PageView(Target(source.url, "", b""), response, page, links)


def _show_site(settings: Settings, source: PageSource, *, as_json: bool) -> int:
    from lycosa.hooks import HookFailed, encoded, load_hooks, request_facts, yielded
    from lycosa.site_rules import SiteTable, in_words

    rules, view = SiteTable(settings.site).of(source.url), view_of(settings, source)
    items = view.records(rules)
    requests: list[Request] = []
    if hook := load_hooks(settings.hooks).on_page:
        try:
            more, requests = yielded(hook, view)
            items += [msgspec.json.decode(item) for item in encoded(more)]
        except HookFailed as error:
            raise LycosaError(str(error)) from error
    asked = [request_facts(each) for each in requests]
    if as_json:
        print_json(
            {"url": source.url, "rules": in_words(rules), "links": view.links, "items": items, "requests": asked}
        )
        return 0
    console().print(visible(source.url), style="bold")
    told = in_words(rules) or ["none: its site has no table in the settings (-c FILE)"]
    print_facts([("rule", line) for line in told], indent="  ")
    note = "the page is what a stranger sees: only crawls log in" if rules.login else ""
    count = f"{len(view.links):,} that count"
    print_facts([("note", note), ("links", count), ("records", f"{len(items):,}")], indent="  ")
    for item in items:
        print(visible(msgspec.json.encode(item).decode()))
    for each in asked:
        print_facts([("request", visible(each))], indent="  ")
    return 0


def source_of(settings: Settings, options: argparse.Namespace) -> PageSource:
    """The page that the user named."""
    from lycosa.cli.fetch import fetch

    is_url = options.source.startswith(("http://", "https://")) and not Path(options.source).exists()
    if not is_url:
        # Without a server to say it, the file's name does.
        content_type = options.content_type or mimetypes.guess_type(options.source)[0] or ""
        return PageSource(read_bytes(Path(options.source)), parse_url(options.base).url, content_type)
    url = parse_url(options.source)
    fetched = asyncio.run(fetch(settings, url))
    if fetched.response is None:
        assert fetched.error is not None
        why = sentence_of(fetched.error.reason, fetched.error.detail)
        raise SettingsError(f"{url.url} cannot be fetched: {visible(why)}")
    response = fetched.response
    x_robots = [value for name, value in response.headers if name == "x-robots-tag"]
    return PageSource(response.body, response.url, response.header("content-type"), x_robots)


def _links(settings: Settings, url: str, page: Page) -> list[ParsedLink]:
    from lycosa.url.canonical import FETCHED, ParsedUrl, parse
    from lycosa.url.fingerprint import Fingerprinter
    from lycosa.url.memo import LinkMemo, LinkPolicy

    policy = LinkPolicy.from_settings(settings, [parse_url(url)], Fingerprinter(bytes(16)))
    base = parse(page.base, url, FETCHED) if page.base else None
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


def _reasons(html: str, url: str, text: str, sentences: int) -> Reasons:
    """What is known of every block of a page, and of every sentence of its telling text."""
    from lycosa.page.content import explain
    from lycosa.page.summary import why

    blocks = explain(html, url)[1] if html else []
    return Reasons(blocks, {method: why(text, method, sentences) for method in METHODS})


def _print_why(found: Reasons) -> None:
    _print_blocks(found.blocks)
    for method, sentences in found.sentences.items():
        print()
        _print_summary(method, sentences, with_words=True)


def _print(facts: dict[str, Any], links: list[ParsedLink], found: Reasons) -> None:
    out = console()
    out.print(visible(facts["title"] or facts["url"]), style="bold")
    directives = [name for name in ("noindex", "nofollow", "noarchive") if facts[name]]
    charset = f"{facts['charset']} (from: {facts['charset_source']})" if facts["charset"] else ""
    print_facts(
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
            print(visible_lines(facts[title]))
    for method, sentences in found.sentences.items():
        if sentences:
            print()
            _print_summary(method, sentences, with_words=False)


def _language(facts: dict[str, Any]) -> str:
    found, declared = facts["language"], facts["declared_language"]
    return f"{found} (the page says {declared})" if declared and declared != found else str(found)


def _print_links(links: list[ParsedLink]) -> None:
    print_table(["link", "verdict", "anchor"], [(link.url or link.href, link.verdict, link.anchor) for link in links])


def _print_blocks(blocks: list[Block]) -> None:
    """The blocks in the page's order: kept or not, with both scores."""
    rows = [("yes" if block.is_content else "", block.score, block.alone, block.tag, block.text) for block in blocks]
    print_table(["kept", "score", "alone", "in", "text"], rows, title="blocks")


def _print_summary(method: Method, sentences: list[Scored], *, with_words: bool) -> None:
    """The chosen sentences in the order of the text; with the words that gave them most, if asked for."""
    columns = ["sentence", "score", "text", "words that count most"]
    rows = [(one.place + 1, one.score, one.text, _words(one)) for one in sentences if one.is_chosen]
    shown = 4 if with_words else 3
    print_table(columns[:shown], [row[:shown] for row in rows], title=f"summary by {method}")


def _words(sentence: Scored) -> str:
    best = sorted(sentence.words.items(), key=lambda given: -given[1])[:_SHOWN_WORDS]
    return ", ".join(f"{word} {worth:.2f}" for word, worth in best)
