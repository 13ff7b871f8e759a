"""From an MCP server to every replica, with real processes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.history import names_on, running_replicas
from redis_process import RedisProcess, running_redis
from support import ServerProcess, running_server, wait_for
from toolsearch import Client, ToolSearchError
from watcher.servers import SCRIPT, ToolFile, http_server

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


@pytest.fixture
def tools(tmp_path: Path) -> ToolFile:
    return ToolFile(tmp_path / "tools.json")


def configuration(folder: Path, **servers: object) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def stdio(tools: ToolFile, *flags: str) -> dict[str, object]:
    return {"command": sys.executable, "args": [str(SCRIPT), str(tools.path), *flags]}


@contextmanager
def running_watcher(path: Path, redis: RedisProcess) -> Iterator[ServerProcess]:
    watcher = ServerProcess(("--config", str(path), "--store", redis.url, "--log-level", "debug"), command="watch")
    try:
        yield watcher
    finally:
        watcher.kill() if watcher.process.poll() is None else watcher.wait()


def found(address: str) -> frozenset[str]:
    return frozenset(name.partition(".")[2] for name in names_or_nothing(address))


def wait_until_found(addresses: list[str], *names: str, seconds: float = 30.0) -> None:
    for address in addresses:
        wait_for(lambda address=address: found(address) == set(names), seconds=seconds, what=f"{names} at {address}")  # type: ignore[misc]


def offer(tools: ToolFile, *names: str, notify: int = 1) -> None:
    tools.offer(*names, notify=notify, description="thing")


@pytest.mark.parametrize("style", ["mcpserver", "2025-06-18"])
def test_a_tool_that_a_server_adds_or_removes_is_so_on_every_replica(
    redis: RedisProcess, tools: ToolFile, tmp_path: Path, style: str
) -> None:
    offer(tools, "a", "b")
    path = configuration(tmp_path, s=stdio(tools, "--style", style))
    with running_replicas(redis.url, 3) as (_, addresses), running_watcher(path, redis) as watcher:
        wait_until_found(addresses, "a", "b")
        offer(tools, "b", "c")
        wait_until_found(addresses, "b", "c")
        assert watcher.stop() == 0


def test_a_server_over_http_is_followed_too(redis: RedisProcess, tools: ToolFile, tmp_path: Path) -> None:
    offer(tools, "a")
    with http_server(tools) as port:
        path = configuration(tmp_path, s={"url": f"http://127.0.0.1:{port}/mcp"})
        with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis):
            wait_until_found(addresses, "a")
            offer(tools, "a", "b")
            wait_until_found(addresses, "a", "b")


def test_a_hint_on_the_documented_channel_makes_a_silent_server_listed_again(
    redis: RedisProcess, tools: ToolFile, tmp_path: Path
) -> None:
    offer(tools, "a")
    path = configuration(tmp_path, s=stdio(tools, "--misbehave", "never-notifies"))
    with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis):
        wait_until_found(addresses, "a")
        redis.command("PUBLISH", "toolsearch:mcp", "no hint at all")
        offer(tools, "b", notify=0)
        hint = {"tenant": "default", "catalog": "default", "server": "s", "method": "notifications/tools/list_changed"}
        wait_for(lambda: redis.command("PUBLISH", "toolsearch:mcp", json.dumps(hint)) == ":1\r\n", what="a listening watcher")
        wait_until_found(addresses, "b")


def test_a_watcher_killed_while_it_follows_a_server_is_followed_by_another(
    redis: RedisProcess, tools: ToolFile, tmp_path: Path
) -> None:
    offer(tools, "a")
    path = configuration(tmp_path, s=stdio(tools))
    with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis) as first:
        wait_until_found(addresses, "a")
        with running_watcher(path, redis) as second:
            second.wait_for_event("watching")
            followed_by_first = tools.pid
            first.kill()
            wait_for(lambda: tools.pid != followed_by_first, seconds=40, what="a server started by the second watcher")
            offer(tools, "b")
            wait_until_found(addresses, "b")


def test_a_store_that_lost_everything_is_filled_again(redis: RedisProcess, tools: ToolFile, tmp_path: Path) -> None:
    offer(tools, "a")
    path = configuration(tmp_path, s=stdio(tools))
    with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis):
        wait_until_found(addresses, "a")
        redis.kill()
        redis.start()
        wait_for(lambda: "s" in redis.command("KEYS", "toolsearch:*:entries"), seconds=40, what="entries in the store")
        with running_replicas(redis.url, 1) as (_, fresh):
            wait_until_found([*addresses, *fresh], "a")


def test_a_server_that_is_taken_out_of_the_file_is_taken_out_of_the_catalog(
    redis: RedisProcess, tools: ToolFile, tmp_path: Path
) -> None:
    offer(tools, "a")
    path = configuration(tmp_path, s=stdio(tools), broken={"command": "/no/such/program"})
    with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis) as watcher:
        wait_until_found(addresses, "a")
        wait_for(lambda: "broken" in watcher.log, what="a log line that names the broken server")
        configuration(tmp_path)
        wait_until_found(addresses)


def watch_once(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "toolsearch_server", "watch", "--once", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_watch_once_lists_writes_prints_a_table_and_exits(tools: ToolFile, tmp_path: Path) -> None:
    path = configuration(tmp_path, s=stdio(tools))
    arguments = ("--config", str(path), "--store", f"sqlite:{tmp_path}/store.db")
    first = watch_once(*arguments)
    assert first.returncode == 0, first.stderr
    assert [line.split() for line in first.stdout.splitlines()] == [
        ["server", "tenant", "catalog", "added", "updated", "deleted", "unchanged"],
        ["s", "default", "default", "2", "0", "0", "0"],
    ]
    second = json.loads(watch_once(*arguments, "--json").stdout)
    assert [(row["server"], row["added"], row["unchanged"]) for row in second] == [("s", 0, 2)]


def test_watch_once_removes_servers_that_were_dropped_since_if_asked_to(tools: ToolFile, tmp_path: Path) -> None:
    arguments = ("--store", f"sqlite:{tmp_path}/store.db", "--json", "--config")
    watch_once(*arguments, str(configuration(tmp_path, s=stdio(tools), t=stdio(tools))))
    path = str(configuration(tmp_path, t=stdio(tools)))
    assert [row["server"] for row in json.loads(watch_once(*arguments, path).stdout)] == ["t"]
    rows = json.loads(watch_once(*arguments, path, "--prune").stdout)
    assert [(row["server"], row["deleted"]) for row in rows] == [("t", 0), ("s", 2)]
    assert [row["server"] for row in json.loads(watch_once(*arguments, path, "--prune").stdout)] == ["t"]


def test_a_server_dropped_while_nobody_watched_is_removed_at_the_start(tools: ToolFile, tmp_path: Path) -> None:
    offer(tools, "a")
    store = ("--store", f"sqlite:{tmp_path}/store.db", "--mcp-config")
    with running_server(*store, str(configuration(tmp_path, s=stdio(tools), t=stdio(tools)))) as (server, address):
        wait_for(lambda: names_or_nothing(address) == {"s.a", "t.a"}, what="both servers")
        server.stop()
    with running_server(*store, str(configuration(tmp_path, t=stdio(tools)))) as (_, address):
        wait_for(lambda: names_or_nothing(address) == {"t.a"}, what="one server")


def names_or_nothing(address: str) -> frozenset[str]:
    try:
        return names_on(address)
    except ToolSearchError:
        return frozenset()


def test_a_server_that_crashes_in_the_middle_of_its_pages_keeps_what_it_had(
    redis: RedisProcess, tools: ToolFile, tmp_path: Path
) -> None:
    offer(tools, "a", "b")
    path = configuration(tmp_path, s=stdio(tools))
    with running_replicas(redis.url, 1) as (_, addresses), running_watcher(path, redis) as watcher:
        wait_until_found(addresses, "a", "b")
        configuration(tmp_path, s=stdio(tools, "--misbehave", "crash", "--page-size", "1"))
        wait_for(lambda: "mcp server is away" in watcher.log, what="a crash")
        assert found(addresses[0]) == {"a", "b"}


def test_watch_once_fails_if_a_server_fails_and_writes_the_others(tools: ToolFile, tmp_path: Path) -> None:
    path = configuration(tmp_path, s=stdio(tools), broken={"command": "/no/such/program"})
    ran = watch_once("--config", str(path), "--store", f"sqlite:{tmp_path}/store.db")
    assert ran.returncode == 1
    assert "broken: failed, nothing was changed" in ran.stdout
    assert "s       default  default  2" in ran.stdout


def test_a_file_that_cannot_be_used_is_explained_at_the_start(tmp_path: Path) -> None:
    path = configuration(tmp_path, s={"command": 7})
    ran = watch_once("--config", str(path), "--store", f"sqlite:{tmp_path}/store.db")
    assert ran.returncode == 1
    assert "mcpServers" in ran.stderr and "command" in ran.stderr


def test_a_server_can_follow_mcp_servers_itself(tools: ToolFile, tmp_path: Path) -> None:
    offer(tools, "a")
    path = configuration(tmp_path, s=stdio(tools))
    with running_server("--store", "memory:", "--mcp-config", str(path)) as (_, address):
        wait_until_found([address], "a")
        offer(tools, "b")
        wait_until_found([address], "b")
        with Client(address) as client:
            assert [stats.server for stats in client.get_catalog().servers] == ["s"]
