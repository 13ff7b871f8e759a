"""OpenAI's Responses API: tools found by toolsearch, with a tool_search that the client executes.

python openai_responses_loop.py MODEL [HOST:PORT]        for example: gpt-5.4
"""

import sys
from typing import Any

from openai import OpenAI

from toolsearch import Client
from toolsearch.adapters.openai_responses import ToolSearch

TOOLS = [
    {
        "type": "function",
        "name": "get_weather",
        "description": "The weather of a city today.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "type": "function",
        "name": "send_email",
        "description": "Send an email to somebody.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    },
]


def get_weather(city: str) -> str:
    return f"It is sunny in {city}."


def call(name: str, arguments: dict[str, Any]) -> str:
    return {"get_weather": get_weather}[name](**arguments)


def main(openai: OpenAI, model: str, target: str) -> str:
    with Client(target, catalog="example-openai") as client:
        search = ToolSearch(client, TOOLS, server="example")
        response = search.run(openai, call, model=model, input="What is the weather in Paris?")  # instead of a loop of your own
        return response.output_text


if __name__ == "__main__":
    print(main(OpenAI(), sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051"))
