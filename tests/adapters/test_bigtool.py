"""langgraph-bigtool with a registry of the sample's tools."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool import create_agent

from adapters.chat_model import ScriptedChatModel
from adapters.contract import (
    QUERY,
    WANTED,
    WEATHER,
    Call,
    Contract,
    Conversation,
    Say,
    Search,
    Workshop,
    assert_weather,
    example,
)
from adapters.langchain_tools import tools_of
from toolsearch import AsyncClient, Client
from toolsearch.adapters.bigtool import retrievers

QUESTION: Any = {"messages": [HumanMessage("It is broken, tell them.")]}


def agent_of(
    client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, *, which: int, **options: Any
) -> Any:
    registry: Any = {f"id-{number}": tool for number, tool in enumerate(tools_of(workshop))}
    function, coroutine = retrievers(client, registry, **options)
    model = ScriptedChatModel(conversation=conversation, search_tool="aretrieve_tools" if which == 1 else "retrieve_tools")
    if which == 0:
        return create_agent(model, registry, retrieve_tools_function=function).compile(store=InMemoryStore())
    return create_agent(model, registry, retrieve_tools_coroutine=coroutine).compile(store=InMemoryStore())


class TestBigtool(Contract):
    framework = "langgraph-bigtool"
    tells_of_absence = False

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        await agent_of(client, workshop, conversation, which=1, **options).ainvoke(QUESTION)

    def test_without_await_it_is_the_same(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Search(QUERY), Call(WANTED, {"repo": "a/b", "title": "x"}), Say()))
        agent_of(client, workshop, conversation, which=0, server="agent").invoke(QUESTION)
        assert [name for name, _ in workshop.calls] == [WANTED]

    def test_plain_functions_are_tools_too(self, client: Client) -> None:
        def open_issue(repo: str) -> str:
            """Open a bug report."""
            return repo

        function, _ = retrievers(client, {"some-id": open_issue}, server="agent")
        assert function("bug report") == ["some-id"]

    def test_two_tools_of_one_name_are_refused(self, client: Client) -> None:
        (tool,) = tools_of(
            Workshop([{"name": "same", "description": "same", "inputSchema": {"type": "object", "properties": {}}}])
        )
        function, _ = retrievers(client, {"a": tool, "b": tool}, server="agent")
        with pytest.raises(ValueError, match='two tools of the registry are called "same": "a" and "b"'):
            function("same")


def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    model = ScriptedChatModel(conversation=conversation, search_tool="retrieve_tools")
    assert_weather(conversation, example("bigtool_agent").main(model, address))
