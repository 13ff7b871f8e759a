"""A real MCP server for tests: its tools are in a file that it watches, and it can misbehave.

The file holds {"tools": [...], "notify": 1}. Next to it appear FILE.pid and FILE.listings, a byte for every listing begun.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.types import ASGIApp, Receive, Scope, Send

POLL_SECONDS = 0.01
HUGE = 10_000_000
MANY = 50_000

arguments = argparse.ArgumentParser()
arguments.add_argument("file", type=Path)
arguments.add_argument("--http", action="store_true")
arguments.add_argument("--style", choices=["lowlevel", "mcpserver", "2025-06-18"], default="lowlevel")
arguments.add_argument("--legacy", action="store_true", help="refuse the protocol of 2026, over HTTP")
arguments.add_argument("--page-size", type=int, default=1_000)
arguments.add_argument("--misbehave", default="")
given = arguments.parse_args()

bus = InMemorySubscriptionBus()
sessions: set[Any] = set()
expired_cursors = 0


def offered() -> list[dict[str, Any]]:
    return list(json.loads(given.file.read_text())["tools"])


def count_listing() -> None:
    with Path(f"{given.file}.listings").open("a") as listings:
        listings.write(".")


async def on_changes(announce: Callable[[], Awaitable[None]]) -> None:
    """Announce each new content of the file as often as it says."""
    known = given.file.read_text()
    while True:
        await anyio.sleep(POLL_SECONDS)
        text = given.file.read_text()
        if text == known or given.misbehave == "silent":
            continue
        known = text
        for _ in range(json.loads(text).get("notify", 1)):
            await announce()


async def announce() -> None:
    await bus.publish(ToolsListChanged())
    for session in sessions if given.legacy else ():
        await session.send_tool_list_changed()


async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    global expired_cursors
    cursor = params.cursor if params else None
    sessions.add(ctx.session)
    if cursor is None:
        count_listing()
    tools = offered()
    start = int(cursor or 0)
    following: str | None = str(start + given.page_size) if start + given.page_size < len(tools) else None
    page = tools[start : start + given.page_size]
    match given.misbehave:
        case "mute":
            await anyio.sleep_forever()
        case "crash" if cursor is not None:
            os._exit(3)
        case "crash":
            following = "1"
        case "expire once" if cursor is not None and expired_cursors == 0:
            expired_cursors += 1
            raise MCPError(types.INVALID_PARAMS, "the cursor is too old")
        case "expire always" if cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "the cursor is too old")
        case "endless":
            page = [tools[0] | {"name": f"tool{start}"}]
            following = str(start + 1)
        case "same cursor":
            following = "0"
        case "duplicates":
            page = page + page
        case "many":
            page = [tools[0] | {"name": f"tool{number}"} for number in range(MANY)]
            following = None
        case "broken schemas":
            page = page + [
                {
                    "name": "odd",
                    "inputSchema": {"type": "object", "properties": {"x": {"type": ["strange", 7], "enum": "no list"}}},
                }
            ]
        case "huge":
            page = page + [tools[0] | {"name": "huge", "description": "x" * HUGE}]
        case "tell secrets":
            raise MCPError(types.INTERNAL_ERROR, f"bad token {os.environ.get('TOKEN')}")
    return types.ListToolsResult(
        tools=[types.Tool.model_validate(each) for each in page], next_cursor=following, ttl_ms=3_600_000
    )


async def list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", description="Greets somebody")])


async def list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(name="readme", uri="file:///readme", description="Read me")])


def lowlevel() -> Server[Any]:
    silent = given.misbehave == "silent"
    return Server(
        "under-test",
        on_list_tools=list_tools,
        on_list_prompts=list_prompts,
        on_list_resources=list_resources,
        on_subscriptions_listen=None if silent else ListenHandler(bus),
    )


async def serve_stdio() -> None:
    server = lowlevel()
    async with anyio.create_task_group() as group:
        group.start_soon(on_changes, announce)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
    if given.misbehave == "stubborn":
        await anyio.sleep_forever()


async def serve_mcpserver() -> None:
    """The SDK's high-level server, whose tools are functions."""
    server = MCPServer("under-test", subscriptions=bus)

    def take_tools() -> None:
        for tool in server._tool_manager.list_tools():
            server.remove_tool(tool.name)
        for each in offered():
            server.add_tool(lambda text="": text, name=each["name"], description=each["description"])

    async def announce_functions() -> None:
        take_tools()
        await announce()

    take_tools()
    async with anyio.create_task_group() as group:
        group.start_soon(on_changes, announce_functions)
        await server.run_stdio_async()
        group.cancel_scope.cancel()


async def serve_http() -> None:
    app: ASGIApp = lowlevel().streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = endless if given.misbehave == "endless answer" else refusing_2026(app) if given.legacy else app
    config = uvicorn.Config(app, log_level="critical", lifespan="auto")
    async with anyio.create_task_group() as group:
        group.start_soon(on_changes, announce)
        await uvicorn.Server(config).serve(sockets=[listener])
        group.cancel_scope.cancel()


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """A JSON answer that never ends."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    while True:
        await send({"type": "http.response.body", "body": b" " * 65_536, "more_body": True})


def refusing_2026(app: ASGIApp) -> ASGIApp:
    """What the newer protocol gets from a server that does not know it."""

    async def older(scope: Scope, receive: Receive, send: Send) -> None:
        if dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"") < b"2026":
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"unsupported protocol version"})

    return older


def serve_2025_06_18() -> None:
    """By hand: the SDK's own server always takes the newest version."""

    def say(message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        sys.stdout.flush()

    def watch() -> None:
        known = given.file.read_text()
        while True:
            time.sleep(POLL_SECONDS)
            if given.file.read_text() != known:
                known = given.file.read_text()
                say({"method": "notifications/tools/list_changed"})

    threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request["method"] == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "older", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
            say({"id": request["id"], "result": result})
        elif request["method"] == "tools/list":
            count_listing()
            say({"id": request["id"], "result": {"tools": offered()}})
        else:
            say({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    Path(f"{given.file}.pid").write_text(str(os.getpid()))
    sys.stderr.write("noise " * 100_000)
    if given.misbehave == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if given.http:
        anyio.run(serve_http)
    elif given.style == "2025-06-18":
        serve_2025_06_18()
    elif given.style == "mcpserver":
        anyio.run(serve_mcpserver)
    else:
        anyio.run(serve_stdio)


if __name__ == "__main__":
    main()
