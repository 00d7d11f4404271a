"""The compiled part: see native/cash.h."""

class Cash:
    """Cash of URLs and the links of visited pages, by fingerprints of eight bytes."""

    def __new__(
        cls,
        max_bytes: int,
        max_links: int,
        rules: tuple[float, float, float, float, int, float, float, float],
        reach: tuple[float, ...],
        /,
    ) -> Cash: ...
    def settle(self, fingerprint: bytes, links: bytes, named: int, worth: float, weights: bytes, /) -> bytes:
        """A page was visited; the classes of the first `named` links, a byte each."""

    def arrive(self, links: bytes, /) -> bytes:
        """Links of pages that are counted elsewhere; their classes."""

    def cash_of(self, fingerprint: bytes, /) -> float: ...
    def class_of(self, fingerprint: bytes, /) -> int: ...
    def forget(self, fingerprint: bytes, is_visited: bool, /) -> None: ...
    def size_bytes(self) -> int: ...
