"""fast-agent: tools that an agent gets when it has found them.

```python
agent = ToolAgent(AgentConfig("assistant"))
attach(agent, client, tools, server="my-agent")
```

For tools of the agent itself, that is functions. MCP servers that an agent is connected to list their tools without asking
anybody; for those, connect it to the facade, `toolsearch mcp`, in their place.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Unpack

from fast_agent.agents.tool_agent import ToolAgent
from fast_agent.agents.tool_runner import ToolRunner, ToolRunnerHooks
from fast_agent.tools.function_tool_loader import build_default_function_tool
from fastmcp.tools import FunctionTool

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


def attach(
    agent: ToolAgent,
    client: AnyClient,
    tools: Iterable[FunctionTool | Callable[..., Any]],
    *,
    search_tool_name: str = SEARCH_TOOL,
    search_tool_description: str = SEARCH_DESCRIPTION,
    render: Renderer = rendered,
    **options: Unpack[SearchOptions],
) -> None:
    """Give the agent a search tool. What it finds among `tools` it has from then on. Errors are told to the model, as all."""
    own = [_own_tool(tool if isinstance(tool, FunctionTool) else build_default_function_tool(tool)) for tool in tools]
    searcher = Searcher[FunctionTool](client, Options(**options))

    async def search(query: Annotated[str, QUERY_DESCRIPTION]) -> str:
        answer = await searcher.afind(query, own)
        for tool in answer.values:
            agent.add_tool(tool)
        return render(answer)

    agent.add_tool(build_default_function_tool(search, name=search_tool_name, description=search_tool_description))
    agent.tool_runner_hooks = _refreshing(agent.tool_runner_hooks or ToolRunnerHooks())


def _refreshing(hooks: ToolRunnerHooks) -> ToolRunnerHooks:
    """A turn keeps the tools that it began with; this looks again before each call of the model."""
    before = hooks.before_llm_call

    async def before_llm_call(runner: ToolRunner, messages: Any) -> None:
        if runner._tools:  # there is no public way; empty where fast-agent wants no tools
            runner._tools = (await runner._agent.list_tools()).tools
        if before is not None:
            await before(runner, messages)

    return ToolRunnerHooks(
        before_llm_call=before_llm_call,
        after_llm_call=hooks.after_llm_call,
        before_tool_call=hooks.before_tool_call,
        after_tool_call=hooks.after_tool_call,
        after_turn_complete=hooks.after_turn_complete,
    )


def _own_tool(tool: FunctionTool) -> Tool[FunctionTool]:
    return Tool(tool.name, definition(tool.name, tool.description, tool.parameters), tool)
