"""A model of what replicas and Redis need, from unit costs measured here, checked against runs at three sizes.

    PYTHONPATH=bench:tests .venv/bin/python bench/capacity.py          # writes bench/results/capacity.json

docs/scaling.md tells what the model says, and carries it further. Replicas and the callers share this machine.
"""

import itertools
import json
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import redis as redis_client

from faults.history import running_replicas
from loads import composed, distinct_queries, processor_seconds, resident_mb
from redis_process import RedisProcess, running_redis
from support import ServerProcess, tool
from tables import RESULTS, machine
from toolsearch import Client, EntryInput

BOUND_SECONDS = 120.0
SETTLE_SECONDS, IDLE_SECONDS = 1.0, 15.0
LIMITS = ("--embeddings", "auto", "--limit", "index_bytes=4000000000")


@dataclass(frozen=True)
class Units:
    """What one of each costs. Processor time in seconds, memory in MB, Redis in commands and bytes."""

    replica_mb: float
    catalog_mb: float
    tool_mb: float
    idle_cpu: float
    idle_commands: float
    idle_bytes: float
    """A second and replica, with nothing to do."""
    search_cpu: float
    write_cpu: float
    """On the replica that writes, searchable there."""
    applied_cpu: float
    """On each other replica."""
    write_commands: float
    write_bytes: float
    applied_bytes: float
    """Sent to each other replica."""


@dataclass(frozen=True)
class Size:
    """What a run has: on every replica all catalogs, of which each second some are searched and some changed."""

    replicas: int
    tenants: int
    tools: int
    searches: float
    changes: float


@dataclass(frozen=True)
class Needs:
    replica_mb: float
    replica_cpu: float
    """A second."""
    redis_commands: float
    redis_kb: float


SIZES = (Size(1, 20, 100, 100, 2), Size(2, 80, 100, 100, 5), Size(3, 60, 400, 60, 5))
RUN_SECONDS = 15.0


def model(units: Units, size: Size) -> Needs:
    others = size.replicas - 1
    writes, applied = size.changes / size.replicas, size.changes * others / size.replicas
    return Needs(
        replica_mb=units.replica_mb + size.tenants * (units.catalog_mb + size.tools * units.tool_mb),
        replica_cpu=units.idle_cpu
        + size.searches / size.replicas * units.search_cpu
        + writes * units.write_cpu
        + applied * units.applied_cpu,
        redis_commands=size.replicas * units.idle_commands + size.changes * units.write_commands,
        redis_kb=(size.replicas * units.idle_bytes + size.changes * (units.write_bytes + others * units.applied_bytes)) / 1e3,
    )


class Fleet:
    """Replicas with a Redis, and a client for each."""

    def __init__(self, servers: list[ServerProcess], addresses: list[str], redis: RedisProcess) -> None:
        self.servers = servers
        self.addresses = addresses
        self._redis = redis_client.Redis(port=redis.port)
        self._tools = itertools.cycle(composed(6_000))
        self._texts = itertools.cycle(distinct_queries())

    def client(self, replica: int, tenant: int, stack: ExitStack) -> Client:
        return stack.enter_context(Client(self.addresses[replica], tenant=f"t{tenant}", timeout=BOUND_SECONDS))

    def fill(self, tenants: range, tools: int) -> None:
        """Catalogs, in memory of every replica."""
        for tenant in tenants:
            found: dict[tuple[str, str], EntryInput] = {}
            while len(found) < tools:
                server, definition = next(self._tools)
                found[server, definition["name"]] = EntryInput(server=server, definition=definition)
            with ExitStack() as stack:
                clients = [self.client(replica, tenant, stack) for replica in range(len(self.addresses))]
                clients[0].apply_changes(list(found.values()))
                for client in clients:
                    self.search(client)
        time.sleep(SETTLE_SECONDS)

    def search(self, client: Client) -> None:
        client.search(next(self._texts), min_revision=1)

    def memory(self) -> float:
        return sum(resident_mb(server.process.pid) for server in self.servers) / len(self.servers)

    def cpu(self) -> list[float]:
        return [processor_seconds(server.process.pid) for server in self.servers]

    def redis(self) -> tuple[float, float]:
        """Commands and bytes so far."""
        found: Any = self._redis.info("stats")
        return found["total_commands_processed"], found["total_net_input_bytes"] + found["total_net_output_bytes"]


@contextmanager
def fleet(replicas: int) -> Iterator[Fleet]:
    with running_redis() as redis, running_replicas(redis.url, replicas, *LIMITS) as (servers, addresses):
        yield Fleet(servers, addresses, redis)


def measured_units() -> Units:
    with fleet(2) as found, ExitStack() as stack:
        found.fill(range(20), 50)  # what is made once
        before, known, started = found.cpu(), found.redis(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        passed = time.perf_counter() - started
        idle = (found.cpu()[0] - before[0]) / passed
        idle_commands, idle_bytes = ((after - was) / passed / 2 for after, was in zip(found.redis(), known, strict=True))
        with_few = found.memory()
        found.fill(range(20, 120), 10)
        with_small = found.memory()
        found.fill(range(120, 160), 200)
        with_large = found.memory()
        # 100 catalogs of 10, and 40 of 200
        small, large = (with_small - with_few) / 100, (with_large - with_small) / 40
        a_tool = (large - small) / 190
        a_catalog = max(0.0, small - 10 * a_tool)
        writing = found.client(0, 120, stack)
        searching = [found.client(0, tenant, stack) for tenant in (*range(20, 80), *range(121, 160))]
        for client in searching:
            found.search(client)
        before, started = found.cpu(), time.perf_counter()
        for number in range(1_000):
            found.search(searching[number % len(searching)])
            time.sleep(0.005)  # as they come: one after the other they cost less
        search = (found.cpu()[0] - before[0] - idle * (time.perf_counter() - started)) / 1_000
        commands, sent = found.redis()
        before, started = found.cpu(), time.perf_counter()
        for number in range(200):
            writing.sync_server("changes", [tool("changed", f"number {number}")])
            time.sleep(0.03)  # as single changes come: not as a burst, which costs less
        time.sleep(SETTLE_SECONDS)
        passed = time.perf_counter() - started
        writer, other = ((after - was - idle * passed) / 200 for after, was in zip(found.cpu(), before, strict=True))
        after_commands, after_sent = found.redis()
    with fleet(1) as alone, ExitStack() as stack:
        alone.fill(range(1), 200)
        writing = alone.client(0, 0, stack)
        _, was = alone.redis()
        for number in range(200):
            writing.sync_server("changes", [tool("changed", f"number {number}")])
        written = (alone.redis()[1] - was) / 200
    return Units(
        replica_mb=with_few - 20 * (a_catalog + 50 * a_tool),
        catalog_mb=a_catalog,
        tool_mb=a_tool,
        idle_cpu=idle,
        idle_commands=idle_commands,
        idle_bytes=idle_bytes,
        search_cpu=search,
        write_cpu=writer,
        applied_cpu=other,
        write_commands=((after_commands - commands) - 2 * idle_commands * passed) / 200,
        write_bytes=written,
        applied_bytes=max(0.0, (after_sent - sent) / 200 - written),
    )


def measured_run(size: Size) -> Needs:
    chance = random.Random(1)
    with fleet(size.replicas) as found, ExitStack() as stack:
        found.fill(range(size.tenants), size.tools)
        clients = [[found.client(replica, tenant, stack) for tenant in range(size.tenants)] for replica in range(size.replicas)]
        turns = itertools.cycle(range(size.replicas))
        for _ in range(200):
            found.search(clients[next(turns)][chance.randrange(size.tenants)])
        before, (commands, sent), started = found.cpu(), found.redis(), time.perf_counter()
        calls, changes = 0, 0
        while (passed := time.perf_counter() - started) < RUN_SECONDS:
            tenant = chance.randrange(size.tenants)
            if changes < passed * size.changes:
                changes += 1
                clients[next(turns)][tenant].sync_server("changes", [tool("changed", f"number {changes}")])
            elif calls < passed * size.searches:
                calls += 1
                found.search(clients[next(turns)][tenant])
            else:
                time.sleep(0.001)
        passed = time.perf_counter() - started
        after_commands, after_sent = found.redis()
        cpu = sum(after - was for after, was in zip(found.cpu(), before, strict=True)) / size.replicas / passed
        print(f"  {calls / passed:.0f} searches and {changes / passed:.1f} changes a second")
        return Needs(found.memory(), cpu, (after_commands - commands) / passed, (after_sent - sent) / passed / 1e3)


def main() -> None:
    units = measured_units()
    print(json.dumps(asdict(units), indent=1))
    checks = []
    for size in SIZES:
        print(size)
        says, is_so = model(units, size), measured_run(size)
        errors = {name: asdict(says)[name] / value - 1 for name, value in asdict(is_so).items()}
        checks.append({"size": asdict(size), "model": asdict(says), "measured": asdict(is_so), "error": errors})
        for name, value in asdict(is_so).items():
            print(f"  {name:16} model {asdict(says)[name]:10.2f}   measured {value:10.2f}   error {errors[name]:+.0%}")
    content = {"machine": machine(), "units": asdict(units), "checks": checks}
    (RESULTS / "capacity.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
