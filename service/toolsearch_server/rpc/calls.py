"""What happens around every call: decoding, identity, log line, errors to statuses.

Requests arrive as bytes and are decoded here, so that what cannot be decoded is the caller's error with a reason, not an
anonymous INTERNAL. One function per kind of call is all there is between gRPC and the services.
"""

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import grpc
import structlog
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from toolsearch.rpcstatus import METADATA_KEY, RpcStatus
from toolsearch_server.auth import Caller
from toolsearch_server.errors import MalformedRequest, ServiceError
from toolsearch_server.rpc.status import internal_error, status_of

REQUEST_ID_HEADER = "x-request-id"
MAX_REQUEST_ID_LENGTH = 128
DEFAULT_WAIT_SECONDS = 5.0
DEADLINE_SHARE = 0.9
"""How much of the time left a call may wait, so that its answer still arrives."""

log = structlog.get_logger()

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


@dataclass(frozen=True, slots=True)
class Call:
    """What a service method may know about the call it answers."""

    caller: Caller
    request_id: str
    wait_seconds: float


class Identity(Protocol):
    def identify(self, metadata: Mapping[str, str]) -> Caller: ...


UnaryMethod = Callable[[Call, Any], Awaitable[Message]]
StreamMethod = Callable[[Call, Any], AsyncIterator[Message]]


def service_handler(
    service: ServiceDescriptor, methods: Mapping[str, UnaryMethod | StreamMethod], identity: Identity
) -> grpc.GenericRpcHandler:
    """All methods of a service, by name; a method that the contract has and `methods` lacks is a KeyError at start."""
    handlers = {method.name: _handler(method, methods[method.name], identity) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _handler(method: MethodDescriptor, answer: Any, identity: Identity) -> "grpc.RpcMethodHandler[bytes, bytes]":
    request_class = message_factory.GetMessageClass(method.input_type)

    async def unary(data: bytes, context: Context) -> bytes:
        async with _around(method.name, context, identity) as call:
            response: Message = await answer(call.call, _decoded(request_class, data))
            return response.SerializeToString()

    async def stream(data: bytes, context: Context) -> AsyncIterator[bytes]:
        async with _around(method.name, context, identity) as call:
            async for response in answer(call.call, _decoded(request_class, data)):
                yield response.SerializeToString()

    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream)
    return grpc.unary_unary_rpc_method_handler(unary)


def _decoded(request_class: type[Message], data: bytes) -> Message:
    try:
        return request_class.FromString(data)
    except DecodeError as error:
        raise MalformedRequest(f"the request is not a {request_class.DESCRIPTOR.name}: {error}") from None


class _around:  # noqa: N801 used like a function
    """Identity before a call, one log line after it, and any error as a status."""

    def __init__(self, method: str, context: Context, identity: Identity) -> None:
        self._method = method
        self._context = context
        self._identity = identity
        self._started = time.perf_counter()
        self._request_id = ""
        self._tenant = ""

    async def __aenter__(self) -> "_around":
        metadata = {key: value for key, value in self._context.invocation_metadata() or () if isinstance(value, str)}
        self._request_id = metadata.get(REQUEST_ID_HEADER, "")[:MAX_REQUEST_ID_LENGTH] or secrets.token_hex(8)
        try:
            caller = self._identity.identify(metadata)
        except ServiceError as error:
            await self._refuse(*status_of(error))
            raise
        self._tenant = caller.tenant
        remaining = self._context.time_remaining()
        wait = DEFAULT_WAIT_SECONDS if remaining is None else max(0.0, remaining * DEADLINE_SHARE)
        self.call = Call(caller, self._request_id, wait)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            self._log("OK")
        elif isinstance(error, ServiceError):
            await self._refuse(*status_of(error))
        elif isinstance(error, Exception):
            log.exception("call failed", method=self._method, tenant=self._tenant, request_id=self._request_id)
            await self._refuse(*internal_error(self._request_id))
        else:
            self._log("CANCELLED")

    async def _refuse(self, code: grpc.StatusCode, status: RpcStatus) -> None:
        self._log(code.name, reason=status.reason, error=status.message)
        await self._context.abort(code, status.message, ((METADATA_KEY, status.encode()),))

    def _log(self, code: str, **facts: str) -> None:
        write = log.debug if code in ("OK", "CANCELLED") else log.info
        write(
            "call",
            method=self._method,
            code=code,
            tenant=self._tenant,
            request_id=self._request_id,
            ms=round((time.perf_counter() - self._started) * 1000, 2),
            **facts,
        )
