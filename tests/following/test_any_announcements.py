"""Whatever happens to announcements, every replica ends with what the store has."""

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from support import CATALOG, draft, names_found, tool
from toolsearch_server.catalog import View
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import Change, Entries, Version, plan_sync
from toolsearch_server.entry import EntryKey
from toolsearch_server.errors import CatalogNotFound
from toolsearch_server.follower import Follower
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import (
    Announced,
    CatalogKey,
    CatalogRecord,
    Disturbed,
    News,
    Subscribed,
    Unsubscribed,
)
from toolsearch_server.store.sqlite import SqliteStore

LIMITS = Limits(log_changes=4)


class FaultyFeed:
    """Announces only what a test lets through."""

    def __init__(self) -> None:
        self.hear: Callable[[News], None] = lambda _: None
        self.followed: set[CatalogKey] = set()

    def follow(self, key: CatalogKey) -> None:
        self.followed.add(key)

    def unfollow(self, key: CatalogKey) -> None:
        self.followed.discard(key)

    async def run(self, hear: Callable[[News], None]) -> None:
        self.hear = hear
        await asyncio.Event().wait()


@dataclass
class SharedMemory:
    """The embedded store, shared by replicas of one process; commits are remembered as they would be announced."""

    store: SqliteStore
    feed: FaultyFeed
    announced: list[Announced]

    async def ping(self) -> None: ...

    async def close(self) -> None: ...

    async def record(self, key: CatalogKey) -> CatalogRecord | None:
        return await self.store.record(key)

    async def tenants(self) -> list[str]:
        return await self.store.tenants()

    async def records(self, tenant: str) -> list[CatalogRecord]:
        return await self.store.records(tenant)

    async def versions(self, keys: Sequence[CatalogKey]) -> list[Version | None]:
        return await self.store.versions(keys)

    async def snapshot(self, key: CatalogKey) -> Entries | None:
        return await self.store.snapshot(key)

    async def changes_since(self, key: CatalogKey, version: Version) -> list[tuple[Version, Change]] | None:
        return await self.store.changes_since(key, version)

    async def commit(self, key: CatalogKey, expected: Version, change: Change) -> Version:
        version = await self.store.commit(key, expected, change)
        self.announced.append(Announced(key, version, change))
        return version

    async def delete(self, key: CatalogKey, expected: Version) -> None:
        await self.store.delete(key, expected)

    async def add_usage(self, key: CatalogKey, uses: Mapping[EntryKey, float]) -> None:
        await self.store.add_usage(key, uses)

    async def usage(self, key: CatalogKey) -> dict[EntryKey, float]:
        return await self.store.usage(key)

    async def resource_chunk(self, key: CatalogKey, digest: str, number: int) -> bytes | None:
        return await self.store.resource_chunk(key, digest, number)

    async def vectors(self, model: str, digests: Sequence[bytes]) -> list[bytes | None]:
        return await self.store.vectors(model, digests)

    async def keep_vectors(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        await self.store.keep_vectors(model, vectors)


WRITES = st.tuples(st.just("write"), st.sampled_from("pq"), st.sets(st.sampled_from("abcd")))
HEARD = st.tuples(st.sampled_from(["hear", "hear without its change"]), st.integers(0, 30), st.none())
DELETES = st.tuples(st.just("delete"), st.none(), st.none())
STEPS = st.lists(
    st.one_of(
        WRITES,
        WRITES,
        HEARD,
        HEARD,
        DELETES,
        st.tuples(st.sampled_from(["garbage", "subscribed", "unsubscribed", "pause", "load", "evict"]), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(STEPS)
async def test_lost_repeated_late_and_broken_announcements_leave_every_replica_equal_to_a_fresh_one(
    steps: list[tuple[str, object, object]],
) -> None:
    sqlite = await SqliteStore.open(None, LIMITS)
    feed = FaultyFeed()
    shared = SharedMemory(sqlite, feed, [])
    writer = Catalogs(SharedMemory(sqlite, FaultyFeed(), shared.announced), limits=LIMITS, idle_seconds=0)
    reader = Catalogs(shared, limits=LIMITS, idle_seconds=0)
    running = asyncio.create_task(Follower(shared, reader, poll_seconds=1e6).run())
    await asyncio.sleep(0)
    seen: list[Version] = []
    try:
        for step in steps:
            await _take(step, writer, reader, shared)
            if CATALOG in reader.loaded:
                seen.append(reader.loaded[CATALOG].entries.version)
        # One acknowledgement is all it takes, whatever went wrong before.
        feed.hear(Subscribed(CATALOG))
        truth = await sqlite.snapshot(CATALOG)
        async with asyncio.timeout(10):
            while not _is_at(reader, truth):  # noqa: ASYNC110 what is waited for has no event
                await asyncio.sleep(0.001)
        for first, second in itertools.pairwise(seen):
            assert first.epoch != second.epoch or first.revision <= second.revision
    finally:
        running.cancel()
        await asyncio.wait([running])
        await sqlite.close()


async def _take(step: tuple[str, object, object], writer: Catalogs, reader: Catalogs, shared: SharedMemory) -> None:
    match step:
        case "write", str(server), set(offered):
            drafts = [draft(tool(name, "thing"), server) for name in sorted(offered)]
            await writer.write(
                CATALOG, lambda entries: plan_sync(entries, server, drafts, DEFAULT_LIMITS), expected_revision=None
            )
        case "delete", _, _:
            try:
                await writer.delete(CATALOG, expected_revision=None)
            except CatalogNotFound:
                return
        case ("hear" | "hear without its change") as how, int(back), _ if shared.announced:
            news = shared.announced[-1 - back % len(shared.announced)]
            shared.feed.hear(news if how == "hear" else replace(news, change=None))
        case "garbage", _, _:
            shared.feed.hear(Disturbed(CATALOG, "unreadable announcement"))
        case "subscribed", _, _:
            shared.feed.hear(Subscribed(CATALOG))
        case "unsubscribed", _, _:
            shared.feed.hear(Unsubscribed(CATALOG, 0.0))
        case "pause", _, _:
            await asyncio.sleep(0.002)
        case "load", _, _:
            try:
                await reader.get(CATALOG)
            except CatalogNotFound:
                return
        case "evict", _, _:
            reader.evict_idle()


def _is_at(reader: Catalogs, truth: Entries | None) -> bool:
    catalog = reader.loaded.get(CATALOG)
    if catalog is None:
        return True
    if truth is None or catalog.view.version != truth.version:
        return False
    assert catalog.entries == truth
    found = sorted(names_found(catalog.view, "thing", limit=50))
    assert found == sorted(names_found(View.of(truth), "thing", limit=50))
    return True
