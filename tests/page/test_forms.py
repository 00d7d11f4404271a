"""Forms by which people log in: which of a page's forms it is, and what is sent."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from lycosa.page.forms import LoginForm, login_form

LOG_IN = '<form action="in" method="post"><input name="who"><input type="password" name="secret"></form>'


def form_of(html: str, charset: str = "utf-8") -> LoginForm:
    form = login_form(html.encode(charset), f"text/html; charset={charset}", "http://a.test/x/login")
    assert form
    return form


@pytest.mark.parametrize(
    "other",
    [
        "<form method=post action=up><input name=who><input type=password name=a><input type=password name=b></form>",
        "<form method=post action=up><input name=who><input type=password name=a autocomplete=new-password></form>",
        "<form action=/search><input name=q></form>",
    ],
)
def test_the_form_for_those_who_are_known_is_chosen(other: str) -> None:
    for html in (other + LOG_IN, LOG_IN + other):
        form = form_of(html)
        assert (form.action, form.user, form.password, form.asks_once) == ("http://a.test/x/in", "who", "secret", True)


def test_a_form_for_a_new_password_is_told_from_one_to_log_in() -> None:
    passwords = "".join(f"<input type=password name={name}>" for name in ("old", "new", "again"))
    assert not form_of(f"<form method=post>{passwords}</form>").asks_once


def test_what_stands_in_the_form_goes_along() -> None:
    form = form_of(
        "<base href=/base/><form method=POST action=do?x=1><input type=hidden name=token value='a&amp;b'>"
        "<input name=email value=old><input type=checkbox name=stay checked><input type=checkbox name=news>"
        "<select name=role><option>one<option selected>two</select><input type=password name=pw>"
        "<button name=go value=in>Go</button><button name=go2 value=no>No</button></form>"
    )
    assert (form.action, form.is_post, form.user) == ("http://a.test/base/do?x=1", True, "email")
    sent = parse_qs(form.filled({"email": "me", "pw": "é &="}).decode())
    assert sent == {"token": ["a&b"], "email": ["me"], "stay": ["on"], "role": ["two"], "pw": ["é &="], "go": ["in"]}


@pytest.mark.parametrize("charset", ["gbk", "gb2312", "big5", "euc-jp", "windows-1251"])
def test_it_is_sent_in_the_encoding_of_the_site(charset: str) -> None:
    name = {"big5": "王小明", "windows-1251": "Иван"}.get(charset, "王小明")
    body = form_of(LOG_IN, charset).filled({"who": name, "secret": "☃"})
    assert parse_qs(body.decode(), encoding=charset)["who"] == [name]
    # What the encoding lacks is sent as browsers send it.
    assert b"secret=%26%239731%3B" in body or "☃".encode(charset, "ignore")


def test_a_form_may_accept_another_encoding_than_its_page() -> None:
    html = LOG_IN.replace("method", "accept-charset=big5 method")
    assert parse_qs(form_of(html).filled({"who": "王"}).decode(), encoding="big5")["who"] == ["王"]


def test_a_page_without_a_password_has_none() -> None:
    assert login_form(b"<form method=post><input name=q></form>", "text/html", "http://a.test/") is None


def test_a_form_with_an_address_that_nobody_can_read_is_read_all_the_same() -> None:
    html = b'<base href="http://["><form method=post action="//["><input name=u><input type=password name=p></form>'
    form = login_form(html, "text/html", "http://a.test/login")
    assert form is not None
    assert form.action == "http://a.test/login"
