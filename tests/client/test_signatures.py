"""Tools as typed Python functions, whatever strangers write into their schemas."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.adapters import signature
from toolsearch.adapters.signatures import MAX_DEPTH, MAX_ENUM, MAX_PARAMETERS, identifier


def parsed(text: str) -> ast.FunctionDef:
    """The one function that the text is, with nothing in it that would run."""
    module = ast.parse(text)
    compile(text, "signature", "exec")
    (function,) = module.body
    assert isinstance(function, ast.FunctionDef)
    documentation, ellipsis = function.body
    assert isinstance(documentation, ast.Expr) and isinstance(documentation.value, ast.Constant)
    assert isinstance(ellipsis, ast.Expr) and isinstance(ellipsis.value, ast.Constant)
    for part in ast.walk(function):
        assert not isinstance(part, ast.Call | ast.Attribute | ast.Lambda | ast.Await | ast.NamedExpr | ast.JoinedStr)
    return function


def of(**properties: Any) -> str:
    return signature({"name": "f", "inputSchema": {"type": "object", "properties": properties}}).splitlines()[0]


def test_a_tool_is_a_function_with_keywords_types_and_defaults() -> None:
    definition = {
        "name": "create_issue",
        "description": "Open a bug report.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "labels": {"type": "array", "items": {"type": "string"}},
                "title": {"type": "string", "description": "One line"},
                "state": {"enum": ["open", "closed"], "default": "open"},
            },
            "required": ["title"],
        },
    }
    assert signature(definition) == (
        'def create_issue(*, title: str, labels: list[str] = ..., state: Literal["open", "closed"] = "open") -> Any:\n'
        '    """Open a bug report.\n'
        '    title: One line"""\n'
        "    ..."
    )


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "integer"}, "int"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, "float | None"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "dict[str, bool]"),
        ({"type": "object", "properties": {"a": {}}}, "dict[str, Any]"),
        ({"const": 3}, "Literal[3]"),
        ({"enum": [1.5, 2.5]}, "float"),
        ({"type": "nonsense"}, "Any"),
        ({"$ref": "#/$defs/Missing"}, "Any"),
        (True, "Any"),
        ({}, "Any"),
    ],
)
def test_types_of_json_schema_are_python_types(schema: Any, written: str) -> None:
    assert of(x=schema) == f"def f(*, x: {written} = ...) -> Any:"


def test_fields_of_nested_objects_are_told() -> None:
    text = signature(
        {
            "name": "f",
            "inputSchema": {
                "properties": {
                    "who": {"$ref": "#/$defs/Person"},
                    "all": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
                },
                "$defs": {
                    "Person": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                        "required": ["name"],
                    }
                },
            },
        }
    )
    assert 'who: {"name": str, "age"?: int}' in text
    assert "all: list[dict[str, Any]] = ..." in text
    parsed(text)


def test_references_in_a_circle_end() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    text = signature({"name": "f", "inputSchema": {"properties": {"n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}})
    assert text.count('"next"') == MAX_DEPTH - 1
    parsed(
        signature(
            {"name": "f", "inputSchema": {"properties": {"n": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}}
        )
    )


def test_a_result_schema_is_the_return_type() -> None:
    text = signature({"name": "f", "outputSchema": {"type": "array", "items": {"type": "string"}}})
    assert text.startswith("def f() -> list[str]:")


def test_parameters_that_python_cannot_name_are_told_and_taken_by_dictionary() -> None:
    text = signature({"name": "f", "inputSchema": {"properties": {"user-id": {"type": "string"}, "more": {}, "class": {}}}})
    function = parsed(text)
    assert function.args.kwarg is not None and function.args.kwarg.arg == "more_"
    assert 'Also takes "user-id": str' in text and 'Also takes "class": Any' in text


def test_an_enum_is_written_out_up_to_the_limit() -> None:
    assert "Literal[" in of(x={"enum": [f"v{number}" for number in range(MAX_ENUM)]})
    assert of(x={"enum": [f"v{number}" for number in range(MAX_ENUM + 1)]}) == "def f(*, x: str = ...) -> Any:"


def test_parameters_are_written_out_up_to_the_limit() -> None:
    assert "more parameters" not in signature(
        {"name": "f", "inputSchema": {"properties": {f"p{n}": {} for n in range(MAX_PARAMETERS)}}}
    )
    text = signature({"name": "f", "inputSchema": {"properties": {f"p{n}": {} for n in range(MAX_PARAMETERS + 2)}}})
    assert len(parsed(text).args.kwonlyargs) == MAX_PARAMETERS
    assert "Takes 2 more parameters" in text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("github.create-issue", "github_create_issue"),
        ("class", "class_"),
        ("2fa", "_2fa"),
        ("", "tool"),
        ("名前", "tool"),
        ("None", "None_"),
    ],
)
def test_any_name_becomes_an_identifier(name: str, written: str) -> None:
    assert identifier(name) == written


@pytest.mark.parametrize(
    "hostile",
    [
        '"""\nimport os\nos.system("true")\n"""',
        "x)\nimport os\ndef g(",
        "\\",
        '\\"""',
        '"',
        "a\u2028b\u202ec",
        "\ud800",
        "__debug__",
        "{__import__('os')}",
    ],
)
def test_hostile_text_anywhere_stays_text(hostile: str) -> None:
    parsed(
        signature(
            {
                "name": hostile,
                "description": hostile,
                "inputSchema": {
                    "properties": {
                        hostile: {"description": hostile},
                        "p": {"description": hostile, "default": hostile, "properties": {hostile: {"enum": [hostile]}}},
                        "q": {"enum": [hostile], "default": {hostile: [hostile]}},
                    },
                    "required": [hostile],
                },
                "outputSchema": {"const": hostile},
            }
        )
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)
words = st.sampled_from(["type", "enum", "const", "default", "items", "properties", "required", "anyOf", "$ref", "description"])
schemas = st.recursive(
    json_values,
    lambda children: st.dictionaries(words, children | st.lists(children, max_size=3), max_size=6),
    max_leaves=20,
)


@given(st.text(), schemas, st.dictionaries(st.text(), schemas, max_size=5), schemas)
def test_any_schema_gives_one_function(text: str, schema: Any, properties: dict[str, Any], result: Any) -> None:
    parsed(
        signature(
            {
                "name": text,
                "description": text,
                "inputSchema": {
                    "properties": properties,
                    "required": [text],
                    "additionalProperties": schema,
                    "$defs": properties,
                },
                "outputSchema": result,
            }
        )
    )
    parsed(signature({"name": text, "inputSchema": schema}))
