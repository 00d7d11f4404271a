"""In which class URLs wait, in bounded memory: what is forgotten is looked up where it matters, in the history."""

from __future__ import annotations

from array import array

# Nine bytes each.
MAX_PLACES = 1 << 20
_MIN_PLACES = 1 << 10
_MARK_BYTES = 8


class WaitingClasses:
    """The classes of URLs by their fingerprints. A place holds the last that fell on it."""

    def __init__(self, capacity: int) -> None:
        places = max(_MIN_PLACES, min(MAX_PLACES, 1 << max(capacity - 1, 0).bit_length()))
        self._mask = places - 1
        self._marks = array("Q", bytes(_MARK_BYTES * places))
        self._numbers = bytearray(places)

    @property
    def size_bytes(self) -> int:
        return (_MARK_BYTES + 1) * len(self._numbers)

    def class_of(self, fingerprint: bytes) -> int:
        """The class in which a URL waits; 0 for one that is visited or not known here."""
        mark = int.from_bytes(fingerprint[-_MARK_BYTES:])
        place = mark & self._mask
        return self._numbers[place] if self._marks[place] == mark else 0

    def note(self, fingerprint: bytes, number: int) -> None:
        """It waits in this class from now on."""
        mark = int.from_bytes(fingerprint[-_MARK_BYTES:])
        place = mark & self._mask
        self._marks[place], self._numbers[place] = mark, number

    def forget(self, fingerprint: bytes) -> None:
        """It waits no longer."""
        if self.class_of(fingerprint):
            self.note(fingerprint, 0)

    note_visited = forget
