"""A real server with a transformer, and with an endpoint, which is a fake."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from embeddings.embedders_under_test import FakeEndpoint, running_endpoint, write_onnx_folder
from redis_process import RedisProcess
from support import ServerProcess, running_server, tool, wait_for
from toolsearch import Client, ToolSearchError

TOOLS = [
    tool("get_forecast", "Rain and temperature"),
    tool("transfer_funds", "Moves money"),
    tool("play_track", "Plays a song"),
]
KEY = "sk-very-secret"


@pytest.fixture
def fake() -> Iterator[FakeEndpoint]:
    with running_endpoint() as fake:
        yield fake


def options(fake: FakeEndpoint) -> tuple[str, ...]:
    return "--embeddings", fake.url, "--embeddings-model", "small"


def is_embedded(client: Client) -> bool:
    said = client.search("anything", strategy="hybrid").message
    return "alone" not in said and "not known" not in said


def nearest(client: Client, text: str) -> str:
    """The name of the best match by meaning. On a busy machine the query may be embedded late, which is refused: then again."""

    def search() -> str:
        try:
            return client.search(text, strategy="semantic").matches[0].local_name
        except ToolSearchError as refusal:
            assert refusal.reason == "EMBEDDINGS_UNAVAILABLE"
            return ""

    return str(wait_for(search, what="a search by meaning"))


def wait_until_ready(server: ServerProcess) -> None:
    """A replica listens before its store has answered."""
    wait_for(lambda: '"event": "ready"' in server.log, what="a replica that is ready")


def ended(*arguments: str) -> tuple[int, str]:
    server = ServerProcess(("--listen", "127.0.0.1:0", "--store", "memory:", *arguments))
    return server.wait(), server.log


def test_a_transformer_by_path_finds_by_meaning(tmp_path: Path) -> None:
    folder = write_onnx_folder(tmp_path / "model")
    with running_server("--store", "memory:", "--embeddings", f"onnx:{folder}") as (server, address), Client(address) as client:
        client.sync_server("s", TOOLS)
        wait_for(lambda: is_embedded(client), what="the vectors")
        assert nearest(client, "umbrella") == "get_forecast"
        wait_for(lambda: client.search("cash").matches, what="a match that has none of the words")
        assert client.search("cash").matches[0].local_name == "transfer_funds"
        assert server.stop() == 0


def test_an_endpoint_finds_by_meaning_and_its_key_is_never_told(fake: FakeEndpoint) -> None:
    environment = {"TOOLSEARCH_EMBEDDINGS_KEY": KEY}
    fake.script = [(401, {}, {"error": f"what about {KEY}"})]
    arguments = ("--store", "memory:", "--log-level", "debug", *options(fake))
    with running_server(*arguments, environment=environment) as (server, address), Client(address) as client:
        client.sync_server("s", TOOLS)
        wait_for(lambda: is_embedded(client), what="the vectors")
        assert nearest(client, "umbrella") == "get_forecast"
        assert server.stop() == 0
    assert {headers["authorization"] for headers in fake.headers} == {f"Bearer {KEY}"}
    assert "401" in server.log
    assert KEY not in server.log


def test_an_endpoint_that_hangs_holds_up_neither_the_start_nor_searches_nor_the_end(fake: FakeEndpoint) -> None:
    fake.gate.clear()
    with running_server("--store", "memory:", *options(fake)) as (server, address), Client(address) as client:
        assert fake.arrived.wait(10)
        client.sync_server("s", TOOLS)
        found = client.search("funds")
        assert [match.local_name for match in found.matches] == ["transfer_funds"]
        assert "ranked by words alone: the embedding model has not answered yet" in found.message
        with pytest.raises(ToolSearchError) as refusal:
            client.search("umbrella", strategy="semantic")
        assert refusal.value.reason == "EMBEDDINGS_UNAVAILABLE"
        assert server.stop(signal.SIGINT) == 0


def test_vectors_survive_a_restart(fake: FakeEndpoint, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    for _ in range(2):
        with running_server("--store", store, *options(fake)) as (server, address), Client(address) as client:
            client.sync_server("s", TOOLS)
            wait_for(lambda client=client: is_embedded(client), what="the vectors")  # type: ignore[misc]
            assert server.stop() == 0
    sent = [text for request in fake.requests for text in request["input"]]
    assert sum("Plays a song" in text for text in sent) == 1


def test_another_replica_embeds_nothing_again(fake: FakeEndpoint, redis_server: RedisProcess) -> None:
    arguments = ("--store", redis_server.url, *options(fake))
    with running_server(*arguments) as (server, first), Client(first) as client:
        wait_until_ready(server)
        client.sync_server("s", TOOLS)
        wait_for(lambda: is_embedded(client), what="the vectors")
        wait_for(lambda: redis_server.command("KEYS", "*vector:*").startswith(f"*{len(TOOLS)}"), what="the vectors in Redis")
        with running_server(*arguments) as (replica, second), Client(second) as other:
            wait_until_ready(replica)
            wait_for(lambda: is_embedded(other), what="the vectors of the other replica")
            assert nearest(other, "umbrella") == "get_forecast"
    sent = [text for request in fake.requests for text in request["input"]]
    assert sum("Plays a song" in text for text in sent) == 1


def test_a_transformer_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    for given, says in (
        (f"onnx:{tmp_path / 'nowhere'}", "is not a folder"),
        (f"onnx:{tmp_path}", "has neither model.onnx nor onnx/model.onnx"),
        (f"sentence-transformers:{tmp_path}", "sentence-transformers is not installed"),
    ):
        code, log = ended("--embeddings", given)
        assert code == 1
        assert f"--embeddings {given}" in log and says in log
        assert "Traceback" not in log
