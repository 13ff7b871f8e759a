"""Bad input gets a documented error or a documented coercion, nothing is half-written, and the next request is answered."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from support import running_server, tool
from toolsearch import Client, EntryInput, Filter, InvalidRequest, NotFound, ToolSearchError, rpcstatus
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, search_service_pb2
from toolsearch_server.limits import DEFAULT_LIMITS

SEARCH = "/toolsearch.v1.ToolSearchService"
CATALOG = "/toolsearch.v1.CatalogService"

Raw = Callable[[str, Message | bytes], bytes]


@pytest.fixture
def filled(client: Client) -> Iterator[Client]:
    """A catalog that must be the same, and searchable, after whatever the test does."""
    client.sync_server("s", [tool("a", "thing"), tool("b", "thing")])
    yield client
    assert [match.name for match in client.search("thing").matches] == ["s.a", "s.b"]
    assert client.get_catalog().version.revision == 1


@pytest.fixture
def raw(address: str, tenant: str) -> Iterator[Raw]:
    """Calls with messages, or bytes, that the client would not send."""
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:

        def call(method: str, request: Message | bytes) -> bytes:
            data = request if isinstance(request, bytes) else request.SerializeToString()
            unary: Any = channel.unary_unary(method)
            answer: bytes = unary(data, timeout=20, metadata=[("x-toolsearch-tenant", tenant)])
            return answer

        yield call


def refused(call: Callable[[], object]) -> ToolSearchError:
    with pytest.raises(ToolSearchError) as refusal:
        call()
    return refusal.value


def raw_refusal(call: Callable[[], object]) -> tuple[grpc.StatusCode, rpcstatus.RpcStatus | None]:
    with pytest.raises(grpc.RpcError) as refusal:
        call()
    error: Any = refusal.value
    details = dict(error.trailing_metadata() or ()).get(rpcstatus.METADATA_KEY)
    return error.code(), rpcstatus.RpcStatus.decode(details) if details else None


def test_an_unknown_catalog_is_not_found(address: str, filled: Client, tenant: str) -> None:
    with Client(address, tenant=tenant, catalog="nope") as client:
        for call in (
            lambda: client.search("x"),
            lambda: client.get_tools(["x"]),
            lambda: list(client.list_tools()),
            lambda: list(client.list_namespaces()),
            client.get_catalog,
            client.delete_catalog,
        ):
            error = refused(call)
            assert isinstance(error, NotFound)
            assert (error.reason, error.field, error.metadata["given"]) == ("CATALOG_NOT_FOUND", "catalog", "nope")


@pytest.mark.parametrize(
    ("query", "field"), [("", "queries[0]"), ("  \t", "queries[0]"), ([], "queries"), (["ok", ""], "queries[1]")]
)
def test_an_empty_query_is_refused(filled: Client, query: Any, field: str) -> None:
    error = refused(lambda: filled.search(query))
    assert isinstance(error, InvalidRequest)
    assert (error.reason, error.field) == ("FIELD_REQUIRED", field)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda client: client.search("x", limit=-1), "limit"),
        (lambda client: list(client.list_tools(page_size=-1)), "page_size"),
        (lambda client: client.search("x", min_revision=-1), "min_revision"),
        (lambda client: client.sync_server("s", [], expected_revision=-1), "expected_revision"),
        (lambda client: client.search("x", min_relevance=1.5), "min_relevance"),
        (lambda client: client.search("x", min_relevance=float("nan")), "min_relevance"),
    ],
)
def test_a_number_out_of_range_is_refused_by_field(filled: Client, call: Callable[[Client], object], field: str) -> None:
    error = refused(lambda: call(filled))
    assert (error.reason, error.field) == ("FIELD_INVALID", field)
    assert error.metadata["allowed"]


@pytest.mark.parametrize(
    ("request_message", "field"),
    [
        (search_service_pb2.SearchToolsRequest(queries=["x"], strategy=99), "strategy"),  # type: ignore[arg-type]
        (search_service_pb2.SearchToolsRequest(queries=["x"], detail=99), "detail"),  # type: ignore[arg-type]
        (search_service_pb2.SearchToolsRequest(queries=["x"], fields=[0]), "fields[0]"),  # type: ignore[list-item]
        (search_service_pb2.SearchToolsRequest(queries=["x"], filter=entry_pb2.Filter(kinds=[0])), "filter.kinds[0]"),  # type: ignore[list-item]
    ],
)
def test_an_enum_value_that_does_not_exist_is_refused(filled: Client, raw: Raw, request_message: Message, field: str) -> None:
    code, status = raw_refusal(lambda: raw(f"{SEARCH}/SearchTools", request_message))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and status.metadata["field"] == field


def list_tools(raw: Raw, **fields: Any) -> search_service_pb2.ListToolsResponse:
    return search_service_pb2.ListToolsResponse.FromString(
        raw(f"{SEARCH}/ListTools", search_service_pb2.ListToolsRequest(**fields))
    )


@pytest.mark.parametrize("token", ["x", "!!!", "AAAA", "////", "é", "A" * 10_000])
def test_a_broken_page_token_is_refused(filled: Client, raw: Raw, token: str) -> None:
    code, status = raw_refusal(lambda: list_tools(raw, page_token=token))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and status.reason == "PAGE_TOKEN_INVALID"


def test_a_page_token_of_another_query_is_refused(filled: Client, raw: Raw) -> None:
    token = list_tools(raw, page_size=1).next_page_token
    assert [entry.name for entry in list_tools(raw, page_token=token).entries] == ["s.b"]
    assert [entry.name for entry in list_tools(raw, catalog="default", page_token=token).entries] == ["s.b"]
    for other in ({"filter": entry_pb2.Filter(servers=["s"])}, {"catalog": "other"}):
        _, status = raw_refusal(lambda other=other: list_tools(raw, page_token=token, **other))  # type: ignore[misc]
        assert status is not None and status.reason == "PAGE_TOKEN_INVALID"
    request = search_service_pb2.ListNamespacesRequest(page_token=token)
    _, status = raw_refusal(lambda: raw(f"{SEARCH}/ListNamespaces", request))
    assert status is not None and status.reason == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize(
    ("definition", "reason", "field"),
    [
        ({"name": "x", "inputSchema": []}, "DEFINITION_INVALID", "upserts[1].definition.inputSchema"),
        ({"name": "x", "inputSchema": "object"}, "DEFINITION_INVALID", "upserts[1].definition.inputSchema"),
        ({"description": "no name"}, "DEFINITION_INVALID", "upserts[1].definition.name"),
        ({"name": ""}, "FIELD_REQUIRED", "upserts[1].definition.name"),
        ({"name": "bell\a"}, "FIELD_INVALID", "upserts[1].definition.name"),
        ({"name": "n" * 257}, "LIMIT_EXCEEDED", "upserts[1].definition.name"),
        ({"name": "x", "description": "y" * 256 * 1024}, "LIMIT_EXCEEDED", "upserts[1].definition"),
        ({"name": "x", "description": 5}, "DEFINITION_INVALID", "upserts[1].definition.description"),
    ],
)
def test_one_bad_definition_refuses_the_whole_write(
    filled: Client, definition: dict[str, Any], reason: str, field: str
) -> None:
    error = refused(lambda: filled.apply_changes([tool("good"), definition]))
    assert isinstance(error, InvalidRequest)
    assert (error.reason, error.field) == (reason, field)


def test_a_schema_nested_200_deep_is_refused(filled: Client) -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"properties": {"inner": schema}}
    error = refused(lambda: filled.sync_server("s", [{"name": "deep", "inputSchema": schema}]))
    assert (error.reason, error.metadata["limit"]) == ("LIMIT_EXCEEDED", "definition_depth")


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"name": NaN}', '{"name": "a"', "\u0000"])
def test_a_definition_that_is_not_json_is_refused(filled: Client, raw: Raw, text: str) -> None:
    request = catalog_pb.SyncServerRequest(server="s", entries=[entry_pb2.EntryInput(definition=text)])
    code, status = raw_refusal(lambda: raw(f"{CATALOG}/SyncServer", request))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and status.reason == "DEFINITION_INVALID"


def test_the_same_entry_twice_in_one_request_is_refused(filled: Client) -> None:
    for call in (
        lambda: filled.sync_server("s", [tool("x"), tool("y"), tool("x", "again")]),
        lambda: filled.apply_changes([tool("x"), tool("y"), tool("x", "again")]),
    ):
        error = refused(call)
        assert error.reason == "DUPLICATE_ENTRY"
        assert error.field.endswith("[2]")


def test_an_entry_both_written_and_deleted_is_refused(filled: Client) -> None:
    error = refused(lambda: filled.apply_changes([EntryInput(definition=tool("a"), server="s")], deletes=["s.a"]))
    assert error.reason == "DUPLICATE_ENTRY"


def test_a_sync_with_an_entry_of_another_server_is_refused(filled: Client) -> None:
    error = refused(lambda: filled.sync_server("s", [EntryInput(definition=tool("x"), server="t")]))
    assert (error.reason, error.field) == ("FIELD_INVALID", "entries[0].server")


def test_bytes_that_are_not_utf_8_are_refused(filled: Client, raw: Raw) -> None:
    invalid = b"\x12\x02\xff\xfe"  # queries[0] of SearchToolsRequest
    code, status = raw_refusal(lambda: raw(f"{SEARCH}/SearchTools", invalid))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and status.reason == "MALFORMED_REQUEST"


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x12"])
def test_bytes_that_are_no_message_are_refused(filled: Client, raw: Raw, data: bytes) -> None:
    code, status = raw_refusal(lambda: raw(f"{CATALOG}/ApplyChanges", data))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and status.reason == "MALFORMED_REQUEST"


def test_a_64_mib_message_is_refused(filled: Client, raw: Raw) -> None:
    code, _ = raw_refusal(lambda: raw(f"{SEARCH}/SearchTools", b"\x12" + b"x" * 64 * 1024 * 1024))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_request_just_below_the_message_limit_is_read(filled: Client, raw: Raw) -> None:
    query = "x" * (DEFAULT_LIMITS.request_bytes - 1000)
    _, status = raw_refusal(lambda: raw(f"{SEARCH}/SearchTools", search_service_pb2.SearchToolsRequest(queries=[query])))
    assert status is not None and status.metadata["limit"] == "query_length"


@pytest.mark.parametrize(
    ("limit", "call"),
    [
        ("query_length", lambda client, n: client.search("q" * n, strategy="bm25")),
        ("queries_per_request", lambda client, n: client.search([f"q{number}" for number in range(n)])),
        ("pattern_length", lambda client, n: client.search("q" * n, strategy="regex")),
        ("names_per_get", lambda client, n: client.get_tools([f"n{number}" for number in range(n)])),
    ],
)
def test_a_request_at_a_limit_is_answered_and_over_it_refused(
    filled: Client, limit: str, call: Callable[[Client, int], object]
) -> None:
    allowed = getattr(DEFAULT_LIMITS, limit)
    call(filled, allowed)
    error = refused(lambda: call(filled, allowed + 1))
    assert isinstance(error, InvalidRequest)
    assert (error.reason, error.metadata["limit"], error.metadata["allowed"]) == ("LIMIT_EXCEEDED", limit, str(allowed))


def test_a_filter_list_at_the_limit_is_answered_and_over_it_refused(filled: Client) -> None:
    allowed = DEFAULT_LIMITS.filter_values
    for field in ("servers", "namespaces", "tags", "capabilities", "excluded_names"):
        filled.search("x", filter=Filter(**{field: ["v"] * allowed}))  # type: ignore[arg-type]
        over = Filter(**{field: ["v"] * (allowed + 1)})  # type: ignore[arg-type]
        error = refused(lambda over=over: filled.search("x", filter=over))  # type: ignore[misc]
        assert (error.field, error.metadata["limit"]) == (f"filter.{field}", "filter_values")


def test_a_filter_value_or_a_name_at_its_length_is_answered_and_over_it_refused(filled: Client) -> None:
    for length, allowed in ((400, True), (401, False)):
        for call in (
            lambda length=length: filled.search("x", filter=Filter(servers=["[" * length])),
            lambda length=length: filled.get_tools(["n" * length]),
        ):
            if allowed:
                call()
            else:
                error = refused(call)
                assert (error.reason, error.metadata["allowed"]) == ("LIMIT_EXCEEDED", "400")


@pytest.mark.parametrize("length", [128, 129])
def test_names_of_catalogs_and_tenants_have_a_limit(address: str, tenant: str, length: int) -> None:
    with Client(address, tenant=tenant, catalog="c" * length) as by_catalog, Client(address, tenant="t" * length) as by_tenant:
        for client, field in ((by_catalog, "catalog"), (by_tenant, "x-toolsearch-tenant")):
            error = refused(lambda client=client: client.search("x"))  # type: ignore[misc]
            if length == 128:
                assert error.reason == "CATALOG_NOT_FOUND"
            else:
                assert (error.reason, error.field) == ("LIMIT_EXCEEDED", field)


@pytest.mark.parametrize("page_size", [1000, 5000])
def test_a_page_size_over_the_maximum_is_taken_as_the_maximum(client: Client, raw: Raw, page_size: int) -> None:
    client.sync_server("s", [tool(f"t{number}") for number in range(1001)])
    found = list_tools(raw, page_size=page_size, detail="DETAIL_NAME")
    assert (len(found.entries), found.total_size) == (1000, 1001)
    assert found.next_page_token


def test_a_page_of_huge_definitions_is_cut_by_bytes_and_goes_on(client: Client, raw: Raw) -> None:
    client.sync_server("s", [tool(f"t{number:02}", "x" * 250_000) for number in range(40)])
    first = list_tools(raw, detail="DETAIL_FULL")
    assert 0 < len(first.entries) < 40
    assert first.ByteSize() < 4 * 1024 * 1024
    assert [entry.name for entry in client.list_tools(detail="full")] == [f"s.t{number:02}" for number in range(40)]


def test_huge_definitions_come_in_several_answers_that_any_client_takes(client: Client, raw: Raw) -> None:
    names = [f"s.t{number:02}" for number in range(40)]
    client.sync_server("s", [tool(f"t{number:02}", "x" * 125_000) for number in range(40)])
    request = search_service_pb2.GetToolsRequest(names=names)
    first = search_service_pb2.GetToolsResponse.FromString(raw(f"{SEARCH}/GetTools", request))
    assert 0 < len(first.entries) < 40
    assert [entry.name for entry in first.entries] + list(first.omitted_names) == names
    assert [entry.name for entry in client.get_tools(names).entries] == names

    searching = search_service_pb2.SearchToolsRequest(queries=["^s"], limit=40, detail="DETAIL_FULL", strategy="STRATEGY_REGEX")
    found = search_service_pb2.SearchToolsResponse.FromString(raw(f"{SEARCH}/SearchTools", searching))
    assert len(found.matches) == 40
    assert found.matches[0].entry.definition
    assert not found.matches[39].entry.definition
    assert found.matches[39].entry.summary


def test_an_unknown_method_is_unimplemented(raw: Raw) -> None:
    code, _ = raw_refusal(lambda: raw(f"{SEARCH}/NoSuchMethod", b""))
    assert code is grpc.StatusCode.UNIMPLEMENTED


METHODS = [
    *(f"{SEARCH}/{name}" for name in ("SearchTools", "ListTools", "ListNamespaces", "GetTools")),
    *(
        f"{CATALOG}/{name}"
        for name in ("ApplyChanges", "SyncServer", "DeleteServer", "GetCatalog", "ListCatalogs", "DeleteCatalog")
    ),
]


@pytest.fixture(scope="module")
def channel(address: str) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(address) as channel:
        yield channel


REFUSALS = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.ABORTED}


@given(method=st.sampled_from(METHODS), data=st.binary(max_size=60))
@settings(max_examples=500)
def test_no_bytes_make_the_service_fail(channel: grpc.Channel, method: str, data: bytes) -> None:
    call: Any = channel.unary_unary(method)
    try:
        call(data, timeout=20, metadata=[("x-toolsearch-tenant", "fuzz")])
    except grpc.RpcError as error:
        assert error.code() in REFUSALS


HOSTILE_TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=60) | st.sampled_from(
    [
        "(" * 500,
        "[" * 400,
        "a{1000}{1000}",
        "(a*)*b",
        "\\",
        ".*" * 200,
        "^" * 499,
        "💥" * 100,
        "\u202e\u0000",
        "(?i)(?s)(?m).",
        "a|" * 200,
    ]
)


@pytest.fixture(scope="module")
def hostile(address: str) -> Iterator[Client]:
    with Client(address, tenant="hostile") as client:
        client.sync_server("s", [tool(f"tool_{number}", f"does thing {number}") for number in range(200)])
        yield client


@given(query=HOSTILE_TEXT, strategy=st.sampled_from(["auto", "bm25", "regex", "fuzzy", "hybrid"]))
@settings(max_examples=1000)
def test_a_thousand_hostile_queries_are_answered_or_refused(hostile: Client, query: str, strategy: str) -> None:
    try:
        hostile.search(query, strategy=strategy)
    except InvalidRequest as refusal:
        assert refusal.reason in {"PATTERN_INVALID", "FIELD_REQUIRED"}


def test_an_epoch_longer_than_any_is_refused(filled: Client, raw: Raw) -> None:
    length = DEFAULT_LIMITS.epoch_length
    request = search_service_pb2.SearchToolsRequest(queries=["thing"], min_revision=1, epoch="x" * length)
    raw(f"{SEARCH}/SearchTools", request)
    request.epoch += "x"
    code, status = raw_refusal(lambda: raw(f"{SEARCH}/SearchTools", request))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert status is not None and (status.reason, status.metadata["limit"]) == ("LIMIT_EXCEEDED", "epoch_length")


def test_a_revision_expected_of_a_catalog_that_does_not_exist_is_not_its_revision(client: Client) -> None:
    error = refused(lambda: client.sync_server("s", [tool("a")], expected_revision=5))
    assert (error.reason, error.metadata["given"], error.metadata["allowed"]) == ("REVISION_MISMATCH", "5", "0")


def test_no_name_can_forge_a_line_of_the_log() -> None:
    forging = "x\u2028{}\u0085{}"
    with running_server("--store", "memory:", "--log-level", "debug") as (server, address):
        with Client(address, catalog=forging.replace("\u0085", "")) as client, pytest.raises(ToolSearchError):
            client.search("x")
        with Client(address, catalog="x\u202e{}") as client, pytest.raises(ToolSearchError):
            client.search("x")
        server.stop()
        assert server.log.isascii()
