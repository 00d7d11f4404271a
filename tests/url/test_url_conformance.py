"""Public suites: WHATWG URL parsing, IDNA, query encodings, public suffixes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from publicsuffixlist import PublicSuffixList

from lycosa.url.canonical import NO_LIMITS, ParsedUrl, Rejection, encode_query, parse, serialise
from lycosa.url.domain import registered_domain

Cases = Callable[[str], list[dict[str, Any]]]


def outcome(case: dict[str, Any]) -> str | None:
    """What `serialise` gives, None for any refusal."""
    text = serialise(case["input"], case["base"])
    return text if isinstance(text, str) else None


@pytest.mark.parametrize("suite", ["urltestdata", "urltestdata-javascript-only"])
def test_http_urls_are_read_as_browsers_read_them(conformance_cases: Cases, suite: str) -> None:
    web = [case for case in conformance_cases(f"url/{suite}.json") if is_web(case)]
    wrong = [(case["input"], case["base"], outcome(case)) for case in web if outcome(case) != case.get("href")]
    assert wrong == []
    assert web


def is_web(case: dict[str, Any]) -> bool:
    """Cases that end in http(s), or in a failure that begins there."""
    if not case.get("failure"):
        return bool(case["protocol"] in ("http:", "https:"))
    start = (case["input"].strip() + " " + (case["base"] or "")).lower()
    return re.search(r"\bhttps?:", start) is not None


def test_what_browsers_refuse_or_fetch_otherwise_is_rejected(conformance_cases: Cases) -> None:
    for case in conformance_cases("url/urltestdata.json"):
        if case.get("failure") or case["protocol"] not in ("http:", "https:"):
            assert isinstance(parse(case["input"], case["base"], NO_LIMITS), Rejection), case["input"]


def test_the_parts_of_a_parsed_url_are_those_of_the_standard(conformance_cases: Cases) -> None:
    for case in conformance_cases("url/urltestdata.json"):
        if case.get("failure") or case["protocol"] not in ("http:", "https:"):
            continue
        parsed = parse(case["input"], case["base"], NO_LIMITS)
        if isinstance(parsed, Rejection):
            assert ".." in case["hostname"] or case["hostname"].startswith(".") or case["port"] == "0", case["input"]
            continue
        assert parsed.scheme + ":" == case["protocol"]
        assert parsed.host == case["hostname"].removesuffix(".")
        assert parsed.port == int(case["port"] or {"http": 80, "https": 443}[parsed.scheme])
        # WPT writes an empty query as "", as we do.
        assert parsed.path_and_query.upper() == (case["pathname"] + case["search"]).upper()
        assert parsed.url == parsed.origin + parsed.path_and_query


@pytest.mark.parametrize("suite", ["toascii", "IdnaTestV2", "IdnaTestV2-removed"])
def test_names_in_any_script_become_ascii(conformance_cases: Cases, suite: str) -> None:
    for case in conformance_cases(f"url/{suite}.json"):
        if not case["input"]:
            continue  # `https:///x` takes x for its host; the suite asks about domains alone
        text = serialise(f"https://{case['input']}/x")
        host = text.removeprefix("https://").removesuffix("/x") if isinstance(text, str) else None
        assert host == case["output"], ascii(case["input"])


def test_a_query_is_spelt_in_the_encoding_of_its_page(conformance_cases: Cases) -> None:
    for case in conformance_cases("url/percent-encoding.json"):
        for encoding, expected in case["output"].items():
            # Two corners of the Encoding standard that Python's codecs do not share: the state of iso-2022-jp, and
            # one character of private use in gb18030.
            if encoding != "iso-2022-jp" and case["input"] != "\ue5e5":
                parsed = parse(encode_query(f"http://a/?{case['input']}", encoding))
                assert isinstance(parsed, ParsedUrl)
                assert parsed.path_and_query == f"/?{expected}", (encoding, case["input"])


def test_registered_domains_follow_the_public_suffix_list(conformance_text: Callable[[str], str]) -> None:
    lines = [line.split() for line in conformance_text("psl/tests.txt").splitlines() if line[:2] not in ("//", "")]
    checked = 0
    for name, expected in lines:
        parsed = parse(f"http://{name}/")
        if isinstance(parsed, Rejection) or name == "null":
            continue  # names with a leading dot are no hosts
        as_host = parse(f"http://{expected}/")
        wanted = parsed.host if expected == "null" or isinstance(as_host, Rejection) else as_host.host
        assert registered_domain(parsed.host) == wanted, name
        checked += 1
    assert checked > 50


def test_registered_domains_are_those_of_the_package_whose_list_is_read() -> None:
    package = PublicSuffixList()
    rules = [rule.lstrip("!*.") for rule in package._publicsuffix if rule.isascii()]
    assert len(rules) > 9000
    for host in (f"{before}{rule}{after}" for rule in rules for before in ("", "a.", "b.a.") for after in ("", ".")):
        assert registered_domain.__wrapped__(host) == (package.privatesuffix(host) or host), host
