"""What a hostile site might steal, inject or break, each tried once from the outside."""

from __future__ import annotations

import ast
import io
import itertools
import re
import time
import tomllib
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lycosa
from lycosa.cli.main import main
from lycosa.errors import SettingsError
from lycosa.frontier.entries import encode_block, readable_block
from lycosa.frontier.rocks.database import Database
from lycosa.frontier.tables import QUEUE
from lycosa.page.parser import PageParser
from lycosa.page.sitemap import parse_sitemap
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import parse_robots
from lycosa.settings import Settings
from lycosa.simweb import HandWeb, ServedExchange, make_reply
from lycosa.simweb.hostile.traps import html
from lycosa.store.folder import CrawlFolder
from lycosa.store.record import RecordLost, read_record
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.scope import Scope

from ..fetch.certificate import make_certificate
from .canary import Canary
from .conftest import SHORT, HandCrawl

SOURCES = sorted(Path(lycosa.__file__).parent.rglob("*.py"))


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with Canary() as canary:
        yield canary


# ---- S2: schemes


SCHEMES = [
    "file:///etc/passwd", "ftp://a.test/", "data:text/html,hello", "gopher://a.test/", "javascript:x", "FILE:/etc",
    "dict://127.0.0.1:11211/stat", "ldap://127.0.0.1/", "jar:http://a.test!/", "view-source:http://a.test/",
    "netdoc:///etc/passwd", "blob:http://a.test/x", "ws://a.test/", "\tfile:///etc/passwd", "file://a.test/etc",
]  # fmt: skip


@pytest.mark.row("S2")
async def test_nothing_but_http_is_followed_from_anywhere(web: HandWeb, crawl: HandCrawl, record_property: Any) -> None:
    for number, url in enumerate(SCHEMES):
        web.redirect(f"http://a.test/{number}", url)
        web.redirect(f"http://r{number}.test/robots.txt", url)
        web.page(f"http://r{number}.test/", html(str(number)))
    entries = "".join(f"<url><loc>{url}</loc></url><sitemap><loc>{url}</loc></sitemap>" for url in SCHEMES)
    web.robots("a.test", "Sitemap: /s.xml\n" + "".join(f"Sitemap: {url}\n" for url in SCHEMES))
    web.page("http://a.test/s.xml", f"<urlset>{entries}</urlset>")
    head = "".join(f'<link rel="canonical" href="{url}"><base href="{url}">' for url in SCHEMES)
    links = [*SCHEMES, *(f"/{number}" for number in range(len(SCHEMES)))]
    seeds = [web.page("http://a.test/", html("schemes", links, more=head))]
    seeds += [web.url(f"r{number}.test") for number in range(len(SCHEMES))]
    outcomes = await crawl(*seeds, **SHORT)
    # Where one names a place, it is told that it was refused.
    followed = [url for url, outcome in outcomes.items() if outcome != "refused"]
    assert all(url.startswith(f"http://{host}") for url in followed for host in [url.split("/")[2]])
    assert not [row for row in crawl.rows() if "root:" in row["text"]]
    assert {request.host for request in web.requests} <= {"a.test", *(f"r{number}.test" for number in range(99))}
    record_property("S2", f"{len(SCHEMES)} schemes x 6 places: none followed")


# ---- S3: credentials and cookies


@pytest.mark.row("S3")
async def test_no_credentials_cookies_or_referrers_are_ever_sent(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    seen: list[dict[str, str]] = []

    async def listen(exchange: ServedExchange) -> None:
        seen.append(dict(exchange.ask.headers))
        cookie = {"Set-Cookie": "id=secret; Domain=.test; Path=/", "Content-Type": "text/html", "ETag": '"secret"'}
        if exchange.ask.target == "/away":
            reply = make_reply(302, b"", {**cookie, "Location": f"http://user:secret@b.test:{web.port}/landed"})
        else:
            body = html(exchange.ask.target, [f"http://user:secret@b.test:{web.port}/linked", "/away", "/more"])
            reply = make_reply(200, body.encode(), cookie)
        exchange.reply(reply)

    for host in ("a.test", "b.test"):
        web.behave_host(host, listen)
    await crawl(f"http://user:secret@a.test:{web.port}/", **SHORT)
    assert len(seen) >= 6
    for headers in seen:
        assert not {"authorization", "cookie", "referer", "proxy-authorization"} & set(headers)
        assert "secret" not in str(headers)
    assert "secret" not in str([(row["url"], row["referrer"], row["detail"]) for row in crawl.rows()])
    record_property("S3", f"{len(seen)} requests: no credential, no cookie")


# ---- S4: entities


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
DOCTYPES = {
    "file": '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "parameter": '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:{port}/p.dtd"> %p;]>',
    "external": '<!DOCTYPE x SYSTEM "http://127.0.0.1:{port}/x.dtd">',
    "laughs": f'<!DOCTYPE x [<!ENTITY e0 "lol">{BOMB}<!ENTITY x "&e11;">]>',
    "quadratic": f'<!DOCTYPE x [<!ENTITY x "{"a" * 50_000}">]>',
}


@pytest.mark.row("S4")
@pytest.mark.parametrize("kind", DOCTYPES)
async def test_entities_of_sitemaps_feeds_and_pages_stand_for_nothing(
    web: HandWeb, crawl: HandCrawl, canary: Canary, kind: str
) -> None:
    doctype = DOCTYPES[kind].replace("{port}", str(canary.port))
    entity = "&x;" * (5_000 if kind == "quadratic" else 1)
    loc = web.url("a.test", f"/listed{entity}")
    web.robots("a.test", "Sitemap: /s.xml")
    web.page("http://a.test/s.xml", f"{doctype}<urlset><url><loc>{loc}</loc></url></urlset>")
    item = f"<item><link>{loc}</link><title>{entity}</title></item>"
    feed = f'<?xml version="1.0"?>{doctype}<rss><channel>{item}</channel></rss>'
    web.page("http://a.test/feed", feed, headers={"Content-Type": "application/rss+xml"})
    xhtml = f'{doctype}<html xmlns:xi="x"><title>{entity}</title><xi:include href="file:///etc/passwd"/></html>'
    web.page("http://a.test/x", xhtml, headers={"Content-Type": "application/xhtml+xml"})
    seed = web.page("http://a.test/", html("xml", ["/feed", "/x"]))
    await crawl(seed, **SHORT, open_networks=["127.1.0.0/16"])
    assert canary.connections == []
    text = str([(row["url"], row["title"], row["text"]) for row in crawl.rows()])
    assert "root:" not in text
    assert "lollol" not in text
    assert max(len(row["url"]) for row in crawl.rows()) < 2100
    assert crawl.counts.crashed == 0


@pytest.mark.row("S4")
def test_an_entity_bomb_costs_next_to_nothing(record_property: Any) -> None:
    body = (DOCTYPES["laughs"] + "<urlset>" + "<url><loc>http://a.test/&x;</loc></url>" * 50_000 + "</urlset>").encode()
    started = time.process_time()
    sitemap = parse_sitemap(body, "http://a.test/s.xml")
    seconds = time.process_time() - started
    assert len(sitemap.entries) == 50_000
    record_property("S4", f"entity bomb in a full sitemap: {seconds:.2f} s CPU")
    assert seconds < 5.0


# ---- S5: patterns


@pytest.mark.row("S5")
def test_patterns_made_to_take_for_ever_are_linear(record_property: Any) -> None:
    evil = ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "([a-z]+)*[0-9]$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
    url = f"http://a.test/{'a' * 2_000}!"
    started = time.process_time()
    seed = parse("http://a.test/")
    assert isinstance(seed, ParsedUrl)
    scope = Scope([seed], "any", exclude=evil, include=[".*"])
    for _ in range(50):
        scope.verdict(url, "a.test", "a.test")
    filters = (time.process_time() - started) / 50
    rules = parse_robots(
        b"User-agent: *\n" + b"".join(b"Disallow: /%s$\n" % (b"*a" * 400) for _ in range(500)), "lycosa"
    )
    matcher = RobotsMatcher(rules)
    started = time.process_time()
    for _ in range(5):
        matcher.allows("/" + "a" * 2_000 + "!")
    robots = (time.process_time() - started) / 5
    record_property("S5", f"filters {filters * 1e3:.1f} ms, robots {robots * 1e3:.1f} ms per URL")
    assert filters < 0.1
    assert robots < 0.5


@pytest.mark.row("S5")
def test_a_pattern_that_re2_does_not_know_is_refused() -> None:
    with pytest.raises(SettingsError):
        Scope([], "any", exclude=[r"(a)\1"])


@pytest.mark.row("S5", "M")
@pytest.mark.parametrize(
    "body",
    [
        b"<a " * 500_000,
        b"<!doctype html>" + b"<table><tr><td>" * 30_000,
        b"<b><i>" * 100_000,
        b'<meta http-equiv="refresh" content="0;' + b" " * 1_000_000 + b'url=x">',
        b'<meta name="robots" content="' + b"noindex," * 100_000 + b'">',
        b"<title>" + b" \n" * 1_000_000,
        b"<p>" + b"&" * 1_000_000,
        b"<!--" * 200_000,
        b"<svg><style>" * 50_000,
        b'<a href="' + b"../" * 300_000 + b'">x</a>',
        b"<a href=x>" * 100_000,
    ],
)
def test_no_markup_takes_long(body: bytes) -> None:
    started = time.process_time()
    PageParser(Settings(), "lycosa").parse(body, "text/html", ["noindex, " * 10_000])
    assert time.process_time() - started < 2.0


# ---- S6: what is read back


FORBIDDEN_CALLS = {"eval", "exec", "__import__"}
# `lycosa shell --code` runs what its user has typed, as Python's own `-c` does.
RUNS_ITS_USERS_CODE = {"cli/shell.py"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "jsonpickle"}


@pytest.mark.row("S6")
def test_the_source_has_no_pickle_and_no_eval(record_property: Any) -> None:
    root = Path(lycosa.__file__).parent
    for path in SOURCES:
        may_run = path.relative_to(root).as_posix() in RUNS_ITS_USERS_CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not may_run and isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS, path
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not FORBIDDEN_MODULES & {name.partition(".")[0] for name in names}, path
    record_property("S6", f"{len(SOURCES)} modules without pickle, eval or exec")


@pytest.mark.row("S6")
async def test_a_poisoned_record_of_the_queue_is_passed_over(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    seed = web.page("http://a.test/", html("home", [f"/{number}" for number in range(5)]))
    for number in range(5):
        web.page(f"http://a.test/{number}", html(str(number)))
    await crawl(seed, **SHORT, max_pages=1)
    with closing(Database(crawl.folder / "frontier")) as database:
        ((key, block),) = database.rows(QUEUE)
        _, *others = readable_block(block) or []
        database.put(QUEUE, key, encode_block([b"\x93\x01\x02\x03", *others]))
    outcomes = await crawl(seed, **SHORT, max_pages=0)
    assert sum(outcome == "stored" for outcome in outcomes.values()) == 5
    assert crawl.counts.poisoned == 1
    record_property("S6", f"{crawl.counts.poisoned} poisoned record set aside, all other pages stored")


# ---- S7: names of files


@pytest.mark.row("S7")
@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "", "x/../../y", "\0", "a\0b"])
def test_a_record_is_only_looked_for_in_the_warc_folder(tmp_path: Path, name: str) -> None:
    folder = CrawlFolder(tmp_path)
    folder.create()
    with pytest.raises((RecordLost, ValueError)):
        read_record(folder, name, 0)


@pytest.mark.row("S7")
async def test_no_name_of_a_file_comes_from_the_web(
    web: HandWeb, crawl: HandCrawl, tmp_path: Path, record_property: Any
) -> None:
    paths = ["/..%2f..%2fetc%2fpasswd", "/a%00.html", "/CON", "/x.html%20.exe", "/%2e%2e/%2e%2e/x", "/" + "n" * 300]
    for path in paths:
        web.page(
            f"http://a.test{path}", html(path), headers={"Content-Disposition": 'attachment; filename="../../evil"'}
        )
    seed = web.page("http://a.test/", html("files", paths))
    await crawl(seed, **SHORT)
    out = tmp_path / "out"
    assert main(["export", "--folder", str(crawl.folder), "--format", "folder", "--out", str(out)]) == 0
    made = [path for path in [*out.rglob("*"), *crawl.folder.glob("*/*")] if path.is_file()]
    ours = re.compile(r"[0-9a-f]{40}\.(html|txt|xml|bin)|index\.jsonl|lycosa-\d{8}T\d{6}-w\d+-\d+\..*|[\w.-]{1,40}")
    assert all(ours.fullmatch(path.name) and "evil" not in path.name for path in made)
    record_property("S7", f"{len(made)} files, every name ours")


# ---- S9: where texts are shown


HOSTILE_TITLE = "\x1b]0;owned\x07\x1b[31m=HYPERLINK(\u202e\x9b31m\r\n+1</title><script>alert(1)</script>"


@pytest.fixture
async def shown(web: HandWeb, crawl: HandCrawl) -> HandCrawl:
    """A crawl of pages whose every word is made to be obeyed rather than read."""
    escape = "\x1b[2J\x1b[31m"
    web.page("http://a.test/x", f"<title>{HOSTILE_TITLE}</title><p>{escape}text<a href='/=1+1'>=cmd|'/c calc'!A1</a>")
    web.page("http://a.test/formula", "<title>=HYPERLINK(1)</title>", headers={"X-Y": "z", "ETag": '"\x1b[31m"'})
    web.page("http://a.test/at", "<title>@SUM(1)</title>")
    web.page("http://a.test/minus", "<title>-1+1</title><meta name=description content='+1+1'>")
    web.redirect("http://a.test/r", "/\x1b[31m<script>")
    web.page("http://a.test/err", "", status=418, headers={"Content-Type": "text/html\x1b[31m"})
    seed = web.page("http://a.test/", html("home", ["/x", "/formula", "/at", "/minus", "/r", "/err", "/%1b[31m"]))
    await crawl(seed, **SHORT)
    return crawl


@pytest.mark.row("S9")
@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["query", "SELECT url, title, text, reason, detail, etag FROM pages"],
        ["query", "SELECT * FROM links"],
        ["query", "SELECT * FROM history"],
        ["page", "{url}"],
        ["page", "{url}", "--text"],
        ["page", "{url}", "--headers"],
        ["why", "{url}"],
        ["graph"],
        ["audit"],
    ],
)
async def test_no_command_lets_a_terminal_obey_a_page(
    web: HandWeb, shown: HandCrawl, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    filled = [word.replace("{url}", web.url("a.test", "/x")) for word in command]
    try:
        main([*filled, "--folder", str(shown.folder)])
    except SystemExit:
        pytest.skip("there is no such option")
    said = "".join(capsys.readouterr())
    assert said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said)


@pytest.mark.row("S9")
async def test_no_cell_of_a_csv_is_a_formula(
    shown: HandCrawl, tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    import csv

    out = tmp_path / "pages.csv"
    assert main(["export", "--folder", str(shown.folder), "--format", "csv", "--out", str(out)]) == 0
    assert (
        main(["export", "--folder", str(shown.folder), "--format", "csv", "--what", "links", "--out", f"{out}2"]) == 0
    )
    capsys.readouterr()
    assert main(["query", "SELECT * FROM pages", "--format", "csv", "--folder", str(shown.folder)]) == 0
    texts = [out.read_text(), Path(f"{out}2").read_text(), capsys.readouterr().out]
    cells = [cell for text in texts for row in csv.reader(io.StringIO(text)) for cell in row]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)
    wrong = [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or re.match(r"-[^\d.]", cell)]
    assert wrong == []
    record_property("S9", f"{len(cells)} cells, no formula; no escape reaches the terminal")


@pytest.mark.row("S9")
async def test_the_report_shows_markup_as_text(shown: HandCrawl) -> None:
    from lycosa.observe.report import write_report

    write_report(CrawlFolder(shown.folder))
    text = (shown.folder / "report.html").read_text()
    assert "<script>alert" not in text


@pytest.mark.row("S9")
async def test_a_hostile_validator_does_not_add_a_header(web: HandWeb, crawl: HandCrawl) -> None:
    heads: list[dict[str, str]] = []

    async def answer(exchange: ServedExchange) -> None:
        heads.append(dict(exchange.ask.headers))
        exchange.send(
            b'HTTP/1.1 200 OK\r\nETag: "a\tb\x0bX-Evil: 1"\r\nContent-Length: 2\r\nContent-Type: text/html\r\n\r\nhi'
        )

    web.behave_host("a.test", answer)
    await crawl(web.url("a.test"), **SHORT)
    await crawl(web.url("a.test"), **SHORT)
    assert not any("x-evil" in head for head in heads)


# ---- S11: TLS


@pytest.mark.row("S11")
async def test_a_bad_certificate_is_recorded_and_nothing_is_fetched(
    web: HandWeb, crawl: HandCrawl, tmp_path_factory: pytest.TempPathFactory, record_property: Any
) -> None:
    from ..fetch.rawweb import RawWeb, page
    from ..fetch.test_tls import server_context

    file = make_certificate(tmp_path_factory.mktemp("tls"))
    secure = RawWeb()
    await secure.start(server_context(file, "http/1.1"))
    secure.answers = {"/robots.txt": page(b""), "/": page(b"<title>hello</title>")}
    web.resolve("tls.test", "127.0.0.1")
    url = f"https://tls.test:{secure.port}/"
    outcomes = await crawl(url, **SHORT)
    assert outcomes == {url: "refused"}
    assert secure.requests == []
    assert crawl.row(url)["reason"] == "robots-unreachable"
    crawl.folder = crawl.folder.with_name("again")
    assert await crawl(url, **SHORT, tls="record") == {url: "stored"}
    secure.close()
    record_property("S11", "refused by default, nothing sent; fetched with tls = record")


# ---- S12: dependencies


# Below these a hole is known; what is not a dependency today must not come back below its floor.
FLOORS = {
    "aiodns": "3.5",  # pycares 4.9: CVE-2025-48945
    "brotli": "1.2",  # CVE-2025-6176, bombs
    "duckdb": "1.1",  # CVE-2024-41672
    "h2": "4.3",  # CVE-2025-57804
    "lxml": "6.1",
    "protego": "0.6.2",  # CVE-2026-55520
    "pyarrow": "14.0.1",  # CVE-2023-47248
    "redis": "4.5.5",  # CVE-2023-28859
    "starlette": "1.3",
}


@pytest.mark.row("S12")
def test_no_release_with_a_known_hole_may_be_installed(record_property: Any) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    floors = dict(re.split(r"(?:\[.*\])?>=", requirement, maxsplit=1) for requirement in wanted)
    assert {
        name for name, floor in FLOORS.items() if name in floors and numbers(floors[name]) < numbers(floor)
    } == set()
    assert not floors.keys() & {"pickle5", "pyyaml"}
    record_property("S12", f"{len(floors)} dependencies, each with a floor, none below a known hole")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
