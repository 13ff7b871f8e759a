"""Searches over gRPC against a real server, next to an empty call on the same connection: the floor.

Compare figures of one run only. `make bench` runs them; `make test` only sees that they work.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pytest_benchmark.fixture import BenchmarkFixture

from support import DATA, running_server, tool
from toolsearch import Client, EntryInput

QUERIES = [
    "create a new issue in a repository",
    "send a message to a channel",
    "get the weather forecast for a city",
    "search the web for recent news",
    "convert a document to pdf",
    "list files in a directory",
    "run a sql query on the database",
    "what is the current stock price",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_server("--store", "memory:") as (_, address):
        yield address


@pytest.fixture(scope="module")
def tools() -> list[EntryInput]:
    path = DATA / "toucan_catalog" / "tools.jsonl"
    if not path.exists():
        pytest.skip(f"no catalogs in {DATA}; set TOOLSEARCH_DATA")
    entries = []
    for line in path.read_text().splitlines():
        definition: dict[str, Any] = {key: value for key, value in json.loads(line).items() if value is not None}
        entries.append(EntryInput(server=definition.pop("server"), definition=definition))
    return entries


def test_empty_call(address: str, benchmark: BenchmarkFixture) -> None:
    with grpc.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        benchmark(health.Check, health_pb2.HealthCheckRequest())


@pytest.mark.parametrize("strategy", ["auto", "bm25", "semantic", "regex", "fuzzy"])
@pytest.mark.parametrize("entries", [100, 1_000, 6_000])
def test_search(address: str, tools: list[EntryInput], benchmark: BenchmarkFixture, entries: int, strategy: str) -> None:
    with Client(address, catalog=f"n{entries}") as client:
        client.apply_changes(tools[:entries], timeout=60)
        queries = itertools.cycle(QUERIES if strategy != "regex" else ["create.*issue", "^get_", "search$", "list|find"])
        result = benchmark(lambda: client.search(next(queries), strategy=strategy))
        assert result.version.revision == 1


@pytest.mark.parametrize("entries", [100, 1_000, 6_000])
def test_one_change_until_it_is_findable(
    address: str, tools: list[EntryInput], benchmark: BenchmarkFixture, entries: int
) -> None:
    numbers = itertools.count()
    with Client(address, catalog=f"w{entries}") as client:
        client.apply_changes(tools[:entries], timeout=60)

        def change_and_search() -> None:
            name = f"freshly_written_{next(numbers)}"
            client.sync_server("bench", [tool(name, "zyzzyva")])
            assert client.search("zyzzyva", limit=1).matches[0].local_name == name

        benchmark(change_and_search)
