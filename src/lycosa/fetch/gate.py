"""The address gate: which network addresses a crawl may connect to.

Pure: it knows addresses only, neither names nor sockets nor who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from lycosa.errors import AddressRefused, SettingsError
from lycosa.model import Failure

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Decisions kept. A worker meets few addresses again and again, so this is about memory only.
MAX_DECISIONS = 16_384

# `is_global` is not enough: its answer changed between Python releases, and it lets through multicast, the
# tunnels that carry an IPv4 address, and a cloud's metadata service on an address that looks public.
# From the IANA special-purpose registries.
CLOSED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; Linux connects 0.0.0.0 to itself
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # another cloud's metadata, on a public-looking address
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, with 255.255.255.255
    )
)

# Of IPv6 only 2000::/3 is given out as global unicast: loopback, mapped and compatible IPv4, NAT64, link-local,
# unique-local, site-local and multicast all lie outside it.
GLOBAL_IPV6 = IPv6Network("2000::/3")
CLOSED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # the former 6bone
        "3fff::/20",  # documentation
    )
)
NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
IPV4_COMPATIBLE = IPv6Network("::/96")


class AddressGate:
    """Says whether an address may be connected to: globally routable unicast, or in a network opened by name."""

    def __init__(self, open_networks: Sequence[str]) -> None:
        self._open = tuple(parse_network(text) for text in open_networks)
        self._decide = lru_cache(maxsize=MAX_DECISIONS)(self._judge)

    def permits(self, address: str) -> bool:
        """Whether this address may be connected to. Text that is no plain IP address may not."""
        return self._decide(address)

    def check(self, address: str) -> None:
        """Raise `AddressRefused` unless the address may be connected to."""
        if not self._decide(address):
            raise AddressRefused(Failure.ADDRESS, address, sent=False)

    def _judge(self, text: str) -> bool:
        try:
            address = ip_address(text)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False
        return self._is_allowed(address)

    def _is_allowed(self, address: Address) -> bool:
        if not (is_public(address) or _is_in(address, self._open)):
            return False
        # An opened tunnel still leads nowhere that is closed.
        return all(self._is_allowed(inner) for inner in embedded_addresses(address))


def is_public(address: Address) -> bool:
    """Whether an address is globally routable unicast."""
    if isinstance(address, IPv4Address):
        return not _is_in(address, CLOSED_IPV4)
    return address in GLOBAL_IPV6 and not _is_in(address, CLOSED_IPV6)


def embedded_addresses(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that a tunnel or translator would send this IPv6 address to."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if _is_in(address, NAT64) or (address in IPV4_COMPATIBLE and int(address) > 1):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return ()


def parse_network(text: str) -> Network:
    """A network in CIDR notation, or one address; a `SettingsError` says what is wrong."""
    try:
        return ip_network(text.strip())
    except ValueError as error:
        raise SettingsError(f"open_networks: {error}; expected a network such as 10.0.0.0/8 or fd00::/8") from None


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
