"""Traces, by OpenTelemetry: from the caller's span through a search, and from a change through the store to each replica.

The only module that knows OpenTelemetry, which comes with the extra `tracing`. Without an endpoint there is nothing to do.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

TRACE_HEADER = "traceparent"


class Tracer(Protocol):
    def span(
        self, name: str, parent: str = "", attributes: Mapping[str, Any] | None = None
    ) -> AbstractContextManager[None, bool | None]:
        """A span around what is done meanwhile; of the trace that `parent` names, or of the one that is under way."""
        ...

    def current(self) -> str:
        """The span under way as a `traceparent`, to be sent along; empty if there is none."""
        ...

    def spent(self, name: str, parent: str, seconds: float, attributes: Mapping[str, Any] | None = None) -> None:
        """A span that ends now and began so many seconds ago."""
        ...

    def close(self) -> None:
        """Send what is not sent yet."""
        ...


_NOTHING = nullcontext()


class NoTracer:
    def span(
        self,
        name: str,  # noqa: ARG002
        parent: str = "",  # noqa: ARG002
        attributes: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        return _NOTHING

    def current(self) -> str:
        return ""

    def spent(self, name: str, parent: str, seconds: float, attributes: Mapping[str, Any] | None = None) -> None:
        pass

    def close(self) -> None:
        pass


def open_tracer(endpoint: str, *, version: str) -> Tracer:
    """Sends to a collector that speaks OTLP over gRPC. Raises ImportError without the extra `tracing`."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    facts = {"service.name": "toolsearch", "service.version": version, "service.instance.id": secrets.token_hex(8)}
    resource = Resource.create(facts)
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return _OtlpTracer(provider)


class _OtlpTracer:
    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("toolsearch")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, parent: str = "", attributes: Mapping[str, Any] | None = None) -> Iterator[None]:
        context = self._context(parent) if parent else None
        with self._tracer.start_as_current_span(name, context=context, attributes=dict(attributes or {})):
            yield

    def current(self) -> str:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get(TRACE_HEADER, "")

    def spent(self, name: str, parent: str, seconds: float, attributes: Mapping[str, Any] | None = None) -> None:
        if parent:
            end = time.time_ns()
            start = end - int(seconds * 1e9)
            context = self._context(parent)
            span = self._tracer.start_span(name, context=context, start_time=start, attributes=dict(attributes or {}))
            span.end(end)

    def _context(self, parent: str) -> Any:
        return self._propagator.extract({TRACE_HEADER: parent})

    def close(self) -> None:
        self._provider.shutdown()
