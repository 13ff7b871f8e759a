"""What goes wrong with a call.

ToolSearchError
├── InvalidRequest       the request itself is wrong; `field` says where
├── NotFound             there is no such catalog
├── Conflict             another writer was faster, or `expected_revision` no longer holds
├── LimitReached         the catalog or the caller has had all it may have
├── Unauthenticated      no credential, or one that the service does not know (any more)
├── Forbidden            the credential's role or tenant does not allow it
├── NotPossible          this server lacks what the request needs
├── Unavailable          the service cannot be reached or cannot answer now; trying again later may work
├── TimedOut             no answer in time; a write may have happened
└── ServiceFailed        a defect of the service or of what is between
"""

from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from toolsearch.rpcstatus import METADATA_KEY, RpcStatus


class ToolSearchError(Exception):
    """A call that failed.

    `reason` is an ErrorReason of the contract, such as "CATALOG_NOT_FOUND"; empty if the service did not answer.
    `field` is the path of the offending field, `metadata` whatever else is known: "given", "allowed", "limit".
    `retry_seconds` says when to try again, if the service said so.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})

    @property
    def field(self) -> str:
        return self.metadata.get("field", "")


class InvalidRequest(ToolSearchError):
    pass


class NotFound(ToolSearchError):
    pass


class Conflict(ToolSearchError):
    pass


class LimitReached(ToolSearchError):
    pass


class Unauthenticated(ToolSearchError):
    pass


class Forbidden(ToolSearchError):
    pass


class NotPossible(ToolSearchError):
    pass


class Unavailable(ToolSearchError):
    pass


class TimedOut(ToolSearchError):
    pass


class ServiceFailed(ToolSearchError):
    pass


_CLASSES: Mapping[grpc.StatusCode, type[ToolSearchError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitReached,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: Forbidden,
    grpc.StatusCode.FAILED_PRECONDITION: NotPossible,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
}


def from_rpc_error(error: grpc.RpcError, target: str) -> ToolSearchError:
    """The exception for a failed call, with what the service said about it."""
    call: Any = error  # sync and async errors share these methods, but no type
    code: grpc.StatusCode = call.code()
    status = _status(call.trailing_metadata() or ())
    kind = _CLASSES.get(code, ServiceFailed)
    if status is not None:
        return kind(
            status.message,
            code=code.name,
            reason=status.reason,
            metadata=status.metadata,
            retry_seconds=status.retry_seconds,
        )
    message = call.details() or code.name
    if kind is Unavailable:
        message = f"cannot reach toolsearch at {target}: {message}"
    elif kind is TimedOut:
        message = f"no answer from toolsearch at {target} in time"
    return kind(message, code=code.name)


def _status(trailing_metadata: Any) -> RpcStatus | None:
    for key, value in trailing_metadata:
        if key == METADATA_KEY:
            try:
                return RpcStatus.decode(value)
            except DecodeError:
                return None
    return None
