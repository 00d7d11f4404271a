"""Finite sites as common web software makes them, written without regard to any rule; all of each is to be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import count as count_up
from urllib.parse import urlsplit

from .site import (
    HTML,
    Answer,
    At,
    Frame,
    Site,
    html,
    link,
    links,
    make_site,
    match,
    pager,
    redirect,
    table,
)
from .words import drawing, paragraphs, proper, rare, slug, text, title

UNSEEN_GOOD: dict[str, Callable[[], Site]] = {}
PLAIN_TEXT = ("Content-Type", "text/plain; charset=utf-8")
RSS = ("Content-Type", "application/rss+xml")


def unseen(make: Callable[[], Site]) -> Callable[[], Site]:
    """Named by its function, with hyphens."""
    UNSEEN_GOOD[make.__name__.replace("_", "-")] = make
    return make


def in_order(url: str) -> str:
    """The URL with the variables of its query in the order of their names."""
    parts = urlsplit(url)
    return parts._replace(query="&".join(sorted(parts.query.split("&")))).geturl()


def number_in(at: At, name: str, default: int = -1) -> int:
    """A number in the query."""
    value = at.query.get(name, "")
    return int(value) if value.isdecimal() else default


def near(place: int, all_of: int) -> list[int]:
    """The places before and after."""
    return [other for other in (place - 1, place + 1) if 0 <= other < all_of]


@unseen
def media_wiki() -> Site:
    """Articles with talk, history, editing, printing, what links here, and categories."""
    count, categories = 700, 35
    names = [f"{slug(1, 'lemma', number).capitalize()}_{number}" for number in range(count)]
    places = {name: place for place, name in enumerate(names)}
    frame = Frame("media-wiki", {"Main page": "/wiki/Main_Page", "Contents": "/wiki/Special:AllPages"})

    def tools(name: str) -> str:
        query = f"/index.php?title={name}"
        shown = [("Talk", f"/wiki/Talk:{name}"), ("Edit", f"{query}&action=edit")]
        shown += [("History", f"{query}&action=history"), ("What links here", f"/wiki/Special:WhatLinksHere/{name}")]
        shown += [("Printable version", f"{query}&printable=yes"), ("Log in", f"/wiki/Special:UserLogin?to={name}")]
        return links([(href, label) for label, href in shown])

    def article(place: int) -> str:
        others = drawing("lemma", place).sample(range(count), 4)
        body = "".join(
            f"<p>{text(18, 'lemma', place, other)} {link(f'/wiki/{names[other]}', names[other])}</p>\n"
            for other in others
        )
        category = f"/wiki/Category:{slug(1, 'category', place % categories)}_{place % categories}"
        return body + links([(category, "Category")])

    def special(name: str) -> Answer | None:
        if name == "Main_Page":
            listed = [f"Category:{slug(1, 'category', each)}_{each}" for each in range(categories)]
            return frame.page("Main page", paragraphs(80, "wiki") + links([(f"/wiki/{each}", each) for each in listed]))
        if name == "Special:AllPages":
            return frame.page("All pages", links([(f"/wiki/{each}", each) for each in names[::50]]))
        if name == "Special:UserLogin":
            return frame.page("Log in", "<p>You must have cookies enabled to log in.</p>")
        if (found := match(r"Category:\w+_(\d+)", name)) and int(found[0]) < categories:
            return frame.page(name, links([(f"/wiki/{each}", each) for each in names[int(found[0]) :: categories]]))
        return None

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return redirect("/wiki/Main_Page", 301)
        name = at.query.get("title", "") if at.path == "/index.php" else at.path.removeprefix("/wiki/")
        kind, _, subject = name.rpartition(":" if "/" not in name else "/")
        if (place := places.get(subject or name)) is None:
            return special(name)
        action = at.query.get("action", at.query.get("printable", kind))
        if action == "Talk":
            said = paragraphs(40, "talk", place) if place % 3 == 0 else "<p>There is no text in this page.</p>"
            return frame.page(f"Talk:{subject}", said + link(f"/wiki/{subject}", "Article"))
        if action == "Special:WhatLinksHere":
            return frame.page(f"Pages that link to {subject}", links([(f"/wiki/{each}", each) for each in names[:9]]))
        if action == "history":
            rows = [(f"{2010 + each}-03-0{each + 1}", proper(place, each), text(4, place, each)) for each in range(5)]
            return frame.page(f"History of {name}", table(("Date", "User", "Summary"), rows))
        if action == "edit":
            return frame.page(f"Editing {name}", f"<form><textarea>{text(60, 'lemma', place)}</textarea></form>")
        return frame.page(names[place], article(place) + (tools(names[place]) if action != "yes" else ""))

    return make_site(frame, answer, good=r"/wiki/[A-Z][a-z]+_\d+", total=count)


@unseen
def town_wiki() -> Site:
    """Six thousand short entries that lead anywhere, beside a sidebar of entries drawn by lot on every request."""
    count, draw = 6000, count_up()
    frame = Frame("town-wiki", {"Index": "/Index"})

    def path(number: int) -> str:
        return f"/{slug(2, 'town', number).title().replace('-', '')}{number}"

    def answer(at: At) -> Answer | None:
        found = match(r"/[A-Z][A-Za-z]+?(\d+)", at.path)
        number = int(found[0]) if found else 0
        if at.path not in ("/", "/Index") and (number >= count or at.path != path(number)):
            return None
        chance = drawing("town", number)
        targets = [*(chance.randrange(count) for _ in range(7)), (7 * number + 1) % count, (number + 1) % count]
        body = "".join(f"<p>{text(9, number, each)} {link(path(each), path(each)[1:])}</p>\n" for each in targets)
        lot = drawing("sidebar", next(draw))
        sidebar = links([(path(each), path(each)[1:]) for each in (lot.randrange(count) for _ in range(6))])
        return frame.page(path(number)[1:] if found else "Index", body, more=f"<div>{sidebar}</div>")

    return make_site(frame, answer, good=r"/[A-Z][a-z]+[A-Z][a-z]+\d+", total=count)


@unseen
def php_board() -> Site:
    """A board by queries: forums, topics of some pages, the same page by the number of a post, members, printing."""
    forums, topics, members = 8, 400, 150
    frame = Frame("php-board", {"Board index": "/index.php", "Members": "/memberlist.php"})

    def pages(topic: int) -> int:
        return 1 + topic % 4

    def steps(base: str, last: int, each: int) -> str:
        return links([(f"{base}&start={page * each}" if page else base, str(page + 1)) for page in range(last)])

    def topic_page(topic: int, start: int) -> Answer | None:
        if not 0 <= topic < topics or start % 10 or not 0 <= start < 10 * pages(topic):
            return None
        base = f"/viewtopic.php?f={topic % forums}&t={topic}"
        chance = drawing("board", topic, start)
        posts = "".join(
            f'<div class="post">{link(f"/memberlist.php?mode=viewprofile&u={user}", f"member {user}")} '
            f"Posts: {user * 7} Joined: {2004 + user % 9} {text(14, 'board', topic, start, post)} "
            f"{link(f'/posting.php?mode=quote&f={topic % forums}&p={topic * 100 + start + post // 3}', 'Quote')}"
            "</div>\n"
            for post, user in enumerate(chance.randrange(members) for _ in range(5))
        )
        more = links([(f"{base}&view=print", "Print view"), (f"/viewforum.php?f={topic % forums}", "Forum")])
        return frame.page(title(4, "board", topic), posts + steps(base, pages(topic), 10) + more)

    def forum_page(forum: int, start: int) -> Answer | None:
        shown = range(topics)[forum::forums][start : start + 10] if 0 <= forum < forums else ()
        rows = [(f"/viewtopic.php?f={forum}&t={topic}", title(4, "board", topic)) for topic in shown]
        rows += [(f"/viewtopic.php?p={topic * 100}", "Last post") for topic in shown]
        return frame.page(f"Forum {forum}", links(rows) + steps(f"/viewforum.php?f={forum}", 5, 10)) if rows else None

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/index.php"):
            return frame.page("Board", links([(f"/viewforum.php?f={forum}", f"Forum {forum}") for forum in range(8)]))
        if at.path == "/viewforum.php":
            return forum_page(number_in(at, "f"), number_in(at, "start", 0))
        if at.path == "/viewtopic.php":
            return topic_page(number_in(at, "t", number_in(at, "p") // 100), number_in(at, "start", 0))
        if at.path == "/posting.php":
            return frame.page("Login", "<p>The board requires you to be registered and logged in to quote posts.</p>")
        user = number_in(at, "u", 0)
        return frame.page("Profile", f"<p>member {user}</p>") if at.path == "/memberlist.php" else None

    def shown(url: str) -> str:
        base, _, post = url.partition("?p=")
        topic = int(post) // 100 if post.isdecimal() else 0
        return f"{base}?f={topic % forums}&t={topic}" if post else url

    total = sum(pages(topic) for topic in range(topics))
    good = r"/viewtopic\.php\?f=\d+(&start=[1-9]\d*)?&t=\d+"
    return make_site(frame, answer, good=good, total=total, plain=in_order, shown=shown)


@unseen
def discussions() -> Site:
    """Topics with a slug and an id, of pages of posts; every post has a URL of its own that shows the page it is on."""
    count, each = 500, 20
    frame = Frame("discussions", {"Latest": "/latest", "Categories": "/categories"})

    def path(number: int) -> str:
        return f"/t/{slug(4, 'talk', number)}/{100 + 7 * number}"

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/latest", "/categories") or match(r"/c/\w+/\d+", at.path):
            page, step = number_in(at, "page", 0), 1 if not at.path.startswith("/c/") else 5
            shown = range(page * each * step, min((page + 1) * each * step, count), step)
            listed = links([(path(number), title(5, "talk", number)) for number in shown])
            more = link(f"{at.path}?page={page + 1}", "next page") if shown and shown[-1] + step < count else ""
            rooms = links([(f"/c/{slug(1, 'room', room)}/{room}", f"Room {room}") for room in range(5)])
            return frame.page("Topics", listed + rooms + more) if shown else None
        if match(r"/u/\w+", at.path):
            return frame.page(at.path[3:], f"<p>{at.path[3:]} joined in 2016. Nothing has been written here yet.</p>")
        found = match(r"/t/[a-z-]+/(\d+)(?:/(\d+))?", at.path)
        number = (int(found[0]) - 100) // 7 if found else count
        if not found or not 0 <= number < count or not at.path.startswith(path(number)) or at.number > 1 + number % 3:
            return None
        first = (int(found[1]) - 1) // 8 * 8 if found[1] else (at.number - 1) * 8
        posts = "".join(
            f"<article>{link(f'/u/{rare(1, number, post % 3)[0]}', 'Writer')} "
            f"{link(f'{path(number)}/{post // 3 * 3 + 1}', f'#{post + 1}')} {text(16, 'talk', number, post)}"
            "</article>\n"
            for post in range(first, first + 8)
        )
        last = 1 + number % 3
        more = links([(f"{path(number)}?page={page}", f"Page {page}") for page in range(2, last + 1)])
        head = f'<link rel="canonical" href="http://{frame.host}{path(number)}">' if found[1] else ""
        return frame.page(title(5, "talk", number), posts + more, head=head)

    total = sum(1 + number % 3 for number in range(count))
    return make_site(frame, answer, good=r"/t/[a-z-]+/\d+(\?page=\d+)?", total=total)


@unseen
def link_news() -> Site:
    """Stories and their comments, every one a page of its own of some ten words; voting wants a login."""
    stories, each = 240, 9
    frame = Frame("link-news", {"Past": "/front", "Comments": "/newcomments"})
    count = stories * (each + 1)

    def row(item: int) -> str:
        user = slug(1, "reader", item % 90)
        steps = [(f"item?id={item}", f"{drawing(item).randint(1, 20)} hours ago"), (f"user?id={user}", user)]
        steps += [(f"vote?id={item}&how=up&goto=news", "▲"), (f"reply?id={item}&goto=item%3Fid%3D{item}", "reply")]
        said = title(5, "story", item) if item % 10 == 0 else text(5 + item % 23, "comment", item)
        return f"<tr><td>{' '.join(link(href, words) for href, words in steps)} {said}</td></tr>\n"

    def answer(at: At) -> Answer | None:
        head = " | ".join(link(href, href) for href in ("news", "front", "newcomments", "submit"))
        if at.path in ("/", "/news", "/front", "/newcomments"):
            page = number_in(at, "p", 1)
            shown = "".join(row(story * 10) for story in range((page - 1) * 30, min(page * 30, stories)))
            more = link(f"news?p={page + 1}", "More") if page * 30 < stories else ""
            return html("Link news", f"{head}<table>{shown}</table>{more}") if shown else None
        if at.path == "/item" and 0 <= (item := number_in(at, "id")) < count:
            story = item // 10 * 10
            under = range(story + 1, story + 10) if item == story else [item + 1] * (item % 3 == 1)
            up = link(f"item?id={story}", "parent") if item != story else ""
            return html("Link news", f"{head}<table>{row(item)}</table>{up}<table>{''.join(map(row, under))}</table>")
        if at.path == "/user":
            return html("Profile", f"{head}<p>user: {at.query.get('id')} created: 2013 karma: 1</p>")
        if at.path in ("/vote", "/reply", "/submit"):
            return html("Login", "<b>Login</b><form>username: password:</form><b>Create account</b>")
        return None

    return make_site(frame, answer, good=r"/item\?id=\d+", total=count)


@unseen
def press_blog() -> Site:
    """A blog with months, tags, categories, authors, short links, feeds, and a link to answer every comment."""
    count, each = 450, 10
    days = [date(2011, 1, 3) + timedelta(number * 6) for number in range(count)]
    paths = {f"/{day:%Y/%m}/{slug(4, 'post', number)}/": number for number, day in enumerate(days)}
    by_number = list(paths)
    kinds: dict[str, Callable[[int], str]] = {
        "category": lambda number: slug(1, "category", number % 12),
        "tag": lambda number: slug(2, "tag", number * 7 % 180),
        "author": lambda number: slug(1, "author", number % 6),
        "": lambda number: f"{days[number]:%Y/%m}",
    }
    frame = Frame("press-blog", {"Blog": "/page/1/"})

    @cache
    def lists() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {"": list(range(count))}
        for kind, of in kinds.items():
            for number in range(count):
                found.setdefault(f"{kind}/{of(number)}".lstrip("/"), []).append(number)
        return found

    def post(number: int, path: str) -> Answer:
        marks = [f"{kind}/{of(number)}".lstrip("/") for kind, of in kinds.items()]
        said = "".join(
            f"<li>{proper(number, each)}: {text(12, 'reply', number, each)} "
            f"{link(f'{path}?replytocom={number * 10 + each}#respond', 'Reply')}</li>\n"
            for each in range(number % 4)
        )
        more = [(f"/{mark}/", mark) for mark in marks] + [(f"/?p={number}", "Short link"), (f"{path}feed/", "Feed")]
        more += [(by_number[other], title(5, "post", other)) for other in near(number, count)]
        head = f'<link rel="canonical" href="http://{frame.host}{path}">'
        body = paragraphs(140, "post", number) + links(more) + f"<ol>{said}</ol>"
        return frame.page(title(5, "post", number), body, head=head)

    def answer(at: At) -> Answer | None:
        if at.path == "/" and 0 <= (number := number_in(at, "p")) < count:
            return redirect(by_number[number], 301)
        if at.path in paths:
            return post(paths[at.path], at.path)
        if at.path.endswith("/feed/") and (number := paths.get(at.path[:-5], -1)) >= 0:
            return Answer(200, (RSS,), f"<rss><title>{title(5, 'post', number)}</title></rss>".encode())
        found = match(r"/(.*?)/?(?:page/(\d+)/)?", at.path)
        shown = lists().get(found[0]) if found else None
        if found is None or shown is None:
            return None
        page, last = int(found[1] or 1), -(-len(shown) // each)
        teasers = "".join(
            f"<h2>{link(by_number[number], title(5, 'post', number))}</h2><p>{text(20, 'post', number, 0)}</p>\n"
            for number in shown[(page - 1) * each : page * each]
        )
        base = f"/{found[0]}/page/".replace("//", "/")
        steps = links([(f"{base}{step}/", str(step)) for step in range(page - 2, page + 3) if 0 < step <= last])
        return frame.page(found[0] or "Blog", teasers + steps) if 0 < page <= last else None

    return make_site(frame, answer, good=r"/\d{4}/\d\d/[a-z-]+/", total=count)


@unseen
def facet_shop() -> Site:
    """Filters of all kinds show a dozen goods each; only the brand by itself leads through all of its own."""
    brands, each, last = [slug(1, "brand", number) for number in range(15)], 12, 5
    colours = ("red", "blue", "green", "black", "white", "grey")
    sizes, orders = ("s", "m", "l", "xl"), ("price", "name", "new")
    frame = Frame("facet-shop", {"All goods": "/shop"})
    count = len(brands) * each * last

    def product(number: int) -> tuple[str, str]:
        return f"/p/{slug(2, 'goods', number)}-{number}", title(2, "goods", number)

    def filters(at: At) -> str:
        own = {name: value for name, value in at.query.items() if name != "page"}
        options: list[tuple[str, Sequence[str]]] = [("brand", brands), ("colour", colours)]
        options += [("size", sizes), ("sort", orders)]
        sets = [own | {name: value} for name, values in options for value in values if name not in own]
        return links(
            [("/shop?" + "&".join(f"{name}={each[name]}" for name in sorted(each)), "Filter") for each in sets]
        )

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Shop", paragraphs(60, "facets") + link("/shop", "All goods"))
        if at.path == "/shop":
            brand = brands.index(at.query["brand"]) if at.query.get("brand") in brands else -1
            is_whole = brand >= 0 and set(at.query) <= {"brand", "page"}
            start = brand * each * last + (at.number - 1) * each if is_whole else max(0, brand) * each * last
            shown = links([product(number) for number in range(start, start + each)])
            steps = pager(f"/shop?brand={brands[brand]}&page=", at.number, last) if is_whole else ""
            return frame.page(f"Goods: {', '.join(at.query.values())}", shown + steps + filters(at))
        if (found := match(r"/p/[a-z-]+-(\d+)", at.path)) and at.path == product(number := int(found[0]))[0]:
            price = drawing("facet", number).randint(500, 90_000) / 100
            return frame.page(product(number)[1], f"<p>{price:.2f}</p>" + paragraphs(35, "goods", number))
        return None

    return make_site(frame, answer, good=r"/p/.+", total=count)


@unseen
def cart_shop() -> Site:
    """Shelves by path with pages and orders; each list has links that put something into the cart and show the list."""
    shelves, each, last = [slug(1, "shelf", number) for number in range(12)], 12, 4
    orders = ("popularity", "rating", "date", "price", "price-desc")
    frame = Frame("cart-shop", {name.capitalize(): f"/product-category/{name}/" for name in shelves})
    count = len(shelves) * each * last

    def path(number: int) -> str:
        return f"/product/{slug(3, 'ware', number)}-{number}/"

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/cart/", "/shop/"):
            return frame.page(
                "Shop", links([(f"/product-category/{name}/", name) for name in shelves]) + text(30, at.path)
            )
        if (found := match(r"/product-category/(\w+)/(?:page/(\d+)/)?", at.path)) and found[0] in shelves:
            page = int(found[1] or 1)
            order = at.query.get("orderby", "")
            start = shelves.index(found[0]) * each * last
            everything = list(range(start, start + each * last))
            if order:
                drawing(found[0], order).shuffle(everything)
            shown = everything[(page - 1) * each : page * each]
            goods = [(path(number), title(3, "ware", number)) for number in shown]
            goods += [(f"{at.path}?add-to-cart={number}", "Add to cart") for number in shown if not order]
            tail = f"?orderby={order}" if order else ""
            base = f"/product-category/{found[0]}/"
            steps = [(f"{base}page/{step}/{tail}", str(step)) for step in range(2, last + 1)]
            steps += [(f"{base}?orderby={by}", f"Sort by {by}") for by in orders]
            return frame.page(found[0].capitalize(), links(goods) + links(steps)) if shown else None
        found = match(r"/product/[a-z-]+-(\d+)/", at.path)
        if found and (number := int(found[0])) < count and at.path == path(number):
            also = [(path(other), title(3, "ware", other)) for other in drawing("ware", number).sample(range(count), 4)]
            price = f"<p>{drawing('price', number).randint(3, 300)}.00 Add to cart SKU {number:05}</p>"
            return frame.page(title(3, "ware", number), price + paragraphs(45, "ware", number) + links(also))
        return None

    return make_site(frame, answer, good=r"/product/.+", total=count)


@unseen
def weekly_paper() -> Site:
    """Thirty years of a weekly paper: an issue leads to the one before and after it, and to its own two articles."""
    first, weeks = date(1990, 1, 5), 30 * 52
    frame = Frame("weekly-paper", {"Archive": "/archive/"})
    issues = {f"{first + timedelta(7 * week):%Y/%m/%d}": week for week in range(weeks)}
    names = list(issues)

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/archive/"):
            return frame.page("Archive", links([(f"/archive/{year}/", str(year)) for year in range(1990, 2020)]))
        if (found := match(r"/archive/(\d{4})/", at.path)) and 1990 <= int(found[0]) < 2020:
            own = [name for name in names if name.startswith(found[0])]
            return frame.page(f"Issues of {found[0]}", links([(f"/archive/{name}/", name) for name in own[:3]]))
        found = match(r"/archive/(\d{4}/\d\d/\d\d)/(?:(\d)\.html)?", at.path)
        if not found or found[0] not in issues:
            return None
        week = issues[found[0]]
        steps = links([(f"/archive/{names[other]}/", names[other]) for other in near(week, weeks)])
        if not found[1]:
            shown = [(f"{article}.html", title(6, "weekly", week, article)) for article in (1, 2)]
            return frame.page(f"Issue of {found[0]}", links(shown) + steps)
        body = f"<p>By {proper('weekly', week % 60)}</p>" + paragraphs(100, "weekly", week, found[1])
        return frame.page(title(6, "weekly", week, int(found[1])), body) if found[1] in "12" else None

    return make_site(frame, answer, good=r"/archive/\d{4}/\d\d/\d\d/(\d\.html)?", total=3 * weeks)


@unseen
def card_catalogue() -> Site:
    """Records of twenty-five words by one scheme, found by authors and subjects; each in a second format too."""
    count, authors, subjects = 2400, 300, 60
    frame = Frame("card-catalogue", {"Authors": "/browse/authors?page=1", "Subjects": "/browse/subjects"})

    def record(number: int) -> str:
        chance = drawing("record", number)
        place, press = proper("place", chance.randrange(40)).split()[0], proper("press", chance.randrange(50))
        rows = [("Title", title(chance.randint(2, 5), "record", number)), ("Author", proper("by", number % authors))]
        rows += [("Imprint", f"{place}: {press}, {chance.randint(1880, 2015)}")]
        rows += [("Description", f"{chance.randint(60, 700)} p. ; {chance.randint(18, 32)} cm")]
        rows += [("Subject", slug(2, "subject", number % subjects).replace("-", " ")), ("Language", "English")]
        rows += [("Shelf", f"{chance.randint(100, 999)}.{chance.randint(1, 99)}"), ("Status", "Available")]
        return table(("Field", "Value"), rows)

    def listing(shown: Sequence[int]) -> str:
        return links([(f"/record/b{number:07}", title(3, "record", number)) for number in shown])

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Catalogue", paragraphs(60, "catalogue of cards"))
        if at.path == "/browse/authors" and 0 < at.number <= 10:
            shown = [(f"/author/{each}", proper("by", each)) for each in range((at.number - 1) * 30, at.number * 30)]
            return frame.page("Authors", links(shown) + pager("/browse/authors?page=", at.number, 10))
        if at.path == "/browse/subjects":
            return frame.page("Subjects", links([(f"/subject/{each}", f"Subject {each}") for each in range(subjects)]))
        if (found := match(r"/author/(\d+)", at.path)) and int(found[0]) < authors:
            return frame.page(proper("by", int(found[0])), listing(range(count)[int(found[0]) :: authors]))
        if (found := match(r"/subject/(\d+)", at.path)) and int(found[0]) < subjects:
            return frame.page(f"Subject {found[0]}", listing(range(count)[int(found[0]) :: subjects]))
        if (found := match(r"/record/b(\d{7})", at.path)) and (number := int(found[0])) < count:
            if at.query.get("view") == "marc":
                rows = [(f"{code}", "a", text(2, "marc", number, code)) for code in (100, 245, 260, 300, 650)]
                return frame.page(f"b{number:07}", table(("Tag", "Code", "Value"), rows))
            more = [(f"{at.path}?view=marc", "MARC"), (f"/author/{number % authors}", "By the same author")]
            return frame.page(title(3, "record", number), record(number) + links(more))
        return None

    return make_site(frame, answer, good=r"/record/b\d+", total=count)


@unseen
def indicators() -> Site:
    """Regions, years and indicators of an office of statistics: the same words on all pages, and numbers."""
    regions, years, kinds = range(25), range(2008, 2018), ("births", "deaths", "housing", "income", "labour", "prices")
    frame = Frame("indicators", {"Tables": "/table?region=0&year=2017&indicator=births"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Office of statistics", paragraphs(80, "office"))
        region, year, kind = number_in(at, "region"), number_in(at, "year"), at.query.get("indicator", "")
        if at.path != "/table" or region not in regions or year not in years or kind not in kinds:
            return None
        chance = drawing("figures", region, year, kind)
        base = chance.randint(50, 90_000)
        rows = [
            (f"{month:02}/{year}", int(base * chance.uniform(0.8, 1.2)), f"{chance.uniform(-9, 9):.1f}")
            for month in range(1, 13)
        ]
        others = [(each, year, kind) for each in regions] + [(region, each, kind) for each in years]
        others += [(region, year, each) for each in kinds]
        more = links([(f"/table?region={a}&year={b}&indicator={c}", f"{c}, {a}, {b}") for a, b, c in others])
        return frame.page(
            f"{kind.capitalize()}, region {region}, {year}", table(("Month", "Value", "Change"), rows) + more
        )

    total = len(regions) * len(years) * len(kinds)
    return make_site(frame, answer, good=r"/table\?indicator=\w+&region=\d+&year=\d+", total=total, plain=in_order)


@unseen
def scripture() -> Site:
    """Books of chapters, each of which leads to the one before and after it; the contents name the first book only."""
    books = [(slug(1, "book", number).capitalize() + str(number), 20 + 17 * number % 60) for number in range(28)]
    chapters = [(book, chapter) for book, last in books for chapter in range(1, last + 1)]
    places = {f"/{book}/{chapter}.htm": place for place, (book, chapter) in enumerate(chapters)}
    paths = list(places)
    frame = Frame("scripture", {"Begin": paths[0]})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("The books", link(paths[0], "The first chapter"))
        if (place := places.get(at.path)) is None:
            return None
        verses = "".join(f"<p>{verse} {text(9, 'verse', place, verse)}</p>\n" for verse in range(1, 5))
        return frame.page(
            "{} {}".format(*chapters[place]),
            verses + links([(paths[other], paths[other]) for other in near(place, len(paths))]),
        )

    return make_site(frame, answer, good=r"/\w+/\d+\.htm", total=len(paths))


@unseen
def law_codes() -> Site:
    """Codes of law by sections, short ones among them, each with the one before and after it."""
    codes = [(slug(1, "code", number), 40 + 31 * number % 120) for number in range(24)]
    lasts = dict(codes)
    frame = Frame("law-codes", {"Codes": "/"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Codes", links([(f"/{code}/index.html", code.upper()) for code, _ in codes]))
        found = match(r"/([a-z]+)/(?:index|__(\d+))\.html", at.path)
        if not found or found[0] not in lasts:
            return None
        code, section, last = found[0], int(found[1] or 0), lasts[found[0]]
        if not section:
            listed = links([(f"__{each}.html", f"§ {each}") for each in range(1, last + 1)])
            return frame.page(code.upper(), listed)
        steps = links([(f"__{other + 1}.html", f"§ {other + 1}") for other in near(section - 1, last)])
        own = "(repealed)" if section % 17 == 0 else text(12 + 7 * section % 50, "law", code, section)
        return (
            frame.page(f"§ {section} {code.upper()}", f"<p>({section}) {own}</p>{steps}") if section <= last else None
        )

    return make_site(frame, answer, good=r"/[a-z]+/__\d+\.html", total=sum(lasts.values()))


@unseen
def class_reference() -> Site:
    """Two versions of the documentation of a library: packages, classes, sources, an index of letters."""
    versions, packages, classes = ("stable", "1.0"), 20, 14
    frame = Frame("class-reference", {version: f"/{version}/index.html" for version in versions})
    common = "".join(f"<li>{name}</li>" for name in ("clone", "equals", "finalize", "hashCode", "notify", "wait"))

    def names(package: int) -> list[str]:
        return [f"{word.capitalize()}{place}" for place, word in enumerate(rare(classes, "class", package))]

    def methods(package: int, name: str, version: str) -> str:
        chance = drawing("method", package, name)
        rows = [(f"{word}({chance.choice(('int', 'String', ''))})", text(6, name, word)) for word in rare(7, name)]
        since = f"<p>Since {chance.choice(('0.8', '0.9', '1.0'))}</p>" if version == "stable" else ""
        return since + table(("Method", "Description"), rows) + f"<p>Inherited from Object</p><ul>{common}</ul>"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Reference", links([(f"/{version}/index.html", version) for version in versions]))
        found = match(r"/(stable|1\.0)/(.+)", at.path)
        if not found:
            return None
        version, rest = found
        base = f"/{version}"
        if rest == "index.html":
            shown = [(f"{base}/p{each}/index.html", f"Package p{each}") for each in range(packages)]
            return frame.page("Packages", links([*shown, (f"{base}/genindex.html", "Index")]))
        if rest == "genindex.html":
            every = [(f"{base}/p{each}/{name}.html", name) for each in range(packages) for name in names(each)]
            return frame.page("Index", links(every[::3]))
        found = match(r"(_sources/)?p(\d+)/(\w+)\.(html|rst\.txt)", rest)
        if not found or (package := int(found[1])) >= packages:
            return None
        if found[2] == "index":
            return frame.page(f"Package p{package}", links([(f"{name}.html", name) for name in names(package)]))
        if found[2] not in names(package):
            return None
        name = found[2]
        if found[0]:
            return Answer(200, (PLAIN_TEXT,), f"{name}\n====\n\n.. autoclass:: p{package}.{name}\n".encode())
        also = drawing("also", version, package, name).sample(names(package), 3)
        more = [(f"{each}.html", each) for each in also]
        more += [(f"{base}/_sources/p{package}/{name}.rst.txt", "Show source")]
        return frame.page(f"p{package}.{name}", methods(package, name, version) + links(more))

    total = len(versions) * packages * classes
    return make_site(frame, answer, good=r"/(stable|1\.0)/p\d+/[A-Z]\w+\.html", total=total)


@unseen
def git_web() -> Site:
    """Repositories whose pages are all the front page with actions between semicolons."""
    repositories, commits, files = [f"{slug(1, 'git', number)}.git" for number in range(6)], 70, 40
    frame = Frame("git-web")

    def sha(*key: object) -> str:
        return f"{drawing('git', *key).getrandbits(160):040x}"

    @cache
    def known(name: str, kind: str, last: int) -> dict[str, int]:
        return {sha(name, kind, number): number for number in range(last)}

    def code(*key: object) -> str:
        return "<pre>" + "\n".join(f"{word}({number});" for number, word in enumerate(rare(25, *key))) + "</pre>"

    def log(name: str, page: int) -> str:
        shown = list(known(name, "commit", commits).items())[page * 20 : (page + 1) * 20]
        pairs = [
            (f"/?p={name};a={action};h={each}", action) for each, _ in shown for action in ("commit", "commitdiff")
        ]
        more = [(f"/?p={name};a=shortlog;pg={page + 1}", "next")] if (page + 1) * 20 < commits else []
        return links(pairs + more)

    def show(name: str, action: str, sha1: str) -> str | None:
        number, file = known(name, "commit", commits).get(sha1), known(name, "file", files).get(sha1)
        shas = list(known(name, "commit", commits))
        if action == "tree":
            entries = list(known(name, "file", files))
            return links(
                [(f"/?p={name};a={kind};h={each}", kind) for each in entries for kind in ("blob", "blob_plain")]
            )
        if action in ("blob", "blob_plain") and file is not None:
            return code(name, "file", file)
        if number is None or action not in ("commit", "commitdiff"):
            return None
        parent = links([(f"/?p={name};a=commit;h={shas[other]}", "parent") for other in near(number, commits)])
        tree = link(f"/?p={name};a=tree;h={sha1}", "tree")
        about = f"<p>{proper(name, number % 7)} {text(12, name, number)}</p>"
        return about + (code(name, number) if action == "commitdiff" else "") + parent + tree

    def answer(at: At) -> Answer | None:
        if at.target == "/":
            return frame.page("Projects", links([(f"/?p={name};a=summary", name) for name in repositories]))
        asked = dict(each.partition("=")[::2] for each in at.target.partition("?")[2].split(";"))
        name, action = asked.get("p", ""), asked.get("a", "")
        if at.path != "/" or name not in repositories:
            return None
        if action in ("summary", "shortlog"):
            return frame.page(name, log(name, int(asked.get("pg", "0"))))
        body = show(name, action, asked.get("h", ""))
        return frame.page(f"{name} {action}", body) if body is not None else None

    return make_site(
        frame, answer, good=r"/\?p=\w+\.git;a=(commit|blob);h=\w+", total=len(repositories) * (commits + files)
    )


@unseen
def family_tree() -> Site:
    """Persons who lead to their parents, partners and children only, and a chart of each; there is no list of them."""
    couples = 1200
    frame = Frame("family-tree", {"Begin": "/individual.php?pid=I1000"})

    def name(person: int) -> str:
        return f"{slug(1, 'given', person % 130).capitalize()} {slug(1, 'family', person % 45).capitalize()}"

    def relatives(person: int) -> list[int]:
        couple = person // 2
        children = [child for child in range(3 * couple + 1, 3 * couple + 4) if child < couples]
        parents = [2 * ((couple - 1) // 3), 2 * ((couple - 1) // 3) + 1] if couple and person % 2 == 0 else []
        return [*parents, person ^ 1, *(2 * child for child in children)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Our family", paragraphs(60, "family") + link("/individual.php?pid=I1000", "Begin"))
        found = match(r"I(\d+)", at.query.get("pid", ""))
        if not found or not 0 <= (person := int(found[0])) < 2 * couples:
            return None
        chance = drawing("life", person)
        near_ones = [(f"/individual.php?pid=I{each}", name(each)) for each in relatives(person)]
        if at.path == "/pedigree.php":
            return frame.page(f"Chart of {name(person)}", links(near_ones))
        born = chance.randint(1650, 1950)
        events = f"<p>Born {born} in {proper('village', chance.randrange(30)).split()[0]}. "
        events += f"Died {born + chance.randint(1, 90)}. {chance.choice(('Farmer', 'Weaver', 'Miller', 'Smith'))}.</p>"
        more = links([*near_ones, (f"/pedigree.php?pid=I{person}", "Chart")])
        return frame.page(name(person), events + more) if at.path == "/individual.php" else None

    return make_site(frame, answer, good=r"/individual\.php\?pid=I\d+", total=2 * couples)


@unseen
def chess_games() -> Site:
    """Games that differ in their moves, found by players and openings."""
    count, players, openings = 1500, 120, 50
    frame = Frame("chess-games", {"Players": "/players", "Openings": "/openings"})
    squares = [f"{column}{row}" for column in "abcdefgh" for row in range(1, 9)]

    def pair(game: int) -> tuple[int, int]:
        chance = drawing("pair", game)
        return game % players, (game % players + chance.randint(1, players - 1)) % players

    def moves(game: int) -> str:
        chance = drawing("moves", game)
        plies = [f"{chance.choice(('', 'N', 'B', 'R', 'Q', 'K'))}{chance.choice(squares)}" for _ in range(60)]
        return " ".join(f"{ply // 2 + 1}.{plies[ply]} {plies[ply + 1]}" for ply in range(0, 60, 2))

    def listing(games: Sequence[int]) -> str:
        return links([(f"/game?gid={1_000_000 + game}", f"Game {game}") for game in games])

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Games", paragraphs(50, "chess"))
        if at.path == "/players":
            return frame.page(
                "Players", links([(f"/player?pid={each}", proper("chess", each)) for each in range(players)])
            )
        if at.path == "/openings":
            return frame.page("Openings", links([(f"/eco/A{each:02}", f"A{each:02}") for each in range(openings)]))
        if at.path == "/player" and 0 <= (player := number_in(at, "pid")) < players:
            return frame.page(proper("chess", player), listing(range(count)[player::players]))
        if (found := match(r"/eco/A(\d\d)", at.path)) and int(found[0]) < openings:
            return frame.page(f"Opening A{found[0]}", listing(range(count)[int(found[0]) :: openings]))
        if at.path == "/game" and 0 <= (game := number_in(at, "gid") - 1_000_000) < count:
            white, black = pair(game)
            names = f"{proper('chess', white)} vs. {proper('chess', black)}"
            result = drawing("result", game).choice(("1-0", "0-1", "1/2-1/2"))
            steps = [(f"/player?pid={each}", proper("chess", each)) for each in (white, black)]
            return frame.page(names, f"<p>{1950 + game % 60} {result}</p><p>{moves(game)}</p>" + links(steps))
        return None

    return make_site(frame, answer, good=r"/game\?gid=\d+", total=count)


@unseen
def real_estate() -> Site:
    """Homes for sale in the words of a form: some numbers and a part of the town are all that differs."""
    cities, each, last = [slug(1, "city", number) for number in range(12)], 20, 6
    count = len(cities) * each * last
    frame = Frame("real-estate", {name.capitalize(): f"/buy/{name}?page=1" for name in cities})
    legal = paragraphs(120, "estate", "legal")

    def identity(number: int) -> int:
        return 80_000_000 + number * 7919

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Homes", links([(f"/buy/{name}?page=1", name) for name in cities]))
        if (found := match(r"/buy/(\w+)", at.path)) and found[0] in cities and 0 < at.number <= last:
            start = (cities.index(found[0]) * last + at.number - 1) * each
            homes = [(f"/expose/{identity(number)}", f"Home {number}") for number in range(start, start + each)]
            return frame.page(f"Homes in {found[0]}", links(homes) + pager(f"{at.path}?page=", at.number, last))
        found = match(r"/expose/(\d+)(/contact|/print)?", at.path)
        number = (int(found[0]) - 80_000_000) // 7919 if found else -1
        if not found or not 0 <= number < count or identity(number) != int(found[0]):
            return None
        if found[1] == "/contact":
            return frame.page("Contact", f"<form>Your message about home {found[0]}</form>")
        chance, city = drawing("home", number), cities[number // (each * last)]
        rooms, area, floor = chance.randint(1, 6), chance.randint(28, 190), chance.randint(0, 8)
        extras = ", ".join(chance.sample(("balcony", "cellar", "lift", "garden", "garage", "kitchen"), 3))
        body = f"<p>Bright apartment with {rooms} rooms and {area} square metres in {city.capitalize()}-"
        body += f"{slug(1, city, chance.randrange(9)).capitalize()}, floor {floor}, with {extras}. Built in "
        body += f"{chance.randint(1900, 2015)}. Price: {area * chance.randint(2000, 6000)}.</p>"
        more = links([(f"/expose/{found[0]}/contact", "Contact"), (f"/expose/{found[0]}/print", "Print")])
        return frame.page(f"{rooms}-room apartment in {city.capitalize()}", body + legal + more)

    return make_site(frame, answer, good=r"/expose/\d+", total=count)


@unseen
def timetables() -> Site:
    """Lines and stops, there and back: hours and minutes, the same words everywhere."""
    lines, stops = range(1, 31), 18
    frame = Frame("timetables", {"Lines": "/lines"})

    def stop(line: int, place: int) -> str:
        return slug(1, "stop", (line * 5 + place * 3) % 160)

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/lines"):
            return frame.page("Lines", links([(f"/line-{line}/out/", f"Line {line}") for line in lines]))
        found = match(r"/line-(\d+)/(out|back)/(?:(\d+)-(\w+))?", at.path)
        if not found or (line := int(found[0])) not in lines:
            return None
        way = found[1]
        if not found[2]:
            listed = [(f"{place}-{stop(line, place)}", stop(line, place).capitalize()) for place in range(stops)]
            return frame.page(f"Line {line}", links([*listed, (f"/line-{line}/back/", "Back")]))
        place = int(found[2])
        if place >= stops or found[3] != stop(line, place):
            return None
        start = 3 * line + 2 * (place if way == "out" else stops - place)
        rows = [
            (hour, " ".join(f"{(start + step) % 60:02}" for step in range(0, 60, 12 + line % 9)))
            for hour in range(5, 24)
        ]
        steps = [(f"{other}-{stop(line, other)}", "›") for other in near(place, stops)]
        other_way = (f"/line-{line}/{'back' if way == 'out' else 'out'}/{place}-{found[3]}", "Other way")
        return frame.page(
            f"Line {line}, {found[3].capitalize()}", table(("Hour", "Minutes"), rows) + links([*steps, other_way])
        )

    return make_site(frame, answer, good=r"/line-\d+/\w+/\d+-\w+", total=2 * len(lines) * stops)


@unseen
def stamped_songs() -> Site:
    """Words of songs; each answer bears its moment, a saying drawn by lot, and songs drawn by lot."""
    artists, songs, draw = 80, 12, count_up()
    frame = Frame("stamped-songs", {"Artists": "/artists.html"})

    def path(number: int) -> str:
        return f"/{number % artists}-{slug(1, 'artist', number % artists)}/{slug(3, 'song', number)}-{number}.html"

    def stamp() -> str:
        moment = next(draw)
        lot = drawing("lot", moment)
        shown = [lot.randrange(artists * songs) for _ in range(4)]
        return (
            f"<aside><p>It is {moment % 24:02}:{moment % 60:02}:{moment * 7 % 60:02}, you are visitor "
            f"{90_000 + moment}.</p><blockquote>{text(14, 'saying', lot.randrange(60))}</blockquote>"
            f"{links([(path(each), title(3, 'song', each)) for each in shown])}</aside>\n"
        )

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/artists.html"):
            shown = [(f"/{each}-{slug(1, 'artist', each)}/", proper("singer", each)) for each in range(artists)]
            return frame.page("Artists", links(shown) + stamp())
        found = match(r"/(\d+)-\w+/(?:[a-z-]+-(\d+)\.html)?", at.path)
        if not found or int(found[0]) >= artists:
            return None
        if not found[1]:
            own = range(artists * songs)[int(found[0]) :: artists]
            return frame.page(
                proper("singer", int(found[0])), links([(path(each), title(3, "song", each)) for each in own]) + stamp()
            )
        number = int(found[1])
        if number >= artists * songs or at.path != path(number):
            return None
        chorus = f"<p>{text(16, 'chorus', number)}</p>\n"
        body = "".join(f"<p>{text(18, 'song', number, verse)}</p>\n{chorus}" for verse in range(3))
        return frame.page(title(3, "song", number), body + stamp())

    return make_site(frame, answer, good=r"/\d+-\w+/.+\.html", total=artists * songs)


@unseen
def tongues_by_folder() -> Site:
    """Five languages by folders with alternates in the head; a third of the pages was never translated."""
    tongues = {"en": "english", "de": "nordic", "fr": "romance", "it": "latin", "cs": "slavic"}
    names = [f"{slug(2, 'page', number)}-{number}" for number in range(180)]
    places = {name: place for place, name in enumerate(names)}
    frames = {code: Frame("tongues-by-folder", tongue=tongue) for code, tongue in tongues.items()}

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return redirect("/en/")
        found = match(r"/(\w\w)/(?:(\w+)/)?([a-z0-9-]*)", at.path)
        if not found or found[0] not in tongues:
            return None
        code, folder, name = found
        others = [(at.path.replace(f"/{code}/", f"/{other}/", 1), other) for other in tongues]
        head = "".join(f'<link rel="alternate" hreflang="{other}" href="{href}">' for href, other in others)
        if not name:
            shown = [(f"/{code}/{'guide' if place % 2 else 'news'}/{each}", each) for each, place in places.items()]
            shown = [each for each in shown if folder in each[0].split("/")] if folder else shown[:20]
            folders = links([(f"/{code}/guide/", "Guide"), (f"/{code}/news/", "News")])
            return frames[code].page("Contents", links(shown) + folders + links(others), head=head)
        if (place := places.get(name)) is None or folder != ("guide" if place % 2 else "news"):
            return None
        own = "en" if place % 3 == 0 else code
        body = paragraphs(80, "page", name, own, tongue=tongues[own])
        return frames[code].page(title(3, "page", name, own, tongue=tongues[own]), body + links(others), head=head)

    total = len(names) * len(tongues)
    return make_site(frames["en"], answer, good=r"/\w\w/(guide|news)/[a-z0-9-]+", total=total)


@unseen
def city_hosts() -> Site:
    """Small ads of fifty cities, each with a host of its own and the same frame."""
    cities, each = [f"{slug(1, 'town', number)}{number}" for number in range(50)], 24
    frame = Frame("city-hosts", {"Cities": "http://www.city-hosts.test/"})
    hosts = {f"{name}.{frame.domain}": name for name in cities}

    def answer(at: At) -> Answer | None:
        if at.host not in hosts:
            every = [(f"http://{host}/", name) for host, name in hosts.items()]
            return frame.page("Cities", links(every)) if at.path == "/" else None
        city = hosts[at.host]
        ads = {f"/d/{slug(2, city, number)}/{7_000_000 + number * 31}.html": number for number in range(each)}
        shown = [path for path, number in ads.items() if at.path == "/" or number % 4 == int(at.path[-1:] in "13")]
        if at.path in ("/", "/search/0", "/search/1"):
            more = links([(f"/search/{kind}", f"Kind {kind}") for kind in (0, 1)])
            return frame.page(city.capitalize(), links([(path, title(3, city, ads[path])) for path in shown]) + more)
        if (number := ads.get(at.path)) is None:
            return None
        body = f"<p>{text(15, city, 'ad', number)} {drawing(city, number).randint(5, 900)}</p>"
        safe = "<p>Do not contact me with unsolicited services or offers. Avoid scams, deal locally.</p>"
        return frame.page(title(3, city, number), body + safe + link("/", city.capitalize()))

    return make_site(frame, answer, good=r"/d/.+\.html", total=len(cities) * each, hosts=tuple(hosts))


@unseen
def slash_doubles() -> Site:
    """Links with and without a last slash, or to the index file; the first is the page, the second leads to it."""
    parts, each = [slug(1, "department", number) for number in range(20)], 30
    frame = Frame("slash-doubles", {name.capitalize(): f"/{name}" for name in parts})
    names = {part: [f"{slug(2, part, number)}-{number}" for number in range(each)] for part in parts}

    def answer(at: At) -> Answer | None:
        found = match(r"/(?:([a-z]+)(?:/([a-z0-9-]+))?)?(/|/index\.html|/?)", at.path)
        if at.path in ("/", "/index.html"):
            return frame.page("Departments", links([(f"/{part}", part) for part in parts]))
        if not found or found[0] not in parts or (found[1] and found[1] not in names[found[0]]):
            return None
        part, name, ending = found
        if not ending:
            return redirect(f"{at.path}/", 301)
        if not name:
            ends = ("", "/", "/index.html")
            shown = [(f"/{part}/{each}{ends[place % 3]}", each) for place, each in enumerate(names[part])]
            return frame.page(part.capitalize(), links(shown))
        place = names[part].index(name)
        steps = links([(f"/{part}/{names[part][other]}/", names[part][other]) for other in near(place, each)])
        return frame.page(title(3, part, name), paragraphs(70, part, name) + steps + link(f"/{part}/", "Up"))

    return make_site(frame, answer, good=r"/[a-z]+/[a-z]+-[a-z]+-\d+/", total=len(parts) * each)


@unseen
def old_frames() -> Site:
    """Frames of the nineties: menus and texts in upper case, some fifty words each."""
    parts, each = 14, 20
    frame = Frame("old-frames")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            # A frameset stands in place of the body.
            frames = '<frameset cols="20%,80%"><frame src="/MENU.HTM"><frame src="/MAIN.HTM">'
            other = f"<noframes>{link('/MENU.HTM', 'Menu')}</noframes></frameset>"
            return Answer(200, (HTML,), f"<html><head><title>Welcome</title></head>{frames}{other}</html>".encode())
        if at.path == "/MENU.HTM":
            menu = [(f"/PART{part:02}/INDEX.HTM", f"Part {part}") for part in range(parts)]
            return html("Menu", links([*menu, ("/MAIN.HTM", "Main")]))
        if at.path == "/MAIN.HTM":
            return html("Main", f"<center><h1>Welcome</h1>{paragraphs(40, 'frames')}</center>")
        found = match(r"/PART(\d\d)/(?:INDEX|KAP(\d\d))\.HTM", at.path)
        if not found or (part := int(found[0])) >= parts or int(found[1] or 0) >= each:
            return None
        if not found[1]:
            return html(f"Part {part}", links([(f"KAP{chapter:02}.HTM", f"Kap. {chapter}") for chapter in range(each)]))
        steps = [(f"KAP{other:02}.HTM", "&gt;") for other in near(int(found[1]), each)]
        return html(f"Kap. {found[1]}", paragraphs(50, "frames", *found) + links(steps))

    return make_site(frame, answer, good=r"/PART\d\d/KAP\d\d\.HTM", total=parts * each)


@unseen
def answers() -> Site:
    """Questions whose answers can be sorted, users who are all alike, revisions, tags with tabs and pages."""
    count, tags, users = 450, 15, 200
    frame = Frame("answers", {"Questions": "/questions?page=1", "Tags": "/tags"})

    def path(number: int) -> str:
        return f"/questions/{4000 + 13 * number}/{slug(5, 'question', number)}"

    def listing(at: At, shown: Sequence[int]) -> Answer | None:
        page = shown[(at.number - 1) * 15 : at.number * 15]
        listed = links([(path(number), title(5, "question", number)) for number in page])
        tabs = links([(f"{at.path}?tab={tab}&page=1", tab) for tab in ("newest", "active", "votes")])
        own = f"tab={at.query['tab']}&" if "tab" in at.query else ""
        steps = pager(f"{at.path}?{own}page=", at.number, -(-len(shown) // 15))
        return frame.page("Questions", listed + tabs + steps) if page else None

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/tags"):
            shown = [(f"/questions/tagged/{slug(1, 'tagged', tag)}-{tag}", f"Tag {tag}") for tag in range(tags)]
            return frame.page("Tags", links(shown))
        if at.path == "/questions":
            return listing(at, range(count))
        if (found := match(r"/questions/tagged/[a-z]+-(\d+)", at.path)) and int(found[0]) < tags:
            return listing(at, range(count)[int(found[0]) :: tags])
        if found := match(r"/users/(\d+)/\w+", at.path):
            return frame.page(f"User {found[0]}", "<p>Apparently, this user prefers to keep an air of mystery.</p>")
        if found := match(r"/posts/(\d+)/revisions", at.path):
            return frame.page("Revisions", f"<p>1 {text(8, 'question', int(found[0]), 'body')}</p>")
        found = match(r"/questions/(\d+)/[a-z-]+", at.path)
        number = (int(found[0]) - 4000) // 13 if found else count
        if not 0 <= number < count or at.path != path(number):
            return None
        said = [f"<div>{text(35, 'answer', number, each)}</div>\n" for each in range(3)]
        body = "".join(reversed(said) if at.query.get("answertab") == "oldest" else said)
        more = [(f"{at.path}?answertab={by}#tab-top", by) for by in ("votes", "oldest", "active")]
        user = drawing("asked by", number).randrange(users)
        more += [(f"/users/{user}/{slug(1, 'user', user)}", "Asked by"), (f"/posts/{number}/revisions", "Edited")]
        return frame.page(title(5, "question", number), paragraphs(40, "question", number) + body + links(more))

    return make_site(frame, answer, good=r"/questions/\d+/[a-z-]+", total=count)


@unseen
def crossword_clues() -> Site:
    """A page for each clue in one and the same sentence, found by letters, lengths, and patterns."""
    count = 1500
    words = [word.upper() for word in rare(count, "crossword")]
    frame = Frame("crossword-clues", {letter.upper(): f"/clues/{letter}/1" for letter in "abcdefgh"})

    def path(number: int) -> str:
        return f"/clue/{slug(3, 'clue', number)}-{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Crossword clues", text(30, "crossword"))
        if (found := match(r"/clues/([a-h])/(\d+)", at.path)) and 0 < (page := int(found[1])) <= 10:
            own = range(count)["abcdefgh".index(found[0]) :: 8]
            shown = [(path(number), title(3, "clue", number)) for number in own[(page - 1) * 19 : page * 19]]
            return frame.page(f"Clues: {found[0]}", links(shown) + pager(f"/clues/{found[0]}/", page, 10))
        if found := match(r"/pattern/([A-Z_]+)", at.path):
            fitting = [
                number for number in range(count) if words[number][0] + "_" * (len(words[number]) - 1) == found[0]
            ]
            return frame.page(f"Pattern {found[0]}", links([(path(number), words[number]) for number in fitting[:20]]))
        found = match(r"/clue/[a-z-]+-(\d+)", at.path)
        if not found or (number := int(found[0])) >= count or at.path != path(number):
            return None
        word, clue = words[number], title(3, "clue", number)
        said = f"<p>The crossword clue {clue} has 1 answer with {len(word)} letters. The answer is {word}.</p>"
        said += "<p>We think this is the most likely solution. Did you find it? Tell your friends about us.</p>"
        return frame.page(clue, said + link(f"/pattern/{word[0]}{'_' * (len(word) - 1)}", "Same pattern"))

    return make_site(frame, answer, good=r"/clue/.+", total=count)


@unseen
def scans() -> Site:
    """Pages of scanned volumes: a picture and its number, and no word of their own."""
    volumes, last = 9, 80
    frame = Frame("scans")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Volumes", links([(f"/{each:03}/", f"Volume {each}") for each in range(volumes)]))
        found = match(r"/(\d{3})/(?:(\d{5})\.html)?", at.path)
        if not found or int(found[0]) >= volumes:
            return None
        if not found[1]:
            return frame.page(
                f"Volume {int(found[0])}", links([(f"{each:05}.html", str(each)) for each in range(last)])
            )
        page = int(found[1])
        steps = links([(f"{other:05}.html", f"{other:05}") for other in near(page, last)])
        return html(found[1], f'<img src="/{found[0]}/{found[1]}.jpg" alt="">{steps}') if page < last else None

    return make_site(frame, answer, good=r"/\d{3}/\d{5}\.html", total=volumes * last)


@unseen
def museum_objects() -> Site:
    """Objects in a dozen words out of some hundred, with the one before and after, and related ones."""
    count = 1800
    frame = Frame("museum-objects", {"Collection": "/object/0"})
    types, stuffs, times = rare(30, "type"), rare(20, "stuff"), rare(12, "time")

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Museum", paragraphs(50, "museum") + link("/object/0", "Collection"))
        found = match(r"/object/(\d+)", at.path)
        if not found or (number := int(found[0])) >= count:
            return None
        chance = drawing("object", number)
        rows = [("Object", chance.choice(types)), ("Material", chance.choice(stuffs)), ("Period", chance.choice(times))]
        rows += [("Height", f"{chance.randint(2, 99)} cm"), ("Inventory", f"{1900 + number % 90}.{number}")]
        related = [f"/object/{each}" for each in chance.sample(range(count), 4)]
        steps = [f"/object/{each}" for each in near(number, count)]
        return frame.page(
            rows[0][1].capitalize(), table(("", ""), rows) + links([(each, "›") for each in steps + related])
        )

    return make_site(frame, answer, good=r"/object/\d+", total=count)


@unseen
def member_pages() -> Site:
    """Members of a community who have written next to nothing about themselves."""
    count, each = 1200, 30
    frame = Frame("member-pages", {"Members": "/members?page=1"})

    def name(number: int) -> str:
        return f"{slug(1, 'nick', number)}{number}"

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Community", paragraphs(50, "community"))
        if at.path == "/members" and 0 < at.number <= count // each:
            shown = range((at.number - 1) * each, at.number * each)
            listed = links([(f"/~{name(number)}", name(number)) for number in shown])
            return frame.page("Members", listed + pager("/members?page=", at.number, count // each))
        found = match(r"/~[a-z]+(\d+)", at.path)
        if not found or (number := int(found[0])) >= count or at.path != f"/~{name(number)}":
            return None
        chance = drawing("member", number)
        friends = [(f"/~{name(other)}", name(other)) for other in chance.sample(range(count), number % 4)]
        body = f"<p>{name(number)} has been a member since {chance.randint(2005, 2019)} and has written "
        body += f"{chance.randint(0, 40)} posts. This member has not filled in the profile yet.</p>"
        body += "<p>Log in to send a message, to follow, or to see the whole profile of this member.</p>"
        return frame.page(name(number), body + links(friends))

    return make_site(frame, answer, good=r"/~.+", total=count)


@unseen
def late_annex() -> Site:
    """A chronicle from day to day; one of its last pages leads to a whole collection of letters."""
    days, letters = 700, 600
    first = date(1801, 1, 1)
    frame = Frame("late-annex", {"Chronicle": f"/chronicle/{first}"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Chronicle", text(40, "chronicle") + link(f"/chronicle/{first}", "Begin"))
        if found := match(r"/chronicle/(\d{4}-\d\d-\d\d)", at.path):
            number = (date.fromisoformat(found[0]) - first).days
            if not 0 <= number < days:
                return None
            steps = [(f"/chronicle/{first + timedelta(other)}", "›") for other in near(number, days)]
            steps += [("/letters/", "Letters")] * (number == 650)
            return frame.page(f"{first + timedelta(number):%d %B %Y}", paragraphs(45, "day", number) + links(steps))
        if at.path == "/letters/":
            return frame.page("Letters", links([(f"/letters/{box}/", f"Box {box}") for box in range(letters // 30)]))
        found = match(r"/letters/(\d+)/(?:(\d+)\.html)?", at.path)
        if not found or int(found[0]) >= letters // 30 or int(found[1] or 0) >= 30:
            return None
        if not found[1]:
            return frame.page(f"Box {found[0]}", links([(f"{each}.html", f"Letter {each}") for each in range(30)]))
        return frame.page(f"To {proper('letter', *found)}", paragraphs(60, "letter", *found))

    return make_site(frame, answer, good=r"/chronicle/[\d-]+ | /letters/\d+/\d+\.html", total=days + letters)


@unseen
def plain_documents() -> Site:
    """Numbered documents as pages and as plain text, which begin and end alike and lead to those they replace."""
    count = 450
    frame = Frame("plain-documents", {"Index": "/index.html"})
    boiler = text(110, "memo", "status")

    def memo(number: int) -> str:
        head = f"Network Group   {proper('memo', number % 50)}\nRequest: {number}   {1970 + number // 12}\n\n"
        body = "\n\n".join(f"{each}. {text(30, 'memo', number, each)}" for each in range(1, 4))
        return f"{head}{title(5, 'memo', number)}\n\nStatus of this memo\n\n{boiler}\n\n{body}\n\n{boiler[:200]}\n"

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/index.html"):
            shown = [(f"/html/memo{number}", f"{number} {title(5, 'memo', number)}") for number in range(1, 40)]
            return frame.page("Index", links(shown))
        found = match(r"/(html/memo|txt/memo)(\d+)(\.txt)?", at.path)
        if not found or not 0 < (number := int(found[1])) <= count or found[0][:3] == "htm" == found[2]:
            return None
        if found[0] == "txt/memo":
            return Answer(200, (PLAIN_TEXT,), memo(number).encode())
        newer = [
            (f"/html/memo{other}", f"Obsoleted by {other}") for other in (number + 39, 2 * number) if other <= count
        ]
        older = [(f"/html/memo{number // 2 + 1}", "Updates")]
        more = links([*newer, *older, (f"/txt/memo{number}.txt", "Plain text")])
        return html(f"Memo {number}", f"{more}<pre>{memo(number)}</pre>")

    # Plain text is what the page says once more.
    return make_site(frame, answer, good=r"/html/memo\d+", total=count)


@unseen
def auction_archive() -> Site:
    """Lots of past auctions: a line about each within the conditions of sale."""
    sales, lots = 20, 50
    frame = Frame("auction-archive", {"Past sales": "/sales"})
    terms = paragraphs(180, "auction", "terms")

    def answer(at: At) -> Answer | None:
        if at.path in ("/", "/sales"):
            return frame.page(
                "Past sales", links([(f"/sale/{900 + each}", f"Sale {900 + each}") for each in range(sales)])
            )
        found = match(r"/sale/(\d+)(?:/lot/(\d+))?", at.path)
        if not found or not 0 <= int(found[0]) - 900 < sales:
            return None
        if not found[1]:
            return frame.page(
                f"Sale {found[0]}", links([(f"{at.path}/lot/{each}", f"Lot {each}") for each in range(lots)])
            )
        lot = int(found[1])
        steps = [(f"/sale/{found[0]}/lot/{other}", "›") for other in near(lot, lots)]
        sold = drawing("hammer", *found).randint(40, 9000)
        own = f"<p>Lot {lot}. {text(9, 'lot', *found)} Estimate {sold // 2}-{sold}. Sold for {sold}.</p>"
        return frame.page(f"Lot {lot}", own + terms + links(steps)) if lot < lots else None

    return make_site(frame, answer, good=r"/sale/\d+/lot/\d+", total=sales * lots)


@unseen
def one_script() -> Site:
    """Everything is a query of one script: lists, articles, printing, forms, comments; wrong ones are answered too."""
    count, sections = 500, 10
    frame = Frame("one-script", {f"Section {each}": f"/index.php?page=list&cat={each}" for each in range(sections)})

    def ask(page: str, number: int, more: str = "") -> str:
        return f"/index.php?page={page}&id={number}{more}"

    def answer(at: At) -> Answer | None:
        page, number = at.query.get("page", ""), number_in(at, "id")
        if at.path not in ("/", "/index.php"):
            return None
        if page == "list" and 0 <= (section := number_in(at, "cat")) < sections:
            start = number_in(at, "start", 0)
            shown = range(count)[section::sections][start : start + 10]
            steps = [(f"/index.php?page=list&cat={section}&start={each}", "›") for each in range(0, 50, 10)]
            return frame.page(
                f"Section {section}",
                links([(ask("article", each), title(4, "one", each)) for each in shown]) + links(steps),
            )
        if not 0 <= number < count:
            return frame.page("Home", paragraphs(60, "one script") + link("/index.php?page=undefined", "More"))
        if page == "article":
            more = [(ask("print", number), "Print"), (ask("send", number), "Send to a friend")]
            more += [(ask("comments", number, f"&start={each}"), "Comments") for each in (0, 5)]
            return frame.page(title(4, "one", number), paragraphs(90, "one", number) + links(more))
        if page == "print":
            return html(title(4, "one", number), paragraphs(90, "one", number))
        if page == "comments" and (start := number_in(at, "start")) in (0, 5):
            said = "".join(f"<p>{text(11, 'one', number, start, each)}</p>" for each in range(5))
            return frame.page(f"Comments on {title(4, 'one', number)}", said)
        return frame.page("Send", f"<form>Send article {number} to a friend</form>")

    return make_site(
        frame,
        answer,
        good=r"/index\.php\?id=\d+&page=article | /index\.php\?id=\d+&page=comments&start=\d",
        total=3 * count,
        plain=in_order,
    )


@unseen
def soft_missing() -> Site:
    """There is an answer to every URL, and each page has a wrong link or two."""
    parts, each = [slug(1, "subject", number) for number in range(15)], 30
    frame = Frame("soft-missing", {name.capitalize(): f"/{name}/" for name in parts})

    def answer(at: At) -> Answer | None:
        found = match(r"/([a-z]+)/(?:(\d+)\.php)?", at.path)
        if at.path == "/":
            return frame.page("Subjects", links([(f"/{part}/", part) for part in parts]))
        if not found or found[0] not in parts or int(found[1] or 0) >= each:
            return frame.static(at) or frame.page("Page not found", "<p>The page you asked for was not found.</p>")
        part, number = found[0], int(found[1] or 0)
        if not found[1]:
            return frame.page(part.capitalize(), links([(f"{other}.php", f"Text {other}") for other in range(each)]))
        wrong = [(f"img/{slug(1, part, number)}.php", "Figure"), (f"http:/{part}/{number}.php", "Reference")]
        return frame.page(title(3, part, number), paragraphs(80, part, number) + links(wrong))

    return make_site(frame, answer, good=r"/[a-z]+/\d+\.php", total=len(parts) * each)


@unseen
def banner_links() -> Site:
    """Each answer has three links by way of a counter to other sites, drawn by lot."""
    count, draw = 500, count_up()
    frame = Frame("banner-links", {"Texts": "/texts/1"})

    def answer(at: At) -> Answer | None:
        if found := match(r"/go/(\d+)", at.path):
            return redirect(f"http://shop{found[0]}.elsewhere.test/?from=banner")
        banners = links([(f"/go/{drawing('banner', next(draw)).randrange(900)}", "Advertisement") for _ in range(3)])
        if at.path == "/" or match(r"/texts/\d+", at.path):
            page = int(at.path[7:] or 1)
            shown = range((page - 1) * 20, page * 20)
            listed = links([(f"/text/{number}", title(3, "text", number)) for number in shown])
            return frame.page("Texts", listed + pager("/texts/", page, 25) + banners) if 0 < page <= 25 else None
        found = match(r"/text/(\d+)", at.path)
        if not found or (number := int(found[0])) >= count:
            return None
        return frame.page(title(3, "text", number), paragraphs(60, "text", number) + banners)

    return make_site(frame, answer, good=r"/text/\d+", total=count)


@unseen
def short_posts() -> Site:
    """Writers of short posts; older ones are reached by the number of the last one shown."""
    writers, each = 40, 36
    frame = Frame("short-posts")

    def identity(writer: int, post: int) -> int:
        return 109_000_000_000_000 + writer * 7_919_000_003 + post * 52_711_111

    @cache
    def posts(writer: int) -> dict[int, int]:
        return {identity(writer, post): post for post in range(each)}

    names = [f"{slug(1, 'writer', number)}{number}" for number in range(writers)]

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Local writers", links([(f"/@{name}", f"@{name}") for name in names]))
        found = match(r"/@([a-z]+\d+)(?:/(\d+))?", at.path)
        if not found or found[0] not in names:
            return None
        writer = names.index(found[0])
        if found[1]:
            if (post := posts(writer).get(int(found[1]))) is None:
                return None
            other = drawing("mention", writer, post).choice(names)
            return frame.page(
                f"@{found[0]}", f"<p>{text(13, 'short', writer, post)}</p>" + link(f"/@{other}", f"@{other}")
            )
        before = number_in(at, "max_id", 10**18)
        shown = [number for number in sorted(posts(writer), reverse=True) if number < before][:6]
        body = "".join(
            f"<p>{text(13, 'short', writer, posts(writer)[number])} {link(f'{at.path}/{number}', 'Post')}</p>\n"
            for number in shown
        )
        more = link(f"{at.path}?max_id={shown[-1]}", "Older") if posts(writer)[shown[-1]] else ""
        return frame.page(f"@{found[0]}", body + more)

    return make_site(frame, answer, good=r"/@\w+/\d+", total=writers * each)


@unseen
def package_versions() -> Site:
    """Packages in some versions each; what is said of a version is what was said of the one before."""
    packages, versions = [f"{slug(2, 'package', number)}" for number in range(140)], ("0.9", "1.0", "1.1", "2.0", "2.1")
    frame = Frame("package-versions", {"Packages": "/packages?page=1"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Packages", text(30, "packages"))
        if at.path == "/packages" and 0 < at.number <= 7:
            shown = packages[(at.number - 1) * 20 : at.number * 20]
            listed = links([(f"/package/{name}/{versions[-1]}", name) for name in shown])
            return frame.page("Packages", listed + pager("/packages?page=", at.number, 7))
        found = match(r"/package/([a-z-]+)/([\d.]+)", at.path)
        if not found or found[0] not in packages or found[1] not in versions:
            return None
        name, version = found
        body = f"<pre>install {name}=={version}</pre>" + paragraphs(70, "package", name)
        changed = f"<p>Changes in {version}: {text(5, 'package', name, version)}</p>"
        others = links([(f"/package/{name}/{each}", f"Version {each}") for each in versions])
        return frame.page(f"{name} {version}", body + changed + others)

    return make_site(frame, answer, good=r"/package/[a-z-]+/[\d.]+", total=len(packages) * len(versions))


@unseen
def small_office() -> Site:
    """An office of a hundred people, each with a superior and some below."""
    count = 110
    frame = Frame("small-office", {"Head": "/staff/0"})

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return frame.page("Our office", paragraphs(70, "small office"))
        found = match(r"/staff/(\d+)", at.path)
        if not found or (person := int(found[0])) >= count:
            return None
        below = [each for each in range(4 * person + 1, 4 * person + 5) if each < count]
        around = [(f"/staff/{each}", proper("staff", each)) for each in [*below, *([(person - 1) // 4] * (person > 0))]]
        about = f"<p>{proper('staff', person)}, room {100 + person}, telephone {5500 + person}</p>"
        return frame.page(proper("staff", person), about + links(around))

    return make_site(frame, answer, good=r"/staff/\d+", total=count)


@unseen
def small_choir() -> Site:
    """Seventy pages by hand, each with the whole menu; half of them say little."""
    names = [f"{slug(1, 'choir', number)}{number}.html" for number in range(70)]
    frame = Frame("small-choir")
    menu = links([(name, name.removesuffix(".html")) for name in names])

    def answer(at: At) -> Answer | None:
        if at.path == "/":
            return html("Our choir", menu + paragraphs(60, "choir"))
        if (name := at.path[1:]) not in names:
            return None
        place = names.index(name)
        said = paragraphs(70, "choir", name) if place % 2 else "<p>This page is being worked on.</p>"
        return html("Our choir", f"{menu}<h1>{name.removesuffix('.html')}</h1>{said}")

    return make_site(frame, answer, good=r"/[a-z]+\d+\.html", total=len(names))
