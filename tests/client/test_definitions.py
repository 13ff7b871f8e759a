"""The cache of definitions: nothing is read twice, and nothing outdated is served."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from support import running_server, tool, wait_for
from toolsearch import AsyncClient, AsyncDefinitions, Client, Definitions, Entry, GetResult
from toolsearch import definitions as module


class CountingClient(Client):
    """A real client that writes down what was read."""

    def __init__(self, target: str, tenant: str | None = None) -> None:
        super().__init__(target, tenant=tenant)
        self.read: list[str] = []

    def get_tools(self, names: Sequence[str], **options: Any) -> GetResult:
        self.read.extend(names)
        return super().get_tools(names, **options)


class CountingAsyncClient(AsyncClient):
    def __init__(self, target: str, tenant: str | None = None) -> None:
        super().__init__(target, tenant=tenant)
        self.read: list[str] = []

    async def get_tools(self, names: Sequence[str], **options: Any) -> GetResult:
        self.read.extend(names)
        return await super().get_tools(names, **options)


TOOLS = [tool("alpha", "first letter"), tool("beta", "second letter"), tool("gamma", "third letter")]


@pytest.fixture
def counting(address: str, tenant: str) -> Iterator[CountingClient]:
    with CountingClient(address, tenant) as client:
        client.sync_server("greek", TOOLS)
        yield client


def names_of(entries: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in entries]


def watching(definitions: Definitions) -> Definitions:
    """Once the watch has begun."""
    definitions.get(["greek.alpha"])
    wait_for(lambda: definitions._shelf._in_sight, what="the watch")
    return definitions


def test_what_a_search_found_is_read_once(counting: CountingClient) -> None:
    definitions = Definitions(counting)
    matches = counting.search("letter").matches
    first = definitions.of(matches)
    assert sorted(counting.read) == ["greek.alpha", "greek.beta", "greek.gamma"]
    assert definitions.of(matches) == first
    assert len(counting.read) == 3
    assert names_of(first) == names_of(matches)
    assert all(entry.definition in TOOLS for entry in first)


def test_a_changed_digest_is_read_again_and_nothing_else(counting: CountingClient) -> None:
    definitions = Definitions(counting)
    definitions.of(counting.search("letter").matches)
    counting.read.clear()
    counting.sync_server("greek", [tool("alpha", "no longer the first letter"), *TOOLS[1:]])
    changed = definitions.of(counting.search("letter").matches)
    assert counting.read == ["greek.alpha"]
    assert {entry.description for entry in changed} == {"no longer the first letter", "second letter", "third letter"}


def test_an_entry_that_went_between_the_search_and_the_reading_is_left_out(counting: CountingClient) -> None:
    matches = counting.search("letter").matches
    counting.apply_changes(deletes=["greek.beta"])
    assert sorted(names_of(Definitions(counting).of(matches))) == ["greek.alpha", "greek.gamma"]


def test_a_name_is_read_once_while_the_catalog_is_watched(counting: CountingClient) -> None:
    definitions = watching(Definitions(counting))
    definitions.get(["greek.alpha", "greek_beta"])
    counting.read.clear()
    found = definitions.get(["greek_beta", "greek.alpha", "greek_alpha"])
    assert counting.read == []
    assert names_of(found.entries) == ["greek.beta", "greek.alpha"]
    assert found.missing == ()


def test_a_change_by_somebody_else_is_seen_by_name(counting: CountingClient, client: Client) -> None:
    definitions = watching(Definitions(counting))
    client.sync_server("greek", [tool("alpha", "renewed"), *TOOLS[1:]])
    wait_for(lambda: definitions.get(["greek.alpha"]).entries[0].description == "renewed", what="the new description")
    client.sync_server("greek", TOOLS[1:])
    wait_for(lambda: definitions.get(["greek.alpha"]).missing, what="the deletion")


def test_before_the_watch_has_begun_a_name_is_always_read(counting: CountingClient) -> None:
    definitions = Definitions(counting)
    definitions._watch = lambda: None  # type: ignore[method-assign]
    definitions.get(["greek.alpha"])
    definitions.get(["greek.alpha"])
    assert counting.read == ["greek.alpha", "greek.alpha"]


def test_missing_names_come_with_near_ones(counting: CountingClient) -> None:
    (missing,) = Definitions(counting).get(["greek.alpa"]).missing
    assert missing.near_names[0] == "greek.alpha"


def test_more_names_than_one_call_takes_are_read_in_several(counting: CountingClient) -> None:
    many = [tool(f"tool_{number}", "numbered") for number in range(module.NAMES_PER_CALL + 1)]
    counting.sync_server("many", many)
    names = [f"many.tool_{number}" for number in range(len(many))]
    assert names_of(Definitions(counting).get(names).entries) == names


def test_no_more_than_the_limit_are_kept_and_the_oldest_go(counting: CountingClient) -> None:
    definitions = Definitions(counting, max_definitions=2)
    matches = {match.name: match for match in counting.search("letter").matches}
    everything = list(matches.values())
    assert len(definitions.of(everything)) == 3, "an answer is whole even if it is larger than the limit"
    definitions.of([matches["greek.alpha"], matches["greek.beta"]])
    counting.read.clear()
    definitions.of([matches["greek.alpha"], matches["greek.beta"]])
    assert counting.read == []
    definitions.of([matches["greek.gamma"]])
    definitions.of([matches["greek.beta"]])
    assert counting.read == ["greek.gamma"]
    definitions.of([matches["greek.alpha"]])
    assert counting.read == ["greek.gamma", "greek.alpha"]


def test_a_limit_below_one_is_refused(counting: CountingClient) -> None:
    with pytest.raises(ValueError, match="max_definitions is 0, but must be at least 1"):
        Definitions(counting, max_definitions=0)


def test_while_the_service_is_away_what_is_known_is_served() -> None:
    with running_server("--store", "memory:") as (server, address), CountingClient(address) as client:
        client.sync_server("greek", TOOLS)
        definitions = watching(Definitions(client))
        matches = client.search("letter").matches
        definitions.of(matches)
        server.kill()
        assert len(definitions.of(matches)) == 3
        assert names_of(definitions.get(["greek_alpha"], timeout=1).entries) == ["greek.alpha"]
        with pytest.raises(module.AWAY):
            definitions.get(["greek.alpha", "greek.delta"], timeout=1)


def test_an_answer_that_a_change_has_overtaken_is_not_kept(counting: CountingClient, client: Client) -> None:
    definitions = watching(Definitions(counting))
    old = client.get_tools(["greek.alpha"])
    client.sync_server("greek", [tool("alpha", "renewed"), *TOOLS[1:]])
    wait_for(lambda: definitions.get(["greek.alpha"]).entries[0].description == "renewed", what="the new description")
    definitions._shelf.keep(old)
    assert definitions.get(["greek.alpha"]).entries[0].description == "renewed"


def test_a_catalog_that_comes_to_be_later_is_watched_then(address: str, tenant: str) -> None:
    with CountingClient(address, tenant) as client:
        definitions = Definitions(client)
        with pytest.raises(Exception, match="no catalog"):
            definitions.get(["greek.alpha"])
        client.sync_server("greek", TOOLS)
        watching(definitions)


def test_the_watcher_ends_with_its_client(address: str, tenant: str) -> None:
    with CountingClient(address, tenant) as client:
        client.sync_server("greek", TOOLS)
        definitions = watching(Definitions(client))
    assert definitions._watcher is not None
    definitions._watcher.join(timeout=20)
    assert not definitions._watcher.is_alive()


async def test_the_asynchronous_twin_reads_once_and_hears_of_changes(address: str, tenant: str) -> None:
    async with CountingAsyncClient(address, tenant) as client, AsyncDefinitions(client) as definitions:
        await client.sync_server("greek", TOOLS)
        matches = (await client.search("letter")).matches
        assert await definitions.of(matches) == await definitions.of(matches)
        assert len(client.read) == 3
        async with asyncio.timeout(20):
            while client.read:  # until the watch has begun
                client.read.clear()
                await definitions.get(["greek_alpha"])
            await client.sync_server("greek", [tool("alpha", "renewed"), *TOOLS[1:]])
            while (await definitions.get(["greek.alpha"])).entries[0].description != "renewed":  # noqa: ASYNC110
                await asyncio.sleep(0)  # the change has to arrive


async def test_the_asynchronous_twin_serves_what_it_knows_while_the_service_is_away() -> None:
    with running_server("--store", "memory:") as (server, address):
        async with CountingAsyncClient(address) as client, AsyncDefinitions(client) as definitions:
            await client.sync_server("greek", TOOLS)
            await definitions.get(["greek.alpha"])
            server.kill()
            assert names_of((await definitions.get(["greek_alpha"], timeout=1)).entries) == ["greek.alpha"]
            with pytest.raises(module.AWAY):
                await definitions.get(["greek.beta"], timeout=1)
