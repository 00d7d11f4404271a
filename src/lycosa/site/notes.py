"""What is known of one registered domain: bounded notes, and what they say of the next URL.

Pure but for being changed: it knows no clock, no network and no frontier. What is forgotten merely begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from zlib import crc32

import msgspec

from lycosa.model import Refusal, Target, origin_of
from lycosa.site import traps
from lycosa.site.repetition import Repetition, penalised
from lycosa.site.soft_404 import is_soft_404, sketch
from lycosa.site.traps import Yield
from lycosa.site.variants import Sameness, UrlPart, after_pair, is_meaningless, parts_of, without
from lycosa.url.template import family_of, has_drawn_segment, template_of

MAX_TEMPLATES = 128
MAX_SAMENESS = 32
MAX_ORIGINS = 16
MAX_ALIASES = 64
MAX_MIRRORS = 4
# Pages kept to compare others with, and those of them that could be known under another key.
MAX_SIGHTINGS, MAX_RENAMED = 128, 64
SHAPES, SHAPE_BYTES = 256, 4
# Links are remembered as two bits each. With 24 bits to a link at least, one new link in 150 is taken for known; then
# all are forgotten, and the navigation of a site is known again by its next page.
_FEW_LINKS_BYTES, _MANY_LINKS_BYTES = 1 << 7, 1 << 11
_BITS_PER_LINK = 24
# Useless visits in a row from which on a template is looked at more closely.
_BARREN = 5
# At its tenth page a host is asked for something that cannot exist.
PROBE_AT_PAGE = 10
# Beyond this many it makes no difference how many links lead to known pages.
MAX_KNOWN = 10


class OriginNotes(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of one origin of the domain."""

    pages: int = 0
    templates: dict[int, Yield] = {}
    families: dict[int, Yield] = {}
    sameness: dict[str, Sameness] = {}
    meaningless: list[str] = []
    # Origins that show the same pages under the same paths: of this domain, and of others.
    mirrors: dict[str, Sameness] = {}
    originals: dict[str, Sameness] = {}
    # What it answers to a URL that cannot exist, if that is a page; and whether that is known, or being asked.
    sketch: list[int] = []
    is_probed: bool = False
    # How many of its pages had texts that were nearly known already.
    repetition: Repetition = Repetition()


class SiteNotes(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is kept of a registered domain, a few KB at most."""

    requests: int = 0
    spent: float = 0.0
    strange: int = 0
    referring: list[int] = []
    links: bytearray = msgspec.field(default_factory=bytearray)
    linked: int = 0
    shapes: bytearray = msgspec.field(default_factory=bytearray)
    shape_at: int = 0
    origins: dict[str, OriginNotes] = {}
    aliases: dict[str, str] = {}


class UrlSpot(msgspec.Struct, frozen=True, gc=False):
    """Where a URL stands on its site. Made once a visit: a template costs some microseconds."""

    origin: str
    tail: str  # path and query
    template: str
    template_mark: int
    family_mark: int


def spot_of(url: str) -> UrlSpot:
    """Where a URL in fetch form stands."""
    origin = origin_of(url)
    tail = url[len(origin) :]
    template = template_of(tail)
    mark = mark_of(template)
    return UrlSpot(origin, tail, template, mark, mark_of(family_of(template)) if "?" in template else mark)


class PageFindings(msgspec.Struct, frozen=True):
    """What a visit of a page brought, as its site needs to know it."""

    shape: int  # what its text says, apart from numbers
    is_duplicate: bool
    new: Sequence[str]  # URLs of this domain that no page of it led to before
    known: int  # links to other pages of this domain, counted up to `MAX_KNOWN`
    is_repeat: bool = False  # its text is nearly the same as one met before


class _Window:
    """The last pages of an origin, to hold others against. Lives as long as the worker."""

    __slots__ = ("agreed", "renamed", "sightings")

    def __init__(self) -> None:
        self.sightings: dict[int, int] = {}
        self.agreed: set[tuple[str, int]] = set()
        self.renamed: deque[str] = deque(maxlen=MAX_RENAMED)

    def note(self, place: int, digest: int) -> None:
        self.sightings.pop(place, None)
        self.sightings[place] = digest
        if len(self.sightings) > MAX_SIGHTINGS:
            del self.sightings[next(iter(self.sightings))]

    def is_first_agreement(self, name: str, *marks: int) -> bool:
        """Whether nothing of this has agreed before: neither this page nor this content."""
        pairs = {(name, mark) for mark in marks}
        is_first = not pairs & self.agreed
        self.agreed |= pairs
        if len(self.agreed) > 4 * MAX_SIGHTINGS:
            self.agreed.clear()
        return is_first


NO_VISITS = Yield()
_decode = msgspec.msgpack.Decoder(SiteNotes).decode
_encode = msgspec.msgpack.Encoder().encode


class Site:
    """The notes on one registered domain, in use."""

    __slots__ = (
        "_has_barren",
        "_windows",
        "domain",
        "has_changed",
        "is_seeded",
        "learnt",
        "notes",
        "paid",
        "under_way",
        "unsent",
        "version",
    )

    def __init__(self, domain: str, *, is_seeded: bool, version: int = 0, raw: bytes = b"") -> None:
        self.domain = domain
        self.is_seeded = is_seeded
        self.version = version
        self.notes = _decode(raw) if raw else SiteNotes()
        # Requests that are out: each may cost as much as one can.
        self.under_way = 0
        # Requests since the notes were last sent, and since they are here.
        self.unsent = 0
        self.paid = 0
        self.has_changed = False
        self._windows: dict[str, _Window] = {}
        # The origins of which some parts are known to change nothing, with these parts.
        self.learnt = self._learnt_parts()
        # Whether some template has been useless for a while; looked at on every page, so not counted each time.
        self._has_barren = any(
            counts.barren >= _BARREN for origin in self.notes.origins.values() for counts in origin.templates.values()
        )

    # ---- what is kept

    @property
    def weight(self) -> int:
        """How many entries there are, about 100 bytes each."""
        entries = sum(len(origin.templates) + len(origin.families) + 5 for origin in self.notes.origins.values())
        return 20 + entries + sum(len(window.sightings) + len(window.renamed) for window in self._windows.values())

    def encoded(self) -> bytes:
        """The notes as they are kept; what was met once is not worth it."""
        origins = {name: _worth_keeping(origin) for name, origin in self.notes.origins.items()}
        return _encode(msgspec.structs.replace(self.notes, origins=origins))

    def origin(self, name: str) -> OriginNotes:
        """The notes on an origin, made if there are none."""
        origins = self.notes.origins
        found = origins.get(name)
        if found is None:
            found = origins[name] = OriginNotes()
            if len(origins) > MAX_ORIGINS:
                least = min(list(origins)[:-1], key=lambda each: origins[each].pages)
                del origins[least]
                self._windows.pop(least, None)
        return found

    # ---- what the notes say

    def refusal(self, spot: UrlSpot, domain_pages: int) -> tuple[Refusal, str] | None:
        """Why a URL is not worth a visit, with the figures; None if it is."""
        if refused := self.refusal_of_all(domain_pages):
            return refused
        known = self.notes.origins.get(spot.origin)
        if known is None:
            return None
        counts = known.templates.get(spot.template_mark)
        if counts and not traps.is_open(counts):
            return Refusal.TEMPLATE, _figures(spot.template, counts)
        counts = known.families.get(spot.family_mark)
        if counts and not traps.is_open(counts, traps.FAMILY_PATIENCE):
            return Refusal.FAMILY, _figures(family_of(spot.template), counts)
        return None

    def refusal_of_all(self, domain_pages: int) -> tuple[Refusal, str] | None:
        """Why nothing of this domain is worth a visit; None if something may be."""
        notes = self.notes
        if traps.is_maze(notes.strange):
            return Refusal.MAZE, f"{notes.strange} such pages of {self.domain}"
        if self.is_seeded or not domain_pages:
            return None
        allowed = traps.allowance(domain_pages, len(notes.referring))
        if notes.spent + self.under_way * traps.ROBOTS_PRICE < allowed:
            return None
        cost, sources = notes.spent + self.under_way, len(notes.referring)
        return Refusal.BUDGET, f"{self.domain} cost {cost:.0f} of {allowed}; other sites that link to it: {sources}"

    def repeats(self) -> bool:
        """Whether so much of this site is known content that what it links to may be worth less."""
        return self._has_barren or any(origin.repetition.penalty for origin in self.notes.origins.values())

    def lowered(self, url: str, priority: int) -> int:
        """The class of a URL of this site, after what pages of its kind, or of its host, have brought."""
        spot = spot_of(url)
        known = self.notes.origins.get(spot.origin)
        if known is None:
            return priority
        counts = known.templates.get(spot.template_mark)
        template = Repetition(counts.visits, counts.visits - counts.useful) if counts else Repetition()
        return penalised(priority, known.repetition, template)

    def alias_of(self, origin: str) -> str:
        """The origin that shows the same pages and is crawled instead; empty if there is none."""
        return self.notes.aliases.get(origin, "")

    def meaningless_of(self, origin: str) -> list[str]:
        """The parts of URLs of an origin that change nothing."""
        return self.learnt.get(origin, [])

    def is_soft_404(self, spot: UrlSpot, text: str) -> bool:
        """Whether a page is what its host answers to any URL. A home page never is."""
        known = self.notes.origins.get(spot.origin)
        if not known or not known.sketch or spot.tail == "/" or not text:
            return False
        return is_soft_404(sketch(text, spot.tail), known.sketch)

    # ---- what visits teach

    def refer(self, domain: str) -> None:
        """Another domain links to this one."""
        mark, referring = mark_of(domain), self.notes.referring
        if domain != self.domain and len(referring) < traps.MAX_REFERRING and mark not in referring:
            referring.append(mark)

    def pay(self, price: float) -> None:
        """A request was sent, and this is what it cost."""
        notes = self.notes
        notes.requests += 1
        notes.spent = max(0.0, notes.spent + price)
        self.unsent += 1
        self.paid += 1

    def new_links(self, links: Iterable[Target]) -> list[str]:
        """The URLs among these that no page of this domain led to before, as far as is remembered."""
        notes = self.notes
        if not notes.links:
            notes.links = bytearray(_FEW_LINKS_BYTES)
        elif notes.linked * _BITS_PER_LINK > len(notes.links) * 8:
            notes.links, notes.linked = bytearray(_MANY_LINKS_BYTES), 0
        memory, mask, new = notes.links, len(notes.links) * 8 - 1, []
        for link in links:
            number = int.from_bytes(link.fingerprint)
            one, other = number & mask, number >> 20 & mask
            if not memory[one >> 3] >> (one & 7) & memory[other >> 3] >> (other & 7) & 1:
                memory[one >> 3] |= 1 << (one & 7)
                memory[other >> 3] |= 1 << (other & 7)
                new.append(link.url)
        notes.linked += len(new)
        return new

    def note_page(self, spot: UrlSpot, found: PageFindings) -> None:
        """A page was visited."""
        notes, known = self.notes, self.origin(spot.origin)
        known.pages += 1
        known.repetition = known.repetition.after(is_repeat=found.is_repeat)
        is_new = not found.is_duplicate and self._is_new_shape(found.shape)
        self.pay(traps.page_price(has_new_content=is_new, new=len(found.new), known=found.known))
        strange = traps.after_page(notes.strange, new=len(found.new), known=found.known)
        self.has_changed |= strange > notes.strange and traps.is_maze(strange)
        notes.strange = strange
        self.note_yield(spot, is_useful=is_new or self._leads_elsewhere(known, spot, found.new))

    def note_yield(self, spot: UrlSpot, *, is_useful: bool) -> None:
        """A visit of this kind of page was of use, or not."""
        known = self.origin(spot.origin)
        self._after_visit(known.templates, spot.template_mark, traps.TEMPLATE_PATIENCE, is_useful=is_useful)
        # Without a query a template is a family by itself, and would never outlast itself.
        if spot.family_mark != spot.template_mark:
            self._after_visit(known.families, spot.family_mark, traps.FAMILY_PATIENCE, is_useful=is_useful)

    def note_missing(self, origin: str) -> None:
        """The origin says 404 where there is nothing: there is no need to ask."""
        self.origin(origin).is_probed = True

    def note_probe(self, spot: UrlSpot, text: str) -> None:
        """What the origin answers to a URL that cannot exist: the text of a page, or an empty string."""
        known = self.origin(spot.origin)
        known.sketch, known.is_probed = (sketch(text, spot.tail) if text else []), True
        self.has_changed = True

    def wants_probe(self, origin: str) -> bool:
        """Whether it is time to ask for a URL that cannot exist; says so once."""
        known = self.origin(origin)
        if known.is_probed or known.pages < PROBE_AT_PAGE:
            return False
        known.is_probed = True
        return True

    def _is_new_shape(self, shape: int) -> bool:
        notes, mark = self.notes, shape.to_bytes(SHAPE_BYTES)
        if notes.shapes.find(mark) >= 0:
            return False
        if len(notes.shapes) < SHAPES * SHAPE_BYTES:
            notes.shapes += mark
        else:
            notes.shapes[notes.shape_at : notes.shape_at + SHAPE_BYTES] = mark
            notes.shape_at = (notes.shape_at + SHAPE_BYTES) % (SHAPES * SHAPE_BYTES)
        return True

    def _leads_elsewhere(self, known: OriginNotes, spot: UrlSpot, new: Iterable[str]) -> bool:
        """Whether one of these links leads to another kind of page that has been worth a visit, or may be."""
        for other in map(spot_of, new):
            is_elsewhere = other.family_mark != spot.family_mark
            if is_elsewhere and traps.is_productive(known.templates.get(other.template_mark, NO_VISITS)):
                return True
        return False

    def _after_visit(self, table: dict[int, Yield], mark: int, patience: int, *, is_useful: bool) -> None:
        counts = table[mark] = traps.after_visit(table.get(mark, NO_VISITS), is_useful=is_useful)
        self.has_changed |= not traps.is_open(counts, patience)
        self._has_barren |= counts.barren >= _BARREN
        if len(table) > MAX_TEMPLATES:
            # Most were met once. What has been met often is what must not begin anew.
            often = sorted(table.items(), key=lambda item: -item[1].visits)[: MAX_TEMPLATES // 2]
            table.clear()
            table.update(often)

    # ---- the same page under two URLs

    def compare(self, spot: UrlSpot, key: str, digest: int) -> list[str]:
        """Hold a page against earlier ones that differ in one part, or in the origin.

        Returns the keys under which pages of this origin are known as well, now that a part was found to mean nothing.
        """
        known, window = self.origin(spot.origin), self._windows.get(spot.origin)
        if window is None:
            window = self._windows[spot.origin] = _Window()
        sightings, before, mark = window.sightings, list(known.meaningless), mark_of(key)
        if len(self._windows) > 1:
            self._compare_origins(spot.origin, mark, digest)
        is_plain = "?" not in key and "{" not in spot.template
        parts = [] if is_plain else parts_of(key, has_drawn_segment=has_drawn_segment(spot.template))
        for part in parts:
            place = mark_of(f"{part.names[0]} {part.rest}")
            other = sightings.get(place, sightings.get(mark_of(part.rest)))
            if other is not None:
                self._learn(known, window, part, digest, is_same=other == digest)
            window.note(place, digest)
        if known.sameness:
            self._compare_longer(known, window, key, digest, {part.names[0] for part in parts})
        window.note(mark, digest)
        if parts:
            window.renamed.append(key)
        if known.meaningless == before:
            return []
        self.has_changed, self.learnt = True, self._learnt_parts()
        return [without(path, known.meaningless) for path in window.renamed]

    def _learnt_parts(self) -> dict[str, list[str]]:
        return {name: origin.meaningless for name, origin in self.notes.origins.items() if origin.meaningless}

    def _compare_longer(self, known: OriginNotes, window: _Window, key: str, digest: int, own: set[str]) -> None:
        """Hold a page against those that have one variable more."""
        path = key.partition("?")[0]
        for name in [name for name in known.sameness if name[0] == "?" and name not in own]:
            other = window.sightings.get(mark_of(f"{name} {key}"))
            if other is not None:
                part = UrlPart((name, f"{path}{name}"), key, is_drawn=False)
                self._learn(known, window, part, digest, is_same=other == digest)

    def _learn(self, known: OriginNotes, window: _Window, part: UrlPart, digest: int, *, is_same: bool) -> None:
        """One pair of pages that differ in a part only."""
        path = mark_of(part.rest.partition("?")[0])
        for name in part.names:
            is_wide = name[0] == "?" or name[1:].isdecimal()
            # For a whole origin by different pages with different contents: what shows one thing under all its URLs,
            # a closed door for example, says nothing of the others.
            marks = (path, digest) if is_wide else (mark_of(part.rest),)
            is_new_page = is_same and window.is_first_agreement(name, *marks)
            counts = after_pair(known.sameness.get(name, Sameness()), is_same=is_same, is_new_page=is_new_page)
            known.sameness[name] = counts
            if is_meaningless(counts, is_drawn=part.is_drawn):
                if name not in known.meaningless:
                    known.meaningless.append(name)
            elif not is_same and name in known.meaningless:
                known.meaningless.remove(name)
        if len(known.sameness) > MAX_SAMENESS:
            most = sorted(known.sameness.items(), key=lambda item: -(item[1].same + item[1].different))
            known.sameness = dict(most[: MAX_SAMENESS // 2])

    # ---- the same site under two names

    def _compare_origins(self, origin: str, place: int, digest: int) -> None:
        for other, window in self._windows.items():
            if other != origin and (its := window.sightings.get(place)) is not None:
                first, second = (origin, other) if traps.is_before(origin, other) else (other, origin)
                self._note_mirror(second, first, is_same=its == digest)

    def note_original(self, origin: str, original: str, tail: str) -> None:
        """A page of this origin was kept before, as this URL of another domain; empty if it was not."""
        originals = self.origin(origin).originals
        if original:
            primary = origin_of(original)
            if original == primary + tail and traps.is_before(primary, origin):
                counts = _count(originals, primary, is_same=True)
                if traps.are_mirrors(counts, is_one_domain=False):
                    self._note_alias(origin, primary)
                return
        for other in list(originals):
            _count(originals, other, is_same=False)

    def _note_mirror(self, alias: str, primary: str, *, is_same: bool) -> None:
        counts = _count(self.origin(alias).mirrors, primary, is_same=is_same)
        if traps.are_mirrors(counts, is_one_domain=True):
            self._note_alias(alias, primary)

    def _note_alias(self, alias: str, primary: str) -> None:
        aliases = self.notes.aliases
        if alias not in aliases:
            aliases[alias] = primary
            self.has_changed = True
            if len(aliases) > MAX_ALIASES:
                del aliases[next(iter(aliases))]


def _count(pairs: dict[str, Sameness], name: str, *, is_same: bool) -> Sameness:
    counts = pairs[name] = after_pair(pairs.get(name, Sameness()), is_same=is_same)
    if len(pairs) > MAX_MIRRORS:
        del pairs[min(pairs, key=lambda each: pairs[each].same)]
    return counts


def _worth_keeping(origin: OriginNotes) -> OriginNotes:
    return msgspec.structs.replace(
        origin,
        templates={mark: counts for mark, counts in origin.templates.items() if counts.visits > 1},
        families={mark: counts for mark, counts in origin.families.items() if counts.visits > 1},
    )


def mark_of(name: str) -> int:
    """A name as a number of 32 bits."""
    return crc32(name.encode("utf-8", "replace"))


def mark_of_bytes(raw: bytes) -> int:
    """Bytes as a number of 32 bits."""
    return crc32(raw)


_NO_WORDS = b"0123456789 \t\n\r-_.,:;/"
_HEAD, _TAIL, _SPARE = 600, 300, 200


def shape_of_text(text: str) -> int:
    """What a text says apart from numbers and marks, as a number: another month alone is no new content.

    Of a long text its beginning and its end, as many letters whatever the numbers between them: all of it would cost
    more than everything else that is learnt of a page. 0 if there are no words.
    """
    if len(text) <= _HEAD + _TAIL + _SPARE:
        letters = text.encode("utf-8", "replace").translate(None, _NO_WORDS)
    else:
        head = text[: _HEAD + _SPARE].encode("utf-8", "replace").translate(None, _NO_WORDS)
        tail = text[-_TAIL - _SPARE :].encode("utf-8", "replace").translate(None, _NO_WORDS)
        letters = head[:_HEAD] + tail[-_TAIL:]
    return crc32(letters) if letters else 0


def _figures(name: str, counts: Yield) -> str:
    return f"{name}, {counts.visits} visits, the last {counts.barren} for nothing"
