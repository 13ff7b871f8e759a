"""langgraph-bigtool: the functions that retrieve tools of its registry.

```python
function, coroutine = retrievers(client, registry, server="my-agent")
builder = create_agent(llm, registry, retrieve_tools_function=function, retrieve_tools_coroutine=coroutine)
```

Release 0.0.3 of langgraph-bigtool calls what langgraph-prebuilt 1.0.2 and later no longer have; the extra asks for older ones.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Unpack

from langchain_core.tools import BaseTool, StructuredTool

from toolsearch.adapters._core import QUERY_DESCRIPTION, AnyClient, Options, Searcher, SearchOptions, Tool
from toolsearch.adapters._langchain_tool import own_tool


def retrievers(
    client: AnyClient, registry: Mapping[str, BaseTool | Callable[..., Any]], **options: Unpack[SearchOptions]
) -> tuple[Callable[[str], list[str]], Callable[[str], Awaitable[list[str]]]]:
    """The same twice, for `invoke` and for `ainvoke`: from a query to ids of the registry. The registry may change later."""
    searcher = Searcher[str](client, Options(**options))

    def own() -> list[Tool[str]]:
        tools: dict[str, Tool[str]] = {}
        for id_, each in registry.items():
            tool = own_tool(each if isinstance(each, BaseTool) else StructuredTool.from_function(each))
            if tool.name in tools:
                raise ValueError(f'two tools of the registry are called "{tool.name}": "{tools[tool.name].value}" and "{id_}"')
            tools[tool.name] = Tool(tool.name, tool.definition, id_)
        return list(tools.values())

    def retrieve_tools(query: Annotated[str, QUERY_DESCRIPTION]) -> list[str]:
        """Find tools for a task. What is found can be called from the next turn on."""
        return searcher.find(query, own()).values

    async def aretrieve_tools(query: Annotated[str, QUERY_DESCRIPTION]) -> list[str]:
        """Find tools for a task. What is found can be called from the next turn on."""
        return (await searcher.afind(query, own())).values

    return retrieve_tools, aretrieve_tools
