"""`lycosa shell`: a Python prompt with a page at hand."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lycosa.cli.arguments import add_stage_options, new_parser
from lycosa.cli.parse import add_source_options, source_of, view_of

_EXAMPLES = """\
  lycosa shell https://books.example.com/
  lycosa shell page.html --base https://books.example.com/ --code 'print(css("h1")[0].text)'
"""
_BANNER = """\
{url}
  page    what hooks are given: page.title, page.text, page.status, page.url_of(href) …
  tree    its tree              css("h1 a")    elements by CSS
  links   where it leads        xpath("//a")   elements by XPath
  items   what the rules of its site make of it (-c FILE)"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands, "shell", "Open a Python prompt with a page: its tree, its links, its selectors.", _EXAMPLES
    )
    add_source_options(parser)
    parser.add_argument("--code", metavar="PYTHON", help="run this instead of asking for more")
    add_stage_options(parser)
    parser.set_defaults(run=run, json=False)


def run(options: argparse.Namespace) -> int:
    import code
    import traceback

    from lycosa.cli.arguments import stage_settings
    from lycosa.site_rules import SiteTable

    settings = stage_settings(options)
    page = view_of(settings, source_of(settings, options))
    names: dict[str, Any] = {
        "page": page,
        "tree": page.tree,
        "links": page.links,
        "css": page.css,
        "xpath": page.xpath,
        "items": page.records(SiteTable(settings.site).of(page.url)),
    }
    if options.code is None:
        code.interact(_BANNER.format(url=page.url), local=names, exitmsg="")
        return 0
    try:
        exec(compile(options.code, "<code>", "exec"), names)  # noqa: S102 - the user's own, from the command line
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return 1
    return 0
