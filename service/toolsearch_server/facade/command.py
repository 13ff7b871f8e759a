"""`toolsearch mcp`: what is built from what, and in which order it stops."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from toolsearch import AsyncClient, ToolSearchError
from toolsearch_server import telemetry
from toolsearch_server.auth import DEFAULT_TENANT
from toolsearch_server.facade.embedded import embedded
from toolsearch_server.facade.server import Facade
from toolsearch_server.facade.settings import Settings
from toolsearch_server.facade.stdio import serve_stdio
from toolsearch_server.facade.upstreams import INSIDE, NoWriter, Upstreams
from toolsearch_server.facade.web import PATH, answering
from toolsearch_server.identity import Work
from toolsearch_server.mcp_config import McpConfig, McpConfigError, parse
from toolsearch_server.mcp_follower import Writer
from toolsearch_server.server import StartError, kept_running
from toolsearch_server.store import CatalogKey

END_SECONDS = 2.0
"""For the last answers to be written, when it has to end; a client that does not read must not keep it."""

log = structlog.get_logger()


def run(settings: Settings, environment: Mapping[str, str], log_level: str) -> int:
    """The exit code."""
    # Standard output is the protocol's; what is logged goes to standard error.
    telemetry.configure_logging(level=log_level, format="console" if sys.stderr.isatty() else "json")
    if INSIDE in environment:
        sys.stderr.write("toolsearch: refused, another toolsearch mcp starts this one: leave it out of that one's file\n")
        return 2
    try:
        asyncio.run(_run(settings, environment))
    except (StartError, ToolSearchError, OSError) as error:
        sys.stderr.write(f"toolsearch: {error}\n")
        return 1
    return 0


async def _run(settings: Settings, environment: Mapping[str, str]) -> None:
    """Until the client leaves, or SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        opening = asyncio.create_task(_open(settings, environment, stack))
        if not await _ended_first(opening, stopped):
            return
        facade, servers = opening.result()
        server = facade.server(servers)
        if settings.http is not None:
            address = await stack.enter_async_context(answering(server, settings.http))
            log.info("listening", url=f"http://{address}{PATH}")
            await stopped.wait()
            return
        speaking = asyncio.create_task(serve_stdio(server))
        if await _ended_first(speaking, stopped):
            speaking.result()
    log.info("stopped")
    if not speaking.done():
        # A thread writes to a client that does not read, and would be waited for.
        sys.stderr.flush()
        os._exit(0)


async def _ended_first(task: "asyncio.Task[Any]", stopped: asyncio.Event) -> bool:
    """Whether the task ended before it was told to stop; then it has only a while longer."""
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if task.done():
        return True
    task.cancel()
    await asyncio.wait({task}, timeout=END_SECONDS)
    return False


async def _open(settings: Settings, environment: Mapping[str, str], stack: AsyncExitStack) -> tuple[Facade, list[str]]:
    """The facade, and the names of the servers behind it. Everything is closed by the stack, calls before the service."""
    config = None if settings.mcp_config is None else await asyncio.to_thread(_read, settings.mcp_config, environment)
    writer: Writer = NoWriter()
    target = settings.target
    if target is None:
        service = await stack.enter_async_context(embedded(settings.limits))
        target, writer = str(service.address), service.catalogs
    client = AsyncClient(target, catalog=settings.catalog, tenant=settings.tenant, api_key=settings.api_key, tls=settings.tls)
    await stack.enter_async_context(client)
    if settings.target is None:
        await client.apply_changes()  # a catalog without entries can be searched, one that is not there cannot
    if settings.mcp_config is None or config is None:
        return Facade(settings, client, None, asyncio.Event()), []
    changed = asyncio.Event()
    key = CatalogKey(settings.tenant or DEFAULT_TENANT, settings.catalog)
    upstreams = Upstreams(writer, key, settings.limits, changed.set)
    facade = Facade(settings, client, upstreams, changed)
    upstreams.configure(config)
    await stack.enter_async_context(_background(facade.run))
    await stack.enter_async_context(_background(partial(upstreams.run, settings.mcp_config, environment)))
    return facade, upstreams.servers


def _read(path: Path, environment: Mapping[str, str]) -> McpConfig:
    """A file that cannot be used is an error at the start, when somebody is there to see it."""
    try:
        return parse(path.read_text(encoding="utf-8"), environment)
    except (OSError, McpConfigError, UnicodeDecodeError) as error:
        raise StartError(f"--mcp-config {path}: {error}") from error


@asynccontextmanager
async def _background(work: Work) -> AsyncIterator[None]:
    task = asyncio.create_task(kept_running(work))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
