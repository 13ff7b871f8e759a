"""Relevance and reasons: how sure we are that a match is what was meant, and why it matched.

Relevance is a probability. The coefficients were fitted on labelled queries over real catalogs of 20 to 1,300 entries, together
with queries that were asked of the wrong catalog; docs/ranking.md has the method and the reliability tables. The size of the
catalog counts: being the best of a thousand that share a few words says less than being the best of twenty.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from toolsearch_server.concepts import concept_bits, related
from toolsearch_server.document import Document
from toolsearch_server.names import Fit

GUESS_RELEVANCE = 0.5
SPELLING_RELEVANCE = 0.9
FIT_RELEVANCE = {Fit.WHOLE: 1.0, Fit.PREFIX: 0.9, Fit.INSIDE: 0.8}
FIT_REASON = {Fit.WHOLE: "is the whole name", Fit.PREFIX: "begins the name", Fit.INSIDE: "is in the name"}
FITTED_SIZES = (20, 2_000)
FITTED_MEANING_WEIGHT = 0.15
"""Of a standard score of similarity, whatever it weighs in the ranking: relevance is to mean the same with every embedder."""
ELSEWHERE_RELEVANCE = 0.5
"""Of a pattern that is in the description or the parameters."""


class MatchedBy(IntEnum):
    """What made an entry match; the numbers are the contract's."""

    NAME = 1
    WORDS = 2
    PATTERN = 3
    SPELLING = 4
    MEANING = 5


class Judgement(NamedTuple):
    relevance: float
    reason: str
    matched_by: tuple[MatchedBy, ...]


NAMED_EXACTLY = Judgement(1.0, "is the name asked for", (MatchedBy.NAME,))


class AskedWord(NamedTuple):
    """A word of the query as it was typed, and what it is worth: rare words more, guessed ones nothing.

    `sign` is what an entry has that has the word. `synonyms`, signs with their words, are as good; `cousins` are related: they
    have one of its `concepts`.
    """

    word: str
    weight: float
    sign: str
    concepts: int = 0
    cousins: tuple[tuple[str, str], ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, word: str, stem: str, weight: float) -> "AskedWord":
        return cls(word, weight, sign_of(stem), concept_bits(stem), _cousins(stem))


@functools.lru_cache(maxsize=5_000)
def _cousins(stem: str) -> tuple[tuple[str, str], ...]:
    return tuple((sign_of(other), cousin) for other, cousin in related(stem))


def sign_of(stem: str) -> str:
    return f" {stem} "


AskedWords = Sequence[AskedWord]


class Coverage(NamedTuple):
    """Which part of what was asked for an entry has, by weight: its words, and words of the same concept."""

    words: float
    related: float
    guessed: bool
    reason: str


def coverage(document: Document, asked: AskedWords) -> Coverage:
    name, description, parameters = places = document.name_stems, document.description_stems, document.parameter_stems
    found: tuple[list[str], ...] = ([], [], [])
    words = cousins = total = 0.0
    guessed = False
    for each in asked:
        total += each.weight
        sign = each.sign
        place = 0 if sign in name else 1 if sign in description else 2 if sign in parameters else None
        if place is not None:
            found[place].append(each.word)
            words += each.weight
            guessed |= each.weight == 0.0
            continue
        stand_in = _stand_in(each.synonyms, places) if each.synonyms else None
        if stand_in is not None:
            words += each.weight
        elif each.concepts & document.concepts:
            stand_in = _stand_in(each.cousins, places[:2])
            assert stand_in is not None, "a stem of a concept that the word has"
            cousins += each.weight
        else:
            continue
        found[stand_in[1]].append(f"{each.word} (as {stand_in[0]})")
    total = total or 1.0
    names = ("name", "description", document.entry.inner_words)
    reason = "; ".join(f"{', '.join(those)} in the {name}" for name, those in zip(names, found, strict=True) if those)
    return Coverage(words / total, cousins / total, guessed, f"matches {reason}" if reason else "")


def _stand_in(signs: Iterable[tuple[str, str]], places: Sequence[str]) -> tuple[str, int] | None:
    """The first word that an entry has, and where."""
    for sign, word in signs:
        for number, stems in enumerate(places):
            if sign in stems:
                return word, number
    return None


def judge_words(document: Document, asked: AskedWords, share: float, *, entries: int) -> Judgement:
    """`share`: of the best match's score by words. `entries`: how many the catalog has."""
    covered = coverage(document, asked)
    evidence = 2.85 * covered.words + 1.67 * covered.related + 4.61 * share
    relevance = _probability(evidence - 3.84 - 1.12 * _magnitude(entries))
    if not covered.words and covered.guessed:
        relevance = max(relevance, GUESS_RELEVANCE)
    return Judgement(relevance, covered.reason, (MatchedBy.WORDS,))


def judge_both(
    document: Document, asked: AskedWords, share: float, cosine: float, standard_score: float, *, entries: int
) -> Judgement:
    """`share`: of the best match's score by words. `cosine` and `standard_score`: the similarity, and how unusual it is."""
    covered = coverage(document, asked)
    score = share + FITTED_MEANING_WEIGHT * standard_score
    evidence = 1.09 * covered.words + 0.92 * covered.related + 4.04 * score
    relevance = _probability(evidence - 3.05 - 1.74 * _magnitude(entries))
    similar = f"means something similar ({cosine:.2f})"
    if not covered.reason:
        return Judgement(relevance, similar, (MatchedBy.MEANING,))
    if not covered.words and covered.guessed:
        relevance = max(relevance, GUESS_RELEVANCE)
    return Judgement(relevance, covered.reason, (MatchedBy.WORDS, MatchedBy.MEANING))


def judge_meaning(cosine: float, standard_score: float, *, entries: int) -> Judgement:
    relevance = _probability(1.71 * cosine + 1.42 * standard_score - 1.02 - 2.81 * _magnitude(entries))
    return Judgement(relevance, f"means something similar ({cosine:.2f})", (MatchedBy.MEANING,))


def judge_pattern(relevance: float, reason: str) -> Judgement:
    return Judgement(relevance, reason, (MatchedBy.PATTERN,))


def judge_spelling(similarity: float) -> Judgement:
    reason = f"name is spelled like the query, {similarity:.0%} alike"
    return Judgement(SPELLING_RELEVANCE * similarity, reason, (MatchedBy.SPELLING,))


def _magnitude(entries: int) -> float:
    """The number of digits of the catalog's size, as far as the fit goes."""
    smallest, largest = FITTED_SIZES
    return math.log10(max(smallest, min(entries, largest)))


def _probability(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, log_odds))))
