"""langgraph-bigtool: the tools of its registry found by toolsearch.

python bigtool_agent.py MODEL [HOST:PORT]        for example: openai:gpt-5.2, with langchain installed
"""

import sys
import uuid
from typing import Any

from langchain_core.tools import tool
from langgraph_bigtool import create_agent

from toolsearch import Client
from toolsearch.adapters.bigtool import retrievers


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
    with Client(target, catalog="example-bigtool") as client:
        registry = {str(uuid.uuid4()): tool(function) for function in (get_weather, send_email, convert_currency)}
        function, coroutine = retrievers(client, registry, server="example")
        builder = create_agent(  # instead of an index in the store
            model, registry, retrieve_tools_function=function, retrieve_tools_coroutine=coroutine
        )
        agent = builder.compile()
        result = agent.invoke({"messages": "What is the weather in Paris?"})
        return result["messages"][-1].text


if __name__ == "__main__":
    from langchain.chat_models import init_chat_model

    print(main(init_chat_model(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "localhost:50051"))
