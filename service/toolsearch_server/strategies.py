"""The strategies: each finds candidates for one phrasing in the indexes of one catalog. Pure functions."""

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from toolsearch_server import text
from toolsearch_server.bm25 import TIE_MARGIN, Asked, QueryWord, round_score
from toolsearch_server.document import Document
from toolsearch_server.errors import EmbeddingsUnavailable, PatternInvalid, StrategyUnavailable
from toolsearch_server.kernel import Blend
from toolsearch_server.limits import Limits
from toolsearch_server.names import NO_HITS, Fit, Pattern, PatternHits, looks_like_pattern
from toolsearch_server.query import Candidate, Found, Indexes, Part, Query, SearchField, Strategy, both, one_part
from toolsearch_server.relevance import (
    ELSEWHERE_RELEVANCE,
    FIT_REASON,
    FIT_RELEVANCE,
    NAMED_EXACTLY,
    AskedWord,
    AskedWords,
    judge_both,
    judge_meaning,
    judge_pattern,
    judge_spelling,
    judge_words,
    sign_of,
)
from toolsearch_server.selection import EVERYTHING, Selection
from toolsearch_server.vectors import Similarities, Slots, VectorIndex

HYBRID_DEPTH = 50
"""How many matches by words and by meaning are looked at when they are fused."""

VARIETY_POOL = 20
"""How many more than were asked for compete when variants of one another give way."""

NOTHING_EMBEDDED = "no entry of this catalog has been embedded yet"

GUESS_WEIGHT = 0.8
"""What a corrected word counts, times its similarity."""

SYNONYM_WEIGHT = 0.9
"""What a synonym counts that the catalog's settings give."""

LONGER_THAN_NAMES = 1_000_000

USAGE_WEIGHT = 0.05
"""What the entry that is used most gains, as a share of the best score. Little: it decides between matches that are about as
good."""


def _auto(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> Found:
    phrasing = query.texts[0]
    named = [slot for slot in indexes.names.exact(phrasing) if indexes.admits(selection, slot)]
    if not named and len(phrasing) <= limits.pattern_length and looks_like_pattern(phrasing):
        try:
            found = _regex(indexes, query, selection, limits)
        except PatternInvalid:
            found = None
        if found and found.candidates:
            return found
    found = _by_words_and_meaning(indexes, query, selection, query_words(indexes, phrasing, limits, correct=True))
    if not named and found.by_words < query.limit:
        _add_near(found, _fuzzy(indexes, query, selection, limits))
    _put_first(named, found)
    return found


def _put_first(named: Sequence[int], found: Found) -> None:
    """The entries that were named come first, with more than the score of the best match on top of their own."""
    on_top = found.best_score + 1.0
    by_slot = {candidate.slot: candidate for candidate in found.candidates}
    for slot in named:
        candidate = by_slot.get(slot)
        if candidate is None:
            candidate = Candidate(slot, 0.0, lambda: NAMED_EXACTLY, list)
            found.candidates.append(candidate)
        candidate.judge = lambda: NAMED_EXACTLY
        candidate.named = True
        candidate.score += on_top
        candidate.parts = partial(both, candidate.parts, partial(one_part, "exact name", on_top, "above every other match"))
    found.total = max(found.total, len(found.candidates))


def _add_near(found: Found, near: Found) -> None:
    """Few entries have the words: names that are spelled like the query count as much as they are like it."""
    scale = max(found.best_score, 1.0)
    by_slot = {candidate.slot: candidate for candidate in found.candidates}
    for candidate in near.candidates:
        candidate.score *= scale
        candidate.parts = partial(one_part, "spelling", candidate.score, f"times the best score {scale:.4g}")
        known = by_slot.get(candidate.slot)
        if known is None:
            found.candidates.append(candidate)
        elif known.score < candidate.score:
            known.score, known.judge, known.parts = candidate.score, candidate.judge, candidate.parts
    found.total = max(found.total, len(found.candidates))


def _bm25(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> Found:
    return _by_words(indexes, query, selection, query_words(indexes, query.texts[0], limits))


def _by_words(indexes: Indexes, query: Query, selection: Selection, words: Sequence[QueryWord]) -> Found:
    analysed = Asked(tuple(words))
    hits = indexes.bm25.search(analysed, limit=query.limit, selection=selection)
    asked = _asked_words(indexes, words)
    size = indexes.bm25.size
    best = float(hits.scores[0]) if len(hits.scores) else 0.0
    scale = best or 1.0  # a word that all of very many have is worth so little that it is rounded to nothing
    candidates = []
    for slot, score in zip(hits.slots.tolist(), hits.scores.tolist(), strict=True):
        judge = partial(judge_words, indexes.document(slot), asked, score / scale, entries=size)
        parts = partial(one_part, "words", score, "BM25 of words, stems, concepts, name and trigrams")
        candidates.append(_with_usage(query, Candidate(slot, score, judge, parts), best))
    return Found(candidates, hits.total, Strategy.BM25, by_words=hits.total, asked=analysed)


def _hybrid(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> Found:
    found = _by_words_and_meaning(indexes, query, selection, query_words(indexes, query.texts[0], limits))
    if indexes.vectors is None:
        found.notes = ("ranked by words alone: this server has no embedding model",)
    return found


def _by_words_and_meaning(indexes: Indexes, query: Query, selection: Selection, words: Sequence[QueryWord]) -> Found:
    """Shares of the best score by words, plus how unusually near in meaning: for what is found either way."""
    depth = max(query.limit, HYBRID_DEPTH)
    near = _similarities(indexes, query, selection, depth)
    if indexes.vectors is None or near is None:
        found = _by_words(indexes, query, selection, words)
        if indexes.vectors is not None and indexes.vectors.entries:
            found.notes = (f"ranked by words alone: {query.without_meaning or NOTHING_EMBEDDED}",)
        return found
    analysed = Asked(tuple(words))
    hits = indexes.bm25.search(analysed, limit=depth, selection=selection)
    blend = indexes.vectors.blend(hits, _nearest(indexes, selection, near, depth), near)
    pool = _pool(indexes, query, blend)
    asked = _asked_words(indexes, words)
    size = indexes.bm25.size
    candidates = []
    for place, loss in indexes.vectors.varied([each.slot for each in pool], [each.score for each in pool], query.limit):
        slot, score, share, gain = pool[place]
        document = indexes.document(slot)
        if slot in indexes.vectors.missing:
            judge = partial(judge_words, document, asked, share, entries=size)
            parts = partial(_hybrid_parts, share, score, loss, gain, None)
        else:
            cosine = float(near.cosines[slot])
            judge = partial(judge_both, document, asked, share, cosine, near.unusual(slot), entries=size)
            parts = partial(_hybrid_parts, share, score, loss, gain, cosine)
        candidates.append(Candidate(slot, score - loss, judge, parts))
    total = max(hits.total, len(blend.slots))  # whether the nearest have words, too, is only known of the best
    notes = _notes(indexes.vectors)
    return Found(candidates, total, Strategy.HYBRID, by_words=hits.total, asked=analysed, notes=notes)


class _Competitor(NamedTuple):
    """One of the best by words and meaning. `gain`: by usage, a part of the score."""

    slot: int
    score: float
    share: float
    gain: float


def _pool(indexes: Indexes, query: Query, blend: Blend) -> list[_Competitor]:
    """The best first, those with equal scores in the order of their names."""
    count = query.limit + VARIETY_POOL
    if query.usage:
        best = max(blend.scores.tolist(), default=0.0)
        rows = zip(blend.slots.tolist(), blend.scores.tolist(), blend.shares.tolist(), strict=True)
        gains = ((slot, score, share, _usage_gain(query, slot, best)) for slot, score, share in rows)
        pool = [_Competitor(slot, score + gain, share, gain) for slot, score, share, gain in gains]
        pool = sorted(pool, key=lambda each: -each.score)[:count]
    else:
        rows = zip(*(each[:count].tolist() for each in blend), strict=True)
        pool = [_Competitor(slot, score, share, 0.0) for slot, score, share in rows]
    if len({each.score for each in pool}) < len(pool):
        pool.sort(key=lambda each: (-each.score, indexes.document(each.slot).entry.name))
    return pool


def _similarities(indexes: Indexes, query: Query, selection: Selection, count: int) -> Similarities | None:
    """With the nearest `count`, or all of them where some may be left out. None: no model, or its vectors are not there."""
    index = indexes.vectors
    if index is None:
        return None
    wanted = count if selection == EVERYTHING else len(indexes.documents)
    if index.embedder.instant:
        return index.similarities(index.embedder.embed_query(query.texts[0]), wanted)
    if not query.vectors or len(index.missing) >= index.entries:
        return None
    return index.similarities(query.vectors[0], wanted)


def _notes(index: VectorIndex) -> tuple[str, ...]:
    missing = len(index.missing)
    return (f"the meaning of {missing} of {index.entries} entries is not known yet",) if missing else ()


def _usage_gain(query: Query, slot: int, best: float) -> float:
    """What an entry gains by being used much."""
    return USAGE_WEIGHT * max(best, 0.0) * query.usage.get(slot, 0.0) if query.usage else 0.0


def _with_usage(query: Query, candidate: Candidate, best: float) -> Candidate:
    gain = _usage_gain(query, candidate.slot, best)
    if gain:
        candidate.score += gain
        candidate.parts = partial(both, candidate.parts, partial(_usage_part, gain))
    return candidate


def _usage_part(gain: float) -> list[Part]:
    return one_part("usage", gain, "it is used much")


def _hybrid_parts(share: float, score: float, loss: float, gain: float, cosine: float | None) -> list[Part]:
    known = "not known yet" if cosine is None else f"cosine {cosine:.3f}, as unusual as that is in this catalog"
    parts = [Part("words", share, "share of the best score by words"), Part("meaning", score - share - gain, known)]
    if gain:
        parts += _usage_part(gain)
    return [*parts, Part("variety", -loss, "it is much like a better match")] if loss else parts


def _semantic(indexes: Indexes, query: Query, selection: Selection, _: Limits) -> Found:
    if indexes.vectors is None:
        raise StrategyUnavailable(
            "strategy SEMANTIC needs an embedding model, and this server has none; install toolsearch-server[semantic]",
            field="strategy",
            given="SEMANTIC",
            allowed="AUTO, BM25, REGEX, FUZZY, HYBRID",
        )
    everything = len(indexes.documents)
    near = _similarities(indexes, query, selection, everything)
    if near is None:
        if not indexes.vectors.entries:
            return Found([], 0, Strategy.SEMANTIC)
        raise EmbeddingsUnavailable(
            f"strategy SEMANTIC cannot be used now: {query.without_meaning or NOTHING_EMBEDDED}",
            field="strategy",
            given="SEMANTIC",
        )
    candidates = []
    nearest = _nearest(indexes, selection, near, everything).tolist()
    for slot in nearest[: query.limit + TIE_MARGIN]:
        cosine = round_score(float(near.cosines[slot]))
        judge = partial(judge_meaning, cosine, near.unusual(slot), entries=indexes.bm25.size)
        parts = partial(one_part, "meaning", cosine, "cosine of the embeddings")
        candidates.append(_with_usage(query, Candidate(slot, cosine, judge, parts), 1.0))
    return Found(candidates, len(nearest), Strategy.SEMANTIC, slots=frozenset(nearest), notes=_notes(indexes.vectors))


def _nearest(indexes: Indexes, selection: Selection, near: Similarities, count: int) -> Slots:
    """Slots of the entries nearest in meaning, as far as they are near at all."""
    if selection == EVERYTHING:
        return near.nearest
    admitted = islice((slot for slot in near.nearest.tolist() if indexes.admits(selection, slot)), count)
    return np.fromiter(admitted, dtype=np.int64)


def _regex(indexes: Indexes, query: Query, selection: Selection, limits: Limits) -> Found:
    pattern = Pattern(query.texts[0], case_sensitive=query.case_sensitive, limits=limits, field=query.place)
    by_name = indexes.names.matching(pattern, query.budget) if SearchField.NAME in query.fields else NO_HITS
    if selection != EVERYTHING:
        admitted = np.array([indexes.admits(selection, slot) for slot in by_name.slots.tolist()], dtype=bool)
        by_name = PatternHits(*(each[admitted] for each in by_name))
    slots = frozenset(by_name.slots.tolist())
    elsewhere: dict[int, str] = {}
    for place in sorted(query.fields - {SearchField.NAME}):
        for slot, document in enumerate(indexes.documents):
            query.budget.check()
            if document is None or slot in slots or slot in elsewhere:
                continue
            if indexes.admits(selection, slot) and pattern.found_in(_content(document, place)):
                elsewhere[slot] = f"pattern is in the {place.name.lower()}"
    ranked = [(slot, FIT_RELEVANCE[fit], f"pattern {FIT_REASON[fit]}") for slot, fit in _best_fits(by_name, query.limit)]
    if len(slots) < query.limit:
        ranked += [(slot, ELSEWHERE_RELEVANCE, reason) for slot, reason in elsewhere.items()]
    ranked.sort(key=lambda item: (-item[1], *_shortest_first(indexes.document(item[0]))))
    candidates = [
        Candidate(
            slot,
            relevance + _short_name_bonus(rank),
            partial(judge_pattern, relevance, reason),
            partial(_pattern_parts, relevance, reason, rank),
        )
        for rank, (slot, relevance, reason) in enumerate(ranked[: query.limit])
    ]
    found = slots.union(elsewhere)
    return Found(candidates, len(found), Strategy.REGEX, slots=found)


def _best_fits(hits: PatternHits, count: int) -> list[tuple[int, Fit]]:
    """The best `count`, and all that are as good as the last of them but for the letters of their names."""
    if len(hits.slots) > count:
        merits = hits.fits * LONGER_THAN_NAMES + hits.lengths
        last = np.partition(merits, count - 1)[count - 1]
        hits = PatternHits(*(each[merits <= last] for each in hits))
    return [(slot, Fit(fit)) for slot, fit in zip(hits.slots.tolist(), hits.fits.tolist(), strict=True)]


def _content(document: Document, place: SearchField) -> str:
    if place == SearchField.PARAMETERS:
        return document.entry.parameters
    return f"{document.entry.title}\n{document.entry.description}"


def _shortest_first(document: Document) -> tuple[int, str]:
    return len(document.entry.name), document.entry.name


def _short_name_bonus(rank: int) -> float:
    """The rank decides, below the relevance that it refines."""
    return 0.05 / (1 + rank)


def _pattern_parts(relevance: float, reason: str, rank: int) -> list[Part]:
    return [
        Part("pattern", relevance, reason),
        Part("short name", _short_name_bonus(rank), f"number {rank + 1} by length"),
    ]


def _fuzzy(indexes: Indexes, query: Query, selection: Selection, _: Limits) -> Found:
    hits = [hit for hit in indexes.names.near(query.texts[0]) if indexes.admits(selection, hit.slot)]
    candidates = [
        Candidate(
            hit.slot,
            hit.similarity,
            partial(judge_spelling, hit.similarity),
            partial(one_part, "spelling", hit.similarity, "1 is the same"),
        )
        for hit in hits
    ]
    return Found(candidates, len(candidates), Strategy.FUZZY, slots=frozenset(hit.slot for hit in hits))


STRATEGIES: Mapping[Strategy, Callable[[Indexes, Query, Selection, Limits], Found]] = {
    Strategy.AUTO: _auto,
    Strategy.BM25: _bm25,
    Strategy.REGEX: _regex,
    Strategy.FUZZY: _fuzzy,
    Strategy.SEMANTIC: _semantic,
    Strategy.HYBRID: _hybrid,
}


# The words of a query


def query_words(indexes: Indexes, phrasing: str, limits: Limits, *, correct: bool = False) -> list[QueryWord]:
    """The words to rank by; of very many, the rarest. `correct` adds what unknown ones may have been meant to be."""
    content = text.content_words(phrasing, indexes.bm25.has_word)
    first_with_stem: dict[str, QueryWord] = {}
    for word in map(_query_word, content):
        first_with_stem.setdefault(word.stem, word)
    words = list(first_with_stem.values())
    if len(words) > limits.query_terms:
        known = (word for word in words if indexes.bm25.knows(word))
        rarest = sorted(known, key=lambda word: -indexes.bm25.inverse_frequency(word.stem))
        return rarest[: limits.query_terms]
    synonyms = _synonyms(indexes, phrasing, first_with_stem)
    if not correct:
        return words + synonyms
    understood = {stem for each in synonyms for stem in each.stands_for}
    puzzling = (word for word in words if word.stem not in understood and not indexes.bm25.knows(word))
    unknown = islice(puzzling, limits.corrected_words)
    guesses = (
        _query_word(guess)._replace(weight=GUESS_WEIGHT * similarity)
        for word in unknown
        for guess, similarity in indexes.names.corrections(word.word)
    )
    return [*words, *synonyms, *guesses]


@functools.lru_cache(maxsize=20_000)
def _query_word(word: str) -> QueryWord:
    return QueryWord(word, text.stems([word])[0])


def _synonyms(indexes: Indexes, phrasing: str, asked: Mapping[str, QueryWord]) -> list[QueryWord]:
    """What the catalog's settings add. Phrases are looked for in the query as it was said: "out of office" has a stop word."""
    if not indexes.thesaurus.groups:
        return []
    added = indexes.thesaurus.added_to(text.stems(text.words(phrasing)))
    standing = ((each, tuple(stem for stem in each.stems if stem in asked)) for each in added)
    synonyms = (QueryWord(each.word, each.stem, SYNONYM_WEIGHT, stems) for each, stems in standing if stems)
    return list(dict.fromkeys(synonyms))


def _asked_words(indexes: Indexes, words: Sequence[QueryWord]) -> AskedWords:
    """What each stem is worth. A word that no entry has is worth what the known ones are on average."""
    rarity = {word.stem: indexes.bm25.inverse_frequency(word.stem) for word in words if word.weight == 1.0}
    known = [value for value in rarity.values() if value]
    average = sum(known) / len(known) if known else 1.0
    asked = {
        word.stem: AskedWord.of(word.word, word.stem, rarity[word.stem] or average) for word in words if word.stem in rarity
    }
    for word in words:
        for stem in word.stands_for:
            synonyms = (*asked[stem].synonyms, (sign_of(word.stem), word.word))
            asked[stem] = asked[stem]._replace(synonyms=synonyms)
        if not word.stands_for and word.stem not in asked:
            asked[word.stem] = AskedWord.of(f"{word.word}?", word.stem, 0.0)
    return list(asked.values())
