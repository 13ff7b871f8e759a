"""pydantic-ai: the tools of an agent found by toolsearch.

python pydantic_ai_agent.py MODEL [HOST:PORT]        for example: openai:gpt-5.2
"""

import asyncio
import sys
from typing import Any

from pydantic_ai import Agent, Tool

from toolsearch import AsyncClient
from toolsearch.adapters.pydantic_ai import tool_search


def get_weather(city: str) -> str:
    """The weather of a city today."""
    return f"It is sunny in {city}."


def send_email(to: str, subject: str, body: str) -> str:
    """Send an email to somebody."""
    return f"Sent to {to}: {subject}, {body}"


def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} is {amount * 1.1} {target}"


async def main(model: Any, target: str) -> str:
    async with AsyncClient(target, catalog="example-pydantic-ai") as client:
        agent = Agent(
            model,
            tools=[Tool(function, defer_loading=True) for function in (get_weather, send_email, convert_currency)],
            capabilities=[tool_search(client, server="example")],  # instead of ToolSearch()
        )
        result = await agent.run("What is the weather in Paris?")
        return result.output


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
