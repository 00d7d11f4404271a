"""The form of a page by which people log in: what is filled in, where it goes, and in which encoding."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote_plus

import turbohtml

from lycosa.page.encoding import decode
from lycosa.url.canonical import joined

_NAMES_OF_USERS = ("user", "login", "email", "mail", "name", "account")
_TYPED = ("input[type=text i][name]", "input[type=email i][name]", "input[type=tel i][name]", "input:not([type])[name]")
_BUTTONS = "input[type=submit i][name], button[name]:not([type=button i]):not([type=reset i])"


class LoginForm(NamedTuple):
    """A form with a password: its fields as they stand, and which of them are to be filled in."""

    action: str  # absolute
    is_post: bool
    fields: dict[str, str]
    user: str  # the names of its fields
    password: str
    charset: str
    asks_once: bool = True  # who is new types a password twice, and who changes it

    def filled(self, values: Mapping[str, str]) -> bytes:
        """What is sent, in the encoding of the site; characters that it lacks as references, like browsers do."""
        pairs = (self.fields | dict(values)).items()
        return "&".join(f"{self._quoted(name)}={self._quoted(value)}" for name, value in pairs).encode()

    def _quoted(self, text: str) -> str:
        return quote_plus(text.encode(self.charset, "xmlcharrefreplace"), safe="*")


def login_form(body: bytes, content_type: str, url: str) -> LoginForm | None:
    """The form of a page by which people log in: one that asks for a password, and for no new one; None without any."""
    text, charset, _ = decode(body, content_type)
    document = turbohtml.parse(text, positions=False)
    base = next((href for tag in document.select("base[href]") if (href := tag.attr("href"))), "")
    found: LoginForm | None = None
    for form in document.select("form"):
        if passwords := form.select("input[type=password i][name]"):
            read = _read(form, passwords, joined(url, str(base)), charset)
            if read.asks_once:
                return read
            found = found or read
    return found


def _read(form: turbohtml.Element, passwords: list[turbohtml.Element], url: str, charset: str) -> LoginForm:
    password = str(passwords[0].attr("name"))
    is_new = any(str(each.attr("autocomplete") or "").lower() == "new-password" for each in passwords)
    fields = dict(form.form_data())
    # The button that a person would press; without one, as with the return key.
    for button in form.select(_BUTTONS)[:1]:
        fields[str(button.attr("name"))] = str(button.attr("value") or "")
    typed = {str(field.attr("name")) for field in form.select(", ".join(_TYPED))}
    names = list(fields)
    before = names[: names.index(password)] if password in names else names
    candidates = [name for name in before if name in typed] or [name for name in names if name in typed]
    return LoginForm(
        action=joined(url, str(form.attr("action") or "").strip()),
        is_post=str(form.attr("method") or "").lower() == "post",
        fields=fields,
        user=_user_of(candidates),
        password=password,
        charset=_charset_of(str(form.attr("accept-charset") or ""), charset),
        asks_once=len(passwords) == 1 and not is_new,
    )


def _user_of(names: list[str]) -> str:
    """The field for the name: one that is called so, or the last before the password."""
    for name in names:
        if any(word in name.lower() for word in _NAMES_OF_USERS):
            return name
    return names[-1] if names else ""


def _charset_of(accepted: str, charset: str) -> str:
    for name in [*accepted.replace(",", " ").split(), charset]:
        try:
            codecs.lookup(name)
        except LookupError:
            continue
        # By the name of the smaller set people mean the larger one, as browsers do.
        return "gbk" if name.lower() == "gb2312" else name
    return "utf-8"
