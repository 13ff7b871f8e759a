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

class ApplyChangesRequest(_message.Message):
    __slots__ = ("catalog", "upserts", "deletes", "expected_revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_FIELD_NUMBER: _ClassVar[int]
    DELETES_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    upserts: _containers.RepeatedCompositeFieldContainer[_entry_pb2.EntryInput]
    deletes: _containers.RepeatedScalarFieldContainer[str]
    expected_revision: int
    def __init__(self, catalog: _Optional[str] = ..., upserts: _Optional[_Iterable[_Union[_entry_pb2.EntryInput, _Mapping]]] = ..., deletes: _Optional[_Iterable[str]] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class ApplyChangesResponse(_message.Message):
    __slots__ = ("version", "summary")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    version: _entry_pb2.Version
    summary: ChangeSummary
    def __init__(self, version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., summary: _Optional[_Union[ChangeSummary, _Mapping]] = ...) -> None: ...

class SyncServerRequest(_message.Message):
    __slots__ = ("catalog", "server", "entries", "expected_revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    server: str
    entries: _containers.RepeatedCompositeFieldContainer[_entry_pb2.EntryInput]
    expected_revision: int
    def __init__(self, catalog: _Optional[str] = ..., server: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[_entry_pb2.EntryInput, _Mapping]]] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class SyncServerResponse(_message.Message):
    __slots__ = ("version", "summary")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    version: _entry_pb2.Version
    summary: ChangeSummary
    def __init__(self, version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., summary: _Optional[_Union[ChangeSummary, _Mapping]] = ...) -> None: ...

class DeleteServerRequest(_message.Message):
    __slots__ = ("catalog", "server", "expected_revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    server: str
    expected_revision: int
    def __init__(self, catalog: _Optional[str] = ..., server: _Optional[str] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class DeleteServerResponse(_message.Message):
    __slots__ = ("version", "summary")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    version: _entry_pb2.Version
    summary: ChangeSummary
    def __init__(self, version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., summary: _Optional[_Union[ChangeSummary, _Mapping]] = ...) -> None: ...

class ChangeSummary(_message.Message):
    __slots__ = ("added", "updated", "deleted", "unchanged", "notices")
    ADDED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    added: _containers.RepeatedScalarFieldContainer[str]
    updated: _containers.RepeatedScalarFieldContainer[str]
    deleted: _containers.RepeatedScalarFieldContainer[str]
    unchanged: int
    notices: _containers.RepeatedCompositeFieldContainer[NameNotice]
    def __init__(self, added: _Optional[_Iterable[str]] = ..., updated: _Optional[_Iterable[str]] = ..., deleted: _Optional[_Iterable[str]] = ..., unchanged: _Optional[int] = ..., notices: _Optional[_Iterable[_Union[NameNotice, _Mapping]]] = ...) -> None: ...

class NameNotice(_message.Message):
    __slots__ = ("server", "local_name", "name", "alias", "explanation")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    LOCAL_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    server: str
    local_name: str
    name: str
    alias: str
    explanation: str
    def __init__(self, server: _Optional[str] = ..., local_name: _Optional[str] = ..., name: _Optional[str] = ..., alias: _Optional[str] = ..., explanation: _Optional[str] = ...) -> None: ...

class GetCatalogRequest(_message.Message):
    __slots__ = ("catalog",)
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    def __init__(self, catalog: _Optional[str] = ...) -> None: ...

class GetCatalogResponse(_message.Message):
    __slots__ = ("catalog",)
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    catalog: Catalog
    def __init__(self, catalog: _Optional[_Union[Catalog, _Mapping]] = ...) -> None: ...

class GetSettingsRequest(_message.Message):
    __slots__ = ("catalog", "min_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    min_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class GetSettingsResponse(_message.Message):
    __slots__ = ("settings", "version")
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    settings: _settings_pb2.CatalogSettings
    version: _entry_pb2.Version
    def __init__(self, settings: _Optional[_Union[_settings_pb2.CatalogSettings, _Mapping]] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ...) -> None: ...

class UpdateSettingsRequest(_message.Message):
    __slots__ = ("catalog", "settings", "expected_revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    settings: _settings_pb2.CatalogSettings
    expected_revision: int
    def __init__(self, catalog: _Optional[str] = ..., settings: _Optional[_Union[_settings_pb2.CatalogSettings, _Mapping]] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class UpdateSettingsResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: _entry_pb2.Version
    def __init__(self, version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ...) -> None: ...

class ListCatalogsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCatalogsResponse(_message.Message):
    __slots__ = ("catalogs", "next_page_token", "total_size")
    CATALOGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    catalogs: _containers.RepeatedCompositeFieldContainer[CatalogListing]
    next_page_token: str
    total_size: int
    def __init__(self, catalogs: _Optional[_Iterable[_Union[CatalogListing, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class DeleteCatalogRequest(_message.Message):
    __slots__ = ("catalog", "expected_revision")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    expected_revision: int
    def __init__(self, catalog: _Optional[str] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class DeleteCatalogResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTenantsResponse(_message.Message):
    __slots__ = ("tenants", "next_page_token", "total_size")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[TenantListing]
    next_page_token: str
    total_size: int
    def __init__(self, tenants: _Optional[_Iterable[_Union[TenantListing, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class TenantListing(_message.Message):
    __slots__ = ("name", "catalog_count", "entry_count", "bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CATALOG_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    catalog_count: int
    entry_count: int
    bytes: int
    def __init__(self, name: _Optional[str] = ..., catalog_count: _Optional[int] = ..., entry_count: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class CatalogListing(_message.Message):
    __slots__ = ("name", "version", "update_time", "entry_count", "bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: _entry_pb2.Version
    update_time: _timestamp_pb2.Timestamp
    entry_count: int
    bytes: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., entry_count: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class Catalog(_message.Message):
    __slots__ = ("name", "version", "update_time", "entry_count", "tokens", "servers", "kinds")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: _entry_pb2.Version
    update_time: _timestamp_pb2.Timestamp
    entry_count: int
    tokens: int
    servers: _containers.RepeatedCompositeFieldContainer[ServerStats]
    kinds: _containers.RepeatedCompositeFieldContainer[KindStats]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., entry_count: _Optional[int] = ..., tokens: _Optional[int] = ..., servers: _Optional[_Iterable[_Union[ServerStats, _Mapping]]] = ..., kinds: _Optional[_Iterable[_Union[KindStats, _Mapping]]] = ...) -> None: ...

class ServerStats(_message.Message):
    __slots__ = ("server", "entry_count", "tokens")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    server: str
    entry_count: int
    tokens: int
    def __init__(self, server: _Optional[str] = ..., entry_count: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class KindStats(_message.Message):
    __slots__ = ("kind", "entry_count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: _entry_pb2.EntryKind
    entry_count: int
    def __init__(self, kind: _Optional[_Union[_entry_pb2.EntryKind, str]] = ..., entry_count: _Optional[int] = ...) -> None: ...
