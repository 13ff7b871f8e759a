"""The word index: BM25 over names, descriptions and parameters. The only module that knows Tantivy.

One combined text is indexed twice, as stems and as plain words, because BM25 saturates per field and separate fields for
name, description and parameters rank worse; concepts find what is said in other words; the name alone and the trigrams of the
name add a little each.

Tantivy selects and counts. Scores are added up from the same postings in word_scores.py, so that a filter changes none.
Searches without a filter, which are most, need nothing else.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tantivy

from toolsearch_server import text
from toolsearch_server.concepts import concepts
from toolsearch_server.document import Postings
from toolsearch_server.kernel import Best, Slots
from toolsearch_server.selection import BANNED, EVERYTHING, Selection
from toolsearch_server.word_scores import WordScores, term_key

WRITER_HEAP_BYTES = 15_000_000
MAX_MORE_SEGMENTS = 8
MAX_DEAD_SHARE = 0.1
TIE_MARGIN = 16
SCORE_DIGITS = 4
"""Scores are compared to so many decimals: the order in which Tantivy adds its floats is no reason to prefer an entry."""

STEMS, WORDS, NAME, CONCEPTS, TRIGRAMS = "stems", "words", "name", "concepts", "trigrams"
WEIGHTS = {STEMS: 0.6, WORDS: 0.4, NAME: 0.4, CONCEPTS: 0.5, TRIGRAMS: 0.06}
NUMBERS = {field: number for number, field in enumerate(WEIGHTS)}
KEPT_RARITIES = 1_000
"""Stems of which it is remembered how rare they are."""

Indexed = tuple[int, Postings, frozenset[str]]
"""A document as it is indexed: slot, words, facets."""


class QueryWord(NamedTuple):
    """A word to look for. `weight` is below 1 for one that does not stand in the query: a guess, or a synonym of the words
    with the stems in `stands_for`, which do."""

    word: str
    stem: str
    weight: float = 1.0
    stands_for: tuple[str, ...] = ()


class _Pieces(NamedTuple):
    """What a word is looked for by."""

    keys: tuple[int, int, int]
    concepts: tuple[str, ...]
    concept_keys: tuple[int, ...]
    trigrams: tuple[str, ...]
    trigram_keys: tuple[int, ...]


@functools.lru_cache(maxsize=20_000)
def _pieces(word: str, stem: str) -> _Pieces:
    meant, trigrams = tuple(concepts((stem,))), tuple(text.trigrams((word,)))
    return _Pieces(
        (term_key(NUMBERS[STEMS], stem), term_key(NUMBERS[WORDS], word), term_key(NUMBERS[NAME], stem)),
        meant,
        tuple(term_key(NUMBERS[CONCEPTS], concept) for concept in meant),
        trigrams,
        tuple(term_key(NUMBERS[TRIGRAMS], trigram) for trigram in trigrams),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query asks for. A concept or trigram of several words counts once."""

    words: tuple[QueryWord, ...]

    @property
    def concepts(self) -> Iterable[str]:
        certain = (word for word in self.words if word.weight == 1.0)
        return dict.fromkeys(concept for word in certain for concept in _pieces(word.word, word.stem).concepts)

    @property
    def trigrams(self) -> Iterable[str]:
        return dict.fromkeys(trigram for word in self.words for trigram in _pieces(word.word, word.stem).trigrams)


NO_HITS = Best(np.zeros(0, dtype=np.int64), np.zeros(0), 0)


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

    def __init__(self, index: tantivy.Index, scores: WordScores, *, dead: int, built_segments: int = 0) -> None:
        self._index = index
        self._scores = scores
        self._searcher = index.searcher()
        self._dead = dead
        self._built_segments = built_segments or self._searcher.num_segments
        self._rarities: dict[str, float] = {}
        self.size: int = self._searcher.num_docs

    @classmethod
    def build(cls, documents: Sequence[Indexed]) -> "Bm25Index":
        """In the order of slots, which begin at 0."""
        index = tantivy.Index(_SCHEMA)
        index.config_reader("manual")  # the default policy starts a watcher that stalls commits
        _write(index, removed=(), added=documents)
        return cls(index, WordScores.build(WEIGHTS, map(_by_field, documents)), dead=0)

    def changed(self, *, removed: Sequence[int], added: Sequence[Indexed]) -> "Bm25Index":
        """The slots that are added follow on the ones that there are."""
        _write(self._index, removed=removed, added=added)
        scores = self._scores.changed(removed=removed, added=map(_by_field, added))
        return Bm25Index(self._index, scores, dead=self._dead + len(removed), built_segments=self._built_segments)

    @property
    def worn(self) -> bool:
        """Deleted documents still count in BM25's statistics, and segments cost time: build anew now and then."""
        more_segments = self._searcher.num_segments - self._built_segments
        return self._dead > MAX_DEAD_SHARE * self.size or more_segments > MAX_MORE_SEGMENTS

    def inverse_frequency(self, stem: str) -> float:
        """BM25's idf of a stem, 0 for one that no document has."""
        known = self._rarities.get(stem)
        if known is None:
            having = self._searcher.doc_freq(STEMS, stem)
            known = math.log(1 + (self.size + 0.5) / (having + 0.5)) if having else 0.0
            if len(self._rarities) >= KEPT_RARITIES:
                self._rarities.clear()
            self._rarities[stem] = known
        return known

    def has_word(self, word: str) -> bool:
        return self._searcher.doc_freq(WORDS, word) > 0

    def knows(self, word: QueryWord) -> bool:
        return self.inverse_frequency(word.stem) > 0.0 or self.has_word(word.word)

    def search(self, asked: Asked, *, limit: int, selection: Selection = EVERYTHING) -> Best:
        """The best `limit` documents, and some more, that have any of the words or concepts; trigrams only add to their
        scores. All that tie with the last of them are there."""
        if not asked.words:
            return NO_HITS
        if selection == EVERYTHING:
            return self._best(asked, limit + TIE_MARGIN)
        chosen = self.chosen(asked, limit=limit, selection=selection)
        scored = self._best(asked, len(chosen.slots), among=chosen.slots)
        return Best(scored.slots, scored.scores, chosen.total)

    def chosen(self, asked: Asked, *, limit: int, selection: Selection) -> Best:
        """What Tantivy finds, with its scores: they drift from ours as entries change, because what was removed counts in its
        statistics until it merges segments, and in ours until everything is built anew."""
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
        scores = np.array([score for score, _ in hits]).round(SCORE_DIGITS)
        return Best(np.array(slots, dtype=np.int64), scores, int(result.count))  # type: ignore[attr-defined]  # missing in stubs

    def _best(self, asked: Asked, wanted: int, *, among: Slots | None = None) -> Best:
        keys, trigrams, weights = _keys(asked)
        return self._scores.best(keys, more=trigrams, weights=weights, wanted=wanted, digits=SCORE_DIGITS, among=among)

    def count(self, asked: Iterable[Asked], *, selection: Selection = EVERYTHING) -> int:
        """How many documents have any of the words or concepts of any of the queries."""
        any_of_them = _any(*(_matching(each) for each in asked))
        result = self._searcher.search(_selected(any_of_them, selection), limit=1, count=True)
        return int(result.count)  # type: ignore[attr-defined]


def round_score(score: float) -> float:
    return round(score, SCORE_DIGITS)


def _by_field(document: Indexed) -> tuple[str, ...]:
    """In the order of WEIGHTS."""
    postings = document[1]
    return postings.stems, postings.words, postings.name_stems, postings.concepts, postings.name_trigrams


def _keys(asked: Asked) -> tuple[list[int], int, dict[int, float]]:
    """The terms to add up, how many of the last are trigrams, and which of the others count for less than one."""
    keys: list[int] = []
    trigrams: list[int] = []
    concept_keys: list[int] = []
    weights: dict[int, float] = {}
    for word, stem, weight, _ in asked.words:
        pieces = _pieces(word, stem)
        trigrams += pieces.trigram_keys
        if weight == 1.0:
            concept_keys += pieces.concept_keys
        else:
            weights |= dict.fromkeys(range(len(keys), len(keys) + 3), weight)
        keys += pieces.keys
    once = dict.fromkeys(trigrams)
    return [*keys, *dict.fromkeys(concept_keys), *once], len(once), weights


def _write(index: tantivy.Index, *, removed: Iterable[int], added: Iterable[Indexed]) -> None:
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
