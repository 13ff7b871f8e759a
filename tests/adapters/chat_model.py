"""A LangChain chat model that follows a script."""

import itertools
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from adapters.contract import Call, Conversation, Say, Search

_ids = itertools.count()


class ScriptedChatModel(BaseChatModel):
    conversation: Conversation
    search_tool: str
    bound: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[dict[str, Any] | type | Any | BaseTool], **kwargs: Any) -> Runnable[Any, AIMessage]:
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.model_copy(update={"bound": {function["name"]: function for function in functions}})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        match self.conversation.step(self.bound, str(messages[-1].content)):
            case Search(query):
                message = self._calling(self.search_tool, {"query": query})
            case Call(name, arguments):
                message = self._calling(name, dict(arguments))
            case Say(text):
                message = AIMessage(text)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _calling(self, name: str, arguments: dict[str, Any]) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{next(_ids)}", "type": "tool_call"}])
