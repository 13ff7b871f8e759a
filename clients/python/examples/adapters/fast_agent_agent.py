"""fast-agent: the tools of an agent found by toolsearch.

python fast_agent_agent.py MODEL [HOST:PORT]        for example: gpt-5.2
"""

import asyncio
import sys
from typing import Any

from fast_agent.agents.agent_types import AgentConfig
from fast_agent.agents.tool_agent import ToolAgent

from toolsearch import AsyncClient
from toolsearch.adapters.fast_agent import attach


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
    async with AsyncClient(target, catalog="example-fast-agent") as client:
        agent = ToolAgent(AgentConfig(name="assistant", instruction="You are a helpful assistant."))
        attach(agent, client, [get_weather, send_email, convert_currency], server="example")  # instead of ToolAgent(..., tools)
        await agent.attach_llm(model)
        return await agent.send("What is the weather in Paris?")


if __name__ == "__main__":
    from fast_agent.llm.model_factory import ModelFactory

    model = ModelFactory.create_factory(sys.argv[1])
    print(asyncio.run(main(model, sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
