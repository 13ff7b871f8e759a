"""fast-agent with a scripted model; in an environment of its own."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from fast_agent.agents.agent_types import AgentConfig
from fast_agent.agents.tool_agent import ToolAgent
from fast_agent.agents.tool_runner import ToolRunnerHooks
from fast_agent.llm.internal.passthrough import PassthroughLLM
from fast_agent.mcp.prompt import Prompt
from fast_agent.types.llm_stop_reason import LlmStopReason
from fastmcp.tools import FunctionTool
from mcp_types import CallToolRequest, CallToolRequestParams

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
from toolsearch.adapters.fast_agent import attach

_ids = itertools.count()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fast-agent writes down its sessions in the current folder."""
    monkeypatch.chdir(tmp_path)


class ScriptedLLM(PassthroughLLM):
    def __init__(self, conversation: Conversation, **more: Any) -> None:
        super().__init__(**more)
        self._conversation = conversation

    async def _apply_prompt_provider_specific(
        self, multipart_messages: Any, request_params: Any = None, tools: Any = None, is_template: bool = False
    ) -> Any:
        seen = {tool.name: tool.model_dump(mode="json", exclude_none=True) for tool in tools or ()}
        last = multipart_messages[-1]
        results = (last.tool_results or {}).values()
        told = " ".join(block.text for result in results for block in result.content) or last.first_text()
        match self._conversation.step(seen, told):
            case Search(query):
                return self._calling("search_tools", {"query": query})
            case Call(name, arguments):
                return self._calling(name, dict(arguments))
            case Say(text):
                return Prompt.assistant(text, stop_reason=LlmStopReason.END_TURN)

    @staticmethod
    def _calling(name: str, arguments: dict[str, Any]) -> Any:
        call = CallToolRequest(method="tools/call", params=CallToolRequestParams(name=name, arguments=arguments))
        return Prompt.assistant("", tool_calls={f"call-{next(_ids)}": call}, stop_reason=LlmStopReason.TOOL_USE)


def tools_of(workshop: Workshop) -> list[FunctionTool]:
    class SampleTool(FunctionTool):
        async def run(self, arguments: dict[str, Any]) -> Any:
            from fastmcp.tools import ToolResult

            return ToolResult(workshop.call(self.name, arguments))

    def tool(definition: Any) -> FunctionTool:
        return SampleTool(
            name=definition["name"],
            description=definition["description"],
            parameters=definition["inputSchema"],
            fn=lambda: None,
        )

    return [tool(definition) for definition in workshop.definitions]


async def agent_of(client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any) -> ToolAgent:
    agent = ToolAgent(AgentConfig(name="assistant", instruction="Help."))
    attach(agent, client, tools_of(workshop), **options)
    await agent.attach_llm(lambda **more: ScriptedLLM(conversation, **more))
    return agent


class TestFastAgent(Contract):
    framework = "fast-agent"
    raises = False

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        agent = await agent_of(client, workshop, conversation, **options)
        await agent.send("It is broken, tell them.")

    async def test_what_was_found_stays_for_the_next_message(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Search(QUERY), Say(), Call(WANTED, ARGUMENTS), Say()))
        agent = await agent_of(client, workshop, conversation, server="agent")
        await agent.send("What can you do?")
        await agent.send("Do it.")
        assert conversation.tools[2] == conversation.tools[1]
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    async def test_hooks_that_were_there_are_still_called(self, client: Client) -> None:
        seen: list[str] = []

        async def before(runner: Any, messages: Any) -> None:
            seen.append("before")

        agent = ToolAgent(AgentConfig(name="assistant", instruction="Help."))
        agent.tool_runner_hooks = ToolRunnerHooks(before_llm_call=before)
        attach(agent, client, tools_of(Workshop()), server="agent")
        await agent.attach_llm(lambda **more: ScriptedLLM(Conversation((Say(),)), **more))
        await agent.send("Hello")
        assert seen == ["before"]


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)

    def model(**more: Any) -> ScriptedLLM:
        return ScriptedLLM(conversation, **more)

    assert_weather(conversation, await example("fast_agent_agent").main(model, address))
