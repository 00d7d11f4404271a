"""What people type to what is searched: words, phrases, fields, exclusions. It knows no index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from lycosa.errors import SettingsError

MAX_QUERY_CHARS, MAX_TERMS = 1000, 40
# Anything else before a colon is a word: people search for std::sort and http://…
FIELDS = ("site", "title", "lang", "before", "after")
_ITEM = re.compile(r'(?P<minus>-?)(?:(?P<field>[a-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]*))', re.IGNORECASE)
_QUOTES = str.maketrans("“”„«»＂", '""""""')
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*", re.IGNORECASE)


class BadQuery(SettingsError):
    """A query that cannot be understood; says what was expected."""


class Term(NamedTuple):
    """A word, or the words of a phrase, that pages have to have or must not have."""

    text: str
    is_phrase: bool = False
    in_title: bool = False
    is_excluded: bool = False


class SearchQuery(msgspec.Struct, frozen=True):
    """A query, understood. Moments are POSIX seconds."""

    text: str
    terms: tuple[Term, ...] = ()
    sites: tuple[str, ...] = ()
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    before: float | None = None
    after: float | None = None

    @property
    def plain_text(self) -> str:
        """The wanted words without operators, as one text."""
        return " ".join(term.text for term in self.terms if not (term.is_excluded or term.in_title))


def parse_query(text: str) -> SearchQuery:
    """The query that a text stands for; raises `BadQuery`."""
    if len(text) > MAX_QUERY_CHARS:
        raise BadQuery(f"the query is {len(text):,} characters long; at most {MAX_QUERY_CHARS:,} are searched for")
    quoted = " ".join(text.replace("\0", " ").translate(_QUOTES).split())
    if quoted.count('"') % 2:
        raise BadQuery(f'a quotation mark is missing in {text!r}: phrases stand in two, as in "like this"')
    found: dict[str, list[str]] = {name: [] for name in ("sites", "not_sites", "languages", "not_languages")}
    terms: list[Term] = []
    before = after = None
    for minus, field, value, is_phrase in _items(quoted):
        is_excluded = bool(minus)
        match field:
            case "site":
                found["not_sites" if is_excluded else "sites"].append(_site(value))
            case "lang":
                found["not_languages" if is_excluded else "languages"].append(_language(value))
            case "before" | "after" if is_excluded:
                raise BadQuery(
                    f"-{field}: cannot be excluded; say {'after' if field == 'before' else 'before'}: instead"
                )
            case "before":
                before = _moment(field, value)
            case "after":
                after = _moment(field, value)
            case _:
                terms.append(Term(value, is_phrase, field == "title", is_excluded))
    if len(terms) > MAX_TERMS:
        raise BadQuery(f"the query has {len(terms)} words and phrases; at most {MAX_TERMS} are searched for")
    is_filtered = any(found.values()) or before is not None or after is not None
    if terms and all(term.is_excluded for term in terms) and not is_filtered:
        raise BadQuery("the query only says what is not wanted; add a word that is, or site: or lang:")
    if not terms and not is_filtered:
        raise BadQuery('the query is empty; for example: python "list comprehension" site:docs.example.org -draft')
    return SearchQuery(
        text, tuple(terms), before=before, after=after, **{name: tuple(each) for name, each in found.items()}
    )


def _items(text: str) -> Iterator[tuple[str, str, str, bool]]:
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        assert match, "any text begins with a word, if an empty one"
        at = max(match.end(), at + 1)
        field, phrase = (match["field"] or "").lower(), match["phrase"]
        value = (phrase if phrase is not None else match["word"]).strip()
        minus = match["minus"]
        if field and field not in FIELDS:
            field, value = "", f"{match['field']}:{value}"
        if not value:
            if field:
                raise BadQuery(f"{field}: is followed by nothing; for example {_EXAMPLES[field]}")
            continue  # a lone minus, or an empty phrase
        yield minus, field, value, phrase is not None


_EXAMPLES = {
    "site": "site:example.org",
    "title": "title:introduction",
    "lang": "lang:en",
    "before": "before:2031-05-01",
    "after": "after:2031-05",
}


def _site(value: str) -> str:
    """`example.org/docs` of what people write; a host stands for its subdomains, too."""
    site = value.lower().partition("://")[2] if "://" in value else value.lower()
    site = site.removeprefix("*.").strip("/").partition("?")[0]
    if not site or " " in site:
        raise BadQuery(f"site:{value} names no site; for example {_EXAMPLES['site']} or site:example.org/docs")
    host, slash, path = site.partition("/")
    try:
        host = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise BadQuery(f"site:{value} names no site; for example {_EXAMPLES['site']}") from None
    return host + slash + path


def _language(value: str) -> str:
    if not _LANGUAGE.fullmatch(value):
        raise BadQuery(f"lang:{value} names no language; a code is expected, for example lang:en or lang:zh")
    return value.lower()


def _moment(field: str, value: str) -> float:
    """The beginning of a day, a month or a year."""
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            return datetime.strptime(value, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise BadQuery(f"{field}:{value} is no date; for example {_EXAMPLES[field]}") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def base_code(language: str) -> str:
    """`zh` of `zh-Hant`: dialects are found together."""
    return language.partition("-")[0].lower()
