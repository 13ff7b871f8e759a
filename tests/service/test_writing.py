"""Writing through a real server."""

import threading

import pytest

from support import tool
from toolsearch import Client, Conflict, EntryInput, NotFound, WatchEvent, WatchKind


def test_a_sync_computes_the_difference_itself(client: Client) -> None:
    first = client.sync_server("s", [tool("a"), tool("b"), tool("c", "old")])
    assert (first.added, first.version.revision) == (("s.a", "s.b", "s.c"), 1)
    second = client.sync_server("s", [tool("b"), tool("c", "new"), tool("d")])
    assert (second.added, second.updated, second.deleted, second.unchanged) == (("s.d",), ("s.c",), ("s.a",), 1)
    assert second.version.revision == 2


def test_an_identical_sync_keeps_the_revision(client: Client) -> None:
    first = client.sync_server("s", [tool("a"), tool("b")])
    again = client.sync_server("s", [tool("b"), tool("a")])
    assert again.version == first.version
    assert again.unchanged == 2


def test_unchanged_tools_are_not_in_the_change(client: Client) -> None:
    version = client.sync_server("s", [tool("a"), tool("b")]).version
    client.sync_server("s", [tool("a"), tool("b", "new")])
    events = client.watch(version)
    assert next(events).upserted == ("s.b",)


def test_a_sync_touches_only_its_own_server(client: Client) -> None:
    client.sync_server("s", [tool("a")])
    client.sync_server("t", [tool("a")])
    client.sync_server("s", [])
    assert [entry.name for entry in client.list_tools()] == ["t.a"]


def test_delete_server_deletes_what_came_from_it(client: Client) -> None:
    client.sync_server("s", [tool("a"), tool("b")])
    assert sorted(client.delete_server("s").deleted) == ["s.a", "s.b"]
    again = client.delete_server("s")
    assert (again.deleted, again.version.revision) == ((), 2)


def test_delete_server_does_not_make_a_catalog(client: Client) -> None:
    with pytest.raises(NotFound):
        client.delete_server("s")


def test_apply_changes_adds_replaces_and_deletes_in_one_revision(client: Client) -> None:
    client.apply_changes([EntryInput(definition=tool("a"), server="s"), EntryInput(definition=tool("b"), server="s")])
    result = client.apply_changes(
        [EntryInput(definition=tool("b", "new"), server="s"), tool("c")], deletes=["s_a", "no.such.name"]
    )
    assert (result.added, result.updated, result.deleted) == (("c",), ("s.b",), ("s.a",))
    assert result.version.revision == 2


def test_expected_revision_that_no_longer_holds_is_refused_and_nothing_is_written(client: Client) -> None:
    version = client.sync_server("s", [tool("a")], expected_revision=0).version
    for write in (
        lambda: client.sync_server("s", [tool("x")], expected_revision=0),
        lambda: client.apply_changes([tool("x")], expected_revision=7),
        lambda: client.delete_server("s", expected_revision=7),
        lambda: client.delete_catalog(expected_revision=7),
    ):
        with pytest.raises(Conflict) as refusal:
            write()
        assert refusal.value.reason == "REVISION_MISMATCH"
        assert refusal.value.field == "expected_revision"
        assert refusal.value.metadata["allowed"] == "1"
    assert client.get_catalog().version.revision == version.revision
    client.sync_server("s", [tool("x")], expected_revision=1)


def test_names_that_needed_a_hash_are_reported(client: Client) -> None:
    client.sync_server("a", [tool("b.c")])
    (first, second) = sorted(client.sync_server("a.b", [tool("c")]).notices, key=lambda notice: notice.server)
    assert (first.server, second.server) == ("a", "a.b")
    assert "a.b.c" in first.explanation


def test_get_catalog_counts_entries_and_tokens_by_server(client: Client) -> None:
    client.sync_server("s", [tool("a", "x" * 400), tool("b")])
    client.sync_server("t", [tool("c")])
    info = client.get_catalog()
    assert (info.name, info.entry_count, info.version.revision) == ("default", 3, 2)
    assert [(server.server, server.entry_count) for server in info.servers] == [("s", 2), ("t", 1)]
    assert info.tokens == sum(server.tokens for server in info.servers)
    assert info.servers[0].tokens > 100
    assert dict(info.kinds) == {"tool": 3}


def test_catalogs_are_listed_by_name_and_deleted(address: str, tenant: str) -> None:
    for name in ("beta", "alpha", "gamma"):
        with Client(address, tenant=tenant, catalog=name) as client:
            client.sync_server("s", [tool("a")])
    with Client(address, tenant=tenant, catalog="beta") as client:
        assert [listing.name for listing in client.list_catalogs(page_size=1)] == ["alpha", "beta", "gamma"]
        client.delete_catalog()
        assert [listing.name for listing in client.list_catalogs()] == ["alpha", "gamma"]
        with pytest.raises(NotFound):
            client.search("a")
        with pytest.raises(NotFound):
            client.delete_catalog()


def test_a_catalog_that_comes_back_is_readable_by_the_client_that_deleted_it(client: Client) -> None:
    for _ in range(5):
        client.sync_server("s", [tool("a")])
        client.sync_server("s", [tool("a"), tool("b")])
    client.delete_catalog()
    client.sync_server("s", [tool("c", "thing")])
    assert [match.name for match in client.search("thing").matches] == ["s.c"]


def test_a_watcher_is_told_of_changes_as_they_happen(address: str, tenant: str, client: Client) -> None:
    client.sync_server("s", [tool("a")])
    events: list[WatchEvent] = []
    started = threading.Event()

    def watch() -> None:
        with Client(address, tenant=tenant) as watching:
            for event in watching.watch():
                events.append(event)
                started.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert started.wait(10)
    client.sync_server("s", [tool("b")])
    client.delete_catalog()
    watcher.join(10)
    assert not watcher.is_alive()
    assert [event.kind for event in events] == [WatchKind.CURRENT, WatchKind.CHANGED, WatchKind.DELETED]
    assert (events[1].upserted, events[1].deleted) == (("s.b",), ("s.a",))


def test_watching_a_catalog_that_does_not_exist_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        next(client.watch())
