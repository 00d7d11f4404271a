from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.simweb import PROFILES, WebPlan
from lycosa.simweb.draw import Draws, popular
from lycosa.simweb.layout import Layout
from lycosa.simweb.names import SimNames, address_of


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_a_plan(profile: str) -> None:
    plan = WebPlan.named(profile, seed=7)
    assert plan.seed == 7
    assert WebPlan(**plan.as_mapping()) == plan


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'calm'.*clean, mixed, traps, bench"):
        WebPlan.named("calm")


def test_an_empty_web_is_refused() -> None:
    with pytest.raises(ValueError, match="0 x 20"):
        WebPlan(hosts=0)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="xx"):
        WebPlan(languages=("xx",))


def test_shares_of_more_than_all_pages_are_refused() -> None:
    with pytest.raises(ValueError, match="more than all pages"):
        Layout(WebPlan(redirect_share=0.8, copy_share=0.8))


@given(seed=st.integers(-(2**63), 2**63), key=st.integers(0, 2**40))
def test_a_draw_depends_on_seed_topic_and_key_only(seed: int, key: int) -> None:
    assert Draws(seed).number("a", key) == Draws(seed).number("a", key)
    assert Draws(seed).number("a", key) != Draws(seed).number("b", key)
    assert Draws(seed).number("a", key) != Draws(seed + 1).number("a", key)


def test_low_ranks_are_popular() -> None:
    stream = Draws(1).stream("popularity")
    drawn = [popular(stream, 1000) for _ in range(20_000)]
    assert 0 <= min(drawn) <= max(drawn) < 1000
    assert drawn.count(0) > 5 * drawn.count(10) > 0
    assert sum(rank < 100 for rank in drawn) > 0.6 * len(drawn)


@given(host=st.integers(0, 99_999_999))
def test_a_name_leads_back_to_its_host(host: int) -> None:
    names = SimNames(WebPlan(hosts=100_000_000, shared_domain_share=0.3, www_share=0.5))
    assert names.host_named(names.name_of(host)) == host


@pytest.mark.parametrize("name", ["", "test", "h00000.example", "h00050.test", "a.b.h00001.test", "h1.test"])
def test_a_name_that_is_not_of_the_web_leads_nowhere(name: str) -> None:
    assert SimNames(WebPlan(hosts=50, shared_domain_share=0, www_share=0)).host_named(name) is None


def test_every_host_has_a_loopback_address_of_its_own() -> None:
    addresses = {address_of(host) for host in range(70_000)}
    assert len(addresses) == 70_000
    assert all(address.startswith("127.") for address in addresses)
    assert not addresses & {"127.0.0.1", "127.0.0.53"}


def test_an_address_leads_back_to_its_host() -> None:
    names = SimNames(WebPlan(hosts=50))
    assert names.host_at(address_of(49)) == 49
    assert names.host_at(address_of(50)) is None
    assert names.host_at("h00001.test") is None


def test_hosts_have_several_registered_domains_and_some_share_one() -> None:
    names = SimNames(WebPlan(hosts=200))
    domains = [".".join(names.name_of(host).split(".")[-2:]) for host in range(200)]
    assert 150 < len(set(domains)) < 200
    assert any(names.name_of(host).startswith("www.") for host in range(200))
