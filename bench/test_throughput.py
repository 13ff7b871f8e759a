"""How many searches a second a core answers for 32 callers, what they wait for at 80 % of that, and what replicas add.

Callers are processes of their own, on the same machine: what they take, the servers do not have. Calls a second and core are by
the servers' own processor time.
"""

import asyncio
import itertools
import multiprocessing
import random
import time
from multiprocessing.connection import Connection

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from faults.history import running_replicas
from fixtures import smoke, tables
from loads import distinct_queries, fill, processor_seconds, sizes
from redis_process import running_redis
from tables import Table
from toolsearch import AsyncClient, Client

CALLERS, PROCESSES, ENTRIES = 32, 2, 1_000
SECONDS, SMOKE_SECONDS = 10.0, 0.3
LOADED = 0.8
BOUND_SECONDS = 120.0


def call_on(addresses: list[str], callers: int, seconds: float, rate: float, seed: int, parent: Connection) -> None:
    parent.send(asyncio.run(_call_on(addresses, callers, seconds, rate, seed)))


async def _call_on(
    addresses: list[str], callers: int, seconds: float, rate: float, seed: int
) -> tuple[int, list[float], float]:
    """`rate`: calls a second, at random times; 0: each caller one after the other. Tells how many, how long each took, and how
    long all."""
    chance = random.Random(seed)
    queries = distinct_queries()
    chance.shuffle(queries)
    texts = itertools.cycle(queries)
    took: list[float] = []
    clients = [AsyncClient(address, timeout=BOUND_SECONDS) for address in addresses]
    try:
        await asyncio.gather(*(client.search("warm up") for client in clients))
        turns = itertools.cycle(clients)
        started = time.perf_counter()
        end = started + seconds

        async def once(due: float) -> None:
            await next(turns).search(next(texts))
            took.append(time.perf_counter() - due)

        async def caller() -> None:
            while (now := time.perf_counter()) < end:
                await once(now)

        if not rate:
            await asyncio.gather(*(caller() for _ in range(callers)))
        else:
            due, calls = started, []
            while (due := due + chance.expovariate(rate)) < end:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                calls.append(asyncio.create_task(once(due)))
            await asyncio.gather(*calls)
        return len(took), took, time.perf_counter() - started
    finally:
        for client in clients:
            await client.close()


def load(addresses: list[str], seconds: float, rate: float = 0.0) -> tuple[float, list[float]]:
    """Calls a second, and how long each took."""
    spawning = multiprocessing.get_context("spawn")
    pipes = [spawning.Pipe() for _ in range(PROCESSES)]
    processes = [
        spawning.Process(
            target=call_on, args=(addresses, CALLERS // PROCESSES, seconds, rate / PROCESSES, seed, its), daemon=True
        )
        for seed, (_, its) in enumerate(pipes)
    ]
    try:
        for process in processes:
            process.start()
        answers = []
        for ours, _ in pipes:
            assert ours.poll(BOUND_SECONDS + seconds), "the callers did not end"
            answers.append(ours.recv())
        return sum(count / all_seconds for count, _, all_seconds in answers), sorted(
            each for _, took, _ in answers for each in took
        )
    finally:
        for process in processes:
            process.kill()
            process.join()


@pytest.mark.parametrize("replicas", sizes(1, 2, 3))
def test_throughput(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], replicas: int) -> None:
    seconds = SMOKE_SECONDS if smoke else SECONDS
    table = tables.setdefault(
        "throughput", Table("throughput", "Searches a second, 1,000 tools, 32 callers", "/s", ["calls/s", "calls/s and core"])
    )
    with running_redis() as redis, running_replicas(redis.url, replicas, "--embeddings", "auto") as (servers, addresses):
        with Client(addresses[0], timeout=BOUND_SECONDS) as client:
            fill(client, 50 if smoke else ENTRIES)
        for address in addresses:
            with Client(address, timeout=BOUND_SECONDS) as client:
                client.search("warm up", min_revision=1)
        spent = sum(processor_seconds(server.process.pid) for server in servers)
        most, took = benchmark.pedantic(load, (addresses, seconds), rounds=1)  # type: ignore[no-untyped-call]
        spent = sum(processor_seconds(server.process.pid) for server in servers) - spent
        each = spent / len(took)
        rate, waited = load(addresses, seconds, LOADED * most)
        assert waited
    table.add(
        f"{replicas} server{'s' if replicas > 1 else ''}",
        **{
            "calls/s": most,
            "calls/s and core": 1 / each,
            "p50 ms": took[len(took) // 2] * 1e3,
            "p99 ms": took[int(len(took) * 0.99)] * 1e3,
            "at 80 %: calls/s": rate,
            "p50 ms at 80 %": waited[len(waited) // 2] * 1e3,
            "p99 ms at 80 %": waited[int(len(waited) * 0.99)] * 1e3,
        },
    )
