"""What every adapter has to do, told once: a framework under test has a conversation with a scripted model, and the tests look
at what the model got to see on each turn.

A module of tests subclasses Contract and says in `converse` how its framework is driven.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support import running_server
from toolsearch import AsyncClient, Client, TimedOut, Unavailable
from toolsearch.adapters._core import AWAY_MESSAGE

SAMPLE = Path(__file__).parents[2] / "service" / "toolsearch_server" / "sample"
QUERY = "open a bug report in a repository"
WANTED = "github_open_issue"
ARGUMENTS = {"repo": "acme/shop", "title": "It is broken"}


def sample_tools() -> list[dict[str, Any]]:
    """About a hundred tools of a dozen servers, each under the name that a gateway would give it."""
    return [
        {**definition, "name": f"{path.stem}_{definition['name']}".replace(".", "_")}
        for path in sorted(SAMPLE.glob("*.jsonl"))
        for definition in map(json.loads, path.read_text().splitlines())
    ]


def sync_sample(client: Client) -> None:
    """As a watcher of MCP servers would fill the catalog: local names, and a server each."""
    for path in sorted(SAMPLE.glob("*.jsonl")):
        client.sync_server(path.stem, map(json.loads, path.read_text().splitlines()))


TOOLS = sample_tools()


@dataclass(frozen=True)
class Search:
    """The model searches."""

    query: str


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Say:
    """The model ends its turn."""

    text: str = "Done."


Step = Search | Call | Say
FIND_AND_CALL: Sequence[Step] = (Search(QUERY), Call(WANTED, ARGUMENTS), Say())


@dataclass
class Conversation:
    """What a scripted model saw and did. Frameworks' fake models take their steps from here."""

    script: Sequence[Step]
    before: Callable[[int], None] = lambda turn: None
    """Called with the number of the turn before the model answers."""
    tools: list[list[str]] = field(default_factory=list)
    """Names that the model could call, for each turn."""
    sizes: list[int] = field(default_factory=list)
    """Characters of JSON of their definitions, for each turn."""
    told: list[str] = field(default_factory=list)
    """What the model had been told last, for each turn."""

    def step(self, tools: Mapping[str, Any], told: str) -> Step:
        turn = len(self.tools)
        self.before(turn)
        self.tools.append(list(tools))
        self.sizes.append(len(json.dumps(list(tools.values()))))
        self.told.append(told)
        return self.script[turn]


@dataclass
class Workshop:
    """The tools of an agent: what was called, with what."""

    definitions: Sequence[Mapping[str, Any]] = field(default_factory=lambda: TOOLS)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self.calls.append((name, dict(arguments)))
        return f"{name} was called"


LOADS: list[tuple[str, list[list[str]], list[int]]] = []
"""What was loaded on each turn, by framework; the end of a run prints it."""


class Contract:
    framework: ClassVar[str]
    extra_tools: ClassVar[int] = 1
    """Besides what was found: the search tool."""
    tells_of_absence: ClassVar[bool] = True
    """Whether the framework lets an adapter tell the model that the service is away."""
    raises: ClassVar[bool] = True
    """Whether a tool's error ends the run; otherwise the framework tells the model of it."""

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        raise NotImplementedError

    async def test_the_model_sees_a_search_tool_then_what_it_found_and_calls_it(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation(FIND_AND_CALL)
        await self.converse(client, workshop, conversation, server="agent")
        LOADS.append((self.framework, conversation.tools, conversation.sizes))
        first, second, third = conversation.tools
        assert len(first) == self.extra_tools
        assert WANTED in second and len(second) == self.extra_tools + 5
        assert third == second
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert f"{WANTED} was called" in conversation.told[2]

    async def test_an_asynchronous_client_does_the_same(self, address: str, tenant: str) -> None:
        workshop, conversation = Workshop(), Conversation(FIND_AND_CALL)
        async with AsyncClient(address, tenant=tenant) as client:
            await self.converse(client, workshop, conversation, server="agent")
        assert WANTED in conversation.tools[1]
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    async def test_no_more_than_max_results_are_loaded(self, client: Client) -> None:
        conversation = Conversation(FIND_AND_CALL)
        await self.converse(client, Workshop(), conversation, server="agent", max_results=2)
        assert len(conversation.tools[1]) == self.extra_tools + 2

    async def test_tools_that_another_filled_the_catalog_with_are_found_by_alias(self, client: Client) -> None:
        sync_sample(client)
        workshop, conversation = Workshop(), Conversation(FIND_AND_CALL)
        await self.converse(client, workshop, conversation)
        assert WANTED in conversation.tools[1]
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert {server.server for server in client.get_catalog().servers} == {path.stem for path in SAMPLE.glob("*.jsonl")}

    async def test_a_tool_that_the_agent_does_not_have_is_never_loaded(self, client: Client) -> None:
        sync_sample(client)
        few = [tool for tool in TOOLS if tool["name"].startswith("github_") and tool["name"] != WANTED]
        conversation = Conversation((Search(QUERY), Say()))
        await self.converse(client, Workshop(few), conversation)
        found = set(conversation.tools[1]) - set(conversation.tools[0])
        assert found and found <= {tool["name"] for tool in few}
        assert WANTED not in conversation.told[1]

    async def test_a_service_that_dies_mid_run_takes_nothing_away(self) -> None:
        with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:

            def kill(turn: int) -> None:
                if turn == 1:
                    server.kill()

            script = (Search(QUERY), Call(WANTED, ARGUMENTS), Search(QUERY), Search("send a message to a channel"), Say())
            workshop, conversation = Workshop(), Conversation(script, kill)
            await self.converse(client, workshop, conversation, server="agent", timeout=0.5)
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert all(WANTED in tools for tools in conversation.tools[1:])
        assert conversation.told[3] == conversation.told[1] or WANTED in conversation.told[3], "the same question again"
        if self.tells_of_absence:
            assert AWAY_MESSAGE in conversation.told[4]

    async def test_everything_is_loaded_while_the_service_is_away_if_told_so(self, caplog: pytest.LogCaptureFixture) -> None:
        with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
            server.kill()
            workshop, conversation = Workshop(), Conversation((Search(QUERY), Search(QUERY), Call(WANTED, ARGUMENTS), Say()))
            with caplog.at_level(logging.WARNING, "toolsearch.adapters"):
                await self.converse(client, workshop, conversation, server="agent", timeout=0.5, fallback="all")
        assert len(conversation.tools[1]) == self.extra_tools + len(TOOLS)
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert [record.getMessage()[:40] for record in caplog.records if record.name == "toolsearch.adapters"] == [
            "tool search is away, loading all tools u"
        ]

    async def test_the_error_reaches_the_caller_if_told_so(self) -> None:
        with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
            server.kill()
            conversation = Conversation((Search(QUERY), Say()))
            if not self.raises:
                await self.converse(client, Workshop(), conversation, server="agent", timeout=0.5, fallback="error")
                assert "toolsearch" in conversation.told[1]
                return
            with pytest.raises(Exception) as raised:
                await self.converse(client, Workshop(), conversation, server="agent", timeout=0.5, fallback="error")
        assert any(isinstance(error, Unavailable | TimedOut) for error in causes(raised.value))


WEATHER: Sequence[Step] = (Search("weather of a city"), Call("get_weather", {"city": "Paris"}), Say())
"""What a model does in the examples."""


def example(name: str) -> Any:
    """A module of clients/python/examples/adapters."""
    path = Path(__file__).parents[2] / "clients" / "python" / "examples" / "adapters" / f"{name}.py"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # some frameworks look up the types that a function's hints name
    spec.loader.exec_module(module)
    return module


def assert_weather(conversation: Conversation, answer: str) -> None:
    assert "get_weather" not in conversation.tools[0] and "get_weather" in conversation.tools[1]
    assert "It is sunny in Paris." in conversation.told[2]
    assert answer == "Done."


def causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from causes(each)
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            yield from causes(cause)
