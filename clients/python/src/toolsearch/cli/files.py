"""Files of tools: an MCP `tools/list` result, a JSON array, or JSON lines."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsearch.types import EntryInput


class FileError(Exception):
    """A file that cannot be read as tools; the message says where."""


@dataclass(frozen=True, slots=True)
class LocatedTool:
    """A tool and where it stands, so that a refusal can be traced back."""

    where: str
    entry: EntryInput


def read_tools(path: str, server: str | None) -> list[LocatedTool]:
    """The tools in a file; "-" is standard input. `server` is for tools that do not say theirs."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not UTF-8 text: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    if not text.strip():
        raise FileError(f"{path}: empty; no tools at all is spelled []")
    return [LocatedTool(where, _entry(where, tool, server)) for where, tool in _tools(path, text)]


def _tools(path: str, text: str) -> Iterator[tuple[str, Any]]:
    try:
        whole = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        yield from _lines(path, text)
        return
    except RecursionError:
        raise FileError(f"{path}: nested too deep to be read") from None
    if isinstance(whole, dict) and isinstance(whole.get("result"), dict):
        whole = whole["result"]  # a whole JSON-RPC answer
    if isinstance(whole, dict) and isinstance(whole.get("tools"), list):
        whole = whole["tools"]
    tools: Iterable[Any] = whole if isinstance(whole, list) else [whole]
    for number, tool in enumerate(tools, start=1):
        yield f"{path}, tool {number}", tool


def _lines(path: str, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):  # JSON may hold other line separators inside strings
        if not line.strip():
            continue
        try:
            yield f"{path}:{number}", json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"{path}:{number}: neither the file nor this line is JSON: {error}; expected an MCP tools/list result, a JSON "
                "array of tools, or one tool a line"
            ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _entry(where: str, tool: Any, server: str | None) -> EntryInput:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise FileError(f"{where}: not a tool: expected a JSON object with a name")
    own_server = tool.pop("server", None)
    if own_server is not None and not isinstance(own_server, str):
        raise FileError(f"{where}: server is not a string")
    if "inputSchema" not in tool and "input_schema" in tool:
        tool = {("inputSchema" if key == "input_schema" else key): value for key, value in tool.items()}
    if tool.get("inputSchema", ...) is None:
        del tool["inputSchema"]
    return EntryInput(definition=tool, server=(own_server or "") if server is None else server)
