"""The services over HTTP: POST /v1/METHOD with the request as JSON, or GET with parameters where a method only reads.

A call comes through here as it comes through gRPC: `Around` is around it, and the same function answers it.
"""

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from starlette.types import Receive, Scope, Send

from toolsearch_server.errors import shorten
from toolsearch_server.limits import Limits
from toolsearch_server.rpc.calls import Around, Edge, Method
from toolsearch_server.rpc.status import internal_error
from toolsearch_server.turns import Lane, Processor
from toolsearch_server.web import messages
from toolsearch_server.web.events import KEEP_ALIVE_SECONDS, EventStream, resumed
from toolsearch_server.web.exchange import LAST_EVENT_HEADER, Exchange, Gone
from toolsearch_server.web.statuses import INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, Refused, misdirected

log = structlog.get_logger()

PREFIX = "/v1/"
READ_ONLY = frozenset(
    {
        "SearchTools",
        "ListTools",
        "ListNamespaces",
        "GetTools",
        "PlanTools",
        "WatchCatalog",
        "ReadResource",
        "GetCatalog",
        "GetSettings",
        "ListCatalogs",
        "ListTenants",
    }
)
"""What may be asked for by GET: a link, or a page in somebody's browser, can make these calls."""

CONVERTED_ON_LOOP_BYTES = 50_000
"""A message of this size is converted at once; a larger one in a thread, so that searches go on."""

_JSON = re.compile(r"application/json\s*(;\s*charset=\"?utf-8\"?\s*)?")

Converted = TypeVar("Converted")
Services = Sequence[tuple[ServiceDescriptor, Mapping[str, Method]]]
Answering = Callable[[Exchange], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of the contract, and how its requests are read."""

    descriptor: MethodDescriptor
    method: Method
    from_json: Callable[[bytes], Message]
    from_query: Callable[[bytes], Message]
    response: type[Message]

    @classmethod
    def of(cls, descriptor: MethodDescriptor, method: Method) -> "Endpoint":
        kind = descriptor.input_type
        response = message_factory.GetMessageClass(descriptor.output_type)
        return cls(descriptor, method, messages.from_json(kind), messages.from_query(kind), response)


class JsonApi:
    """An ASGI application. `more` are paths beside the methods, by name."""

    def __init__(
        self,
        services: Services,
        edge: Edge,
        processor: Processor,
        limits: Limits,
        more: Mapping[str, Answering] | None = None,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._endpoints = {
            descriptor.name: Endpoint.of(descriptor, methods[descriptor.name])
            for service, methods in services
            for descriptor in service.methods
        }
        self._edge = edge
        self._processor = processor
        self._limits = limits
        self._more = more or {}
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            exchange.read_headers()
            await self._answer(exchange, scope)
        except Refused as refusal:
            await exchange.refuse(refusal)
        except Gone:
            pass
        except Exception:
            log.exception("answering over HTTP failed")
            if exchange.begun:
                raise
            await exchange.refuse(Refused(internal_error(exchange.request_id)[1].encode()))

    async def _answer(self, exchange: Exchange, scope: Scope) -> None:
        name, http_method = scope["path"].removeprefix(PREFIX), scope["method"]
        endpoint, answer = self._endpoints.get(name), self._more.get(name)
        if endpoint is None and answer is None:
            raise self._unknown(name)
        allowed = ("GET",) if answer else ("GET", "POST") if name in READ_ONLY else ("POST",)
        if http_method not in allowed:
            raise _not_allowed(http_method, name, allowed)
        if http_method == "POST":
            _require_json(scope)
        body = await exchange.body(self._limits.request_bytes if http_method == "POST" else 0)
        if answer is not None:
            await answer(exchange)
        elif endpoint is not None:
            await exchange.while_connected(self._call(endpoint, exchange, scope, body))

    async def _call(self, endpoint: Endpoint, exchange: Exchange, scope: Scope, body: bytes) -> None:
        decode, data = endpoint.from_json, body
        if scope["method"] == "GET":
            decode, data = endpoint.from_query, scope["query_string"]
        if endpoint.descriptor.name == "WatchCatalog" and (last := exchange.header(LAST_EVENT_HEADER)):
            decode = partial(resumed, decode, last)
        around = Around(endpoint.descriptor, endpoint.method.role, exchange, self._edge, data, decode)
        if endpoint.descriptor.server_streaming:
            await self._stream(endpoint, around, exchange)
        else:
            await exchange.answer(200, await self._answered(endpoint, around, exchange, len(data)))

    async def _answered(self, endpoint: Endpoint, around: Around, exchange: Exchange, size: int) -> bytes:
        answer: Any = endpoint.method.answer
        async with exchange.within_deadline(), around:
            tenant = around.call.caller.tenant
            request = await self._converted(tenant, Lane.WRITE, size, around.request)
            response: Message | bytes = await answer(around.call, request)
            if isinstance(response, bytes):
                response = endpoint.response.FromString(response)
            return await self._converted(tenant, Lane.READ, response.ByteSize(), partial(messages.as_json, response))

    async def _stream(self, endpoint: Endpoint, around: Around, exchange: Exchange) -> None:
        answer: Any = endpoint.method.answer
        async with (
            EventStream(exchange, self._keep_alive) as stream,
            exchange.within_deadline(),
            around,
            aclosing(answer(around.call, around.request())) as responses,
        ):
            async for response in responses:
                await around.check_again()
                await stream.send(response)

    async def _converted(self, tenant: str, lane: Lane, size: int, convert: Callable[[], Converted]) -> Converted:
        if size <= CONVERTED_ON_LOOP_BYTES:
            return convert()
        return await self._processor.in_thread(tenant, lane, convert)

    def _unknown(self, name: str) -> Refused:
        near = difflib.get_close_matches(name, (*self._endpoints, *self._more), cutoff=0.5)
        hint = f": {', '.join(near)}?" if near else ""
        return misdirected(
            f"there is no method {shorten(name)!r}{hint}",
            code=NOT_FOUND,
            field="method",
            given=shorten(name),
            allowed=", ".join(near or self._endpoints),
        )


def _not_allowed(given: str, name: str, allowed: Sequence[str]) -> Refused:
    return misdirected(
        f"{name} is not answered by {shorten(given)}",
        code=UNIMPLEMENTED,
        http_status=405,
        headers=[(b"allow", ", ".join(allowed).encode())],
        given=shorten(given),
        allowed=", ".join(allowed),
    )


def _require_json(scope: Scope) -> None:
    """A page elsewhere may make a browser post texts and forms to us, but JSON only with our permission (CORS)."""
    given = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"content-type"]
    if len(given) != 1 or not _JSON.fullmatch(given[0]):
        raise misdirected(
            "the content-type is not application/json",
            code=INVALID_ARGUMENT,
            http_status=415,
            field="content-type",
            given=shorten(", ".join(given)),
            allowed="application/json",
        )
