"""What a crawl's folder remembers for its next start: settings, seeds, and which shared crawl it took part in."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Any

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis.address import has_password, is_redis, parse_address, redacted
from lycosa.settings import Settings, as_kept, common, load_kept
from lycosa.site_rules import has_secrets
from lycosa.store.files import replace_file
from lycosa.store.folder import CrawlFolder, Lock, take_seat
from lycosa.store.logbook import Begun, begun_at, note
from lycosa.url.canonical import ParsedUrl

# Beside the frontier: which crawl of a shared one this folder has taken part in, and which seeds are in it.
JOINED, PLANTED = "joined", "planted"
# Settings that whoever adds a seed must know, also where they are as usual.
_ALWAYS_TOLD = ("scope", "max_depth", "max_pages")


def hold_folder(folder: CrawlFolder, settings: Settings) -> tuple[CrawlFolder, Lock]:
    """The folder of a crawl, made and held against others; where machines crawl together, a seat in it."""
    if is_redis(settings.frontier):
        return take_seat(folder, settings.machine or gethostname())
    folder.create()
    return folder, folder.lock()


def kept_settings(folder: CrawlFolder, changes: dict[str, Any]) -> Settings | None:
    """The settings that a folder was last crawled with, and changes on top; None if nobody has crawled in it."""
    kept = next((path for path in (folder.own_settings, folder.settings) if path.exists()), None)
    # Pages were crawled by some settings; that they are gone must not pass for defaults.
    return load_kept(kept or folder.own_settings, changes) if kept or folder.has_pages() else None


def settings_before(folder: CrawlFolder) -> Settings | None:
    """By which settings a folder was last crawled; None if that is not known, since the operator named others."""
    try:
        return kept_settings(folder, {})
    except SettingsError:
        return None


def write_settings(folder: CrawlFolder, settings: Settings) -> None:
    """Keep the settings in force; in a folder of several machines, those that all share too."""
    _write_settings(folder.own_settings, settings, folder.home)
    if folder.seat:
        shown = common(settings)
        if folder.away:
            # On its way to a store that others may read.
            shown = msgspec.structs.replace(shown, frontier=redacted(shown.frontier))
        _write_settings(folder.settings, shown, folder.home)


def _write_settings(path: Path, settings: Settings, beside: Path) -> None:
    """A password is nobody's but the owner's of the crawl."""
    is_private = has_password(settings.frontier) or has_secrets(settings.site)
    replace_file(path, as_kept(settings), beside, is_private=is_private)


def note_begun(folder: CrawlFolder) -> None:
    """A crawl begins here, unless one has."""
    if not begun_at(folder) and not folder.has_pages():
        note(folder, Begun(time.time()))


def write_seeds(folder: CrawlFolder, seeds: Iterable[ParsedUrl]) -> None:
    """Add seeds to those the folder knows: they make the scope of the crawl, also after a restart."""
    known = [seed.url for seed in folder.read_seeds()]
    urls = dict.fromkeys(known + [seed.url for seed in seeds])
    replace_file(folder.seeds, "".join(f"{url}\n" for url in urls), folder.home)


def joining(folder: CrawlFolder, new: Sequence[str], known: Sequence[str], before: Settings, now: Settings) -> str:
    """For whoever names another seed: which crawl it joins, and by which settings that goes."""
    begun = begun_at(folder)
    since = f"begun {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(begun))} " if begun else ""
    usual, names = Settings(), Settings.__struct_fields__
    kept = [name for name in names if name in _ALWAYS_TOLD or getattr(now, name) != getattr(usual, name)]
    changed = [name for name in names if getattr(now, name) != getattr(before, name)]
    told = ", ".join(_told(name, now) for name in kept if name not in (*changed, "seeds"))
    others = ", ".join(f"{_told(name, now)} instead of {_told(name, before, with_name=False)}" for name in changed)
    return (
        f"{_some(new)} joins the crawl in {folder.path}, {since}from {_some(known)}, by its settings ({told}"
        f"{f'; changed now: {others}' if others else ''}); name another --folder for a crawl of its own"
    )


def _told(name: str, settings: Settings, *, with_name: bool = True) -> str:
    """A setting in words. Rules of sites may have secrets: which sites they are of is enough."""
    value = ", ".join(settings.site) or "none" if name == "site" else getattr(settings, name)
    return f"{name} {value}" if with_name else str(value)


def _some(urls: Sequence[str]) -> str:
    return urls[0] if len(urls) == 1 else f"{urls[0]} and {len(urls) - 1:,} more"


def check_whole(folder: CrawlFolder, settings: Settings) -> None:
    """Refuse a folder whose queue is gone while its pages are there: it would be "finished" at once."""
    if settings.frontier == "rocks" and folder.has_pages() and not (folder.frontier / "CURRENT").exists():
        raise SettingsError(
            f"{folder.frontier}: the queue of this crawl is gone, but its pages are here; "
            "put it back from a copy, or begin anew in another --folder"
        )


def seeds_to_plant(folder: CrawlFolder) -> list[ParsedUrl]:
    """All seeds of the folder, unless it is known that just these are in the frontier."""
    path = folder.frontier / PLANTED
    is_planted = path.exists() and path.read_text(encoding="utf-8") == _mark_of(folder.seeds)
    return [] if is_planted else folder.read_seeds()


def note_planted(folder: CrawlFolder) -> None:
    """The seeds that the folder has now are in the frontier, durably."""
    replace_file(folder.frontier / PLANTED, _mark_of(folder.seeds), folder.home)


def _mark_of(path: Path) -> str:
    return f"{sha256(path.read_bytes()).hexdigest()}\n" if path.exists() else ""


def machine_name(folder: Path) -> str:
    """Whoever has locked this folder on this machine is the only one of this name."""
    return f"{gethostname()}:{folder.resolve()}"


def joined_before(address: str, folder: Path) -> str:
    """The id of the crawl at this address, if it was crawled from this folder before; else empty."""
    path = folder / JOINED
    place, _, crawl = path.read_text(encoding="utf-8").strip().rpartition(" ") if path.exists() else ("", "", "")
    return crawl if place == _place_of(address) else ""


def note_joined(address: str, crawl_id: str, folder: Path) -> None:
    """Remember which crawl at this address this folder takes part in: an emptied server is not begun anew."""
    replace_file(folder / JOINED, f"{_place_of(address)} {crawl_id}\n", folder)


def _place_of(address: str) -> str:
    """Where a shared frontier is, without anything that does not tell it from others."""
    return str(parse_address(address))
