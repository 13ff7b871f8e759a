"""Replicas follow what others write."""

import asyncio
from typing import Any

import pytest

from following.replicas import eventually, replica
from redis_process import RedisCluster, RedisProcess
from support import CATALOG, things_found, write_tools
from toolsearch_server.bm25 import Bm25Index
from toolsearch_server.catalogs import Catalogs, SnapshotNeeded
from toolsearch_server.changes import Version
from toolsearch_server.errors import CatalogNotFound, RevisionMismatch
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import Announced, CatalogKey, News
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.redis_keys import Keys


@pytest.fixture(params=["redis", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    redis: RedisProcess | RedisCluster = request.getfixturevalue(f"redis_{'server' if request.param == 'redis' else 'cluster'}")
    return redis.url


async def test_a_write_on_one_replica_is_searchable_on_another(url: str) -> None:
    async with replica(url) as ours, replica(url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        await write_tools(ours.catalogs, "b")
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])


async def test_a_revision_written_elsewhere_is_waited_for(url: str) -> None:
    async with replica(url) as ours, replica(url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.catalogs.get(CATALOG)
        for number in range(10):
            version, _ = await write_tools(ours.catalogs, f"n{number}")
            assert f"s.n{number}" in await things_found(theirs.catalogs, version.revision)


async def test_a_revision_is_reached_even_if_nothing_was_announced(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as theirs:
        writer = Catalogs(theirs.store, limits=DEFAULT_LIMITS, idle_seconds=1)
        await write_tools(writer, "a")
        await theirs.catalogs.get(CATALOG)
        theirs.store.feed.unfollow(CATALOG)
        version, _ = await write_tools(writer, "b")
        assert await things_found(theirs.catalogs, version.revision) == ["s.a", "s.b"]


async def test_what_was_written_while_a_catalog_was_loaded_is_not_missed(
    redis_server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        snapshot = theirs.store.snapshot

        async def slow_snapshot(key: CatalogKey) -> object:
            read = await snapshot(key)
            await write_tools(ours.catalogs, "b")
            return read

        monkeypatch.setattr(theirs.store, "snapshot", slow_snapshot)
        await theirs.catalogs.get(CATALOG)
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])


async def test_racing_writers_on_many_replicas_all_get_through(url: str) -> None:
    async with replica(url) as first, replica(url) as second, replica(url) as third:
        await write_tools(first.catalogs, "start")
        catalogs = [first.catalogs, second.catalogs, third.catalogs]
        for round_ in range(5):
            await asyncio.gather(*(write_tools(each, f"n{number}r{round_}") for number, each in enumerate(catalogs)))
        await eventually(lambda: first.entries().by_key == second.entries().by_key == third.entries().by_key)
        assert len(first.entries().by_key) == 16


async def test_expected_revision_is_compared_with_the_store_and_not_with_what_a_replica_knows(
    redis_server: RedisProcess,
) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.catalogs.get(CATALOG)
        theirs.store.feed.unfollow(CATALOG)
        await write_tools(ours.catalogs, "b")
        with pytest.raises(RevisionMismatch):
            await write_tools(theirs.catalogs, "c", expected_revision=1)
        await write_tools(theirs.catalogs, "c", expected_revision=2)
        await eventually(lambda: ours.names() == ["s.a", "s.b", "s.c"])


async def test_one_of_two_writers_with_the_same_expected_revision_wins(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        results = await asyncio.gather(
            write_tools(ours.catalogs, "b", expected_revision=1),
            write_tools(theirs.catalogs, "c", expected_revision=1),
            return_exceptions=True,
        )
        assert sum(isinstance(result, RevisionMismatch) for result in results) == 1


async def test_a_write_that_changes_nothing_here_but_something_in_the_store_is_made(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.catalogs.get(CATALOG)
        theirs.store.feed.unfollow(CATALOG)
        await ours.catalogs.delete(CATALOG, expected_revision=None)
        await write_tools(ours.catalogs, "b")
        await write_tools(theirs.catalogs, "a")
        await eventually(lambda: ours.names() == ["s.a", "s.b"])


async def test_a_deletion_elsewhere_is_a_deletion_here(url: str) -> None:
    async with replica(url) as ours, replica(url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        await ours.catalogs.delete(CATALOG, expected_revision=None)
        await eventually(lambda: CATALOG not in theirs.catalogs.loaded)
        with pytest.raises(CatalogNotFound):
            await theirs.catalogs.get(CATALOG)


async def test_a_catalog_made_anew_elsewhere_takes_the_place_of_the_old_one_and_watchers_are_told(url: str) -> None:
    async with replica(url) as ours, replica(url) as theirs:
        old, _ = await write_tools(ours.catalogs, "a")
        await theirs.follows()
        theirs.store.feed.unfollow(CATALOG)
        events = theirs.catalogs.watch(CATALOG, None, "")
        await anext(events)
        await ours.catalogs.delete(CATALOG, expected_revision=None)
        new, _ = await write_tools(ours.catalogs, "b")
        theirs.follower.doubt(CATALOG)
        async with asyncio.timeout(10):
            assert await anext(events) == SnapshotNeeded(new)
        assert new.epoch != old.epoch
        assert theirs.names() == ["s.b"]


async def test_a_writer_reads_its_write_on_a_replica_that_has_not_heard_of_its_epoch(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        theirs.store.feed.unfollow(CATALOG)
        await ours.catalogs.delete(CATALOG, expected_revision=None)
        new, _ = await write_tools(ours.catalogs, "b")
        _, view = await theirs.catalogs.view(CATALOG, min_revision=new.revision, epoch=new.epoch, timeout=5)
        assert list(view.entries.by_name) == ["s.b"]


async def test_a_change_too_large_to_be_announced_is_read_from_the_log(redis_server: RedisProcess) -> None:
    limits = Limits(announced_bytes=100)
    async with replica(redis_server.url, limits=limits) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        heard: list[object] = []
        hear = theirs.follower._hear
        theirs.store.feed._hear = lambda news: (heard.append(news), hear(news))[1]  # type: ignore[func-returns-value]
        await write_tools(ours.catalogs, *(f"n{number}" for number in range(50)))
        await eventually(lambda: len(theirs.names()) == 51)
        assert [news.change for news in heard if isinstance(news, Announced)] == [None]


async def test_a_follower_whom_the_log_does_not_reach_reads_everything(redis_server: RedisProcess) -> None:
    limits = Limits(log_changes=2)
    async with replica(redis_server.url, limits=limits) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        theirs.store.feed.unfollow(CATALOG)
        for name in "bcdef":
            await write_tools(ours.catalogs, name)
        theirs.follower.doubt(CATALOG)
        await eventually(lambda: len(theirs.names()) == 6)


async def test_a_burst_of_a_thousand_changes_costs_a_follower_few_index_commits(
    redis_server: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replica(redis_server.url) as theirs:
        store = theirs.store
        writer = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=1)
        await write_tools(writer, "first")
        await theirs.follows()
        commits = 0
        changed = Bm25Index.changed

        def counting(self: Bm25Index, **arguments: object) -> Bm25Index:
            nonlocal commits
            commits += 1
            return changed(self, **arguments)  # type: ignore[arg-type]

        catalog = theirs.catalogs.loaded[CATALOG]
        async with catalog.write_lock:  # so that they arrive together
            for number in range(999):
                await write_tools(writer, f"n{number}")
            await eventually(lambda: len(theirs.follower._inboxes[CATALOG].announced) >= 998)
            await writer.view(CATALOG, min_revision=1000, epoch="", timeout=20)
            monkeypatch.setattr(Bm25Index, "changed", counting)
        await eventually(lambda: theirs.catalogs.loaded[CATALOG].view.version.revision == 1000)
        assert commits <= 5


async def test_an_announcement_that_cannot_be_read_harms_nobody_and_is_counted(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        redis_server.command("PUBLISH", Keys("toolsearch:").channel(CATALOG), "\x0agarbage")
        await eventually(lambda: theirs.follower.disturbances["unreadable announcement"] == 1)
        await write_tools(ours.catalogs, "b")
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])


async def test_a_silent_loss_is_found_by_comparing_revisions(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url, poll_seconds=0.05) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        theirs.store.feed.unfollow(CATALOG)
        await write_tools(ours.catalogs, "b")
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])


async def test_an_evicted_catalog_is_not_followed_any_more(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours:
        await write_tools(ours.catalogs, "a")
        await ours.follows()
        channel = Keys("toolsearch:").channel(CATALOG)
        assert channel in redis_server.command("PUBSUB", "CHANNELS")
        await eventually(lambda: not ours.catalogs.loaded[CATALOG].busy)
        ours.catalogs._idle_seconds = -1
        ours.catalogs.evict_idle()
        await eventually(lambda: channel not in redis_server.command("PUBSUB", "CHANNELS"))


class Backup:
    """What Redis has of a catalog, to be put back later: as after a fail-over to a replica without the last writes."""

    def __init__(self, store: RedisStore) -> None:
        self._client: Any = store._client
        keys = Keys("toolsearch:")
        self._keys = (keys.meta(CATALOG), keys.entries(CATALOG), keys.log(CATALOG))
        self._dumps: list[bytes] = []

    async def take(self) -> None:
        self._dumps = [await self._client.dump(key) for key in self._keys]

    async def put_back(self) -> None:
        for key, dump in zip(self._keys, self._dumps, strict=True):
            await self._client.restore(key, 0, dump, replace=True)


async def test_changes_announced_after_redis_lost_others_are_not_put_on_top_of_the_lost_ones(
    redis_server: RedisProcess,
) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        backup = Backup(ours.store)
        await write_tools(ours.catalogs, "a")
        await backup.take()
        await write_tools(ours.catalogs, "lost")
        await ours.follows()
        await theirs.follows()
        await backup.put_back()
        writer = Catalogs(theirs.store, limits=DEFAULT_LIMITS, idle_seconds=1)
        for name in ("other", "third"):
            await write_tools(writer, name)
        for each in (ours, theirs):
            await eventually(lambda each=each: each.names() == ["s.a", "s.other", "s.third"])  # type: ignore[misc]


async def test_a_write_on_top_of_a_change_that_redis_lost_is_made_on_what_redis_has(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        backup = Backup(ours.store)
        await write_tools(ours.catalogs, "a")
        await backup.take()
        await write_tools(ours.catalogs, "lost")
        ours.store.feed.unfollow(CATALOG)
        await backup.put_back()
        await write_tools(theirs.catalogs, "other")
        await write_tools(ours.catalogs, "mine")
        truth = await ours.store.snapshot(CATALOG)
        assert truth is not None and sorted(truth.by_name) == ["s.a", "s.mine", "s.other"]
        await eventually(lambda: ours.names() == theirs.names() == sorted(truth.by_name))


async def test_a_watch_on_a_replica_that_is_behind_goes_on_where_the_log_ended(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        first, _ = await write_tools(ours.catalogs, "a")
        await write_tools(ours.catalogs, "b")
        await theirs.follows()
        theirs.store.feed.unfollow(CATALOG)
        await write_tools(ours.catalogs, "c")
        events = theirs.catalogs.watch(CATALOG, first.revision, first.epoch)
        async with asyncio.timeout(10):
            seen = [(await anext(events)).version.revision for _ in range(2)]
            await write_tools(ours.catalogs, "d")
            theirs.follower.doubt(CATALOG)
            seen.append((await anext(events)).version.revision)
        assert seen == [2, 3, 4]


async def test_a_catalog_that_the_store_lost_can_be_deleted_everywhere(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await ours.follows()
        await theirs.follows()
        redis_server.command("FLUSHALL")
        for each in (ours, theirs):
            each.follower.doubt(CATALOG)
            await eventually(lambda each=each: each.catalogs.loaded[CATALOG].staleness)  # type: ignore[misc]
        await ours.catalogs.delete(CATALOG, expected_revision=None)
        await eventually(lambda: CATALOG not in theirs.catalogs.loaded)


async def test_a_history_that_redis_lost_the_end_of_becomes_another_epoch(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        backup = Backup(ours.store)
        kept, _ = await write_tools(ours.catalogs, "a")
        await backup.take()
        await write_tools(ours.catalogs, "lost")
        await theirs.follows()
        await backup.put_back()
        writer = Catalogs(theirs.store, limits=DEFAULT_LIMITS, idle_seconds=1)
        other, _ = await write_tools(writer, "other")
        assert other == Version(kept.epoch, 2), "the same version as the lost one, with other contents"
        for each in (ours, theirs):
            each.follower.doubt(CATALOG)
            await eventually(lambda each=each: each.names() == ["s.a", "s.other"])  # type: ignore[misc]
        assert ours.entries().version == theirs.entries().version
        assert ours.entries().version.epoch != kept.epoch


async def test_a_reader_cannot_make_a_catalog_begin_a_new_epoch(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours:
        version, _ = await write_tools(ours.catalogs, "a")
        events = ours.catalogs.watch(CATALOG, 99, version.epoch)
        assert await anext(events) == SnapshotNeeded(version)
        assert await ours.store.versions([CATALOG]) == [version]


async def test_a_catalog_that_the_store_lost_is_served_from_memory_until_it_is_written_again(
    redis_server: RedisProcess,
) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await ours.follows()
        await theirs.follows()
        redis_server.command("FLUSHALL")
        for each in (ours, theirs):
            each.follower.doubt(CATALOG)
            await eventually(lambda each=each: each.catalogs.loaded[CATALOG].staleness)  # type: ignore[misc]
            assert await things_found(each.catalogs, 1) == ["s.a"]
        await write_tools(ours.catalogs, "b")
        await eventually(lambda: ours.names() == theirs.names() == ["s.b"])
        await eventually(lambda: ours.catalogs.loaded[CATALOG].staleness is None)


async def test_names_cannot_pass_for_others(url: str) -> None:
    async with replica(url) as ours:
        keys = [CatalogKey(*pair) for pair in (("a", "b/c"), ("a/b", "c"), ("a}", "{b"), ("*", "*"), ("a:b", ""), ("a", ":b"))]
        for number, key in enumerate(keys):
            await write_tools(ours.catalogs, f"n{number}", key=key)
        for number, key in enumerate(keys):
            assert await things_found(ours.catalogs, 1, key) == [f"s.n{number}"]
            assert [record.name for record in await ours.store.records(key.tenant) if record.name == key.catalog] == [
                key.catalog
            ]


async def test_a_cluster_too_old_for_sharded_announcements_is_followed_by_plain_ones(redis_cluster: RedisCluster) -> None:
    async with replica(redis_cluster.url) as ours, replica(redis_cluster.url) as theirs:
        for each in (ours, theirs):
            each.store._nodes._sharded = False  # as if it had answered redis_version:6.2
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        await write_tools(ours.catalogs, "b")
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])


async def test_following_that_ended_with_a_defect_can_be_begun_again(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url) as theirs:
        await write_tools(ours.catalogs, "a")
        await theirs.follows()
        hear = theirs.follower._hear

        def broken(_: News) -> None:
            theirs.follower._hear = hear  # type: ignore[method-assign]
            raise ZeroDivisionError

        theirs.store.feed._hear = broken
        await write_tools(ours.catalogs, "b")
        await eventually(theirs.running.done)
        assert isinstance(theirs.running.exception(), ExceptionGroup)
        again = asyncio.create_task(theirs.follower.run())
        await eventually(lambda: theirs.names() == ["s.a", "s.b"])
        again.cancel()
        await asyncio.wait([again])


async def test_following_that_is_cancelled_at_any_moment_ends(redis_server: RedisProcess) -> None:
    """Also in the middle of a command, where redis-py may forget that it was cancelled."""
    async with replica(redis_server.url) as ours:
        await write_tools(ours.catalogs, "a")
    for rounds in range(60):
        async with replica(redis_server.url) as theirs:
            reading = asyncio.create_task(theirs.catalogs.get(CATALOG))
            await eventually(lambda theirs=theirs: CATALOG in theirs.catalogs.loaded)  # type: ignore[misc]
            for _ in range(rounds):
                await asyncio.sleep(0)
            theirs.running.cancel()
            await asyncio.wait_for(asyncio.wait([theirs.running]), 5)
            await reading
