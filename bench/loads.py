"""What is measured with: catalogs of any size, queries, processor time and memory of processes, latencies."""

import itertools
import json
import random
import re
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import DATA, ServerProcess, wait_for
from toolsearch import Client, EntryInput

QUERY_SETS = ("azure_mcp", "livemcp_route", "bfcl", "metatool")
QUERY_CHARACTERS = 500
ENTRIES_A_WRITE = 2_500
LOAD_SECONDS = 600.0
PATTERNS = ("create.*issue", "^get_", "search$", "list|find")


def sizes(*every: int) -> Sequence[int]:
    """All of them in a real run, the first in a smoke test."""
    return every if "--benchmark-enable" in sys.argv else every[:1]


def real_tools() -> list[dict[str, Any]]:
    path = DATA / "toucan_catalog" / "tools.jsonl"
    if not path.exists():
        pytest.skip(f"no catalogs in {DATA}; set TOOLSEARCH_DATA")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [{name: value for name, value in json.loads(line).items() if value is not None} for line in lines]


def composed(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Servers with tools: real ones, and beyond them the same again from servers with other names."""
    tools = real_tools()
    for number, tool in zip(range(count), itertools.cycle(tools), strict=False):
        copy = number // len(tools)
        definition = dict(tool)
        server = str(definition.pop("server"))
        yield (f"{server}.copy{copy}" if copy else server), definition


def entry_inputs(count: int) -> list[EntryInput]:
    return [EntryInput(server=server, definition=definition) for server, definition in composed(count)]


def distinct_queries() -> list[str]:
    """What people and agents asked, of all kinds mixed, no two alike."""
    texts = []
    for name in QUERY_SETS:
        path = DATA / name / "queries.jsonl"
        if path.exists():
            texts += [json.loads(line)["query"][:QUERY_CHARACTERS] for line in path.read_text(encoding="utf-8").splitlines()]
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    random.Random(1).shuffle(texts)
    return texts


def fill(client: Client, count: int) -> None:
    """Write so many tools, and wait until they are searchable."""
    entries = entry_inputs(count)
    for first in range(0, count, ENTRIES_A_WRITE):
        client.apply_changes(entries[first : first + ENTRIES_A_WRITE], timeout=LOAD_SECONDS)
    wait_for(lambda: client.search("anything at all", timeout=LOAD_SECONDS), seconds=LOAD_SECONDS, what="the catalog")


def processor_seconds(process: int | str = "self") -> float:
    """Of all threads of a process, to the microsecond: /proc/PID/stat only counts ticks."""
    spent = 0
    for task in _tasks(process):
        try:
            spent += int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:  # a thread that has just ended
            continue
    return spent / 1e9


def resident_mb(process: int | str = "self") -> float:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("a process without memory")


def threads(process: int | str) -> int:
    return len(_tasks(process))


def _tasks(process: int | str) -> list[Path]:
    return list(Path(f"/proc/{process}/task").iterdir())


def metric(server: ServerProcess, name: str) -> float:
    """What /metrics says, of a server with --http."""
    address = re.search(r'"http": "([^"]+)"', server.log)
    assert address, "the server has no HTTP port"
    with urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=30) as answer:
        found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
    assert found, name
    return float(found[1])


@dataclass(frozen=True, slots=True)
class Calls:
    """Seconds of calls one after the other, and the processor time of a call in each of two processes."""

    seconds: Sequence[float]
    server_cpu: float
    own_cpu: float

    def quantile(self, share: float) -> float:
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(len(self.seconds) * share))]

    @property
    def p50_ms(self) -> float:
        return self.quantile(0.5) * 1e3

    @property
    def p99_ms(self) -> float:
        return self.quantile(0.99) * 1e3

    @property
    def server_us(self) -> float:
        return self.server_cpu * 1e6

    @property
    def all_us(self) -> float:
        return (self.server_cpu + self.own_cpu) * 1e6


def measured(call: Callable[[], Any], count: int, server: ServerProcess | None = None, *, warm_up: int = 0) -> Calls:
    for _ in range(warm_up):
        call()
    process = None if server is None else server.process.pid
    spent, own = (0.0 if process is None else processor_seconds(process)), processor_seconds()
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    own = processor_seconds() - own
    spent = 0.0 if process is None else processor_seconds(process) - spent
    return Calls(seconds, spent / count, own / count)
