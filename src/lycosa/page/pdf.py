"""PDF: its text, title and links, by PDFium. As much of it as the time for a page allows; nothing is drawn or run."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import pypdfium2 as pdfium
from pypdfium2 import raw

from lycosa.model import Page, RawLink
from lycosa.page.reading import MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS, DocumentLimits, collapsed

# A link's address as bytes; longer ones are no URL that anybody follows.
_MAX_URL_BYTES = 4096
# "D:20240131…", as the standard writes a date.
_DATE_CHARS = slice(2, 10)


def read_pdf(body: bytes, limits: DocumentLimits) -> Page:
    """The page of a PDF; one that cannot be opened, or only with a password, has no text."""
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError:
        return Page("", "", "", [])
    try:
        return _page_of(document, limits)
    finally:
        document.close()


def _page_of(document: pdfium.PdfDocument, limits: DocumentLimits) -> Page:
    texts: list[str] = []
    links: dict[str, None] = {}
    ends_at = time.thread_time() + limits.seconds if limits.seconds else float("inf")
    room, is_cut = limits.max_text_chars, False
    for number in range(len(document)):
        if room <= 0 or len(links) > limits.max_links or time.thread_time() > ends_at:
            is_cut = True
            break
        try:
            page = document[number]
            text_page = page.get_textpage()
        except pdfium.PdfiumError:
            # A damaged page of a whole document.
            continue
        text = _clean(text_page.get_text_bounded())
        links.update(dict.fromkeys(_links_of(page, text_page)))
        text_page.close()
        page.close()
        texts.append(text)
        room -= len(text)
    about = document.get_metadata_dict()
    text = "\n".join(filter(None, texts))[: limits.max_text_chars]
    return Page(
        title=collapsed(about.get("Title", ""), MAX_TITLE_CHARS),
        description=collapsed(about.get("Subject", ""), MAX_DESCRIPTION_CHARS),
        text=text,
        content=text,
        links=[RawLink(url, "", "") for url in links][: limits.max_links],
        charset="utf-8",
        author=collapsed(about.get("Author", ""), MAX_TITLE_CHARS),
        published=_date_of(about.get("CreationDate", "")),
        truncated=is_cut or len(links) > limits.max_links,
    )


def _clean(text: str) -> str:
    # U+FFFE stands for a hyphen at the end of a line: the word goes on in the next one.
    joined = text.replace("\ufffe\r\n", "").replace("\ufffe", "").replace("\0", "")
    return "\n".join(line for line in map(str.strip, joined.splitlines()) if line).encode("utf-8", "ignore").decode()


def _links_of(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> Iterator[str]:
    """What links lead to, and what is written out as a URL."""
    place, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, ctypes.byref(place), ctypes.byref(link)):
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            size = raw.FPDFAction_GetURIPath(page.pdf, action, None, 0)
            if 1 < size <= _MAX_URL_BYTES:
                buffer = ctypes.create_string_buffer(size)
                raw.FPDFAction_GetURIPath(page.pdf, action, buffer, size)
                yield buffer.value.decode("utf-8", "replace")
    written = raw.FPDFLink_LoadWebLinks(text_page)
    try:
        for number in range(raw.FPDFLink_CountWebLinks(written)):
            size = raw.FPDFLink_GetURL(written, number, None, 0)
            if 1 < size <= _MAX_URL_BYTES:
                units = (ctypes.c_ushort * size)()
                raw.FPDFLink_GetURL(written, number, units, size)
                yield bytes(units)[:-2].decode("utf-16-le", "replace")
    finally:
        raw.FPDFLink_CloseWebLinks(written)


def _date_of(text: str) -> str:
    digits = text[_DATE_CHARS]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if len(digits) == 8 and digits.isdigit() else ""
