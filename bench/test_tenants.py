"""What tenants cost: memory and threads of the idle and the hot, the first search on a cold catalog, what one notices of
others.

Idle tenants are in the store and not in memory. Hot ones have been searched.
"""

import itertools
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from fixtures import smoke, tables
from loads import composed, distinct_queries, fill, measured, metric, resident_mb, sizes, threads
from support import running_server
from tables import Table
from toolsearch import Client, EntryInput

TENANTS = (10, 100, 1_000, 5_000)
TOOLS = 100
BUDGET = 1 << 30
CALLS, WARM_UP = 500, 100
COLD_ROUNDS = 5
BOUND_SECONDS = 120.0


def test_more_and_more_tenants(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], tmp_path: Path) -> None:
    table = tables.setdefault(
        "tenants", Table("tenants", "Tenants of 100 tools in one process of 1 GiB: memory, MB", "MB", ["server MB"])
    )
    counts = (3, 5) if smoke else TENANTS
    texts = itertools.cycle(distinct_queries() or ["create an issue"])
    tools = itertools.cycle([EntryInput(server=server, definition=definition) for server, definition in composed(6_000)])
    arguments = ("--store", f"sqlite:{tmp_path / 'tools.db'}", "--http", "127.0.0.1:0", "--limit", f"index_bytes={BUDGET}")
    with running_server(*arguments) as (server, address):
        with Client(address, tenant="warm", timeout=BOUND_SECONDS) as client:
            fill(client, TOOLS)
        at_rest, made = resident_mb(server.process.pid), 0
        for count in counts:
            for number in range(made, count):
                with Client(address, tenant=f"t{number}", timeout=BOUND_SECONDS) as client:
                    unique = {(each.server, each.definition["name"]): each for each in itertools.islice(tools, TOOLS)}
                    client.apply_changes(list(unique.values()))
                    client.search(next(texts))
            made = count
            hot = int(metric(server, "toolsearch_catalogs"))
            taken = resident_mb(server.process.pid)
            with Client(address, tenant=f"t{count - 1}", timeout=BOUND_SECONDS) as client:
                found = measured(
                    lambda: client.search(next(texts)), 5 if smoke else CALLS, server, warm_up=1 if smoke else WARM_UP
                )
            table.add(
                f"{count:,} tenants",
                **{
                    "in memory": hot,
                    "server MB": taken,
                    "MB each in memory": (taken - at_rest) / hot,
                    "threads": threads(server.process.pid),
                    "search p50 ms": found.p50_ms,
                    "search server µs": found.server_us,
                },
            )
        with Client(address, tenant="t0", timeout=BOUND_SECONDS) as client:
            benchmark.pedantic(lambda: client.search(next(texts)), rounds=1)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("entries", sizes(100, 1_000, 10_000))
def test_the_first_search_on_a_cold_catalog(
    benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], tmp_path: Path, entries: int
) -> None:
    table = tables.setdefault(
        "cold", Table("cold", "The first search on a catalog that is not in memory, ms", "ms", ["median ms"])
    )
    store = f"sqlite:{tmp_path / 'tools.db'}"
    with running_server("--store", store) as (_, address), Client(address, timeout=BOUND_SECONDS) as client:
        fill(client, entries)
    took = []
    for _ in range(1 if smoke else COLD_ROUNDS):
        with running_server("--store", store) as (server, address), Client(address, timeout=BOUND_SECONDS) as client:
            with Client(address, tenant="other", timeout=BOUND_SECONDS) as other:
                fill(other, 10)  # what is made once for all catalogs
            took.append(measured(lambda: client.search("create an issue"), 1, server).p50_ms)
    table.add(f"{entries:,} tools", **{"median ms": sorted(took)[len(took) // 2], "worst ms": max(took)})
    benchmark.pedantic(lambda: None, rounds=1)  # type: ignore[no-untyped-call]  # timed above, once a server
