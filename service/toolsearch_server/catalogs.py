"""All catalogs: (tenant, catalog) → Catalog. Loaded on demand, evicted when idle, written through the store."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

import structlog

from toolsearch_server.catalog import Catalog, ChangedNames, View
from toolsearch_server.changes import NO_ENTRIES, NO_VERSION, Entries, Outcome, Version
from toolsearch_server.errors import CatalogNotFound, RevisionMismatch, ShuttingDown, WriteContention
from toolsearch_server.limits import Limits
from toolsearch_server.store import CatalogKey, CatalogRecord, Conflict, Store
from toolsearch_server.vectors import Embedder

WRITE_ATTEMPTS = 8

log = structlog.get_logger()

Planner = Callable[[Entries], Outcome]


@dataclass(slots=True, eq=False)
class _Loaded:
    catalog: Catalog
    last_used: float
    watchers: int = 0


class Catalogs:
    def __init__(self, store: Store, *, limits: Limits, idle_seconds: float, embedder: Embedder | None = None) -> None:
        self._store = store
        self._limits = limits
        self._idle_seconds = idle_seconds
        self._embedder = embedder
        self._loaded: dict[CatalogKey, _Loaded] = {}
        self._loading: dict[CatalogKey, asyncio.Task[_Loaded | None]] = {}
        self._stopping = False

    @property
    def loaded(self) -> list[CatalogKey]:
        return list(self._loaded)

    async def get(self, key: CatalogKey) -> Catalog:
        """The catalog, loaded if it is not in memory. Raises CatalogNotFound."""
        return (await self._get(key)).catalog

    async def view(self, key: CatalogKey, *, min_revision: int, epoch: str, timeout: float) -> tuple[Catalog, View]:
        """The catalog and its view, at `min_revision` or later if that belongs to the current epoch."""
        end = time.monotonic() + timeout
        while True:
            catalog = await self.get(key)
            applies = epoch in ("", catalog.entries.version.epoch)
            # A catalog that was just made has revision 1 before its first view has.
            wanted = max(min_revision, 1) if applies else 1
            view = await catalog.reach(wanted, timeout=max(0.0, end - time.monotonic()))
            if view.version.revision >= wanted:
                return catalog, view

    async def record(self, key: CatalogKey) -> CatalogRecord:
        record = await self._store.record(key)
        if record is None:
            raise CatalogNotFound(key.catalog)
        return record

    async def records(self, tenant: str) -> list[CatalogRecord]:
        return await self._store.records(tenant)

    async def write(self, key: CatalogKey, plan: Planner, *, expected_revision: int | None) -> tuple[Version, Outcome]:
        """Plan a change on the newest entries and commit it; again if another writer was faster."""
        # Shielded: once it has begun, a write is followed to its end even if the caller goes away.
        return await asyncio.shield(asyncio.create_task(self._write(key, plan, expected_revision)))

    async def _write(self, key: CatalogKey, plan: Planner, expected_revision: int | None) -> tuple[Version, Outcome]:
        for _ in range(WRITE_ATTEMPTS):
            loaded = await self._get_or_new(key)
            async with loaded.catalog.write_lock:
                try:
                    self._check_current(key, loaded)
                    return await self._write_once(key, loaded.catalog, plan, expected_revision)
                except Conflict as conflict:
                    log.info("write conflict, reading again", catalog=key.catalog, actual=conflict.actual.revision)
                    self._drop(key, loaded)
                finally:
                    if loaded.catalog.entries.version == NO_VERSION:
                        self._drop(key, loaded)
        raise WriteContention(f"other writers changed the catalog {WRITE_ATTEMPTS} times while this one tried")

    def _check_current(self, key: CatalogKey, loaded: _Loaded) -> None:
        """While waiting for the lock, the catalog may have been deleted, evicted or read anew."""
        if self._loaded.get(key) is not loaded:
            raise Conflict(loaded.catalog.entries.version)

    async def _write_once(
        self, key: CatalogKey, catalog: Catalog, plan: Planner, expected_revision: int | None
    ) -> tuple[Version, Outcome]:
        current = catalog.entries
        if expected_revision is not None and expected_revision != current.version.revision:
            raise RevisionMismatch(expected=expected_revision, actual=current.version.revision)
        outcome = await asyncio.to_thread(plan, current)
        if not outcome.change and current.version != NO_VERSION:
            return current.version, outcome
        version = await self._store.commit(key, current.version, outcome.change)
        try:
            catalog.receive(outcome.change, await asyncio.to_thread(current.after, outcome.change, version))
        except Exception:  # the store has it: whatever is wrong here, the truth is to be read again
            log.exception("a committed change could not be taken in, reading the catalog again", catalog=key.catalog)
            self._drop(key)
        return version, outcome

    async def delete(self, key: CatalogKey, *, expected_revision: int | None) -> None:
        # Shielded like a write.
        await asyncio.shield(asyncio.create_task(self._delete(key, expected_revision)))

    async def _delete(self, key: CatalogKey, expected_revision: int | None) -> None:
        loaded = await self._get(key)
        async with loaded.catalog.write_lock:
            version = loaded.catalog.entries.version
            if expected_revision is not None and expected_revision != version.revision:
                raise RevisionMismatch(expected=expected_revision, actual=version.revision)
            try:
                self._check_current(key, loaded)
                await self._store.delete(key, version)
            except Conflict as conflict:
                self._drop(key, loaded)
                raise WriteContention("another writer changed the catalog meanwhile") from conflict
            self._drop(key, loaded)

    async def watch(self, key: CatalogKey, from_revision: int | None, epoch: str) -> AsyncIterator["WatchEvent"]:
        """What changes in a catalog, for as long as it exists and somebody listens."""
        loaded = await self._get(key)
        known = loaded.catalog.entries.version
        start = None if from_revision is None else Version(epoch or known.epoch, from_revision)
        while True:
            async with aclosing(self._follow(key, loaded, start)) as events:
                async for event in events:
                    start = event.version
                    yield event
            # The catalog was deleted, or dropped to be read again.
            try:
                loaded = await self._get(key)
            except CatalogNotFound:
                yield Deleted(start or known)
                return

    async def _follow(self, key: CatalogKey, loaded: _Loaded, start: Version | None) -> AsyncGenerator["WatchEvent"]:
        """The changes after `start` until the catalog is closed."""
        catalog = loaded.catalog
        with _watching(loaded):
            version = catalog.entries.version
            if start is None:
                yield Current(version)
            else:
                async for event in self._catch_up(key, catalog, start):
                    version = event.version
                    yield event
            while not catalog.closed:
                if self._stopping:
                    raise ShuttingDown
                changes = catalog.changes_since(version.revision)
                if changes is None:
                    version = catalog.entries.version
                    yield SnapshotNeeded(version)
                elif changes:
                    for change in changes:
                        version = change.version
                        yield change
                else:
                    await catalog.changed()

    def stop_watches(self) -> None:
        """End all watches, which would otherwise go on for ever. Who watches is to watch another replica."""
        self._stopping = True
        for loaded in self._loaded.values():
            loaded.catalog.wake()

    async def _catch_up(self, key: CatalogKey, catalog: Catalog, start: Version) -> AsyncIterator["WatchEvent"]:
        now = catalog.entries.version
        if start == now:
            yield Current(now)
            return
        logged = await self._store.changes_since(key, start)
        if logged is None:
            yield SnapshotNeeded(catalog.entries.version)
            return
        for version, change in logged:
            yield ChangedNames.of(change, version)

    async def run_evictions(self) -> None:
        """Let go of idle catalogs, until cancelled. They come back on their next use."""
        while True:
            await asyncio.sleep(max(0.01, self._idle_seconds / 10))
            self.evict_idle()

    def evict_idle(self) -> None:
        oldest_kept = time.monotonic() - self._idle_seconds
        for key, loaded in list(self._loaded.items()):
            if loaded.last_used < oldest_kept and not loaded.watchers and not loaded.catalog.busy:
                self._drop(key, loaded)
                log.info("idle catalog evicted", tenant=key.tenant, catalog=key.catalog)

    async def _get(self, key: CatalogKey) -> _Loaded:
        loaded = self._loaded.get(key) or await self._load(key)
        if loaded is None or loaded.catalog.entries.version == NO_VERSION:
            raise CatalogNotFound(key.catalog)
        loaded.last_used = time.monotonic()
        return loaded

    async def _get_or_new(self, key: CatalogKey) -> _Loaded:
        """For a write: a catalog that does not exist is made in memory first, and dropped again if the write fails."""
        loaded = self._loaded.get(key) or await self._load(key)
        if loaded is None:
            catalog = await Catalog.load(NO_ENTRIES, limits=self._limits, embedder=self._embedder)
            loaded = self._loaded.setdefault(key, _Loaded(catalog, time.monotonic()))
        loaded.last_used = time.monotonic()
        return loaded

    async def _load(self, key: CatalogKey) -> _Loaded | None:
        """Load once, however many ask at the same time. None: the store has no such catalog."""
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(self._read(key))
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)

    async def _read(self, key: CatalogKey) -> _Loaded | None:
        started = time.perf_counter()
        entries = await self._store.snapshot(key)
        if entries is None:
            return self._loaded.get(key)
        catalog = await Catalog.load(entries, limits=self._limits, embedder=self._embedder)
        # A first write may have made it meanwhile: there is only ever one object for a key.
        loaded = self._loaded.setdefault(key, _Loaded(catalog, time.monotonic()))
        seconds = round(time.perf_counter() - started, 3)
        log.debug("catalog loaded", catalog=key.catalog, entries=len(entries.by_key), seconds=seconds)
        return loaded

    def _drop(self, key: CatalogKey, loaded: _Loaded | None = None) -> None:
        """Forget a catalog, or only if it is this one. Who waits for it or watches it is told to look again."""
        current = self._loaded.get(key)
        if current is not None and loaded in (None, current):
            del self._loaded[key]
            current.catalog.close()


@contextmanager
def _watching(loaded: _Loaded) -> Iterator[None]:
    loaded.watchers += 1
    try:
        yield
    finally:
        loaded.watchers -= 1
        loaded.last_used = time.monotonic()


@dataclass(frozen=True, slots=True)
class Current:
    version: Version


@dataclass(frozen=True, slots=True)
class SnapshotNeeded:
    version: Version


@dataclass(frozen=True, slots=True)
class Deleted:
    version: Version


WatchEvent = Current | ChangedNames | SnapshotNeeded | Deleted
