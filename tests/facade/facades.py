"""Facades as real processes, between a real MCP client and real MCP servers."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

SCRIPT = Path(__file__).with_name("tool_server_under_test.py")
COMMAND = str(Path(sys.executable).with_name("toolsearch"))
SECONDS = 30.0

Value = TypeVar("Value")

ADD = {"a": 1, "b": 2}


class ToolServer:
    """A server under test, by its folder."""

    def __init__(self, folder: Path, *flags: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.flags = flags

    @property
    def section(self) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(SCRIPT), str(self.folder), *self.flags]}

    def offer(self, *tools: Mapping[str, Any]) -> None:
        """Besides those that it always has."""
        new = self.folder / "more.new"
        new.write_text(json.dumps(tools))
        new.replace(self.folder / "more.json")

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self._lines("starts")]

    @property
    def events(self) -> list[str]:
        return self._lines("events")

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@contextmanager
def listening(server: ToolServer, port: int = 0) -> Iterator[int]:
    """The port of a server that speaks HTTP."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(server.folder), "--http", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def http_section(port: int) -> dict[str, Any]:
    return {"url": f"http://127.0.0.1:{port}/mcp"}


def write_config(path: Path, servers: Mapping[str, ToolServer | Mapping[str, Any]]) -> Path:
    sections = {name: each.section if isinstance(each, ToolServer) else dict(each) for name, each in servers.items()}
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": sections}))
    new.replace(path)
    return path


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TOOLSEARCH_")} | more


@asynccontextmanager
async def facade(*arguments: str, mode: str = "auto", log: Path | None = None, **options: Any) -> AsyncIterator[Client]:
    """An MCP client of a facade that it starts."""
    parameters = StdioServerParameters(command=COMMAND, args=["mcp", *arguments], env=environment())
    with (log or Path(os.devnull)).open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode, cache=None, **options) as client:
            yield client


async def call(client: Client, name: str, /, **arguments: Any) -> CallToolResult:
    return await client.call_tool(name, arguments, read_timeout_seconds=SECONDS)


async def ask(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What one of the facade's own tools answers."""
    result = await call(client, name, **arguments)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def until(condition: Callable[[], Awaitable[Value]], *, seconds: float = 20.0) -> Value:
    """What `condition` returns once it is true; other processes make it so."""
    async with asyncio.timeout(seconds):
        while not (value := await condition()):  # noqa: ASYNC110 another process makes it true
            await asyncio.sleep(0.01)
        return value


async def until_found(client: Client, query: str, name: str) -> None:
    async def found() -> bool:
        return name in [match["name"] for match in (await ask(client, "find_tools", query=query))["matches"]]

    await until(found)


def text(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


class RawFacade:
    """A facade that is spoken to line by line, to see what it really writes."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**variables),
        )
        self._id = 0

    def initialize(self, version: str = "2025-06-18") -> dict[str, Any]:
        info = {"name": "raw", "version": "1"}
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})
        self.say({"method": "notifications/initialized"})
        return answer

    def say(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self._id += 1
        self.say({"id": self._id, "method": method, "params": dict(params or {})})
        while True:
            message = self.hear()
            if message.get("id") == self._id:
                assert "result" in message, message
                return dict(message["result"])

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the facade closed its output"
        return dict(json.loads(line))

    def end(self) -> tuple[int, str, str]:
        """Close standard input: the exit code, and what else was written."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@contextmanager
def raw_facade(*arguments: str, **variables: str) -> Iterator[RawFacade]:
    started = RawFacade(*arguments, **variables)
    try:
        yield started
    finally:
        started.close()


def run_facade(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """To its end, which comes by itself."""
    return subprocess.run(
        [COMMAND, "mcp", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=environment(**variables),
    )


def tools_named(tools: Sequence[Any]) -> list[str]:
    return [tool.name for tool in tools]


def ended(pid: int) -> bool:
    """Whether there is no such process any more; one that nobody waited for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@contextmanager
def http_facade(*arguments: str) -> Iterator[str]:
    """The URL of a facade that speaks HTTP."""
    process = subprocess.Popen(
        [COMMAND, "mcp", "--http", "127.0.0.1:0", *arguments], stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("{") and json.loads(line)["event"] == "listening":
            break
    assert lines and "listening" in lines[-1], lines
    reader = threading.Thread(target=lines.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        yield json.loads(lines[-1])["url"]
        assert process.poll() is None, lines
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)
        reader.join(timeout=SECONDS)
        process.stderr.close()
    assert not [line for line in lines if "Traceback" in line or '"level": "error"' in line], lines
