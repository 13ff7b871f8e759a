"""The embedded store: one SQLite file, one process. `memory:` keeps it in memory, for tests and demonstrations."""

import asyncio
import contextlib
import fcntl
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

from toolsearch_server.changes import NO_VERSION, Change, Entries, Size, Version
from toolsearch_server.entry import EntryKey
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import Limits
from toolsearch_server.store import CatalogKey, CatalogRecord, Conflict, Followed, StoreOpenError, chunks
from toolsearch_server.store.records import (
    decode_change,
    decode_entry,
    decode_key,
    decode_settings,
    encode_change,
    encode_entry,
    encode_key,
    encode_settings,
)

SCHEMA_VERSION = 3
APPLICATION_ID = 0x746F6F6C
"""Marks the file as ours: "tool"."""
FOLLOWED_SCHEMA = """
CREATE TABLE followed (
    tenant TEXT NOT NULL,
    catalog TEXT NOT NULL,
    server TEXT NOT NULL,
    PRIMARY KEY (tenant, catalog, server)
) WITHOUT ROWID;
"""
USAGE_SCHEMA = """
CREATE TABLE usage (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE,
    key BLOB NOT NULL,
    uses REAL NOT NULL,
    PRIMARY KEY (catalog, key)
) WITHOUT ROWID;
"""
RESOURCES_SCHEMA = """
CREATE TABLE resources (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE,
    digest TEXT NOT NULL,
    number INTEGER NOT NULL,
    chunk BLOB NOT NULL,
    UNIQUE (catalog, digest, number)
);
"""
SCHEMA = f"""
CREATE TABLE catalogs (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    updated REAL NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    settings BLOB NOT NULL DEFAULT x'',
    UNIQUE (tenant, name)
);
CREATE TABLE entries (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE,
    key BLOB NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (catalog, key)
) WITHOUT ROWID;
CREATE TABLE log (
    catalog INTEGER NOT NULL REFERENCES catalogs ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (catalog, revision)
) WITHOUT ROWID;
{FOLLOWED_SCHEMA}
{USAGE_SCHEMA}
{RESOURCES_SCHEMA}
"""
FROM_1 = f"""
{FOLLOWED_SCHEMA}
ALTER TABLE catalogs ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE catalogs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE catalogs SET
    entries = (SELECT count(*) FROM entries WHERE catalog = catalogs.id),
    bytes = (SELECT coalesce(sum(length(record)), 0) FROM entries WHERE catalog = catalogs.id);
"""  # noqa: S608 a constant
"""Sizes are about right until the next write."""
FROM_2 = f"""
{USAGE_SCHEMA}
{RESOURCES_SCHEMA}
ALTER TABLE catalogs ADD COLUMN settings BLOB NOT NULL DEFAULT x'';
"""
UPGRADES = {1: FROM_1, 2: FROM_2}
"""What leads from each earlier format to the one after it."""
# A cache, which stores of the same format may lack. `used` counts up: the smallest were not used for longest.
VECTORS_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (model, digest)
);
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used);
"""

Result = TypeVar("Result")


class SqliteStore:
    """All work happens on one thread of its own, which also makes every method atomic to the others."""

    def __init__(
        self, connection: sqlite3.Connection, lock: IO[str] | None, thread: ThreadPoolExecutor, limits: Limits
    ) -> None:
        self.failed: Callable[[], None] = lambda: None
        """Told of every failure of the file."""
        self._connection = connection
        self._lock = lock
        self._thread = thread
        self._limits = limits

    @classmethod
    async def open(cls, path: Path | None, limits: Limits) -> "SqliteStore":
        """Open or make the file; None means in memory. Raises StoreOpenError."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")
        try:
            connection, lock = await asyncio.get_running_loop().run_in_executor(thread, _open, path)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(connection, lock, thread, limits)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()
        if self._lock is not None:
            self._lock.close()

    async def record(self, key: CatalogKey) -> CatalogRecord | None:
        return await self._run(lambda: self._record(key))

    async def records(self, tenant: str) -> list[CatalogRecord]:
        query = f"SELECT {_COLUMNS} FROM catalogs WHERE tenant = ? ORDER BY name"  # noqa: S608 a constant
        return await self._run(lambda: [_record(*row) for row in self._connection.execute(query, (tenant,))])

    async def tenants(self) -> list[str]:
        query = "SELECT DISTINCT tenant FROM catalogs ORDER BY tenant"
        return await self._run(lambda: [tenant for (tenant,) in self._connection.execute(query)])

    async def versions(self, keys: Sequence[CatalogKey]) -> list[Version | None]:
        """A file loses nothing: what is not there was deleted."""
        rows = await self._run(lambda: [self._row(key) for key in keys])
        return [NO_VERSION if row is None else row[1] for row in rows]

    async def snapshot(self, key: CatalogKey) -> Entries | None:
        found = await self._run(lambda: self._snapshot(key))
        if found is None:
            return None
        version, settings, rows = found
        return await asyncio.to_thread(lambda: Entries.of(version, map(decode_entry, rows), decode_settings(settings)))

    async def changes_since(self, key: CatalogKey, version: Version) -> list[tuple[Version, Change]] | None:
        return await self._run(lambda: self._changes_since(key, version))

    async def commit(self, key: CatalogKey, expected: Version, change: Change) -> Version:
        return await self._run(lambda: self._commit(key, expected, change))

    async def delete(self, key: CatalogKey, expected: Version) -> None:
        await self._run(lambda: self._delete(key, expected))

    async def resource_chunk(self, key: CatalogKey, digest: str, number: int) -> bytes | None:
        query = (
            "SELECT chunk FROM resources JOIN catalogs ON catalogs.id = catalog "
            "WHERE tenant = ? AND name = ? AND digest = ? AND number = ?"
        )
        row = await self._run(lambda: self._connection.execute(query, (*key, digest, number)).fetchone())
        return None if row is None else bytes(row[0])

    async def followed(self) -> set[Followed]:
        query = "SELECT tenant, catalog, server FROM followed"
        rows = await self._run(lambda: self._connection.execute(query).fetchall())
        return {Followed(CatalogKey(tenant, catalog), server) for tenant, catalog, server in rows}

    async def note_followed(self, servers: Collection[Followed]) -> None:
        rows = [(*each.key, each.server) for each in servers]
        await self._run(lambda: self._connection.executemany("INSERT OR IGNORE INTO followed VALUES (?, ?, ?)", rows))

    async def forget_followed(self, server: Followed) -> None:
        query = "DELETE FROM followed WHERE tenant = ? AND catalog = ? AND server = ?"
        await self._run(lambda: self._connection.execute(query, (*server.key, server.server)))

    async def add_usage(self, key: CatalogKey, uses: Mapping[EntryKey, float]) -> None:
        await self._run(lambda: self._add_usage(key, uses))

    async def usage(self, key: CatalogKey) -> dict[EntryKey, float]:
        query = "SELECT key, uses FROM usage WHERE catalog = (SELECT id FROM catalogs WHERE tenant = ? AND name = ?)"
        rows = await self._run(lambda: self._connection.execute(query, key).fetchall())
        return {decode_key(entry): uses for entry, uses in rows}

    async def vectors(self, model: str, digests: Sequence[bytes]) -> list[bytes | None]:
        return await self._run(lambda: self._vectors(model, digests))

    async def keep_vectors(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        await self._run(lambda: self._keep_vectors(model, vectors))

    async def _run(self, work: Callable[[], Result]) -> Result:
        try:
            # Shielded: a caller that goes away must not leave the outcome of a begun write unknown to the catalog.
            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))
        except sqlite3.Error as error:
            self.failed()
            raise StoreUnavailable(f"the store failed: {error}") from error

    def _row(self, key: CatalogKey) -> tuple[int, Version] | None:
        query = "SELECT id, epoch, revision FROM catalogs WHERE tenant = ? AND name = ?"
        row = self._connection.execute(query, key).fetchone()
        return None if row is None else (row[0], Version(row[1], row[2]))

    def _record(self, key: CatalogKey) -> CatalogRecord | None:
        query = f"SELECT {_COLUMNS} FROM catalogs WHERE tenant = ? AND name = ?"  # noqa: S608 a constant
        row = self._connection.execute(query, key).fetchone()
        return None if row is None else _record(*row)

    def _snapshot(self, key: CatalogKey) -> tuple[Version, bytes, list[bytes]] | None:
        row = self._row(key)
        if row is None:
            return None
        (settings,) = self._connection.execute("SELECT settings FROM catalogs WHERE id = ?", (row[0],)).fetchone()
        query = "SELECT record FROM entries WHERE catalog = ? ORDER BY key"
        return row[1], settings, [record for (record,) in self._connection.execute(query, (row[0],))]

    def _changes_since(self, key: CatalogKey, version: Version) -> list[tuple[Version, Change]] | None:
        row = self._row(key)
        if row is None or row[1].epoch != version.epoch or version.revision > row[1].revision:
            return None
        query = "SELECT record FROM log WHERE catalog = ? AND revision > ? ORDER BY revision"
        changes = [decode_change(record) for (record,) in self._connection.execute(query, (row[0], version.revision))]
        return changes if len(changes) == row[1].revision - version.revision else None

    def _commit(self, key: CatalogKey, expected: Version, change: Change) -> Version:
        now = datetime.now(UTC)
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            row = self._row(key)
            actual = NO_VERSION if row is None else row[1]
            if actual != expected:
                raise Conflict(actual)
            catalog, version = self._advance(key, row, now, change.size)
            self._connection.executemany(
                "DELETE FROM entries WHERE catalog = ? AND key = ?",
                ((catalog, encode_key(deleted)) for deleted in change.deletes),
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)",
                ((catalog, encode_key(entry.key), encode_entry(entry)) for entry in change.upserts),
            )
            if change.settings is not None:
                settings = encode_settings(change.settings)
                self._connection.execute("UPDATE catalogs SET settings = ? WHERE id = ?", (settings, catalog))
            self._keep_resources(catalog, change)
            record = encode_change(version, now, change)
            self._connection.execute("INSERT INTO log VALUES (?, ?, ?)", (catalog, version.revision, record))
            self._trim_log(catalog, version.revision)
        return version

    def _keep_resources(self, catalog: int, change: Change) -> None:
        self._connection.executemany(
            "DELETE FROM resources WHERE catalog = ? AND digest = ?", ((catalog, digest) for digest in change.gone_resources)
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?)",
            (
                (catalog, digest, number, chunk)
                for digest, content in change.contents.items()
                for number, chunk in enumerate(chunks(content))
            ),
        )

    def _advance(self, key: CatalogKey, row: tuple[int, Version] | None, now: datetime, size: Size) -> tuple[int, Version]:
        described = (now.timestamp(), size.entries, size.bytes)
        if row is None:
            version = Version(secrets.token_hex(6), 1)
            cursor = self._connection.execute(
                "INSERT INTO catalogs (tenant, name, epoch, revision, updated, entries, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, version.epoch, version.revision, *described),
            )
            assert cursor.lastrowid is not None, "an insert has a row id"
            return cursor.lastrowid, version
        catalog, actual = row
        version = Version(actual.epoch, actual.revision + 1)
        self._connection.execute(
            "UPDATE catalogs SET revision = ?, updated = ?, entries = ?, bytes = ? WHERE id = ?",
            (version.revision, *described, catalog),
        )
        return catalog, version

    def _trim_log(self, catalog: int, newest: int) -> None:
        """Keep the newest changes as far as the limits allow."""
        summed = "SELECT revision, sum(length(record)) OVER (ORDER BY revision DESC) AS bytes FROM log WHERE catalog = ?"
        query = f"SELECT max(revision) FROM ({summed}) WHERE bytes > ?"  # noqa: S608
        (too_many,) = self._connection.execute(query, (catalog, self._limits.log_bytes)).fetchone()
        gone = max(newest - self._limits.log_changes, too_many or 0)
        self._connection.execute("DELETE FROM log WHERE catalog = ? AND revision <= ?", (catalog, gone))

    def _delete(self, key: CatalogKey, expected: Version) -> None:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            row = self._row(key)
            actual = NO_VERSION if row is None else row[1]
            if actual != expected:
                raise Conflict(actual)
            if row is not None:
                self._connection.execute("DELETE FROM catalogs WHERE id = ?", (row[0],))

    def _add_usage(self, key: CatalogKey, uses: Mapping[EntryKey, float]) -> None:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            row = self._row(key)
            if row is None:
                return
            self._connection.executemany(
                "INSERT INTO usage VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET uses = uses + excluded.uses",
                ((row[0], encode_key(entry), count) for entry, count in uses.items()),
            )
            self._connection.execute(
                "DELETE FROM usage WHERE catalog = ?1 AND key NOT IN"
                " (SELECT key FROM usage WHERE catalog = ?1 ORDER BY uses DESC LIMIT ?2)",
                (row[0], self._limits.usage_entries),
            )

    def _vectors(self, model: str, digests: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = []
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            use = self._next_use()
            query = "SELECT rowid, vector FROM vectors WHERE model = ? AND digest = ?"
            for digest in digests:
                row = self._connection.execute(query, (model, digest)).fetchone()
                found.append(None if row is None else row[1])
                if row is not None:
                    self._connection.execute("UPDATE vectors SET used = ? WHERE rowid = ?", (use, row[0]))
        return found

    def _keep_vectors(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            use = self._next_use()
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                ((model, digest, vector, use) for digest, vector in vectors.items()),
            )
            (count,) = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
            if count > self._limits.stored_vectors:
                self._connection.execute(
                    "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used LIMIT ?)",
                    (count - self._limits.stored_vectors,),
                )

    def _next_use(self) -> int:
        (use,) = self._connection.execute("SELECT coalesce(max(used), 0) + 1 FROM vectors").fetchone()
        return int(use)


_COLUMNS = "name, epoch, revision, updated, entries, bytes"


def _record(name: str, epoch: str, revision: int, updated: float, entries: int, size: int) -> CatalogRecord:
    return CatalogRecord(name, Version(epoch, revision), datetime.fromtimestamp(updated, UTC), Size(entries, size))


def _open(path: Path | None) -> tuple[sqlite3.Connection, IO[str] | None]:
    with contextlib.ExitStack() as undo:
        try:
            lock = undo.enter_context(_locked(path)) if path is not None else None
            connection = sqlite3.connect(path or ":memory:", isolation_level=None)
            undo.callback(connection.close)
            _prepare(connection, path)
        except (OSError, sqlite3.Error) as error:
            raise StoreOpenError(f"cannot open the store {path}: {error}") from error
        undo.pop_all()
    return connection, lock


def _locked(path: Path) -> IO[str]:
    """Keep a second process out: it would not see this one's changes in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.fdopen(os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StoreOpenError(f"the store {path} is in use by another process; several replicas need a shared store") from None
    path.touch(mode=0o600)
    return lock


def _prepare(connection: sqlite3.Connection, path: Path | None) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise StoreOpenError(f"{path} is a database of another program")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if not tables:
        connection.executescript(
            f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
    elif found in UPGRADES:
        upgrade = "".join(UPGRADES[version] for version in range(found, SCHEMA_VERSION))
        connection.executescript(f"BEGIN; {upgrade} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
    elif found != SCHEMA_VERSION:
        raise StoreOpenError(f"the store {path} has format {found}, this program reads format {SCHEMA_VERSION}")
    connection.executescript(VECTORS_SCHEMA)
