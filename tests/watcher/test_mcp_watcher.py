import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import Entries, Outcome, Version
from toolsearch_server.entry import Entry
from toolsearch_server.errors import CatalogNotFound, StoreUnavailable
from toolsearch_server.mcp_config import McpConfig, ServerSpec, StdioTransport
from toolsearch_server.mcp_watcher import (
    STALE_TAG,
    Leases,
    Watcher,
    WatchSettings,
    Writer,
    follow_file,
)
from toolsearch_server.store import CatalogKey
from watcher.servers import SCRIPT, ToolFile, alive, eventually, http_server, http_spec, stdio_spec

KEY = CatalogKey("default", "default")
QUICK = WatchSettings(first_retry_seconds=0.05, last_retry_seconds=0.1, lease_seconds=0.6)


class DictLeases:
    """Leases in a dictionary."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[str, float]] = {}
        self.broken = False

    async def acquire(self, name: str, owner: str, seconds: float) -> bool:
        if self.broken:
            raise ConnectionError("leases are away")
        holder, until = self.held.get(name, (owner, 0.0))
        if holder != owner and until > time.monotonic():
            return False
        self.held[name] = (owner, time.monotonic() + seconds)
        return True

    async def release(self, name: str, owner: str) -> None:
        if self.held.get(name, ("", 0.0))[0] == owner:
            del self.held[name]


class FailingWriter:
    """Passes writes on, after some that fail."""

    def __init__(self, writer: Writer, failures: int) -> None:
        self.writer = writer
        self.failures = failures

    async def write(
        self, key: CatalogKey, plan: Callable[[Entries], Outcome], *, expected_revision: int | None
    ) -> tuple[Version, Outcome]:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the store is away")
        return await self.writer.write(key, plan, expected_revision=expected_revision)


@asynccontextmanager
async def watching(
    writer: Writer, *specs: ServerSpec, leases: Leases | None = None, settings: WatchSettings = QUICK
) -> AsyncIterator[Watcher]:
    watcher = Watcher(writer, leases, settings)
    task = asyncio.create_task(watcher.run())
    watcher.configure(McpConfig(specs))
    try:
        yield watcher
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def entries(catalogs: Catalogs, key: CatalogKey = KEY) -> list[Entry]:
    try:
        return list((await catalogs.get(key)).entries.by_key.values())
    except CatalogNotFound:
        return []


async def until_entries(catalogs: Catalogs, condition: Callable[[list[Entry]], bool], key: CatalogKey = KEY) -> None:
    async with asyncio.timeout(20):
        while not condition(await entries(catalogs, key)):  # noqa: ASYNC110 another process makes it true
            await asyncio.sleep(0.01)


async def until_names(catalogs: Catalogs, *names: str, key: CatalogKey = KEY) -> None:
    await until_entries(catalogs, lambda found: {entry.local_name for entry in found} == set(names), key)


def wrapped_spec(tools: ToolFile, **fields: Any) -> tuple[ServerSpec, Path]:
    """A server behind a program that can be taken away."""
    program = tools.path.with_name("program")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SCRIPT} "$@"\n')
    program.chmod(0o755)
    return ServerSpec(name="s", transport=StdioTransport(str(program), (str(tools.path),)), **fields), program


def take_away(program: Path, tools: ToolFile) -> None:
    program.rename(program.with_suffix(".away"))
    os.kill(tools.pid, 9)


def give_back(program: Path) -> None:
    program.with_suffix(".away").rename(program)


@pytest.mark.parametrize("style", ["lowlevel", "mcpserver", "2025-06-18"])
async def test_what_a_server_lists_is_in_the_catalog_and_follows_its_changes(
    catalogs: Catalogs, tools: ToolFile, style: str
) -> None:
    async with watching(catalogs, stdio_spec(tools, "--style", style)):
        await until_names(catalogs, "first", "second")
        tools.offer("second", "third")
        await until_names(catalogs, "second", "third")
        tools.offer()
        await until_names(catalogs)
        tools.offer("fourth")
        await until_names(catalogs, "fourth")
    assert not alive(tools.pid)


@pytest.mark.parametrize("flags", [(), ("--legacy",)])
async def test_an_http_server_is_followed(catalogs: Catalogs, tools: ToolFile, flags: tuple[str, ...]) -> None:
    with http_server(tools, *flags) as port:
        async with watching(catalogs, http_spec(port, tenant="t", catalog="c")):
            await until_names(catalogs, "first", "second", key=CatalogKey("t", "c"))
            tools.offer("third")
            await until_names(catalogs, "third", key=CatalogKey("t", "c"))


async def test_a_burst_of_notifications_costs_few_listings(catalogs: Catalogs, tools: ToolFile) -> None:
    async with watching(catalogs, stdio_spec(tools), settings=WatchSettings(settle_seconds=0.3)):
        await until_names(catalogs, "first", "second")
        before = tools.listings
        tools.offer("third", notify=300)
        await until_names(catalogs, "third")
        tools.offer("last")
        await until_names(catalogs, "last")
        assert tools.listings - before <= 6


async def test_a_server_that_never_notifies_is_polled(catalogs: Catalogs, tools: ToolFile) -> None:
    async with watching(catalogs, stdio_spec(tools, "--misbehave", "silent", poll_seconds=0.1)):
        await until_names(catalogs, "first", "second")
        tools.offer("third")
        await until_names(catalogs, "third")


async def test_a_hint_lists_at_once(catalogs: Catalogs, tools: ToolFile) -> None:
    async with watching(catalogs, stdio_spec(tools, "--misbehave", "silent")) as watcher:
        await until_names(catalogs, "first", "second")
        tools.offer("third")
        watcher.hint("default", "default", "nobody")
        watcher.hint("default", "default", "s")
        await until_names(catalogs, "third")


async def test_a_hint_ends_the_pause_before_the_next_attempt(catalogs: Catalogs, tools: ToolFile) -> None:
    spec, program = wrapped_spec(tools)
    program.rename(program.with_suffix(".away"))
    async with watching(catalogs, spec, settings=WatchSettings(first_retry_seconds=600)) as watcher:
        await eventually(lambda: watcher.status()[0].state == "away")
        give_back(program)
        watcher.hint("default", "default", "s")
        await until_names(catalogs, "first", "second")


async def test_many_hints_do_not_start_a_broken_server_many_times(catalogs: Catalogs) -> None:
    spec = ServerSpec(name="s", transport=StdioTransport("/no/such/program"))
    settings = WatchSettings(first_retry_seconds=0.05, last_retry_seconds=60)
    with capture_logs() as logs:
        async with watching(catalogs, spec, settings=settings) as watcher:
            await eventually(lambda: any("away" in log["event"] for log in logs))
            began = time.monotonic()
            while time.monotonic() - began < 1.0:
                watcher.hint("default", "default", spec.name)
                await asyncio.sleep(0.001)
    attempts = sum("away" in log["event"] for log in logs)
    assert attempts <= 6, "one for every half of a second, and the first ones"


async def test_one_servers_failure_does_not_affect_another(catalogs: Catalogs, tools: ToolFile, tmp_path: Path) -> None:
    broken = ServerSpec(name="broken", transport=StdioTransport("/no-such-program"))
    mute = stdio_spec(ToolFile(tmp_path / "mute.json"), "--misbehave", "mute", name="mute")
    async with watching(catalogs, broken, mute, stdio_spec(tools)) as watcher:
        await until_names(catalogs, "first", "second")
        tools.offer("third")
        await until_names(catalogs, "third")
        states = {status.name: status.state for status in watcher.status()}
        assert (states["broken"], states["s"]) == ("away", "following")


async def test_a_killed_server_is_started_again_and_its_entries_stay_meanwhile(catalogs: Catalogs, tools: ToolFile) -> None:
    spec, program = wrapped_spec(tools)
    async with watching(catalogs, spec) as watcher:
        await until_names(catalogs, "first", "second")
        take_away(program, tools)
        status = await eventually(lambda: next((each for each in watcher.status() if each.state == "away"), None))
        assert (status.name, status.key, status.entries) == ("s", KEY, 2)
        assert status.error
        assert len(await entries(catalogs)) == 2
        tools.offer("third")
        give_back(program)
        await until_names(catalogs, "third")
        await eventually(lambda: watcher.status()[0].state == "following")
        assert watcher.status()[0].error == ""
        assert watcher.status()[0].last_listed is not None


async def test_entries_of_a_server_that_is_away_become_stale_and_fresh_again(catalogs: Catalogs, tools: ToolFile) -> None:
    spec, program = wrapped_spec(tools, tags=("mine",))
    settings = WatchSettings(first_retry_seconds=0.05, last_retry_seconds=0.1, stale_after=0.2)
    async with watching(catalogs, spec, settings=settings):
        await until_names(catalogs, "first", "second")
        take_away(program, tools)
        await until_entries(catalogs, lambda found: [entry.tags for entry in found] == [("mine", STALE_TAG)] * 2)
        give_back(program)
        await until_entries(catalogs, lambda found: [entry.tags for entry in found] == [("mine",)] * 2)


async def test_entries_of_a_server_that_is_away_for_long_are_removed_if_asked_for(catalogs: Catalogs, tools: ToolFile) -> None:
    spec, program = wrapped_spec(tools)
    settings = WatchSettings(first_retry_seconds=0.05, last_retry_seconds=0.1, stale_after=0, forget_after=0.2)
    async with watching(catalogs, spec, settings=settings):
        await until_names(catalogs, "first", "second")
        take_away(program, tools)
        await until_names(catalogs)
        give_back(program)
        await until_names(catalogs, "first", "second")


async def test_a_failed_write_is_tried_again_and_is_not_the_servers_fault(catalogs: Catalogs, tools: ToolFile) -> None:
    with capture_logs() as logs:
        async with watching(FailingWriter(catalogs, 3), stdio_spec(tools)):
            await until_names(catalogs, "first", "second")
    warnings = [record for record in logs if record["log_level"] == "warning"]
    assert [record["event"] for record in warnings] == ["entries of mcp server not written"] * 3
    assert warnings[0]["error"] == "the store is away"
    assert tools.listings <= 2


async def test_a_server_that_is_not_configured_any_more_is_stopped_and_removed(
    catalogs: Catalogs, tools: ToolFile, tmp_path: Path
) -> None:
    other = stdio_spec(ToolFile(tmp_path / "other.json"), name="other")
    async with watching(catalogs, stdio_spec(tools), other) as watcher:
        await until_entries(catalogs, lambda found: len(found) == 4)
        watcher.configure(McpConfig((other,)))
        await until_entries(catalogs, lambda found: {entry.server for entry in found} == {"other"})
        assert not alive(tools.pid)
        assert [status.name for status in watcher.status()] == ["other"]


async def test_a_changed_server_is_started_again_and_an_unchanged_one_is_not(
    catalogs: Catalogs, tools: ToolFile, tmp_path: Path
) -> None:
    other_tools = ToolFile(tmp_path / "other.json")
    other = stdio_spec(other_tools, name="other")
    async with watching(catalogs, stdio_spec(tools), other) as watcher:
        await until_entries(catalogs, lambda found: len(found) == 4)
        pids = tools.pid, other_tools.pid
        watcher.configure(McpConfig((stdio_spec(tools, exclude=("first",)), other)))
        await until_entries(catalogs, lambda found: len(found) == 3)
        assert not alive(pids[0])
        assert (tools.pid != pids[0], other_tools.pid == pids[1]) == (True, True)


async def test_a_server_that_moves_to_another_catalog_is_removed_from_the_first(catalogs: Catalogs, tools: ToolFile) -> None:
    async with watching(catalogs, stdio_spec(tools)) as watcher:
        await until_names(catalogs, "first", "second")
        watcher.configure(McpConfig((stdio_spec(tools, catalog="other"),)))
        await until_names(catalogs)
        await until_names(catalogs, "first", "second", key=CatalogKey("default", "other"))


async def test_a_server_that_is_removed_and_comes_back_at_once_is_there(catalogs: Catalogs, tools: ToolFile) -> None:
    async with watching(catalogs, stdio_spec(tools)) as watcher:
        await until_names(catalogs, "first", "second")
        for _ in range(3):
            watcher.configure(McpConfig(()))
            watcher.configure(McpConfig((stdio_spec(tools),)))
        tools.offer("third")
        await until_names(catalogs, "third")


async def test_only_one_of_two_watchers_follows_and_the_other_takes_over(catalogs: Catalogs, tools: ToolFile) -> None:
    leases = DictLeases()
    async with watching(catalogs, stdio_spec(tools), leases=leases, settings=QUICK) as first:
        await until_names(catalogs, "first", "second")
        [(lease, (owner, _))] = leases.held.items()
        assert (json.loads(lease), owner) == (["default", "default", "s"], QUICK.owner)
        async with watching(catalogs, stdio_spec(tools), leases=leases, settings=other_owner()) as second:
            await eventually(lambda: second.status()[0].state == "waiting for lease")
            first.configure(McpConfig(()))
            await eventually(lambda: second.status()[0].state == "following")
            tools.offer("third")
            await until_names(catalogs, "third")
    assert leases.held == {}


def other_owner() -> WatchSettings:
    return WatchSettings(first_retry_seconds=0.05, last_retry_seconds=0.1, lease_seconds=0.6)


async def test_following_stops_when_the_lease_is_lost(catalogs: Catalogs, tools: ToolFile) -> None:
    leases = DictLeases()
    async with watching(catalogs, stdio_spec(tools), leases=leases) as watcher:
        await until_names(catalogs, "first", "second")
        [lease] = leases.held
        leases.held[lease] = ("somebody else", time.monotonic() + 600)
        await eventually(lambda: watcher.status()[0].state == "waiting for lease")
        assert not alive(tools.pid)


async def test_following_stops_when_the_lease_cannot_be_renewed_in_time(catalogs: Catalogs, tools: ToolFile) -> None:
    leases = DictLeases()
    async with watching(catalogs, stdio_spec(tools), leases=leases) as watcher:
        await until_names(catalogs, "first", "second")
        leases.broken = True
        await eventually(lambda: watcher.status()[0].state == "waiting for lease")
        leases.broken = False
        await eventually(lambda: watcher.status()[0].state == "following")


async def test_each_set_of_problems_is_logged_once(catalogs: Catalogs, tools: ToolFile) -> None:
    with capture_logs() as logs:
        async with watching(catalogs, stdio_spec(tools, "--misbehave", "duplicates")):
            await until_names(catalogs, "first", "second")
            tools.offer("first", "second", description="other words")
            await until_entries(catalogs, lambda found: all(entry.description == "other words" for entry in found))
    warnings = [record for record in logs if record["log_level"] == "warning"]
    assert [(record["event"], record["server"]) for record in warnings] == [("mcp server listed with problems", "s")]


async def test_secrets_are_not_logged(catalogs: Catalogs, tools: ToolFile) -> None:
    spec = stdio_spec(tools, "--misbehave", "tell secrets", env={"TOKEN": "hunter2hunter2"})
    with capture_logs() as logs:
        async with watching(catalogs, spec) as watcher:
            await eventually(lambda: watcher.status()[0].state == "away")
    assert [record["event"] for record in logs if record["log_level"] == "warning"] == ["mcp server is away"]
    assert "hunter2" not in str(logs)


async def test_once_lists_each_server_and_tells_what_it_did(catalogs: Catalogs, tools: ToolFile, tmp_path: Path) -> None:
    config = McpConfig(
        (
            stdio_spec(tools),
            stdio_spec(ToolFile(tmp_path / "twice.json"), "--misbehave", "duplicates", name="twice"),
            ServerSpec(name="broken", transport=StdioTransport("/no-such-program")),
        )
    )
    watcher = Watcher(catalogs, None, QUICK)
    good, twice, broken = await watcher.once(config)
    assert (good.name, good.key, good.added, good.error, good.problems) == ("s", KEY, 2, "", ())
    assert (twice.added, len(twice.problems)) == (2, 2)
    assert broken.added == 0
    assert "no-such-program" in broken.error
    tools.offer("second", "third")
    again = (await watcher.once(McpConfig((stdio_spec(tools),))))[0]
    assert (again.added, again.updated, again.deleted, again.unchanged) == (1, 0, 1, 1)
    assert not alive(tools.pid)


async def test_a_file_is_followed_through_links_and_a_broken_one_changes_nothing(
    catalogs: Catalogs, tools: ToolFile, tmp_path: Path
) -> None:
    """A Kubernetes Secret: the file is a link into a folder that is a link, which is turned."""
    for number, text in enumerate([servers_file(tools, "one"), "{", servers_file(tools, "two")]):
        (tmp_path / f"data{number}").mkdir()
        (tmp_path / f"data{number}" / "mcp.json").write_text(text)
    path, data = tmp_path / "mcp.json", tmp_path / "data"
    path.symlink_to("data/mcp.json")
    turn(data, "data0")
    async with watching(catalogs) as watcher:
        following = asyncio.create_task(follow_file(watcher, path, {"PROGRAM": sys.executable}, poll_seconds=0.02))
        await until_entries(catalogs, lambda found: {entry.server for entry in found} == {"one"})
        with capture_logs() as logs:
            turn(data, "data1")
            await eventually(lambda: [record for record in logs if record["log_level"] == "error"])
        assert [status.name for status in watcher.status()] == ["one"]
        turn(data, "data2")
        await until_entries(catalogs, lambda found: {entry.server for entry in found} == {"two"})
        following.cancel()


def servers_file(tools: ToolFile, name: str) -> str:
    return json.dumps({"mcpServers": {name: {"command": "${PROGRAM}", "args": [str(SCRIPT), str(tools.path)]}}})


def turn(link: Path, target: str) -> None:
    new = link.with_suffix(".new")
    new.symlink_to(target)
    new.replace(link)


async def test_a_missing_file_is_waited_for(catalogs: Catalogs, tools: ToolFile, tmp_path: Path) -> None:
    path = tmp_path / "later.json"
    async with watching(catalogs) as watcher:
        with capture_logs() as logs:
            following = asyncio.create_task(follow_file(watcher, path, {"PROGRAM": sys.executable}, poll_seconds=0.02))
            await eventually(lambda: [record for record in logs if record["log_level"] == "error"])
        path.write_text(servers_file(tools, "s"))
        await until_names(catalogs, "first", "second")
        following.cancel()
