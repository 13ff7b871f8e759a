"""LangChain's create_agent with the middleware and a scripted chat model."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

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
from toolsearch.adapters.langchain import ToolSearchMiddleware

QUESTION: Any = {"messages": [HumanMessage("It is broken, tell them.")]}


def agent_of(
    client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, checkpointer: Any = None, **options: Any
) -> Any:
    return create_agent(
        ScriptedChatModel(conversation=conversation, search_tool="search_tools"),
        tools_of(workshop),
        middleware=[ToolSearchMiddleware(client, **options)],
        checkpointer=checkpointer,
    )


class TestLangChain(Contract):
    framework = "LangChain"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        await agent_of(client, workshop, conversation, **options).ainvoke(QUESTION)

    def test_without_await_it_is_the_same(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Search(QUERY), Call(WANTED, {"repo": "a/b", "title": "x"}), Say()))
        agent_of(client, workshop, conversation, server="agent").invoke(QUESTION)
        assert [name for name, _ in workshop.calls] == [WANTED]

    async def test_what_was_found_is_in_the_checkpoint(self, client: Client) -> None:
        saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
        first = Conversation((Search(QUERY), Say()))
        await agent_of(client, Workshop(), first, saver, server="agent").ainvoke(QUESTION, thread)
        second = Conversation((Say(),))
        await agent_of(client, Workshop(), second, saver, server="agent").ainvoke(QUESTION, thread)
        assert second.tools[0] == first.tools[1]

    async def test_tools_that_are_always_shown_are_not_searched_for(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say()))
        await agent_of(client, Workshop(), conversation, server="agent", always=[WANTED]).ainvoke(QUESTION)
        assert set(conversation.tools[0]) == {"search_tools", WANTED}
        assert WANTED not in conversation.told[1]

    async def test_the_result_is_rendered_as_the_caller_wants_it(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say()))
        agent = agent_of(client, Workshop(), conversation, server="agent", render=lambda answer: " ".join(answer.names))
        await agent.ainvoke(QUESTION)
        assert set(conversation.told[1].split()) == set(conversation.tools[1]) - {"search_tools"}

    async def test_provider_tools_are_left_alone(self, client: Client) -> None:
        conversation = Conversation((Say(),))
        provided = {"type": "function", "function": {"name": "provided", "parameters": {"type": "object", "properties": {}}}}

        @tool
        def hidden() -> str:
            """Not to be seen."""
            return ""

        agent = create_agent(
            ScriptedChatModel(conversation=conversation, search_tool="search_tools"),
            [provided, hidden],
            middleware=[ToolSearchMiddleware(client, server="agent")],
        )
        await agent.ainvoke(QUESTION)
        assert set(conversation.tools[0]) == {"provided", "search_tools"}


def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    model = ScriptedChatModel(conversation=conversation, search_tool="search_tools")
    assert_weather(conversation, example("langchain_agent").main(model, address))
