"""Work is counted, not timed: whatever is sent, looking through what is open takes a bounded number of steps."""

from __future__ import annotations

import numpy as np
import pytest

from lycosa.page import _native, compiled
from lycosa.settings import Settings

LIMITS = Settings()
CHARS = 500_000
# As in native/html.h; a token that is under way when they are spent may look through everything that is open.
MIN_STEPS, STEPS_PER_BYTE, A_TOKEN = 1 << 25, 8, 10_000
# As in content/native/content.h.
MAX_SEARCH_STEPS = 1 << 26


def max_steps(html: str) -> int:
    return MIN_STEPS + STEPS_PER_BYTE * len(html) + A_TOKEN


def filled(unit: str) -> str:
    return unit * (CHARS // len(unit))


OPEN = "<span>" * 505
FORMATTING = "".join(f"<i x={number}>" for number in range(500))


@pytest.mark.parametrize(
    "html",
    [
        FORMATTING + filled("</b>"),
        FORMATTING + filled("</b></u></s></tt>"),
        OPEN + filled("</x>"),
        OPEN + filled("</h1>"),
        OPEN + filled("</li></dd></dt>"),
        "<svg>" + "<g>" * 500 + filled("</x>"),
    ],
    ids=["formatting", "kinds of formatting", "unknown", "headings", "items", "svg"],
)
def test_end_tags_that_close_nothing_are_looked_for_in_vain_only_so_often(html: str) -> None:
    reading = compiled.read(html + "<a href=x>y</a>", LIMITS, "lycosa")
    assert _native.steps() < max_steps(html)
    # Past the bound only links are read.
    assert reading.is_too_large
    assert [link.href for link in reading.links] == ["x"]


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 400 + filled("</p>"),
        filled("<a href=1><p>"),
        filled("<a href=1><b><i><u><p></a>"),
        "".join(f"<p><b x={number}>" for number in range(30_000)),
        "<a>" + filled("<table><a>"),
        OPEN + filled("<li>"),
        filled("<table><tr><td>"),
        filled("<template>"),
        filled("<font color=red><div></font>"),
        "<table>" + filled("<b>x"),
        "<b " + " ".join(f"a{number}=1" for number in range(50_000)) + "><b>",
    ],
)
def test_misnested_and_deep_markup_is_read_in_few_steps(html: str) -> None:
    compiled.read(html, LIMITS, "lycosa")
    assert _native.steps() < max_steps(html)


@pytest.mark.parametrize("unit", ["\0<!---->", "<g/>", "<g>\0</g>", "x<!---->"])
def test_links_that_are_nested_by_force_do_not_read_their_texts_again_and_again(unit: str) -> None:
    # In a drawing links nest; what gives no characters was read 500 times.
    units = 20_000
    compiled.read("<svg>" + "<a href=1>" * 500 + unit * units, LIMITS, "lycosa")
    nodes = 2 * units + 510
    assert _native.steps() < 6 * nodes


def colliding_words(count: int, slots: int) -> list[str]:
    """Words of eight letters that the table of like blocks would keep in the same slot (features.c)."""
    letters = np.random.default_rng(1).integers(97, 123, (count * slots * 5 // 4, 8)).astype(np.uint8)
    wide = (letters.view("<u8").ravel() ^ np.uint64(8)) * np.uint64(0x9E3779B97F4A7C15)
    keys = (wide ^ wide >> np.uint64(32)).astype(np.uint32)
    keys ^= keys >> np.uint32(15)
    keys *= np.uint32(0x2C1B3C6D)
    keys ^= keys >> np.uint32(12)
    chosen = letters[keys % slots == 7]
    return sorted({word.tobytes().decode() for word in chosen})[:count]


def test_texts_made_to_collide_are_found_in_few_steps() -> None:
    words = colliding_words(1000, 2048)
    assert len(words) == 1000
    compiled.read("".join(f"<p>{word}" for word in words), LIMITS, "lycosa")
    # All with all would be half a million.
    assert len(words) * 10 < _native.steps() < len(words) * 100


def test_a_usual_page_takes_next_to_no_steps() -> None:
    html = "<ul>" + "<li><p>Some <b>words</b> and <a href=x>a <i>link</i></a>.</p></li>" * 1000 + "</ul>"
    compiled.read(html, LIMITS, "lycosa")
    assert _native.steps() < len(html)
