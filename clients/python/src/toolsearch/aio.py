"""The client, asynchronous. `client.py` has its twin."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from toolsearch import _calls
from toolsearch import types as t
from toolsearch._calls import Call, Definition, Page
from toolsearch._channel import Connection, Tls, traced
from toolsearch._session import Session, reconnect_delays
from toolsearch.errors import Unavailable, from_rpc_error
from toolsearch.tool_search import ToolSearchConfig
from toolsearch.v1.catalog_service_pb2_grpc import CatalogServiceStub
from toolsearch.v1.search_service_pb2_grpc import ToolSearchServiceStub

Result = TypeVar("Result")


class AsyncClient:
    """A connection to toolsearch, for one catalog. To be used on one event loop.

    ```python
    async with AsyncClient("localhost:50051") as client:
        await client.sync_server("github", tools)
        result = await client.search("open a bug report")
        for match in result.matches:
            print(match.name, match.reason)
    ```

    `api_key` says who calls, and for which tenant; `tenant` is for administrators, who may act for any, and for servers without
    credentials. `tls=True` speaks TLS, `Tls(...)` says more about it. A key is not sent unencrypted but to this machine.
    `route` is for proxies that send like calls to like replicas (`x-toolsearch-route`); if not said, a hash of tenant and key.

    Reads see this client's own writes (`min_revision=0` turns that off for a call) and are retried when a replica goes away;
    writes are not retried. `timeout` is in seconds and covers retries. What the service refuses or cannot do is a
    ToolSearchError; values that cannot even be sent are a ValueError or TypeError.
    """

    def __init__(
        self,
        target: str = "localhost:50051",
        *,
        catalog: str = "default",
        tenant: str | None = None,
        api_key: str | None = None,
        tls: Tls | bool = False,
        timeout: float = 10.0,
        route: str | None = None,
    ) -> None:
        self.target = target
        self.catalog = catalog
        self._timeout = timeout
        connection = Connection.to(target, tenant=tenant, api_key=api_key, tls=tls, route=route)
        self._metadata = connection.metadata
        self._session = Session(catalog)
        if connection.credentials is None:
            self._channel = grpc.aio.insecure_channel(target, options=connection.options)
        else:
            self._channel = grpc.aio.secure_channel(target, connection.credentials, options=connection.options)
        self._stubs: dict[str, Any] = {
            _calls.SEARCH: ToolSearchServiceStub(self._channel),
            _calls.CATALOG: CatalogServiceStub(self._channel),
        }

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Reading

    async def search(
        self,
        query: str | Sequence[str],
        *,
        limit: int = 5,
        strategy: t.Strategy | str = t.Strategy.AUTO,
        filter: t.Filter | None = None,  # noqa: A002 the word of the contract
        detail: t.Detail | str = t.Detail.SUMMARY,
        min_revision: int | None = None,
        explain: bool = False,
        fields: Sequence[t.SearchField | str] = (),
        case_sensitive: bool = False,
        min_relevance: float = 0.0,
        timeout: float | None = None,
    ) -> t.SearchResult:
        """The entries that fit the words of a task, a name or a pattern, best first. Several phrasings give one list."""
        call = _calls.search(
            self._session.reading(min_revision),
            query,
            limit=limit,
            strategy=strategy,
            filter=filter,
            detail=detail,
            explain=explain,
            fields=fields,
            case_sensitive=case_sensitive,
            min_relevance=min_relevance,
        )
        return await self._run(call, timeout)

    def list_tools(
        self,
        filter: t.Filter | None = None,  # noqa: A002
        *,
        detail: t.Detail | str = t.Detail.SUMMARY,
        page_size: int = 0,
        min_revision: int | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[t.Entry]:
        """All entries by canonical name, fetched a page at a time; `timeout` is for each page."""

        def page(token: str) -> Call[Page[t.Entry]]:
            return _calls.list_tools(self._session.reading(min_revision), filter, detail, page_size, token)

        return self._pages(page, timeout)

    def list_namespaces(
        self, parent: str = "", *, page_size: int = 0, min_revision: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[t.Namespace]:
        """The namespaces of canonical names, with counts."""

        def page(token: str) -> Call[Page[t.Namespace]]:
            return _calls.list_namespaces(self._session.reading(min_revision), parent, page_size, token)

        return self._pages(page, timeout)

    async def get_tools(
        self,
        names: Sequence[str],
        *,
        detail: t.Detail | str = t.Detail.FULL,
        min_revision: int | None = None,
        timeout: float | None = None,
    ) -> t.GetResult:
        """Entries in full by canonical name or alias, in the order asked for; those that do not exist are in `missing`."""
        reading = self._session.reading(min_revision)
        found = await self._run(_calls.get_tools(reading, names, detail), timeout)
        while found.omitted:
            found = found.joined(await self._run(_calls.get_tools(reading, found.omitted, detail), timeout))
        return found.result

    async def plan_tools(
        self,
        provider: str,
        model: str,
        config: ToolSearchConfig | Definition | None = None,
        *,
        purpose: str = "",
        filter: t.Filter | None = None,  # noqa: A002
        payload: bool = True,
        min_revision: int | None = None,
        timeout: float | None = None,
    ) -> t.PlanResult:
        """Which tools to load up front and which to find by search, and what to send to the provider. `config` is the
        `tool_search` block; `purpose`, what the conversation is about, preloads what fits it."""
        reading = self._session.reading(min_revision)
        call = _calls.plan(reading, provider, model, config, purpose=purpose, filter=filter, payload=payload)
        return await self._run(call, timeout)

    async def report_usage(self, reports: Iterable[t.UsageReport], *, timeout: float | None = None) -> tuple[str, ...]:
        """Say what became of entries that were used, so that what is used much comes a little earlier. The names that no
        entry has are returned."""
        return await self._run(_calls.report_usage(self.catalog, reports), timeout)

    async def watch(self, start: t.Version | None = None) -> AsyncIterator[t.WatchEvent]:
        """What changes in the catalog, after `start` or from now on, for ever: a lost connection is taken up again."""
        delays = reconnect_delays()
        while True:
            call = _calls.watch(self.catalog, start)
            try:
                async for response in self._stubs[call.service].WatchCatalog(call.request, metadata=traced(self._metadata)):
                    event = call.result(response)
                    start = event.version
                    delays = reconnect_delays()
                    yield event
                    if event.kind is t.WatchKind.DELETED:
                        return
            except grpc.RpcError as error:
                failure = from_rpc_error(error, self.target)
                if not isinstance(failure, Unavailable) or start is None:
                    raise failure from None
            await asyncio.sleep(next(delays))

    async def read_resource(
        self, name: str, path: str, *, min_revision: int | None = None, timeout: float | None = None
    ) -> bytes:
        """The content of a file that comes with an entry, which is given by canonical name or alias."""
        call = _calls.read_resource(self._session.reading(min_revision), name, path)
        method = self._stubs[call.service].ReadResource
        try:
            pieces = method(
                call.request, timeout=self._timeout if timeout is None else timeout, metadata=traced(self._metadata)
            )
            return b"".join([call.result(piece) async for piece in pieces])
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.target) from None

    # Writing

    async def apply_changes(
        self,
        upserts: Iterable[t.EntryInput | Definition] = (),
        deletes: Iterable[str] = (),
        *,
        expected_revision: int | None = None,
        timeout: float | None = None,
    ) -> t.WriteResult:
        """Add or replace entries, and delete others by canonical name or alias."""
        return await self._run(_calls.apply_changes(self.catalog, upserts, deletes, expected_revision), timeout)

    async def sync_server(
        self,
        server: str,
        tools: Iterable[t.EntryInput | Definition],
        *,
        expected_revision: int | None = None,
        timeout: float | None = None,
    ) -> t.WriteResult:
        """Say what one server offers now, as MCP tool JSON: what it no longer offers is deleted."""
        return await self._run(_calls.sync_server(self.catalog, server, tools, expected_revision), timeout)

    async def delete_server(
        self, server: str, *, expected_revision: int | None = None, timeout: float | None = None
    ) -> t.WriteResult:
        """Delete everything that came from one server."""
        return await self._run(_calls.delete_server(self.catalog, server, expected_revision), timeout)

    async def get_settings(self, *, min_revision: int | None = None, timeout: float | None = None) -> t.CatalogSettings:
        """How the catalog is searched."""
        return await self._run(_calls.get_settings(self._session.reading(min_revision)), timeout)

    async def update_settings(
        self, settings: t.CatalogSettings, *, expected_revision: int | None = None, timeout: float | None = None
    ) -> t.WriteResult:
        """Say how the catalog is searched, in the place of all earlier settings."""
        return await self._run(_calls.update_settings(self.catalog, settings, expected_revision), timeout)

    async def get_catalog(self, *, timeout: float | None = None) -> t.CatalogInfo:
        """Counts, version and token totals."""
        return await self._run(_calls.get_catalog(self.catalog), timeout)

    def list_catalogs(self, *, page_size: int = 0, timeout: float | None = None) -> AsyncIterator[t.CatalogListing]:
        """The tenant's catalogs by name."""
        return self._pages(lambda token: _calls.list_catalogs(page_size, token), timeout)

    def list_tenants(self, *, page_size: int = 0, timeout: float | None = None) -> AsyncIterator[t.TenantListing]:
        """All tenants that have catalogs, by name. For administrators."""
        return self._pages(lambda token: _calls.list_tenants(page_size, token), timeout)

    async def delete_catalog(self, *, expected_revision: int | None = None, timeout: float | None = None) -> None:
        """Delete the catalog with everything in it."""
        await self._run(_calls.delete_catalog(self.catalog, expected_revision), timeout)

    # Running calls

    async def _run(self, call: Call[Result], timeout: float | None) -> Result:
        method = getattr(self._stubs[call.service], call.method)
        try:
            response = await method(
                call.request, timeout=self._timeout if timeout is None else timeout, metadata=traced(self._metadata)
            )
        except grpc.RpcError as error:
            raise from_rpc_error(error, self.target) from None
        return self._session.noted(call.result(response))

    async def _pages(self, call: Callable[[str], Call[Page[Result]]], timeout: float | None) -> AsyncIterator[Result]:
        token = ""
        while True:
            page = await self._run(call(token), timeout)
            for item in page.items:
                yield item
            token = page.next_token
            if not token:
                return
