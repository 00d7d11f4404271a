from __future__ import annotations

from hashlib import sha1

import pytest

from lycosa.simweb import PageKind, PageRef, TruePage, Truth, WebPlan
from lycosa.simweb.layout import Layout
from lycosa.simweb.render import Renderer, relative
from lycosa.simweb.truth import truth_of
from lycosa.simweb.web import seeds_of, url_of

from .reading import Read, read_page

PORT = 8080


class Web:
    def __init__(self, plan: WebPlan) -> None:
        self.layout = Layout(plan)
        self.truth: Truth = truth_of(self.layout, PORT, seeds_of(self.layout, PORT))
        self.renderer = Renderer(self.layout, PORT)
        self._read: dict[tuple[str, int], Read] = {}

    def ref(self, url: str) -> PageRef:
        name, _, path = url.removeprefix("http://").partition(f":{PORT}")
        host = self.layout.names.host_named(name)
        assert host is not None
        ref = self.layout.page_at(host, path)
        assert ref is not None, url
        return ref

    def bytes_of(self, url: str, version: int = 0) -> bytes:
        return b"".join(self.renderer.page(self.ref(url), version))

    def plain(self, url: str) -> str:
        """The URL by which the truth knows the page."""
        return url_of(self.layout, PORT, self.ref(url))

    def read(self, page: TruePage, version: int = 0) -> Read:
        if (page.url, version) not in self._read:
            html = self.bytes_of(page.url, version).decode(page.encoding)
            self._read[page.url, version] = read_page(page.url, html)
        return self._read[page.url, version]

    def pages(self, *kinds: PageKind) -> list[TruePage]:
        wanted = {kind.value for kind in kinds}
        return [p for p in self.truth.pages.values() if p.status == 200 and (not wanted or p.kind in wanted)]


@pytest.fixture(scope="module")
def web() -> Web:
    return Web(WebPlan.named("traps", hosts=24, pages_per_host=30, legacy_encoding_share=0.6, base_element_share=0.2))


def test_rendered_links_are_the_true_links(web: Web) -> None:
    for page in web.pages():
        read = web.read(page)
        assert read.links == set(page.links), page.url
        assert read.nofollow_links == set(page.nofollow_links), page.url


def test_pages_weigh_ten_to_sixty_kilobytes(web: Web) -> None:
    sizes = [len(web.bytes_of(page.url)) for page in web.pages()]
    assert min(sizes) >= 9_900
    assert max(sizes) <= 62_000
    assert len(set(sizes)) > len(sizes) // 2


def test_pages_come_in_many_languages_and_encodings(web: Web) -> None:
    assert len({page.language for page in web.pages()}) >= 7
    assert len({page.encoding for page in web.pages()}) >= 5


def test_an_encoding_is_declared_where_the_header_does_not(web: Web) -> None:
    for page in web.pages():
        host = web.layout.host(web.layout.names.host_named(page.host) or 0)
        declared = web.read(page).charset
        assert declared == (None if host.is_encoding_in_header else page.encoding)


def test_a_copy_has_the_bytes_of_its_original(web: Web) -> None:
    assert web.truth.exact_groups
    for group in web.truth.exact_groups:
        assert len({web.bytes_of(url) for url in group}) == 1


def test_a_near_copy_differs_in_a_few_words(web: Web) -> None:
    assert web.truth.near_groups
    for page in web.pages(PageKind.NEAR_COPY):
        assert page.original is not None
        original = web.truth.pages[page.original]
        here = _shingles(web.read(page).words(page.language))
        there = _shingles(web.read(original).words(page.language))
        assert 0.9 < len(here & there) / len(here | there) < 1, page.url


def test_pages_too_small_for_prose_are_rendered_too() -> None:
    small = Web(WebPlan(hosts=6, pages_per_host=20, min_page_bytes=1_000, max_page_bytes=3_000, near_copy_share=0.3))
    assert len(small.pages(PageKind.NEAR_COPY)) > 5
    assert all(small.bytes_of(page.url) for page in small.pages())


def test_unrelated_pages_have_little_in_common(web: Web) -> None:
    pages = [page for page in web.pages(PageKind.PLAIN) if page.language == "en"][:20]
    shingles = [_shingles(web.read(page).words(page.language)) for page in pages]
    alike = [len(a & b) / len(a | b) for a in shingles for b in shingles if a is not b]
    assert max(alike) < 0.3


def test_the_canonical_url_is_the_original_of_a_copy_and_otherwise_the_page(web: Web) -> None:
    for page in web.pages():
        expected = page.original if page.kind == PageKind.COPY.value else page.url
        assert web.read(page).canonical == expected


def test_only_noindex_pages_ask_not_to_be_indexed(web: Web) -> None:
    for page in web.pages():
        assert web.read(page).is_noindex == (not page.is_indexable)


def test_a_new_version_changes_text_and_keeps_links(web: Web) -> None:
    for page in web.pages(PageKind.PLAIN)[:20]:
        before, after = (web.read(page, version) for version in (0, 1))
        assert before.text != after.text
        assert before.links == after.links
        assert web.bytes_of(page.url, 1) == web.bytes_of(page.url, 1)


def test_a_bench_page_has_28_kilobytes_and_53_anchors() -> None:
    web = Web(WebPlan.named("bench", hosts=4))
    for page in web.pages():
        assert 28_000 <= len(web.bytes_of(page.url)) < 29_000
        assert web.read(page).anchors == 53


@pytest.fixture(scope="module")
def strewn() -> Web:
    return Web(WebPlan.named("strewn", hosts=6, pages_per_host=400))


def test_strewn_links_lead_to_the_true_pages_under_many_names(strewn: Web) -> None:
    names = set()
    for page in list(strewn.truth.pages.values())[::20]:
        read = strewn.read(page)
        assert read.anchors == 53
        assert {strewn.plain(url) for url in read.links} == set(page.links), page.url
        assert read.canonical == page.url
        names |= read.links - set(page.links)
    assert any("utm_source=" in name for name in names)
    assert any("page=2&id=" in name for name in names)
    assert any("&colour=" in name for name in names)


def test_a_page_has_the_same_bytes_under_each_of_its_names(strewn: Web) -> None:
    url = next(url for url in strewn.truth.pages if "?id=" in url)
    path, _, query = url.partition("?")
    one, other = query.split("&")
    for name in (f"{path}?{other}&{one}", f"{path}?utm_source=mail&{other}&{one}"):
        assert strewn.bytes_of(name) == strewn.bytes_of(url)


@pytest.mark.parametrize(
    ("profile", "digest"),
    [
        ("clean", "202a431d04893e6598e76f629114d0217d9756c2"),
        ("mixed", "6e54510b9988e81777cf6cd6da08cbef7a49056e"),
        ("traps", "0a2dd584cfe65cf27e0efe5a0f52826ca32e10b9"),
        ("bench", "7f37f1e6c8fdc2f05de607aa28177d876b49db53"),
    ],
)
def test_a_web_is_what_it_was_in_earlier_versions(profile: str, digest: str) -> None:
    # Figures of different days are compared: a web that changes, changes them.
    layout = Layout(WebPlan.named(profile, hosts=12, pages_per_host=20))
    renderer = Renderer(layout, PORT)
    seen = sha1(usedforsecurity=False)
    for ref in (PageRef(host, page) for host in range(12) for page in range(20)):
        seen.update(layout.path(ref).encode() + b"".join(renderer.page(ref, 0)) + repr(layout.links(ref)).encode())
    assert seen.hexdigest() == digest


def test_another_seed_is_another_web() -> None:
    pages = [b"".join(Renderer(Layout(WebPlan(seed=seed)), PORT).page(PageRef(0, 1), 0)) for seed in (1, 2)]
    assert pages[0] != pages[1]


@pytest.mark.parametrize(
    ("path", "page", "expected"),
    [
        ("/", "/", "./"),
        ("/", "/news/a.html", "../"),
        ("/news/b.html", "/news/a.html", "b.html"),
        ("/forum/topic?id=2", "/forum/topic?id=1", "topic?id=2"),
        ("/blog/b.html", "/private/press/a.html", "../../blog/b.html"),
    ],
)
def test_a_relative_link_is_written_from_its_page(path: str, page: str, expected: str) -> None:
    assert relative(path, page) == expected


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
