"""google.rpc.Status with the details that toolsearch sends (AIP-193): ErrorInfo, BadRequest and RetryInfo.

The messages are described here, in a descriptor pool of their own, instead of depending on googleapis-common-protos: the client
needs four of them, and a private pool cannot clash with an application's own copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, json_format, message, message_factory

METADATA_KEY = "grpc-status-details-bin"
DOMAIN = "toolsearch"

_STRING, _INT32, _MESSAGE = (
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
)


@dataclass(frozen=True)
class RpcStatus:
    """What a failed call says about itself."""

    code: int
    message: str
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_seconds: float | None = None

    def encode(self) -> bytes:
        """As the value of the trailing metadata key `grpc-status-details-bin`."""
        details = [_new("ErrorInfo", reason=self.reason, domain=DOMAIN, metadata=self.metadata)]
        if "field" in self.metadata and self.code == INVALID_ARGUMENT:
            violation = {"field": self.metadata["field"], "description": self.message, "reason": self.reason}
            details.append(_new("BadRequest", field_violations=[violation]))
        if self.retry_seconds is not None:
            retry_info = _new("RetryInfo")
            retry_info.retry_delay.FromNanoseconds(int(self.retry_seconds * 1e9))
            details.append(retry_info)
        status = _new("Status", code=self.code, message=self.message)
        for detail in details:
            status.details.add().Pack(detail)
        encoded: bytes = status.SerializeToString(deterministic=True)
        return encoded

    @classmethod
    def decode(cls, data: bytes) -> "RpcStatus":
        """Details of other kinds are passed over. Raises google.protobuf.message.DecodeError."""
        status: Any = _CLASSES["Status"]()
        status.ParseFromString(data)
        error_info, retry_info = _new("ErrorInfo"), _new("RetryInfo")
        retry_seconds = None
        for detail in status.details:
            if detail.Is(error_info.DESCRIPTOR):
                detail.Unpack(error_info)
            elif detail.Is(retry_info.DESCRIPTOR):
                detail.Unpack(retry_info)
                retry_seconds = retry_info.retry_delay.ToNanoseconds() / 1e9
        return cls(status.code, status.message, error_info.reason, dict(error_info.metadata), retry_seconds)


INVALID_ARGUMENT = 3


def as_json(encoded: bytes) -> str:
    """An encoded status in protobuf's JSON, with its details."""
    status = _CLASSES["Status"].FromString(encoded)
    pool: Any = status.DESCRIPTOR.file.pool
    return json_format.MessageToJson(status, indent=None, ensure_ascii=False, descriptor_pool=pool)


def _new(name: str, **values: Any) -> Any:
    return _CLASSES[name](**values)


def _message(name: str, *fields: tuple[str, int, int] | tuple[str, int, int, str]) -> descriptor_pb2.DescriptorProto:
    """Fields are (name, number, type[, type name]); a name ending in "[]" is repeated."""
    described = descriptor_pb2.DescriptorProto(name=name)
    for field_name, number, kind, *type_name in fields:
        added = described.field.add(name=field_name.removesuffix("[]"), number=number, type=kind)
        repeated = field_name.endswith("[]")
        added.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED if repeated else added.LABEL_OPTIONAL
        if type_name:
            added.type_name = type_name[0]
    return described


def _classes() -> dict[str, type[message.Message]]:
    error_info = _message(
        "ErrorInfo",
        ("reason", 1, _STRING),
        ("domain", 2, _STRING),
        ("metadata[]", 3, _MESSAGE, ".google.rpc.ErrorInfo.MetadataEntry"),
    )
    entry = _message("MetadataEntry", ("key", 1, _STRING), ("value", 2, _STRING))
    entry.options.map_entry = True
    error_info.nested_type.append(entry)
    bad_request = _message("BadRequest", ("field_violations[]", 1, _MESSAGE, ".google.rpc.BadRequest.FieldViolation"))
    bad_request.nested_type.append(
        _message("FieldViolation", ("field", 1, _STRING), ("description", 2, _STRING), ("reason", 3, _STRING))
    )
    file = descriptor_pb2.FileDescriptorProto(
        name="toolsearch/rpcstatus.proto",
        package="google.rpc",
        syntax="proto3",
        dependency=["google/protobuf/any.proto", "google/protobuf/duration.proto"],
        message_type=[
            _message(
                "Status", ("code", 1, _INT32), ("message", 2, _STRING), ("details[]", 3, _MESSAGE, ".google.protobuf.Any")
            ),
            error_info,
            bad_request,
            _message("RetryInfo", ("retry_delay", 1, _MESSAGE, ".google.protobuf.Duration")),
        ],
    )
    pool = descriptor_pool.DescriptorPool()
    for dependency in (any_pb2, duration_pb2):
        pool.AddSerializedFile(dependency.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return {
        described.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.rpc.{described.name}"))
        for described in file.message_type
    }


_CLASSES = _classes()
