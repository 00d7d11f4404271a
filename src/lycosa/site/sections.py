"""What the parts of a site yield, and which of them look endless: defer, sample, then cut.

A URL stands in nested sections: its registered domain, its host, the first two folders of its path, its template. Each
section knows what a visit there is worth and what it leads to. One that seems to have no end, or to bring nothing, is
*doubtful*: its pages come behind all others of their host, and each is charged to it. When the charges reach what its
yield allows it is *spent*: its pages wait until nothing else is left, some are visited all the same as samples, and
only what is still spent then is left out. What turns out to end after all gets its charges back.

Pure but for being changed: it knows no clock, no network and no frontier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from math import inf
from typing import NamedTuple
from zlib import crc32

import msgspec

from lycosa.model import MAX_DOUBT
from lycosa.url.template import shape_of

MAX_SECTIONS = 200
MAX_FOLDERS = 2
MAX_SEGMENTS = 8
MAX_NAME = 80
# Where a folder has as many templates as this, they are names with a number rather than kinds of pages.
MAX_KINDS = 24
# What folders of a crowded one are called, whatever their names.
ANY_NAME = "{name}"
# URLs whose sections are remembered: pages lead to others while they are new themselves.
MAX_CHAINS = 4096
# The section of all hosts of a domain that are no seed's.
DOMAIN = "."
# How the names of sections end that are smaller than a host: folders, their queries, templates.
_SMALL = "/?$"
# Visits that a section's parent counts for in what is believed of it.
PRIOR = 4
# A list leads to so many new URLs of a section with each of its pages. It has an end if the chance that it has none is
# below this, and its pages lead to so few new ones of it.
LISTED, _SURE_END, _ENDED = 3, 0.1, 0.5
# Visits from which on a section speaks for itself only, and no longer for its parents.
GROWN = 20
# How many visits the past counts for in what a section leads to: a change is noticed within as many.
MEMORY = 64
# And how many in what its visits have brought lately.
LATELY = 16
# So many pages in a row that lead to nothing new are no chance.
QUIET = 8
# Of one page, links to one section beyond this many say no more.
MAX_CHILDREN, MAX_BIRTHS = 8, 64
# The sections that one leads to most are remembered; so many steps are followed to see whether they lead back.
MAX_KIDS, MAX_STEPS = 4, 24
# A chain in which nearly every page leads to the next has no end as far as anybody can tell, once it is this long.
LONG_CHAIN, LONG_VISITS, LIVE = 32, 40, 0.8
# From this chance on that it never ends, and below this worth of a visit, a section is doubtful.
DOUBT, POOR = 0.5, 0.1
_CERTAIN, _SLIGHT = 0.95, 0.02
_FIRST_WORTH, _FIRST_DOUBT = 0.5, 0.4
# A visit is charged the less, the fewer new URLs pages lead to than they used to: in a finite part they become fewer.
# Where growth slows down for good, a visit pays back.
_STEEP, _FINITE_STEEP, _SLOWING = 6, 12, 0.25
# Whoever brings anything may be charged this much.
_LEAST_ALLOWANCE = 36
# What has no end in sight costs one request each. What is only worth nothing ends by itself: it costs less, and is
# allowed as if it were worth something.
_IDLE_CHARGE, _IDLE_WORTH = 0.6, 0.12
# Nothing at all where its pages are no copies of each other: by what they bring, or since nearly each of late has a
# text of its own. That holds for places, which lists lead to, not for views, to each of which its own page leads.
_DISTINCT, _OWN_SHARE = 0.04, 0.6
# What is left out for bringing too little may be missed, if such a share of its visits, and so many, said something:
# the first one of anything does.
_TELLING, _MIN_TELLING = 0.05, 2.5
# And it may be charged more, the more it has brought so far.
_GAINED_SHARE = 0.25
# What the sections around one may be charged in all, as a multiple of what it may be itself.
_WIDER_FOLDER, _WIDER_HOST, _WIDER_DOMAIN = 1.3, 1.8, 0.9
# To a domain, a page of a host counts as this much of a host.
_PAGE_OF_HOST = 0.6
# Where what nobody links to is not there, names stand for something. A chain of them, in which a page leads to fewer
# than three more, may be this much longer, whatever its pages say; a dense part if they say something new.
_FINITE_CHAIN, _MAX_CHAIN_BIRTHS, _CHAIN_WORTH = 16, 3, 0.5
_FINITE_DENSE, _DENSE_WORTH = 1.75, 0.5
# Lists of a large site are many: of pages that nothing was held against, this share may be its lists; up to a limit.
_LIST_SHARE, _MAX_LISTS = 0.08, 50
# How often such names are asked for, each time after so many visits more.
MAX_PROBES = 2
# A host speaks for its folders if so many of them could have grown.
MANY_FOLDERS = 3
# What a section that has been charged this much leads to goes behind others in doubt, and then last.
MUCH_CHARGED = (16, 64)
# So does what is around it, if so much was charged to many parts of that together.
MUCH_CHARGED_AROUND = 64
# Pages found within a section and elsewhere that are enough to compare them, and how many fewer new URLs of the section
# the latter lead to if they are of another kind.
ENOUGH_FOUND, OUTER_SHARE = 16, 0.7
# Samples of what is spent: of one in so many that are held back; in all so many, and one for every so many pages.
HELD_BACK_PER_SAMPLE, FREE_SAMPLES, PAGES_PER_SAMPLE = 20, 12, 40
# When nothing else is left, so many URLs that would be left out for what they bring, not for having no end, are
# visited all the same, and one for every so many pages: the last of a list cost little, and may lead to something.
LAST_LOOKS, PAGES_PER_LAST_LOOK = 24, 40

# So many held back, and so many samples that changed nothing, are enough.
SURE_HELD_BACK, SURE_SAMPLES = 200, 5

# The names of the sections of a URL, from the widest to its template.
Chain = tuple[str, ...]


class Soundness(IntEnum):
    """What is to become of a URL."""

    SOUND = 0
    DOUBTFUL = 1
    SPENT = 2


class SiteSection(msgspec.Struct, array_like=True, omit_defaults=True):
    """What is known of a part of a site."""

    visits: int = 0
    worth: float = _FIRST_WORTH  # of the next visit, from 0 to 1
    doubt: float = _FIRST_DOUBT  # the chance that what begins here never ends
    births: float = 0.0  # new URLs of it that a page of it leads to, over the last third of its visits
    past_births: float = 0.0  # and over all
    charged: float = 0.0  # to it alone
    total: float = 0.0  # to all within it, by their worth
    kids: dict[str, float] = {}  # sections that its pages lead to, with how many links there were of late
    parent: str = ""
    held_back: int = 0
    samples: int = 0
    probes: int = 0
    unanswered: int = 0  # names made up that may be there
    is_finite: bool = False  # none of them is
    lately: float = _FIRST_WORTH  # the worth of its last visits
    gained: float = 0.0  # what its visits were worth, all together
    leading: float = 0.0  # the share of its pages of late that led to something new
    quiet: int = 0  # pages in a row that led to nothing new
    # Its pages that were found within it, and elsewhere; and how many new URLs of it either led to.
    inner: int = 0
    inner_births: float = 0.0
    outer: int = 0
    outer_births: float = 0.0
    is_mixed: bool = False  # names here are of too many kinds for each to be looked at by itself
    own: float = 0.0  # the share of its last visits that showed a text which no other page has
    telling: float = 0.0  # the share of its visits of late that said something
    # Its URLs that were found with others like them on one page, as in a list, and by ones and twos.
    listed: float = 0.0
    alone: float = 0.0
    is_view: bool = False  # it has variables, so it shows something in another way
    is_crowded: bool = False  # names of folders in it are too many for each to be a kind of its own


class Brought(NamedTuple):
    """What a visit brought."""

    worth: float = 0.0  # from 0 to 1
    is_own: bool = False  # a text that no other page of the site has
    is_telling: bool = False  # something that no page of the site had said


NOTHING_BROUGHT = Brought()


@lru_cache(maxsize=MAX_CHAINS)
def chain_of(host: str, tail: str, *, is_root: bool) -> Chain:
    """The sections of a URL, from its domain to its template.

    A seed's host stands by itself: what other hosts of its domain are like says nothing of it. A query has folders of
    its own: what sorts and filters a list is not like the list.
    """
    path, _, query = tail.partition("?")
    shapes = [shape_of(segment) for segment in path.split("/")[1 : MAX_SEGMENTS + 1]]
    names, folder = [host] if is_root else [DOMAIN, host], host + "/"
    template = f"{host}/{'/'.join(shapes)}"
    if query:
        folder += "".join(f"{shape}/" for shape in shapes[:-1][:MAX_FOLDERS])
        names.append(_short(folder) + "*?")
        template += "?" + "&".join(sorted({variable.partition("=")[0] for variable in query.split("&")}))
    else:
        for shape in shapes[:-1][:MAX_FOLDERS]:
            folder += f"{shape}/"
            names.append(folder)
    names.append(_short(template) + "$")
    return tuple(names)


class Sections:
    """The sections of a registered domain, as many as are remembered. What is forgotten begins anew."""

    __slots__ = ("_turn", "all", "crowded", "last_looks", "patience", "samples", "sound", "under_way")

    def __init__(
        self,
        patience: float,
        known: dict[str, SiteSection],
        sound: int = 0,
        samples: int = 0,
        last_looks: int = 0,
    ) -> None:
        self.all = known
        self.patience = patience
        self.sound = sound  # visits that nothing was held against
        self.samples = samples
        self.last_looks = last_looks
        # Visits of hosts that are no seed's and in doubt: there may be many at once, and each is as good as charged.
        self.under_way = 0
        self.crowded = {name for name, section in known.items() if section.is_crowded}
        self._turn: list[str] = []

    # ---- what is a kind of page

    def in_kinds(self, chain: Chain) -> Chain:
        """The sections of a URL, with one name for all folders of a crowded one that have not grown."""
        for place in range(len(chain) - 2) if self.crowded else ():
            name, folder = chain[place : place + 2]
            any_name = f"{name.removesuffix('/')}/{ANY_NAME}/"
            if name in self.crowded and folder[-1] == "/" and folder != any_name and not self._has_grown(folder):
                rest = (
                    any_name + each[len(folder) :] if each.startswith(folder) else each for each in chain[place + 1 :]
                )
                chain = (*chain[: place + 1], *rest)
        return chain

    def _has_grown(self, name: str) -> bool:
        section = self.all.get(name)
        return section is not None and section.visits >= GROWN

    def _note_crowd(self, folder: str, around: SiteSection) -> None:
        """Where a folder has many with a few pages each, their names tell people or things apart, no kinds of pages.

        The pages of each are alike then: `/people/anna/` and `/people/anna/likes`. Not where there are folders in these
        as well: of a tree each branch is judged by itself.
        """
        if around.is_crowded:
            return
        seldom = tuple(
            name
            for name, section in self.all.items()
            if section.parent == folder and name[-1] == "/" and section.visits < GROWN
        )
        within = [name for name in self.all if name.startswith(seldom)] if len(seldom) >= MAX_KINDS else []
        if within and max(name.count("/") for name in within) == seldom[0].count("/"):
            around.is_crowded = True
            self.crowded.add(folder)
            for name in within:
                del self.all[name]

    # ---- before a visit

    def verdict(self, chain: Chain, depth: int, source: Chain = ()) -> Soundness:
        """What is to become of a URL of these sections, so many links away from a seed, found on a page of `source`."""
        name = self.finest(chain)
        section = self.all.get(name)
        if section is None:
            return Soundness.SOUND
        if section.visits:
            self._look_again(name, section)
        # That they are of a kind which ends is no reason to visit what brings nothing.
        is_of_outer_kind = section.worth >= POOR and _has_outer_kind(section) and not _is_within(name, source)
        if is_of_outer_kind or not self._is_doubtful(section, depth):
            return Soundness.SOUND
        if section.outer < ENOUGH_FOUND <= section.inner and name[-1] in _SMALL and not _is_within(name, source):
            # What was charged was found within: some that were found elsewhere are looked at, to compare them with.
            return Soundness.DOUBTFUL
        is_spent = self.is_spent(section) or self._is_like_its_parent(section) or self._is_spent_around(section)
        return Soundness.SPENT if is_spent and not self._is_listed(name, source) else Soundness.DOUBTFUL

    def _is_listed(self, name: str, source: Chain) -> bool:
        """Whether a list with an end led to a URL of a section: what it leads to has an end as well.

        So has what the home page of a host that the operator named leads to.
        """
        if source and source[1:] == (f"{source[0]}/$",) and not _is_within(name, source):
            return self.all[name].worth >= POOR
        listing = self.finest(source) if source else ""
        section = self.all.get(listing)
        if section is None or min(section.worth, self.all[name].worth) < POOR or _is_within(name, source):
            return False
        # By what it leads to itself: that all around is in doubt, or led here before its parts were known apart, says
        # nothing of a list that was read.
        doubt = self._own_doubt(listing, section, by_way_of_hosts=False)
        return doubt <= _SURE_END and section.births <= _ENDED and _is_list(listing, section, name)

    def doubt_of(self, chain: Chain, source: Chain = ()) -> int:
        """How far behind others a doubtful URL goes: what has been charged little goes first."""
        name = self.finest(chain)
        section = self.all.get(name)
        if section is None:
            return 1
        if section.inner < ENOUGH_FOUND <= section.outer and _is_within(name, source):
            # Some are looked at in any case, to compare those with that were found elsewhere.
            return 0
        much, very_much = MUCH_CHARGED
        if section.charged >= very_much:
            return MAX_DOUBT
        return 2 if section.charged >= much or self._is_charged_all_over(section) else 1

    def _is_charged_all_over(self, section: SiteSection) -> bool:
        """Whether much was charged around a section, to no single part: a tree of folders shows its end at the bottom.

        One maze makes no other part go further behind.
        """
        name = section.parent
        while name != DOMAIN and (around := self.all.get(name)):
            if around.total >= MUCH_CHARGED_AROUND:
                most = max((part.total for part in self.all.values() if part.parent == name), default=0.0)
                if around.total - most >= MUCH_CHARGED_AROUND:
                    return True
            name = around.parent
        return False

    def wants_sample(self, chain: Chain, free: int = FREE_SAMPLES) -> bool:
        """Whether a URL that is held back is visited all the same."""
        section = self.all.get(self.finest(chain))
        if section is None:
            return False
        section.held_back += 1
        has_had_its_share = section.samples * HELD_BACK_PER_SAMPLE >= section.held_back
        if has_had_its_share or self.samples >= free + self.sound / PAGES_PER_SAMPLE:
            return False
        section.samples += 1
        self.samples += 1
        return True

    def wants_last_look(self, chain: Chain) -> bool:
        """Whether a URL is visited now that nothing else is left, though its section brought too little."""
        section = self.all.get(self.finest(chain))
        is_finite = section is not None and section.worth < POOR and section.doubt <= DOUBT
        if not is_finite or self.last_looks >= LAST_LOOKS + self.sound / PAGES_PER_LAST_LOOK:
            return False
        self.last_looks += 1
        return True

    def charge_host(self) -> None:
        """One more host of a domain in doubt is asked for its robots.txt: at once, since there may be many together."""
        if domain := self.all.get(DOMAIN):
            domain.charged += 1
            domain.total += 1

    def finest(self, chain: Chain) -> str:
        """The smallest of these sections that is known; the widest if none is."""
        for name in reversed(chain):
            if name in self.all:
                return name
        return chain[0]

    def figures(self, chain: Chain) -> str:
        """What is held against a URL, for people."""
        name = self.finest(chain)
        section = self.all.get(name) or SiteSection()
        told = name if name != DOMAIN else "hosts of this domain"
        return f"{told.rstrip('$')}: {section.visits} visits, worth {section.worth:.2f}, endless {section.doubt:.2f}"

    def is_sure(self, chain: Chain, source: Chain) -> bool:
        """Whether a section that is spent has been sampled so often that what it leads to needs no other look."""
        name = self.finest(chain)
        section = self.all.get(name)
        if section is None or self._finite_allowance(section) or self._is_good_source(name, source):
            return False
        return section.held_back >= SURE_HELD_BACK and section.samples >= SURE_SAMPLES

    def _is_good_source(self, name: str, source: Chain) -> bool:
        """Whether pages of `source` are outside of a section and sound: what they lead to may be of another kind."""
        section = self.all.get(self.finest(source)) if source else None
        is_sound = section is not None and section.doubt <= DOUBT and section.worth >= POOR
        return is_sound and not _is_within(name, source)

    def is_well_known(self, chain: Chain) -> bool:
        """Whether a section was visited often, and is far from being in doubt."""
        section = self.all.get(self.finest(chain))
        return section is not None and section.visits >= 2 * MEMORY and section.doubt <= DOUBT / 2

    def is_poor(self, chain: Chain) -> bool:
        """Whether its section is held back for what it brings rather than for having no end."""
        section = self.all.get(self.finest(chain)) or SiteSection()
        return section.worth < POOR

    def is_telling(self, chain: Chain) -> bool:
        """Whether some visits of its section said something: what is left out of it may be missed.

        Not where each of its pages was found on another, as what shows that to be printed: lines that were met long
        ago seem new.
        """
        section = self.all.get(self.finest(chain)) or SiteSection()
        enough = max(_TELLING, _MIN_TELLING / max(1, min(section.visits, MEMORY)))
        return section.listed > section.alone and section.telling >= enough

    def wants_probe(self, chain: Chain) -> bool:
        """Whether to ask for URLs like this that nobody linked to, of a section in doubt."""
        section = self._speaker(chain)
        if section is None or section.is_finite or section.worth < POOR or section.probes >= MAX_PROBES:
            return False
        return section.visits >= GROWN * (section.probes + 1)

    def note_asked(self, chain: Chain, names: int) -> None:
        """So many URLs that were made up are asked for."""
        if section := self._speaker(chain):
            section.probes += 1
            section.unanswered = names

    def note_missing(self, chain: Chain) -> None:
        """A URL of these sections that was made up is not there."""
        if (section := self._speaker(chain)) and section.unanswered:
            section.unanswered -= 1
            section.is_finite = not section.unanswered

    def note_there(self, chain: Chain) -> None:
        """A URL of these sections that was made up is there: others need not be asked for."""
        if section := self._speaker(chain):
            section.probes = MAX_PROBES

    def _speaker(self, chain: Chain) -> SiteSection | None:
        """The smallest of these sections that speaks for itself."""
        has_folder = len(chain) > 1 and chain[-2][-1] in _SMALL
        for name in reversed(chain):
            enough = GROWN * MANY_FOLDERS if has_folder and name[-1] not in _SMALL else GROWN
            if (section := self.all.get(name)) and section.visits >= enough:
                return section
        return None

    def _is_doubtful(self, section: SiteSection, depth: int) -> bool:
        if section.doubt > DOUBT or section.worth < POOR:
            return True
        return (depth >= LONG_CHAIN or section.visits >= LONG_VISITS) and self._is_live(section)

    def forget_growth(self, host: str) -> None:
        """New names of a host were names of known pages: what its sections led to says nothing any more."""
        for name, section in self.all.items():
            if name == host or name.startswith(f"{host}/"):
                _forget_growth(section)

    # ---- what may be charged

    def allowance(self, section: SiteSection) -> float:
        """What a section may be charged."""
        if self._is_idle(section):
            spare = self.patience * _IDLE_WORTH + _GAINED_SHARE * section.gained
            return inf if section.worth >= _DISTINCT or _is_place(section) else spare
        if section.worth < POOR:
            return self.patience * section.worth
        return max(self._finite_allowance(section), self.patience * section.worth, _LEAST_ALLOWANCE)

    def _finite_allowance(self, section: SiteSection) -> float:
        """What a section may be charged because names stand for something there."""
        if not section.is_finite or section.lately < POOR:
            return 0.0
        if section.births < _MAX_CHAIN_BIRTHS:
            worth = max(section.worth, _CHAIN_WORTH)
            lists = min(self.sound * _LIST_SHARE, self.patience * worth * _MAX_LISTS)
            return max(self.patience * worth * _FINITE_CHAIN, lists)
        return self.patience * max(section.worth, _DENSE_WORTH) * _FINITE_DENSE

    def is_spent(self, section: SiteSection) -> bool:
        """Whether a section has been charged what it may be."""
        return section.charged + (0 if section.parent else self._under_way_of(section)) >= self.allowance(section)

    def _is_like_its_parent(self, section: SiteSection) -> bool:
        """Whether a section has begun to bring as little as the one around it, which is spent for that."""
        around = self.all.get(section.parent)
        if around is None or section.parent[-1] not in _SMALL or not PRIOR <= section.visits < GROWN:
            return False
        return max(section.worth, around.worth) < POOR and self.is_spent(around)

    def _under_way_of(self, section: SiteSection) -> int:
        return self.under_way if section is self.all.get(DOMAIN) else 0

    def _is_spent_around(self, section: SiteSection) -> bool:
        """Whether the sections around one have been charged what they may be, by what this one is worth."""
        if self._finite_allowance(section) or self.allowance(section) == inf:
            return False
        allowed = self.patience * (max(section.worth, _IDLE_WORTH) if self._is_idle(section) else section.worth)
        name = section.parent
        while around := self.all.get(name):
            limit = max(allowed, self._finite_allowance(around)) * _wider(name)
            if around.total >= limit and self._open_total(name, around) >= limit:
                return True
            name = around.parent
        return False

    def _open_total(self, name: str, around: SiteSection) -> float:
        """What was charged within a section, but for folders that are spent: a maze closes no others."""
        if name == DOMAIN:
            return around.total + self.under_way
        folders = (folder for folder in self.all.values() if folder.parent == name)
        return around.total - sum(folder.total for folder in folders if folder.total >= self.allowance(folder))

    def _is_idle(self, section: SiteSection) -> bool:
        """Whether a section, whatever it is worth, has hardly more pages than are known."""
        return section.doubt <= DOUBT and not self._is_live(section)

    # ---- after a visit

    def worth_of(self, chain: Chain) -> float:
        """What a visit of a URL of these sections is believed to be worth."""
        return (self.all.get(self.finest(chain)) or SiteSection()).worth

    def promise(self, source: Chain, chain: Chain) -> float:
        """What a link from one page to another kind of page is worth, by what is known of that kind."""
        name = self.finest(chain)
        section = self.all.get(name)
        return 0.0 if section is None or name in source else section.worth * (1 - section.doubt)

    def learn(
        self,
        chain: Chain,
        verdict: Soundness,
        brought: Brought,
        found: Sequence[Chain],
        *,
        source: Chain = (),
        is_sample: bool = False,
    ) -> None:
        """A visit of a URL that was found on a page of `source` brought so much, and led to new URLs with these
        sections.
        """
        into: dict[str, float] = {}
        for other in found:
            name = self.finest(other)
            into[name] = min(MAX_CHILDREN, into.get(name, 0.0) + 1)
        # What a domain has is hosts: the first page of one speaks for it.
        speaks_for_domain = chain[0] == DOMAIN and chain[1] not in self.all
        judged = self.finest(chain)
        path = self._path(chain)
        chain = chain[: len(path)]
        births = Counter(name for other in found for name in other)
        self._note_listing(births)
        if section := self.all.get(judged):
            _note_finding(section, min(MAX_BIRTHS, births[judged]), is_inner=_is_within(judged, source))
            self._note_quiet(section, leads_on=bool(found))
        charge = self._charge(path) if verdict else 0.0
        shares = 1
        is_heard = True
        for name, section in zip(reversed(chain), reversed(path), strict=True):
            if name == DOMAIN and not speaks_for_domain:
                break
            _note_births(section, min(MAX_BIRTHS, births[name]))
            if is_heard:
                is_heard = section.visits < GROWN
                weight = 1 / min(section.visits + PRIOR, MEMORY) / shares
                shares = max(shares, section.visits + 1)
                section.visits += 1
                _note_brought(section, brought, weight)
                section.leading += (bool(found) - section.leading) / min(section.visits, MEMORY)
                self._note_kids(section, into)
                self._look_again(name, section)
                section.charged = max(0.0, section.charged + charge)
        if charge:
            self._charge_others(chain, path, charge, is_new_host=speaks_for_domain)
        elif not verdict:
            self._forgive(path, self.all.get(judged))
            self.sound += not is_sample
        self._look_around()

    def _note_listing(self, births: Counter[str]) -> None:
        """How many URLs of each section one page led to."""
        for name, number in births.items():
            section = self.all.get(name)
            if section is None or name[-1] not in _SMALL:
                continue
            if number >= LISTED:
                section.listed += number
            else:
                section.alone += number

    def _note_quiet(self, section: SiteSection, *, leads_on: bool) -> None:
        """Where page after page leads to nothing new, growth is over: all lists have been read, for example."""
        section.quiet = 0 if leads_on else section.quiet + 1
        if section.quiet == QUIET and section.worth >= POOR and not self._is_idle(section):
            _forget_growth(section)
            section.charged = section.total = 0.0

    def _note_kids(self, section: SiteSection, into: dict[str, float]) -> None:
        """Beyond the most frequent ones, what its pages lead to counts for the sections around that."""
        kids = {name: links * (1 - 1 / MEMORY) for name, links in section.kids.items()}
        for name, links in into.items():
            kids[name] = kids.get(name, 0.0) + links
        while len(kids) > MAX_KIDS:
            least = min(kids, key=kids.__getitem__)
            links = kids.pop(least)
            if around := self._around(least):
                kids[around] = kids.get(around, 0.0) + links
        section.kids = kids

    def _around(self, name: str) -> str:
        """The folder around a section that is smaller than a host, the first one of the host included."""
        section = self.all.get(name)
        if section is None or name[-1] not in _SMALL:
            return ""
        return section.parent if section.parent[-1] in _SMALL else f"{section.parent}/"

    def _charge(self, path: Sequence[SiteSection]) -> float:
        """What a visit is charged, by the smallest section that speaks for itself."""
        # One with few visits has births by chance: the one around it tells better.
        section = next((section for section in reversed(path) if section.visits >= MEMORY), None)
        section = section or next((section for section in reversed(path) if section.visits >= GROWN), None)
        if section is None:
            return 1.0
        if self._is_idle(section):
            is_copy = min(section.worth, path[-1].worth) < _DISTINCT and not _is_place(path[-1])
            return _IDLE_CHARGE if is_copy else 0.0
        if not section.past_births or section.worth < POOR:
            return 1.0
        share = min(1.0, section.births / section.past_births) ** (_FINITE_STEEP if section.is_finite else _STEEP)
        return (share - _SLOWING) / (1 - _SLOWING)

    def _charge_others(self, chain: Chain, path: Sequence[SiteSection], charge: float, *, is_new_host: bool) -> None:
        name = self.finest(chain)
        section = self.all[name]
        if not section.is_finite:
            weighed = charge if self._is_idle(section) else charge * section.worth
            for name_around, around in zip(chain, path, strict=True):
                # To a domain, what counts is hosts.
                share = _PAGE_OF_HOST if name_around == DOMAIN and not is_new_host else 1.0
                around.total = max(0.0, around.total + weighed * share)
        # Two sections that lead to each other are one thing.
        for kid, links in section.kids.items():
            other = self.all.get(kid)
            if kid != name and other and name in other.kids and links >= min(section.visits, MEMORY) / 2:
                other.charged = max(0.0, other.charged + charge)

    def _forgive(self, path: Sequence[SiteSection], judged: SiteSection | None) -> None:
        """A section that was doubtful and is sound after all gets back what it was charged."""
        if judged is None or judged.visits < GROWN or not judged.charged or self._is_live(judged):
            return
        for section in path:
            section.total = max(0.0, section.total - judged.charged)
        judged.charged = 0.0

    def _path(self, chain: Chain) -> list[SiteSection]:
        """The sections of a chain, made if they are not known: a new one is believed to be like its parent."""
        path: list[SiteSection] = []
        parent, above = "", SiteSection()
        for name in chain:
            if name not in self.all and parent.endswith("*?") and self._is_one_too_many(parent, above):
                break
            if name not in self.all and name[-1] == "/":
                self._note_crowd(parent, above)
            section = self.all.pop(name, None) or _begun(name, parent, above)
            self.all[name] = section
            path.append(section)
            parent, above = name, section
        while len(self.all) > MAX_SECTIONS:
            self._forget(chain)
        return path

    def _is_one_too_many(self, parent: str, around: SiteSection) -> bool:
        """Whether one more template with variables would say nothing of its folder.

        Then those that were hardly visited do not either. What names of a folder are without variables they are with.
        """
        if not around.is_mixed:
            kinds = self._kinds_in(parent)
            around.is_mixed = max(len(kinds), len(self._kinds_in(parent.removesuffix("*?")))) >= MAX_KINDS
            for name in kinds if around.is_mixed else ():
                if self.all[name].visits < GROWN:
                    del self.all[name]
        return around.is_mixed

    def _kinds_in(self, folder: str) -> list[str]:
        return [name for name, section in self.all.items() if section.parent == folder and name[-1] == "$"]

    def _forget(self, kept: Chain) -> None:
        """The one not used for longest, of those that were hardly visited if there are any: lists by pages stay."""
        others = [name for name in self.all if name not in kept and name != DOMAIN]
        seldom = (
            name
            for name in others
            if self.all[name].visits < GROWN and not ("?" in name and _is_list(name, self.all[name]))
        )
        forgotten = next(seldom, others[0])
        del self.all[forgotten]
        self.crowded.discard(forgotten)

    # ---- what never ends

    def _look_again(self, name: str, section: SiteSection) -> None:
        """The chance that what begins here never ends: a branching process of several kinds, one step further.

        Only by what leads back here: that a page leads to a maze does not make it one.
        """
        doubt = self._own_doubt(name, section)
        if parent := self.all.get(section.parent):
            section.doubt = (section.visits * doubt + PRIOR * parent.doubt) / (section.visits + PRIOR)
        elif section.visits > PRIOR:
            section.doubt = doubt

    def _own_doubt(self, name: str, section: SiteSection, *, by_way_of_hosts: bool = True) -> float:
        """The same by its own visits alone."""
        ends, pages = 1.0, min(section.visits, MEMORY)
        for kid, links in section.kids.items():
            other = self.all.get(kid) or self.all.get(kid[:-1])
            # That it leads to more of itself, its births say.
            if other is None or not (by_way_of_hosts or (kid[-1] in _SMALL and kid != name)):
                continue
            if name in other.kids or _is_around(kid, name) or self._leads_to(kid, name, by_way_of_hosts):
                ends *= (1 - max(other.doubt, _SLIGHT)) ** (links / pages)
        return _CERTAIN * (1 - ends)

    def _leads_to(self, name: str, end: str, by_way_of_hosts: bool) -> bool:
        """Whether pages of one section lead to pages of another, over some steps."""
        met, ahead = {name}, [name]
        while ahead and len(met) < MAX_STEPS:
            section = self.all.get(ahead.pop())
            for kid in section.kids if section else ():
                if kid == end:
                    return True
                if kid not in met and (by_way_of_hosts or kid[-1] in _SMALL):
                    met.add(kid)
                    ahead.append(kid)
        return False

    def _is_live(self, section: SiteSection) -> bool:
        """Whether nearly each of its pages leads to one more that leads on."""
        if section.leading < LIVE:
            return False
        fertile = sum(links for name, links in section.kids.items() if self._is_fertile(name))
        return fertile >= LIVE * min(section.visits, MEMORY)

    def _is_fertile(self, name: str) -> bool:
        section = self.all.get(name)
        return section is None or sum(section.kids.values()) >= min(section.visits, MEMORY) / 2

    def _look_around(self) -> None:
        """Two sections in turn are looked at again: what they lead to may be known better by now."""
        for _ in range(2):
            if not self._turn:
                self._turn = list(self.all)
            name = self._turn.pop()
            section = self.all.get(name)
            if section is not None and section.visits:
                self._look_again(name, section)


def _short(name: str) -> str:
    """A name that is too long to be kept two hundred times, as its beginning and a number."""
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}~{crc32(name.encode('utf-8', 'replace')):x}"


def _begun(name: str, parent: str, above: SiteSection) -> SiteSection:
    """A section at its first visit: believed to be like the one around it."""
    section = SiteSection(worth=above.worth, doubt=above.doubt, parent=parent, is_view="?" in name)
    if above.listed > above.alone:
        # What led to its first URLs was counted there.
        section.listed = PRIOR
    return section


def _note_brought(section: SiteSection, brought: Brought, weight: float) -> None:
    section.gained += brought.worth
    section.lately += (brought.worth - section.lately) / LATELY
    section.worth += weight * (brought.worth - section.worth)
    section.own += (brought.is_own - section.own) / min(section.visits, LATELY)
    section.telling += (brought.is_telling - section.telling) / min(section.visits, MEMORY)


def _is_place(section: SiteSection) -> bool:
    """Whether lists lead to its pages, each with a text of its own, if only by a word: versions, years, variants."""
    return not section.is_view and section.own >= _OWN_SHARE and section.listed > section.alone


def _note_births(section: SiteSection, births: int) -> None:
    section.births += (births - section.births) / (section.visits / 3 + 1)
    section.past_births += (births - section.past_births) / (section.visits + 1)


def _forget_growth(section: SiteSection) -> None:
    section.kids, section.births, section.past_births, section.leading = {}, 0.0, 0.0, 0.0


def _note_finding(section: SiteSection, births: int, *, is_inner: bool) -> None:
    if is_inner:
        section.inner += 1
        section.inner_births += (births - section.inner_births) / min(section.inner, 2 * ENOUGH_FOUND)
    else:
        section.outer += 1
        section.outer_births += (births - section.outer_births) / min(section.outer, 2 * ENOUGH_FOUND)


def _is_list(name: str, section: SiteSection, of: str = "") -> bool:
    """Whether its pages lead to many new ones of one other section (of this one), which is not within it."""
    pages = min(section.visits, MEMORY)
    own = name.rstrip("$?*")
    links = [
        links
        for kid, links in section.kids.items()
        # Or of what is around that one: it may not have been known yet.
        if kid == of or (of.startswith(f"{kid.removesuffix('/')}/") if of else not kid.startswith(own))
    ]
    return pages >= PRIOR and max(links, default=0.0) >= LISTED * pages


def _has_outer_kind(section: SiteSection) -> bool:
    """Whether pages that were found elsewhere lead to far fewer new ones: they are of another kind, which ends.

    A list of products names a shop's; that each leads to made-up ones, which lead to more, is not their fault.
    """
    if min(section.inner, section.outer) < ENOUGH_FOUND:
        return False
    return section.outer_births <= OUTER_SHARE * section.inner_births


def _is_within(name: str, source: Chain) -> bool:
    """Whether a page of `source` is within a section that is smaller than a host."""
    return name in source and name[-1] in _SMALL


def _is_around(section: str, name: str) -> bool:
    """Whether a section is the other, or a folder around it."""
    return section == name or (section[-1] == "/" and name.startswith(section))


def _wider(name: str) -> float:
    """How much more than one section the one around it may be charged."""
    if name == DOMAIN:
        return _WIDER_DOMAIN
    if name[-1] in "/?":
        return _WIDER_FOLDER
    return _WIDER_HOST
