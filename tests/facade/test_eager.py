import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import Tool, ToolListChangedNotification

from facade.facades import ToolServer, call, facade, text, tools_named, until_found, write_config
from support import tool

OWN = ["find_tools", "list_tools", "describe_tool", "call_tool", "call_tool_destructive"]
LOAD = {"anthropic/alwaysLoad": True}


async def eager(client: Client) -> list[Tool]:
    tools = (await client.list_tools()).tools
    assert tools_named(tools)[: len(OWN)] == OWN
    return tools[len(OWN) :]


async def test_eager_tools_are_listed_as_themselves_from_the_first_listing_on(config: Path) -> None:
    async with facade("--mcp-config", str(config), "--eager", "ca*:add", "--eager", "calc:p*") as client:
        add, paint = await eager(client)
    assert (add.name, paint.name) == ("calc_add", "calc_paint")
    assert add.description == "Adds two numbers"
    assert add.output_schema is not None and add.output_schema["required"] == ["sum"]
    assert add.annotations is not None and add.annotations.read_only_hint
    assert add.meta == LOAD


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_eager_tool_is_called_as_itself(config: Path, mode: str) -> None:
    async with facade("--mcp-config", str(config), "--eager", "calc:add", mode=mode) as client:
        await client.list_tools()
        assert (await call(client, "calc_add", a=1, b=2)).structured_content == {"sum": 3}
        refused = await call(client, "calc_add", a=1)
    assert refused.is_error
    assert "'b' is a required property" in text(refused)


async def test_tools_that_their_server_marks_are_eager(config: Path, calc: ToolServer) -> None:
    calc.offer(tool("marked", "to be loaded always", _meta=LOAD | {"other": 1}), tool("unmarked", "not", _meta={"x": 1}))
    async with facade("--mcp-config", str(config)) as client:
        [marked] = await eager(client)
    assert marked.name == "calc_marked"
    assert marked.meta == LOAD | {"other": 1}


async def test_a_new_client_that_listens_is_told_when_eager_tools_change(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--eager", "calc:new*") as client:
        assert await eager(client) == []
        async with client.listen(tools_list_changed=True) as subscription, asyncio.timeout(20):
            calc.offer(tool("new_thing", "new"))
            async for _ in subscription:
                break
            assert tools_named(await eager(client)) == ["calc_new_thing"]


async def test_an_older_client_is_told_when_eager_tools_change(config: Path, calc: ToolServer) -> None:
    told = asyncio.Event()

    async def received(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async with facade("--mcp-config", str(config), "--eager", "calc:new*", mode="legacy", message_handler=received) as client:
        assert client.server_capabilities.tools is not None and client.server_capabilities.tools.list_changed
        assert await eager(client) == []
        assert not told.is_set()
        calc.offer(tool("new_thing", "new"))
        async with asyncio.timeout(20):
            await told.wait()
        assert tools_named(await eager(client)) == ["calc_new_thing"]


async def test_nobody_is_told_of_changes_that_are_not_eager(config: Path, calc: ToolServer) -> None:
    told: list[object] = []

    async def received(message: Any) -> None:
        told.append(message)

    async with facade("--mcp-config", str(config), "--eager", "calc:add", mode="legacy", message_handler=received) as client:
        await eager(client)
        calc.offer(tool("juggle", "Juggles burning torches"))
        await until_found(client, "burning torches", "calc_juggle")
        await eager(client)
    assert told == []


async def test_an_eager_tool_of_a_server_that_is_away_stays_listed(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--eager", "calc:crash") as client:
        assert tools_named(await eager(client)) == ["calc_crash"]
        result = await call(client, "calc_crash")
        assert result.is_error
        assert "did not answer" in text(result)
        assert tools_named(await eager(client)) == ["calc_crash"]


async def test_no_tool_of_a_server_takes_the_name_of_an_own_one(tmp_path: Path) -> None:
    # With a server called "call" the alias of its "tool" is that of the facade's own tool.
    server = ToolServer(tmp_path / "call")
    server.offer(tool("tool", "an impostor", annotations={"readOnlyHint": True}))
    config = write_config(tmp_path / "mcp.json", {"call": server})
    async with facade("--mcp-config", str(config), "--eager", "call:tool", "--eager", "call:add") as client:
        assert tools_named(await eager(client)) == ["call_add"]
        own = next(each for each in (await client.list_tools()).tools if each.name == "call_tool")
        assert own.description != "an impostor"
        assert text(await call(client, "call_tool", name="call.tool")) == "tool is done"


async def test_eager_tools_have_a_limit(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--eager", "calc:*", "--limit", "eager_tools=2") as client:
        assert len(await eager(client)) == 2
    async with facade("--mcp-config", str(config), "--eager", "calc:*", "--limit", "eager_tools=13") as client:
        assert len(await eager(client)) == 13


async def test_a_destructive_tool_that_is_kept_out_is_not_eager_either(config: Path) -> None:
    async with facade("--mcp-config", str(config), "--eager", "calc:erase", "--destructive", "exclude") as client:
        assert "calc_erase" not in tools_named((await client.list_tools()).tools)
