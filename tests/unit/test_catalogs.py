import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest

from support import draft, names_found, tool
from toolsearch_server.bm25 import Bm25Index
from toolsearch_server.catalog import Catalog, ChangedNames, View
from toolsearch_server.catalogs import Catalogs, Current, Deleted, SnapshotNeeded, WatchEvent
from toolsearch_server.changes import NO_VERSION, Change, Entries, Outcome, Version, plan_apply, plan_sync
from toolsearch_server.errors import (
    CatalogFull,
    CatalogNotFound,
    RevisionMismatch,
    RevisionNotReached,
    StoreUnavailable,
    WriteContention,
)
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey, Conflict
from toolsearch_server.store.sqlite import SqliteStore

KEY = CatalogKey("t", "c")


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(None, DEFAULT_LIMITS)
    yield store
    await store.close()


@pytest.fixture
def catalogs(store: SqliteStore) -> Catalogs:
    return Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=3600)


async def write(
    catalogs: Catalogs,
    *names: str,
    key: CatalogKey = KEY,
    limits: Limits = DEFAULT_LIMITS,
    expected_revision: int | None = None,
) -> tuple[Version, Outcome]:
    drafts = [draft(tool(name, "thing"), "s") for name in names]
    return await catalogs.write(
        key, lambda entries: plan_apply(entries, drafts, (), limits), expected_revision=expected_revision
    )


async def searched(catalogs: Catalogs, revision: int, key: CatalogKey = KEY, query: str = "thing") -> list[str]:
    _, view = await catalogs.view(key, min_revision=revision, epoch="", timeout=5)
    return names_found(view, query, limit=100)


async def test_a_write_is_searchable_at_its_revision(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs, "a")
    assert await searched(catalogs, version.revision) == ["s.a"]


async def test_an_unknown_catalog_is_not_found_and_not_remembered(catalogs: Catalogs) -> None:
    with pytest.raises(CatalogNotFound):
        await catalogs.get(KEY)
    assert catalogs.loaded == []


async def test_a_refused_first_write_leaves_no_catalog(catalogs: Catalogs) -> None:
    with pytest.raises(CatalogFull):
        await write(catalogs, "a", "b", limits=Limits(entries_per_catalog=1))
    assert catalogs.loaded == []
    with pytest.raises(CatalogNotFound):
        await catalogs.get(KEY)


async def test_a_catalog_may_hold_as_many_entries_as_the_limit_and_no_more(catalogs: Catalogs) -> None:
    limits = Limits(entries_per_catalog=2)
    await write(catalogs, "a", "b", limits=limits)
    with pytest.raises(CatalogFull) as refusal:
        await write(catalogs, "c", limits=limits)
    assert refusal.value.metadata == {"given": "3", "allowed": "2"}
    version, outcome = await write(catalogs, "a", limits=limits)
    assert (version.revision, outcome.unchanged) == (1, 1)


async def test_an_empty_first_write_makes_an_empty_catalog(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs)
    assert version.revision == 1
    assert await searched(catalogs, 1) == []


async def test_expected_revision_lets_one_of_two_racing_writers_win(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    results = await asyncio.gather(
        write(catalogs, "b", expected_revision=1), write(catalogs, "c", expected_revision=1), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, RevisionMismatch)]
    assert len(refused) == 1
    assert len((await catalogs.get(KEY)).entries.by_key) == 2


async def test_concurrent_writes_all_happen(catalogs: Catalogs) -> None:
    results = await asyncio.gather(*(write(catalogs, f"n{number}") for number in range(30)))
    assert sorted(version.revision for version, _ in results) == list(range(1, 31))
    assert len(await searched(catalogs, 30)) == 30


async def test_a_burst_of_changes_costs_few_index_commits(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(catalogs, "first")
    commits = 0
    changed = Bm25Index.changed

    def counting(self: Bm25Index, **arguments: object) -> Bm25Index:
        nonlocal commits
        commits += 1
        return changed(self, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Bm25Index, "changed", counting)
    catalog = await catalogs.get(KEY)
    for number in range(1000):
        change = plan_apply(catalog.entries, [draft(tool(f"n{number}"), "s")], (), DEFAULT_LIMITS).change
        catalog.receive(change, catalog.entries.after(change, Version(catalog.entries.version.epoch, number + 2)))
    await catalog.reach(1001, timeout=20)
    assert commits <= 5
    assert len(catalog.view.slots) == 1001


async def test_a_search_during_indexing_sees_the_old_view_whole(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    await searched(catalogs, 1)
    catalog = await catalogs.get(KEY)
    drafts = [draft(tool(f"n{number}", "thing"), "s") for number in range(300)]
    await catalogs.write(KEY, lambda entries: plan_sync(entries, "s", drafts, DEFAULT_LIMITS), expected_revision=None)
    seen = set()
    while catalog.view.version.revision < 2:
        seen.add(len(names_found(catalog.view, "thing", limit=500)))
        await asyncio.sleep(0)
    assert seen <= {1}
    assert len(names_found(catalog.view, "thing", limit=500)) == 300


async def test_waiting_for_a_revision_that_does_not_come_is_unavailable_in_time(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    with pytest.raises(RevisionNotReached) as refusal:
        await catalogs.view(KEY, min_revision=9, epoch="", timeout=0.05)
    assert refusal.value.metadata == {"field": "min_revision", "given": "9", "allowed": "1"}


async def test_a_revision_of_an_epoch_that_is_gone_is_not_waited_for(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    _, view = await catalogs.view(KEY, min_revision=9, epoch="gone", timeout=0.05)
    assert view.version.revision == 1


async def test_an_idle_catalog_is_evicted_and_comes_back_on_the_next_search(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    version, _ = await write(catalogs, "a")
    await searched(catalogs, version.revision)
    catalogs.evict_idle()
    assert catalogs.loaded == []
    assert await searched(catalogs, 1) == ["s.a"]
    assert catalogs.loaded == [KEY]


async def test_a_write_after_an_eviction_builds_on_what_was_there(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write(catalogs, "a")
    await searched(catalogs, 1)
    catalogs.evict_idle()
    version, _ = await write(catalogs, "b")
    assert await searched(catalogs, version.revision) == ["s.a", "s.b"]


async def test_a_watched_catalog_is_not_evicted(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write(catalogs, "a")
    await searched(catalogs, 1)
    events = catalogs.watch(KEY, None, "")
    await anext(events)
    catalogs.evict_idle()
    assert catalogs.loaded == [KEY]
    await events.aclose()  # type: ignore[attr-defined]
    catalogs.evict_idle()
    assert catalogs.loaded == []


async def test_many_asking_for_a_cold_catalog_load_it_once(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1), "a")
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    loads = 0
    snapshot = store.snapshot

    async def counting(key: CatalogKey) -> object:
        nonlocal loads
        loads += 1
        return await snapshot(key)

    monkeypatch.setattr(store, "snapshot", counting)
    found = await asyncio.gather(*(catalogs.get(KEY) for _ in range(20)))
    assert loads == 1
    assert len({id(catalog) for catalog in found}) == 1


async def test_a_write_whose_caller_goes_away_is_finished_and_searchable(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    writing = asyncio.create_task(write(catalogs, "b"))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    version, _ = await write(catalogs, "c")
    assert await searched(catalogs, version.revision) == ["s.a", "s.b", "s.c"]


async def test_a_writer_that_read_too_early_reads_again(store: SqliteStore) -> None:
    ours = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    theirs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    await write(ours, "a")
    await write(theirs, "b")
    version, _ = await write(ours, "c")
    assert version.revision == 3
    assert await searched(ours, 3) == ["s.a", "s.b", "s.c"]


async def test_a_writer_that_never_gets_through_is_told_so(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def always_late(key: CatalogKey, expected: Version, change: Change) -> Version:
        raise Conflict(Version("e", 99))

    monkeypatch.setattr(store, "commit", always_late)
    with pytest.raises(WriteContention):
        await write(Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1), "a")


async def test_a_deleted_catalog_is_not_found_and_can_come_back(catalogs: Catalogs) -> None:
    first, _ = await write(catalogs, "a")
    with pytest.raises(RevisionMismatch):
        await catalogs.delete(KEY, expected_revision=7)
    await catalogs.delete(KEY, expected_revision=1)
    with pytest.raises(CatalogNotFound):
        await catalogs.get(KEY)
    second, _ = await write(catalogs, "b")
    assert second.epoch != first.epoch
    assert await searched(catalogs, 1) == ["s.b"]


async def test_no_entry_is_lost_when_indexing_fails_more_than_once(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(catalogs, "a")
    await searched(catalogs, 1)
    failures = iter([MemoryError("first"), MemoryError("second")])
    after, of = View.after, View.of

    def failing_after(self: View, change: Change, entries: Entries) -> View:
        for failure in failures:
            raise failure
        return after(self, change, entries)

    def failing_of(entries: Entries, embedder: object = None) -> View:
        for failure in failures:
            raise failure
        return of(entries)

    monkeypatch.setattr(View, "after", failing_after)
    monkeypatch.setattr(View, "of", failing_of)
    await write(catalogs, "b")
    version, _ = await write(catalogs, "c")
    assert await searched(catalogs, version.revision) == ["s.a", "s.b", "s.c"]


async def test_a_watcher_goes_on_when_its_catalog_is_read_again(store: SqliteStore) -> None:
    ours = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    theirs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    await write(ours, "a")
    events = ours.watch(KEY, None, "")
    await anext(events)
    await write(theirs, "b")
    await write(ours, "c")
    seen: list[tuple[str, ...]] = []
    async with asyncio.timeout(10):
        while len(seen) < 2:
            event = await anext(events)
            if isinstance(event, ChangedNames):
                seen.append(event.upserted)
    assert seen == [("s.b",), ("s.c",)]


async def test_a_delete_whose_caller_goes_away_is_finished_and_watchers_are_told(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs, "a")
    events = catalogs.watch(KEY, None, "")
    await anext(events)
    deleting = asyncio.create_task(catalogs.delete(KEY, expected_revision=None))
    await asyncio.sleep(0)
    deleting.cancel()
    async with asyncio.timeout(10):
        assert [event async for event in events] == [Deleted(version)]


async def test_a_failed_delete_leaves_catalog_and_watchers_as_they_were(
    store: SqliteStore, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(catalogs, "a")
    events = catalogs.watch(KEY, None, "")
    await anext(events)

    async def broken(key: CatalogKey, expected: Version) -> None:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(store, "delete", broken)
    with pytest.raises(StoreUnavailable):
        await catalogs.delete(KEY, expected_revision=None)
    await write(catalogs, "b")
    async with asyncio.timeout(10):
        event = await anext(events)
    assert isinstance(event, ChangedNames) and event.upserted == ("s.b",)


async def test_a_reader_that_waits_for_a_revision_of_a_catalog_that_is_deleted_is_told_so(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    waiting = asyncio.create_task(catalogs.view(KEY, min_revision=5, epoch="", timeout=10))
    await asyncio.sleep(0.01)
    await catalogs.delete(KEY, expected_revision=None)
    with pytest.raises(CatalogNotFound):
        await waiting


async def test_a_catalog_that_a_reader_waits_for_is_not_evicted(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write(catalogs, "a")
    await searched(catalogs, 1)
    waiting = asyncio.create_task(catalogs.view(KEY, min_revision=2, epoch="", timeout=10))
    await asyncio.sleep(0.01)
    catalogs.evict_idle()
    await write(catalogs, "b")
    _, view = await waiting
    assert view.version.revision == 2


async def test_an_index_that_fails_is_built_anew(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(catalogs, "a")
    await searched(catalogs, 1)

    def broken(self: Bm25Index, **_: object) -> Bm25Index:
        raise RuntimeError("index lost")

    monkeypatch.setattr(Bm25Index, "changed", broken)
    version, _ = await write(catalogs, "b")
    assert await searched(catalogs, version.revision) == ["s.a", "s.b"]


async def test_five_hundred_catalogs_do_not_mean_five_hundred_times_anything_in_threads(catalogs: Catalogs) -> None:
    await write(catalogs, "a", key=CatalogKey("t", "0"))
    await searched(catalogs, 1, key=CatalogKey("t", "0"))
    for number in range(40):
        await write(catalogs, "a", key=CatalogKey("t", f"warm{number}"))
    before = _threads()
    for number in range(500):
        key = CatalogKey("t", f"c{number}")
        await write(catalogs, "a", key=key)
        await searched(catalogs, 1, key=key)
    assert len(catalogs.loaded) == 541
    assert _threads() <= before + 5


def _threads() -> int:
    from pathlib import Path

    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


# Watching


async def collected(events: AsyncIterator[WatchEvent], count: int) -> Sequence[WatchEvent]:
    found: list[WatchEvent] = []
    async with asyncio.timeout(10):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_a_watcher_is_told_where_the_catalog_is_and_then_what_changes(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    events = catalogs.watch(KEY, None, "")
    (current,) = await collected(events, 1)
    assert isinstance(current, Current) and current.version.revision == 1
    events = catalogs.watch(KEY, 1, "")
    await write(catalogs, "b")
    await catalogs.write(KEY, lambda entries: plan_sync(entries, "s", [], DEFAULT_LIMITS), expected_revision=None)
    added, removed = await collected(events, 2)
    assert (added.version.revision, added.upserted, added.gone) == (2, ("s.b",), ())  # type: ignore[union-attr]
    assert (removed.version.revision, removed.upserted, set(removed.gone)) == (3, (), {"s.a", "s.b"})  # type: ignore[union-attr]


async def test_a_watcher_catches_up_from_the_log(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    for name in "abc":
        await write(catalogs, name)
    await searched(catalogs, 3)
    catalogs.evict_idle()
    events = await collected(catalogs.watch(KEY, 1, ""), 2)
    assert [event.version.revision for event in events] == [2, 3]


async def test_a_watcher_whose_changes_nobody_remembers_is_told_to_read_anew(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs, "a")
    (event,) = await collected(catalogs.watch(KEY, 1, "another epoch"), 1)
    assert event == SnapshotNeeded(version)
    (event,) = await collected(catalogs.watch(KEY, 50, version.epoch), 1)
    assert event == SnapshotNeeded(version)


async def test_a_watcher_of_a_catalog_that_is_deleted_is_told_and_released(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs, "a")
    events = catalogs.watch(KEY, None, "")
    await anext(events)
    await catalogs.delete(KEY, expected_revision=None)
    assert [event async for event in events] == [Deleted(version)]


async def test_no_version_is_never_served(catalogs: Catalogs) -> None:
    version, _ = await write(catalogs)
    assert version != NO_VERSION


async def test_a_catalog_counts_as_busy_while_it_indexes(catalogs: Catalogs) -> None:
    await write(catalogs, "a")
    catalog: Catalog = await catalogs.get(KEY)
    assert catalog.busy
    await catalog.reach(1, timeout=5)
    await asyncio.sleep(0)
    assert not catalog.busy
