"""Google's Agent Development Kit: a toolset that offers a search tool, and of its tools those that were found.

```python
agent = LlmAgent(name="assistant", model="...", tools=[ToolSearchToolset(client, tools, server="my-agent")])
```

What was found is kept in the session's state.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Unpack

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from toolsearch.adapters._core import (
    SEARCH_DESCRIPTION,
    SEARCH_TOOL,
    AnyClient,
    Options,
    Searcher,
    SearchOptions,
    Tool,
    definition,
)


class ToolSearchToolset(BaseToolset):
    """`tools` are ADK's tools, or functions. Those named in `always` are offered from the beginning."""

    def __init__(
        self,
        client: AnyClient,
        tools: Iterable[BaseTool | Callable[..., Any]],
        *,
        always: Collection[str] = (),
        search_tool_name: str = SEARCH_TOOL,
        search_tool_description: str = SEARCH_DESCRIPTION,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__()
        self._use_invocation_cache = False  # what is found is to be called in the same invocation
        made = [tool if isinstance(tool, BaseTool) else FunctionTool(tool) for tool in tools]
        self._tools = {tool.name: tool for tool in made}
        self._always = frozenset(always)
        self._state_key = f"toolsearch:{search_tool_name}"
        self._searcher = Searcher[BaseTool](client, Options(**options))

        async def search(query: str, tool_context: ToolContext) -> dict[str, Any]:
            hidden = (_own_tool(tool) for tool in self._tools.values() if tool.name not in self._always)
            answer = await self._searcher.afind(query, hidden)
            known = list(tool_context.state.get(self._state_key) or ())
            tool_context.state[self._state_key] = list(dict.fromkeys([*known, *answer.names]))
            return answer.as_dict()

        search.__name__ = search_tool_name
        search.__doc__ = search_tool_description
        self._search_tool = FunctionTool(search)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        found = () if readonly_context is None else readonly_context.state.get(self._state_key) or ()
        return [self._search_tool, *(tool for name, tool in self._tools.items() if name in self._always or name in found)]


def _own_tool(tool: BaseTool) -> Tool[BaseTool]:
    declared = tool._get_declaration()
    schema: Any = None
    if declared is not None:
        schema = declared.parameters_json_schema
        if schema is None and declared.parameters is not None:
            schema = declared.parameters.model_dump(mode="json", exclude_none=True)
    return Tool(tool.name, definition(tool.name, tool.description, schema), tool)
