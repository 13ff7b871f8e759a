"""Meaning: the vectors of a catalog's entries, compared with a query's."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolsearch_server import kernel
from toolsearch_server.embedders import Embedder, Matrix, Scale, Vector, embedded_text
from toolsearch_server.entry import Entry

Slots = NDArray[np.int64]

FIRST_CAPACITY = 64
SAMENESS_WEIGHT = 0.5
"""Variants of one another lose so much of their likeness beyond what makes them variants."""
PRIOR_ENTRIES = 20
SCORE_DIGITS = 5

Digest = bytes
"""Of the text that a vector is made from."""

UNKNOWN_SCALE = Scale(mean=0.0, deviation=1.0, near=1.0, same=1.0, weight=0.0)
"""As long as there is no vector."""


def text_digest(text: str) -> Digest:
    return blake2b(text.encode(), digest_size=16).digest()


class Similarities(NamedTuple):
    """How near each slot's entry is to a query, and what is usual in this catalog.

    An entry without a vector is near to nothing, and nothing unusual. `nearest` are the slots of those that are near at all, as
    many as were asked for.
    """

    cosines: Vector
    usual: kernel.Usual
    nearest: Slots

    def unusual(self, slot: int) -> float:
        """A standard score: by how many deviations a cosine is above what is usual."""
        return (float(self.cosines[slot]) - self.usual.mean) / self.usual.deviation


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

    @functools.cached_property
    def _rows_at(self) -> int:
        return kernel.address(self._rows)

    @functools.cached_property
    def _missing(self) -> Slots:
        return np.fromiter(self.missing, dtype=np.int64)

    @functools.cached_property
    def _absent(self) -> Slots:
        return np.fromiter(self._dead | self.missing, dtype=np.int64)

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

    def varied(self, slots: Sequence[int], scores: Sequence[float], count: int) -> list[tuple[int, float]]:
        """The `count` entries that are best together: what is nearly the same as a better one gives way.

        `slots` with `scores`, best first; the result has places in them, each with its loss, which is less than its gain over
        the next.
        """
        if self.missing:
            slots = [-1 if slot in self.missing else slot for slot in slots]
        return kernel.varied(
            self._rows_at,
            self._rows.shape[1],
            slots,
            scores,
            same=self.scale.same,
            weight=SAMENESS_WEIGHT,
            wanted=count,
            digits=SCORE_DIGITS,
        )

    def similarities(self, vector: Vector, count: int) -> Similarities:
        """`count`: of the nearest."""
        cosines = self._rows[: self._size] @ vector
        usually = kernel.Usual(self.scale.mean, self.scale.deviation)
        # A small catalog says little about what is usual: it is taken together with what is usual elsewhere.
        near, usual = kernel.nearest(
            cosines, self._absent, prior=PRIOR_ENTRIES, usually=usually, least=self.scale.near, wanted=count
        )
        return Similarities(cosines, usual, near)

    def blend(self, words: kernel.Best, near: Slots, similarities: Similarities) -> kernel.Blend:
        """What was found by words or by meaning, best first."""
        return kernel.blend(
            words,
            near,
            similarities.cosines,
            self._missing,
            similarities.usual,
            weight=self.scale.weight,
            digits=SCORE_DIGITS,
        )
