"""Endpoints on loopback that speak as OpenAI's Responses API and Anthropic's Messages API do; a scripted model is behind them.

They refuse what the real ones refuse, with 400, and say why.
"""

import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from adapters.contract import Call, Conversation, Say, Search

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ids = itertools.count()


class Refused(Exception):
    pass


def refuse_unless(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


def check_names(tools: list[dict[str, Any]]) -> None:
    names = [tool["name"] for tool in tools]
    refuse_unless(len(set(names)) == len(names), "tools: names must be unique")
    for name in names:
        refuse_unless(NAME.fullmatch(name), f"tools: {name} is no name")


def asking(schema: dict[str, Any], query: str) -> dict[str, Any]:
    """The arguments of a search, in the one parameter that it takes."""
    (name,) = schema["properties"]
    return {name: [query] if schema["properties"][name]["type"] == "array" else query}


def openai(request: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
    tools, items = request.get("tools", []), request["input"]
    searches = [tool for tool in tools if tool["type"] == "tool_search"]
    functions = {tool["name"]: tool for tool in tools if tool["type"] == "function"}
    check_names(list(functions.values()))
    refuse_unless(len(searches) <= 1, "tools: only one tool_search")
    refuse_unless(searches or not any(tool.get("defer_loading") for tool in tools), "deferred tools need a tool_search")
    functions = {name: tool for name, tool in functions.items() if not tool.get("defer_loading")}
    for search in searches:
        refuse_unless(search.get("execution") == "client", "tool_search: only the client executes here")
        refuse_unless(
            search.get("description") and search.get("parameters"), "tool_search: description and parameters required"
        )
    pending: dict[str, str] = {}
    told = ""
    for item in items:
        kind = item.get("type", "message")
        if kind in ("function_call", "tool_search_call"):
            pending[item["call_id"]] = f"{kind}_output" if kind == "function_call" else "tool_search_output"
        elif kind in ("function_call_output", "tool_search_output"):
            refuse_unless(
                pending.pop(item.get("call_id"), None) == kind, f"no tool call found for {kind} {item.get('call_id')}"
            )
            if kind == "tool_search_output":
                refuse_unless(item.get("status") == "completed", "tool_search_output: status must be completed")
                refuse_unless(item.get("execution") == "client", "tool_search_output: execution must be client")
                check_names(item["tools"])
                for tool in item["tools"]:
                    refuse_unless(tool["type"] == "function", "tool_search_output: function tools only")
                    refuse_unless(tool["parameters"].get("type") == "object", f"{tool['name']}: parameters must be an object")
                functions |= {tool["name"]: tool for tool in item["tools"]}
                told = json.dumps(item["tools"])
            else:
                refuse_unless(isinstance(item["output"], str), "function_call_output: output must be text")
                told = item["output"]
        elif kind == "message":
            told = item["content"] if isinstance(item["content"], str) else json.dumps(item["content"])
    refuse_unless(not pending, f"no tool output found for {', '.join(pending)}")
    seen = functions | ({"tool_search": searches[0]} if searches else {})
    call_id = f"call_{next(_ids)}"
    match conversation.step(seen, told):
        case Search(query):
            output: dict[str, Any] = {
                "type": "tool_search_call",
                "id": f"tsc_{call_id}",
                "call_id": call_id,
                "execution": "client",
                "status": "completed",
                "arguments": asking(searches[0]["parameters"], query),
            }
        case Call(name, arguments):
            output = {
                "type": "function_call",
                "id": f"fc_{call_id}",
                "call_id": call_id,
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
        case Say(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            output = {"type": "message", "id": f"msg_{call_id}", "role": "assistant", "status": "completed", "content": content}
    return {
        "id": f"resp_{call_id}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": request["model"],
        "output": [output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": tools,
    }


def anthropic(request: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
    tools, messages = request.get("tools", []), request["messages"]
    check_names(tools)
    declared = {tool["name"]: tool for tool in tools}
    refuse_unless(not tools or not all(tool.get("defer_loading") for tool in tools), "at least one tool must not be deferred")
    for tool in tools:
        refuse_unless(not (tool.get("defer_loading") and tool.get("cache_control")), "deferred tools cannot have cache_control")
        refuse_unless(tool["input_schema"].get("type") == "object", f"{tool['name']}: input_schema.type must be object")
    seen = {name: tool for name, tool in declared.items() if not tool.get("defer_loading")}
    expected: set[str] = set()
    told = ""
    for number, message in enumerate(messages):
        refuse_unless(message["role"] == ("user", "assistant")[number % 2], f"messages.{number}: roles must alternate")
        blocks = message["content"]
        if isinstance(blocks, str):
            refuse_unless(blocks, f"messages.{number}: content must not be empty")
            refuse_unless(not expected, "tool_use without tool_result")
            told = blocks
            continue
        results = [block for block in blocks if block["type"] == "tool_result"]
        answered = {block["tool_use_id"] for block in results}
        refuse_unless(answered == expected, f"messages.{number}: tool_use ids {expected} were answered by {answered}")
        for result in results:
            content = result.get("content")
            refuse_unless(content, "tool_result: content must not be empty")
            refuse_unless(len({block["type"] for block in content}) == 1, "tool_result: references stand alone")
            for block in content:
                if block["type"] == "tool_reference":
                    refuse_unless(block["tool_name"] in declared, f"tool reference '{block['tool_name']}' not found")
                    seen[block["tool_name"]] = declared[block["tool_name"]]
            told = json.dumps(content)
        expected = {block["id"] for block in blocks if block["type"] == "tool_use"}
    refuse_unless(not expected, "tool_use without tool_result")
    use = f"toolu_{next(_ids)}"
    match conversation.step(seen, told):
        case Search(query):
            answer: dict[str, Any] = {
                "type": "tool_use",
                "id": use,
                "name": "search_tools",
                "input": asking(declared["search_tools"]["input_schema"], query),
            }
        case Call(name, arguments):
            answer = {"type": "tool_use", "id": use, "name": name, "input": dict(arguments)}
        case Say(text):
            answer = {"type": "text", "text": text}
    return {
        "id": f"msg_{use}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [answer],
        "stop_reason": "end_turn" if answer["type"] == "text" else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def streamed(message: dict[str, Any]) -> bytes:
    """The same as events, as Anthropic sends them."""
    (block,) = message["content"]
    text = block["type"] == "text"
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if text
        else {
            "type": "input_json_delta",
            "partial_json": json.dumps(block["input"]),
        }
    )
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**block, **({"text": ""} if text else {"input": {}})}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": {"output_tokens": 0}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


ENDPOINTS = {"/v1/responses": openai, "/v1/messages": anthropic}


@contextmanager
def running_provider(conversation: Conversation) -> Iterator[str]:
    """The URL, without /v1."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                status, answer = 200, ENDPOINTS[self.path.partition("?")[0]](request, conversation)
            except Refused as error:
                status, answer = 400, {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
            streaming = status == 200 and request.get("stream")
            body = streamed(answer) if streaming else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if streaming else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 the base class's word
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
