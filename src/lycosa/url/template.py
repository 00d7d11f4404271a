"""The template of a URL: URLs that differ only in numbers, dates, identifiers and titles are one kind of page. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_TEMPLATE_SEGMENTS = 8
# Longer words are titles, even without a hyphen.
_MIN_TITLE = 25
_NUMBER = re.compile(r"[0-9]+")
# What is counted has fewer digits: those are dates, moments, or drawn by lot, and another kind of page.
_LONG_NUMBER = 8
_UUID_CHARS = 36
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?=[0-9a-f]*[0-9])[0-9a-f]{8,}", re.IGNORECASE)
# Sixteen and more letters and digits, mixed: what no person would choose as a name.
_TOKEN = re.compile(r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z_-]{16,}", re.IGNORECASE)
# One with a name in front of it: `sid-` and so on.
_NAMED_TOKEN = re.compile(r"[a-z]{1,4}-(?=[0-9a-z]*[0-9])[0-9a-z]{12,}", re.IGNORECASE)
# Letters and digits in turns, as in short names that a program made up.
_MIXED = re.compile(r"(?:[a-z]+[0-9]+[a-z]|[0-9]+[a-z]+[0-9])[0-9a-z]*", re.IGNORECASE)
# A name and the number that tells who is meant, as forums have for threads and members, and manuals for their sections.
_NUMBERED = re.compile(r"(?:[a-z_]+|[^./]*[^./-]-[^./]*)\.[0-9]+", re.IGNORECASE)
_SLUG = re.compile(rf"[^./]*[^./-]-[^./]*|[^./]{{{_MIN_TITLE},}}")
_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,4}$", re.IGNORECASE)
_NAMESPACE = re.compile(r"[A-Za-z][a-z_]{2,}:(?=[^/:]+$)")
_DRAWN = ("{hex}", "{token}")


def template_of(path_and_query: str) -> str:
    """The template of a URL within its host: `/2026/05/a-title.html?p=3` is `/{n}/{n}/{slug}.html?p={n}`."""
    path, question_mark, query = path_and_query.partition("?")
    segments = path.split("/")[1:]
    if len(segments) > MAX_TEMPLATE_SEGMENTS:
        segments[MAX_TEMPLATE_SEGMENTS:] = ["{deeper}"]
    # Half of all segments are plain words, which stand for themselves.
    shapes = [segment if segment.isalpha() and len(segment) < _MIN_TITLE else shape_of(segment) for segment in segments]
    if not question_mark:
        return "/" + "/".join(shapes)
    values = {name: value for name, _, value in (part.partition("=") for part in query.split("&")) if name or value}
    variables = [f"{shape_of(name)}={shape_of(values[name])}" for name in sorted(values)]
    return f"/{'/'.join(shapes)}?{'&'.join(variables)}"


def family_of(template: str) -> str:
    """The templates that differ in their queries only are one family: a facet search has thousands of them."""
    path, question_mark, _ = template.partition("?")
    return f"{path}?{{any}}" if question_mark else path


def has_drawn_segment(template: str) -> bool:
    """Whether something in a template's path looks drawn by lot."""
    path = template.partition("?")[0]
    return "{hex}" in path or "{token}" in path


def is_drawn(value: str) -> bool:
    """Whether a value looks drawn by lot: a long run of hexadecimal digits, or of letters and digits mixed."""
    return shape_of(value) in _DRAWN


@lru_cache(maxsize=4_096)
def shape_of(segment: str) -> str:
    """What is left of a path segment, or a value, when numbers, identifiers and titles are left open."""
    if segment == "{deeper}":
        return segment
    if ";" in segment:
        name, *settings = segment.split(";")
        return ";".join([shape_of(name), *(setting.partition("=")[0] for setting in settings)])
    if found := _NAMESPACE.match(segment):
        # As wikis name what is no article: Talk:…, Special:….
        return found[0] + "{name}"
    stem, extension = segment, ""
    if "." in segment and (found := _EXTENSION.search(segment)):
        stem, extension = segment[: found.start()], found[0]
    if not stem:
        return segment
    # Most of what is no plain word is a title: five patterns would have to be tried before that is clear.
    if stem[: stem.find("-")].isalpha() and "." not in stem and "-" in stem and len(stem) != _UUID_CHARS:
        return ("{token}" if _NAMED_TOKEN.fullmatch(stem) else "{slug}") + extension
    if _NUMBER.fullmatch(stem):
        return ("{n}" if len(stem) < _LONG_NUMBER else "{long}") + extension
    if _UUID.fullmatch(stem) or _HEX.fullmatch(stem):
        return "{hex}" + extension
    if _TOKEN.fullmatch(stem):
        return "{token}" + extension
    if _SLUG.fullmatch(stem):
        return "{slug}" + extension
    if _MIXED.fullmatch(stem):
        return "{mixed}" + extension
    if _NUMBERED.fullmatch(stem):
        return "{slug}.{n}" + extension
    return _NUMBER.sub("{n}", stem) + extension
