"""Writing to catalogs without searching them: entries are kept, indexes are not."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from weakref import WeakValueDictionary

from toolsearch_server.changes import NO_ENTRIES, NO_VERSION, Entries, Outcome, Version
from toolsearch_server.errors import RevisionMismatch, WriteContention
from toolsearch_server.limits import Limits
from toolsearch_server.quotas import Quotas
from toolsearch_server.store import CatalogKey, Conflict, Store
from toolsearch_server.store.catch_up import catch_up
from toolsearch_server.tracing import Tracer

WRITE_ATTEMPTS = 8
KNOWN_CATALOGS = 100
"""Whose entries are kept between writes; those of others are read again."""


class StoreWriter:
    def __init__(self, store: Store, limits: Limits, tracer: Tracer) -> None:
        self._store = store
        self._quotas = Quotas(store, limits)
        self._tracer = tracer
        self._known: OrderedDict[CatalogKey, Entries] = OrderedDict()
        self._locks: WeakValueDictionary[CatalogKey, asyncio.Lock] = WeakValueDictionary()

    async def write(
        self, key: CatalogKey, plan: Callable[[Entries], Outcome], *, expected_revision: int | None = None
    ) -> tuple[Version, Outcome]:
        """Plan a change on the newest entries and commit it; again if another writer was faster."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            for _ in range(WRITE_ATTEMPTS):
                current = await self._newest(key)
                if expected_revision is not None and expected_revision != current.version.revision:
                    raise RevisionMismatch(expected=expected_revision, actual=current.version.revision)
                outcome = await asyncio.to_thread(plan, current)
                if not outcome.change and current.version != NO_VERSION:
                    return current.version, outcome
                change = replace(outcome.change, trace_parent=self._tracer.current())
                kept = None if current.version == NO_VERSION else current.size
                await self._quotas.check(key, current.size, change.size, new=kept is None)
                try:
                    version = await self._store.commit(key, current.version, change)
                    kept = change.size
                except Conflict:
                    continue
                finally:
                    self._quotas.note(key, kept)
                self._remember(key, await asyncio.to_thread(current.after, change, version))
                return version, outcome
        raise WriteContention(f"other writers changed the catalog {WRITE_ATTEMPTS} times while this one tried")

    async def _newest(self, key: CatalogKey) -> Entries:
        caught = await catch_up(self._store, key, self._known.get(key, NO_ENTRIES))
        newest = NO_ENTRIES if caught is None else caught.entries
        self._remember(key, newest)
        return newest

    def _remember(self, key: CatalogKey, entries: Entries) -> None:
        self._known[key] = entries
        self._known.move_to_end(key)
        if len(self._known) > KNOWN_CATALOGS:
            self._known.popitem(last=False)
