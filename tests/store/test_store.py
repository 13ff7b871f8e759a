"""What every store promises. The tests run on each of them."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redis_process import redis_store
from support import draft, tool
from toolsearch_server.changes import (
    NO_ENTRIES,
    NO_VERSION,
    Change,
    Entries,
    Size,
    Version,
    plan_apply,
    plan_settings,
    plan_sync,
)
from toolsearch_server.entry import EntryKey, Kind, Resource
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.settings import NO_SETTINGS, Settings
from toolsearch_server.store import RESOURCE_CHUNK_BYTES, CatalogKey, Conflict, Followed, Store
from toolsearch_server.store.catch_up import catch_up
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.sqlite import SqliteStore

KEY = CatalogKey("tenant", "catalog")
LIMITS = Limits(log_changes=5)
USED, UNUSUAL = EntryKey("s", Kind.TOOL, "a"), EntryKey("", Kind.SKILL, "ä\n{}")


Opener = Callable[[Limits], Awaitable[Store]]


@pytest.fixture(params=["memory", "file", "redis", "cluster"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens empty stores of one sort."""
    opened: list[Store] = []

    async def open_empty(limits: Limits) -> Store:
        if request.param in ("memory", "file"):
            path = None if request.param == "memory" else tmp_path / f"new folder {len(opened)}" / "store.db"
            opened.append(await SqliteStore.open(path, limits))
        else:
            redis = request.getfixturevalue("redis_server" if request.param == "redis" else "redis_cluster")
            opened.append(redis_store(redis.url, limits))
        return opened[-1]

    yield open_empty
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Opener) -> Store:
    return await open_store(LIMITS)


def change_to(entries: Entries, *names: str, server: str = "s", description: str = "") -> Change:
    drafts = [draft(tool(name, description), server) for name in names]
    return plan_apply(entries, drafts, (), DEFAULT_LIMITS).change


async def commit_next(store: Store, *names: str, key: CatalogKey = KEY, description: str = "") -> Version:
    entries = await store.snapshot(key) or NO_ENTRIES
    return await store.commit(key, entries.version, change_to(entries, *names, description=description))


async def test_a_record_tells_the_size_of_a_catalog_after_every_change(store: Store) -> None:
    entries = NO_ENTRIES
    for names in (("a", "b"), ("b", "c", "d"), ()):
        planned = plan_sync(entries, "s", [draft(tool(name, "x" * 10), "s") for name in names], DEFAULT_LIMITS)
        entries = entries.after(planned.change, await store.commit(KEY, entries.version, planned.change))
        record = await store.record(KEY)
        assert record is not None
        assert record.size == entries.size == Size(len(names), sum(entry.bytes for entry in entries.by_key.values()))


async def test_tenants_with_catalogs_are_listed_by_name(store: Store) -> None:
    for tenant in ("b", "a", "ä"):
        await commit_next(store, "x", key=CatalogKey(tenant, "c"))
    assert await store.tenants() == sorted(["b", "a", "ä"])


async def test_followed_servers_are_remembered_until_they_are_forgotten(store: SqliteStore | RedisStore) -> None:
    first, second = Followed(KEY, "s"), Followed(CatalogKey("t", '["'), "s")
    await store.note_followed([first, second])
    await store.note_followed([first])
    await store.forget_followed(first)
    assert await store.followed() == {second}


async def test_what_was_committed_is_in_the_snapshot(store: Store) -> None:
    version = await commit_next(store, "a", "b")
    snapshot = await store.snapshot(KEY)
    assert snapshot is not None
    assert snapshot.version == version
    assert sorted(snapshot.by_name) == ["s.a", "s.b"]


async def test_a_snapshot_gives_back_entries_equal_in_every_field(store: Store) -> None:
    definition = {
        "name": "b.c",
        "title": "T",
        "description": "D é 日",
        "_meta": {"x": 1e300},
        "annotations": {"readOnlyHint": True},
    }
    drafts = [
        draft(definition, "a", tags=["t"], capabilities=["c"], summary="S"),
        draft({"name": "c"}, "a.b", namespace="a.b"),
        draft({"name": "x"}, "z", namespace="elsewhere"),
    ]
    change = plan_apply(NO_ENTRIES, drafts, (), DEFAULT_LIMITS).change
    version = await store.commit(KEY, NO_VERSION, change)
    assert await store.snapshot(KEY) == NO_ENTRIES.after(change, version)


async def test_revisions_count_up_by_one_inside_an_epoch(store: Store) -> None:
    versions = [await commit_next(store, name) for name in "abc"]
    assert [version.revision for version in versions] == [1, 2, 3]
    assert len({version.epoch for version in versions}) == 1


async def test_a_commit_on_another_version_is_refused_and_writes_nothing(store: Store) -> None:
    version = await commit_next(store, "a")
    before = await store.snapshot(KEY)
    for stale in (NO_VERSION, Version(version.epoch, 0), Version(version.epoch, 2), Version("other", 1)):
        with pytest.raises(Conflict) as conflict:
            await store.commit(KEY, stale, change_to(NO_ENTRIES, "b"))
        assert conflict.value.actual == version
    assert await store.snapshot(KEY) == before
    assert await store.changes_since(KEY, version) == []


async def test_the_log_leads_from_any_kept_version_to_the_newest(store: Store) -> None:
    entries = NO_ENTRIES
    history = []
    for name in "abc":
        change = change_to(entries, name)
        version = await store.commit(KEY, entries.version, change)
        entries = entries.after(change, version)
        history.append((version, change))
    assert await store.changes_since(KEY, Version(entries.version.epoch, 0)) == history
    assert await store.changes_since(KEY, history[1][0]) == history[2:]


async def test_a_log_that_does_not_reach_back_says_so(store: Store) -> None:
    versions = [await commit_next(store, f"n{number}") for number in range(8)]
    kept = await store.changes_since(KEY, versions[-6])
    assert kept is not None and len(kept) == LIMITS.log_changes
    assert await store.changes_since(KEY, versions[-7]) is None


async def test_the_log_of_another_epoch_or_a_later_revision_is_unknown(store: Store) -> None:
    version = await commit_next(store, "a")
    assert await store.changes_since(KEY, Version("other", 0)) is None
    assert await store.changes_since(KEY, Version(version.epoch, 9)) is None
    assert await store.changes_since(CatalogKey("tenant", "nothing"), version) is None


async def test_a_deleted_catalog_is_gone_and_comes_back_with_another_epoch(store: Store) -> None:
    first = await commit_next(store, "a")
    with pytest.raises(Conflict):
        await store.delete(KEY, NO_VERSION)
    await store.delete(KEY, first)
    assert await store.snapshot(KEY) is None
    assert await store.record(KEY) is None
    assert await store.changes_since(KEY, first) is None
    second = await commit_next(store, "b")
    assert second.revision == 1
    assert second.epoch != first.epoch
    snapshot = await store.snapshot(KEY)
    assert snapshot is not None and list(snapshot.by_name) == ["s.b"]


async def test_catalogs_of_different_keys_do_not_touch_each_other(store: Store) -> None:
    keys = [CatalogKey(tenant, catalog) for tenant in ("a", "a:b", "", "A") for catalog in ("b", "b:c", "", "*")]
    for number, key in enumerate(keys):
        await commit_next(store, f"n{number}", key=key)
    for number, key in enumerate(keys):
        snapshot = await store.snapshot(key)
        assert snapshot is not None and list(snapshot.by_name) == [f"s.n{number}"]
    assert [record.name for record in await store.records("a")] == ["", "*", "b", "b:c"]
    assert await store.records("nobody") == []


async def test_a_record_tells_version_and_time_of_the_last_change(store: Store) -> None:
    version = await commit_next(store, "a")
    record = await store.record(KEY)
    assert record is not None
    assert (record.name, record.version) == ("catalog", version)
    assert record.updated.tzinfo is not None


async def test_big_changes_do_not_make_the_log_grow_beyond_its_bytes(open_store: Opener) -> None:
    store = await open_store(Limits(log_bytes=2_000))
    first = await commit_next(store, "a")
    second = await commit_next(store, "b", description="x" * 900)
    third = await commit_next(store, "c", description="x" * 900)
    assert await store.changes_since(KEY, second) is not None
    assert await store.changes_since(KEY, first) is None
    await commit_next(store, "d", description="x" * 3_000)
    assert await store.changes_since(KEY, third) is None


async def test_versions_tell_where_catalogs_are(store: Store) -> None:
    version = await commit_next(store, "a")
    gone = CatalogKey("tenant", "gone")
    await store.delete(gone, await commit_next(store, "a", key=gone))
    assert await store.versions([KEY, gone]) == [version, NO_VERSION]


async def test_many_changes_joined_do_what_they_do_one_by_one(store: Store) -> None:
    await commit_next(store, "a", "b")
    known = await store.snapshot(KEY) or NO_ENTRIES
    entries = known
    for offered in (["a", "c"], ["b"], [], ["c"]):
        change = plan_sync(entries, "s", [draft(tool(name), "s") for name in offered], DEFAULT_LIMITS).change
        entries = entries.after(change, await store.commit(KEY, entries.version, change))
    caught = await catch_up(store, KEY, known)
    assert caught is not None and caught.changes is not None
    assert caught.entries == entries == await store.snapshot(KEY)


WRITES = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.lists(st.tuples(st.sampled_from("wxyz"), st.sampled_from(["", "d"])), max_size=4, unique_by=lambda item: item[0]),
    ),
    max_size=12,
)


_histories = itertools.count()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(WRITES)
async def test_any_history_of_syncs_leaves_what_a_dictionary_would_hold(
    open_store: Opener, writes: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    key = CatalogKey("history", str(next(_histories)))
    store = await open_store(Limits(log_changes=1000))
    model: dict[tuple[str, str], str] = {}
    entries = NO_ENTRIES
    for server, offered in writes:
        drafts = [draft(tool(name, description), server) for name, description in offered]
        outcome = plan_sync(entries, server, drafts, DEFAULT_LIMITS)
        model = {key: value for key, value in model.items() if key[0] != server}
        model |= {(server, name): description for name, description in offered}
        if outcome.change or entries.version == NO_VERSION:
            version = await store.commit(key, entries.version, outcome.change)
            entries = entries.after(outcome.change, version)
    snapshot = await store.snapshot(key) or NO_ENTRIES
    assert {(key.server, key.local_name): entry.description for key, entry in snapshot.by_key.items()} == model
    assert snapshot == entries
    replayed = NO_ENTRIES
    for version, change in await store.changes_since(key, Version(entries.version.epoch, 0)) or []:
        replayed = replayed.after(change, version)
    assert replayed.by_key == snapshot.by_key


async def test_vectors_are_kept_by_model_and_digest(store: Store) -> None:
    digests = [bytes([number]) * 16 for number in range(3)]
    assert await store.vectors("m", digests) == [None, None, None]
    await store.keep_vectors("m", {digests[0]: b"zero", digests[2]: b"\x00\xff\r\n"})
    await store.keep_vectors("other", {digests[1]: b"one"})
    assert await store.vectors("m", digests) == [b"zero", None, b"\x00\xff\r\n"]
    assert await store.vectors("m", [digests[2], digests[0], digests[2]]) == [b"\x00\xff\r\n", b"zero", b"\x00\xff\r\n"]
    await store.keep_vectors("m", {digests[0]: b"newer"})
    assert await store.vectors("m", digests[:1]) == [b"newer"]
    assert await store.vectors("m", []) == []
    await store.keep_vectors("m", {})


async def test_many_vectors_come_back_in_the_order_asked_for(store: Store) -> None:
    vectors = {number.to_bytes(16, "big"): f"v{number}".encode() for number in range(1_000)}
    await store.keep_vectors("m", vectors)
    assert await store.vectors("m", list(reversed(vectors))) == list(reversed(vectors.values()))


async def test_vectors_are_nothing_to_catalogs(store: Store) -> None:
    version = await commit_next(store, "a")
    await store.keep_vectors("tenant", {b"catalog": b"v"})
    assert [record.name for record in await store.records("tenant")] == ["catalog"]
    await store.delete(KEY, version)
    assert await store.vectors("tenant", [b"catalog"]) == [b"v"]


async def test_settings_are_kept_with_the_entries(store: Store) -> None:
    chosen = Settings(synonyms=(("k8s", "kubernetes"),), banned=("s.*",), name_weight=0)
    await commit_next(store, "a")
    entries = await store.snapshot(KEY)
    assert entries is not None
    version = await store.commit(KEY, entries.version, plan_settings(entries, chosen).change)
    await commit_next(store, "b")
    kept = await store.snapshot(KEY)
    assert kept is not None
    assert kept.settings == chosen
    assert len(kept.by_key) == 2
    logged = await store.changes_since(KEY, entries.version)
    assert logged is not None
    assert [(each, change.settings) for each, change in logged] == [(version, chosen), (kept.version, None)]


async def test_settings_taken_back_are_gone(store: Store) -> None:
    for chosen in (Settings(banned=("x",)), NO_SETTINGS):
        entries = await store.snapshot(KEY) or NO_ENTRIES
        await store.commit(KEY, entries.version, plan_settings(entries, chosen).change)
    kept = await store.snapshot(KEY)
    assert kept is not None
    assert kept.settings == NO_SETTINGS


async def test_a_deleted_catalog_leaves_neither_settings_nor_usage(store: Store) -> None:
    version = await store.commit(KEY, NO_VERSION, plan_settings(NO_ENTRIES, Settings(banned=("x",))).change)
    await store.add_usage(KEY, {USED: 1.0})
    await store.delete(KEY, version)
    await commit_next(store, "a")
    again = await store.snapshot(KEY)
    assert again is not None
    assert again.settings == NO_SETTINGS
    assert await store.usage(KEY) == {}


async def test_usage_adds_up_by_catalog(store: Store) -> None:
    other = CatalogKey("tenant", "other")
    await commit_next(store, "a")
    await commit_next(store, "a", key=other)
    await store.add_usage(KEY, {USED: 1.5})
    await store.add_usage(KEY, {USED: 2.0, UNUSUAL: 1e9})
    await store.add_usage(other, {USED: 7.0})
    assert await store.usage(KEY) == {USED: 3.5, UNUSUAL: 1e9}
    assert await store.usage(other) == {USED: 7.0}


async def test_only_the_most_used_are_counted(open_store: Opener) -> None:
    store = await open_store(Limits(usage_entries=2))
    await commit_next(store, "a")
    await store.add_usage(KEY, {EntryKey("s", Kind.TOOL, name): uses for name, uses in (("a", 3.0), ("b", 1.0))})
    await store.add_usage(KEY, {EntryKey("s", Kind.TOOL, "c"): 2.0})
    assert {key.local_name for key in await store.usage(KEY)} == {"a", "c"}


async def test_usage_of_nothing_is_nothing(store: Store) -> None:
    assert await store.usage(KEY) == {}


def synced(entries: Entries, **files: dict[str, bytes]) -> Change:
    """Server `s` offers these skills with these files, and nothing else."""
    contents = {Resource.of("", "", content).digest: content for each in files.values() for content in each.values()}
    drafts = [
        draft({"name": name}, "s", resources=[Resource.of(path, "", content) for path, content in each.items()])
        for name, each in files.items()
    ]
    return plan_sync(entries, "s", drafts, DEFAULT_LIMITS, contents).change


async def commit_files(store: Store, **files: dict[str, bytes]) -> Entries:
    entries = await store.snapshot(KEY) or NO_ENTRIES
    change = synced(entries, **files)
    return entries.after(change, await store.commit(KEY, entries.version, change))


async def content_of(store: Store, content: bytes, key: CatalogKey = KEY) -> bytes | None:
    """What the store has of it, joined."""
    digest = Resource.of("", "", content).digest
    pieces: list[bytes] = []
    while (piece := await store.resource_chunk(key, digest, len(pieces))) is not None:
        pieces.append(piece)
    return b"".join(pieces) if pieces else None


async def test_resources_are_kept_in_pieces_and_come_with_their_entry(store: Store) -> None:
    large = bytes(range(256)) * (RESOURCE_CHUNK_BYTES // 256 * 2) + b"end"
    entries = await commit_files(store, a={"f.txt": b"small", "large": large, "empty": b""})
    assert await store.snapshot(KEY) == entries
    [entry] = entries.by_key.values()
    assert [(each.path, each.size) for each in entry.resources] == [("empty", 0), ("f.txt", 5), ("large", len(large))]
    assert await content_of(store, b"small") == b"small"
    assert await content_of(store, large) == large
    record = await store.record(KEY)
    assert record is not None
    assert record.size == entries.size == Size(1, entry.bytes + 5 + len(large))


async def test_a_resource_goes_with_the_last_entry_that_refers_to_it(store: Store) -> None:
    large = b"x" * (RESOURCE_CHUNK_BYTES + 1)
    await commit_files(store, a={"f": b"shared", "g": large}, b={"other": b"shared"})
    await commit_files(store, b={"other": b"shared"})
    assert (await content_of(store, b"shared"), await content_of(store, large)) == (b"shared", None)
    await commit_files(store, b={"other": b"replaced"})
    assert (await content_of(store, b"shared"), await content_of(store, b"replaced")) == (None, b"replaced")


async def test_an_entry_that_is_only_renamed_keeps_its_resources(store: Store) -> None:
    entries = await commit_files(store, **{"b.c": {"f": b"kept"}})
    rival = plan_apply(entries, [draft({"name": "c"}, "s.b")], (), DEFAULT_LIMITS).change
    assert len(rival.upserts) == 2
    await store.commit(KEY, entries.version, rival)
    assert await content_of(store, b"kept") == b"kept"


async def test_resources_of_another_catalog_are_not_there(store: Store) -> None:
    await commit_files(store, a={"f": b"mine"})
    assert await content_of(store, b"mine", CatalogKey("other", KEY.catalog)) is None
    assert await content_of(store, b"mine", CatalogKey(KEY.tenant, "other")) is None


async def test_resources_go_with_their_catalog(store: Store) -> None:
    entries = await commit_files(store, a={"f": b"gone"})
    await store.delete(KEY, entries.version)
    assert await content_of(store, b"gone") is None
    await commit_files(store, b={"g": b"new"})
    assert (await content_of(store, b"gone"), await content_of(store, b"new")) == (None, b"new")


async def test_a_refused_write_leaves_no_resources(store: Store) -> None:
    entries = await commit_files(store, a={"f": b"there"})
    with pytest.raises(Conflict):
        await store.commit(KEY, Version(entries.version.epoch, 7), synced(entries, a={"f": b"late"}))
    assert (await content_of(store, b"there"), await content_of(store, b"late")) == (b"there", None)


async def test_the_log_has_what_resources_there_are_and_not_their_content(store: Store) -> None:
    first = await commit_files(store, a={"f": b"1"})
    second = await commit_files(store, a={"f": b"2"})
    changes = await store.changes_since(KEY, first.version)
    assert changes is not None
    [(_, change)] = changes
    assert first.after(change, second.version) == second
    assert change.contents == {}


FILES = st.dictionaries(st.sampled_from("ab"), st.dictionaries(st.sampled_from("fg"), st.sampled_from([b"1", b"2", b"3"])))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=st.lists(FILES, min_size=1, max_size=6))
async def test_the_store_has_exactly_the_resources_that_entries_refer_to(
    open_store: Opener, steps: list[dict[str, dict[str, bytes]]]
) -> None:
    store = await open_store(LIMITS)
    for files in steps:
        await commit_files(store, **files)
        wanted = {content for each in files.values() for content in each.values()}
        assert {content for content in (b"1", b"2", b"3") if await content_of(store, content) == content} == wanted
