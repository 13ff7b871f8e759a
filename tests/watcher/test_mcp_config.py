import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch_server.mcp_config import (
    FolderTransport,
    HttpTransport,
    McpConfig,
    McpConfigError,
    ServerSpec,
    StdioTransport,
    parse,
)
from toolsearch_server.store import CatalogKey

SECRET = "hunter2hunter2"


def config(environment: dict[str, str] | None = None, **servers: Any) -> McpConfig:
    return parse(json.dumps({"mcpServers": servers}), environment or {})


def only(environment: dict[str, str] | None = None, **members: Any) -> ServerSpec:
    [spec] = config(environment, s=members).servers
    return spec


def refusal(environment: dict[str, str] | None = None, **members: Any) -> str:
    with pytest.raises(McpConfigError) as caught:
        config(environment, s=members)
    return str(caught.value)


def test_a_command_is_a_subprocess_with_defaults() -> None:
    spec = only(command="npx", args=["-y", "server"], env={"A": "b"}, cwd="/tmp")
    assert spec.transport == StdioTransport("npx", ("-y", "server"), {"A": "b"}, "/tmp")
    assert (spec.name, spec.key, spec.poll_seconds, spec.kinds) == ("s", CatalogKey("default", "default"), 300, ("tools",))


@pytest.mark.parametrize("given_type", [{}, {"type": "http"}, {"type": "streamable-http"}])
def test_a_url_is_streamable_http(given_type: dict[str, Any]) -> None:
    spec = only(url="https://example.com/mcp", headers={"Authorization": " Bearer x "}, **given_type)
    assert spec.transport == HttpTransport("https://example.com/mcp", {"Authorization": "Bearer x"})


def test_our_own_keys_are_read() -> None:
    spec = only(
        command="x",
        tenant="t",
        catalog="c",
        include=["get_*"],
        exclude=["*_b"],
        tags=["one"],
        poll_seconds=5,
        kinds=["resources", "tools"],
    )
    assert (spec.key, spec.tags, spec.poll_seconds, spec.kinds) == (CatalogKey("t", "c"), ("one",), 5.0, ("tools", "resources"))
    assert [name for name in ("get_a", "get_b", "set_a") if spec.selects(name)] == ["get_a"]


def test_what_other_programs_put_there_is_noted() -> None:
    parsed = config(s={"command": "x", "autoApprove": [], "timeout": 3, "headers": {}})
    assert parsed.notes == tuple(f"mcpServers.s.{key} is not used" for key in ("autoApprove", "timeout", "headers"))


def test_a_disabled_server_is_left_out_even_if_its_variables_are_unset() -> None:
    parsed = config(s={"command": "${UNSET}", "disabled": True}, other={"command": "x", "disabled": False})
    assert [spec.name for spec in parsed.servers] == ["other"]
    assert parsed.notes == ("mcpServers.s is disabled",)


@pytest.mark.parametrize(
    ("members", "parts"),
    [
        ({}, ["mcpServers.s is neither", "command", "url"]),
        ({"command": "x", "url": "http://h"}, ["mcpServers.s", '"command" and "url"']),
        ({"url": "http://h", "type": "sse"}, ["mcpServers.s.type", "sse", "http or streamable-http", "not supported"]),
        ({"url": "http://h", "type": "stdio"}, ["mcpServers.s.type", "stdio", "http"]),
        ({"command": "x", "type": "http"}, ["mcpServers.s.type", "http", "stdio"]),
        ({"command": 3}, ["mcpServers.s.command is a number, allowed is a string"]),
        ({"command": ""}, ["mcpServers.s.command", "empty"]),
        ({"command": "x", "args": "y"}, ["mcpServers.s.args is a string, allowed is a list of strings"]),
        ({"command": "x", "args": ["y", None]}, ["mcpServers.s.args[1] is null"]),
        ({"command": "x", "env": {"A": 1}}, ["mcpServers.s.env.A is a number"]),
        ({"url": "ftp://h"}, ["mcpServers.s.url", "http://"]),
        ({"url": "http://[h"}, ["mcpServers.s.url", "http://"]),
        ({"url": "http://h", "headers": {"a b": "c"}}, ["mcpServers.s.headers.'a b'"]),
        ({"url": "http://h", "headers": []}, ["mcpServers.s.headers is a list, allowed is an object"]),
        ({"command": "x", "kinds": ["skills"]}, ["mcpServers.s.kinds[0]", "skills", "tools, prompts, resources"]),
        ({"command": "x", "kinds": []}, ["mcpServers.s.kinds", "empty"]),
        ({"command": "x", "poll_seconds": 0}, ["mcpServers.s.poll_seconds is 0", "from 1 to 86400"]),
        ({"command": "x", "poll_seconds": True}, ["mcpServers.s.poll_seconds is a boolean"]),
        ({"command": "x", "disabled": "no"}, ["mcpServers.s.disabled is a string, allowed is true or false"]),
        ({"command": "x", "tenant": ""}, ["mcpServers.s.tenant is required"]),
        ({"command": "x", "catalog": "c" * 129}, ["mcpServers.s.catalog", "catalog_length"]),
        ({"command": "x", "tags": ["t" * 65]}, ["mcpServers.s.tags[0]", "tag_length"]),
        ({"command": "x", "tags": ["t"] * 64}, ["mcpServers.s.tags", "64 tags", "at most 63"]),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_path(members: dict[str, Any], parts: list[str]) -> None:
    message = refusal(**members)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize("name", ["", " s", "a\nb", "n" * 129])
def test_names_of_servers_are_checked(name: str) -> None:
    with pytest.raises(McpConfigError, match=r"mcpServers\."):
        parse(json.dumps({"mcpServers": {name: {"command": "x"}}}), {})


@pytest.mark.parametrize("text", ["", "[]", "{}", "nul", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}', "[" * 100_000])
def test_text_that_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(McpConfigError):
        parse(text, {})


def test_two_servers_of_one_name_are_refused() -> None:
    with pytest.raises(McpConfigError, match="'s' is there twice"):
        parse('{"mcpServers": {"s": {"command": "x"}, "s": {"command": "y"}}}', {})


def test_variables_are_expanded_everywhere() -> None:
    environment = {"V": "v", "EMPTY": ""}
    spec = only(environment, command="${V}c", args=["a${V}${V}", "${EMPTY}"], env={"E": "${NO:-d}"}, cwd="/${EMPTY:-e}")
    assert spec.transport == StdioTransport("vc", ("avv", ""), {"E": "d"}, "/e")
    spec = only(environment, url="http://${V}/${NO:-}", headers={"H": "Bearer ${V}"})
    assert spec.transport == HttpTransport("http://v/", {"H": "Bearer v"})


def test_values_of_variables_are_not_expanded_again() -> None:
    assert only({"V": "${W}", "W": "w"}, command="${V}").transport == StdioTransport("${W}")


def test_an_unset_variable_is_refused_by_key_and_name() -> None:
    message = refusal(url="http://h", headers={"Authorization": "Bearer ${TOKEN}"})
    assert "mcpServers.s.headers.Authorization" in message
    assert "TOKEN" in message


def test_other_kinds_of_variables_are_left_and_noted() -> None:
    parsed = config(s={"command": "x", "args": ["${input:key}"]})
    assert parsed.servers[0].transport == StdioTransport("x", ("${input:key}",))
    assert "mcpServers.s.args[0]" in parsed.notes[0]


def test_secrets_are_neither_shown_nor_repeated_in_errors() -> None:
    specs = [
        only(command="x", args=[SECRET], env={"TOKEN": SECRET}),
        only(url=f"http://u:{SECRET}@h/?key={SECRET}", headers={"Authorization": SECRET}),
    ]
    assert SECRET not in repr(specs)
    for members in (
        {"command": "x", "env": {"TOKEN": [SECRET]}},
        {"command": "x", "env": SECRET},
        {"url": SECRET},
        {"url": "http://h", "headers": {"A": SECRET + "\n\u00e9"}},
        {"url": "http://h", "headers": [SECRET]},
    ):
        assert SECRET not in refusal(**members)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
keys = st.sampled_from(
    "command args env cwd url headers type tenant catalog include exclude tags poll_seconds kinds disabled x".split()
)


@given(st.text() | json_values.map(json.dumps))
def test_arbitrary_text_never_raises_anything_else(text: str) -> None:
    _parse_or_refuse(text)


@given(st.dictionaries(st.text(max_size=5), json_values | st.dictionaries(keys, json_values | st.just("http://h"))))
def test_arbitrary_servers_never_raise_anything_else(servers: dict[str, Any]) -> None:
    _parse_or_refuse(json.dumps({"mcpServers": servers}))


def _parse_or_refuse(text: str) -> None:
    try:
        parse(text, {"A": "b"})
    except McpConfigError as error:
        assert str(error)


variable_names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True)
plain = st.text(st.characters(exclude_characters="${}", exclude_categories=["Cs"]), max_size=10)


@given(st.lists(st.tuples(plain, variable_names, plain)), st.dictionaries(variable_names, plain.filter(bool)))
def test_expansion_puts_the_value_or_the_default_in_place(
    parts: list[tuple[str, str, str]], environment: dict[str, str]
) -> None:
    text = "".join(f"{before}${{{name}:-{default}}}" for before, name, default in parts)
    expected = "".join(before + environment.get(name, default) for before, name, default in parts)
    assert only(environment, command="x", args=[text]).transport == StdioTransport("x", (expected,))


@given(plain)
def test_text_without_variables_stays_as_it_is(text: str) -> None:
    assert only(command="x", args=[text]).transport == StdioTransport("x", (text,))


def folders(environment: dict[str, str] | None = None, **folders: Any) -> McpConfig:
    return parse(json.dumps({"skillFolders": folders}), environment or {})


def test_a_folder_of_skills_is_followed_too() -> None:
    members = {"path": "${HOME}/skills", "catalog": "c", "include": ["a*"], "tags": ["t"], "poll_seconds": 9}
    [spec] = folders({"HOME": "/home/x"}, team=members).servers
    assert spec.transport == FolderTransport("/home/x/skills", scan_seconds=9)
    assert (spec.name, spec.catalog, spec.include, spec.tags, spec.poll_seconds) == ("team", "c", ("a*",), ("t",), 300)


def test_folders_and_servers_stand_side_by_side() -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "x"}}, "skillFolders": {"b": {"path": "/s", "command": "x"}}})
    found = parse(text, {})
    assert [spec.name for spec in found.servers] == ["a", "b"]
    assert found.notes == ("skillFolders.b.command is not used",)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({}, "skillFolders.b.path is nothing, allowed is an absolute path of a folder"),
        ({"path": "skills"}, "skillFolders.b.path is 'skills', allowed is an absolute path of a folder"),
        ({"path": 7}, "skillFolders.b.path is a number, allowed is a string"),
        (
            {"path": "/s", "poll_seconds": 0.5},
            "skillFolders.b.poll_seconds is 0.5, allowed is a number of seconds from 1 to 86400",
        ),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_by_its_path(members: dict[str, Any], told: str) -> None:
    with pytest.raises(McpConfigError) as refused:
        folders(b=members)
    assert str(refused.value) == told


def test_a_folder_named_as_a_server_of_its_catalog_is_refused() -> None:
    both = {"mcpServers": {"a": {"command": "x"}}, "skillFolders": {"a": {"path": "/s"}}}
    with pytest.raises(McpConfigError, match=r"skillFolders\.a is named as one of mcpServers is"):
        parse(json.dumps(both), {})
    both["skillFolders"]["a"]["catalog"] = "other"
    assert len(parse(json.dumps(both), {}).servers) == 2
