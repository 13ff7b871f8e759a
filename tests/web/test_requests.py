"""Bodies, parameters and headers that are read, and those that are refused."""

import json
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote_plus

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, search_service_pb2
from toolsearch_server.errors import FieldInvalid, ServiceError
from toolsearch_server.web.messages import as_json, from_json, from_query
from web.caller import JSON, Caller
from web.conftest import REQUEST_BYTES

SEARCH: Any = search_service_pb2.SearchToolsRequest.DESCRIPTOR
APPLY: Any = catalog_pb.ApplyChangesRequest.DESCRIPTOR


def padded(size: int) -> bytes:
    return b'{"names": ["x"]}'.ljust(size)


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(door: Caller) -> None:
    assert door.post("GetTools", padded(REQUEST_BYTES)).info["reason"] == "CATALOG_NOT_FOUND"
    answer = door.post("GetTools", padded(REQUEST_BYTES + 1))
    assert (answer.status, answer.info["reason"]) == (413, "LIMIT_EXCEEDED")
    assert answer.info["metadata"]["limit"] == "request_bytes"


def test_a_body_that_does_not_say_its_size_is_cut_off_at_the_limit(door: Caller) -> None:
    chunk = padded(REQUEST_BYTES // 4)
    chunks = f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n"
    with closing(door.raw()) as connection:
        connection.sendall(b"POST /v1/GetTools HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"transfer-encoding: chunked\r\n\r\n" + chunks * 4 + b"1\r\n \r\n")
        assert connection.recv(12) == b"HTTP/1.1 413"


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "application/jsonx"],
)
def test_a_body_that_is_not_said_to_be_json_is_refused(door: Caller, content_type: str | None) -> None:
    headers = [] if content_type is None else [("content-type", content_type)]
    answer = door.send("POST", "/v1/DeleteCatalog", b"{}", headers)
    assert (answer.status, answer.field) == (415, "content-type")


def test_no_body_is_an_empty_message_and_still_has_to_be_said_to_be_json(door: Caller, tenant: str) -> None:
    """A page elsewhere may post nothing at all without asking first, and deleting takes no more."""
    tenant_header = ("x-toolsearch-tenant", tenant)
    assert door.send("POST", "/v1/ListCatalogs", b"", [*JSON.items(), tenant_header]).json["catalogs"] == []
    assert door.send("POST", "/v1/ListCatalogs", None, [tenant_header]).status == 415


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_may_be_called_so_in_more_than_one_way(door: Caller, content_type: str) -> None:
    assert door.send("POST", "/v1/ListCatalogs", b"{}", [("content-type", content_type)]).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"3",
        b"null",
        b"{",
        b"\xff",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b'{"queries": ["a"], "queries": ["b"]}',
        b"[" * 100_000,
        b'{"filter":' * 100_000,
        b'{"limit": ' + b"9" * 5_000 + b"}",
        b'{"\\ud800": 1}',
        b'{"filter": {"\\ud800": 1}}',
        b'{"strategy": "\\ud800"}',
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_not_a_json_object_is_a_malformed_request(door: Caller, body: bytes) -> None:
    answer = door.post("SearchTools", body)
    assert (answer.status, answer.info["reason"]) == (400, "MALFORMED_REQUEST")
    assert len(answer.body) < 2_000


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"nonsense": 1}', "nonsense"),
        ('{"filter": {"nonsense": 1}}', "filter.nonsense"),
        ('{"limit": "x"}', "limit"),
        ('{"limit": 1.5}', "limit"),
        ('{"limit": 99999999999}', "limit"),
        ('{"limit": 1e400}', "limit"),
        ('{"minRelevance": NaN}', "minRelevance"),
        ('{"queries": "a"}', "queries"),
        ('{"queries": [null]}', "queries[0]"),
        ('{"queries": ["\\ud800"]}', "queries[0]"),
        ('{"filter": 3}', "filter"),
        ('{"filter": {"kinds": ["x"]}}', "filter.kinds"),
        ('{"strategy": "BM25"}', "strategy"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(door: Caller, body: str, field: str) -> None:
    answer = door.post("SearchTools", body.encode())
    assert (answer.status, answer.info["reason"]) == (400, "FIELD_INVALID")
    assert answer.field.startswith(field)
    violations = [each["fieldViolations"] for each in answer.json["details"] if "fieldViolations" in each]
    assert violations[0][0]["field"] == answer.field


@pytest.mark.parametrize(
    "body",
    [
        "{" + "".join(f'"{number}": 0, ' for number in range(70_000)) + '"69999": 0}',
        json.dumps({"strategy": 'has no field named "' * 40_000}),
        json.dumps({"x" * 900_000: 0}),
    ],
    ids=["many names, one of them twice", "a text like what is said of unknown fields", "a long name"],
)
def test_large_bodies_that_cannot_be_read_are_refused_at_once(door: Caller, body: str) -> None:
    """In a time that grows with their size, not with its square: that would be minutes here."""
    answer = door.post("SearchTools", body.encode())
    assert answer.status == 400
    assert len(answer.body) < 2_000


def test_a_field_deep_inside_is_named_by_its_path() -> None:
    with pytest.raises(FieldInvalid) as refusal:
        from_json(APPLY)(b'{"upserts": [{}, {"resources": [{"nonsense": 1}]}]}')
    assert refusal.value.field == "upserts[1].resources[0].nonsense"
    assert refusal.value.allowed == "path, mediaType, content"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("queries=a&limit=1&limit=2", "limit"),
        ("nonsense=1", "nonsense"),
        ("filter=x", "filter"),
        ("filter.nonsense=1", "filter.nonsense"),
        ("limit.x=1", "limit"),
        ("explain=yes", "explain"),
        ("strategy=bm25", "strategy"),
        ("limit=", "limit"),
        ("limit=x", "limit"),
        ("filter.readOnly=true&filter.read_only=false", "filter.read_only"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_named(query: str, field: str) -> None:
    with pytest.raises(FieldInvalid) as refusal:
        from_query(SEARCH)(query.encode())
    assert refusal.value.field == field


@pytest.mark.parametrize("query", ["queries=%ff", "queries=é", "&".join(["queries=a"] * 3_000)])
def test_parameters_that_are_none_are_a_malformed_request(query: str) -> None:
    with pytest.raises(ServiceError, match="parameters"):
        from_query(SEARCH)(query.encode())


def test_a_message_in_a_list_cannot_be_said_in_a_url() -> None:
    with pytest.raises(FieldInvalid, match="by POST"):
        from_query(APPLY)(b"upserts.server=x")


TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)
FILTERS = st.builds(
    entry_pb2.Filter,
    servers=st.lists(TEXTS, max_size=3),
    kinds=st.lists(st.sampled_from([1, 2, 3]), max_size=2),
    read_only=st.none() | st.booleans(),
)
REQUESTS = st.builds(
    search_service_pb2.SearchToolsRequest,
    catalog=TEXTS,
    queries=st.lists(TEXTS, max_size=3),
    strategy=st.sampled_from([0, 1, 2]),
    limit=st.integers(-(2**31), 2**31 - 1),
    filter=FILTERS,
    min_revision=st.integers(-(2**63), 2**63 - 1),
    explain=st.booleans(),
    min_relevance=st.floats(allow_nan=False, allow_infinity=False),
)


@given(REQUESTS)
def test_every_request_survives_json(request: Message) -> None:
    assert from_json(SEARCH)(as_json(request)) == request


@given(REQUESTS, st.booleans())
def test_every_request_without_messages_in_lists_survives_a_url(request: Message, by_proto_names: bool) -> None:
    told = json_format.MessageToDict(request, preserving_proto_field_name=by_proto_names)
    decoded = from_query(SEARCH)(in_url(told).encode())
    if not request.filter.ListFields():  # type: ignore[attr-defined]  # an empty message cannot be told from none
        request.ClearField("filter")
    assert decoded == request


def in_url(told: Any) -> str:
    def pairs(value: Any, path: str) -> list[str]:
        if isinstance(value, dict):
            return [pair for name, each in value.items() for pair in pairs(each, f"{path}.{name}" if path else name)]
        if isinstance(value, list):
            return [pair for each in value for pair in pairs(each, path)]
        text = json.dumps(value) if isinstance(value, bool | float) else str(value)
        return [f"{path}={quote_plus(text)}"]

    return "&".join(pairs(told, ""))


@given(st.binary(max_size=80))
def test_no_parameters_do_more_than_be_refused(query: bytes) -> None:
    for kind in (SEARCH, APPLY):
        with suppress(ServiceError):
            from_query(kind)(query)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["queries", "limit", "filter", "kinds", "upserts", "definition", "x"]), inner, max_size=3
        )
    ),
)


@given(
    st.dictionaries(
        st.sampled_from(["queries", "limit", "filter", "upserts", "deletes", "explain", "minRevision"]), JSON_VALUES
    )
)
def test_no_json_does_more_than_be_refused(value: Any) -> None:
    for kind in (SEARCH, APPLY):
        with suppress(ServiceError):
            from_json(kind)(json.dumps(value).encode())


def test_a_method_that_does_not_exist_is_404_and_near_ones_are_named(door: Caller) -> None:
    answer = door.get("/v1/SearchTool")
    assert answer.status == 404 and answer.json["code"] == 5
    assert "SearchTools" in answer.json["message"]


@pytest.mark.parametrize(
    "path", ["/v1/", "/v1/SearchTools/", "/v1//SearchTools", "/v1/..", "/v1/%2e%2e/metrics", "/v2/SearchTools", "/v1"]
)
def test_other_paths_are_404(door: Caller, path: str) -> None:
    assert door.get(path).status == 404


def test_head_is_not_answered_by_a_call(door: Caller) -> None:
    answer = door.send("HEAD", "/v1/ListCatalogs")
    assert (answer.status, answer.headers["allow"], answer.body) == (405, "GET, POST", b"")


def test_answers_are_not_kept_and_not_guessed_at(door: Caller) -> None:
    for answer in (door.get("/v1/ListCatalogs"), door.get("/v1/nothing")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("value", [b"\xff", "é".encode(), "\u2028".encode()])
def test_a_request_id_is_ascii(door: Caller, value: bytes) -> None:
    with closing(door.connection()) as connection:
        connection.putrequest("GET", "/v1/ListCatalogs")
        connection.putheader("x-request-id", value)
        connection.endheaders()
        assert connection.getresponse().status == 400


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 2\r\ncontent-length: 3\r\n",
        b"content-length: 2, 3\r\n",
        b"content-length: -2\r\n",
        b"content-length: " + b"9" * 5_000 + b"\r\n",
        b"content-length: +2\r\n",
        b"transfer-encoding: gzip\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 2\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"authorization : Bearer x\r\ncontent-length: 2\r\n",
        b"content-length: 2\r\n\x00: x\r\n",
    ],
)
def test_heads_that_two_readers_may_read_differently_are_refused(door: Caller, head: bytes) -> None:
    with closing(door.raw()) as connection:
        connection.sendall(
            b"POST /v1/ListCatalogs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" + head + b"\r\n{}"
        )
        assert connection.recv(13).split(b" ")[1][:1] in (b"4", b"5")
