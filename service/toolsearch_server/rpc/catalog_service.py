"""CatalogService: writing."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch_server.audit import Audit
from toolsearch_server.auth import Role
from toolsearch_server.catalogs import Catalogs, Planner
from toolsearch_server.changes import Outcome, Version, plan_apply, plan_settings, plan_sync
from toolsearch_server.errors import StoreUnavailable
from toolsearch_server.limits import Limits
from toolsearch_server.rpc import requests, responses
from toolsearch_server.rpc.calls import Call, Method
from toolsearch_server.rpc.pages import Pages
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.records import settings_message
from toolsearch_server.turns import Lane

SERVICE = catalog_pb.DESCRIPTOR.services_by_name["CatalogService"]

CHECKED_ON_LOOP_BYTES = 50_000
"""A request of this size is checked at once; a larger one in a thread, so that searches go on."""

Result = TypeVar("Result")


class CatalogService:
    def __init__(self, catalogs: Catalogs, limits: Limits, audit: Audit) -> None:
        self._catalogs = catalogs
        self._limits = limits
        self._audit = audit

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "ApplyChanges": Method(self.apply_changes, Role.WRITER),
            "SyncServer": Method(self.sync_server, Role.WRITER),
            "DeleteServer": Method(self.delete_server, Role.WRITER),
            "GetCatalog": Method(self.get_catalog, Role.READER),
            "GetSettings": Method(self.get_settings, Role.READER),
            "UpdateSettings": Method(self.update_settings, Role.WRITER),
            "ListCatalogs": Method(self.list_catalogs, Role.READER),
            "DeleteCatalog": Method(self.delete_catalog, Role.WRITER),
            "ListTenants": Method(self.list_tenants, Role.ADMIN),
        }

    async def apply_changes(self, call: Call, request: catalog_pb.ApplyChangesRequest) -> catalog_pb.ApplyChangesResponse:
        requests.deletes(request.deletes, self._limits)
        upserts, contents = await self._checked(
            call, request.ByteSize(), lambda: requests.drafts(request.upserts, field="upserts", limits=self._limits)
        )
        version, outcome = await self._write(
            call,
            self._key(call, request.catalog),
            lambda entries: plan_apply(entries, upserts, request.deletes, self._limits, contents),
            requests.expected_revision(request),
        )
        return catalog_pb.ApplyChangesResponse(version=responses.version(version), summary=responses.change_summary(outcome))

    async def sync_server(self, call: Call, request: catalog_pb.SyncServerRequest) -> catalog_pb.SyncServerResponse:
        server = requests.server_name(request.server, self._limits)
        offered, contents = await self._checked(
            call,
            request.ByteSize(),
            lambda: requests.drafts(request.entries, field="entries", limits=self._limits, server=server),
        )
        version, outcome = await self._write(
            call,
            self._key(call, request.catalog),
            lambda entries: plan_sync(entries, server, offered, self._limits, contents),
            requests.expected_revision(request),
        )
        return catalog_pb.SyncServerResponse(version=responses.version(version), summary=responses.change_summary(outcome))

    async def delete_server(self, call: Call, request: catalog_pb.DeleteServerRequest) -> catalog_pb.DeleteServerResponse:
        server = requests.server_name(request.server, self._limits)
        key = self._key(call, request.catalog)
        await self._catalogs.get(key)
        version, outcome = await self._write(
            call,
            key,
            lambda entries: plan_sync(entries, server, (), self._limits),
            requests.expected_revision(request),
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

    async def get_settings(self, call: Call, request: catalog_pb.GetSettingsRequest) -> catalog_pb.GetSettingsResponse:
        catalog, view = await self._catalogs.view(
            self._key(call, request.catalog),
            min_revision=requests.revision(request.min_revision, field="min_revision"),
            epoch=requests.epoch(request.epoch, self._limits),
            timeout=call.wait_seconds,
        )
        return catalog_pb.GetSettingsResponse(
            settings=settings_message(view.entries.settings), version=responses.version(view.version, catalog.staleness)
        )

    async def update_settings(self, call: Call, request: catalog_pb.UpdateSettingsRequest) -> catalog_pb.UpdateSettingsResponse:
        settings = requests.settings(request.settings, self._limits)
        version, _ = await self._write(
            call,
            self._key(call, request.catalog),
            lambda entries: plan_settings(entries, settings),
            requests.expected_revision(request),
        )
        return catalog_pb.UpdateSettingsResponse(version=responses.version(version))

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
                    entry_count=record.size.entries,
                    bytes=record.size.bytes,
                )
                for record in page
            ],
            next_page_token=pages.token_after(page[-1].name) if first + len(page) < len(records) else "",
            total_size=len(records),
        )

    async def delete_catalog(self, call: Call, request: catalog_pb.DeleteCatalogRequest) -> catalog_pb.DeleteCatalogResponse:
        await self._catalogs.delete(self._key(call, request.catalog), expected_revision=requests.expected_revision(request))
        return catalog_pb.DeleteCatalogResponse()

    async def list_tenants(self, _: Call, request: catalog_pb.ListTenantsRequest) -> catalog_pb.ListTenantsResponse:
        limits = self._limits
        size = requests.page_size(request.page_size, field="page_size", default=limits.page_size_default, most=limits.page_size)
        pages = Pages.of("ListTenants", CatalogKey("", ""))
        start = pages.start(request.page_token)
        tenants = await self._catalogs.tenants()
        first = 0 if start is None else bisect_right(tenants, start)
        page = tenants[first : first + size]
        return catalog_pb.ListTenantsResponse(
            tenants=[responses.tenant(tenant, await self._catalogs.records(tenant)) for tenant in page],
            next_page_token=pages.token_after(page[-1]) if first + len(page) < len(tenants) else "",
            total_size=len(tenants),
        )

    def _key(self, call: Call, catalog: str) -> CatalogKey:
        return requests.catalog_key(call.caller.tenant, catalog, self._limits)

    async def _checked(self, call: Call, size: int, check: Callable[[], Result]) -> Result:
        if size <= CHECKED_ON_LOOP_BYTES:
            return check()
        return await self._catalogs.processor.in_thread(call.caller.tenant, Lane.WRITE, check)

    async def _write(
        self, call: Call, key: CatalogKey, plan: Planner, expected_revision: int | None
    ) -> tuple[Version, Outcome]:
        version, outcome = await self._catalogs.write(
            key, plan, expected_revision=expected_revision, abandoned=partial(self._record_abandoned, call, key)
        )
        call.facts.update(_told(version, outcome))
        return version, outcome

    def _record_abandoned(self, call: Call, key: CatalogKey, version: Version, outcome: Outcome) -> None:
        """The call itself is on record as cancelled: this says that it had an effect all the same."""
        self._audit.record(
            "Write",
            who=call.caller.subject,
            tenant=key.tenant,
            catalog=key.catalog,
            outcome="OK",
            request_id=call.request_id,
            facts=_told(version, outcome) | {"caller_gone": True},
        )


def _told(version: Version, outcome: Outcome) -> dict[str, Any]:
    counts = {"added": len(outcome.added), "updated": len(outcome.updated), "deleted": len(outcome.deleted)}
    return counts | {"revision": version.revision}
