"""What a worker and the supervisor say to each other. How it travels is told in `frames.py`."""

from __future__ import annotations

import msgspec

from lycosa.figures import WorkerFigures
from lycosa.model import Lease, Placement, Settlement


class Take(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Leases of up to this many hosts, please."""

    limit: int


class Settle(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """These visits ended; what they stored is on disk."""

    settlements: list[Settlement]


class Recognise(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Has this content been stored before, and which group does its text belong to?"""

    digest: bytes
    url: str
    token: int
    signature: bytes = b""


class MayAskAt(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The host of this lease is at this address; may its request go there now?"""

    token: int
    address: str


class AskRobots(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Which robots record is in force for this origin?"""

    origin: str


class AskSite(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What is known of this registered domain?"""

    domain: str


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """This worker cannot go on, and a restart would not mend it; perhaps the operator can, by another setting."""

    reason: str
    is_setting: bool = False
    # The machine lacks what it may have again later.
    is_shortage: bool = False


class Pause(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Why this worker sends nothing at present; without a reason it goes on."""

    reason: str


class Tell(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """How this worker is doing."""

    figures: WorkerFigures


class Leases(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Leases to visit; none means that the crawl is over."""

    leases: list[Lease]


class Settled(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Recorded; these tokens came too late and changed nothing."""

    late: list[int]


class Recognised(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The URL under which a content was stored first, empty if there is none; and the group of its text."""

    original: str
    placement: Placement


class GiveBack(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Nothing was sent under these leases, and nothing will be."""

    tokens: list[int]


class Permission(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Whether the request may go out; if not, its lease is no longer this worker's."""

    is_granted: bool


class RobotsReply(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A robots record, empty if there is none."""

    record: bytes


class SiteNotesReply(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The notes on a registered domain, empty if there are none."""

    notes: bytes


class Orders(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The first message to a worker: who it is and what it works on."""

    worker: int
    folder: str
    seat: str
    settings: bytes
    crawl_key: bytes


Request = Take | Settle | MayAskAt | GiveBack | Recognise | AskRobots | AskSite | Pause | Tell | Lost
Reply = Leases | Settled | Permission | Recognised | RobotsReply | SiteNotesReply | Orders
