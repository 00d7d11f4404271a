"""The settings: one typed, frozen class, read once. Unknown names and impossible values are refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from lycosa.errors import SettingsError

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, lt=1)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set. The comment lines of `docs/settings.md` come from the help below."""

    # What is crawled
    seeds: list[str] = []
    max_pages: Count = 0
    max_depth: Count = 20
    scope: Literal["host", "domain", "any"] = "domain"
    include: list[str] = []
    exclude: list[str] = []
    order: Literal["breadth", "depth", "best"] = "breadth"
    sitemaps: bool = True
    url_rules: list[str] = msgspec.field(default_factory=lambda: ["drop_tracking", "sort_query"])
    traps: bool = True
    domain_pages: Count = 50

    # Who crawls, and how politely
    user_agent: str = "lycosa/0.1 (+https://lycosa.invalid/bot)"
    min_delay_seconds: Seconds = 1.0
    max_delay_seconds: Seconds = 60.0
    ip_delay_seconds: Seconds = 0.5
    domain_delay_seconds: Seconds = 0.5
    delay_factor: Seconds = 10.0
    max_crawl_delay_seconds: Seconds = 86_400.0
    max_backoff_seconds: Seconds = 3600.0
    circuit_seconds: Seconds = 1800.0
    robots_cache_seconds: Seconds = 86_400.0
    obey_nofollow: bool = True
    retry_after_seconds: tuple[float, ...] = (300.0, 3600.0, 86_400.0)
    max_wait_seconds: Seconds = 60.0

    # The network
    open_networks: list[str] = []
    dns_servers: list[str] = []
    connections: Positive = 512
    http2: bool = True
    tls: Literal["verify", "record"] = "verify"
    purpose: Literal["search", "archive", "ai", "any"] = "search"
    connect_seconds: Seconds = 10.0
    first_byte_seconds: Seconds = 20.0
    idle_seconds: Seconds = 20.0
    fetch_seconds: Seconds = 60.0
    min_bytes_per_second: Count = 1024
    max_body_bytes: Positive = 5 * 1024 * 1024
    max_flight_bytes: Positive = 16 * 1024 * 1024
    max_header_lines: Positive = 256
    max_header_bytes: Positive = 64 * 1024
    max_header_line_bytes: Positive = 16 * 1024
    max_redirects: Count = 5

    # Pages
    max_url_length: Positive = 2048
    max_path_depth: Positive = 20
    max_links: Positive = 2000
    max_links_per_domain: Positive = 300
    max_parse_depth: Positive = 512
    max_parse_nodes: Positive = 100_000
    max_text_chars: Positive = 1_000_000
    parse_seconds: Seconds = 2.0
    max_parse_memory_bytes: Positive = 512 * 1024 * 1024
    content_rules: dict[str, str] = {}
    main_content: bool = True
    content_groups: bool = True
    summary: Literal["none", "weight", "tfidf", "frequency", "frequency-sentences", "context"] = "none"
    summary_sentences: Positive = 20

    # The frontier
    frontier: str = "rocks"
    seen: Literal["exact", "bloom"] = "exact"
    seen_capacity: Positive = 10_000_000
    seen_error: Share = 0.01
    max_active_hosts: Positive = 10_000
    max_queued_per_host: Count = 0
    assignment: Literal["ring", "balanced"] = "ring"
    lease_seconds: Seconds = 180.0
    region_rules: dict[str, str] = {}
    region_by: Literal["rules", "connect time"] = "rules"
    silence_seconds: Annotated[float, Meta(ge=1)] = 30.0
    durability: Literal["power", "process"] = "power"

    # The machine
    machine: str = ""
    region: str = ""
    workers: Count = 0
    warc_bytes: Positive = 1024**3
    parquet_rows: Positive = 20_000
    report: bool = True


# What a machine has, not what is crawled: of several machines each may have its own.
OWN = frozenset({"machine", "region", "workers", "connections", "dns_servers", "warc_bytes", "parquet_rows"})

HELP: dict[str, str] = {
    "seeds": "URLs to start from.",
    "max_pages": "Stop after exactly this many pages; 0 means no limit.",
    "max_depth": "How many links away from a seed a page may be.",
    "scope": "Which links are followed: same host as a seed, same registered domain, or any.",
    "include": "Only URLs that match one of these patterns (RE2) are followed; seeds always are.",
    "exclude": "URLs that match one of these patterns (RE2) are not followed.",
    "order": "What is fetched first: breadth (first found, first fetched), depth, or best (most important).",
    "sitemaps": "Whether sitemaps named by robots.txt are read.",
    "url_rules": "Risky URL rules used to recognise the same page under two URLs (see `lycosa urls --explain`).",
    "traps": "Whether endless sites, mirrors, session ids and soft 404 are recognised and left (see docs/traps.md).",
    "domain_pages": "What a domain that is no seed may cost, again for each that links to it; 0 means no limit.",
    "user_agent": "How the crawler names itself, with a contact: `name/version (+https://…)`.",
    "min_delay_seconds": "Shortest pause between two requests to a host.",
    "max_delay_seconds": "Longest pause that a slow answer can cause (Crawl-delay and Retry-After may be longer).",
    "ip_delay_seconds": "Shortest pause between requests to one address, whatever the host; at most min_delay_seconds.",
    "domain_delay_seconds": "Shortest pause between requests to one registered domain; at most min_delay_seconds.",
    "delay_factor": "The pause is this many times the last fetch time.",
    "max_crawl_delay_seconds": "A longer Crawl-delay than this is cut to it.",
    "max_backoff_seconds": "Longest pause that failures of a host can cause by doubling.",
    "circuit_seconds": "How long a host rests after five failures in a row.",
    "robots_cache_seconds": "How long an answered robots.txt is used.",
    "obey_nofollow": "Whether rel=nofollow, meta robots and X-Robots-Tag are obeyed.",
    "retry_after_seconds": "Pauses before each retry of a URL that failed in a way that may pass.",
    "max_wait_seconds": "End as incomplete when only retries and back-offs remain and none is due sooner than this.",
    "open_networks": "Networks (CIDR) that are fetched from although they are not public, for intranets and tests.",
    "dns_servers": "Name servers as address or address:port; the system's if empty.",
    "connections": "Open requests per worker.",
    "http2": "Whether HTTP/2 is spoken where TLS offers it.",
    "tls": "verify: a bad certificate is a failure; record: fetch all the same.",
    "purpose": "What the crawl is for: `export` leaves out the pages whose site does not want them used for it.",
    "connect_seconds": "Time to connect, TLS included.",
    "first_byte_seconds": "Time from the request to the first byte of the answer.",
    "idle_seconds": "Longest silence within an answer.",
    "fetch_seconds": "Time for a whole fetch.",
    "min_bytes_per_second": "An answer slower than this after 10 s is cut.",
    "max_body_bytes": "Longer bodies are cut, kept and marked.",
    "max_flight_bytes": "Of bodies on their way a worker holds about this much; longer ones then wait for each other.",
    "max_header_lines": "More header lines than this fail the visit.",
    "max_header_bytes": "More header bytes than this fail the visit.",
    "max_header_line_bytes": "A longer header line than this fails the visit.",
    "max_redirects": "Hops before a chain of redirects is given up.",
    "max_url_length": "Longer URLs are not followed.",
    "max_path_depth": "URLs with more path segments are not followed.",
    "max_links": "Links kept per page.",
    "max_links_per_domain": "Links kept per page to one foreign registered domain.",
    "max_parse_depth": "Deeper pages give links only.",
    "max_parse_nodes": "Pages with more elements give links only.",
    "max_text_chars": "Longer texts are cut.",
    "parse_seconds": "CPU time for reading a page; 0: any. More ends the worker; the second time the page is given up.",
    "max_parse_memory_bytes": "Memory for reading a page beyond what the worker has.",
    "content_rules": "For a host or domain, a CSS selector of what its pages are about, instead of our own judgement.",
    "main_content": "Whether the main content, comments, author and date of pages are looked for, beside the text.",
    "content_groups": "Whether pages whose texts are 90 % alike are put into groups.",
    "summary": "How pages are summarised in the `pages` table; a summary takes longer than the rest of a visit.",
    "summary_sentences": "Sentences of a summary.",
    "frontier": "Where the queue lives: rocks (in the crawl's folder), memory, or redis://… for several machines.",
    "seen": "exact: no page is lost; bloom: bounded memory and disk, a small share of new URLs is taken for known.",
    "seen_capacity": "How many URLs the Bloom filter is sized for.",
    "seen_error": "The Bloom filter's share of false positives at that size.",
    "max_active_hosts": "Hosts held in memory at once.",
    "max_queued_per_host": "Longest queue of a host; what is least important is dropped and counted; 0 means no limit.",
    "assignment": "Who visits a host: ring (always the same worker) or balanced (whoever has asked its domain least).",
    "lease_seconds": "How long a worker may keep a URL before it is given to another.",
    "region_rules": "Of several machines: for a host or the end of its name, the region whose machines visit it.",
    "region_by": "Where no rule speaks: rules (any machine) or connect time (the region that connects fastest).",
    "silence_seconds": "Of several machines: how long one may say nothing before its work is given to the others.",
    "durability": "power: survives a power cut (group fsync); process: survives kill -9.",
    "machine": "Of several machines: this one's name in file names; its host name if empty.",
    "region": "Of several machines: where this one stands, in one word.",
    "workers": "Worker processes; 0 means one per core.",
    "warc_bytes": "A WARC file is closed at this size.",
    "parquet_rows": "Rows per Parquet file.",
    "report": "Whether report.html is written at the end.",
}


def load(path: Path | None, changes: dict[str, Any]) -> Settings:
    """Settings from a TOML file with changes on top."""
    return from_values((_read(path) if path else {}) | changes)


def names_in(path: Path) -> set[str]:
    """The settings that a TOML file names."""
    return set(_read(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such settings file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error


def from_values(values: dict[str, Any]) -> Settings:
    """Settings from plain values, each checked; the error names the setting and what it takes."""
    known = {field.name for field in msgspec.structs.fields(Settings)}
    if unknown := sorted(set(values) - known):
        raise SettingsError(_unknown(unknown[0], known))
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as error:
            raise SettingsError(f"{name}: {_sentence(error)}; it is: {HELP[name]}") from None
    settings = msgspec.convert(values, Settings)
    if settings.min_delay_seconds > settings.max_delay_seconds:
        raise SettingsError("min_delay_seconds is longer than max_delay_seconds")
    return settings


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
    """The settings in force, as a TOML file that says what each means."""
    lines = []
    for name, value in msgspec.to_builtins(settings).items():
        lines += [f"# {HELP[name]}", f"{name} = {_toml_value(value)}", ""]
    return "\n".join(lines)


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


def _unknown(name: str, known: set[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else " `lycosa settings` lists all."
    return f"there is no setting {name!r}.{hint}"


def _sentence(error: msgspec.ValidationError) -> str:
    text = str(error).partition(" - at ")[0]
    return text[0].lower() + text[1:].replace("`", "")
