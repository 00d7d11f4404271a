"""A simulated internet with known truth, on loopback."""

from .hand import HandWeb
from .http import Ask, Reply, make_reply
from .layout import Kind, PageRef
from .log import LoggedRequest, read_log
from .plan import PROFILES, WebPlan
from .process import SimWebProcess
from .server import Behaviour, Exchange
from .truth import TruePage, Truth
from .web import Listening, SimWeb

__all__ = [
    "PROFILES",
    "Ask",
    "Behaviour",
    "Exchange",
    "HandWeb",
    "Kind",
    "Listening",
    "LoggedRequest",
    "PageRef",
    "Reply",
    "SimWeb",
    "SimWebProcess",
    "TruePage",
    "Truth",
    "WebPlan",
    "make_reply",
    "read_log",
]
