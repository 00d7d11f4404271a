"""Who gets in, and who does not: asked of a real server."""

from __future__ import annotations

import pytest

from .visitor import Visitor


def test_without_the_token_nothing_is_shown(visitor: Visitor) -> None:
    for path in ("/", "/live", "/metrics", "/host?name=a.test", "/url?url=x", "/assets/dashboard.js"):
        answer = visitor.ask(path, has_token=False)
        assert answer.status == 403, path
        assert "a.test" not in answer.body
    assert visitor.ask("/", has_token=False, Authorization="Bearer wrong").status == 403
    assert visitor.ask("/?token=wrong", has_token=False).status == 403
    assert visitor.ask("/?token=%ff%fe", has_token=False).status == 403


def test_the_link_lets_in_and_its_token_leaves_the_address(visitor: Visitor) -> None:
    answer = visitor.ask(f"/host?token={visitor.token}&name=a.test", has_token=False)
    assert (answer.status, answer.headers["location"]) == (303, "/host?name=a.test")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    let_in = visitor.ask(answer.headers["location"], has_token=False, Cookie=cookie.partition(";")[0])
    assert let_in.status == 200
    assert "a.test" in let_in.body


def test_the_link_leads_to_no_other_host(visitor: Visitor) -> None:
    for path in ("//evil.test/", "/\\evil.test/", "///evil.test"):
        answer = visitor.ask(f"{path}?token={visitor.token}", has_token=False)
        assert answer.status == 303
        assert answer.headers["location"].startswith("/")
        assert not answer.headers["location"].startswith(("//", "/\\"))


@pytest.mark.parametrize("host", ["evil.test", "evil.test:{port}", "127.0.0.1.evil.test", "", "localhost.evil.test:80"])
def test_a_name_that_was_led_here_is_not_answered(visitor: Visitor, host: str) -> None:
    answer = visitor.ask("/", Host=host.format(port=visitor.port))
    assert answer.status in (400, 421)
    assert "a.test" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}"])
def test_the_names_of_this_machine_are_answered(visitor: Visitor, host: str) -> None:
    assert visitor.ask("/", Host=host.format(port=visitor.port)).status == 200


def test_only_our_own_pages_may_change_something(visitor: Visitor) -> None:
    cookie, own = f"lycosa-{visitor.port}={visitor.token}", f"127.0.0.1:{visitor.port}"

    def post(**headers: str) -> int:
        return visitor.ask("/", method="POST", body="x=y", has_token=False, Cookie=cookie, Host=own, **headers).status

    assert post() == 403
    assert post(Origin="http://evil.test") == 403
    assert post(Origin="null") == 403
    # Another server of this machine is the same site, and its pages send the cookie.
    assert post(Origin="http://127.0.0.1:1") == 403
    assert post(Origin=f"http://{own}", Sec_Fetch_Site="same-site") == 403
    # Let in: there is only nothing to change here.
    assert post(Origin=f"http://{own}") == 405
    assert post(Origin=f"http://{own}", Sec_Fetch_Site="same-origin") == 405


def test_files_are_had_by_name_and_never_by_path(visitor: Visitor) -> None:
    for name in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "/etc/passwd", "%00", "dashboard.css/"):
        answer = visitor.ask(f"/assets/{name}")
        assert answer.status == 404, name
        assert "import" not in answer.body
        assert "root:" not in answer.body
    assert visitor.ask("/assets/dashboard.css").headers["content-type"].startswith("text/css")


def test_every_answer_forbids_scripts_and_frames_of_others(visitor: Visitor) -> None:
    for path in ("/", "/nothing", "/assets/dashboard.js", "/metrics"):
        headers = visitor.ask(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
