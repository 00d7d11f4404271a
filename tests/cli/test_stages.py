from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.robots.parse import line_of

from .world import World


def run(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


class TestFetch:
    def test_an_exchange_is_shown(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        out = run(["fetch", world.url("/latin"), *world.network], capsys)
        assert "status     200" in out
        assert "content-type" in out
        facts = json.loads(run(["fetch", world.url("/moved"), *world.network, "--json"], capsys))
        assert facts["status"] == 301
        assert ["location", "/one"] in facts["headers"]
        assert facts["addresses"] == {facts["address"]: True}

    def test_the_gate_refuses_and_says_how_to_open_it(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        closed = world.network[2:]
        out = run(["fetch", world.url("/"), *closed], capsys, code=3)
        assert "(closed)" in out
        assert "--open-network CIDR" in out
        facts = json.loads(run(["fetch", world.url("/"), *closed, "--json"], capsys, code=3))
        assert facts["is_refused"]

    def test_a_name_that_does_not_exist_fails(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        assert "could not be looked up" in run(["fetch", "http://nobody.test/", *world.network], capsys, code=3)

    def test_the_body_alone(self, world: World, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        assert main(["fetch", world.url("/data.bin"), *world.network, "--body"]) == 0
        assert capfdbinary.readouterr().out == bytes(range(256))

    @pytest.mark.parametrize("more", [["--set", "nope=1"], ["--set", "x"], ["--open-network", "x"], ["-c", "/no/file"]])
    def test_bad_settings_are_refused(self, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fetch", "http://a.test/", *more]) == 2
        assert capsys.readouterr().err.startswith("lycosa: ")

    def test_what_is_no_url_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fetch", "mailto:x@example.org"]) == 2
        assert "its scheme is not http or https" in capsys.readouterr().err


class TestParse:
    def test_a_page_of_the_web(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        page = json.loads(run(["parse", world.url("/latin"), *world.network, "--json"], capsys))
        assert (page["title"], page["charset"], page["charset_source"]) == ("Паук", "windows-1251", "meta")

    def test_what_the_rules_of_a_site_make_of_a_page(
        self, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rules, hooks = tmp_path / "rules.toml", tmp_path / "mine.py"
        rules.write_text(
            '[site."a.test"]\nheaders = {X-Key = "hush"}\nlinks = ["a[href=\'/one\']"]\nfields = {title = "title"}\n'
        )
        hooks.write_text(
            "from lycosa import Request\ndef on_page(page):\n    yield Request(page.url, 'POST', tag='t')\n"
        )
        arguments = ["parse", world.url("/"), "--site", *world.network, "-c", str(rules), "--set", f"hooks={hooks}"]
        found = json.loads(run([*arguments, "--json"], capsys))
        assert found["links"] == [world.url("/one")]
        assert len(found["items"]) == 1
        assert found["requests"] == [f"POST {world.url('/')}  (t)"]
        out = run(arguments, capsys)
        assert "headers: X-Key" in out
        assert "hush" not in out
        hooks.write_text("def on_page(page):\n    1 / 0\n")
        assert main(arguments) == 3
        assert "on_page: ZeroDivisionError" in capsys.readouterr().err

    def test_links_have_verdicts(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        page = json.loads(run(["parse", world.url("/"), *world.network, "--json"], capsys))
        verdicts = {link["href"]: link["verdict"] for link in page["links"]}
        assert verdicts["/one"] == "followed"
        assert verdicts["/unfollowed"] == "nofollow"
        assert verdicts["http://elsewhere.test/"] == "it is on a host or domain that no seed is on"
        assert verdicts["javascript:void(0)"] == "its scheme is not http or https"

    def test_a_file_with_a_base(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "page.html"
        file.write_text("<base href='/b/'><title>T\x1b[2J</title><a href='c'>C</a><p>words")
        out = run(["parse", str(file), "--base", "https://example.org/a"], capsys)
        assert "https://example.org/b/c  followed" in out
        assert "\x1b" not in out
        assert run(["parse", str(file), "--text"], capsys).split() == ["C", "words"]

    def test_any_bytes_are_parsed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "odd"
        file.write_bytes(b"<title>\xff\xfe\x00\x80</title><a href='\xff:\x00'>" + bytes(range(256)))
        run(["parse", str(file)], capsys)
        run(["parse", str(file), "--json", "--content-type", "text/html; charset=utf-8"], capsys)

    def test_a_missing_file_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["parse", "/no/such/file"]) == 2
        assert "cannot be read" in capsys.readouterr().err


class TestShell:
    def test_code_is_run_with_the_page_at_hand(
        self, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rules = tmp_path / "rules.toml"
        rules.write_text('[site."a.test"]\nfields = {title = "title"}\n')
        code = "print(page.title, css('title')[0].text, xpath('count(//title)'), len(links), items, tree.root.tag)"
        out = run(["shell", world.url("/latin"), *world.network, "-c", str(rules), "--code", code], capsys)
        assert out == "Паук Паук 1.0 0 [{'title': 'Паук'}] html\n"

    def test_what_fails_is_told(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "page.html").write_text("<h1>x")
        assert main(["shell", str(tmp_path / "page.html"), "--code", "css('##')"]) == 1
        assert "SelectorSyntaxError" in capsys.readouterr().err

    def test_a_prompt_reads_lines(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "page.html").write_text("<h1>x<a href=/b>b</a>")
        lines = iter([f"open({str(tmp_path / 'out')!r}, 'w').write(links[0])"])
        monkeypatch.setattr("builtins.input", lambda prompt="": next(lines, None) or (_ for _ in ()).throw(EOFError))
        assert main(["shell", str(tmp_path / "page.html"), "--base", "https://example.org/a"]) == 0
        assert (tmp_path / "out").read_text() == "https://example.org/b"


class TestRobots:
    def test_the_rule_that_decides(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        report = json.loads(run(["robots", world.url("/private/y"), *world.network, "--json"], capsys))
        assert (report["allowed"], report["rule"], report["line"]) == (False, "Disallow: /private/", 7)
        assert "allowed" in run(["robots", world.url("/one"), *world.network], capsys)

    def test_no_file_allows_and_no_answer_forbids(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        world.web.page("http://norobots.test/", "x")
        url = world.url("/x", "norobots.test")
        assert json.loads(run(["robots", url, *world.network, "--json"], capsys))["kind"] == "allow_all"
        closed = json.loads(run(["robots", url, *world.network[2:], "--json"], capsys))
        assert (closed["allowed"], closed["kind"]) == (False, "disallow_all")

    def test_a_file_and_another_agent(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "robots.txt"
        file.write_text(
            "User-agent: *\nDisallow: /\n\nUser-agent: mybot\nCrawl-delay: 3\nSitemap: /s.xml\nDisallow: /x$\n"
        )
        options = ["robots", "http://a.test/x", "--file", str(file), "--user-agent", "mybot/2.0", "--json"]
        report = json.loads(run(options, capsys))
        assert (report["line"], report["crawl_delay_seconds"], report["sitemaps"]) == (7, 3.0, ["/s.xml"])

    def test_of_two_equal_lines_the_one_in_force_is_named(self) -> None:
        body = b"User-agent: other\r\nDisallow: /a\r\nUser-agent: me\r\nDisallow: /a\r\n"
        assert line_of(body, "me", (False, "/a")) == 4
        assert line_of(body, "me", (False, "/b")) == 0
        assert line_of(b"User-agent: *\nDisallow: /a\nDisallow: /a", "me", (False, "/a")) == 2
