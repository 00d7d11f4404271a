"""What URLs cost: `python bench/urls.py`. CPU time on one core, the best of several rounds, in microseconds."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from time import process_time

from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkMemo, LinkPolicy
from lycosa.url.rules import SAFE_RULES, CanonicalRules, dedup_key
from lycosa.url.scope import Scope

ROUNDS = 9
LINKS_PER_PAGE = 53
PAGES = 400
ALL_RULES = "merge_schemes drop_www merge_slashes drop_sessions drop_index drop_tracking drop_defaults sort_query"


def main() -> None:
    hosts = [f"https://www.site{number}.example.com" for number in range(20)]
    pages = [page(hosts, number) for number in range(PAGES)]
    print(f"{'page of 53 links, all met before':<44}{per_item(met_before(pages), PAGES):8.2f} µs")
    print(f"{'page of 53 links, one in ten new':<44}{per_item(mostly_met_before(pages), PAGES):8.2f} µs")
    for name, href in NEW_LINKS.items():
        print(f"{'new link: ' + name:<44}{per_item(new_links(href), 2000):8.2f} µs")
    for name, call in single_steps().items():
        print(f"{name:<44}{per_item(lambda call=call: [call() for _ in range(2000)], 2000):8.2f} µs")  # type: ignore[misc]


def per_item(work: Callable[[], object], items: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        started = process_time()
        work()
        best = min(best, process_time() - started)
    return best / items * 1e6


def policy(rules: CanonicalRules = SAFE_RULES, exclude: tuple[str, ...] = ()) -> LinkPolicy:
    return LinkPolicy(
        Scope([parsed("https://www.site1.example.com/")], exclude=exclude), Fingerprinter(bytes(32)), rules=rules
    )


def parsed(url: str) -> ParsedUrl:
    result = parse(url)
    assert isinstance(result, ParsedUrl)
    return result


def page(hosts: list[str], number: int) -> tuple[str, list[str]]:
    """A page as sites write them: navigation from the root, neighbours, a few links abroad."""
    draw = random.Random(number)
    site = hosts[number % len(hosts)]
    links = [f"/section/{draw.randrange(40)}/article-{draw.randrange(5)}.html" for _ in range(33)]
    links += [f"page-{draw.randrange(30)}.html" for _ in range(10)]
    links += [f"{draw.choice(hosts)}/section/{draw.randrange(20)}/" for _ in range(7)]
    links += ["#top", "javascript:void(0)", "/"]
    assert len(links) == LINKS_PER_PAGE
    return f"{site}/section/{number % 5}/page-{number}.html", links


def fresh(text: str) -> str:
    """The same text as a new object: a parser's strings have no hash yet."""
    return text.encode().decode()


def met_before(pages: list[tuple[str, list[str]]]) -> Callable[[], None]:
    memo = LinkMemo(policy())
    rounds = iter([[(base, list(map(fresh, hrefs))) for base, hrefs in pages] for _ in range(ROUNDS + 1)])

    def work() -> None:
        for base, hrefs in next(rounds):
            memo.resolve_all(base, hrefs)

    work()
    return work


def mostly_met_before(pages: list[tuple[str, list[str]]]) -> Callable[[], None]:
    memo = LinkMemo(policy())
    new = iter(range(10**9))
    rounds = iter(
        [
            [(base, [*map(fresh, hrefs[5:]), *(f"/new/{next(new)}/x.html" for _ in range(5))]) for base, hrefs in pages]
            for _ in range(ROUNDS + 1)
        ]
    )

    def work() -> None:
        for base, hrefs in next(rounds):
            memo.resolve_all(base, hrefs)

    work()
    return work


NEW_LINKS = {
    "/section/n/article.html": "/section/{0}/article.html",
    "page-n.html": "page-{0}.html",
    "https://host/section/n": "https://www.site7.example.com/section/{0}",
    "/find?x=n&y=1": "/find?x={0}&y=1",
    "/caf%c3%a9/n": "/caf%c3%a9/{0}",
}


def new_links(href: str) -> Callable[[], object]:
    memo = LinkMemo(policy(), max_links=10**7)
    numbers = iter(range(10**9))
    rounds = iter([[href.format(next(numbers)) for _ in range(2000)] for _ in range(ROUNDS)])
    return lambda: memo.resolve_all("https://www.site1.example.com/section/1/page.html?q=1", next(rounds))


def single_steps() -> dict[str, Callable[[], object]]:
    base = "https://www.site1.example.com/section/1/page.html"
    target = parsed("https://www.site1.example.com/section/1/index.html?b=2&utm_source=x&a=1&page=1")
    risky = CanonicalRules.from_names(ALL_RULES.split())
    fingerprinter = Fingerprinter(bytes(32))
    filters = Scope([target], "any", exclude=[f"/private{number}/" for number in range(20)])
    return {
        "parse, relative": lambda: parse("../2/other.html", base),
        "parse, second parser needed": lambda: parse("///host/x", base),
        "dedup key, safe rules": lambda: dedup_key(target),
        "dedup key, all risky rules on": lambda: dedup_key(target, risky),
        "fingerprint": lambda: fingerprinter.fingerprint(target.url),
        "registered domain, host met before": lambda: registered_domain(target.host),
        "scope with 20 patterns": lambda: filters.verdict("https://a.example/x/y", "a.example", "a.example"),
    }


if __name__ == "__main__":
    main()
