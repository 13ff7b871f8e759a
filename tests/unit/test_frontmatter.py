"""Frontmatter: lenient about how people write it, strict about what it may cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import frontmatter
from toolsearch.frontmatter import MAX_ALIASES, MAX_BYTES, MAX_DEPTH, MAX_VALUES


def test_the_members_and_the_text_come_apart() -> None:
    front = frontmatter.split("---\nname: x\ntags: [a, b]\n---\n# Title\n\nText\n")
    assert front.members == {"name": "x", "tags": ["a", "b"]}
    assert (front.body, front.body_line, front.notes) == ("# Title\n\nText\n", 5, ())


def test_a_text_without_frontmatter_is_all_body() -> None:
    front = frontmatter.split("# Title\n\n---\n")
    assert (front.members, front.body, front.present) == ({}, "# Title\n\n---\n", False)


def test_numbers_and_dates_stay_as_they_are_spelled() -> None:
    members, _ = frontmatter.parse("version: 1.10\ndate: 2026-01-02\ncount: 007\nanswer: yes\n")
    assert members == {"version": "1.10", "date": "2026-01-02", "count": "007", "answer": "yes"}


def test_true_false_and_nothing_are_what_they_say() -> None:
    members, _ = frontmatter.parse("a: true\nb: False\nc:\nd: null\ne: 'true'\n")
    assert members == {"a": True, "b": False, "c": None, "d": None, "e": "true"}


def test_a_colon_in_a_plain_description_is_read_and_noted_with_its_line() -> None:
    front = frontmatter.split(
        "---\nname: plan\ndescription: Plans work: goals, risks. Use when: asked\nallowed-tools: [Read, Grep]\n---\nbody"
    )
    assert front.members == {
        "name": "plan",
        "description": "Plans work: goals, risks. Use when: asked",
        "allowed-tools": ["Read", "Grep"],
    }
    (note,) = front.notes
    assert note.line == 3
    assert "mapping values are not allowed here" in note.message


def test_what_is_read_line_by_line_keeps_lists_and_blocks_of_text() -> None:
    text = "bad: a: b\ntags:\n  - x: y: z\n  - 'two'\nlong: |\n  one: 1\n\ttwo: 2\nfolded: >\n  a: b\n\tc\n"
    members, notes = frontmatter.parse(text)
    assert members == {"bad": "a: b", "tags": ["x: y: z", "two"], "long": "  one: 1\n\ttwo: 2", "folded": "a: b c"}
    assert len(notes) == 1


def test_a_conversation_in_a_description_belongs_to_it() -> None:
    text = 'name: x\ndescription: Use it. Examples: <example>\nContext: a login\nuser: "add it"\n</example>\ncontext: fork\n'
    members, _ = frontmatter.parse(text)
    assert members == {
        "name": "x",
        "description": 'Use it. Examples: <example> Context: a login user: "add it" </example>',
        "context": "fork",
    }


def test_brackets_that_are_no_list_are_text() -> None:
    members, notes = frontmatter.parse("name: x\nargument-hint: [path] [--staged]\ndescription: d\n")
    assert members == {"name": "x", "argument-hint": "[path] [--staged]", "description": "d"}
    assert notes[0].line == 2


def test_a_frontmatter_that_never_ends_is_text_with_a_note() -> None:
    front = frontmatter.split("\n---\nname: x\n")
    assert (front.members, front.present) == ({}, False)
    assert front.notes[0].line == 2


@pytest.mark.parametrize(
    "text", ["a: !!python/object/apply:os.system [ls]", "a: !!python/name:os.system ''", "a: !custom x", "a: !!int xx"]
)
def test_a_tag_never_makes_an_object(text: str) -> None:
    members, notes = frontmatter.parse(text)
    assert isinstance(members["a"], str)
    assert notes


def test_merge_keys_merge_nothing() -> None:
    members, _ = frontmatter.parse("base: &b {x: y}\nother:\n  <<: *b\n")
    assert members["other"] == {"<<": {"x": "y"}}


def test_a_billion_laughs_are_refused() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 10)]
    members, (note,) = frontmatter.parse("\n".join(lines))
    assert members == {}
    assert f"more than {MAX_VALUES} values (yaml_values)" in note.message


def test_a_value_that_contains_itself_is_refused() -> None:
    members, (note,) = frontmatter.parse("a: &a [*a]")
    assert members == {}
    assert "(yaml_depth)" in note.message


@pytest.mark.parametrize(("aliases", "fine"), [(MAX_ALIASES, True), (MAX_ALIASES + 1, False)])
def test_aliases_are_counted(aliases: int, fine: bool) -> None:
    members, notes = frontmatter.parse("a: &a x\nb: [" + ", ".join(["*a"] * aliases) + "]")
    assert bool(members) is fine
    assert fine or "(yaml_aliases)" in notes[0].message


@pytest.mark.parametrize(("values", "fine"), [(MAX_VALUES - 2, True), (MAX_VALUES - 1, False)])
def test_values_are_counted(values: int, fine: bool) -> None:
    members, notes = frontmatter.parse("a: [" + ",".join(["x"] * values) + "]")
    assert bool(members) is fine
    assert fine or "(yaml_values)" in notes[0].message


@pytest.mark.parametrize(("depth", "fine"), [(MAX_DEPTH - 1, True), (MAX_DEPTH + 1, False)])
def test_brackets_are_counted(depth: int, fine: bool) -> None:
    members, notes = frontmatter.parse("a: " + "[" * depth + "]" * depth)
    assert bool(members) is fine
    assert fine or "(yaml_depth)" in notes[0].message


def test_indents_are_counted() -> None:
    members, (note,) = frontmatter.parse("\n".join(f"{' ' * n}a{n}:" for n in range(MAX_DEPTH + 2)))
    assert members == {}
    assert "(yaml_depth)" in note.message


@pytest.mark.parametrize(("size", "fine"), [(MAX_BYTES, True), (MAX_BYTES + 1, False)])
def test_bytes_are_counted(size: int, fine: bool) -> None:
    members, notes = frontmatter.parse("a: " + "x" * (size - 3))
    assert bool(members) is fine
    assert fine or "(frontmatter_bytes)" in notes[0].message


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["[", "{", "- ", "? ", "a: ", "&a ", "*a ", "!", "'", '"', "|\n", "(,", "#", "\t", ": ", "a:\n- "]
)
def test_the_same_over_and_over_is_read_quickly(piece: str) -> None:
    text = piece * (MAX_BYTES // len(piece))
    frontmatter.parse(text)
    frontmatter.parse("a: " + text)


YAML_LIKE = st.lists(
    st.one_of(
        st.sampled_from(
            ["---", "...", "name", "description", ": ", ":", "\n", "  ", "\t", "- ", "[", "]", "{", "}", "&a", "*a", "<<"]
        ),
        st.sampled_from(
            ["!!python/object", "!!int", "!!bool", "!!binary", "|", ">", "'", '"', "#", "\\ud800", "? ", "%", "@", "`"]
        ),
        st.text(max_size=5),
    )
).map("".join)


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | bool)


@given(YAML_LIKE)
def test_any_text_is_read_without_an_exception_into_plain_values(text: str) -> None:
    front = frontmatter.split(f"---\n{text}\n---\nbody")
    assert _is_plain(front.members)
    assert all(1 <= note.line <= text.count("\n") + 4 for note in front.notes)


@given(st.text())
def test_any_file_is_split_without_an_exception(text: str) -> None:
    front = frontmatter.split(text)
    assert front.body in text


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_-]{0,9}", fullmatch=True),
        st.text(st.characters(categories=["L", "N"]), min_size=1),
        max_size=5,
    )
)
def test_quoted_values_come_back_as_they_were(values: dict[str, str]) -> None:
    text = "\n".join(f'{key}: "{value}"' for key, value in values.items())
    assert frontmatter.parse(text) == (values, [])
