"""The compiled sums and selections of a search (kernel.c), on NumPy's arrays. The only module that knows the library.

Small work keeps Python's lock: to give it up and take it again costs more than the work. Large work, which runs in threads,
lets others go on.
"""

import ctypes
import threading
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LIBRARY = Path(__file__).with_name("libkernel.so")
SMALL = 5_000
"""Slots up to which the lock is kept."""
FIRST_CAPACITY = 2_000
RANKED_BYTES = 16

Keys = NDArray[np.int64]
Slots = NDArray[np.int64]
Scores = NDArray[np.float64]
Cosines = NDArray[np.float32]

_NUMBER, _POINTER, _REAL = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
_SIGNATURES: dict[str, Sequence[Any]] = {
    "best_words": (
        *(_POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER),
        *(_POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _REAL),
        *(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER),
    ),
    "nearest": (
        *(_POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _POINTER, _NUMBER, _REAL, _REAL, _REAL, ctypes.c_float, _NUMBER),
        *(_POINTER, _POINTER, _POINTER, _POINTER),
    ),
    "nearest_coarsely": (
        *(_POINTER, _POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _POINTER, _NUMBER),
        *(_REAL, _REAL, _REAL, ctypes.c_float, _NUMBER),
        *(_POINTER, _POINTER, _POINTER, _POINTER),
    ),
    "compare_exactly": (_POINTER, _NUMBER, _POINTER, _POINTER, _POINTER, _NUMBER),
    "blend": (
        *(_POINTER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _REAL, _REAL),
        *(_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER),
    ),
    "varied": (
        *(_POINTER, _NUMBER, _POINTER, _POINTER, _NUMBER, _REAL, _REAL, _NUMBER),
        *(_POINTER, _POINTER, _POINTER),
    ),
}


class Part(ctypes.Structure):
    """Postings by term, as the library takes them."""

    _fields_ = (
        ("keys", _POINTER),
        ("starts", _POINTER),
        ("slots", _POINTER),
        ("codes", _POINTER),
        ("terms", _NUMBER),
    )


class CoarseRows(ctypes.Structure):
    """A coarse copy of vectors, as the library takes it."""

    _fields_ = (
        ("codes", _POINTER),
        ("steps", _POINTER),
        ("lost", _POINTER),
        ("sum", _POINTER),
        ("squares", _POINTER),
    )


def _library(kind: type[ctypes.CDLL]) -> ctypes.CDLL:
    try:
        library = kind(str(LIBRARY))
        functions = {name: getattr(library, name) for name in _SIGNATURES}
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"{LIBRARY.name} was not built with this toolsearch-server, or for another machine: {error}"
        ) from error
    for name, function in functions.items():
        function.argtypes, function.restype = _SIGNATURES[name], _NUMBER
    return library


_KEEPING_LOCK, _LETTING_GO = _library(ctypes.PyDLL), _library(ctypes.CDLL)


def _for(size: int) -> ctypes.CDLL:
    return _KEEPING_LOCK if size <= SMALL else _LETTING_GO


class _Room(threading.local):
    """Memory to work in, of one thread, as large as was ever needed. Addresses are asked for once: that takes longer than most
    of the work."""

    capacity = 0

    def of(self, size: int) -> "_Room":
        if size > self.capacity or not self.capacity:
            self.capacity = 0  # as long as the old arrays are not replaced by new ones
            capacity = max(size, FIRST_CAPACITY)
            self.sums = np.empty(2 * capacity)
            self.order = np.empty(capacity * RANKED_BYTES, dtype=np.uint8)
            self.slots, self.places = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
            self.scores, self.heap = np.empty(capacity), np.empty(capacity)
            self.marks = np.empty(capacity, dtype=np.uint8)
            self.total = np.zeros(1, dtype=np.int64)
            rooms = (self.sums, self.order, self.slots, self.places, self.scores, self.heap, self.marks, self.total)
            self.at = _Addresses(*[address(room) for room in rooms])
            self.capacity = capacity
        return self


class _Addresses(NamedTuple):
    sums: int
    order: int
    slots: int
    places: int
    scores: int
    heap: int
    marks: int
    total: int


_room = _Room()


def address(values: NDArray[Any]) -> int:
    """Of an array's memory, for as long as the array lives and does not change its size."""
    found: int = values.ctypes.data
    return found


class Best(NamedTuple):
    """`slots` with their `scores`, best first; `total` counts all that match."""

    slots: Slots
    scores: Scores
    total: int


def best_words(
    parts: "ctypes.Array[Part]",
    worths: int,
    size: int,
    dead: Slots,
    keys: Sequence[int],
    *,
    more: int,
    weights: Mapping[int, float],
    wanted: int,
    digits: int,
) -> Best:
    """The best sums of what the terms `keys` are worth, and all that tie with the last of them. Documents match by any but the
    last `more`. `weights`, by the number of a term, of those that count for less than one."""
    wanted = min(wanted, size)
    room, asked, counts = _room.of(size), array("q", keys), array("d", [1.0]) * len(keys)
    for number, weight in weights.items():
        counts[number] = weight
    at = room.at
    found = _for(size).best_words(
        *(parts, len(parts), worths, size, address(dead) if len(dead) else None, len(dead)),
        *(asked.buffer_info()[0], counts.buffer_info()[0], len(keys), more, wanted, 10.0**digits),
        *(at.sums, at.heap, at.order, at.slots, at.scores, at.total),
    )
    return Best(room.slots[:found].copy(), room.scores[:found].copy(), int(room.total[0]))


class Usual(NamedTuple):
    """What cosines usually are."""

    mean: float
    deviation: float


def nearest(
    rows: int,
    size: int,
    query: Cosines,
    absent: Slots,
    *,
    prior: float,
    usually: Usual,
    least: float,
    wanted: int,
    coarse: CoarseRows | None = None,
) -> tuple[Cosines, Slots, Usual]:
    """The cosines of the first `size` rows of vectors, the slots of the highest that are at least `least`, and what is usual of
    all, taken together with `prior` others. What is `absent` is not looked at, and gets the cosine -1. With a `coarse` copy of
    the rows, only the cosines of the nearest are exact."""
    wanted = min(wanted, size)
    room, usual, cosines = _room.of(size), np.empty(2), np.empty(size, dtype=np.float32)
    at = room.at
    arguments = (
        *(rows, len(query), address(query), address(cosines), size, address(absent) if len(absent) else None, len(absent)),
        *(prior, usually.mean, usually.deviation, least, wanted),
        *(at.heap, at.order, at.slots, address(usual)),
    )
    library = _for(size)
    found = library.nearest_coarsely(ctypes.byref(coarse), *arguments) if coarse else library.nearest(*arguments)
    return cosines, room.slots[:found].copy(), Usual(*usual.tolist())


def compare_exactly(rows: int, query: Cosines, cosines: Cosines, slots: Slots) -> None:
    """Make the cosines of some slots exact, but for those that have none."""
    _for(len(slots)).compare_exactly(rows, len(query), address(query), address(cosines), address(slots), len(slots))


class Blend(NamedTuple):
    """What was found by words or by meaning, best first: `scores` are `shares` of the best score by words, and meaning."""

    slots: Slots
    scores: Scores
    shares: Scores


def blend(words: Best, near: Slots, cosines: Cosines, missing: Slots, usual: Usual, *, weight: float, digits: int) -> Blend:
    """`weight`: of a standard score of the cosine. What is `missing` a vector has none."""
    size, count = len(cosines), len(words.slots) + len(near)
    room = _room.of(max(size, 2 * count))
    at, half = room.at, room.capacity // 2
    usually = array("d", usual)
    found = _for(size).blend(
        *(address(words.slots), address(words.scores), len(words.slots), address(near), len(near)),
        *(address(cosines), size, address(missing) if len(missing) else None, len(missing)),
        *(usually.buffer_info()[0], weight, 10.0**digits),
        *(at.marks, at.order, at.places, at.slots, at.scores, at.scores + half * 8),
    )
    return Blend(room.slots[:found].copy(), room.scores[:found].copy(), room.scores[half : half + found].copy())


def varied(
    rows: int,
    dimensions: int,
    slots: Sequence[int],
    scores: Sequence[float],
    *,
    same: float,
    weight: float,
    wanted: int,
    digits: int,
) -> list[tuple[int, float]]:
    """The best together, as places in `slots`, each with what it loses: of what is more alike than `same`, the lesser loses
    `weight` times the rest. `rows` is where the vectors are; what has none is a slot below zero."""
    asked, remaining, room = array("q", slots), array("d", scores), _room.of(2 * len(slots))
    at = room.at
    found = _KEEPING_LOCK.varied(
        *(rows, dimensions, asked.buffer_info()[0], remaining.buffer_info()[0], len(asked), same, weight, wanted),
        *(at.heap, at.places, at.scores),
    )
    lost = room.scores[:found].round(digits).tolist()
    return list(zip(room.places[:found].tolist(), lost, strict=True))
