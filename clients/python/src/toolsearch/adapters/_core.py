"""What all adapters share, without any framework: the caller's tools, one search, and what to do while the service is away.

A search is written once, as steps to be run with a client. Both clients can run them: `Searcher.find` and `Searcher.afind`.
"""

import asyncio
import hashlib
import json
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypedDict, TypeVar

from toolsearch import types as t
from toolsearch._calls import to_json
from toolsearch.aio import AsyncClient
from toolsearch.client import Client
from toolsearch.definitions import AsyncDefinitions, Definitions
from toolsearch.errors import InvalidRequest, LimitReached, NotFound, ServiceFailed, TimedOut, ToolSearchError, Unavailable

log = logging.getLogger("toolsearch.adapters")

MAX_RESULTS = 5
"""Tools that one search gives, by default."""

SEARCH_SECONDS = 2.0
"""What a search may take, with retries: an agent waits for it. Registering tools has the client's own timeout."""

SEARCH_LIMIT = 100
"""The most that the service returns. Asked for where others' tools may come before the caller's."""

QUERIES_PER_SEARCH = 16
"""What the service takes; further phrasings are left out."""

QUERY_CHARACTERS = 2_000
"""Of one phrasing; a model that sends more is not looking for a tool with the rest."""

MAX_REGISTERED = 10_000
"""Tools kept registered by one searcher. When more have come and gone, those of the moment are."""

REMEMBERED_ANSWERS = 200
"""Served again, word for word the same question, while the service is away."""

MAX_TURNS = 20
"""Of a model in a loop of ours."""

AWAY = (Unavailable, TimedOut, LimitReached, ServiceFailed)

Fallback = Literal["message", "all", "error"]
"""While the service is away: tell the model so, load all tools, or raise the error."""

AWAY_MESSAGE = "The tool search cannot be reached at the moment. Go on with the tools you have, or try again later."

Value = TypeVar("Value")
Result = TypeVar("Result")
Step = Callable[[Any], Any]
AnyClient = Client | AsyncClient


@dataclass(frozen=True, slots=True)
class Tool(Generic[Value]):
    """A tool that the caller has: what the framework calls it, what it is as MCP tool JSON, and the framework's own object."""

    name: str
    definition: Mapping[str, Any]
    value: Value


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """What a search gives: tools of the caller, best first, and a line for the model."""

    message: str
    tools: tuple[Tool[Value], ...]
    away: bool = False
    """The service did not answer."""

    @property
    def values(self) -> list[Value]:
        return [tool.value for tool in self.tools]

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.tools]

    def as_dict(self) -> dict[str, Any]:
        """`{message, tools}`, for a model to read."""
        return {"message": self.message, "tools": [summary(tool) for tool in self.tools]}


Renderer = Callable[[Answer[Any]], str]
"""From an answer to the text that the model gets to read."""


def rendered(answer: Answer[Any]) -> str:
    """`{message, tools}` as JSON: names and descriptions. The definitions reach the model as tools, not as text."""
    return json.dumps(answer.as_dict(), ensure_ascii=False)


def names_in(text: object) -> list[str]:
    """What `rendered` wrote down, from a conversation that may have been anywhere since."""
    try:
        told = json.loads(text) if isinstance(text, str) else {}
        return [tool["name"] for tool in told["tools"] if isinstance(tool["name"], str)]
    except (ValueError, KeyError, TypeError):
        return []


def no_such_tool(name: str) -> str:
    return f'There is no tool "{name[:80]}", or it was not found yet: search for it.'


SEARCH_TOOL = "search_tools"
SEARCH_DESCRIPTION = (
    "Find tools for a task. Only a few tools are loaded; many more can be found by saying what is to be done. "
    "What is found can be called from the next turn on."
)
QUERY_DESCRIPTION = "What the tool should do, in a few words"


def summary(tool: Tool[Any]) -> dict[str, Any]:
    return {"name": tool.name, "description": str(tool.definition.get("description") or "")}


def definition(name: str, description: str | None, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """MCP tool JSON."""
    return {"name": name, "description": description or "", "inputSchema": dict(schema or {"type": "object"})}


class SearchOptions(TypedDict, total=False):
    """What every adapter takes by keyword; see Options."""

    server: str | None
    max_results: int
    fallback: Fallback
    strategy: t.Strategy | str
    filter: t.Filter | None
    min_relevance: float
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an adapter searches.

    `server`: register the caller's tools in the catalog, as what this server offers, whenever they have changed. It needs a
    name of its own: whoever registers under the same name replaces what is there. None: somebody else fills the catalog, and
    the caller's tools are recognised by canonical name, alias, or the server's own name for them.

    `fallback`: what happens while the service is away. `timeout`: seconds that a search may take. `strategy`, `filter` and
    `min_relevance` are those of `Client.search`.
    """

    server: str | None = None
    max_results: int = MAX_RESULTS
    fallback: Fallback = "message"
    strategy: t.Strategy | str = t.Strategy.AUTO
    filter: t.Filter | None = None
    min_relevance: float = 0.0
    timeout: float = SEARCH_SECONDS

    def __post_init__(self) -> None:
        if self.server == "":
            raise ValueError("server is empty: registered tools need a server's name")
        if self.server is not None and self.filter is not None and self.filter.servers:
            raise ValueError("filter.servers is set, but with server only that server's tools are searched")
        if self.max_results < 1:
            raise ValueError(f"max_results is {self.max_results}, but must be at least 1")
        if self.fallback not in ("message", "all", "error"):
            raise ValueError(f'fallback is "{self.fallback}", but must be "message", "all" or "error"')


@dataclass(frozen=True, slots=True)
class _Registered:
    """What was written, and where the catalog was then."""

    tools: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    epoch: str = ""


class _Memory(Generic[Value]):
    """What was answered last, for as long as the service is away."""

    def __init__(self, fallback: Fallback) -> None:
        self._fallback = fallback
        self._answers: OrderedDict[tuple[str, ...], Answer[Value]] = OrderedDict()
        self._warned = False

    def keep(self, queries: tuple[str, ...], answer: Answer[Value]) -> None:
        self._warned = False
        if not answer.tools:
            return
        self._answers.pop(queries, None)
        self._answers[queries] = answer
        while len(self._answers) > REMEMBERED_ANSWERS:
            self._answers.popitem(last=False)

    @property
    def tools(self) -> dict[str, Tool[Value]]:
        return {tool.name: tool for answer in list(self._answers.values()) for tool in answer.tools}

    def make_do(self, queries: tuple[str, ...], own: Mapping[str, Tool[Value]], error: ToolSearchError) -> Answer[Value]:
        """The last answer to the same question as far as the caller still has those tools, or what `fallback` says."""
        remembered = self._answers.get(queries)
        if remembered is not None:
            tools = tuple(own[tool.name] for tool in remembered.tools if tool.name in own)
            if tools:
                return Answer(remembered.message, tools, away=True)
        if self._fallback == "error":
            raise error
        if not self._warned:
            self._warned = True
            doing = "loading all tools" if self._fallback == "all" else "telling the model"
            log.warning("tool search is away, %s until it is back: %s", doing, error)
        if self._fallback == "all":
            return Answer("The tool search cannot be reached: all tools are loaded.", tuple(own.values()), away=True)
        return Answer(AWAY_MESSAGE, (), away=True)


class Searcher(Generic[Value]):
    """Finds tools that the caller has. May be shared by threads and tasks: two that register at once write the same."""

    def __init__(self, client: AnyClient, options: Options) -> None:
        self._client = client
        self._options = options
        self._registered = _Registered()
        self._memory = _Memory[Value](options.fallback)

    def find(self, query: str | Sequence[str], tools: Iterable[Tool[Value]], max_results: int | None = None) -> Answer[Value]:
        """Needs a Client."""
        return run(self._client, self._steps(query, tools, max_results))

    async def afind(
        self, query: str | Sequence[str], tools: Iterable[Tool[Value]], max_results: int | None = None
    ) -> Answer[Value]:
        """Takes either client."""
        return await arun(self._client, self._steps(query, tools, max_results))

    def _steps(
        self, query: str | Sequence[str], tools: Iterable[Tool[Value]], max_results: int | None
    ) -> Generator[Step, Any, Answer[Value]]:
        most = _most(max_results, self._options)
        own = {tool.name: tool for tool in tools}
        queries = _queries(query)
        if not queries:
            return Answer(NO_QUERY, ())
        if not own:
            return Answer("There are no tools to search.", ())
        try:
            found = yield from self._search(queries, own)
        except ToolSearchError as error:
            refused = _refused(error)
            return refused if refused is not None else self._memory.make_do(queries, own, error)
        names = _own_names(found.matches, own, self._options.server)[:most]
        answer = Answer(_found(len(names), queries), tuple(own[name] for name in names))
        self._memory.keep(queries, answer)
        return answer

    def _search(self, queries: tuple[str, ...], own: Mapping[str, Tool[Value]]) -> Generator[Step, Any, t.SearchResult]:
        yield from self._registering(own)
        try:
            found = yield from self._searching(queries)
        except NotFound:
            if self._options.server is None:
                raise
            found = None
        if found is not None and (self._options.server is None or found.version.epoch == self._registered.epoch):
            return found
        # The catalog was lost or deleted since we wrote to it.
        self._registered = _Registered()
        yield from self._registering(own)
        return (yield from self._searching(queries))

    def _searching(self, queries: tuple[str, ...]) -> Generator[Step, Any, t.SearchResult]:
        return _searching(queries, self._options, t.Detail.NAME)

    def _registering(self, own: Mapping[str, Tool[Value]]) -> Generator[Step, Any, None]:
        """Writes the caller's tools if one of them is new or changed. Tools that are not there this time, because another user
        may not see them, stay: otherwise two callers with different tools would replace each other's for ever."""
        server = self._options.server
        if server is None:
            return
        known = self._registered
        now = {name: (_digest(tool.definition), tool.definition) for name, tool in own.items()}
        if known.epoch and all(name in known.tools and known.tools[name][0] == digest for name, (digest, _) in now.items()):
            return
        tools = {**known.tools, **now}
        if len(tools) > MAX_REGISTERED:
            tools = now
        written: t.WriteResult = yield lambda client: client.sync_server(
            server, [{**definition, "name": name} for name, (_, definition) in tools.items()]
        )
        self._registered = _Registered(tools, written.version.epoch)


class CatalogSearcher:
    """Finds tools that are defined in the catalog alone, under their aliases, with definitions that are read once.

    `owned` says which of them the caller can call: no other one is ever returned.
    """

    def __init__(self, client: AnyClient, options: Options, owned: Callable[[t.Entry], bool]) -> None:
        if options.server is not None:
            raise ValueError("server is for registering tools: with tools of the catalog, use filter=Filter(servers=[...])")
        self._client = client
        self._options = options
        self._owned = owned
        self._definitions: Any = AsyncDefinitions(client) if isinstance(client, AsyncClient) else Definitions(client)
        self._memory = _Memory[t.Entry](options.fallback)

    def find(self, query: str | Sequence[str], max_results: int | None = None) -> Answer[t.Entry]:
        return run(self._client, self._steps(query, max_results))

    async def afind(self, query: str | Sequence[str], max_results: int | None = None) -> Answer[t.Entry]:
        return await arun(self._client, self._steps(query, max_results))

    def _steps(self, query: str | Sequence[str], max_results: int | None) -> Generator[Step, Any, Answer[t.Entry]]:
        most = _most(max_results, self._options)
        queries = _queries(query)
        if not queries:
            return Answer(NO_QUERY, ())
        try:
            found = yield from _searching(queries, self._options, t.Detail.SUMMARY)
            wanted = [match for match in found.matches if self._owned(match)][:most]
            entries: Sequence[t.Entry] = yield lambda _: self._definitions.of(wanted, timeout=self._options.timeout)
        except ToolSearchError as error:
            known = {name: tool for name, tool in self._memory.tools.items() if self._owned(tool.value)}
            refused = _refused(error)
            return refused if refused is not None else self._memory.make_do(queries, known, error)
        tools = tuple(Tool(entry.alias, {**(entry.definition or {}), "name": entry.alias}, entry) for entry in entries)
        answer = Answer(_found(len(tools), queries), tools)
        self._memory.keep(queries, answer)
        return answer


class Offer:
    """What a caller of a provider's API offers the model: tools of its own, or those of the catalog that it owns."""

    def __init__(
        self,
        client: AnyClient,
        tools: Sequence[Tool[Any]] | None,
        owned: Callable[[t.Entry], bool] | None,
        options: SearchOptions,
    ) -> None:
        if (tools is None) == (owned is None):
            raise ValueError("say either tools, which are the caller's, or owned, which are the catalog's")
        self._tools = tools or ()
        self._searcher = Searcher[Any](client, Options(**options)) if owned is None else None
        self._catalog = CatalogSearcher(client, Options(**options), owned) if owned is not None else None

    def find(self, query: str) -> Answer[Any]:
        if self._catalog is not None:
            return self._catalog.find(query)
        assert self._searcher is not None
        return self._searcher.find(query, self._tools)

    async def afind(self, query: str) -> Answer[Any]:
        if self._catalog is not None:
            return await self._catalog.afind(query)
        assert self._searcher is not None
        return await self._searcher.afind(query, self._tools)


class TooManyTurns(RuntimeError):
    """The model did not come to an end."""

    def __init__(self, max_turns: int) -> None:
        super().__init__(f"the model had no answer after max_turns={max_turns} turns")


NO_QUERY = "Say in a few words what the tool should do."


def _most(max_results: int | None, options: Options) -> int:
    if max_results is None:
        return options.max_results
    if max_results < 1:
        raise ValueError(f"max_results is {max_results}, but must be at least 1")
    return max_results


def _refused(error: ToolSearchError) -> Answer[Any] | None:
    """An answer for the model if its query is at fault, None while the service is away; anything else is raised."""
    if isinstance(error, AWAY) and (not isinstance(error, LimitReached) or error.retry_seconds is not None):
        return None
    if isinstance(error, InvalidRequest) and error.field.startswith("queries"):
        return Answer(f"The search was refused: {error}", ())
    raise error


def _found(count: int, queries: Sequence[str]) -> str:
    """Our own words: the service's may tell of entries that the caller does not have."""
    if count == 0:
        return f"No tool was found for {_quoted(queries)}. Try other words."
    return f"{count} {'tool was' if count == 1 else 'tools were'} found for {_quoted(queries)}, the best first."


def _searching(queries: tuple[str, ...], options: Options, detail: t.Detail) -> Generator[Step, Any, t.SearchResult]:
    given = options.filter or t.Filter()
    scope = replace(given, kinds=given.kinds or (t.Kind.TOOL,))
    if options.server is not None:
        scope = replace(scope, servers=(_literal(options.server),))
    found: t.SearchResult = yield lambda client: client.search(
        queries,
        limit=SEARCH_LIMIT,
        detail=detail,
        strategy=options.strategy,
        filter=scope,
        min_relevance=options.min_relevance,
        timeout=options.timeout,
    )
    return found


def run(client: AnyClient, steps: Generator[Step, Any, Result]) -> Result:
    if isinstance(client, AsyncClient):
        raise TypeError("called without await: give the adapter a Client instead of an AsyncClient")
    return _run(client, steps)


async def arun(client: AnyClient, steps: Generator[Step, Any, Result]) -> Result:
    """A Client is called in a thread, so that one serves any number of event loops."""
    if isinstance(client, AsyncClient):
        return await _arun(client, steps)
    return await asyncio.to_thread(_run, client, steps)


def _run(client: Client, steps: Generator[Step, Any, Result]) -> Result:
    try:
        step = next(steps)
        while True:
            try:
                value = step(client)
            except ToolSearchError as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: Result = end.value
        return result


async def _arun(client: AsyncClient, steps: Generator[Step, Any, Result]) -> Result:
    try:
        step = next(steps)
        while True:
            try:
                value = await step(client)
            except ToolSearchError as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: Result = end.value
        return result


def _queries(query: str | Sequence[str]) -> tuple[str, ...]:
    given = [query] if isinstance(query, str) else query
    texts = (text.strip()[:QUERY_CHARACTERS] for text in given if isinstance(text, str))
    return tuple(dict.fromkeys(text for text in texts if text))[:QUERIES_PER_SEARCH]


def _own_names(matches: Sequence[t.Match], own: Mapping[str, Any], server: str | None) -> list[str]:
    """The caller's names of what was found; what the caller does not have is left out."""
    if server is not None:
        names = (match.local_name for match in matches if match.server == server)
        return list(dict.fromkeys(name for name in names if name in own))
    # Two servers may call different tools the same: such a name says nothing.
    servers = Counter(match.local_name for match in matches)
    found: dict[str, None] = {}
    for match in matches:
        for name in (match.alias, match.name, match.local_name if servers[match.local_name] == 1 else ""):
            if name in own:
                found.setdefault(name)
                break
    return list(found)


def _digest(definition: Mapping[str, Any]) -> str:
    return hashlib.blake2b(to_json(definition).encode(), digest_size=16).hexdigest()


def _literal(server: str) -> str:
    """A glob that means this server only."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in server)


def _quoted(queries: Sequence[str]) -> str:
    shown = ", ".join(f'"{query[:80]}"' for query in queries[:3])
    return f"{shown}, ..." if len(queries) > 3 else shown
