"""A FastMCP server with the transform, and an MCP client that talks to it."""

import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from fastmcp import Client as MCPClient
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode, GetSchemas, Search
from fastmcp.server.context import Context
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult

from adapters.contract import ARGUMENTS, LOADS, QUERY, TOOLS, WANTED, Workshop, example, sync_sample
from support import running_server
from toolsearch import AsyncClient, Client
from toolsearch.adapters._core import AWAY_MESSAGE
from toolsearch.adapters.fastmcp import ToolSearchTransform, search_function


class SampleTool(Tool):
    workshop: Workshop

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(self.workshop.call(self.name, arguments))


def server_of(workshop: Workshop, *transforms: Any) -> FastMCP:
    mcp: FastMCP = FastMCP("Sample")
    for definition in workshop.definitions:
        mcp.add_tool(
            SampleTool(
                name=definition["name"],
                description=definition["description"],
                parameters=definition["inputSchema"],
                workshop=workshop,
            )
        )
    for transform in transforms:
        mcp.add_transform(transform)
    return mcp


async def found(mcp: MCPClient[Any], query: str) -> list[str]:
    result = await mcp.call_tool("search_tools", {"query": query})
    return [tool["name"] for tool in result.data["tools"]]


async def test_clients_see_the_search_and_the_proxy_and_call_what_they_found(client: Client) -> None:
    workshop = Workshop()
    async with MCPClient(server_of(workshop, ToolSearchTransform(client, server="sample"))) as mcp:
        listed = await mcp.list_tools()
        assert [tool.name for tool in listed] == ["search_tools", "call_tool"]
        result = (await mcp.call_tool("search_tools", {"query": QUERY})).data
        assert result["message"] == f'5 tools were found for "{QUERY}", the best first.'
        wanted = next(tool for tool in result["tools"] if tool["name"] == WANTED)
        assert wanted["inputSchema"]["required"] == ["repo", "title"]
        answer = await mcp.call_tool("call_tool", {"name": WANTED, "arguments": ARGUMENTS})
        assert answer.content[0].text == f"{WANTED} was called"
    assert workshop.calls == [(WANTED, ARGUMENTS)]
    size = len(json.dumps([tool.model_dump(mode="json", exclude_none=True) for tool in listed]))
    LOADS.append(("FastMCP", [[tool.name for tool in listed]], [size]))


async def test_hidden_tools_can_be_called_directly(client: Client) -> None:
    workshop = Workshop()
    async with MCPClient(server_of(workshop, ToolSearchTransform(client, server="sample"))) as mcp:
        await mcp.call_tool(WANTED, ARGUMENTS)
    assert workshop.calls == [(WANTED, ARGUMENTS)]


async def test_an_asynchronous_client_does_the_same(address: str, tenant: str) -> None:
    async with (
        AsyncClient(address, tenant=tenant) as client,
        MCPClient(server_of(Workshop(), ToolSearchTransform(client, server="sample"))) as mcp,
    ):
        assert WANTED in await found(mcp, QUERY)


async def test_pinned_tools_are_listed_and_not_searched_for(client: Client) -> None:
    transform = ToolSearchTransform(client, server="sample", always_visible=[WANTED], max_results=3)
    async with MCPClient(server_of(Workshop(), transform)) as mcp:
        assert WANTED in [tool.name for tool in await mcp.list_tools()]
        names = await found(mcp, QUERY)
        assert WANTED not in names and len(names) == 3


async def test_a_tool_that_is_added_while_it_runs_is_found(client: Client) -> None:
    mcp_server = server_of(Workshop(), ToolSearchTransform(client, server="sample"))
    async with MCPClient(mcp_server) as mcp:
        await found(mcp, QUERY)

        @mcp_server.tool
        def bake_a_cake(flavour: str) -> str:
            """Bake a cake of any flavour."""
            return flavour

        assert await found(mcp, "bake a cake") == ["bake_a_cake"]


async def test_a_caller_never_finds_what_it_may_not_see(client: Client) -> None:
    class NothingOfGitHub(Middleware):
        async def on_list_tools(self, context: MiddlewareContext[Any], call_next: Any) -> Sequence[Tool]:
            return [tool for tool in await call_next(context) if not tool.name.startswith("github_")]

    mcp_server = server_of(Workshop(), ToolSearchTransform(client, server="sample"))
    mcp_server.add_middleware(NothingOfGitHub())
    sync_sample(client)
    async with MCPClient(mcp_server) as mcp:
        result = await mcp.call_tool("search_tools", {"query": QUERY})
        assert "github" not in json.dumps(result.data)
        with pytest.raises(ToolError, match="Unknown tool"):
            await mcp.call_tool("call_tool", {"name": WANTED, "arguments": ARGUMENTS})


async def test_tools_that_another_filled_the_catalog_with_are_found_by_alias(client: Client) -> None:
    sync_sample(client)
    async with MCPClient(server_of(Workshop(), ToolSearchTransform(client))) as mcp:
        assert WANTED in await found(mcp, QUERY)


async def test_the_results_are_rendered_as_the_caller_wants_it(client: Client) -> None:
    def names(tools: Sequence[Tool]) -> str:
        return " ".join(tool.name for tool in tools)

    transform = ToolSearchTransform(client, server="sample", search_result_serializer=names)
    async with MCPClient(server_of(Workshop(), transform)) as mcp:
        assert WANTED in (await mcp.call_tool("search_tools", {"query": QUERY})).content[0].text.split()


async def test_while_the_service_is_away_the_model_is_told_and_known_answers_serve() -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        workshop = Workshop()
        transform = ToolSearchTransform(client, server="sample", timeout=0.5)
        async with MCPClient(server_of(workshop, transform)) as mcp:
            before = await found(mcp, QUERY)
            server.kill()
            assert await found(mcp, QUERY) == before
            other = await mcp.call_tool("search_tools", {"query": "send a message"})
            assert other.data == {"message": AWAY_MESSAGE, "tools": []}
            await mcp.call_tool("call_tool", {"name": WANTED, "arguments": ARGUMENTS})
    assert workshop.calls == [(WANTED, ARGUMENTS)]


async def test_everything_is_found_while_the_service_is_away_if_told_so(caplog: pytest.LogCaptureFixture) -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        server.kill()
        transform = ToolSearchTransform(client, server="sample", timeout=0.5, fallback="all")
        with caplog.at_level(logging.WARNING, "toolsearch.adapters"):
            async with MCPClient(server_of(Workshop(), transform)) as mcp:
                for _ in range(2):
                    assert len(await found(mcp, QUERY)) == len(TOOLS)
    assert len([record for record in caplog.records if record.name == "toolsearch.adapters"]) == 1


async def test_the_error_reaches_the_caller_if_told_so() -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        server.kill()
        transform = ToolSearchTransform(client, server="sample", timeout=0.5, fallback="error")
        async with MCPClient(server_of(Workshop(), transform)) as mcp:
            with pytest.raises(ToolError, match="toolsearch"):
                await found(mcp, QUERY)


async def test_code_mode_searches_with_it(client: Client) -> None:
    search = Search(search_fn=search_function(client, server="sample"), default_detail="detailed")
    async with MCPClient(server_of(Workshop(), CodeMode(discovery_tools=[search, GetSchemas()]))) as mcp:
        assert WANTED not in [tool.name for tool in await mcp.list_tools()]
        text = (await mcp.call_tool("search", {"query": QUERY})).content[0].text
        assert f"### {WANTED}" in text and "`title` (string, required)" in text


async def test_a_context_is_not_part_of_a_tools_definition(client: Client) -> None:
    mcp_server: FastMCP = FastMCP("Sample")

    @mcp_server.tool
    async def whisper(text: str, ctx: Context) -> str:
        """Say it quietly."""
        return text

    mcp_server.add_transform(ToolSearchTransform(client, server="sample"))
    async with MCPClient(mcp_server) as mcp:
        assert await found(mcp, "say it quietly") == ["whisper"]
    (entry,) = client.get_tools(["sample.whisper"]).entries
    assert entry.definition is not None and list(entry.definition["inputSchema"]["properties"]) == ["text"]


async def test_the_example_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await example("fastmcp_server").main(address) == "It is sunny in Paris."
    assert "def get_weather(*, city: str) ->" in capsys.readouterr().out
