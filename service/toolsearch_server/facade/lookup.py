"""What the facade tells of a catalog: compact answers for models, with other people's text cut to size."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from toolsearch import AsyncClient, Detail, Entry, Filter, Kind
from toolsearch_server.facade.settings import Destructive
from toolsearch_server.limits import Limits

Answer = dict[str, Any]

FIND_LIMIT = 5
MOST_FOUND = 25
SCHEMAS_SHOWN = 3
"""Of the best matches, so that they can be called at once."""
SUMMARY_LENGTH = 200
PAGE_SIZE = 50
SERVICE_PAGE_SIZE = 1_000
NAMESPACES_SHOWN = 100


class Lookup:
    """`revision`: of the catalog, to be seen by every answer; waits for servers that have just been started."""

    def __init__(
        self,
        client: AsyncClient,
        limits: Limits,
        *,
        calls: bool,
        destructive: Destructive,
        revision: Callable[[], Awaitable[tuple[int | None, Sequence[str]]]],
    ) -> None:
        self._client = client
        self._limits = limits
        self._calls = calls
        self._destructive = destructive
        self._revision = revision
        self._known_at = 0
        self._known: dict[str, Entry] = {}

    async def find(self, arguments: Mapping[str, Any]) -> Answer:
        revision, starting = await self._revision()
        detail = arguments.get("detail", "best")
        queries = [arguments["query"]] if "query" in arguments else []
        result = await self._client.search(
            [*queries, *arguments.get("queries", ())],
            limit=arguments.get("limit", FIND_LIMIT),
            filter=self._filter(arguments),
            detail=Detail.SUMMARY if detail == "summary" else Detail.FULL,
            min_revision=revision,
        )
        room = _Room(self._limits.facade_answer_bytes)
        schemas = SCHEMAS_SHOWN if detail == "best" else len(result.matches)
        matches = []
        for place, match in enumerate(result.matches):
            shown = self._brief(match) | {"relevance": round(match.relevance, 2)}
            schema = _schema(match)
            if schema is not None and place < schemas and room.has(schema):
                shown["input_schema"] = schema
            matches.append(shown)
        answer: Answer = {"matches": matches, "total": result.total, "message": result.message}
        if result.near_names:
            answer["near_names"] = list(result.near_names)
        return answer | _starting(starting)

    async def page(self, arguments: Mapping[str, Any]) -> Answer:
        """A page begins after the name that its token is, so that changes between pages repeat and lose nothing else."""
        revision, starting = await self._revision()
        token, namespace = arguments.get("page_token", ""), arguments.get("namespace", "")
        answer: Answer = {"namespaces": await self._namespaces(namespace, revision)} if not token else {}
        page: list[Entry] = []
        entries = self._client.list_tools(
            self._filter({"namespaces": [namespace] if namespace else []}), page_size=SERVICE_PAGE_SIZE, min_revision=revision
        )
        async for entry in entries:
            if entry.name <= token:
                continue
            if len(page) == PAGE_SIZE:
                answer["next_page_token"] = page[-1].name
                break
            page.append(entry)
        return {"tools": [self._brief(entry) for entry in page]} | answer | _starting(starting)

    async def describe(self, names: Sequence[str]) -> Answer:
        revision, starting = await self._revision()
        result = await self._client.get_tools(names, min_revision=revision)
        room = _Room(self._limits.facade_answer_bytes)
        tools: list[Answer] = []
        omitted: list[str] = []
        for entry in result.entries:
            shown = self._described(entry)
            if not tools or room.has(shown):
                tools.append(shown)
            else:
                omitted.append(entry.alias)
        answer: Answer = {"tools": tools}
        if omitted:
            answer |= {"omitted": omitted, "message": "too long for one answer: ask for the omitted ones again"}
        if result.missing:
            answer["missing"] = [{"name": each.name, "near_names": list(each.near_names)} for each in result.missing]
        return answer | _starting(starting)

    async def resolve(self, name: str) -> Entry | tuple[str, ...]:
        """The entry of this name or alias, or names that are near."""
        revision, _ = await self._revision()
        if revision is None:
            return await self._resolved(name, None)
        # Nobody else writes to this catalog: at one revision a name means one thing.
        if revision != self._known_at:
            self._known_at, self._known = revision, {}
        if name not in self._known:
            found = await self._resolved(name, revision)
            if not isinstance(found, Entry):
                return found
            self._known[name] = found
        return self._known[name]

    async def _resolved(self, name: str, revision: int | None) -> Entry | tuple[str, ...]:
        result = await self._client.get_tools([name], detail=Detail.SUMMARY, min_revision=revision)
        return result.entries[0] if result.entries else result.missing[0].near_names

    async def _namespaces(self, parent: str, revision: int | None) -> list[Answer]:
        """Those directly below."""
        depth = parent.count(".") + 1 if parent else 0
        shown: list[Answer] = []
        async for space in self._client.list_namespaces(parent, min_revision=revision):
            if space.name.count(".") != depth or not space.name:
                continue
            if len(shown) == NAMESPACES_SHOWN:
                break
            shown.append({"name": space.name, "tools": space.total_entry_count})
        return shown

    def _filter(self, arguments: Mapping[str, Any]) -> Filter:
        return Filter(
            namespaces=arguments.get("namespaces", ()),
            kinds=arguments.get("kinds", ()),
            read_only=True if arguments.get("read_only") else None,
            destructive=False if self._destructive == "exclude" else None,
        )

    def _brief(self, entry: Entry) -> Answer:
        brief: Answer = {"name": entry.alias, "server": entry.server, "summary": cut(entry.summary, SUMMARY_LENGTH)}
        if entry.kind is not Kind.TOOL:
            brief["kind"] = entry.kind.value
        elif self._calls:
            brief["call_with"] = self._caller(entry)
        return brief

    def _described(self, entry: Entry) -> Answer:
        definition = dict(entry.definition or {})
        text = cut(entry.description, self._limits.facade_text_length)
        shown: Answer = {"name": entry.alias, "server": entry.server, "description": text}
        shown |= {key: definition[key] for key in ("title", "annotations") if key in definition}
        schema = _schema(entry)
        if schema is not None:
            shown["input_schema"] = schema
        if "outputSchema" in definition:
            shown["output_schema"] = definition["outputSchema"]
        if entry.kind is not Kind.TOOL:
            shown["kind"] = entry.kind.value
        elif self._calls:
            shown["call_with"] = self._caller(entry)
        return shown

    def _caller(self, entry: Entry) -> str:
        if not entry.annotations.destructive or self._destructive == "together":
            return "call_tool"
        return "call_tool_destructive" if self._destructive == "separate" else "not callable: it may destroy"


class _Room:
    """Bytes that are left of an answer."""

    def __init__(self, most: int) -> None:
        self._left = most

    def has(self, value: object) -> bool:
        self._left -= len(json.dumps(value, ensure_ascii=False).encode())
        return self._left >= 0


def _schema(entry: Entry) -> Any:
    definition = entry.definition or {}
    return definition.get("inputSchema") or definition.get("input_schema") or definition.get("parameters")


def _starting(servers: Sequence[str]) -> Answer:
    return {"still_starting": list(servers)} if servers else {}


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
