"""Columns of texts, written down as pages come; compiled where that can be. Knows Arrow's layout, but not Arrow."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol


class TextColumn(Protocol):
    """Texts on their way to a table. Half surrogate pairs, which have no UTF-8 form, are replaced."""

    def __len__(self) -> int: ...

    def append(self, text: str, /) -> None: ...

    def extend(self, texts: Sequence[str], /) -> None: ...

    def take(self) -> tuple[bytes, bytes]:
        """Where each ends, and all of them; from now on it is empty."""


class PlainTextColumn:
    """A list of texts, which are put together at the end."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []

    def __len__(self) -> int:
        return len(self._texts)

    def append(self, text: str, /) -> None:
        self._texts.append(text.encode("utf-8", "replace"))

    def extend(self, texts: Sequence[str], /) -> None:
        self._texts += [text.encode("utf-8", "replace") for text in texts]

    def take(self) -> tuple[bytes, bytes]:
        texts, self._texts = self._texts, []
        return array("i", accumulate(map(len, texts), initial=0)).tobytes(), b"".join(texts)


def _find_column() -> type[TextColumn]:
    try:
        from lycosa.store._native import TextColumn as compiled
    except ImportError:  # not built
        return PlainTextColumn
    return compiled


new_text_column = _find_column()
