"""Traces lead from a caller through a search, and from a change through Redis to every replica.

The collector is a stand-in that speaks OTLP over gRPC: no real one can be installed here.
"""

import json
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from redis_process import running_redis
from support import running_server, tool, wait_for
from toolsearch.v1 import catalog_service_pb2 as catalog_pb
from toolsearch.v1 import search_service_pb2 as search_pb
from toolsearch.v1.catalog_service_pb2_grpc import CatalogServiceStub
from toolsearch.v1.search_service_pb2_grpc import ToolSearchServiceStub

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
CALLER = (("traceparent", f"00-{TRACE}-{PARENT}-01"),)


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[tuple[str, Any]] = []

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 the contract's name
        with self._lock:
            for resource in request.resource_spans:
                origin = next(a.value.string_value for a in resource.resource.attributes if a.key == "service.instance.id")
                for scope in resource.scope_spans:
                    self._spans.extend((origin, span) for span in scope.spans)
        return trace_service_pb2.ExportTraceServiceResponse()

    def of(self, trace: str) -> list[tuple[str, Any]]:
        with self._lock:
            return [(origin, span) for origin, span in self._spans if span.trace_id.hex() == trace]


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield collector, f"http://127.0.0.1:{port}"
    finally:
        server.stop(None)


def write(address: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
    entry = {"definition": json.dumps(tool("x", "thing"))}
    request = catalog_pb.SyncServerRequest(server="s", entries=[entry])
    with grpc.insecure_channel(address) as channel:
        CatalogServiceStub(channel).SyncServer(request, metadata=metadata)


def search(address: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
    with grpc.insecure_channel(address) as channel:
        ToolSearchServiceStub(channel).SearchTools(search_pb.SearchToolsRequest(queries=["thing"]), metadata=metadata)


def test_a_search_is_part_of_its_callers_trace() -> None:
    with collecting() as (collector, endpoint), running_server("--store", "memory:", "--otlp", endpoint) as (server, address):
        write(address)
        search(address, CALLER)
        server.stop()
        spans = {span.name: span for _, span in collector.of(TRACE)}
        call = spans["toolsearch.v1.ToolSearchService.SearchTools"]
        assert call.parent_span_id.hex() == PARENT
        assert spans["search"].parent_span_id == call.span_id


def test_a_change_is_part_of_its_writers_trace_on_every_replica() -> None:
    with collecting() as (collector, endpoint), running_redis() as redis:
        flags = ("--store", redis.url, "--otlp", endpoint, "--embeddings", "off")
        with running_server(*flags) as (first, one), running_server(*flags) as (second, other):
            for server in (first, second):
                server.wait_for_event("ready")
            write(one)
            search(other)
            with grpc.insecure_channel(one) as channel:
                CatalogServiceStub(channel).DeleteServer(catalog_pb.DeleteServerRequest(server="s"), metadata=CALLER)

            def applied() -> list[str]:
                return [origin for origin, span in collector.of(TRACE) if span.name == "apply"]

            wait_for(lambda: len(applied()) == 2, seconds=30, what="the change, applied by both replicas")
            assert len(set(applied())) == 2
            names = {span.name for _, span in collector.of(TRACE)}
            assert {"toolsearch.v1.CatalogService.DeleteServer", "commit"} <= names


def test_a_collector_that_is_away_costs_no_answer() -> None:
    with running_server("--store", "memory:", "--otlp", "http://127.0.0.1:1") as (server, address):
        write(address)
        search(address, CALLER)
        assert server.stop() == 0


def test_a_broken_trace_header_is_passed_over() -> None:
    with collecting() as (_, endpoint), running_server("--store", "memory:", "--otlp", endpoint) as (_, address):
        write(address, (("traceparent", "nonsense"),))
        search(address, (("traceparent", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"),))
