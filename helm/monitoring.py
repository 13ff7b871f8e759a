"""Writes the Grafana dashboard and the Prometheus alerts of the chart: python helm/monitoring.py [--check]

Queries are put together from what the service really exposes: a metric or label that it does not have ends the generation, so
that renaming one in metrics.py cannot leave an empty panel or an alert that never fires.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from toolsearch_server.metrics import CatalogFigures, Metrics

FILES = Path(__file__).parent / "toolsearch" / "files"

TARGET_LABELS = ("namespace", "job", "instance")
"""Given to every series by whoever scrapes; namespace only in Kubernetes."""
DASHBOARD_SCOPE = {"namespace": ("=~", "$namespace"), "job": ("=~", "$job"), "instance": ("=~", "$instance")}
DASHBOARD_WINDOW = "$__rate_interval"

FAILED_CODES = "INTERNAL|UNAVAILABLE"
"""What is the service's fault. Other codes are refusals of what callers ask for."""
STREAM = "WatchCatalog"
"""Its calls last as long as the caller likes and end with UNAVAILABLE at every roll-out: neither is slow or wrong."""


class UnknownMetric(Exception):
    """A query asks for something that the service does not expose."""


def sampled() -> Metrics:
    """Every metric with a value, so that all labels show."""
    metrics = Metrics(version="0", tenant_labels=1)
    metrics.call_ended("SearchTools", "OK", tenant="t", strategy="BM25", reason="INTERNAL", seconds=0.1)
    metrics.searched("BM25", 0)
    metrics.loaded(0.1)
    metrics.load_failed()
    metrics.evicted("idle")
    metrics.applied(0.1)
    metrics.store_failed()
    metrics.disturbed("deleted")
    metrics.listed("listed")
    metrics.planned(eager=1, deferred=1, search_tool="own")
    metrics.usage_reported("SUCCEEDED", by_search=True)
    metrics.watch_catalogs(
        lambda: CatalogFigures(
            catalogs=1, entries=1, index_bytes=1, index_bytes_allowed=1, stale=0, stalest_seconds=0.0, revision_lag=0
        )
    )
    metrics.watch_calls(lambda: (1, 1))
    metrics.watch_work(lambda: {"read": (1, 1)})
    metrics.watch_sessions(lambda: ["following"])
    return metrics


def families() -> dict[str, dict[str, frozenset[str]]]:
    """By metric: its series, and the labels of each. When a series began is nobody's question, so _created is left out."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for metric in sampled().registry.collect():
        series = {sample.name: frozenset(sample.labels) for sample in metric.samples if not sample.name.endswith("_created")}
        if not series:
            raise UnknownMetric(f"{metric.name} has no value: call what counts it in sampled()")
        found[metric.name] = series
    return found


def exposed() -> dict[str, frozenset[str]]:
    """By series: its labels."""
    return {name: labels for series in families().values() for name, labels in series.items()}


EXPOSED = exposed()


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and the labels by which its result can still be told apart."""

    text: str
    labels: frozenset[str]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Source:
    """Where series are selected from: what a dashboard shows, or everything."""

    scope: Mapping[str, tuple[str, str]]
    window: str

    def all(self, name: str, **wanted: str) -> Query:
        """Series by their labels: `code="OK"`, or `code="=~A|B"`, `code="!~A|B"`, `code="!=A"`."""
        if name not in EXPOSED:
            raise UnknownMetric(f"the service does not expose {name}")
        labels = EXPOSED[name] | set(TARGET_LABELS)
        _require(wanted, labels, name)
        matchers = {label: _matcher(value) for label, value in wanted.items()} | dict(self.scope)
        selector = ", ".join(f'{label}{operator}"{value}"' for label, (operator, value) in matchers.items())
        return Query(f"{name}{{{selector}}}" if selector else name, labels)

    def rate(self, name: str, window: str = "", **wanted: str) -> Query:
        series = self.all(name, **wanted)
        return Query(f"rate({series}[{window or self.window}])", series.labels)

    def increase(self, name: str, window: str, **wanted: str) -> Query:
        series = self.all(name, **wanted)
        return Query(f"increase({series}[{window}])", series.labels)

    def quantile(self, share: float, name: str, *by: str, **wanted: str) -> Query:
        """Of a histogram."""
        buckets = total(self.rate(f"{name}_bucket", **wanted), *by, "le")
        return Query(f"histogram_quantile({share}, {buckets})", frozenset(by))

    def mean(self, name: str, *by: str) -> Query:
        """Of a histogram."""
        return over(total(self.rate(f"{name}_sum"), *by), total(self.rate(f"{name}_count"), *by))


def _matcher(value: str) -> tuple[str, str]:
    for operator in ("=~", "!~", "!="):
        if value.startswith(operator):
            return operator, value.removeprefix(operator)
    return "=", value


def _require(wanted: Iterable[str], labels: frozenset[str], what: str) -> None:
    absent = sorted(set(wanted) - labels)
    if absent:
        raise UnknownMetric(f"{what} has no label {', '.join(absent)}")


def total(of: Query, *by: str) -> Query:
    return _aggregate("sum", of, by)


def most(of: Query, *by: str) -> Query:
    return _aggregate("max", of, by)


def count(of: Query, *by: str) -> Query:
    return _aggregate("count", of, by)


def _aggregate(function: str, of: Query, by: tuple[str, ...]) -> Query:
    _require(by, of.labels, of.text)
    grouping = f" by ({', '.join(by)}) " if by else ""
    return Query(f"{function}{grouping}({of})", frozenset(by))


def over(part: Query, whole: Query) -> Query:
    """Both have to be told apart by the same labels: others find no partner, and the panel stays empty."""
    if part.labels != whole.labels:
        raise UnknownMetric(f"{part} and {whole} do not match each other")
    return Query(f"{part} / {whole}", part.labels)


def share(part: Query, whole: Query) -> Query:
    """0 where there is nothing of `part`: a counter that nothing was counted with yet does not exist."""
    return over(Query(f"({part} or 0 * {whole})", part.labels), whole)


# The dashboard


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    description: str
    unit: str
    queries: Mapping[str, Query]
    """By legend; {{label}} in it is the label's value."""
    stacked: bool = False


def rows(source: Source) -> Iterator[tuple[str, list[Panel]]]:
    yield "Traffic", _traffic(source)
    yield "Search", _search(source)
    yield "Catalogs", _catalogs(source)
    yield "Freshness", _freshness(source)
    yield "Work", _work(source)
    yield "Watcher", _watcher(source)
    yield "Process", _process(source)


def _traffic(source: Source) -> list[Panel]:
    calls = source.rate("toolsearch_requests_total")
    finite = total(source.rate("toolsearch_requests_total", method=f"!={STREAM}"))
    failed = total(source.rate("toolsearch_requests_total", method=f"!={STREAM}", code=f"=~{FAILED_CODES}"))
    refused = total(source.rate("toolsearch_requests_total", method=f"!={STREAM}", code=f"!~OK|CANCELLED|{FAILED_CODES}"))
    by_tenant = total(source.rate("toolsearch_tenant_requests_total"), "tenant")
    refused_tenants = total(source.rate("toolsearch_tenant_requests_total", code="!~OK|CANCELLED"), "tenant", "code")
    return [
        Panel("Calls by method", "Streams count when they end.", "reqps", {"{{method}}": total(calls, "method")}, stacked=True),
        Panel("Calls by outcome", "gRPC status codes.", "reqps", {"{{code}}": total(calls, "code")}, stacked=True),
        Panel(
            "Share of calls without an answer",
            "Failed: the service's or its store's fault. Refused: what the caller asked for cannot be had.",
            "percentunit",
            {"failed": share(failed, finite), "refused": share(refused, finite)},
        ),
        *(
            Panel(
                f"Latency, p{round(part * 100)}",
                "Streams are left out. Refusals are quick and count as well: mind them when this falls under load.",
                "s",
                {"{{method}}": source.quantile(part, "toolsearch_request_seconds", "method")},
            )
            for part in (0.5, 0.95, 0.99)
        ),
        Panel(
            "Refusals by reason",
            "The reasons are those of the contract, without ERROR_REASON_.",
            "reqps",
            {"{{reason}}": total(source.rate("toolsearch_refusals_total"), "reason")},
            stacked=True,
        ),
        Panel(
            "Busiest tenants",
            "Only the first tenants seen have a label of their own, the others are (other).",
            "reqps",
            {"{{tenant}}": Query(f"topk(10, {by_tenant})", by_tenant.labels)},
        ),
        Panel(
            "Tenants with most refusals and failures",
            "A call whose credential was refused belongs to no tenant.",
            "reqps",
            {"{{tenant}} {{code}}": Query(f"topk(10, {refused_tenants})", refused_tenants.labels)},
        ),
    ]


def _search(source: Source) -> list[Panel]:
    answers = total(source.rate("toolsearch_search_results_count"), "strategy")
    empty = total(source.rate("toolsearch_search_empty_total"), "strategy")
    return [
        Panel(
            "Searches by strategy",
            "As it was done: auto is not among them. Searches that were refused have none.",
            "reqps",
            {"{{strategy}}": total(source.rate("toolsearch_requests_total", strategy="!="), "strategy")},
            stacked=True,
        ),
        Panel("Share of empty answers", "Nothing matched.", "percentunit", {"{{strategy}}": share(empty, answers)}),
        Panel(
            "Matches in an answer",
            "",
            "none",
            {
                "{{strategy}} mean": source.mean("toolsearch_search_results", "strategy"),
                "{{strategy}} p95": source.quantile(0.95, "toolsearch_search_results", "strategy"),
            },
        ),
        Panel(
            "Plans by search tool",
            "none: nothing had to be deferred.",
            "reqps",
            {"{{search_tool}}": total(source.rate("toolsearch_plans_total"), "search_tool")},
            stacked=True,
        ),
        Panel(
            "Tools in plans",
            "",
            "none",
            {"{{decision}}": total(source.rate("toolsearch_planned_tools_total"), "decision")},
            stacked=True,
        ),
        Panel(
            "Reported uses",
            "Whether tools that were found by search did what was wanted.",
            "none",
            {"{{outcome}}, found by {{found_by}}": total(source.rate("toolsearch_usage_reports_total"), "outcome", "found_by")},
            stacked=True,
        ),
    ]


def _catalogs(source: Source) -> list[Panel]:
    return [
        Panel("Catalogs in memory", "", "none", {"{{instance}}": total(source.all("toolsearch_catalogs"), "instance")}),
        Panel("Entries in memory", "", "none", {"{{instance}}": total(source.all("toolsearch_entries"), "instance")}),
        Panel(
            "Memory of catalogs",
            "As estimated, against what is allowed (--limit index_bytes). Unused catalogs are let go of above that.",
            "bytes",
            {
                "{{instance}}": total(source.all("toolsearch_index_bytes"), "instance"),
                "allowed": most(source.all("toolsearch_index_allowed_bytes")),
            },
        ),
        Panel(
            "Loads",
            "Catalogs read from the store, because they were not in memory.",
            "ops",
            {
                "loaded": total(source.rate("toolsearch_catalog_load_seconds_count")),
                "failed": total(source.rate("toolsearch_catalog_load_failures_total")),
            },
        ),
        Panel("Load time", "", "s", _quantiles(source, "toolsearch_catalog_load_seconds")),
        Panel(
            "Entries to be embedded",
            "With a transformer or an endpoint, entries are found by their words alone until they are embedded.",
            "none",
            {
                "{{instance}}": total(source.all("toolsearch_entries_without_vector"), "instance"),
                "{{instance}} failing": total(source.all("toolsearch_embedding_failing"), "instance"),
            },
        ),
        Panel(
            "Evictions by cause",
            "memory: to make room for others. idle: unused for long.",
            "ops",
            {"{{cause}}": total(source.rate("toolsearch_catalog_evictions_total"), "cause")},
            stacked=True,
        ),
    ]


def _freshness(source: Source) -> list[Panel]:
    return [
        Panel(
            "Staleness",
            "For how long the stalest catalog of a replica may have missed something.",
            "s",
            {"{{instance}}": most(source.all("toolsearch_staleness_seconds"), "instance")},
        ),
        Panel(
            "Stale catalogs",
            "Answered from memory while the store is away or has lost them.",
            "none",
            {"{{instance}}": total(source.all("toolsearch_stale_catalogs"), "instance")},
        ),
        Panel(
            "Revision lag",
            "Changes that are known and not searchable yet, of the catalog with most.",
            "none",
            {"{{instance}}": most(source.all("toolsearch_revision_lag"), "instance")},
        ),
        Panel(
            "Apply latency",
            "From when a change is known to a replica until it is searchable.",
            "s",
            _quantiles(source, "toolsearch_apply_seconds"),
        ),
        Panel(
            "Changes applied",
            "",
            "ops",
            {"{{instance}}": total(source.rate("toolsearch_apply_seconds_count"), "instance")},
            stacked=True,
        ),
        Panel(
            "Disturbances by cause",
            "What made replicas ask the store about a catalog; deleted is ordinary.",
            "ops",
            {"{{cause}}": total(source.rate("toolsearch_follower_disturbances_total"), "cause")},
            stacked=True,
        ),
        Panel(
            "Store errors",
            "",
            "ops",
            {"{{job}} {{instance}}": total(source.rate("toolsearch_store_errors_total"), "job", "instance")},
        ),
    ]


def _work(source: Source) -> list[Panel]:
    calls = Panel(
        "Calls under way",
        "Beyond the limits calls, calls_per_tenant, watches and watches_per_tenant of a replica, more are refused.",
        "none",
        {
            "{{instance}} calls": total(source.all("toolsearch_calls"), "instance"),
            "{{instance}} watches": total(source.all("toolsearch_watches"), "instance"),
        },
    )
    return [calls] + [
        Panel(
            title,
            description,
            "none",
            {"{{lane}}": total(source.all(name), "lane")},
            stacked=True,
        )
        for title, description, name in (
            (
                "Work under way",
                "All replicas together. loop is the event loop, the others are threads.",
                "toolsearch_work_active",
            ),
            (
                "Work that waits",
                "For its turn, among tenants. Much of it for long means too few cores.",
                "toolsearch_work_waiting",
            ),
        )
    ]


def _watcher(source: Source) -> list[Panel]:
    return [
        Panel(
            "MCP servers by state",
            "Where several watchers run, one follows a server and it is waiting for lease in the others.",
            "none",
            {"{{state}}": total(source.all("toolsearch_mcp_sessions"), "state")},
            stacked=True,
        ),
        Panel(
            "Listings by outcome",
            "",
            "ops",
            {"{{outcome}}": total(source.rate("toolsearch_mcp_listings_total"), "outcome")},
            stacked=True,
        ),
    ]


def _process(source: Source) -> list[Panel]:
    started = most(source.all("process_start_time_seconds"), "instance")
    return [
        Panel(
            "Processes by version",
            "",
            "none",
            {"{{job}} {{version}}": count(source.all("toolsearch_build_info"), "job", "version")},
        ),
        Panel("Uptime", "", "s", {"{{instance}}": Query(f"time() - {started}", started.labels)}),
        Panel("Cores in use", "", "none", {"{{instance}}": total(source.rate("process_cpu_seconds_total"), "instance")}),
        Panel(
            "Resident memory",
            "Of the whole process, catalogs included.",
            "bytes",
            {"{{instance}}": total(source.all("process_resident_memory_bytes"), "instance")},
        ),
        Panel(
            "Virtual memory",
            "Says little by itself; growth without an end is a leak.",
            "bytes",
            {"{{instance}}": total(source.all("process_virtual_memory_bytes"), "instance")},
        ),
        Panel(
            "Open files and connections",
            "",
            "none",
            {
                "{{instance}}": total(source.all("process_open_fds"), "instance"),
                "allowed": _aggregate("min", source.all("process_max_fds"), ()),
            },
        ),
    ]


def _quantiles(source: Source, name: str) -> dict[str, Query]:
    return {f"p{round(part * 100)}": source.quantile(part, name) for part in (0.5, 0.95, 0.99)}


COLUMNS = 24
PANEL_WIDTH = 8
PANEL_HEIGHT = 8
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> dict[str, Any]:
    source = Source(DASHBOARD_SCOPE, DASHBOARD_WINDOW)
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in rows(source):
        panels.append(
            {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _position(0, top, COLUMNS, 1)}
        )
        top += 1
        width = max(PANEL_WIDTH, COLUMNS // len(row))
        per_line = COLUMNS // width
        for place, panel in enumerate(row):
            line, column = divmod(place, per_line)
            panels.append(_panel(panel, _position(column * width, top + line * PANEL_HEIGHT, width, PANEL_HEIGHT)))
        top += -(-len(row) // per_line) * PANEL_HEIGHT
    for number, each in enumerate(panels, start=1):
        each["id"] = number
    return {
        "uid": "toolsearch",
        "title": "toolsearch",
        "description": "Tool search: traffic, catalogs, freshness, and what it takes.",
        "tags": ["toolsearch"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "links": [],
        "panels": panels,
    }


def _position(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, position: dict[str, int]) -> dict[str, Any]:
    for legend, query in panel.queries.items():
        _require(re.findall(r"{{(\w+)}}", legend), query.labels, panel.title)
    stacking = {"group": "A", "mode": "normal" if panel.stacked else "none"}
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": position,
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "custom": {"fillOpacity": 20 if panel.stacked else 0, "showPoints": "never", "stacking": stacking},
            },
            "overrides": [],
        },
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": DATASOURCE,
                "expr": query.text,
                "legendFormat": legend,
                "range": True,
            }
            for number, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def _variables() -> list[dict[str, Any]]:
    everything = Source({}, DASHBOARD_WINDOW)
    build = "toolsearch_build_info"
    in_namespace = everything.all(build, namespace="=~$namespace")
    in_job = everything.all(build, namespace="=~$namespace", job="=~$job")
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}},
        # Outside Kubernetes series have no namespace, and .* is what matches that.
        _variable("namespace", "Namespace", everything.all(build), all_value=".*"),
        # All is the jobs found here, never .*: other programs have the metrics of processes too.
        _variable("job", "Job", in_namespace),
        _variable("instance", "Instance", in_job, all_value=".*"),
    ]


def _variable(label: str, title: str, series: Query, all_value: str | None = None) -> dict[str, Any]:
    query = f"label_values({series}, {label})"
    return {
        "name": label,
        "label": title,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": label},
        "definition": query,
        "refresh": 2,  # whenever the time range changes: replicas come and go
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    } | ({} if all_value is None else {"allValue": all_value})


# The alerts


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    name: str
    value: Query
    when: str
    """What follows the value in the rule's expression."""
    lasting: str
    severity: str
    summary: str
    description: str
    """What it means, and what to do."""


CRITICAL = "critical"
WARNING = "warning"
EACH_JOB = ("namespace", "job")
EACH_INSTANCE = TARGET_LABELS


def alerts() -> dict[str, Any]:
    source = Source({}, "5m")
    groups = {
        "toolsearch-calls": _call_alerts(source),
        "toolsearch-catalogs": _catalog_alerts(source),
        "toolsearch-freshness": _freshness_alerts(source),
        "toolsearch-processes": _process_alerts(source),
    }
    return {"groups": [{"name": name, "rules": [_rule(alert) for alert in group]} for name, group in groups.items()]}


def _rule(alert: Alert) -> dict[str, Any]:
    annotations = {"summary": alert.summary, "description": " ".join(alert.description.split())}
    for text in annotations.values():
        _require(re.findall(r"\$labels\.(\w+)", text), alert.value.labels, alert.name)
    return {
        "alert": alert.name,
        "expr": f"{alert.value} {alert.when}".strip(),
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": annotations,
    }


def _call_alerts(source: Source) -> list[Alert]:
    finite = total(source.rate("toolsearch_requests_total", method=f"!={STREAM}"), *EACH_JOB)
    failed = total(source.rate("toolsearch_requests_total", method=f"!={STREAM}", code=f"=~{FAILED_CODES}"), *EACH_JOB)
    overloaded = total(source.rate("toolsearch_refusals_total", reason="OVERLOADED"), *EACH_JOB)
    strangers = "=~CREDENTIAL_INVALID|CREDENTIAL_REQUIRED|TENANT_DENIED"
    defects = source.all("toolsearch_requests_total", code="INTERNAL")
    return [
        Alert(
            name="ToolsearchCallsFail",
            value=over(failed, finite),
            when="> 0.02",
            lasting="5m",
            severity=CRITICAL,
            summary="{{ $labels.job }} fails {{ $value | humanizePercentage }} of its calls",
            description="""
                Calls end with INTERNAL or UNAVAILABLE, which no caller can help. See the dashboard's refusals by reason:
                STORE_UNAVAILABLE means that Redis or the disk is away (writes and first loads fail, searches in memory go on),
                REVISION_NOT_REACHED that replicas do not hear of changes, INTERNAL a defect whose request ids are in the log.
            """,
        ),
        Alert(
            name="ToolsearchDefect",
            value=source.increase("toolsearch_requests_total", "15m", code="INTERNAL"),
            # A counter comes to be with its first failure, and increase() does not see that one.
            when=f"> 0 or ({defects} unless {defects} offset 15m)",
            lasting="0m",
            severity=WARNING,
            summary="{{ $labels.instance }} failed in {{ $labels.method }} for a reason of its own",
            description="""
                A call ended with INTERNAL, which is always a defect of the service. Search the log of this replica for
                "call failed": the line has the request id and where it happened. Please report it with both.
            """,
        ),
        Alert(
            name="ToolsearchSearchesSlow",
            value=source.quantile(0.99, "toolsearch_request_seconds", *EACH_JOB, method="SearchTools"),
            when="> 0.5",
            lasting="10m",
            severity=WARNING,
            summary="One search in a hundred of {{ $labels.job }} takes {{ $value | humanizeDuration }} or more",
            description="""
                Compare with the work that waits, by lane: if it grows, there are too few cores or replicas for the traffic, or
                one tenant takes them (set tenant_rate, or lower calls_per_tenant). If nothing waits, look at the loads:
                catalogs that do not fit in index_bytes are read from the store again and again.
            """,
        ),
        Alert(
            name="ToolsearchOverloaded",
            value=over(overloaded, finite),
            when="> 0.01",
            lasting="5m",
            severity=WARNING,
            summary="{{ $labels.job }} refuses {{ $value | humanizePercentage }} of its calls for overload",
            description="""
                More calls are under way than the limits calls and calls_per_tenant allow. If one tenant makes most of them
                (dashboard: tenants), the limit does its work: talk to that tenant. If all of them do, add replicas.
            """,
        ),
        Alert(
            name="ToolsearchCredentialsRefused",
            value=total(source.rate("toolsearch_refusals_total", reason=strangers), *EACH_JOB),
            when="> 1",
            lasting="10m",
            severity=WARNING,
            summary="{{ $labels.job }} refuses {{ $value | humanize }} calls per second for their credential",
            description="""
                Either a key or token has expired or was rotated and a caller still has the old one, or somebody is trying. The
                audit records say from where the calls come.
            """,
        ),
    ]


def _catalog_alerts(source: Source) -> list[Alert]:
    taken = total(source.all("toolsearch_index_bytes"), *EACH_INSTANCE)
    allowed = total(source.all("toolsearch_index_allowed_bytes"), *EACH_INSTANCE)
    evicted = total(source.rate("toolsearch_catalog_evictions_total", "10m", cause="memory"), *EACH_INSTANCE)
    return [
        Alert(
            name="ToolsearchCatalogsThrash",
            value=over(taken, allowed),
            when=f"> 0.8 and {evicted} > 0.1",
            lasting="15m",
            severity=WARNING,
            summary="{{ $labels.instance }} keeps evicting catalogs to make room for others",
            description="""
                The catalogs in memory take {{ $value | humanizePercentage }} of index_bytes, and each one that is loaded pushes
                another out, which is loaded again when it is searched next. Raise index_bytes together with the memory of the
                process, or route tenants so that a replica sees fewer of them.
            """,
        ),
        Alert(
            name="ToolsearchCatalogsTooLarge",
            value=over(taken, allowed),
            when="> 1",
            lasting="10m",
            severity=WARNING,
            summary="Catalogs of {{ $labels.instance }} take {{ $value | humanizePercentage }} of the memory they may have",
            description="""
                Catalogs that are watched or written cannot be evicted, and they alone take more than index_bytes. The process
                may be killed for its memory: raise both limits, or move catalogs to another installation.
            """,
        ),
        Alert(
            name="ToolsearchLoadsFail",
            value=total(source.increase("toolsearch_catalog_load_failures_total", "10m"), *EACH_JOB),
            when="> 0",
            lasting="5m",
            severity=WARNING,
            summary="{{ $labels.job }} cannot load catalogs",
            description="""
                Searches of catalogs that are not in memory fail. With store errors at the same time the store is away or slow.
                Without them a catalog cannot be read or indexed: the log has the reason under "call failed".
            """,
        ),
    ]


def _freshness_alerts(source: Source) -> list[Alert]:
    lag = source.all("toolsearch_revision_lag")
    return [
        Alert(
            name="ToolsearchStoreFails",
            value=total(source.increase("toolsearch_store_errors_total", "5m"), *EACH_INSTANCE),
            when="> 0",
            # As long as the window: one failure alone is not enough.
            lasting="5m",
            severity=CRITICAL,
            summary="The store of {{ $labels.instance }} keeps failing",
            description="""
                Writes are refused, catalogs that are not in memory cannot be searched, the others are answered and get stale.
                Look at Redis first: does it answer, is its memory used up, did the password change? With one replica affected,
                look at its network; with a store in a file, at the disk. Nothing has to be restarted: replicas catch up by
                themselves.
            """,
        ),
        Alert(
            name="ToolsearchCatalogsStale",
            value=most(source.all("toolsearch_staleness_seconds"), *EACH_INSTANCE),
            when="> 60",
            lasting="5m",
            severity=WARNING,
            summary="{{ $labels.instance }} may have missed changes for {{ $value | humanizeDuration }}",
            description="""
                Within 10 seconds of Redis answering, replicas know whether they missed something. With store errors: see
                ToolsearchStoreFails. Without them Redis has lost a catalog that is still served from memory: write it again
                (watchers do so by themselves), or delete it.
            """,
        ),
        Alert(
            name="ToolsearchReplicaLags",
            # A replica that catches up between changes is well, however busy: only the least of the lag counts.
            value=most(Query(f"min_over_time({lag}[5m])", lag.labels), *EACH_INSTANCE),
            when="> 0",
            lasting="5m",
            severity=WARNING,
            summary="{{ $labels.instance }} has been {{ $value }} changes or more behind for minutes",
            description="""
                A catalog changes faster than this replica can index it, or indexing does not get its turn: see the waiting work
                of the lanes write and index, and who writes so often. Few large writes (SyncServer) cost less than many small
                ones.
            """,
        ),
        Alert(
            name="ToolsearchChangesSlow",
            value=source.quantile(0.99, "toolsearch_apply_seconds", *EACH_JOB),
            when="> 5",
            lasting="10m",
            severity=WARNING,
            summary="Changes take {{ $value | humanizeDuration }} to become searchable in {{ $labels.job }}",
            description="""
                Usually it is some milliseconds. Very large catalogs and too few cores are the most likely reasons: see the
                waiting work by lane and the entries in memory.
            """,
        ),
        Alert(
            name="ToolsearchMcpServersAway",
            value=total(source.all("toolsearch_mcp_sessions", state="away"), *EACH_JOB),
            when="> 0",
            lasting="15m",
            severity=WARNING,
            summary="{{ $value }} of the MCP servers that {{ $labels.job }} follows are away",
            description="""
                Their last known tools are still found, tagged stale after --stale-after, and removed only with --forget-after.
                The watcher's log names each server and its error under "mcp server is away". Servers that are gone for good
                belong out of the file.
            """,
        ),
    ]


def _process_alerts(source: Source) -> list[Alert]:
    build = source.all("toolsearch_build_info")
    # Every program may have the metrics of a process; those of ours are the ones beside this.
    of_ours = f"and on (job, instance) {build}"
    started = source.all("process_start_time_seconds")
    files_open, files_allowed = source.all("process_open_fds"), source.all("process_max_fds")
    return [
        Alert(
            name="ToolsearchDown",
            # Only replicas have this metric, watchers do not. The job would not do: its name is the installation's.
            value=Query(f"absent({source.all('toolsearch_catalogs')})", frozenset()),
            when="",
            lasting="2m",
            severity=CRITICAL,
            summary="No replica of toolsearch can be scraped",
            description="""
                Either no replica runs, or Prometheus does not reach their --http port. Look at the pods or processes and their
                last log lines: a replica that cannot start says why in one line. Without replicas nobody can search.
            """,
        ),
        Alert(
            name="ToolsearchUnreachable",
            value=Query("up", frozenset(TARGET_LABELS)),
            when=f"== 0 and on (job, instance) max_over_time({build}[1h])",
            lasting="5m",
            severity=WARNING,
            summary="{{ $labels.instance }} of {{ $labels.job }} was there within the last hour and cannot be scraped now",
            description="""
                The process hangs or is cut off, or it was removed and is still in the list of targets. Its /livez says whether
                it lives, which does not depend on Redis.
            """,
        ),
        Alert(
            name="ToolsearchRestarts",
            value=Query(f"changes({started}[30m])", started.labels),
            when=f"> 2 {of_ours}",
            lasting="0m",
            severity=WARNING,
            summary="{{ $labels.instance }} of {{ $labels.job }} restarted {{ $value }} times in half an hour",
            description="""
                Most often it is killed for its memory: compare the resident memory with the limit of the container, which has
                to be well above index_bytes. Otherwise the last lines of the former process's log say why it ended.
            """,
        ),
        Alert(
            name="ToolsearchFilesUsedUp",
            value=over(files_open, files_allowed),
            when=f"> 0.8 {of_ours}",
            lasting="10m",
            severity=WARNING,
            summary="{{ $labels.instance }} has {{ $value | humanizePercentage }} of the open files that it may have",
            description="""
                New connections will be refused. Callers should keep one connection each instead of one per call; many that do
                so need a higher limit of open files, or more replicas.
            """,
        ),
    ]


# The files

HEADER = "# Written by helm/monitoring.py: change that, not this.\n"


def generated() -> dict[Path, str]:
    rules = yaml.safe_dump(alerts(), sort_keys=False, allow_unicode=True, width=120)
    return {
        FILES / "dashboard.json": json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n",
        FILES / "alerts.yaml": HEADER + rules,
    }


def outdated() -> list[str]:
    return [path.name for path, text in generated().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the dashboard and the alerts of the chart.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if what is there differs")
    if parser.parse_args().check:
        names = outdated()
        sys.exit(f"not up to date: {', '.join(names)}: run helm/monitoring.py" if names else 0)
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
