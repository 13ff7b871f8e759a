"""The MCP servers behind the facade: followed for what they offer, and called, each over one connection."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import structlog
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolRequestParams

from toolsearch_server.changes import NO_VERSION, Change, Outcome, Version
from toolsearch_server.entry import Annotations, Draft, Kind, effective_annotations, input_schema
from toolsearch_server.facade.arguments import ArgumentCheck
from toolsearch_server.limits import Limits
from toolsearch_server.mcp_config import McpConfig, ServerSpec, StdioTransport, WatchLimits
from toolsearch_server.mcp_follower import Planner, Writer
from toolsearch_server.mcp_listing import Listing
from toolsearch_server.mcp_session import Called, ConnectionLost, Session, connected
from toolsearch_server.mcp_watcher import ServerStatus, Watcher, WatchSettings, follow_file
from toolsearch_server.store import CatalogKey

INSIDE = "TOOLSEARCH_MCP_INSIDE"
"""Set for the servers that a facade starts: one that finds itself among them would start itself for ever."""

LAST_RETRY_SECONDS = 30.0
CONNECT_SECONDS = 30.0
"""For a server that was never connected, when one of its tools is called."""
STARTING_SECONDS = 10.0
"""For servers that have just been started to be listed; then answers go without them, and say so."""

log = structlog.get_logger()


class CallFailed(Exception):
    """A call that has no answer; the message is for the model that made it."""


class NoWriter:
    """For a service elsewhere, whose catalog is filled by others."""

    async def write(self, key: CatalogKey, plan: Planner, *, expected_revision: int | None) -> tuple[Version, Outcome]:  # noqa: ARG002 nothing is kept
        return NO_VERSION, Outcome(Change(), (), (), (), 0, ())


@dataclass(frozen=True)
class Offered:
    """A tool as its server lists it."""

    server: str
    name: str
    definition: Mapping[str, Any]

    @cached_property
    def annotations(self) -> Annotations:
        return effective_annotations(self.definition.get("annotations"))

    @cached_property
    def schema(self) -> Any:
        return input_schema(self.definition)

    @cached_property
    def check(self) -> ArgumentCheck:
        return ArgumentCheck(self.schema)


@dataclass
class _Upstream:
    """A server, and what it listed last; `session` while it is connected."""

    session: Session | None = None
    _listing: Listing | None = None
    _tools: dict[str, Draft | Offered] = field(default_factory=dict)

    @property
    def tools(self) -> dict[str, Draft | Offered]:
        """By the server's own names; definitions are read when they are asked for."""
        newest = None if self.session is None else self.session.listing
        if newest is not None and newest is not self._listing:
            self._listing = newest
            self._tools = {draft.local_name: draft for draft in newest.drafts if draft.kind is Kind.TOOL}
        return self._tools

    def find(self, name: str) -> Offered | None:
        found = self.tools.get(name)
        if isinstance(found, Draft):
            found = self._tools[name] = Offered(found.server, name, json.loads(found.definition))
        return found

    def end(self) -> None:
        _ = self.tools  # what was listed last is kept
        self.session = None


class Upstreams:
    """`told` is called after every change of what is offered."""

    def __init__(self, writer: Writer, key: CatalogKey, limits: Limits, told: Callable[[], None]) -> None:
        self._writer = writer
        self._key = key
        self._limits = limits
        self._told = told
        self._specs: dict[str, ServerSpec] = {}
        self._upstreams: dict[str, _Upstream] = {}
        self._settled: dict[str, asyncio.Event] = {}
        """By server: whether it was listed or failed once."""
        self._began = asyncio.get_running_loop().time()
        self.revision = 0
        """Of the catalog, with all that was listed so far."""
        settings = WatchSettings(
            limits=limits, last_retry_seconds=LAST_RETRY_SECONDS, connect=self._connect, told=self._noticed
        )
        self._watcher = Watcher(self, None, settings)

    async def run(self, path: Path, environment: Mapping[str, str]) -> None:
        """Follow the servers in the file, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watcher.run())
            tasks.create_task(follow_file(self, path, environment))

    @property
    def servers(self) -> list[str]:
        return sorted(self._specs)

    def configure(self, config: McpConfig) -> None:
        self._specs = {spec.name: self._own(spec) for spec in config.servers if not _is_facade(spec)}
        self._settled = {name: self._settled.get(name) or asyncio.Event() for name in self._specs}
        self._upstreams = {name: self._upstreams.get(name) or _Upstream() for name in self._specs}
        self._watcher.configure(McpConfig(tuple(self._specs.values()), config.notes))

    def _own(self, spec: ServerSpec) -> ServerSpec:
        """All servers are in one catalog here, whatever the file says of tenants and catalogs."""
        transport = spec.transport
        if isinstance(transport, StdioTransport):
            transport = replace(transport, env={**transport.env, INSIDE: str(os.getpid())})
        return replace(spec, tenant=self._key.tenant, catalog=self._key.catalog, transport=transport)

    async def settle(self) -> list[str]:
        """Wait until every server was listed or failed once, if it has just begun. Those that did neither in time."""
        left = self._began + STARTING_SECONDS - asyncio.get_running_loop().time()
        if left > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    for settled in list(self._settled.values()):
                        await settled.wait()
        return sorted(name for name, settled in self._settled.items() if not settled.is_set())

    def away(self) -> dict[str, str]:
        """Servers that cannot be called now, and why."""
        return {status.name: status.error for status in self._watcher.status() if status.state == "away"}

    async def find(self, server: str, name: str) -> Offered:
        """Waits for a server that has never been connected. Raises CallFailed."""
        if server not in self._specs:
            known = ", ".join(self.servers) or "none"
            raise CallFailed(
                f"the server {server!r} is not in the mcpServers configuration of this facade; configured: {known}"
            )
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._settled[server].wait()
        upstream = self._upstreams.get(server) or _Upstream()
        if upstream.session is None or upstream.session.listing is None:
            # What the back-off has left is shortened: somebody is waiting.
            self._watcher.hint(*self._key, server)
            why = self.away().get(server, "not connected yet")
            raise CallFailed(f"the server {server!r} is away ({why}); it is being retried, the call was not made")
        offered = upstream.find(name)
        if offered is None:
            raise CallFailed(f"the server {server!r} does not offer {name!r} any more; look for another with find_tools")
        return offered

    async def call(
        self, server: str, params: CallToolRequestParams, progress: ProgressFnT | None, capabilities: dict[str, Any] | None
    ) -> Called:
        """Raises CallFailed, and MCPError for what the server refuses."""
        session = (self._upstreams.get(server) or _Upstream()).session
        if session is None:
            raise CallFailed(f"the server {server!r} is away; it is being retried, the call was not made")
        try:
            return await session.call(params, seconds=self._limits.call_seconds, progress=progress, capabilities=capabilities)
        except ConnectionLost as error:
            raise CallFailed(
                f"the server {server!r} did not answer: {error}; it is being retried, the call is not repeated, "
                "and whether it had an effect is not known"
            ) from error

    def offered(self) -> Iterator[Offered]:
        """All tools of all servers, as they were listed last."""
        for upstream in self._upstreams.values():
            for name in list(upstream.tools):
                found = upstream.find(name)
                if found is not None:
                    yield found

    async def write(self, key: CatalogKey, plan: Planner, *, expected_revision: int | None) -> tuple[Version, Outcome]:
        version, outcome = await self._writer.write(key, plan, expected_revision=expected_revision)
        self.revision = max(self.revision, version.revision)
        return version, outcome

    @asynccontextmanager
    async def _connect(self, spec: ServerSpec, watch_limits: WatchLimits, limits: Limits) -> AsyncGenerator[Session]:
        async with connected(spec, watch_limits, limits) as session:
            upstream = self._upstreams.get(spec.name) or _Upstream()
            upstream.session = session
            try:
                yield session
            finally:
                upstream.end()

    def _noticed(self, status: ServerStatus) -> None:
        if status.name in self._settled:
            self._settled[status.name].set()
        self._told()


def _is_facade(spec: ServerSpec) -> bool:
    """Whether this is `toolsearch mcp` itself: a configuration that was made for a client may well have it."""
    if not isinstance(spec.transport, StdioTransport):
        return False
    words = [PurePath(word).name for word in (spec.transport.command, *spec.transport.args)]
    found = ("toolsearch", "mcp") in pairwise(words)
    if found:
        log.info("this facade is in its own configuration, and left out", server=spec.name)
    return found
