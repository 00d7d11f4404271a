"""What other projects expect of links, base, refresh, robots and encodings.

Each suite is run whole: the cases where lycosa differs on purpose are named with the reason (docs/decisions/0025 and
0027), and a case that differs without being named fails, as does a named one that agrees.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from lycosa.bench.quality.encodings import labelled_files
from lycosa.model import Page
from lycosa.page.directives import refresh_of
from lycosa.page.encoding import decode
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.url.canonical import Rejection, serialise

from .. import suites


def cases(path: str) -> list[Any]:
    return suites.load(f"conformance/html/{path}")


def numbered(path: str) -> list[Any]:
    return [pytest.param(number, case, id=str(number)) for number, case in enumerate(cases(path))]


def parse(html: str | bytes, content_type: str = "text/html; charset=utf-8") -> Page:
    body = html if isinstance(html, bytes) else html.encode()
    return PageParser(Settings(), "lycosa").parse(body, content_type)


def resolved(href: str, base: str) -> str:
    url = serialise(href, base)
    return "" if isinstance(url, Rejection) else url


def agrees_unless(differing: dict[int, str], number: int, *, agrees: bool) -> None:
    if number in differing:
        assert not agrees, f"agrees after all: {differing[number]}"
    else:
        assert agrees


# Refresh


@pytest.mark.parametrize(("number", "case"), numbered("wpt-meta-refresh/cases.json"))
def test_refresh_as_browsers_read_it(number: int, case: dict[str, Any]) -> None:
    refresh = refresh_of(case["input"])
    if not case["expected"]:
        assert refresh is None
        return
    seconds, url = case["expected"]
    assert refresh is not None
    assert refresh.seconds == seconds
    # `__filename__` stands for the page itself; tabs and newlines fall away when the URL is parsed.
    assert resolved(refresh.url, "http://a/__filename__") == resolved(url, "http://a/")


# w3lib: the base and the refresh of a page

W3LIB_DIFFERS = {
    10: "without scripts, a <base> ends a <noscript> in the head and counts",
    13: "without scripts, a <base> ends a <noscript> in the head and counts",
    24: "a tag that the end of the page cuts is no tag",
    29: "of an attribute given twice the first counts",
    38: "a query in the page's encoding is made when the URL is resolved, not here",
    46: "`ignore_tags=[]`: lycosa never follows a refresh within <noscript>",
    48: "`ignore_tags=[]`: a string in a script is no element",
}


def unpacked(value: Any) -> Any:
    return base64.b64decode(value["__bytes__"]) if isinstance(value, dict) else value


@pytest.mark.parametrize(("number", "case"), numbered("scrapy/w3lib_base_refresh.json"))
def test_base_and_refresh_of_w3lib(number: int, case: dict[str, Any]) -> None:
    html, *rest = (unpacked(argument) for argument in case["args"])
    url = rest[0] if rest else ""
    url = url.decode() if isinstance(url, bytes) else url
    encoding = rest[1] if len(rest) > 1 else case["kw"].get("encoding", "utf-8")
    page = parse(html, f"text/html; charset={encoding}")
    if case["fn"] == "get_base_url":
        agrees = urljoin(url, page.base) in (case["out"], case["out"] + "/")
    else:
        agrees = urljoin(url, page.refresh) == case["out"][1] if page.refresh else case["out"][1] is None
    agrees = agrees or _same_url(page.base or page.refresh, url, case["out"])
    agrees_unless(W3LIB_DIFFERS, number, agrees=agrees)


def _same_url(href: str, base: str, out: Any) -> bool:
    expected = out if isinstance(out, str) else out[1]
    return bool(href and expected) and resolved(href, base or "http://x/") == resolved(expected, base or "http://x/")


# Nutch

NUTCH_LINKS_DIFFER = {
    3: "a link that is not closed goes on in the next item, by the rules of the tree: it is found again, without text",
    5: "images are not pages",
    9: "forms are not submitted",
    13: "images are not pages",
    14: "videos are not pages",
}


@pytest.mark.parametrize(("number", "case"), numbered("nutch/outlinks.json"))
def test_links_of_nutch(number: int, case: dict[str, Any]) -> None:
    page = parse(case["html"])
    found = {
        (resolved(link.href, case["base"]), link.anchor) for link in page.links if "nofollow" not in link.rel.split()
    }
    expected = {(resolved(link["url"], case["base"]), link["anchor"].strip()) for link in case["outlinks"]}
    agrees_unless(NUTCH_LINKS_DIFFER, number, agrees=found == expected)


NUTCH_EDGES_DIFFER = {
    3: "the suite lists two watchdog of one relative link, and wants either",
    7: "the suite lists a form's action as wanted where the test refuses it, as lycosa does",
}


@pytest.mark.parametrize(("number", "case"), numbered("nutch/link_edge_cases.json"))
def test_edge_cases_of_nutch(number: int, case: dict[str, Any]) -> None:
    urls = [resolved(link.href, case["base"]) for link in parse(case["html"]).links]
    # Links are kept as the page wrote them; the same URL twice is the same target later on.
    agrees = set(case["must_contain"]) <= set(urls) and case["count"] in (None, len(set(urls)))
    agrees_unless(NUTCH_EDGES_DIFFER, number, agrees=agrees)


NUTCH_ROBOTS_DIFFER: dict[int, str] = {}


@pytest.mark.parametrize(("number", "case"), numbered("nutch/robots_meta.json"))
def test_robots_meta_of_nutch(number: int, case: dict[str, Any]) -> None:
    page = parse(case["html"])
    # Nutch's `nocache` comes from `pragma: no-cache`, which speaks to caches and not to archives.
    agrees_unless(
        NUTCH_ROBOTS_DIFFER, number, agrees=(page.noindex, page.nofollow) == (case["noindex"], case["nofollow"])
    )


# Scrapy's link extractor, where it is asked for all links

SCRAPY_DIFFERS = {
    0: "what an image says is part of the text of its link",
    1: "what an image says is part of the text of its link",
    25: "which extensions are fetched is for the URL policy to say",
}


@pytest.mark.parametrize(
    ("number", "case"),
    [
        pytest.param(number, case, id=f"{number}-{case['test'].rpartition('::')[2]}")
        for number, case in enumerate(cases("scrapy/linkextractor.json"))
        if not case["opts"]
    ],
)
def test_links_of_scrapy(number: int, case: dict[str, Any]) -> None:
    page = parse(unpacked(case["body"]), f"text/html; charset={case['encoding']}")
    base = resolved(page.base, case["url"]) if page.base else case["url"]
    found: dict[str, tuple[str, bool]] = {}
    for link in page.links:
        # A link that is no URL is dropped when it is resolved.
        if not resolved(link.href, base):
            continue
        found.setdefault(resolved(link.href, base), (link.anchor, "nofollow" in link.rel.split()))
    expected = {
        resolved(link["url"] + ("#" + link["fragment"] if link["fragment"] else ""), base): (
            " ".join(link["text"].split()),
            link["nofollow"],
        )
        for link in case["links"]
    }
    # An image's or area's alternative text is an anchor to lycosa and none to Scrapy.
    agrees = found.keys() == expected.keys() and all(
        found[url][1] == nofollow and text in ("", found[url][0]) for url, (text, nofollow) in expected.items()
    )
    agrees_unless(SCRAPY_DIFFERS, number, agrees=agrees)


# Encodings

PRESCAN = suites.find("conformance/encoding/html5lib-tests")
PRESCAN_DIFFERS = {"test-yahoo-jp.dat-0": "declared EUC-JP, but its bytes are UTF-8 and cannot be EUC-JP"}


def prescan_cases() -> list[Any]:
    found = []
    for name in ("tests1.dat", "tests2.dat", "test-yahoo-jp.dat"):
        for number, case in enumerate((PRESCAN / name).read_bytes().split(b"#data\n")[1:]):
            data, _, encoding = case.partition(b"\n#encoding\n")
            expected = encoding.split(b"\n")[0].strip().decode().lower()
            found.append(pytest.param(data, expected, f"{name}-{number}", id=f"{name}-{number}"))
    return found


@pytest.mark.parametrize(("data", "charset", "name"), prescan_cases())
def test_prescan_of_html5lib(data: bytes, charset: str, name: str) -> None:
    assert (decode(data).charset == charset) is (name not in PRESCAN_DIFFERS)


WPT = suites.find("conformance/encoding/wpt-charset")
# `rel=match`: the page reads as its reference does, that is, its <meta> takes effect; `mismatch`: it does not.
_LATE = "a late declaration is obeyed wherever it stands: it is better evidence than none"
_RAW = "the standard's prescan, and html5lib's tests of it, look into scripts, styles and titles"
WPT_DIFFERS = {
    "after-bogus-after-1kb.html": _LATE,
    "after-head-after-1kb.html": _LATE,
    "after-head-after-1kb-crlf.html": _LATE,
    "in-noscript-after-template-after-1kb.html": _LATE,
    "in-template-after-1kb.html": _LATE,
    "in-script.html": _RAW,
    "in-style.html": _RAW,
    "in-title.html": _RAW,
}


def asks_about_a_declaration(file: Path) -> bool:
    """The others ask about frames or scripts."""
    return b'rel="match"' in file.read_bytes() or b'rel="mismatch"' in file.read_bytes()


DECLARING = [file for file in sorted(WPT.glob("*.html")) if asks_about_a_declaration(file)]


@pytest.mark.parametrize("file", DECLARING, ids=lambda file: str(file.name))
def test_charsets_of_the_web_platform_tests(file: Path) -> None:
    body = file.read_bytes()
    takes_effect = "\u0436" in decode(body).text
    agrees = takes_effect is (b'rel="match"' in body)
    assert agrees is (file.name not in WPT_DIFFERS)


def test_files_that_declare_nothing_are_read_as_labelled() -> None:
    files = list(labelled_files(suites.BESIDE))
    if not files:
        pytest.skip(f"no labelled files in {suites.BESIDE}")
    wrong = [file.name for file in files if not file.is_read_as(decode(file.body).text)]
    assert len(wrong) <= len(files) * 0.02, wrong
