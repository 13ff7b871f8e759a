"""Strategies: from a query to ranked entries with relevance and reasons. Pure functions over the indexes of one catalog."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial

from toolsearch_server import text
from toolsearch_server.bm25 import Bm25Index, QueryWord
from toolsearch_server.document import Document
from toolsearch_server.errors import PatternInvalid, StrategyUnavailable, shorten
from toolsearch_server.limits import Limits
from toolsearch_server.names import NEAR_CUTOFF, NEAR_NAMES, Fit, NameIndex, Pattern, looks_like_pattern
from toolsearch_server.selection import EVERYTHING, NO_FILTER, Filter, Selection

FUSION_DEPTH = 50
"""How many matches of each phrasing are looked at when several are fused."""

GUESS_WEIGHT = 0.8
"""What a corrected word counts, times its similarity."""

SPELLING_RELEVANCE = 0.9
PATTERN_ELSEWHERE_RELEVANCE = 0.5
PLACE_WEIGHTS = {"name": 1.0, "description": 0.8, "parameters": 0.65}
FIT_RELEVANCE = {Fit.WHOLE: 1.0, Fit.PREFIX: 0.9, Fit.INSIDE: 0.8}
FIT_REASON = {Fit.WHOLE: "is the whole name", Fit.PREFIX: "begins the name", Fit.INSIDE: "is in the name"}


class Strategy(IntEnum):
    """How a search is done; the numbers are the contract's."""

    AUTO = 1
    BM25 = 2
    REGEX = 3
    FUZZY = 4
    SEMANTIC = 5
    HYBRID = 6


class MatchedBy(IntEnum):
    """What made an entry match; the numbers are the contract's."""

    NAME = 1
    WORDS = 2
    PATTERN = 3
    SPELLING = 4
    MEANING = 5


class SearchField(IntEnum):
    """What a pattern is matched against; the numbers are the contract's."""

    NAME = 1
    DESCRIPTION = 2
    PARAMETERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    texts: tuple[str, ...]
    strategy: Strategy = Strategy.AUTO
    limit: int = 5
    filter: Filter = NO_FILTER
    fields: frozenset[SearchField] = frozenset({SearchField.NAME})
    case_sensitive: bool = False
    min_relevance: float = 0.0
    field: str = "queries[0]"
    """Where the text stands in the request, for errors; set when phrasings are ranked one by one."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """What one state of a catalog is searched by. `documents` are by slot."""

    bm25: Bm25Index
    names: NameIndex
    documents: Sequence[Document | None]

    def document(self, slot: int) -> Document:
        document = self.documents[slot]
        assert document is not None, "the indexes only know slots that are taken"
        return document


@dataclass(frozen=True, slots=True)
class Part:
    """One addend of a score."""

    name: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class Match:
    slot: int
    score: float
    relevance: float
    reason: str
    matched_by: tuple[MatchedBy, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    matches: list[Match]
    total: int
    strategy: Strategy
    notes: tuple[str, ...] = ()
    near_names: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """What one phrasing found: candidates best first, and how many match in all. Judged only if they make it to the answer."""

    candidates: "list[_Candidate]"
    total: int
    strategy: Strategy
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Candidate:
    slot: int
    score: float
    judge: "Callable[[], _Judgement]"
    parts: list[Part] = field(default_factory=list[Part])


@dataclass(frozen=True, slots=True)
class _Judgement:
    relevance: float
    reason: str
    matched_by: MatchedBy


def search(indexes: Indexes, query: Query, *, selection: Selection = EVERYTHING, limits: Limits) -> Ranking:
    """Rank what `selection` admits. The order is a function of the catalog's content and the query alone."""
    depth = query.limit if len(query.texts) == 1 else max(query.limit, FUSION_DEPTH)
    found = [
        _STRATEGIES[query.strategy](
            indexes, replace(query, texts=(phrasing,), limit=depth, field=f"queries[{index}]"), selection, limits
        )
        for index, phrasing in enumerate(query.texts)
    ]
    candidates = found[0].candidates if len(found) == 1 else _fused(found)
    candidates.sort(key=lambda candidate: (-candidate.score, indexes.document(candidate.slot).entry.name))
    matches = (_judged(candidate) for candidate in candidates[: query.limit])
    return Ranking(
        matches=[match for match in matches if match.relevance >= query.min_relevance],
        total=found[0].total if len(found) == 1 else _union_size(indexes, query, found, selection, limits),
        strategy=found[0].strategy if len({each.strategy for each in found}) == 1 else Strategy.AUTO,
        notes=tuple(dict.fromkeys(note for each in found for note in each.notes)),
        near_names=() if candidates else near_names(indexes, query.texts, selection),
    )


def near_names(indexes: Indexes, texts: Iterable[str], selection: Selection = EVERYTHING) -> tuple[str, ...]:
    """Canonical names spelled most like any of the texts."""
    hits = (hit for each in texts for hit in indexes.names.near(each, NEAR_CUTOFF) if _admits(indexes, selection, hit.slot))
    ordered = sorted((-hit.similarity, indexes.document(hit.slot).entry.name) for hit in hits)
    return tuple(dict.fromkeys(name for _, name in ordered))[:NEAR_NAMES]


def message(ranking: Ranking, query: Query) -> str:
    """What was found, in one line for a person or a model."""
    asked = " / ".join(f"“{shorten(phrasing)}”" for phrasing in query.texts)
    if ranking.matches:
        line = f"{len(ranking.matches)} of {ranking.total} entries that match {asked}"
    elif ranking.total:
        line = f"nothing that matches {asked} is relevant enough"
    else:
        line = f"nothing matches {asked}"
        if ranking.near_names:
            line += f"; names spelled like it: {', '.join(ranking.near_names)}"
    return "; ".join((line, *ranking.notes))


def _judged(candidate: _Candidate) -> Match:
    judgement = candidate.judge()
    return Match(
        slot=candidate.slot,
        score=candidate.score,
        relevance=judgement.relevance,
        reason=judgement.reason,
        matched_by=(judgement.matched_by,),
        parts=tuple(candidate.parts),
    )


def _fused(found: Sequence[_Found]) -> list[_Candidate]:
    """One list for several phrasings: an entry's shares of each phrasing's best score are added."""
    fused: dict[int, _Candidate] = {}
    for phrasing, each in enumerate(found, start=1):
        best = max((candidate.score for candidate in each.candidates), default=1.0) or 1.0
        for candidate in each.candidates:
            share = Part(f"phrasing {phrasing}", candidate.score / best, f"{candidate.score:.4g} of the best {best:.4g}")
            merged = fused.setdefault(candidate.slot, _Candidate(candidate.slot, 0.0, candidate.judge))
            merged.judge = _better_of(merged.judge, candidate.judge)
            merged.score += share.value
            merged.parts.append(share)
    return list(fused.values())


def _better_of(left: "Callable[[], _Judgement]", right: "Callable[[], _Judgement]") -> "Callable[[], _Judgement]":
    if left is right:
        return left
    return lambda: max(left(), right(), key=lambda judgement: judgement.relevance)


def _union_size(indexes: Indexes, query: Query, found: Sequence[_Found], selection: Selection, limits: Limits) -> int:
    """How many entries any phrasing matches."""
    if all(each.strategy == Strategy.BM25 for each in found):
        words = [word for phrasing in query.texts for word in query_words(indexes, phrasing, limits)]
        counted = indexes.bm25.count(words, selection=selection) if words else 0
    else:
        counted = max(each.total for each in found)
    return max(counted, len({candidate.slot for each in found for candidate in each.candidates}))


# The strategies. Each takes a query with one text.


def _auto(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> _Found:
    phrasing = query.texts[0]
    named = [slot for slot in indexes.names.exact(phrasing) if _admits(indexes, selection, slot)]
    if not named and len(phrasing) <= limits.pattern_length and looks_like_pattern(phrasing):
        try:
            found = _regex(indexes, query, selection, limits)
        except PatternInvalid:
            found = None
        if found and found.candidates:
            return found
    found = _by_words(indexes, query, selection, query_words(indexes, phrasing, limits, correct=True))
    if not named and found.total < query.limit:
        _add_near(indexes, query, selection, limits, found)
    _put_first(named, found)
    return found


def _put_first(named: Sequence[int], found: _Found) -> None:
    """The entries that were named come first, with the score of the best match on top of their own."""
    if not named:
        return
    best = max((candidate.score for candidate in found.candidates), default=0.0) + 1.0
    by_slot = {candidate.slot: candidate for candidate in found.candidates}
    for slot in named:
        candidate = by_slot.get(slot)
        if candidate is None:
            candidate = _Candidate(slot, 0.0, _named_exactly)
            found.candidates.append(candidate)
        candidate.judge = _named_exactly
        candidate.score += best
        candidate.parts.append(Part("exact name", best, "above every match by words"))
    found.total = max(found.total, len(found.candidates))


def _named_exactly() -> _Judgement:
    return _Judgement(1.0, "is the name asked for", MatchedBy.NAME)


def _add_near(indexes: Indexes, query: Query, selection: Selection, limits: Limits, found: _Found) -> None:
    """Few entries have the words: entries whose names are spelled like the query come after them."""
    known = {candidate.slot for candidate in found.candidates}
    lowest = min((candidate.score for candidate in found.candidates), default=1.0)
    near = _fuzzy(indexes, query, selection, limits)
    for candidate in near.candidates:
        if candidate.slot in known:
            continue
        candidate.score *= lowest * 0.9
        candidate.parts = [Part("near name", candidate.score, "below every match by words")]
        found.candidates.append(candidate)
        found.total += 1


def _bm25(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> _Found:
    return _by_words(indexes, query, selection, query_words(indexes, query.texts[0], limits))


def _by_words(indexes: Indexes, query: Query, selection: Selection, asked: Sequence[QueryWord]) -> _Found:
    trigrams = list(dict.fromkeys(text.trigrams(word.word for word in asked)))
    hits = indexes.bm25.search(asked, trigrams, limit=query.limit, selection=selection)
    weights = _word_weights(indexes, asked)
    candidates = [
        _Candidate(
            hit.slot,
            hit.score,
            partial(_judge_words, indexes.document(hit.slot), weights),
            [Part("bm25", hit.score, "words, stems, name and trigrams")],
        )
        for hit in hits.hits
    ]
    return _Found(candidates, hits.total, Strategy.BM25)


def query_words(indexes: Indexes, phrasing: str, limits: Limits, *, correct: bool = False) -> list[QueryWord]:
    """The words to rank by; of very many, the rarest. `correct` adds what unknown ones may have been meant to be."""
    content = text.content_words(phrasing)
    asked = [QueryWord(word, stem) for word, stem in zip(content, text.stems(content), strict=True)]
    asked = list({word.stem: word for word in reversed(asked)}.values())[::-1]
    if len(asked) > limits.query_terms:
        known = (word for word in asked if indexes.bm25.knows(word))
        rarest = sorted(known, key=lambda word: -indexes.bm25.inverse_frequency(word.stem))
        return rarest[: limits.query_terms]
    if not correct:
        return asked
    guesses = (
        QueryWord(guess, text.stems([guess])[0], GUESS_WEIGHT * similarity)
        for word in asked
        if not indexes.bm25.knows(word)
        for guess, similarity in indexes.names.corrections(word.word)
    )
    return asked + list(guesses)


def _word_weights(indexes: Indexes, asked: Sequence[QueryWord]) -> dict[str, tuple[str, float]]:
    """What each stem is worth: rare words more. A word that no entry has is worth what the known ones are on average."""
    rarity = {word.stem: indexes.bm25.inverse_frequency(word.stem) for word in asked if word.weight == 1.0}
    known = [value for value in rarity.values() if value]
    average = sum(known) / len(known) if known else 1.0
    weights = {word.stem: (word.word, rarity[word.stem] or average) for word in asked if word.stem in rarity}
    for word in asked:
        if word.weight < 1.0 and word.stem not in weights:
            weights[word.stem] = (f"{word.word}?", 0.0)
    return weights


def _judge_words(document: Document, weights: dict[str, tuple[str, float]]) -> _Judgement:
    """Relevance: the share of what was asked for that the entry has, by weight of word and place."""
    places = {
        "name": document.name_stems,
        "description": document.description_stems,
        "parameters": document.parameter_stems,
    }
    having: dict[str, list[str]] = {}
    covered = asked = guessed = 0.0
    for stem, (word, weight) in weights.items():
        asked += weight
        place = next((place for place, stems in places.items() if f" {stem} " in stems), None)
        if place is None:
            continue
        having.setdefault(place, []).append(word)
        covered += weight * PLACE_WEIGHTS[place]
        guessed += weight == 0.0
    relevance = covered / asked if asked else 0.0
    if not covered and guessed:
        relevance = GUESS_WEIGHT * PLACE_WEIGHTS["parameters"]
    reasons = [f"{', '.join(having[place])} in the {place}" for place in places if place in having]
    return _Judgement(min(1.0, relevance), "matches " + "; ".join(reasons) if reasons else "", MatchedBy.WORDS)


def _regex(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> _Found:
    pattern = Pattern(query.texts[0], case_sensitive=query.case_sensitive, limits=limits, field=query.field)
    ranked: list[tuple[int, float, str]] = []
    in_names: set[int] = set()
    if SearchField.NAME in query.fields:
        for slot, fit in indexes.names.matching(pattern):
            in_names.add(slot)
            ranked.append((slot, FIT_RELEVANCE[fit], f"pattern {FIT_REASON[fit]}"))
    for place in sorted(query.fields - {SearchField.NAME}):
        for slot, document in enumerate(indexes.documents):
            if document is not None and slot not in in_names and pattern.found_in(_content(document, place)):
                in_names.add(slot)
                ranked.append((slot, PATTERN_ELSEWHERE_RELEVANCE, f"pattern is in the {place.name.lower()}"))
    ranked = [item for item in ranked if _admits(indexes, selection, item[0])]
    ranked.sort(key=lambda item: (-item[1], *_shortest_first(indexes.document(item[0]))))
    candidates = [
        _Candidate(
            slot,
            # The rank decides, below the relevance that it refines.
            relevance + 0.05 / (1 + rank),
            partial(_Judgement, relevance, reason, MatchedBy.PATTERN),
            [Part("pattern", relevance, reason), Part("short name", 0.05 / (1 + rank), f"number {rank + 1} by length")],
        )
        for rank, (slot, relevance, reason) in enumerate(ranked[: query.limit])
    ]
    return _Found(candidates, len(ranked), Strategy.REGEX)


def _shortest_first(document: Document) -> tuple[int, str]:
    return len(document.entry.name), document.entry.name


def _content(document: Document, place: SearchField) -> str:
    if place == SearchField.PARAMETERS:
        return document.entry.parameters
    return f"{document.entry.title}\n{document.entry.description}"


def _fuzzy(indexes: Indexes, query: Query, selection: Selection, _: Limits) -> _Found:
    hits = [hit for hit in indexes.names.near(query.texts[0]) if _admits(indexes, selection, hit.slot)]
    candidates = [
        _Candidate(
            hit.slot,
            hit.similarity,
            partial(_judge_spelling, hit.similarity),
            [Part("spelling", hit.similarity, "1 is the same")],
        )
        for hit in hits
    ]
    return _Found(candidates, len(candidates), Strategy.FUZZY)


def _judge_spelling(similarity: float) -> _Judgement:
    reason = f"name is spelled like the query, {similarity:.0%} alike"
    return _Judgement(SPELLING_RELEVANCE * similarity, reason, MatchedBy.SPELLING)


def _semantic(*_: object) -> _Found:
    raise StrategyUnavailable(
        "strategy SEMANTIC needs an embedding model, and this server has none",
        field="strategy",
        given="SEMANTIC",
        allowed="AUTO, BM25, REGEX, FUZZY, HYBRID",
    )


def _hybrid(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> _Found:
    found = _bm25(indexes, query, selection, limits)
    found.notes = ("ranked by words alone: this server has no embedding model",)
    return found


def _admits(indexes: Indexes, selection: Selection, slot: int) -> bool:
    return selection.admits(slot, indexes.document(slot).facets)


_STRATEGIES: dict[Strategy, Callable[[Indexes, Query, Selection, Limits], _Found]] = {
    Strategy.AUTO: _auto,
    Strategy.BM25: _bm25,
    Strategy.REGEX: _regex,
    Strategy.FUZZY: _fuzzy,
    Strategy.SEMANTIC: _semantic,
    Strategy.HYBRID: _hybrid,
}
