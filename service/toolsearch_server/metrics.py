"""What operators measure. The only module that knows prometheus_client; every metric of the service is defined here.

Values that grow with the number of catalogs are read when somebody asks for them, not kept while calls are answered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

disable_created_metrics()  # type: ignore[no-untyped-call]  # when a series began is nobody's question

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
OTHER_TENANTS = "(other)"
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
COUNTS = (0, 1, 2, 5, 10, 20, 50, 100)


Labelled = TypeVar("Labelled", Counter, Histogram)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFigures:
    """Of all catalogs in memory."""

    catalogs: int
    entries: int
    index_bytes: int
    index_bytes_allowed: int
    stale: int
    stalest_seconds: float
    revision_lag: int
    """Changes that are known and not searchable yet, of the catalog with the most."""
    without_vector: int = 0
    """Entries that are found by their words alone until they are embedded."""
    embedding_failing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Since the process began. Who compares two of them knows what happened in between."""

    calls: Mapping[str, float]
    """By code."""
    durations: Mapping[float, float]
    """How many answered calls took up to so many seconds."""
    cpu_seconds: float
    resident_bytes: float


class Metrics:
    def __init__(self, *, version: str, tenant_labels: int, role: str = "serve") -> None:
        self.registry = registry = CollectorRegistry()
        self._tenant_labels = tenant_labels
        self._tenants: set[str] = set()
        self._children: dict[tuple[object, ...], Any] = {}
        self._sessions: _SessionCollector | None = None
        self._process = ProcessCollector(registry=registry)
        build = Gauge("toolsearch_build_info", "1; which version runs, and as what.", ["version", "role"], registry=registry)
        build.labels(version, role).set(1)
        self._requests = Counter(
            "toolsearch_requests", "Calls by their outcome.", ["method", "code", "strategy"], registry=registry
        )
        self._seconds = Histogram(
            "toolsearch_request_seconds",
            "How long answered calls took; not of refusals, which are quick, nor of streams, which last.",
            ["method"],
            buckets=SECONDS,
            registry=registry,
        )
        self._refusals = Counter("toolsearch_refusals", "Refused calls by their reason.", ["reason"], registry=registry)
        self._tenant_requests = Counter(
            "toolsearch_tenant_requests", "Calls by tenant, of the first tenants seen.", ["tenant", "code"], registry=registry
        )
        self._results = Histogram(
            "toolsearch_search_results", "Matches in an answer.", ["strategy"], buckets=COUNTS, registry=registry
        )
        self._empty = Counter("toolsearch_search_empty", "Answers without a match.", ["strategy"], registry=registry)
        self._loads = Histogram(
            "toolsearch_catalog_load_seconds", "How long it took to load a catalog.", buckets=SECONDS, registry=registry
        )
        self._load_failures = Counter(
            "toolsearch_catalog_load_failures", "Catalogs that could not be loaded.", registry=registry
        )
        self._evictions = Counter("toolsearch_catalog_evictions", "Catalogs let go of, by cause.", ["cause"], registry=registry)
        self._applies = Histogram(
            "toolsearch_apply_seconds",
            "From when a change is known to this replica until it is searchable.",
            buckets=SECONDS,
            registry=registry,
        )
        self._store_errors = Counter("toolsearch_store_errors", "Failures of the store.", registry=registry)
        self._disturbances = Counter(
            "toolsearch_follower_disturbances", "What made a catalog suspect, by cause.", ["cause"], registry=registry
        )
        self._listings = Counter(
            "toolsearch_mcp_listings", "Listings of MCP servers, by outcome.", ["outcome"], registry=registry
        )

        self._plans = Counter("toolsearch_plans", "Plans, by the search tool in them.", ["search_tool"], registry=registry)
        self._planned = Counter("toolsearch_planned_tools", "Tools in plans.", ["decision"], registry=registry)
        self._reports = Counter(
            "toolsearch_usage_reports", "Reported uses, by outcome.", ["outcome", "found_by"], registry=registry
        )

        # From 0: the first of them is an increase, too.
        for cause in ("idle", "memory"):
            self._evictions.labels(cause)
        for outcome in ("listed", "failed"):
            self._listings.labels(outcome)

    def expose(self) -> bytes:
        return generate_latest(self.registry)

    def totals(self, *, but: str = "") -> Totals:
        """Of all methods but one."""
        calls: dict[str, float] = {}
        durations: dict[float, float] = {}
        for name, labels, value in _samples(self._requests):
            if name.endswith("_total") and labels["method"] != but:
                calls[labels["code"]] = calls.get(labels["code"], 0) + value
        for name, labels, value in _samples(self._seconds):
            if name.endswith("_bucket") and labels["method"] != but:
                bound = float(labels["le"])
                durations[bound] = durations.get(bound, 0) + value
        process = {name: value for name, _, value in _samples(self._process)}
        return Totals(
            calls=calls,
            durations=durations,
            cpu_seconds=process.get("process_cpu_seconds_total", 0.0),
            resident_bytes=process.get("process_resident_memory_bytes", 0.0),
        )

    def call_ended(
        self, method: str, code: str, *, tenant: str, strategy: str, reason: str, seconds: float, stream: bool = False
    ) -> None:
        self._child(self._requests, method, code, strategy).inc()
        answered = code == "OK"
        if answered and not stream:
            self._child(self._seconds, method).observe(seconds)
        self._child(self._tenant_requests, self._tenant_label(tenant, answered=answered), code).inc()
        if reason:
            self._refusals.labels(reason).inc()

    def _child(self, metric: Labelled, *labels: str) -> Labelled:
        """The same as `metric.labels`, which looks at the labels anew each time."""
        child: Labelled | None = self._children.get((metric, *labels))
        if child is None:
            child = self._children[metric, *labels] = metric.labels(*labels)
        return child

    def _tenant_label(self, tenant: str, *, answered: bool) -> str:
        """A tenant has a label of its own from its first answered call on: names that nobody has take none away."""
        if not tenant or tenant in self._tenants:
            return tenant
        if not answered or len(self._tenants) >= self._tenant_labels:
            return OTHER_TENANTS
        self._tenants.add(tenant)
        return tenant

    def searched(self, strategy: str, results: int) -> None:
        self._child(self._results, strategy).observe(results)
        if not results:
            self._empty.labels(strategy).inc()

    def planned(self, *, eager: int, deferred: int, search_tool: str) -> None:
        """`search_tool`: none, own or provider."""
        self._plans.labels(search_tool).inc()
        self._planned.labels("eager").inc(eager)
        self._planned.labels("deferred").inc(deferred)

    def usage_reported(self, outcome: str, *, by_search: bool) -> None:
        self._reports.labels(outcome, "search" if by_search else "other").inc()

    def loaded(self, seconds: float) -> None:
        self._loads.observe(seconds)

    def load_failed(self) -> None:
        self._load_failures.inc()

    def evicted(self, cause: str) -> None:
        self._evictions.labels(cause).inc()

    def applied(self, seconds: float) -> None:
        self._applies.observe(seconds)

    def store_failed(self) -> None:
        self._store_errors.inc()

    def disturbed(self, cause: str) -> None:
        self._disturbances.labels(cause).inc()

    def listed(self, outcome: str) -> None:
        self._listings.labels(outcome).inc()

    def watch_catalogs(self, figures: Callable[[], CatalogFigures]) -> None:
        self.registry.register(_CatalogCollector(figures))

    def watch_calls(self, figures: Callable[[], tuple[int, int]]) -> None:
        """Calls under way, and open watches."""
        self.registry.register(_CallCollector(figures))

    def watch_work(self, figures: Callable[[], Mapping[str, tuple[int, int]]]) -> None:
        """By lane: how many pieces of work are under way, and how many wait."""
        self.registry.register(_WorkCollector(figures))

    def watch_sessions(self, states: Callable[[], Iterable[str]]) -> None:
        """The state of each MCP server that is followed; what was watched before is not any more."""
        if self._sessions is not None:
            self.registry.unregister(self._sessions)
        self._sessions = _SessionCollector(states)
        self.registry.register(self._sessions)


def _samples(collector: Collector) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for metric in collector.collect():
        for sample in metric.samples:
            yield sample.name, sample.labels, sample.value


class _CatalogCollector(Collector):
    def __init__(self, figures: Callable[[], CatalogFigures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        now = self._figures()
        for name, text, value in (
            ("toolsearch_catalogs", "Catalogs in memory.", now.catalogs),
            ("toolsearch_entries", "Entries in memory.", now.entries),
            ("toolsearch_index_bytes", "Memory of catalogs, as estimated.", now.index_bytes),
            ("toolsearch_index_allowed_bytes", "Memory that catalogs may have.", now.index_bytes_allowed),
            ("toolsearch_stale_catalogs", "Catalogs that may have missed something.", now.stale),
            ("toolsearch_staleness_seconds", "Since when the stalest catalog may have.", now.stalest_seconds),
            ("toolsearch_revision_lag", "Changes known and not searchable yet, of the catalog with most.", now.revision_lag),
            ("toolsearch_entries_without_vector", "Entries that are not embedded yet.", now.without_vector),
            ("toolsearch_embedding_failing", "1 while entries cannot be embedded.", now.embedding_failing),
        ):
            yield GaugeMetricFamily(name, text, value=float(value))


class _CallCollector(Collector):
    def __init__(self, figures: Callable[[], tuple[int, int]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        calls, watches = self._figures()
        yield GaugeMetricFamily("toolsearch_calls", "Calls under way.", value=calls)
        yield GaugeMetricFamily("toolsearch_watches", "Open watches.", value=watches)


class _WorkCollector(Collector):
    def __init__(self, figures: Callable[[], Mapping[str, tuple[int, int]]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        active = GaugeMetricFamily("toolsearch_work_active", "Pieces of work under way.", labels=["lane"])
        waiting = GaugeMetricFamily("toolsearch_work_waiting", "Pieces of work that wait for their turn.", labels=["lane"])
        for lane, (working, queued) in self._figures().items():
            active.add_metric([lane], working)
            waiting.add_metric([lane], queued)
        yield active
        yield waiting


class _SessionCollector(Collector):
    def __init__(self, states: Callable[[], Iterable[str]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Metric]:
        sessions = GaugeMetricFamily("toolsearch_mcp_sessions", "MCP servers followed, by state.", labels=["state"])
        counts: dict[str, int] = {}
        for state in self._states():
            counts[state] = counts.get(state, 0) + 1
        for state, count in sorted(counts.items()):
            sessions.add_metric([state], count)
        yield sessions
