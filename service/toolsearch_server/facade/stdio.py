"""MCP over standard input and output."""

import asyncio
import os
import sys
import threading
from typing import Any, Self, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

PIECE_BYTES = 64 * 1024
LINES_AHEAD = 64


class _Lines:
    """Lines of standard input, read by a thread that nobody has to wait for: the SDK's own cannot be stopped by a signal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(LINES_AHEAD)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        kept: list[bytes] = []
        while True:
            try:
                piece = os.read(self._descriptor, PIECE_BYTES)
            except OSError:
                piece = b""
            *ended, rest = piece.split(b"\n")
            for line in ended:
                kept.append(line)
                if not self._hand_over(b"".join(kept).decode(errors="replace")):
                    return
                kept.clear()
            kept.append(rest)
            if not piece:
                self._hand_over(None)
                return

    def _hand_over(self, line: str | None) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):  # the loop has ended
            return False
        return True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line


async def serve_stdio(server: Server[Any]) -> None:
    """Until standard input ends."""
    lines = cast("anyio.AsyncFile[str]", _Lines(sys.stdin.fileno()))
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, server.create_initialization_options())
