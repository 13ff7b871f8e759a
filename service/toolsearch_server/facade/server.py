"""The MCP server itself: which tools there are, and what happens when one is called."""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from importlib import metadata as distribution
from typing import Any

import structlog
from mcp import MCPError
from mcp.server import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch import AsyncClient, ToolSearchError
from toolsearch_server.backoff import backoff
from toolsearch_server.errors import shorten
from toolsearch_server.facade import tools
from toolsearch_server.facade.arguments import ArgumentCheck
from toolsearch_server.facade.calls import ArgumentsRefused, Calls, Context, answer, failure
from toolsearch_server.facade.eager import Eager, eager_tools, wanted_tools
from toolsearch_server.facade.lookup import Lookup, cut
from toolsearch_server.facade.settings import Settings
from toolsearch_server.facade.tools import CALL_DESTRUCTIVE, own_tools
from toolsearch_server.facade.upstreams import CallFailed, Upstreams
from toolsearch_server.mcp_session import Called

NOTIFIED_SESSIONS = 1_000
"""Of older clients; the least recently heard of are not told of changes any more."""
ANNOUNCE_SECONDS = 1.0
SERVERS_LENGTH = 1_000
"""Of their names, in what models are told at the start."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.2, 10.0

log = structlog.get_logger()

INSTRUCTIONS = """\
Many tools are behind this server, and found when they are needed: call find_tools with the words of the task before you \
conclude that something cannot be done.{calling}{servers}"""
CALLING = " What it finds is called with call_tool{destructive}."


class Facade:
    """`client` asks the service; without `upstreams` nothing can be called. `outdated`: what they offer has changed."""

    def __init__(self, settings: Settings, client: AsyncClient, upstreams: Upstreams | None, outdated: asyncio.Event) -> None:
        self._settings = settings
        self._client = client
        self._upstreams = upstreams
        self._own = own_tools(calls=upstreams is not None, destructive=settings.destructive)
        self._checks = {tool.name: ArgumentCheck(tool.input_schema) for tool in self._own}
        self._lookup = Lookup(
            client,
            settings.limits,
            calls=upstreams is not None,
            destructive=settings.destructive,
            revision=self._revision,
        )
        self._calls = None
        if upstreams is not None:
            self._calls = Calls(self._lookup, upstreams, settings.limits, settings.destructive)
        self._eager: dict[str, Eager] = {}
        self._outdated = outdated
        self._has_eager = asyncio.Event()
        self._watched = 0
        """Revision of a catalog elsewhere, whose changes are heard of before they are in every answer."""
        self._refreshing = asyncio.Lock()
        self._bus = InMemorySubscriptionBus()
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()

    def server(self, servers: list[str]) -> Server[Any]:
        destructive = f", or with {CALL_DESTRUCTIVE} if it may destroy" if self._settings.destructive == "separate" else ""
        calling = "" if self._calls is None else CALLING.format(destructive=destructive)
        named = f" Servers: {cut(', '.join(servers), SERVERS_LENGTH)}." if servers else ""
        return _Server(
            "toolsearch",
            version=distribution.version("toolsearch-server"),
            title="toolsearch",
            instructions=INSTRUCTIONS.format(calling=calling, servers=named),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def run(self) -> None:
        """Keep the eager tools as the servers have them, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_refreshing())
            if self._settings.target is not None:
                group.create_task(self._keep_watching())

    async def _keep_refreshing(self) -> None:
        failures = 0
        while True:
            await self._outdated.wait()
            try:
                await self._refresh()
                failures = 0
            except ToolSearchError as error:
                failures += 1
                log.warning("eager tools are not known", error=str(error))
                await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))

    async def _keep_watching(self) -> None:
        """A service elsewhere may hear of a tool later than we do, and give it another name."""
        await self._has_eager.wait()
        failures = 0
        while True:
            try:
                async for event in self._client.watch():
                    failures = 0
                    self._watched = event.version.revision
                    self._outdated.set()
            except ToolSearchError as error:
                log.warning("the catalog is not watched", error=str(error))
            failures += 1
            await asyncio.sleep(backoff(failures, first=FIRST_RETRY_SECONDS, last=LAST_RETRY_SECONDS))

    async def _list_tools(self, ctx: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        await self._revision()
        with suppress(ToolSearchError):  # then without those that became eager just now
            await self._refresh()
        self._remember(ctx)
        return ListToolsResult(tools=[*self._own, *(eager.tool for eager in self._eager.values())])

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> Called:
        try:
            return await self._answer(ctx, params)
        except (CallFailed, ToolSearchError) as error:
            return failure(error)
        except UnicodeEncodeError:
            return failure(CallFailed("arguments have characters that are no Unicode text"))

    async def _answer(self, ctx: Context, params: CallToolRequestParams) -> Called:
        name, arguments = params.name, params.arguments or {}
        check = self._checks.get(name)
        if check is None:
            return await self._call_eager(ctx, params)
        problems = check.problems(arguments)
        if problems:
            raise ArgumentsRefused(name, problems, next(tool.input_schema for tool in self._own if tool.name == name))
        match name:
            case tools.FIND:
                return answer(await self._lookup.find(arguments))
            case tools.LIST:
                return answer(await self._lookup.page(arguments))
            case tools.DESCRIBE:
                return answer(await self._lookup.describe(arguments["names"]))
        assert self._calls is not None
        may_destroy = name == tools.CALL_DESTRUCTIVE or self._settings.destructive == "together"
        return await self._calls.by_name(ctx, params, may_destroy=may_destroy)

    async def _call_eager(self, ctx: Context, params: CallToolRequestParams) -> Called:
        eager = self._eager.get(params.name)
        if eager is None or self._upstreams is None or self._calls is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {shorten(params.name)!r} here; find_tools finds tools to call")
        offered = await self._upstreams.find(eager.server, eager.local_name)
        if offered.annotations.destructive and self._settings.destructive == "exclude":
            raise CallFailed(f"{params.name} may destroy something, and this facade keeps such tools out")
        return await self._calls.forward(ctx, params, offered, params.name, params.arguments or {})

    async def _revision(self) -> tuple[int | None, list[str]]:
        """Of the catalog, to be seen by answers; and servers that are not in it yet."""
        if self._upstreams is None:
            return None, []
        starting = await self._upstreams.settle()
        return self._upstreams.revision or None, starting

    async def _refresh(self) -> None:
        if self._upstreams is None:
            return
        async with self._refreshing:
            if not self._outdated.is_set():
                return
            self._outdated.clear()
            wanted = wanted_tools(self._upstreams.offered(), self._settings.eager, self._settings.destructive)
            if wanted:
                self._has_eager.set()
            try:
                revision = self._upstreams.revision or self._watched or None
                newest = await eager_tools(self._client, wanted, revision, self._settings.limits)
            except ToolSearchError:
                self._outdated.set()
                raise
            if newest != self._eager:
                self._eager = newest
                await self._announce()

    async def _announce(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for session in list(self._sessions.values()):
            with suppress(TimeoutError):  # a client that does not read
                async with asyncio.timeout(ANNOUNCE_SECONDS):
                    await session.send_tool_list_changed()

    def _remember(self, ctx: Context) -> None:
        """Who has a list is told when it changes: newer clients subscribe, older ones hear of it on their connection."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        key = "" if ctx.request is None else ctx.request.headers.get("mcp-session-id", "")
        self._sessions[key] = ctx.session
        self._sessions.move_to_end(key)
        if len(self._sessions) > NOTIFIED_SESSIONS:
            self._sessions.popitem(last=False)


class _Server(Server[Any]):
    """Tells older clients too that its list of tools may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)
