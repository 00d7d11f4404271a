"""The registered domain of a host: the name that somebody bought, by the Public Suffix List.

The list is publicsuffixlist's, the lookup our own: that package takes 50 ms to read it, as long as all imports of a
small command, since it encodes each of the 10,000 rules by IDNA.
"""

from __future__ import annotations

import pkgutil
import re
from functools import lru_cache

# A rule ends at the first blank; `//` begins a comment.
_RULE = re.compile(r"^[^\s/]\S*", re.MULTILINE)
_ENCODED = "xn--"


@lru_cache(maxsize=8_192)
def registered_domain(host: str) -> str:
    """`example.co.uk` for `a.b.example.co.uk`. Addresses, public suffixes and single labels stand for themselves.

    `host` is as in `ParsedUrl`: ASCII, lower case. Owners under a private suffix (`me.github.io`) count as domains
    of their own: they share nothing but their host's operator.
    """
    labels = host.removesuffix(".").split(".")
    if is_address(host) or "" in labels:
        return host
    rules = _encoded_rules() if _ENCODED in host else _rules()
    owned = _public_labels(labels, rules) + 1
    return ".".join(labels[-owned:]) if owned <= len(labels) else host


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address: by the URL standard, any host whose last label is a number."""
    return host.startswith("[") or host.rpartition(".")[2].isdecimal()


def _public_labels(labels: list[str], rules: frozenset[str]) -> int:
    """How many of the last labels are a public suffix."""
    for start in range(len(labels)):
        name, count = ".".join(labels[start:]), len(labels) - start
        if f"!{name}" in rules:
            return count - 1
        if f"*.{name}" in rules:
            # What a rule stands for any name under is a suffix itself.
            return count + 1 if start else count
        if name in rules:
            return count
    return 1


@lru_cache(maxsize=1)
def _rules() -> frozenset[str]:
    """The rules for names in plain ASCII: all but one in twenty."""
    return frozenset(rule for rule in _all_rules() if rule.isascii())


@lru_cache(maxsize=1)
def _encoded_rules() -> frozenset[str]:
    """Those and, as such names are written in URLs, the rules for names in other letters."""
    return _rules().union(_encoded(rule) for rule in _all_rules() if not rule.isascii())


def _encoded(rule: str) -> str:
    mark = "!" if rule.startswith("!") else ""
    return mark + rule.removeprefix("!").encode("idna").decode("ascii")


def _all_rules() -> list[str]:
    text = pkgutil.get_data("publicsuffixlist", "public_suffix_list.dat")
    assert text, "the list is part of the package"
    return _RULE.findall(text.decode().lower())
