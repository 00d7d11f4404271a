"""Whether the rules of a robots.txt allow a path: in time linear in rules and path, whatever they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from lycosa.robots.parse import RobotsRules, Rule, canonical_path

# Past these a Disallow forbids all that begins like it and an Allow is ignored: never less polite than asked. 43,000
# of them, which fit into one file, would take 0.2 s for a long path.
MAX_WILDCARDS = 5_000
# (length of the pattern, is allowed, pattern as written): the greatest wins, so the longest, then Allow.
_Verdict = tuple[int, bool, str]
_SILENCE: _Verdict = (0, True, "")


class RobotsDecision(msgspec.Struct, frozen=True, gc=False):
    """Whether a path may be fetched, and the rule that decided; None: no rule speaks of it."""

    allowed: bool
    rule: Rule | None = None


class _Wildcard(msgspec.Struct, frozen=True, gc=False):
    """A pattern with `*` inside, cut at its stars: head, then every part in order, then tail at the very end."""

    needle: str
    head: str
    parts: tuple[str, ...]
    tail: str
    verdict: _Verdict

    @property
    def wants_query(self) -> bool:
        return any("?" in part for part in (self.head, self.tail, *self.parts))

    def matches(self, path: str) -> bool:
        # Greedy from the left is right, as each part needs to be found only once: no backtracking, so the work is
        # linear in path and pattern.
        end = len(path) - len(self.tail)
        at = len(self.head)
        if at > end or not path.startswith(self.head) or not path.endswith(self.tail):
            return False
        for part in self.parts:
            at = path.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


class RobotsMatcher:
    """The rules of one file, made ready for many questions; each costs time linear in rules and path at worst."""

    __slots__ = ("_exact", "_parents", "_prefixes", "_verdicts", "_wildcards", "_wildcards_without_query")

    def __init__(self, rules: RobotsRules) -> None:
        prefixes: dict[str, _Verdict] = {}
        wildcards: list[_Wildcard] = []
        self._exact: dict[str, _Verdict] = {}
        for allowed, pattern in _with_index_pages(rules.rules):
            _sort_in(pattern, (len(pattern), allowed, pattern), self._exact, prefixes, wildcards)
        self._prefixes = sorted(prefixes)
        self._parents, self._verdicts = _nested(self._prefixes, prefixes)
        # The first that matches is the one that counts.
        wildcards.sort(key=lambda wildcard: wildcard.verdict, reverse=True)
        self._wildcards = [(wildcard.needle, wildcard) for wildcard in wildcards]
        self._wildcards_without_query = [
            (needle, wildcard) for needle, wildcard in self._wildcards if not wildcard.wants_query
        ]

    def allows(self, path_and_query: str) -> bool:
        """Whether our agent may fetch this path, given as it stands in the URL."""
        return self._verdict(path_and_query)[1]

    def explain(self, path_and_query: str) -> RobotsDecision:
        """The same answer as `allows`, with the rule that decided."""
        length, allowed, pattern = self._verdict(path_and_query)
        return RobotsDecision(allowed=allowed, rule=(allowed, pattern) if length else None)

    def _verdict(self, path: str) -> _Verdict:
        if "%" in path or not path.isascii():
            path = canonical_path(path)
        verdict = self._exact.get(path, _SILENCE)
        # The last prefix not greater than the path, or one of the prefixes of that, is the longest that fits.
        at = bisect_right(self._prefixes, path) - 1
        while at >= 0:
            if path.startswith(self._prefixes[at]):
                verdict = max(verdict, self._verdicts[at])
                break
            at = self._parents[at]
        for needle, wildcard in self._wildcards if "?" in path else self._wildcards_without_query:
            if needle in path:
                if wildcard.verdict <= verdict:
                    break
                if wildcard.matches(path):
                    verdict = wildcard.verdict
                    break
        # RFC 9309 2.2.2: the file itself is always allowed.
        return _SILENCE if path == "/robots.txt" else verdict


def _with_index_pages(rules: tuple[Rule, ...]) -> Iterator[Rule]:
    for allowed, pattern in rules:
        yield allowed, pattern
        # Google's rule: who allows /a/index.html allows /a/, which is the same page.
        if allowed and "/index.htm" in pattern:
            directory, _, name = pattern.rpartition("/")
            if name.startswith("index.htm"):
                yield True, f"{directory}/$"


def _sort_in(
    pattern: str,
    verdict: _Verdict,
    exact: dict[str, _Verdict],
    prefixes: dict[str, _Verdict],
    wildcards: list[_Wildcard],
) -> None:
    is_anchored = pattern.endswith("$")
    # Escaped stars and dollars become bare only here, after the cut, and so stand for themselves.
    head, *parts = [canonical_path(part) for part in pattern.removesuffix("$").split("*")]
    if is_anchored and not parts:
        exact[head] = max(verdict, exact.get(head, _SILENCE))
    elif not any(parts) or (len(wildcards) >= MAX_WILDCARDS and not verdict[1]):
        prefixes[head] = max(verdict, prefixes.get(head, _SILENCE))
    elif len(wildcards) < MAX_WILDCARDS:
        tail = parts.pop() if is_anchored else ""
        inner = tuple(part for part in parts if part)
        wildcards.append(_Wildcard(max((head, tail, *inner), key=len), head, inner, tail, verdict))


def _nested(ordered: list[str], verdicts: dict[str, _Verdict]) -> tuple[list[int], list[_Verdict]]:
    """For each prefix in order: the longest other prefix that it begins with, and the best verdict of both."""
    parents: list[int] = []
    best: list[_Verdict] = []
    for at, prefix in enumerate(ordered):
        parent = at - 1
        while parent >= 0 and not prefix.startswith(ordered[parent]):
            parent = parents[parent]
        parents.append(parent)
        best.append(max(verdicts[prefix], best[parent] if parent >= 0 else _SILENCE))
    return parents, best
