"""The OpenAI Agents SDK with a scripted model of its own interface."""

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, FunctionTool, ModelResponse, Runner, SQLiteSession, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

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
from toolsearch import AsyncClient, Client
from toolsearch.adapters.openai_agents import searchable

set_tracing_disabled(True)
_ids = itertools.count()


class ScriptedModel(Model):
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def get_response(self, *arguments: Any, **more: Any) -> ModelResponse:
        _, given, _, tools, *_ = arguments or (None, more["input"], None, more["tools"])
        seen = {tool.name: {"name": tool.name, "description": tool.description, **tool.params_json_schema} for tool in tools}
        last = given if isinstance(given, str) else given[-1]
        told = last if isinstance(last, str) else str(last.get("output") or last.get("content"))
        match self._conversation.step(seen, told):
            case Search(query):
                output: Any = self._calling("search_tools", {"query": query})
            case Call(name, called_with):
                output = self._calling(name, dict(called_with))
            case Say(text):
                content = ResponseOutputText(type="output_text", text=text, annotations=[])
                output = ResponseOutputMessage(
                    id="message", type="message", role="assistant", status="completed", content=[content]
                )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    @staticmethod
    def _calling(name: str, arguments: dict[str, Any]) -> ResponseFunctionToolCall:
        number = next(_ids)
        return ResponseFunctionToolCall(
            type="function_call", id=f"fc-{number}", call_id=f"call-{number}", name=name, arguments=json.dumps(arguments)
        )


def tools_of(workshop: Workshop, is_enabled: Any = True) -> list[Any]:
    def tool(definition: Any) -> FunctionTool:
        async def call(ctx: Any, arguments: str) -> str:
            return workshop.call(definition["name"], json.loads(arguments))

        return FunctionTool(
            name=definition["name"],
            description=definition["description"],
            params_json_schema=definition["inputSchema"],
            on_invoke_tool=call,
            strict_json_schema=False,
            is_enabled=is_enabled,
        )

    return [tool(definition) for definition in workshop.definitions]


def agent_of(
    client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, is_enabled: Any = True, **options: Any
) -> Agent[Any]:
    return Agent(
        name="Assistant", model=ScriptedModel(conversation), tools=searchable(client, tools_of(workshop, is_enabled), **options)
    )


class TestOpenAIAgents(Contract):
    framework = "OpenAI Agents SDK"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        await Runner.run(agent_of(client, workshop, conversation, **options), "It is broken, tell them.")

    async def test_what_was_found_stays_in_a_session(self, client: Client) -> None:
        session = SQLiteSession("one")
        first = Conversation((Search(QUERY), Say()))
        await Runner.run(agent_of(client, Workshop(), first, server="agent"), "What can you do?", session=session)
        workshop, second = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
        await Runner.run(agent_of(client, workshop, second, server="agent"), "Do it.", session=session)
        assert second.tools[0] == first.tools[1]
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    async def test_another_run_of_the_same_agent_begins_with_nothing(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say(), Say()))
        agent = agent_of(client, Workshop(), conversation, server="agent")
        await Runner.run(agent, "What can you do?")
        await Runner.run(agent, "What can you do?")
        assert conversation.tools[2] == ["search_tools"]

    async def test_a_tool_that_is_not_enabled_is_neither_found_nor_loaded(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say()))
        agent = agent_of(client, Workshop(), conversation, lambda ctx, agent: False, server="agent")
        await Runner.run(agent, "What can you do?")
        assert conversation.tools == [["search_tools"], ["search_tools"]]
        assert WANTED not in conversation.told[1]

    async def test_tools_that_are_always_shown_are_left_as_they_are(self, client: Client) -> None:
        tools = tools_of(Workshop())
        wanted = next(tool for tool in tools if tool.name == WANTED)
        assert wanted in searchable(client, tools, always=[WANTED], server="agent")


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    assert_weather(conversation, await example("openai_agents_agent").main(ScriptedModel(conversation), address))
