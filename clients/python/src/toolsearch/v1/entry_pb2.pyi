import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EntryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENTRY_KIND_UNSPECIFIED: _ClassVar[EntryKind]
    ENTRY_KIND_TOOL: _ClassVar[EntryKind]
    ENTRY_KIND_SKILL: _ClassVar[EntryKind]
    ENTRY_KIND_AGENT: _ClassVar[EntryKind]
    ENTRY_KIND_PROMPT: _ClassVar[EntryKind]
    ENTRY_KIND_RESOURCE: _ClassVar[EntryKind]

class Detail(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DETAIL_UNSPECIFIED: _ClassVar[Detail]
    DETAIL_NAME: _ClassVar[Detail]
    DETAIL_SUMMARY: _ClassVar[Detail]
    DETAIL_FULL: _ClassVar[Detail]
ENTRY_KIND_UNSPECIFIED: EntryKind
ENTRY_KIND_TOOL: EntryKind
ENTRY_KIND_SKILL: EntryKind
ENTRY_KIND_AGENT: EntryKind
ENTRY_KIND_PROMPT: EntryKind
ENTRY_KIND_RESOURCE: EntryKind
DETAIL_UNSPECIFIED: Detail
DETAIL_NAME: Detail
DETAIL_SUMMARY: Detail
DETAIL_FULL: Detail

class Annotations(_message.Message):
    __slots__ = ("read_only", "destructive", "idempotent", "open_world")
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    def __init__(self, read_only: bool = ..., destructive: bool = ..., idempotent: bool = ..., open_world: bool = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("name", "alias", "server", "local_name", "kind", "title", "summary", "tags", "capabilities", "annotations", "digest", "tokens", "description", "definition", "resources")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    name: str
    alias: str
    server: str
    local_name: str
    kind: EntryKind
    title: str
    summary: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    annotations: Annotations
    digest: str
    tokens: int
    description: str
    definition: str
    resources: _containers.RepeatedCompositeFieldContainer[Resource]
    def __init__(self, name: _Optional[str] = ..., alias: _Optional[str] = ..., server: _Optional[str] = ..., local_name: _Optional[str] = ..., kind: _Optional[_Union[EntryKind, str]] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[str]] = ..., annotations: _Optional[_Union[Annotations, _Mapping]] = ..., digest: _Optional[str] = ..., tokens: _Optional[int] = ..., description: _Optional[str] = ..., definition: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[Resource, _Mapping]]] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("path", "media_type", "size", "digest")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    path: str
    media_type: str
    size: int
    digest: str
    def __init__(self, path: _Optional[str] = ..., media_type: _Optional[str] = ..., size: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class ResourceInput(_message.Message):
    __slots__ = ("path", "media_type", "content")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    path: str
    media_type: str
    content: bytes
    def __init__(self, path: _Optional[str] = ..., media_type: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class EntryInput(_message.Message):
    __slots__ = ("server", "kind", "definition", "namespace", "tags", "capabilities", "summary", "resources")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    server: str
    kind: EntryKind
    definition: str
    namespace: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    summary: str
    resources: _containers.RepeatedCompositeFieldContainer[ResourceInput]
    def __init__(self, server: _Optional[str] = ..., kind: _Optional[_Union[EntryKind, str]] = ..., definition: _Optional[str] = ..., namespace: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[str]] = ..., summary: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[ResourceInput, _Mapping]]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("servers", "namespaces", "tags", "kinds", "capabilities", "read_only", "destructive", "idempotent", "open_world", "excluded_names")
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DESTRUCTIVE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OPEN_WORLD_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_NAMES_FIELD_NUMBER: _ClassVar[int]
    servers: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[EntryKind]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    excluded_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, servers: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[_Union[EntryKind, str]]] = ..., capabilities: _Optional[_Iterable[str]] = ..., read_only: bool = ..., destructive: bool = ..., idempotent: bool = ..., open_world: bool = ..., excluded_names: _Optional[_Iterable[str]] = ...) -> None: ...

class Version(_message.Message):
    __slots__ = ("epoch", "revision", "staleness")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STALENESS_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    revision: int
    staleness: _duration_pb2.Duration
    def __init__(self, epoch: _Optional[str] = ..., revision: _Optional[int] = ..., staleness: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
