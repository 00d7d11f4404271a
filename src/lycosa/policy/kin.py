"""The kin of a URL: which URLs of a host share its fate, so that trouble with some says nothing of the others. Pure.

A wiki answers 403 to every "edit" link and gives every article; strangers link to pages that were never there. Neither
says that the host is down, or that it has banned us. What a host answers to kinds of URLs that gave pages before does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

from lycosa.url.domain import registered_domain
from lycosa.url.template import template_of

# So many of a host's kinds are remembered: a site has few that pages come from at one time.
MAX_KINDS = 8
_OWN = 1  # the lowest bit: its own site names it
_HASH = 0x7FFF_FFFE


def kin_of(url: str, referrer: str) -> int:
    """The kind of a URL within its host, in 31 bits that are the same in every process.

    The lowest is set if its own site names it, or the operator (a seed has no referrer); a stranger's word is less.
    """
    path_at = url.find("/", 8)
    tail = url[path_at:] if path_at > 0 else "/"
    return _hash_of(tail) | (_OWN if _is_own(url, path_at, referrer) else 0)


def is_evidence(kin: int, given: Sequence[int]) -> bool:
    """Whether trouble with a URL of this kind says something of its host, which gave pages of those kinds.

    Strangers' words count for a host that nobody but strangers speaks of.
    """
    if not given:
        return True
    return kin in given and (bool(kin & _OWN) or not any(kind & _OWN for kind in given))


def remember(kin: int, kinds: Sequence[int], at_most: int = MAX_KINDS) -> list[int]:
    """The kinds with this one added: each once, the latest last, the earliest forgotten."""
    return [*(kind for kind in kinds if kind != kin), kin][-at_most:]


def _is_own(url: str, path_at: int, referrer: str) -> bool:
    # Most links lead from a page to another of its origin.
    if not referrer or (path_at > 0 and referrer.startswith(url[: path_at + 1])):
        return True
    return registered_domain(_host_of(url)) == registered_domain(_host_of(referrer))


def _host_of(url: str) -> str:
    authority = url.partition("://")[2].partition("/")[0]
    return authority[: authority.find("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


# A URL is judged when it is given out and again when it is settled, soon after.
@lru_cache(maxsize=4096)
def _hash_of(path_and_query: str) -> int:
    path, question_mark, query = template_of(path_and_query).partition("?")
    first, *rest = path[1:].split("/")
    # Words are titles where there is nothing else: a wiki would have as many kinds as articles. The first folder tells
    # the parts of a site apart.
    words = ["{word}" if segment.isalpha() else segment for segment in rest]
    kind = "/".join([first, *words] if words else ["{word}" if first.isalpha() else first])
    return crc32(f"{kind}{question_mark}{query}".encode("utf-8", "replace")) & _HASH
