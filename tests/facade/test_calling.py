import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, ImageContent, TextContent

from facade.conftest import Shared
from facade.facades import ADD, ToolServer, call, facade, text
from watcher.servers import eventually

MODES = ["auto", "legacy"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ["calc", "older", "web"])
async def test_a_call_reaches_the_server_that_has_the_tool(shared: Shared, server: str, mode: str) -> None:
    before = shared.server(server).events.count("called add")
    async with Client(shared.url, mode=mode) as client:
        result = await call(client, "call_tool", name=f"{server}_add", arguments=ADD)
    assert result.structured_content == {"sum": 3}
    assert json.loads(text(result)) == {"sum": 3}
    assert not result.is_error
    if server != "older":
        assert shared.server(server).events.count("called add") == before + 1


async def test_a_tool_is_called_by_its_canonical_name_too(shared: Shared) -> None:
    async with Client(shared.url) as client:
        assert (await call(client, "call_tool", name="calc.add", arguments=ADD)).structured_content == {"sum": 3}


async def test_metadata_of_a_result_is_passed_on(shared: Shared) -> None:
    async with Client(shared.url) as client:
        result = await call(client, "call_tool", name="calc_add", arguments=ADD)
    assert result.meta is not None
    assert result.meta["by"] == "add"


async def test_metadata_of_a_call_is_passed_on(shared: Shared) -> None:
    async with Client(shared.url) as client:
        arguments = {"name": "calc_echo", "arguments": {"text": "hi"}}
        meta: Any = {"example.com/turn": 7}
        result = await client.call_tool("call_tool", arguments, meta=meta)
    heard = json.loads(text(result))
    assert heard["arguments"] == {"text": "hi"}
    assert heard["meta"]["example.com/turn"] == 7


@pytest.mark.parametrize("mode", MODES)
async def test_a_result_that_is_an_error_stays_one(shared: Shared, mode: str) -> None:
    async with Client(shared.url, mode=mode) as client:
        result = await call(client, "call_tool", name="calc_fail")
    assert result.is_error
    assert text(result) == "it did not work"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ["calc", "web"])
async def test_an_error_of_the_protocol_keeps_code_message_and_data(shared: Shared, server: str, mode: str) -> None:
    async with Client(shared.url, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await call(client, "call_tool", name=f"{server}_refuse")
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32050, "not today", {"why": "because"})


async def test_content_that_is_no_text_is_passed_on(shared: Shared) -> None:
    async with Client(shared.url) as client:
        [content] = (await call(client, "call_tool", name="calc_paint")).content
    assert isinstance(content, ImageContent)
    assert content.mime_type == "image/png"


async def test_a_result_that_breaks_its_own_schema_is_passed_on(shared: Shared) -> None:
    async with Client(shared.url) as client:
        assert (await call(client, "call_tool", name="calc_lie")).structured_content == {"y": 1}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ["calc", "web"])
async def test_progress_arrives_in_order(shared: Shared, server: str, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(shared.url, mode=mode) as client:
        arguments = {"name": f"{server}_count", "arguments": {"steps": 5}}
        await client.call_tool("call_tool", arguments, progress_callback=on_progress)
    assert heard == [(step, 5, f"step {step}") for step in range(1, 6)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ["calc", "older", "web"])
async def test_a_call_that_is_cancelled_is_cancelled_at_its_server(shared: Shared, server: str, mode: str) -> None:
    before = shared.server(server).events.count("cancelled wait")
    waiting = asyncio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        waiting.set()

    async with Client(shared.url, mode=mode) as client:
        arguments = {"name": f"{server}_wait"}
        task = asyncio.create_task(client.call_tool("call_tool", arguments, progress_callback=on_progress))
        async with asyncio.timeout(20):
            await waiting.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await eventually(lambda: shared.server(server).events.count("cancelled wait") == before + 1)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"a": "one", "b": 2}, "arguments.a: 'one' is not of type 'integer'"),
        ({"a": 1}, "arguments: 'b' is a required property"),
        ({}, "arguments: 'a' is a required property"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_the_schema(
    shared: Shared, arguments: dict[str, Any], problem: str
) -> None:
    before = shared.calc.events.count("called add")
    async with Client(shared.url) as client:
        result = await call(client, "call_tool", name="calc_add", arguments=arguments)
    assert result.is_error
    assert problem in result.structured_content["problems"]
    assert result.structured_content["input_schema"]["required"] == ["a", "b"]
    assert shared.calc.events.count("called add") == before


async def test_a_name_that_does_not_exist_is_an_error_with_near_names(shared: Shared) -> None:
    async with Client(shared.url) as client:
        result = await call(client, "call_tool", name="calc_ad", arguments=ADD)
    assert result.is_error
    assert "there is no tool 'calc_ad'" in text(result)
    assert "calc.add" in text(result)


async def test_a_tool_that_is_not_listed_is_an_error_of_the_protocol(shared: Shared) -> None:
    async with Client(shared.url) as client:
        with pytest.raises(MCPError, match="there is no tool 'calc_add' here"):
            await call(client, "calc_add", a=1, b=2)


async def test_a_destructive_tool_is_refused_by_call_tool(shared: Shared) -> None:
    before = shared.calc.events.count("called erase")
    async with Client(shared.url) as client:
        result = await call(client, "call_tool", name="calc_erase", arguments={"disk": 1})
    assert result.is_error
    assert "call it with call_tool_destructive" in text(result)
    assert shared.calc.events.count("called erase") == before


async def test_a_destructive_tool_is_called_by_its_own_tool(shared: Shared) -> None:
    async with Client(shared.url) as client:
        result = await call(client, "call_tool_destructive", name="calc_erase", arguments={"disk": 1})
    assert text(result) == "erase is done"


async def test_clients_can_tell_the_two_apart(shared: Shared) -> None:
    async with Client(shared.url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    harmless, destructive = tools["call_tool"].annotations, tools["call_tool_destructive"].annotations
    assert harmless is not None and destructive is not None
    assert (harmless.destructive_hint, destructive.destructive_hint) == (False, True)


async def test_a_server_may_ask_the_user_of_a_new_client(shared: Shared) -> None:
    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert params.message == "who?"
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with Client(shared.url, elicitation_callback=elicit) as client:
        assert text(await call(client, "call_tool", name="calc_ask")) == "hello Ada, state asked"


async def test_a_server_that_asks_an_older_client_is_refused_clearly(shared: Shared) -> None:
    async with Client(shared.url, mode="legacy") as client:
        result = await call(client, "call_tool", name="calc_ask")
    assert result.is_error
    assert "asks for input before it goes on" in text(result)


@pytest.mark.parametrize("server", ["calc", "web"])
async def test_a_server_hears_what_the_client_can_be_asked_for(shared: Shared, server: str) -> None:
    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="cancel")

    async with Client(shared.url, elicitation_callback=elicit) as client:
        heard = json.loads(text(await call(client, "call_tool", name=f"{server}_echo")))
    async with Client(shared.url) as client:
        mute = json.loads(text(await call(client, "call_tool", name=f"{server}_echo")))
    key = "io.modelcontextprotocol/clientCapabilities"
    assert "elicitation" in heard["meta"][key]
    assert mute["meta"][key] == {}


async def test_destructive_tools_can_be_kept_out(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--destructive", "exclude") as client:
        assert "call_tool_destructive" not in [tool.name for tool in (await client.list_tools()).tools]
        found = await call(client, "find_tools", query="erase everything")
        assert "calc_erase" not in [match["name"] for match in found.structured_content["matches"]]
        listed = await call(client, "list_tools", namespace="calc")
        assert "calc_erase" not in [tool["name"] for tool in listed.structured_content["tools"]]
        result = await call(client, "call_tool", name="calc_erase", arguments={"disk": 1})
        assert result.is_error
        assert "keeps such tools out" in text(result)
    assert "called erase" not in calc.events


async def test_destructive_tools_can_be_like_all_others(config: Path) -> None:
    async with facade("--mcp-config", str(config), "--destructive", "together") as client:
        assert "call_tool_destructive" not in [tool.name for tool in (await client.list_tools()).tools]
        assert text(await call(client, "call_tool", name="calc_erase", arguments={"disk": 1})) == "erase is done"


async def test_arguments_have_a_limit(config: Path) -> None:
    longest = 100 - len(json.dumps({"text": ""}))
    async with facade("--mcp-config", str(config), "--limit", "call_argument_bytes=100") as client:
        allowed = await call(client, "call_tool", name="calc_echo", arguments={"text": "x" * longest})
        refused = await call(client, "call_tool", name="calc_echo", arguments={"text": "x" * (longest + 1)})
    assert not allowed.is_error
    assert refused.is_error
    assert "arguments have 101 bytes, allowed are 100 (call_argument_bytes)" in text(refused)


async def test_results_have_a_limit(config: Path) -> None:
    empty = CallToolResult(content=[TextContent(type="text", text="")])
    letters = 1024 - len(empty.model_dump_json(by_alias=True))
    async with facade("--mcp-config", str(config), "--limit", "call_result_bytes=1KiB") as client:
        allowed = await call(client, "call_tool", name="calc_enlarge", arguments={"letters": letters})
        refused = await call(client, "call_tool", name="calc_enlarge", arguments={"letters": letters + 1})
    assert not allowed.is_error
    assert refused.is_error
    assert "has 1025 bytes, allowed are 1024 (call_result_bytes); the call was made" in text(refused)


async def test_calls_under_way_have_a_limit(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--limit", "calls_under_way=1") as client:
        waiting = asyncio.create_task(client.call_tool("call_tool", {"name": "calc_wait"}))
        await eventually(lambda: "called wait" in calc.events)
        refused = await call(client, "call_tool", name="calc_add", arguments=ADD)
        assert refused.is_error
        assert "1 calls are under way, allowed is 1 (calls_under_way)" in text(refused)
        waiting.cancel()
        await eventually(lambda: "cancelled wait" in calc.events)
        async with asyncio.timeout(20):
            while (await call(client, "call_tool", name="calc_add", arguments=ADD)).is_error:
                pass


async def test_a_call_has_a_limit_of_time(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config), "--limit", "call_seconds=0.2") as client:
        result = await call(client, "call_tool", name="calc_wait")
    assert result.is_error
    assert "no answer within 0.2 seconds (call_seconds)" in text(result)
    await eventually(lambda: "cancelled wait" in calc.events)
