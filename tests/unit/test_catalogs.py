import asyncio
import threading
from typing import Any

import pytest

from support import CATALOG, draft, names_found, things_found, tool, until, write_tools
from toolsearch_server import catalog
from toolsearch_server.bm25 import Bm25Index
from toolsearch_server.catalog import Catalog, View
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import NO_VERSION, Change, Entries, Version, plan_apply, plan_sync
from toolsearch_server.errors import (
    CatalogFull,
    CatalogNotFound,
    QuotaExceeded,
    RevisionMismatch,
    RevisionNotReached,
    WriteContention,
)
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey, Conflict
from toolsearch_server.store.sqlite import SqliteStore


async def test_writes_to_several_catalogs_at_once_stay_within_the_quota_together() -> None:
    limits = Limits(catalogs_per_tenant=3, entries_per_tenant=10)
    store = await SqliteStore.open(None, limits)
    commit = store.commit

    async def slowly(key: CatalogKey, expected: Version, change: Change) -> Version:
        await asyncio.sleep(0.05)
        return await commit(key, expected, change)

    store.commit = slowly  # type: ignore[method-assign]
    catalogs = Catalogs(store, limits=limits, idle_seconds=60)
    keys = [CatalogKey("t", f"c{number}") for number in range(8)]
    writes = [write_tools(catalogs, "a", "b", "c", "d", key=key, limits=limits) for key in keys]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(result, QuotaExceeded) for result in results) == 6
    assert sum(record.size.entries for record in await store.records("t")) == 8
    await store.close()


async def test_a_write_is_searchable_at_its_revision(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs, "a")
    assert await things_found(catalogs, version.revision) == ["s.a"]


async def test_an_unknown_catalog_is_not_found_and_not_remembered(catalogs: Catalogs) -> None:
    with pytest.raises(CatalogNotFound):
        await catalogs.get(CATALOG)
    assert list(catalogs.loaded) == []


async def test_a_refused_first_write_leaves_no_catalog(catalogs: Catalogs) -> None:
    with pytest.raises(CatalogFull):
        await write_tools(catalogs, "a", "b", limits=Limits(entries_per_catalog=1))
    assert list(catalogs.loaded) == []
    with pytest.raises(CatalogNotFound):
        await catalogs.get(CATALOG)


async def test_a_catalog_may_hold_as_many_entries_as_the_limit_and_no_more(catalogs: Catalogs) -> None:
    limits = Limits(entries_per_catalog=2)
    await write_tools(catalogs, "a", "b", limits=limits)
    with pytest.raises(CatalogFull) as refusal:
        await write_tools(catalogs, "c", limits=limits)
    assert refusal.value.metadata == {"given": "3", "allowed": "2"}
    version, outcome = await write_tools(catalogs, "a", limits=limits)
    assert (version.revision, outcome.unchanged) == (1, 1)


async def test_an_empty_first_write_makes_an_empty_catalog(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs)
    assert version.revision == 1
    assert await things_found(catalogs, 1) == []


async def test_expected_revision_lets_one_of_two_racing_writers_win(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    results = await asyncio.gather(
        write_tools(catalogs, "b", expected_revision=1), write_tools(catalogs, "c", expected_revision=1), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, RevisionMismatch)]
    assert len(refused) == 1
    assert len((await catalogs.get(CATALOG)).entries.by_key) == 2


async def test_concurrent_writes_all_happen(catalogs: Catalogs) -> None:
    results = await asyncio.gather(*(write_tools(catalogs, f"n{number}") for number in range(30)))
    assert sorted(version.revision for version, _ in results) == list(range(1, 31))
    assert len(await things_found(catalogs, 30)) == 30


async def test_a_burst_of_changes_costs_few_index_commits(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_tools(catalogs, "first")
    commits = 0
    changed = Bm25Index.changed

    def counting(self: Bm25Index, **arguments: object) -> Bm25Index:
        nonlocal commits
        commits += 1
        return changed(self, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Bm25Index, "changed", counting)
    catalog = await catalogs.get(CATALOG)
    for number in range(1000):
        change = plan_apply(catalog.entries, [draft(tool(f"n{number}"), "s")], (), DEFAULT_LIMITS).change
        version = Version(catalog.entries.version.epoch, number + 2)
        catalog.receive([(version, change)], catalog.entries.after(change, version))
    await catalog.reach(1001, timeout=20)
    assert commits <= 5
    assert len(catalog.view.slots) == 1001


async def test_a_search_during_indexing_sees_the_old_view_whole(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    catalog = await catalogs.get(CATALOG)
    drafts = [draft(tool(f"n{number}", "thing"), "s") for number in range(300)]
    await catalogs.write(CATALOG, lambda entries: plan_sync(entries, "s", drafts, DEFAULT_LIMITS), expected_revision=None)
    seen = set()
    while catalog.view.version.revision < 2:
        seen.add(len(names_found(catalog.view, "thing", limit=500)))
        await asyncio.sleep(0)
    assert seen <= {1}
    assert len(names_found(catalog.view, "thing", limit=500)) == 300


async def test_waiting_for_a_revision_that_does_not_come_is_unavailable_in_time(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    with pytest.raises(RevisionNotReached) as refusal:
        await catalogs.view(CATALOG, min_revision=9, epoch="", timeout=0.05)
    assert refusal.value.metadata == {"field": "min_revision", "given": "9", "allowed": "1"}


async def test_a_revision_of_an_epoch_that_is_gone_is_not_waited_for(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    _, view = await catalogs.view(CATALOG, min_revision=9, epoch="gone", timeout=0.05)
    assert view.version.revision == 1


async def test_an_idle_catalog_is_evicted_and_comes_back_on_the_next_search(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    version, _ = await write_tools(catalogs, "a")
    await things_found(catalogs, version.revision)
    catalogs.evict_idle()
    assert list(catalogs.loaded) == []
    assert await things_found(catalogs, 1) == ["s.a"]
    assert list(catalogs.loaded) == [CATALOG]


async def test_a_write_after_an_eviction_builds_on_what_was_there(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    catalogs.evict_idle()
    version, _ = await write_tools(catalogs, "b")
    assert await things_found(catalogs, version.revision) == ["s.a", "s.b"]


async def test_many_asking_for_a_cold_catalog_load_it_once(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_tools(Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1), "a")
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    loads = 0
    snapshot = store.snapshot

    async def counting(key: CatalogKey) -> object:
        nonlocal loads
        loads += 1
        return await snapshot(key)

    monkeypatch.setattr(store, "snapshot", counting)
    found = await asyncio.gather(*(catalogs.get(CATALOG) for _ in range(20)))
    assert loads == 1
    assert len({id(catalog) for catalog in found}) == 1


async def test_a_write_whose_caller_goes_away_is_finished_and_searchable(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    writing = asyncio.create_task(write_tools(catalogs, "b"))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    version, _ = await write_tools(catalogs, "c")
    assert await things_found(catalogs, version.revision) == ["s.a", "s.b", "s.c"]


async def test_a_writer_that_read_too_early_reads_again(store: SqliteStore) -> None:
    ours = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    theirs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    await write_tools(ours, "a")
    await write_tools(theirs, "b")
    version, _ = await write_tools(ours, "c")
    assert version.revision == 3
    assert await things_found(ours, 3) == ["s.a", "s.b", "s.c"]


async def test_a_writer_that_never_gets_through_is_told_so(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def always_late(key: CatalogKey, expected: Version, change: Change) -> Version:
        raise Conflict(Version("e", 99))

    monkeypatch.setattr(store, "commit", always_late)
    with pytest.raises(WriteContention):
        await write_tools(Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1), "a")


async def test_a_deleted_catalog_is_not_found_and_can_come_back(catalogs: Catalogs) -> None:
    first, _ = await write_tools(catalogs, "a")
    with pytest.raises(RevisionMismatch):
        await catalogs.delete(CATALOG, expected_revision=7)
    await catalogs.delete(CATALOG, expected_revision=1)
    with pytest.raises(CatalogNotFound):
        await catalogs.get(CATALOG)
    second, _ = await write_tools(catalogs, "b")
    assert second.epoch != first.epoch
    assert await things_found(catalogs, 1) == ["s.b"]


async def test_no_entry_is_lost_when_indexing_fails_more_than_once(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    failures = iter([MemoryError("first"), MemoryError("second")])
    after, of = View.after, View.of

    def failing_after(self: View, change: Change, entries: Entries) -> View:
        for failure in failures:
            raise failure
        return after(self, change, entries)

    def failing_of(entries: Entries, *_: object) -> View:
        for failure in failures:
            raise failure
        return of(entries)

    monkeypatch.setattr(View, "after", failing_after)
    monkeypatch.setattr(View, "of", failing_of)
    await write_tools(catalogs, "b")
    version, _ = await write_tools(catalogs, "c")
    assert await things_found(catalogs, version.revision) == ["s.a", "s.b", "s.c"]


async def test_a_reader_that_waits_for_a_revision_of_a_catalog_that_is_deleted_is_told_so(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    catalog = await catalogs.get(CATALOG)
    waiting = asyncio.create_task(catalogs.view(CATALOG, min_revision=5, epoch="", timeout=10))
    await until(lambda: catalog.waiting)
    await catalogs.delete(CATALOG, expected_revision=None)
    with pytest.raises(CatalogNotFound):
        await waiting


async def test_a_catalog_that_a_reader_waits_for_is_not_evicted(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    catalog = await catalogs.get(CATALOG)
    waiting = asyncio.create_task(catalogs.view(CATALOG, min_revision=2, epoch="", timeout=10))
    await until(lambda: catalog.waiting)
    catalogs.evict_idle()
    await write_tools(catalogs, "b")
    _, view = await waiting
    assert view.version.revision == 2


async def test_an_index_that_fails_is_built_anew(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)

    def broken(self: Bm25Index, **_: object) -> Bm25Index:
        raise RuntimeError("index lost")

    monkeypatch.setattr(Bm25Index, "changed", broken)
    version, _ = await write_tools(catalogs, "b")
    assert await things_found(catalogs, version.revision) == ["s.a", "s.b"]


async def test_five_hundred_catalogs_do_not_mean_five_hundred_times_anything_in_threads(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a", key=CatalogKey("t", "0"))
    await things_found(catalogs, 1, key=CatalogKey("t", "0"))
    for number in range(40):
        await write_tools(catalogs, "a", key=CatalogKey("t", f"warm{number}"))
    before = _threads()
    for number in range(500):
        key = CatalogKey("t", f"c{number}")
        await write_tools(catalogs, "a", key=key)
        await things_found(catalogs, 1, key=key)
    assert len(catalogs.loaded) == 541
    assert _threads() <= before + 5


def _threads() -> int:
    from pathlib import Path

    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


async def test_no_version_is_never_served(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs)
    assert version != NO_VERSION


async def test_a_catalog_counts_as_busy_while_it_indexes(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    catalog: Catalog = await catalogs.get(CATALOG)
    assert catalog.busy
    await catalog.reach(1, timeout=5)
    await asyncio.sleep(0)
    assert not catalog.busy


async def test_changes_that_keep_coming_are_collected_until_somebody_waits_for_them(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "FIRST_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(catalog, "LAST_PAUSE_SECONDS", 60.0)
    commits = []
    index = Bm25Index.changed

    def counted(self: Bm25Index, **changes: Any) -> Bm25Index:
        commits.append(changes)
        return index(self, **changes)

    monkeypatch.setattr(Bm25Index, "changed", counted)
    await write_tools(catalogs, "first")
    assert await things_found(catalogs, 1) == ["s.first"]
    commits.clear()
    for number in range(20):  # of which the first are indexed while the others are written
        await write_tools(catalogs, f"tool_{number:02}")
    found = await things_found(catalogs, 21)
    assert len(found) == 21
    assert len(commits) <= 2
