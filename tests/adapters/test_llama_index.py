"""LlamaIndex's FunctionAgent with its own mock of a model that calls functions."""

import logging
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import FunctionTool, ToolMetadata
from pydantic import create_model

from adapters.contract import (
    ARGUMENTS,
    LOADS,
    QUERY,
    TOOLS,
    WANTED,
    Call,
    Conversation,
    Say,
    Workshop,
    causes,
    example,
    sync_sample,
)
from support import running_server
from toolsearch import AsyncClient, Client, TimedOut, Unavailable
from toolsearch.adapters.llama_index import ToolRetriever


def tools_of(workshop: Workshop) -> list[FunctionTool]:
    def tool(definition: Any) -> FunctionTool:
        def call(**arguments: Any) -> str:
            return workshop.call(definition["name"], arguments)

        fields: Any = dict.fromkeys(definition["inputSchema"].get("required", ()), (Any, ...))
        schema = create_model(definition["name"], **fields)
        metadata = ToolMetadata(definition["description"][:1000], definition["name"], schema)
        return FunctionTool(fn=call, metadata=metadata)

    return [tool(definition) for definition in workshop.definitions]


def scripted(conversation: Conversation) -> MockFunctionCallingLLM:
    def answer(messages: Any, **more: Any) -> ChatMessage:
        tools = {tool.metadata.name: tool.metadata.to_openai_tool() for tool in more.get("tools", ())}
        match conversation.step(tools, messages[-1].content or ""):
            case Call(name, arguments):
                block = ToolCallBlock(tool_name=name, tool_kwargs=dict(arguments), tool_call_id=f"call-{len(messages)}")
                return ChatMessage(role="assistant", blocks=[block])
            case Say(text):
                return ChatMessage(role="assistant", blocks=[TextBlock(text=text)])
            case step:
                raise AssertionError(step)

    return MockFunctionCallingLLM(response_generator=answer)


def agent_of(client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any) -> FunctionAgent:
    retriever = ToolRetriever(client, tools_of(workshop), **options)
    return FunctionAgent(llm=scripted(conversation), tool_retriever=retriever, streaming=False)


async def test_the_model_sees_the_tools_that_fit_the_message_and_calls_one(client: Client) -> None:
    workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
    await agent_of(client, workshop, conversation, server="agent").run(QUERY)
    LOADS.append(("LlamaIndex", conversation.tools, conversation.sizes))
    assert WANTED in conversation.tools[0] and len(conversation.tools[0]) == 5
    assert workshop.calls == [(WANTED, ARGUMENTS)]


async def test_an_asynchronous_client_does_the_same(address: str, tenant: str) -> None:
    workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
    async with AsyncClient(address, tenant=tenant) as client:
        await agent_of(client, workshop, conversation, server="agent").run(QUERY)
    assert workshop.calls == [(WANTED, ARGUMENTS)]


def test_without_await_it_is_the_same(client: Client) -> None:
    retriever = ToolRetriever(client, tools_of(Workshop()), server="agent", max_results=3)
    for query in (QUERY, QueryBundle(QUERY)):
        names = [tool.metadata.name for tool in retriever.retrieve(query)]
        assert WANTED in names and len(names) == 3


async def test_tools_that_another_filled_the_catalog_with_are_found_by_alias(client: Client) -> None:
    sync_sample(client)
    conversation = Conversation((Say(),))
    await agent_of(client, Workshop(), conversation).run(QUERY)
    assert WANTED in conversation.tools[0]


async def test_a_tool_that_the_agent_does_not_have_is_never_loaded(client: Client) -> None:
    sync_sample(client)
    few = [tool for tool in TOOLS if tool["name"].startswith("github_") and tool["name"] != WANTED]
    conversation = Conversation((Say(),))
    await agent_of(client, Workshop(few), conversation).run(QUERY)
    assert conversation.tools[0] and set(conversation.tools[0]) <= {tool["name"] for tool in few}


async def test_a_service_that_dies_mid_run_takes_nothing_away() -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        workshop = Workshop()
        conversation = Conversation((Call(WANTED, ARGUMENTS), Say()), lambda turn: server.kill() if turn == 0 else None)
        await agent_of(client, workshop, conversation, server="agent", timeout=0.5).run(QUERY)
    assert workshop.calls == [(WANTED, ARGUMENTS)]
    assert conversation.tools[1] == conversation.tools[0]


async def test_everything_is_loaded_while_the_service_is_away_if_told_so(caplog: pytest.LogCaptureFixture) -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        server.kill()
        workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
        with caplog.at_level(logging.WARNING, "toolsearch.adapters"):
            await agent_of(client, workshop, conversation, server="agent", timeout=0.5, fallback="all").run(QUERY)
    assert len(conversation.tools[0]) == len(TOOLS)
    assert workshop.calls == [(WANTED, ARGUMENTS)]
    assert len([record for record in caplog.records if record.name == "toolsearch.adapters"]) == 1


async def test_the_error_reaches_the_caller_if_told_so() -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=3) as client:
        server.kill()
        with pytest.raises(Exception) as raised:
            await agent_of(client, Workshop(), Conversation(()), server="agent", timeout=0.5, fallback="error").run(QUERY)
    assert any(isinstance(error, Unavailable | TimedOut) for error in causes(raised.value))


async def test_the_example_runs(address: str) -> None:
    conversation = Conversation((Call("get_weather", {"city": "Paris"}), Say()))
    assert await example("llama_index_agent").main(scripted(conversation), address) == "Done."
    assert "get_weather" in conversation.tools[0]
    assert "It is sunny in Paris." in conversation.told[1]
