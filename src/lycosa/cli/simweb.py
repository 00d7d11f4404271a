"""`lycosa simweb`: serve a simulated internet, print what is true of it, or show one of its pages."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.cli.commands import COMMANDS

if TYPE_CHECKING:
    from lycosa.simweb import SimWeb, WebPlan
    from lycosa.simweb.hostile import HostileWeb
    from lycosa.simweb.quotes import QuotesWeb

    Web = SimWeb | HostileWeb | QuotesWeb

_DESCRIPTION = """\
A deterministic internet on this machine's loopback: any number of hosts and pages from one seed number, with
robots.txt, sitemaps, redirects, errors, duplicates, many languages, and its own DNS server. The same options
always give the same web, so what a crawl should find of it is known. Nothing outside this machine can reach it.

  lycosa simweb                        serve it until Ctrl-C; prints a crawl command to copy
  lycosa simweb --hostile              serve the worst of the web instead, each kind on a host of its name
  lycosa simweb --quotes               serve the site of docs/how-to/from-scrapy.md, to follow that page
  lycosa simweb truth --json           print every page, its links, and what a correct crawler finds
  lycosa simweb page URL               print one page as it is served

profiles: clean (plain pages, some disallowed, sitemaps, redirects), mixed (the default: errors, duplicates and
old encodings too), traps (mixed, with endless sections), bench (200 hosts x 50 pages of 28 KB with 53 links),
strewn (the same with 10,000 pages on each host, most links to any of them, written in many ways)."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command and its subcommands."""
    parser = commands.add_parser(
        "simweb",
        help=COMMANDS["simweb"],
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_options(parser, is_default=True)
    parser.set_defaults(run=_serve)
    actions = parser.add_subparsers(title="actions", metavar="serve | truth | page")
    for name, run, help_ in (
        ("serve", _serve, "serve the web until Ctrl-C (also without any action)"),
        ("truth", _truth, "print what is true of the web"),
        ("page", _page, "print one page of the web"),
    ):
        action = actions.add_parser(name, help=help_, description=help_[0].upper() + help_[1:] + ".")
        _add_options(action, is_default=False)
        action.set_defaults(run=run)
        if name == "page":
            action.add_argument("url", metavar="URL", help="any URL of the web; its port is used in the links")


def _add_options(parser: argparse.ArgumentParser, *, is_default: bool) -> None:
    """The options of a web; an action's own copies have no defaults, so that they hide nothing given before it."""

    def add(name: str, default: object, help_: str, **more: object) -> None:
        value = default if is_default else argparse.SUPPRESS
        parser.add_argument(name, default=value, help=help_, **more)  # type: ignore[arg-type]

    add("--profile", "mixed", "clean, mixed, traps, bench or strewn (default: mixed)", metavar="NAME")
    add("--seed", 1, "the number everything is drawn from (default: 1)", type=int, metavar="N")
    add("--hosts", None, "how many hosts (default: 50; bench, strewn: 200)", type=int, metavar="N")
    add("--pages", None, "how many pages on each host (default: 20; bench: 50; strewn: 10,000)", type=int, metavar="N")
    add("--port", 0, "the port of every host (default: any free one)", type=int, metavar="PORT")
    add("--dns-port", 0, "the port of the DNS server (default: any free one)", type=int, metavar="PORT")
    add("--log", None, "append every request to this file as a line of JSON", type=Path, metavar="FILE")
    add("--hostile", False, "good sites among every trap, tarpit and malformed answer there is", action="store_true")
    add("--quotes", False, "a site of quotations to learn scraping from", action="store_true")
    add("--json", False, "print for machines", action="store_true")


def _plan(args: argparse.Namespace) -> WebPlan:
    from lycosa.simweb import WebPlan

    sizes = {"hosts": args.hosts, "pages_per_host": args.pages}
    given = {name: size for name, size in sizes.items() if size is not None}
    return WebPlan.named(args.profile, seed=args.seed, **given)


def _serve(args: argparse.Namespace) -> int:
    import uvloop

    from lycosa.simweb import Listening, SimWeb
    from lycosa.simweb.hostile import BEHAVIOURS, HostileWeb
    from lycosa.simweb.quotes import QuotesWeb

    try:
        plan = _plan(args)
    except ValueError as error:
        return _refuse(error)
    listening = Listening(port=args.port, dns_port=args.dns_port, log_file=args.log, is_log_kept=False)
    web: Web
    if args.hostile:
        web = HostileWeb(bad_hosts=tuple(BEHAVIOURS), listening=listening)
    else:
        web = QuotesWeb(listening) if args.quotes else SimWeb(plan, listening)
    try:
        uvloop.run(_serve_until_stopped(web, args))
    except OSError as error:  # a port in use, a log file that cannot be written
        return _refuse(error)
    return 0


async def _serve_until_stopped(web: Web, args: argparse.Namespace) -> None:
    from lycosa.simweb.server import allow_many_connections

    allow_many_connections()
    is_stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, is_stopped.set)
    async with web:
        print(_ready_json(web) if args.json else _ready_text(web), flush=True)
        await is_stopped.wait()
        if not args.json:
            print(f"\n{web.request_count:,} requests answered")


def _ready_json(web: Web) -> str:
    import msgspec

    ready = {"port": web.port, "dns_address": web.dns_address, "seeds": web.seeds, "crawl": _crawl_command(web)}
    return msgspec.json.encode(ready).decode()


def _ready_text(web: Web) -> str:
    return (
        f"{web.describe()} on port {web.port}, DNS at {web.dns_address}\n"
        f"seed: {' '.join(web.seeds)}\n\n"
        f"crawl it with\n  {_crawl_command(web)}\n\n"
        "Ctrl-C stops"
    )


def _crawl_command(web: Web) -> str:
    servers = shlex.quote(f'dns_servers=["{web.dns_address}"]')
    return f"lycosa crawl {' '.join(web.seeds)} --scope any --open-network 127.0.0.0/8 --set {servers}"


def _truth(args: argparse.Namespace) -> int:
    from lycosa.simweb.layout import Layout
    from lycosa.simweb.truth import truth_of
    from lycosa.simweb.web import seeds_of

    try:
        layout = Layout(_plan(args))
    except ValueError as error:
        return _refuse(error)
    port = args.port or 80
    truth = truth_of(layout, port, seeds_of(layout, port))
    if args.json:
        print(truth.to_json().decode())
        return 0
    disallowed = sum(not page.is_allowed for page in truth.pages.values())
    print(f"seed            {' '.join(truth.seeds)}")
    print(f"URLs            {len(truth.pages):,}, {disallowed:,} of them disallowed by robots.txt")
    print(f"to be asked for {len(truth.reachable):,} ({len(truth.reachable_by_links):,} without sitemaps)")
    print(f"to be stored    {len(truth.storable):,}")
    print(f"duplicates      {len(truth.exact_groups):,} exact groups, {len(truth.near_groups):,} near groups")
    print(f"endless         {len(truth.trap_prefixes):,} trap sections")
    return 0


def _page(args: argparse.Namespace) -> int:
    from lycosa.simweb.web import reply_to

    try:
        reply = reply_to(_plan(args), args.url)
    except ValueError as error:
        return _refuse(error)
    if args.json:
        import msgspec

        head, body = reply.head.decode("latin-1"), b"".join(reply.body).decode("utf-8", "replace")
        print(msgspec.json.encode({"status": reply.status, "head": head, "body": body}).decode())
        return 0
    print(reply.head.decode("latin-1"), file=sys.stderr)
    sys.stdout.buffer.write(b"".join(reply.body))
    return 0


def _refuse(error: Exception) -> int:
    print(f"lycosa simweb: {error}", file=sys.stderr)
    return 2
