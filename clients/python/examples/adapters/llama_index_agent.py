"""LlamaIndex: the tools of an agent found by toolsearch.

python llama_index_agent.py MODEL [HOST:PORT]        for example: gpt-5.2, with llama-index-llms-openai installed
"""

import asyncio
import sys
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool

from toolsearch import AsyncClient
from toolsearch.adapters.llama_index import ToolRetriever


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
    async with AsyncClient(target, catalog="example-llama-index") as client:
        tools = [FunctionTool.from_defaults(function) for function in (get_weather, send_email, convert_currency)]
        agent = FunctionAgent(
            llm=model,
            tool_retriever=ToolRetriever(client, tools, server="example"),  # instead of ObjectIndex...as_retriever()
            streaming=False,
        )
        return str(await agent.run("What is the weather in Paris?"))


if __name__ == "__main__":
    from llama_index.llms.openai import OpenAI

    print(asyncio.run(main(OpenAI(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
