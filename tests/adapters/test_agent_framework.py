"""Microsoft's agent-framework with a scripted chat client."""

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, FunctionTool, Message

from adapters.contract import WEATHER, Call, Contract, Conversation, Say, Search, Workshop, assert_weather, example
from toolsearch import AsyncClient, Client
from toolsearch.adapters.agent_framework import tool_search

_ids = itertools.count()


class ScriptedChatClient(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self._conversation = conversation

    async def _inner_get_response(  # type: ignore[override]
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **more: Any
    ) -> ChatResponse:
        tools = {tool.name: tool.to_json_schema_spec() for tool in options.get("tools") or ()}
        last = messages[-1].contents[-1]
        told = str(last.result if last.type == "function_result" else last.text)
        match self._conversation.step(tools, told):
            case Search(query):
                content = self._calling("search_tools", {"query": query})
            case Call(name, arguments):
                content = self._calling(name, dict(arguments))
            case Say(text):
                content = Content.from_text(text)
        return ChatResponse(messages=[Message(role="assistant", contents=[content])])

    @staticmethod
    def _calling(name: str, arguments: dict[str, Any]) -> Content:
        return Content.from_function_call(call_id=f"call-{next(_ids)}", name=name, arguments=arguments)


def tools_of(workshop: Workshop) -> list[FunctionTool]:
    def tool(definition: Any) -> FunctionTool:
        def call(**arguments: Any) -> str:
            return workshop.call(definition["name"], arguments)

        return FunctionTool(
            name=definition["name"], description=definition["description"], func=call, input_model=definition["inputSchema"]
        )

    return [tool(definition) for definition in workshop.definitions]


class TestAgentFramework(Contract):
    framework = "agent-framework"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        agent: Any = Agent(client=ScriptedChatClient(conversation), tools=[tool_search(client, tools_of(workshop), **options)])
        await agent.run("It is broken, tell them.")

    async def test_functions_are_tools_too(self, client: Client) -> None:
        def open_issue(title: str) -> str:
            """Open a bug report."""
            return title

        conversation = Conversation((Search("bug report"), Say()))
        agent: Any = Agent(client=ScriptedChatClient(conversation), tools=[tool_search(client, [open_issue], server="agent")])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await agent.run("It is broken, tell them.")
        assert conversation.tools[1] == ["search_tools", "open_issue"]


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    assert_weather(conversation, await example("agent_framework_agent").main(ScriptedChatClient(conversation), address))
