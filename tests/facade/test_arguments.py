from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.facade.arguments import PROBLEMS_SHOWN, ArgumentCheck


def problems(schema: Any, arguments: dict[str, Any]) -> list[str]:
    return ArgumentCheck(schema).problems(arguments)


def test_arguments_that_fit_have_no_problems() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    assert problems(schema, {"a": 1}) == []


def test_a_problem_says_where_it_is() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}}}
    assert problems(schema, {"a": [{"b": "x"}, {"b": 1}]}) == ["arguments.a[1].b: 1 is not of type 'string'"]


def test_only_the_first_problems_are_told() -> None:
    schema = {"additionalProperties": {"type": "string"}}
    assert len(problems(schema, {str(number): number for number in range(100)})) == PROBLEMS_SHOWN


def test_a_problem_is_told_in_one_short_line() -> None:
    schema = {"properties": {"a": {"enum": ["x" * 10_000]}}}
    [line] = problems(schema, {"a": "y" * 10_000})
    assert len(line) < 400


@pytest.mark.parametrize(
    "schema", [None, True, 7, "object", [], {"type": 7}, {"properties": 1}, {"$ref": 7}, {"required": "a"}]
)
def test_what_is_no_schema_checks_nothing(schema: Any) -> None:
    assert problems(schema, {"a": 1}) == []


@pytest.mark.parametrize("reference", ["http://127.0.0.1:1/schema", "file:///etc/passwd", "#/nowhere", "other.json"])
def test_a_reference_that_leads_elsewhere_checks_nothing(reference: str) -> None:
    assert problems({"properties": {"a": {"$ref": reference}}}, {"a": 1}) == []


def test_references_inside_are_followed() -> None:
    schema = {"$defs": {"text": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/text"}}}
    assert problems(schema, {"a": 1}) == ["arguments.a: 1 is not of type 'string'"]


def test_a_reference_to_itself_checks_nothing() -> None:
    assert problems({"$ref": "#"}, {"a": 1}) == []


def test_references_that_double_do_not_take_for_ever() -> None:
    levels = {f"d{number}": {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(60)}
    schema = {"$defs": {**levels, "d60": {"type": "object"}}, "$ref": "#/$defs/d0"}
    assert problems(schema, {}) == []


def test_a_pattern_is_matched() -> None:
    schema = {"properties": {"a": {"pattern": "^[a-z]+$"}}}
    assert problems(schema, {"a": "abc"}) == []
    assert problems(schema, {"a": "ABC"}) == ["arguments.a: 'ABC' does not match '^[a-z]+$'"]
    assert problems(schema, {"a": 1}) == []


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_pattern_that_explodes_does_not(keyword: str) -> None:
    text, evil = "a" * 5_000 + "!", "^(a+)+$"
    schema = {"properties": {"a": {"pattern": evil}}} if keyword == "pattern" else {keyword: {evil: {"type": "string"}}}
    problems(schema, {"a": text, text: 1})


def test_a_pattern_that_cannot_be_matched_in_linear_time_is_left_to_the_server() -> None:
    assert problems({"properties": {"a": {"pattern": "^(?!x)"}}}, {"a": "x"}) == []


def test_names_that_only_a_pattern_allows_are_not_refused() -> None:
    schema = {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False}
    assert problems(schema, {"x-a": "b"}) == []


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "$ref", "anyOf", "not", "pattern", "required", "enum", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(ANY_JSON, st.dictionaries(st.sampled_from(["a", "b"]), ANY_JSON, max_size=2))
def test_no_schema_does_more_than_to_refuse(schema: Any, arguments: dict[str, Any]) -> None:
    assert all(line.startswith("arguments") for line in problems(schema, arguments))
