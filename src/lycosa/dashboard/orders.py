"""What people order of a crawl from its pages: the forms, what they send, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from lycosa.crawl.orders import give, pending
from lycosa.dashboard.markup import Html, card, table, tag, text
from lycosa.errors import SettingsError
from lycosa.frontier.records import HostPolicy
from lycosa.inspect.opened import OpenedCrawl, opened_crawl
from lycosa.inspect.wording import duration, moment
from lycosa.orders import MAX_FAVOUR, MIN_FAVOUR, AddSeeds, Given, Obeyed, Order, Pardon, PauseCrawl, SetPolicy
from lycosa.settings import Settings
from lycosa.store.objects import ObjectPlace

MAX_SHOWN, MAX_SHOWN_SEEDS = 12, 3


def order(place: Path | ObjectPlace, frontier: str | None, sent: Mapping[str, str]) -> Order:
    """Give the order that a form has sent. Raises `SettingsError`."""
    wanted = _order_of(sent)
    with opened_crawl(place, frontier) as crawl:
        if trouble := why_not(place, crawl.settings):
            raise SettingsError(trouble)
        give(wanted, folder=crawl.folder, frontier=crawl.settings.frontier, by="dashboard")
    return wanted


def _order_of(sent: Mapping[str, str]) -> Order:
    # A field that was left empty says nothing.
    values: dict[str, object] = {name: value.strip() for name, value in sent.items() if value.strip()}
    if "urls" in values:
        values["urls"] = list(filter(None, map(str.strip, str(values["urls"]).splitlines())))
    try:
        wanted: Order = msgspec.convert(values, Order, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"this cannot be ordered: {error}") from None
    if isinstance(wanted, SetPolicy) and wanted == SetPolicy(wanted.host):
        raise SettingsError("nothing was asked for: all fields were empty")
    return wanted


def why_not(place: Path | ObjectPlace, settings: Settings) -> str:
    """Why nobody can order anything of a crawl from here; empty: one can."""
    if isinstance(place, ObjectPlace):
        return "this is what has arrived in an object store; orders are given where the crawl runs"
    if settings.frontier == "memory":
        return "the frontier of this crawl is kept in memory: nobody can give it orders"
    return ""


# ---- the forms


def steering(*, is_paused: bool) -> Html:
    """The button that pauses a crawl, or has it go on."""
    if is_paused:
        return _form("resume", tag("button", "Resume the crawl", class_="main"))
    reason = tag("input", id="reason", name="reason", placeholder="why (may be empty)", maxlength="200")
    return _form("pause", _labelled("Reason", "reason", reason), tag("button", "Pause the crawl"))


def seeding() -> Html:
    """Where URLs are typed that shall be visited like seeds."""
    field = tag("textarea", id="urls", name="urls", rows="3", required=True, placeholder="https://example.org/")
    return card(
        "Add seeds",
        _form("seeds", _labelled("URLs, one in a line", "urls", field), tag("button", "Add these seeds")),
        key="seeds",
    )


def host_card(place: Path | ObjectPlace, crawl: OpenedCrawl, name: str, policy: HostPolicy | None) -> Html:
    """What is wanted of a host, and the forms to want something else."""
    policy = policy or HostPolicy()
    asked = [each for each in crawl.view.orders() if _host_of(each.given.order) == name] if crawl.view else []
    ahead = [each for each in pending(crawl.folder) if _host_of(each.order) == name] if crawl.folder else []
    trouble = why_not(place, crawl.settings)
    return card(
        "Orders",
        tag("p", _in_force(policy)),
        None if trouble else _host_forms(name, policy),
        orders_table(ahead, asked),
        note=trouble or "A crawl that runs obeys within a second, one that does not when it goes on.",
        key="orders",
    )


def _in_force(policy: HostPolicy) -> str:
    words = [
        "blocked: nothing is asked for" if policy.is_blocked else "",
        f"at least {duration(policy.delay_seconds)} between requests" if policy.delay_seconds else "",
        f"at most {policy.pages_per_day:,g} pages a day" if policy.pages_per_day else "",
        f"priority {policy.priority:+d}" if policy.priority else "",
    ]
    wanted = "; ".join(filter(None, words))
    return f"In force: {wanted}." if wanted else "In force: what politeness asks for, and nothing else."


def _host_forms(name: str, policy: HostPolicy) -> Html:
    host = tag("input", type="hidden", name="host", value=name)
    block = tag("input", type="hidden", name="is_blocked", value="false" if policy.is_blocked else "true")
    numbers = [
        ("delay_seconds", "Seconds between requests", policy.delay_seconds, {"min": "0", "step": "any"}),
        ("pages_per_day", "Pages per day", policy.pages_per_day, {"min": "0", "step": "any"}),
        ("priority", "Priority", policy.priority, {"min": str(MIN_FAVOUR), "max": str(MAX_FAVOUR), "step": "1"}),
    ]
    fields = [
        _labelled(label, key, tag("input", id=key, name=key, type="number", value=f"{value:g}", **limits))
        for key, label, value, limits in numbers
    ]
    return tag(
        "div",
        _form("policy", host, block, tag("button", "Unblock this host" if policy.is_blocked else "Block this host")),
        _form("policy", host, fields, tag("button", "Change (0: none)")),
        _form("pardon", host, tag("button", "Take back verdicts")),
        class_="forms",
    )


def _form(kind: str, *children: object) -> Html:
    return tag("form", tag("input", type="hidden", name="type", value=kind), *children, method="post", action="/order")


def _labelled(label: str, key: str, field: Html) -> Html:
    return tag("label", label, " ", field, for_=key)


# ---- what was ordered


def orders_table(ahead: Iterable[Given], obeyed: Iterable[Obeyed]) -> Html:
    """Orders on their way and orders obeyed, the newest first."""
    rows = [(moment(each.at), sentence(each.order), each.by, "waits to be obeyed") for each in ahead]
    rows += [(moment(each.given.at), sentence(each.given.order), each.given.by, each.result) for each in obeyed]
    columns = ("at", "order", "by", "what came of it")
    return table(columns, sorted(rows, reverse=True)[:MAX_SHOWN], caption="The last orders", empty="no orders so far")


def orders_part(ahead: Iterable[Given], obeyed: Iterable[Obeyed]) -> Html:
    """The last orders of a whole crawl; nothing if there are none."""
    ahead, obeyed = list(ahead), list(obeyed)
    return card("Orders", orders_table(ahead, obeyed), key="orders") if ahead or obeyed else text()


def sentence(wanted: Order) -> str:
    """What was ordered, in words."""
    match wanted:
        case SetPolicy(host):
            chosen = [
                {None: "", True: "block", False: "unblock"}[wanted.is_blocked],
                "" if wanted.delay_seconds is None else f"delay {wanted.delay_seconds:g} s",
                "" if wanted.pages_per_day is None else f"{wanted.pages_per_day:g} pages a day",
                "" if wanted.priority is None else f"priority {wanted.priority:+d}",
            ]
            return f"{host}: {', '.join(filter(None, chosen))}"
        case Pardon(host):
            return f"{host}: take back verdicts"
        case AddSeeds(urls):
            more = f" and {len(urls) - MAX_SHOWN_SEEDS:,} more" if len(urls) > MAX_SHOWN_SEEDS else ""
            return f"add seeds: {' '.join(urls[:MAX_SHOWN_SEEDS])}{more}"
        case PauseCrawl(reason):
            return f"pause: {reason}" if reason else "pause"
        case _:
            return "resume"


def _host_of(wanted: Order) -> str:
    return wanted.host if isinstance(wanted, (SetPolicy, Pardon)) else ""
