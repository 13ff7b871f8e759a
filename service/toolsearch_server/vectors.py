"""Meaning: the vectors of a catalog's entries, compared with a query's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from toolsearch_server.embedders import Embedder, Matrix, Scale, Vector, embedded_text
from toolsearch_server.entry import Entry

Slots = NDArray[np.intp]
Scores = NDArray[np.float64]

FIRST_CAPACITY = 64
SAMENESS_WEIGHT = 0.5
"""Variants of one another lose so much of their likeness beyond what makes them variants."""
PRIOR_ENTRIES = 20

Digest = bytes
"""Of the text that a vector is made from."""

UNKNOWN_SCALE = Scale(mean=0.0, deviation=1.0, near=1.0, same=1.0, weight=0.0)
"""As long as there is no vector."""


def text_digest(text: str) -> Digest:
    return blake2b(text.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near each slot's entry is to a query: the cosine, and how unusual that is in this catalog (a standard score).

    An entry without a vector is near to nothing, and nothing unusual.
    """

    cosines: Vector
    standard_scores: Vector

    def nearest(self, count: int, min_cosine: float) -> Slots:
        """Slots of those that are at least so similar, nearest first."""
        near = np.flatnonzero(self.cosines >= min_cosine)
        if count < len(near):
            near = near[np.argpartition(-self.cosines[near], count)[:count]]
        return near[np.argsort(-self.cosines[near], kind="stable")]


@dataclass(frozen=True, slots=True)
class Blend:
    """What was found by its words or by its meaning: shares of the best score by words, and how unusually near in meaning."""

    slots: Slots
    shares: Scores
    unusual: Vector

    @classmethod
    def of(cls, slots: Slots, shares: Scores, nearest: Slots, standard_scores: Vector) -> "Blend":
        """`slots` with `shares` were found by their words, `nearest` by their meaning, or by both."""
        by_words = np.zeros(len(standard_scores), dtype=bool)
        by_words[slots] = True
        only_near = nearest[~by_words[nearest]]
        every = np.concatenate((slots, only_near))
        return cls(every, np.concatenate((shares, np.zeros(len(only_near)))), standard_scores[every])

    def scores(self, weight: float) -> Scores:
        """To five digits. `weight`: of meaning beside the words."""
        scores: Scores = (self.shares + weight * self.unusual.astype(np.float64)).round(5)
        return scores


class VectorIndex:
    """One row a slot; an immutable snapshot. `changed` and `filled` give the next one; only the newest may be changed again.

    Rows are only ever appended, or written where they were `missing`, which nobody reads: so snapshots share one buffer until
    it is full. An instant embedder leaves none missing and needs no digests.
    """

    def __init__(
        self,
        embedder: Embedder,
        rows: Matrix,
        size: int,
        dead: frozenset[int],
        digests: list[Digest],
        missing: frozenset[int],
        scale: Scale,
    ) -> None:
        self.embedder = embedder
        self.scale = scale
        self.missing = missing
        self._rows = rows
        self._size = size
        self._dead = dead
        self._digests = digests

    @classmethod
    def build(cls, embedder: Embedder, entries: Sequence[Entry], before: "VectorIndex | None" = None) -> "VectorIndex":
        """All `entries` in slots of their own. `before` has vectors that are known already."""
        capacity = max(FIRST_CAPACITY, len(entries))
        if embedder.instant:
            rows = np.zeros((capacity, embedder.dimensions), dtype=np.float32)
            empty = cls(embedder, rows, 0, frozenset(), [], frozenset(), embedder.scale)
            return empty.changed(removed=(), added=entries)
        if before is None:
            rows = np.zeros((capacity, 0), dtype=np.float32)
            before = cls(embedder, rows, 0, frozenset(), [], frozenset(), UNKNOWN_SCALE)
        rows = np.zeros((capacity, before._rows.shape[1]), dtype=np.float32)
        empty = cls(embedder, rows, 0, frozenset(), [], frozenset(), before.scale)
        return empty._extended(entries, before._known(range(before._size)))

    @property
    def bytes(self) -> int:
        return int(self._rows.nbytes)

    def changed(self, *, removed: Sequence[int], added: Sequence[Entry]) -> "VectorIndex":
        """`added` take the slots that follow."""
        if not self.embedder.instant:
            # What changed may be something else than the text.
            known = self._known(removed)
            index = self._extended(added, known)
            index._dead = self._dead | frozenset(removed)
            index.missing -= index._dead
            return index
        size = self._size + len(added)
        rows = self._with_capacity(size)
        rows[self._size : size] = self.embedder.embed_entries([embedded_text(entry) for entry in added])
        return VectorIndex(self.embedder, rows, size, self._dead | frozenset(removed), self._digests, self.missing, self.scale)

    def _extended(self, added: Sequence[Entry], known: Mapping[Digest, Vector]) -> "VectorIndex":
        size = self._size + len(added)
        rows = self._with_capacity(size)
        missing = set(self.missing)
        for slot, entry in enumerate(added, start=self._size):
            digest = text_digest(embedded_text(entry).whole)
            self._digests.append(digest)
            if digest in known:
                rows[slot] = known[digest]
            else:
                missing.add(slot)
        return VectorIndex(self.embedder, rows, size, self._dead, self._digests, frozenset(missing), self.scale)

    def filled(self, vectors: Mapping[Digest, Vector], scale: Scale) -> "VectorIndex":
        """With those of the missing vectors that have come."""
        come = {slot: vectors[self._digests[slot]] for slot in self.missing if self._digests[slot] in vectors}
        if not come:
            return self
        rows = self._rows
        if not rows.shape[1]:
            rows = np.zeros((len(rows), len(next(iter(come.values())))), dtype=np.float32)
        rows[list(come)] = np.stack(list(come.values()))
        return VectorIndex(self.embedder, rows, self._size, self._dead, self._digests, self.missing - come.keys(), scale)

    def digest(self, slot: int) -> Digest:
        return self._digests[slot]

    @property
    def entries(self) -> int:
        return self._size - len(self._dead)

    def _known(self, slots: Iterable[int]) -> dict[Digest, Vector]:
        absent = self._dead | self.missing
        return {self._digests[slot]: self._rows[slot] for slot in slots if slot not in absent}

    def _with_capacity(self, size: int) -> Matrix:
        if size <= len(self._rows):
            return self._rows
        rows = np.zeros((max(2 * len(self._rows), size), self._rows.shape[1]), dtype=np.float32)
        rows[: self._size] = self._rows[: self._size]
        return rows

    def varied(self, scores: Sequence[tuple[int, float]], count: int) -> list[tuple[int, float]]:
        """The `count` entries that are best together: what is nearly the same as a better one gives way.

        `scores` are slots with scores, best first; the result has places in that list, each with its loss, which is less than
        its gain over the next.
        """
        slots = [slot for slot, _ in scores]
        rows = self._rows[slots]
        if self.missing:
            rows[[number for number, slot in enumerate(slots) if slot in self.missing]] = 0.0
        likeness = rows @ rows.T
        likeness -= self.scale.same
        np.fill_diagonal(likeness, 0.0)
        if not likeness.size or likeness.max() <= 0.0:
            return [(place, 0.0) for place in range(min(count, len(slots)))]
        likeness *= SAMENESS_WEIGHT
        remaining = np.array([score for _, score in scores], dtype=np.float32)
        losses = np.zeros(len(slots), dtype=np.float32)
        chosen: list[tuple[int, float]] = []
        for _ in range(min(count, len(slots))):
            best = int((remaining - losses).argmax())
            chosen.append((best, round(float(losses[best]), 5)))
            np.maximum(losses, likeness[best], out=losses)
            remaining[best] = -np.inf
        return chosen

    def similarities(self, vector: Vector) -> Similarities:
        cosines = self._rows[: self._size] @ vector
        alive = cosines
        if self._dead or self.missing:
            absent = np.fromiter(self._dead | self.missing, dtype=np.intp)
            alive = np.delete(cosines, absent)
            cosines[absent] = -1.0
        # A small catalog says little about what is usual: it is taken together with what is usual elsewhere.
        count = len(alive) + PRIOR_ENTRIES
        mean = (float(alive.sum()) + PRIOR_ENTRIES * self.scale.mean) / count
        unusual = alive - mean
        squares = float(unusual @ unusual) + PRIOR_ENTRIES * self.scale.deviation**2
        standard_scores = (cosines - mean) / (squares / count) ** 0.5
        if self.missing:
            standard_scores[list(self.missing)] = 0.0
        return Similarities(cosines, standard_scores)
