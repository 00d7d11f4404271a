"""Servers that say no: too many requests, back-off wishes, bans, and robots.txt files that cannot be had."""

from __future__ import annotations

from collections import Counter
from email.utils import formatdate

from ..http import make_reply
from ..server import Behaviour, ServedExchange
from .malformed import PAGE, page
from .registry import answers

answers("P", "too-many-requests", "429 to every request.", page(b"", status="429 Too Many Requests"))
answers(
    "P", "retry-in-seconds", "503 with a Retry-After of two minutes.", page(b"", "Retry-After: 120", status="503 Busy")
)
answers(
    "P",
    "retry-at-date",
    "503 with a Retry-After in the year 2099.",
    page(b"", f"Retry-After: {formatdate(4_070_908_800, usegmt=True)}", status="503 Busy"),
)
answers(
    "P",
    "retry-nonsense",
    "429 with a Retry-After that is neither.",
    page(b"", "Retry-After: soon, -5, 1e9", status="429 Too Many Requests"),
)
answers("P", "always-500", "500 to every request.", page(b"", status="500 Internal Server Error"))
answers("P", "always-403", "403 to every request.", page(b"", status="403 Forbidden"))
answers(
    "P",
    "captcha",
    "A page that asks whether the reader is a robot.",
    page(b"<title>Are you a robot?</title><form class='g-recaptcha'></form>", status="403 Forbidden"),
)
answers(
    "P",
    "captcha-with-200",
    "The same, with a status of 200.",
    page(b"<title>Are you a robot?</title><form class='g-recaptcha'></form>"),
)
answers(
    "P",
    "challenge",
    "The challenge page of a well-known service.",
    page(
        b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
        "cf-mitigated: challenge",
        status="403 Forbidden",
    ),
)
answers(
    "P",
    "captcha-in-a-form",
    "An ordinary page that has a captcha in its form.",
    page(b"<title>Contact</title><p>Write to us.<form><div class='g-recaptcha'></div></form>" + PAGE),
)
answers(
    "P",
    "noindex",
    "A page that asks not to be indexed nor followed.",
    page(b"<meta name=robots content='noindex, nofollow'><a href=/honeypot>x</a>" + PAGE),
)
answers(
    "P",
    "header-noindex",
    "The same, asked for by X-Robots-Tag.",
    page(b"<a href=/honeypot>x</a>" + PAGE, "X-Robots-Tag: noindex, nofollow"),
)

_ROBOTS = "Content-Type: text/plain"
answers("R", "robots-as-html", "A robots.txt that is an HTML page.", page(b"<html><body>Disallow: /</body></html>"))
answers(
    "R",
    "robots-with-bom",
    "A robots.txt with a byte order mark and NULs.",
    page(b"\xef\xbb\xbfUser-agent: *\0\r\nDisallow: /private\r\n", _ROBOTS),
)
answers(
    "R", "robots-cr-only", "A robots.txt whose lines end in CR.", page(b"User-agent: *\rDisallow: /private\r", _ROBOTS)
)
answers(
    "R",
    "robots-utf-16",
    "A robots.txt in UTF-16.",
    page("User-agent: *\nDisallow: /private\n".encode("utf-16"), _ROBOTS),
)
answers(
    "R",
    "robots-huge",
    "A robots.txt of 10 MB, whose last line within 512 KiB is cut.",
    page(b"User-agent: *\nDisallow: /private\n" + b"Disallow: /x/%s\n" % (b"y" * 40) * 200_000, _ROBOTS),
)
answers(
    "R",
    "robots-star-flood",
    "A robots.txt of patterns made to take for ever.",
    page(b"User-agent: *\n" + b"".join(b"Disallow: /%s$\n" % (b"*a" * 400) for _ in range(500)), _ROBOTS),
)
answers("R", "robots-500", "A robots.txt that answers 500.", page(b"", status="500 Internal Server Error"))
answers("R", "robots-429", "A robots.txt that answers 429.", page(b"", status="429 Too Many Requests"))
answers("R", "robots-403", "A robots.txt that answers 403, which allows everything.", page(b"", status="403 Forbidden"))
answers(
    "R",
    "robots-day-of-delay",
    "A robots.txt that asks for a day between requests.",
    page(b"User-agent: *\nCrawl-delay: 86400\n", _ROBOTS),
)
answers(
    "R", "robots-loop", "A robots.txt that redirects to itself.", page(b"", "Location: /robots.txt", status="302 Found")
)


def ban_after(requests: int, refusal: Behaviour | None = None) -> Behaviour:
    """A host that answers so many requests and then refuses every further one: with 403, or in its own way."""
    seen: Counter[str] = Counter()

    async def behave(exchange: ServedExchange) -> None:
        seen[exchange.ask.name] += 1
        if seen[exchange.ask.name] > requests:
            if refusal is None:
                exchange.reply(make_reply(403))
            else:
                await refusal(exchange)
            return
        number = seen[exchange.ask.name]
        links = "".join(f'<a href="/p{number}-{each}">x</a>' for each in range(5))
        exchange.reply(make_reply(200, f"<title>{number}</title>{links}".encode(), {"Content-Type": "text/html"}))

    return behave
