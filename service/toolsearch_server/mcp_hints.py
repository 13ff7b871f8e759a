"""Hints by third parties that already receive MCP notifications: they make a watcher list a server again."""

import json
from typing import NamedTuple

METHODS = frozenset(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
DEFAULT = "default"


class Hint(NamedTuple):
    tenant: str
    catalog: str
    server: str


class HintError(ValueError):
    """A message that is no hint; the message says why."""


def parse_hint(payload: bytes) -> Hint:
    """`{"tenant", "catalog", "server", "method"}`; tenant and catalog are `default` when absent."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise HintError(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise HintError("not a JSON object")
    if message.get("method") not in METHODS:
        raise HintError(f"method is not one of {', '.join(sorted(METHODS))}")
    names = {name: message.get(name, DEFAULT) for name in ("tenant", "catalog")} | {"server": message.get("server")}
    for name, value in names.items():
        if not isinstance(value, str):
            raise HintError(f"{name} is not a string")
    return Hint(**names)
