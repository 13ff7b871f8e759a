"""Ranking: one list of matches for all phrasings of a query."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from toolsearch_server.errors import shorten
from toolsearch_server.limits import Limits
from toolsearch_server.names import NEAR_CUTOFF, NEAR_NAMES, Budget
from toolsearch_server.query import Candidate, Found, Indexes, Part, Query, Strategy, both, one_part
from toolsearch_server.relevance import Judgement, MatchedBy
from toolsearch_server.selection import EVERYTHING, PINNED, Selection
from toolsearch_server.strategies import STRATEGIES

FUSION_DEPTH = 50
"""How many matches of each phrasing are looked at when several are fused."""

PIN_DEPTH = 50
PIN_SHARE = 0.5
"""A pinned entry comes first if it is among so many best matches, with this share of the best score."""


class Match(NamedTuple):
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


def search(indexes: Indexes, query: Query, *, selection: Selection = EVERYTHING, limits: Limits) -> Ranking:
    """Rank what `selection` admits. Equal scores are ordered by name."""
    depth = query.limit if len(query.texts) == 1 else max(query.limit, FUSION_DEPTH)
    if query.min_relevance:
        depth = max(depth, limits.search_limit)  # what is relevant enough is not always what comes first
    if indexes.settings.pinned:
        depth = max(depth, PIN_DEPTH)
    budget = Budget(limits.search_seconds)
    find = STRATEGIES[query.strategy]
    found = [find(indexes, each, selection, limits) for each in _single(query, depth, budget)]
    candidates = found[0].candidates if len(found) == 1 else _fused(found)
    if indexes.settings.pinned:
        _pin(indexes, candidates)
    candidates.sort(key=lambda candidate: (-candidate.score, indexes.document(candidate.slot).entry.name))
    matches = (
        _judged(candidate, explain=query.explain) for candidate in candidates[: depth if query.min_relevance else query.limit]
    )
    return Ranking(
        matches=list(islice((match for match in matches if match.relevance >= query.min_relevance), query.limit)),
        total=found[0].total if len(found) == 1 else _union_size(indexes, found, selection),
        strategy=found[0].strategy if len({each.strategy for each in found}) == 1 else Strategy.AUTO,
        notes=tuple(dict.fromkeys(note for each in found for note in each.notes)),
        near_names=() if candidates else near_names(indexes, query.texts, selection),
    )


def _pin(indexes: Indexes, candidates: Sequence[Candidate]) -> None:
    """Pinned entries that match well come before all others but those that were named."""
    best = max((candidate.score for candidate in candidates if not candidate.named), default=0.0)
    highest = 0.0
    for candidate in candidates:
        pinned = PINNED in indexes.document(candidate.slot).facets
        if pinned and not candidate.named and candidate.score >= PIN_SHARE * best > 0:
            on_top = best - candidate.score + candidate.score / (2 * best)  # at most half of what a name is worth
            candidate.parts = partial(both, candidate.parts, partial(one_part, "pinned", on_top, "by the catalog's settings"))
            candidate.score += on_top
            highest = max(highest, candidate.score)
    named = [candidate for candidate in candidates if candidate.named]
    if any(candidate.score <= highest for candidate in named):  # named by one phrasing of several, which counts less
        for candidate in named:
            candidate.parts = partial(both, candidate.parts, partial(one_part, "exact name", highest, "above what is pinned"))
            candidate.score += highest


def near_names(indexes: Indexes, texts: Iterable[str], selection: Selection = EVERYTHING) -> tuple[str, ...]:
    """Canonical names spelled most like any of the texts."""
    hits = (hit for each in texts for hit in indexes.names.near(each, NEAR_CUTOFF) if indexes.admits(selection, hit.slot))
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


def _single(query: Query, limit: int, budget: Budget) -> Iterator[Query]:
    """A query for each phrasing."""
    for index, phrasing in enumerate(query.texts):
        place, vectors = f"queries[{index}]", query.vectors[index : index + 1]
        yield replace(query, texts=(phrasing,), vectors=vectors, limit=limit, place=place, budget=budget)


def _judged(candidate: Candidate, *, explain: bool) -> Match:
    judgement = candidate.judge()
    return Match(
        slot=candidate.slot,
        score=candidate.score,
        relevance=judgement.relevance,
        reason=judgement.reason,
        matched_by=judgement.matched_by,
        parts=tuple(candidate.parts()) if explain else (),
    )


def _fused(found: Sequence[Found]) -> list[Candidate]:
    """One list for several phrasings: an entry's shares of each phrasing's best score are added."""
    fused: dict[int, Candidate] = {}
    for number, each in enumerate(found, start=1):
        best = each.best_score if each.best_score > 0 else 1.0
        for candidate in each.candidates:
            share = candidate.score / best
            parts = partial(one_part, f"phrasing {number}", share, f"{candidate.score:.4g} of the best {best:.4g}")
            known = fused.get(candidate.slot)
            if known is None:
                fused[candidate.slot] = Candidate(candidate.slot, share, candidate.judge, parts, candidate.named)
            else:
                known.named |= candidate.named
                known.score += share
                known.judge = partial(_more_relevant, known.judge, candidate.judge)
                known.parts = partial(both, known.parts, parts)
    return list(fused.values())


def _more_relevant(left: Callable[[], Judgement], right: Callable[[], Judgement]) -> Judgement:
    return max(left(), right(), key=lambda judgement: judgement.relevance)


def _union_size(indexes: Indexes, found: Sequence[Found], selection: Selection) -> int:
    """How many entries any phrasing matches: those with the words of any of them, and at least so many otherwise."""
    asked = [each.asked for each in found if each.asked and each.by_words]
    by_words = indexes.bm25.count(asked, selection=selection) if asked else 0
    known = {candidate.slot for each in found for candidate in each.candidates}.union(*(each.slots for each in found))
    return max(by_words, len(known), *(each.total for each in found))
