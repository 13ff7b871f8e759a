"""The shared vectors, replayed as JSON: what the clients get by gRPC is what HTTP answers."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import grpc
import pytest

from toolsearch_server.web.json_api import READ_ONLY
from vectors.test_shared_vectors import METHODS, STORIES, missing
from web.caller import Answer, Caller

CODES = {code.value[0]: code.name for code in grpc.StatusCode}


@pytest.mark.parametrize("story", STORIES)
def test_http_answers_what_the_vectors_say(story: str, door: Caller, tenant: str) -> None:
    written: dict[str, Any] = {}
    for step in STORIES[story]["steps"]:
        replay(door, step, f"{tenant}-http", written)


def replay(door: Caller, step: Mapping[str, Any], tenant: str, written: dict[str, Any]) -> None:
    """`written`: by catalog, the version to ask for, so that what was written is seen. The clients do so, too."""
    method, request = step["method"], with_texts(step["request"])
    catalog = request.get("catalog", "default")
    if "min_revision" in METHODS[method].input_type.fields_by_name and catalog in written:
        request = {"minRevision": written[catalog]["revision"], "epoch": written[catalog]["epoch"], **request}
    if METHODS[method].server_streaming:
        answers = streamed(door, step, request, tenant)
    else:
        answers = [all_pages(door, method, request, tenant)]
    if "error" in step:
        refusal = answers[0]
        assert isinstance(refusal, Answer)
        told = {"code": CODES[refusal.json["code"]], "reason": refusal.info["reason"], "field": refusal.field}
        assert told == step["error"], step["about"]
        return
    if method not in READ_ONLY and isinstance(answers[0], dict) and "version" in answers[0]:
        written[catalog] = answers[0]["version"]
    for expected, answer in zip(step.get("responses") or [step["response"]], answers, strict=True):
        differences = list(missing(expected, answer))
        assert not differences, f"{step['about']}: {differences} in {answer}"


def all_pages(door: Caller, method: str, request: Mapping[str, Any], tenant: str) -> Any:
    answer = door.post(method, request, x_toolsearch_tenant=tenant)
    if answer.status != 200:
        return answer
    page = answer.json
    if "pageSize" in request and page["nextPageToken"]:
        rest = all_pages(door, method, {**request, "pageToken": page["nextPageToken"]}, tenant)
        for name, items in page.items():
            if isinstance(items, list):
                rest[name] = items + rest[name]
        return rest
    return page


def streamed(door: Caller, step: Mapping[str, Any], request: Any, tenant: str) -> list[Any]:
    path = f"/v1/{step['method']}"
    if "error" in step:
        return [door.post(step["method"], request, x_toolsearch_tenant=tenant)]
    with door.events(path, request, x_toolsearch_tenant=tenant) as events:
        if step["method"] == "ReadResource":
            data = b"".join(base64.b64decode(event.data["data"]) for event in events)
            return [{"data": base64.b64encode(data).decode()}]
        return [next(events).data for _ in step["responses"]]


def with_texts(value: Any) -> Any:
    """Definitions, which are values in the vectors, as the texts that they are in the contract."""
    if isinstance(value, list):
        return [with_texts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: json.dumps(each) if name == "definition" and not isinstance(each, str) else with_texts(each)
        for name, each in value.items()
    }


def test_every_method_is_answered_by_post_and_those_that_only_read_by_get(door: Caller, tenant: str) -> None:
    for method in METHODS:
        expected = "GET, POST" if method in READ_ONLY else "POST"
        refusal = door.send("DELETE", f"/v1/{method}")
        assert (refusal.status, refusal.headers["allow"]) == (405, expected)


def test_a_get_says_the_same_as_a_post(door: Caller, tenant: str) -> None:
    written: dict[str, Any] = {}
    for step in STORIES["searching"]["steps"]:
        replay(door, step, tenant, written)
        if step["method"] == "SearchTools":
            break
    revision = written["default"]["revision"]
    request = {"queries": ["bug", "report"], "limit": 1, "minRevision": revision}
    by_post = door.post("SearchTools", request, x_toolsearch_tenant=tenant, x_request_id="i")
    by_get = door.get(
        f"/v1/SearchTools?queries=bug&queries=report&limit=1&minRevision={revision}",
        x_toolsearch_tenant=tenant,
        x_request_id="i",
    )
    assert by_post.status == 200 and by_post.json["matches"]
    assert by_get.body == by_post.body
