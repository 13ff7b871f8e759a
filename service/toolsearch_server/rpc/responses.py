"""From values to messages."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import IntEnum

from google.protobuf.timestamp_pb2 import Timestamp

from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import entry_pb2, plan_pb2, search_service_pb2
from toolsearch_server import changes
from toolsearch_server.catalog import View
from toolsearch_server.entry import Entry, Resource
from toolsearch_server.plan import Plan
from toolsearch_server.query import Query
from toolsearch_server.ranking import Match, Ranking, message
from toolsearch_server.store import CatalogRecord

KEPT_ENTRIES = 200
"""Entries of a view that are kept encoded."""
LENGTH_DELIMITED = 2


class Detail(IntEnum):
    """How much of each entry an answer carries; the numbers are the contract's."""

    NAME = 1
    SUMMARY = 2
    FULL = 3


def version(value: changes.Version, staleness: float | None = None) -> entry_pb2.Version:
    converted = entry_pb2.Version(epoch=value.epoch, revision=value.revision)
    if staleness is not None:
        converted.staleness.FromNanoseconds(int(staleness * 1e9))
    return converted


def timestamp(value: datetime) -> Timestamp:
    converted = Timestamp()
    converted.FromDatetime(value)
    return converted


def resource(value: Resource) -> entry_pb2.Resource:
    return entry_pb2.Resource(path=value.path, media_type=value.media_type, size=value.size, digest=value.digest)


def entry(value: Entry, detail: Detail) -> entry_pb2.Entry:
    converted = entry_pb2.Entry(
        name=value.name,
        alias=value.alias,
        server=value.server,
        local_name=value.local_name,
        kind=f"ENTRY_KIND_{value.kind.name}",
    )
    if detail >= Detail.SUMMARY:
        hints = value.annotations
        converted.title = value.title
        converted.summary = value.summary
        converted.tags.extend(value.tags)
        converted.capabilities.extend(value.capabilities)
        converted.annotations.read_only = hints.read_only
        converted.annotations.destructive = hints.destructive
        converted.annotations.idempotent = hints.idempotent
        converted.annotations.open_world = hints.open_world
        converted.digest = value.digest
        converted.tokens = value.tokens
    if detail >= Detail.FULL:
        converted.description = value.description
        converted.definition = value.definition
        converted.resources.extend(map(resource, value.resources))
    return converted


def entries(values: Iterable[Entry], detail: Detail, answer_bytes: int) -> list[entry_pb2.Entry]:
    """As many as fit into an answer, but at least one."""
    converted: list[entry_pb2.Entry] = []
    for value in values:
        converted.append(entry(value, detail))
        answer_bytes -= converted[-1].ByteSize()
        if answer_bytes < 0 and len(converted) > 1:
            return converted[:-1]
    return converted


def search(
    view: View,
    ranking: Ranking,
    query: Query,
    *,
    detail: Detail,
    answer_bytes: int,
    staleness: float | None,
) -> bytes:
    """A SearchToolsResponse, encoded. Most of it are entries, which are encoded once."""
    matches: list[bytes] = []
    for match in ranking.matches:
        encoded = _match(view, match, detail)
        if detail is Detail.FULL:
            answer_bytes -= len(encoded)
            if answer_bytes < 0 and matches:
                encoded = _match(view, match, Detail.SUMMARY)
        matches.append(_field(_MATCHES, encoded))
    rest = search_service_pb2.SearchToolsResponse(
        total=ranking.total,
        version=version(view.version, staleness),
        strategy=ranking.strategy.value,  # type: ignore[arg-type]  # the numbers are the contract's
        message=message(ranking, query),
        near_names=ranking.near_names,
    )
    return b"".join((*matches, rest.SerializeToString()))


def _match(view: View, match: Match, detail: Detail) -> bytes:
    rest = search_service_pb2.Match(
        score=match.score,
        relevance=match.relevance,
        reason=match.reason,
        matched_by=match.matched_by,  # type: ignore[arg-type]  # the numbers are the contract's
        explanation=[search_service_pb2.ScorePart(name=name, value=value, detail=why) for name, value, why in match.parts],
    )
    return _field(_ENTRY, _encoded(view, match.slot, detail)) + rest.SerializeToString()


def _encoded(view: View, slot: int, detail: Detail) -> bytes:
    if detail is Detail.FULL:
        return entry(view.entry(slot), detail).SerializeToString()
    known = view.rendered.get((slot, detail))
    if known is None:
        if len(view.rendered) >= KEPT_ENTRIES:
            view.rendered.clear()
        known = view.rendered[slot, detail] = entry(view.entry(slot), detail).SerializeToString()
    return known


def _field(tag: int, encoded: bytes) -> bytes:
    """A field that holds a message. A message's encoding is that of its fields, one after the other."""
    return bytes([tag]) + _varint(len(encoded)) + encoded


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_MATCHES = search_service_pb2.SearchToolsResponse.MATCHES_FIELD_NUMBER << 3 | LENGTH_DELIMITED
_ENTRY = search_service_pb2.Match.ENTRY_FIELD_NUMBER << 3 | LENGTH_DELIMITED


def plan(value: Plan, view: View, staleness: float | None) -> plan_pb2.PlanToolsResponse:
    search = value.search
    execution = "PROVIDER" if search is not None and not search.by_client else "CLIENT"
    return plan_pb2.PlanToolsResponse(
        tools=[
            plan_pb2.PlannedTool(
                name=each.name,
                alias=each.alias,
                server=each.server,
                eager=each.name in value.reasons,
                tokens=each.tokens,
                reason=value.reasons.get(each.name, ""),
            )
            for each in value.entries
        ],
        payload=value.payload,
        report=plan_pb2.PlanReport(
            eager_count=len(value.reasons),
            deferred_count=value.deferred_count,
            tokens_before=value.tokens_before,
            tokens_after=value.tokens_after,
            unmatched_patterns=value.unmatched_patterns,
            warnings=value.warnings,
            context_window=value.context_window,
        ),
        version=version(view.version, staleness),
        search_tool="" if search is None else search.name,
        execution=f"SEARCH_EXECUTION_{'UNSPECIFIED' if search is None else execution}",
    )


def change_summary(outcome: changes.Outcome) -> catalog_pb.ChangeSummary:
    return catalog_pb.ChangeSummary(
        added=outcome.added,
        updated=outcome.updated,
        deleted=outcome.deleted,
        unchanged=outcome.unchanged,
        notices=[_notice(notice) for notice in outcome.notices],
    )


def _notice(notice: changes.Notice) -> catalog_pb.NameNotice:
    return catalog_pb.NameNotice(
        server=notice.entry.server,
        local_name=notice.entry.local_name,
        name=notice.entry.name,
        alias=notice.entry.alias,
        explanation=notice.explanation,
    )


def catalog(name: str, view: View, updated: datetime | None, staleness: float | None) -> catalog_pb.Catalog:
    entries = view.by_name
    tokens_by_server = dict.fromkeys(view.servers, 0)
    for each in entries:
        tokens_by_server[each.server] += each.tokens
    return catalog_pb.Catalog(
        name=name,
        version=version(view.version, staleness),
        update_time=None if updated is None else timestamp(updated),
        entry_count=len(entries),
        tokens=sum(tokens_by_server.values()),
        servers=[
            catalog_pb.ServerStats(server=server, entry_count=count, tokens=tokens_by_server[server])
            for server, count in sorted(view.servers.items())
        ],
        kinds=_kinds(entries),
    )


def tenant(name: str, records: Sequence[CatalogRecord]) -> catalog_pb.TenantListing:
    return catalog_pb.TenantListing(
        name=name,
        catalog_count=len(records),
        entry_count=sum(record.size.entries for record in records),
        bytes=sum(record.size.bytes for record in records),
    )


def _kinds(entries: Iterable[Entry]) -> list[catalog_pb.KindStats]:
    counts: dict[str, int] = {}
    for each in entries:
        counts[each.kind.name] = counts.get(each.kind.name, 0) + 1
    return [catalog_pb.KindStats(kind=f"ENTRY_KIND_{kind}", entry_count=count) for kind, count in sorted(counts.items())]
