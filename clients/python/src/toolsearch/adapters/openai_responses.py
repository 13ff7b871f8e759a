"""OpenAI's Responses API: `tool_search`, executed by the client.

```python
search = ToolSearch(client, tools, server="my-agent")  # function tools, as you would give them to the API
response = search.run(OpenAI(), call, model="...", input="Tell them that it is broken.")
```

or, in a loop of your own: declare `search.tool`, and answer every `tool_search_call` with `search.outputs(call)`.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Unpack

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response

from toolsearch import types as t
from toolsearch.adapters._core import (
    MAX_TURNS,
    QUERY_DESCRIPTION,
    SEARCH_DESCRIPTION,
    Answer,
    AnyClient,
    Offer,
    SearchOptions,
    Tool,
    TooManyTurns,
    definition,
    no_such_tool,
)

Item = dict[str, Any]


class ToolSearch:
    """Tools of the caller, found by search.

    `tools`: the caller's function tools; or `owned`: which entries of the catalog the caller can call, whose definitions then
    come from there, under their aliases. `found` has what was found so far by name; `found[name].value` is the tool as it was
    given, or the entry, which knows its server and its name there.
    """

    def __init__(
        self,
        client: AnyClient,
        tools: Iterable[Mapping[str, Any]] | None = None,
        *,
        owned: Callable[[t.Entry], bool] | None = None,
        description: str = SEARCH_DESCRIPTION,
        **options: Unpack[SearchOptions],
    ) -> None:
        own = None if tools is None else [Tool(tool["name"], _definition(tool), tool) for tool in tools]
        self._offer = Offer(client, own, owned, options)
        self._description = description
        self.found: dict[str, Tool[Any]] = {}

    @property
    def tool(self) -> Any:
        """To be declared in `tools`."""
        return {
            "type": "tool_search",
            "execution": "client",
            "description": self._description,
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": QUERY_DESCRIPTION}},
                "required": ["query"],
                "additionalProperties": False,
            },
        }

    def outputs(self, call: Any) -> list[Any]:
        """Input items that answer a `tool_search_call`: its output, and a note for the model if nothing was found."""
        return self._items(call, self._offer.find(_query(call)))

    async def aoutputs(self, call: Any) -> list[Any]:
        return self._items(call, await self._offer.afind(_query(call)))

    def run(
        self,
        openai: OpenAI,
        call: Callable[[str, dict[str, Any]], str],
        *,
        input: str | list[Any],  # noqa: A002 the API's word
        tools: Iterable[Any] = (),
        max_turns: int = MAX_TURNS,
        **request: Any,
    ) -> Response:
        """Ask until the model has no more calls. `tools` are always loaded; `call` is given those and what was found."""
        declared = [self.tool, *tools]
        items = _items(input)
        for _ in range(max_turns):
            response: Response = openai.responses.create(input=items, tools=declared, **request)
            items += [_as_input(item) for item in response.output]
            pending = _calls(response)
            if not pending:
                return response
            for item in pending:
                if item.type == "tool_search_call":
                    items += self.outputs(item)
                    continue
                arguments = _arguments(item)
                if isinstance(arguments, str) or not self._can_call(item.name, declared):
                    items.append(_output(item, arguments if isinstance(arguments, str) else no_such_tool(item.name)))
                    continue
                items.append(_output(item, call(item.name, arguments)))
        raise TooManyTurns(max_turns)

    async def arun(
        self,
        openai: AsyncOpenAI,
        call: Callable[[str, dict[str, Any]], str | Awaitable[str]],
        *,
        input: str | list[Any],  # noqa: A002
        tools: Iterable[Any] = (),
        max_turns: int = MAX_TURNS,
        **request: Any,
    ) -> Response:
        """The twin of `run`; `call` may be a coroutine function."""
        declared = [self.tool, *tools]
        items = _items(input)
        for _ in range(max_turns):
            response: Response = await openai.responses.create(input=items, tools=declared, **request)
            items += [_as_input(item) for item in response.output]
            pending = _calls(response)
            if not pending:
                return response
            for item in pending:
                if item.type == "tool_search_call":
                    items += await self.aoutputs(item)
                    continue
                arguments = _arguments(item)
                if isinstance(arguments, str) or not self._can_call(item.name, declared):
                    items.append(_output(item, arguments if isinstance(arguments, str) else no_such_tool(item.name)))
                    continue
                result = call(item.name, arguments)
                items.append(_output(item, await result if inspect.isawaitable(result) else result))
        raise TooManyTurns(max_turns)

    def _items(self, call: Any, answer: Answer[Any]) -> list[Any]:
        self.found.update((tool.name, tool) for tool in answer.tools)
        output = {
            "type": "tool_search_output",
            "call_id": call.call_id,
            "execution": "client",
            "status": "completed",
            "tools": [_function(tool) for tool in answer.tools],
        }
        note = {"role": "developer", "content": answer.message}
        return [output] if answer.tools else [output, note]

    def _can_call(self, name: str, declared: Iterable[Any]) -> bool:
        return name in self.found or any(isinstance(tool, Mapping) and tool.get("name") == name for tool in declared)


def _definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    return definition(tool["name"], tool.get("description"), tool.get("parameters"))


def _function(tool: Tool[Any]) -> dict[str, Any]:
    if isinstance(tool.value, Mapping):
        return {**tool.value, "defer_loading": True}
    return {
        "type": "function",
        "name": tool.name,
        "description": str(tool.definition.get("description") or ""),
        "parameters": tool.definition.get("inputSchema") or {"type": "object", "properties": {}},
        "strict": False,
        "defer_loading": True,
    }


def _items(given: str | list[Any]) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def _as_input(item: Any) -> Any:
    return item.model_dump(mode="json", exclude_none=True)


def _calls(response: Response) -> list[Any]:
    def is_ours(item: Any) -> bool:
        return item.type == "function_call" or (item.type == "tool_search_call" and item.execution == "client")

    return [item for item in response.output if is_ours(item)]


def _query(call: Any) -> str:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return arguments
    query = arguments.get("query") if isinstance(arguments, Mapping) else None
    return query if isinstance(query, str) else ""


def _arguments(item: Any) -> dict[str, Any] | str:
    """Or what is wrong with them."""
    try:
        arguments = json.loads(item.arguments or "{}")
    except ValueError as error:
        return f"The arguments are not JSON: {error}"
    return arguments if isinstance(arguments, dict) else "The arguments are not an object."


def _output(item: Any, text: str) -> Item:
    return {"type": "function_call_output", "call_id": item.call_id, "output": text}
