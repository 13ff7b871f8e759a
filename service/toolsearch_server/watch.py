"""The watcher's composition root: what follows MCP servers is built from what, inside `serve` or as a process of its own.

Needs the extra `mcp`, and is therefore imported only where it is used.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import structlog

from toolsearch_server.changes import Version
from toolsearch_server.config import WatchConfig
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.mcp_config import McpConfig, McpConfigError, parse
from toolsearch_server.mcp_hints import HintError, parse_hint
from toolsearch_server.mcp_watcher import OnceResult, Watcher, WatchSettings, Writer, follow_file
from toolsearch_server.server import Observers, kept_running, probed
from toolsearch_server.store import CatalogKey, StoreOpenError
from toolsearch_server.store.opening import open_store
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.sqlite import SqliteStore
from toolsearch_server.writer import StoreWriter

log = structlog.get_logger()

REFILL_SECONDS = 5.0
"""So long after a store has lost a catalog, or replaced it, its servers are listed again."""


async def follow_servers(
    store: SqliteStore | RedisStore,
    writer: Writer,
    settings: WatchSettings,
    path: Path,
    environment: Mapping[str, str],
    *,
    prune: bool,
) -> None:
    """Follow the servers in the file `path`, until cancelled."""
    shared = store if isinstance(store, RedisStore) else None
    watcher = Watcher(writer, shared, settings, store, prune=prune)
    if settings.metrics is not None:
        settings.metrics.watch_sessions(lambda: [status.state for status in watcher.status()])
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watcher.run())
        tasks.create_task(follow_file(watcher, path, environment))
        if shared is not None:
            tasks.create_task(shared.listen_for_hints(lambda payload: _hear(watcher, payload)))
            tasks.create_task(_refill(watcher, shared))


def _hear(watcher: Watcher, payload: bytes) -> None:
    try:
        watcher.hint(*parse_hint(payload))
    except HintError as error:
        log.warning("a hint cannot be used", error=str(error))


async def _refill(watcher: Watcher, store: RedisStore) -> None:
    """List servers again whose catalog the store lost: they would otherwise be missing until they change or are polled."""
    epochs: dict[CatalogKey, str] = {}
    while True:
        await asyncio.sleep(REFILL_SECONDS)
        following = [status for status in watcher.status() if status.state == "following"]
        keys = list(dict.fromkeys(status.key for status in following))
        try:
            versions = await store.versions(keys)
        except StoreUnavailable:
            continue
        found = dict(zip(keys, map(_epoch, versions), strict=True))
        for status in following:
            if found[status.key] != epochs.get(status.key, found[status.key]) or not found[status.key]:
                watcher.hint(*status.key, status.name)
        epochs |= found


def _epoch(version: Version | None) -> str:
    return "" if version is None else version.epoch


async def watch(config: WatchConfig) -> int:
    """`toolsearch-server watch`: until SIGTERM or SIGINT, or once. The exit code."""
    observers = Observers.open(config.observing, config.limits, "watch")
    settings = WatchSettings(
        stale_after=config.stale_after,
        forget_after=config.forget_after,
        limits=config.limits,
        audit=observers.audit,
        metrics=observers.metrics,
        tracer=observers.tracer,
    )
    known = await asyncio.to_thread(_read, config.mcp_config)
    store = await open_store(config.store, config.limits)
    store.failed = observers.metrics.store_failed
    try:
        writer = StoreWriter(store, config.limits, observers.tracer)
        if config.once:
            results = await Watcher(writer, None, settings, store, prune=config.prune).once(known)
            sys.stdout.write(_as_json(results) if config.json else _as_table(results))
            return 1 if any(result.error for result in results) else 0
        async with AsyncExitStack() as stack:
            http = {}
            if config.http is not None:
                http["http"] = str(await stack.enter_async_context(probed(config.http, observers.metrics)))
            servers = len(known.servers)
            log.info("watching", path=str(config.mcp_config), servers=servers, store=str(config.store), **http)
            work = partial(follow_servers, store, writer, settings, config.mcp_config, os.environ, prune=config.prune)
            await _until_stopped(kept_running(work))
        return 0
    finally:
        await store.close()
        await observers.close()


async def _until_stopped(work: "asyncio._CoroutineLike[None]") -> None:
    task = asyncio.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")


def _read(path: Path) -> McpConfig:
    """A file that cannot be used is an error at the start, when somebody is there to see it."""
    try:
        return parse(path.read_text(encoding="utf-8"), os.environ)
    except (OSError, McpConfigError, UnicodeDecodeError) as error:
        raise StoreOpenError(f"cannot use {path}: {error}") from error


def _as_json(results: Sequence[OnceResult]) -> str:
    return json.dumps([_row(result) for result in results], indent=2) + "\n"


def _row(result: OnceResult) -> dict[str, object]:
    return {
        "server": result.name,
        "tenant": result.key.tenant,
        "catalog": result.key.catalog,
        "added": result.added,
        "updated": result.updated,
        "deleted": result.deleted,
        "unchanged": result.unchanged,
        "problems": list(result.problems),
        "error": result.error,
    }


def _as_table(results: Sequence[OnceResult]) -> str:
    columns = ("server", "tenant", "catalog", "added", "updated", "deleted", "unchanged")
    rows = [columns, *(tuple(str(_row(result)[column]) for column in columns) for result in results)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for result in results:
        lines += [f"{result.name}: {problem}" for problem in result.problems]
        lines += [f"{result.name}: failed, nothing was changed: {result.error}"] if result.error else []
    return "\n".join(lines) + "\n"
