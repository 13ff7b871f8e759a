"""How much longer one tenant's searches take while another tenant floods the service: alone and under flood, in one run.

The flood is a process of its own, so that it takes nothing from the measuring one but the processor; there it gives way.

Compare figures of one run only. `make bench` runs them; `make test` only sees that they work.
"""

import asyncio
import itertools
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from support import running_server, tool
from toolsearch import AsyncClient, Client, LimitReached, ToolSearchError

FLOOD_PRIORITY = 5
PAUSE_SECONDS = 0.01
"""Between measured searches: who is measured is no flood, and stays below the limit of some of the servers."""
BOUND_SECONDS = 60.0

VERBS = "create read update delete list search send fetch convert merge export archive".split()
THINGS = "issue message file invoice ticket calendar forecast database channel document payment server".split()
PURPOSES = [f"for the {adjective} {thing}" for adjective in ("daily", "public", "shared", "old") for thing in THINGS]

QUERIES = ["create a new issue", "send a message to a channel", "list files", "convert a document", "search the database"]
PATTERNS = [r"(create|update|delete).*(issue|ticket)", r"^s.*_(file|payment)_.*7", r"\w+ for the (daily|old) \w+e"]


@dataclass(frozen=True)
class Sizes:
    callers: int
    searches: int
    own_tools: int
    flooded_tools: int
    written_tools: int


FULL = Sizes(callers=64, searches=500, own_tools=1_000, flooded_tools=20_000, written_tools=10_000)
SMOKE = Sizes(callers=4, searches=5, own_tools=100, flooded_tools=500, written_tools=500)


def tools(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Tools with ordinary words, many of them alike."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        verb, thing = chance.choice(VERBS), chance.choice(THINGS)
        parameters = {f"{thing}_{index}": {"type": "string", "description": chance.choice(PURPOSES)} for index in range(4)}
        description = " ".join([verb, "a", thing, *chance.sample(PURPOSES, 4)])
        made.append(tool(f"{verb}_{thing}_{number}", description, parameters=parameters))
    return made


# The flood


async def search_expensively(client: AsyncClient, number: int, _: Sizes) -> None:
    """Patterns over everything, or many phrasings; no two alike."""
    if number % 2:
        patterns = [f"{pattern}|x{number}" for pattern in PATTERNS]
        await client.search(patterns, strategy="regex", fields=["name", "description", "parameters"], limit=100)
    else:
        purpose = PURPOSES[number % len(PURPOSES)]
        await client.search([f"{verb} a {thing} {purpose}" for verb, thing in zip(VERBS, THINGS, strict=True)], limit=100)


async def search_cheaply(client: AsyncClient, number: int, _: Sizes) -> None:
    await client.search(QUERIES[number % len(QUERIES)], limit=1, detail="name")


async def write(client: AsyncClient, number: int, sizes: Sizes) -> None:
    await client.sync_server("flood", tools(sizes.written_tools, seed=number))


@dataclass(frozen=True)
class Flood:
    """`flooded`: how many tools the flooder has. `alone`: it calls one at a time. `arguments` are the server's."""

    name: str
    call: Callable[[AsyncClient, int, Sizes], Coroutine[Any, Any, None]]
    flooded: Callable[[Sizes], int]
    alone: bool = False
    arguments: tuple[str, ...] = ()


FLOODS = [
    Flood("expensive searches", search_expensively, lambda sizes: sizes.flooded_tools),
    Flood(
        "expensive searches, tenant_rate=200",
        search_expensively,
        lambda sizes: sizes.flooded_tools,
        arguments=("--limit", "tenant_rate=200"),
    ),
    Flood("cheap searches", search_cheaply, lambda sizes: sizes.own_tools),
    Flood(
        "cheap searches, tenant_rate=200",
        search_cheaply,
        lambda sizes: sizes.own_tools,
        arguments=("--limit", "tenant_rate=200"),
    ),
    Flood("writes of 10,000 tools", write, lambda _: 1, alone=True),
]


@dataclass
class Report:
    """What became of a flood's calls."""

    answered: int = 0
    refused: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def ended(self) -> int:
        return self.answered + self.refused + len(self.failures)


def run_flood(address: str, number: int, sizes: Sizes, parent: Connection) -> None:
    """The flooding process: says when the first call has ended, calls on until it is told to stop, and reports."""
    os.nice(FLOOD_PRIORITY)
    parent.send(asyncio.run(_flood(address, FLOODS[number], sizes, parent)))


async def _flood(address: str, flood: Flood, sizes: Sizes, parent: Connection) -> Report:
    report = Report()
    numbers = itertools.count(1)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(parent.fileno(), stop.set)

    async def call_on(client: AsyncClient) -> None:
        while not stop.is_set():
            try:
                await flood.call(client, next(numbers), sizes)
                report.answered += 1
            except LimitReached:
                report.refused += 1
            except ToolSearchError as error:
                report.failures.append(f"{error.code} {error.reason}: {error}")
            if report.ended == 1:
                parent.send("flooding")

    started = time.perf_counter()
    async with AsyncClient(address, tenant="flooder", timeout=BOUND_SECONDS) as client:
        await asyncio.gather(*(call_on(client) for _ in range(1 if flood.alone else sizes.callers)))
    report.seconds = time.perf_counter() - started
    return report


@contextmanager
def flooding(address: str, number: int, sizes: Sizes, report: Report) -> Iterator[None]:
    """A flood goes on meanwhile; `report` tells about it afterwards."""
    spawning = multiprocessing.get_context("spawn")
    ours, its = spawning.Pipe()
    process = spawning.Process(target=run_flood, args=(address, number, sizes, its), daemon=True)
    process.start()
    try:
        assert ours.poll(BOUND_SECONDS), "the flood did not begin"
        assert ours.recv() == "flooding"
        yield
        ours.send("stop")
        assert ours.poll(BOUND_SECONDS), "the flood did not end"
        vars(report).update(vars(ours.recv()))
        process.join(BOUND_SECONDS)
    finally:
        process.kill()
        process.join()


# The measurement


@dataclass(frozen=True)
class Row:
    flood: str
    alone: list[float]
    flooded: list[float]
    report: Report

    def __str__(self) -> str:
        """In milliseconds, with the ratios of the two."""
        cells = []
        for share in (0.5, 0.99):
            alone, flooded = percentile(self.alone, share) * 1e3, percentile(self.flooded, share) * 1e3
            cells.append(f"{alone:8.2f} {flooded:8.2f} {flooded / alone:6.1f}x")
        answered, refused = self.report.answered / self.report.seconds, self.report.refused / self.report.seconds
        return f"{self.flood:38}{''.join(cells)}{answered:10.1f}/s{refused:9.1f}/s"


HEADER = (
    f"{'flood by another tenant':38}{'p50 alone':>8}{'flood':>8}{'ratio':>8}{'p99 alone':>10}{'flood':>7}{'ratio':>8}"
    f"{'answered':>11}{'refused':>11}"
)


def percentile(seconds: list[float], share: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * share))]


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[list[Row]]:
    """Printed at the end, if anything was measured."""
    rows: list[Row] = []
    yield rows
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if rows and capture is not None:
        with capture.global_and_fixture_disabled():
            print("\n", HEADER, *rows, sep="\n")


@pytest.mark.parametrize("number", range(len(FLOODS)), ids=[flood.name for flood in FLOODS])
def test_search_while_another_tenant_floods(benchmark: BenchmarkFixture, table: list[Row], number: int) -> None:
    flood = FLOODS[number]
    sizes = SMOKE if benchmark.disabled else FULL
    queries = itertools.cycle(QUERIES)
    seconds: list[float] = []
    report = Report()
    with running_server("--store", "memory:", *flood.arguments) as (server, address), Client(address, tenant="calm") as client:
        client.sync_server("own", tools(sizes.own_tools), timeout=BOUND_SECONDS)
        with Client(address, tenant="flooder") as flooder:
            flooder.sync_server("flood", tools(flood.flooded(sizes)), timeout=BOUND_SECONDS)
            flooder.search("create a new issue", timeout=BOUND_SECONDS)

        def search() -> None:
            time.sleep(PAUSE_SECONDS)
            started = time.perf_counter()
            found = client.search(next(queries), timeout=BOUND_SECONDS)
            seconds.append(time.perf_counter() - started)
            assert len(found.matches) == 5
            assert {match.server for match in found.matches} == {"own"}

        for _ in range(sizes.searches):
            search()
        alone = list(seconds)
        seconds.clear()
        with flooding(address, number, sizes, report):
            measure: Any = benchmark.pedantic  # has no types
            measure(search, rounds=sizes.searches)
        assert '"code": "INTERNAL"' not in server.log
    assert not report.failures
    assert report.answered
    if not benchmark.disabled:
        table.append(Row(flood.name, alone, seconds, report))
