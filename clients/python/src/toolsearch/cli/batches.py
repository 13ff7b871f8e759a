"""Batches: as much as one request should carry."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

BATCH_ENTRIES = 500
BATCH_BYTES = 4 * 1024 * 1024
"""One item may have more by itself."""

Item = TypeVar("Item")


def batches(items: Iterable[Item], size_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for item in items:
        cost = size_of(item)
        if batch and (len(batch) == BATCH_ENTRIES or size + cost > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += cost
    if batch:
        yield batch
