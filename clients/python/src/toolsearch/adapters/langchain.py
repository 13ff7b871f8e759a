"""LangChain 1.x: a middleware that shows the model a search tool, and of the agent's tools only those that were found.

```python
agent = create_agent(model, tools, middleware=[ToolSearchMiddleware(client, server="my-agent")])
```

What was found is in the conversation, as the artifact of the search's ToolMessage: it survives checkpoints, and an agent that
is given the messages has the tools.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Annotated, Any, Unpack

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from toolsearch.adapters._core import (
    QUERY_DESCRIPTION,
    SEARCH_DESCRIPTION,
    SEARCH_TOOL,
    Answer,
    AnyClient,
    Options,
    Renderer,
    Searcher,
    SearchOptions,
    Tool,
    rendered,
)
from toolsearch.adapters._langchain_tool import own_tool


class ToolSearchMiddleware(AgentMiddleware[Any, Any, Any]):
    """Hides the agent's tools until they are found.

    `always`: names of tools that are never hidden. Tools in the form of dictionaries belong to the model's provider and are
    not hidden either. `render`: what the model gets to read as the search's result.
    """

    def __init__(
        self,
        client: AnyClient,
        *,
        always: Collection[str] = (),
        search_tool_name: str = SEARCH_TOOL,
        search_tool_description: str = SEARCH_DESCRIPTION,
        render: Renderer = rendered,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__()
        self._searcher = Searcher[BaseTool](client, Options(**options))
        self._always = frozenset(always)
        self._name = search_tool_name
        self._render = render

        def search(query: Annotated[str, QUERY_DESCRIPTION], runtime: ToolRuntime) -> tuple[str, list[str]]:
            return self._told(self._searcher.find(query, self._hidden(runtime.tools)))

        async def asearch(query: Annotated[str, QUERY_DESCRIPTION], runtime: ToolRuntime) -> tuple[str, list[str]]:
            return self._told(await self._searcher.afind(query, self._hidden(runtime.tools)))

        self.tools: Sequence[BaseTool] = [
            StructuredTool.from_function(
                search,
                asearch,
                name=search_tool_name,
                description=search_tool_description,
                response_format="content_and_artifact",
            )
        ]

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        return handler(request.override(tools=self._shown(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        return await handler(request.override(tools=self._shown(request)))

    def _shown(self, request: ModelRequest[Any]) -> list[BaseTool | dict[str, Any]]:
        found = self._found(request.messages)
        shown = self._always | found | {self._name}
        return [tool for tool in request.tools if isinstance(tool, dict) or tool.name in shown]

    def _found(self, messages: Iterable[AnyMessage]) -> set[str]:
        results = (message for message in messages if isinstance(message, ToolMessage) and message.name == self._name)
        return {name for result in results if isinstance(result.artifact, list) for name in result.artifact}

    def _hidden(self, tools: Sequence[BaseTool]) -> list[Tool[BaseTool]]:
        shown = self._always | {self._name}
        return [own_tool(tool) for tool in tools if tool.name not in shown]

    def _told(self, answer: Answer[BaseTool]) -> tuple[str, list[str]]:
        return self._render(answer), answer.names
