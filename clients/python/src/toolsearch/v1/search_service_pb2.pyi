from toolsearch.v1 import entry_pb2 as _entry_pb2
from toolsearch.v1 import plan_pb2 as _plan_pb2
from toolsearch.v1 import strategy_pb2 as _strategy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MatchedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MATCHED_BY_UNSPECIFIED: _ClassVar[MatchedBy]
    MATCHED_BY_NAME: _ClassVar[MatchedBy]
    MATCHED_BY_WORDS: _ClassVar[MatchedBy]
    MATCHED_BY_PATTERN: _ClassVar[MatchedBy]
    MATCHED_BY_SPELLING: _ClassVar[MatchedBy]
    MATCHED_BY_MEANING: _ClassVar[MatchedBy]

class SearchField(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_FIELD_UNSPECIFIED: _ClassVar[SearchField]
    SEARCH_FIELD_NAME: _ClassVar[SearchField]
    SEARCH_FIELD_DESCRIPTION: _ClassVar[SearchField]
    SEARCH_FIELD_PARAMETERS: _ClassVar[SearchField]

class UsageOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USAGE_OUTCOME_UNSPECIFIED: _ClassVar[UsageOutcome]
    USAGE_OUTCOME_SUCCEEDED: _ClassVar[UsageOutcome]
    USAGE_OUTCOME_FAILED: _ClassVar[UsageOutcome]
    USAGE_OUTCOME_DECLINED: _ClassVar[UsageOutcome]
MATCHED_BY_UNSPECIFIED: MatchedBy
MATCHED_BY_NAME: MatchedBy
MATCHED_BY_WORDS: MatchedBy
MATCHED_BY_PATTERN: MatchedBy
MATCHED_BY_SPELLING: MatchedBy
MATCHED_BY_MEANING: MatchedBy
SEARCH_FIELD_UNSPECIFIED: SearchField
SEARCH_FIELD_NAME: SearchField
SEARCH_FIELD_DESCRIPTION: SearchField
SEARCH_FIELD_PARAMETERS: SearchField
USAGE_OUTCOME_UNSPECIFIED: UsageOutcome
USAGE_OUTCOME_SUCCEEDED: UsageOutcome
USAGE_OUTCOME_FAILED: UsageOutcome
USAGE_OUTCOME_DECLINED: UsageOutcome

class SearchToolsRequest(_message.Message):
    __slots__ = ("catalog", "queries", "strategy", "limit", "filter", "detail", "min_revision", "epoch", "explain", "fields", "case_sensitive", "min_relevance")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    CASE_SENSITIVE_FIELD_NUMBER: _ClassVar[int]
    MIN_RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    queries: _containers.RepeatedScalarFieldContainer[str]
    strategy: _strategy_pb2.Strategy
    limit: int
    filter: _entry_pb2.Filter
    detail: _entry_pb2.Detail
    min_revision: int
    epoch: str
    explain: bool
    fields: _containers.RepeatedScalarFieldContainer[SearchField]
    case_sensitive: bool
    min_relevance: float
    def __init__(self, catalog: _Optional[str] = ..., queries: _Optional[_Iterable[str]] = ..., strategy: _Optional[_Union[_strategy_pb2.Strategy, str]] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[_entry_pb2.Filter, _Mapping]] = ..., detail: _Optional[_Union[_entry_pb2.Detail, str]] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ..., explain: bool = ..., fields: _Optional[_Iterable[_Union[SearchField, str]]] = ..., case_sensitive: bool = ..., min_relevance: _Optional[float] = ...) -> None: ...

class SearchToolsResponse(_message.Message):
    __slots__ = ("matches", "total", "version", "strategy", "message", "near_names", "search_id")
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    NEAR_NAMES_FIELD_NUMBER: _ClassVar[int]
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    matches: _containers.RepeatedCompositeFieldContainer[Match]
    total: int
    version: _entry_pb2.Version
    strategy: _strategy_pb2.Strategy
    message: str
    near_names: _containers.RepeatedScalarFieldContainer[str]
    search_id: str
    def __init__(self, matches: _Optional[_Iterable[_Union[Match, _Mapping]]] = ..., total: _Optional[int] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., strategy: _Optional[_Union[_strategy_pb2.Strategy, str]] = ..., message: _Optional[str] = ..., near_names: _Optional[_Iterable[str]] = ..., search_id: _Optional[str] = ...) -> None: ...

class Match(_message.Message):
    __slots__ = ("entry", "score", "relevance", "reason", "matched_by", "explanation")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MATCHED_BY_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    entry: _entry_pb2.Entry
    score: float
    relevance: float
    reason: str
    matched_by: _containers.RepeatedScalarFieldContainer[MatchedBy]
    explanation: _containers.RepeatedCompositeFieldContainer[ScorePart]
    def __init__(self, entry: _Optional[_Union[_entry_pb2.Entry, _Mapping]] = ..., score: _Optional[float] = ..., relevance: _Optional[float] = ..., reason: _Optional[str] = ..., matched_by: _Optional[_Iterable[_Union[MatchedBy, str]]] = ..., explanation: _Optional[_Iterable[_Union[ScorePart, _Mapping]]] = ...) -> None: ...

class ScorePart(_message.Message):
    __slots__ = ("name", "value", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    detail: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., detail: _Optional[str] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ("catalog", "filter", "page_size", "page_token", "detail", "min_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    filter: _entry_pb2.Filter
    page_size: int
    page_token: str
    detail: _entry_pb2.Detail
    min_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., filter: _Optional[_Union[_entry_pb2.Filter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., detail: _Optional[_Union[_entry_pb2.Detail, str]] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("entries", "next_page_token", "total_size", "version")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_entry_pb2.Entry]
    next_page_token: str
    total_size: int
    version: _entry_pb2.Version
    def __init__(self, entries: _Optional[_Iterable[_Union[_entry_pb2.Entry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("catalog", "parent", "page_size", "page_token", "min_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    parent: str
    page_size: int
    page_token: str
    min_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token", "total_size", "version")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[Namespace]
    next_page_token: str
    total_size: int
    version: _entry_pb2.Version
    def __init__(self, namespaces: _Optional[_Iterable[_Union[Namespace, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ...) -> None: ...

class Namespace(_message.Message):
    __slots__ = ("name", "entry_count", "total_entry_count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    entry_count: int
    total_entry_count: int
    def __init__(self, name: _Optional[str] = ..., entry_count: _Optional[int] = ..., total_entry_count: _Optional[int] = ...) -> None: ...

class GetToolsRequest(_message.Message):
    __slots__ = ("catalog", "names", "detail", "min_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    names: _containers.RepeatedScalarFieldContainer[str]
    detail: _entry_pb2.Detail
    min_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., detail: _Optional[_Union[_entry_pb2.Detail, str]] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class GetToolsResponse(_message.Message):
    __slots__ = ("entries", "missing", "version", "omitted_names")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OMITTED_NAMES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_entry_pb2.Entry]
    missing: _containers.RepeatedCompositeFieldContainer[MissingEntry]
    version: _entry_pb2.Version
    omitted_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entries: _Optional[_Iterable[_Union[_entry_pb2.Entry, _Mapping]]] = ..., missing: _Optional[_Iterable[_Union[MissingEntry, _Mapping]]] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., omitted_names: _Optional[_Iterable[str]] = ...) -> None: ...

class MissingEntry(_message.Message):
    __slots__ = ("name", "near_names")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEAR_NAMES_FIELD_NUMBER: _ClassVar[int]
    name: str
    near_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., near_names: _Optional[_Iterable[str]] = ...) -> None: ...

class UsageReport(_message.Message):
    __slots__ = ("name", "outcome", "search_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SEARCH_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    outcome: UsageOutcome
    search_id: str
    def __init__(self, name: _Optional[str] = ..., outcome: _Optional[_Union[UsageOutcome, str]] = ..., search_id: _Optional[str] = ...) -> None: ...

class ReportUsageRequest(_message.Message):
    __slots__ = ("catalog", "reports")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    reports: _containers.RepeatedCompositeFieldContainer[UsageReport]
    def __init__(self, catalog: _Optional[str] = ..., reports: _Optional[_Iterable[_Union[UsageReport, _Mapping]]] = ...) -> None: ...

class ReportUsageResponse(_message.Message):
    __slots__ = ("accepted", "unknown_names")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_NAMES_FIELD_NUMBER: _ClassVar[int]
    accepted: int
    unknown_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, accepted: _Optional[int] = ..., unknown_names: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchCatalogRequest(_message.Message):
    __slots__ = ("catalog", "from_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    FROM_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    from_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., from_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class WatchCatalogResponse(_message.Message):
    __slots__ = ("version", "current", "changed", "snapshot_needed", "deleted")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_NEEDED_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    version: _entry_pb2.Version
    current: CatalogCurrent
    changed: CatalogChanged
    snapshot_needed: SnapshotNeeded
    deleted: CatalogDeleted
    def __init__(self, version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., current: _Optional[_Union[CatalogCurrent, _Mapping]] = ..., changed: _Optional[_Union[CatalogChanged, _Mapping]] = ..., snapshot_needed: _Optional[_Union[SnapshotNeeded, _Mapping]] = ..., deleted: _Optional[_Union[CatalogDeleted, _Mapping]] = ...) -> None: ...

class CatalogCurrent(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CatalogChanged(_message.Message):
    __slots__ = ("upserted_names", "deleted_names", "settings_changed")
    UPSERTED_NAMES_FIELD_NUMBER: _ClassVar[int]
    DELETED_NAMES_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    upserted_names: _containers.RepeatedScalarFieldContainer[str]
    deleted_names: _containers.RepeatedScalarFieldContainer[str]
    settings_changed: bool
    def __init__(self, upserted_names: _Optional[_Iterable[str]] = ..., deleted_names: _Optional[_Iterable[str]] = ..., settings_changed: bool = ...) -> None: ...

class SnapshotNeeded(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CatalogDeleted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReadResourceRequest(_message.Message):
    __slots__ = ("catalog", "name", "path", "min_revision", "epoch")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    name: str
    path: str
    min_revision: int
    epoch: str
    def __init__(self, catalog: _Optional[str] = ..., name: _Optional[str] = ..., path: _Optional[str] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ...) -> None: ...

class ReadResourceResponse(_message.Message):
    __slots__ = ("resource", "data")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    resource: _entry_pb2.Resource
    data: bytes
    def __init__(self, resource: _Optional[_Union[_entry_pb2.Resource, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...
