"""toolsearch-server: flags and environment → Config → serve, watch or keys."""

import asyncio
import gc
import sys
from collections.abc import Coroutine
from typing import Any

import structlog

from toolsearch_server import allocator, command_line, config, keys_command, server, telemetry
from toolsearch_server.store import StoreOpenError

SWITCH_SECONDS = 0.0005
"""How long a thread may keep the interpreter from the event loop, which needs it several times a call."""


COLLECTION_THRESHOLDS = (50_000, 20, 50)
"""Catalogs are many objects without cycles: to look through all of them for garbage would stop everybody for long."""


def main() -> None:
    settings = command_line.from_process()
    if isinstance(settings, config.KeysConfig):
        sys.exit(keys_command.run(settings))
    allocator.limit_arenas()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    telemetry.configure_logging(level=settings.log_level, format=settings.log_format)
    try:
        code = _run(_work(settings))
    except (StoreOpenError, server.StartError) as error:
        structlog.get_logger().error("cannot start", error=str(error))
        sys.exit(1)
    sys.exit(code)


def _work(settings: config.Config | config.WatchConfig) -> Coroutine[Any, Any, int | None]:
    if isinstance(settings, config.Config):
        return server.serve(settings)
    try:
        from toolsearch_server.watch import watch
    except ImportError as error:
        raise server.StartError(f"install toolsearch-server[mcp] to follow MCP servers ({error})") from error
    return watch(settings)


def _run(work: Coroutine[Any, Any, int | None]) -> int | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return asyncio.run(work)
    return uvloop.run(work)


if __name__ == "__main__":
    main()
