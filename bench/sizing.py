"""What replicas need, for docs/operations.md: memory of tools and of tenants, processor time of searches, time to be ready.

    PYTHONPATH=bench:tests .venv/bin/python bench/sizing.py

Real tools from $TOOLSEARCH_DATA/toucan_catalog. Processor time is the server's own: what else the machine does hardly matters.
"""

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

from loads import metric, processor_seconds, resident_mb
from support import DATA, ServerProcess, running_server
from toolsearch import Client

WARM_UP, LARGE_CATALOGS, LARGE = 8, 24, 1_000
"""The first catalogs are not counted: with them come buffers that stay."""
TENANTS, SMALL = 300, 30
SEARCHES = 3_000


def tools() -> Iterator[dict[str, Any]]:
    with (DATA / "toucan_catalog" / "tools.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def estimated_mb(server: ServerProcess) -> float:
    return metric(server, "toolsearch_index_bytes") / 1e6


def measure(embeddings: str) -> None:
    real = itertools.cycle(tools())
    began = time.monotonic()
    with running_server("--store", "memory:", "--embeddings", embeddings, "--http", "127.0.0.1:0") as (server, address):
        pid = server.process.pid
        print(f"embeddings {embeddings}: listening after {time.monotonic() - began:.1f} s, {resident_mb(pid):.0f} MB at rest")
        before, estimate = 0.0, 0.0
        for number in range(WARM_UP + LARGE_CATALOGS):
            if number == WARM_UP:
                before, estimate = resident_mb(pid), estimated_mb(server)
            with Client(address, tenant=f"large{number}", timeout=60) as client:
                _fill(client, real, LARGE)
        taken, estimate = resident_mb(pid) - before, estimated_mb(server) - estimate
        print(f"  {before:.0f} MB with the first {WARM_UP} catalogs of {LARGE} tools, and then")
        print(f"  {taken / LARGE_CATALOGS:.1f} MB for each, estimated as {estimate / LARGE_CATALOGS:.1f} MB")
        before = resident_mb(pid)
        for number in range(TENANTS):
            with Client(address, tenant=f"small{number}", timeout=60) as client:
                _fill(client, real, SMALL)
        print(f"  {(resident_mb(pid) - before) / TENANTS:.2f} MB for a tenant with {SMALL} tools")
        for strategy in ("auto", "bm25"):
            with Client(address, tenant="large0") as client:
                queries = [str(next(real).get("description", ""))[:60] or "files" for _ in range(200)]
                for query in queries[:20]:
                    client.search(query, strategy=strategy)
                spent = processor_seconds(pid)
                for _, query in zip(range(SEARCHES), itertools.cycle(queries), strict=False):
                    client.search(query, strategy=strategy)
                seconds = (processor_seconds(pid) - spent) * 1_000 / SEARCHES
            print(f"  {seconds:.2f} s of one core for 1,000 searches among {LARGE} tools, {strategy}")


def _fill(client: Client, real: Iterator[dict[str, Any]], count: int) -> None:
    servers: dict[str, dict[str, dict[str, Any]]] = {}
    for definition in itertools.islice(real, count):
        server = str(definition.pop("server", "s"))[:60]
        servers.setdefault(server, {})[str(definition["name"])] = definition
    for server, offered in servers.items():
        client.sync_server(server, list(offered.values()))
    client.search("anything")


if __name__ == "__main__":
    for each in ("off", "static"):
        measure(each)
