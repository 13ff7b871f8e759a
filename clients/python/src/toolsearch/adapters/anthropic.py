"""Anthropic's Messages API: a custom tool search, answered with `tool_reference` blocks.

```python
search = ToolSearch(client, tools, server="my-agent")  # tools, as you would give them to the API
message = search.run(Anthropic(), call, model="...", max_tokens=1024, messages=[{"role": "user", "content": "..."}])
```

or, in a loop of your own: declare `search.tools`, and answer every use of `search.name` with `search.result(block)`.
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Unpack

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message

from toolsearch import types as t
from toolsearch.adapters._core import (
    MAX_TURNS,
    QUERY_DESCRIPTION,
    SEARCH_DESCRIPTION,
    SEARCH_TOOL,
    Answer,
    AnyClient,
    Offer,
    SearchOptions,
    Tool,
    TooManyTurns,
    definition,
    no_such_tool,
)


class ToolSearch:
    """Tools of the caller, deferred until they are found.

    `tools`: the caller's tools; those named in `always`, and Anthropic's own, are not deferred. Or `owned`: which entries of
    the catalog the caller can call, whose definitions then come from there, under their aliases, as they are found. `found`
    has what was found so far by name; `found[name].value` is the tool as it was given, or the entry, which knows its server
    and its name there.
    """

    def __init__(
        self,
        client: AnyClient,
        tools: Iterable[Mapping[str, Any]] | None = None,
        *,
        owned: Callable[[t.Entry], bool] | None = None,
        always: Collection[str] = (),
        name: str = SEARCH_TOOL,
        description: str = SEARCH_DESCRIPTION,
        **options: Unpack[SearchOptions],
    ) -> None:
        given = list(tools or ())
        self._loaded = [tool for tool in given if tool["name"] in always or tool.get("type", "custom") != "custom"]
        self._deferred = [tool for tool in given if tool not in self._loaded]
        own = None if tools is None else [Tool(tool["name"], _definition(tool), tool) for tool in self._deferred]
        self._offer = Offer(client, own, owned, options)
        self._description = description
        self.name = name
        self.found: dict[str, Tool[Any]] = {}

    @property
    def tools(self) -> list[Any]:
        """To be declared on every request: the search tool, what is always loaded, and what is deferred."""
        search = {
            "name": self.name,
            "description": self._description,
            "input_schema": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": QUERY_DESCRIPTION}},
                "required": ["query"],
            },
        }
        deferred = self._deferred or [_tool(found) for found in self.found.values()]
        # A deferred tool is not in the prompt: it cannot end a part of it that is cached.
        return [search, *self._loaded, *({**_without_cache(tool), "defer_loading": True} for tool in deferred)]

    def result(self, block: Any) -> Any:
        """A `tool_result` for a use of the search tool: references to what was found, or a note if that is nothing."""
        return self._result(block, self._offer.find(_query(block)))

    async def aresult(self, block: Any) -> Any:
        return self._result(block, await self._offer.afind(_query(block)))

    def run(
        self,
        anthropic: Anthropic,
        call: Callable[[str, dict[str, Any]], str],
        *,
        messages: Iterable[Any],
        max_turns: int = MAX_TURNS,
        **request: Any,
    ) -> Message:
        """Ask until the model has no more calls. `call` is given what was found and what is always loaded."""
        conversation = list(messages)
        for _ in range(max_turns):
            message: Message = anthropic.messages.create(messages=conversation, tools=self.tools, **request)
            uses = [block for block in message.content if block.type == "tool_use"]
            if not uses:
                return message
            results = []
            for block in uses:
                if block.name == self.name:
                    results.append(self.result(block))
                elif self._can_call(block.name):
                    results.append(_text(block, call(block.name, _input(block))))
                else:
                    results.append(_text(block, no_such_tool(block.name)) | {"is_error": True})
            conversation += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        raise TooManyTurns(max_turns)

    async def arun(
        self,
        anthropic: AsyncAnthropic,
        call: Callable[[str, dict[str, Any]], str | Awaitable[str]],
        *,
        messages: Iterable[Any],
        max_turns: int = MAX_TURNS,
        **request: Any,
    ) -> Message:
        """The twin of `run`; `call` may be a coroutine function."""
        conversation = list(messages)
        for _ in range(max_turns):
            message: Message = await anthropic.messages.create(messages=conversation, tools=self.tools, **request)
            uses = [block for block in message.content if block.type == "tool_use"]
            if not uses:
                return message
            results = []
            for block in uses:
                if block.name == self.name:
                    results.append(await self.aresult(block))
                elif self._can_call(block.name):
                    result = call(block.name, _input(block))
                    results.append(_text(block, await result if inspect.isawaitable(result) else result))
                else:
                    results.append(_text(block, no_such_tool(block.name)) | {"is_error": True})
            conversation += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        raise TooManyTurns(max_turns)

    def _result(self, block: Any, answer: Answer[Any]) -> Any:
        self.found.update((tool.name, tool) for tool in answer.tools)
        if not answer.tools:
            return _text(block, answer.message)
        references = [{"type": "tool_reference", "tool_name": tool.name} for tool in answer.tools]
        return {"type": "tool_result", "tool_use_id": block.id, "content": references}

    def _can_call(self, name: str) -> bool:
        return name in self.found or any(tool["name"] == name for tool in self._loaded)


def _definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    return definition(tool["name"], tool.get("description"), tool.get("input_schema"))


def _tool(found: Tool[Any]) -> dict[str, Any]:
    schema = found.definition.get("inputSchema") or {}
    description = str(found.definition.get("description") or "")
    return {"name": found.name, "description": description, "input_schema": {"type": "object", **schema}}


def _without_cache(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != "cache_control"}


def _input(block: Any) -> dict[str, Any]:
    return dict(block.input) if isinstance(block.input, Mapping) else {}


def _query(block: Any) -> str:
    query = _input(block).get("query")
    return query if isinstance(query, str) else ""


def _text(block: Any, text: str) -> dict[str, Any]:
    """Empty content is refused."""
    return {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": text or "(nothing)"}]}
