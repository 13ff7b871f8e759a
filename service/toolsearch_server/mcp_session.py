"""A connection to one MCP server: what it lists, and when that changed. The only module that knows the MCP SDK."""

import asyncio
import contextvars
import logging
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.client.session import IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    JSONRPCRequest,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from toolsearch_server.entry import Kind
from toolsearch_server.errors import shorten
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.mcp_config import FolderTransport, HttpTransport, ServerSpec, StdioTransport, WatchLimits
from toolsearch_server.mcp_listing import Collector, Item, Listing

WALK_RESTARTS = 3
LISTEN_SECONDS = 5.0
"""How long a subscription is waited for before the first listing; it may come later."""
RELISTEN_SECONDS = 5.0
"""When two subscriptions ended within this time, the next is not opened at once."""
SILENCE_SECONDS = 300.0
"""An HTTP stream that said nothing for so long is opened again: it may be half open."""
LEGACY_STREAM_SECONDS = 2.0
"""After this, the stream of notifications that the SDK opens in the background on older HTTP servers should be there."""
CLOSE_SECONDS = 2.0
"""For a polite end of the connection; then it is cut."""

SECRET_LENGTH = 6
"""Shorter values of headers and variables are no secrets, and words like "of" would not be readable any more."""

SECRET_PATH_LENGTH = 16

# The SDK logs other people's output with tracebacks: not on our stderr, unless somebody configures its logger.
logging.getLogger("mcp").addHandler(logging.NullHandler())

_KINDS = {"tools": Kind.TOOL, "prompts": Kind.PROMPT, "resources": Kind.RESOURCE}
_CHANGES: dict[type, str] = {
    ToolListChangedNotification: "tools",
    PromptListChangedNotification: "prompts",
    ResourceListChangedNotification: "resources",
}


Called = CallToolResult | InputRequiredResult
_CALLED: TypeAdapter[Called] = TypeAdapter(Called)
_call_capabilities: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("call_capabilities", default=None)


class ConnectionLost(Exception):
    """The connection cannot be used (any more). The message is short and has no secrets."""


class Session:
    """What can be asked of a connected server; made by `connected`."""

    def __init__(
        self, connection: "_Connection", client: Client, spec: ServerSpec, limits: WatchLimits, entries: Limits
    ) -> None:
        self._connection = connection
        self._client = client
        self._spec = spec
        self._limits = limits
        self._entry_limits = entries
        self.listing: Listing | None = None
        """The newest."""

    @property
    def pending(self) -> bool:
        """Whether something changed since the last listing began, on a connection that is alive."""
        return self._connection.changed.is_set() and self._connection.error is None

    def nudge(self) -> None:
        """As if the server had said that something changed."""
        self._connection.changed.set()

    async def changed(self) -> None:
        """Wait until something changed since the last listing began. Raises ConnectionLost. May wait for ever."""
        await self._connection.changed.wait()
        if self._connection.error is not None:
            raise self._connection.error

    async def list_all(self) -> Listing:
        if self._connection.error is not None:
            raise self._connection.error
        # What is notified from here on may be missing in this listing.
        self._connection.changed.clear()
        collector = Collector(self._spec, self._limits, self._entry_limits)
        try:
            async with asyncio.timeout(self._limits.listing_seconds):
                for kind in self._spec.kinds:
                    collector = await self._walk(kind, collector)
        except TimeoutError:
            allowed = self._limits.listing_seconds
            raise ConnectionLost(f"listing took more than {allowed:g} seconds (listing_seconds)") from None
        except (MCPError, ValidationError) as error:
            raise ConnectionLost(describe(error, self._spec)) from error
        self.listing = collector.listing()
        return self.listing

    async def call(
        self,
        params: CallToolRequestParams,
        *,
        seconds: float,
        progress: ProgressFnT | None = None,
        capabilities: dict[str, Any] | None = None,
    ) -> Called:
        """Call a tool, once. What the server refuses is an MCPError, as it said it; its answer is not compared with a schema.

        `capabilities`: of whoever the call is made for, whom a server of the newest protocol may ask for input.

        Raises ConnectionLost if there is no answer: whether the call had an effect is then not known.
        """
        if self._connection.error is not None:
            raise self._connection.error
        declared = _call_capabilities.set(capabilities)
        try:
            # Not the SDK's call_tool, which may list tools or call twice.
            return await self._client.session.send_request(
                CallToolRequest(params=params),
                _CALLED,
                request_read_timeout_seconds=seconds,
                progress_callback=progress,
            )
        except MCPError as error:
            if isinstance(self._spec.transport, HttpTransport):
                # It may have restarted, which only a listing tells.
                self.nudge()
            if error.code == REQUEST_TIMEOUT:
                raise ConnectionLost(f"no answer within {seconds:g} seconds (call_seconds)") from error
            if error.code == CONNECTION_CLOSED:
                raise ConnectionLost("the connection ended before the answer") from error
            raise
        except ValidationError as error:
            raise ConnectionLost(describe(error, self._spec)) from error
        finally:
            _call_capabilities.reset(declared)

    async def _walk(self, kind: str, before: Collector) -> Collector:
        """All pages of one kind, from the first again when the server does not know its cursor any more."""
        if getattr(self._client.server_capabilities, kind) is None:
            # Not found out by asking: a gateway that answers 404 for a moment would empty the catalog.
            before.problem(f"the server does not offer {kind}")
            return before
        for attempt in range(WALK_RESTARTS + 1):
            collector = before.copy()
            try:
                await self._pages(kind, collector)
            except _CursorExpired as expired:
                if attempt == WALK_RESTARTS:
                    raise ConnectionLost(f"{kind}: the cursor expired in {attempt + 1} walks") from expired
            else:
                return collector
        raise AssertionError("the last attempt returns or raises")

    async def _pages(self, kind: str, collector: Collector) -> None:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(self._limits.pages):
            items, cursor = await self._page(kind, cursor)
            # In a thread: pages may be large, and others are searching.
            complete = await asyncio.to_thread(collector.add, _KINDS[kind], items)
            if cursor is None or not complete:
                return
            if cursor in seen:
                collector.cut(f"{kind}: the server gave the same cursor twice, the walk ends there")
                return
            seen.add(cursor)
        collector.cut(f"{kind}: more than {self._limits.pages} pages (pages), the rest is left out")

    async def _page(self, kind: str, cursor: str | None) -> tuple[Sequence[Item], str | None]:
        try:
            if kind == "tools":
                tools = await self._client.list_tools(cursor=cursor)
                return tools.tools, tools.next_cursor
            if kind == "prompts":
                prompts = await self._client.list_prompts(cursor=cursor)
                return prompts.prompts, prompts.next_cursor
            resources = await self._client.list_resources(cursor=cursor)
        except MCPError as error:
            if cursor is not None and error.code == INVALID_PARAMS:
                raise _CursorExpired from error
            raise
        return resources.resources, resources.next_cursor


class _CursorExpired(Exception):
    pass


@asynccontextmanager
async def connected(spec: ServerSpec, limits: WatchLimits, entry_limits: Limits = DEFAULT_LIMITS) -> AsyncGenerator[Session]:
    """A session with a server; changes are listened for from before it begins. Raises ConnectionLost."""
    connection = _Connection(spec, limits)
    try:
        yield Session(connection, await connection.open(), spec, limits, entry_limits)
    finally:
        await connection.close()


class _Connection:
    """The SDK's client in a task of its own.

    The SDK wants to be entered and left in one task, and stops a subprocess under an anyio shield, which does not hold
    against asyncio's Task.cancel(). So this task is never cancelled, only asked to end, and then its scope is cancelled.
    """

    def __init__(self, spec: ServerSpec, limits: WatchLimits) -> None:
        self.changed = asyncio.Event()
        self.error: ConnectionLost | None = None
        self._spec = spec
        self._limits = limits
        self._legacy = False
        self._closing = asyncio.Event()
        self._subscribed = asyncio.Event()
        self._ended = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    async def open(self) -> Client:
        first: set[asyncio.Future[Any]] = {self._opened, self._task}
        await asyncio.wait(first, timeout=self._limits.connect_seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._opened.done():
            return self._opened.result()
        if self.error is None:
            raise ConnectionLost(f"not connected within {self._limits.connect_seconds:g} seconds (connect_seconds)")
        raise self.error

    async def close(self) -> None:
        """Returns when nothing is left of the connection, even if it is cancelled meanwhile."""
        self._closing.set()
        cancelled = False
        if not self._opened.done():
            self._scope.cancel()
        patience: float | None = CLOSE_SECONDS
        while not self._task.done():
            try:
                await asyncio.wait({self._task}, timeout=patience)
            except asyncio.CancelledError:
                cancelled = True
            self._scope.cancel()
            patience = None
        if cancelled:
            raise asyncio.CancelledError

    async def _run(self) -> None:
        client = Client(
            _transport(self._spec, self._limits, self._ended),
            cache=None,  # a listing must never be an old one
            read_timeout_seconds=self._limits.request_seconds,
            message_handler=self._received,
            client_info=Implementation(name="toolsearch", version="1"),
        )
        try:
            with self._scope:
                async with client:
                    await self._follow(client)
        except (Exception, BaseExceptionGroup) as error:  # the SDK's task groups raise anything
            self._fail(error)
        self._fail(ConnectionLost("the connection was closed"))

    async def _follow(self, client: Client) -> None:
        self._legacy = client.protocol_version not in MODERN_PROTOCOL_VERSIONS
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._notice_end)
                if not self._legacy:
                    group.start_soon(self._listen, client)
                    with anyio.move_on_after(LISTEN_SECONDS):
                        await self._subscribed.wait()
                elif isinstance(self._spec.transport, HttpTransport):
                    group.start_soon(self._look_again)
                self._opened.set_result(client)
                await self._closing.wait()
                group.cancel_scope.cancel()
        except (Exception, BaseExceptionGroup) as error:
            # Told at once: ending the connection may take seconds.
            self._fail(error)
            raise

    async def _listen(self, client: Client) -> None:
        """Keep a subscription open. A server that refuses the first one cannot notify, which is its right."""
        wanted = {f"{kind}_list_changed": True for kind in self._spec.kinds}
        last_ended = float("-inf")
        while True:
            try:
                async with client.listen(**wanted) as subscription:  # type: ignore[arg-type]  # mypy takes any key for the URIs
                    # There is no replay: what changed before is only seen by listing again.
                    self.changed.set()
                    self._subscribed.set()
                    async for _ in subscription:
                        self.changed.set()
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError):
                if self._subscribed.is_set():
                    raise
                self._subscribed.set()
                return
            if time.monotonic() - last_ended < RELISTEN_SECONDS:
                await anyio.sleep(RELISTEN_SECONDS)
            last_ended = time.monotonic()

    async def _look_again(self) -> None:
        """The SDK does not tell when an older server's stream is open: what changed before that went unnoticed."""
        await anyio.sleep(LEGACY_STREAM_SECONDS)
        self.changed.set()

    async def _notice_end(self) -> None:
        await self._ended.wait()
        raise ConnectionLost("the server closed the connection")

    async def _received(self, message: IncomingMessage) -> None:
        # Newer servers say it in the subscription; the SDK repeats that here.
        if self._legacy and _CHANGES.get(type(message)) in self._spec.kinds:
            self.changed.set()

    def _fail(self, error: BaseException) -> None:
        """The first reason counts."""
        if self.error is None:
            self.error = ConnectionLost(describe(error, self._spec))
            self.error.__cause__ = error
        self.changed.set()


@asynccontextmanager
async def _transport(spec: ServerSpec, limits: WatchLimits, ended: asyncio.Event) -> AsyncGenerator[TransportStreams]:
    transport = spec.transport
    assert not isinstance(transport, FolderTransport), "a folder is read, not connected to"
    opened = _stdio(transport) if isinstance(transport, StdioTransport) else _http(transport, limits)
    async with opened as (read, write):
        yield _NoticedEnd(read, ended), _Declaring(write)


@asynccontextmanager
async def _stdio(transport: StdioTransport) -> AsyncGenerator[TransportStreams]:
    # The SDK adds its safe part of our environment.
    parameters = StdioServerParameters(
        command=transport.command, args=list(transport.args), env=dict(transport.env), cwd=transport.cwd
    )
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 the null device does not block
        async with stdio_client(parameters, errlog=nowhere) as streams:
            yield streams


@asynccontextmanager
async def _http(transport: HttpTransport, limits: WatchLimits) -> AsyncGenerator[TransportStreams]:
    timeout = httpx2.Timeout(limits.request_seconds, read=SILENCE_SECONDS)
    bounded = _BoundedTransport(limits.listing_bytes)
    async with (
        httpx2.AsyncClient(headers=dict(transport.headers), timeout=timeout, transport=bounded) as http,
        # The SDK's own limit of 1 MiB for an answer is less than a page of a large server.
        streamable_http_client(transport.url, http_client=http, max_sse_event_size=limits.listing_bytes) as streams,
    ):
        yield streams


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Answers that are read as a whole fail when they are too long. Of streams of events the SDK bounds each event."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _BoundedStream(response.stream, self._most_bytes)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, most_bytes: int) -> None:
        self._stream = stream
        self._most_bytes = most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most_bytes
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"the answer has more than {self._most_bytes} bytes (listing_bytes)")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _NoticedEnd:
    """A read stream that tells when the other side closed it; the SDK tells only those who wait for an answer."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> contextvars.Context | None:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Declaring:
    """A write stream that lets a call declare capabilities of its own: the SDK declares the same for every request."""

    def __init__(self, stream: WriteStream[SessionMessage]) -> None:
        self._stream = stream

    async def send(self, item: SessionMessage) -> None:
        capabilities = _call_capabilities.get()
        if capabilities is not None and isinstance(item.message, JSONRPCRequest):
            meta = (item.message.params or {}).get("_meta", {})
            if CLIENT_CAPABILITIES_META_KEY in meta:  # only the protocol of 2026 has them here
                meta[CLIENT_CAPABILITIES_META_KEY] = capabilities
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def describe(error: BaseException, spec: ServerSpec) -> str:
    """An error in one short line without secrets."""
    leaf = _leaf(error)
    text = " ".join(_message(leaf).split())
    for secret in _secrets(spec.transport):
        text = text.replace(secret, "***")
    return shorten(text)


def _leaf(error: BaseException) -> BaseException:
    """The error that explains a group of them best: the first that is not about the connection's own end."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [_leaf(each) for each in error.exceptions]
    return next((leaf for leaf in leaves if not isinstance(leaf, ConnectionLost)), leaves[0])


def _message(error: BaseException) -> str:
    if isinstance(error, ConnectionLost):
        return str(error)
    if isinstance(error, MCPError):
        return f"{error.message} ({error.code})"
    if isinstance(error, ValidationError):
        # Without the input, which its text repeats.
        first = error.errors(include_input=False, include_url=False)[0]
        return f"the answer is not as MCP says: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(error).__name__}: {error}"


def _secrets(transport: StdioTransport | HttpTransport | FolderTransport) -> list[str]:
    """What must not be repeated, longest first; a header may hold a scheme before its token."""
    if isinstance(transport, FolderTransport):
        return []
    if isinstance(transport, StdioTransport):
        values = [*transport.env.values(), *transport.args]
    else:
        parts = urlsplit(transport.url)
        queried = [value for _, value in parse_qsl(parts.query, keep_blank_values=True)]
        values = [transport.url, parts.query, parts.path, parts.netloc.rpartition("@")[0], *transport.headers.values()]
        # A token may also be in the path: what is as long as one is taken for one.
        values += (*queried, *(part for part in parts.path.split("/") if len(part) >= SECRET_PATH_LENGTH))
    words = {word for value in values for word in (value, *value.split()) if len(word) >= SECRET_LENGTH}
    return sorted(words, key=len, reverse=True)
