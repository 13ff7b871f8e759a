"""From refusals to gRPC statuses."""

import grpc

from toolsearch.rpcstatus import RpcStatus
from toolsearch.v1 import error_reason_pb2 as reasons
from toolsearch_server.errors import ServiceError

CODES = {
    reasons.ERROR_REASON_MALFORMED_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_FIELD_REQUIRED: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_FIELD_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_LIMIT_EXCEEDED: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_DEFINITION_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_DUPLICATE_ENTRY: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_PATTERN_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_PAGE_TOKEN_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    reasons.ERROR_REASON_CATALOG_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    reasons.ERROR_REASON_REVISION_MISMATCH: grpc.StatusCode.ABORTED,
    reasons.ERROR_REASON_WRITE_CONTENTION: grpc.StatusCode.ABORTED,
    reasons.ERROR_REASON_CATALOG_FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_STRATEGY_UNAVAILABLE: grpc.StatusCode.FAILED_PRECONDITION,
    reasons.ERROR_REASON_REVISION_NOT_REACHED: grpc.StatusCode.UNAVAILABLE,
    reasons.ERROR_REASON_STORE_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    reasons.ERROR_REASON_SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    reasons.ERROR_REASON_SEARCH_TOO_COSTLY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_CREDENTIAL_REQUIRED: grpc.StatusCode.UNAUTHENTICATED,
    reasons.ERROR_REASON_CREDENTIAL_INVALID: grpc.StatusCode.UNAUTHENTICATED,
    reasons.ERROR_REASON_ROLE_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    reasons.ERROR_REASON_TENANT_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    reasons.ERROR_REASON_RATE_LIMITED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_OVERLOADED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_QUOTA_EXCEEDED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    reasons.ERROR_REASON_EMBEDDINGS_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    reasons.ERROR_REASON_RESOURCE_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    reasons.ERROR_REASON_RESOURCE_CHANGED: grpc.StatusCode.UNAVAILABLE,
    reasons.ERROR_REASON_INTERNAL: grpc.StatusCode.INTERNAL,
}


def status_of(error: ServiceError) -> tuple[grpc.StatusCode, RpcStatus]:
    code = CODES[error.reason]
    return code, RpcStatus(_number(code), error.message, reason_name(error.reason), error.metadata, error.retry_seconds)


def internal_error(request_id: str) -> tuple[grpc.StatusCode, RpcStatus]:
    """A defect: the log has the details, the caller gets the means to find them there."""
    code = grpc.StatusCode.INTERNAL
    metadata = {"request_id": request_id}
    message = f"the service failed; its log has more under request id {request_id}"
    return code, RpcStatus(_number(code), message, reason_name(reasons.ERROR_REASON_INTERNAL), metadata)


def reason_name(reason: reasons.ErrorReason) -> str:
    return reasons.ErrorReason.Name(reason).removeprefix("ERROR_REASON_")


def _number(code: grpc.StatusCode) -> int:
    return int(code.value[0])
