"""`lycosa fetch`: one request through the crawler's own fetcher, gate and limits."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.cli.arguments import add_stage_options, new_parser, parse_url, stage_settings
from lycosa.cli.printing import console, print_facts, print_json, write_body
from lycosa.errors import AddressRefused, VisitError
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, moment, visible

if TYPE_CHECKING:
    from lycosa.model import Response
    from lycosa.settings import Settings
    from lycosa.url.canonical import ParsedUrl

EXIT_FAILED = 3
_EXAMPLES = """\
  lycosa fetch https://example.org/
  lycosa fetch http://localhost:8000/ --open-network 127.0.0.0/8 --open-network ::1/128
  lycosa fetch https://example.org/ --body > page.html
"""


class Fetched(NamedTuple):
    """One exchange, or the error it ended with; and what the name resolved to before."""

    addresses: dict[str, bool]
    dns_seconds: float
    response: Response | None
    error: VisitError | None


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "fetch",
        "Fetch one URL exactly as a crawl would, without following redirects and without asking robots.txt.",
        _EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="the URL to fetch")
    parser.add_argument("--body", action="store_true", help="write the body to standard output, and nothing else")
    add_stage_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    settings = stage_settings(options)
    url = parse_url(options.url)
    fetched = asyncio.run(fetch(settings, url))
    if options.json:
        print_json(_facts(url, fetched))
    elif options.body and fetched.response is not None:
        write_body(fetched.response)
    else:
        _print(url, fetched)
    return 0 if fetched.error is None else EXIT_FAILED


async def fetch(settings: Settings, url: ParsedUrl) -> Fetched:
    """Fetch a URL through the same parts as a crawl; what the gate thinks of each address is told beside it."""
    from lycosa.clock import steady_clock
    from lycosa.fetch.dns import Resolver
    from lycosa.fetch.gate import AddressGate
    from lycosa.wiring.worker import make_fetcher

    gate, resolver = AddressGate(settings.open_networks), Resolver(settings.dns_servers, steady_clock())
    fetcher = make_fetcher(settings, steady_clock())
    started = time.monotonic()
    addresses: dict[str, bool] = {}
    dns_seconds = 0.0
    try:
        found = await resolver.addresses(url.host)
        dns_seconds = time.monotonic() - started
        addresses = {address: gate.permits(address) for address in found}
        return Fetched(addresses, dns_seconds, await fetcher.fetch(url.url), None)
    except VisitError as error:
        return Fetched(addresses, dns_seconds, None, error)
    finally:
        await fetcher.close()
        await resolver.close()


def _facts(url: ParsedUrl, fetched: Fetched) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "url": url.url,
        "addresses": fetched.addresses,
        "dns_seconds": fetched.dns_seconds,
        "reason": str(fetched.error.reason) if fetched.error else "",
        "detail": fetched.error.detail if fetched.error else "",
        "is_refused": isinstance(fetched.error, AddressRefused),
    }
    if (response := fetched.response) is not None:
        body = {"body_bytes": len(response.body), "raw_body_bytes": len(response.raw_body)}
        bare = {"body", "raw_body", "head", "request_head", "request_body", "url"}
        facts |= {name: value for name, value in msgspec.structs.asdict(response).items() if name not in bare} | body
    return facts


def _print(url: ParsedUrl, fetched: Fetched) -> None:
    out = console()
    out.print(visible(url.url), style="bold")
    addresses = [f"{address}{'' if is_open else ' (closed)'}" for address, is_open in fetched.addresses.items()]
    found = f"{', '.join(addresses)} in {duration(fetched.dns_seconds)}" if addresses else ""
    response = fetched.response
    if response is None:
        assert fetched.error is not None
        failed = sentence_of(fetched.error.reason, fetched.error.detail)
        is_refused = isinstance(fetched.error, AddressRefused)
        hint = "--open-network CIDR opens a network to this command" if is_refused else ""
        print_facts([("addresses", found), ("failed", failed), ("hint", hint)], indent="  ")
        return
    coded = f" ({len(response.raw_body):,} as it came)" if len(response.raw_body) != len(response.body) else ""
    print_facts(
        [
            ("status", f"{response.status}{' (a redirect)' if response.is_redirect else ''}"),
            ("address", f"{response.address}, {response.protocol}"),
            ("addresses", found),
            ("began", moment(response.started_at)),
            ("took", duration(response.seconds)),
            ("body", f"{len(response.body):,} bytes{coded}"),
            ("cut", f"by {response.truncated}" if response.truncated else ""),
        ],
        indent="  ",
    )
    print()
    print_facts(response.headers, indent="  ")
