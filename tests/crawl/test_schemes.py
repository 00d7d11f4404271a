"""Beside the web: FTP from a real server, and files of this machine, for those who open them; all else is refused."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
from warcio.archiveiterator import ArchiveIterator

from lycosa.audit.oracle import Question, audit
from lycosa.audit.report import Finding
from lycosa.errors import SettingsError
from lycosa.inspect.opened import opened_crawl
from lycosa.inspect.why import explain
from lycosa.settings import load_kept
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import page_at, response_of_visit
from tests.page.documents import pdf, word, writer

from . import evidence
from .conftest import HandCrawl


class FtpSite:
    """A folder, served by FTP on loopback."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        self.users: list[str] = []
        own = {"on_file_sent": self._sent, "on_login": self._logged_in}
        self.handler = cast("Any", type("Handler", (FTPHandler,), own))
        self.handler.authorizer = DummyAuthorizer()
        self.handler.authorizer.add_anonymous(str(root))
        self.handler.banner = "ready"
        self.server = FTPServer(("127.0.0.1", 0), self.handler)
        self.port: int = self.server.address[1]

    def _sent(self, path: str) -> None:
        self.asked.append(path)

    def _logged_in(self, user: str) -> None:
        self.users.append(user)

    def url(self, path: str = "/") -> str:
        return f"ftp://files.test:{self.port}{path}"


@contextmanager
def serving(site: FtpSite) -> Iterator[FtpSite]:
    """The server, on a thread of its own."""
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            site.server.serve_forever(timeout=0.02, blocking=False)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield site
    finally:
        over.set()
        thread.join(10)
        site.server.close_all()


@pytest.fixture
def ftp(space: Path, web: HandWeb) -> Iterator[FtpSite]:
    logging.getLogger("pyftpdlib").setLevel(logging.ERROR)
    root = space / "ftp"
    (root / "pub" / "deep folder").mkdir(parents=True)
    (root / "pub" / "page.html").write_text('<title>A page</title><a href="deep%20folder/note.txt">note</a>')
    (root / "pub" / "deep folder" / "note.txt").write_text("A note in a folder with a name of two words.")
    (root / "pub" / "ü #1?.txt").write_text("An odd name.")
    (root / "pub" / "big.bin").write_bytes(bytes(300_000))
    web.resolve("files.test", "127.0.0.1")
    with serving(FtpSite(root)) as site:
        yield site


def outcomes_below(crawl: HandCrawl, place: str) -> dict[str, str]:
    found = crawl.outcomes()
    return {url.removeprefix(place): found[url] for url in found if url.startswith(place) and "probe" not in url}


def findings_in(crawl: HandCrawl) -> list[Finding]:
    folder = CrawlFolder(crawl.folder)
    return audit([folder], load_kept(folder.settings, {}), Question()).findings


# ---- ftp


async def test_a_tree_is_crawled_folder_by_folder(crawl: HandCrawl, ftp: FtpSite) -> None:
    await crawl(ftp.url("/pub"), schemes=["http", "https", "ftp"], max_body_bytes=100_000, traps=False)
    assert outcomes_below(crawl, ftp.url("/pub")) == {
        "": "moved",
        "/": "stored",
        "/page.html": "stored",
        "/deep%20folder/": "stored",
        "/deep%20folder/note.txt": "stored",
        "/%C3%BC%20%231%3F.txt": "stored",
        "/big.bin": "stored",
    }
    assert crawl.pages[ftp.url("/pub/page.html")].title == "A page"
    assert crawl.pages[ftp.url("/pub/deep%20folder/note.txt")].text.startswith("A note")
    assert set(ftp.users) == {"anonymous"}
    assert crawl.row(ftp.url("/pub/big.bin"))["truncated"] == "length"
    assert max(Counter(ftp.asked).values()) == 1, "each file once"


async def test_files_are_resource_records_and_can_be_read_back(crawl: HandCrawl, ftp: FtpSite) -> None:
    await crawl(ftp.url("/pub/"), schemes=["http", "https", "ftp"], frontier="rocks", traps=False)
    records = {url: (kind, media) for url, kind, media in records_of(crawl.folder)}
    assert records[ftp.url("/pub/")] == ("resource", "text/html; charset=utf-8")
    assert records[ftp.url("/pub/deep%20folder/note.txt")] == ("resource", "text/plain")
    assert {kind for kind, _ in records.values()} == {"resource"}
    assert evidence.invalid_warcs(crawl.folder) == []
    folder, note = CrawlFolder(crawl.folder), ftp.url("/pub/deep%20folder/note.txt")
    version = page_at(folder, note)
    assert version
    response = response_of_visit(folder, version.visit)
    assert response
    assert (response.body, response.address) == (b"A note in a folder with a name of two words.", "127.0.0.1")


async def test_robots_txt_of_a_server_is_obeyed(crawl: HandCrawl, ftp: FtpSite) -> None:
    (ftp.root / "robots.txt").write_text("User-agent: *\nDisallow: /pub/deep%20folder/\n")
    await crawl(ftp.url("/pub/"), schemes=["http", "https", "ftp"], traps=False)
    assert outcomes_below(crawl, ftp.url("/pub"))["/deep%20folder/"] == "refused"
    assert crawl.row(ftp.url("/pub/deep%20folder/"))["reason"] == "robots"


async def test_what_is_not_there_says_nothing_of_the_server(crawl: HandCrawl, ftp: FtpSite) -> None:
    links = "".join(f'<a href="gone{number}.html">x</a>' for number in range(7))
    (ftp.root / "pub" / "page.html").write_text(links + '<a href="deep%20folder/note.txt">y</a>')
    await crawl(ftp.url("/pub/page.html"), schemes=["http", "https", "ftp"], traps=False)
    found = Counter(outcomes_below(crawl, ftp.url("/pub/")).values())
    assert found == {"stored": 2, "failed": 7}
    assert crawl.row(ftp.url("/pub/gone1.html"))["status"] == 404


async def test_a_closed_network_is_closed_for_ftp(crawl: HandCrawl, ftp: FtpSite) -> None:
    await crawl(ftp.url("/pub/"), schemes=["http", "https", "ftp"], open_networks=["127.9.0.0/16"])
    assert crawl.outcomes() == {ftp.url("/pub/"): "refused"}
    assert crawl.row(ftp.url("/pub/"))["reason"] == "address"
    assert ftp.users == []


async def test_a_server_that_points_elsewhere_for_data_leads_nowhere(crawl: HandCrawl, ftp: FtpSite) -> None:
    """What it says of an address is passed over: the data comes from where the commands went."""
    connected: list[Any] = []
    with socket.create_server(("127.0.0.2", 0)) as elsewhere:
        elsewhere.setblocking(False)

        class Bouncing(ftp.handler):  # type: ignore[name-defined,misc]
            masquerade_address = "127.0.0.2"

            def ftp_EPSV(self, line: str) -> None:
                self.respond("500 unknown")

        ftp.server.handler = Bouncing
        # Only the server's own address is open.
        await crawl(ftp.url("/pub/page.html"), schemes=["http", "https", "ftp"], open_networks=["127.0.0.1/32"])
        with pytest.raises(BlockingIOError):
            connected.append(elsewhere.accept())
    assert outcomes_below(crawl, ftp.url("/pub/"))["page.html"] == "stored"


async def test_many_entries_are_many_pages(crawl: HandCrawl, ftp: FtpSite) -> None:
    many = ftp.root / "many"
    many.mkdir()
    for number in range(1005):
        (many / f"{number:04}").mkdir()
    await crawl(ftp.url("/many/"), schemes=["http", "https", "ftp"], max_depth=1, include=["page="], traps=False)
    links = {row["target"] for row in evidence.links(crawl.folder)}
    folders = {f"{ftp.url('/many/')}{number:04}/" for number in range(1005)}
    assert folders <= links
    assert outcomes_below(crawl, ftp.url("/many/")) == {"": "stored", "?page=2": "stored"}


async def test_a_server_that_says_nothing_is_given_up(web: HandWeb, crawl: HandCrawl) -> None:
    web.resolve("files.test", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ftp://files.test:{silent.getsockname()[1]}/x"
        await crawl(url, schemes=["http", "https", "ftp"], first_byte_seconds=0.1, max_wait_seconds=0.0)
    assert {row["url"]: row["reason"] for row in crawl.rows()}[url] == "robots-unreachable", "nothing else is asked for"
    assert "timeout" in {row["reason"] for row in crawl.rows()}


async def test_files_that_a_page_of_the_web_links_to(web: HandWeb, crawl: HandCrawl, ftp: FtpSite) -> None:
    seed = web.page("http://a.test/", f'<a href="{ftp.url("/pub/page.html")}">x</a><p>of the web')
    await crawl(seed, schemes=["http", "https", "ftp"])
    assert crawl.outcomes()[ftp.url("/pub/page.html")] == "stored"


# ---- files


@pytest.fixture
def tree(space: Path) -> Path:
    root = space / "root"
    (root / "sub").mkdir(parents=True)
    (root / "index.html").write_text('<title>Home</title><a href="sub/">sub</a> <a href="../secret.txt">out</a>')
    (root / "sub" / "a b.txt").write_text("A file in a folder.")
    (root / ".hidden").write_text("hidden")
    (space / "secret.txt").write_text("secret")
    return root


def file_url(path: Path | str) -> str:
    return f"file://localhost{path}"


FILES: dict[str, Any] = {"schemes": ["http", "https", "file"], "traps": False}


async def test_files_below_the_roots_are_pages(crawl: HandCrawl, tree: Path) -> None:
    await crawl(f"file://{tree}/", **FILES, file_roots=[str(tree)])
    assert outcomes_below(crawl, file_url(tree)) == {
        "/": "stored",
        "/index.html": "stored",
        "/sub/": "stored",
        "/sub/a%20b.txt": "stored",
    }
    secret = file_url(tree.parent / "secret.txt")
    assert crawl.outcomes()[secret] == "refused"
    assert crawl.row(secret)["reason"] == "outside-roots"
    assert crawl.pages[file_url(tree / "index.html")].title == "Home"
    assert b"secret" not in b"".join(path.read_bytes() for path in (crawl.folder / "warc").iterdir())


async def test_documents_among_files_are_read(crawl: HandCrawl, tree: Path) -> None:
    documents = {"a.pdf": pdf("Text of a PDF."), "b.docx": word("Text in Word."), "c.odt": writer("Text of Writer.")}
    for name, body in {**documents, "d": b"Text without an ending."}.items():
        (tree / "sub" / name).write_bytes(body)
    await crawl(f"file://{tree}/sub/", **FILES, file_roots=[str(tree)])
    texts = {url.rpartition("/")[2]: page.text.partition("\n")[0] for url, page in crawl.pages.items()}
    assert {name: texts[name] for name in (*documents, "d")} == {
        "a.pdf": "Text of a PDF.",
        "b.docx": "Text in Word.",
        "c.odt": "Text of Writer.",
        "d": "Text without an ending.",
    }


async def test_a_file_that_did_not_change_is_not_read_again(crawl: HandCrawl, tree: Path) -> None:
    settings = {**FILES, "file_roots": [str(tree)], "frontier": "rocks"}
    await crawl(f"file://{tree}/sub/a%20b.txt", **settings)
    from lycosa import Crawler

    from .conftest import hand_settings

    again = Crawler([], folder=crawl.folder, revisit=True, **{**hand_settings(crawl.web), **settings})
    async for _ in again:
        pass
    assert crawl.outcomes() == {file_url(tree / "sub" / "a%20b.txt"): "unchanged"}


ESCAPES: list[Callable[[Path], str]] = [
    lambda root: f"{root}/../secret.txt",
    lambda root: f"{root}/%2e%2e/secret.txt",
    lambda root: f"{root}/..%2fsecret.txt",
    lambda root: f"{root}/sub/%2e%2e%2f%2e%2e%2fsecret.txt",
    lambda root: f"{root}/link.txt",
    lambda root: f"{root}/out/secret.txt",
    lambda root: f"{root}-beside/x",
    lambda root: "/etc/passwd",
    lambda root: "/proc/self/root/etc/passwd",
    lambda root: f"{root}/\\..\\..\\secret.txt",
]


@pytest.mark.parametrize("number", range(len(ESCAPES)))
async def test_no_way_leads_out_of_the_roots(crawl: HandCrawl, tree: Path, number: int) -> None:
    (tree / "link.txt").symlink_to(tree.parent / "secret.txt")
    (tree / "out").symlink_to(tree.parent)
    (tree.parent / "root-beside").mkdir()
    (tree.parent / "root-beside" / "x").write_text("secret")
    await crawl("file://" + ESCAPES[number](tree), **FILES, file_roots=[str(tree)])
    assert set(crawl.outcomes().values()) == {"refused"}
    assert {row["reason"] for row in crawl.rows() if row["outcome"] == "refused"} == {"outside-roots"}


async def test_what_is_no_file_is_not_waited_for(crawl: HandCrawl, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    await crawl(f"file://{tree}/pipe", **FILES, file_roots=[str(tree)])
    assert crawl.row(file_url(tree / "pipe"))["status"] == 403


async def test_a_page_of_the_web_leads_to_no_file(web: HandWeb, crawl: HandCrawl, tree: Path) -> None:
    own = file_url(tree / "index.html")
    seed = web.page(
        "http://a.test/",
        f'<base href="file://{tree}/"><a href="{own}">x</a><img src="{own}"><a href="index.html">y</a>'
        f'<link rel=canonical href="{own}"><meta http-equiv=refresh content="0;url={own}">'
        f'<a href="http://a.test:{web.port}/moved">z</a>',
    )
    web.redirect("http://a.test/moved", own)
    web.redirect("http://a.test/robots.txt", file_url(tree / "sub" / "a%20b.txt"))
    await crawl(seed, file_url(tree / "sub" / ""), **FILES, file_roots=[str(tree)], requisites=True)
    assert own not in {url for url, outcome in crawl.outcomes().items() if outcome != "refused"}
    assert crawl.outcomes()[seed] == "stored"


async def test_files_are_read_without_pauses(crawl: HandCrawl, tree: Path) -> None:
    for number in range(30):
        (tree / f"{number}.txt").write_text(f"File number {number}.")
    await crawl(f"file://{tree}/", **FILES, file_roots=[str(tree)], min_delay_seconds=30.0, max_wait_seconds=0.0)
    assert crawl.counts.pages >= 33


async def test_an_audit_of_files_and_ftp_is_clean(crawl: HandCrawl, tree: Path, ftp: FtpSite) -> None:
    every = ["http", "https", "ftp", "file"]
    seeds = (f"file://{tree}/", ftp.url("/pub/"), ftp.url("/gone.txt"))
    await crawl(*seeds, schemes=every, file_roots=[str(tree)], frontier="rocks", traps=False)
    assert findings_in(crawl) == []


def test_file_needs_roots() -> None:
    from lycosa.settings import from_values

    for roots in ([], ["relative"]):
        with pytest.raises(SettingsError, match="file_roots"):
            from_values({"schemes": ["http", "https", "file"], "file_roots": roots})
    with pytest.raises(SettingsError, match="schemes"):
        from_values({"schemes": ["gopher"]})


# ---- all others


async def test_schemes_that_are_not_open_are_refused_and_told(web: HandWeb, crawl: HandCrawl) -> None:
    links = ["gopher://a.test/1/x", "ftp://a.test/pub", "FTP://a.test/pub#x", "file:///etc/passwd", "ws://a.test/s?q"]
    others = [
        "mailto:x@a.test",
        "javascript:alert(1)",
        "data:text/html,x",
        "tel:1",
        "gopher://elsewhere.test/",
        "irc:x",
    ]
    html = "".join(f'<a href="{href}">x</a>' for href in links + others)
    seed = web.page("http://a.test/", html + '<a href="/two">two</a>')
    web.page("http://a.test/two", html)
    await crawl(seed, scope="host", frontier="rocks")
    refused = dict.fromkeys(("gopher://a.test/1/x", "ftp://a.test/pub", "ws://a.test/s?q"), "refused")
    refused["file://localhost/etc/passwd"] = "refused"
    assert crawl.outcomes() == {seed: "stored", web.url("a.test", "/two"): "stored", **refused}
    assert crawl.counts.refused == 4
    assert len(crawl.rows()) == 7, "each once, however many pages link to it"
    with opened_crawl(crawl.folder, None) as opened:
        answers = {url: explain(opened, url, 0.0) for url in [*refused, "gopher://never.test/"]}
    assert {answers[url].state for url in refused} == {"refused"}
    assert "scheme is not open" in answers["ftp://a.test/pub"].sentence
    assert dict(answers["ftp://a.test/pub"].facts)["schemes"] == "http, https"
    assert answers["gopher://never.test/"].state == "rejected"
    assert findings_in(crawl) == []


async def test_a_scheme_that_is_opened_later_takes_in_what_was_refused(
    web: HandWeb, crawl: HandCrawl, ftp: FtpSite
) -> None:
    seed = web.page("http://files.test/", f'<a href="{ftp.url("/pub/page.html")}">x</a>')
    web.resolve("files.test", "127.0.0.1")
    await crawl(seed, scope="host", frontier="rocks", traps=False)
    assert crawl.outcomes()[ftp.url("/pub/page.html")] == "refused"
    await crawl(seed, scope="host", frontier="rocks", traps=False, schemes=["http", "https", "ftp"])
    assert crawl.outcomes()[ftp.url("/pub/page.html")] == "stored"


async def test_a_seed_of_a_closed_scheme_says_how_to_open_it(crawl: HandCrawl) -> None:
    with pytest.raises(SettingsError, match="name ftp among `schemes`"):
        await crawl("ftp://files.test/")


def records_of(folder: Path) -> list[tuple[str, str, str]]:
    found = []
    for path in sorted((folder / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type != "warcinfo":
                    headers = record.rec_headers
                    url, media = headers.get_header("WARC-Target-URI"), headers.get_header("Content-Type")
                    found.append((url, record.rec_type, media))
    return found
