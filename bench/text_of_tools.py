"""The text by which searchers know a tool that take one text."""

from typing import Any


def text_of(server: str, tool: dict[str, Any]) -> str:
    properties = (tool.get("input_schema") or {}).get("properties") or {}
    parameters = " ".join(
        f"{name} {about.get('description') or ''}" if isinstance(about, dict) else name for name, about in properties.items()
    )
    return f"{tool['name']} {server} {tool.get('description') or ''} {parameters}"
