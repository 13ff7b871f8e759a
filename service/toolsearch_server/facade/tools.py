"""The tools that the facade itself offers. Every client carries their definitions, so they are short."""

from collections.abc import Mapping
from typing import Any

from mcp_types import Tool, ToolAnnotations

from toolsearch_server.facade.lookup import FIND_LIMIT, MOST_FOUND
from toolsearch_server.facade.settings import Destructive

FIND, LIST, DESCRIBE, CALL, CALL_DESTRUCTIVE = "find_tools", "list_tools", "describe_tool", "call_tool", "call_tool_destructive"
RESERVED = frozenset({FIND, LIST, DESCRIBE, CALL, CALL_DESTRUCTIVE})
"""No tool from elsewhere is listed under one of these names."""

ALWAYS_LOAD = "anthropic/alwaysLoad"
"""Tells clients that search tools themselves not to defer this one."""

NAMES_DESCRIBED = 20

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def own_tools(*, calls: bool, destructive: Destructive) -> list[Tool]:
    tools = [_find(calls=calls), _list(), _describe()]
    if not calls:
        return tools
    match destructive:
        case "separate":
            harmless = _call(CALL, "Call a tool that is not destructive, as its call_with says.", may_destroy=False)
            return [*tools, harmless, _call(CALL_DESTRUCTIVE, "Call a tool that may destroy something.", may_destroy=True)]
        case "exclude":
            return [*tools, _call(CALL, "Call a tool.", may_destroy=False)]
        case "together":
            return [*tools, _call(CALL, "Call a tool.", may_destroy=True)]


def _find(*, calls: bool) -> Tool:
    then = "Call one with the tool in its call_with; " if calls else ""
    return _tool(
        FIND,
        "Find tools by what they do, by name, or by parameter. Use this first, in the words of the task; other phrasings in "
        f"queries widen it. Answers with names, summaries and, for the best, input schemas. {then}describe_tool tells more.",
        {
            "query": {"type": "string", "description": "What the tool should do, or its name"},
            "queries": {"type": "array", "items": {"type": "string"}, "maxItems": 8, "description": "Other phrasings"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FIND_LIMIT},
            "namespaces": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "As from list_tools"},
            "kinds": {"type": "array", "items": {"enum": ["tool", "prompt", "resource", "skill", "agent"]}},
            "read_only": {"type": "boolean", "description": "Only tools that change nothing"},
            "detail": {"enum": ["summary", "best", "full"], "default": "best", "description": "Whose schemas are given"},
        },
        _READS,
        anyOf=[{"required": ["query"]}, {"required": ["queries"]}],
    )


def _list() -> Tool:
    return _tool(
        LIST,
        "List all tools by name, a page at a time, and the namespaces there are. To find something, find_tools is better.",
        {"namespace": {"type": "string", "description": "Only this one"}, "page_token": {"type": "string"}},
        _READS,
    )


def _describe() -> Tool:
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": NAMES_DESCRIBED}
    return _tool(DESCRIBE, "Full descriptions and schemas of tools.", {"names": names}, _READS, required=["names"])


def _call(name: str, description: str, *, may_destroy: bool) -> Tool:
    return _tool(
        name,
        description,
        {
            "name": {"type": "string", "description": "As find_tools gives it"},
            "arguments": {"type": "object", "description": "As its input schema says"},
        },
        ToolAnnotations(read_only_hint=False, destructive_hint=may_destroy, open_world_hint=True),
        required=["name"],
    )


def _tool(name: str, description: str, properties: Mapping[str, Any], annotations: ToolAnnotations, **schema: Any) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": dict(properties), "additionalProperties": False, **schema},
        annotations=annotations,
        _meta={ALWAYS_LOAD: True},
    )
