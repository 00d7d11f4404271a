"""The compiled part: see native/links.h."""

from collections.abc import Callable, Iterable, Sequence

from lycosa.model import RawLink
from lycosa.url.memo import KnownLink, Link, OriginFacts, Renaming
from lycosa.url.rules import QueryRules
from lycosa.url.scope import Verdict

class Remembered:
    """Fingerprints in two generations, `limit` in all; what has another length than eight bytes is not kept."""

    def __new__(cls, limit: int, /) -> Remembered: ...
    def __contains__(self, fingerprint: object, /) -> bool: ...
    def add(self, fingerprints: Iterable[bytes], /) -> None: ...
    def meet(self, fingerprint: bytes, /) -> bool:
        """One that is remembered is met on one more page: whether it is to be sent again."""

class Decider:
    """Decides the links of pages by what it was told of the crawl, and asks for what it was not told."""

    def __new__(
        cls,
        secret: bytes,
        kinds: tuple[bytes, bytes],
        limits: tuple[int, int, int],
        rules: QueryRules,
        asks_key: bool,
        max_origins: int,
        asked: tuple[
            Callable[[str], OriginFacts | tuple[()] | None],
            Callable[[str, str, str], Verdict],
            Callable[[str, str], str],
            Callable[[str, str, str], Link],
            Callable[[str, str], Link],
        ],
        link_type: type[KnownLink],
        in_scope: Verdict,
        /,
    ) -> Decider: ...
    def decide(
        self,
        base: str,
        links: list[RawLink],
        also: tuple[str, ...],
        encoding: str,
        is_utf8: bool,
        remembered: Remembered,
        renamed: Renaming | None,
        is_followed: bool,
        obeys_nofollow: bool,
        tells_others: bool,
        /,
    ) -> tuple[list[str], list[str], list[str], list[str], list[str], list[bytes], bytes]:
        """Columns, in the order of `FoundLinks`."""

    def count_new(self, base: str, hrefs: list[str], remembered: Remembered, /) -> int:
        """How many are in scope and not remembered."""

    def origins(self) -> int:
        """How many origins are kept."""

def may_name_others(links: Sequence[RawLink], /) -> bool:
    """Whether some href may have another scheme than those of the web; one beyond ASCII may."""

def keyed_hash(secret: bytes, text: bytes, digest_bytes: int, /) -> bytes:
    """BLAKE2b of a text that is not empty."""
