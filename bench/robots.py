"""robots.txt: our parser and matcher against protego, in one run on the same files and questions.

    python bench/robots.py

Needs `pip install "protego>=0.7"`. Each figure is the best of five rounds, so that a busy machine matters little;
the ratios are what to compare between machines.
"""

from collections.abc import Callable
from timeit import repeat

from protego import Protego

from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import parse_robots

AGENT = "lycosa"

BLOG = """User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Sitemap: https://example.com/sitemap.xml
"""
SHOP_RULES = """/a/downloads/-/* /admin /cart /orders /checkouts/ /checkout /carts /account /collections/*sort_by*
/*/collections/*sort_by* /collections/*+* /collections/*%2B* /*/collections/*+* /*/collections/*%2B* /blogs/*+*
*/collections/*filter*&*filter* /blogs/*%2B* /*/blogs/*+* /*/blogs/*%2B* /*?*oseid=* /*preview_theme_id* /policies/
/*preview_script_id* /*/policies/ /*/*?*ls=*&ls=* /*/*?*ls%3D*%3Fls%3D* /search /apple-app-site-association
/cdn/wpm/*.js /recommendations/products /*/recommendations/products"""
FILES = {
    "blog, 2 rules": BLOG,
    "shop, 31 rules, 20 with stars": "User-agent: *\n" + "".join(f"Disallow: {rule}\n" for rule in SHOP_RULES.split()),
    "wiki, 3,000 rules": "User-agent: *\n" + "".join(f"Disallow: /wiki/Special:Page{n}/\n" for n in range(3000)),
}
PATHS = [
    "/2024/05/03/a-blog-post-about-things/",
    "/products/blue-shoes-and-socks",
    "/collections/summer?sort_by=price&page=2",
    "/wiki/Special:Page77/x",
    "/wiki/%C3%89t%C3%A9",
]
HOSTILE = "User-agent: *\nDisallow: /" + "*a" * 30 + "*b\n"


def microseconds(work: Callable[[], object], number: int) -> float:
    return min(repeat(work, number=number, repeat=5)) / number * 1e6


def compare(name: str, ours: float, theirs: float) -> None:
    print(f"{name:<64} {ours:10.2f} µs {theirs:10.2f} µs {theirs / ours:8.1f} x")


def main() -> None:
    print(f"{'':<64} {'lycosa':>13} {'protego':>13} {'ratio':>10}")
    for name, text in FILES.items():
        body = text.encode()
        number = max(3, 40_000 // len(body))
        matcher = RobotsMatcher(parse_robots(body, AGENT))
        protego = Protego.parse(text)
        compare(
            f"{name}: parse and prepare",
            microseconds(lambda body=body: RobotsMatcher(parse_robots(body, AGENT)), number),  # type: ignore[misc]
            microseconds(lambda text=text: Protego.parse(text), number),  # type: ignore[misc]
        )
        for path in PATHS:
            url = f"https://example.com{path}"
            assert matcher.allows(path) == protego.can_fetch(url, AGENT)
            compare(
                f"  {path}",
                microseconds(lambda matcher=matcher, path=path: matcher.allows(path), 5000),  # type: ignore[misc]
                microseconds(lambda protego=protego, url=url: protego.can_fetch(url, AGENT), 300),  # type: ignore[misc]
            )
    path = "/" + "a" * 60
    matcher, protego = RobotsMatcher(parse_robots(HOSTILE.encode(), AGENT)), Protego.parse(HOSTILE)
    compare(
        "hostile, 31 stars in one rule",
        microseconds(lambda: matcher.allows(path), 200),
        microseconds(lambda: protego.can_fetch(f"https://example.com{path}", AGENT), 1),
    )


if __name__ == "__main__":
    main()
