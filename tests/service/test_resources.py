"""Files that come with entries, through a real server."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from redis_process import RedisProcess
from support import running_server, wait_for
from toolsearch import AsyncClient, Client, EntryInput, InvalidRequest, Kind, LimitReached, NotFound, ResourceInput
from toolsearch.v1 import search_service_pb2
from toolsearch.v1.search_service_pb2_grpc import ToolSearchServiceStub

_names = itertools.count()


@pytest.fixture(scope="module")
def limited() -> Iterator[str]:
    limits = "resource_bytes=100KiB resources_per_entry=3 resource_bytes_per_entry=150KiB resource_path_length=10"
    command = ("--store", "memory:", "--embeddings", "off", "--limit", limits, "--limit", "bytes_per_tenant=400KiB")
    with running_server(*command) as (_, address):
        yield address


@pytest.fixture
def client(limited: str) -> Iterator[Client]:
    with Client(limited, tenant=f"t{next(_names)}") as opened:
        yield opened


def skill(name: str = "x", /, **files: bytes) -> EntryInput:
    resources = [ResourceInput(path.replace("__", "/"), content) for path, content in files.items()]
    return EntryInput(definition={"name": name, "content": "text"}, kind=Kind.SKILL, namespace="task", resources=resources)


def test_a_resource_of_many_pieces_is_read_as_it_was_written(client: Client) -> None:
    content = os.urandom(100 * 1024)
    client.sync_server("s", [skill(deep__file=content)])
    [entry] = client.get_tools(["task.x"]).entries
    [resource] = entry.resources
    assert (resource.path, resource.media_type, resource.size) == ("deep/file", "application/octet-stream", len(content))
    assert resource.digest == hashlib.sha256(content).hexdigest()
    assert client.read_resource("task.x", "deep/file") == content


async def test_the_asynchronous_client_reads_the_same(client: Client, limited: str) -> None:
    client.sync_server("s", [skill(f=b"content")])
    async with AsyncClient(limited, tenant=_tenant(client)) as twin:
        assert await twin.read_resource("task.x", "f") == b"content"
        with pytest.raises(NotFound):
            await twin.read_resource("task.x", "g")


def test_only_the_first_piece_says_what_it_is(client: Client, limited: str) -> None:
    client.sync_server("s", [skill(f=b"x" * 70_000)])
    with grpc.insecure_channel(limited) as channel:
        stub: Any = ToolSearchServiceStub(channel)
        request = search_service_pb2.ReadResourceRequest(catalog="default", name="task.x", path="f")
        pieces = list(stub.ReadResource(request, metadata=[("x-toolsearch-tenant", _tenant(client))]))
    assert [piece.HasField("resource") for piece in pieces] == [True, False]
    assert [len(piece.data) for piece in pieces] == [64 * 1024, 70_000 - 64 * 1024]


def test_a_changed_file_alone_is_a_change_and_the_new_one_is_read_at_once(client: Client) -> None:
    client.sync_server("s", [skill(f=b"old")])
    before = client.get_tools(["task.x"]).entries[0].digest
    result = client.sync_server("s", [skill(f=b"new")])
    assert result.updated == ("task.x",)
    assert client.read_resource("task.x", "f") == b"new"
    assert client.get_tools(["task.x"]).entries[0].digest != before
    assert client.sync_server("s", [skill(f=b"new")]).unchanged == 1


def test_a_file_that_an_entry_does_not_bring_any_more_is_gone(client: Client) -> None:
    client.sync_server("s", [skill(f=b"1", g=b"2")])
    client.sync_server("s", [skill(g=b"2")])
    with pytest.raises(NotFound) as refused:
        client.read_resource("task.x", "f")
    assert (refused.value.reason, refused.value.field, refused.value.metadata["allowed"]) == ("RESOURCE_NOT_FOUND", "path", "g")
    assert client.read_resource("task.x", "g") == b"2"


LIMITED = {
    "resource_bytes": ({"f": b"x" * 100 * 1024}, {"f": b"x" * (100 * 1024 + 1)}),
    "resources_per_entry": ({"a": b"", "b": b"", "c": b""}, {"a": b"", "b": b"", "c": b"", "d": b""}),
    "resource_bytes_per_entry": (
        {"a": b"x" * 75 * 1024, "b": b"y" * 75 * 1024},
        {"a": b"x" * 75 * 1024, "b": b"y" * (75 * 1024 + 1)},
    ),
    "resource_path_length": ({"a" * 10: b""}, {"a" * 11: b""}),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_a_limit_is_refused_by_its_name_from_its_edge_on(client: Client, limit: str) -> None:
    fine, too_much = LIMITED[limit]
    client.sync_server("s", [skill(**fine)])
    with pytest.raises(InvalidRequest) as refused:
        client.sync_server("s", [skill(**too_much)])
    assert (refused.value.reason, refused.value.metadata["limit"]) == ("LIMIT_EXCEEDED", limit)
    assert refused.value.field.startswith("entries[0].resources")


def test_resources_count_for_the_tenants_quota(client: Client) -> None:
    client.sync_server("s", [skill(f"x{number}", f=bytes([number]) * 90_000) for number in range(4)])
    with pytest.raises(LimitReached) as refused:
        client.apply_changes([skill("more", f=b"x" * 90_000)])
    assert refused.value.metadata["limit"] == "bytes_per_tenant"
    client.sync_server("s", [skill()])
    client.apply_changes([skill("more", f=b"x" * 90_000)])


@pytest.mark.parametrize("path", ["/etc/x", "a//b", "./a", "a/..", "..", "a\\b", " a", "a\n", ""])
def test_a_path_that_is_not_plainly_relative_is_refused(client: Client, path: str) -> None:
    entry = EntryInput(definition={"name": "x"}, resources=[ResourceInput(path, b"")])
    with pytest.raises(InvalidRequest) as refused:
        client.apply_changes([entry])
    assert refused.value.field == "upserts[0].resources.path"


def test_a_path_twice_is_refused(client: Client) -> None:
    entry = EntryInput(definition={"name": "x"}, resources=[ResourceInput("f", b"1"), ResourceInput("f", b"2")])
    with pytest.raises(InvalidRequest, match="a path twice"):
        client.apply_changes([entry])


def test_the_words_of_a_resource_are_not_searched(client: Client) -> None:
    client.sync_server("s", [skill(f=b"unmistakable")])
    assert client.search("unmistakable").matches == ()


def _tenant(client: Client) -> str:
    return dict(client._metadata)["x-toolsearch-tenant"]


def test_a_replica_behind_another_one_reads_what_is_there(redis_server: RedisProcess) -> None:
    command = ("--store", redis_server.url, "--embeddings", "off")
    with (
        running_server(*command) as (_, first),
        running_server(*command) as (_, second),
        Client(first, tenant="t") as writer,
        Client(second, tenant="t") as reader,
    ):
        writer.sync_server("s", [skill(f=b"0")])
        for number in range(1, 30):
            writer.sync_server("s", [skill(f=b"%d" % number)])
            assert reader.read_resource("task.x", "f") in (b"%d" % (number - 1), b"%d" % number)


def test_a_server_follows_the_folders_of_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "code-reviewer"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: code-reviewer\ndescription: Reviews changes\n---\n")
    (folder / "checklist.md").write_text("1. read it")
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"skillFolders": {"team": {"path": str(tmp_path / "skills"), "poll_seconds": 1}}}))
    command = ("--store", "memory:", "--embeddings", "off", "--mcp-config", str(config))
    with running_server(*command) as (_, address), Client(address) as client:
        wait_for(lambda: _found(client) == ["task.code_reviewer"])
        assert client.read_resource("task.code_reviewer", "checklist.md") == b"1. read it"
        (folder / "checklist.md").write_text("2. read it again")
        wait_for(lambda: client.read_resource("task.code_reviewer", "checklist.md") == b"2. read it again")


def _found(client: Client) -> list[str]:
    try:
        return [match.name for match in client.search("review changes").matches]
    except NotFound:
        return []
