"""Whether and when a failed target is tried again."""

from __future__ import annotations

import re

MAX_RETRY_AFTER_SECONDS = 999_999_999.0
# RFC 9110 knows whole seconds only; some servers tell fractions.
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")


def may_pass(status: int) -> bool:
    """Whether a status tells of trouble that may be over later. 0 means that no answer came."""
    return status in (0, 408, 425, 429) or status >= 500


def retry_after_seconds(value: str, now: float) -> float:
    """The pause a Retry-After header asks for, as seconds or as a date; 0 if it asks for none."""
    value = value.strip()
    if _SECONDS.fullmatch(value):
        # As long as a date far away, if it has more digits than that.
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    from email.utils import parsedate_to_datetime  # with half of that package, for the few who tell a date

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return 0.0
