"""Measures of a ranking, and whether a difference between two runs is one."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Measures:
    hit_1: float
    hit_5: float
    recall_10: float
    ndcg_10: float
    mrr: float

    @staticmethod
    def names() -> list[str]:
        return ["hit@1", "hit@5", "recall@10", "nDCG@10", "MRR"]

    @staticmethod
    def mean(measures: Sequence["Measures"]) -> "Measures":
        columns = zip(*map(astuple, measures), strict=True)
        return Measures(*(sum(column) / len(measures) for column in columns))


def measure(ranked: Sequence[str], relevant: frozenset[str]) -> Measures:
    """Of the first ten: every relevant one counts the same."""
    places = [place for place, found in enumerate(ranked[:10]) if found in relevant]
    gain = sum(1 / math.log2(place + 2) for place in places)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return Measures(
        hit_1=float(0 in places),
        hit_5=float(any(place < 5 for place in places)),
        recall_10=len(places) / len(relevant),
        ndcg_10=gain / ideal,
        mrr=1 / (places[0] + 1) if places else 0.0,
    )


def paired_difference(new: Mapping[str, float], old: Mapping[str, float]) -> tuple[float, float, float] | None:
    """Mean difference over the queries of both, with its 95 % bootstrap interval; None if they share none."""
    differences = [new[query] - old[query] for query in new.keys() & old.keys()]
    if not differences:
        return None
    draw = random.Random(0)
    means = sorted(sum(draw.choices(differences, k=len(differences))) / len(differences) for _ in range(RESAMPLES))
    return sum(differences) / len(differences), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]
