"""The settings as keywords, for editors and type checkers. Written from `settings.py` by `make docs`."""

from typing import Literal, TypedDict

from lycosa.site_rules import SiteRules


class SettingsKeywords(TypedDict, total=False):
    """Every setting but the seeds, which a crawler takes by themselves."""

    max_pages: int
    max_depth: int
    scope: Literal["host", "domain", "any"]
    include: list[str]
    exclude: list[str]
    order: Literal["breadth", "depth", "best", "topic"]
    topic: str
    like: list[str]
    topic_terms: dict[str, float]
    on_topic_from: float
    continuous: bool
    pages_per_second: float
    min_revisit_seconds: float
    forget_seconds: float
    schemes: list[Literal["http", "https", "ftp", "file"]]
    file_roots: list[str]
    sitemaps: bool
    url_rules: list[str]
    traps: bool
    patience: int
    left_out_share: float
    user_agent: str
    min_delay_seconds: float
    max_delay_seconds: float
    ip_delay_seconds: float
    domain_delay_seconds: float
    delay_factor: float
    max_crawl_delay_seconds: float
    max_backoff_seconds: float
    circuit_seconds: float
    robots_cache_seconds: float
    obey_nofollow: bool
    retry_after_seconds: tuple[float, ...]
    max_wait_seconds: float
    open_networks: list[str]
    dns_servers: list[str]
    connections: int
    http2: bool
    tls: Literal["verify", "record"]
    purpose: Literal["search", "archive", "ai", "any"]
    connect_seconds: float
    first_byte_seconds: float
    idle_seconds: float
    fetch_seconds: float
    min_bytes_per_second: int
    max_body_bytes: int
    body_budget_bytes: int
    max_header_lines: int
    max_header_bytes: int
    max_header_line_bytes: int
    max_redirects: int
    max_url_length: int
    max_path_depth: int
    max_links: int
    max_links_per_domain: int
    max_parse_depth: int
    max_parse_nodes: int
    max_text_chars: int
    parse_seconds: float
    max_parse_memory_bytes: int
    main_content: bool
    documents: bool
    requisites: bool
    max_requisites: int
    content_groups: bool
    summary: Literal["none", "weight", "tfidf", "frequency", "frequency-sentences", "context"]
    summary_sentences: int
    render: Literal["never", "auto", "always"]
    browser: str
    render_pages: int
    render_seconds: float
    render_requests: int
    render_scrolls: int
    render_media: bool
    render_memory_bytes: int
    frontier: str
    seen: Literal["exact", "bloom"]
    seen_capacity: int
    seen_error: float
    max_active_hosts: int
    max_queued_per_host: int
    assignment: Literal["ring", "balanced"]
    lease_seconds: float
    region_rules: dict[str, str]
    region_by: Literal["rules", "connect time"]
    silence_seconds: float
    durability: Literal["power", "process"]
    machine: str
    region: str
    workers: int
    warc_bytes: int
    parquet_rows: int
    replace_lost_records: bool
    report: bool
    hooks: str
    site: dict[str, SiteRules]
