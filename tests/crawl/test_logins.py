"""Sites behind a login: forms, tokens, passwords, cookie files; and that no secret goes anywhere else."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus

import pyarrow.parquet as pq
import pytest

from lycosa import Crawler, MissedPage
from lycosa.errors import SettingsError
from lycosa.settings import from_values
from lycosa.simweb import HandWeb, ServedExchange
from lycosa.simweb.http import Reply, make_reply
from lycosa.site_rules import known_origins

from .command import Running, children_of, start
from .conftest import hand_settings

USER, PASSWORD, TOPICS = "王小明", "pass 密码&=é", 12


class Forum:
    """A forum in GBK: everything but its form is for those who are known by a cookie."""

    def __init__(self, web: HandWeb, host: str = "f.test") -> None:
        self.web = web
        self.host = host
        self.sessions: set[str] = set()
        self.logins = 0
        self.forms = 0
        self.tokens: set[str] = set()
        self.ends_after = 0  # requests of a session; 0: never
        self.left = 0
        self.ended = 0
        self.leads_on = False  # says so on a page of its own, after the form
        self.logged_out = 0
        self.accepts = True
        self.topics = TOPICS
        self.refused: tuple[str, ...] = ()  # pages for others
        self.says_where = 0  # with which status it says where the form is, instead of leading there
        self.served = 0
        self.news = asyncio.Event()
        web.behave_host(host, self.serve)
        web.robots(host, "User-agent: *\nDisallow: /private")

    @property
    def seed(self) -> str:
        return self.web.url(self.host)

    async def serve(self, exchange: ServedExchange) -> None:
        exchange.reply(self.answer(exchange))

    def answer(self, exchange: ServedExchange) -> Reply:
        ask = exchange.ask
        path = ask.target.partition("?")[0]
        if path == "/login.php":
            return self.log_in(ask.body) if ask.method == "POST" else self.form()
        sid = dict(re.findall(r"(\w+)=(\w+)", ask.headers.get("cookie", ""))).get("sid", "")
        if path == "/logout.php":
            self.logged_out += 1
            self.sessions.clear()
        if sid not in self.sessions or path.startswith("/admin"):
            if self.says_where:
                return self.page('<p>您还没有登录。<a href="/login.php">登录</a>', status=self.says_where)
            return make_reply(302, b"", {"Location": f"/login.php?next={path}"})
        if self.ends_after:
            self.left -= 1
            if self.left <= 0:
                self.ended += 1
                self.sessions.discard(sid)
        self.served += 1
        self.news.set()
        links = "".join(f'<a href="/topic/{n}">主题 {n}</a>' for n in range(self.topics))
        links += "".join(f'<a href="/admin/{name}">{name}</a>' for name in self.refused)
        links += '<a href="/profile">修改密码</a>' if self.refused else ""
        links += '<a href="/logout.php">退出</a>'
        if path == "/profile":
            links += "<form method=post><input type=password name=new><input type=password name=again></form>"
        text = f"<meta charset=gbk><title>论坛 {path}</title><p>{USER} 你好，这里是 {path} 的内容。</p>{links}"
        # A new cookie with each answer, as many sites do.
        return self.page(text, {"Set-Cookie": f"last={sid}x; Path=/; HttpOnly"})

    def form(self) -> Reply:
        self.forms += 1
        token = f"token{self.forms}"
        self.tokens.add(token)
        fields = f"<input type=hidden name=csrf value={token}><input name=username><input type=password name=pwd>"
        return self.page(
            f'<form action="/login.php" method=post>{fields}<input type=submit name=go value="登录"></form>'
        )

    def log_in(self, body: bytes) -> Reply:
        sent = {name: values[0] for name, values in parse_qs(body.decode(), encoding="gbk").items()}
        is_right = (sent["username"], sent["pwd"], sent["go"]) == (USER, PASSWORD, "登录")
        if not (is_right and self.accepts and sent["csrf"] in self.tokens):
            return self.form()
        self.tokens.discard(sent["csrf"])
        self.logins += 1
        self.left = self.ends_after
        sid = f"secretsession{self.logins}"
        self.sessions.add(sid)
        cookie = {"Set-Cookie": f"sid={sid}; Path=/; HttpOnly"}
        if self.leads_on:
            return self.page(
                "<meta http-equiv=refresh content='2; url=/'><p>欢迎您回来，现在将转入登录前页面。", cookie
            )
        return make_reply(302, b"", {"Location": "/", **cookie})

    @staticmethod
    def page(text: str, headers: dict[str, str] | None = None, status: int = 200) -> Reply:
        fields = {"Content-Type": "text/html; charset=gbk", **(headers or {})}
        return make_reply(status, text.encode("gbk"), fields)


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORUM_USER", USER)
    monkeypatch.setenv("FORUM_PASSWORD", PASSWORD)


def by_form(host: str = "f.test", **more: str) -> dict[str, Any]:
    login = {"form": "/login.php", "user": "env:FORUM_USER", "password": "env:FORUM_PASSWORD", **more}
    return from_values({"site": {host: {"login": login}}}).site


async def crawl(web: HandWeb, seed: str, folder: Path, site: Any, **more: Any) -> dict[str, str]:
    settings = {**hand_settings(web), "site": site, "traps": False, **more}
    return {page.url: page.text async for page in Crawler([seed], folder=folder, **settings)}


def bytes_of(folder: Path) -> Iterator[bytes]:
    """All files of a crawl, as they are and, where they are packed, unpacked."""
    import gzip

    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            yield raw
            if path.suffix == ".gz":
                yield gzip.decompress(raw)
            if path.suffix == ".parquet":
                yield repr(pq.read_table(path).to_pylist()).encode()


def is_known(secret: str, folder: Path) -> bool:
    in_gbk = secret.encode("gbk", "xmlcharrefreplace")
    spellings = {secret.encode(), secret.encode("gbk", "ignore"), quote_plus(in_gbk).encode(), quote(secret).encode()}
    return any(spelling and spelling in raw for raw in bytes_of(folder) for spelling in spellings)


@pytest.mark.usefixtures("secrets")
async def test_a_forum_in_gbk_is_crawled_behind_its_form(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    found = await crawl(web, forum.seed, space / "crawl", by_form())
    topics = {web.url("f.test", f"/topic/{number}") for number in range(TOPICS)}
    assert topics | {forum.seed} == set(found)
    assert all(USER in text for text in found.values())
    assert (forum.logins, forum.logged_out) == (1, 0)


@pytest.mark.usefixtures("secrets")
async def test_no_secret_stands_in_any_file_of_the_crawl(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    await crawl(web, forum.seed, space / "crawl", by_form())
    assert forum.logins == 1
    assert is_known("你好", space / "crawl"), "else nothing would be found"
    for secret in (PASSWORD, "secretsession1", "token1"):
        assert not is_known(secret, space / "crawl")


@pytest.mark.usefixtures("secrets")
async def test_a_session_outlives_a_restart_and_is_begun_anew_once_it_has_ended(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    async for _ in (crawler := Crawler([forum.seed], folder=space, **hand_settings(web), site=by_form(), traps=False)):
        break
    assert forum.logins == 1
    del crawler
    forum.ends_after, forum.left = 5, 5
    found = await crawl(web, forum.seed, space, by_form())
    assert forum.logins >= 2
    rest = {url for url in found if "/topic/" in url}
    assert len(rest) >= TOPICS - 1
    assert all(USER in text for text in found.values())


@pytest.mark.usefixtures("secrets")
async def test_a_wrong_password_is_tried_a_few_times_and_is_told(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    forum.accepts = False
    settings = {**hand_settings(web), "site": by_form(), "traps": False}
    crawler = Crawler([forum.seed, *(web.url("f.test", f"/topic/{number}") for number in range(8))], **settings)
    missed = [outcome async for outcome in crawler.outcomes() if isinstance(outcome, MissedPage)]
    assert {outcome.reason for outcome in missed} == {"login"}
    assert forum.forms <= 4, "an account is locked by many"
    assert PASSWORD not in "".join(outcome.detail for outcome in missed)


@pytest.mark.usefixtures("secrets")
async def test_neither_credentials_nor_cookies_go_to_another_origin(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    heard: dict[str, str] = {}

    async def note(exchange: ServedExchange) -> None:
        heard[exchange.ask.name] = heard.get(exchange.ask.name, "") + " ".join(exchange.ask.headers.values())
        exchange.reply(make_reply(200, b"<p>x", {"Content-Type": "text/html"}))

    web.behave_host("other.test", note)
    web.behave_host("sub.f.test", note)
    web.redirect("http://f.test/out", web.url("other.test"))
    seeds = [forum.seed, web.url("f.test", "/out"), web.url("sub.f.test")]
    settings = {**hand_settings(web), "site": by_form(), "traps": False}
    async for _ in Crawler(seeds, folder=space / "crawl", **settings):
        pass
    assert forum.logins == 1
    assert set(heard) == {"other.test", "sub.f.test"}
    assert "secretsession" not in "".join(heard.values())


@pytest.mark.usefixtures("secrets")
async def test_a_form_that_robots_forbids_is_left_alone(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    web.robots("f.test", "User-agent: *\nDisallow: /login.php")
    settings = {**hand_settings(web), "site": by_form(), "traps": False}
    outcomes = Crawler([forum.seed], **settings).outcomes()
    missed = [outcome async for outcome in outcomes if isinstance(outcome, MissedPage)]
    assert [outcome.reason for outcome in missed] == ["login"]
    assert "robots.txt" in missed[0].detail
    assert forum.forms == 0


async def test_an_article_about_signing_out_is_visited(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "tok")
    ordinary = ["/how-to-sign-out-of-things", "/logoutfits", "/blog/log-out-of-the-box", "/catalogout"]
    ending = ["/logout", "/user/sign-out?x=1", "/index.php?action=logout", "/account/logoff.aspx"]
    links = "".join(f'<a href="{path}">x</a>' for path in [*ordinary, *ending])
    seed = web.page("http://a.test/", links)
    for path in [*ordinary, *ending]:
        web.page(f"http://a.test{path}", f"<p>{path}")
    site = from_values({"site": {"a.test": {"login": {"token": "env:TOKEN"}}}}).site
    found = await crawl(web, seed, space / "crawl", site)
    assert {url.removeprefix(seed.rstrip("/")) for url in found} == {"/", *ordinary}


async def test_tokens_passwords_and_cookie_files_come_with_every_request(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.mkdir(exist_ok=True)
    (space / "password").write_text("pa:ss\n", encoding="utf-8")
    rows = [
        "# Netscape HTTP Cookie File",
        "c.test\tFALSE\t/\tFALSE\t0\tsid\tabc",
        "#HttpOnly_.test\tTRUE\t/\tFALSE\t0\ta\tb",
    ]
    (space / "cookies.txt").write_text("\n".join(rows), encoding="utf-8")
    monkeypatch.setenv("TOKEN", "tok-en")
    sent: dict[str, Mapping[str, str]] = {}

    async def note(exchange: ServedExchange) -> None:
        ask = exchange.ask
        if ask.target == "/robots.txt":
            assert not {"authorization", "cookie"} & set(ask.headers)
        elif ask.target == "/away":
            exchange.reply(make_reply(307, b"", {"Location": web.url("n.test", f"/from-{ask.name}")}))
            return
        else:
            sent[ask.name] = ask.headers
            assert ask.name != "n.test" or not {"authorization", "cookie"} & set(ask.headers)
        exchange.reply(make_reply(200, b"<p>x", {"Content-Type": "text/html"}))

    for host in ("t.test", "p.test", "c.test", "n.test"):
        web.behave_host(host, note)
    site = from_values(
        {
            "site": {
                "t.test": {"login": {"token": "env:TOKEN"}},
                "p.test": {"login": {"user": "me", "password": f"file:{space}/password"}},
                "c.test": {"login": {"cookies": f"{space}/cookies.txt"}},
            }
        }
    ).site
    settings = {**hand_settings(web), "site": site}
    seeds = [web.url(host) for host in ("t.test", "p.test", "c.test", "n.test")]
    seeds += [web.url(host, "/away") for host in ("t.test", "p.test", "c.test")]
    async for _ in Crawler(seeds, folder=space / "crawl", **settings):
        pass
    assert sent["t.test"]["authorization"] == "Bearer tok-en"
    assert sent["p.test"]["authorization"] == "Basic " + b64encode(b"me:pa:ss").decode()
    assert sent["c.test"]["cookie"] == "sid=abc; a=b"
    assert sum(url.startswith(web.url("n.test", "/from-")) for url in web.requested_urls) == 3
    for secret in ("tok-en", "pa:ss", b64encode(b"me:pa:ss").decode()):
        assert not is_known(secret, space / "crawl")


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ({"form": "/x"}, "user and password"),
        ({"form": "/x", "user": "me", "password": "plain"}, "env:NAME"),
        ({"token": "plain"}, "env:NAME"),
        ({"form": "/x", "token": "env:T"}, "not both"),
        ({"form": "http://b.test/x", "user": "u", "password": "env:P"}, "another host"),
        ({"form": "/x", "user": "u", "password": "env:P", "success": "("}, "success"),
        ({"who": "me"}, "who"),
    ],
)
def test_what_cannot_be_a_login_is_refused(login: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        from_values({"site": {"a.test": {"login": login}}})


async def test_a_secret_that_is_not_there_is_told_before_anything_is_asked(web: HandWeb, space: Path) -> None:
    seed = web.page("http://f.test/", "<p>x")
    with pytest.raises(SettingsError, match="FORUM_USER"):
        await crawl(web, seed, space / "crawl", by_form())
    assert web.requests == []


async def test_two_visits_at_once_log_in_once(web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORUM_USER", USER)
    monkeypatch.setenv("FORUM_PASSWORD", PASSWORD)
    forum = Forum(web)
    seeds = [web.url("f.test", f"/topic/{number}") for number in range(6)]
    site = from_values({"site": {"f.test": {"connections": 4, "login": {
        "form": "/login.php", "user": "env:FORUM_USER", "password": "env:FORUM_PASSWORD"}}},
        "min_delay_seconds": 0, "delay_factor": 0}).site  # fmt: skip
    found = await crawl(web, seeds[0], space / "crawl", site)
    assert len(found) == TOPICS
    assert forum.logins == 1


@pytest.mark.usefixtures("secrets")
async def test_sessions_are_begun_anew_however_often_they_end_beside_pages_for_others(
    web: HandWeb, space: Path
) -> None:
    forum = Forum(web)
    forum.topics, forum.ends_after, forum.refused = 40, 6, tuple("abcdefg")
    found = await crawl(web, forum.seed, space / "crawl", by_form(), retry_after_seconds=(0.0,))
    topics = {web.url("f.test", f"/topic/{number}") for number in range(forum.topics)}
    assert topics <= set(found)
    assert web.url("f.test", "/profile") in found, "a form for a new password is none for those who are not known"
    assert forum.logins <= 40 / 5 + len(forum.refused) + 2


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(("status", "success"), [(200, "你好"), (403, "你好"), (403, ""), (401, ""), (200, "")])
async def test_a_page_that_asks_to_log_in_is_told_by_what_only_members_see(
    web: HandWeb, space: Path, status: int, success: str
) -> None:
    forum = Forum(web)
    forum.says_where, forum.ends_after = status, 4
    found = await crawl(web, forum.seed, space / "crawl", by_form(success=success))
    strangers = [url for url, text in found.items() if "您还没有登录" in text]
    if (status, success) == (200, ""):
        # Nobody can know: the page is what a stranger sees of it.
        assert strangers
        return
    assert strangers == []
    assert len(found) == TOPICS + 1


@pytest.mark.usefixtures("secrets")
async def test_a_page_that_leads_on_after_the_form_is_followed(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    forum.leads_on = True
    found = await crawl(web, forum.seed, space / "crawl", by_form(success="你好"))
    assert len(found) == TOPICS + 1
    assert forum.logins == 1


async def test_cookies_that_a_site_does_not_know_any_more_are_told(web: HandWeb, space: Path) -> None:
    space.mkdir(exist_ok=True)
    (space / "cookies.txt").write_text("f.test\tFALSE\t/\tFALSE\t0\tsid\told\n", encoding="utf-8")
    forum = Forum(web)
    site = from_values({"site": {"f.test": {"login": {"cookies": f"{space}/cookies.txt"}}}}).site
    forum.sessions.add("old")
    assert len(await crawl(web, forum.seed, space / "crawl", site)) == TOPICS + 1
    forum.sessions.clear()
    for status, success in ((0, ""), (200, "你好")):
        forum.says_where = status
        login = {"cookies": f"{space}/cookies.txt", "success": success}
        settings = {**hand_settings(web), "site": from_values({"site": {"f.test": {"login": login}}}).site}
        (missed,) = [each async for each in Crawler([forum.seed], **settings).outcomes()]
        assert isinstance(missed, MissedPage)
        assert missed.reason == "login"
        assert "does not know the cookies" in missed.detail


@pytest.mark.parametrize(
    ("seeds", "places", "known", "unknown"),
    [
        (["https://f.test"], [], ["https://f.test"], ["http://f.test", "https://f.test:8443", "http://f.test:8080"]),
        (["http://f.test"], [], ["http://f.test", "https://f.test"], ["http://f.test:81"]),
        (["http://g.test:8080"], [], ["http://f.test:8080", "https://f.test"], ["http://f.test"]),
        (["https://f.test"], ["http://f.test:81"], ["http://f.test:81"], ["http://f.test", "http://f.test:82"]),
        (["https://f.test"], ["http://f.test"], ["http://f.test"], ["http://f.test:82"]),
        (["https://f.test"], ["f.test:81"], ["http://f.test:81", "https://f.test:81"], ["http://f.test"]),
        (["http://[::1]:8080"], [], ["http://[::1]:8080"], ["http://[::1]"]),
    ],
)
def test_the_origins_that_may_be_told_secrets(
    seeds: list[str], places: list[str], known: list[str], unknown: list[str]
) -> None:
    is_known = known_origins(seeds, places)
    assert [origin for origin in known if not is_known(origin)] == []
    assert [origin for origin in unknown if is_known(origin)] == []


@pytest.mark.usefixtures("secrets")
async def test_secrets_for_a_site_on_https_are_not_told_in_the_clear(
    web: HandWeb, space: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Mapping[str, str]] = []

    async def note(exchange: ServedExchange) -> None:
        heard.append(exchange.ask.headers)
        exchange.reply(make_reply(200, b"<p>x", {"Content-Type": "text/html"}))

    web.behave_host("key.test", note)
    forum = Forum(web)
    links = f'<a href="{forum.seed}">f</a><a href="{web.url("key.test")}">k</a>'
    login = {"form": "/login.php", "user": "env:FORUM_USER", "password": "env:FORUM_PASSWORD"}
    rules = {
        "f.test": {"login": login},
        "key.test": {"headers": {"X-Key": "mine", "From": "me@me.test"}, "cookies": {"a": "b"}},
    }
    seeds = [web.page("http://a.test/", links), "https://f.test/", "https://key.test/"]
    settings = {**hand_settings(web), "site": from_values({"site": rules}).site}
    assert (await Crawler(seeds, folder=space / "crawl", **settings).run()).refused == 2
    assert {request.method for request in web.requests} == {"GET"}
    assert f"the login of its host is not used at {forum.seed.rstrip('/')}" in caplog.text
    assert len(heard) == 2, "robots.txt and the page"
    assert all(each["from"] == "me@me.test" and not {"x-key", "cookie"} & set(each) for each in heard)


@pytest.mark.usefixtures("secrets")
async def test_cookies_of_the_rules_and_of_the_session_go_together(web: HandWeb, space: Path) -> None:
    forum = Forum(web)
    sent: list[str] = []
    web.behave_host("f.test", lambda exchange: _noted(forum, exchange, sent))
    login = {"form": "/login.php", "user": "env:FORUM_USER", "password": "env:FORUM_PASSWORD"}
    site = from_values({"site": {"f.test": {"login": login, "cookies": {"lang": "zh"}}}}).site
    assert len(await crawl(web, forum.seed, space / "crawl", site)) == TOPICS + 1
    assert all("lang=zh" in cookies for cookies in sent)
    assert "sid=secretsession1" in sent[-1]


async def _noted(forum: Forum, exchange: ServedExchange, sent: list[str]) -> None:
    sent.append(exchange.ask.headers.get("cookie", ""))
    await forum.serve(exchange)


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ({"cookies": "/no/such/file"}, "cannot be read"),
        ({"token": "env:BROKEN"}, "one line"),
        ({"token": "env:EMPTY"}, "it is empty"),
        ({"user": "me", "password": "env:EMPTY"}, "it is empty"),
    ],
)
async def test_what_no_request_could_be_sent_with_is_told_before_anything_is_asked(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch, login: dict[str, str], words: str
) -> None:
    monkeypatch.setenv("BROKEN", "a\r\nX-Other: b")
    monkeypatch.setenv("EMPTY", "")
    seed = web.page("http://a.test/", "<p>x")
    with pytest.raises(SettingsError, match=words):
        await crawl(web, seed, space / "crawl", from_values({"site": {"a.test": {"login": login}}}).site)
    assert web.requests == []


# ---- over kill -9


def command_lines(running: Running) -> bytes:
    """What the process list shows of a crawl."""
    pids = running.processes()
    pids += [child for pid in pids for child in children_of(pid)]
    return b"".join(path.read_bytes() for pid in pids if (path := Path(f"/proc/{pid}/cmdline")).exists())


async def test_a_forum_in_gbk_is_crawled_behind_its_form_over_kill_9(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORUM_PASSWORD", PASSWORD)
    (user := space / "user").write_text(USER, encoding="utf-8")
    forum = Forum(web)
    forum.topics, forum.ends_after = 60, 25
    rules = space / "forum.toml"
    rules.write_text(
        f'[site."f.test".login]\nform = "/login.php"\nuser = "file:{user}"\npassword = "env:FORUM_PASSWORD"\n'
        'success = "你好"\n',
        encoding="utf-8",
    )
    hooks = space / "hooks.py"
    hooks.write_text(
        "def on_page(page):\n    print('seen', page.url)\n    if page.url.endswith('/7'):\n        raise KeyError(7)\n"
    )
    settings: dict[str, Any] = {"assignment": "balanced", "scope": "host", "parquet_rows": 20, "hooks": str(hooks)}
    arguments = ("-c", str(rules))
    seen = b""
    with start(web, space / "crawl", *arguments, forum.seed, **settings) as running:
        while forum.served < 20:
            await asyncio.wait_for(forum.news.wait(), 120)
            forum.news.clear()
        seen += command_lines(running)
        await asyncio.to_thread(running.kill_all)
    assert forum.served <= forum.topics, "killed in the middle"
    with start(web, space / "crawl", **settings, said_in=space / "second") as running:
        while not seen.count(b"--folder") > 1:
            seen += command_lines(running)
        ended = await asyncio.to_thread(running.end)
    assert ended.exit_code == 0, ended.said
    # Pages are counted, and so is the one visit that the hook ended.
    assert (ended.summary["pages"], ended.summary["crashed"]) == (forum.topics, 1)
    assert (space / "crawl" / "lycosa.log").read_text().count("seen http") > forum.topics
    assert forum.logged_out == 0
    assert 1 <= forum.ended <= forum.logins <= forum.ended + 2, (
        "two workers share a session, and so does the next start"
    )
    for command in ("status", "why"):
        about = [forum.seed] if command == "why" else []
        words = [sys.executable, "-m", "lycosa.cli.main", command, *about, "--folder", str(space / "crawl")]
        told = await asyncio.to_thread(subprocess.run, words, capture_output=True, check=False)
        seen += told.stdout + told.stderr
    assert is_known("你好", space)
    secrets = (PASSWORD, "secretsession", "token1")
    user.unlink()
    for secret in secrets:
        assert not is_known(secret, space), "in no file, nor in anything that was said"
        assert secret.encode() not in seen
