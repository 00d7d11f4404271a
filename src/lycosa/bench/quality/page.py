"""The page of figures: `page.md` with its blanks filled. Knows how figures read, not how they are measured."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import NamedTuple

from lycosa.bench.quality import content, detectors, duplicates
from lycosa.bench.quality.content import ContentFigures
from lycosa.bench.quality.detectors import EncodingFigures
from lycosa.bench.quality.duplicates import DuplicateFigures

# F1 that others report of extractors that cannot be installed here.
_REPORTED = {
    "magic-html": {
        "aeb": 0.948,
        "cwced": 0.933,
        "harvest_forum": 0.559,
        "llmwebkit": 0.792,
        "magic_article": 0.919,
        "magic_forum": 0.596,
        "trafilatura_eval": 0.874,
        "wcxb_dev": 0.747,
    },
    "rs-trafilatura": {
        "aeb": 0.956,
        "cwced": 0.809,
        "harvest_forum": 0.645,
        "llmwebkit": 0.706,
        "magic_article": 0.820,
        "magic_forum": 0.690,
        "trafilatura_eval": 0.881,
        "wcxb_dev": 0.856,
    },
}


class Quality(NamedTuple):
    """All that was measured, and when and where."""

    when: str
    content: ContentFigures
    encodings: EncodingFigures
    duplicates: DuplicateFigures


def markdown(quality: Quality) -> str:
    """The whole page."""
    template = files("lycosa.bench.quality").joinpath("page.md").read_text(encoding="utf-8")
    validated = content.validated()
    pages = sum(quality.content.pages.values())
    sites = f" of {validated.sites:,} sites" if validated.is_about(quality.content.pages) else ""
    return Template(template).substitute(
        when=quality.when,
        folds=f"{validated.folds} parts",
        content_pages=f"{pages:,} pages{sites}",
        content_f1=content.f1_table(quality.content),
        content_behind=content.behind(quality.content),
        content_cpu=content.cpu_table(quality.content),
        reported_behind=_reported_behind(quality.content),
        encodings=detectors.encoding_table(quality.encodings),
        encodings_wrong=", ".join(quality.encodings.wrong) or "none",
        duplicates=duplicates.duplicate_table(quality.duplicates),
        duplicates_border=duplicates.border_table(quality.duplicates),
        duplicates_cost=duplicates.signature_table(quality.duplicates),
    )


def _reported_behind(figures: ContentFigures) -> str:
    ours = content.our_row(figures)
    ahead = [
        f"{reader} on {name} ({figure:.3f}, ours {ours[name]:.3f})".replace("(0.", "(.").replace("ours 0.", "ours .")
        for reader, row in _REPORTED.items()
        for name, figure in row.items()
        if name in ours and figure > round(ours[name], 3)
    ]
    return f"Ahead of us: {', '.join(ahead)}." if ahead else "Neither is ahead of us on any set."
