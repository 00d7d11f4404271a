"""PDF and office documents made by hand, as small as they can be."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
WRITER = "application/vnd.oasis.opendocument.text"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_CORE = """<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="urn:dc" xmlns:t="urn:t"><dc:title>{title}</dc:title>
<dc:creator>Ada Byron</dc:creator><t:created>2024-03-01T10:00:00Z</t:created></cp:coreProperties>"""


def pdf(*lines: str, title: str = "", link: str = "", pages: int = 1) -> bytes:
    """A document that says these lines on each of its pages."""
    shown = " ".join(f"({line}) Tj 0 -20 Td" for line in lines)
    stream = f"BT /F1 12 Tf 72 720 Td {shown} ET"
    numbers = range(5, 5 + pages)
    notes = f"/Annots [<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({link})>>>>]" if link else ""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{' '.join(f'{number} 0 R' for number in numbers)}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        *(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 3 0 R>>>>{notes}>>"
            for _ in numbers
        ),
        f"<</Title({title})/Author(Ada Byron)/CreationDate(D:20240301100000Z)>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{text}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer<</Size {size}/Root 1 0 R/Info {size - 1} 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return body + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


def word(*paragraphs: str, title: str = "", link: str = "") -> bytes:
    text = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    relation = f'<Relationship Id="r1" Type="hyperlink" Target="{link}" TargetMode="External"/>'
    return archive({
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f'<w:document xmlns:w="urn:w"><w:body>{text}</w:body></w:document>',
        "word/_rels/document.xml.rels": f"<Relationships>{relation}</Relationships>",
        "docProps/core.xml": _CORE.format(title=title),
    })  # fmt: skip


def writer(*paragraphs: str, link: str = "") -> bytes:
    names = 'xmlns:o="urn:o" xmlns:text="urn:t" xmlns:xlink="http://www.w3.org/1999/xlink"'
    text = "".join(f"<text:p>{text}</text:p>" for text in paragraphs)
    return archive({
        "mimetype": WRITER,
        "content.xml": f'<o:body {names}>{text}<text:p><text:a xlink:href="{link}">more</text:a></text:p></o:body>',
        "meta.xml": '<m xmlns:dc="urn:dc"><dc:title>Minutes</dc:title><dc:language>fr</dc:language></m>',
    })  # fmt: skip


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return file.getvalue()
