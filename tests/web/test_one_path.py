"""Who calls, what they may, what is refused and what is told of it: the same by HTTP as by gRPC."""

import itertools
import json
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import grpc
import pytest

from service.test_tracing import CALLER, PARENT, TRACE, collecting
from support import running_server, tool, wait_for
from toolsearch import rpcstatus
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import search_service_pb2 as search_pb
from toolsearch_server.auth import Role
from toolsearch_server.web.messages import as_json
from toolsearch_server.web.statuses import HTTP_STATUS
from vectors.test_shared_vectors import METHODS
from web.caller import Answer, Caller, http_address

_catalogs = itertools.count()


def by_grpc(caller: Caller, method: str, request: Any, *metadata: tuple[str, str]) -> bytes:
    """The status of a refusal, as it travels."""
    service = METHODS[method].containing_service.full_name
    with grpc.insecure_channel(caller.grpc) as channel:
        call: Any = channel.unary_unary(f"/{service}/{method}", request_serializer=lambda message: message.SerializeToString())
        with pytest.raises(grpc.RpcError) as refusal:
            call(request, timeout=20, metadata=metadata)
    error: Any = refusal.value
    return bytes(dict(error.trailing_metadata())[rpcstatus.METADATA_KEY])


REFUSED = [
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c")),
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c", queries=["x"], limit=-1)),
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c", queries=["x"] * 17)),
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c", queries=["("], strategy="STRATEGY_REGEX")),
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c", queries=["x"], detail=99)),  # type: ignore[arg-type]
    ("SearchTools", search_pb.SearchToolsRequest(catalog="c", queries=["x"], min_relevance=float("nan"))),
    ("SearchTools", search_pb.SearchToolsRequest(catalog="absent", queries=["x"])),
    ("ListTools", search_pb.ListToolsRequest(catalog="c", page_token="!")),
    ("GetTools", search_pb.GetToolsRequest(catalog="c")),
    ("WatchCatalog", search_pb.WatchCatalogRequest(catalog="absent")),
    ("WatchCatalog", search_pb.WatchCatalogRequest(catalog="c", from_revision=-1)),
    ("ReadResource", search_pb.ReadResourceRequest(catalog="c", name="s.a", path="none")),
    ("ApplyChanges", catalog_pb.ApplyChangesRequest(catalog="c", expected_revision=7)),
    ("ApplyChanges", catalog_pb.ApplyChangesRequest(catalog="c", upserts=[{"definition": "{"}])),
    ("SyncServer", catalog_pb.SyncServerRequest(catalog="c\n")),
]


@pytest.mark.parametrize(("method", "request_"), REFUSED, ids=lambda each: each if isinstance(each, str) else "")
def test_a_refusal_is_the_status_that_grpc_sends(door: Caller, tenant: str, method: str, request_: Any) -> None:
    written = door.post("SyncServer", entries("a") | {"catalog": "c"}, x_toolsearch_tenant=tenant)
    assert written.status == 200
    sent = by_grpc(door, method, request_, ("x-toolsearch-tenant", tenant))
    answer = door.post(method, as_json(request_), x_toolsearch_tenant=tenant)
    assert answer.json == json.loads(rpcstatus.as_json(sent))
    assert answer.status == HTTP_STATUS[rpcstatus.RpcStatus.decode(sent).code]


def entries(*names: str) -> dict[str, Any]:
    return {"server": "s", "entries": [{"definition": json.dumps(tool(name, "thing"))} for name in names]}


def test_a_call_without_a_credential_is_401_and_says_which_scheme(guarded_door: Caller) -> None:
    answer = guarded_door.get("/v1/ListCatalogs")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.info["reason"] == "CREDENTIAL_REQUIRED"


@pytest.mark.parametrize("given", ["Bearer ts_no", "Basic abc", "Bearer", "Bearer é", "Bearer " + "x" * 5000])
def test_a_wrong_credential_is_401_and_never_repeated(guarded_door: Caller, given: str) -> None:
    answer = guarded_door.get("/v1/ListCatalogs", authorization=given)
    assert (answer.status, answer.info["reason"]) == (401, "CREDENTIAL_INVALID")
    assert len(given) < 10 or given.removeprefix("Bearer ") not in answer.body.decode()


@pytest.mark.parametrize("header", ["authorization", "x-toolsearch-tenant"])
def test_two_credentials_or_tenants_are_refused(guarded_door: Caller, header: str) -> None:
    key = guarded_door.texts["acme", Role.READER]
    given = {"authorization": f"Bearer {key}", "x-toolsearch-tenant": "acme"}
    answer = guarded_door.send("GET", "/v1/ListCatalogs", headers=[*given.items(), (header, given[header])])
    assert (answer.status, answer.info["reason"], answer.field) == (400, "FIELD_INVALID", header)


def as_role(caller: Caller, role: Role, owner: str = "acme") -> dict[str, str]:
    return {"authorization": f"Bearer {caller.texts[owner, role]}"}


@pytest.mark.parametrize(
    ("role", "method", "status"),
    [
        (Role.READER, "SyncServer", 403),
        (Role.WRITER, "SyncServer", 200),
        (Role.READER, "ListCatalogs", 200),
        (Role.WRITER, "ListTenants", 403),
        (Role.ADMIN, "ListTenants", 200),
    ],
)
def test_a_role_may_do_what_it_may_by_grpc(guarded_door: Caller, role: Role, method: str, status: int) -> None:
    request = {"catalog": f"c-{next(_catalogs)}"} if method == "SyncServer" else {}
    assert guarded_door.post(method, request, **as_role(guarded_door, role)).status == status


def test_the_tenant_is_the_credential_s_unless_an_administrator_says_another(guarded_door: Caller) -> None:
    name = f"c-{next(_catalogs)}"
    assert (
        guarded_door.post("SyncServer", {"catalog": name, **entries("a")}, **as_role(guarded_door, Role.WRITER)).status == 200
    )
    path = f"/v1/GetCatalog?catalog={name}"
    assert guarded_door.get(path, **as_role(guarded_door, Role.READER)).status == 200
    assert guarded_door.get(path, **as_role(guarded_door, Role.READER, "rival")).status == 404
    foreign = guarded_door.get(path, **as_role(guarded_door, Role.READER, "rival"), x_toolsearch_tenant="acme")
    assert (foreign.status, foreign.info["reason"]) == (403, "TENANT_DENIED")
    assert guarded_door.get(path, **as_role(guarded_door, Role.ADMIN, "rival"), x_toolsearch_tenant="acme").status == 200


def records(caller: Caller, request_id: str) -> Sequence[Any]:
    return [record for line in caller.process.lines if request_id in line and (record := json.loads(line))["event"] == "audit"]


def test_a_write_and_a_refused_identity_leave_the_audit_records_that_grpc_leaves(guarded_door: Caller) -> None:
    name = f"c-{next(_catalogs)}"
    headers = as_role(guarded_door, Role.WRITER)
    guarded_door.post("SyncServer", {"catalog": name, **entries("a")}, **headers, x_request_id="over-http")
    stub: Any
    with grpc.insecure_channel(guarded_door.grpc) as channel:
        stub = channel.unary_unary(
            "/toolsearch.v1.CatalogService/SyncServer", request_serializer=catalog_pb.SyncServerRequest.SerializeToString
        )
        request = catalog_pb.SyncServerRequest(catalog=f"{name}-g", server="s", entries=[{"definition": json.dumps(tool("a"))}])
        stub(request, metadata=[*headers.items(), ("x-request-id", "over-grpc")])
    (by_http,) = wait_for(lambda: records(guarded_door, "over-http"), what="the record")
    (by_grpc,) = wait_for(lambda: records(guarded_door, "over-grpc"), what="the record")
    assert by_http.keys() == by_grpc.keys()
    assert by_http["origin"].startswith("ipv4:127.0.0.1:") and by_grpc["origin"].startswith("ipv4:127.0.0.1:")
    varying = {"origin", "request_id", "timestamp", "catalog"}
    assert {name: by_http[name] for name in by_http.keys() - varying} == {
        name: by_grpc[name] for name in by_grpc.keys() - varying
    }
    refused = guarded_door.post(
        "SyncServer", {"catalog": name}, **as_role(guarded_door, Role.READER), x_request_id="refused-http"
    )
    assert refused.status == 403
    (record,) = wait_for(lambda: records(guarded_door, "refused-http"), what="the record")
    assert (record["outcome"], record["catalog"], record["tenant"]) == ("ROLE_DENIED", name, "acme")


def test_calls_are_counted_where_those_by_grpc_are(door: Caller, tenant: str) -> None:
    series = 'toolsearch_requests_total{code="NOT_FOUND",method="GetSettings",strategy=""}'
    before = door.metric(series)
    assert door.get("/v1/GetSettings?catalog=absent", x_toolsearch_tenant=tenant).status == 404
    assert door.metric(series) == before + 1


def test_the_request_id_is_repeated_and_names_the_call_in_the_log(door: Caller, tenant: str) -> None:
    answer = door.get("/v1/GetCatalog?catalog=absent", x_toolsearch_tenant=tenant, x_request_id=f"id-{tenant}")
    assert answer.headers["x-request-id"] == f"id-{tenant}"
    wait_for(lambda: f'"request_id": "id-{tenant}"' in door.process.log, what="the line in the log")
    assert len(door.get("/v1/ListCatalogs").headers["x-request-id"]) == 16


def test_a_rate_that_is_used_up_says_when_to_come_back(tmp_path: Any) -> None:
    limits = ("--limit", "tenant_rate=0.1", "--limit", "tenant_burst=1")
    with running_server("--store", "memory:", "--http", "127.0.0.1:0", "--embeddings", "off", *limits) as (process, address):
        caller = Caller(process, address, http_address(process))
        assert caller.get("/v1/ListCatalogs").status == 200
        refusal = caller.get("/v1/ListCatalogs")
        assert (refusal.status, refusal.info["reason"]) == (429, "RATE_LIMITED")
        assert 1 <= int(refusal.headers["retry-after"]) <= 10


def test_a_timeout_bounds_what_is_waited_for(door: Caller, tenant: str) -> None:
    door.post("SyncServer", entries("a"), x_toolsearch_tenant=tenant)
    path = "/v1/GetTools?names=a&minRevision=1000"
    answer = door.get(path, x_toolsearch_tenant=tenant, x_toolsearch_timeout="0.2")
    assert (answer.status, answer.info["reason"]) == (503, "REVISION_NOT_REACHED")


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "soon", "1e9", "１"])
def test_a_timeout_that_is_none_is_refused(door: Caller, given: str) -> None:
    answer = door.get("/v1/ListCatalogs", x_toolsearch_timeout=given)
    assert (answer.status, answer.field) == (400, "x-toolsearch-timeout")


def test_a_tenant_beyond_ascii_is_sent_as_utf8(door: Caller) -> None:
    assert door.post("SyncServer", entries("a"), x_toolsearch_tenant="Zürich").status == 200
    tenants: Answer = door.get("/v1/ListTenants?pageSize=1000")
    assert "Zürich" in [each["name"] for each in tenants.json["tenants"]]


def test_work_whose_caller_has_gone_ends(door: Caller, tenant: str) -> None:
    door.post("SyncServer", entries("a"), x_toolsearch_tenant=tenant)
    with closing(door.raw()) as connection:
        head = f"GET /v1/GetTools?names=a&minRevision=1000 HTTP/1.1\r\nhost: localhost\r\nx-toolsearch-tenant: {tenant}\r\n"
        connection.sendall(f"{head}x-toolsearch-timeout: 3600\r\nx-request-id: gone-{tenant}\r\n\r\n".encode())
        wait_for(lambda: door.metric("toolsearch_calls ") >= 1, what="the call")
    wait_for(lambda: f'"request_id": "gone-{tenant}"' in door.process.log, what="the end of the call")
    line = next(line for line in door.process.lines if f"gone-{tenant}" in line)
    assert json.loads(line)["code"] == "CANCELLED"


def test_a_search_over_http_is_part_of_its_callers_trace() -> None:
    arguments = ("--store", "memory:", "--http", "127.0.0.1:0", "--embeddings", "off")
    with collecting() as (collector, endpoint), running_server(*arguments, "--otlp", endpoint) as (process, address):
        caller = Caller(process, address, http_address(process))
        assert caller.post("SyncServer", entries("a")).status == 200
        assert caller.get("/v1/SearchTools?queries=thing&minRevision=1", **dict(CALLER)).status == 200
        process.stop()
        spans = {span.name: span for _, span in collector.of(TRACE)}
    call = spans["toolsearch.v1.ToolSearchService.SearchTools"]
    assert call.parent_span_id.hex() == PARENT
    assert spans["search"].parent_span_id == call.span_id


def test_a_call_under_way_is_answered_while_the_service_drains() -> None:
    arguments = ("--store", "memory:", "--http", "127.0.0.1:0", "--embeddings", "off")
    with running_server(*arguments) as (process, address), ThreadPoolExecutor(1) as threads:
        caller = Caller(process, address, http_address(process))
        assert caller.post("SyncServer", entries("a")).status == 200
        waiting = threads.submit(caller.get, "/v1/GetTools?names=s.a&minRevision=1000", x_toolsearch_timeout="3")
        wait_for(lambda: caller.metric("toolsearch_calls ") == 1, what="the call")
        process.process.send_signal(signal.SIGTERM)
        answer = waiting.result(timeout=20)
        assert (answer.status, answer.info["reason"]) == (503, "REVISION_NOT_REACHED")
        assert process.wait() == 0
