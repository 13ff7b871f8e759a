"""A tool as a typed Python function, for models that write code instead of calls.

Names, schemas and descriptions come from strangers: whatever they are, what is written here is one function that Python
can parse, and nothing of theirs is code.
"""

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Any

MAX_DEPTH = 4
"""Of nested objects; what is deeper is `dict[str, Any]`."""

MAX_PARAMETERS = 50
"""Written out; further ones are named in one line."""

MAX_FIELDS = 20
"""Of a nested object, in its description."""

MAX_ENUM = 20
"""Values of an enum; with more, the type is that of the values."""

MAX_TEXT = 1_000
"""Characters of the description, and of a default's text."""

MAX_NAME = 64

_TYPES: Mapping[str, str] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
    "array": "list[Any]",
}

Schema = Mapping[str, Any]


def signature(definition: Mapping[str, Any], name: str | None = None) -> str:
    """The function that stands for a tool, given as MCP tool JSON: parameters are keywords, optional ones have defaults.

    ```python
    def create_issue(*, title: str, labels: list[str] = ..., state: Literal["open", "closed"] = "open") -> Any:
        \"\"\"Open a bug report.\"\"\"
        ...
    ```

    `= ...` says optional, without a default known. Parameters whose names cannot be Python's are told in the text.
    """
    schema = _mapping(definition.get("inputSchema") or definition.get("input_schema") or definition.get("parameters"))
    result = definition.get("outputSchema") or definition.get("output_schema")
    types = _Types(schema)
    required = _names(schema.get("required"))
    properties = _mapping(schema.get("properties"))
    written: list[str] = []
    notes: list[str] = []
    for key in sorted(properties, key=lambda key: key not in required):
        value = types.resolved(properties[key])
        if not _is_identifier(key):
            notes.append(f"Also takes {_quoted(key)}: {types.of(value)}; pass it as **{{...}}")
            continue
        if len(written) == MAX_PARAMETERS:
            notes.append(f"Takes {len(properties) - MAX_PARAMETERS} more parameters")
            break
        written.append(f"{key}: {types.of(value)}{'' if key in required else f' = {_default(value)}'}")
        notes += _field_notes(key, value, types)
    if any(not _is_identifier(key) for key in properties) or schema.get("additionalProperties"):
        rest = "more"
        while rest in properties:
            rest += "_"
        written.append(f"**{rest}: Any")
    parameters = ", ".join(written)
    star = "*, " if written and not written[0].startswith("**") else ""
    function = identifier(str(definition.get("name") or "") if name is None else name)
    returns = _Types(_mapping(result)).of(result) if isinstance(result, Mapping) else "Any"
    text = [_plain(definition.get("description")), *notes]
    return f"def {function}({star}{parameters}) -> {returns}:\n    {_docstring(text)}\n    ..."


def identifier(name: str) -> str:
    """A name as Python takes it."""
    cleaned = re.sub(r"[^0-9A-Za-z_]+", "_", name)[:MAX_NAME].strip("_") or "tool"
    if cleaned[0].isdigit():
        return f"_{cleaned}"
    return f"{cleaned}_" if keyword.iskeyword(cleaned) else cleaned


class _Types:
    """From JSON schema to Python's types, inside one schema with its definitions."""

    def __init__(self, schema: Schema) -> None:
        self._definitions = {**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))}

    def resolved(self, schema: Any) -> Schema:
        """Without references; one that leads nowhere or in a circle says nothing."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            reference = schema["$ref"]
            if reference in seen:
                return {}
            seen.add(reference)
            schema = self._definitions.get(reference.rpartition("/")[2])
        return _mapping(schema)

    def of(self, schema: Any, depth: int = 0) -> str:
        found = self.resolved(schema)
        if depth >= MAX_DEPTH:
            return "Any"
        if "const" in found:
            return _literal([found["const"]]) or "Any"
        if isinstance(found.get("enum"), list):
            return _literal(found["enum"]) or self._union(_type_of(value) for value in found["enum"])
        for key in ("anyOf", "oneOf"):
            if isinstance(found.get(key), list) and found[key]:
                return self._union(self.of(branch, depth + 1) for branch in found[key][:MAX_ENUM])
        kinds = found.get("type")
        if isinstance(kinds, list):
            return self._union(self._plain({**found, "type": kind}, depth) for kind in kinds[:MAX_ENUM])
        return self._plain(found, depth)

    def _plain(self, schema: Schema, depth: int) -> str:
        kind = schema.get("type")
        if kind == "array" and isinstance(schema.get("items"), Mapping):
            return f"list[{self.of(schema['items'], depth + 1)}]"
        if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
            return f"dict[str, {self.of(schema['additionalProperties'], depth + 1)}]"
        if kind is None and "properties" in schema:
            return _TYPES["object"]
        return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"

    @staticmethod
    def _union(types: Iterable[str]) -> str:
        parts = list(dict.fromkeys(types))
        if "Any" in parts or not parts:
            return "Any"
        return " | ".join(sorted(parts, key=lambda part: part == "None"))


def _field_notes(key: str, schema: Schema, types: _Types) -> list[str]:
    """One line about a parameter: its description, and the fields of an object."""
    text = _plain(schema.get("description"))
    items = types.resolved(schema.get("items")) if schema.get("type") == "array" else schema
    fields = _fields(items, types, 1)
    if fields:
        text = f"{text} {fields}".strip()[:MAX_TEXT]
    return [f"{key}: {text}"] if text else []


def _fields(schema: Schema, types: _Types, depth: int) -> str:
    properties = _mapping(schema.get("properties"))
    if not properties or depth >= MAX_DEPTH:
        return ""
    required = _names(schema.get("required"))
    shown = []
    for key in list(properties)[:MAX_FIELDS]:
        value = types.resolved(properties[key])
        nested = _fields(value, types, depth + 1)
        shown.append(f"{_quoted(key)}{'' if key in required else '?'}: {nested or types.of(value)}")
    more = ", ..." if len(properties) > MAX_FIELDS else ""
    return "{" + ", ".join(shown) + more + "}"


def _literal(values: list[Any]) -> str:
    """Empty if that would not be a Literal."""
    if not values or len(values) > MAX_ENUM or not all(isinstance(value, str | int | bool | None) for value in values):
        return ""
    if any(isinstance(value, str) and len(value) > MAX_TEXT for value in values):
        return ""
    parts = list(dict.fromkeys(_constant(value) for value in values))
    return "None" if parts == ["None"] else f"Literal[{', '.join(parts)}]"


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return "..."
    text = _constant(schema["default"])
    return text if len(text) <= MAX_TEXT else "..."


def _constant(value: Any) -> str:
    """A JSON value as Python writes it, on one line."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else "..."
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_constant, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(str(key))}: {_constant(each)}" for key, each in value.items()) + "}"
    return "..."


def _quoted(text: str) -> str:
    """A string literal in ASCII: JSON's are Python's too, but for halves of surrogate pairs, which both can escape."""
    return json.dumps(text[: MAX_TEXT + 1])


def _type_of(value: Any) -> str:
    kinds: tuple[tuple[type, str], ...] = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"))
    if value is None:
        return "None"
    return next((name for kind, name in kinds if isinstance(value, kind)), "Any")


def _plain(text: Any) -> str:
    """One line without anything that could end a string or hide something."""
    if not isinstance(text, str):
        return ""
    words = " ".join(text[:MAX_TEXT].split())
    return "".join(character for character in words if character.isprintable()).replace("\\", "/").replace('"', "'")


def _docstring(lines: list[str]) -> str:
    # No backslash may stand before the quotes, nor begin an escape that means something else.
    text = "\n    ".join(line.replace("\\", "/").replace('"""', "'''") for line in lines if line)
    ending = " " if text.endswith('"') else ""
    return f'"""{text}{ending}"""'


def _is_identifier(name: str) -> bool:
    if len(name) > MAX_NAME or keyword.iskeyword(name) or name == "__debug__":  # which Python assigns nothing to
        return False
    return re.fullmatch(r"[A-Za-z_][0-9A-Za-z_]*", name) is not None


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else {}


def _names(value: Any) -> frozenset[str]:
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()
