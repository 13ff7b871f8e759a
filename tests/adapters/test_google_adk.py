"""Google's ADK with a scripted model of its own interface."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.base_tool import BaseTool
from google.genai import types

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
from toolsearch.adapters.google_adk import ToolSearchToolset


class ScriptedLlm(BaseLlm):
    model: str = "scripted"
    conversation: Conversation

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        declared = [each for tool in llm_request.config.tools or () for each in tool.function_declarations or ()]  # type: ignore[union-attr]
        tools = {each.name or "": each.model_dump(mode="json", exclude_none=True) for each in declared}
        last = llm_request.contents[-1].parts[-1]  # type: ignore[index]
        told = str(last.function_response.response) if last.function_response else last.text or ""
        match self.conversation.step(tools, told):
            case Search(query):
                part = types.Part.from_function_call(name="search_tools", args={"query": query})
            case Call(name, arguments):
                part = types.Part.from_function_call(name=name, args=dict(arguments))
            case Say(text):
                part = types.Part.from_text(text=text)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class SampleTool(BaseTool):
    def __init__(self, definition: Any, workshop: Workshop) -> None:
        super().__init__(name=definition["name"], description=definition["description"])
        self._schema = definition["inputSchema"]
        self._workshop = workshop

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=self._schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return {"result": self._workshop.call(self.name, args)}


class Chat:
    """A session of an agent."""

    def __init__(self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any) -> None:
        tools = [SampleTool(definition, workshop) for definition in workshop.definitions]
        toolset = ToolSearchToolset(client, tools, **options)
        agent = LlmAgent(name="assistant", model=ScriptedLlm(conversation=conversation), tools=[toolset])
        self._runner = InMemoryRunner(agent=agent, app_name="test")
        self._session: Any = None

    async def say(self, text: str) -> None:
        if self._session is None:
            self._session = await self._runner.session_service.create_session(app_name="test", user_id="user")
        message = types.Content(role="user", parts=[types.Part.from_text(text=text)])
        async for _ in self._runner.run_async(user_id="user", session_id=self._session.id, new_message=message):
            pass


class TestGoogleADK(Contract):
    framework = "Google ADK"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        await Chat(client, workshop, conversation, **options).say("It is broken, tell them.")

    async def test_what_was_found_stays_in_the_session(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Search(QUERY), Say(), Call(WANTED, ARGUMENTS), Say()))
        chat = Chat(client, workshop, conversation, server="agent")
        await chat.say("What can you do?")
        await chat.say("Do it.")
        assert conversation.tools[2] == conversation.tools[1]
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    async def test_another_session_begins_with_nothing(self, client: Client) -> None:
        conversation = Conversation((Search(QUERY), Say(), Say()))
        chat = Chat(client, Workshop(), conversation, server="agent")
        await chat.say("What can you do?")
        chat._session = None
        await chat.say("What can you do?")
        assert conversation.tools[2] == ["search_tools"]

    async def test_functions_are_tools_and_some_are_always_offered(self, client: Client) -> None:
        def open_issue(title: str) -> str:
            """Open a bug report."""
            return title

        def greet() -> str:
            """Say hello."""
            return "hello"

        toolset = ToolSearchToolset(client, [open_issue, greet], always=["greet"], server="agent")
        assert [tool.name for tool in await toolset.get_tools()] == ["search_tools", "greet"]
        answer = await toolset._searcher.afind("bug report", [])
        assert answer.tools == ()


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    assert_weather(conversation, await example("google_adk_agent").main(ScriptedLlm(conversation=conversation), address))
