"""`lycosa page`: a page as it was kept, at any of its visits."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser, parse_moment, parse_url
from lycosa.cli.printing import console, print_facts, print_json, print_table, say, write_body
from lycosa.errors import SettingsError
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, moment, size, visible, visible_lines

if TYPE_CHECKING:
    from lycosa.model import Response, Visit
    from lycosa.store.folder import CrawlFolder
    from lycosa.store.read import Version

_EXAMPLES = """\
  lycosa page https://example.org/ --text
  lycosa page https://example.org/ --versions
  lycosa page https://example.org/ --diff                          what the last change was
  lycosa page https://example.org/ --diff 2031-05-01 2031-06-01
  lycosa page https://example.org/ --at 2031-05-01T10:00:00Z --raw > page.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "page",
        "Read a page back as it was kept: what is known of it and its text, or its bytes, or its headers.",
        _EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="a URL that was visited")
    add_folder_option(parser)
    parser.add_argument("--at", metavar="TIME", help="the version in force then (default: the newest)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--raw", action="store_true", help="only its body, content codings removed")
    shown.add_argument("--rendered", action="store_true", help="only its document as a browser showed it")
    shown.add_argument("--text", action="store_true", help="only its text")
    shown.add_argument("--headers", action="store_true", help="only the response's status line and headers")
    shown.add_argument("--versions", action="store_true", help="list all visits of the URL")
    shown.add_argument(
        "--diff",
        nargs="*",
        metavar="TIME",
        help="what changed in its text between two moments, from one until now, or with the last change",
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_folder

    with opened_folder(options.folder) as folder:
        _show(folder, options)
    return 0


def _show(folder: CrawlFolder, options: argparse.Namespace) -> None:
    url = parse_url(options.url, is_kept=True).url
    if options.versions:
        _list_versions(folder, url, as_json=options.json)
        return
    if options.diff is not None:
        _show_changes(folder, url, options.diff, as_json=options.json)
        return
    version = _find(folder, url, options.at)
    if options.raw:
        write_body(_response(folder, version.visit))
    elif options.rendered:
        write_body(_rendered(folder, version.visit))
    elif options.headers:
        print(visible_lines(_response(folder, version.visit).head.decode("latin-1")))
    elif options.text:
        print(visible_lines(_text(folder, version)))
    elif options.json:
        print_json({**_facts(version.visit), "text": _text(folder, version)})
    else:
        _print(version.visit, _text(folder, version))


def _find(folder: CrawlFolder, url: str, at: str | None) -> Version:
    from lycosa.store.read import page_at, versions

    then = parse_moment(at) if at else None
    if (version := page_at(folder, url, then)) is not None:
        return version
    visits = versions(folder, url)
    if not visits:
        raise SettingsError(f"{url}: this crawl has no visit of it; `lycosa why` says why")
    if then is not None and visits[0].fetched_at > then:
        first = moment(visits[0].fetched_at)
        raise SettingsError(f"{url}: there is no version that old; the first visit was {first}")
    last = visits[-1]
    reason = f": {visible(sentence_of(last.reason, last.detail))}" if last.reason else ""
    raise SettingsError(f"{url}: no visit gave a page; the last one ended as {last.outcome.name.lower()}{reason}")


def _response(folder: CrawlFolder, visit: Visit) -> Response:
    from lycosa.store.read import response_of_visit

    response = response_of_visit(folder, visit)
    if response is None:
        raise SettingsError(f"{visit.url}: the bytes of this visit were not kept")
    return response


def _rendered(folder: CrawlFolder, visit: Visit) -> Response:
    """The response with the document that a browser made of it for a body."""
    response = _response(folder, visit)
    if response.rendering is None or not response.rendering.html:
        why = sentence_of(visit.rendered or visit.render_cause) or "it was not rendered"
        raise SettingsError(f"{visit.url}: there is no rendered document: {why}")
    return msgspec.structs.replace(response, body=response.rendering.html)


def _text(folder: CrawlFolder, version: Version) -> str:
    if version.text is not None:
        return version.text
    # So far only the journal has this visit, and texts are not in it.
    from lycosa.inspect.opened import folder_settings
    from lycosa.wiring.worker import page_parser

    response = _response(folder, version.visit)
    parser = page_parser(folder_settings(folder))
    html = response.rendering and response.rendering.html
    page = parser.parse(html or response.body, response.header("content-type"), url=version.visit.url)
    return "" if page.noindex else page.text


def _facts(visit: Visit) -> dict[str, Any]:
    facts = msgspec.structs.asdict(visit)
    return facts | {"outcome": visit.outcome.name.lower(), "fetched": moment(visit.fetched_at)}


def _list_versions(folder: CrawlFolder, url: str, *, as_json: bool) -> None:
    from lycosa.store.read import versions

    visits = versions(folder, url)
    if as_json:
        print_json([_facts(visit) for visit in visits])
        return
    if not visits:
        raise SettingsError(f"{url}: this crawl has no visit of it; `lycosa why` says why")
    print_table(
        ["fetched at", "outcome", "status", "bytes", "seconds", "digest", "note"],
        [
            (
                moment(visit.fetched_at),
                visit.outcome.name.lower(),
                visit.status,
                visit.body_bytes,
                round(visit.fetch_seconds, 3),
                visit.digest,
                sentence_of(visit.reason, visit.detail) or (f"duplicate of {visit.original}" if visit.original else ""),
            )
            for visit in visits
        ],
    )


# ---- what changed

_COLOURS = {"-": "red", "+": "green"}


def _show_changes(folder: CrawlFolder, url: str, moments: list[str], *, as_json: bool) -> None:
    """The lines that came and went between two versions."""
    from lycosa.inspect.differences import differences

    if len(moments) > 2:
        raise SettingsError("--diff takes two moments at most: from when, and until when")
    old, new = _last_change(folder, url) if not moments else (_find(folder, url, each) for each in (*moments, None)[:2])
    changes = list(differences(_text(folder, old), _text(folder, new)))
    if as_json:
        told = [{"change": change.kind, "line": change.text} for change in changes if change.kind in _COLOURS]
        print_json({"url": url, "from": old.visit.fetched_at, "until": new.visit.fetched_at, "changes": told})
        return
    out = console()
    out.print(f"--- {moment(old.visit.fetched_at)}", style="bold")
    out.print(f"+++ {moment(new.visit.fetched_at)}", style="bold")
    if not changes:
        say("nothing changed in the text")
    for kind, line in changes:
        out.print("…" if kind == "gap" else f"{kind} {visible(line)}", style=_COLOURS.get(kind, "dim"))


def _last_change(folder: CrawlFolder, url: str) -> tuple[Version, Version]:
    """The newest version, and the newest before it that said something else."""
    new = _find(folder, url, None)
    from lycosa.store.read import page_at, versions

    for visit in reversed(versions(folder, url)):
        is_older = visit.fetched_at < new.visit.fetched_at and visit.outcome.is_page
        if is_older and visit.text_digest and visit.text_digest != new.visit.text_digest:
            old = page_at(folder, url, visit.fetched_at)
            assert old, "a visit with a text is a version"
            return old, new
    raise SettingsError(f"{url}: its text has not changed so far; `lycosa page URL --versions` lists the visits")


def _rendering_of(visit: Visit) -> str:
    return ", since ".join(sentence_of(code) for code in (visit.rendered, visit.render_cause) if code)


def _print(visit: Visit, text: str) -> None:
    console().print(visible(visit.title or visit.url), style="bold")
    where = f"{visit.warc_file} at {visit.warc_offset:,}" if visit.warc_offset >= 0 else ""
    print_facts(
        [
            ("url", visit.url),
            ("fetched", moment(visit.fetched_at)),
            ("outcome", f"{visit.outcome.name.lower()}, status {visit.status}"),
            ("duplicate of", visit.original),
            ("type", f"{visit.media_type or 'not given'}, {visit.charset or 'no charset'}"),
            ("language", visit.language),
            ("description", visit.description),
            ("size", f"{size(visit.body_bytes)} in {duration(visit.fetch_seconds)}"),
            ("cut", visit.truncated),
            ("depth", f"{visit.depth}, found on {visit.referrer or 'no page: it is a seed'}"),
            ("links", f"{visit.out_links:,}"),
            ("rendered", _rendering_of(visit)),
            ("note", sentence_of(visit.reason, visit.detail)),
            ("kept in", where),
        ],
        indent="  ",
    )
    if text:
        print()
        print(visible_lines(text))
