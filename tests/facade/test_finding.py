import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from facade.conftest import Shared
from facade.facades import ToolServer, ask, facade, text, write_config
from support import tool

OWN = ["find_tools", "list_tools", "describe_tool", "call_tool", "call_tool_destructive"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_any_age_are_served(shared: Shared, mode: str) -> None:
    async with Client(shared.url, mode=mode) as client:
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        assert [each.name for each in (await client.list_tools()).tools] == OWN


async def test_the_servers_are_named_to_the_model(shared: Shared) -> None:
    async with Client(shared.url) as client:
        assert "Servers: calc, older, web." in (client.instructions or "")


async def test_clients_that_search_tools_themselves_load_the_own_ones_at_once(shared: Shared) -> None:
    async with Client(shared.url) as client:
        assert all(each.meta == {"anthropic/alwaysLoad": True} for each in (await client.list_tools()).tools)


async def test_a_tool_is_found_with_all_that_is_needed_to_call_it(shared: Shared) -> None:
    async with Client(shared.url) as client:
        found = await ask(client, "find_tools", query="add two numbers on calc", limit=1)
    assert found["matches"] == [
        {
            "name": "calc_add",
            "server": "calc",
            "summary": "Adds two numbers",
            "call_with": "call_tool",
            "relevance": found["matches"][0]["relevance"],
            "input_schema": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        }
    ]


async def test_a_destructive_tool_says_what_to_call_it_with(shared: Shared) -> None:
    async with Client(shared.url) as client:
        found = await ask(client, "find_tools", query="erase everything", limit=1)
    assert found["matches"][0]["call_with"] == "call_tool_destructive"


@pytest.mark.parametrize(("detail", "schemas"), [("summary", 0), ("best", 3), ("full", 5)])
async def test_detail_says_whose_schemas_are_given(shared: Shared, detail: str, schemas: int) -> None:
    async with Client(shared.url) as client:
        found = await ask(client, "find_tools", queries=["add", "erase", "count"], limit=5, detail=detail)
    assert len(found["matches"]) == 5
    assert ["input_schema" in match for match in found["matches"]] == [True] * schemas + [False] * (5 - schemas)


async def test_every_answer_is_structured_and_the_same_as_text(shared: Shared) -> None:
    async with Client(shared.url) as client:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("find_tools", {"query": "add"}),
            ("list_tools", {}),
            ("describe_tool", {"names": ["calc_add", "nothing"]}),
            ("call_tool", {"name": "nothing"}),
        ]
        for name, arguments in asked:
            result = await client.call_tool(name, arguments)
            assert json.loads(text(result)) == result.structured_content


async def test_what_is_not_found_has_a_message_and_near_names(shared: Shared) -> None:
    async with Client(shared.url) as client:
        found = await ask(client, "find_tools", query="calc.renme", detail="summary")
        nothing = await ask(client, "find_tools", query="zzzzqqqq")
    assert "calc_rename" in [match["name"] for match in found["matches"]] or "calc.rename" in found["near_names"]
    assert nothing["matches"] == []
    assert nothing["message"]


async def test_a_search_can_be_narrowed(shared: Shared) -> None:
    async with Client(shared.url) as client:
        space = await ask(client, "find_tools", query="add", namespaces=["web"], limit=25)
        harmless = await ask(client, "find_tools", queries=["erase", "rename"], read_only=True, limit=25)
        prompts = await ask(client, "find_tools", query="add", kinds=["prompt"])
    assert {match["server"] for match in space["matches"]} == {"web"}
    assert not {"calc_erase", "calc_rename"} & {match["name"] for match in harmless["matches"]}
    assert prompts["matches"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("find_tools", {}, "is not valid under any of the given schemas"),
        ("find_tools", {"query": "x", "limit": 26}, "arguments.limit: 26 is greater than the maximum of 25"),
        ("find_tools", {"query": "x", "limit": 0}, "arguments.limit: 0 is less than the minimum of 1"),
        ("find_tools", {"query": "x", "colour": "red"}, "('colour' was unexpected)"),
        ("find_tools", {"query": ""}, "query"),
        ("describe_tool", {"names": []}, "arguments.names: [] should be non-empty"),
        ("describe_tool", {"names": ["x"] * 21}, "is too long"),
        ("call_tool", {"name": 7}, "arguments.name: 7 is not of type 'string'"),
    ],
)
async def test_wrong_arguments_are_an_error_that_the_model_sees(
    shared: Shared, name: str, arguments: dict[str, Any], problem: str
) -> None:
    async with Client(shared.url) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert problem in result.structured_content["error"]


async def test_descriptions_tell_all(shared: Shared) -> None:
    async with Client(shared.url) as client:
        told = await ask(client, "describe_tool", names=["calc_add", "calc.erase", "calc_ad"])
    assert [each["name"] for each in told["tools"]] == ["calc_add", "calc_erase"]
    assert told["tools"][0]["output_schema"]["required"] == ["sum"]
    assert told["tools"][0]["annotations"] == {"readOnlyHint": True}
    assert told["missing"][0]["name"] == "calc_ad"
    assert "calc.add" in told["missing"][0]["near_names"]


async def test_all_tools_are_listed_page_by_page(tmp_path: Path, calc: ToolServer) -> None:
    calc.offer(*(tool(f"Tool-{number}.x_é", "one of many") for number in range(120)))
    other = ToolServer(tmp_path / "other")
    config = write_config(tmp_path / "mcp.json", {"calc": calc, "other": other})
    async with facade("--mcp-config", str(config)) as client:
        first = page = await ask(client, "list_tools")
        names = [each["name"] for each in page["tools"]]
        while "next_page_token" in page:
            page = await ask(client, "list_tools", page_token=page["next_page_token"])
            names += [each["name"] for each in page["tools"]]
        narrowed = await ask(client, "list_tools", namespace="other")
    assert len(first["tools"]) == 50
    assert first["namespaces"] == [{"name": "calc", "tools": 133}, {"name": "other", "tools": 13}]
    assert len(names) == len(set(names)) == 120 + 13 + 13
    assert len(narrowed["tools"]) == 13
    assert narrowed["namespaces"] == []


async def test_the_text_of_others_is_cut(config: Path, calc: ToolServer) -> None:
    calc.offer(tool("chatty", "chat " * 5_000))
    async with facade("--mcp-config", str(config), "--limit", "facade_text_length=100") as client:
        found = await ask(client, "find_tools", query="chatty", limit=1)
        told = await ask(client, "describe_tool", names=["calc_chatty"])
    assert len(found["matches"][0]["summary"]) <= 200
    assert len(told["tools"][0]["description"]) == 100


async def test_an_answer_has_a_limit_beyond_its_first_definition(config: Path, calc: ToolServer) -> None:
    wide = {"x": {"type": "string", "description": "y" * 3_000}}
    calc.offer(*(tool(f"wide{number}", "a wide tool", parameters=wide) for number in range(3)))
    names = [f"calc_wide{number}" for number in range(3)]
    async with facade("--mcp-config", str(config), "--limit", "facade_answer_bytes=4KiB") as client:
        told = await ask(client, "describe_tool", names=names)
        found = await ask(client, "find_tools", query="wide tool", limit=3)
    assert [each["name"] for each in told["tools"]] == names[:2]
    assert told["omitted"] == names[2:]
    assert sum("input_schema" in match for match in found["matches"]) == 1
