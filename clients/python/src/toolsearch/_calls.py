"""Each call as a value: the method, the request, and what to make of the response. The two clients differ only in how they
run them."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from toolsearch import types as t
from toolsearch.tool_search import ToolSearchConfig
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, plan_pb2, search_service_pb2, settings_pb2, strategy_pb2

SEARCH = "ToolSearchService"
CATALOG = "CatalogService"

Result = TypeVar("Result")
Definition = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    service: str
    method: str
    request: Message
    result: Callable[[Any], Result]


@dataclass(frozen=True, slots=True)
class Page(Generic[Result]):
    items: tuple[Result, ...]
    next_token: str


@dataclass(frozen=True, slots=True)
class Reading:
    """From which state to read: at least `min_revision` of `epoch`."""

    catalog: str
    min_revision: int = 0
    epoch: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        return {"catalog": self.catalog, "min_revision": self.min_revision, "epoch": self.epoch}


def search(
    reading: Reading,
    query: str | Sequence[str],
    *,
    limit: int,
    strategy: t.Strategy | str,
    filter: t.Filter | None,  # noqa: A002 the word of the contract
    detail: t.Detail | str,
    explain: bool,
    fields: Sequence[t.SearchField | str],
    case_sensitive: bool,
    min_relevance: float,
) -> Call[t.SearchResult]:
    request = search_service_pb2.SearchToolsRequest(
        queries=[query] if isinstance(query, str) else query,
        strategy=_enum("STRATEGY", t.Strategy(strategy)),
        limit=limit,
        filter=_filter(filter),
        detail=_enum("DETAIL", t.Detail(detail)),
        explain=explain,
        fields=[_enum("SEARCH_FIELD", t.SearchField(field)) for field in fields],
        case_sensitive=case_sensitive,
        min_relevance=min_relevance,
        **reading.fields,
    )
    return Call(SEARCH, "SearchTools", request, _search_result)


def list_tools(
    reading: Reading,
    filter: t.Filter | None,  # noqa: A002
    detail: t.Detail | str,
    page_size: int,
    page_token: str,
) -> Call[Page[t.Entry]]:
    request = search_service_pb2.ListToolsRequest(
        filter=_filter(filter),
        detail=_enum("DETAIL", t.Detail(detail)),
        page_size=page_size,
        page_token=page_token,
        **reading.fields,
    )
    return Call(SEARCH, "ListTools", request, lambda found: Page(tuple(map(_entry, found.entries)), found.next_page_token))


def list_namespaces(reading: Reading, parent: str, page_size: int, page_token: str) -> Call[Page[t.Namespace]]:
    request = search_service_pb2.ListNamespacesRequest(
        parent=parent, page_size=page_size, page_token=page_token, **reading.fields
    )

    def page(found: search_service_pb2.ListNamespacesResponse) -> Page[t.Namespace]:
        spaces = (t.Namespace(space.name, space.entry_count, space.total_entry_count) for space in found.namespaces)
        return Page(tuple(spaces), found.next_page_token)

    return Call(SEARCH, "ListNamespaces", request, page)


@dataclass(frozen=True, slots=True)
class PartialGet:
    """A part of what was asked for, and the names to ask for again."""

    result: t.GetResult
    omitted: tuple[str, ...]

    def joined(self, later: "PartialGet") -> "PartialGet":
        result = t.GetResult(
            entries=self.result.entries + later.result.entries,
            missing=self.result.missing + later.result.missing,
            version=later.result.version,
        )
        return PartialGet(result, later.omitted)


def get_tools(reading: Reading, names: Sequence[str], detail: t.Detail | str) -> Call[PartialGet]:
    _refuse_text(names, "names")
    request = search_service_pb2.GetToolsRequest(names=names, detail=_enum("DETAIL", t.Detail(detail)), **reading.fields)

    def result(found: search_service_pb2.GetToolsResponse) -> PartialGet:
        answered = t.GetResult(
            entries=tuple(map(_entry, found.entries)),
            missing=tuple(t.MissingEntry(entry.name, tuple(entry.near_names)) for entry in found.missing),
            version=_version(found.version),
        )
        return PartialGet(answered, tuple(found.omitted_names))

    return Call(SEARCH, "GetTools", request, result)


def plan(
    reading: Reading,
    provider: str,
    model: str,
    config: ToolSearchConfig | Definition | None,
    *,
    purpose: str,
    filter: t.Filter | None,  # noqa: A002
    payload: bool,
) -> Call[t.PlanResult]:
    if not isinstance(config, ToolSearchConfig):
        config = ToolSearchConfig.from_dict(config)
    request = plan_pb2.PlanToolsRequest(
        provider=provider,
        model=model,
        config=config.to_message(),
        purpose=purpose,
        filter=_filter(filter),
        without_payload=not payload,
        **reading.fields,
    )
    return Call(SEARCH, "PlanTools", request, _plan_result)


def report_usage(catalog: str, reports: Iterable[t.UsageReport]) -> Call[tuple[str, ...]]:
    request = search_service_pb2.ReportUsageRequest(
        catalog=catalog,
        reports=[
            search_service_pb2.UsageReport(
                name=report.name,
                outcome=_enum("USAGE_OUTCOME", t.UsageOutcome(report.outcome)),
                search_id=report.search_id,
            )
            for report in reports
        ],
    )
    return Call(SEARCH, "ReportUsage", request, lambda answer: tuple(answer.unknown_names))


def get_settings(reading: Reading) -> Call[t.CatalogSettings]:
    return Call(CATALOG, "GetSettings", catalog_pb.GetSettingsRequest(**reading.fields), _settings)


def update_settings(catalog: str, settings: t.CatalogSettings, expected_revision: int | None) -> Call[t.WriteResult]:
    for group in (settings.pinned, settings.banned, settings.synonyms, *settings.synonyms):
        _refuse_text(group, "a setting")
    message = settings_pb2.CatalogSettings(
        weights=settings_pb2.FieldWeights(
            name=settings.name_weight, description=settings.description_weight, parameters=settings.parameters_weight
        ),
        synonyms=[settings_pb2.Synonyms(words=group) for group in settings.synonyms],
        pinned=settings.pinned,
        banned=settings.banned,
        ignore_usage=settings.ignore_usage,
    )
    request = catalog_pb.UpdateSettingsRequest(catalog=catalog, settings=message, expected_revision=expected_revision)
    return Call(CATALOG, "UpdateSettings", request, lambda answer: t.WriteResult(version=_version(answer.version)))


def watch(catalog: str, start: t.Version | None) -> Call[t.WatchEvent]:
    request = search_service_pb2.WatchCatalogRequest(catalog=catalog)
    if start is not None:
        request.from_revision = start.revision
        request.epoch = start.epoch
    return Call(SEARCH, "WatchCatalog", request, _watch_event)


def read_resource(reading: Reading, name: str, path: str) -> Call[bytes]:
    """Answered by a stream of pieces."""
    request = search_service_pb2.ReadResourceRequest(name=name, path=path, **reading.fields)
    return Call(SEARCH, "ReadResource", request, lambda piece: bytes(piece.data))


def apply_changes(
    catalog: str, upserts: Iterable[t.EntryInput | Definition], deletes: Iterable[str], expected_revision: int | None
) -> Call[t.WriteResult]:
    _refuse_text(deletes, "deletes")
    request = catalog_pb.ApplyChangesRequest(
        catalog=catalog,
        upserts=[_entry_input(entry) for entry in upserts],
        deletes=deletes,
        expected_revision=expected_revision,
    )
    return Call(CATALOG, "ApplyChanges", request, _write_result)


def sync_server(
    catalog: str, server: str, tools: Iterable[t.EntryInput | Definition], expected_revision: int | None
) -> Call[t.WriteResult]:
    request = catalog_pb.SyncServerRequest(
        catalog=catalog,
        server=server,
        entries=[_entry_input(entry) for entry in tools],
        expected_revision=expected_revision,
    )
    return Call(CATALOG, "SyncServer", request, _write_result)


def delete_server(catalog: str, server: str, expected_revision: int | None) -> Call[t.WriteResult]:
    request = catalog_pb.DeleteServerRequest(catalog=catalog, server=server, expected_revision=expected_revision)
    return Call(CATALOG, "DeleteServer", request, _write_result)


def get_catalog(catalog: str) -> Call[t.CatalogInfo]:
    return Call(CATALOG, "GetCatalog", catalog_pb.GetCatalogRequest(catalog=catalog), _catalog_info)


def list_catalogs(page_size: int, page_token: str) -> Call[Page[t.CatalogListing]]:
    request = catalog_pb.ListCatalogsRequest(page_size=page_size, page_token=page_token)

    def page(found: catalog_pb.ListCatalogsResponse) -> Page[t.CatalogListing]:
        listings = (
            t.CatalogListing(each.name, _version(each.version), each.update_time.ToDatetime(UTC), each.entry_count, each.bytes)
            for each in found.catalogs
        )
        return Page(tuple(listings), found.next_page_token)

    return Call(CATALOG, "ListCatalogs", request, page)


def list_tenants(page_size: int, page_token: str) -> Call[Page[t.TenantListing]]:
    request = catalog_pb.ListTenantsRequest(page_size=page_size, page_token=page_token)

    def page(found: catalog_pb.ListTenantsResponse) -> Page[t.TenantListing]:
        listings = (t.TenantListing(each.name, each.catalog_count, each.entry_count, each.bytes) for each in found.tenants)
        return Page(tuple(listings), found.next_page_token)

    return Call(CATALOG, "ListTenants", request, page)


def delete_catalog(catalog: str, expected_revision: int | None) -> Call[None]:
    request = catalog_pb.DeleteCatalogRequest(catalog=catalog, expected_revision=expected_revision)
    return Call(CATALOG, "DeleteCatalog", request, lambda _: None)


# Values to messages


def _enum(prefix: str, value: Any) -> Any:
    return f"{prefix}_{value.name}"


def _refuse_text(value: object, what: str) -> None:
    """A text is a sequence of texts too, but never the one that is meant."""
    if isinstance(value, str):
        raise TypeError(f"{what} must be a list of strings, not a string")


def _filter(value: t.Filter | None) -> entry_pb2.Filter | None:
    if value is None:
        return None
    for field in ("servers", "namespaces", "tags", "kinds", "capabilities", "excluded_names"):
        _refuse_text(getattr(value, field), f"filter.{field}")
    message = entry_pb2.Filter(
        servers=value.servers,
        namespaces=value.namespaces,
        tags=value.tags,
        kinds=[_enum("ENTRY_KIND", t.Kind(kind)) for kind in value.kinds],
        capabilities=value.capabilities,
        excluded_names=value.excluded_names,
    )
    for hint in ("read_only", "destructive", "idempotent", "open_world"):
        wanted = getattr(value, hint)
        if wanted is not None:
            setattr(message, hint, wanted)
    return message


def _entry_input(value: t.EntryInput | Definition) -> entry_pb2.EntryInput:
    if not isinstance(value, t.EntryInput):
        return entry_pb2.EntryInput(definition=to_json(value))
    return entry_pb2.EntryInput(
        server=value.server,
        kind=_enum("ENTRY_KIND", t.Kind(value.kind)),
        definition=to_json(value.definition),
        namespace=value.namespace,
        tags=value.tags,
        capabilities=value.capabilities,
        summary=value.summary,
        resources=[
            entry_pb2.ResourceInput(path=each.path, media_type=each.media_type, content=each.content)
            for each in value.resources
        ],
    )


def to_json(definition: Definition) -> str:
    """Compact JSON. Raises ValueError for what JSON cannot say, such as NaN."""
    text = json.dumps(definition, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: JSON can spell it, UTF-8 cannot
        text = json.dumps(definition, allow_nan=False, separators=(",", ":"))
    return text


# Messages to values


def _version(message: entry_pb2.Version) -> t.Version:
    return t.Version(message.epoch, message.revision, message.staleness.ToTimedelta().total_seconds())


def _entry_fields(message: entry_pb2.Entry) -> dict[str, Any]:
    hints = message.annotations
    return {
        "name": message.name,
        "alias": message.alias,
        "server": message.server,
        "local_name": message.local_name,
        "kind": t.Kind[_name(entry_pb2.EntryKind, message.kind, "ENTRY_KIND")],
        "title": message.title,
        "summary": message.summary,
        "description": message.description or message.summary,
        "tags": tuple(message.tags),
        "capabilities": tuple(message.capabilities),
        "annotations": t.Annotations(hints.read_only, hints.destructive, hints.idempotent, hints.open_world),
        "digest": message.digest,
        "tokens": message.tokens,
        "definition": json.loads(message.definition) if message.definition else None,
        "resources": tuple(t.Resource(each.path, each.media_type, each.size, each.digest) for each in message.resources),
    }


def _entry(message: entry_pb2.Entry) -> t.Entry:
    return t.Entry(**_entry_fields(message))


def _search_result(message: search_service_pb2.SearchToolsResponse) -> t.SearchResult:
    return t.SearchResult(
        matches=tuple(map(_match, message.matches)),
        total=message.total,
        version=_version(message.version),
        strategy=t.Strategy[_name(strategy_pb2.Strategy, message.strategy, "STRATEGY")],
        message=message.message,
        near_names=tuple(message.near_names),
        search_id=message.search_id,
    )


def _plan_result(message: plan_pb2.PlanToolsResponse) -> t.PlanResult:
    report = message.report
    return t.PlanResult(
        tools=tuple(
            t.PlannedTool(tool.name, tool.alias, tool.server, tool.eager, tool.tokens, tool.reason) for tool in message.tools
        ),
        payload=tuple(json.loads(message.payload)) if message.payload else (),
        search_tool=message.search_tool,
        by_provider=message.execution == plan_pb2.SEARCH_EXECUTION_PROVIDER,
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
        unmatched_patterns=tuple(report.unmatched_patterns),
        warnings=tuple(report.warnings),
        context_window=report.context_window,
        version=_version(message.version),
    )


def _settings(message: catalog_pb.GetSettingsResponse) -> t.CatalogSettings:
    found = message.settings
    weights = found.weights
    places = ("name", "description", "parameters")
    return t.CatalogSettings(
        synonyms=tuple(tuple(group.words) for group in found.synonyms),
        pinned=tuple(found.pinned),
        banned=tuple(found.banned),
        ignore_usage=found.ignore_usage,
        **{f"{place}_weight": getattr(weights, place) for place in places if weights.HasField(place)},
    )


def _match(message: search_service_pb2.Match) -> t.Match:
    return t.Match(
        **_entry_fields(message.entry),
        score=message.score,
        relevance=message.relevance,
        reason=message.reason,
        matched_by=tuple(t.MatchedBy[_name(search_service_pb2.MatchedBy, by, "MATCHED_BY")] for by in message.matched_by),
        explanation=tuple(t.ScorePart(part.name, part.value, part.detail) for part in message.explanation),
    )


def _write_result(
    message: catalog_pb.ApplyChangesResponse | catalog_pb.SyncServerResponse | catalog_pb.DeleteServerResponse,
) -> t.WriteResult:
    summary = message.summary
    return t.WriteResult(
        version=_version(message.version),
        added=tuple(summary.added),
        updated=tuple(summary.updated),
        deleted=tuple(summary.deleted),
        unchanged=summary.unchanged,
        notices=tuple(
            t.NameNotice(notice.server, notice.local_name, notice.name, notice.alias, notice.explanation)
            for notice in summary.notices
        ),
    )


def _catalog_info(message: catalog_pb.GetCatalogResponse) -> t.CatalogInfo:
    found = message.catalog
    return t.CatalogInfo(
        name=found.name,
        version=_version(found.version),
        updated=found.update_time.ToDatetime(UTC),
        entry_count=found.entry_count,
        tokens=found.tokens,
        servers=tuple(t.ServerStats(each.server, each.entry_count, each.tokens) for each in found.servers),
        kinds={t.Kind[_name(entry_pb2.EntryKind, each.kind, "ENTRY_KIND")]: each.entry_count for each in found.kinds},
    )


def _watch_event(message: search_service_pb2.WatchCatalogResponse) -> t.WatchEvent:
    changed = message.changed
    return t.WatchEvent(
        kind=t.WatchKind(message.WhichOneof("event")),
        version=_version(message.version),
        upserted=tuple(changed.upserted_names),
        deleted=tuple(changed.deleted_names),
        settings_changed=changed.settings_changed,
    )


@functools.lru_cache(maxsize=256)
def _name(enum: Any, value: int, prefix: str) -> str:
    """A value newer than this client is UNKNOWN."""
    if value not in enum.values():
        return "UNKNOWN"
    name: str = enum.Name(value)
    return name.removeprefix(f"{prefix}_")
