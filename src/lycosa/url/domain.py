"""The registered domain of a host: the name that somebody bought, by the Public Suffix List."""

from __future__ import annotations

from functools import lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=16_384)
def registered_domain(host: str) -> str:
    """`example.co.uk` for `a.b.example.co.uk`. Addresses, public suffixes and single labels stand for themselves.

    `host` is as in `ParsedUrl`: ASCII, lower case. Owners under a private suffix (`me.github.io`) count as domains
    of their own: they share nothing but their host's operator.
    """
    if is_address(host):
        return host
    return _suffixes().privatesuffix(host) or host


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address: by the URL standard, any host whose last label is a number."""
    return host.startswith("[") or host.rpartition(".")[2].isdecimal()


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
