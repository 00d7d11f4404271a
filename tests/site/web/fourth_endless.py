"""Endless parts of a fourth collection, written after all rules and tried unseen: of shops, forums and programs."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from itertools import count
from urllib.parse import parse_qsl, quote, urlencode

from .endless import both
from .parts import handbook, journal, shop
from .site import Answer, At, Frame, Site, html, link, links, make_site, match, redirect, table
from .unseen_endless import digits, on_the_first
from .unseen_parts import chronicle, dictionary, registry, topics, wiki
from .words import drawing, fresh, hash_of, paragraphs, proper, rare, slug, text, title

FOURTH_ENDLESS: dict[str, Callable[[], Site]] = {}


def fourth(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    FOURTH_ENDLESS[make.__name__.replace("_", "-")] = make
    return make


@fourth
def scroll_by_cursor() -> Site:
    """Pieces of a stream for scripts, by cursors that say nothing; what it shows begins anew in another order."""
    frame = Frame("scroll-by-cursor")
    part = journal(frame, on_the_first(link("/api/stream?cursor=start", "More")))

    def bottomless(at: At) -> Answer | None:
        if at.path != "/api/stream":
            return None
        cursor = at.query["cursor"]
        shown = drawing("stream", cursor).sample(part.paths, 12)
        items = "".join(f"<article>{link(path, title(5, path))}<p>{text(16, path)}</p></article>\n" for path in shown)
        following = urlsafe_b64encode(digits(24, "cursor", cursor).encode()).decode().rstrip("=")
        body = f'{items}<a class="load" href="/api/stream?cursor={following}">Load more</a>\n'
        return Answer(200, (("Content-Type", "text/html; charset=utf-8"),), body.encode())

    return both(frame, part, bottomless, r"/api/stream\?.*")


@fourth
def lists_of_wishes() -> Site:
    """Every product can be wished for, compared and watched; each link has the key of the form and says where from."""
    frame = Frame("lists-of-wishes")
    keys = count(1)

    def tools(at: At) -> str:
        found = match(r"/product/(\d+)", at.path)
        if not found:
            return ""
        came = urlsafe_b64encode(at.target.encode()).decode().rstrip("=")
        key = digits(16, "key", next(keys))
        return links(
            [
                (f"/wishlist/index/add/product/{found[0]}/form_key/{key}/", "Wish for it"),
                (f"/catalog/product_compare/add/product/{found[0]}/uenc/{came}/form_key/{key}/", "Compare"),
                (f"/productalert/add/stock/product_id/{found[0]}/uenc/{came}/", "Watch"),
                (f"/checkout/cart/add/uenc/{came}/product/{found[0]}/form_key/{key}/", "Buy"),
            ]
        )

    part = shop(frame, tools)

    def bottomless(at: At) -> Answer | None:
        if at.path.startswith(("/wishlist/", "/productalert/")):
            return redirect(f"/customer/account/login/referer/{digits(24, next(keys))}/")
        if at.path.startswith(("/catalog/product_compare/", "/checkout/cart/add/")):
            found = re.search(r"/product/(\d+)", at.path)
            return redirect(f"/product/{found[1]}?added={digits(8, next(keys))}" if found else "/")
        if at.path.startswith("/customer/account/"):
            again = link(f"/customer/account/create/referer/{digits(24, next(keys))}/", "Open an account")
            return frame.page("Log in", "<p>If you have an account, log in with your e-mail address.</p>" + again)
        return None

    pattern = r"/(wishlist|catalog|productalert|checkout|customer)/.* | /product/\d+\?added=.*"
    return both(frame, part, bottomless, pattern)


@fourth
def permuted_views() -> Site:
    """A list whose order, direction, length, layout and session stand in the query in the order of the clicks."""
    frame = Frame("permuted-views", {"All": "/items.php?sid=0"})
    part = registry(frame, 300)
    ways = {
        "sort": ("name", "year", "price"),
        "dir": ("asc", "desc"),
        "limit": ("10", "20", "50"),
        "mode": ("grid", "list"),
    }
    sessions = count(1)

    def bottomless(at: At) -> Answer | None:
        if at.path != "/items.php":
            return None
        pairs = [(name, value) for name, value in parse_qsl(at.target.partition("?")[2]) if name != "sid"]
        session = digits(12, "session", next(sessions))
        near = []
        for name, values in ways.items():
            for value in values:
                rest = [pair for pair in pairs if pair[0] != name]
                near.append((f"/items.php?{urlencode([*rest, (name, value), ('sid', session)])}", f"{name} {value}"))
        chosen = dict(pairs)
        order = sorted(range(300), key=lambda each: hash_of(chosen.get("sort", ""), each))
        order = order[::-1] if chosen.get("dir") == "desc" else order
        start = int(chosen.get("start", "0"))
        shown = order[start : start + int(chosen.get("limit", "10"))]
        rest = [pair for pair in pairs if pair[0] != "start"]
        further = f"/items.php?{urlencode([*rest, ('start', start + 10), ('sid', session)])}" if start < 290 else "/"
        listed = [(part.paths[each], proper(frame.name, 1 + 7 * each)) for each in shown]
        return frame.page("All", links(listed) + links(near) + link(further, "Next"))

    return both(frame, part, bottomless, r"/items\.php\?.*")


@fourth
def login_returns() -> Site:
    """Every page offers a login that would return to it; the login too, and so does opening an account."""
    frame = Frame("login-returns")
    clock = count(1_700_000_000)

    def doors(at: At) -> str:
        back = quote(f"{at.target}{'&' if '?' in at.target else '?'}t={next(clock)}"[-700:], safe="")
        return links([(f"/login?return={back}", "Log in"), (f"/register?return={back}", "Open an account")])

    part = topics(frame, 240, doors)

    def bottomless(at: At) -> Answer | None:
        if at.path == "/members-only":
            return redirect(f"/login?return={quote(at.target, safe='')}&t={next(clock)}")
        if at.path not in ("/login", "/register"):
            return None
        lost = link(f"/members-only?after={next(clock)}", "For members")
        return frame.page(at.path[1:].capitalize(), "<form>Name, word</form>" + lost + doors(at))

    return both(frame, part, bottomless, r"/(login|register|members-only)\?.* | .*[?&]t=\d{10}.*")


@fourth
def drawn_pictures() -> Site:
    """Pictures that a program draws for any number; each shows one and six others, with hardly a word."""
    frame = Frame("drawn-pictures", {"Pictures": "/picture/1a2b3c"})
    part = chronicle(frame, 2)

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/picture/([0-9a-f]{6,12})", at.path)):
            return None
        near = [digits(10, found[0], each) for each in range(6)]
        others = "".join(f'<a href="/picture/{each}"><img src="/thumbs/{each}.jpg" alt=""></a>\n' for each in near)
        return frame.page("Picture", f'<img src="/pictures/{found[0]}.jpg" alt="{rare(1, found[0])[0]}">\n{others}')

    return both(frame, part, bottomless, r"/picture/.*")


@fourth
def cut_sets_of_tags() -> Site:
    """What has all of some tags, in the order of the alphabet, with the number of pictures for each further one."""
    frame = Frame("cut-sets-of-tags", {"Tags": "/tagged/"})
    tags = sorted(dict.fromkeys(rare(60, "cut sets")))
    part = wiki(frame, 500)

    def bottomless(at: At) -> Answer | None:
        chosen = at.path.split("/")[2:-1]
        if not at.path.startswith("/tagged/") or not at.path.endswith("/") or set(chosen) - set(tags):
            return None
        fits = [path for path in part.paths if all(hash_of(path, tag) < 350 for tag in chosen)]
        more = []
        for tag in tags:
            if tag not in chosen:
                number = sum(hash_of(path, tag) < 350 for path in fits[:60])
                more.append((f"/tagged/{'/'.join(sorted([*chosen, tag]))}/", f"{tag} ({number})"))
        shown = links([(path, path[6:]) for path in fits[:15]])
        return frame.page(f"{len(fits)} tagged {', '.join(chosen)}", shown + links(more))

    return both(frame, part, bottomless, r"/tagged/.*")


@fourth
def below_index_php() -> Site:
    """Relative links on pages below a script, which takes what follows its name for nothing."""
    frame = Frame("below-index-php", {"Club": "/index.php/club/welcome"})
    part = handbook(frame)
    names = ("welcome", "board", "dates", "history", "contact-us", "sponsors")

    def bottomless(at: At) -> Answer | None:
        if not at.path.startswith("/index.php/"):
            return None
        last = at.path.rstrip("/").rpartition("/")[2]
        name = last if last in names else names[0]
        near = [(f"club/{each}/", each.capitalize()) for each in names] + [("index.php/club/welcome", "Start")]
        return frame.page(name.capitalize(), paragraphs(60, "club", name) + links(near))

    return both(frame, part, bottomless, r"/index\.php/.*")


@fourth
def suggestions_for_the_missing() -> Site:
    """What is not there is searched for: status 200, results, and suggestions for words that are not there either."""
    frame = Frame("suggestions-for-the-missing")
    part = dictionary(frame, 700, lambda at: link(f"/{slug(2, 'dead', at.path)}", "Background"))

    def answer(at: At) -> Answer | None:
        if found := part.answer(at) or frame.static(at):
            return found
        asked = at.path.strip("/").replace("-", " ")[:60]
        results = drawing("results", asked).sample(part.paths, 5)
        shown = "".join(f"<li>{link(path, path[8:])} {text(12, path)}</li>\n" for path in results)
        near = links([(f"/{slug(1 + each % 3, 'near', asked, each)}", f"Search for this, {each}") for each in range(4)])
        said = f"<p>We did not find {asked}, but {hash_of(asked)} pages have some of these words.</p>"
        return frame.page(f"Results for {asked}", f"{said}<ul>{shown}</ul>{near}")

    known = part.good.removeprefix("/define/")
    ordinary = rf"/(?!(define/{known}|words.*|about|contact|imprint|help|terms|privacy|robots\.txt)?$).*"
    return make_site(frame, answer, good=part.good, total=part.total, endless=ordinary)


@fourth
def door_in_every_city() -> Site:
    """The same offer for any service in any town, the towns made up; each page leads to eight near it."""
    frame = Frame("door-in-every-city", {"Services": "/plumber/in/first-town"})
    services = ("plumber", "locksmith", "electrician", "gardener")
    part = journal(frame)

    def bottomless(at: At) -> Answer | None:
        found = match(r"/([a-z]+)/in/([a-z0-9-]+)", at.path)
        if not found or found[0] not in services:
            return None
        service, town = found[0], found[1].replace("-", " ").title()
        said = " ".join(f"{text(9, service, each)[:-1]} in {town} {text(6, service, each, 'end')}" for each in range(8))
        facts = table(("What", "Is"), [("People", hash_of(town) * 131), ("Our team", hash_of(service, town) % 40)])
        towns = [*fresh(6, "town", found[1]), found[1], found[1]]
        near = [
            (f"/{services[(services.index(service) + n // 6 * (n - 5)) % 4]}/in/{t}", t) for n, t in enumerate(towns)
        ]
        return frame.page(f"{service.capitalize()} in {town}", f"<p>{said}</p>{facts}{links(near)}")

    return both(frame, part, bottomless, r"/\w+/in/.*")


@fourth
def asked_of_a_machine() -> Site:
    """Answers to questions, written by a program when they are asked for; every article asks three."""
    frame = Frame("asked-of-a-machine")

    def questions(number: int, *key: object) -> str:
        asked = [f"{slug(5, 'asked', *key, each)}" for each in range(number)]
        return links([(f"/ask/{each}/", f"{each.replace('-', ' ').capitalize()}?") for each in asked])

    part = journal(frame, lambda at: questions(3, at.path) if at.path.startswith("/articles/") else "")

    def bottomless(at: At) -> Answer | None:
        if not (found := match(r"/ask/([a-z-]+)/", at.path)):
            return None
        body = paragraphs(140, "answered", found[0])
        return html(found[0], f"<h1>{found[0]}</h1>{body}<h2>Others ask</h2>{questions(4, found[0])}")

    return both(frame, part, bottomless, r"/ask/.*")
