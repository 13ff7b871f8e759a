import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from toolsearch.v1 import entry_pb2 as _entry_pb2
from toolsearch.v1 import settings_pb2 as _settings_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StoredEntry(_message.Message):
    __slots__ = ("server", "kind", "local_name", "name", "alias", "namespace", "definition", "tags", "capabilities", "summary", "resources")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    server: str
    kind: _entry_pb2.EntryKind
    local_name: str
    name: str
    alias: str
    namespace: str
    definition: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    summary: str
    resources: _containers.RepeatedCompositeFieldContainer[_entry_pb2.Resource]
    def __init__(self, server: _Optional[str] = ..., kind: _Optional[_Union[_entry_pb2.EntryKind, str]] = ..., local_name: _Optional[str] = ..., name: _Optional[str] = ..., alias: _Optional[str] = ..., namespace: _Optional[str] = ..., definition: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[str]] = ..., summary: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[_entry_pb2.Resource, _Mapping]]] = ...) -> None: ...

class EntryKey(_message.Message):
    __slots__ = ("server", "kind", "local_name")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NAME_FIELD_NUMBER: _ClassVar[int]
    server: str
    kind: _entry_pb2.EntryKind
    local_name: str
    def __init__(self, server: _Optional[str] = ..., kind: _Optional[_Union[_entry_pb2.EntryKind, str]] = ..., local_name: _Optional[str] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("epoch", "revision", "time", "upserts", "deletes", "gone_names", "id", "trace_parent", "previous_id", "settings")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_FIELD_NUMBER: _ClassVar[int]
    DELETES_FIELD_NUMBER: _ClassVar[int]
    GONE_NAMES_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_PARENT_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    revision: int
    time: _timestamp_pb2.Timestamp
    upserts: _containers.RepeatedCompositeFieldContainer[StoredEntry]
    deletes: _containers.RepeatedCompositeFieldContainer[EntryKey]
    gone_names: _containers.RepeatedScalarFieldContainer[str]
    id: str
    trace_parent: str
    previous_id: str
    settings: _settings_pb2.CatalogSettings
    def __init__(self, epoch: _Optional[str] = ..., revision: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upserts: _Optional[_Iterable[_Union[StoredEntry, _Mapping]]] = ..., deletes: _Optional[_Iterable[_Union[EntryKey, _Mapping]]] = ..., gone_names: _Optional[_Iterable[str]] = ..., id: _Optional[str] = ..., trace_parent: _Optional[str] = ..., previous_id: _Optional[str] = ..., settings: _Optional[_Union[_settings_pb2.CatalogSettings, _Mapping]] = ...) -> None: ...

class Announcement(_message.Message):
    __slots__ = ("epoch", "revision", "change", "deleted", "id")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    revision: int
    change: Change
    deleted: bool
    id: str
    def __init__(self, epoch: _Optional[str] = ..., revision: _Optional[int] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., deleted: bool = ..., id: _Optional[str] = ...) -> None: ...
