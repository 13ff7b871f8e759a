"""ToolSearchService: reading."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from toolsearch.v1 import plan_pb2, search_service_pb2
from toolsearch_server import plan, ranking, selection
from toolsearch_server.answers import Answer
from toolsearch_server.auth import Role
from toolsearch_server.catalog import Catalog, ChangedNames, View
from toolsearch_server.catalogs import Catalogs, Current, Deleted, SnapshotNeeded, WatchEvent
from toolsearch_server.entry import Entry, Resource
from toolsearch_server.errors import ResourceChanged, ResourceNotFound, shorten
from toolsearch_server.limits import Limits
from toolsearch_server.query import Query
from toolsearch_server.rpc import requests, responses
from toolsearch_server.rpc.calls import Call, Method
from toolsearch_server.rpc.pages import Pages
from toolsearch_server.rpc.responses import Detail
from toolsearch_server.selection import Filter
from toolsearch_server.store import RESOURCE_CHUNK_BYTES, CatalogKey
from toolsearch_server.tracing import Tracer

EXPLAINED_MISSES = 10
SEARCH_TOOLS = {"unspecified": "none", "client": "own", "provider": "provider"}
"""What metrics and logs call the search tool of a plan, by who answers it."""
FITTING_ENTRIES = 20
FITTING_RELEVANCE = 0.2
"""How many entries a plan's purpose may preload, and how relevant they have to be."""

SERVICE = search_service_pb2.DESCRIPTOR.services_by_name["ToolSearchService"]

ReadRequest = (
    search_service_pb2.SearchToolsRequest
    | search_service_pb2.ListToolsRequest
    | search_service_pb2.ListNamespacesRequest
    | search_service_pb2.GetToolsRequest
    | plan_pb2.PlanToolsRequest
    | search_service_pb2.ReadResourceRequest
)


class ToolSearchService:
    def __init__(self, catalogs: Catalogs, limits: Limits, tracer: Tracer) -> None:
        self._catalogs = catalogs
        self._limits = limits
        self._tracer = tracer

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "SearchTools": Method(self.search_tools, Role.READER),
            "ListTools": Method(self.list_tools, Role.READER),
            "ListNamespaces": Method(self.list_namespaces, Role.READER),
            "GetTools": Method(self.get_tools, Role.READER),
            "PlanTools": Method(self.plan_tools, Role.READER),
            "ReportUsage": Method(self.report_usage, Role.READER),
            "WatchCatalog": Method(self.watch_catalog, Role.READER),
            "ReadResource": Method(self.read_resource, Role.READER),
        }

    async def search_tools(self, call: Call, request: search_service_pb2.SearchToolsRequest) -> bytes:
        query = requests.search_query(request, self._limits)
        detail = requests.detail(request.detail, default=Detail.SUMMARY)
        asked = request.SerializeToString(deterministic=True)
        call.facts["queries"] = query.texts
        catalog, view = await self._view(call, request)
        state = catalog.state_of(view)
        answer = None if catalog.answers_may_vary else catalog.answers.get(state, asked)
        if answer is None:
            found = await self._searched(call, catalog, view, query)
            encoded = responses.search(
                view,
                found,
                query,
                detail=detail,
                answer_bytes=self._limits.answer_bytes,
                staleness=catalog.staleness,
            )
            facts = {"strategy": found.strategy.name, "results": len(found.matches)}
            answer = Answer(encoded, facts)
            if not catalog.answers_may_vary:
                catalog.answers.keep(state, asked, answer)
        call.facts.update(answer.facts)
        # One message after the other is both in one.
        return answer.data + search_service_pb2.SearchToolsResponse(search_id=call.request_id).SerializeToString()

    async def _searched(self, call: Call, catalog: Catalog, view: View, query: Query) -> ranking.Ranking:
        with self._tracer.span("search", attributes={"toolsearch.entries": len(view.slots)}):
            return await catalog.search(view, query, patience=call.wait_seconds)

    async def list_tools(
        self, call: Call, request: search_service_pb2.ListToolsRequest
    ) -> search_service_pb2.ListToolsResponse:
        wanted = requests.entry_filter(request.filter, self._limits)
        detail = requests.detail(request.detail, default=Detail.SUMMARY)
        size = self._page_size(request.page_size)
        pages = Pages.of("ListTools", self._key(call, request), request.filter)
        start = pages.start(request.page_token)
        catalog, view = await self._view(call, request)
        selected = await catalog.read(view, lambda: view.select(wanted))
        response = search_service_pb2.ListToolsResponse(
            total_size=len(selected), version=responses.version(view.version, catalog.staleness)
        )
        first = 0 if start is None else bisect_right(selected, start, key=lambda entry: entry.name)
        response.entries.extend(responses.entries(selected[first : first + size], detail, self._limits.answer_bytes))
        if first + len(response.entries) < len(selected):
            response.next_page_token = pages.token_after(response.entries[-1].name)
        return response

    async def list_namespaces(
        self, call: Call, request: search_service_pb2.ListNamespacesRequest
    ) -> search_service_pb2.ListNamespacesResponse:
        size = self._page_size(request.page_size)
        pages = Pages.of("ListNamespaces", self._key(call, request), scope=request.parent)
        start = pages.start(request.page_token)
        catalog, view = await self._view(call, request)
        tree = await catalog.read(view, lambda: _namespace_tree(view, request.parent))
        first = 0 if start is None else bisect_right(tree, _tree_order(start), key=lambda each: _tree_order(each.name))
        page = tree[first : first + size]
        more = first + len(page) < len(tree)
        return search_service_pb2.ListNamespacesResponse(
            namespaces=page,
            next_page_token=pages.token_after(page[-1].name) if more else "",
            total_size=len(tree),
            version=responses.version(view.version, catalog.staleness),
        )

    async def get_tools(self, call: Call, request: search_service_pb2.GetToolsRequest) -> search_service_pb2.GetToolsResponse:
        names = requests.names(request.names, self._limits)
        detail = requests.detail(request.detail, default=Detail.FULL)
        catalog, view = await self._view(call, request)
        found = {name: view.entries.find(name) for name in names}
        absent = [name for name, entry in found.items() if entry is None]
        entries = {entry.key: name for name, entry in found.items() if entry is not None}
        existing = [view.entries.by_key[key] for key in entries]
        answered = responses.entries(existing, detail, self._limits.answer_bytes)
        return search_service_pb2.GetToolsResponse(
            entries=answered,
            omitted_names=list(entries.values())[len(answered) :],
            missing=await catalog.read_slowly(partial(_missing, view, absent)) if absent else (),
            version=responses.version(view.version, catalog.staleness),
        )

    async def plan_tools(self, call: Call, request: plan_pb2.PlanToolsRequest) -> plan_pb2.PlanToolsResponse:
        requests.plan_texts(request, self._limits)
        config = requests.plan_config(request)
        wanted = requests.plan_filter(request, self._limits)
        catalog, view = await self._view(call, request)
        asked = plan.Asked(
            entries=await catalog.read(view, lambda: view.select(wanted, unbanned=True)),
            provider=request.provider.strip().lower(),
            model=request.model,
            config=config,
            fitting=await self._fitting(call, catalog, view, request.purpose, wanted),
            settings=view.entries.settings,
            usage=catalog.usage,
        )

        def made() -> plan_pb2.PlanToolsResponse:
            return responses.plan(
                plan.plan(asked, self._limits, with_payload=not request.without_payload), view, catalog.staleness
            )

        response = await catalog.read_slowly(made)
        search = plan_pb2.SearchExecution.Name(response.execution).removeprefix("SEARCH_EXECUTION_").lower()
        call.facts.update(
            eager=response.report.eager_count, deferred=response.report.deferred_count, search_tool=SEARCH_TOOLS[search]
        )
        return response

    async def _fitting(self, call: Call, catalog: Catalog, view: View, purpose: str, wanted: Filter) -> Sequence[Entry]:
        if not purpose.strip():
            return ()
        query = Query(texts=(purpose,), filter=wanted, limit=FITTING_ENTRIES, min_relevance=FITTING_RELEVANCE)
        found = await catalog.search(view, query, patience=call.wait_seconds)
        return [view.entry(match.slot) for match in found.matches]

    async def report_usage(
        self, call: Call, request: search_service_pb2.ReportUsageRequest
    ) -> search_service_pb2.ReportUsageResponse:
        reports = requests.usage_reports(request.reports, self._limits)
        key = self._key(call, request)
        _, view = await self._catalogs.view(key, min_revision=0, epoch="", timeout=call.wait_seconds)
        unknown: dict[str, None] = {}
        call.facts["used"] = used = []
        for name, outcome, by_search in reports:
            entry = view.entries.find(name)
            if entry is None:
                unknown[name] = None
                continue
            self._catalogs.usage.report(key, entry.key, outcome)
            used.append((outcome.name, by_search))
        return search_service_pb2.ReportUsageResponse(accepted=len(used), unknown_names=unknown)

    async def watch_catalog(
        self, call: Call, request: search_service_pb2.WatchCatalogRequest
    ) -> AsyncIterator[search_service_pb2.WatchCatalogResponse]:
        key = self._key(call, request)
        start = None
        if request.HasField("from_revision"):
            start = requests.revision(request.from_revision, field="from_revision")
        async for event in self._catalogs.watch(key, start, requests.epoch(request.epoch, self._limits)):
            yield _watch_response(event)

    async def read_resource(
        self, call: Call, request: search_service_pb2.ReadResourceRequest
    ) -> AsyncIterator[search_service_pb2.ReadResourceResponse]:
        key = self._key(call, request)
        resource, data = await self._first_chunk(call, key, request)
        yield search_service_pb2.ReadResourceResponse(resource=responses.resource(resource), data=data)
        for number in range(1, -(-resource.size // RESOURCE_CHUNK_BYTES)):
            chunk = await self._catalogs.resource_chunk(key, resource.digest, number)
            if chunk is None:
                raise ResourceChanged(resource.path)
            yield search_service_pb2.ReadResourceResponse(data=chunk)

    async def _first_chunk(
        self, call: Call, key: CatalogKey, request: search_service_pb2.ReadResourceRequest
    ) -> tuple[Resource, bytes]:
        name, path = requests.resource(request, self._limits)
        _, view = await self._view(call, request)
        resource = _resource(view, name, path)
        chunk = await self._chunk(key, resource)
        if chunk is None:
            # The store has forgotten it, so the entry has changed, and this replica has not heard of it yet.
            record = await self._catalogs.record(key)
            revision, epoch = record.version.revision, record.version.epoch
            _, view = await self._catalogs.view(key, min_revision=revision, epoch=epoch, timeout=call.wait_seconds)
            resource = _resource(view, name, path)
            chunk = await self._chunk(key, resource)
        if chunk is None:
            raise ResourceChanged(path)
        return resource, chunk

    async def _chunk(self, key: CatalogKey, resource: Resource) -> bytes | None:
        return await self._catalogs.resource_chunk(key, resource.digest, 0) if resource.size else b""

    async def _view(self, call: Call, request: ReadRequest) -> tuple[Catalog, View]:
        return await self._catalogs.view(
            self._key(call, request),
            min_revision=requests.revision(request.min_revision, field="min_revision"),
            epoch=requests.epoch(request.epoch, self._limits),
            timeout=call.wait_seconds,
        )

    def _key(
        self,
        call: Call,
        request: ReadRequest | search_service_pb2.WatchCatalogRequest | search_service_pb2.ReportUsageRequest,
    ) -> CatalogKey:
        return requests.catalog_key(call.caller.tenant, request.catalog, self._limits)

    def _page_size(self, value: int) -> int:
        limits = self._limits
        return requests.page_size(value, field="page_size", default=limits.page_size_default, most=limits.page_size)


def _resource(view: View, name: str, path: str) -> Resource:
    entry = view.entries.find(name)
    if entry is None:
        raise ResourceNotFound(f"there is no entry {shorten(name)!r}", field="name", given=name)
    resource = next((resource for resource in entry.resources if resource.path == path), None)
    if resource is None:
        allowed = shorten(", ".join(each.path for each in entry.resources)) or "none: the entry has no resources"
        raise ResourceNotFound(f"the entry has no resource {shorten(path)!r}", field="path", given=path, allowed=allowed)
    return resource


def _missing(view: View, names: Sequence[str]) -> list[search_service_pb2.MissingEntry]:
    """Names that do not exist; the first few with what they may have been meant to be."""
    return [
        search_service_pb2.MissingEntry(
            name=name, near_names=ranking.near_names(view.indexes, [name]) if number < EXPLAINED_MISSES else ()
        )
        for number, name in enumerate(names)
    ]


def _namespace_tree(view: View, parent: str) -> Sequence[search_service_pb2.Namespace]:
    direct = view.namespaces
    total: dict[str, int] = {}
    for namespace, count in direct.items():
        for ancestor in selection.ancestors(namespace):
            total[ancestor] = total.get(ancestor, 0) + count
    return [
        search_service_pb2.Namespace(name=name, entry_count=direct[name], total_entry_count=count)
        for name, count in sorted(total.items(), key=lambda item: _tree_order(item[0]))
        if not parent or name.startswith(f"{parent}.")
    ]


def _tree_order(namespace: str) -> list[str]:
    return namespace.split(".")


def _watch_response(event: WatchEvent) -> search_service_pb2.WatchCatalogResponse:
    response = search_service_pb2.WatchCatalogResponse(version=responses.version(event.version))
    match event:
        case ChangedNames():
            response.changed.upserted_names.extend(event.upserted)
            response.changed.deleted_names.extend(event.gone)
            response.changed.settings_changed = event.settings
            response.changed.SetInParent()
        case Current():
            response.current.SetInParent()
        case SnapshotNeeded():
            response.snapshot_needed.SetInParent()
        case Deleted():
            response.deleted.SetInParent()
    return response
