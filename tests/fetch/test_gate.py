"""Every form of address that leads somewhere private is refused; named networks are let through."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import AddressRefused, SettingsError
from lycosa.fetch.gate import AddressGate
from lycosa.model import Failure

REFUSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.1.2.3", "127.255.255.255", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
    "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::7f00:1", "100::1", "2001::1", "2001:0:5ef5:79fd::1",
    "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3ffe::1", "3fff::1",
    "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1",
    "2606:4700::1%eth0",
    # Forms that are no plain address: a resolver or a socket must never be handed them.
    "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.01", "localhost", "localhost.", "", " 8.8.8.8",
    "[::1]", "8.8.8.8:80", "８.８.８.８",
]  # fmt: skip

PERMITTED = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
    "126.255.255.255", "128.0.0.1", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.1", "198.17.255.255",
    "198.20.0.0", "223.255.255.255", "2001:4860:4860::8888", "2400:cb00::1", "2606:4700::1111", "2a00:1450::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_not_public_unicast_are_refused(address: str) -> None:
    gate = AddressGate([])
    assert not gate.permits(address)
    with pytest.raises(AddressRefused) as refusal:
        gate.check(address)
    assert refusal.value.reason is Failure.ADDRESS
    assert not refusal.value.sent


@pytest.mark.parametrize("address", PERMITTED)
def test_public_addresses_are_permitted(address: str) -> None:
    gate = AddressGate([])
    gate.check(address)
    assert gate.permits(address)


def test_a_named_network_is_let_through_and_nothing_beside_it() -> None:
    gate = AddressGate(["127.0.0.0/8", "10.1.2.3", "fd00::/8"])
    assert gate.permits("127.9.9.9")
    assert gate.permits("10.1.2.3")
    assert gate.permits("fd00::1")
    assert not gate.permits("10.1.2.4")
    assert not gate.permits("::ffff:127.0.0.1")
    assert not gate.permits("::1")


@pytest.mark.parametrize(
    ("tunnel", "inside", "outside"),
    [
        ("::ffff:0:0/96", "::ffff:8.8.8.8", "::ffff:127.0.0.1"),
        ("::/96", "::8.8.8.8", "::10.0.0.1"),
        ("64:ff9b::/96", "64:ff9b::808:808", "64:ff9b::a9fe:a9fe"),
        ("2002::/16", "2002:808:808::1", "2002:a00:1::1"),
        ("2001::/32", "2001:0:808:808:0:0:f7f7:f7f7", "2001:0:808:808:0:0:80ff:fffe"),
    ],
)
def test_an_opened_tunnel_leads_nowhere_that_is_closed(tunnel: str, inside: str, outside: str) -> None:
    gate = AddressGate([tunnel])
    assert gate.permits(inside)
    assert not gate.permits(outside)


@pytest.mark.parametrize("text", ["", "127.0.0.1/8", "10.0.0.0/33", "intranet", "10.0.0.0/8,127.0.0.0/8"])
def test_a_bad_network_is_a_settings_error_that_names_the_setting(text: str) -> None:
    with pytest.raises(SettingsError, match="open_networks"):
        AddressGate([text])


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_or_special_is_permitted(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    special = address.is_private or address.is_multicast or address.is_reserved or address.is_loopback
    assert not (special and AddressGate([]).permits(str(address)))
