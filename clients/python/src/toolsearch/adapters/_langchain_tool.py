"""A tool of LangChain's as the core takes it. Needs langchain-core only, which all of LangChain shares."""

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from toolsearch.adapters._core import Tool, definition


def own_tool(tool: BaseTool) -> Tool[BaseTool]:
    """As the model would see it: arguments that are injected are not in the schema."""
    function = convert_to_openai_tool(tool)["function"]
    return Tool(tool.name, definition(tool.name, tool.description, function.get("parameters")), tool)
