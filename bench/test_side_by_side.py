"""The same queries through searchers in the caller's own process, and through the service over gRPC on loopback.

Processor time is that of caller and server together. Memory is what the index takes: of a searcher in a process, of the service
in its server.
"""

import itertools
import multiprocessing
import time
from multiprocessing.connection import Connection

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import peers
from fixtures import smoke, tables
from loads import distinct_queries, fill, measured, resident_mb, sizes
from support import running_server
from tables import Table
from toolsearch import Client

SIZES = sizes(100, 500, 1_000, 10_000)
WARM_UP, CALLS = 300, 1_000
MOST_SECONDS = 20.0
"""Of one peer at one size; slow ones are asked less often."""
BOUND_SECONDS = 600.0

Figures = tuple[float, float, float, float, float]
"""Milliseconds at the median and at 99 %, microseconds of processor time, seconds to build, megabytes."""


def in_process(name: str, entries: int, calls: int, warm_up: int, parent: Connection) -> None:
    tools = peers.tools(entries)
    queries = itertools.cycle(distinct_queries())
    before = resident_mb()
    started = time.perf_counter()
    search = peers.PEERS[name][1](tools)
    search(next(queries))  # some build when they are asked first
    built = time.perf_counter() - started
    taken = resident_mb() - before
    once = measured(lambda: search(next(queries)), 3).p50_ms / 1e3
    calls = max(5, min(calls, int(MOST_SECONDS / once)))
    found = measured(lambda: search(next(queries)), calls, warm_up=min(warm_up, calls // 3))
    parent.send((found.p50_ms, found.p99_ms, found.all_us, built, taken))


def peer(name: str, entries: int, calls: int, warm_up: int) -> Figures:
    spawning = multiprocessing.get_context("spawn")
    ours, its = spawning.Pipe()
    process = spawning.Process(target=in_process, args=(name, entries, calls, warm_up, its), daemon=True)
    process.start()
    its.close()
    try:
        assert ours.poll(BOUND_SECONDS), f"{name} did not answer"
        figures: Figures = ours.recv()
        return figures
    finally:
        process.kill()
        process.join()


def service(entries: int, strategy: str, calls: int, warm_up: int) -> Figures:
    with running_server("--store", "memory:", "--http", "127.0.0.1:0") as (server, address):
        with Client(address, catalog="warm") as client:
            fill(client, 10)
        queries = itertools.cycle(distinct_queries())
        with Client(address, timeout=BOUND_SECONDS) as client:
            before, started = resident_mb(server.process.pid), time.perf_counter()
            fill(client, entries)
            built = time.perf_counter() - started
            taken = resident_mb(server.process.pid) - before
            found = measured(lambda: client.search(next(queries), strategy=strategy), calls, server, warm_up=warm_up)
    return found.p50_ms, found.p99_ms, found.all_us, built, taken


@pytest.mark.parametrize("entries", SIZES)
def test_side_by_side(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], entries: int) -> None:
    calls, warm_up = (5, 1) if smoke else (CALLS, WARM_UP)
    names = [name for name in peers.PEERS if peers.is_here(name)]
    if not smoke:
        assert len(names) == len(peers.PEERS), "the peers are in an environment of their own: make bench"
    title = "A search among so many tools: median, ms"
    table = tables.setdefault("side_by_side", Table("side_by_side", title, "ms", ["p50 ms"]))
    rows: dict[str, Figures] = {}
    rows["toolsearch, auto"] = benchmark.pedantic(service, (entries, "auto", calls, warm_up), rounds=1)  # type: ignore[no-untyped-call]
    rows["toolsearch, bm25"] = service(entries, "bm25", calls, warm_up)
    for name in names:
        rows[name] = peer(name, entries, calls, warm_up)
    ours = rows["toolsearch, auto"]
    for label, (p50, p99, cpu, built, taken) in rows.items():
        assert p50 > 0
        table.add(
            f"{label}, {entries:,}",
            **{
                "p50 ms": p50,
                "p99 ms": p99,
                "CPU µs": cpu,
                "build s": built,
                "memory MB": taken,
                "p50 to ours": p50 / ours[0],
                "CPU to ours": cpu / ours[2],
            },
        )
