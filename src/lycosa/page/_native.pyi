"""The compiled part: see native/html.h and content/native/content.h."""

from lycosa.model import RawLink

SECOND_FEATURES: int
WEIGHTS: int

class Model:
    """Two forests and two tables of word weights, read from a model file; ValueError if it is none."""

    def __new__(cls, data: bytes, /) -> Model: ...
    def extract(
        self, html: str, why: bool = False, /
    ) -> tuple[tuple[str, ...], list[tuple[str, str, float, float, bool]] | None]:
        """The texts found, in the order of `Found` in extract.py, and each block with its scores where wanted."""
    def sums(self, columns: bytes, way: int, /) -> bytes | None:
        """What the second forest adds up of such columns, by one of the ways that this machine knows."""

def read(
    html: str | bytes,
    agent: str,
    link_type: type[RawLink],
    max_links: int,
    max_depth: int,
    max_elements: int,
    max_chars: int,
    model: Model | None,
    /,
) -> tuple[tuple[str, str, str, str, list[str], str, str], list[RawLink], str, str, bool, tuple[str, ...] | None]:
    """A text, or UTF-8 bytes of one, to what is read of it.

    Title, description, base, canonical, refreshes, language, robots; links, text, headings, whether it is past the
    limits; with a model, the texts found in the order of `Found`, of the last only what may have labels.
    """

def steps() -> int:
    """How many steps the last page read took in looking through open elements, formatting elements and links."""

def is_utf8(body: bytes, /) -> bool:
    """Whether bytes are UTF-8 without an error, as Python's decoder sees it."""

def describe(
    html: str,
    text_weights: bytes | None = None,
    class_weights: bytes | None = None,
    scores: bytes | None = None,
    /,
) -> tuple[int, int, bytes, list[str], list[bytes], list[bytes]]: ...
def lay_out(html: str, /) -> str: ...
def feature_names() -> list[str]: ...
