"""A simulated internet with known truth, on loopback."""

from .hand import HandWeb
from .http import Ask, Reply, make_reply
from .layout import PageKind, PageRef
from .log import LoggedRequest, read_log
from .plan import PROFILES, WebPlan
from .process import SimWebProcess
from .server import Behaviour, ServedExchange
from .truth import TruePage, Truth
from .web import Listening, SimWeb

__all__ = [
    "PROFILES",
    "Ask",
    "Behaviour",
    "HandWeb",
    "Listening",
    "LoggedRequest",
    "PageKind",
    "PageRef",
    "Reply",
    "ServedExchange",
    "SimWeb",
    "SimWebProcess",
    "TruePage",
    "Truth",
    "WebPlan",
    "make_reply",
    "read_log",
]
