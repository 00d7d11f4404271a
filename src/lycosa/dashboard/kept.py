"""The page of what one visit brought, as it was kept and as replay has it: head, source, and where the record lies.

All of it is text. It never becomes a page of a browser here: whoever wants to see it rendered replays it elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from lycosa.dashboard.markup import Html, card, facts, lines, link, tag, text, url_link
from lycosa.errors import SettingsError
from lycosa.inspect.opened import opened_folder
from lycosa.inspect.wording import moment, size
from lycosa.model import Response, Visit
from lycosa.page.encoding import decode
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace
from lycosa.store.read import RecordLost, response_of_visit, versions

MAX_SOURCE_CHARACTERS = 100_000
# What is kept of other types is no text: images, archives.
_TEXTS = ("text/", "application/xhtml", "application/xml", "application/json", "application/javascript", "image/svg")
_COMMAND = "lycosa export --format pywb --out replay"


def kept_link(url: str, version: int) -> Html:
    """To what the visit of a version brought."""
    return link(f"/kept?{urlencode({'url': url, 'version': version})}", "as kept")


def page(place: Path | ObjectPlace, frontier: str | None, url: str, version: str) -> Html:
    """What a visit brought; `version` is its number as the page of the URL shows it. Raises `SettingsError`."""
    if frontier:
        raise SettingsError("seen from its frontier alone a crawl has no records: they are on its machines")
    with opened_folder(place) as folder:
        visits = versions(folder, url)
        if not version.isdecimal() or int(version) >= len(visits):
            raise SettingsError(f"{url}: there are {len(visits):,} versions, and this is none of them")
        visit = visits[int(version)]
        response = _response(folder, visit)
    return text(
        tag("h1", url),
        tag("p", "Version ", version, " of ", url_link(url, "this page"), f", visited {moment(visit.fetched_at)}."),
        _record(visit, response),
        _source(response),
    )


def _response(folder: CrawlFolder, visit: Visit) -> Response:
    try:
        response = response_of_visit(folder, visit, max_body_bytes=4 * MAX_SOURCE_CHARACTERS)
    except RecordLost as error:
        raise SettingsError(f"{visit.url}: the record of this visit cannot be read: {error}") from None
    if response is None:
        raise SettingsError(f"{visit.url}: this visit brought no response ({visit.outcome.name.lower()})")
    return response


def _record(visit: Visit, response: Response) -> Html:
    head = response.head.decode("latin-1").replace("\r\n", "\n").strip()
    return card(
        "Record",
        facts(
            [
                ("in", f"{visit.warc_file} at {visit.warc_offset:,}" if visit.warc_offset >= 0 else ""),
                ("length", f"{visit.warc_length:,} bytes" if visit.warc_length else ""),
                ("digest", visit.digest),
                ("body", size(visit.body_bytes)),
                ("cut off", visit.truncated),
                ("address", response.address),
                ("protocol", response.protocol),
            ]
        ),
        tag("pre", lines(head), tabindex="0", role="region", aria_label="Head of the response"),
        tag("p", "A replay shows this record: ", tag("code", _COMMAND), class_="note"),
        key="record",
    )


def _source(response: Response) -> Html:
    media_type = response.header("content-type").partition(";")[0].strip().lower()
    if media_type and not media_type.startswith(_TEXTS):
        return card("Source", tag("p", f"{media_type} is no text", class_="none"))
    source = decode(response.body, response.header("content-type")).text
    cut = f"The first {MAX_SOURCE_CHARACTERS:,} characters." if len(source) > MAX_SOURCE_CHARACTERS else ""
    shown = tag("pre", lines(source[:MAX_SOURCE_CHARACTERS]), tabindex="0", role="region", aria_label="Source")
    return card("Source", shown if source else tag("p", "empty", class_="none"), note=cut)
