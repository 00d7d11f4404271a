"""The compiled part: see native/content.h."""

SECOND_FEATURES: int
WEIGHTS: int

class Model:
    """Two forests and two tables of word weights, read from a model file; ValueError if it is none."""

    def __new__(cls, data: bytes, /) -> Model: ...
    def extract(
        self, html: str, why: bool = False, /
    ) -> tuple[tuple[str, ...], list[tuple[str, str, float, float, bool]] | None]:
        """The texts found, in the order of `Found` in extract.py, and each block with its scores where wanted."""

def describe(
    html: str,
    text_weights: bytes | None = None,
    class_weights: bytes | None = None,
    scores: bytes | None = None,
    /,
) -> tuple[int, int, bytes, list[str], list[bytes], list[bytes]]: ...
def lay_out(html: str, /) -> str: ...
def feature_names() -> list[str]: ...
