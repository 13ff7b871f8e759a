"""OpenAI Agents SDK: a search tool, and function tools that are enabled once they were found.

```python
agent = Agent(name="Assistant", tools=searchable(client, tools, server="my-agent"))
```

The SDK's own ToolSearchTool cannot be answered by the client; this needs none, and works with any model, not only OpenAI's.
What was found is remembered for the run, and read from the input of later runs, such as a session's.
"""

import copy
import inspect
import json
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeGuard, Unpack

from agents import Agent, FunctionTool, RunContextWrapper
from agents import Tool as AgentsTool
from agents.tool_context import ToolContext

from toolsearch.adapters._core import (
    QUERY_DESCRIPTION,
    SEARCH_DESCRIPTION,
    SEARCH_TOOL,
    AnyClient,
    Options,
    Renderer,
    Searcher,
    SearchOptions,
    Tool,
    definition,
    names_in,
    rendered,
)

IsEnabled = Callable[[RunContextWrapper[Any], Any], Any]


def searchable(
    client: AnyClient,
    tools: Iterable[AgentsTool],
    *,
    always: Collection[str] = (),
    search_tool_name: str = SEARCH_TOOL,
    search_tool_description: str = SEARCH_DESCRIPTION,
    render: Renderer = rendered,
    **options: Unpack[SearchOptions],
) -> list[AgentsTool]:
    """For `Agent(tools=...)`: `tools` hidden behind a search tool.

    Tools named in `always`, and those that are no function tools, are left as they are. A tool's own `is_enabled` is respected.
    With another `render`, what earlier runs found has to be found again.
    """
    given = list(tools)
    hidden = [tool for tool in given if _is_hidden(tool, always)]
    searcher = Searcher[FunctionTool](client, Options(**options))
    found = _Found(search_tool_name)

    async def search(ctx: ToolContext[Any], arguments: str) -> str:
        query = json.loads(arguments or "{}").get("query")
        enabled = [tool for tool in hidden if await _is_enabled(tool, ctx, ctx.agent)]
        answer = await searcher.afind(query if isinstance(query, str) else "", map(_own_tool, enabled))
        found.add(ctx, answer.names)
        return render(answer)

    search_tool = FunctionTool(
        name=search_tool_name,
        description=search_tool_description,
        params_json_schema={
            "type": "object",
            "properties": {"query": {"type": "string", "description": QUERY_DESCRIPTION}},
            "required": ["query"],
            "additionalProperties": False,
        },
        on_invoke_tool=search,
    )
    return [search_tool, *(_gated(tool, found) if _is_hidden(tool, always) else tool for tool in given)]


def _is_hidden(tool: AgentsTool, always: Collection[str]) -> TypeGuard[FunctionTool]:
    return isinstance(tool, FunctionTool) and tool.name not in always


class _Found:
    """What was found, by run. The SDK makes a context of its own for each tool call, but all of a run share their usage."""

    def __init__(self, search_tool: str) -> None:
        self._search_tool = search_tool
        self._names: dict[int, set[str]] = {}
        self._read: tuple[Sequence[Any], set[str]] = ((), set())

    def add(self, ctx: RunContextWrapper[Any], names: Sequence[str]) -> None:
        key = id(ctx.usage)
        if key not in self._names:
            self._names[key] = set()
            weakref.finalize(ctx.usage, self._names.pop, key, None)
        self._names[key].update(names)

    def has(self, ctx: RunContextWrapper[Any], name: str) -> bool:
        return name in self._names.get(id(ctx.usage), ()) or name in self._earlier(ctx.turn_input)

    def _earlier(self, items: Sequence[Any]) -> set[str]:
        """In what the run was given. Read once for all tools that ask."""
        given, names = self._read
        if given is not items:
            names = self._told(items)
            self._read = (items, names)
        return names

    def _told(self, items: Sequence[Any]) -> set[str]:
        """Calls of the search tool, and what came of them."""
        entries = [item for item in items if isinstance(item, dict)]
        calls = {
            item.get("call_id")
            for item in entries
            if item.get("type") == "function_call" and item.get("name") == self._search_tool
        }
        return {
            name
            for item in entries
            if item.get("type") == "function_call_output" and item.get("call_id") in calls
            for name in names_in(item.get("output"))
        }


def _gated(tool: FunctionTool, found: _Found) -> FunctionTool:
    async def is_enabled(ctx: RunContextWrapper[Any], agent: Any) -> bool:
        return found.has(ctx, tool.name) and await _is_enabled(tool, ctx, agent)

    gated = copy.copy(tool)
    gated.is_enabled = is_enabled
    return gated


async def _is_enabled(tool: FunctionTool, ctx: RunContextWrapper[Any], agent: Agent[Any] | Any) -> bool:
    if isinstance(tool.is_enabled, bool):
        return tool.is_enabled
    enabled = tool.is_enabled(ctx, agent)
    return bool(await enabled if inspect.isawaitable(enabled) else enabled)


def _own_tool(tool: FunctionTool) -> Tool[FunctionTool]:
    return Tool(tool.name, definition(tool.name, tool.description, tool.params_json_schema), tool)
