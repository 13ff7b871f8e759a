"""Tool search in the framework you already use: one module each, and an extra of this distribution.

`pydantic_ai`, `langchain`, `bigtool`, `fastmcp`, `openai_agents`, `openai_responses`, `anthropic`, `llama_index`, `fast_agent`,
`google_adk`, `agent_framework`. All of them register the framework's tools if asked (`server=`), search with one call, return
only tools that the caller has, and go on while the service is away (`fallback=`). docs/adapters.md has a section on each.

For code sandboxes, `signature` renders a discovered tool as a typed Python function.
"""

from toolsearch.adapters._core import Answer, Fallback, Renderer, Tool
from toolsearch.adapters.signatures import signature

__all__ = ["Answer", "Fallback", "Renderer", "Tool", "signature"]
