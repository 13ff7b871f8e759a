"""How long until a change is findable: on one server, next to a bare commit of an index of that size, and on three replicas.

Who asks whether it is findable asks again and again, so a figure includes up to one search.
"""

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import tantivy
from pytest_benchmark.fixture import BenchmarkFixture

from faults.history import running_replicas
from fixtures import smoke, tables
from loads import composed, fill, metric, sizes
from redis_process import RedisProcess, running_redis
from support import ServerProcess, draft, entries_of, running_server, tool, wait_for
from tables import Table
from toolsearch import AsyncClient, Client
from toolsearch_server.document import analyse
from watcher.servers import SCRIPT, ToolFile

CHANGES, BURST, CALLERS = 30, 1_000, 100
BOUND_SECONDS = 120.0


def new_table(tables: dict[str, Table]) -> Table:
    return tables.setdefault("freshness", Table("freshness", "From a change to its being findable, ms", "ms", ["median ms"]))


def milliseconds(work: Callable[[], object], rounds: int) -> list[float]:
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        took.append((time.perf_counter() - started) * 1e3)
    return took


# One server


@pytest.mark.parametrize("entries", sizes(100, 1_000, 10_000))
def test_one_change_on_one_server(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], entries: int) -> None:
    """The client's next search waits until its own write can be found."""
    table, rounds, numbers = new_table(tables), 2 if smoke else CHANGES, itertools.count()
    with running_server("--store", "memory:") as (_, address), Client(address, timeout=BOUND_SECONDS) as client:
        fill(client, entries)

        def change_and_search() -> None:
            word = f"zyzzyva{next(numbers)}q"
            client.sync_server("bench", [tool("fresh", f"create list search {word}")])
            assert client.search(f"{word} create", limit=1).matches[0].local_name == "fresh"

        took = milliseconds(change_and_search, rounds)
        benchmark(change_and_search)
    bare = milliseconds(bare_commits(entries), rounds)
    table.add(
        f"one server, {entries:,} tools",
        **{
            "median ms": statistics.median(took),
            "worst ms": max(took),
            "bare commit ms": statistics.median(bare),
            "times a bare commit": statistics.median(took) / statistics.median(bare),
        },
    )


def bare_commits(entries: int) -> Callable[[], None]:
    """One document more, in Tantivy alone: the same fields, with the same words in them."""
    builder = tantivy.SchemaBuilder()
    fields = ("stems", "words", "name_stems", "concepts", "name_trigrams")
    for field in fields:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    index = tantivy.Index(builder.build())
    index.config_reader("manual")
    made = entries_of(draft(definition, server) for server, definition in composed(entries))
    postings = [analyse(entry)[1] for entry in made.by_key.values()]

    def commit(some: list[object]) -> None:
        writer = index.writer(15_000_000, 1)
        for each in some:
            document = tantivy.Document()
            for field in fields:
                document.add_text(field, getattr(each, field))
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    commit([*postings])
    return lambda: commit([postings[0]])


def commits(server: ServerProcess) -> int:
    return int(metric(server, "toolsearch_apply_seconds_count"))


def test_bursts_on_one_server(benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table]) -> None:
    table, burst = new_table(tables), 20 if smoke else BURST
    with running_server("--store", "memory:", "--http", "127.0.0.1:0") as (server, address):
        with Client(address, timeout=BOUND_SECONDS) as client:
            fill(client, 100 if smoke else 1_000)

            def at_once() -> None:
                client.sync_server("burst", [tool(f"tool_{number}", "zyzzyva") for number in range(burst)])
                assert client.search("zyzzyva").total >= burst

            before, started = commits(server), time.perf_counter()
            benchmark.pedantic(at_once, rounds=1)  # type: ignore[no-untyped-call]
            table.add(
                f"{burst:,} tools in one write",
                **{"median ms": (time.perf_counter() - started) * 1e3, "commits": commits(server) - before},
            )

        async def one_by_one() -> None:
            turns = asyncio.Semaphore(CALLERS)
            async with AsyncClient(address, timeout=BOUND_SECONDS) as client:

                async def write(number: int) -> None:
                    async with turns:
                        await client.sync_server(f"one{number}", [tool("one", "xylograph")])

                await asyncio.gather(*(write(number) for number in range(burst)))
                assert (await client.search("xylograph")).total >= burst

        before, started = commits(server), time.perf_counter()
        asyncio.run(one_by_one())
        table.add(
            f"{burst:,} writes by {CALLERS} callers",
            **{"median ms": (time.perf_counter() - started) * 1e3, "commits": commits(server) - before},
        )


# Three replicas


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def addresses(redis: RedisProcess) -> Iterator[list[str]]:
    with running_replicas(redis.url, 3) as (_, addresses):
        yield addresses


@contextmanager
def clients(addresses: list[str], catalog: str) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Client(address, catalog=catalog, timeout=BOUND_SECONDS)) for address in addresses]


def until_found_everywhere(replicas: list[Client], *names: str) -> None:
    for client in replicas:
        wait_for(lambda client=client: set(names) <= set(found(client)), seconds=BOUND_SECONDS, what=names[0])  # type: ignore[misc]


def found(client: Client) -> list[str]:
    return [match.local_name for match in client.search("zyzzyva", limit=2, min_revision=0).matches]


@pytest.mark.parametrize("entries", sizes(100, 1_000))
def test_a_write_on_one_replica_until_it_is_findable_on_three(
    addresses: list[str], benchmark: BenchmarkFixture, smoke: bool, tables: dict[str, Table], entries: int
) -> None:
    table, numbers = new_table(tables), itertools.count()
    with clients(addresses, f"n{entries}") as replicas:
        replicas[0].sync_server("others", [tool(f"tool_{number}", "does something else") for number in range(entries)])

        def write_and_find() -> None:
            name = f"fresh_{next(numbers)}"
            replicas[0].sync_server("bench", [tool(name, "zyzzyva")])
            until_found_everywhere(replicas, name)

        write_and_find()
        took = milliseconds(write_and_find, 2 if smoke else CHANGES)
        table.add(f"three replicas, {entries:,} tools", **{"median ms": statistics.median(took), "worst ms": max(took)})
        benchmark(write_and_find)


@pytest.mark.parametrize("count", sizes(1, 1_000))
def test_an_mcp_server_says_that_its_tools_changed_until_they_are_findable_on_three(
    addresses: list[str],
    redis: RedisProcess,
    benchmark: BenchmarkFixture,
    smoke: bool,
    tables: dict[str, Table],
    tmp_path: Path,
    count: int,
) -> None:
    """Includes up to 10 ms until the server under test sees that its file was replaced."""
    table, tools = new_table(tables), ToolFile(tmp_path / "tools.json")
    server = {
        "command": sys.executable,
        "args": [str(SCRIPT), str(tools.path), "--style", "mcpserver"],
        "catalog": f"mcp{count}",
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"s": server}}))
    numbers = itertools.count()
    with clients(addresses, f"mcp{count}") as replicas:
        replicas[0].sync_server("others", [tool("other", "does something else")])

        def change_and_find() -> None:
            number = next(numbers)
            names = [f"fresh_{number}_{each}" for each in range(count)]
            tools.offer(*names, description=f"zyzzyva word{number}")
            for client in replicas:
                wait_for(
                    lambda client=client: client.search(f"word{number}", limit=1, min_revision=0).total >= count,  # type: ignore[misc]
                    seconds=BOUND_SECONDS,
                    what=names[0],
                )

        watcher = ServerProcess(("--config", str(path), "--store", redis.url), command="watch")
        try:
            change_and_find()
            took = milliseconds(change_and_find, 1 if smoke else CHANGES if count == 1 else 5)
            label = f"MCP notification, three replicas, {count:,} tool{'s' if count > 1 else ''}"
            table.add(label, **{"median ms": statistics.median(took), "worst ms": max(took)})
            benchmark.pedantic(change_and_find, rounds=1)  # type: ignore[no-untyped-call]
        finally:
            watcher.kill()
