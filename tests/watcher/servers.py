"""MCP servers as real processes, and the file that tells them what to offer."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support import tool
from toolsearch_server.mcp_config import HttpTransport, ServerSpec, StdioTransport

SCRIPT = Path(__file__).with_name("mcp_server_under_test.py")


class ToolFile:
    """What a server under test offers; changed while it runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offer("first", "second")

    def offer(self, *names: str, notify: int = 1, description: str = "does things") -> None:
        content = json.dumps({"tools": [tool(name, description) for name in names], "notify": notify})
        new = self.path.with_suffix(".new")
        new.write_text(content)
        new.replace(self.path)

    @property
    def listings(self) -> int:
        counted = Path(f"{self.path}.listings")
        return len(counted.read_text()) if counted.exists() else 0

    @property
    def pid(self) -> int:
        return int(Path(f"{self.path}.pid").read_text())


def stdio_spec(tools: ToolFile, *flags: str, name: str = "s", env: dict[str, str] | None = None, **fields: Any) -> ServerSpec:
    arguments = (str(SCRIPT), str(tools.path), *flags)
    return ServerSpec(name=name, transport=StdioTransport(sys.executable, arguments, env or {}), **fields)


def http_spec(port: int, *, name: str = "s", headers: dict[str, str] | None = None, **fields: Any) -> ServerSpec:
    return ServerSpec(name=name, transport=HttpTransport(f"http://127.0.0.1:{port}/mcp", headers or {}), **fields)


@contextmanager
def http_server(tools: ToolFile, *flags: str) -> Iterator[int]:
    """The port of a server on loopback."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(tools.path), "--http", *flags],
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


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def eventually(condition: Callable[[], Any], *, seconds: float = 20.0) -> Any:
    """What `condition` returns once it is true; other processes are waited for, so the processor is left to them."""
    async with asyncio.timeout(seconds):
        while not (result := condition()):  # noqa: ASYNC110 another process makes it true
            await asyncio.sleep(0.01)
        return result
