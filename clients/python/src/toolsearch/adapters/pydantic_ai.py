"""pydantic-ai: toolsearch as the strategy of its ToolSearch.

```python
tools = [Tool(function, defer_loading=True) for function in functions]
agent = Agent(model, tools=tools, capabilities=[tool_search(client, server="my-agent")])
```

pydantic-ai hides the deferred tools, runs the search, and reads from the message history what was found: that history serves
any other agent with the same tools.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from pydantic_ai import RunContext
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.tools import ToolDefinition

from toolsearch.adapters._core import AnyClient, Options, Searcher, SearchOptions, Tool, definition

Strategy = Callable[[RunContext[Any], Sequence[str], Sequence[ToolDefinition]], Awaitable[list[str]]]


def tool_search(client: AnyClient, **options: Unpack[SearchOptions]) -> ToolSearch[Any]:
    """A capability for `Agent(capabilities=[...])`."""
    # How many is for the strategy to say: ToolSearch would cut short what `fallback="all"` loads.
    return ToolSearch(strategy=strategy(client, **options), max_results=sys.maxsize)


def strategy(client: AnyClient, **options: Unpack[SearchOptions]) -> Strategy:
    """A function for `ToolSearch(strategy=...)`. Nothing found and service away look the same to the model there."""
    searcher = Searcher[None](client, Options(**options))

    async def search(_: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        own = (Tool(each.name, definition(each.name, each.description, each.parameters_json_schema), None) for each in tools)
        return (await searcher.afind(queries, own)).names

    return search
