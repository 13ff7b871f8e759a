"""Anthropic's Messages API: tools found by toolsearch, with tool references.

python anthropic_loop.py MODEL [HOST:PORT]        for example: claude-sonnet-4-6
"""

import sys
from typing import Any

from anthropic import Anthropic

from toolsearch import Client
from toolsearch.adapters.anthropic import ToolSearch

TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather of a city today.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "name": "send_email",
        "description": "Send an email to somebody.",
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    },
]


def get_weather(city: str) -> str:
    return f"It is sunny in {city}."


def call(name: str, arguments: dict[str, Any]) -> str:
    return {"get_weather": get_weather}[name](**arguments)


def main(anthropic: Anthropic, model: str, target: str) -> str:
    with Client(target, catalog="example-anthropic") as client:
        search = ToolSearch(client, TOOLS, server="example")
        question = {"role": "user", "content": "What is the weather in Paris?"}
        message = search.run(
            anthropic, call, model=model, max_tokens=1024, messages=[question]
        )  # instead of a loop of your own
        return "".join(block.text for block in message.content if block.type == "text")


if __name__ == "__main__":
    print(main(Anthropic(), sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051"))
