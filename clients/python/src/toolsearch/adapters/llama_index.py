"""LlamaIndex: a tool retriever for its agents.

```python
agent = FunctionAgent(llm=llm, tool_retriever=ToolRetriever(client, tools, server="my-agent"))
```

The agent asks for tools with the user's message, not the model: there is no search tool, and what was found serves the message.
"""

from collections.abc import Iterable
from typing import Unpack

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryBundle, QueryType
from llama_index.core.tools import BaseTool

from toolsearch.adapters._core import AnyClient, Options, Searcher, SearchOptions, Tool, definition


class ToolRetriever(ObjectRetriever[BaseTool]):
    """Tools of the agent that fit the words of a message."""

    def __init__(self, client: AnyClient, tools: Iterable[BaseTool], **options: Unpack[SearchOptions]) -> None:
        # Not the base class's: there are neither nodes nor a retriever of nodes.
        self._own = {tool.name: tool for tool in map(_own_tool, tools)}
        self._searcher = Searcher[BaseTool](client, Options(**options))

    def retrieve(self, str_or_query_bundle: QueryType) -> list[BaseTool]:
        query = _query(str_or_query_bundle)
        if query in self._own:  # how an agent asks for the tool that it is about to call
            return [self._own[query].value]
        return self._searcher.find(query, self._own.values()).values

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[BaseTool]:
        query = _query(str_or_query_bundle)
        if query in self._own:
            return [self._own[query].value]
        return (await self._searcher.afind(query, self._own.values())).values


def _query(given: QueryType) -> str:
    return given.query_str if isinstance(given, QueryBundle) else given


def _own_tool(tool: BaseTool) -> Tool[BaseTool]:
    name = tool.metadata.get_name()
    return Tool(name, definition(name, tool.metadata.description, tool.metadata.get_parameters_dict()), tool)
