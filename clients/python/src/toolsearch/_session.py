"""What a client remembers between calls: its own writes, so that its reads see them."""

import random
from collections.abc import Iterator
from typing import TypeVar

from toolsearch import types as t
from toolsearch._calls import Reading

FIRST_DELAY = 0.1
LONGEST_DELAY = 5.0

Result = TypeVar("Result")


class Session:
    def __init__(self, catalog: str) -> None:
        self._catalog = catalog
        self._written: t.Version | None = None

    def reading(self, min_revision: int | None) -> Reading:
        """None: what this client wrote; otherwise what the caller says, of whichever epoch is current."""
        if min_revision is not None:
            return Reading(self._catalog, min_revision)
        if self._written is None:
            return Reading(self._catalog)
        return Reading(self._catalog, self._written.revision, self._written.epoch)

    def noted(self, result: Result) -> Result:
        if isinstance(result, t.WriteResult):
            self._written = _later(self._written, result.version)
        return result


def _later(known: t.Version | None, new: t.Version) -> t.Version:
    """Of two versions the later one: answers of calls made at the same time may come in any order."""
    if known is not None and known.epoch == new.epoch and known.revision > new.revision:
        return known
    return new


def reconnect_delays() -> Iterator[float]:
    """Longer and longer, with jitter so that many clients do not come back at once."""
    delay = FIRST_DELAY
    while True:
        yield delay * random.uniform(0.5, 1.0)  # noqa: S311 not a secret
        delay = min(delay * 2, LONGEST_DELAY)
