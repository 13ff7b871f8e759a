"""Watching catalogs: what changes, in order, whatever happens to the catalog in memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from support import CATALOG, things_found, write_tools
from toolsearch_server.catalog import ChangedNames
from toolsearch_server.catalogs import Catalogs, Current, Deleted, SnapshotNeeded, WatchEvent
from toolsearch_server.changes import Version, plan_sync
from toolsearch_server.errors import (
    StoreUnavailable,
)
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.sqlite import SqliteStore


async def collected(events: AsyncIterator[WatchEvent], count: int) -> Sequence[WatchEvent]:
    found: list[WatchEvent] = []
    async with asyncio.timeout(10):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_a_watched_catalog_is_not_evicted(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    events = catalogs.watch(CATALOG, None, "")
    await anext(events)
    catalogs.evict_idle()
    assert list(catalogs.loaded) == [CATALOG]
    await events.aclose()  # type: ignore[attr-defined]
    catalogs.evict_idle()
    assert list(catalogs.loaded) == []


async def test_a_watcher_goes_on_when_its_catalog_is_read_again(store: SqliteStore) -> None:
    ours = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    theirs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
    await write_tools(ours, "a")
    events = ours.watch(CATALOG, None, "")
    await anext(events)
    await write_tools(theirs, "b")
    await write_tools(ours, "c")
    seen: list[tuple[str, ...]] = []
    async with asyncio.timeout(10):
        while len(seen) < 2:
            event = await anext(events)
            if isinstance(event, ChangedNames):
                seen.append(event.upserted)
    assert seen == [("s.b",), ("s.c",)]


async def test_a_delete_whose_caller_goes_away_is_finished_and_watchers_are_told(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs, "a")
    events = catalogs.watch(CATALOG, None, "")
    await anext(events)
    deleting = asyncio.create_task(catalogs.delete(CATALOG, expected_revision=None))
    await asyncio.sleep(0)
    deleting.cancel()
    async with asyncio.timeout(10):
        assert [event async for event in events] == [Deleted(version)]


async def test_a_failed_delete_leaves_catalog_and_watchers_as_they_were(
    store: SqliteStore, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_tools(catalogs, "a")
    events = catalogs.watch(CATALOG, None, "")
    await anext(events)

    async def broken(key: CatalogKey, expected: Version) -> None:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(store, "delete", broken)
    with pytest.raises(StoreUnavailable):
        await catalogs.delete(CATALOG, expected_revision=None)
    await write_tools(catalogs, "b")
    async with asyncio.timeout(10):
        event = await anext(events)
    assert isinstance(event, ChangedNames) and event.upserted == ("s.b",)


async def test_a_watcher_is_told_where_the_catalog_is_and_then_what_changes(catalogs: Catalogs) -> None:
    await write_tools(catalogs, "a")
    events = catalogs.watch(CATALOG, None, "")
    (current,) = await collected(events, 1)
    assert isinstance(current, Current) and current.version.revision == 1
    events = catalogs.watch(CATALOG, 1, "")
    await write_tools(catalogs, "b")
    await catalogs.write(CATALOG, lambda entries: plan_sync(entries, "s", [], DEFAULT_LIMITS), expected_revision=None)
    added, removed = await collected(events, 2)
    assert (added.version.revision, added.upserted, added.gone) == (2, ("s.b",), ())  # type: ignore[union-attr]
    assert (removed.version.revision, removed.upserted, set(removed.gone)) == (3, (), {"s.a", "s.b"})  # type: ignore[union-attr]


async def test_a_watcher_catches_up_from_the_log(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=0)
    for name in "abc":
        await write_tools(catalogs, name)
    await things_found(catalogs, 3)
    catalogs.evict_idle()
    events = await collected(catalogs.watch(CATALOG, 1, ""), 2)
    assert [event.version.revision for event in events] == [2, 3]


async def test_a_watcher_whose_changes_nobody_remembers_is_told_to_read_anew(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs, "a")
    (event,) = await collected(catalogs.watch(CATALOG, 1, "another epoch"), 1)
    assert event == SnapshotNeeded(version)
    (event,) = await collected(catalogs.watch(CATALOG, 50, version.epoch), 1)
    assert event == SnapshotNeeded(version)


async def test_a_watcher_of_a_catalog_that_is_deleted_is_told_and_released(catalogs: Catalogs) -> None:
    version, _ = await write_tools(catalogs, "a")
    events = catalogs.watch(CATALOG, None, "")
    await anext(events)
    await catalogs.delete(CATALOG, expected_revision=None)
    assert [event async for event in events] == [Deleted(version)]
