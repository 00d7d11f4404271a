"""A date as pages write it to ISO 8601. What cannot be read for certain is no date."""

from __future__ import annotations

import re

_ISO = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-/.年]\s?(\d\d?)[-/.月]\s?(\d\d?)(?!\d)日?"
    r"(?:[T ]{0,3}(\d\d?):(\d\d)(?::(\d\d))?(?:\.\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?"
)
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = "(" + "|".join(_MONTHS) + ")[a-z]*\\.?"
_DAY_FIRST = re.compile(rf"(?<!\d)(\d\d?)(?:st|nd|rd|th)?\s+{_MONTH},?\s+((?:19|20)\d\d)", re.IGNORECASE)
# Also the BBS form, `Mon Nov 18 12:00:00 2019`.
_MONTH_FIRST = re.compile(
    rf"\b{_MONTH}\s+(\d\d?)(?:st|nd|rd|th)?,?\s+(?:(\d\d:\d\d:\d\d)\s+)?((?:19|20)\d\d)", re.IGNORECASE
)
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d\d?)[/-](\d\d?)(?=[/_.-]|$)")
_MAX_CHARS = 200


def iso_date(text: str) -> str:
    """The first date of a short text as `YYYY-MM-DD`, with its time where it gives one; empty if there is none."""
    if not text:
        return ""
    text = text[:_MAX_CHARS]
    if match := _ISO.search(text):
        year, month, day, hour, minute, second, zone = match.groups()
        time = f"{hour:0>2}:{minute}:{second or '00'}" if hour else ""
        return _joined(year, int(month), int(day), time, zone or "")
    if match := _DAY_FIRST.search(text):
        day, name, year = match.groups()
        return _joined(year, _MONTHS.index(name[:3].lower()) + 1, int(day))
    if match := _MONTH_FIRST.search(text):
        name, day, time, year = match.groups()
        return _joined(year, _MONTHS.index(name[:3].lower()) + 1, int(day), time or "")
    if match := _COMPACT.search(text):
        return _joined(match.group(1), int(match.group(2)), int(match.group(3)))
    return ""


def date_of_url(url: str) -> str:
    """The date in a path such as `/2019/11/18/`, as news sites and blogs write it."""
    match = _URL_DATE.search(url)
    return _joined(match.group(1), int(match.group(2)), int(match.group(3))) if match else ""


def _joined(year: str, month: int, day: int, time: str = "", zone: str = "") -> str:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    date = f"{year}-{month:02}-{day:02}"
    return f"{date}T{time}{zone}" if time and time[:2] < "24" else date
