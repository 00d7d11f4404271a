"""Precision and recall, on planted near duplicates and on edits to a known resemblance; more in `bench/dedupe.py`."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from lycosa.dedupe.groups import THRESHOLD
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.signature import signature_of
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.simweb.layout import STATUS_OF, Layout, PageKind, PageRef
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.render import Renderer

WORDS = [f"word{number}" for number in range(3000)]


def pairs(sizes: Counter[Any]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes.values())


def test_planted_near_duplicates_are_found_and_nothing_else() -> None:
    layout = Layout(WebPlan(hosts=18, near_copy_share=0.2))
    renderer, parser = Renderer(layout, 80), PageParser(Settings(), "lycosa")
    originals, signatures = [], []
    for ref in (PageRef(host, number) for host in range(18) for number in range(layout.plan.pages_per_host)):
        kind = layout.kind(ref)
        if kind is not PageKind.REDIRECT and STATUS_OF.get(kind, 200) == 200:
            content_type = f"text/html; charset={layout.host(ref.host).encoding}"
            page = parser.parse(b"".join(renderer.page(ref, 0)), content_type)
            originals.append(layout.content_of(ref))
            signatures.append(signature_of(page.text))
    groups = [placement.group for placement in MemoryContentGroups().group_of(signatures)]
    hits = pairs(Counter(zip(groups, originals, strict=True)))
    assert pairs(Counter(originals)) > 30
    assert hits / pairs(Counter(groups)) >= 0.95
    assert hits / pairs(Counter(originals)) >= 0.95


def test_edits_are_told_by_how_much_they_leave() -> None:
    draws = random.Random(4)
    hits = said = true = 0
    for _ in range(1500):
        words = draws.choices(WORDS, k=draws.randrange(100, 900))
        edited = list(words)
        for _ in range(round(len(words) * draws.uniform(0.0, 0.055))):
            edited[draws.randrange(len(words))] = draws.choice(WORDS)
        mine, theirs = (set(zip(text, text[1:], text[2:], strict=False)) for text in (words, edited))
        is_alike = len(mine & theirs) / len(mine | theirs) >= THRESHOLD
        first, second = MemoryContentGroups().group_of([signature_of(" ".join(text)) for text in (words, edited)])
        hits += is_alike and first.group == second.group
        said += first.group == second.group
        true += is_alike
    assert 300 < true < 1200
    assert hits / said >= 0.95
    assert hits / true >= 0.95
