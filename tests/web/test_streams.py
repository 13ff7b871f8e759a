"""Streams as server-sent events: they resume, are kept alive, and end when nobody listens or the service stops."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from identity.guarded import guarded_server
from identity.test_reloading import replace_content
from support import running_server, tool, wait_for
from toolsearch import Client, Unauthenticated
from toolsearch.v1.search_service_pb2 import WatchCatalogRequest, WatchCatalogResponse
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import dump_keys, new_key
from toolsearch_server.errors import FieldInvalid, ShuttingDown
from toolsearch_server.web.events import EventStream, resumed
from toolsearch_server.web.exchange import Exchange
from toolsearch_server.web.messages import from_json
from toolsearch_server.web.statuses import refused
from web.caller import Caller, Event, http_address


def write(caller: Caller, tenant: str, *names: str) -> Any:
    entries = [{"definition": json.dumps(tool(name, "thing"))} for name in names]
    answer = caller.post("SyncServer", {"server": "s", "entries": entries}, x_toolsearch_tenant=tenant)
    assert answer.status == 200, answer
    return answer.json["version"]


def test_changes_arrive_as_events_whose_ids_are_versions(door: Caller, tenant: str) -> None:
    version = write(door, tenant, "a")
    with door.events("/v1/WatchCatalog", x_toolsearch_tenant=tenant) as events:
        first = next(events)
        assert first.data == {"version": version, "current": {}}
        assert first.id == f"{version['epoch']}:1"
        write(door, tenant, "a", "b")
        second = next(events)
        assert second.data["changed"] == {"upsertedNames": ["s.b"], "deletedNames": [], "settingsChanged": False}
        assert second.id == f"{version['epoch']}:2"


@pytest.mark.parametrize("query", ["", "?fromRevision=1"])
def test_a_stream_resumes_after_the_last_event_that_was_seen(door: Caller, tenant: str, query: str) -> None:
    for names in (["a"], ["a", "b"], ["a", "b", "c"]):
        version = write(door, tenant, *names)
    headers = {"x-toolsearch-tenant": tenant, "last-event-id": f"{version['epoch']}:2"}
    with door.events(f"/v1/WatchCatalog{query}", **headers) as events:
        assert next(events).data["changed"]["upsertedNames"] == ["s.c"]


def test_a_stream_of_another_epoch_begins_with_a_snapshot(door: Caller, tenant: str) -> None:
    write(door, tenant, "a")
    with door.events("/v1/WatchCatalog", x_toolsearch_tenant=tenant, last_event_id="gone:1") as events:
        assert "snapshotNeeded" in next(events).data


@pytest.mark.parametrize("given", ["1", ":1", "e:", "e:-1", "e:x", "e:²", "e:9223372036854775808", "e:" + "9" * 5000])
def test_an_id_that_is_none_is_refused(given: str) -> None:
    descriptor: Any = WatchCatalogRequest.DESCRIPTOR
    with pytest.raises(FieldInvalid) as refusal:
        resumed(from_json(descriptor), given, b"")
    assert refusal.value.field == "last-event-id"


def test_a_watch_that_cannot_begin_is_refused_as_any_call_is(door: Caller, tenant: str) -> None:
    answer = door.get("/v1/WatchCatalog?catalog=absent", x_toolsearch_tenant=tenant)
    assert (answer.status, answer.info["reason"]) == (404, "CATALOG_NOT_FOUND")
    assert answer.headers["content-type"] == "application/json"


def test_watches_of_callers_that_have_gone_are_gone(door: Caller, tenant: str) -> None:
    write(door, tenant, "a")
    with ExitStack() as stack:
        for _ in range(20):
            next(stack.enter_context(door.events("/v1/WatchCatalog", x_toolsearch_tenant=tenant)))
        assert door.metric("toolsearch_watches ") == 20
    wait_for(lambda: door.metric("toolsearch_watches ") == 0, what="the end of the watches")
    write(door, tenant, "b")


def test_watches_are_bounded_as_those_by_grpc_are(tmp_path: Any) -> None:
    with own_server("--limit", "watches_per_tenant=1") as caller:
        write(caller, "t", "a")
        with caller.events("/v1/WatchCatalog", x_toolsearch_tenant="t") as events:
            next(events)
            refusal = caller.get("/v1/WatchCatalog", x_toolsearch_tenant="t")
            assert (refusal.status, refusal.info["reason"]) == (429, "OVERLOADED")
            assert refusal.headers["retry-after"] == "1"


def test_a_stream_ends_with_an_error_when_the_service_drains(tmp_path: Any) -> None:
    with own_server() as caller:
        write(caller, "t", "a")
        with caller.events("/v1/WatchCatalog", x_toolsearch_tenant="t") as events:
            next(events)
            caller.process.process.send_signal(signal.SIGTERM)
            assert_ended(events, "SHUTTING_DOWN")
        assert caller.process.wait() == 0


def test_a_stream_ends_with_an_error_when_its_time_is_up(door: Caller, tenant: str) -> None:
    write(door, tenant, "a")
    with door.events("/v1/WatchCatalog", x_toolsearch_tenant=tenant, x_toolsearch_timeout="0.3") as events:
        next(events)
        assert_ended(events, "DEADLINE_EXCEEDED")


def test_a_stream_tells_nothing_more_to_a_key_that_was_taken_back(tmp_path: Path) -> None:
    (writer, writing), (reader, reading) = new_key("acme", Role.WRITER), new_key("acme", Role.READER)
    with guarded_server(tmp_path, "--http", "127.0.0.1:0", "--embeddings", "off", keys=[writer, reader]) as server:
        caller = Caller(server.process, server.address, http_address(server.process))

        def change(*names: str) -> None:
            entries = [{"definition": json.dumps(tool(name, "thing"))} for name in names]
            answer = caller.post("SyncServer", {"server": "s", "entries": entries}, authorization=f"Bearer {writing}")
            assert answer.status == 200, answer

        change("a")
        with (
            caller.events("/v1/WatchCatalog", authorization=f"Bearer {reading}") as events,
            Client(server.address, api_key=reading) as client,
        ):
            by_grpc = client.watch()
            next(events)
            next(by_grpc)
            change("a", "b")
            assert next(events).data["changed"]["upsertedNames"] == ["s.b"]
            assert next(by_grpc).upserted == ("s.b",)
            replace_content(tmp_path / "keys.json", dump_keys([writer]))
            asked = partial(caller.get, "/v1/ListCatalogs", authorization=f"Bearer {reading}")
            wait_for(lambda: asked().status == 401, what="the end of the key")
            change("a", "b", "c")
            assert_ended(events, "CREDENTIAL_INVALID")
            with pytest.raises(Unauthenticated):
                next(by_grpc)


def assert_ended(events: Iterator[Event], reason: str) -> None:
    (last,) = list(events)
    assert last.kind == "error"
    assert last.data["details"][0]["reason"] == reason


def test_a_deleted_catalog_ends_its_stream(door: Caller, tenant: str) -> None:
    write(door, tenant, "a")
    with door.events("/v1/WatchCatalog", x_toolsearch_tenant=tenant) as events:
        next(events)
        assert door.post("DeleteCatalog", {}, x_toolsearch_tenant=tenant).status == 200
        assert [(event.kind, list(event.data)) for event in events] == [("message", ["version", "deleted"])]


@contextmanager
def own_server(*arguments: str) -> Iterator[Caller]:
    with running_server("--store", "memory:", "--http", "127.0.0.1:0", "--embeddings", "off", *arguments) as (process, grpc):
        yield Caller(process, grpc, http_address(process))


# How events are written, without a server


class Sent:
    def __init__(self) -> None:
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        scope: dict[str, Any] = {"type": "http", "headers": [], "client": None}
        self.exchange = Exchange(scope, self._receive, self.messages.put)

    async def _receive(self) -> Any:
        await asyncio.Event().wait()

    async def next(self) -> Any:
        async with asyncio.timeout(20):
            return await self.messages.get()


@pytest.fixture
async def sent() -> AsyncIterator[Sent]:
    yield Sent()


async def test_a_stream_without_news_says_that_it_is_still_there(sent: Sent) -> None:
    async with EventStream(sent.exchange, keep_alive=0.01):
        assert (await sent.next())["status"] == 200
        for _ in range(2):
            assert (await sent.next())["body"] == b": still here\n\n"
    rest = [sent.messages.get_nowait()["body"] for _ in range(sent.messages.qsize())]
    assert rest[-1] == b""


async def test_an_error_after_the_first_event_is_an_event(sent: Sent) -> None:
    async with EventStream(sent.exchange, keep_alive=60) as stream:
        await stream.send(WatchCatalogResponse())
        raise refused(ShuttingDown())
    bodies = [(await sent.next()).get("body") for _ in range(4)]
    assert bodies[2].startswith(b"event: error\ndata: {") and bodies[2].endswith(b"}\n\n")
    assert bodies[3] == b""


async def test_a_stream_of_nothing_is_an_empty_one(sent: Sent) -> None:
    async with EventStream(sent.exchange, keep_alive=60):
        pass
    assert (await sent.next())["status"] == 200
    assert (await sent.next())["body"] == b""
