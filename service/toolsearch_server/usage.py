"""Usage: what was used lately, by catalog. Counts that fade, kept in the store, shared by replicas, and lossy by design.

A use counts less the longer ago it was: half after each HALF_LIFE. The store only adds: a use counts 2 ** (time / HALF_LIFE)
there, so what is in it fades by itself, as the yardstick grows. Reports are collected for some seconds before they are
written; what a replica that is killed had collected is lost. Replicas read what others wrote when a catalog is used and their
own knowledge is a minute old."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import structlog

from toolsearch_server.entry import EntryKey
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.store import CatalogKey, Store

HALF_LIFE = 14 * 24 * 3600.0
BEGINNING = 1_767_225_600.0
"""2026-01-01: where the yardstick is 1. Floats reach far beyond anybody's concern."""
ENOUGH_USES = 50.0
"""Of a whole catalog: with fewer, usage says nothing about its entries."""
FLUSH_SECONDS = 5.0
REFRESH_SECONDS = 60.0

log = structlog.get_logger()


class Outcome(IntEnum):
    """What became of a use; the numbers are the contract's."""

    SUCCEEDED = 1
    FAILED = 2
    DECLINED = 3


WORTH: Mapping[Outcome, float] = {Outcome.SUCCEEDED: 1.0, Outcome.FAILED: 0.25, Outcome.DECLINED: 0.0}


@dataclass(frozen=True, slots=True)
class Usage:
    """Uses of a catalog's entries, faded to what they count at one time."""

    uses: Mapping[EntryKey, float] = field(default_factory=dict)

    @property
    def is_enough(self) -> bool:
        return sum(self.uses.values()) >= ENOUGH_USES

    def strengths(self) -> dict[EntryKey, float]:
        """0 to 1: the entry that is used most has 1, and one that is used a tenth as much still has a good part of it."""
        if not self.is_enough:
            return {}
        most = math.log1p(max(self.uses.values()))
        return {key: math.log1p(uses) / most for key, uses in self.uses.items()}

    def most_used(self, among: Iterable[EntryKey]) -> list[EntryKey]:
        """Those that are used at all, the most used first."""
        if not self.is_enough:
            return []
        used = [key for key in among if self.uses.get(key, 0.0) > 0]
        return sorted(used, key=lambda key: -self.uses[key])


NO_USAGE = Usage()


def worth_of_one(now: float) -> float:
    """What one use now adds to the store."""
    return float(2.0 ** ((now - BEGINNING) / HALF_LIFE))


class UsageBook:
    """Collects reports and writes them; reads what is known."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._collected: dict[CatalogKey, dict[EntryKey, float]] = {}
        self._failing = False

    def report(self, catalog: CatalogKey, entry: EntryKey, outcome: Outcome) -> None:
        worth = WORTH[outcome]
        if worth:
            uses = self._collected.setdefault(catalog, {})
            uses[entry] = uses.get(entry, 0.0) + worth * worth_of_one(self._now())

    async def read(self, catalog: CatalogKey) -> Usage:
        """What the store has, and what is collected here. Raises StoreUnavailable."""
        counted = await self._store.usage(catalog)
        for entry, uses in self._collected.get(catalog, {}).items():
            counted[entry] = counted.get(entry, 0.0) + uses
        yardstick = worth_of_one(self._now())
        return Usage({entry: uses / yardstick for entry, uses in counted.items()})

    async def run(self) -> None:
        """Write what is collected every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """What the store does not take is lost."""
        collected, self._collected = self._collected, {}
        try:
            for catalog, uses in collected.items():
                await self._store.add_usage(catalog, uses)
            self._failing = False
        except StoreUnavailable as error:
            if not self._failing:
                log.warning("reports of usage are being lost", error=error.message)
            self._failing = True
