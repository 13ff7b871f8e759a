"""What `toolsearch mcp` saves and costs: tokens of tools/list before and after, time of a call direct and through it.

.venv/bin/python bench/mcp_facade.py                      its own servers, with the tools of the sample catalog
.venv/bin/python bench/mcp_facade.py mcp-servers.json     yours; nothing of them is called
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server import Server
from mcp.server.stdio import stdio_server

from toolsearch_server.mcp_config import ServerSpec, StdioTransport, WatchLimits, parse
from toolsearch_server.mcp_session import connected

BYTES_PER_TOKEN = 4
CALLS = 300
SAMPLE = Path(__file__).parents[1] / "service" / "toolsearch_server" / "sample"
ECHO = {
    "name": "echo",
    "description": "Says what it was told",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


async def serve(definitions: list[dict[str, Any]]) -> None:
    tools = [types.Tool.model_validate(tool) for tool in (*definitions, ECHO)]

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(params.arguments))])

    server: Server[Any] = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def own_config(folder: Path) -> Path:
    """A server for each one of the sample catalog."""
    files = sorted(SAMPLE.glob("*.jsonl"))
    sections = {file.stem: {"command": sys.executable, "args": [__file__, "--serve", str(file)]} for file in files}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": sections}))
    return config


def tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN


async def listed(spec: ServerSpec) -> tuple[int, int]:
    async with connected(spec, WatchLimits()) as session:
        drafts = (await session.list_all()).drafts
        return len(drafts), sum(tokens(draft.definition) for draft in drafts)


async def timed(client: Client, name: str, arguments: dict[str, Any]) -> list[float]:
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        result = await client.call_tool(name, arguments)
        times.append(1_000 * (time.perf_counter() - began))
        assert not result.is_error, result
    return times[CALLS // 10 :]


def shown(times: list[float]) -> str:
    return f"median {statistics.median(times):.2f} ms, p95 {statistics.quantiles(times, n=20)[-1]:.2f} ms"


async def main(given: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(given) if given else own_config(Path(folder))
        specs = parse(config.read_text(), os.environ).servers
        counts = [await listed(spec) for spec in specs]
        print(f"before: {len(specs)} servers, {sum(n for n, _ in counts)} tools, {sum(t for _, t in counts):,} tokens")
        command = Path(sys.executable).with_name("toolsearch")
        parameters = StdioServerParameters(command=str(command), args=["mcp", "--mcp-config", str(config)])
        with (Path(folder) / "log").open("w") as log:
            began = time.perf_counter()
            async with Client(stdio_client(parameters, errlog=log), cache=None) as client:
                print(f"start: connected after {time.perf_counter() - began:.1f} s")
                own = (await client.list_tools()).tools
                print(f"       all servers listed after {time.perf_counter() - began:.1f} s")
                size = sum(tokens(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in own)
                print(f"after: {len(own)} tools, {size:,} tokens")
                found = await client.call_tool("find_tools", {"query": "open a bug report"})
                print(f"one find_tools answer: {tokens(json.dumps(found.structured_content, ensure_ascii=False)):,} tokens")
                print("find_tools:", shown(await timed(client, "find_tools", {"query": "open a bug report"})))
                if given:
                    return
                spec = specs[0]
                arguments = {"name": f"{spec.name}.echo", "arguments": {"x": 1}}
                print("call through the facade:", shown(await timed(client, "call_tool", arguments)))
        assert isinstance(spec.transport, StdioTransport)
        direct = StdioServerParameters(command=spec.transport.command, args=list(spec.transport.args))
        async with Client(stdio_client(direct), cache=None) as client:
            print("call without it:        ", shown(await timed(client, "echo", {"x": 1})))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        anyio.run(serve, [json.loads(line) for line in Path(sys.argv[2]).read_text().splitlines()])
    else:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
