"""Folders of skills, followed as MCP servers are."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from structlog.testing import capture_logs

from redis_process import RedisProcess, redis_store
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.entry import Entry, Kind
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.mcp_config import FolderTransport, McpConfig, ServerSpec
from toolsearch_server.mcp_watcher import STALE_TAG, Watcher
from toolsearch_server.store.sqlite import SqliteStore
from toolsearch_server.tracing import NoTracer
from toolsearch_server.writer import StoreWriter
from watcher.test_mcp_watcher import KEY, QUICK, DictLeases, entries, until_entries, until_names, watching


def skill(root: Path, name: str, description: str = "d", **files: str) -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\ntext\n")
    for path, content in files.items():
        (folder / path).write_text(content)


def spec_of(root: Path, name: str = "folder") -> ServerSpec:
    return ServerSpec(name=name, transport=FolderTransport(str(root), scan_seconds=0.02))


async def test_what_is_in_a_folder_is_in_the_catalog_and_follows_its_changes(catalogs: Catalogs, tmp_path: Path) -> None:
    skill(tmp_path, "code-reviewer")
    async with watching(catalogs, spec_of(tmp_path)):
        await until_names(catalogs, "code-reviewer")
        skill(tmp_path, "deploy")
        await until_names(catalogs, "code-reviewer", "deploy")
        shutil.rmtree(tmp_path / "code-reviewer")
        await until_names(catalogs, "deploy")
        skill(tmp_path, "deploy", "ships it")
        await until_entries(catalogs, lambda found: [each.description for each in found] == ["ships it"])
    [entry] = await entries(catalogs)
    assert (entry.name, entry.kind, entry.server) == ("task.deploy", Kind.SKILL, "folder")


async def test_files_of_a_skill_are_kept_by_the_store_and_follow_changes(tmp_path: Path) -> None:
    store = await SqliteStore.open(None, DEFAULT_LIMITS)
    catalogs = Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=3600)

    def has(content: str) -> Callable[[list[Entry]], bool]:
        return lambda found: [each.size for entry in found for each in entry.resources] == [len(content)]

    async with watching(catalogs, spec_of(tmp_path)):
        for content in ("one", "three"):
            skill(tmp_path, "a", file=content)
            await until_entries(catalogs, has(content))
            [entry] = await entries(catalogs)
            assert await store.resource_chunk(KEY, entry.resources[0].digest, 0) == content.encode()
    await store.close()


async def test_a_broken_skill_is_told_by_file_and_line_and_the_others_are_there(catalogs: Catalogs, tmp_path: Path) -> None:
    skill(tmp_path, "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_bytes(b"\x00")
    with capture_logs() as logs:
        async with watching(catalogs, spec_of(tmp_path)):
            await until_names(catalogs, "good")
    [told] = [line for line in logs if "problems" in line]
    assert told["problems"] == ("bad/SKILL.md:1: is not text: it has zero bytes",)


async def test_a_folder_that_is_away_keeps_its_entries_which_become_stale(catalogs: Catalogs, tmp_path: Path) -> None:
    root = tmp_path / "mounted"
    skill(root, "a")
    async with watching(catalogs, spec_of(root), settings=replace(QUICK, stale_after=0.05)) as watcher:
        await until_names(catalogs, "a")
        root.rename(tmp_path / "away")
        await until_entries(catalogs, lambda found: [each.tags for each in found] == [(STALE_TAG,)])
        assert watcher.status()[0].state == "away"
        (tmp_path / "away").rename(root)
        await until_entries(catalogs, lambda found: [each.tags for each in found] == [()])


async def test_only_what_is_selected_is_there_with_the_folders_tags(catalogs: Catalogs, tmp_path: Path) -> None:
    skill(tmp_path, "wanted")
    skill(tmp_path, "other")
    async with watching(catalogs, replace(spec_of(tmp_path), include=("w*",), tags=("team",))):
        await until_names(catalogs, "wanted")
    assert [entry.tags for entry in await entries(catalogs)] == [("team",)]


async def test_a_folder_that_is_dropped_from_the_configuration_is_removed(catalogs: Catalogs, tmp_path: Path) -> None:
    skill(tmp_path, "a")
    async with watching(catalogs, spec_of(tmp_path)) as watcher:
        await until_names(catalogs, "a")
        watcher.configure(McpConfig(()))
        await until_names(catalogs)


async def test_a_hint_reads_a_folder_at_once(catalogs: Catalogs, tmp_path: Path) -> None:
    slow = replace(spec_of(tmp_path), transport=FolderTransport(str(tmp_path), scan_seconds=3600))
    async with watching(catalogs, slow) as watcher:
        async with asyncio.timeout(20):
            while watcher.status()[0].state != "following":  # noqa: ASYNC110 a thread makes it true
                await asyncio.sleep(0.01)
        skill(tmp_path, "a")
        watcher.hint(*KEY, "folder")
        await until_names(catalogs, "a")


async def test_of_two_watchers_the_one_with_the_lease_writes(catalogs: Catalogs, tmp_path: Path) -> None:
    skill(tmp_path, "a")
    leases = DictLeases()
    async with (
        watching(catalogs, spec_of(tmp_path), leases=leases) as first,
        watching(catalogs, spec_of(tmp_path), leases=leases, settings=replace(QUICK, owner="other")) as second,
    ):
        await until_names(catalogs, "a")
        states = {watcher.status()[0].state for watcher in (first, second)}
    assert "waiting for lease" in states


async def test_once_reads_a_folder_into_a_shared_store(redis_server: RedisProcess, tmp_path: Path) -> None:
    skill(tmp_path, "a", file="content")
    store = redis_store(redis_server.url, DEFAULT_LIMITS)
    try:
        writer = StoreWriter(store, DEFAULT_LIMITS, NoTracer())
        [result] = await Watcher(writer, None, QUICK, store).once(McpConfig((spec_of(tmp_path),)))
        assert (result.added, result.error) == (1, "")
        found = await store.snapshot(KEY)
        assert found is not None
        [entry] = found.by_key.values()
        assert await store.resource_chunk(KEY, entry.resources[0].digest, 0) == b"content"
    finally:
        await store.close()


async def test_once_tells_that_a_folder_is_not_there(catalogs: Catalogs, tmp_path: Path) -> None:
    [result] = await Watcher(catalogs, None, QUICK).once(McpConfig((spec_of(tmp_path / "missing"),)))
    assert "No such file" in result.error
