"""Records from a page by the fields that its site's rules name. Knows no network, and no other page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import quote, urljoin

import turbohtml
from turbohtml import Element

from lycosa.page.content.dates import iso_date
from lycosa.page.selected import Node, elements
from lycosa.site_rules import Field, SiteRules, as_field

Record = dict[str, Any]
# A page says no more than this in records: what its selectors choose may overlap as often as they like.
MAX_RECORDS, MAX_RECORD_CHARS = 10_000, 4_000_000
_NUMBER = re.compile(r"[-+−]?\d[\d.,'’\u00a0\u202f ]*")
_SCHEMES = frozenset({"http", "https", "ftp", "mailto", "tel", "magnet"})
_IN_URLS = "%/:=&?~#+!$,;'@()*[]"
_BETWEEN_DIGITS = re.compile(r"[\s'’\u00a0\u202f]")


class _Budget:
    """How much may yet be said of a page."""

    def __init__(self) -> None:
        self.records = MAX_RECORDS
        self.chars = MAX_RECORD_CHARS

    def take(self, text: str) -> str:
        self.chars -= len(text)
        return text if self.chars >= 0 else ""

    @property
    def is_spent(self) -> bool:
        return self.chars < 0 or self.records <= 0


def records_of(tree: turbohtml.Document, base: str, rules: SiteRules) -> list[Record]:
    """The records of a page: one for each element that `each` finds, or one; none that says nothing."""
    if not rules.fields:
        return []
    budget = _Budget()
    fields = {name: as_field(field) for name, field in rules.fields.items()}
    return _records(elements(tree, rules.each) if rules.each else [tree], fields, base, budget)


def _records(nodes: list[Any], fields: Mapping[str, Field], base: str, budget: _Budget) -> list[Record]:
    found = []
    for node in nodes:
        budget.records -= 1
        if budget.is_spent:
            break
        record = {name: _value(node, field, base, budget) for name, field in fields.items()}
        if any(value not in (None, [], False) for value in record.values()):
            found.append(record)
    return found


def _value(node: Node, field: Field, base: str, budget: _Budget) -> Any:
    if field.each:
        inner = {name: as_field(each) for name, each in field.fields.items()}
        return _records(elements(node, field.each), inner, base, budget)
    if field.is_list:
        values = []
        for chosen in _chosen(node, field):
            if budget.is_spent:
                break
            if (value := _read(chosen, field, base, budget)) is not None:
                values.append(value)
        return values
    chosen = _chosen(node, field)
    if field.type == "bool":
        return bool(chosen) and (not field.attr or _text(chosen[0], field) is not None)
    return _read(chosen[0], field, base, budget) if chosen else None


def _chosen(node: Node, field: Field) -> list[Any]:
    """Elements; of an XPath expression also texts, or the one value it comes to."""
    if field.css:
        return list(node.select(field.css))
    found = node.xpath(field.xpath)
    return list(found) if isinstance(found, list) else [found]


def _read(chosen: Any, field: Field, base: str, budget: _Budget) -> Any:
    text = _text(chosen, field)
    if text is None:
        return None
    text = budget.take(text)
    match field.type:
        case "int":
            number = number_in(text)
            return None if number is None else round(number)
        case "float":
            return number_in(text)
        case "date":
            return _date(text)
        case "url":
            return _url(text, base)
        case "bool":
            return bool(text)
        case _:
            return text


def _text(chosen: Any, field: Field) -> str | None:
    if not isinstance(chosen, Element):
        return " ".join(str(chosen).split())
    if field.attr:
        value = chosen.attr(field.attr)
        return None if value is None else str(value).strip()
    if field.html:
        return chosen.html
    if field.type == "url" and (href := chosen.attr("href") or chosen.attr("src")):
        return str(href).strip()
    if field.type == "date" and (moment := chosen.attr("datetime")):
        return str(moment)
    return " ".join(chosen.text.split())


def _url(text: str, base: str) -> str | None:
    """A URL that can be asked for; null for what only a script understands."""
    try:
        url = urljoin(base, text.strip())
    except ValueError:
        return None
    return quote(url, safe=_IN_URLS) if url.partition(":")[0].lower() in _SCHEMES else None


def _date(text: str) -> str | None:
    """A date as ISO 8601 has it, as exact as it was written; null for a day that does not exist."""
    written = iso_date(text)
    try:
        if len(written) >= len("2024-01-01"):
            date.fromisoformat(written[:10])
    except ValueError:
        return None
    return written or None


def number_in(text: str) -> float | None:
    """The first number of a text, written in any of the usual ways: 1,234.5 or 1.234,5 or 1 234."""
    match = _NUMBER.search(text)
    if match is None:
        return None
    digits = _BETWEEN_DIGITS.sub("", match[0]).replace("−", "-").rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    if last > 0:
        mark, other = digits[last], "," if digits[last] == "." else "."
        # A mark that comes once, and not before three digits, or after the other one, begins the fraction.
        is_fraction = digits.count(mark) == 1 and (len(digits) - last != 4 or other in digits or mark == ".")
        digits = digits.replace(other, "")
        digits = digits.replace(mark, ".") if is_fraction else digits.replace(mark, "")
    try:
        return float(digits)
    except ValueError:
        return None
