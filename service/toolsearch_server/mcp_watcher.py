"""Follows MCP servers: what they list is what the catalogs have."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from toolsearch_server import watched_file
from toolsearch_server.backoff import backoff
from toolsearch_server.changes import plan_sync
from toolsearch_server.errors import ServiceError, StoreUnavailable
from toolsearch_server.mcp_config import McpConfig, McpConfigError, ServerSpec, StdioTransport, parse
from toolsearch_server.mcp_follower import (
    STALE_TAG,
    Leases,
    ServerFollower,
    ServerStatus,
    WatchSettings,
    Writer,
    open_session,
    write_recorded,
)
from toolsearch_server.mcp_session import describe
from toolsearch_server.store import CatalogKey, Followed

__all__ = ["STALE_TAG", "Leases", "OnceResult", "ServerStatus", "WatchSettings", "Watcher", "Writer", "follow_file"]

SERVERS_AT_ONCE = 8
"""Of `once`."""
NEVER_READ: watched_file.Stamp = ()
"""Of no file."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OnceResult:
    name: str
    key: CatalogKey
    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    problems: tuple[str, ...] = ()
    error: str = ""


class Registry(Protocol):
    """Which servers are followed, remembered while no watcher runs."""

    async def followed(self) -> set[Followed]:
        """Those that were noted and not forgotten."""
        ...

    async def note_followed(self, servers: Collection[Followed]) -> None: ...

    async def forget_followed(self, server: Followed) -> None: ...


class Configurable(Protocol):
    def configure(self, config: McpConfig) -> None: ...


class Watcher:
    """`prune`: also remove the entries of servers that were dropped from the configuration while no watcher ran."""

    def __init__(
        self,
        writer: Writer,
        leases: Leases | None,
        settings: WatchSettings,
        registry: Registry | None = None,
        *,
        prune: bool = False,
    ) -> None:
        self._writer = writer
        self._leases = leases
        self._settings = settings
        self._registry = registry
        self._prune = prune
        self._followers: dict[tuple[CatalogKey, str], tuple[ServerFollower, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # One at a time for each server: a subprocess is gone, or entries are removed, before the next one begins.
        self._turns: WeakValueDictionary[tuple[CatalogKey, str], asyncio.Lock] = WeakValueDictionary()

    async def run(self) -> None:
        """Until cancelled; then nothing is followed any more."""
        try:
            await asyncio.Event().wait()
        finally:
            self._followers.clear()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def configure(self, config: McpConfig) -> None:
        """Follow these servers and no others: entries of those that are gone are removed."""
        wanted = {(spec.key, spec.name): spec for spec in config.servers}
        for identity, (follower, task) in list(self._followers.items()):
            if follower.spec == wanted.get(identity):
                continue
            del self._followers[identity]
            task.cancel()
            if identity not in wanted:
                self._begin(identity, partial(self._remove, follower))
        if self._registry is not None:
            task = asyncio.create_task(self._register(self._registry, set(starmap(Followed, wanted))))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for identity, spec in wanted.items():
            if identity not in self._followers:
                follower = ServerFollower(spec, self._writer, self._leases, self._settings)
                self._followers[identity] = (follower, self._begin(identity, follower.run))

    async def _remove(self, follower: ServerFollower) -> None:
        await follower.remove()
        if self._registry is not None:
            with suppress(StoreUnavailable):  # then its entries, which are gone, are removed once more
                await self._registry.forget_followed(Followed(follower.spec.key, follower.spec.name))

    async def _register(self, registry: Registry, wanted: set[Followed]) -> None:
        """Remember the servers of the configuration and, once, remove what others of an earlier one have left."""
        failures = 0
        while True:
            try:
                dropped = await registry.followed() - wanted if self._prune else set()
                await registry.note_followed(wanted)
            except StoreUnavailable as error:
                failures += 1
                log.warning("mcp servers not registered", error=str(error))
                settings = self._settings
                await asyncio.sleep(backoff(failures, first=settings.first_retry_seconds, last=settings.last_retry_seconds))
                continue
            break
        self._prune = False
        for server in dropped:
            follower = self._dropped(server)
            self._begin((server.key, server.server), partial(self._remove, follower))

    def _dropped(self, server: Followed) -> ServerFollower:
        log.info("an mcp server is not configured any more", server=server.server, catalog=server.key.catalog)
        spec = ServerSpec(
            name=server.server, transport=StdioTransport(""), tenant=server.key.tenant, catalog=server.key.catalog
        )
        return ServerFollower(spec, self._writer, self._leases, self._settings)

    def hint(self, tenant: str, catalog: str, server: str) -> None:
        """List this server now, if it is followed here."""
        known = self._followers.get((CatalogKey(tenant, catalog), server))
        if known is not None:
            known[0].hint()

    def status(self) -> list[ServerStatus]:
        return [follower.status() for follower, _ in self._followers.values()]

    async def once(self, config: McpConfig) -> list[OnceResult]:
        """List every server once and write what it offers."""
        turns = asyncio.Semaphore(SERVERS_AT_ONCE)

        async def one(spec: ServerSpec) -> OnceResult:
            async with turns:
                return await self._once(spec)

        results = list(await asyncio.gather(*map(one, config.servers)))
        if self._registry is not None:
            wanted = {Followed(spec.key, spec.name) for spec in config.servers}
            dropped = await self._registry.followed() - wanted if self._prune else set()
            await self._registry.note_followed(wanted)
            results += [await self._once_dropped(server, self._registry) for server in sorted(dropped)]
        return results

    async def _once_dropped(self, server: Followed, registry: Registry) -> OnceResult:
        spec = self._dropped(server).spec
        plan = partial(plan_sync, server=spec.name, offered=(), limits=self._settings.limits)
        try:
            outcome = await write_recorded(self._writer, spec, plan, self._settings)
            await registry.forget_followed(server)
        except ServiceError as error:
            return OnceResult(spec.name, spec.key, error=str(error))
        return OnceResult(spec.name, spec.key, deleted=len(outcome.deleted))

    async def _once(self, spec: ServerSpec) -> OnceResult:
        try:
            async with open_session(spec, self._settings) as session:
                listing = await session.list_all()
            plan = partial(
                plan_sync,
                server=spec.name,
                offered=listing.drafts,
                limits=self._settings.limits,
                contents=listing.contents,
            )
            outcome = await write_recorded(self._writer, spec, plan, self._settings)
        except Exception as error:  # one server's failure is its own
            return OnceResult(spec.name, spec.key, error=describe(error, spec))
        counts = len(outcome.added), len(outcome.updated), len(outcome.deleted), outcome.unchanged
        return OnceResult(spec.name, spec.key, *counts, problems=listing.problems)

    def _begin(self, identity: tuple[CatalogKey, str], work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        turn = self._turns.setdefault(identity, asyncio.Lock())

        async def in_turn() -> None:
            async with turn:
                try:
                    await work()
                except Exception:  # a mistake in this module must be seen
                    log.exception("watching an mcp server failed", server=identity[1])

        task = asyncio.create_task(in_turn())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def follow_file(
    watcher: Configurable, path: Path, environment: Mapping[str, str], poll_seconds: float = watched_file.POLL_SECONDS
) -> None:
    """Configure the watcher by a file, and again when it is replaced. A file that cannot be used changes nothing."""
    async for _ in watched_file.changes(path, NEVER_READ, poll_seconds):
        try:
            config = parse(await asyncio.to_thread(path.read_text, encoding="utf-8"), environment)
        except (OSError, McpConfigError, UnicodeDecodeError) as error:
            log.error(  # noqa: TRY400 the file is at fault, not the program
                "mcp servers not configured, what was followed before is followed on", path=str(path), error=str(error)
            )
        else:
            log.info("mcp servers configured", path=str(path), servers=len(config.servers), notes=config.notes)
            watcher.configure(config)
