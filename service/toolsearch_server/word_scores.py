"""BM25 in flat arrays: the scores that the word index would give, for all documents at once and without a query object.

Most searches have no filter, and a query has a hundred terms, most of them trigrams with a few postings each. Adding those up
takes a handful of array operations here, where Tantivy spends its time on setting up a scorer per term.

A term is known by a 64-bit hash of its text and field. Its postings are slots, each with a code that stands for everything
else that BM25 asks about the pair: field, frequency and length of the document. What a code is worth depends on the average
lengths, so it is looked up in a small table that is made anew with each snapshot, and postings never have to be.
"""

import ctypes
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolsearch_server import kernel

K1, B = 1.2, 0.75
"""As Tantivy has them."""
ORDINARY_FREQUENCY = 50
MOST_EXTRAORDINARY = 1_536
"""A code has 16 bits: enough for 5 fields, 256 lengths and 50 frequencies of a term in a document, and for so many kinds of
postings with higher ones. Whatever is beyond those counts as 50."""
RECENT_DOCUMENTS = 256
"""Documents are collected beside the others up to so many, and then put among them."""

Keys = NDArray[np.int64]
Slots = NDArray[np.int32]
Slots64 = NDArray[np.int64]
Codes = NDArray[np.uint16]
Scores = NDArray[np.float64]
Places = NDArray[np.int64]


def _lengths() -> list[int]:
    """The lengths of documents that are told apart: one byte, exact up to 40, then coarser and coarser."""
    exact = list(range(24))
    return exact + [24 + (code & 7 if code < 8 else (code & 7 | 8) << ((code >> 3) - 1)) for code in range(232)]


LENGTHS = np.array(_lengths(), dtype=np.int64)


def salt(field: int) -> int:
    return (field + 1) * 0x9E3779B97F4A7C15 & 0x7FFFFFFFFFFFFFFF


def term_key(field: int, term: str) -> int:
    """Good in this process only."""
    return hash(term) ^ salt(field)


class Kind(NamedTuple):
    """What a code stands for."""

    field: int
    frequency: int
    length: int


class Kinds:
    """The codes in use; only ever more of them, so that snapshots share one."""

    def __init__(self) -> None:
        self._codes: dict[Kind, int] = {}
        self._extraordinary = 0
        self._kinds = np.zeros((0, len(Kind._fields)))

    def code(self, kind: Kind) -> int:
        if kind.frequency > ORDINARY_FREQUENCY and kind not in self._codes:
            if self._extraordinary == MOST_EXTRAORDINARY:
                kind = kind._replace(frequency=ORDINARY_FREQUENCY)
            else:
                self._extraordinary += 1
        return self._codes.setdefault(kind, len(self._codes))

    def worths(self, weights: Sequence[float], averages: Sequence[float]) -> Scores:
        """By code: what a posting contributes, but for how rare its term is."""
        new = [*islice(self._codes, len(self._kinds), None)]
        if new:
            self._kinds = np.concatenate((self._kinds, np.array(new, dtype=np.float64)))
        field, frequency, length = self._kinds.T
        average = np.array(averages)[field.astype(np.intp)]
        weight = np.array(weights)[field.astype(np.intp)]
        worths: Scores = weight * (1 + K1) * frequency / (frequency + K1 * (1 - B + B * length / average))
        return worths


@dataclass(frozen=True, slots=True)
class _Part:
    """Postings by term. `keys` are sorted; the postings of `keys[i]` are from `starts[i]` to `starts[i + 1]`."""

    keys: Keys
    starts: Places
    slots: Slots
    codes: Codes

    @classmethod
    def of(cls, keys: Keys, slots: Slots, codes: Codes) -> "_Part":
        """From postings in any order of terms."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), dtype=bool), keys[1:] != keys[:-1])))
        return cls(keys[first], np.append(first, len(keys)), slots[order], codes[order])

    @property
    def bytes(self) -> int:
        return self.keys.nbytes + self.starts.nbytes + self.slots.nbytes + self.codes.nbytes

    def with_(self, other: "_Part") -> "_Part":
        return _Part.of(
            np.concatenate((np.repeat(self.keys, np.diff(self.starts)), np.repeat(other.keys, np.diff(other.starts)))),
            np.concatenate((self.slots, other.slots)),
            np.concatenate((self.codes, other.codes)),
        )

    def for_kernel(self) -> kernel.Part:
        """Good as long as this one is there."""
        return kernel.Part(*[kernel.address(each) for each in (self.keys, self.starts, self.slots, self.codes)], len(self.keys))


NOTHING = _Part.of(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16))


@dataclass(frozen=True, slots=True)
class WordScores:
    """An immutable snapshot. `changed` gives the next one; slots are only ever appended."""

    _weights: Mapping[str, float]
    _kinds: Kinds
    _base: _Part
    _recent: _Part
    _recent_documents: int
    _size: int
    """Slots, also of documents that were removed: they count in the statistics until everything is built anew."""
    _lengths: tuple[int, ...]
    """All documents together, by field."""
    _worths: Scores
    _dead: Slots64
    _parts: "ctypes.Array[kernel.Part]"

    @classmethod
    def build(cls, weights: Mapping[str, float], documents: Iterable[Sequence[str]]) -> "WordScores":
        """The texts of each document by field, words separated by spaces, in the order of slots."""
        kinds = Kinds()
        nobody = np.zeros(0, dtype=np.int64)
        empty = cls(weights, kinds, NOTHING, NOTHING, 0, 0, (0,) * len(weights), np.zeros(0), nobody, (kernel.Part * 0)())
        return empty._with(documents, ())

    def changed(self, *, removed: Sequence[int], added: Iterable[Sequence[str]]) -> "WordScores":
        return self._with(added, removed)

    def _with(self, documents: Iterable[Sequence[str]], removed: Sequence[int]) -> "WordScores":
        new, count, lengths = self._analysed(documents)
        base, recent, recent_documents = self._base, self._recent, self._recent_documents + count
        if not self._size:
            base, recent_documents = new, 0
        elif recent_documents > RECENT_DOCUMENTS:
            base, recent, recent_documents = base.with_(recent).with_(new), NOTHING, 0
        elif count:
            recent = recent.with_(new)
        size = self._size + count
        sums = tuple(known + more for known, more in zip(self._lengths, lengths, strict=True))
        worths = self._kinds.worths(tuple(self._weights.values()), [max(each, 1) / max(size, 1) for each in sums])
        dead = np.append(self._dead, np.array(removed, dtype=np.int64)) if removed else self._dead
        filled = [part.for_kernel() for part in (base, recent) if len(part.keys)]
        parts = (kernel.Part * len(filled))(*filled)
        return WordScores(self._weights, self._kinds, base, recent, recent_documents, size, sums, worths, dead, parts)

    def _analysed(self, documents: Iterable[Sequence[str]]) -> tuple[_Part, int, list[int]]:
        keys: list[int] = []
        codes: list[int] = []
        postings: list[int] = []
        sums = [0] * len(self._weights)
        for texts in documents:
            before = len(keys)
            for field, content in enumerate(texts):
                terms = content.split()
                sums[field] += len(terms)
                length = int(LENGTHS[LENGTHS.searchsorted(len(terms), "right") - 1])
                salted = salt(field)
                counted = Counter(terms)
                keys += [hash(term) ^ salted for term in counted]
                code = {frequency: self._kinds.code(Kind(field, frequency, length)) for frequency in set(counted.values())}
                codes += [code[frequency] for frequency in counted.values()]
            postings.append(len(keys) - before)
        slots = np.repeat(np.arange(self._size, self._size + len(postings), dtype=np.int32), postings)
        return _Part.of(np.array(keys, dtype=np.int64), slots, np.array(codes, dtype=np.uint16)), len(postings), sums

    @property
    def bytes(self) -> int:
        return self._base.bytes + self._recent.bytes

    def best(
        self,
        keys: Sequence[int],
        *,
        more: int,
        weights: Mapping[int, float],
        wanted: int,
        digits: int,
        among: Slots64 | None = None,
    ) -> kernel.Best:
        """The documents with the highest sums of what the terms are worth; any but the last `more` makes them match. `among`:
        no others than these."""
        return kernel.best_words(
            self._parts,
            kernel.address(self._worths),
            self._size,
            self._dead if among is None else self._all_but(among),
            keys,
            more=more,
            weights=weights,
            wanted=wanted,
            digits=digits,
        )

    def _all_but(self, slots: Slots64) -> Slots64:
        others = np.ones(self._size, dtype=bool)
        others[slots] = False
        return others.nonzero()[0]
