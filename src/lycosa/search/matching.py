"""A query in the index's own terms: what a page must have, and what makes it come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

import tantivy
from tantivy import FieldType, Occur
from tantivy import Query as Clause

from lycosa.search.query import SearchQuery, Term, base_code
from lycosa.search.tokens import barred_tokens_of, is_spaceless, tokens_of

Tokens = tuple[str, ...]

# What a word counts for by where it stands. The best place counts, the others add a little.
_FIELDS = {"title": 2.5, "headings": 2.0, "address": 1.0, "body": 1.0, "rest": 0.3}
_OTHERS = 0.2
# The whole query, word for word: a title or heading that says just this, within a title or heading, within the text.
_EXACT = {"title": 3.0, "headings": 3.0}
_WITHIN = {"title": 1.0, "headings": 1.0, "address": 0.5, "body": 0.5, "rest": 0.1}
# Words of scripts without spaces may be cut otherwise in a page than in a query: most of them will do.
_SPACELESS_SHARE, _SPACELESS_SLOP = 0.6, 2


class Matcher:
    """One query over pages in some languages. A word is looked for as each language has it."""

    def __init__(self, schema: tantivy.Schema, query: SearchQuery, languages: Sequence[str]) -> None:
        self._schema = schema
        self._query = query
        self._languages = languages or [""]
        self._wanted = [term for term in query.terms if not term.is_excluded and self._variants(term.text)]

    @property
    def is_empty(self) -> bool:
        """Whether the query's terms have no word that could be found."""
        return not any(self._variants(term.text) for term in self._query.terms)

    @property
    def has_several_words(self) -> bool:
        """Whether a page could have some of the words and not all; phrases are not given up."""
        return sum(not (term.is_phrase or term.in_title) for term in self._wanted) > 1

    def pages(self, *, needs_all: bool) -> Clause:
        """What is asked of the pages."""
        whole = [(Occur.Should, clause) for clause in self._whole()]
        return Clause.boolean_query([*self._required(needs_all=needs_all), *whole])

    def _required(self, *, needs_all: bool) -> list[tuple[Occur, Clause]]:
        """What a page must have to be found; all else only adds to its score."""
        clauses = self._filters()
        words: list[tuple[Occur, Clause]] = []
        for term in self._wanted:
            must = needs_all or term.is_phrase or term.in_title
            (clauses if must else words).append((Occur.Must if must else Occur.Should, self._term(term)))
        if not needs_all:
            # Of several words at least one.
            clauses.append((Occur.Must, Clause.boolean_query(words)))
        if not any(occur is Occur.Must for occur, _ in clauses):
            clauses.append((Occur.Must, Clause.const_score_query(Clause.all_query(), 1.0)))
        return clauses

    def among(self, keys: Iterable[int]) -> Clause:
        """The pages of these keys, by the same filters; whatever words they have counts."""
        chosen = Clause.const_score_query(Clause.term_set_query(self._schema, "key", list(keys)), 0.0)
        words = [(Occur.Should, self._term(term)) for term in self._wanted]
        must = [(Occur.Must, self._term(term)) for term in self._wanted if term.is_phrase or term.in_title]
        return Clause.boolean_query([(Occur.Must, chosen), *self._filters(), *must, *words])

    def those_of(self, keys: Iterable[int], *, needs_all: bool) -> Clause:
        """Those of the pages of these keys that `pages` finds as well."""
        chosen = Clause.const_score_query(Clause.term_set_query(self._schema, "key", list(keys)), 0.0)
        return Clause.boolean_query([(Occur.Must, chosen), *self._required(needs_all=needs_all)])

    def anchors(self, schema: tantivy.Schema, *, needs_all: bool) -> Clause | None:
        """What is asked of the anchors of links; nothing where the query has no words. Anchors are not stemmed."""
        words = [term for term in self._wanted if not (term.is_phrase or term.in_title)]
        if not words:
            return None
        occur = Occur.Must if needs_all else Occur.Should
        clauses = [
            (occur, Clause.term_query(schema, "anchors", token))
            for term in words
            for token in dict.fromkeys(tokens_of(term.text, ""))
        ]
        exact = barred_tokens_of([self._query.plain_text], "")
        if not clauses:
            return None
        return Clause.boolean_query(
            [*clauses, (Occur.Should, Clause.boost_query(Clause.phrase_query(schema, "anchors", list(exact)), 2.0))]
        )

    # ---- terms

    def _term(self, term: Term) -> Clause:
        fields = {"title": 1.0} if term.in_title else _FIELDS
        return _best([self._sequence(tokens, fields, is_phrase=term.is_phrase) for tokens in self._variants(term.text)])

    def _sequence(self, tokens: Tokens, fields: dict[str, float], *, is_phrase: bool) -> Clause:
        if len(tokens) == 1:
            return self._token(tokens[0], fields)
        if is_phrase:
            return self._phrase(tokens, fields)
        words = [(Occur.Should, self._token(token, fields)) for token in dict.fromkeys(tokens)]
        share = _SPACELESS_SHARE if any(map(is_spaceless, tokens)) else 1.0
        return Clause.boolean_query(words, ceil(share * len(words)))

    def _token(self, token: str, fields: dict[str, float]) -> Clause:
        clauses = [
            Clause.boost_query(Clause.term_query(self._schema, name, token), weight) for name, weight in fields.items()
        ]
        if len(token) == 1 and is_spaceless(token):
            # Where characters are kept in pairs, one of them is in two.
            clauses += [Clause.regex_query(self._schema, name, f".?{token}.?") for name in fields]
        return _best(clauses)

    def _phrase(self, tokens: Tokens, fields: dict[str, float]) -> Clause:
        slop = _SPACELESS_SLOP if any(map(is_spaceless, tokens)) else 0
        words: list[str | tuple[int, str]] = list(tokens)
        return _best(
            [
                Clause.boost_query(Clause.phrase_query(self._schema, name, words, slop), weight)
                for name, weight in fields.items()
            ]
        )

    def _whole(self) -> list[Clause]:
        """The query as one phrase, as far as it has words."""
        text = self._query.plain_text
        clauses = []
        for language in self._languages:
            barred = tuple(barred_tokens_of([text], language))
            if len(barred) > 1:
                clauses.append(self._phrase(barred, _EXACT))
        several = [tokens for tokens in self._variants(text) if len(tokens) > 1]
        clauses += [self._phrase(tokens, _WITHIN) for tokens in several]
        return clauses

    def _variants(self, text: str) -> list[Tokens]:
        """The tokens of a text in each language, each once."""
        found = dict.fromkeys(tuple(tokens_of(text, language)) for language in self._languages)
        return [tokens for tokens in found if tokens]

    # ---- filters

    def _filters(self) -> list[tuple[Occur, Clause]]:
        """What does not add to the score. The row that says what was taken in has no language and is never found."""
        query = self._query
        clauses = []
        for values, field, occur in (
            (query.sites, "place", Occur.Must),
            (query.not_sites, "place", Occur.MustNot),
            ([base_code(code) for code in query.languages], "language", Occur.Must),
            ([base_code(code) for code in query.not_languages], "language", Occur.MustNot),
        ):
            if values:
                chosen = Clause.term_set_query(self._schema, field, list(values))
                clauses.append((occur, Clause.const_score_query(chosen, 0.0)))
        if query.before is not None or query.after is not None:
            # From the beginning of one moment until before the beginning of the other.
            lower = None if query.after is None else ceil(query.after)
            upper = None if query.before is None else ceil(query.before) - 1
            dates = Clause.range_query(self._schema, "dated", FieldType.Integer, lower, upper)
            clauses.append((Occur.Must, Clause.const_score_query(dates, 0.0)))
        clauses += [(Occur.MustNot, self._term(term)) for term in query.terms if term.is_excluded]
        clauses.append((Occur.MustNot, Clause.term_query(self._schema, "key", 0)))
        return clauses


def _best(clauses: list[Clause]) -> Clause:
    return clauses[0] if len(clauses) == 1 else Clause.disjunction_max_query(clauses, _OTHERS)
