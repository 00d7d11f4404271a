"""What an audit says: findings, each under one rule, and the figures that were measured on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Enum

import msgspec


class Rule(Enum):
    """What a finding breaks."""

    LOST = "a page that should have been asked for was not, and is not queued either"
    NOT_KEPT = "a page was asked for and answered, and yet was not kept"
    LINK_LOST = "a link of a kept page is unknown to the frontier"
    UNSEEN = "the crawl tells of an answer to a request that the server never saw"
    EXTRA = "a URL was asked for more often than its visits and retries explain"
    HOST_GAP = "two requests to a host stand closer than its pause"
    ADDRESS_GAP = "two requests to an address stand closer than wanted"
    DOMAIN_GAP = "two requests to a registered domain stand closer than wanted"
    DISALLOWED = "a URL was asked for that robots.txt disallows"
    ROBOTS_FIRST = "a page was asked for before the robots.txt of its host"
    LATE = "a settlement came after its lease had ended; it changed nothing, but its fetch was in vain"
    INVALID_WARC = "a WARC file, or a record in it, is not whole"
    INVALID_PARQUET = "a Parquet file cannot be read"
    LEFT_OPEN = "a file is marked as being written, and nobody writes it"
    ROW_WITHOUT_RECORD = "a row of the pages table names a WARC record that is not there"
    RECORD_WITHOUT_ROW = "a WARC record has no row in the pages table"
    PAGE_WITHOUT_ROW = "the frontier counts a page as kept that has no row in the pages table"
    OUTCOME_WITHOUT_ROW = "the frontier knows how a visit ended that has no row in the pages table"
    DOUBLED = "a URL has more rows than it had visits"
    VANISHED = "a URL was taken in, and is neither queued nor has it an outcome"
    COUNTERS = "a counter of the frontier is not what its tables add up to"
    STRANDED = "a host has something queued and stands in no line: it would never be visited again"

    @property
    def word(self) -> str:
        """The name as a command line takes it."""
        return self.name.lower().replace("_", "-")


class Finding(msgspec.Struct, frozen=True):
    """One broken promise: the rule, the URL, host or file it is about, and what was seen."""

    rule: Rule
    about: str
    seen: str = ""


class AuditReport(msgspec.Struct):
    """The outcome of an audit. `allowed` are findings of a rule that a crash explains; past them it is not clean."""

    figures: dict[str, float | int | str | None] = msgspec.field(default_factory=dict)
    findings: list[Finding] = msgspec.field(default_factory=list)
    allowed: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, rule: Rule, about: str, seen: str = "") -> None:
        self.findings.append(Finding(rule, about, seen))

    def counts(self) -> Counter[Rule]:
        """How many findings each rule has."""
        return Counter(finding.rule for finding in self.findings)

    def of(self, rule: Rule) -> list[Finding]:
        """The findings of one rule."""
        return [finding for finding in self.findings if finding.rule is rule]

    def is_clean(self) -> bool:
        """Whether no rule has more findings than are allowed."""
        return all(count <= self.allowed.get(rule.word, 0) for rule, count in self.counts().items())

    def as_json(self) -> Mapping[str, object]:
        """The whole report for machines."""
        return {
            "is_clean": self.is_clean(),
            "figures": self.figures,
            "counts": {rule.word: self.counts()[rule] for rule in Rule},
            "allowed": self.allowed,
            "findings": [
                {"rule": finding.rule.word, "about": finding.about, "seen": finding.seen} for finding in self.findings
            ],
        }
