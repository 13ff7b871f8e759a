"""OpenAI's client against an endpoint that checks the rules of client-executed tool_search."""

from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, OpenAI

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
from toolsearch.adapters.openai_responses import ToolSearch


def functions_of(workshop: Workshop) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "name": definition["name"],
            "description": definition["description"],
            "parameters": definition["inputSchema"],
            "strict": False,
        }
        for definition in workshop.definitions
    ]


def run(search: ToolSearch, conversation: Conversation, workshop: Workshop, **request: Any) -> str:
    with running_provider(conversation) as url, OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as openai:
        response = search.run(openai, workshop.call, model="scripted", input="It is broken, tell them.", **request)
        return response.output_text


class TestOpenAIResponses(Contract):
    framework = "OpenAI Responses"

    async def converse(
        self, client: Client | AsyncClient, workshop: Workshop, conversation: Conversation, **options: Any
    ) -> None:
        search = ToolSearch(client, functions_of(workshop), **options)
        with running_provider(conversation) as url:
            async with AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as openai:
                await search.arun(openai, workshop.call, model="scripted", input="It is broken, tell them.")

    def test_without_await_it_is_the_same(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation(FIND_AND_CALL)
        assert run(ToolSearch(client, functions_of(workshop), server="agent"), conversation, workshop) == "Done."
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    def test_tools_of_the_catalog_need_no_definition_here(self, client: Client) -> None:
        sync_sample(client)
        workshop, conversation = Workshop([]), Conversation(FIND_AND_CALL)
        search = ToolSearch(client, owned=lambda entry: entry.server == "github")
        run(search, conversation, workshop)
        assert workshop.calls == [(WANTED, ARGUMENTS)]
        assert (search.found[WANTED].value.server, search.found[WANTED].value.local_name) == ("github", "open_issue")
        assert all(name.startswith("github_") for name in set(conversation.tools[1]) - {"tool_search"})

    def test_a_call_of_what_was_not_found_is_answered_and_not_made(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
        run(ToolSearch(client, functions_of(workshop), server="agent"), conversation, workshop)
        assert workshop.calls == []
        assert conversation.told[1].startswith(f'There is no tool "{WANTED}"')

    def test_tools_that_are_always_loaded_are_called(self, client: Client) -> None:
        workshop, conversation = Workshop(), Conversation((Call(WANTED, ARGUMENTS), Say()))
        loaded = [tool for tool in functions_of(workshop) if tool["name"] == WANTED]
        run(ToolSearch(client, functions_of(workshop), server="agent"), conversation, workshop, tools=loaded)
        assert workshop.calls == [(WANTED, ARGUMENTS)]

    def test_a_model_without_end_is_stopped(self, client: Client) -> None:
        workshop = Workshop()
        search = ToolSearch(client, functions_of(workshop), server="agent")
        run(search, Conversation([Search(QUERY)] * 2 + [Say()]), workshop, max_turns=3)
        with pytest.raises(TooManyTurns, match="max_turns=3"):
            run(search, Conversation([Search(QUERY)] * 4), workshop, max_turns=3)

    def test_tools_or_owned_have_to_be_given_and_not_both(self, client: Client) -> None:
        with pytest.raises(ValueError, match="say either tools"):
            ToolSearch(client)
        with pytest.raises(ValueError, match="say either tools"):
            ToolSearch(client, [], owned=lambda entry: True)

    def test_the_endpoint_would_refuse_an_unknown_call_id(self) -> None:
        wrong = [{"type": "tool_search_output", "call_id": "x", "status": "completed", "execution": "client", "tools": []}]
        with (
            running_provider(Conversation((Say(),))) as url,
            OpenAI(api_key="none", base_url=f"{url}/v1") as openai,
            pytest.raises(BadRequestError, match="no tool call found"),
        ):
            openai.responses.create(model="scripted", input=wrong)  # type: ignore[arg-type]


def test_the_example_runs(address: str) -> None:
    conversation = Conversation(WEATHER)
    with running_provider(conversation) as url, OpenAI(api_key="none", base_url=f"{url}/v1") as openai:
        assert_weather(conversation, example("openai_responses_loop").main(openai, "scripted", address))
