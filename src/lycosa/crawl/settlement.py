"""What an outcome means: for the frontier, and for the tables of the store."""

from __future__ import annotations

from math import log10
from typing import NamedTuple

import msgspec

from lycosa.dedupe.comparison import text_mark
from lycosa.model import (
    NO_REASON,
    WAITS,
    Failure,
    Items,
    Lease,
    Links,
    Note,
    OutcomeKind,
    Page,
    Reason,
    Refusal,
    Response,
    Settlement,
    Target,
    Visit,
)
from lycosa.outcome import (
    NO_LINKS,
    Crashed,
    Duplicate,
    Failed,
    Moved,
    Postponed,
    Read,
    Refused,
    Settled,
    Stored,
    Unchanged,
    response_of,
    urls_found,
)
from lycosa.policy.politeness import is_host_trouble
from lycosa.policy.retry import may_pass, retry_after_seconds
from lycosa.site.judge import Learnt
from lycosa.store.digest import base32

NOT_MODIFIED, FORBIDDEN = 304, 403
# Trouble on the way may pass; what the server said wrong, it will say again.
_PASSING = frozenset(
    {Failure.DNS, Failure.CONNECT, Failure.TIMEOUT, Failure.SLOW, Failure.RESET, Failure.STATUS, Failure.LOGIN}
)

_KINDS: dict[type[Settled], OutcomeKind] = {
    Stored: OutcomeKind.STORED,
    Duplicate: OutcomeKind.DUPLICATE,
    Unchanged: OutcomeKind.UNCHANGED,
    Moved: OutcomeKind.MOVED,
    Read: OutcomeKind.READ,
    Refused: OutcomeKind.REFUSED,
    Failed: OutcomeKind.FAILED,
    Crashed: OutcomeKind.CRASHED,
}
# Told apart several times a page, and a union would be made anew each time.
_PAGES = (Stored, Duplicate)
_KEPT = (Stored, Duplicate, Unchanged)


class Kept(NamedTuple):
    """A visit as it goes to the store."""

    visit: Visit
    response: Response | None
    page: Page | None
    links: Links
    items: Items = ()
    tag: str = ""  # of the request


def settlement_of(lease: Lease, outcome: Settled, learnt: Learnt) -> Settlement:
    """The one place where an outcome becomes frontier state."""
    response = response_of(outcome)
    # Only of what was kept: a page must not count as unchanged since an error or a redirect.
    is_kept = isinstance(outcome, _KEPT) or (isinstance(outcome, Read) and outcome.digest)
    facts = Settlement(
        token=lease.token,
        outcome=_KINDS[type(outcome)],
        reason=reason_of(outcome),
        discovered=urls_found(outcome) + learnt.probes if learnt.probes else urls_found(outcome),
        started_at=response.started_at if response else 0.0,
        fetch_seconds=response.seconds if response else 0.0,
        status=response.status if response else 0,
        body_bytes=len(response.raw_body) if response else 0,
        address=response.address if response else "",
        etag=_validator(response, "etag") if is_kept else "",
        last_modified=_validator(response, "last-modified") if is_kept else "",
        retry_after_seconds=_retry_after(response),
        site=learnt.news,
        known=learnt.known,
        left_out=[(target, reason_of(refused)) for target, refused in left_out_by(outcome, learnt)],
        # Nobody is asked for a file of this machine: no pause follows.
        sent=response is None or response.protocol != "file",
        connect_seconds=response.connect_seconds if response else 0.0,
    )
    if isinstance(outcome, _KEPT) and outcome.told:
        facts = msgspec.structs.replace(facts, told=list(outcome.told), listed=len(outcome.told))
    match outcome:
        case Stored():
            return msgspec.structs.replace(
                facts,
                digest=outcome.digest,
                group=outcome.placement.group,
                beyond=outcome.beyond,
                others=outcome.others,
                worth=worth_of(outcome),
                text=text_mark(outcome.page_digest.signature),
                changed=outcome.changed,
                on_topic=outcome.on_topic,
            )
        case Duplicate():
            return msgspec.structs.replace(
                facts,
                digest=outcome.digest,
                group=outcome.placement.group,
                original=outcome.original,
                beyond=outcome.beyond,
                others=outcome.others,
                worth=worth_of(outcome),
                text=text_mark(outcome.page_digest.signature),
                changed=outcome.changed,
                on_topic=outcome.on_topic,
            )
        case Unchanged():
            past = lease.validators
            assert past is not None
            return msgspec.structs.replace(
                facts,
                digest=outcome.digest or past.digest,
                text=past.text,
                etag=facts.etag or past.etag,
                last_modified=facts.last_modified or past.last_modified,
            )
        case Moved():
            return msgspec.structs.replace(facts, robots=outcome.robots)
        case Read():
            facts = msgspec.structs.replace(facts, robots=outcome.robots, digest=outcome.digest, listed=outcome.listed)
            if (past := lease.validators) and facts.status == NOT_MODIFIED:
                etag, last_modified = facts.etag or past.etag, facts.last_modified or past.last_modified
                facts = msgspec.structs.replace(facts, etag=etag, last_modified=last_modified)
            return facts
        case Failed():
            is_ban = outcome.reason is Failure.BANNED
            retry = is_ban or (outcome.reason in _PASSING and may_pass(facts.status))
            sent = outcome.sent and facts.sent
            return msgspec.structs.replace(facts, sent=sent, may_retry=retry, is_ban=is_ban)
        case Refused():
            return msgspec.structs.replace(facts, sent=False, robots=outcome.robots)
        case Crashed():
            return facts


def left_out_by(outcome: Settled, learnt: Learnt) -> list[tuple[Target, Refused]]:
    """Targets that a visit found and that are refused at once, each with the reason."""
    if not isinstance(outcome, _PAGES) or not outcome.closed:
        return learnt.left_out
    closed = [(target, Refused(Refusal.SCHEME, target.url.partition(":")[0])) for target in outcome.closed]
    return [*learnt.left_out, *closed]


def worth_of(outcome: Stored | Duplicate) -> float:
    """By how much a page gives more, or less, to its links: whether its text is new here, and how much there is."""
    if isinstance(outcome, Duplicate):
        return 0.2
    # 0.7 for a page of links alone, which may be the way to all others; 1 for a paragraph, 1.3 for a long article.
    quality = min(0.7 + 0.15 * log10(1 + len(outcome.page.content)), 1.5)
    is_like_others = outcome.placement.group and not outcome.placement.is_first
    return 0.4 * quality if is_like_others else quality


def may_go_on(lease: Lease, settlement: Settlement) -> bool:
    """Whether the next target of a host may be visited right after this one: nothing that ended here makes it rest.

    Only the frontier knows how long a pause is; whatever might cause one, or change the rules, is left to it.
    """
    if settlement.robots is not None:
        return False
    if lease.target.deferred >= WAITS and settlement.outcome is not OutcomeKind.REFUSED:
        # The others of its run wait until nothing else is left: what this one led to comes before them.
        return False
    match settlement.outcome:
        case OutcomeKind.REFUSED:
            return True
        case outcome if outcome.is_page and not settlement.sent:
            return True
        case OutcomeKind.FAILED:
            is_of_host = is_host_trouble(settlement.status, is_failure=True) or settlement.status == FORBIDDEN
            return lease.at_once and not is_of_host and not settlement.is_ban and not settlement.may_retry
        case OutcomeKind.CRASHED:
            return False
        case _:
            return lease.at_once and settlement.status > 0


def answered_at(outcome: Settled) -> float:
    """When the host had answered all that it was asked; 0 if that is not known."""
    response = response_of(outcome)
    # For a browser more was asked.
    return response.started_at + response.seconds if response and not response.rendering else 0.0


def postponement_of(lease: Lease, outcome: Postponed) -> Settlement:
    """What a visit that was put off means: no trace of it but its place in the queue."""
    return Settlement(
        lease.token, OutcomeKind.REFUSED, sent=False, discovered=outcome.discovered, deferred=outcome.deferred
    )


def visit_row(lease: Lease, outcome: Settled, now: float) -> Kept:
    """The row that a visit leaves in the `pages` table, with what belongs to it."""
    target, response, reason = lease.target, response_of(outcome), reason_of(outcome)
    tag = target.request.tag if target.request else ""
    row = Visit(
        url=target.url,
        host=target.host,
        fetched_at=response.started_at if response else now,
        outcome=_KINDS[type(outcome)],
        depth=target.depth,
        referrer=target.referrer,
        priority=target.priority,
        reason=reason.code,
        detail=reason.detail,
        promise=target.promise / 1000,
    )
    if response:
        row = msgspec.structs.replace(
            row,
            status=response.status,
            media_type=response.header("content-type").partition(";")[0].strip().lower(),
            etag=response.header("etag"),
            last_modified=response.header("last-modified"),
            fetch_seconds=response.seconds,
            body_bytes=len(response.body) or len(response.raw_body),
            truncated=response.truncated,
        )
        if rendering := response.rendering:
            row = msgspec.structs.replace(row, rendered=rendering.end or "", render_cause=rendering.cause.value)
    if not isinstance(outcome, _PAGES):
        return Kept(row, response, None, NO_LINKS, tag=tag)
    page = outcome.page
    if page.noindex:
        # The site does not want this text found: it stays out of every table.
        page = msgspec.structs.replace(page, text="", content="", comments="", description="")
    page_digest = outcome.page_digest
    row = msgspec.structs.replace(
        row,
        charset=page.charset,
        language=page_digest.language,
        title=page.title,
        description=page.description,
        author=page.author,
        published=page.published,
        summary="" if page.noindex else page_digest.summary,
        digest=f"sha1:{base32(outcome.digest)}",
        text_digest=page_digest.text_digest.hex(),
        group_id=outcome.placement.group.hex(),
        original=outcome.original if isinstance(outcome, Duplicate) else "",
        out_links=len(outcome.links.targets),
        noindex=page.noindex,
        usage=outcome.usage,
        changed=outcome.changed,
        relevance=outcome.relevance,
    )
    if outcome.response.truncated == "coding":
        coding = outcome.response.header("content-encoding")
        row = msgspec.structs.replace(row, reason=Note.CODING_DAMAGED.value, detail=coding)
    items = () if page.noindex else outcome.items
    return Kept(row, response, page, outcome.links, items, tag)


def reason_of(outcome: Settled) -> Reason:
    """Why a visit gave no page; none if it gave one."""
    match outcome:
        case Refused() | Failed() | Crashed():
            return Reason(outcome.reason.value, _encodable(outcome.detail))
        case Moved():
            return Reason(Note.MOVED.value, _encodable(outcome.to))
        case Read():
            return Reason(str(outcome.note.code), _encodable(outcome.note.detail))
        case _:
            return NO_REASON


def _encodable(text: str) -> str:
    """The text without half surrogate pairs: what a library says of a page may have them, and no message can."""
    return text.encode("utf-8", "replace").decode()


def _validator(response: Response | None, name: str) -> str:
    value = response.header(name) if response else ""
    return value if len(value) <= 256 else ""


def _retry_after(response: Response | None) -> float:
    if response is None or response.status not in (429, 503):
        return 0.0
    return retry_after_seconds(response.header("retry-after"), response.started_at + response.seconds)
