import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import draft, entries_of, names_found, ranked, tool, view_of
from toolsearch_server.entry import Annotations, Kind, Resource, derive_summary, effective_annotations, make_entry
from toolsearch_server.errors import DefinitionInvalid, FieldInvalid, FieldRequired, LimitExceeded, ServiceError
from toolsearch_server.limits import Limits

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("hints", "effective"),
    [
        (None, Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)),
        ({}, Annotations(read_only=False, destructive=True, idempotent=False, open_world=True)),
        ({"readOnlyHint": True}, Annotations(read_only=True, destructive=False, idempotent=True, open_world=True)),
        ({"readOnlyHint": True, "destructiveHint": True}, Annotations(True, False, True, True)),
        ({"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}, Annotations(False, False, True, False)),
        ({"readOnlyHint": "yes", "destructiveHint": 0}, Annotations()),
        ("nonsense", Annotations()),
    ],
)
def test_unset_hints_have_the_defaults_of_mcp(hints: Any, effective: Annotations) -> None:
    assert effective_annotations(hints) == effective


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("", ""),
        ("Opens an issue. Returns its number.", "Opens an issue."),
        ("Opens an issue\nin a repository. More.", "Opens an issue in a repository."),
        ("Version 1.2 of it is used. More.", "Version 1.2 of it is used."),
        ("First paragraph\n\nSecond paragraph", "First paragraph"),
        ("天気を取得します。都市を指定します。", "天気を取得します。"),
        ("word " * 100, "word " * 31 + "word…"),
        ("x" * 500, "x" * 159 + "…"),
    ],
)
def test_a_summary_is_the_first_sentence_trimmed_well(description: str, summary: str) -> None:
    assert derive_summary(description) == summary


@pytest.mark.parametrize("schema", [[], "object", 5, True])
@pytest.mark.parametrize("member", ["inputSchema", "outputSchema", "input_schema", "parameters", "annotations", "_meta"])
def test_a_schema_that_is_not_an_object_is_refused(member: str, schema: Any) -> None:
    with pytest.raises(DefinitionInvalid) as refusal:
        draft({"name": "a", member: schema})
    assert refusal.value.field == f"entry.definition.{member}"
    assert refusal.value.allowed == "a JSON object"


@pytest.mark.parametrize("definition", ["", "{", "[]", "5", "null", '"text"', '{"name": NaN}', '{"name": "a", "x": Infinity}'])
def test_a_definition_that_is_not_a_json_object_is_refused(definition: str) -> None:
    from toolsearch_server.entry import parse_definition

    with pytest.raises(DefinitionInvalid):
        parse_definition(definition, limits=Limits(), field="entry")


@pytest.mark.parametrize("name", [None, 5, [], {}])
def test_a_name_that_is_not_a_string_is_refused(name: Any) -> None:
    with pytest.raises(DefinitionInvalid):
        draft({"name": name})


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(FieldRequired):
        draft({"name": ""})


@pytest.mark.parametrize("name", ["a\nb", "a\0b", "\x7f", "a\u2028b", "\ud800", " a", "a "])
def test_a_name_with_control_characters_or_space_around_it_is_refused(name: str) -> None:
    with pytest.raises(FieldInvalid) as refusal:
        draft({"name": name})
    assert refusal.value.field == "entry.definition.name"


def deep(levels: int) -> dict[str, Any]:
    value: Any = {}
    for _ in range(levels - 2):
        value = {"properties": value}
    return {"name": "a", "inputSchema": value}


def test_a_definition_may_be_as_deep_as_the_limit_and_no_deeper() -> None:
    limits = Limits(definition_depth=10)
    draft(deep(10), limits=limits)
    with pytest.raises(LimitExceeded) as refusal:
        draft(deep(11), limits=limits)
    assert refusal.value.limit == "definition_depth"


@pytest.mark.parametrize("levels", [200, 10_000])
def test_a_schema_nested_far_too_deep_is_refused_by_name(levels: int) -> None:
    definition = '{"name":"a","inputSchema":' + '{"a":' * levels + "1" + "}" * levels + "}"
    from toolsearch_server.entry import parse_definition

    with pytest.raises(LimitExceeded) as refusal:
        parse_definition(definition, limits=Limits(), field="entry")
    assert refusal.value.limit == "definition_depth"


@pytest.mark.parametrize(
    ("limit", "at_edge", "over"),
    [
        ("name_length", {"name": "n" * 8}, {"name": "n" * 9}),
        ("definition_bytes", {"name": "é", "x": "1"}, {"name": "é", "x": "12"}),
    ],
)
def test_a_definition_at_a_limit_is_taken_and_over_it_refused(limit: str, at_edge: Any, over: Any) -> None:
    size = len(json.dumps(at_edge).encode()) if limit == "definition_bytes" else 8
    limits = Limits(**{limit: size})
    draft(at_edge, limits=limits)
    with pytest.raises(LimitExceeded) as refusal:
        draft(over, limits=limits)
    assert refusal.value.limit == limit
    assert refusal.value.metadata["allowed"] == str(size)


@pytest.mark.parametrize(
    ("limit", "fields"),
    [
        ("server_length", lambda n: {"server": "s" * n}),
        ("namespace_length", lambda n: {"namespace": "s" * n}),
        ("summary_length", lambda n: {"summary": "s" * n}),
        ("tag_length", lambda n: {"tags": ["t" * n]}),
        ("tags_per_entry", lambda n: {"tags": [str(i) for i in range(n)]}),
        ("tags_per_entry", lambda n: {"capabilities": [str(i) for i in range(n)]}),
    ],
)
def test_what_is_said_beside_the_definition_has_limits_too(limit: str, fields: Any) -> None:
    limits = Limits(**{limit: 5})
    draft({"name": "a"}, limits=limits, **fields(5))
    with pytest.raises(LimitExceeded) as refusal:
        draft({"name": "a"}, limits=limits, **fields(6))
    assert refusal.value.limit == limit


@given(st.dictionaries(st.text(), JSON), st.text(min_size=1))
def test_any_json_object_is_either_an_entry_or_refused_with_a_reason(members: dict[str, Any], name: str) -> None:
    try:
        made = draft({**members, "name": name})
    except ServiceError as refusal:
        assert refusal.field.startswith("entry.")
        return
    entry = make_entry(made, name="n", alias="a")
    assert json.loads(entry.definition) == {**members, "name": name}
    (entry.title + entry.description + entry.summary + entry.parameters + "".join(entry.tags)).encode()


def test_half_a_surrogate_pair_in_a_description_is_shown_as_a_replacement_character() -> None:
    entry = make_entry(draft({"name": "a", "description": "x\ud83dy"}), name="a", alias="a")
    assert entry.description == "x\ufffdy"


def test_tags_come_from_the_request_and_from_the_definitions_meta() -> None:
    made = draft(tool("a", _meta={"toolsearch/tags": ["b", "c", 5]}), tags=["a", "b"])
    assert make_entry(made, name="a", alias="a").tags == ("a", "b", "c")


def test_tags_of_the_meta_that_are_not_fit_to_be_tags_are_passed_over() -> None:
    made = draft(tool("a", _meta={"toolsearch/tags": ["x" * 65, "\x1b[31m", "", "ok", *map(str, range(100))]}))
    tags = make_entry(made, name="a", alias="a").tags
    assert tags[:2] == ("ok", "0")
    assert len(tags) == 64


def test_numbers_that_floats_cannot_tell_apart_are_different() -> None:
    assert not draft({"name": "a", "x": 12345678901234567890}).means(draft({"name": "a", "x": 12345678901234567891}))
    from toolsearch_server.entry import Draft

    left = draft({"name": "a"})
    spelled = [Draft(**{**_fields(left), "definition": '{"name":"a","x":' + number + "}"}) for number in ("1e400", "1e999")]
    assert not spelled[0].means(spelled[1])


def _fields(made: Any) -> dict[str, Any]:
    return {name: getattr(made, name) for name in ("server", "kind", "local_name", "namespace", "definition")}


def test_key_order_and_spacing_do_not_make_a_definition_another_one() -> None:
    left = draft({"name": "a", "description": "d", "x": {"p": 1, "q": 2}})
    right = draft({"x": {"q": 2, "p": 1}, "description": "d", "name": "a"})
    assert left != right
    assert left.means(right)
    assert not left.means(draft({"name": "a", "description": "d", "x": {"p": 1, "q": 3}}))


SKILL = {
    "name": "code-reviewer",
    "description": "Reads diffs.",
    "content": "# Review\n\n## Security audit\n\n```\n# zebra\n```\nzebra",
}


@pytest.mark.parametrize("kind", [Kind.SKILL, Kind.AGENT])
def test_of_a_text_the_headings_are_searched_and_the_reason_says_so(kind: Kind) -> None:
    view = view_of(tool("other", "Something else"), draft(SKILL, kind=kind))
    found = ranked(view, "security audit")
    assert [view.entry(match.slot).name for match in found.matches] == ["code_reviewer"]
    assert found.matches[0].reason == "matches security, audit in the headings"


def test_the_rest_of_a_text_is_not_searched() -> None:
    view = view_of(tool("zoo", "Feeds the zebra"), draft(SKILL, kind=Kind.SKILL))
    assert names_found(view, "zebra") == ["zoo"]


def test_a_tool_that_has_a_content_has_no_headings() -> None:
    assert make_entry(draft(SKILL), name="n", alias="a").parameters == ""


def test_a_content_that_is_no_text_has_no_headings() -> None:
    entry = make_entry(draft({"name": "x", "content": ["# a"]}, kind=Kind.SKILL), name="n", alias="a")
    assert entry.parameters == ""


def test_resources_make_an_entry_another_one_and_count_as_stored() -> None:
    plain, one, other = (
        make_entry(draft(tool("a"), resources=resources), name="n", alias="a")
        for resources in ((), [Resource.of("f", "", b"1234")], [Resource.of("f", "", b"5678")])
    )
    assert len({plain.digest, one.digest, other.digest}) == 3
    assert not one.draft.means(other.draft)
    assert (plain.stored_bytes, one.stored_bytes, one.bytes) == (plain.bytes, plain.bytes + 4, plain.bytes)


@pytest.mark.parametrize(
    ("kind", "read_only"), [(Kind.TOOL, False), (Kind.AGENT, False), (Kind.SKILL, True), (Kind.PROMPT, True)]
)
def test_what_is_only_read_is_not_taken_for_destructive(kind: Kind, read_only: bool) -> None:
    [entry] = entries_of([draft({"name": "a"}, "s", kind=kind)]).by_key.values()
    assert entry.annotations.read_only is read_only
    assert entry.annotations.destructive is not read_only
