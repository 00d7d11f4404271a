from __future__ import annotations

import json
from collections import Counter, deque
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from lycosa.simweb import Listening, PageKind, SimWeb, TruePage, Truth, WebPlan, read_log
from lycosa.simweb.web import reply_to

from .fixtures import Heard, ask
from .reading import allows, read_page


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_a_plain_crawler_finds_exactly_what_the_truth_says() -> None:
    """The reference crawler below shares no code with the web: if they disagree, one of them is wrong."""
    plan = WebPlan.named("mixed", hosts=15, pages_per_host=25, slow_host_share=0.0, robots_broken_share=0.2)
    async with SimWeb(plan) as web:
        await _crawl(web.seeds)
        asked = Counter(f"http://{r.host}:{web.port}{r.path}" for r in web.requests if r.path != "/robots.txt")
        truth = web.truth()
        assert set(asked) == truth.reachable_by_links
        assert set(asked.values()) == {1}


async def test_served_pages_have_the_true_status_and_encoding(mixed_web: SimWeb) -> None:
    for page in mixed_web.truth().pages.values():
        answer = await ask(page.url, {"Accept-Encoding": "gzip"})
        assert answer.status == page.status, page.url
        if page.redirects_to:
            assert urljoin(page.url, answer.headers["location"]) == page.redirects_to
        if page.status == 200:
            read = read_page(page.url, answer.body.decode(page.encoding))
            declared = answer.headers["content-type"].partition("charset=")[2] or read.charset
            assert declared == page.encoding
        if page.status in (429, 503):
            assert int(answer.headers["retry-after"]) > 0


async def test_pages_found_only_in_sitemaps_are_reachable_through_them() -> None:
    async with SimWeb(WebPlan(hosts=20, pages_per_host=60)) as web:
        truth = web.truth()
        orphans = {page.url for page in truth.pages.values() if page.kind == PageKind.ORPHAN.value}
        assert orphans
        assert orphans <= truth.reachable - truth.reachable_by_links


async def test_a_clean_web_of_500_hosts_is_known_in_full() -> None:
    async with SimWeb(WebPlan.named("clean", hosts=500, pages_per_host=20)) as web:
        truth = web.truth()
        allowed = {page.url for page in truth.pages.values() if page.is_allowed}
        assert truth.reachable == allowed
        assert 9000 < len(truth.storable) < 10_000
        assert len({page.host for page in truth.pages.values()}) == 500


async def test_compression_is_used_where_the_host_and_the_client_know_it(mixed_web: SimWeb) -> None:
    codings = set()
    for host in range(12):
        plain, packed = await ask(mixed_web.url(host)), await ask(mixed_web.url(host), {"Accept-Encoding": "gzip"})
        codings.add(packed.headers.get("content-encoding"))
        assert "content-encoding" not in plain.headers
        assert plain.body == packed.body
    assert codings == {None, "gzip"}


async def test_a_page_is_unchanged_until_its_version_changes() -> None:
    clock = Clock()
    plan = WebPlan.named("clean", hosts=1, changes_per_day=(1.0,), day_seconds=100.0)
    async with SimWeb(plan, clock=clock) as web:
        url = web.url(0, 1)
        first = await ask(url)
        validator = {"If-None-Match": first.headers["etag"]}
        assert (await ask(url, validator)).status == 304
        assert (await ask(url, {"If-Modified-Since": first.headers["last-modified"]})).status == 304
        version = web.version(url)
        assert version is not None
        clock.now += version.next_change_after
        second = await ask(url, validator)
        assert second.status == 200
        assert second.headers["etag"] != first.headers["etag"]
        assert second.headers["last-modified"] != first.headers["last-modified"]
        assert second.body != first.body


async def test_a_sitemap_follows_the_changes_of_its_pages() -> None:
    clock = Clock()
    plan = WebPlan.named("clean", hosts=1, pages_per_host=5, changes_per_day=(1.0,), sitemap_share=1.0)
    async with SimWeb(plan, clock=clock) as web:
        path = "sitemap-0.xml.gz" if web.layout.host(0).has_sitemap_index else "sitemap.xml"
        before = await ask(web.url(0) + path)
        clock.now += 10 * plan.day_seconds
        after = await ask(web.url(0) + path)
        assert before.status == after.status == 200
        assert before.body != after.body


async def test_a_slow_host_takes_its_time() -> None:
    plan = WebPlan.named("clean", hosts=2, latency_seconds=0.05)
    async with SimWeb(plan) as web:
        await ask(web.url(0))
        (request,) = web.requests
        assert request.finished_at is not None
        assert request.finished_at - request.arrived_at >= 0.049


async def test_traps_are_endless_and_named_by_the_truth() -> None:
    async with SimWeb(WebPlan.named("traps", hosts=1, trap_host_share=1.0, slow_host_share=0.0)) as web:
        truth = web.truth()
        entries = [url for url in truth.pages[web.seeds[0]].links if url.startswith(truth.trap_prefixes)]
        assert len(entries) == 3
        for url in entries:
            seen = [url]
            for _ in range(30):
                answer = await ask(seen[-1])
                assert answer.status == 200
                links = read_page(seen[-1], answer.body.decode()).links
                seen.append(next(link for link in sorted(links, reverse=True) if link not in seen))
            assert all(link.startswith(truth.trap_prefixes) for link in seen)
        assert not any(url.startswith(truth.trap_prefixes) for url in truth.reachable)


async def test_other_profiles_have_no_traps(mixed_web: SimWeb) -> None:
    assert mixed_web.truth().trap_prefixes == ()
    assert (await ask(mixed_web.url(0) + "deep/more/")).status == 404


async def test_pictures_and_styles_exist(mixed_web: SimWeb) -> None:
    assert (await ask(mixed_web.url(0) + "img/3.gif")).body.startswith(b"GIF89a")
    assert (await ask(mixed_web.url(0) + "style.css")).headers["content-type"] == "text/css"


async def test_prerendered_pages_are_the_same_pages() -> None:
    plan = WebPlan.named("bench", hosts=3, pages_per_host=5)
    bodies: list[tuple[str, list[bytes]]] = []
    for is_prerendered in (True, False):
        port = urlsplit(bodies[0][0]).port or 0 if bodies else 0
        knobs = {**plan.as_mapping(), "is_prerendered": is_prerendered}
        async with SimWeb(WebPlan(**knobs), Listening(port=port)) as web:
            bodies.append((web.url(0), [(await ask(web.url(h, p))).body for h in range(3) for p in range(5)]))
    assert bodies[0] == bodies[1]


async def test_requests_reach_the_log_file_as_they_end(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    async with SimWeb(WebPlan.named("clean", hosts=2), Listening(log_file=file, is_log_kept=False)) as web:
        for host in (0, 1):
            await ask(web.url(host), {"User-Agent": "lycosa/test"})
        assert web.requests == []
        assert web.request_count == 2
    requests = list(read_log(file))
    assert [(r.host, r.path, r.status, r.user_agent) for r in requests] == [
        (web.layout.host(host).name, "/", 200, "lycosa/test") for host in (0, 1)
    ]
    assert all(r.finished_at is not None and r.finished_at >= r.arrived_at for r in requests)


def test_a_torn_last_line_of_a_log_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    whole = b'{"arrived_at":1.0,"arrived_wall_at":2.0,"host":"a","path":"/","connection":1}\n'
    file.write_bytes(whole + whole[:30])
    assert [request.host for request in read_log(file)] == ["a"]


async def test_the_truth_is_printable(mixed_web: SimWeb) -> None:
    truth = mixed_web.truth()
    printed = json.loads(truth.to_json())
    assert set(printed["reachable"]) == truth.reachable
    assert {page["url"] for page in printed["pages"]} == set(truth.pages)


def test_a_page_is_storable_if_it_answers_and_wants_to_be_found() -> None:
    def page(status: int, *, is_indexable: bool) -> TruePage:
        return TruePage(
            url=f"http://a/{status}{is_indexable}", host="a", kind="plain", status=status, language="en",
            encoding="utf-8", is_allowed=True, is_indexable=is_indexable,
        )  # fmt: skip

    pages = [page(200, is_indexable=True), page(200, is_indexable=False), page(404, is_indexable=True)]
    truth = Truth(tuple(p.url for p in pages), {p.url: p for p in pages}, ())
    assert truth.storable == {pages[0].url}
    assert len(truth.reachable) == 3


async def _crawl(seeds: tuple[str, ...]) -> None:
    """Ask for everything reachable once, as simply as can be: links, redirects, robots.txt, nofollow."""
    rules: dict[str, str] = {}
    waiting, known = deque(seeds), set(seeds)
    while waiting:
        url = waiting.popleft()
        authority = urlsplit(url).netloc
        if authority not in rules:
            rules[authority] = _rules(await ask(f"http://{authority}/robots.txt"))
        if not allows(rules[authority], url):
            continue
        found = _links(url, await ask(url)) - known
        known |= found
        waiting.extend(found)


def _rules(answer: Heard) -> str:
    match answer.status:
        case 200:
            return answer.body.decode()
        case status if status >= 500:
            return "User-agent: *\nDisallow: /"
        case _:
            return ""


def _links(url: str, answer: Heard) -> set[str]:
    if "location" in answer.headers:
        return {urljoin(url, answer.headers["location"])}
    if answer.status != 200:
        return set()
    # Markup and links are ASCII in every encoding of the simulated web.
    return read_page(url, answer.body.decode("latin-1")).links


@pytest.mark.parametrize("url", ["https://h00000.test/", "nonsense", "http:///x"])
def test_a_reply_to_a_foreign_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no URL of a simulated web"):
        reply_to(WebPlan(), url)
