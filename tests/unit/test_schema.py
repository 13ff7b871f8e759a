from typing import Any

import pytest

from support import names_found, tool, view_of
from toolsearch_server.schema import depth_over, parameter_text


@pytest.mark.parametrize(
    ("where", "schema"),
    [
        ("a property's name", {"properties": {"needle": {}}}),
        ("a description", {"properties": {"a": {"description": "a needle"}}}),
        ("a title", {"properties": {"a": {"title": "Needle"}}}),
        ("an enum value", {"properties": {"a": {"enum": ["hay", "needle"]}}}),
        ("a constant", {"properties": {"a": {"const": "needle"}}}),
        ("a nested object", {"properties": {"a": {"properties": {"b": {"properties": {"needle": {}}}}}}}),
        ("items of an array", {"properties": {"a": {"items": {"properties": {"needle": {}}}}}}),
        ("an enum of items", {"properties": {"a": {"items": {"enum": ["needle"]}}}}),
        ("an alternative", {"properties": {"a": {"anyOf": [{"type": "null"}, {"description": "needle"}]}}}),
        ("an enum in an alternative", {"properties": {"a": {"oneOf": [{"enum": ["needle"]}]}}}),
        ("a definition", {"$defs": {"X": {"properties": {"needle": {}}}}}),
        ("additional properties", {"additionalProperties": {"description": "needle"}}),
        ("a property called like a keyword", {"properties": {"enum": {"description": "needle"}}}),
    ],
)
def test_a_word_in_a_schema_is_findable(where: str, schema: dict[str, Any]) -> None:
    view = view_of(tool("other", "Something else"), {"name": "wanted", "description": "Nothing", "inputSchema": schema})
    assert names_found(view, "needle") == ["wanted"], where


@pytest.mark.parametrize("schema", [None, [], "text", 5, {"properties": []}, {"properties": {"a": None}}, {"enum": 5}])
def test_an_odd_schema_has_no_words_and_does_no_harm(schema: Any) -> None:
    assert isinstance(parameter_text(schema), str)


@pytest.mark.parametrize(("depth", "over"), [(1, False), (3, False), (4, True), (5000, True)])
def test_depth_is_measured_without_recursion(depth: int, over: bool) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert depth_over(value, 3) is over
