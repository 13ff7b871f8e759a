"""A copy of many vectors in a quarter of their size: what is surely too far is found out without reading the vectors.

A row is kept as whole numbers from -127 to 127, with the step between them and the length of what was lost. That bounds how far
a product with a row is off, so the nearest are exactly the nearest; only they are compared with the real rows.

What is usual of all products with a query follows from two sums over all rows: of the rows, and of each with itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolsearch_server import kernel

FROM_SIZE = 4_096
"""Rows from which on it is worth it."""
MAX_DIMENSIONS = 1_024
"""Products of longer rows could overflow."""
CODE_RANGE = 127
ROWS_AT_ONCE = 4_096

Matrix = NDArray[np.float32]
Sums = NDArray[np.float64]


class Coarse(NamedTuple):
    """An immutable snapshot of `size` rows. `changed` gives the next one; buffers are only ever appended to, and shared."""

    codes: NDArray[np.int8]
    steps: NDArray[np.float32]
    lost: NDArray[np.float32]
    size: int
    sum: Sums
    squares: Sums
    """Of the rows that are not removed: their sum, and the sum of their outer products."""

    @classmethod
    def of(cls, rows: Matrix, size: int, removed: NDArray[np.int64]) -> "Coarse":
        capacity, dimensions = rows.shape
        codes = np.zeros((capacity, dimensions), dtype=np.int8)
        steps, lost = np.zeros(capacity, dtype=np.float32), np.zeros(capacity, dtype=np.float32)
        empty = cls(codes, steps, lost, 0, np.zeros(dimensions), np.zeros((dimensions, dimensions)))
        return empty.changed(rows, size, removed)

    def changed(self, rows: Matrix, size: int, removed: NDArray[np.int64]) -> "Coarse":
        """With the rows that have come, and without those that were removed."""
        if size > len(self.codes):
            more = len(rows) - len(self.codes)
            codes, steps, lost = (np.concatenate((each, np.zeros((more, *each.shape[1:]), each.dtype))) for each in self[:3])
        else:
            codes, steps, lost = self[:3]
        total, squares = self.sum.copy(), self.squares.copy()
        for first in range(self.size, size, ROWS_AT_ONCE):
            part = slice(first, min(first + ROWS_AT_ONCE, size))
            added = rows[part]
            steps[part] = np.abs(added).max(axis=1) / CODE_RANGE
            safe = np.maximum(steps[part], np.finfo(np.float32).tiny)[:, None]
            codes[part] = np.rint(added / safe)
            lost[part] = np.linalg.norm(added - codes[part] * safe, axis=1)
            total += added.sum(axis=0, dtype=np.float64)
            squares += added.T.astype(np.float64) @ added.astype(np.float64)
        gone = rows[removed].astype(np.float64)
        return Coarse(codes, steps, lost, size, total - gone.sum(axis=0), squares - gone.T @ gone)

    @property
    def bytes(self) -> int:
        return sum(each.nbytes for each in (self.codes, self.steps, self.lost, self.sum, self.squares))

    def for_kernel(self) -> kernel.CoarseRows:
        """Good as long as this one is there."""
        arrays = (self.codes, self.steps, self.lost, self.sum, self.squares)
        return kernel.CoarseRows(*[kernel.address(each) for each in arrays])
