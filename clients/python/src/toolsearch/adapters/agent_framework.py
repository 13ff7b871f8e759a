"""Microsoft's agent-framework: a search tool that adds to the run what it finds.

```python
agent = Agent(client=chat_client, tools=[tool_search(client, tools, server="my-agent")])
```

agent-framework lets a tool add tools to the run it is part of, from the next turn on. Another run begins with the search tool.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Unpack

from agent_framework import FunctionInvocationContext, FunctionTool, MiddlewareFailure

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
    rendered,
)
from toolsearch.errors import ToolSearchError


def tool_search(
    client: AnyClient,
    tools: Iterable[FunctionTool | Callable[..., Any]],
    *,
    search_tool_name: str = SEARCH_TOOL,
    search_tool_description: str = SEARCH_DESCRIPTION,
    render: Renderer = rendered,
    **options: Unpack[SearchOptions],
) -> FunctionTool:
    """The search tool, for `Agent(tools=[...])`. `tools` are not given to the agent."""
    own = [_own_tool(tool if isinstance(tool, FunctionTool) else _made(tool)) for tool in tools]
    searcher = Searcher[FunctionTool](client, Options(**options))

    async def search(query: Annotated[str, QUERY_DESCRIPTION], ctx: FunctionInvocationContext) -> str:
        try:
            answer = await searcher.afind(query, own)
        except ToolSearchError as error:
            # Any other one would be told to the model.
            raise MiddlewareFailure(str(error)) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that adding tools is an experimental feature
            ctx.add_tools(answer.values)
        return render(answer)

    return FunctionTool(name=search_tool_name, description=search_tool_description, func=search)


def _made(function: Callable[..., Any]) -> FunctionTool:
    return FunctionTool(name=function.__name__, description=function.__doc__ or "", func=function)


def _own_tool(tool: FunctionTool) -> Tool[FunctionTool]:
    return Tool(tool.name, definition(tool.name, tool.description, tool.parameters()), tool)
