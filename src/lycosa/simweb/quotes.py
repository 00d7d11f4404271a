"""A site of quotations to learn scraping from: pages with a next link, tags, authors, a login, a search, a script,
endless scrolling.

Built like the site of a well-known tutorial, with sentences of our own. What its scripts do works in a browser.
"""

from __future__ import annotations

import json
from html import escape
from typing import NamedTuple, Self
from urllib.parse import parse_qs

from .hand import HandWeb
from .http import make_reply
from .server import ServedExchange

QUOTES_HOST = "quotes.toscrape.com"
PER_PAGE = 10
LOGIN = ("reader", "open-sesame")
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_TOKEN, _SESSION = "f00dcafe", "reader-is-here"
# One quotation as the pages have it, made by a script.
_SHOW = """
function quoteOf(text, author, tags) {
  const quote = document.createElement('div');
  quote.className = 'quote';
  quote.innerHTML =
    '<span class="text"></span> <span>by <small class="author"></small></span><div class="tags">Tags: </div>';
  quote.querySelector('.text').textContent = text;
  quote.querySelector('.author').textContent = author;
  for (const tag of tags) {
    const link = document.createElement('a');
    link.className = 'tag';
    link.textContent = tag;
    quote.querySelector('.tags').append(link, ' ');
  }
  return quote;
}
"""
# More of them are asked for as often as somebody has come to the end of the page, and there are more.
_SCROLL = (
    _SHOW
    + """
let page = 1, isBusy = false, hasMore = true;
async function more() {
  const root = document.documentElement;
  if (isBusy || !hasMore || window.scrollY + window.innerHeight < root.scrollHeight - 100) return;
  isBusy = true;
  const data = await (await fetch('/api/quotes?page=' + page)).json();
  for (const each of data.quotes)
    document.querySelector('.quotes').append(quoteOf(each.text, each.author, each.tags));
  hasMore = data.has_next;
  page += 1;
  isBusy = false;
}
addEventListener('scroll', more);
more();
"""
)
_TALL = "<style>.quote { min-height: 200px }</style>"


class Quote(NamedTuple):
    """One quotation of the site."""

    text: str
    author: str
    tags: tuple[str, ...]


_AUTHORS = ("Ada Brook", "Ben Cole", "Cleo Dunn", "Dov Eller", "Eve Fry")
_SUBJECTS = ("patience", "rivers", "bread", "maps", "winter", "letters", "doors")
QUOTES = [
    Quote(
        f"“Of {subject}, {author.split()[0]} said “enough” only once.” ({number})",
        author,
        (subject, "life") if number % 3 else (subject,),
    )
    for number in range(35)
    for author, subject in [(_AUTHORS[number % len(_AUTHORS)], _SUBJECTS[number % len(_SUBJECTS)])]
]
PAGES = -(-len(QUOTES) // PER_PAGE)


class QuotesWeb(HandWeb):
    """A web of this site alone."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.seeds = [put_quotes(self)]
        return self

    @property
    def request_count(self) -> int:
        """Requests so far."""
        return self._loopback.log.count

    def describe(self) -> str:
        """What is there, in a line."""
        return f"{len(QUOTES)} quotations at {QUOTES_HOST}"


def put_quotes(web: HandWeb, host: str = QUOTES_HOST) -> str:
    """Put the site on a web; the URL of its first page."""
    for number in range(1, PAGES + 1):
        body = _page(_listing(number), _next(f"/page/{number + 1}/", number))
        web.page(f"http://{host}/page/{number}/", body)
        web.page(f"http://{host}/js/page/{number}/", _page(_script(number), _next(f"/js/page/{number + 1}/", number)))
        answer = {
            "page": number,
            "has_next": number < PAGES,
            "quotes": [quote._asdict() for quote in _of_page(number)],
        }
        web.page(
            f"http://{host}/api/quotes?page={number}", json.dumps(answer), headers={"Content-Type": "application/json"}
        )
    for author in _AUTHORS:
        born = f"<p>Born <span class=author-born-date>March {len(author)}, 1901</span></p>"
        life = f"<div class=author-description>{author} wrote letters all winter, and sold bread in spring.</div>"
        web.page(f"http://{host}/author/{_slug(author)}", _page(f"<h3 class=author-title>{author}</h3>{born}{life}"))
    for tag in sorted({tag for quote in QUOTES for tag in quote.tags}):
        web.page(f"http://{host}/tag/{tag}/", _page("\n".join(_quote(each) for each in QUOTES if tag in each.tags)))
    web.page(f"http://{host}/js/", _page(_script(1), _next("/js/page/2/", 1)))
    web.page(f"http://{host}/scroll", _page(f"{_TALL}<div class=quotes></div><script src=/scroll.js></script>"))
    web.page(f"http://{host}/scroll.js", _SCROLL, headers={"Content-Type": "text/javascript"})
    web.behave(f"http://{host}/login", _login)
    web.behave(f"http://{host}/members", _members)
    web.behave(f"http://{host}/search", _search)
    return web.page(f"http://{host}/", _page(_listing(1), _next("/page/2/", 1)))


def _of_page(number: int) -> list[Quote]:
    return QUOTES[(number - 1) * PER_PAGE : number * PER_PAGE]


def _listing(number: int) -> str:
    return "\n".join(map(_quote, _of_page(number)))


def _quote(quote: Quote) -> str:
    tags = " ".join(f'<a class="tag" href="/tag/{tag}/">{tag}</a>' for tag in quote.tags)
    return (
        f'<div class="quote"><span class="text">{escape(quote.text)}</span> <span>by '
        f'<small class="author">{quote.author}</small> <a href="/author/{_slug(quote.author)}">(about)</a></span>'
        f'<div class="tags">Tags: {tags}</div></div>'
    )


def _script(number: int) -> str:
    data = [{"text": text, "author": {"name": author}, "tags": tags} for text, author, tags in _of_page(number)]
    show = "for (const {text, author, tags} of data) document.body.append(quoteOf(text, author.name, tags));"
    return f"<script>\n    var data = {json.dumps(data)};\n{_SHOW}    {show}\n</script>"


def _next(path: str, number: int) -> str:
    return f'<ul class="pager"><li class="next"><a href="{path}">Next</a></li></ul>' if number < PAGES else ""


def _page(main: str, pager: str = "") -> str:
    head = '<h1><a href="/">Quotes</a></h1><p><a href="/login">Login</a></p>'
    return f"<!DOCTYPE html><html lang=en><title>Quotes</title><body>{head}{main}<nav>{pager}</nav></body></html>"


def _slug(author: str) -> str:
    return author.replace(" ", "-")


async def _login(exchange: ServedExchange) -> None:
    """A form with a token; whoever sends the right words is known by a cookie from then on."""
    form = _form("/login", '<input name="username"><input type="password" name="password">')
    if exchange.ask.method != "POST":
        exchange.reply(make_reply(200, _page(form).encode(), _HTML))
        return
    said = _said(exchange)
    if (said.get("username"), said.get("password"), said.get("csrf_token")) != (*LOGIN, _TOKEN):
        exchange.reply(make_reply(403, _page("<p>Wrong words.").encode(), _HTML))
        return
    cookie = {"Location": "/members", "Set-Cookie": f"session={_SESSION}; Path=/; HttpOnly"}
    exchange.reply(make_reply(302, b"", cookie))


async def _search(exchange: ServedExchange) -> None:
    """A form with a token, whose answer is what one author said."""
    main = _form("/search", '<input name="author">')
    if exchange.ask.method == "POST" and (said := _said(exchange)).get("csrf_token") == _TOKEN:
        main += "\n".join(_quote(quote) for quote in QUOTES if quote.author == said.get("author"))
    exchange.reply(make_reply(200, _page(main).encode(), _HTML))


def _form(action: str, fields: str) -> str:
    token = f'<input type="hidden" name="csrf_token" value="{_TOKEN}">'
    return f'<form action="{action}" method="post">{token}{fields}<input type="submit" value="Go"></form>'


def _said(exchange: ServedExchange) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(exchange.ask.body.decode()).items()}


async def _members(exchange: ServedExchange) -> None:
    is_known = f"session={_SESSION}" in exchange.ask.headers.get("cookie", "")
    main = "<p class=welcome>Welcome, reader" if is_known else "<p>Please log in."
    exchange.reply(make_reply(200 if is_known else 401, _page(main).encode(), _HTML))
