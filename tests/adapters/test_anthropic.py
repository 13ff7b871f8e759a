"""Anthropic's client against an endpoint that checks the rules of tool_reference."""

from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError

from adapters.contract import (
    ARGUMENTS,
    FIND_AND_CALL,
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
    sync_sample,
)
from adapters.fake_provider import running_provider
from toolsearch import AsyncClient, Client
from toolsearch.adapters._core import TooManyTurns
from toolsearch.adapters.anthropic import ToolSearch

QUESTION = [{"role": "user", "content": "It is broken, tell them."}]


def tools_of(workshop: Workshop) -> list[dict[str, Any]]:
    return [
        {"name": definition["name"], "description": definition["description"], "input_schema": definition["inputSchema"]}
        for definition in workshop.definitions
    ]


def run(search: ToolSearch, conversation: Conversation, workshop: Workshop, **request: Any) -> Any:
    with running_provider(conversation) as url, Anthropic(api_key="none", base_url=url, max_retries=0) as anthropic:
        return search.run(anthropic, workshop.call, model="scripted", max_tokens=100, messages=QUESTION, **request)


class TestAnthropic(Contract):
    framework = "Anthropic Messages"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        search = ToolSearch(client, tools_of(workshop), **options)
        with running_provider(conversation) as url:
            async with AsyncAnthropic(api_key="none", base_url=url, max_retries=0) as anthropic:
                await search.arun(anthropic, workshop.call, model="scripted", max_tokens=100, messages=QUESTION)

    def test_without_await_it_is_the_same(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation(FIND_AND_CALL)
        message = run(ToolSearch(client, tools_of(workshop), server="agent"), conversation, workshop)
        assert message.content[0].text == "Done."
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    def test_tools_of_the_catalog_are_declared_as_they_are_found(self, client: Client) -> None:
        sync_sample(client)
        workshop, conversation = Workshop([]), Conversation(FIND_AND_CALL)
        search = ToolSearch(client, owned=lambda entry: entry.server == "github")
        assert [tool["name"] for tool in search.tools] == ["search_tools"]
        run(search, conversation, workshop)
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert search.found[WANTED].value.local_name == "open_issue"
        assert {tool["name"] for tool in search.tools} == set(conversation.tools[1])

    def test_a_deferred_tool_loses_its_cache_mark_and_others_keep_theirs(self, client: Client) -> None:
        marked = [{**tool, "cache_control": {"type": "ephemeral"}} for tool in tools_of(Workshop())]
        search = ToolSearch(client, marked, server="agent", always=[WANTED])
        with_mark = [tool["name"] for tool in search.tools if "cache_control" in tool]
        assert with_mark == [WANTED]
        conversation = Conversation((Search(QUERY), Say()))
        run(search, conversation, Workshop())
        assert set(conversation.tools[0]) == {"search_tools", WANTED}

    def test_tools_of_anthropics_own_are_not_deferred(self, client: Client) -> None:
        web = {"type": "web_search_20250305", "name": "web_search"}
        search = ToolSearch(client, [web, *tools_of(Workshop())], server="agent")
        assert search.tools[1] == web

    def test_nothing_found_is_told_in_words(self, client: Client) -> None:
        conversation = Conversation((Search("zzzz qqqq"), Say()))
        run(ToolSearch(client, tools_of(Workshop()), server="agent", min_relevance=0.5), conversation, Workshop())
        assert "No tool was found" in conversation.told[1]

    def test_a_tool_that_answers_nothing_is_no_empty_content(self, client: Client) -> None:
        class Silent(Workshop):
            def call(self, name: str, arguments: Any) -> str:
                return ""

        run(ToolSearch(client, tools_of(Workshop()), server="agent"), Conversation(FIND_AND_CALL), Silent())

    def test_a_call_of_what_was_not_found_is_answered_and_not_made(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
        run(ToolSearch(client, tools_of(workshop), server="agent"), conversation, workshop)
        assert workshop.calls == []
        assert "There is no tool" in conversation.told[1]

    def test_a_model_without_end_is_stopped(self, client: Client) -> None:
        workshop = Workshop()
        search = ToolSearch(client, tools_of(workshop), server="agent")
        run(search, Conversation([Search(QUERY)] * 2 + [Say()]), workshop, max_turns=3)
        with pytest.raises(TooManyTurns, match="max_turns=3"):
            run(search, Conversation([Search(QUERY)] * 4), workshop, max_turns=3)


@pytest.mark.parametrize(
    ("tools", "content", "why"),
    [
        ([], [{"type": "tool_reference", "tool_name": "x"}], "'x' not found"),
        ([{"defer_loading": True}], "hi", "at least one tool"),
        ([{}, {"defer_loading": True, "cache_control": {"type": "ephemeral"}}], "hi", "cache_control"),
        ([], [], "must not be empty"),
    ],
)
def test_the_endpoint_would_refuse(tools: list[dict[str, Any]], content: Any, why: str) -> None:
    declared: Any = [{"name": f"t{number}", "input_schema": {"type": "object"}, **tool} for number, tool in enumerate(tools)]
    messages: Any = list(QUESTION)
    if content != "hi":
        messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "s", "input": {}}]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]})
    with (
        running_provider(Conversation((Say(),))) as url,
        Anthropic(api_key="none", base_url=url) as anthropic,
        pytest.raises(BadRequestError, match=why),
    ):
        anthropic.messages.create(model="scripted", max_tokens=10, messages=messages, tools=declared)


def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    with running_provider(conversation) as url, Anthropic(api_key="none", base_url=url) as anthropic:
        assert_weather(conversation, example("anthropic_loop").main(anthropic, "scripted", address))
