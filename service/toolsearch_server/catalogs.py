"""All catalogs: (tenant, catalog) → Catalog. Loaded on demand, written through the store, evicted when idle or too many."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import structlog

from toolsearch_server import allocator
from toolsearch_server.catalog import Catalog, ChangedNames, View
from toolsearch_server.changes import NO_ENTRIES, NO_VERSION, Change, Entries, Outcome, Version
from toolsearch_server.embedders import Embedder
from toolsearch_server.embeddings import Embeddings
from toolsearch_server.errors import (
    CatalogNotFound,
    RevisionMismatch,
    RevisionNotReached,
    ShuttingDown,
    StoreUnavailable,
    WriteContention,
)
from toolsearch_server.limits import Limits
from toolsearch_server.metrics import CatalogFigures, Metrics
from toolsearch_server.quotas import Quotas
from toolsearch_server.store import Announced, CatalogKey, CatalogRecord, Conflict, Store
from toolsearch_server.store.catch_up import after_all, catch_up
from toolsearch_server.tracing import NoTracer, Tracer
from toolsearch_server.turns import Lane, Processor
from toolsearch_server.usage import UsageBook

WRITE_ATTEMPTS = 8
LONGEST_EVICTION_SECONDS = 30.0
"""Between looks for idle catalogs; what evicted ones took is given back to the system then."""
WARNING_SECONDS = 60.0
PAST_EPOCHS = 100
"""Epochs that are known to be gone, per catalog: not to ask the store about the same one for every call."""

log = structlog.get_logger()

Planner = Callable[[Entries], Outcome]
Abandoned = Callable[[Version, Outcome], None]


class Observer(Protocol):
    """Who keeps loaded catalogs up to date where others write to the store too."""

    def opened(self, key: CatalogKey) -> None:
        """A catalog was loaded, some time after it was read."""
        ...

    def closed(self, key: CatalogKey) -> None: ...

    def doubt(self, key: CatalogKey) -> None:
        """The catalog may be behind: look soon."""
        ...


@dataclass(slots=True, eq=False)
class _Loaded:
    """`lost`: the store does not know the catalog any more, without anybody having deleted it. What is in memory is served."""

    catalog: Catalog
    last_used: float
    watchers: int = 0
    lost: bool = False
    counted_bytes: int = 0
    past_epochs: set[str] = field(default_factory=set)


class Catalogs:
    """`_loaded` is in the order of use, the least recently used first."""

    def __init__(
        self,
        store: Store,
        *,
        limits: Limits,
        idle_seconds: float,
        embedder: Embedder | None = None,
        processor: Processor | None = None,
        metrics: Metrics | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.observer: Observer | None = None
        self.processor = processor or Processor()
        self._store = store
        self._limits = limits
        self._idle_seconds = idle_seconds
        self._embedder = embedder
        self._metrics = metrics or Metrics(version="", tenant_labels=0)
        self._tracer = tracer or NoTracer()
        self._quotas = Quotas(store, limits)
        self.usage = UsageBook(store)
        self._reading_usage: set[asyncio.Task[None]] = set()
        self.embeddings = None if embedder is None or embedder.instant else Embeddings(embedder, store, limits)
        self._loaded: OrderedDict[CatalogKey, _Loaded] = OrderedDict()
        self._loading: dict[CatalogKey, asyncio.Task[_Loaded | None]] = {}
        self._writing: set[asyncio.Task[tuple[Version, Outcome] | None]] = set()
        self._bytes = 0
        self._warned_at = -math.inf
        self._evicted = False
        self._stopping = False

    @property
    def loaded(self) -> dict[CatalogKey, Catalog]:
        return {key: loaded.catalog for key, loaded in self._loaded.items()}

    @property
    def without_vector(self) -> int:
        """How many loaded entries are found by their words alone, because their vectors have not come yet."""
        return sum(loaded.catalog.without_vector for loaded in self._loaded.values())

    async def close(self) -> None:
        """Wait for writes whose callers have gone, and end what goes on in the background for the catalogs."""
        if self._writing:
            await asyncio.wait(self._writing)
        reading = list(self._reading_usage)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        await self.usage.flush()
        for loaded in self._loaded.values():
            loaded.catalog.close()
        if self.embeddings is not None:
            await self.embeddings.close()

    def confirm(self, key: CatalogKey, *, followed: bool) -> None:
        """A loaded catalog was just compared with the store."""
        loaded = self._loaded.get(key)
        if loaded is not None and not loaded.lost:
            loaded.catalog.confirm(followed=followed)

    def doubt(self, key: CatalogKey, heard: float) -> None:
        """What happened to a catalog after `heard`, in monotonic seconds, may not have been announced to us."""
        loaded = self._loaded.get(key)
        if loaded is not None:
            loaded.catalog.doubt(heard)

    async def get(self, key: CatalogKey) -> Catalog:
        """The catalog, loaded if it is not in memory. Raises CatalogNotFound."""
        return (await self._get(key)).catalog

    async def view(self, key: CatalogKey, *, min_revision: int, epoch: str, timeout: float) -> tuple[Catalog, View]:
        """The catalog and its view, at `min_revision` or later if that belongs to the current epoch."""
        end = time.monotonic() + timeout
        while True:
            loaded = await self._get(key)
            version = loaded.catalog.entries.version
            applies = epoch in ("", version.epoch)
            if min_revision and not applies and epoch not in loaded.past_epochs:
                await self._look_for_epoch(key, loaded, epoch, wanted=min_revision, timeout=end - time.monotonic())
                continue
            # A catalog that was just made has revision 1 before its first view has.
            wanted = max(min_revision, 1) if applies else 1
            if wanted > version.revision and self.observer is not None:
                self.observer.doubt(key)
            view = await loaded.catalog.reach(wanted, timeout=max(0.0, end - time.monotonic()))
            if view.version.revision >= wanted:
                self._read_usage_soon(key, loaded.catalog)
                return loaded.catalog, view

    def _read_usage_soon(self, key: CatalogKey, catalog: Catalog) -> None:
        """Nobody waits for it: what is known meanwhile is at most somewhat old."""
        if catalog.usage_is_old():
            reading = asyncio.create_task(self.read_usage(key, catalog))
            self._reading_usage.add(reading)
            reading.add_done_callback(self._reading_usage.discard)

    async def read_usage(self, key: CatalogKey, catalog: Catalog) -> None:
        with suppress(StoreUnavailable):
            usage = await self.usage.read(key)
            if usage.is_enough or catalog.usage.is_enough:  # otherwise it says nothing, and answers need not be forgotten
                catalog.usage = usage

    async def _look_for_epoch(self, key: CatalogKey, loaded: _Loaded, epoch: str, *, wanted: int, timeout: float) -> None:
        """Whether an epoch that is not ours is gone, or one that we have not heard of yet: only the store knows."""
        try:
            async with asyncio.timeout(max(0.0, timeout)), loaded.catalog.write_lock:
                if self._is_current(key, loaded):
                    await self._refresh(key, loaded)
        except TimeoutError:
            raise RevisionNotReached(wanted=wanted, actual=loaded.catalog.view.version.revision) from None
        current = self._loaded.get(key)
        if current is not None and current.catalog.entries.version.epoch != epoch:
            if len(current.past_epochs) >= PAST_EPOCHS:
                current.past_epochs.clear()
            current.past_epochs.add(epoch)

    async def record(self, key: CatalogKey) -> CatalogRecord:
        record = await self._store.record(key)
        if record is None:
            loaded = self._loaded.get(key)
            if loaded is not None and loaded.lost:
                raise StoreUnavailable(f"the store has lost the catalog {key.catalog!r}")
            raise CatalogNotFound(key.catalog)
        return record

    async def records(self, tenant: str) -> list[CatalogRecord]:
        return await self._store.records(tenant)

    async def tenants(self) -> list[str]:
        return await self._store.tenants()

    def figures(self) -> CatalogFigures:
        """Of what is in memory now."""
        loaded = [each.catalog for each in self._loaded.values()]
        staleness = [catalog.staleness for catalog in loaded if catalog.staleness is not None]
        return CatalogFigures(
            catalogs=len(loaded),
            entries=sum(len(catalog.entries.by_key) for catalog in loaded),
            index_bytes=self._bytes,
            index_bytes_allowed=self._limits.index_bytes,
            stale=len(staleness),
            stalest_seconds=max(staleness, default=0.0),
            revision_lag=max((catalog.lag for catalog in loaded), default=0),
            without_vector=self.without_vector,
            embedding_failing=self.embeddings is not None and self.embeddings.failing,
        )

    async def resource_chunk(self, key: CatalogKey, digest: str, number: int) -> bytes | None:
        """A piece of a resource, from the store; see there."""
        return await self._store.resource_chunk(key, digest, number)

    async def write(
        self, key: CatalogKey, plan: Planner, *, expected_revision: int | None, abandoned: Abandoned | None = None
    ) -> tuple[Version, Outcome]:
        """Plan a change on the newest entries and commit it; again if another writer was faster.

        A caller that goes away while it waits for its turn has written nothing. A write that has begun is followed to its end:
        `abandoned` is told if it succeeds after the caller has gone.
        """
        for _ in range(WRITE_ATTEMPTS):
            loaded = await self._get_or_new(key)
            await loaded.catalog.write_lock.acquire()
            # While waiting for the lock, the catalog may have been deleted, evicted or read anew.
            if not self._is_current(key, loaded):
                loaded.catalog.write_lock.release()
                continue
            writing = asyncio.create_task(self._write_locked(key, loaded, plan, expected_revision))
            self._writing.add(writing)
            writing.add_done_callback(self._writing.discard)
            try:
                written = await asyncio.shield(writing)
            except asyncio.CancelledError:
                writing.add_done_callback(partial(_tell, abandoned))
                raise
            if written is not None:
                return written
        raise WriteContention(f"other writers changed the catalog {WRITE_ATTEMPTS} times while this one tried")

    async def _write_locked(
        self, key: CatalogKey, loaded: _Loaded, plan: Planner, expected_revision: int | None
    ) -> tuple[Version, Outcome] | None:
        """Releases the lock, which the caller has taken."""
        try:
            return await self._write_once(key, loaded, plan, expected_revision)
        finally:
            loaded.catalog.write_lock.release()
            if loaded.catalog.entries.version == NO_VERSION:
                self._drop(key, loaded)

    async def _write_once(
        self, key: CatalogKey, loaded: _Loaded, plan: Planner, expected_revision: int | None
    ) -> tuple[Version, Outcome] | None:
        """None: what we knew was not the newest; now it is."""
        current = NO_ENTRIES if loaded.lost else loaded.catalog.entries
        if expected_revision is not None and expected_revision != current.version.revision:
            if await self._refresh(key, loaded):
                return None
            raise RevisionMismatch(expected=expected_revision, actual=current.version.revision)
        outcome = await self.processor.in_thread(key.tenant, Lane.WRITE, partial(plan, current))
        if not outcome.change and current.version != NO_VERSION:
            return None if await self._refresh(key, loaded) else (current.version, outcome)
        change = replace(outcome.change, trace_parent=self._tracer.current())
        kept = None if current.version == NO_VERSION else current.size
        await self._quotas.check(key, current.size, change.size, new=kept is None)
        try:
            with self._tracer.span("commit"):
                version = await self._store.commit(key, current.version, change)
            kept = change.size
        except Conflict as conflict:
            log.info("write conflict, reading again", catalog=key.catalog, actual=conflict.actual.revision)
            await self._refresh(key, loaded)
            return None
        finally:
            self._quotas.note(key, kept)
        await self._take_in_own(key, loaded, current, replace(change, contents={}), version)
        return version, outcome

    async def _take_in_own(self, key: CatalogKey, loaded: _Loaded, current: Entries, change: Change, version: Version) -> None:
        try:
            entries = await asyncio.to_thread(current.after, change, version)
            if loaded.lost:
                await self._replace(key, loaded, entries)
            else:
                loaded.catalog.receive([(version, change)], entries)
        except Exception:  # the store has it: whatever is wrong here, the truth is to be read again
            log.exception("a committed change could not be taken in, reading the catalog again", catalog=key.catalog)
            self._drop(key)

    async def delete(self, key: CatalogKey, *, expected_revision: int | None) -> None:
        # Shielded like a write.
        await asyncio.shield(asyncio.create_task(self._delete(key, expected_revision)))

    async def _delete(self, key: CatalogKey, expected_revision: int | None) -> None:
        for _ in range(WRITE_ATTEMPTS):
            loaded = await self._get(key)
            async with loaded.catalog.write_lock:
                if not self._is_current(key, loaded):
                    continue
                version = loaded.catalog.entries.version
                if expected_revision is not None and expected_revision != version.revision:
                    if await self._refresh(key, loaded):
                        continue
                    raise RevisionMismatch(expected=expected_revision, actual=version.revision)
                try:
                    await self._store.delete(key, version)
                except Conflict:
                    await self._refresh(key, loaded)
                    continue
                self._quotas.note(key, None)
                self._drop(key, loaded)
                return
        raise WriteContention(f"other writers changed the catalog {WRITE_ATTEMPTS} times while this one tried to delete it")

    async def take_in(self, key: CatalogKey, announced: Sequence[Announced], *, look: bool) -> None:
        """Move a loaded catalog on by what was announced, and by what the store says if that is not enough or `look` is set."""
        loaded = self._loaded.get(key)
        if loaded is None:
            return
        async with loaded.catalog.write_lock:
            if not self._is_current(key, loaded):
                return
            changes, complete = _following(loaded.catalog.entries.version, announced)
            if changes:
                try:
                    loaded.catalog.receive(changes, await after_all(loaded.catalog.entries, changes))
                except Exception:
                    log.exception("an announced change could not be taken in, reading the catalog again", catalog=key.catalog)
                    self._drop(key)
                    return
            if look or not complete:
                await self._refresh(key, loaded)

    async def _refresh(self, key: CatalogKey, loaded: _Loaded) -> bool:
        """Bring a catalog to what the store has; whether that was anything new. Its lock is held."""
        catalog = loaded.catalog
        caught = await catch_up(self._store, key, NO_ENTRIES if loaded.lost else catalog.entries)
        if caught is None:
            return await self._missing(key, loaded)
        if caught.changes is None:
            await self._replace(key, loaded, caught.entries)
            return True
        if caught.changes:
            catalog.receive(caught.changes, caught.entries)
        return bool(caught.changes)

    async def _missing(self, key: CatalogKey, loaded: _Loaded) -> bool:
        (version,) = await self._store.versions([key])
        if loaded.catalog.entries.version == NO_VERSION and version in (None, NO_VERSION):
            return False  # that neither the store nor we have it is no news
        if loaded.lost and version is None:
            return False
        if version is None and loaded.catalog.entries.version != NO_VERSION:
            log.error("the store has lost a catalog, serving what is in memory", tenant=key.tenant, catalog=key.catalog)
            loaded.lost = True
            loaded.catalog.doubt(time.monotonic())
        elif version == NO_VERSION:
            self._drop(key, loaded)
        return True

    async def _replace(self, key: CatalogKey, loaded: _Loaded, entries: Entries) -> None:
        """Put a catalog that was read anew in the place of one, without a moment in which there is none."""
        view = await self.processor.in_thread(key.tenant, Lane.INDEX, partial(View.of, entries, self._embedder))
        if not self._is_current(key, loaded):
            return
        catalog = self._catalog(key, view)
        catalog.followed = loaded.catalog.followed
        self._loaded[key] = _Loaded(catalog, loaded.last_used, counted_bytes=loaded.counted_bytes)
        self._count(key)
        loaded.catalog.close()
        if self.observer is not None:
            self.observer.doubt(key)

    def _is_current(self, key: CatalogKey, loaded: _Loaded) -> bool:
        return self._loaded.get(key) is loaded

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
            version = start or catalog.entries.version
            if start is None:
                yield Current(version)
            else:
                async for event in self._catch_up(key, catalog, start):
                    version = event.version
                    yield event
            while not catalog.closed:
                if self._stopping:
                    raise ShuttingDown
                newest = catalog.entries.version
                if version.epoch != newest.epoch or version.revision > newest.revision:
                    # By the log the watcher knows more than this replica, which is to catch up.
                    if self.observer is not None:
                        self.observer.doubt(key)
                    await catalog.changed()
                    continue
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
        if not logged:
            yield Current(start)
        for version, change in logged:
            yield ChangedNames.of(change, version)

    async def run_evictions(self) -> None:
        """Let go of idle catalogs, until cancelled. They come back on their next use."""
        while True:
            await asyncio.sleep(max(0.01, min(self._idle_seconds / 10, LONGEST_EVICTION_SECONDS)))
            self.evict_idle()
            if self._evicted:
                self._evicted = False
                await asyncio.to_thread(allocator.give_back)

    def evict_idle(self) -> None:
        oldest_kept = time.monotonic() - self._idle_seconds
        for key, loaded in list(self._loaded.items()):
            if loaded.last_used < oldest_kept and not loaded.watchers and not loaded.catalog.busy:
                self._evict(key, loaded, "idle")

    def _evict(self, key: CatalogKey, loaded: _Loaded, cause: str) -> None:
        self._drop(key, loaded)
        self._evicted = True
        self._metrics.evicted(cause)
        log.debug("catalog evicted", tenant=key.tenant, catalog=key.catalog, cause=cause)

    def _count(self, key: CatalogKey) -> None:
        """Take note of how much memory a catalog takes now, and make room if all of them together take too much."""
        loaded = self._loaded.get(key)
        if loaded is None:
            return
        size = loaded.catalog.view.bytes
        self._bytes += size - loaded.counted_bytes
        loaded.counted_bytes = size
        if self._bytes <= self._limits.index_bytes:
            return
        for other, candidate in list(self._loaded.items()):
            if other != key and not candidate.watchers and not candidate.catalog.busy:
                self._evict(other, candidate, "memory")
                if self._bytes <= self._limits.index_bytes:
                    return
        if time.monotonic() - self._warned_at > WARNING_SECONDS:
            self._warned_at = time.monotonic()
            log.warning("catalogs in use take more memory than they may", bytes=self._bytes, allowed=self._limits.index_bytes)

    async def _get(self, key: CatalogKey) -> _Loaded:
        loaded = self._loaded.get(key) or await self._load(key)
        if loaded is None or loaded.catalog.entries.version == NO_VERSION:
            raise CatalogNotFound(key.catalog)
        self._used(key, loaded)
        return loaded

    def _used(self, key: CatalogKey, loaded: _Loaded) -> None:
        loaded.last_used = time.monotonic()
        if self._is_current(key, loaded):
            self._loaded.move_to_end(key)

    async def _get_or_new(self, key: CatalogKey) -> _Loaded:
        """For a write: a catalog that does not exist is made in memory first, and dropped again if the write fails."""
        loaded = self._loaded.get(key) or await self._load(key)
        if loaded is None:
            view = await self.processor.in_thread(key.tenant, Lane.WRITE, partial(View.of, NO_ENTRIES, self._embedder))
            loaded = self._keep(key, view)
        self._used(key, loaded)
        return loaded

    async def _load(self, key: CatalogKey) -> _Loaded | None:
        """Load once, however many ask at the same time. None: the store has no such catalog."""
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(self._read(key))
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)

    async def _read(self, key: CatalogKey) -> _Loaded | None:
        async with self.processor.turn(key.tenant, Lane.LOAD):
            started = time.perf_counter()
            try:
                with self._tracer.span("load"):
                    entries = await self._store.snapshot(key)
                    if entries is None:
                        return self._loaded.get(key)
                    view = await self.processor.now(partial(View.of, entries, self._embedder))
            except Exception:
                self._metrics.load_failed()
                raise
            loaded = self._keep(key, view)
            seconds = time.perf_counter() - started
        self._metrics.loaded(seconds)
        log.debug("catalog loaded", catalog=key.catalog, entries=len(entries.by_key), seconds=round(seconds, 3))
        return loaded

    def _keep(self, key: CatalogKey, view: View) -> _Loaded:
        """There is only ever one object for a key: a first write may have made one while the store was read."""
        loaded = self._loaded.get(key)
        if loaded is None:
            loaded = self._loaded[key] = _Loaded(self._catalog(key, view), time.monotonic())
            if self.observer is not None:
                loaded.catalog.followed = False
                self.observer.opened(key)
            self._count(key)
        return loaded

    def _catalog(self, key: CatalogKey, view: View) -> Catalog:
        return Catalog(
            view,
            limits=self._limits,
            share=self.processor.of(key.tenant),
            applied=partial(self._applied, key),
            embeddings=self.embeddings,
            name=key.catalog,
        )

    def _applied(self, key: CatalogKey, changes: Sequence[Change], seconds: float) -> None:
        self._metrics.applied(seconds)
        for change in changes:
            self._tracer.spent("apply", change.trace_parent, seconds, {"toolsearch.catalog": key.catalog})
        self._count(key)

    def _drop(self, key: CatalogKey, loaded: _Loaded | None = None) -> None:
        """Forget a catalog, or only if it is this one. Who waits for it or watches it is told to look again."""
        current = self._loaded.get(key)
        if current is not None and loaded in (None, current):
            del self._loaded[key]
            self._bytes -= current.counted_bytes
            current.catalog.close()
            self.processor.discard([current.catalog.view])
            if self.observer is not None:
                self.observer.closed(key)


def _following(version: Version, announced: Sequence[Announced]) -> tuple[list[tuple[Version, Change]], bool]:
    """The announced changes that follow on `version` one by one, and whether that is all that was announced."""
    changes: list[tuple[Version, Change]] = []
    for each in sorted(announced, key=lambda each: each.version.revision):
        if each.version.epoch == version.epoch and each.version.revision <= version.revision:
            if each.version.revision == version.revision and _differ(each.version.id, version.id):
                return changes, False  # what we hold was lost, and another change has its revision now
            continue
        if each.change is None or each.version != Version(version.epoch, version.revision + 1):
            return changes, False
        if _differ(each.change.previous_id, version.id):
            return changes, False
        version = each.version
        changes.append((version, each.change))
    return changes, True


def _tell(abandoned: Abandoned | None, writing: "asyncio.Task[tuple[Version, Outcome] | None]") -> None:
    if writing.cancelled():
        return
    error = writing.exception()
    if error is not None:
        log.info("a write failed after its caller had gone", error=str(error))
    elif abandoned is not None and (written := writing.result()) is not None:
        abandoned(*written)


def _differ(left: str, right: str) -> bool:
    """Whether two ids prove a loss. Stores that lose nothing have none."""
    return bool(left and right and left != right)


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
