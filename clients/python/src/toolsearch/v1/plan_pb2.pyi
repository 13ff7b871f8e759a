from toolsearch.v1 import entry_pb2 as _entry_pb2
from toolsearch.v1 import strategy_pb2 as _strategy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_SCOPE_UNSPECIFIED: _ClassVar[SearchScope]
    SEARCH_SCOPE_MCP: _ClassVar[SearchScope]
    SEARCH_SCOPE_ALL: _ClassVar[SearchScope]

class SearchExecution(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_EXECUTION_UNSPECIFIED: _ClassVar[SearchExecution]
    SEARCH_EXECUTION_CLIENT: _ClassVar[SearchExecution]
    SEARCH_EXECUTION_PROVIDER: _ClassVar[SearchExecution]

class SearchFallback(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_FALLBACK_UNSPECIFIED: _ClassVar[SearchFallback]
    SEARCH_FALLBACK_SEARCH: _ClassVar[SearchFallback]
    SEARCH_FALLBACK_LOAD: _ClassVar[SearchFallback]
SEARCH_SCOPE_UNSPECIFIED: SearchScope
SEARCH_SCOPE_MCP: SearchScope
SEARCH_SCOPE_ALL: SearchScope
SEARCH_EXECUTION_UNSPECIFIED: SearchExecution
SEARCH_EXECUTION_CLIENT: SearchExecution
SEARCH_EXECUTION_PROVIDER: SearchExecution
SEARCH_FALLBACK_UNSPECIFIED: SearchFallback
SEARCH_FALLBACK_SEARCH: SearchFallback
SEARCH_FALLBACK_LOAD: SearchFallback

class ToolSearchConfig(_message.Message):
    __slots__ = ("enabled", "scope", "strategy", "eager_tools", "max_results", "always_load", "min_tokens", "min_context_share", "min_eager", "auto_eager", "execution", "fallback", "search_tool_name", "local_servers", "preload_tokens", "models")
    class EagerToolsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Globs
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Globs, _Mapping]] = ...) -> None: ...
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    EAGER_TOOLS_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULTS_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_LOAD_FIELD_NUMBER: _ClassVar[int]
    MIN_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MIN_CONTEXT_SHARE_FIELD_NUMBER: _ClassVar[int]
    MIN_EAGER_FIELD_NUMBER: _ClassVar[int]
    AUTO_EAGER_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    SEARCH_TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SERVERS_FIELD_NUMBER: _ClassVar[int]
    PRELOAD_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    scope: SearchScope
    strategy: _strategy_pb2.Strategy
    eager_tools: _containers.MessageMap[str, Globs]
    max_results: int
    always_load: bool
    min_tokens: int
    min_context_share: float
    min_eager: int
    auto_eager: bool
    execution: SearchExecution
    fallback: SearchFallback
    search_tool_name: str
    local_servers: _containers.RepeatedScalarFieldContainer[str]
    preload_tokens: int
    models: _containers.RepeatedCompositeFieldContainer[ModelSupport]
    def __init__(self, enabled: bool = ..., scope: _Optional[_Union[SearchScope, str]] = ..., strategy: _Optional[_Union[_strategy_pb2.Strategy, str]] = ..., eager_tools: _Optional[_Mapping[str, Globs]] = ..., max_results: _Optional[int] = ..., always_load: bool = ..., min_tokens: _Optional[int] = ..., min_context_share: _Optional[float] = ..., min_eager: _Optional[int] = ..., auto_eager: bool = ..., execution: _Optional[_Union[SearchExecution, str]] = ..., fallback: _Optional[_Union[SearchFallback, str]] = ..., search_tool_name: _Optional[str] = ..., local_servers: _Optional[_Iterable[str]] = ..., preload_tokens: _Optional[int] = ..., models: _Optional[_Iterable[_Union[ModelSupport, _Mapping]]] = ...) -> None: ...

class Globs(_message.Message):
    __slots__ = ("globs",)
    GLOBS_FIELD_NUMBER: _ClassVar[int]
    globs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, globs: _Optional[_Iterable[str]] = ...) -> None: ...

class ModelSupport(_message.Message):
    __slots__ = ("provider", "model", "tool_search", "context_window")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOOL_SEARCH_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_WINDOW_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    tool_search: bool
    context_window: int
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., tool_search: bool = ..., context_window: _Optional[int] = ...) -> None: ...

class PlanToolsRequest(_message.Message):
    __slots__ = ("catalog", "provider", "model", "config", "purpose", "filter", "min_revision", "epoch", "without_payload")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    provider: str
    model: str
    config: ToolSearchConfig
    purpose: str
    filter: _entry_pb2.Filter
    min_revision: int
    epoch: str
    without_payload: bool
    def __init__(self, catalog: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., config: _Optional[_Union[ToolSearchConfig, _Mapping]] = ..., purpose: _Optional[str] = ..., filter: _Optional[_Union[_entry_pb2.Filter, _Mapping]] = ..., min_revision: _Optional[int] = ..., epoch: _Optional[str] = ..., without_payload: bool = ...) -> None: ...

class PlanToolsResponse(_message.Message):
    __slots__ = ("tools", "payload", "report", "version", "search_tool", "execution")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SEARCH_TOOL_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[PlannedTool]
    payload: str
    report: PlanReport
    version: _entry_pb2.Version
    search_tool: str
    execution: SearchExecution
    def __init__(self, tools: _Optional[_Iterable[_Union[PlannedTool, _Mapping]]] = ..., payload: _Optional[str] = ..., report: _Optional[_Union[PlanReport, _Mapping]] = ..., version: _Optional[_Union[_entry_pb2.Version, _Mapping]] = ..., search_tool: _Optional[str] = ..., execution: _Optional[_Union[SearchExecution, str]] = ...) -> None: ...

class PlannedTool(_message.Message):
    __slots__ = ("name", "alias", "server", "eager", "tokens", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    EAGER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    alias: str
    server: str
    eager: bool
    tokens: int
    reason: str
    def __init__(self, name: _Optional[str] = ..., alias: _Optional[str] = ..., server: _Optional[str] = ..., eager: bool = ..., tokens: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class PlanReport(_message.Message):
    __slots__ = ("eager_count", "deferred_count", "tokens_before", "tokens_after", "unmatched_patterns", "warnings", "context_window")
    EAGER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    UNMATCHED_PATTERNS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_WINDOW_FIELD_NUMBER: _ClassVar[int]
    eager_count: int
    deferred_count: int
    tokens_before: int
    tokens_after: int
    unmatched_patterns: _containers.RepeatedScalarFieldContainer[str]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    context_window: int
    def __init__(self, eager_count: _Optional[int] = ..., deferred_count: _Optional[int] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., unmatched_patterns: _Optional[_Iterable[str]] = ..., warnings: _Optional[_Iterable[str]] = ..., context_window: _Optional[int] = ...) -> None: ...
