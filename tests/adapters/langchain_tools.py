"""The sample's tools as LangChain's."""

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from adapters.contract import Workshop


def tools_of(workshop: Workshop) -> list[BaseTool]:
    def tool(definition: Any) -> BaseTool:
        def call(**arguments: Any) -> str:
            return workshop.call(definition["name"], arguments)

        return StructuredTool(
            name=definition["name"], description=definition["description"], args_schema=definition["inputSchema"], func=call
        )

    return [tool(definition) for definition in workshop.definitions]
