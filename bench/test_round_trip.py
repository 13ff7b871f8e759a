"""Searches over gRPC against a real server with identity and metrics on, next to calls that do nothing: the floor.

The smallest call is one through identity, admission and metrics that has next to nothing to answer; the empty one is a health
check, which passes none of that. Queries are distinct, asked one after the other.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pytest_benchmark.fixture import BenchmarkFixture

from fixtures import smoke, tables
from identity.guarded import Guarded, guarded_server
from loads import PATTERNS, Calls, distinct_queries, fill, measured, sizes
from support import tool
from tables import Table
from toolsearch_server.auth import Role

STRATEGIES = ("auto", "bm25", "semantic", "hybrid", "regex", "fuzzy")
SIZES = sizes(100, 1_000, 10_000, 100_000)
WARM_UP, CALLS = 500, 1_500
SLOW_CALLS = 200
"""Of regex and fuzzy, which take milliseconds."""
LARGE = ("--limit", "index_bytes=8000000000")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_server(tmp_path_factory.mktemp("keys"), "--http", "127.0.0.1:0", "--log-level", "info", *LARGE) as service:
        yield service


def floor(service: Guarded, count: int) -> tuple[Calls, Calls]:
    """Of an empty call, and of the smallest that passes everything."""
    with grpc.insecure_channel(service.address) as channel, service.client(role=Role.WRITER, catalog="floor") as client:
        client.sync_server("s", [tool("t")])
        client.search("t")
        health: Any = health_pb2_grpc.HealthStub(channel)
        empty = measured(lambda: health.Check(health_pb2.HealthCheckRequest()), count, service.process, warm_up=count // 4)
        smallest = measured(lambda: list(client.list_namespaces()), count, service.process, warm_up=count // 4)
    return empty, smallest


@pytest.mark.parametrize("entries", SIZES)
def test_round_trips(
    service: Guarded, benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], entries: int
) -> None:
    table = tables.setdefault("round_trip", Table("round_trip", "Server's processor time of a call, µs", "µs", ["server µs"]))
    calls, warm_up = (8, 2) if smoke else (CALLS, WARM_UP)
    queries = distinct_queries() or ["create an issue", "list files"]
    with service.client(role=Role.WRITER, catalog=f"n{entries}", timeout=600) as client:
        fill(client, entries)
        empty, smallest = floor(service, calls)
        if not table.rows:
            _add(table, "empty call", empty, empty, smallest)
            _add(table, "smallest call", smallest, empty, smallest)
        for strategy in STRATEGIES:
            texts = iter(_patterns()) if strategy == "regex" else itertools.cycle(queries)
            slow = strategy in ("regex", "fuzzy")
            count = min(calls, SLOW_CALLS) if slow else calls
            found = measured(
                lambda: client.search(next(texts), strategy=strategy),  # noqa: B023
                count,
                service.process,
                warm_up=warm_up // 10 if slow else warm_up,
            )
            assert found.p50_ms > 0
            _add(table, f"{strategy}, {entries:,} tools", found, empty, smallest)
        repeated = measured(lambda: client.search("create a new issue"), calls, service.process, warm_up=2)
        _add(table, f"auto again, {entries:,} tools", repeated, empty, smallest)
        texts = itertools.cycle(queries)
        benchmark(lambda: client.search(next(texts)))


def _patterns() -> Iterator[str]:
    """No two alike: those that were asked before are answered from memory."""
    for number in itertools.count():
        yield f"{PATTERNS[number % len(PATTERNS)]}|never{number}"


def _add(table: Table, label: str, calls: Calls, empty: Calls, smallest: Calls) -> None:
    table.add(
        label,
        **{
            "p50 ms": calls.p50_ms,
            "p99 ms": calls.p99_ms,
            "server µs": calls.server_us,
            "x empty": calls.server_us / empty.server_us,
            "x smallest": calls.server_us / smallest.server_us,
        },
    )
