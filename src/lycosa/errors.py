"""Every error that may leave a part of lycosa, as one tree.

Three kinds: the operator must fix something (`SettingsError`, exit 2), this visit failed
(`VisitError`, recorded and the crawl goes on), the backend is lost (`BackendLost`, exit 1).
"""

from __future__ import annotations

from lycosa.model import Failure


class LycosaError(Exception):
    """Anything lycosa raises on purpose."""


class SettingsError(LycosaError):
    """The operator must change something: the message says what, and what was expected."""


class FolderInUse(SettingsError):
    """Another crawl holds this folder."""


class BackendLost(LycosaError):
    """The frontier or the store cannot go on; nothing acknowledged so far is lost."""


class VisitError(LycosaError):
    """This visit cannot go on; `reason` says why in one word, `detail` in the words of the neighbour."""

    def __init__(self, reason: Failure, detail: str = "", *, sent: bool = True) -> None:
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)
        self.reason = reason
        self.detail = detail
        # Whether a request may have reached the host: only then does the host's pause count.
        self.sent = sent


class Unreachable(VisitError):
    """No whole HTTP response came back."""


class AddressRefused(VisitError):
    """The address gate said no: the name leads to a network that is not open to this crawl."""
