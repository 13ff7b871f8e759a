"""What the embedded store promises beyond every store's promises: files, locks, crashes."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support import draft, tool
from toolsearch_server.changes import NO_ENTRIES, NO_VERSION, Version, plan_apply
from toolsearch_server.entry import Resource
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey, StoreOpenError
from toolsearch_server.store.records import encode_entry, encode_key
from toolsearch_server.store.sqlite import APPLICATION_ID, SqliteStore

KEY = CatalogKey("t", "c")

WRITER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support import draft, tool
from toolsearch_server.changes import NO_ENTRIES, plan_apply
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.sqlite import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]), DEFAULT_LIMITS)
    key = CatalogKey("t", "c")
    entries = await store.snapshot(key) or NO_ENTRIES
    number = entries.version.revision
    while True:
        number += 1
        drafts = [draft(tool(f"n{number}_{part}", "x" * 500), "s") for part in range(5)]
        change = plan_apply(entries, drafts, (), DEFAULT_LIMITS).change
        version = await store.commit(key, entries.version, change)
        entries = entries.after(change, version)
        print(version.revision, flush=True)

asyncio.run(main())
"""


async def test_a_store_survives_being_closed_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    change = plan_apply(NO_ENTRIES, [draft(tool("a"), "s")], (), DEFAULT_LIMITS).change
    version = await store.commit(KEY, NO_VERSION, change)
    await store.close()
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    assert await store.snapshot(KEY) == NO_ENTRIES.after(change, version)
    await store.close()


async def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", DEFAULT_LIMITS)
    with pytest.raises(StoreOpenError, match="in use by another process"):
        await SqliteStore.open(tmp_path / "store.db", DEFAULT_LIMITS)
    await store.close()
    await (await SqliteStore.open(tmp_path / "store.db", DEFAULT_LIMITS)).close()


async def test_a_file_that_is_not_a_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("dear store, " * 100)
    with pytest.raises(StoreOpenError, match=r"letter\.txt"):
        await SqliteStore.open(path, DEFAULT_LIMITS)
    assert path.read_text() == "dear store, " * 100


async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE users (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreOpenError, match="another program"):
        await SqliteStore.open(path, DEFAULT_LIMITS)
    assert path.read_bytes() == before


async def test_a_store_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path, DEFAULT_LIMITS)).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreOpenError, match="format 99"):
        await SqliteStore.open(path, DEFAULT_LIMITS)


async def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreOpenError, match="cannot open the store"):
        await SqliteStore.open(tmp_path / "file" / "store.db", DEFAULT_LIMITS)


async def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db", DEFAULT_LIMITS)
    change = plan_apply(NO_ENTRIES, [draft(tool("a"), "s")], (), DEFAULT_LIMITS).change
    await store.commit(KEY, NO_VERSION, change)
    modes = {name: oct(os.lstat(tmp_path / name).st_mode)[-3:] for name in os.listdir(tmp_path)}  # noqa: PTH208
    assert set(modes.values()) == {"600"}, modes
    await store.close()


async def test_a_failing_disk_is_an_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    small = plan_apply(NO_ENTRIES, [draft(tool("a"), "s")], (), DEFAULT_LIMITS).change
    version = await store.commit(KEY, NO_VERSION, small)
    entries = NO_ENTRIES.after(small, version)
    await store._run(lambda: store._connection.execute("PRAGMA max_page_count = 20").fetchall())
    large = plan_apply(entries, [draft(tool(f"n{n}", "x" * 5_000), "s") for n in range(200)], (), DEFAULT_LIMITS).change
    with pytest.raises(StoreUnavailable, match="full"):
        await store.commit(KEY, version, large)
    assert await store.snapshot(KEY) == entries
    await store._run(lambda: store._connection.execute("PRAGMA max_page_count = 100000").fetchall())
    assert await store.commit(KEY, version, large) == Version(version.epoch, 2)
    await store.close()


@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store.db"
    acknowledged = 0
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parents[1])], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(random.Random(seed).randrange(1, 40)):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
        acknowledged = max([acknowledged, *(int(line) for line in rest if line)])
        writer.wait()
        writer.stdout.close()

    async def check() -> None:
        store = await SqliteStore.open(path, DEFAULT_LIMITS)
        entries = await store.snapshot(KEY)
        assert entries is not None
        assert entries.version.revision >= acknowledged
        assert len(entries.by_key) == 5 * entries.version.revision, "a change is there in full or not at all"
        log = await store.changes_since(KEY, Version(entries.version.epoch, 0))
        assert log is not None and len(log) == entries.version.revision
        await store.close()

    asyncio.run(check())


async def test_of_too_many_vectors_those_that_were_used_last_are_kept() -> None:
    store = await SqliteStore.open(None, Limits(stored_vectors=3))
    for name in (b"a", b"b", b"c"):
        await store.keep_vectors("m", {name: name})
    assert await store.vectors("m", [b"a"]) == [b"a"]
    await store.keep_vectors("m", {b"d": b"d"})
    assert await store.vectors("m", [b"a", b"b", b"c", b"d"]) == [b"a", None, b"c", b"d"]
    await store.close()


async def test_a_store_from_before_there_were_vectors_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path, DEFAULT_LIMITS)).close()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE vectors")
    connection.close()
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    await store.keep_vectors("m", {b"a": b"v"})
    assert await store.vectors("m", [b"a"]) == [b"v"]
    await store.close()


FORMAT_1 = """
CREATE TABLE catalogs (
    id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, epoch TEXT NOT NULL, revision INTEGER NOT NULL,
    updated REAL NOT NULL, UNIQUE (tenant, name)
);
CREATE TABLE entries (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE, key BLOB NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (catalog, key)
) WITHOUT ROWID;
CREATE TABLE log (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE, revision INTEGER NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (catalog, revision)
) WITHOUT ROWID;
"""


async def test_a_file_of_the_second_format_gets_a_place_for_resources(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    entries = NO_ENTRIES
    change = plan_apply(entries, [draft(tool("a"), "s")], (), DEFAULT_LIMITS).change
    entries = entries.after(change, await store.commit(KEY, NO_VERSION, change))
    await store.close()
    with sqlite3.connect(path) as old:
        old.executescript(
            "DROP TABLE resources; DROP TABLE usage; ALTER TABLE catalogs DROP COLUMN settings; PRAGMA user_version = 2;"
        )
    old.close()
    store = await SqliteStore.open(path, DEFAULT_LIMITS)
    assert await store.snapshot(KEY) == entries
    resource = Resource.of("f", "", b"content")
    drafts = [draft(tool("b"), "s", resources=[resource])]
    change = plan_apply(entries, drafts, (), DEFAULT_LIMITS, {resource.digest: b"content"}).change
    await store.commit(KEY, entries.version, change)
    assert await store.resource_chunk(KEY, resource.digest, 0) == b"content"
    await store.close()


async def test_a_file_of_the_first_format_is_taken_over_with_all_that_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    [entry] = plan_apply(NO_ENTRIES, [draft(tool("a"), "s")], (), DEFAULT_LIMITS).change.upserts
    with sqlite3.connect(path) as old:
        old.executescript(f"{FORMAT_1} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;")
        old.execute("INSERT INTO catalogs VALUES (1, ?, ?, 'epoch', 7, 0.0)", KEY)
        old.execute("INSERT INTO entries VALUES (1, ?, ?)", (encode_key(entry.key), encode_entry(entry)))
    old.close()
    for _ in range(2):
        store = await SqliteStore.open(path, DEFAULT_LIMITS)
        found, record = await store.snapshot(KEY), await store.record(KEY)
        assert found is not None and list(found.by_name) == ["s.a"] and found.version == Version("epoch", 7)
        assert record is not None and record.size.entries == 1 and record.size.bytes > 0
        assert await store.followed() == set()
        await store.close()
