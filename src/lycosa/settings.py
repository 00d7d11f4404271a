"""The settings: one typed, frozen class, read once. Unknown names and impossible values are refused."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from lycosa.errors import SettingsError
from lycosa.site_rules import RULE_HELP, SiteRules, SiteTable, check

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, lt=1)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set: each with its type and bounds, what it is, and its default."""

    # What is crawled
    seeds: Annotated[list[str], "URLs to start from."] = []
    max_pages: Annotated[Count, "Stop after exactly this many pages; 0 means no limit."] = 0
    max_depth: Annotated[Count, "How many links away from a seed a page may be."] = 10_000
    scope: Annotated[
        Literal["host", "domain", "any"],
        "Which links are followed: same host as a seed, same registered domain, or any.",
    ] = "domain"
    include: Annotated[list[str], "Only URLs that match one of these patterns (RE2) are followed, and all seeds."] = []
    exclude: Annotated[list[str], "URLs that match one of these patterns (RE2) are not followed."] = []
    order: Annotated[
        Literal["breadth", "depth", "best", "topic"],
        "What is fetched first: breadth (first found, first fetched), depth, best (most important), or topic.",
    ] = "breadth"
    topic: Annotated[str, "With order topic: what the crawl is about, in words (docs/how-to/topic.md)."] = ""
    like: Annotated[
        list[str],
        "With order topic: pages as those that are wanted, URLs or files; they are read when the crawl begins.",
    ] = []
    topic_terms: Annotated[
        dict[str, Annotated[float, Meta(gt=0)]],
        "The terms that pages are rated by, with their weights: made from topic and like, unless they are set.",
    ] = msgspec.field(default_factory=dict)
    on_topic_from: Annotated[Share, "From which relevance on a page counts as on topic."] = 0.5
    continuous: Annotated[
        bool, "Whether a crawl goes on until it is stopped, and visits its pages again as they change (`--revisit`)."
    ] = False
    pages_per_second: Annotated[
        Seconds,
        "Budget of such a crawl, for new pages and known ones; 0: new ones at once, known ones about once a month.",
    ] = 0.0
    min_revisit_seconds: Annotated[Seconds, "Shortest time between two visits of a page in such a crawl."] = 3600.0
    forget_seconds: Annotated[Seconds, "How long a page that is gone is remembered in such a crawl."] = 90 * 86_400.0
    schemes: Annotated[
        list[Literal["http", "https", "ftp", "file"]],
        "What is fetched: http and https always; ftp, and local files below file_roots, where they stand here.",
    ] = msgspec.field(default_factory=lambda: ["http", "https"])
    file_roots: Annotated[list[str], "Folders of this machine whose files may be crawled, as absolute paths."] = []
    sitemaps: Annotated[bool, "Whether sitemaps named by robots.txt are read."] = True
    url_rules: Annotated[
        list[str], "Risky URL rules used to recognise the same page under two URLs (see `lycosa urls --explain`)."
    ] = msgspec.field(default_factory=lambda: ["drop_tracking", "sort_query"])
    traps: Annotated[
        bool, "Whether endless sites, mirrors, session ids and soft 404 are recognised and left (see docs/traps.md)."
    ] = True
    patience: Annotated[
        Positive,
        "How many requests a part of a site may cost that seems to have no end and brings something new each time.",
    ] = 120

    left_out_share: Annotated[
        Share,
        "A crawl that left out a larger share of what it found, and may miss it, ends with exit code 3.",
    ] = 0.05

    # Who crawls, and how politely
    user_agent: Annotated[str, "How the crawler names itself, with a contact: `name/version (+https://…)`."] = (
        "lycosa/0.1 (+https://lycosa.invalid/bot)"
    )
    min_delay_seconds: Annotated[Seconds, "Shortest pause between two requests to a host."] = 1.0
    max_delay_seconds: Annotated[
        Seconds, "Longest pause that a slow answer can cause (Crawl-delay and Retry-After may be longer)."
    ] = 60.0
    ip_delay_seconds: Annotated[
        Seconds, "Shortest pause between requests to one address, whatever the host; at most min_delay_seconds."
    ] = 0.5
    domain_delay_seconds: Annotated[
        Seconds, "Shortest pause between requests to one registered domain; at most min_delay_seconds."
    ] = 0.5
    delay_factor: Annotated[Seconds, "The pause is this many times the last fetch time."] = 10.0
    max_crawl_delay_seconds: Annotated[Seconds, "A longer Crawl-delay than this is cut to it."] = 86_400.0
    max_backoff_seconds: Annotated[Seconds, "Longest pause that failures of a host can cause by doubling."] = 3600.0
    circuit_seconds: Annotated[Seconds, "How long a host rests after five failures in a row."] = 1800.0
    robots_cache_seconds: Annotated[Seconds, "How long an answered robots.txt is used."] = 86_400.0
    obey_nofollow: Annotated[bool, "Whether rel=nofollow, meta robots and X-Robots-Tag are obeyed."] = True
    retry_after_seconds: Annotated[
        tuple[float, ...], "Pauses before each retry of a URL that failed in a way that may pass."
    ] = (300.0, 3600.0, 86_400.0)
    max_wait_seconds: Annotated[
        Seconds, "End as incomplete when only retries and back-offs remain and none is due sooner than this."
    ] = 60.0

    # The network
    open_networks: Annotated[
        list[str], "Networks (CIDR) that are fetched from although they are not public, for intranets and tests."
    ] = []
    dns_servers: Annotated[list[str], "Name servers as address or address:port; the system's if empty."] = []
    connections: Annotated[
        Count, "Open requests per worker; 0: one per active host, as far as descriptors and memory go."
    ] = 0
    http2: Annotated[bool, "Whether HTTP/2 is spoken where TLS offers it."] = True
    tls: Annotated[Literal["verify", "record"], "verify: a bad certificate is a failure; record: fetch anyway."] = (
        "verify"
    )
    purpose: Annotated[
        Literal["search", "archive", "ai", "any"],
        "What the crawl is for: `export` leaves out the pages whose site does not want them used for it.",
    ] = "search"
    connect_seconds: Annotated[Seconds, "Time to connect, TLS included."] = 10.0
    first_byte_seconds: Annotated[Seconds, "Time from the request to the first byte of the answer."] = 20.0
    idle_seconds: Annotated[Seconds, "Longest silence within an answer."] = 20.0
    fetch_seconds: Annotated[Seconds, "Time for a whole fetch."] = 60.0
    min_bytes_per_second: Annotated[Count, "An answer slower than this after 10 s is cut."] = 1024
    max_body_bytes: Annotated[Positive, "Longer bodies are cut, kept and marked."] = 5 * 1024**2
    body_budget_bytes: Annotated[
        Positive, "About how much of bodies a worker holds at once; past that, long ones wait for each other."
    ] = 16 * 1024**2
    max_header_lines: Annotated[Positive, "More header lines than this fail the visit."] = 256
    max_header_bytes: Annotated[Positive, "More header bytes than this fail the visit."] = 64 * 1024
    max_header_line_bytes: Annotated[Positive, "A longer header line than this fails the visit."] = 16 * 1024
    max_redirects: Annotated[Count, "Hops before a chain of redirects is given up."] = 5

    # Pages
    max_url_length: Annotated[Positive, "Longer URLs are not followed."] = 2048
    max_path_depth: Annotated[Positive, "URLs with more path segments are not followed."] = 20
    max_links: Annotated[Positive, "Links kept per page."] = 2000
    max_links_per_domain: Annotated[Positive, "Links kept per page to one foreign registered domain."] = 300
    max_parse_depth: Annotated[Positive, "Deeper pages give links only."] = 512
    max_parse_nodes: Annotated[Positive, "Pages with more elements give links only."] = 100_000
    max_text_chars: Annotated[Positive, "Longer texts are cut."] = 1_000_000
    parse_seconds: Annotated[
        Seconds, "CPU time for reading a page; 0: any. More ends the worker; the second time the page is given up."
    ] = 2.0
    max_parse_memory_bytes: Annotated[Positive, "Memory for reading a page beyond what the worker has."] = 512 * 1024**2
    main_content: Annotated[
        bool, "Whether the main content, comments, author and date of pages are looked for, beside the text."
    ] = True
    documents: Annotated[bool, "Whether the text, title and links of PDF and office documents are read."] = True
    requisites: Annotated[
        bool,
        "Whether what a browser loads to show a page that is kept is fetched, too: styles, images, scripts, fonts.",
    ] = False
    max_requisites: Annotated[Positive, "Requisites kept per page, or per stylesheet."] = 1000
    content_groups: Annotated[bool, "Whether pages whose texts are 90 % alike are put into groups."] = True
    summary: Annotated[
        Literal["none", "weight", "tfidf", "frequency", "frequency-sentences", "context"],
        "How pages are summarised in the `pages` table; a summary takes longer than the rest of a visit.",
    ] = "none"
    summary_sentences: Annotated[Positive, "Sentences of a summary."] = 20

    # Pages that need a browser
    render: Annotated[
        Literal["never", "auto", "always"],
        "Which pages are read as a browser shows them: auto for those that are empty without (docs/how-to/render.md).",
    ] = "never"
    browser: Annotated[str, "The browser: the program of a Chromium; found by its name if empty."] = ""
    render_pages: Annotated[Positive, "Pages that a worker's browser has open at once."] = 2
    render_seconds: Annotated[Seconds, "Time a page may take in the browser, the pauses of its hosts included."] = 60.0
    render_requests: Annotated[Count, "Requests a page may send from within the browser; more are refused."] = 100
    render_scrolls: Annotated[Count, "How often a page at rest is scrolled to its end, for what that loads."] = 0
    render_media: Annotated[bool, "Whether the browser gets images, fonts and media, too."] = False
    render_memory_bytes: Annotated[
        Positive, "Memory of a worker's browser; beyond it, the page that takes most is ended."
    ] = 1024**3

    # The frontier
    frontier: Annotated[
        str, "Where the queue lives: rocks (in the crawl's folder), memory, or redis://… for several machines."
    ] = "rocks"
    seen: Annotated[
        Literal["exact", "bloom"],
        "exact: no page is lost; bloom: bounded memory and disk, a small share of new URLs is taken for known.",
    ] = "exact"
    seen_capacity: Annotated[Positive, "How many URLs the Bloom filter is sized for."] = 10_000_000
    seen_error: Annotated[Share, "The Bloom filter's share of false positives at that size."] = 0.01
    max_active_hosts: Annotated[Positive, "Hosts held in memory at once."] = 10_000
    max_queued_per_host: Annotated[
        Count, "Longest queue of a host; what is least important is dropped and counted; 0 means no limit."
    ] = 0
    assignment: Annotated[
        Literal["ring", "balanced"],
        "Who visits a host: ring (always the same worker) or balanced (whoever has asked its domain least).",
    ] = "ring"
    lease_seconds: Annotated[float, Meta(ge=1), "How long a worker may keep a URL before it is given to another."] = (
        180.0
    )
    region_rules: Annotated[
        dict[str, str], "Of several machines: for a host or the end of its name, the region whose machines visit it."
    ] = {}
    region_by: Annotated[
        Literal["rules", "connect time"],
        "Where no rule speaks: rules (any machine) or connect time (the region that connects fastest).",
    ] = "rules"
    silence_seconds: Annotated[
        float,
        Meta(ge=1),
        "Of several machines: how long one may say nothing before its work is given to the others.",
    ] = 30.0
    durability: Annotated[
        Literal["power", "process"], "power: survives a power cut (group fsync); process: survives kill -9."
    ] = "power"

    # The machine
    machine: Annotated[str, "Of several machines: this one's name in file names; its host name if empty."] = ""
    region: Annotated[str, "Of several machines: where this one stands, in one word."] = ""
    workers: Annotated[Count, "Worker processes; 0 means one per core."] = 0
    warc_bytes: Annotated[Positive, "A WARC file is closed at this size."] = 1024**3
    parquet_rows: Annotated[Positive, "Rows per Parquet file."] = 20_000
    replace_lost_records: Annotated[
        bool, "Pages whose WARC files are gone or cut are asked for again; false where files are moved away on purpose."
    ] = True
    report: Annotated[bool, "Whether report.html is written at the end."] = True

    hooks: Annotated[str, "A Python file with functions that take part in visits (see docs/how-to/hooks.md)."] = ""

    # Single sites
    site: Annotated[
        dict[str, SiteRules],
        "For a host with all below it, or a URL pattern, rules of its own (see docs/how-to/site-rules.md).",
    ] = {}


_BEGIN = "# The settings of this crawl. Without its last line this file counts as cut off."
_END = "# the end"
# What a machine has, not what is crawled: of several machines each may have its own.
OWN = frozenset(
    {
        *("machine", "region", "workers", "connections", "dns_servers", "warc_bytes", "parquet_rows"),
        *("browser", "render_pages", "render_memory_bytes"),
    }
)

HELP: dict[str, str] = {name: hint.__metadata__[-1] for name, hint in Settings.__annotations__.items()}


def load(path: Path | None, changes: dict[str, Any]) -> Settings:
    """Settings from a TOML file with changes on top."""
    return from_values((_read(path) if path else {}) | changes)


def load_kept(path: Path, changes: dict[str, Any]) -> Settings:
    """The settings that a crawl was last run with; its file names all of them, so none is in an empty one."""
    values = _read(path) if path.exists() else {}
    if not values:
        raise SettingsError(f"{path}: the settings of this crawl are gone; write them anew, or name a file with -c")
    if _is_cut_off(path):
        raise SettingsError(f"{path}: the settings of this crawl are cut off; write them anew, or name a file with -c")
    return from_values(values | changes)


def as_kept(settings: Settings) -> str:
    """The settings in force as the file of a crawl, which tells when it was cut off: what follows is no default."""
    return f"{_BEGIN}\n\n{as_toml(settings)}\n{_END}\n"


def _is_cut_off(path: Path) -> bool:
    """Whether the end is missing of a file that was written with one."""
    text = path.read_text(encoding="utf-8-sig")
    return text.startswith(_BEGIN) and _END not in text.splitlines()


def names_in(path: Path) -> set[str]:
    """The settings that a TOML file names."""
    return set(_read(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such settings file") from None
    except OSError as error:
        raise SettingsError(f"{path}: the settings cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error


def from_values(values: Mapping[str, Any]) -> Settings:
    """Settings from plain values, each checked; the error names the setting and what it takes."""
    known = {field.name for field in msgspec.structs.fields(Settings)}
    if unknown := sorted(set(values) - known):
        raise SettingsError(_unknown(unknown[0], known))
    _check_sites(values.get("site"))
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as error:
            raise SettingsError(f"{name}: {_sentence(error)}; it is: {HELP[name]}") from None
    settings = msgspec.convert(values, Settings)
    if settings.min_delay_seconds > settings.max_delay_seconds:
        raise SettingsError("min_delay_seconds is longer than max_delay_seconds")
    check(settings.site)
    _check_connections(settings)
    if "file" in settings.schemes and not (settings.file_roots and all(map(os.path.isabs, settings.file_roots))):
        raise SettingsError("schemes: file needs file_roots: the folders that may be crawled, as absolute paths")
    return settings


def _check_sites(rules: object) -> None:
    """Of a wrong rule, which site has it."""
    if not isinstance(rules, Mapping):
        return
    for place, said in rules.items():
        if isinstance(said, Mapping) and (unknown := sorted(set(said) - set(RULE_HELP))):
            raise SettingsError(f'site."{place}": {_unknown(unknown[0], set(RULE_HELP), "rule")}')
        try:
            msgspec.convert(said, SiteRules)
        except msgspec.ValidationError as error:
            where = str(error).partition(" - at `$")[2].strip(".`")
            help_ = RULE_HELP.get(where.partition(".")[0].partition("[")[0], "")
            it_is = f"; it is: {help_}" if help_ else ""
            raise SettingsError(f'site."{place}": {where}: {_sentence(error)}{it_is}') from None


def _check_connections(settings: Settings) -> None:
    table = SiteTable(settings.site)
    for host in table.named_hosts("connections"):
        pause = table.of_host(host).delay_seconds
        if settings.min_delay_seconds or settings.delay_factor if pause is None else pause:
            raise SettingsError(f'site."{host}": connections is for hosts without pauses: set delay_seconds to 0 there')


def parse_change(text: str) -> tuple[str, Any]:
    """One `key=value` of the command line; the value as TOML, or as plain text where that fails."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"--set takes name=value, not {text!r}")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value


def as_toml(settings: Settings) -> str:
    """The settings in force, as a TOML file that says what each means. Sites come last, each a table of its own."""
    values = msgspec.to_builtins(settings)
    sites = values.pop("site")
    lines = []
    for name, value in values.items():
        lines += [f"# {HELP[name]}", f"{name} = {_toml_value(value)}", ""]
    lines.append(f"# {HELP['site']}")
    for place, rules in sites.items():
        lines.append(f"[site.{_toml_value(place)}]")
        lines += [*(f"{name} = {_toml_value(value)}" for name, value in rules.items()), ""]
    return "\n".join([*lines, *([] if sites else ["[site]", ""])])


def common(settings: Settings) -> Settings:
    """The settings without what is each machine's own affair."""
    return msgspec.structs.replace(settings, **{name: getattr(Settings(), name) for name in OWN})


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
    # A JSON string is a TOML basic string.
    return msgspec.json.encode(value).decode() if isinstance(value, str) else repr(value)


def _unknown(name: str, known: set[str], what: str = "setting") -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else " `lycosa settings` lists all."
    return f"there is no {what} {name!r}.{hint}"


def _sentence(error: msgspec.ValidationError) -> str:
    text = str(error).partition(" - at ")[0]
    return text[0].lower() + text[1:].replace("`", "")
