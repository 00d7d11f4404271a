"""Whether and when a failed target is tried again."""

from __future__ import annotations

from email.utils import parsedate_to_datetime


def may_pass(status: int) -> bool:
    """Whether a status tells of trouble that may be over later. 0 means that no answer came."""
    return status in (0, 408, 425, 429) or status >= 500


def retry_after_seconds(value: str, now: float) -> float:
    """The pause a Retry-After header asks for, as seconds or as a date; 0 if it asks for none."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return 0.0
