"""How long until a change is findable on every one of three replicas that share a Redis.

Compare figures of one run only. Replicas are asked again and again, so a figure includes up to one search on each.
"""

import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from faults.history import running_replicas
from redis_process import RedisProcess, running_redis
from support import ServerProcess, tool, wait_for
from toolsearch import Client
from watcher.servers import SCRIPT, ToolFile


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def addresses(redis: RedisProcess) -> Iterator[list[str]]:
    with running_replicas(redis.url, 3) as (_, addresses):
        yield addresses


@contextmanager
def clients(addresses: list[str], catalog: str) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Client(address, catalog=catalog)) for address in addresses]


def until_found_everywhere(replicas: list[Client], name: str) -> None:
    for client in replicas:
        wait_for(lambda client=client: name in found(client), what=name)  # type: ignore[misc]


def found(client: Client) -> list[str]:
    return [match.local_name for match in client.search("zyzzyva", limit=1, min_revision=0).matches]


@pytest.mark.parametrize("entries", [100, 1_000])
def test_a_write_on_one_replica_until_it_is_findable_on_three(
    addresses: list[str], benchmark: BenchmarkFixture, entries: int
) -> None:
    numbers = itertools.count()
    with clients(addresses, f"n{entries}") as replicas:
        replicas[0].sync_server("others", [tool(f"tool_{number}", "does something else") for number in range(entries)])

        def write_and_find() -> None:
            name = f"fresh_{next(numbers)}"
            replicas[0].sync_server("bench", [tool(name, "zyzzyva")])
            until_found_everywhere(replicas, name)

        write_and_find()
        benchmark(write_and_find)


def test_an_mcp_server_says_that_its_tools_changed_until_they_are_findable_on_three(
    addresses: list[str], redis: RedisProcess, benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    """Includes up to 10 ms until the server under test sees that its file was replaced."""
    tools = ToolFile(tmp_path / "tools.json")
    server = {"command": sys.executable, "args": [str(SCRIPT), str(tools.path), "--style", "mcpserver"], "catalog": "mcp"}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"s": server}}))
    numbers = itertools.count()
    with clients(addresses, "mcp") as replicas:
        replicas[0].sync_server("others", [tool("other", "does something else")])

        def change_and_find() -> None:
            name = f"fresh_{next(numbers)}"
            tools.offer(name, description="zyzzyva")
            until_found_everywhere(replicas, name)

        watcher = ServerProcess(("--config", str(path), "--store", redis.url), command="watch")
        try:
            change_and_find()
            benchmark(change_and_find)
        finally:
            watcher.kill()
