"""`lycosa audit`: whether a crawl kept its promises."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import add_json_option, new_parser, place
from lycosa.cli.printing import print_facts, print_json, print_table, say
from lycosa.errors import SettingsError

if TYPE_CHECKING:
    from lycosa.audit import AuditReport

EXIT_FINDINGS = 3
MAX_SHOWN = 20
_DESCRIPTION = """\
Check a crawl against its own files: every WARC record and Parquet file whole, a row for every record and a record
for every row, counters that add up, no URL asked for twice, pauses kept, robots.txt obeyed. With the request log of
the simulated web (--log) the server's word counts instead of the crawl's; with its truth (--truth) also what was
missed is known. Exit code 0: clean; 3: findings."""
_EXAMPLES = """\
  lycosa audit --folder broad
  lycosa audit --folder crawl --log requests.jsonl --truth truth.json --json
  lycosa audit --folder one --folder two --log requests.jsonl      (two machines of one crawl)
  lycosa audit --folder crawl --allow extra=64      (after a crash: what was under way may be fetched twice)
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(commands, "audit", _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "--folder",
        type=place,
        action="append",
        metavar="DIR",
        help="the folder of the crawl (default: crawl), or s3://…; once for each machine that took part",
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="the request log of the simulated web")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="the output of `lycosa simweb truth --json`")
    parser.add_argument("--links", action="store_true", help="read every page again and look for its links, too")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="how often each page was due (default: 1)")
    parser.add_argument("--host-gap", type=float, metavar="SECONDS", help="instead of the crawl's min_delay_seconds")
    parser.add_argument("--address-gap", type=float, metavar="SECONDS", help="instead of its ip_delay_seconds")
    parser.add_argument("--domain-gap", type=float, metavar="SECONDS", help="instead of domain_delay_seconds")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE=N", help="so many findings are no fault")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.audit import Question, audit
    from lycosa.crawl.restart import kept_settings
    from lycosa.inspect.opened import open_folder
    from lycosa.settings import Settings

    folders = [open_folder(each) for each in options.folder or [Path("crawl")]]
    question = Question(
        log=options.log,
        truth=options.truth,
        runs=options.runs,
        host_gap_seconds=options.host_gap,
        address_gap_seconds=options.address_gap,
        domain_gap_seconds=options.domain_gap,
        allowed=dict(_allowance(text) for text in options.allow),
        has_links=options.links,
        is_running=any(folder.running_process() for folder in folders),
    )
    # By defaults other pauses would be wanted than those that were kept.
    report = audit(folders, kept_settings(folders[0], {}) or Settings(), question)
    if options.json:
        print_json(report.as_json())
    else:
        _print(report)
    return 0 if report.is_clean() else EXIT_FINDINGS


def _allowance(text: str) -> tuple[str, int]:
    from lycosa.audit import Rule

    word, _, number = text.partition("=")
    words = [rule.word for rule in Rule]
    if word not in words or not number.isdecimal():
        raise SettingsError(f"--allow takes RULE=NUMBER, not {text!r}; rules: {', '.join(words)}")
    return word, int(number)


def _print(report: AuditReport) -> None:
    print_facts((name, _figure(value)) for name, value in report.figures.items())
    counts = report.counts()
    print()
    if not counts:
        print("clean: nothing found")
        return
    rows = [(rule.word, count, report.allowed.get(rule.word, 0), rule.value) for rule, count in counts.items()]
    print_table(["rule", "found", "allowed", "what it means"], rows, title="findings")
    print()
    print_table(
        ["rule", "about", "seen"],
        [(finding.rule.word, finding.about, finding.seen) for finding in report.findings[:MAX_SHOWN]],
    )
    if len(report.findings) > MAX_SHOWN:
        say(f"{len(report.findings) - MAX_SHOWN:,} more; --json gives all")


def _figure(value: object) -> str:
    if value is None:
        return "none"
    return (
        f"{value:,.6f}".rstrip("0").rstrip(".")
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
