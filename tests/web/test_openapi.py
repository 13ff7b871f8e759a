"""The OpenAPI document: valid, complete, and true to the limits of the server that serves it."""

import json
from typing import Any

import pytest
from openapi_spec_validator import validate

from toolsearch_server.limits import DEFAULT_LIMITS
from vectors.test_shared_vectors import METHODS
from web.caller import Caller


@pytest.fixture(scope="module")
def document(door: Caller) -> Any:
    return door.get("/v1/openapi.json").json


def test_the_document_is_valid(document: Any) -> None:
    validate(document)
    assert document["openapi"].startswith("3.1")


def test_every_method_is_in_it_with_what_it_takes_and_gives(document: Any) -> None:
    paths = dict(document["paths"])
    del paths["/v1/status"], paths["/v1/openapi.json"]
    assert set(paths) == {f"/v1/{name}" for name in METHODS}
    for name, method in METHODS.items():
        operation = paths[f"/v1/{name}"]["post"]
        assert operation["summary"] and operation["operationId"] == name
        body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert body.endswith(f"/{method.input_type.name}")
        content = operation["responses"]["200"]["content"]
        streamed, single = content.get("text/event-stream", {}), content.get("application/json", {})
        answer = (
            streamed["schema"]["properties"]["data"]["contentSchema"]["anyOf"][0]
            if method.server_streaming
            else single["schema"]
        )
        assert answer["$ref"].endswith(f"/{method.output_type.name}")


def test_it_needs_no_credential_and_tells_that_calls_do(guarded_door: Caller) -> None:
    answer = guarded_door.get("/v1/openapi.json")
    assert answer.status == 200
    assert answer.json["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert {"bearer": []} in answer.json["security"]


def test_limits_are_in_it(document: Any) -> None:
    queries = document["components"]["schemas"]["SearchToolsRequest"]["properties"]["queries"]
    assert queries["maxItems"] == DEFAULT_LIMITS.queries_per_request
    assert queries["items"]["maxLength"] == DEFAULT_LIMITS.query_length


def test_comments_of_the_contract_describe_messages_fields_and_enums(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert "best first" in document["paths"]["/v1/SearchTools"]["post"]["description"]
    assert "phrasings" in schemas["SearchToolsRequest"]["properties"]["queries"]["description"]
    assert "DETAIL_SUMMARY" in schemas["Detail"]["description"]


def test_answers_that_are_required_to_have_a_field_have_it(door: Caller, document: Any, tenant: str) -> None:
    entry = {"definition": json.dumps({"name": "a"})}
    door.post("SyncServer", {"server": "s", "entries": [entry]}, x_toolsearch_tenant=tenant)
    answer = door.get("/v1/ListTools?minRevision=1", x_toolsearch_tenant=tenant).json
    schemas = document["components"]["schemas"]
    assert set(schemas["ListToolsResponse"]["required"]) <= set(answer)
    assert set(schemas["Entry"]["required"]) <= set(answer["entries"][0])
