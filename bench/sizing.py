"""What replicas need, for docs/operations.md: memory of tools and of tenants, processor time of searches, time to be ready.

    TOOLSEARCH_DATA=... .venv/bin/python bench/sizing.py

Real tools from $TOOLSEARCH_DATA/toucan_catalog. Processor time is the server's own: what else the machine does hardly matters.
"""

import itertools
import json
import os
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

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


def resident_mb(server: ServerProcess) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)
    assert found
    return int(found[1]) * 1024 / 1e6


def estimated_mb(server: ServerProcess) -> float:
    address = re.search(r'"http": "([^"]+)"', server.log)
    assert address
    with urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=30) as answer:
        found = re.search(r"^toolsearch_index_bytes (\S+)$", answer.read().decode(), re.MULTILINE)
    assert found
    return float(found[1]) / 1e6


def processor_seconds(server: ServerProcess) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(embeddings: str) -> None:
    real = itertools.cycle(tools())
    began = time.monotonic()
    with running_server("--store", "memory:", "--embeddings", embeddings, "--http", "127.0.0.1:0") as (server, address):
        print(
            f"embeddings {embeddings}: listening after {time.monotonic() - began:.1f} s, {resident_mb(server):.0f} MB at rest"
        )
        before, estimate = 0.0, 0.0
        for number in range(WARM_UP + LARGE_CATALOGS):
            if number == WARM_UP:
                before, estimate = resident_mb(server), estimated_mb(server)
            with Client(address, tenant=f"large{number}", timeout=60) as client:
                _fill(client, real, LARGE)
        taken, estimate = resident_mb(server) - before, estimated_mb(server) - estimate
        print(f"  {before:.0f} MB with the first {WARM_UP} catalogs of {LARGE} tools, and then")
        print(f"  {taken / LARGE_CATALOGS:.1f} MB for each, estimated as {estimate / LARGE_CATALOGS:.1f} MB")
        before = resident_mb(server)
        for number in range(TENANTS):
            with Client(address, tenant=f"small{number}", timeout=60) as client:
                _fill(client, real, SMALL)
        print(f"  {(resident_mb(server) - before) / TENANTS:.2f} MB for a tenant with {SMALL} tools")
        for strategy in ("auto", "bm25"):
            with Client(address, tenant="large0") as client:
                queries = [str(next(real).get("description", ""))[:60] or "files" for _ in range(200)]
                for query in queries[:20]:
                    client.search(query, strategy=strategy)
                spent = processor_seconds(server)
                for _, query in zip(range(SEARCHES), itertools.cycle(queries), strict=False):
                    client.search(query, strategy=strategy)
                seconds = (processor_seconds(server) - spent) * 1_000 / SEARCHES
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
