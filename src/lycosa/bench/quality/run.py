"""The comparison as a story: open the peers, let everybody read the same pages, count, write the page."""

from __future__ import annotations

import platform
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from lycosa.bench.quality import content, detectors
from lycosa.bench.quality.content import measure_content
from lycosa.bench.quality.detectors import measure_encodings
from lycosa.bench.quality.duplicates import measure_duplicates
from lycosa.bench.quality.page import Quality
from lycosa.bench.quality.readers import Say, open_peers
from lycosa.bench.quality.sets import names_of
from lycosa.errors import SettingsError
from lycosa.version import VERSION

ALL_PAGES = 10**9


@dataclass(frozen=True, slots=True)
class QualityPlan:
    """What to read, who else reads it, and the limits."""

    data: Path
    python: Path  # of the environment that has the peers; without it there are none
    max_pages: int = ALL_PAGES  # of each set
    max_seconds: float = 3600.0  # for main content, by far the longest part
    hosts: int = 100  # of the simulated web


def measure_quality(plan: QualityPlan, today: date, say: Say) -> Quality:
    """Everybody on the same pages."""
    if not names_of(plan.data):
        raise SettingsError(f"--data: no labelled pages in {plan.data} (extraction/NAME/truth.jsonl is expected)")
    with ExitStack() as stack:
        extractors = [content.our_reader(), *stack.enter_context(open_peers(plan.python, content.PEERS, say))]
        found = measure_content(plan.data, extractors, plan.max_pages, plan.max_seconds, say)
    with ExitStack() as stack:
        readers = [detectors.our_reader(), *stack.enter_context(open_peers(plan.python, detectors.PEERS, say))]
        encodings = measure_encodings(plan.data, readers, say)
    near = measure_duplicates(plan.data, plan.hosts, plan.max_pages, say)
    return Quality(_when(today), found, encodings, near)


def _when(today: date) -> str:
    return f"Measured on {today.isoformat()} with lycosa {VERSION}, Python {platform.python_version()}."
