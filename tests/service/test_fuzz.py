"""Every RPC of a server with credentials, called with what no client would send: nothing fails, nothing leaks.

Whatever is sent, `Fuzzed.attempt` looks at the answer: a refusal has a reason of the contract and the code that belongs to it,
and no part of it holds anything of another tenant's. The victim's texts, names and keys are random, so that nothing but a leak
can repeat them.
"""

import base64
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from support import ServerProcess, running_server, tool
from toolsearch import Client, EntryInput, NotFound, ResourceInput, rpcstatus
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, plan_pb2, search_service_pb2, settings_pb2
from toolsearch.v1.error_reason_pb2 import ErrorReason
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import dump_keys, new_key
from toolsearch_server.rpc.status import CODES

SERVICES = (
    search_service_pb2.DESCRIPTOR.services_by_name["ToolSearchService"],
    catalog_pb.DESCRIPTOR.services_by_name["CatalogService"],
)
CODE_NAMES = {ErrorReason.Name(reason): code.name for reason, code in CODES.items()}
METHODS = {method.name: method for service in SERVICES for method in service.methods}

EXAMPLES = 120
"""Of each method, for each way of making requests."""
PATIENCE_SECONDS = 20.0
SHORT_SECONDS = 0.3
"""For calls that ask the service to wait for a revision, which may never come."""

VICTIM = "victim"
PAYROLL = "payroll"
GUESSED = ("default", PAYROLL)
"""Names of the victim's catalogs that an attacker may think of."""

Metadata = Sequence[tuple[str, str | bytes]]


@dataclass(frozen=True)
class Outcome:
    """`status` is what a refusal says; None for an answer."""

    code: grpc.StatusCode
    status: rpcstatus.RpcStatus | None = None


class Fuzzed:
    """A server, an attacker's keys to it, and a victim's secrets in it."""

    def __init__(self, server: ServerProcess, address: str, keys: dict[str, str]) -> None:
        self.server = server
        self.keys = keys
        self.marker = f"zq{secrets.token_hex(8)}"
        self.hidden_catalog = f"hidden-{secrets.token_hex(8)}"
        self.victim_page_token = ""
        self._address = address
        self._channel = grpc.insecure_channel(address)
        self._fill()

    def close(self) -> None:
        self._channel.close()

    def client(self, who: str, catalog: str = "default") -> Client:
        return Client(self._address, api_key=self.keys[who], catalog=catalog)

    @property
    def victim_catalogs(self) -> tuple[str, ...]:
        return (*GUESSED, self.hidden_catalog)

    def _fill(self) -> None:
        for catalog in self.victim_catalogs:
            with self.client("victim", catalog) as client:
                client.sync_server(f"{self.marker}server", [self._victims_tool("pay"), self._victims_tool("invoice")])
        listing = search_service_pb2.ListToolsRequest(page_size=1)
        call: Any = self._channel.unary_unary(_path(METHODS["ListTools"]))
        answer = call(listing.SerializeToString(), metadata=[("authorization", f"Bearer {self.keys['victim']}")])
        self.victim_page_token = search_service_pb2.ListToolsResponse.FromString(answer).next_page_token
        self.refill()

    def _victims_tool(self, name: str) -> EntryInput:
        parameters = {f"{self.marker}parameter": {"description": "amount of money"}}
        definition = tool(f"{name}_{self.marker}", f"pay an invoice, create an issue {self.marker}", parameters=parameters)
        return EntryInput(definition=definition, resources=[ResourceInput("f", self.marker.encode())])

    def refill(self) -> None:
        """What the attacker's own catalog has, whatever the attacker did to it."""
        with self.client("writer") as client:
            issue = EntryInput(definition=tool("create_issue", "create an issue"), resources=[ResourceInput("f", b"own")])
            client.sync_server("own", [issue, tool("list_files", "list files")])

    def attempt(self, method: MethodDescriptor, data: bytes, metadata: Metadata) -> Outcome:
        """Send it, and see that what comes back is in order."""
        waits = _asks_to_wait(method, data)
        try:
            told = [self._called(method, data, metadata, SHORT_SECONDS if waits else PATIENCE_SECONDS)]
            outcome = Outcome(grpc.StatusCode.OK)
        except grpc.RpcError as error:
            told, outcome = _refusal(error)
            _check_refusal(outcome, patient=not waits)
        for part in told:
            for secret in (self.marker, self.hidden_catalog, *self.keys.values()):
                assert secret.encode() not in part, f"the answer holds what belongs to another tenant: {part!r}"
        return outcome

    def _called(self, method: MethodDescriptor, data: bytes, metadata: Metadata, seconds: float) -> bytes:
        if not method.server_streaming:
            unary: Any = self._channel.unary_unary(_path(method))
            answer: bytes = unary(data, timeout=seconds, metadata=metadata)
            return answer
        stream: Any = self._channel.unary_stream(_path(method))
        answers = stream(data, timeout=seconds, metadata=metadata)
        first: bytes = next(answers)
        answers.cancel()
        return first

    def check_unharmed(self) -> None:
        """The server answers, and the victim has all that it had."""
        assert self.server.process.poll() is None, self.server.log
        for catalog in self.victim_catalogs:
            with self.client("victim", catalog) as client:
                assert [match.server for match in client.search("pay an invoice").matches] == [f"{self.marker}server"] * 2
                assert client.get_catalog().version.revision == 1
        with self.client("victim") as client:
            assert {listing.name for listing in client.list_catalogs()} == set(self.victim_catalogs)

    def check_log(self) -> None:
        log = self.server.log
        assert "call failed" not in log
        assert "Traceback" not in log
        for line in self.server.lines:
            assert line.startswith('{"'), f"something wrote to the log that is no record: {line}"
        for text in self.keys.values():
            secret = text.split("_", maxsplit=2)[2]  # which may have underscores of its own
            assert text not in log and secret not in log, "the log holds an API key"


def _path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _asks_to_wait(method: MethodDescriptor, data: bytes) -> bool:
    try:
        request: Any = message_factory.GetMessageClass(method.input_type).FromString(data)
    except DecodeError:
        return False
    return getattr(request, "min_revision", 0) > 0


def _refusal(error: Any) -> tuple[list[bytes], Outcome]:
    """All that the caller was told, and what it means."""
    trailing = dict(error.trailing_metadata() or ())
    details = trailing.get(rpcstatus.METADATA_KEY)
    values = [value if isinstance(value, bytes) else value.encode() for value in trailing.values()]
    status = None if details is None else rpcstatus.RpcStatus.decode(details)
    return [(error.details() or "").encode(), *values], Outcome(error.code(), status)


def _check_refusal(outcome: Outcome, *, patient: bool) -> None:
    if outcome.code is grpc.StatusCode.DEADLINE_EXCEEDED and not patient:
        return
    assert outcome.status is not None, f"{outcome.code} has no reason"
    assert outcome.code is not grpc.StatusCode.INTERNAL, outcome
    assert CODE_NAMES[f"ERROR_REASON_{outcome.status.reason}"] == outcome.code.name, outcome
    assert outcome.status.message


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "keys.json"
    tenants = {"reader": "mallory", "writer": "mallory", "admin": "operations", "victim": VICTIM}
    roles = {"reader": Role.READER, "writer": Role.WRITER, "admin": Role.ADMIN, "victim": Role.WRITER}
    made = {who: new_key(tenant, roles[who]) for who, tenant in tenants.items()}
    path.write_text(dump_keys(key for key, _ in made.values()))
    arguments = ("--store", "memory:", "--keys", str(path), "--log-level", "debug", "--log-queries")
    with running_server(*arguments) as (server, address):
        fuzzed = Fuzzed(server, address, {who: text for who, (_, text) in made.items()})
        yield fuzzed
        fuzzed.close()
        server.stop()
        fuzzed.check_log()


@pytest.fixture(autouse=True)
def unharmed(fuzzed: Fuzzed) -> Iterator[None]:
    fuzzed.refill()
    yield
    fuzzed.check_unharmed()
    fuzzed.check_log()


# Requests made from the contract

WORDS = st.sampled_from(["create an issue", "pay an invoice", "list files", "own", "own.create_issue", "s3.file", "*", "?"])
ODD_TEXTS = st.sampled_from(
    [
        "",
        " ",
        "\0",
        "\u202e\u2066",
        "a\nb\r\n",
        "..",
        "../../etc/passwd",
        "{}",
        "{0.__class__}",
        "%s%n",
        ":",
        f"{VICTIM}:default",
        f"{VICTIM}\0default",
        "рayroll",  # the first letter is Cyrillic
        "ﬁle",
        "e\u0301" * 40,
        "💥" * 130,
        "漢" * 500,
        "\U0010ffff",
        "x" * 129,
        "x" * 40_000,
        "(" * 500,
        "(" + "💥" * 498,
        "a{1000}{1000}",
        "(a*)*b",
        ".*" * 200,
        "[" * 400,
        "*a" * 150,
        "(?i)(?s)(?m).",
        "\\",
        base64.urlsafe_b64encode(b"12345678default").decode(),
        base64.urlsafe_b64encode(b"\xff" * 20).decode(),
    ]
)
TEXTS = WORDS | ODD_TEXTS | st.text(alphabet=st.characters(codec="utf-8"), max_size=40)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(codec="utf-8"), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda text: len(text) < 200), inner, max_size=3),
    max_leaves=8,
)
DEFINITIONS = (
    st.fixed_dictionaries(
        {"name": TEXTS},
        optional={
            "description": TEXTS,
            "title": JSON_VALUES,
            "inputSchema": JSON_VALUES,
            "annotations": JSON_VALUES,
            "_meta": JSON_VALUES,
        },
    ).map(json.dumps)
    | JSON_VALUES.map(json.dumps)
    | st.sampled_from(
        [
            "[" * 100_000,
            '{"a":' * 5_000,
            '{"name": "n", "inputSchema": ' + '{"properties": {"p": ' * 200 + "{}" + "}}" * 200 + "}",
            '{"name": "n", "inputSchema": {"$ref": "#"}}',
            '{"name": "n", "description": "\\ud800"}',
            '{"name": "\\udfff\\ud800"}',
            '{"name": "n", "x": 1e999999}',
            '{"name": "n", "x": ' + "9" * 5_000 + "}",
            '{"name": "n", "name": "m"}',
        ]
    )
    | TEXTS
)


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Odd in one of eight: with more of it in one message, hardly any would get past the first check."""
    return st.integers(0, 7).flatmap(lambda chance: usual if chance else odd)


INTEGERS = st.integers(0, 3)
BY_TYPE = {
    FieldDescriptor.CPPTYPE_INT32: mostly(INTEGERS, st.sampled_from([-1, 1_001, 2**31 - 1, -(2**31)])),
    FieldDescriptor.CPPTYPE_INT64: mostly(INTEGERS, st.sampled_from([-1, 2**53 + 1, 2**63 - 1, -(2**63)])),
    FieldDescriptor.CPPTYPE_DOUBLE: mostly(st.sampled_from([0.0, 0.3, 1.0]), st.floats()),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_ENUM: mostly(st.integers(1, 3), st.sampled_from([0, 4, 5, 6, 7, -1, 2**31 - 1, -(2**31)])),
}
SHORT_TEXTS = mostly(WORDS, TEXTS)
BY_NAME = {
    "catalog": mostly(st.sampled_from(["", "default", "own", *GUESSED]), TEXTS),
    "definition": DEFINITIONS,
    "content": st.binary(max_size=40),
    "path": mostly(st.sampled_from(["f", "g/h", "../f", "/f"]), TEXTS),
    "min_revision": mostly(st.just(0), st.sampled_from([0, 0, 0, 1, 2, -1, -(2**63), 2**63 - 1])),
    "page_token": mostly(st.just(""), TEXTS),
    "queries": mostly(WORDS, ODD_TEXTS | st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=40)),
}
ALWAYS_SET = {"queries", "names", "definition"}
"""Without them little happens."""


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return messages(field.message_type)
    return BY_NAME.get(field.name, BY_TYPE.get(field.cpp_type, SHORT_TEXTS))


def _field(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        members = field.message_type.fields_by_name
        return st.dictionaries(values(members["key"]), values(members["value"]), max_size=3)
    if field.is_repeated:
        return st.lists(values(field), min_size=field.name in ALWAYS_SET, max_size=3)
    return values(field)


def messages(descriptor: Descriptor) -> st.SearchStrategy[Message]:
    """Messages of a type, with any of its fields set to anything that can be sent."""
    message_class = message_factory.GetMessageClass(descriptor)
    fields = {field.name: _field(field) for field in descriptor.fields}
    required = {name: chosen for name, chosen in fields.items() if name in ALWAYS_SET}
    optional = {name: chosen for name, chosen in fields.items() if name not in ALWAYS_SET}
    return st.fixed_dictionaries(required, optional=optional).map(lambda chosen: message_class(**chosen))


# Bytes that are nearly requests


def _valid_requests() -> dict[str, Message]:
    """One for each method, with most of its fields set."""
    wanted = entry_pb2.Filter(servers=["own"], namespaces=["own"], read_only=False, excluded_names=["x"])
    entry = entry_pb2.EntryInput(server="own", definition=json.dumps(tool("create_issue", "create an issue")), tags=["a"])
    entry.resources.add(path="f", content=b"own")
    reading: dict[str, Any] = {"catalog": "default", "epoch": "e"}
    return {
        "SearchTools": search_service_pb2.SearchToolsRequest(queries=["create", "^l.*"], limit=3, filter=wanted, **reading),
        "ListTools": search_service_pb2.ListToolsRequest(filter=wanted, page_size=1, **reading),
        "ListNamespaces": search_service_pb2.ListNamespacesRequest(parent="own", page_size=1, **reading),
        "GetTools": search_service_pb2.GetToolsRequest(names=["own.create_issue", "own.creat_issue"], **reading),
        "PlanTools": plan_pb2.PlanToolsRequest(
            provider="openai",
            model="gpt-5.4",
            config=plan_pb2.ToolSearchConfig(
                min_tokens=0,
                eager_tools={"own": plan_pb2.Globs(globs=["c*"])},
                models=[plan_pb2.ModelSupport(model="*", context_window=9)],
            ),
            purpose="pay an invoice",
            **reading,
        ),
        "ReportUsage": search_service_pb2.ReportUsageRequest(
            catalog="default",
            reports=[search_service_pb2.UsageReport(name="own.create_issue", outcome="USAGE_OUTCOME_FAILED", search_id="x")],
        ),
        "GetSettings": catalog_pb.GetSettingsRequest(**reading),
        "UpdateSettings": catalog_pb.UpdateSettingsRequest(
            catalog="default",
            settings=settings_pb2.CatalogSettings(
                weights=settings_pb2.FieldWeights(name=2),
                synonyms=[settings_pb2.Synonyms(words=["issue", "bug report"])],
                pinned=["own.*"],
                banned=["own.x*"],
            ),
        ),
        "WatchCatalog": search_service_pb2.WatchCatalogRequest(catalog="default", from_revision=1, epoch="e"),
        "ReadResource": search_service_pb2.ReadResourceRequest(name="own.create_issue", path="f", **reading),
        "ApplyChanges": catalog_pb.ApplyChangesRequest(catalog="default", upserts=[entry], deletes=["own.x"]),
        "SyncServer": catalog_pb.SyncServerRequest(catalog="default", server="own", entries=[entry]),
        "DeleteServer": catalog_pb.DeleteServerRequest(catalog="default", server="own", expected_revision=1),
        "GetCatalog": catalog_pb.GetCatalogRequest(catalog="default"),
        "ListCatalogs": catalog_pb.ListCatalogsRequest(page_size=1, page_token="AAAA"),
        "DeleteCatalog": catalog_pb.DeleteCatalogRequest(catalog="default", expected_revision=99),
        "ListTenants": catalog_pb.ListTenantsRequest(page_size=1, page_token="AAAA"),
    }


VALID = {name: request.SerializeToString() for name, request in _valid_requests().items()}


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """A few bytes changed, put in, left out or repeated, or the end cut off."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(changed)))
        match draw(st.sampled_from(["set", "insert", "delete", "repeat", "cut"])):
            case "set":
                changed[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "insert":
                changed[at:at] = draw(st.binary(min_size=1, max_size=8))
            case "delete":
                del changed[at : at + draw(st.integers(1, 8))]
            case "repeat":
                changed[at:at] = changed[at : at + draw(st.integers(1, 40))] * draw(st.integers(1, 5))
            case _:
                del changed[at:]
    return bytes(changed)


RAW = st.binary(max_size=80) | st.sampled_from(
    [
        b"\x0b" * 10_000,  # groups in groups
        b"\x0a\x80\x80\x80\x80\x08",  # a text of 2 GiB
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xff" * 50,
        b"\x0a\x02\xc3\x28",  # not UTF-8
        b"\x0a\x03\xed\xa0\x80",  # half a surrogate pair
        b"\xfa\xff\xff\xff\x0f\x01x" * 1_000,  # fields that nobody knows
    ]
)


# Who says to call


@st.composite
def credentials(draw: st.DrawFn, keys: dict[str, str]) -> Metadata:
    """Metadata of a call: mostly a credential that is good, or nearly one."""
    writer, victim = keys["writer"], keys["victim"]
    identifier = victim.split("_")[1]
    forged = f"ts_{identifier}_{'A' * 43}"
    broken = ["", "Bearer", "Bearer ", "Basic YTpi", f"Bearer  {writer}", f"Bearer {writer[:-1]}", f"Bearer {forged}", victim]
    broken += [f"Basic {victim}", f"Bearer {victim}x", f"Bearer {victim.upper()}", "Bearer " + "x" * 3_000, f"Token {writer}"]
    good = [f"Bearer {keys[who]}" for who in ("reader", "writer", "admin")] + [f"bearer {writer}"]
    printable = st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60)
    header = st.sampled_from(good) | st.sampled_from(broken) | printable
    headers = draw(mostly(st.tuples(header), st.lists(header, max_size=2)))
    metadata: list[tuple[str, str | bytes]] = [("authorization", header) for header in headers]
    tenant = mostly(st.sampled_from(["mallory", VICTIM, "operations", "VICTIM", "victim,mallory", "*", ".."]), printable)
    metadata += [
        ("x-toolsearch-tenant", name) for name in draw(mostly(st.lists(tenant, max_size=1), st.lists(tenant, max_size=2)))
    ]
    metadata += [("x-request-id", text) for text in draw(st.lists(printable, max_size=1))]
    metadata += [("traceparent", text) for text in draw(st.lists(printable, max_size=1))]
    metadata += [("authorization-bin", data) for data in draw(st.lists(st.binary(max_size=40), max_size=1))]
    return metadata


def acts_for_victim(fuzzed: Fuzzed, metadata: Metadata) -> bool:
    """An administrator may see what the victim has, if that is what it asks for."""
    return ("authorization", f"Bearer {fuzzed.keys['admin']}") in metadata and ("x-toolsearch-tenant", VICTIM) in metadata


def as_who(fuzzed: Fuzzed, who: str) -> Metadata:
    return [("authorization", f"Bearer {fuzzed.keys[who]}")]


ATTACKERS = st.sampled_from(["writer", "writer", "writer", "reader", "admin"])

every_method = pytest.mark.parametrize("name", METHODS)


def test_there_is_a_valid_request_of_every_method_to_start_from(fuzzed: Fuzzed) -> None:
    """So that mutations of it get further than the first check."""
    assert VALID.keys() == METHODS.keys()
    reasons = {}
    for name, data in VALID.items():
        outcome = fuzzed.attempt(METHODS[name], data, as_who(fuzzed, "admin" if name == "ListTenants" else "writer"))
        reasons[name] = outcome.status.reason if outcome.status else ""
    assert set(reasons.values()) <= {"", "PAGE_TOKEN_INVALID", "REVISION_MISMATCH"}, reasons


@every_method
def test_any_message_of_the_contract_is_answered_or_refused_with_a_reason(fuzzed: Fuzzed, name: str) -> None:
    method = METHODS[name]

    @given(request=messages(method.input_type), who=ATTACKERS)
    @settings(max_examples=EXAMPLES)
    def call(request: Message, who: str) -> None:
        fuzzed.attempt(method, request.SerializeToString(), as_who(fuzzed, who))

    call()


@every_method
def test_a_damaged_message_is_answered_or_refused_with_a_reason(fuzzed: Fuzzed, name: str) -> None:
    method = METHODS[name]

    @given(data=mutated(VALID[name]), who=ATTACKERS)
    @settings(max_examples=EXAMPLES)
    def call(data: bytes, who: str) -> None:
        fuzzed.attempt(method, data, as_who(fuzzed, who))

    call()


@every_method
def test_any_bytes_are_answered_or_refused_with_a_reason(fuzzed: Fuzzed, name: str) -> None:
    method = METHODS[name]

    @given(data=RAW, who=ATTACKERS)
    @settings(max_examples=EXAMPLES)
    def call(data: bytes, who: str) -> None:
        fuzzed.attempt(method, data, as_who(fuzzed, who))

    call()


@every_method
def test_no_metadata_shows_or_changes_what_belongs_to_another_tenant(fuzzed: Fuzzed, name: str) -> None:
    method = METHODS[name]

    @given(metadata=credentials(fuzzed.keys))
    @settings(max_examples=EXAMPLES)
    def call(metadata: Metadata) -> None:
        if acts_for_victim(fuzzed, metadata):
            return
        outcome = fuzzed.attempt(method, VALID[name], metadata)
        headers = [value for key, value in metadata if key == "authorization"]
        if not headers:
            assert outcome.code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.INVALID_ARGUMENT), outcome

    call()


@pytest.mark.parametrize("name", [name for name in METHODS if "catalog" in METHODS[name].input_type.fields_by_name])
def test_a_catalog_of_another_tenant_is_no_different_from_one_that_does_not_exist(fuzzed: Fuzzed, name: str) -> None:
    method = METHODS[name]
    request: Any = message_factory.GetMessageClass(method.input_type).FromString(VALID[name])
    outcomes = []
    for catalog in (PAYROLL, "nobodys"):
        with fuzzed.client("writer", catalog) as client, suppress(NotFound):
            client.delete_catalog()
        request.catalog = catalog
        outcome = fuzzed.attempt(method, request.SerializeToString(), as_who(fuzzed, "writer"))
        outcomes.append((outcome.code, outcome.status and outcome.status.message.replace(catalog, "")))
    assert outcomes[0] == outcomes[1]


def test_a_page_token_of_another_tenant_is_refused(fuzzed: Fuzzed) -> None:
    assert fuzzed.victim_page_token
    for who in ("writer", "reader", "admin"):
        request = search_service_pb2.ListToolsRequest(page_size=1, page_token=fuzzed.victim_page_token)
        outcome = fuzzed.attempt(METHODS["ListTools"], request.SerializeToString(), as_who(fuzzed, who))
        assert outcome.status is not None and outcome.status.reason == "PAGE_TOKEN_INVALID"
