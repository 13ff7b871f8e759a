from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_REQUEST: _ClassVar[ErrorReason]
    ERROR_REASON_FIELD_REQUIRED: _ClassVar[ErrorReason]
    ERROR_REASON_FIELD_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_LIMIT_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_DEFINITION_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_DUPLICATE_ENTRY: _ClassVar[ErrorReason]
    ERROR_REASON_PATTERN_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_PAGE_TOKEN_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_CATALOG_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_REVISION_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_WRITE_CONTENTION: _ClassVar[ErrorReason]
    ERROR_REASON_CATALOG_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_STRATEGY_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_REVISION_NOT_REACHED: _ClassVar[ErrorReason]
    ERROR_REASON_STORE_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_SEARCH_TOO_COSTLY: _ClassVar[ErrorReason]
    ERROR_REASON_SHUTTING_DOWN: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_MALFORMED_REQUEST: ErrorReason
ERROR_REASON_FIELD_REQUIRED: ErrorReason
ERROR_REASON_FIELD_INVALID: ErrorReason
ERROR_REASON_LIMIT_EXCEEDED: ErrorReason
ERROR_REASON_DEFINITION_INVALID: ErrorReason
ERROR_REASON_DUPLICATE_ENTRY: ErrorReason
ERROR_REASON_PATTERN_INVALID: ErrorReason
ERROR_REASON_PAGE_TOKEN_INVALID: ErrorReason
ERROR_REASON_CATALOG_NOT_FOUND: ErrorReason
ERROR_REASON_REVISION_MISMATCH: ErrorReason
ERROR_REASON_WRITE_CONTENTION: ErrorReason
ERROR_REASON_CATALOG_FULL: ErrorReason
ERROR_REASON_STRATEGY_UNAVAILABLE: ErrorReason
ERROR_REASON_REVISION_NOT_REACHED: ErrorReason
ERROR_REASON_STORE_UNAVAILABLE: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_SEARCH_TOO_COSTLY: ErrorReason
ERROR_REASON_SHUTTING_DOWN: ErrorReason
