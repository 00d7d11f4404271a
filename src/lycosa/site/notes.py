"""What is known of one registered domain: bounded notes, and what they say of the next URL.

Pure but for being changed: it knows no clock, no network and no frontier. What is forgotten merely begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple
from zlib import crc32

import msgspec

from lycosa.model import Target, origin_of
from lycosa.site.mirrors import are_mirrors, is_before
from lycosa.site.novelty import LineMemory
from lycosa.site.sections import Chain, Sections, SiteSection, chain_of
from lycosa.site.soft_404 import is_soft_404, sketch
from lycosa.site.variants import Sameness, UrlPart, after_pair, is_meaningless, parts_of, without
from lycosa.url.template import has_drawn_segment, template_of

MAX_SAMENESS = 32
MAX_ORIGINS = 16
MAX_ALIASES = 64
MAX_MIRRORS = 4
MAX_ROOTS = 64
# Pages kept to compare others with, and those of them that could be known under another key.
MAX_SIGHTINGS, MAX_RENAMED = 128, 64
# Links are remembered as two bits each. With 12 bits to a link at least, one new link in 40 is taken for known; then
# all are forgotten, and the navigation of a site is known again by its next page. Known links that count as new make
# redirects to them worth something: rather one new link less than that.
_FEW_LINKS_BYTES, _MANY_LINKS_BYTES = 1 << 7, 1 << 11
_BITS_PER_LINK = 12
# Pictures that pages showed are remembered, until there are so many.
MAX_PICTURES = 4096
# Texts are remembered as two bits each, until there are so many.
_TEXT_BYTES, MAX_TEXTS = 1 << 14, 1 << 13
# At its tenth page a host is asked for something that cannot exist.
PROBE_AT_PAGE = 10


class OriginNotes(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of one origin of the domain."""

    pages: int = 0
    sameness: dict[str, Sameness] = {}
    meaningless: list[str] = []
    # Origins that show the same pages under the same paths: of this domain, and of others.
    mirrors: dict[str, Sameness] = {}
    originals: dict[str, Sameness] = {}
    # What it answers to a URL that cannot exist, if that is a page; and whether that is known, or being asked.
    sketch: list[int] = []
    is_probed: bool = False


class SiteNotes(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is kept of a registered domain, some KB at most."""

    requests: int = 0
    roots: list[str] = []  # hosts of seeds, and those that they redirect to
    sections: dict[str, SiteSection] = {}
    sound: int = 0
    samples: int = 0
    links: bytearray = msgspec.field(default_factory=bytearray)
    linked: int = 0
    origins: dict[str, OriginNotes] = {}
    aliases: dict[str, str] = {}
    last_looks: int = 0


class UrlSpot(NamedTuple):
    """Where a URL stands on its site."""

    origin: str
    host: str
    tail: str  # path and query
    chain: Chain


class Sighting(NamedTuple):
    """What a page showed: what it says, and where it leads, each link as one of some bits."""

    text: int
    links: int

    def agrees(self, other: Sighting) -> bool:
        """Whether two URLs showed one page: the same text, and the same links but for a few, such as one that returns
        to the page itself."""
        others = (self.links ^ other.links).bit_count()
        return self.text == other.text and others <= max(2, (self.links | other.links).bit_count() // 8)


class _Window:
    """The last pages of an origin, to hold others against. Lives as long as the worker."""

    __slots__ = ("agreed", "renamed", "sightings")

    def __init__(self) -> None:
        self.sightings: dict[int, Sighting] = {}
        self.agreed: set[tuple[str, int]] = set()
        self.renamed: deque[str] = deque(maxlen=MAX_RENAMED)

    def note(self, place: int, sighting: Sighting) -> None:
        self.sightings.pop(place, None)
        self.sightings[place] = sighting
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


# What a page showed, when the variables of these names in its links are not looked at.
Shown = Callable[[frozenset[str]], Sighting]

_decode = msgspec.msgpack.Decoder(SiteNotes).decode
_encode = msgspec.msgpack.Encoder().encode


class Site:
    """The notes on one registered domain, in use."""

    __slots__ = (
        "_texts",
        "_texts_noted",
        "_windows",
        "domain",
        "has_changed",
        "learnt",
        "lines",
        "notes",
        "pictures",
        "sections",
        "unsent",
        "version",
    )

    def __init__(self, domain: str, patience: float, *, version: int = 0, raw: bytes = b"") -> None:
        self.domain = domain
        self.version = version
        self.notes = notes = _decode(raw) if raw else SiteNotes()
        self.sections = Sections(patience, notes.sections, notes.sound, notes.samples, notes.last_looks)
        self.lines = LineMemory()
        self.pictures: set[int] = set()
        self._texts = bytearray()
        self._texts_noted = 0
        # Visits since the notes were last sent.
        self.unsent = 0
        self.has_changed = False
        self._windows: dict[str, _Window] = {}
        # The origins of which some parts are known to change nothing, with these parts.
        self.learnt = self._learnt_parts()

    # ---- what is kept

    @property
    def weight(self) -> int:
        """How many entries there are, about 100 bytes each."""
        windows = sum(len(window.sightings) + len(window.renamed) for window in self._windows.values())
        shown = (len(self.lines) + len(self.pictures)) // 2
        texts = len(self._texts) // 100
        return 20 + 3 * len(self.sections.all) + 5 * len(self.notes.origins) + windows + shown + texts

    def encoded(self, *, keeps_all: bool = False) -> bytes:
        """The notes as they are kept; what was met once is not worth it, unless the next who reads them visits next."""
        sections = self.sections
        kept = {
            name: section
            for name, section in sections.all.items()
            if keeps_all or section.visits > 1 or section.held_back
        }
        counts = {"sound": sections.sound, "samples": sections.samples, "last_looks": sections.last_looks}
        return _encode(msgspec.structs.replace(self.notes, sections=kept, **counts))

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

    def spot_of(self, url: str, host: str) -> UrlSpot:
        """Where a URL in fetch form stands."""
        origin = origin_of(url)
        tail = url[len(origin) :]
        return UrlSpot(origin, host, tail, self.chain_of(host, tail))

    def source_of(self, referrer: str) -> Chain:
        """The sections of the page that led to a URL; none if it is of another domain."""
        host = _host_of(origin_of(referrer)) if referrer else ""
        is_own = host and (host == self.domain or host.endswith(f".{self.domain}"))
        return self.spot_of(referrer, host).chain if is_own else ()

    def chain_of(self, host: str, tail: str) -> Chain:
        """The sections of a path and query of a host."""
        return self.sections.in_kinds(chain_of(host, tail, is_root=self.is_root(host)))

    def is_root(self, host: str) -> bool:
        """Whether this is a host that the operator named."""
        return host in self.notes.roots

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

    def note_root(self, host: str) -> None:
        """The operator named this host, or a URL that redirects to it."""
        roots = self.notes.roots
        if host not in roots and len(roots) < MAX_ROOTS:
            self.notes.roots = [*roots, host]
            self.has_changed = True

    def note_request(self) -> None:
        """A request was sent."""
        self.notes.requests += 1
        self.unsent += 1

    def new_links(self, links: Iterable[Target]) -> list[Target]:
        """Those among these that no page of this domain led to before, as far as is remembered."""
        notes = self.notes
        if not notes.links:
            notes.links = bytearray(_FEW_LINKS_BYTES)
        elif notes.linked * _BITS_PER_LINK > len(notes.links) * 8:
            notes.links, notes.linked = bytearray(_MANY_LINKS_BYTES), 0
        new = [link for link in links if _add(notes.links, int.from_bytes(link.fingerprint))]
        notes.linked += len(new)
        return new

    def has_new_picture(self, pictures: Iterable[int]) -> bool:
        """Whether no page of this domain showed one of these pictures before, as far as is remembered."""
        new = set(pictures) - self.pictures
        if len(self.pictures) > MAX_PICTURES:
            self.pictures.clear()
        self.pictures |= new
        return bool(new)

    def has_own_text(self, text_digest: bytes) -> bool:
        """Whether no page of this domain had this text before, as far as is remembered."""
        if not self._texts or self._texts_noted > MAX_TEXTS:
            self._texts, self._texts_noted = bytearray(_TEXT_BYTES), 0
        is_new = _add(self._texts, int.from_bytes(text_digest[:8]))
        self._texts_noted += is_new
        return is_new

    def note_page(self, origin: str) -> None:
        """A page of an origin was visited."""
        self.origin(origin).pages += 1

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

    # ---- the same page under two URLs

    def compare(self, origin: str, key: str, shown: Shown) -> list[str]:
        """Hold a page against earlier ones that differ in one part, or in the origin.

        Returns the keys under which pages of this origin are known as well, now that a part was found to mean nothing.
        """
        known, window = self.origin(origin), self._windows.get(origin)
        if window is None:
            window = self._windows[origin] = _Window()
        sightings, before, mark = window.sightings, list(known.meaningless), mark_of(key)
        template = template_of(key)
        is_plain = "?" not in key and ";" not in key and "{" not in template
        parts = [] if is_plain else parts_of(key, has_drawn_segment=has_drawn_segment(template))
        whole = shown(frozenset())
        if len(self._windows) > 1:
            self._compare_origins(origin, mark, whole)
        for part in parts:
            name = part.names[0]
            place, seen = mark_of(f"{name} {part.rest}"), shown(frozenset({name[1:]}))
            other, plain = sightings.get(place), sightings.get(mark_of(part.rest))
            if other is None and plain is not None and (plain.agrees(seen) or plain.text != seen.text):
                # Where only the links differ they may do so in the part itself: that says nothing.
                other = plain
            if other is not None:
                self._learn(known, window, part, seen, is_same=other.agrees(seen))
            window.note(place, seen)
        if known.sameness:
            self._compare_longer(known, window, key, shown, {part.names[0] for part in parts})
        window.note(mark, whole)
        if parts:
            window.renamed.append(key)
        if known.meaningless == before:
            return []
        self.has_changed, self.learnt = True, self._learnt_parts()
        # What seemed to grow were new names of known pages.
        self.sections.forget_growth(_host_of(origin))
        return [without(path, known.meaningless) for path in window.renamed]

    def _learnt_parts(self) -> dict[str, list[str]]:
        return {name: origin.meaningless for name, origin in self.notes.origins.items() if origin.meaningless}

    def _compare_longer(self, known: OriginNotes, window: _Window, key: str, shown: Shown, own: set[str]) -> None:
        """Hold a page against those that have one variable more."""
        path = key.partition("?")[0]
        for name in [name for name in known.sameness if name[0] == "?" and name not in own]:
            other = window.sightings.get(mark_of(f"{name} {key}"))
            if other is not None:
                seen = shown(frozenset({name[1:]}))
                if other.agrees(seen) or other.text != seen.text:
                    part = UrlPart((name, f"{path}{name}"), key, is_drawn=False)
                    self._learn(known, window, part, seen, is_same=other.agrees(seen))

    def _learn(self, known: OriginNotes, window: _Window, part: UrlPart, seen: Sighting, *, is_same: bool) -> None:
        """One pair of pages that differ in a part only."""
        path = mark_of(part.rest.partition("?")[0])
        for name in part.names:
            is_wide = name[0] in "?;" or name[1:].isdecimal()
            # By different pages with different contents: what shows one thing under all its URLs, a closed door or a
            # search that finds nothing, says nothing of the others. For a whole origin they have different paths.
            page = path if is_wide else mark_of(part.rest)
            is_new_page = is_same and window.is_first_agreement(name, page, seen.text)
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

    def _compare_origins(self, origin: str, place: int, seen: Sighting) -> None:
        for other, window in self._windows.items():
            if other != origin and (its := window.sightings.get(place)) is not None:
                alias, primary = self._alias_first(origin, other)
                counts = _count(self.origin(alias).mirrors, primary, is_same=its.agrees(seen))
                self._note_mirror(alias, primary, counts)

    def _alias_first(self, one: str, other: str) -> tuple[str, str]:
        """Which of two origins would be left: never the one that has more to show."""
        pages = self.origin(one).pages - self.origin(other).pages
        if abs(pages) > max(self.origin(one).pages, self.origin(other).pages) // 4:
            return (other, one) if pages > 0 else (one, other)
        return (other, one) if is_before(one, other) else (one, other)

    def note_original(self, origin: str, original: str, tail: str) -> None:
        """A page of this origin was kept before, as this URL of another domain; empty if it was not."""
        originals = self.origin(origin).originals
        if original:
            primary = origin_of(original)
            if original == primary + tail and is_before(primary, origin):
                self._note_mirror(origin, primary, _count(originals, primary, is_same=True))
                return
        for other in list(originals):
            self._note_mirror(origin, other, _count(originals, other, is_same=False))

    def note_sample(self, origin: str, *, is_same: bool) -> None:
        """A page of an origin that is left for another was looked at all the same."""
        if primary := self.notes.aliases.get(origin):
            known = self.origin(origin)
            pairs = known.mirrors if primary in known.mirrors else known.originals
            self._note_mirror(origin, primary, _count(pairs, primary, is_same=is_same))

    def _note_mirror(self, alias: str, primary: str, counts: Sameness) -> None:
        aliases = self.notes.aliases
        if are_mirrors(counts, self.origin(alias).pages) and not self.is_root(_host_of(alias)):
            if alias not in aliases:
                aliases[alias] = primary
                self.has_changed = True
                if len(aliases) > MAX_ALIASES:
                    del aliases[next(iter(aliases))]
        elif aliases.get(alias) == primary and counts.different > counts.same // 10:
            del aliases[alias]
            self.has_changed = True


def _add(memory: bytearray, number: int) -> bool:
    """Note a number as two bits, of a memory whose size is a power of two; whether it was not there yet."""
    mask = len(memory) * 8 - 1
    one, other = number & mask, number >> 20 & mask
    if memory[one >> 3] >> (one & 7) & memory[other >> 3] >> (other & 7) & 1:
        return False
    memory[one >> 3] |= 1 << (one & 7)
    memory[other >> 3] |= 1 << (other & 7)
    return True


def _count(pairs: dict[str, Sameness], name: str, *, is_same: bool) -> Sameness:
    counts = pairs[name] = after_pair(pairs.get(name, Sameness()), is_same=is_same)
    if len(pairs) > MAX_MIRRORS:
        del pairs[min(pairs, key=lambda each: pairs[each].same)]
    return counts


def _host_of(origin: str) -> str:
    authority = origin.partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


def mark_of(name: str) -> int:
    """A name as a number of 32 bits."""
    return crc32(name.encode("utf-8", "replace"))
