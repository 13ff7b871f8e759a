"""FastMCP: a server whose tools are found by toolsearch, and a client that uses it.

python fastmcp_server.py [HOST:PORT]
"""

import asyncio
import sys

from fastmcp import Client as MCPClient
from fastmcp import FastMCP

from toolsearch import AsyncClient
from toolsearch.adapters import signature
from toolsearch.adapters.fastmcp import ToolSearchTransform

mcp = FastMCP("Demo")


@mcp.tool
def get_weather(city: str) -> str:
    """The weather of a city today."""
    return f"It is sunny in {city}."


@mcp.tool
def send_email(to: str, subject: str, body: str) -> str:
    """Send an email to somebody."""
    return f"Sent to {to}: {subject}, {body}"


@mcp.tool
def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} is {amount * 1.1} {target}"


async def main(target: str) -> str:
    async with AsyncClient(target, catalog="example-fastmcp") as client:
        mcp.add_transform(ToolSearchTransform(client, server="example"))  # instead of BM25SearchTransform()
        async with MCPClient(mcp) as session:
            print([tool.name for tool in await session.list_tools()])
            found = (await session.call_tool("search_tools", {"query": "weather of a city"})).data
            print(signature(found["tools"][0]))  # as a model that writes code would like it
            result = await session.call_tool("call_tool", {"name": found["tools"][0]["name"], "arguments": {"city": "Paris"}})
            return result.content[0].text


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:50051")))
