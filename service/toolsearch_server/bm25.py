"""The word index: BM25 over names, descriptions and parameters. The only module that knows Tantivy.

One combined text is indexed twice, as stems and as plain words, because BM25 saturates per field and separate fields for
name, description and parameters rank worse; concepts find what is said in other words; the name alone and the trigrams of the
name add a little each.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import tantivy

from toolsearch_server import text
from toolsearch_server.concepts import concepts
from toolsearch_server.document import Postings
from toolsearch_server.selection import BANNED, EVERYTHING, Selection

WRITER_HEAP_BYTES = 15_000_000
MAX_MORE_SEGMENTS = 8
MAX_DEAD_SHARE = 0.1
TIE_MARGIN = 16
SCORE_DIGITS = 4
"""Scores are compared to so many decimals: the order in which Tantivy adds its floats is no reason to prefer an entry."""

STEMS, WORDS, NAME, CONCEPTS, TRIGRAMS = "stems", "words", "name", "concepts", "trigrams"
WEIGHTS = {STEMS: 0.6, WORDS: 0.4, NAME: 0.4, CONCEPTS: 0.5, TRIGRAMS: 0.06}


class QueryWord(NamedTuple):
    """A word to look for. `weight` is below 1 for one that does not stand in the query: a guess, or a synonym of the words
    with the stems in `stands_for`, which do."""

    word: str
    stem: str
    weight: float = 1.0
    stands_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query asks for, analysed."""

    words: tuple[QueryWord, ...]
    concepts: tuple[str, ...]
    trigrams: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[QueryWord]) -> "Asked":
        certain = [word.stem for word in words if word.weight == 1.0]
        pieces = text.trigrams(word.word for word in words)
        return cls(tuple(words), tuple(dict.fromkeys(concepts(certain))), tuple(dict.fromkeys(pieces)))


class Hit(NamedTuple):
    slot: int
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    hits: list[Hit]
    total: int


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in WEIGHTS:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("slot", indexed=True, fast=True)
    return builder.build()


_SCHEMA = _schema()


class Bm25Index:
    """An immutable snapshot. `changed` gives the next one; only the newest may be changed again."""

    def __init__(self, index: tantivy.Index, *, dead: int, built_segments: int = 0) -> None:
        self._index = index
        self._searcher = index.searcher()
        self._dead = dead
        self._built_segments = built_segments or self._searcher.num_segments

    @classmethod
    def build(cls, documents: Iterable[tuple[int, Postings, frozenset[str]]]) -> Self:
        index = tantivy.Index(_SCHEMA)
        index.config_reader("manual")  # the default policy starts a watcher that stalls commits
        _write(index, removed=(), added=documents)
        return cls(index, dead=0)

    def changed(self, *, removed: Sequence[int], added: Iterable[tuple[int, Postings, frozenset[str]]]) -> Self:
        _write(self._index, removed=removed, added=added)
        return type(self)(self._index, dead=self._dead + len(removed), built_segments=self._built_segments)

    @property
    def worn(self) -> bool:
        """Deleted documents still count in BM25's statistics, and segments cost time: build anew now and then."""
        more_segments = self._searcher.num_segments - self._built_segments
        return self._dead > MAX_DEAD_SHARE * self._searcher.num_docs or more_segments > MAX_MORE_SEGMENTS

    @property
    def size(self) -> int:
        return self._searcher.num_docs

    def inverse_frequency(self, stem: str) -> float:
        """BM25's idf of a stem, 0 for one that no document has."""
        having = self._searcher.doc_freq(STEMS, stem)
        return math.log(1 + (self.size + 0.5) / (having + 0.5)) if having else 0.0

    def has_word(self, word: str) -> bool:
        return self._searcher.doc_freq(WORDS, word) > 0

    def knows(self, word: QueryWord) -> bool:
        return self._searcher.doc_freq(STEMS, word.stem) > 0 or self._searcher.doc_freq(WORDS, word.word) > 0

    def search(self, asked: Asked, *, limit: int, selection: Selection = EVERYTHING) -> Hits:
        """The best `limit` documents that have any of the words or concepts, best first; trigrams only add to their scores."""
        if not asked.words:
            return Hits([], 0)
        trigrams = (_term(TRIGRAMS, trigram, WEIGHTS[TRIGRAMS]) for trigram in asked.trigrams)
        query = _selected(_any(_matching(asked), *trigrams, must_first=True), selection)
        wanted = limit + TIE_MARGIN
        while True:
            result = self._searcher.search(query, limit=wanted, count=True)
            hits: list[tuple[float, tantivy.DocAddress]] = result.hits
            if len(hits) < wanted or hits[-1][0] < hits[limit - 1][0]:
                break  # all documents that tie with the last wanted one are in
            wanted *= 4
        slots = self._searcher.fast_field_values("slot", [address for _, address in hits])
        scored = [Hit(int(slot or 0), round_score(score)) for slot, (score, _) in zip(slots, hits, strict=True)]
        return Hits(scored, int(result.count))  # type: ignore[attr-defined]  # missing in tantivy's stubs

    def count(self, asked: Iterable[Asked], *, selection: Selection = EVERYTHING) -> int:
        """How many documents have any of the words or concepts of any of the queries."""
        any_of_them = _any(*(_matching(each) for each in asked))
        result = self._searcher.search(_selected(any_of_them, selection), limit=1, count=True)
        return int(result.count)  # type: ignore[attr-defined]


def round_score(score: float) -> float:
    return round(score, SCORE_DIGITS)


def _write(index: tantivy.Index, *, removed: Iterable[int], added: Iterable[tuple[int, Postings, frozenset[str]]]) -> None:
    """One commit. The writer is not kept: an open one costs threads and memory for every catalog."""
    writer = index.writer(WRITER_HEAP_BYTES, 1)
    for slot in removed:
        writer.delete_documents_by_term("slot", slot)
    for slot, postings, facets in added:
        document = tantivy.Document()
        document.add_integer("slot", slot)
        document.add_text(STEMS, postings.stems)
        document.add_text(WORDS, postings.words)
        document.add_text(NAME, postings.name_stems)
        document.add_text(CONCEPTS, postings.concepts)
        document.add_text(TRIGRAMS, postings.name_trigrams)
        for facet in facets:
            document.add_text("facets", facet)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()


def _term(field: str, term: str, weight: float) -> tantivy.Query:
    return tantivy.Query.boost_query(tantivy.Query.term_query(_SCHEMA, field, term, "freq"), weight)


def _matching(asked: Asked) -> tantivy.Query:
    """What makes a document match at all."""
    clauses = [_term(CONCEPTS, concept, WEIGHTS[CONCEPTS]) for concept in asked.concepts]
    for word, stem, weight, _ in asked.words:
        clauses.append(_term(STEMS, stem, WEIGHTS[STEMS] * weight))
        clauses.append(_term(WORDS, word, WEIGHTS[WORDS] * weight))
        clauses.append(_term(NAME, stem, WEIGHTS[NAME] * weight))
    return _any(*clauses)


def _any(*clauses: tantivy.Query, must_first: bool = False) -> tantivy.Query:
    occurs = [tantivy.Occur.Should] * len(clauses)
    if must_first:
        occurs[0] = tantivy.Occur.Must
    return tantivy.Query.boolean_query(list(zip(occurs, clauses, strict=True)))


def _selected(query: tantivy.Query, selection: Selection) -> tantivy.Query:
    if selection == EVERYTHING:
        return query
    clauses = [(tantivy.Occur.Must, query)]
    for facets in selection.all_of:
        having = tantivy.Query.term_set_query(_SCHEMA, "facets", sorted(facets))
        clauses.append((tantivy.Occur.Must, tantivy.Query.const_score_query(having, 0.0)))
    if selection.unbanned:
        clauses.append((tantivy.Occur.MustNot, tantivy.Query.term_query(_SCHEMA, "facets", BANNED)))
    if selection.excluded:
        excluded = tantivy.Query.term_set_query(_SCHEMA, "slot", sorted(selection.excluded))
        clauses.append((tantivy.Occur.MustNot, excluded))
    return tantivy.Query.boolean_query(clauses)
