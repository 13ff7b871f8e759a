"""The Python client: its surface, its errors, its ways through trouble."""

import asyncio
import inspect
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import toolsearch
from support import ServerProcess, tool
from toolsearch import AsyncClient, Client, EntryInput, Filter, Kind, NotFound, TimedOut, Unavailable, WatchEvent, WatchKind
from toolsearch._calls import to_json

EXAMPLES = Path(__file__).parents[2] / "clients" / "python" / "examples"


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(toolsearch.__all__) == toolsearch.__all__
    public = {name for name, value in vars(toolsearch).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert public == set(toolsearch.__all__)


def test_the_two_clients_are_twins() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        methods = {name: value for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}
        return {
            name: [str(parameter) for parameter in inspect.signature(method).parameters.values()]
            for name, method in methods.items()
        }

    assert surface(Client) == surface(AsyncClient)


async def test_the_async_client_does_everything(async_client: AsyncClient) -> None:
    client = async_client
    written = await client.sync_server("s", [tool("a.read", "thing"), tool("a.write", "thing")])
    await client.apply_changes([EntryInput(definition=tool("x", "thing"), server="t", kind=Kind.PROMPT)], ["s.a.write"])
    assert {match.name for match in (await client.search("thing")).matches} == {"s.a.read", "t.x"}
    assert [entry.name async for entry in client.list_tools(Filter(kinds=["prompt"]), page_size=1)] == ["t.x"]
    assert [space.name async for space in client.list_namespaces()] == ["s", "s.a", "t"]
    assert (await client.get_tools(["s.a.read"])).entries[0].definition == tool("a.read", "thing")
    assert (await client.get_catalog()).entry_count == 2
    assert [listing.name async for listing in client.list_catalogs()] == ["default"]
    event = await anext(client.watch(written.version))
    assert (event.kind, event.upserted, event.deleted) == (WatchKind.CHANGED, ("t.x",), ("s.a.write",))
    await client.delete_server("t")
    await client.delete_catalog()
    with pytest.raises(NotFound):
        await client.search("thing")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_service_that_is_not_there_is_unavailable_and_the_error_says_where() -> None:
    port = free_port()
    with Client(f"127.0.0.1:{port}") as client, pytest.raises(Unavailable, match=f"127.0.0.1:{port}") as refusal:
        client.search("x")
    assert (refusal.value.reason, refusal.value.code) == ("", "UNAVAILABLE")


async def test_a_service_that_is_not_there_is_unavailable_to_the_async_client_too() -> None:
    async with AsyncClient(f"127.0.0.1:{free_port()}") as client:
        with pytest.raises(Unavailable):
            await client.search("x")


def test_a_service_that_does_not_answer_times_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Client(f"127.0.0.1:{silent.getsockname()[1]}", timeout=0.2) as client,
        pytest.raises(TimedOut, match="in time"),
    ):
        client.search("x")


def test_a_revision_that_does_not_come_in_time_is_unavailable_with_a_reason(client: Client) -> None:
    client.sync_server("s", [tool("a")])
    with pytest.raises((Unavailable, TimedOut)) as refusal:
        client.search("a", min_revision=99, timeout=1)
    if isinstance(refusal.value, Unavailable):
        assert refusal.value.reason == "REVISION_NOT_REACHED"


def test_what_json_cannot_say_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(ValueError, match="JSON"):
        client.sync_server("s", [{"name": "a", "x": float("nan")}])


def test_half_a_surrogate_pair_can_be_sent() -> None:
    assert to_json({"name": "\ud800é"}) == '{"name":"\\ud800\\u00e9"}'
    assert to_json({"name": "é"}) == '{"name":"é"}'


def test_a_string_where_a_list_is_meant_is_a_type_error(client: Client) -> None:
    with pytest.raises(TypeError, match="names must be a list"):
        client.get_tools("abc")
    with pytest.raises(TypeError, match=r"filter\.servers must be a list"):
        client.search("x", filter=Filter(servers="abc"))


def test_an_unknown_strategy_is_a_value_error(client: Client) -> None:
    with pytest.raises(ValueError, match="psychic"):
        client.search("x", strategy="psychic")


def start(port: int, store: Path) -> ServerProcess:
    server = ServerProcess(
        ("--listen", f"127.0.0.1:{port}", "--store", f"sqlite:{store}", "--drain-delay", "0", "--drain-grace", "0")
    )
    server.wait_until_listening()
    return server


def test_a_watch_survives_a_restart_of_the_service_and_misses_nothing(tmp_path: Path) -> None:
    port = free_port()
    server = start(port, tmp_path / "store.db")
    events: list[WatchEvent] = []
    arrived = threading.Semaphore(0)

    def watch() -> None:
        with Client(f"127.0.0.1:{port}") as watching:
            for event in watching.watch():
                events.append(event)
                arrived.release()

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        with Client(f"127.0.0.1:{port}") as client:
            client.sync_server("s", [tool("a")])
            watcher.start()
            assert arrived.acquire(timeout=20)
        server.stop(signal.SIGTERM)
        server = start(port, tmp_path / "store.db")
        with Client(f"127.0.0.1:{port}") as client:
            client.sync_server("s", [tool("a"), tool("b")])
            client.sync_server("s", [tool("b")])
            while len([event for event in events if event.kind is WatchKind.CHANGED]) < 2:
                assert arrived.acquire(timeout=20)
            client.delete_catalog()
        watcher.join(20)
        assert not watcher.is_alive()
    finally:
        server.kill()
    changes = [(event.upserted, event.deleted) for event in events if event.kind is WatchKind.CHANGED]
    assert changes == [(("s.b",), ()), ((), ("s.a",))]
    revisions = [event.version.revision for event in events]
    assert revisions == sorted(revisions)


async def test_an_async_watch_survives_a_restart_too(tmp_path: Path) -> None:
    port = free_port()
    server = await asyncio.to_thread(start, port, tmp_path / "store.db")
    try:
        async with AsyncClient(f"127.0.0.1:{port}") as client:
            await client.sync_server("s", [tool("a")])
            events = client.watch()
            await anext(events)
            await asyncio.to_thread(server.stop)
            server = await asyncio.to_thread(start, port, tmp_path / "store.db")
            async with AsyncClient(f"127.0.0.1:{port}") as writer:
                await writer.sync_server("s", [tool("b")])
            async with asyncio.timeout(30):
                while (event := await anext(events)).kind is not WatchKind.CHANGED:
                    pass
            assert (event.upserted, event.deleted) == (("s.b",), ("s.a",))
    finally:
        await asyncio.to_thread(server.kill)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(address: str, example: str) -> None:
    result = subprocess.run([sys.executable, str(EXAMPLES / example), address], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout
