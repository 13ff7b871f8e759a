"""Announcements as bytes."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from following.replicas import eventually, replica
from redis_process import RedisProcess
from support import CATALOG, draft, tool, write_tools
from toolsearch_server.changes import NO_ENTRIES, Version, plan_apply
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.store import Announced, Disturbed
from toolsearch_server.store.records import decode_announcement, encode_announcement, encode_change, encode_deletion
from toolsearch_server.store.redis_keys import Keys

CHANGE = plan_apply(NO_ENTRIES, [draft(tool("forged", "thing"), "s")], (), DEFAULT_LIMITS).change


def announcement(version: Version) -> bytes:
    return encode_announcement(version, encode_change(version, datetime.now(UTC), CHANGE))


def test_a_change_comes_out_as_it_went_in() -> None:
    version = Version("epoch", 3, "id")
    news = decode_announcement(CATALOG, announcement(version))
    assert news == Announced(CATALOG, version, CHANGE)
    assert isinstance(news, Announced) and news.version.id == "id"
    assert decode_announcement(CATALOG, encode_announcement(version, None)) == Announced(CATALOG, version, None)
    assert decode_announcement(CATALOG, encode_deletion(version)) == Disturbed(CATALOG, "deleted")


@given(st.binary())
def test_any_bytes_are_news_of_some_sort(data: bytes) -> None:
    assert isinstance(decode_announcement(CATALOG, data), Announced | Disturbed)


@given(st.integers(0), st.integers(0, 255))
def test_a_garbled_announcement_is_never_taken_for_a_change_of_another_version(position: int, byte: int) -> None:
    whole = bytearray(announcement(Version("epoch", 3, "id")))
    whole[position % len(whole)] = byte
    news = decode_announcement(CATALOG, bytes(whole))
    assert isinstance(news, Disturbed) or news.change is None or news.version == Version("epoch", 3)


async def test_a_forged_change_is_found_out_and_undone(redis_server: RedisProcess) -> None:
    async with replica(redis_server.url) as ours, replica(redis_server.url, poll_seconds=0.05) as theirs:
        version, _ = await write_tools(ours.catalogs, "a")
        await theirs.follows()
        forged = announcement(Version(version.epoch, version.revision + 1, "forged"))
        await ours.store._client.publish(Keys("toolsearch:").channel(CATALOG), forged)
        await eventually(lambda: theirs.entries().version.epoch != version.epoch)
        await eventually(lambda: theirs.names() == ours.names() == ["s.a"])
