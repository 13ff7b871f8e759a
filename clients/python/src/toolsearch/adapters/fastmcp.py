"""FastMCP: a search transform, and a search function for CodeMode.

```python
mcp.add_transform(ToolSearchTransform(client, server="my-server"))
mcp.add_transform(CodeMode(discovery_tools=[Search(search_fn=search_function(client, server="my-server")), GetSchemas()]))
```

Clients see `search_tools`, `call_tool` and what is in `always_visible`. FastMCP hands over the tools that the caller of the
moment may see, and `call_tool` reaches no others.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Unpack

from fastmcp.server.context import Context
from fastmcp.server.transforms.search.base import (
    BaseSearchTransform,
    SearchResultSerializer,
    serialize_tools_for_output_json,
)
from fastmcp.tools import Tool as FastMCPTool

from toolsearch.adapters._core import (
    QUERY_DESCRIPTION,
    SEARCH_TOOL,
    Answer,
    AnyClient,
    Options,
    Searcher,
    SearchOptions,
    Tool,
)


class ToolSearchTransform(BaseSearchTransform):
    """Takes what FastMCP's own search transforms take. A search gives `{message, tools}`, the tools as in `tools/list`; with a
    `search_result_serializer`, what that makes of the tools."""

    def __init__(
        self,
        client: AnyClient,
        *,
        always_visible: list[str] | None = None,
        search_tool_name: str = SEARCH_TOOL,
        call_tool_name: str = "call_tool",
        search_result_serializer: SearchResultSerializer | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        chosen = Options(**options)
        super().__init__(
            max_results=chosen.max_results,
            always_visible=always_visible,
            search_tool_name=search_tool_name,
            call_tool_name=call_tool_name,
            search_result_serializer=search_result_serializer,
        )
        self._custom = search_result_serializer is not None
        self._searcher = Searcher[FastMCPTool](client, chosen)

    def _make_search_tool(self) -> FastMCPTool:
        transform = self

        async def search_tools(
            query: Annotated[str, QUERY_DESCRIPTION],
            ctx: Context = None,  # type: ignore[assignment]  # FastMCP injects it
        ) -> Any:
            """Find tools for a task, best first. Call what you found with call_tool."""
            answer = await transform._find(await transform._get_visible_tools(ctx), query)
            if transform._custom:
                return await transform._render_results(answer.values)
            return {"message": answer.message, "tools": serialize_tools_for_output_json(answer.values)}

        search_tools.__doc__ = f"Find tools for a task, best first. Call what you found with {self._call_tool_name}."
        return FastMCPTool.from_function(fn=search_tools, name=self._search_tool_name)

    async def _search(self, tools: Sequence[FastMCPTool], query: str) -> Sequence[FastMCPTool]:
        return (await self._find(tools, query)).values

    async def _find(self, tools: Sequence[FastMCPTool], query: str) -> Answer[FastMCPTool]:
        return await self._searcher.afind(query, map(_own_tool, tools))


def search_function(
    client: AnyClient, **options: Unpack[SearchOptions]
) -> Callable[[Sequence[FastMCPTool], str], Awaitable[Sequence[FastMCPTool]]]:
    """A `search_fn` for CodeMode's `Search`."""
    searcher = Searcher[FastMCPTool](client, Options(**options))

    async def search(tools: Sequence[FastMCPTool], query: str) -> Sequence[FastMCPTool]:
        return (await searcher.afind(query, map(_own_tool, tools))).values

    return search


def _own_tool(tool: FastMCPTool) -> Tool[FastMCPTool]:
    definition = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"icons"})
    return Tool(tool.name, definition, tool)
