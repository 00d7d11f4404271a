"""How often the encoding of a text that declares none is found, next to others. What is right, `encodings` knows."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from lycosa.bench.quality.encodings import UNREAD_CHARSETS, Labelled, is_codec, labelled_files, pages_written_anew
from lycosa.bench.quality.readers import ContentReader, Ours, Say
from lycosa.page.encoding import charset_of_label, decode

OURS = "lycosa"
PEERS = ("chardet", "charset-normalizer", "faust-cchardet", "chardetng-py", "resiliparse detect_encoding")


class EncodingFigures(NamedTuple):
    """How many of each kind were right, by reader, what that cost, and what we got wrong."""

    right: dict[str, Counter[str]]
    seconds: dict[str, list[float]]
    counts: Counter[str]
    wrong: list[str]


LABELLED, READ, UNREAD = "labelled files", "real pages, charsets of browsers", "real pages, other charsets"


def our_reader() -> ContentReader:
    """The text of a page that declares nothing."""
    return Ours(OURS, lambda body: decode(body).text, prepare=lambda question: b64decode(question["body"]))


def measure_encodings(data: Path, readers: list[ContentReader], say: Say) -> EncodingFigures:
    """Every reader on the same files, in turns."""
    figures = EncodingFigures({reader.name: Counter() for reader in readers}, {}, Counter(), [])
    figures.seconds.update({reader.name: [] for reader in readers})
    for kind, file in _kinds(data):
        figures.counts[kind] += 1
        question = {"body": b64encode(file.body).decode()}
        for reader in readers:
            found, seconds = reader.ask(question)
            figures.seconds[reader.name].append(seconds)
            texts = [found] if reader.name == OURS else _texts_by(file.body, found)
            is_right = any(map(file.is_read_as, texts))
            figures.right[reader.name][kind] += is_right
            if not is_right and reader.name == OURS and kind == LABELLED:
                figures.wrong.append(f"{file.label} ({file.name})")
    say("encodings: " + ", ".join(f"{count} {kind}" for kind, count in figures.counts.items()))
    return figures


def _kinds(data: Path) -> Iterator[tuple[str, Labelled]]:
    for file in labelled_files(data):
        yield LABELLED, file
    for file in pages_written_anew(data):
        yield UNREAD if file.label in UNREAD_CHARSETS else READ, file


def _texts_by(body: bytes, name: str) -> list[str]:
    """The texts by a charset that somebody named, as Python and as browsers read the name; by none, windows-1252."""
    names = (name, f"whatwg-{charset_of_label(name)}", f"whatwg-{name.lower()}") if name else ()
    return [body.decode(codec, "replace") for codec in filter(is_codec, names)] or [body.decode("cp1252", "replace")]


def encoding_table(figures: EncodingFigures) -> str:
    """Shares and costs."""
    kinds = [kind for kind in (LABELLED, READ, UNREAD) if figures.counts[kind]]
    heads = [f"{kind} ({figures.counts[kind]})" for kind in kinds]
    lines = [
        "| right, text for text | " + " | ".join(heads) + " | CPU per file, µs |",
        "|---|" + "---|" * (len(kinds) + 1),
    ]
    for name, right in figures.right.items():
        shares = " | ".join(f"{right[kind] / figures.counts[kind]:.1%}" for kind in kinds)
        title = f"**{name}**" if name == OURS else name
        lines.append(f"| {title} | {shares} | {fmean(figures.seconds[name]) * 1e6:,.0f} |")
    return "\n".join(lines)
