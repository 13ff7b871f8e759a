"""Tenants with colliding, misleading names: whatever they do, each finds exactly what is its own.

Two replicas over one store: what one of them writes is read on either, so that stores, followers and caches are all in it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from following.replicas import replica
from redis_process import RedisProcess
from support import draft, names_found, tool
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import plan_sync
from toolsearch_server.errors import CatalogNotFound
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey, Followed, Store
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.sqlite import SqliteStore

LIMITS = Limits(index_bytes=2_000_000, log_changes=3)
"""So little memory that catalogs are evicted all the time."""

TENANTS = ("a", "a:b", "a/b", "a}", "{a}", "*", "..", "a%2Fb", "а", "ａ", "A", "a\u0301", "á", "a b", "default")
CATALOGS = ("b", ":b", "b:c", "/b", "{b", "*", "../b", "b:meta", "entries", "%", "", "b\u200b", "В", "default")
KEYS = st.builds(CatalogKey, st.sampled_from(TENANTS), st.sampled_from([name for name in CATALOGS if name]))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "delete", "read", "read", "evict"]), KEYS, st.integers(0, 1), st.integers(0, 5)
    ),
    min_size=5,
    max_size=30,
)


@asynccontextmanager
async def pair(url: str | None) -> AsyncIterator[tuple[list[Catalogs], Store]]:
    if url is None:
        store = await SqliteStore.open(None, LIMITS)
        catalogs = Catalogs(store, limits=LIMITS, idle_seconds=-1)
        yield [catalogs, catalogs], store
        await catalogs.close()
        await store.close()
    else:
        async with replica(url, limits=LIMITS) as first, replica(url, limits=LIMITS) as second:
            for each in (first, second):
                each.catalogs._idle_seconds = -1
            yield [first.catalogs, second.catalogs], first.store


async def check(steps: list[tuple[str, CatalogKey, int, int]], url: str | None) -> None:
    """`model` is what there should be: by tenant and catalog as a pair."""
    model: dict[CatalogKey, set[str]] = {}
    versions: dict[CatalogKey, tuple[int, str]] = {}
    async with pair(url) as (replicas, store):
        for number, (step, key, where, count) in enumerate(steps):
            catalogs = replicas[where]
            if step == "write":
                names = {f"t{number}x{index}" for index in range(count)}
                drafts = [draft(tool(name, "thing"), "s") for name in sorted(names)]
                plan = partial(plan_sync, server="s", offered=drafts, limits=LIMITS)
                version, _ = await catalogs.write(key, plan, expected_revision=None)
                model[key], versions[key] = names, (version.revision, version.epoch)
            elif step == "delete":
                await _delete(catalogs, key, exists=key in model)
                model.pop(key, None)
                versions.pop(key, None)
            elif step == "evict":
                catalogs.evict_idle()
            else:
                await _read(catalogs, key, model, versions)
        for key in {key for _, key, _, _ in steps}:
            for catalogs in replicas:
                await _read(catalogs, key, model, versions)
        for tenant in {key.tenant for _, key, _, _ in steps}:
            listed = {record.name: record.size.entries for record in await store.records(tenant)}
            assert listed == {key.catalog: len(names) for key, names in model.items() if key.tenant == tenant}
        assert {key.tenant for key in model} <= set(await store.tenants())


async def _delete(catalogs: Catalogs, key: CatalogKey, *, exists: bool) -> None:
    try:
        await catalogs.delete(key, expected_revision=None)
    except CatalogNotFound:
        assert not exists


async def _read(
    catalogs: Catalogs, key: CatalogKey, model: dict[CatalogKey, set[str]], versions: dict[CatalogKey, tuple[int, str]]
) -> None:
    if key not in model:
        async with asyncio.timeout(10):
            while await _found(catalogs, key, 0, "") is not None:  # noqa: ASYNC110 a deletion elsewhere arrives a moment later
                await asyncio.sleep(0.005)
        return
    revision, epoch = versions[key]
    assert await _found(catalogs, key, revision, epoch) == model[key]


async def _found(catalogs: Catalogs, key: CatalogKey, revision: int, epoch: str) -> set[str] | None:
    try:
        _, view = await catalogs.view(key, min_revision=revision, epoch=epoch, timeout=10)
    except CatalogNotFound:
        return None
    found = {name.removeprefix("s.") for name in names_found(view, "thing", limit=50)}
    assert found == {entry.local_name for entry in view.entries.by_key.values()}
    return found


@settings(max_examples=40)
@given(STEPS)
async def test_tenants_never_meet_in_the_embedded_store(steps: list[tuple[str, CatalogKey, int, int]]) -> None:
    await check(steps, None)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
async def test_tenants_never_meet_on_replicas_of_a_shared_store(
    redis_server: RedisProcess, steps: list[tuple[str, CatalogKey, int, int]]
) -> None:
    redis_server.command("FLUSHALL")
    await check(steps, redis_server.url)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
async def test_what_watchers_remember_is_kept_apart(kind: str, redis_server: RedisProcess) -> None:
    async with pair(None if kind == "sqlite" else redis_server.url) as (_, store):
        assert isinstance(store, SqliteStore | RedisStore)
        servers = {Followed(CatalogKey(tenant, catalog), "s") for tenant in TENANTS for catalog in CATALOGS}
        await store.note_followed(servers)
        assert await store.followed() == servers
        gone = Followed(CatalogKey("a:b", ":b"), "s")
        await store.forget_followed(gone)
        assert await store.followed() == servers - {gone}


async def test_leases_of_servers_with_misleading_names_are_different_leases(redis_server: RedisProcess) -> None:
    async with pair(redis_server.url) as (_, store):
        assert isinstance(store, RedisStore)
        for number, name in enumerate((*TENANTS, *CATALOGS[:-1])):
            assert await store.acquire(f"{name}!{number}", "owner", 60)
            assert not await store.acquire(f"{name}!{number}", "another", 60)


def test_the_limits_of_these_tests_are_tighter_than_the_service_s() -> None:
    assert LIMITS.index_bytes < DEFAULT_LIMITS.index_bytes
