"""Refusals over HTTP: google.rpc.Status as JSON, under the HTTP status that fits its code."""

import math

from toolsearch import rpcstatus
from toolsearch.rpcstatus import RpcStatus
from toolsearch_server.errors import ServiceError
from toolsearch_server.rpc.status import status_of

Headers = list[tuple[bytes, bytes]]

INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED = 3, 4, 5, 7, 12

HTTP_STATUS = {
    1: 499,  # CANCELLED
    2: 500,  # UNKNOWN
    3: 400,  # INVALID_ARGUMENT
    4: 504,  # DEADLINE_EXCEEDED
    5: 404,  # NOT_FOUND
    6: 409,  # ALREADY_EXISTS
    7: 403,  # PERMISSION_DENIED
    8: 429,  # RESOURCE_EXHAUSTED
    9: 400,  # FAILED_PRECONDITION
    10: 409,  # ABORTED
    11: 400,  # OUT_OF_RANGE
    12: 501,  # UNIMPLEMENTED
    13: 500,  # INTERNAL
    14: 503,  # UNAVAILABLE
    15: 500,  # DATA_LOSS
    16: 401,  # UNAUTHENTICATED
}
"""By the numbers of google.rpc.Code."""


class Refused(Exception):
    """How a request ends that is not answered. `encoded`: a google.rpc.Status, as gRPC sends it in trailing metadata."""

    def __init__(self, encoded: bytes, http_status: int | None = None, headers: Headers | None = None) -> None:
        status = RpcStatus.decode(encoded)
        super().__init__(status.message)
        self.body = rpcstatus.as_json(encoded).encode()
        self.http_status = http_status or HTTP_STATUS[status.code]
        self.headers = list(headers or ())
        if self.http_status == HTTP_STATUS[16]:
            self.headers.append((b"www-authenticate", b"Bearer"))
        if status.retry_seconds is not None:
            self.headers.append((b"retry-after", str(math.ceil(status.retry_seconds)).encode()))


def refused(error: ServiceError, http_status: int | None = None) -> Refused:
    return Refused(status_of(error)[1].encode(), http_status)


def misdirected(
    message: str,
    *,
    code: int,
    http_status: int | None = None,
    reason: str = "MALFORMED_REQUEST",
    headers: Headers | None = None,
    **metadata: str,
) -> Refused:
    """What only HTTP can get wrong: an address, a method, a header."""
    known = {name: value for name, value in metadata.items() if value}
    return Refused(RpcStatus(code, message, reason, known).encode(), http_status, headers)
