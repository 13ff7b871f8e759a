"""Walks over definitions: what a JSON Schema says about parameters, to the bottom, and the headings of a text."""

from collections.abc import Iterator
from typing import Any

Json = Any
"""What json.loads returns."""


def depth_over(value: Json, limit: int) -> bool:
    """Whether lists and objects are nested more than `limit` deep. Does not recurse, so no input can exhaust the stack."""
    level: list[Json] = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
    return bool(level)


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def headings(markdown: str) -> str:
    """One line per heading of a text, outside of code."""
    found: list[str] = []
    fenced = False
    for line in markdown.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.startswith("#"):
            found.append(line.strip("# \t\r"))
    return "\n".join(filter(None, found))


def parameter_text(schema: Json) -> str:
    """One line per parameter, "name: what is said about it", outermost first.

    Nested objects, array items, alternatives and definitions count; so do titles, descriptions, enum values and constants.
    """
    return "\n".join(_parameter_lines(schema))


def _parameter_lines(schema: Json) -> Iterator[str]:
    pending: list[tuple[str, Json]] = [("", schema)]
    while pending:
        following: list[tuple[str, Json]] = []
        for name, node in pending:
            words = _words(node)
            if name or words:
                yield f"{name}: {words}" if name else words
            following.extend(_subschemas(node))
        pending = following


def _subschemas(node: Json) -> Iterator[tuple[str, Json]]:
    """The schemas directly inside `node`, with the names of those that are parameters."""
    if isinstance(node, list):
        yield from (("", item) for item in node)
    if not isinstance(node, dict):
        return
    for keyword, value in node.items():
        if keyword in _DATA_KEYWORDS:
            continue
        if keyword in _SCHEMA_MAPS and isinstance(value, dict):
            yield from ((name if keyword == "properties" else "", schema) for name, schema in value.items())
        elif isinstance(value, dict | list):
            yield "", value


_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose keys are names, not keywords."""

_DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples", "example", "required", "type"})
"""Keywords whose values are data, not schemas."""


def _words(node: Json) -> str:
    if not isinstance(node, dict):
        return ""
    enum = node.get("enum")
    texts = [node.get("title"), node.get("description"), node.get("const"), *(enum if isinstance(enum, list) else ())]
    return " ".join(text for text in texts if isinstance(text, str))
