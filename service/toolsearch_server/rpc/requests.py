"""From messages to values: every field checked, every refusal with the field's path."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from toolsearch.tool_search import ConfigError, ToolSearchConfig
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, plan_pb2, search_service_pb2, settings_pb2
from toolsearch_server import text
from toolsearch_server.changes import Contents
from toolsearch_server.entry import Draft, Kind, Resource, check_name, make_draft
from toolsearch_server.errors import FieldInvalid, FieldRequired, LimitExceeded, shorten
from toolsearch_server.limits import Limits
from toolsearch_server.query import Query, SearchField, Strategy
from toolsearch_server.rpc.responses import Detail
from toolsearch_server.selection import HINTS, NO_FILTER, Filter
from toolsearch_server.settings import LONGEST_PHRASE, Settings
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.records import WEIGHED, settings_value
from toolsearch_server.usage import Outcome

DEFAULT_CATALOG = "default"

Value = TypeVar("Value", Kind, Strategy, SearchField, Detail, Outcome)


def catalog_key(tenant: str, catalog: str, limits: Limits) -> CatalogKey:
    check_name(catalog, field="catalog", length=limits.catalog_length, limit="catalog_length", required=False)
    return CatalogKey(tenant, catalog or DEFAULT_CATALOG)


def search_query(request: search_service_pb2.SearchToolsRequest, limits: Limits) -> Query:
    strategy = _enum(Strategy, request.strategy or Strategy.AUTO, field="strategy")
    return Query(
        texts=_texts(request.queries, limits),
        strategy=strategy,
        limit=page_size(request.limit, field="limit", default=limits.search_limit_default, most=limits.search_limit),
        filter=entry_filter(request.filter, limits),
        fields=frozenset(_enum(SearchField, value, field=f"fields[{index}]") for index, value in enumerate(request.fields))
        or frozenset({SearchField.NAME}),
        case_sensitive=request.case_sensitive,
        min_relevance=_share(request.min_relevance, field="min_relevance"),
        explain=request.explain,
    )


def _texts(queries: Sequence[str], limits: Limits) -> tuple[str, ...]:
    if not queries:
        raise FieldRequired("queries", "say what to look for")
    _check_count(queries, field="queries", allowed=limits.queries_per_request, limit="queries_per_request")
    for index, query in enumerate(queries):
        if not query.strip():
            raise FieldRequired(f"queries[{index}]", "an empty query would match nothing")
        if len(query) > limits.query_length:
            raise LimitExceeded(
                f"queries[{index}]", given=len(query), allowed=limits.query_length, limit="query_length", unit="characters"
            )
    return tuple(queries)


def entry_filter(message: entry_pb2.Filter, limits: Limits) -> Filter:
    if not message.ByteSize():
        return NO_FILTER
    for field in ("servers", "namespaces", "tags", "kinds", "capabilities", "excluded_names"):
        values = getattr(message, field)
        _check_count(values, field=f"filter.{field}", allowed=limits.filter_values, limit="filter_values")
        if field != "kinds":
            _check_lengths(values, field=f"filter.{field}", allowed=limits.filter_value_length, limit="filter_value_length")
    return Filter(
        servers=tuple(message.servers),
        namespaces=tuple(message.namespaces),
        tags=tuple(message.tags),
        kinds=tuple(_enum(Kind, kind, field=f"filter.kinds[{index}]") for index, kind in enumerate(message.kinds)),
        capabilities=tuple(message.capabilities),
        excluded_names=tuple(message.excluded_names),
        **{hint: getattr(message, hint) for hint in HINTS if message.HasField(hint)},
    )


def plan_config(request: plan_pb2.PlanToolsRequest) -> ToolSearchConfig:
    try:
        return ToolSearchConfig.from_message(request.config, "config")
    except ConfigError as error:
        raise FieldInvalid(str(error), field=error.path, given=shorten(str(error.given)), allowed=error.allowed) from None


def plan_filter(request: plan_pb2.PlanToolsRequest, limits: Limits) -> Filter:
    wanted = entry_filter(request.filter, limits)
    if set(wanted.kinds) - {Kind.TOOL}:
        names = ", ".join(kind.name for kind in wanted.kinds)
        raise FieldInvalid("only tools can be planned", field="filter.kinds", given=names, allowed=Kind.TOOL.name)
    return replace(wanted, kinds=(Kind.TOOL,))


def plan_texts(request: plan_pb2.PlanToolsRequest, limits: Limits) -> None:
    for field, allowed, limit in (
        ("provider", limits.filter_value_length, "filter_value_length"),
        ("model", limits.filter_value_length, "filter_value_length"),
        ("purpose", limits.purpose_length, "purpose_length"),
    ):
        given = len(getattr(request, field))
        if given > allowed:
            raise LimitExceeded(field, given=given, allowed=allowed, limit=limit, unit="characters")


def usage_reports(reports: Sequence[search_service_pb2.UsageReport], limits: Limits) -> list[tuple[str, Outcome, bool]]:
    """Name, outcome, and whether a search led there."""
    if not reports:
        raise FieldRequired("reports")
    _check_count(reports, field="reports", allowed=limits.usage_reports, limit="usage_reports")
    _check_lengths(
        [report.name for report in reports], field="reports", allowed=limits.lookup_length, limit="lookup_length", of=".name"
    )
    return [
        (report.name, _enum(Outcome, report.outcome, field=f"reports[{index}].outcome"), bool(report.search_id))
        for index, report in enumerate(reports)
    ]


def settings(message: settings_pb2.CatalogSettings, limits: Limits) -> Settings:
    for place in WEIGHED:
        weight = getattr(message.weights, place)
        if not 0 <= weight <= limits.field_weight:
            raise FieldInvalid(
                f"settings.weights.{place} is out of range",
                field=f"settings.weights.{place}",
                given=weight,
                allowed=f"0 to {limits.field_weight}",
            )
    for field in ("pinned", "banned"):
        globs = getattr(message, field)
        _check_count(globs, field=f"settings.{field}", allowed=limits.patterns_per_setting, limit="patterns_per_setting")
        _check_lengths(globs, field=f"settings.{field}", allowed=limits.filter_value_length, limit="filter_value_length")
    _check_count(message.synonyms, field="settings.synonyms", allowed=limits.synonym_groups, limit="synonym_groups")
    for index, group in enumerate(message.synonyms):
        _check_synonyms(group.words, field=f"settings.synonyms[{index}].words", limits=limits)
    return settings_value(message)


def _check_synonyms(words: Sequence[str], *, field: str, limits: Limits) -> None:
    _check_count(words, field=field, allowed=limits.synonyms_per_group, limit="synonyms_per_group")
    _check_lengths(words, field=field, allowed=limits.synonym_length, limit="synonym_length")
    for index, word in enumerate(words):
        found = len(text.words(word))
        if not 1 <= found <= LONGEST_PHRASE:
            raise FieldInvalid(
                f"{field}[{index}] has {found} words",
                field=f"{field}[{index}]",
                given=word,
                allowed=f"1 to {LONGEST_PHRASE} words",
            )
    if len(words) < 2:
        raise FieldInvalid(f"{field} has nothing to be like", field=field, given=len(words), allowed="2 words or more")


def page_size(value: int, *, field: str, default: int, most: int) -> int:
    """0 is the default; too much is as much as there may be."""
    if value < 0:
        raise FieldInvalid(f"{field} is negative", field=field, given=value, allowed=f"0 to {most}")
    return min(value, most) or default


def names(values: Sequence[str], limits: Limits) -> tuple[str, ...]:
    if not values:
        raise FieldRequired("names")
    _check_count(values, field="names", allowed=limits.names_per_get, limit="names_per_get")
    _check_lengths(values, field="names", allowed=limits.lookup_length, limit="lookup_length")
    return tuple(dict.fromkeys(values))


def revision(value: int, *, field: str) -> int:
    if value < 0:
        raise FieldInvalid(f"{field} is negative", field=field, given=value, allowed="0 or more")
    return value


WriteRequest = (
    catalog_pb.ApplyChangesRequest
    | catalog_pb.SyncServerRequest
    | catalog_pb.DeleteServerRequest
    | catalog_pb.DeleteCatalogRequest
    | catalog_pb.UpdateSettingsRequest
)


def expected_revision(request: WriteRequest) -> int | None:
    if not request.HasField("expected_revision"):
        return None
    return revision(request.expected_revision, field="expected_revision")


def drafts(
    inputs: Sequence[entry_pb2.EntryInput], *, field: str, limits: Limits, server: str | None = None
) -> tuple[list[Draft], Contents]:
    """The entries of a write, and the contents of their resources. `server`: the one that all of them must come from."""
    if len(inputs) > limits.entries_per_catalog:
        raise LimitExceeded(
            field, given=len(inputs), allowed=limits.entries_per_catalog, limit="entries_per_catalog", unit="items"
        )
    contents: dict[str, bytes] = {}
    checked = [
        _draft(entry, contents, field=f"{field}[{index}]", limits=limits, server=server) for index, entry in enumerate(inputs)
    ]
    return checked, contents


def _draft(entry: entry_pb2.EntryInput, contents: dict[str, bytes], *, field: str, limits: Limits, server: str | None) -> Draft:
    if server is not None and entry.server not in ("", server):
        raise FieldInvalid(
            f"{field}.server is not the server that is synced", field=f"{field}.server", given=entry.server, allowed=server
        )
    resources = [Resource.of(each.path, each.media_type, each.content) for each in entry.resources]
    contents.update(zip((each.digest for each in resources), (each.content for each in entry.resources), strict=True))
    return make_draft(
        server=entry.server if server is None else server,
        kind=_enum(Kind, entry.kind or Kind.TOOL, field=f"{field}.kind"),
        definition=entry.definition,
        namespace=entry.namespace,
        tags=entry.tags,
        capabilities=entry.capabilities,
        summary=entry.summary,
        limits=limits,
        field=field,
        resources=resources,
    )


def resource(request: search_service_pb2.ReadResourceRequest, limits: Limits) -> tuple[str, str]:
    """The entry's name and the resource's path."""
    for field, value, allowed, limit in (
        ("name", request.name, limits.lookup_length, "lookup_length"),
        ("path", request.path, limits.resource_path_length, "resource_path_length"),
    ):
        if not value:
            raise FieldRequired(field)
        if len(value) > allowed:
            raise LimitExceeded(field, given=len(value), allowed=allowed, limit=limit, unit="characters")
    return request.name, request.path


def deletes(names: Sequence[str], limits: Limits) -> None:
    _check_count(names, field="deletes", allowed=limits.entries_per_catalog, limit="entries_per_catalog")


def server_name(server: str, limits: Limits) -> str:
    check_name(server, field="server", length=limits.server_length, limit="server_length", required=False)
    return server


def epoch(value: str, limits: Limits) -> str:
    if len(value) > limits.epoch_length:
        raise LimitExceeded("epoch", given=len(value), allowed=limits.epoch_length, limit="epoch_length", unit="characters")
    return value


def detail(value: int, *, default: Detail) -> Detail:
    return _enum(Detail, value or default, field="detail")


def _enum(kind: type[Value], value: int, *, field: str) -> Value:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(member.name for member in kind)
        raise FieldInvalid(f"{field} is not known", field=field, given=value, allowed=allowed) from None


def _share(value: float, *, field: str) -> float:
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise FieldInvalid(f"{field} is not between 0 and 1", field=field, given=value, allowed="0 to 1")
    return value


def _check_count(values: Sequence[object], *, field: str, allowed: int, limit: str) -> None:
    if len(values) > allowed:
        raise LimitExceeded(field, given=len(values), allowed=allowed, limit=limit, unit="items")


def _check_lengths(values: Sequence[str], *, field: str, allowed: int, limit: str, of: str = "") -> None:
    for index, value in enumerate(values):
        if len(value) > allowed:
            raise LimitExceeded(f"{field}[{index}]{of}", given=len(value), allowed=allowed, limit=limit, unit="characters")
