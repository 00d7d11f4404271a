"""Names and loopback addresses of numbered hosts, and the way back; nothing is stored.

Knows no web but its plan. The names end in `.test`, which no real resolver ever answers.
"""

from __future__ import annotations

import ipaddress
import re

from .draw import Draws
from .plan import WebPlan

# 127.1.0.1: well past 127.0.0.1 and past 127.0.0.53, where a stub resolver may listen.
_FIRST_ADDRESS = int(ipaddress.IPv4Address("127.1.0.1"))
_ADDRESSES = int(ipaddress.IPv4Address("127.255.255.254")) - _FIRST_ADDRESS
_NUMBERED_LABEL = re.compile(r"(?:^|\.)h([0-9]{5,9})\.")
_HOSTS_OF_A_SHARED_DOMAIN = 20


class SimNames:
    """The names of a plan's hosts."""

    def __init__(self, plan: WebPlan) -> None:
        self._plan = plan
        self._draws = Draws(plan.seed)

    def name_of(self, host: int) -> str:
        """The host's name: mostly a registered domain of its own, sometimes a part of a shared one."""
        if not self._plan.is_named:
            return address_of(host)
        if self._draws.happens(self._plan.shared_domain_share, "shared-domain", host):
            return f"h{host:05}.shared{host // _HOSTS_OF_A_SHARED_DOMAIN:04}.test"
        if self._draws.happens(self._plan.www_share, "www", host):
            return f"www.h{host:05}.test"
        return f"h{host:05}.test"

    def host_named(self, name: str) -> int | None:
        """The number of the host with this name, given in lower case and without port."""
        if not self._plan.is_named:
            return self.host_at(name)
        label = _NUMBERED_LABEL.search(name)
        if label is None:
            return None
        host = int(label[1])
        return host if host < self._plan.hosts and self.name_of(host) == name else None

    def host_at(self, address: str) -> int | None:
        """The number of the first host at this address."""
        try:
            host = int(ipaddress.IPv4Address(address)) - _FIRST_ADDRESS
        except ipaddress.AddressValueError:
            return None
        return host if 0 <= host < self._plan.hosts else None


def address_of(host: int) -> str:
    """The host's own loopback address; past 16 million hosts addresses are shared."""
    return str(ipaddress.IPv4Address(_FIRST_ADDRESS + host % _ADDRESSES))


def origin_of(name: str, port: int) -> str:
    """`http://name:port`, without the port where it is the scheme's own."""
    return f"http://{name}" if port == 80 else f"http://{name}:{port}"
