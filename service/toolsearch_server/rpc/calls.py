"""What happens around every call: decoding, identity, admission, log line, metrics, audit, trace, errors to statuses.

Requests arrive as bytes and are decoded inside, so that what cannot be decoded is the caller's error with a reason, not an
anonymous INTERNAL. `Around` is the same for every door that calls come through; one function per kind of call is all there is
between gRPC and the services.
"""

import logging
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Protocol

import grpc
import structlog
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from toolsearch.rpcstatus import METADATA_KEY, RpcStatus
from toolsearch_server.admission import Admission
from toolsearch_server.audit import Audit
from toolsearch_server.auth import AUTHORIZATION_HEADER, TENANT_HEADER, Caller, Identity, Role
from toolsearch_server.errors import (
    FieldInvalid,
    MalformedRequest,
    Overloaded,
    RateLimited,
    RoleDenied,
    ServiceError,
    TenantDenied,
    shorten,
)
from toolsearch_server.metrics import Metrics
from toolsearch_server.rpc.status import internal_error, status_of
from toolsearch_server.tracing import TRACE_HEADER, Tracer

REQUEST_ID_HEADER = "x-request-id"
MAX_REQUEST_ID_LENGTH = 128
DEFAULT_WAIT_SECONDS = 5.0
DEADLINE_SHARE = 0.9
"""How much of the time left a call may wait, so that its answer still arrives."""

RECORDED_BYTES = 50_000
"""A refused request up to this size is looked at, for the audit record."""
ADMISSION_REFUSALS = (RateLimited, Overloaded)

log = structlog.get_logger()

_ids = random.Random(secrets.randbits(128))  # noqa: S311 they are unique, not secret, and a call to the system takes its time


class Described(Protocol):
    """What is to be known of a method. Those of the contract have it in their descriptors."""

    @property
    def name(self) -> str: ...
    @property
    def full_name(self) -> str: ...
    @property
    def server_streaming(self) -> bool: ...


class Context(Protocol):
    """A call as it came through a door. gRPC's own context is one."""

    def invocation_metadata(self) -> Iterable[tuple[str, str | bytes]] | None:
        """Keys are in lower case; one that was sent twice is there twice."""
        ...

    def time_remaining(self) -> float | None:
        """Seconds until nobody waits for the answer any more, if that was said."""
        ...

    def peer(self) -> str: ...

    async def abort(self, code: grpc.StatusCode, details: str, trailing_metadata: tuple[tuple[str, bytes], ...], /) -> NoReturn:
        """Tells the refusal: the metadata is an encoded google.rpc.Status. Ends the call by an exception."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """What a service method may know about the call it answers. It adds to `facts` what is worth a word in logs and metrics."""

    caller: Caller
    request_id: str
    wait_seconds: float
    facts: dict[str, Any] = field(default_factory=dict)


UnaryMethod = Callable[[Call, Any], Awaitable[Message | bytes]]
StreamMethod = Callable[[Call, Any], AsyncIterator[Message]]


class Method(NamedTuple):
    """How a method is answered, and the role that it takes."""

    answer: UnaryMethod | StreamMethod
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What stands between the doors and the services."""

    identity: Identity
    admission: Admission
    metrics: Metrics
    audit: Audit
    tracer: Tracer
    log_queries: bool = False


def service_handler(service: ServiceDescriptor, methods: Mapping[str, Method], edge: Edge) -> grpc.GenericRpcHandler:
    """All methods of a service, by name; a method that the contract has and `methods` lacks is a KeyError at start."""
    handlers = {method.name: _handler(method, methods[method.name], edge) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _handler(descriptor: MethodDescriptor, method: Method, edge: Edge) -> "grpc.RpcMethodHandler[bytes, bytes]":
    answer: Any = method.answer
    decode = _decoder(descriptor)

    async def unary(data: bytes, context: Context) -> bytes:
        async with Around(descriptor, method.role, context, edge, data, decode) as around:
            response: Message | bytes = await answer(around.call, around.request())
            return response if isinstance(response, bytes) else response.SerializeToString()

    async def stream(data: bytes, context: Context) -> AsyncIterator[bytes]:
        async with (
            Around(descriptor, method.role, context, edge, data, decode) as around,
            aclosing(answer(around.call, around.request())) as responses,
        ):
            async for response in responses:
                await around.check_again()
                yield response.SerializeToString()

    if descriptor.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream)
    return grpc.unary_unary_rpc_method_handler(unary)


def _decoder(descriptor: MethodDescriptor) -> Callable[[bytes], Message]:
    request_class = message_factory.GetMessageClass(descriptor.input_type)

    def decode(data: bytes) -> Message:
        try:
            return request_class.FromString(data)
        except DecodeError as error:
            raise MalformedRequest(f"the request is not a {descriptor.input_type.name}: {error}") from None

    return decode


class Around:
    """Identity and admission before a call, what is to be told of it after it, and any error as a status.

    `decode` makes the request of `data`. It raises ServiceError.
    """

    def __init__(
        self,
        method: Described,
        role: Role,
        context: Context,
        edge: Edge,
        data: bytes,
        decode: Callable[[bytes], Message],
    ) -> None:
        self._method = method
        self._role = role
        self._context = context
        self._edge = edge
        self._data = data
        self._decode = decode
        self._started = time.perf_counter()
        self.request_id = ""
        self._caller: Caller | None = None
        self._identified = False
        self._metadata: dict[str, str] = {}
        self._facts: dict[str, Any] = {}
        self._ending = ExitStack()

    async def __aenter__(self) -> "Around":
        try:
            self.call = await self._begin()
        except BaseException as error:
            await self.__aexit__(type(error), error, None)
            raise
        return self

    def request(self) -> Message:
        request = self._decode(self._data)
        self._facts["catalog"] = shorten(getattr(request, "catalog", ""))
        return request

    async def check_again(self) -> None:
        """Before a stream tells more: since it began its caller's key may have been taken back, or its token have expired."""
        try:
            caller = await self._edge.identity.identify(self._metadata)
            if caller.tenant != self.call.caller.tenant:
                raise TenantDenied(TENANT_HEADER, caller)
            self._check_role(caller)
        except ServiceError:
            self._identified = False
            raise

    def _check_role(self, caller: Caller) -> None:
        if caller.role < self._role:
            raise RoleDenied(self._method.name, role=caller.role.label, needed=self._role.label)

    async def _begin(self) -> Call:
        pairs = [(key, value) for key, value in self._context.invocation_metadata() or () if isinstance(value, str)]
        metadata = self._metadata = dict(pairs)
        self.request_id = metadata.get(REQUEST_ID_HEADER, "")[:MAX_REQUEST_ID_LENGTH] or f"{_ids.getrandbits(64):016x}"
        if len(metadata) < len(pairs):
            _refuse_ambiguity(pairs)
        try:
            caller = self._caller = await self._edge.identity.identify(metadata)
        except TenantDenied as error:
            self._caller = error.caller
            raise
        structlog.contextvars.bind_contextvars(request_id=self.request_id, tenant=caller.tenant, method=self._method.name)
        enter = self._edge.admission.watch if self._method.server_streaming else self._edge.admission.call
        self._ending.enter_context(enter(caller.tenant))
        self._check_role(caller)
        self._identified = True
        self._ending.enter_context(
            self._edge.tracer.span(self._method.full_name, metadata.get(TRACE_HEADER, ""), {"toolsearch.tenant": caller.tenant})
        )
        remaining = self._context.time_remaining()
        wait = DEFAULT_WAIT_SECONDS if remaining is None else max(0.0, remaining * DEADLINE_SHARE)
        return Call(caller, self.request_id, wait, self._facts)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._ending.close()
        if error is None:
            self._ended("OK")
        elif isinstance(error, ServiceError):
            await self._refuse(error)
        elif isinstance(error, Exception):
            log.exception("call failed")
            code, status = internal_error(self.request_id)
            self._ended(code.name, reason=status.reason)
            await self._abort(code, status)
        else:
            self._ended("CANCELLED")

    async def _refuse(self, error: ServiceError) -> None:
        self._ending.close()
        code, status = status_of(error)
        self._ended(code.name, reason=status.reason, message=status.message, error=error)
        if isinstance(error, RateLimited):
            await self._edge.admission.hold_back()
        await self._abort(code, status)

    async def _abort(self, code: grpc.StatusCode, status: RpcStatus) -> None:
        await self._context.abort(code, status.message, ((METADATA_KEY, status.encode()),))

    def _ended(self, code: str, *, reason: str = "", message: str = "", error: ServiceError | None = None) -> None:
        seconds = time.perf_counter() - self._started
        tenant = "" if self._caller is None else self._caller.tenant
        facts = self._facts
        strategy = facts.get("strategy", "")
        self._edge.metrics.call_ended(
            self._method.name,
            code,
            tenant=tenant,
            strategy=strategy,
            reason=reason,
            seconds=seconds,
            stream=self._method.server_streaming,
        )
        if "results" in facts:
            self._edge.metrics.searched(strategy, facts["results"])
        planned = {name: facts[name] for name in ("eager", "deferred", "search_tool") if name in facts}
        if planned and code == "OK":
            self._edge.metrics.planned(**planned)
        for outcome, by_search in facts.get("used", ()):
            self._edge.metrics.usage_reported(outcome, by_search=by_search)
        refused_identity = not self._identified and not isinstance(error, ADMISSION_REFUSALS)
        if self._role > Role.READER or refused_identity:
            self._audit(code, reason)
        queries = facts.pop("queries", None)
        shown = {"queries": queries} if queries and self._edge.log_queries else {}
        ordinary = code in ("OK", "CANCELLED") or isinstance(error, ADMISSION_REFUSALS)
        level = logging.DEBUG if ordinary and not shown else logging.INFO
        if not log.is_enabled_for(level):
            return
        told = {"reason": reason, "error": message, "catalog": facts.get("catalog", ""), "strategy": strategy}
        log.log(
            level,
            "call",
            method=self._method.name,
            code=code,
            tenant=tenant,
            request_id=self.request_id,
            ms=round(seconds * 1000, 2),
            **{name: value for name, value in told.items() if value},
            **planned,
            **shown,
        )

    def _audit(self, code: str, reason: str) -> None:
        if self._caller is not None and "catalog" not in self._facts and len(self._data) <= RECORDED_BYTES:
            with suppress(ServiceError):
                self.request()  # refused before it was looked at: for the record it is
        written: dict[str, Any] = {
            name: self._facts[name] for name in ("revision", "added", "updated", "deleted") if name in self._facts
        }
        self._edge.audit.record(
            self._method.name,
            who="" if self._caller is None else self._caller.subject,
            tenant="" if self._caller is None else self._caller.tenant,
            catalog=self._facts.get("catalog", ""),
            origin=self._context.peer(),
            outcome=reason or code,
            request_id=self.request_id,
            facts=written,
        )


def _refuse_ambiguity(pairs: list[tuple[str, str]]) -> None:
    """Two credentials or tenants in one call: whoever put the second one there may not have meant the first."""
    keys = [key for key, _ in pairs]
    for key in (AUTHORIZATION_HEADER, TENANT_HEADER):
        if keys.count(key) > 1:
            raise FieldInvalid(f"the metadata {key} is there more than once", field=key, allowed="once")
