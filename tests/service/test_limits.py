"""Limits of tenants, through a real server: which limit, what was given, what is allowed, and when to try again."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from support import running_server, tool, wait_for
from toolsearch import AsyncClient, Client, LimitReached, ToolSearchError
from toolsearch._calls import to_json


@contextmanager
def limited(*limits: str, tenant: str = "t", arguments: tuple[str, ...] = ()) -> Iterator[tuple[str, Client]]:
    flags = [part for limit in limits for part in ("--limit", limit)]
    command = ("--store", "memory:", "--embeddings", "off", *flags, *arguments)
    with running_server(*command) as (_, address), Client(address, tenant=tenant) as client:
        yield address, client


def refusal(client: Client, catalog: str, *names: str, description: str = "") -> LimitReached:
    with Client(client.target, tenant="t", catalog=catalog) as other, pytest.raises(LimitReached) as refused:
        other.sync_server("s", [tool(name, description) for name in names])
    return refused.value


def fill(client: Client, catalog: str, *names: str, description: str = "") -> None:
    with Client(client.target, tenant="t", catalog=catalog) as other:
        other.sync_server("s", [tool(name, description) for name in names])


def test_a_tenant_may_have_so_many_catalogs_and_no_more() -> None:
    with limited("catalogs_per_tenant=2") as (address, client):
        fill(client, "a", "x")
        fill(client, "b", "x")
        refused = refusal(client, "c", "x")
        assert (refused.reason, refused.metadata) == (
            "QUOTA_EXCEEDED",
            {"limit": "catalogs_per_tenant", "given": "3", "allowed": "2"},
        )
        fill(client, "b", "x", "y")
        with Client(address, tenant="another", catalog="c") as other:
            other.sync_server("s", [tool("x")])
        with Client(address, tenant="t", catalog="a") as gone:
            gone.delete_catalog()
        fill(client, "c", "x")


def test_a_tenant_may_have_so_many_entries_in_all_its_catalogs_and_no_more() -> None:
    with limited("entries_per_tenant=5") as (_, client):
        fill(client, "a", "x", "y", "z")
        fill(client, "b", "x", "y")
        refused = refusal(client, "b", "x", "y", "z")
        assert refused.metadata == {"limit": "entries_per_tenant", "given": "6", "allowed": "5"}
        fill(client, "a", "x")
        fill(client, "b", "x", "y", "z", "more")


def test_a_tenant_may_have_so_many_bytes_of_definitions_and_what_it_has_stays() -> None:
    definition = len(to_json(tool("x", "d" * 100))) + len("s" + "s")  # its server, and the namespace made from that
    with limited(f"bytes_per_tenant={2 * definition}") as (_, client):
        fill(client, "a", "x", description="d" * 100)
        fill(client, "b", "x", description="d" * 100)
        refused = refusal(client, "b", "x", description="d" * 101)
        assert (refused.metadata["limit"], refused.metadata["given"]) == ("bytes_per_tenant", str(2 * definition + 1))
        with Client(client.target, tenant="t", catalog="b") as other:
            assert other.get_catalog().entry_count == 1


def test_a_tenant_that_calls_too_often_is_told_when_to_try_again_and_another_is_not_affected() -> None:
    with limited("tenant_rate=1", "tenant_burst=5") as (address, client):
        client.sync_server("s", [tool("x", "thing")])
        with pytest.raises(LimitReached) as refused:
            for _ in range(20):
                client.search("thing")
        assert refused.value.reason == "RATE_LIMITED"
        assert refused.value.retry_seconds is not None and 0 < refused.value.retry_seconds <= 1
        with Client(address, tenant="another") as other:
            other.sync_server("s", [tool("x", "thing")])


async def test_more_calls_than_may_be_under_way_are_refused_at_once() -> None:
    with limited("calls_per_tenant=3") as (address, _):
        async with AsyncClient(address, tenant="t") as client:
            await client.sync_server("s", [tool("x", "thing")])
            # They wait for a revision that does not come.
            calls = [asyncio.create_task(client.search("thing", min_revision=99, timeout=60)) for _ in range(10)]
            waiting = set(calls)
            while len(waiting) > 3:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=20)
            for refused in set(calls) - waiting:
                error = refused.exception()
                assert isinstance(error, LimitReached)
                assert (error.reason, error.metadata["limit"]) == ("OVERLOADED", "calls_per_tenant")
                assert error.retry_seconds
            async with AsyncClient(address, tenant="another") as other:
                await other.sync_server("s", [tool("x", "thing")])
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            async with asyncio.timeout(20):
                while not await answered(client):  # noqa: ASYNC110 a call whose caller has gone makes room
                    await asyncio.sleep(0.01)


async def answered(client: AsyncClient) -> bool:
    try:
        await client.search("thing")
    except LimitReached:
        return False
    return True


def test_more_watches_than_there_may_be_are_refused_and_calls_are_not() -> None:
    with limited("watches_per_tenant=2") as (address, client), ExitStack() as stack:
        client.sync_server("s", [tool("x", "thing")])
        watches = [stack.enter_context(Client(address, tenant="t")).watch() for _ in range(2)]
        for watch in watches:
            assert next(watch)
        with Client(address, tenant="t") as another, pytest.raises(LimitReached) as refused:
            next(another.watch())
        assert refused.value.metadata["limit"] == "watches_per_tenant"
        assert client.search("thing").matches


def test_many_catalogs_under_a_small_budget_are_all_searchable() -> None:
    count = 300
    arguments = ("--http", "127.0.0.1:0")
    flags = ("--limit", "index_bytes=20MiB")
    with running_server("--store", "memory:", "--embeddings", "off", *flags, *arguments) as (server, address):
        page = json.loads(next(line for line in server.lines if '"listening"' in line))["http"]
        failures: list[str] = []

        def work(first: int) -> None:
            for number in range(first, count, 4):
                with Client(address, tenant=f"t{number}", timeout=60) as client:
                    try:
                        client.sync_server("s", [tool(f"n{number}", "thing")])
                        found = [match.local_name for match in client.search("thing").matches]
                        failures.extend([] if found == [f"n{number}"] else [f"{number}: {found}"])
                    except ToolSearchError as error:
                        failures.append(str(error))

        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        with Client(address, tenant="t0") as client:
            assert client.search("thing").matches
        metrics = scraped(page)
        assert metrics["toolsearch_catalogs"] < 60
        assert metrics["toolsearch_index_bytes"] <= metrics["toolsearch_index_allowed_bytes"] == 20 * 1024 * 1024
        assert metrics['toolsearch_catalog_evictions_total{cause="memory"}'] > count / 2


def scraped(page: str) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{page}/metrics") as answer:
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics_tell_what_was_done_and_refused() -> None:
    flags = ("--http", "127.0.0.1:0", "--limit", "tenant_labels=2")
    with running_server("--store", "memory:", "--embeddings", "off", *flags) as (server, address):
        page = json.loads(next(line for line in server.lines if '"listening"' in line))["http"]
        for tenant in ("a", "b", "c"):
            with Client(address, tenant=tenant) as client:
                client.sync_server("s", [tool("x", "thing")])
                client.search("thing", strategy="bm25")
                client.search("nothing of that kind", strategy="bm25")
                with pytest.raises(ToolSearchError):
                    client.search("(", strategy="regex")
        metrics = wait_for(lambda: scraped(page) if scraped(page)["toolsearch_calls"] == 0 else None, what="ended calls")
        assert metrics['toolsearch_requests_total{code="OK",method="SearchTools",strategy="BM25"}'] == 6
        assert metrics['toolsearch_requests_total{code="INVALID_ARGUMENT",method="SearchTools",strategy=""}'] == 3
        assert metrics['toolsearch_refusals_total{reason="PATTERN_INVALID"}'] == 3
        assert metrics['toolsearch_search_empty_total{strategy="BM25"}'] == 3
        assert metrics['toolsearch_request_seconds_count{method="SyncServer"}'] == 3
        assert metrics['toolsearch_tenant_requests_total{code="OK",tenant="a"}'] == 3
        assert metrics['toolsearch_tenant_requests_total{code="OK",tenant="(other)"}'] == 3
        assert metrics["toolsearch_catalogs"] == metrics["toolsearch_entries"] == 3
        assert metrics["toolsearch_apply_seconds_count"] == 3
        assert metrics["toolsearch_revision_lag"] == 0


def test_queries_are_logged_only_when_asked_to() -> None:
    for flags, logged in (((), False), (("--log-queries",), True)):
        with running_server("--store", "memory:", "--embeddings", "off", "--log-level", "debug", *flags) as (server, address):
            with Client(address) as client:
                client.sync_server("s", [tool("x", "thing")])
                client.search("a secret wish")
                client.search("thing")
            server.stop()
            assert ("a secret wish" in server.log) is logged


def test_audit_records_can_go_to_a_file_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("audit") / "new" / "audit.jsonl"
    with running_server("--store", "memory:", "--audit-log", str(path)) as (server, address):
        with Client(address) as client:
            client.sync_server("s", [tool("x", "thing")])
        server.stop()
        assert '"audit"' not in server.log
    [record] = [json.loads(line) for line in path.read_text().splitlines()]
    assert (record["what"], record["outcome"], record["catalog"], record["added"]) == ("SyncServer", "OK", "default", 1)
    assert path.stat().st_mode & 0o777 == 0o600
