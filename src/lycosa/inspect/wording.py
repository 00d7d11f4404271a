"""Values as people read them: moments, stretches of time, sizes, and texts that nobody vouches for.

All that comes from pages passes `visible` on its way to a person: a title may hold anything, terminal escapes included.
"""

from __future__ import annotations

from datetime import UTC, datetime

# Marks that turn text around, and so can make one name look like another.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(value: object) -> str:
    """A value on one line, with everything spelt out that a terminal would obey instead of show."""
    text = str(value)
    if text.isprintable() and _TURNING.isdisjoint(text):
        return text
    return "".join(_spelt(character) for character in text)


def visible_lines(text: str) -> str:
    """The same for a text of many lines, whose lines and tabs stay."""
    return "\n".join(visible(line).replace("\\t", "\t") for line in text.splitlines())


def _spelt(character: str) -> str:
    # White space that is not the ASCII one counts as unprintable, but does no harm.
    if (character.isprintable() or character.isspace()) and character >= " " and character not in _TURNING:
        return character if character not in "\x85\u2028\u2029" else " "
    return character.encode("unicode_escape").decode()


def moment(at: float) -> str:
    """A moment in UTC."""
    if not at:
        return "never"
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} s after 1970"


def duration(seconds: float) -> str:
    """A stretch of time in the two units that matter."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def until(due: float, now: float) -> str:
    """When something is due, as a stretch of time from now."""
    return f"in {duration(due - now)}" if due > now else "due"


def size(count: float) -> str:
    """A number of bytes in the unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
