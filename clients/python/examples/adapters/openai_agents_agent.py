"""OpenAI Agents SDK: the tools of an agent found by toolsearch.

python openai_agents_agent.py MODEL [HOST:PORT]        for example: gpt-5.2
"""

import asyncio
import sys
from typing import Any

from agents import Agent, Runner, function_tool

from toolsearch import AsyncClient
from toolsearch.adapters.openai_agents import searchable


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city today."""
    return f"It is sunny in {city}."


@function_tool
def send_email(to: str, subject: str, body: str) -> str:
    """Send an email to somebody."""
    return f"Sent to {to}: {subject}, {body}"


@function_tool
def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} is {amount * 1.1} {target}"


async def main(model: Any, target: str) -> str:
    async with AsyncClient(target, catalog="example-openai-agents") as client:
        tools = [get_weather, send_email, convert_currency]
        agent = Agent(
            name="Assistant",
            instructions="You are a helpful assistant.",
            model=model,
            tools=searchable(client, tools, server="example"),  # instead of tools
        )
        result = await Runner.run(agent, "What is the weather in Paris?")
        return result.final_output


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
