"""The shared store: Redis, alone, behind Sentinel, or as a Cluster.

Per catalog there are five keys in one slot: `meta` (epoch, revision, id of the latest change, time, settings), `entries` (a
hash), `log` (a stream), `resources` (a hash of pieces) and `usage` (a sorted set). One script writes all but the last and
announces the change. What each script promises is written on top of it.
"""

import asyncio
import hashlib
import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import resources
from typing import Any

import redis.exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialWithJitterBackoff

from toolsearch_server.changes import NO_VERSION, Change, Entries, Size, Version
from toolsearch_server.entry import EntryKey
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import Limits
from toolsearch_server.settings import Settings
from toolsearch_server.store import CatalogKey, CatalogRecord, Conflict, Followed, chunks
from toolsearch_server.store.location import Host, RedisLocation
from toolsearch_server.store.records import (
    decode_change,
    decode_entry,
    decode_key,
    decode_settings,
    encode_announcement,
    encode_change,
    encode_deletion,
    encode_entry,
    encode_key,
    encode_settings,
)
from toolsearch_server.store.redis_feed import RedisFeed, heed_cancellation
from toolsearch_server.store.redis_hints import listen
from toolsearch_server.store.redis_keys import Keys

ATTEMPTS = 2
"""Tries again of a command whose connection failed. Every script may be run twice."""
VERSIONS_AT_ONCE = 500
SCANNED_AT_ONCE = 500
SNAPSHOT_ATTEMPTS = 3
VECTORS_AT_ONCE = 200
USAGE_SECONDS = 180 * 24 * 3600
"""What was used last before that has nearly no weight left."""
DELETION_SECONDS = 24 * 3600
"""How long a replica may be out of touch and still learn that a catalog was deleted, and not lost."""
UNUSED_NAME_SECONDS = 300
"""After so long, a listed name without a catalog is not one that is just being made."""

Client = Redis | RedisCluster
FAILURES = (redis.exceptions.RedisError, redis.exceptions.RedisClusterException, OSError, TimeoutError)


class RedisStore:
    def __init__(self, location: RedisLocation, limits: Limits) -> None:
        """Connects when first used: a replica starts without Redis and waits for it."""
        self.failed: Callable[[], None] = lambda: None
        """Told of every failure of Redis."""
        self._location = location
        self._limits = limits
        self._client, self._sentinel = _client(location)
        self._keys = Keys(location.prefix)
        self._scripts = {name: _Script(name) for name in _SCRIPTS}
        self._nodes = _Nodes(self._client, self._sentinel, location)
        self.feed = RedisFeed(self._keys, self._nodes)

    async def close(self) -> None:
        await self._client.aclose()
        if self._sentinel is not None:
            for client in self._sentinel.sentinels:
                await client.aclose()

    async def ping(self) -> None:
        async with self._failures("ask"):
            await self._client.execute_command("HGET", self._keys.probe, "ping")

    async def record(self, key: CatalogKey) -> CatalogRecord | None:
        (record,) = await self._records([key])
        return record

    async def records(self, tenant: str) -> list[CatalogRecord]:
        async with self._failures("read"):
            listed: Any = await self._client.zrange(self._keys.catalogs(tenant), 0, -1, withscores=True)
        names = [name.decode() for name, _ in listed]
        records = await self._records([CatalogKey(tenant, name) for name in names])
        unused_before = time.time() - UNUSED_NAME_SECONDS
        for (name, listed_at), record in zip(listed, records, strict=True):
            if record is None and listed_at < unused_before:
                await self._run("forget", [self._keys.catalogs(tenant)], [name, _score(listed_at)], "write")
        return sorted((record for record in records if record is not None), key=lambda record: record.name)

    async def _records(self, keys: Sequence[CatalogKey]) -> list[CatalogRecord | None]:
        return [
            None if version in (None, NO_VERSION) else CatalogRecord(key.catalog, version, _time(updated), size)
            for key, (version, updated, size) in zip(keys, await self._metas(keys), strict=True)
        ]

    async def tenants(self) -> list[str]:
        async with self._failures("read"):
            listed: Any = await self._client.smembers(self._keys.tenants)
        return sorted(tenant.decode() for tenant in listed)

    async def versions(self, keys: Sequence[CatalogKey]) -> list[Version | None]:
        return [version for version, _, _ in await self._metas(keys)]

    async def _metas(self, keys: Sequence[CatalogKey]) -> list[tuple[Version | None, bytes, Size]]:
        found: list[tuple[Version | None, bytes, Size]] = []
        for first in range(0, len(keys), VERSIONS_AT_ONCE):
            async with self._failures("read"):
                pipeline = self._client.pipeline(transaction=False)
                for key in keys[first : first + VERSIONS_AT_ONCE]:
                    pipeline.hmget(self._keys.meta(key), *_META)
                rows = await pipeline.execute()
            for epoch, revision, id_, updated, deleted, entries, size in rows:
                found.append((_version(epoch, revision, id_, deleted), updated, Size(int(entries or 0), int(size or 0))))
        return found

    async def snapshot(self, key: CatalogKey) -> Entries | None:
        """Read piece by piece, so that a large catalog keeps Redis from nothing else, then brought up to date by the log.

        What is read while others write is of several versions. But a change says all about the entries that it touches: with
        all changes made since the reading began, in order, whatever was read becomes the newest version.
        """
        for _ in range(SNAPSHOT_ATTEMPTS):
            async with self._failures("read"):
                meta: Any = await self._client.hmget(self._keys.meta(key), "epoch", "revision", "id", "deleted", "settings")
            version = _version(*meta[:4])
            if version is None or version == NO_VERSION:
                return None
            settings = decode_settings(meta[4] or b"")
            records = await self._scan(self._keys.entries(key))
            changes = await self.changes_since(key, version)
            if changes is not None:
                return await asyncio.to_thread(_brought_up, version, settings, records, changes)
        raise StoreUnavailable(f"the catalog {key.catalog!r} changes faster than it can be read")

    async def _scan(self, name: str) -> list[bytes]:
        """All values of a hash; values that change meanwhile may be there twice or not at all."""
        records: dict[bytes, bytes] = {}
        cursor: Any = b"0"
        while True:
            async with self._failures("read"):
                answer: Any = await self._client.execute_command("HSCAN", name, cursor, "COUNT", SCANNED_AT_ONCE)
            cursor, found = answer
            records.update(found if isinstance(found, dict) else zip(found[::2], found[1::2], strict=True))
            if int(cursor) == 0:
                return list(records.values())

    async def changes_since(self, key: CatalogKey, version: Version) -> list[tuple[Version, Change]] | None:
        new_epoch = _new_epoch()
        records = await self._run(
            "changes",
            [self._keys.meta(key), self._keys.log(key)],
            [
                *_spelled(version),
                version.id,
                new_epoch,
                *await self._announcing(key, encode_announcement(Version(new_epoch, 0), None)),
            ],
            "read",
        )
        if records is None:
            return None
        return await asyncio.to_thread(lambda: [decode_change(record) for record in records])

    async def commit(self, key: CatalogKey, expected: Version, change: Change) -> Version:
        now = datetime.now(UTC)
        if expected == NO_VERSION:
            async with self._failures("write"):
                await self._client.zadd(self._keys.catalogs(key.tenant), {key.catalog: now.timestamp()})
                await self._client.execute_command("SADD", self._keys.tenants, key.tenant)
        version = Version(expected.epoch or _new_epoch(), expected.revision + 1, secrets.token_hex(8))
        record = await asyncio.to_thread(encode_change, version, now, change, expected.id)
        announced = record if len(record) <= self._limits.announced_bytes else None
        arguments: list[Any] = [*_spelled(expected), expected.id, *_spelled(version), version.id, now.timestamp()]
        arguments += (change.size.entries, change.size.bytes)
        arguments += (self._limits.log_changes, self._limits.log_bytes, record)
        arguments += await self._announcing(key, encode_announcement(version, announced))
        # Marked, because settings like the defaults are no bytes at all.
        arguments.append(b"" if change.settings is None else b"=" + encode_settings(change.settings))
        arguments += await asyncio.to_thread(_written, change)
        # Shielded: a caller that goes away must not leave the outcome of a begun write unknown to the catalog.
        answer = await asyncio.shield(asyncio.create_task(self._run("commit", self._catalog_keys(key), arguments, "write")))
        _refuse_conflict(answer)
        return version

    def _catalog_keys(self, key: CatalogKey) -> list[str]:
        keys = self._keys
        return [keys.meta(key), keys.entries(key), keys.log(key), keys.resources(key)]

    async def resource_chunk(self, key: CatalogKey, digest: str, number: int) -> bytes | None:
        async with self._failures("read"):
            found: Any = await self._client.execute_command("HGET", self._keys.resources(key), _piece(digest, number))
        return None if found is None else bytes(found)

    async def _announcing(self, key: CatalogKey, announcement: bytes) -> tuple[str, str, bytes]:
        """The command that a script is to announce with."""
        async with self._failures("ask"):
            sharded = await self._nodes.are_sharded()
        return "SPUBLISH" if sharded else "PUBLISH", self._keys.channel(key), announcement

    async def delete(self, key: CatalogKey, expected: Version) -> None:
        answer = await self._run(
            "delete",
            [*self._catalog_keys(key), self._keys.usage(key)],
            [*_spelled(expected), expected.id, DELETION_SECONDS, *await self._announcing(key, encode_deletion(expected))],
            "write",
        )
        _refuse_conflict(answer)

    async def followed(self) -> set[Followed]:
        async with self._failures("read"):
            listed: Any = await self._client.smembers(self._keys.followed)
        rows = (json.loads(member) for member in listed)
        return {Followed(CatalogKey(tenant, catalog), server) for tenant, catalog, server in rows}

    async def note_followed(self, servers: Collection[Followed]) -> None:
        if servers:
            async with self._failures("write"):
                await self._client.execute_command("SADD", self._keys.followed, *map(_member, servers))

    async def forget_followed(self, server: Followed) -> None:
        async with self._failures("write"):
            await self._client.execute_command("SREM", self._keys.followed, _member(server))

    async def add_usage(self, key: CatalogKey, uses: Mapping[EntryKey, float]) -> None:
        name = self._keys.usage(key)
        async with self._failures("write"):
            pipeline = self._client.pipeline(transaction=False)
            for entry, count in uses.items():
                pipeline.zincrby(name, count, encode_key(entry))
            pipeline.zremrangebyrank(name, 0, -(self._limits.usage_entries + 1))
            pipeline.expire(name, USAGE_SECONDS)
            await pipeline.execute()

    async def usage(self, key: CatalogKey) -> dict[EntryKey, float]:
        async with self._failures("read"):
            found: Any = await self._client.zrange(self._keys.usage(key), 0, -1, withscores=True)
        return {decode_key(entry): count for entry, count in found}

    async def vectors(self, model: str, digests: Sequence[bytes]) -> list[bytes | None]:
        found: list[bytes | None] = []
        for first in range(0, len(digests), VECTORS_AT_ONCE):
            async with self._failures("read"):
                pipeline = self._client.pipeline(transaction=False)
                for digest in digests[first : first + VECTORS_AT_ONCE]:
                    pipeline.getex(self._keys.vector(model, digest), ex=self._limits.stored_vector_seconds)
                found.extend(await pipeline.execute())
        return found

    async def keep_vectors(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        items = list(vectors.items())
        for first in range(0, len(items), VECTORS_AT_ONCE):
            async with self._failures("write"):
                pipeline = self._client.pipeline(transaction=False)
                for digest, vector in items[first : first + VECTORS_AT_ONCE]:
                    pipeline.set(self._keys.vector(model, digest), vector, ex=self._limits.stored_vector_seconds)
                await pipeline.execute()

    async def acquire(self, name: str, owner: str, seconds: float) -> bool:
        """Take a lease, or renew it; False if another owner has it."""
        return bool(await self._run("lease", [self._keys.lease(name)], [owner, int(seconds * 1000)], "write"))

    async def release(self, name: str, owner: str) -> None:
        await self._run("release", [self._keys.lease(name)], [owner], "write")

    async def listen_for_hints(self, hear: Callable[[bytes], None]) -> None:
        """What anybody publishes on the channel for hints, until cancelled."""
        await listen(self._nodes, self._keys.hints, hear)

    async def _run(self, name: str, keys: list[str], arguments: Sequence[Any], purpose: str) -> Any:
        script = self._scripts[name]
        async with self._failures(purpose):
            try:
                return await self._client.execute_command("EVALSHA", script.sha, len(keys), *keys, *arguments)
            except redis.exceptions.NoScriptError:
                return await self._client.execute_command("EVAL", script.text, len(keys), *keys, *arguments)

    @asynccontextmanager
    async def _failures(self, purpose: str) -> AsyncIterator[None]:
        """Whatever Redis says no with, as our refusal."""
        try:
            yield
            heed_cancellation()
        except FAILURES as error:
            self.failed()
            raise StoreUnavailable(_explanation(error, purpose)) from error


_META = ("epoch", "revision", "id", "updated", "deleted", "size", "bytes")
_SCRIPTS = ("commit", "changes", "delete", "forget", "lease", "release")


class _Script:
    def __init__(self, name: str) -> None:
        self.text = resources.files(__package__).joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class _Nodes:
    """Which Redis announces which channel, and how to connect to it."""

    def __init__(self, client: Client, sentinel: Sentinel | None, location: RedisLocation) -> None:
        self._client = client
        self._sentinel = sentinel
        self._location = location
        self._sharded = None if location.topology == "cluster" else False

    async def are_sharded(self) -> bool:
        """Whether each node of a Cluster announces its own slots only, as they can from Redis 7 on; asked once."""
        if self._sharded is None:
            probe = self.connection((await self.locate(["any"], afresh=False))[0])
            try:
                await probe.connect()
                await probe.send_command("INFO", "server")
                self._sharded = not re.search(rb"redis_version:[0-6]\.", await probe.read_response(disable_decoding=True))
            finally:
                await probe.disconnect(nowait=True)
        return self._sharded

    async def locate(self, channels: Sequence[str], *, afresh: bool) -> list[Host]:
        if isinstance(self._client, RedisCluster):
            await self._client.initialize()
            if afresh:
                await self._client.nodes_manager.initialize()
            nodes = [self._client.get_node_from_key(channel) for channel in channels]
            return [Host(str(node.host), int(node.port)) for node in nodes if node is not None]
        if self._sentinel is not None:
            host, port = await self._sentinel.discover_master(self._location.master)
            return [Host(str(host), int(port))] * len(channels)
        return [self._location.hosts[0]] * len(channels)

    def connection(self, host: Host) -> Any:
        """A connection of its own, that is not taken up again behind our back."""
        options = _options(self._location) | {"retry": Retry(ExponentialWithJitterBackoff(), 0), "protocol": 2}
        pool: Any = Redis(host=host.host, port=host.port, db=self._location.db, **options).connection_pool
        return pool.make_connection()


def _client(location: RedisLocation) -> tuple[Client, Sentinel | None]:
    options = _options(location)
    options["retry"] = Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), ATTEMPTS)
    if location.topology == "cluster":
        nodes = [ClusterNode(host, port) for host, port in location.hosts]
        return RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options), None
    if location.topology == "sentinel":
        # The sentinels' password is their own; most have none.
        asking = {name: value for name, value in options.items() if name not in ("username", "password")}
        sentinel = Sentinel(  # type: ignore[no-untyped-call]
            list(location.hosts), sentinel_kwargs=asking | {"password": location.sentinel_password}, **options
        )
        return sentinel.master_for(location.master, db=location.db), sentinel
    host, port = location.hosts[0]
    return Redis(host=host, port=port, db=location.db, **options), None


def _options(location: RedisLocation) -> dict[str, Any]:
    options: dict[str, Any] = {
        "username": location.username,
        "password": location.password,
        "socket_connect_timeout": location.connect_timeout,
        "socket_timeout": location.timeout,
        "client_name": location.client_name,
    }
    if location.tls:
        options |= {
            "ssl": True,
            "ssl_ca_certs": location.ca,
            "ssl_certfile": location.certificate,
            "ssl_keyfile": location.key,
        }
    return options


def _explanation(error: BaseException, purpose: str) -> str:
    match error:
        case redis.exceptions.OutOfMemoryError():
            return "the store is out of memory and refuses writes (maxmemory); nothing was written"
        case redis.exceptions.ReadOnlyError():
            return "the store is a read-only replica; nothing was written"
        case redis.exceptions.AuthenticationError() | redis.exceptions.NoPermissionError():
            return f"the store refuses our credentials: {error}"
        case redis.exceptions.ResponseError():
            return f"the store refused to {purpose}: {error}"
    if purpose == "write":
        return f"the store does not answer, and it is not known whether it has the write; the same may be sent again: {error}"
    return f"the store does not answer: {error}"


def _piece(digest: str, number: int) -> str:
    return f"{digest}:{number}"


def _member(server: Followed) -> str:
    return json.dumps([*server.key, server.server])


def _written(change: Change) -> list[Any]:
    """What a change does to the hashes of entries and resources."""
    pieces = [
        (_piece(digest, number), chunk)
        for digest, content in change.contents.items()
        for number, chunk in enumerate(chunks(content))
    ]
    arguments: list[Any] = [len(change.deletes), len(change.gone_resources), len(pieces)]
    arguments += map(encode_key, change.deletes)
    arguments += change.gone_resources
    for piece in pieces:
        arguments += piece
    for entry in change.upserts:
        arguments += (encode_key(entry.key), encode_entry(entry))
    return arguments


def _brought_up(
    version: Version, settings: Settings, records: Sequence[bytes], changes: Sequence[tuple[Version, Change]]
) -> Entries:
    entries = {entry.key: entry for entry in map(decode_entry, records)}
    for _, change in changes:
        for key in change.deletes:
            entries.pop(key, None)
        entries.update((entry.key, entry) for entry in change.upserts)
        settings = change.settings or settings
    newest = changes[-1][0] if changes else version
    # In the order of their keys, as the embedded store has them: the order of a hash means nothing.
    return Entries.of(newest, sorted(entries.values(), key=_key_bytes), settings)


def _refuse_conflict(answer: Sequence[Any]) -> None:
    if answer[0] != 1:
        raise Conflict(Version(answer[1].decode(), int(answer[2])))


def _version(epoch: bytes | None, revision: bytes, change_id: bytes, deleted: bytes | None) -> Version | None:
    if epoch is None:
        return None
    return NO_VERSION if deleted else Version(epoch.decode(), int(revision), change_id.decode())


def _spelled(version: Version) -> tuple[str, int]:
    return version.epoch, version.revision


def _new_epoch() -> str:
    return secrets.token_hex(6)


def _time(updated: bytes) -> datetime:
    return datetime.fromtimestamp(float(updated), UTC)


def _score(value: float) -> str:
    return f"{value:.17g}"


def _key_bytes(entry: Any) -> bytes:
    return encode_key(entry.key)
