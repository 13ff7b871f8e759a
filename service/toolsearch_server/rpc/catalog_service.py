"""CatalogService: writing."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TypeVar

from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import plan_apply, plan_sync
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import Limits
from toolsearch_server.rpc import requests, responses
from toolsearch_server.rpc.calls import Call, StreamMethod, UnaryMethod
from toolsearch_server.rpc.pages import Pages
from toolsearch_server.store import CatalogKey

SERVICE = catalog_pb.DESCRIPTOR.services_by_name["CatalogService"]

CHECKED_ON_LOOP = 50
"""So many entries are checked at once; more go to a thread, so that searches go on."""

Result = TypeVar("Result")


class CatalogService:
    def __init__(self, catalogs: Catalogs, limits: Limits) -> None:
        self._catalogs = catalogs
        self._limits = limits

    @property
    def methods(self) -> Mapping[str, UnaryMethod | StreamMethod]:
        return {
            "ApplyChanges": self.apply_changes,
            "SyncServer": self.sync_server,
            "DeleteServer": self.delete_server,
            "GetCatalog": self.get_catalog,
            "ListCatalogs": self.list_catalogs,
            "DeleteCatalog": self.delete_catalog,
        }

    async def apply_changes(self, call: Call, request: catalog_pb.ApplyChangesRequest) -> catalog_pb.ApplyChangesResponse:
        upserts = await _checked(
            len(request.upserts), lambda: requests.drafts(request.upserts, field="upserts", limits=self._limits)
        )
        version, outcome = await self._catalogs.write(
            self._key(call, request.catalog),
            lambda entries: plan_apply(entries, upserts, request.deletes, self._limits),
            expected_revision=requests.expected_revision(request),
        )
        return catalog_pb.ApplyChangesResponse(version=responses.version(version), summary=responses.change_summary(outcome))

    async def sync_server(self, call: Call, request: catalog_pb.SyncServerRequest) -> catalog_pb.SyncServerResponse:
        server = requests.server_name(request.server, self._limits)
        offered = await _checked(
            len(request.entries),
            lambda: requests.drafts(request.entries, field="entries", limits=self._limits, server=server),
        )
        version, outcome = await self._catalogs.write(
            self._key(call, request.catalog),
            lambda entries: plan_sync(entries, server, offered, self._limits),
            expected_revision=requests.expected_revision(request),
        )
        return catalog_pb.SyncServerResponse(version=responses.version(version), summary=responses.change_summary(outcome))

    async def delete_server(self, call: Call, request: catalog_pb.DeleteServerRequest) -> catalog_pb.DeleteServerResponse:
        server = requests.server_name(request.server, self._limits)
        key = self._key(call, request.catalog)
        await self._catalogs.get(key)
        version, outcome = await self._catalogs.write(
            key,
            lambda entries: plan_sync(entries, server, (), self._limits),
            expected_revision=requests.expected_revision(request),
        )
        return catalog_pb.DeleteServerResponse(version=responses.version(version), summary=responses.change_summary(outcome))

    async def get_catalog(self, call: Call, request: catalog_pb.GetCatalogRequest) -> catalog_pb.GetCatalogResponse:
        key = self._key(call, request.catalog)
        try:
            record = await self._catalogs.record(key)
        except StoreUnavailable:
            catalog, view = await self._catalogs.view(key, min_revision=0, epoch="", timeout=call.wait_seconds)
            updated = None
        else:
            catalog, view = await self._catalogs.view(
                key, min_revision=record.version.revision, epoch=record.version.epoch, timeout=call.wait_seconds
            )
            updated = record.updated
        described = await catalog.read(view, lambda: responses.catalog(key.catalog, view, updated, catalog.staleness))
        return catalog_pb.GetCatalogResponse(catalog=described)

    async def list_catalogs(self, call: Call, request: catalog_pb.ListCatalogsRequest) -> catalog_pb.ListCatalogsResponse:
        limits = self._limits
        size = requests.page_size(request.page_size, field="page_size", default=limits.page_size_default, most=limits.page_size)
        pages = Pages.of("ListCatalogs", CatalogKey(call.caller.tenant, ""))
        start = pages.start(request.page_token)
        records = await self._catalogs.records(call.caller.tenant)
        first = 0 if start is None else bisect_right(records, start, key=lambda record: record.name)
        page = records[first : first + size]
        return catalog_pb.ListCatalogsResponse(
            catalogs=[
                catalog_pb.CatalogListing(
                    name=record.name,
                    version=responses.version(record.version),
                    update_time=responses.timestamp(record.updated),
                )
                for record in page
            ],
            next_page_token=pages.token_after(page[-1].name) if first + len(page) < len(records) else "",
            total_size=len(records),
        )

    async def delete_catalog(self, call: Call, request: catalog_pb.DeleteCatalogRequest) -> catalog_pb.DeleteCatalogResponse:
        await self._catalogs.delete(self._key(call, request.catalog), expected_revision=requests.expected_revision(request))
        return catalog_pb.DeleteCatalogResponse()

    def _key(self, call: Call, catalog: str) -> CatalogKey:
        return requests.catalog_key(call.caller.tenant, catalog, self._limits)


async def _checked(entries: int, check: Callable[[], Result]) -> Result:
    return check() if entries <= CHECKED_ON_LOOP else await asyncio.to_thread(check)
