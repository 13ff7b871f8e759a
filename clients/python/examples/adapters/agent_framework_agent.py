"""Microsoft's agent-framework: the tools of an agent found by toolsearch.

python agent_framework_agent.py MODEL [HOST:PORT]        for example: gpt-5.2, with agent-framework-openai installed
"""

import asyncio
import sys
from typing import Any

from agent_framework import Agent

from toolsearch import AsyncClient
from toolsearch.adapters.agent_framework import tool_search


def get_weather(city: str) -> str:
    """The weather of a city today."""
    return f"It is sunny in {city}."


def send_email(to: str, subject: str, body: str) -> str:
    """Send an email to somebody."""
    return f"Sent to {to}: {subject}, {body}"


def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} is {amount * 1.1} {target}"


async def main(chat_client: Any, target: str) -> str:
    async with AsyncClient(target, catalog="example-agent-framework") as client:
        tools = [get_weather, send_email, convert_currency]
        agent = Agent(
            client=chat_client,
            instructions="You are a helpful assistant.",
            tools=[tool_search(client, tools, server="example")],  # instead of tools
        )
        return (await agent.run("What is the weather in Paris?")).text


if __name__ == "__main__":
    from agent_framework.openai import OpenAIChatClient

    chat_client = OpenAIChatClient(model=sys.argv[1])
    print(asyncio.run(main(chat_client, sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
