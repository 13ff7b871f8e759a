"""LangChain: the tools of an agent found by toolsearch.

python langchain_agent.py MODEL [HOST:PORT]        for example: openai:gpt-5.2
"""

import sys
from typing import Any

from langchain.agents import create_agent

from toolsearch import Client
from toolsearch.adapters.langchain import ToolSearchMiddleware


def get_weather(city: str) -> str:
    """The weather of a city today."""
    return f"It is sunny in {city}."


def send_email(to: str, subject: str, body: str) -> str:
    """Send an email to somebody."""
    return f"Sent to {to}: {subject}, {body}"


def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} is {amount * 1.1} {target}"


def main(model: Any, target: str) -> str:
    with Client(target, catalog="example-langchain") as client:
        agent = create_agent(
            model,
            tools=[get_weather, send_email, convert_currency],
            middleware=[ToolSearchMiddleware(client, server="example")],  # instead of LLMToolSelectorMiddleware()
        )
        result = agent.invoke({"messages": [{"role": "user", "content": "What is the weather in Paris?"}]})
        return result["messages"][-1].text


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051"))
