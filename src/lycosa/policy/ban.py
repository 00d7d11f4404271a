"""How sites say "not you": challenge and captcha pages. Pure: reads an answer, knows nothing of who is told.

The markers are those of the services that most sites use. A page about captchas is none, nor one that has a captcha in
a form: an answer of 200 counts only if it is small, says so in its title, has a captcha that works, and has hardly any
text and links beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_REFUSING = frozenset({401, 403, 405, 406, 429, 503})
# Answers beyond this size are pages, whatever is in them.
MAX_CHALLENGE_BYTES = 64 * 1024
MAX_PAGE_BYTES = 16 * 1024
_TITLE_BYTES = 4096

# Nothing but a challenge has these.
_CHALLENGES = (
    b"_cf_chl_opt",
    b"/cdn-cgi/challenge-platform/",
    b"cf-challenge",
    b"_Incapsula_Resource",
    b"captcha-delivery.com",
    b"px-captcha",
    b"awswaf.com",
    b"/_sec/cp_challenge/",
    b"sucuri_cloudproxy_js",
)
# Forms have these, too; and who writes about captchas, the word.
_CAPTCHAS = re.compile(rb"g-recaptcha|h-captcha|cf-turnstile|recaptcha/api|hcaptcha\.com|captcha", re.IGNORECASE)
_WORKING_CAPTCHA = re.compile(
    rb"<[a-z]+\s[^>]*?(?:data-sitekey\s*=|(?:class|id)\s*=\s*[\"']?[^\"'>]*?"
    rb"(?:g-recaptcha|h-captcha|cf-turnstile|px-captcha))"
    rb"|<(?:script|iframe)\s[^>]*?src\s*=[^>]*?(?:recaptcha|hcaptcha|turnstile|captcha-delivery)",
    re.IGNORECASE,
)
_MARKUP = re.compile(rb"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
MAX_CHALLENGE_WORDS, MAX_CHALLENGE_LINKS = 80, 5
_TITLE = re.compile(
    rb"<title[^>]{0,200}>[^<]{0,100}(?:just a moment|attention required|are you (?:a robot|human)|not a robot|captcha"
    rb"|verify (?:that )?you are|security check|access denied|pardon our interruption|unusual traffic"
    rb"|human verification)",
    re.IGNORECASE,
)


def challenge_in(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> str:
    """What tells that this answer is a challenge and not the page; empty if it is none."""
    is_refusing = status in _REFUSING
    if not is_refusing and status != 200:
        return ""
    if any(name == "cf-mitigated" for name, _ in headers):
        return "cf-mitigated"
    if len(body) > (MAX_CHALLENGE_BYTES if is_refusing else MAX_PAGE_BYTES):
        return ""
    # Most pages have neither word: they cost one look each.
    if b"aptcha" not in body and b"hallenge" not in body and not is_refusing:
        return ""
    marker = next((marker for marker in _CHALLENGES if marker in body), b"")
    has_title = _TITLE.search(body, 0, _TITLE_BYTES) is not None
    if marker and (is_refusing or (has_title and body.lower().count(b"<a ") <= MAX_CHALLENGE_LINKS)):
        return marker.decode()
    if (found := _CAPTCHAS.search(body)) and (is_refusing or (has_title and _asks_only(body))):
        return found.group().decode().lower()
    return ""


def _asks_only(body: bytes) -> bool:
    """Whether a page is nothing but a captcha."""
    if not _WORKING_CAPTCHA.search(body) or body.lower().count(b"<a ") > MAX_CHALLENGE_LINKS:
        return False
    return len(_MARKUP.sub(b" ", body).split()) <= MAX_CHALLENGE_WORDS
