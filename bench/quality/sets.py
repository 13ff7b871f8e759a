"""Labelled sets: folders with tools.jsonl and queries.jsonl. Any folder of that shape will do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class LabelledTool:
    id: str
    server: str
    definition: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def description(self) -> str:
        return str(self.definition.get("description") or "")

    @property
    def schema(self) -> dict[str, Any]:
        return dict(self.definition.get("inputSchema") or {})


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    id: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    name: str
    tools: list[LabelledTool]
    queries: list[LabelledQuery]


def read_tools(path: Path) -> list[LabelledTool]:
    """The tools of a file; of several with the same server and name, the first."""
    tools: dict[str, LabelledTool] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        definition = json.loads(line)
        server = definition.pop("server", "") or ""
        schema = definition.pop("input_schema", None)
        if schema is not None:
            definition["inputSchema"] = schema
        tool = LabelledTool(f"{server}::{definition['name']}", server, definition)
        tools.setdefault(tool.id, tool)
    return list(tools.values())


def read_sets(folder: Path, distractors: Path | None = None, only: set[str] | None = None) -> list[LabelledSet]:
    """All labelled sets below `folder`; with the tools of another file mixed in, if given."""
    more = read_tools(distractors) if distractors else []
    sets = []
    for queries_path in sorted(folder.glob("*/queries.jsonl")):
        name = queries_path.parent.name
        if only and name not in only:
            continue
        queries = []
        for line in queries_path.read_text(encoding="utf-8").splitlines():
            query = json.loads(line)
            queries.append(LabelledQuery(str(query["id"]), query["query"], frozenset(query["relevant"])))
        if queries:
            own = read_tools(queries_path.with_name("tools.jsonl"))
            known = {tool.id for tool in own}
            sets.append(LabelledSet(name, own + [tool for tool in more if tool.id not in known], queries))
    return sets
