"""The hostile web: servers that answer wrongly, slowly, endlessly or with ill intent, each by name.

`BEHAVIOURS` do what they like to one connection; `TRAPS` are whole sites without an end; `HostileWeb` mixes traps with
good sites. Everything is deterministic and on loopback.
"""

from . import bombs, malformed, refusals, tarpits
from .registry import BEHAVIOURS, Hostile
from .traps import TRAPS, Trap
from .web import HostileWeb

__all__ = ["BEHAVIOURS", "TRAPS", "Hostile", "HostileWeb", "Trap", "bombs", "malformed", "refusals", "tarpits"]
