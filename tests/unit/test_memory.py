"""Memory is bounded: what is least recently used makes room."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support import DATA, draft, entries_of, names_found, things_found, tool, until, write_tools
from toolsearch_server import allocator
from toolsearch_server.catalog import View
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.limits import Limits
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.sqlite import SqliteStore

ONE = View.of(entries_of([])).bytes
"""What a catalog costs that has nothing in it."""


def key(number: int) -> CatalogKey:
    return CatalogKey(f"tenant{number}", "c")


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(None, Limits())
    yield opened
    await opened.close()


async def settled(catalogs: Catalogs) -> None:
    await until(lambda: not any(catalog.busy for catalog in catalogs.loaded.values()))


async def test_the_least_recently_used_catalogs_make_room_for_others(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(index_bytes=4 * ONE), idle_seconds=3600)
    for number in range(6):
        await write_tools(catalogs, "a", key=key(number))
        await things_found(catalogs, 1, key(0))
        await settled(catalogs)
    assert key(0) in catalogs.loaded, "it is used all the time"
    assert key(5) in catalogs.loaded, "it was used last"
    assert len(catalogs.loaded) == 3
    assert catalogs.figures().index_bytes <= 4 * ONE


async def test_an_evicted_catalog_comes_back_when_it_is_asked_for(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(index_bytes=1), idle_seconds=3600)
    for number in range(4):
        await write_tools(catalogs, f"n{number}", key=key(number))
        await settled(catalogs)
    for number in range(4):
        assert await things_found(catalogs, 1, key(number)) == [f"s.n{number}"]
    assert len(catalogs.loaded) == 1


async def test_a_catalog_larger_than_the_budget_is_served_all_the_same(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(index_bytes=1), idle_seconds=3600)
    version, _ = await write_tools(catalogs, *(f"n{number}" for number in range(50)))
    assert len(await things_found(catalogs, version.revision)) == 50


async def test_a_catalog_that_grows_is_counted_as_it_grows_and_not_any_more_when_it_is_gone(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(), idle_seconds=3600)
    await write_tools(catalogs, "a")
    await things_found(catalogs, 1)
    await settled(catalogs)
    small = catalogs.figures().index_bytes
    version, _ = await write_tools(catalogs, *(f"n{number}" for number in range(100)))
    await things_found(catalogs, version.revision)
    await settled(catalogs)
    figures = catalogs.figures()
    assert figures.index_bytes > small
    assert figures.index_bytes == sum(catalog.view.bytes for catalog in catalogs.loaded.values())
    assert figures.entries == 101
    await catalogs.delete(CatalogKey("tenant", "catalog"), expected_revision=None)
    assert catalogs.figures().index_bytes == 0


async def test_a_storm_of_searches_on_more_catalogs_than_fit_is_answered_and_the_budget_is_kept(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(index_bytes=5 * ONE), idle_seconds=3600)
    for number in range(30):
        await write_tools(catalogs, f"n{number}", key=key(number))
    highest = 0

    async def search(number: int) -> None:
        nonlocal highest
        assert await things_found(catalogs, 1, key(number)) == [f"s.n{number}"]
        highest = max(highest, catalogs.figures().index_bytes)

    await asyncio.gather(*(search(number % 30) for number in range(120)))
    assert highest <= 6 * ONE


async def test_a_search_under_way_is_not_disturbed_by_the_eviction_of_its_catalog(store: SqliteStore) -> None:
    catalogs = Catalogs(store, limits=Limits(index_bytes=1), idle_seconds=3600)
    await write_tools(catalogs, "a", key=key(0))
    _, view = await catalogs.view(key(0), min_revision=1, epoch="", timeout=5)
    await settled(catalogs)
    await write_tools(catalogs, "b", key=key(1))
    assert key(0) not in catalogs.loaded
    assert names_found(view, "thing") == ["s.a"]


MEASURE = """
import gc, json, sys
sys.path.insert(0, {tests!r})
from support import draft, entries_of
from toolsearch_server.catalog import View
rows = [json.loads(line) for line in open({path!r})][:{count}]
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
unique = {{(row["server"], row["name"]): row for row in rows}}.values()
def tool(row, copy):
    description = f"{{row['description']}} {{copy}}"
    return {{"name": row["name"], "description": description, "inputSchema": row["input_schema"] or {{}}}}
def drafts(copy):
    return [draft(tool(row, copy), row["server"][:100]) for row in unique]
warm = View.of(entries_of(drafts(-1)))
before = resident()
views = [View.of(entries_of(drafts(copy))) for copy in range({copies})]
print(json.dumps([resident() - before, sum(view.bytes for view in views)]))
"""


@pytest.mark.skipif(not (DATA / "toucan_catalog").exists(), reason="needs the real catalogs, see TOOLSEARCH_DATA")
@pytest.mark.parametrize(("count", "copies"), [(100, 40), (1_000, 5)])
def test_the_estimate_is_within_a_factor_of_two_of_what_real_catalogs_take(count: int, copies: int) -> None:
    path = DATA / "toucan_catalog" / "tools.jsonl"
    tests = str(Path(__file__).parents[1])
    program = MEASURE.format(tests=tests, path=str(path), count=count, copies=copies)
    arenas = {"MALLOC_ARENA_MAX": str(allocator.ARENAS)}  # as the service has it
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ | arenas)
    taken, estimated = json.loads(ran.stdout)
    assert taken / 2 < estimated < taken * 2


def test_an_empty_catalog_is_not_free() -> None:
    assert ONE > 100_000
    assert View.of(entries_of([draft(tool("a", "x" * 1_000), "s")])).bytes > ONE + 1_000
