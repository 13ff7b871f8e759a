"""Google's ADK: the tools of an agent found by toolsearch.

python google_adk_agent.py MODEL [HOST:PORT]        for example: gemini-3.5-flash
"""

import asyncio
import sys
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from toolsearch import AsyncClient
from toolsearch.adapters.google_adk import ToolSearchToolset


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
    async with AsyncClient(target, catalog="example-google-adk") as client:
        tools = [get_weather, send_email, convert_currency]
        agent = LlmAgent(
            name="assistant",
            model=model,
            tools=[ToolSearchToolset(client, tools, server="example")],  # instead of tools
        )
        runner = InMemoryRunner(agent=agent, app_name="example")
        session = await runner.session_service.create_session(app_name="example", user_id="me")
        question = types.Content(role="user", parts=[types.Part.from_text(text="What is the weather in Paris?")])
        answer = ""
        async for event in runner.run_async(user_id="me", session_id=session.id, new_message=question):
            if event.is_final_response() and event.content and event.content.parts:
                answer = event.content.parts[0].text or ""
        return answer


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:50051")))
