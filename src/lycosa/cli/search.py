"""`lycosa search`: pages by their words."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser
from lycosa.cli.index import tell_progress
from lycosa.cli.printing import console, print_json_text, say
from lycosa.inspect.wording import moment, visible, visible_lines

if TYPE_CHECKING:
    from lycosa.search.results import Hit, Results, Snippet

_EXAMPLES = """\
  lycosa search list comprehension
  lycosa search '"dead tuples" site:example.org/docs -draft'      a phrase, one part of a site, a word to leave out
  lycosa search 'title:installation lang:de after:2031-05'        words of the title, a language, a date (or before:)
  lycosa search 安装 --limit 20 --why
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "search",
        "Find pages of a crawl by their words, the best first, near duplicates as one. Before it answers, the index "
        "in the crawl's folder is brought up to the pages that are in the tables.",
        _EXAMPLES,
    )
    parser.add_argument("words", nargs="+", metavar="WORDS", help="what to search for; operators as below")
    add_folder_option(parser)
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="results to show (default: 10)")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="results to pass over (default: 0)")
    parser.add_argument("--why", action="store_true", help="the parts of each score")
    parser.add_argument("--opensearch", action="store_true", help="an RSS feed with OpenSearch's elements")
    add_json_option(parser)
    parser.set_defaults(run=run, unwanted=[])


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_folder
    from lycosa.search import open_index
    from lycosa.search.formats import as_json, as_opensearch
    from lycosa.search.query import parse_query

    text = " ".join((*options.words, *options.unwanted))
    parse_query(text)  # so that nobody waits for an index to hear of a mistake
    with opened_folder(options.folder) as folder, open_index(folder) as index:
        if index.update(tell_progress()).is_busy:
            say("the index is being brought up to date by another process; this is what it has so far")
        results = index.search(text, options.limit, options.offset)
    if options.json:
        print_json_text(as_json(results))
    elif options.opensearch:
        print(visible_lines(as_opensearch(results, "")))
    else:
        _print(results, has_why=options.why)
    return 0


def _print(results: Results, *, has_why: bool) -> None:
    shown = f"{results.total:,} of {results.pages:,} pages in {1000 * results.seconds:.0f} ms"
    relaxed = "; none has all words, these have some of them" if results.is_relaxed else ""
    say(shown + relaxed)
    for number, hit in enumerate(results.hits, results.offset + 1):
        _print_hit(number, hit, has_why=has_why)


def _print_hit(number: int, hit: Hit, *, has_why: bool) -> None:
    from rich.text import Text

    out = console()
    out.print()
    title = _marked(hit.title_spans) if hit.title else Text(visible(hit.url))
    out.print(Text.assemble((f"{number}. ", "dim"), title))
    facts = " · ".join(filter(None, (hit.language, moment(hit.fetched_at))))
    out.print(Text.assemble("   ", (visible(hit.url), "cyan"), (f"  {facts}", "dim")))
    out.print(Text.assemble("   ", _marked(hit.snippet)))
    if hit.also:
        out.print(Text(f"   and {len(hit.also)} like it: {', '.join(map(visible, hit.also[:3]))}", style="dim"))
    if has_why:
        parts = " + ".join(f"{name} {value:.2f}" for name, value in hit.why.items() if value)
        out.print(Text(f"   {hit.score:.2f} = {parts}", style="dim"))


def _marked(snippet: Snippet) -> Any:
    from rich.text import Text

    return Text.assemble(*((visible(text), "bold yellow" if is_hit else "") for text, is_hit in snippet))
