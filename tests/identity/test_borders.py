"""Who may do what, and that nobody sees what is another tenant's."""

import contextlib
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from identity.guarded import Guarded
from support import tool, wait_for
from toolsearch import (
    CatalogSettings,
    Client,
    EntryInput,
    Forbidden,
    NotFound,
    ResourceInput,
    ToolSearchError,
    Unauthenticated,
    UsageReport,
)
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import search_service_pb2 as search_pb
from toolsearch_server.auth import Role

SECRET = "rivals_secret_tool"
_catalogs = itertools.count()

READS: dict[str, Callable[[Client], Any]] = {
    "SearchTools": lambda client: client.search("thing"),
    "ListTools": lambda client: list(client.list_tools()),
    "ListNamespaces": lambda client: list(client.list_namespaces()),
    "GetTools": lambda client: client.get_tools([f"s.{SECRET}"]),
    "PlanTools": lambda client: client.plan_tools("anthropic", "claude-sonnet-5"),
    "ReportUsage": lambda client: client.report_usage([UsageReport(f"s.{SECRET}")]),
    "GetSettings": lambda client: client.get_settings(),
    "ReadResource": lambda client: client.read_resource(f"s.{SECRET}", "f"),
    "WatchCatalog": lambda client: next(iter(client.watch())),
    "GetCatalog": lambda client: client.get_catalog(),
    "ListCatalogs": lambda client: list(client.list_catalogs()),
}
WRITES: dict[str, Callable[[Client], Any]] = {
    "ApplyChanges": lambda client: client.apply_changes([tool("new")]),
    "SyncServer": lambda client: client.sync_server("s", [tool("new", "thing")]),
    "DeleteServer": lambda client: client.delete_server("s"),
    "UpdateSettings": lambda client: client.update_settings(CatalogSettings(banned=["s.*"])),
    "DeleteCatalog": lambda client: client.delete_catalog(),
}
ADMINISTRATION: dict[str, Callable[[Client], Any]] = {"ListTenants": lambda client: list(client.list_tenants())}
ALL = READS | WRITES | ADMINISTRATION


@pytest.fixture
def catalog(guarded: Guarded) -> str:
    """A catalog of the rival, with a tool that nobody else may know of."""
    name = f"plans-{next(_catalogs)}"
    with guarded.client("rival", Role.WRITER, catalog=name) as client:
        entry = EntryInput(definition=tool(SECRET, "thing"), resources=[ResourceInput("f", b"secret")])
        client.sync_server("s", [entry])
    return name


def test_every_method_of_the_contract_is_tried_here() -> None:
    services = (search_pb.DESCRIPTOR.services_by_name.values(), catalog_pb.DESCRIPTOR.services_by_name.values())
    assert {method.name for service in itertools.chain(*services) for method in service.methods} == ALL.keys()


@pytest.mark.parametrize("method", ALL)
def test_without_a_credential_nothing_is_answered(guarded: Guarded, catalog: str, method: str) -> None:
    with Client(guarded.address, catalog=catalog, tenant="rival") as client, pytest.raises(Unauthenticated) as refused:
        ALL[method](client)
    assert refused.value.reason == "CREDENTIAL_REQUIRED"


@pytest.mark.parametrize("key", ["nonsense", "ts_abcdefghijkm_" + "x" * 43, "é"])
def test_with_an_unknown_credential_nothing_is_answered(guarded: Guarded, key: str) -> None:
    with Client(guarded.address, api_key=key if key.isascii() else "x y") as client, pytest.raises(Unauthenticated) as refused:
        client.search("thing")
    assert refused.value.reason == "CREDENTIAL_INVALID"
    assert key not in str(refused.value)


@pytest.mark.parametrize("method", READS)
def test_a_reader_may_read(guarded: Guarded, catalog: str, method: str) -> None:
    with guarded.client("rival", Role.READER, catalog=catalog) as client:
        READS[method](client)


@pytest.mark.parametrize("method", WRITES | ADMINISTRATION)
def test_a_reader_may_not_write_and_nothing_is_written(guarded: Guarded, catalog: str, method: str) -> None:
    with guarded.client("rival", Role.READER, catalog=catalog) as client:
        before = client.get_catalog().version
        with pytest.raises(Forbidden) as refused:
            ALL[method](client)
        assert refused.value.reason == "ROLE_DENIED"
        assert refused.value.metadata["given"] == "reader"
        assert client.get_catalog().version == before


@pytest.mark.parametrize("method", WRITES)
def test_a_writer_may_write(guarded: Guarded, catalog: str, method: str) -> None:
    with guarded.client("rival", Role.WRITER, catalog=catalog) as client:
        WRITES[method](client)


def test_a_writer_may_not_administrate(guarded: Guarded) -> None:
    with guarded.client("acme", Role.WRITER) as client, pytest.raises(Forbidden):
        list(client.list_tenants())


@pytest.mark.parametrize("role", [Role.READER, Role.WRITER])
@pytest.mark.parametrize("method", READS | WRITES)
def test_nobody_may_act_for_another_tenant(guarded: Guarded, catalog: str, method: str, role: Role) -> None:
    with guarded.client("acme", role, catalog=catalog, tenant="rival") as client, pytest.raises(Forbidden) as refused:
        ALL[method](client)
    assert refused.value.reason == "TENANT_DENIED"
    assert SECRET not in str(refused.value) and "rival" not in str(refused.value.metadata)


def test_asking_for_a_tenant_that_does_not_exist_is_refused_alike(guarded: Guarded) -> None:
    refusals = []
    for tenant in ("rival", "nobody"):
        with guarded.client("acme", Role.WRITER, tenant=tenant) as client, pytest.raises(Forbidden) as refused:
            client.search("thing")
        refusals.append((refused.value.message, refused.value.reason, refused.value.metadata))
    assert refusals[0] == refusals[1]


def test_asking_for_ones_own_tenant_by_name_is_allowed(guarded: Guarded, catalog: str) -> None:
    with guarded.client("rival", Role.READER, catalog=catalog, tenant="rival") as client:
        assert client.search("thing").matches


def test_an_administrator_acts_for_any_tenant_and_lists_them(guarded: Guarded, catalog: str) -> None:
    with guarded.client("acme", Role.ADMIN, catalog=catalog, tenant="rival") as client:
        assert [match.local_name for match in client.search("thing").matches] == [SECRET]
        tenants = {each.name: each for each in client.list_tenants()}
    assert tenants["rival"].entry_count >= 1 and tenants["rival"].bytes > 0
    with guarded.client("acme", Role.ADMIN, catalog=catalog) as client, pytest.raises(NotFound):
        client.search("thing")


def outcome(client: Client, method: str) -> tuple[str, ...]:
    try:
        result = ALL[method](client)
    except ToolSearchError as error:
        return type(error).__name__, error.reason, error.message, json.dumps(error.metadata)
    return ("answered", str(result).replace(SECRET, "?")) if method == "ListCatalogs" else ("answered",)


@pytest.mark.parametrize("method", READS | {"DeleteServer": 0, "DeleteCatalog": 0})
def test_a_foreign_catalog_looks_like_one_that_does_not_exist(guarded: Guarded, catalog: str, method: str) -> None:
    absent = catalog.replace("plans", "plains")
    seen = []
    for name in (catalog, absent):
        with guarded.client("acme", Role.WRITER, catalog=name) as client:
            seen.append(tuple(part.replace(name, "CATALOG") for part in outcome(client, method)))
    assert seen[0] == seen[1]
    assert SECRET not in str(seen)


def test_a_foreign_catalog_takes_as_long_as_one_that_does_not_exist(guarded: Guarded, catalog: str) -> None:
    """The same class of time: medians within a factor of three, interleaved so that what else the machine does is shared."""
    times: dict[str, list[float]] = {catalog: [], catalog.replace("plans", "plains"): []}
    with contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(guarded.client("acme", Role.READER, catalog=name)) for name in times}
        for _ in range(60):
            for name, client in clients.items():
                began = time.perf_counter()
                with pytest.raises(NotFound):
                    client.search("thing")
                times[name].append(time.perf_counter() - began)
    medians = sorted(statistics.median(each) for each in times.values())
    assert medians[1] < 3 * medians[0]


def test_equal_catalogs_of_two_tenants_have_nothing_to_do_with_each_other(guarded: Guarded) -> None:
    name = f"same-{next(_catalogs)}"
    with (
        guarded.client("acme", Role.WRITER, catalog=name) as ours,
        guarded.client("rival", Role.WRITER, catalog=name) as theirs,
    ):
        ours.sync_server("s", [tool("shared", "thing"), tool("ours", "thing")])
        theirs.sync_server("s", [tool("shared", "thing"), tool("theirs", "thing")])
        assert {match.local_name for match in ours.search("thing").matches} == {"shared", "ours"}
        page = next(iter(catalog_pages(ours)))
        with pytest.raises(ToolSearchError, match="page_token"):
            list_with_token(theirs, page)
        theirs.delete_catalog()
        assert {match.local_name for match in ours.search("thing").matches} == {"shared", "ours"}


def catalog_pages(client: Client) -> Iterator[str]:
    stub = client._stubs["ToolSearchService"]
    request = search_pb.ListToolsRequest(catalog=client.catalog, page_size=1)
    yield stub.ListTools(request, metadata=client._metadata).next_page_token


def list_with_token(client: Client, token: str) -> None:
    stub = client._stubs["ToolSearchService"]
    request = search_pb.ListToolsRequest(catalog=client.catalog, page_size=1, page_token=token)
    try:
        stub.ListTools(request, metadata=client._metadata)
    except grpc.RpcError as error:
        raise ToolSearchError(str(error.details())) from None


@pytest.mark.parametrize("header", ["authorization", "x-toolsearch-tenant"])
def test_two_credentials_or_tenants_in_one_call_are_refused(guarded: Guarded, header: str) -> None:
    with guarded.client() as client:
        mine = dict(client._metadata)["authorization"]
        doubled = (("authorization", mine), ("x-toolsearch-tenant", "acme"), (header, "acme"))
        with pytest.raises(grpc.RpcError) as refused:
            client._stubs["ToolSearchService"].SearchTools(search_pb.SearchToolsRequest(queries=["x"]), metadata=doubled)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "more than once" in str(refused.value.details())


def test_writes_and_refused_identities_leave_audit_records_and_reads_do_not(guarded: Guarded) -> None:
    name = f"audited-{next(_catalogs)}"
    with guarded.client("acme", Role.WRITER, catalog=name) as client:
        client.sync_server("s", [tool("a", "thing")])
        client.search("thing")
    with guarded.client("acme", Role.READER, catalog=name) as client, pytest.raises(Forbidden):
        client.delete_catalog()
    with Client(guarded.address, catalog=name, tenant="rival") as client, pytest.raises(Unauthenticated):
        client.search("thing")
    records = [json.loads(line) for line in guarded.process.lines if '"event": "audit"' in line]
    ours = [record for record in records if record.get("catalog") == name]
    written, refused = ours
    assert (written["what"], written["outcome"], written["tenant"], written["added"]) == ("SyncServer", "OK", "acme", 1)
    assert written["who"].startswith("key:") and written["origin"].startswith("ipv4:127.0.0.1")
    assert written["request_id"] and written["revision"] == 1
    assert (refused["what"], refused["outcome"]) == ("DeleteCatalog", "ROLE_DENIED")
    assert records[-1]["outcome"] == "CREDENTIAL_REQUIRED"


def test_an_attempt_on_another_tenant_is_on_record_with_who_made_it(guarded: Guarded) -> None:
    with guarded.client("acme", Role.WRITER, tenant="rival") as client, pytest.raises(Forbidden):
        client.search("thing")
    record = [json.loads(line) for line in guarded.process.lines if "TENANT_DENIED" in line and '"audit"' in line][-1]
    assert record["who"] == f"key:{guarded.texts['acme', Role.WRITER].split('_')[1]}"
    assert record["tenant"] == "acme"


def test_a_name_is_recorded_in_part_when_it_is_long(guarded: Guarded) -> None:
    with guarded.client("acme", Role.READER, catalog="x" * 100_000) as client, pytest.raises(Forbidden):
        client.delete_catalog()
    assert max(map(len, guarded.process.lines)) < 5_000


def test_a_write_whose_caller_goes_away_is_on_record_with_what_it_did(guarded: Guarded) -> None:
    name = f"abandoned-{next(_catalogs)}"
    tools = [tool(f"n{number}", "thing " * 50) for number in range(2_000)]
    with guarded.client("acme", Role.WRITER, catalog=name) as client:
        for attempt in range(20):
            with contextlib.suppress(ToolSearchError):
                client.sync_server(f"s{attempt}", tools, timeout=0.05 + attempt * 0.05)
            if _records(guarded, name, "caller_gone"):
                break
        record = wait_for(lambda: _records(guarded, name, "caller_gone"), what="a record")[0]
        assert (record["outcome"], record["added"], record["tenant"]) == ("OK", 2_000, "acme")


def _records(guarded: Guarded, catalog: str, word: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in guarded.process.lines if catalog in line and word in line and '"audit"' in line]


def test_every_log_line_of_a_call_says_which_call_it_was(guarded: Guarded) -> None:
    with guarded.client("acme", Role.READER, catalog="no such") as client, pytest.raises(NotFound):
        client.search("a query nobody else makes")
    lines = [json.loads(line) for line in guarded.process.lines if '"event": "call"' in line]
    assert {"request_id", "tenant", "method", "ms", "code"} <= lines[-1].keys()
    assert lines[-1]["code"] == "NOT_FOUND"
    assert "a query nobody else makes" not in guarded.process.log
