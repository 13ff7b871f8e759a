"""What is particular about the Redis store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import trustme

from redis_process import RedisProcess, free_port, redis_store, running_redis
from support import draft, tool
from toolsearch_server.changes import NO_ENTRIES, NO_VERSION, Change, Version, plan_apply, plan_sync
from toolsearch_server.entry import Draft
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey, Conflict
from toolsearch_server.store import redis as redis_module
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.redis_keys import Keys

KEY = CatalogKey("tenant", "catalog")


def change(*names: str) -> Change:
    return plan_apply(NO_ENTRIES, [draft(tool(name), "s") for name in names], (), DEFAULT_LIMITS).change


async def test_a_catalog_read_while_others_write_to_it_is_one_of_its_versions(redis_server: RedisProcess) -> None:
    """Read in many pieces, with a write between each of them: of entries read before, read after, and not yet there."""
    store, writer = redis_store(redis_server.url), redis_store(redis_server.url)
    try:
        drafts = [draft(tool(f"n{number}", "thing " * 100), "s") for number in range(1_200)]
        entries = NO_ENTRIES
        states: dict[int, set[str]] = {}

        async def write(offered: list[Draft]) -> None:
            nonlocal entries
            planned = plan_sync(entries, "s", offered, DEFAULT_LIMITS)
            entries = entries.after(planned.change, await writer.commit(KEY, entries.version, planned.change))
            states[entries.version.revision] = set(entries.by_name)

        await write(drafts[:1_000])
        pieces = 0
        command = store._client.execute_command

        async def with_writes(*words: Any, **options: Any) -> Any:
            nonlocal pieces
            if words[0] == "HSCAN":
                pieces += 1
                await write(drafts[pieces * 50 : 1_000 + pieces * 50])
            return await command(*words, **options)

        store._client.execute_command = with_writes  # type: ignore[method-assign]
        found = await store.snapshot(KEY)
        assert pieces >= 2
        assert found is not None and set(found.by_name) == states[found.version.revision]
        assert found.version.revision == entries.version.revision
    finally:
        await store.close()
        await writer.close()


async def test_a_write_whose_answer_was_lost_is_made_once(redis_server: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    store = redis_store(redis_server.url)
    run = store._client.execute_command
    lost = iter([True])

    async def losing_an_answer(*command: Any, **options: Any) -> Any:
        answer = await run(*command, **options)
        if command[0] in ("EVALSHA", "EVAL") and next(lost, False):
            answer = await run(*command, **options)  # as redis-py does when the connection breaks
        return answer

    monkeypatch.setattr(store._client, "execute_command", losing_an_answer)
    try:
        version = await store.commit(KEY, NO_VERSION, change("a"))
        assert version.revision == 1
        assert await store.versions([KEY]) == [version]
        assert len(await store.changes_since(KEY, Version(version.epoch, 0)) or []) == 1
    finally:
        await store.close()


async def test_a_repeated_write_is_recognised_even_after_another_one(
    redis_server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_store(redis_server.url)
    arguments: list[Any] = []
    run = store._run

    async def remembering(name: str, keys: list[str], given: Any, purpose: str) -> Any:
        arguments.append((name, keys, given, purpose))
        return await run(name, keys, given, purpose)

    monkeypatch.setattr(store, "_run", remembering)
    try:
        first = await store.commit(KEY, NO_VERSION, change("a"))
        second = await store.commit(KEY, first, change("b"))
        assert await run(*arguments[0]) == [1], "not a conflict: it was made"
        assert await store.versions([KEY]) == [second]
    finally:
        await store.close()


async def test_a_read_only_replica_refuses_writes_in_clear_words(redis_server: RedisProcess) -> None:
    with running_redis("--replicaof", f"127.0.0.1 {redis_server.port}") as replica:
        store = redis_store(replica.url)
        try:
            with pytest.raises(StoreUnavailable, match="read-only replica; nothing was written"):
                await store.commit(KEY, NO_VERSION, change("a"))
        finally:
            await store.close()


async def test_a_wrong_password_is_told_and_not_repeated() -> None:
    with running_redis(password="right") as redis:
        wrong = redis_store(redis.url.replace("redis://", "redis://:wrong-password@"))
        right = redis_store(redis.url.replace("redis://", "redis://:right@"))
        try:
            with pytest.raises(StoreUnavailable, match="credentials") as refusal:
                await wrong.ping()
            assert "wrong-password" not in str(refusal.value)
            await right.ping()
        finally:
            await wrong.close()
            await right.close()


async def test_a_store_that_does_not_answer_is_unavailable_in_time(redis_server: RedisProcess) -> None:
    nowhere = redis_store(f"redis://127.0.0.1:{free_port()}?connect_timeout=0.2&timeout=0.2")
    try:
        async with asyncio.timeout(5):
            with pytest.raises(StoreUnavailable, match="not known whether it has the write"):
                await nowhere.commit(KEY, NO_VERSION, change("a"))
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await nowhere.snapshot(KEY)
    finally:
        await nowhere.close()


async def test_tls_is_spoken_and_the_certificate_checked(tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    stranger.cert_pem.write_to_path(tmp_path / "stranger.pem")
    port = free_port()
    files = ("cert.pem", "key.pem", "ca.pem")
    options = zip(("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file"), files, strict=True)
    flags = [word for flag, file in options for word in (flag, str(tmp_path / file))]
    with running_redis("--tls-port", str(port), *flags):
        mutual = f"certificate={tmp_path}/cert.pem&key={tmp_path}/key.pem"
        trusting = redis_store(f"rediss://127.0.0.1:{port}?ca={tmp_path}/ca.pem&{mutual}")
        doubting = redis_store(f"rediss://127.0.0.1:{port}?ca={tmp_path}/stranger.pem&{mutual}")
        try:
            await trusting.commit(KEY, NO_VERSION, change("a"))
            with pytest.raises(StoreUnavailable, match="certificate"):
                await doubting.ping()
        finally:
            await trusting.close()
            await doubting.close()


async def test_installations_with_different_prefixes_do_not_see_each_other(redis_server: RedisProcess) -> None:
    ours, theirs = redis_store(f"{redis_server.url}&prefix=a:"), redis_store(f"{redis_server.url}&prefix=b:")
    try:
        await ours.commit(KEY, NO_VERSION, change("a"))
        assert await theirs.snapshot(KEY) is None
        assert await theirs.records(KEY.tenant) == []
    finally:
        await ours.close()
        await theirs.close()


async def test_a_lease_has_one_owner_until_it_is_given_up_or_runs_out(redis_server: RedisProcess) -> None:
    store = redis_store(redis_server.url)
    try:
        assert await store.acquire("server", "me", 10)
        assert not await store.acquire("server", "you", 10)
        assert await store.acquire("server", "me", 10), "renewed"
        await store.release("server", "you")
        assert not await store.acquire("server", "you", 10)
        await store.release("server", "me")
        assert await store.acquire("server", "you", 0.05)
        async with asyncio.timeout(5):
            while not await store.acquire("server", "me", 10):  # noqa: ASYNC110 what is waited for has no event
                await asyncio.sleep(0.01)
    finally:
        await store.close()


async def test_names_of_catalogs_that_are_long_gone_are_forgotten_and_others_are_not(
    redis_server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = redis_store(redis_server.url)
    listed = Keys("toolsearch:").catalogs("tenant")
    try:
        version = await store.commit(KEY, NO_VERSION, change("a"))
        await store.delete(KEY, version)
        assert await store.records("tenant") == []
        assert await store._client.zcard(listed) == 1, "it may be just being made again"
        monkeypatch.setattr(redis_module, "UNUSED_NAME_SECONDS", -1)
        assert await store.records("tenant") == []
        assert await store._client.zcard(listed) == 0
        await store.commit(KEY, NO_VERSION, change("b"))
        assert [record.name for record in await store.records("tenant")] == ["catalog"]
    finally:
        await store.close()


async def test_a_deletion_whose_answer_was_lost_is_no_conflict(redis_server: RedisProcess) -> None:
    store: RedisStore = redis_store(redis_server.url)
    try:
        version = await store.commit(KEY, NO_VERSION, change("a"))
        await store.delete(KEY, version)
        await store.delete(KEY, version)
        with pytest.raises(Conflict):
            await store.delete(KEY, Version(version.epoch, 7))
    finally:
        await store.close()


async def test_a_vector_that_is_used_stays_and_one_that_is_not_expires(redis_server: RedisProcess) -> None:
    store = redis_store(f"{redis_server.url}&prefix=mine:", Limits(stored_vector_seconds=500))
    try:
        await store.keep_vectors("m", {b"a": b"v"})
        name = "mine:vector:m:61"
        assert redis_server.command("TTL", name).strip() in (":500", ":499")
        redis_server.command("EXPIRE", name, "5")
        assert await store.vectors("m", [b"a"]) == [b"v"]
        assert redis_server.command("TTL", name).strip() in (":500", ":499")
    finally:
        await store.close()


async def test_vectors_that_redis_refuses_are_a_refusal_of_ours() -> None:
    store = redis_store(f"redis://127.0.0.1:{free_port()}?timeout=1&connect_timeout=1")
    try:
        with pytest.raises(StoreUnavailable):
            await store.vectors("m", [b"a"])
        with pytest.raises(StoreUnavailable):
            await store.keep_vectors("m", {b"a": b"v"})
    finally:
        await store.close()
