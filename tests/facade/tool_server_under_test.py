"""A real MCP server for tests: its tools do what is hard to pass on.

FOLDER/more.json holds further tools, and is watched. In FOLDER appear `starts`, a line with the process id for every start, and
`events`, a line for what happened to calls.
"""

import argparse
import base64
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

POLL_SECONDS = 0.01

arguments = argparse.ArgumentParser()
arguments.add_argument("folder", type=Path)
arguments.add_argument("--http", type=int, help="a port, 0 for a free one")
arguments.add_argument("--style", choices=["2026-07-28", "2025-06-18"], default="2026-07-28")
given = arguments.parse_args()
bus = InMemorySubscriptionBus()


def tool(
    name: str, description: str, *required: str, annotations: dict[str, bool] | None = None, **more: Any
) -> dict[str, Any]:
    properties = more.pop("properties", {name: {"type": "integer"} for name in required})
    schema = {"type": "object", "properties": properties, "required": list(required)}
    hints = {"annotations": annotations} if annotations is not None else {}
    return {"name": name, "description": description, "inputSchema": schema, **hints, **more}


SAFE = {"readOnlyHint": True}
TOOLS = [
    tool(
        "add",
        "Adds two numbers",
        "a",
        "b",
        annotations=SAFE,
        outputSchema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
    ),
    tool("fail", "Fails as a tool does", annotations=SAFE),
    tool("refuse", "Answers with an error of the protocol", annotations=SAFE),
    tool("count", "Counts and reports progress", "steps", annotations=SAFE),
    tool("wait", "Waits until it is cancelled", annotations=SAFE),
    tool("crash", "Ends the whole server", annotations=SAFE),
    tool("echo", "Says what it was told", annotations=SAFE, properties={"text": {"type": "string"}}),
    tool("paint", "Paints a picture", annotations=SAFE),
    tool("ask", "Asks the user for a name", annotations=SAFE),
    tool(
        "lie",
        "Answers with something that its output schema forbids",
        annotations=SAFE,
        outputSchema={"type": "object", "required": ["x"]},
    ),
    tool("enlarge", "Answers with so many letters", "letters", annotations=SAFE),
    tool("erase", "Erases everything", "disk"),
    tool("rename", "Renames something without destroying it", annotations={"destructiveHint": False}),
]


def offered() -> list[dict[str, Any]]:
    more = given.folder / "more.json"
    return [*TOOLS, *(json.loads(more.read_text()) if more.exists() else ())]


def note(event: str) -> None:
    with (given.folder / "events").open("a") as events:
        events.write(event + "\n")


async def on_changes(announce: Callable[[], Awaitable[None]]) -> None:
    known = offered()
    while True:
        await anyio.sleep(POLL_SECONDS)
        newest = offered()
        if newest != known:
            known = newest
            await announce()


async def announce() -> None:
    await bus.publish(ToolsListChanged())


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in offered()])


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
    told = params.arguments or {}
    note(f"called {params.name}")
    match params.name:
        case "add":
            value = {"sum": told["a"] + told["b"]}
            return result(json.dumps(value), structuredContent=value, _meta={"by": "add"})
        case "fail":
            return result("it did not work", isError=True)
        case "refuse":
            raise MCPError(-32050, "not today", {"why": "because"})
        case "count":
            for step in range(told["steps"]):
                await ctx.session.report_progress(step + 1, told["steps"], f"step {step + 1}")
        case "wait":
            await ctx.session.report_progress(0.5)
            try:
                await anyio.sleep_forever()
            finally:
                note("cancelled wait")
        case "crash":
            os._exit(3)
        case "echo":
            return result(json.dumps({"arguments": told, "meta": params.meta}))
        case "paint":
            data = base64.b64encode(b"picture").decode()
            return types.CallToolResult.model_validate({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
        case "ask" if not params.input_responses:
            schema: Any = {"type": "object", "properties": {"name": {"type": "string"}}}
            request = types.ElicitRequest(params=types.ElicitRequestFormParams(message="who?", requested_schema=schema))
            return types.InputRequiredResult(input_requests={"name": request}, request_state="asked")
        case "ask":
            answer: Any = params.input_responses["name"] if params.input_responses else None
            return result(f"hello {answer.content['name']}, state {params.request_state}")
        case "lie":
            return result("{}", structuredContent={"y": 1})
        case "enlarge":
            return result("x" * told["letters"])
    return result(f"{params.name} is done")


def result(text: str, **members: Any) -> types.CallToolResult:
    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}], **members})


def lowlevel() -> Server[Any]:
    return Server("under-test", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(bus))


async def serve_stdio() -> None:
    server = lowlevel()
    async with anyio.create_task_group() as group:
        group.start_soon(on_changes, announce)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def serve_http() -> None:
    listener = socket.create_server(("127.0.0.1", given.http))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(lowlevel().streamable_http_app(), log_level="critical")
    async with anyio.create_task_group() as group:
        group.start_soon(on_changes, announce)
        await uvicorn.Server(config).serve(sockets=[listener])
        group.cancel_scope.cancel()


def serve_2025_06_18() -> None:
    """By hand: the SDK's own server always takes the newest version."""

    def say(message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        sys.stdout.flush()

    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params", {})
        match request["method"], params.get("name"):
            case "notifications/cancelled", _:
                note("cancelled wait")
            case "initialize", _:
                info = {"name": "older", "version": "1"}
                say(
                    {
                        "id": request["id"],
                        "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info},
                    }
                )
            case "tools/list", _:
                say({"id": request["id"], "result": {"tools": offered()}})
            case "tools/call", "wait":
                token = params["_meta"]["progressToken"]
                say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0.5}})
            case "tools/call", "add":
                value = {"sum": params["arguments"]["a"] + params["arguments"]["b"]}
                content = [{"type": "text", "text": json.dumps(value)}]
                say({"id": request["id"], "result": {"content": content, "structuredContent": value}})
            case _ if "id" in request:
                say({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    with (given.folder / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    sys.stderr.write("noise\n")
    if given.http is not None:
        anyio.run(serve_http)
    elif given.style == "2025-06-18":
        serve_2025_06_18()
    else:
        anyio.run(serve_stdio)


if __name__ == "__main__":
    main()
