"""Every error that may leave a part of lycosa, as one tree.

Three kinds: the operator must fix something (`SettingsError`, exit 2), this visit failed
(`VisitError`, recorded and the crawl goes on), the backend is lost (`BackendLost`, exit 1; of `Shortage`, which may
pass, the end is waited for).
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

# Whoever only catches errors, as every command does, need not know what they are made of.
if TYPE_CHECKING:
    from lycosa.model import Failure, Reason, Refusal

# What a machine may have again later: room on its disk, a disk that works, descriptors, memory.
_SHORT = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOBUFS,
)
# A library may quote a page.
MAX_SHORT_CHARACTERS = 100


class LycosaError(Exception):
    """Anything lycosa raises on purpose."""


class SettingsError(LycosaError):
    """The operator must change something: the message says what, and what was expected."""


class FolderInUse(SettingsError):
    """Another crawl holds this folder."""


class BackendLost(LycosaError):
    """The frontier or the store cannot go on; nothing acknowledged so far is lost."""


class Shortage(BackendLost):
    """The machine lacks what it may have again later: nothing is lost, and the crawl may go on then."""


class TooMuchMemory(LycosaError):
    """To read a page takes more memory than a page may take, which is this much."""


class NoNetwork(LycosaError):
    """Nobody can be reached from here: no host is to blame, nothing was sent, and nothing is recorded."""


def lost(message: str, error: Exception) -> BackendLost:
    """What an error of the disk, or of a library that uses it, means for the crawl."""
    number = error.errno if isinstance(error, OSError) else None
    is_short = number in _SHORT or any(os.strerror(each) in str(error) for each in _SHORT)
    return (Shortage if is_short else BackendLost)(f"{message}: {error}")


class VisitError(LycosaError):
    """This visit cannot go on; `reason` says why in one word, `detail` in the words of the neighbour."""

    def __init__(self, reason: Failure, detail: str = "", *, sent: bool = True) -> None:
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)
        self.reason = reason
        self.detail = detail
        # Whether a request may have reached the host: only then does the host's pause count.
        self.sent = sent

    @property
    def in_short(self) -> Reason:
        """What happened, the same for all to whom it happened: `connect`, `Connection refused`."""
        from lycosa.model import Failure, Reason

        # Libraries begin with what they did and where, end with what went wrong, and add its number in brackets.
        last = self.detail.rpartition(":")[2].partition(" (")[0].strip()
        # Of a timeout they tell the milliseconds.
        words = "" if self.reason is Failure.TIMEOUT else last[:MAX_SHORT_CHARACTERS]
        return Reason(self.reason, "".join(each if each.isprintable() else "?" for each in words))


class Unreachable(VisitError):
    """No whole HTTP response came back."""


class NoSuchName(Unreachable):
    """The name servers have spoken: there is no such name, or no address under it."""

    @property
    def in_short(self) -> Reason:
        from lycosa.model import Reason, Refusal

        return Reason(Refusal.NAME)


class PlaceRefused(VisitError):
    """What is asked for is in a place that is not open to this crawl: of another scheme, or outside of the roots."""

    def __init__(self, refusal: Refusal, detail: str = "") -> None:
        from lycosa.model import Failure

        super().__init__(Failure.PROTOCOL, detail, sent=False)
        self.refusal = refusal


class AddressRefused(VisitError):
    """The address gate said no: the name leads to a network that is not open to this crawl."""
