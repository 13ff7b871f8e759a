"""Payloads: tools as model providers take them, ready to send. Pure functions; docs/plan.md has the rules they follow.

A payload is made of names, descriptions and schemas alone: nothing else of a definition reaches a provider, so a
`cache_control` that a definition carries cannot end up on a deferred tool, where it is refused.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

from toolsearch.types import Strategy
from toolsearch_server import naming
from toolsearch_server.entry import Entry, input_schema, token_estimate

NAMESPACE_TOOLS_SHOWN = 8
COMBINATORS = ("oneOf", "anyOf", "allOf", "enum", "not")
"""What providers refuse at the top of a schema."""
PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What Anthropic takes at the top of a schema: with any other, such as `$filter`, all tools of the request are refused."""

Tool = dict[str, Any]


class Format(StrEnum):
    """Whose API the payload is for."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_CHAT = "openai-chat"


MOST_DEFERRED = {Format.ANTHROPIC: 10_000}
MOST_SENT = {Format.OPENAI: 128, Format.OPENAI_CHAT: 128}
"""More tools than that are refused, whatever they are: a namespace is one, and so is the search tool."""


@dataclass(frozen=True, slots=True)
class SearchTool:
    """The tool by which a model searches. `type` is a provider's, for one that the provider knows; `by_client`: the caller
    answers it."""

    name: str
    description: str = ""
    type: str = ""
    by_client: bool = True


OPENAI_SEARCH = SearchTool("tool_search", type="tool_search", by_client=False)
ANTHROPIC_SEARCH = {
    Strategy.BM25: SearchTool("tool_search_tool_bm25", type="tool_search_tool_bm25_20251119", by_client=False),
    Strategy.REGEX: SearchTool("tool_search_tool_regex", type="tool_search_tool_regex_20251119", by_client=False),
}
"""The names are the provider's, too: others are refused."""


@dataclass(frozen=True, slots=True)
class Payload:
    """`tools` are ready to send. `stub_tokens`: what the model sees of deferred ones. `reduced`: entries whose schemas had to
    lose what providers refuse at their top, `nameless`: those that lost parameters for their names."""

    tools: list[Tool]
    stub_tokens: int
    reduced: tuple[str, ...]
    nameless: tuple[str, ...]


SEARCH_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What you want to do, in plain words, or the name of a tool.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


def format_for(provider: str) -> Format:
    return Format(provider) if provider in list(Format) else Format.OPENAI_CHAT


def render(format_: Format, eager: Sequence[Entry], deferred: Sequence[Entry], search: SearchTool | None) -> Payload:
    """`deferred` are those that the payload declares, for the provider to know them when they are found."""
    reduced: list[str] = []
    nameless: list[str] = []

    def tool(entry: Entry) -> Tool:
        schema, is_reduced = object_schema(entry)
        if is_reduced:
            reduced.append(entry.name)
        if format_ is Format.ANTHROPIC and (taken := _with_taken_names(schema)) is not schema:
            nameless.append(entry.name)
            schema = taken
        return _TOOLS[format_](entry, schema)

    tools = [] if search is None else [search_tool(format_, search)]
    tools += map(tool, eager)
    if format_ is Format.OPENAI:
        namespaces = _namespaces(deferred, tool)
        return Payload([*tools, *namespaces], sum(map(_stub_tokens, namespaces)), tuple(reduced), tuple(nameless))
    tools += (tool(entry) | {"defer_loading": True} for entry in deferred)
    return Payload(tools, 0, tuple(reduced), tuple(nameless))


def tokens(tool: Tool) -> int:
    return token_estimate(json.dumps(tool, ensure_ascii=False, separators=(",", ":")))


def _stub_tokens(tool: Tool) -> int:
    """Of what is deferred, OpenAI's models see names and descriptions: of namespaces, or of functions outside of them."""
    return tokens({"name": tool["name"], "description": tool["description"]})


def search_tool(format_: Format, search: SearchTool) -> Tool:
    if search.type and not search.by_client:
        return {"type": search.type, "name": search.name} if format_ is Format.ANTHROPIC else {"type": search.type}
    if search.type:
        client = {"type": search.type, "execution": "client"}
        return client | {"description": search.description, "parameters": SEARCH_PARAMETERS}
    if format_ is Format.ANTHROPIC:
        return {"name": search.name, "description": search.description, "input_schema": SEARCH_PARAMETERS}
    function = {"name": search.name, "description": search.description, "parameters": SEARCH_PARAMETERS}
    return {"type": "function", **function} if format_ is Format.OPENAI else {"type": "function", "function": function}


def object_schema(entry: Entry) -> tuple[Mapping[str, Any], bool]:
    """An object's schema, whatever was given, and whether that meant leaving something out."""
    given = input_schema(json.loads(entry.definition))
    if not isinstance(given, dict):
        given = {}
    kept = {key: value for key, value in given.items() if key not in COMBINATORS}
    return {"type": "object", "properties": {}} | kept | {"type": "object"}, len(kept) < len(given)


def _with_taken_names(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without parameters whose names are refused; itself if there are none."""
    properties, required = schema["properties"], schema.get("required")
    if not isinstance(properties, dict) or all(map(PROPERTY_NAME.fullmatch, properties)):
        return schema
    kept = {name: value for name, value in properties.items() if PROPERTY_NAME.fullmatch(name)}
    reduced = {**schema, "properties": kept}
    if isinstance(required, list):
        reduced["required"] = [name for name in required if name not in properties or name in kept]
    return reduced


def _anthropic(entry: Entry, schema: Mapping[str, Any]) -> Tool:
    return {"name": entry.alias, "description": entry.description, "input_schema": schema}


def _openai(entry: Entry, schema: Mapping[str, Any]) -> Tool:
    function = {"name": entry.alias, "description": entry.description, "parameters": schema}
    return {"type": "function", **function, "strict": False}


def _openai_chat(entry: Entry, schema: Mapping[str, Any]) -> Tool:
    return {
        "type": "function",
        "function": {"name": entry.alias, "description": entry.description, "parameters": schema},
    }


_TOOLS: Mapping[Format, Callable[[Entry, Mapping[str, Any]], Tool]] = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI: _openai,
    Format.OPENAI_CHAT: _openai_chat,
}


def _namespaces(entries: Iterable[Entry], tool: Callable[[Entry], Tool]) -> list[Tool]:
    """Deferred functions by namespace, which is what OpenAI's models search best."""
    ordered = sorted(entries, key=lambda entry: (entry.namespace, entry.name))
    rendered: list[Tool] = []
    taken: set[str] = set()
    for namespace, members in groupby(ordered, key=lambda entry: entry.namespace):
        tools = list(members)
        functions = [tool(entry) | {"defer_loading": True} for entry in tools]
        if not namespace:
            rendered += functions
            continue
        name = naming.safe_name(namespace, taken)
        taken.add(name)
        description = _namespace_description(namespace, tools)
        rendered.append({"type": "namespace", "name": name, "description": description, "tools": functions})
    return rendered


def _namespace_description(namespace: str, tools: Sequence[Entry]) -> str:
    actions = [entry.name.removeprefix(f"{namespace}.").replace("_", " ") for entry in tools]
    shown = ", ".join(actions[:NAMESPACE_TOOLS_SHOWN])
    more = len(actions) - NAMESPACE_TOOLS_SHOWN
    return f"{namespace}: {shown}" + (f" and {more} more" if more > 0 else "")
