"""PDF and office documents are read as pages, and no document whatever does harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.model import Page
from lycosa.page.media import Media, media_of
from lycosa.page.office import MAX_UNPACKED_BYTES
from lycosa.page.parser import PageParser
from lycosa.page.reading import DocumentLimits
from lycosa.settings import Settings
from tests.page.documents import SHEET, SLIDES, WORD, WRITER, archive, pdf, word, writer

LIMITS = DocumentLimits(max_text_chars=10_000, max_links=50)


def read(body: bytes, content_type: str, limits: DocumentLimits | None = LIMITS) -> Page:
    return PageParser(Settings(), "lycosa", documents=limits).parse(body, content_type)


def hrefs(page: Page) -> list[str]:
    return [link.href for link in page.links]


def test_a_pdf_has_text_title_links_author_and_date() -> None:
    body = pdf("The tide comes in", "See https://b.org/tables now", title="Tides", link="https://a.org/moon", pages=2)
    page = read(body, "application/pdf")
    assert page.text.splitlines() == ["The tide comes in", "See https://b.org/tables now"] * 2
    assert page.content == page.text
    assert (page.title, page.author, page.published) == ("Tides", "Ada Byron", "2024-03-01")
    assert hrefs(page) == ["https://a.org/moon", "https://b.org/tables"]
    assert not page.truncated


@pytest.mark.parametrize("content_type", ["application/x-pdf", "application/octet-stream", "", "application/pdf;x=y"])
def test_a_pdf_is_known_whatever_it_is_sent_as(content_type: str) -> None:
    assert read(pdf("words"), content_type).text == "words"


def test_what_only_claims_to_be_a_document_is_none() -> None:
    assert media_of("application/pdf", b"<html>") is Media.OTHER
    assert media_of(WORD, b"<html>") is Media.OTHER
    assert media_of("application/zip", word("words")) is Media.OTHER
    assert media_of("text/plain", b"how %PDF- files begin") is Media.TEXT


def test_a_long_pdf_is_cut_and_says_so() -> None:
    body = pdf("w" * 90, pages=40)
    page = read(body, "application/pdf", DocumentLimits(max_text_chars=1_000, max_links=5))
    assert len(page.text) <= 1_000
    assert page.truncated
    hurried = read(body, "application/pdf", DocumentLimits(10_000, 5, seconds=1e-9))
    assert hurried.truncated
    assert hurried.text.count("\n") < 40


def test_a_word_document_has_paragraphs_title_and_links() -> None:
    page = read(word("One &amp; two", "Three", title="Numbers", link="https://a.org/four"), WORD)
    assert page.text == "One & two\nThree"
    assert (page.title, page.author, page.published) == ("Numbers", "Ada Byron", "2024-03-01")
    assert hrefs(page) == ["https://a.org/four"]


def test_an_open_document_has_paragraphs_language_and_links() -> None:
    page = read(writer("Un", "Deux", link="https://a.org/trois"), WRITER)
    assert page.text == "Un\nDeux\nmore"
    assert (page.title, page.language) == ("Minutes", "fr")
    assert hrefs(page) == ["https://a.org/trois"]


def test_slides_are_read_in_their_order_and_sheets_by_their_strings() -> None:
    slides = {
        f"ppt/slides/slide{n}.xml": f'<p:s xmlns:p="u" xmlns:a="v"><a:p><a:t>{n}</a:t></a:p></p:s>' for n in (10, 2, 1)
    }
    assert read(archive(slides), SLIDES).text == "1\n2\n10"
    strings = {"xl/sharedStrings.xml": "<sst><si><t>Name</t></si><si><t>Price</t></si></sst>"}
    assert read(archive(strings), SHEET).text == "Name\nPrice"


def test_links_that_are_not_of_the_web_are_left_out() -> None:
    assert hrefs(read(word("x", link="file:///etc/passwd"), WORD)) == []


def test_an_archive_that_unpacks_without_end_is_cut() -> None:
    bomb = b'<w:d xmlns:w="u"><w:p>' + b" " * (2 * MAX_UNPACKED_BYTES)
    page = read(archive({"docProps/core.xml": "<c><title>Small</title></c>", "word/document.xml": bomb}), WORD)
    assert page.truncated
    assert page.title == "Small"


@pytest.mark.parametrize("dtd", ['<!ENTITY a SYSTEM "file:///etc/passwd">', '<!ENTITY a "ha"><!ENTITY b "&a;&a;">'])
def test_xml_with_a_document_type_is_not_read(dtd: str) -> None:
    text = f'<!DOCTYPE d [{dtd}]><w:d xmlns:w="u"><w:p><w:t>&a;</w:t></w:p></w:d>'
    page = read(archive({"word/document.xml": text}), WORD)
    assert page.text == ""
    assert page.truncated


def test_damaged_documents_are_read_as_far_as_they_go() -> None:
    whole = '<w:d xmlns:w="u"><w:p><w:t>first</w:t></w:p><w:p><w:t>second'
    page = read(archive({"word/document.xml": whole}), WORD)
    assert page.text.startswith("first")
    for body in (b"PK\x03\x04", word("x")[:-30], b"PK\x03\x04" + bytes(100)):
        assert read(body, WORD).text == ""


def test_without_the_setting_documents_are_as_any_other_body() -> None:
    assert read(pdf("words"), "application/pdf", None).text == ""


@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(0, 700), st.binary(min_size=1, max_size=6)), max_size=20))
def test_no_damage_of_a_pdf_ends_in_anything_but_a_page(cut: int, damages: list[tuple[int, bytes]]) -> None:
    body = bytearray(pdf("words", title="Tides", link="https://a.org/moon", pages=3))
    for place, damage in damages:
        body[place : place + len(damage)] = damage
    assert isinstance(read(bytes(body[: 200 + cut % 1500]), "application/pdf"), Page)


@given(st.lists(st.tuples(st.integers(0, 700), st.binary(min_size=1, max_size=6)), max_size=20))
def test_no_damage_of_an_archive_ends_in_anything_but_a_page(damages: list[tuple[int, bytes]]) -> None:
    body = bytearray(word("words", "more", title="Tides", link="https://a.org/moon"))
    for place, damage in damages:
        body[place : place + len(damage)] = damage
    assert isinstance(read(bytes(body), WORD), Page)
