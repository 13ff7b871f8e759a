"""Calls of tools: from a name and arguments to the server that has the tool, and back."""

import json
from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import (
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    RequestParamsMeta,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch import Entry, Kind
from toolsearch_server.errors import shorten
from toolsearch_server.facade.lookup import Lookup
from toolsearch_server.facade.settings import Destructive
from toolsearch_server.facade.tools import CALL_DESTRUCTIVE
from toolsearch_server.facade.upstreams import CallFailed, Offered, Upstreams
from toolsearch_server.limits import KIB, Limits
from toolsearch_server.mcp_session import Called

SCHEMA_REPEATED_BYTES = 8 * KIB
"""A schema up to this size is repeated to those whose arguments did not fit it."""

RESERVED_META = "io.modelcontextprotocol/"

Context = ServerRequestContext[Any, Any]


class ArgumentsRefused(CallFailed):
    def __init__(self, tool: str, problems: list[str], schema: Any) -> None:
        super().__init__(f"the arguments do not fit the input schema of {tool}: {'; '.join(problems)}")
        self.problems = problems
        self.schema = schema if len(json.dumps(schema)) <= SCHEMA_REPEATED_BYTES else None


class Calls:
    def __init__(self, lookup: Lookup, upstreams: Upstreams, limits: Limits, destructive: Destructive) -> None:
        self._lookup = lookup
        self._upstreams = upstreams
        self._limits = limits
        self._destructive = destructive
        self._under_way = 0

    async def by_name(self, ctx: Context, params: CallToolRequestParams, *, may_destroy: bool) -> Called:
        """call_tool and call_tool_destructive. Raises CallFailed, and MCPError for what the server refuses."""
        given = params.arguments or {}
        name: str = given["name"]
        arguments: dict[str, Any] = given.get("arguments", {})
        self._check_size(arguments)
        found = await self._lookup.resolve(name)
        if not isinstance(found, Entry):
            near = f"; near names: {', '.join(found)}" if found else ""
            raise CallFailed(f"there is no tool {shorten(name)!r}{near}; find_tools finds others")
        if found.kind is not Kind.TOOL:
            raise CallFailed(f"{shorten(name)!r} is a {found.kind.value}, which cannot be called")
        offered = await self._upstreams.find(found.server, found.local_name)
        # The server's own word counts: a catalog may be older, or written by somebody else.
        if offered.annotations.destructive and not may_destroy:
            self._refuse_destructive(found.alias)
        return await self.forward(ctx, params, offered, found.alias, arguments)

    async def forward(
        self, ctx: Context, params: CallToolRequestParams, offered: Offered, shown_name: str, arguments: Mapping[str, Any]
    ) -> Called:
        self._check_size(arguments)
        problems = offered.check.problems(arguments)
        if problems:
            raise ArgumentsRefused(shown_name, problems, offered.schema)
        if self._under_way >= self._limits.calls_under_way:
            raise CallFailed(
                f"{self._under_way} calls are under way, allowed is {self._limits.calls_under_way} (calls_under_way)"
            )
        forwarded = CallToolRequestParams(
            name=offered.name,
            arguments=dict(arguments),
            input_responses=params.input_responses,
            request_state=params.request_state,
            _meta=_forwarded_meta(params.meta),
        )
        wants_progress = ctx.meta is not None and "progress_token" in ctx.meta
        self._under_way += 1
        try:
            result = await self._upstreams.call(
                offered.server, forwarded, ctx.session.report_progress if wants_progress else None, _capabilities(ctx)
            )
        finally:
            self._under_way -= 1
        return self._checked(ctx, result, offered.server)

    def _refuse_destructive(self, name: str) -> None:
        if self._destructive == "separate":
            raise CallFailed(f"{name} may destroy something: call it with {CALL_DESTRUCTIVE}")
        if self._destructive == "exclude":
            raise CallFailed(f"{name} may destroy something, and this facade keeps such tools out")

    def _check_size(self, arguments: Mapping[str, Any]) -> None:
        size, most = len(json.dumps(arguments, ensure_ascii=False).encode(errors="replace")), self._limits.call_argument_bytes
        if size > most:
            raise CallFailed(f"arguments have {size} bytes, allowed are {most} (call_argument_bytes)")

    def _checked(self, ctx: Context, result: Called, server: str) -> Called:
        if isinstance(result, InputRequiredResult):
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return result
            raise CallFailed(
                f"the server {server!r} asks for input before it goes on, which this client's protocol "
                f"({ctx.protocol_version}) cannot be asked for; the call has no result"
            )
        # Who answers is said by every server for itself.
        result.meta = {key: value for key, value in (result.meta or {}).items() if key != SERVER_INFO_META_KEY} or None
        size, most = len(result.model_dump_json(by_alias=True)), self._limits.call_result_bytes
        if size > most:
            raise CallFailed(
                f"the result of {server!r} has {size} bytes, allowed are {most} (call_result_bytes); the call was made"
            )
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and not isinstance(result.structured_content, dict | None):
            # Older protocols know objects only; the same is in the text.
            return result.model_copy(update={"structured_content": None})
        return result


def _capabilities(ctx: Context) -> dict[str, Any] | None:
    """What the client can be asked for; only in the newest protocol can questions be passed on."""
    declared = ctx.session.client_capabilities
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS or declared is None:
        return None
    return declared.model_dump(by_alias=True, exclude_none=True, mode="json", include={"elicitation", "sampling", "roots"})


def _forwarded_meta(meta: RequestParamsMeta | None) -> RequestParamsMeta | None:
    """What the client says beside the protocol's own keys, which are between neighbours."""
    others = {
        key: value for key, value in (meta or {}).items() if key != "progress_token" and not key.startswith(RESERVED_META)
    }
    return others or None  # type: ignore[return-value]  # an open map


def answer(value: Mapping[str, Any], *, is_error: bool = False) -> CallToolResult:
    """Structured, and the same as text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult.model_validate(
        {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": is_error}
    )


def failure(error: Exception) -> CallToolResult:
    value: dict[str, Any] = {"error": str(error)}
    if isinstance(error, ArgumentsRefused):
        value["problems"] = error.problems
        if error.schema is not None:
            value["input_schema"] = error.schema
    return answer(value, is_error=True)
