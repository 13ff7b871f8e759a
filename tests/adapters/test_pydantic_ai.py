"""pydantic-ai with its own FunctionModel."""

import asyncio
import json
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from adapters.contract import (
    ARGUMENTS,
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
from adapters.fake_provider import running_provider
from toolsearch import AsyncClient, Client
from toolsearch.adapters.pydantic_ai import tool_search


def scripted(conversation: Conversation) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = {
            tool.name: {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in info.function_tools
        }
        told = messages[-1].parts[-1].content if isinstance(messages[-1], ModelRequest) else ""  # type: ignore[union-attr]
        match conversation.step(tools, told if isinstance(told, str) else json.dumps(told)):
            case Search(query):
                return ModelResponse([ToolCallPart("search_tools", {"queries": [query]})])
            case Call(name, arguments):
                return ModelResponse([ToolCallPart(name, dict(arguments))])
            case Say(text):
                return ModelResponse([TextPart(text)])

    return FunctionModel(answer)


def agent_of(
    client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, model: Any = None, **options: Any
) -> Agent[None, str]:
    def tool(definition: Any) -> Tool[None]:
        def call(**arguments: Any) -> str:
            return workshop.call(definition["name"], arguments)

        made: Tool[None] = Tool.from_schema(call, definition["name"], definition["description"], definition["inputSchema"])
        made.defer_loading = True
        return made

    return Agent(
        model or scripted(conversation),
        tools=[tool(definition) for definition in workshop.definitions],
        capabilities=[tool_search(client, **options)],
    )


class TestPydanticAI(Contract):
    framework = "pydantic-ai"
    tells_of_absence = False

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        await agent_of(client, workshop, conversation, **options).run("It is broken, tell them.")

    async def test_what_was_found_stays_for_later_turns_and_for_another_agent(self, client: Client) -> None:
        first = Conversation((Search(QUERY), Say()))
        result = await agent_of(client, Workshop(), first, server="agent").run("What can you do?")
        workshop, second = Workshop(), Conversation((Call(WANTED), Say()))
        await agent_of(client, workshop, second, server="agent").run("Do it.", message_history=result.all_messages())
        assert second.tools[0] == first.tools[1]
        assert workshop.calls == [(WANTED, {})]

    async def test_a_history_that_went_through_json_is_as_good(self, client: Client) -> None:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        first = Conversation((Search(QUERY), Say()))
        result = await agent_of(client, Workshop(), first, server="agent").run("What can you do?")
        history = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
        second = Conversation((Say(),))
        await agent_of(client, Workshop(), second, server="agent").run("And now?", message_history=history)
        assert WANTED in second.tools[0]

    def test_a_run_without_await_works_as_well(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say()))
        loop = asyncio.new_event_loop()  # pydantic-ai would make one, and leave it open
        asyncio.set_event_loop(loop)
        try:
            agent_of(client, Workshop(), conversation, server="agent").run_sync("What can you do?")
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        assert WANTED in conversation.tools[1]


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    assert_weather(conversation, await example("pydantic_ai_agent").main(scripted(conversation), address))


def native(workshop: Workshop, client: Client, model: Any) -> Agent[None, str]:
    """An agent whose provider knows deferred tools, and leaves the search to us."""
    return agent_of(client, workshop, Conversation(()), server="agent", model=model)


async def test_openais_own_tool_search_is_answered_by_us(client: Client) -> None:
    workshop, conversation = Workshop(), Conversation((Search(QUERY), Call(WANTED, ARGUMENTS), Say()))
    with running_provider(conversation) as url:
        provider = OpenAIProvider(base_url=f"{url}/v1", api_key="none")
        await native(workshop, client, OpenAIResponsesModel("gpt-5.4", provider=provider)).run("It is broken, tell them.")
    assert conversation.tools[0] == ["tool_search"]
    assert WANTED in conversation.tools[1] and len(conversation.tools[1]) == 6
    assert workshop.calls == [(WANTED, ARGUMENTS)]


async def test_anthropics_tool_references_are_answered_by_us(client: Client) -> None:
    workshop, conversation = Workshop(), Conversation((Search(QUERY), Call(WANTED, ARGUMENTS), Say()))
    with running_provider(conversation) as url:
        provider = AnthropicProvider(base_url=url, api_key="none")
        await native(workshop, client, AnthropicModel("claude-sonnet-4-6", provider=provider)).run("It is broken, tell them.")
    assert conversation.tools[0] == ["search_tools"]
    assert WANTED in conversation.tools[1] and len(conversation.tools[1]) == 6
    assert workshop.calls == [(WANTED, ARGUMENTS)]
