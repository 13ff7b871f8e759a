"""The dashboard and the alerts of the chart: they ask for what the service has, and for all of it."""

import importlib.util
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import grpc
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from support import running_server
from toolsearch import Client, NotFound
from toolsearch.v1 import catalog_service_pb2, error_reason_pb2, search_service_pb2
from toolsearch_server.mcp_follower import State
from toolsearch_server.query import Strategy
from toolsearch_server.turns import Processor

HELM = Path(__file__).parents[2] / "helm"
GENERATOR = HELM / "monitoring.py"
FILES = HELM / "toolsearch" / "files"

# What Prometheus adds to every series or knows by itself.
TARGET_LABELS = {"namespace", "job", "instance"}
OF_PROMETHEUS = {"up": frozenset[str]()}


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("helm_monitoring", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


monitoring = _loaded(GENERATOR)
EXPOSED: dict[str, frozenset[str]] = monitoring.exposed() | OF_PROMETHEUS


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
    return loaded


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard_queries() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def variable_queries() -> list[str]:
    """label_values(series, label), written as a query that reads the same."""
    definitions = [variable["definition"] for variable in dashboard()["templating"]["list"] if variable["type"] == "query"]
    return [re.sub(r"^label_values\((.*), (\w+)\)$", r"count by (\2) (\1)", definition) for definition in definitions]


ALL_QUERIES = [*dashboard_queries(), *variable_queries(), *(rule["expr"] for rule in alerts())]


# As much of PromQL as it takes to see what a query is about.

TOKEN = re.compile(
    r'(?P<string>"[^"]*")|(?P<range>\[[^\]]*\])|(?P<name>[a-zA-Z_:][\w:]*)|(?P<number>\d[\w.]*)|(?P<sign>=~|!~|!=|==|>=|<=|\S)'
)
GROUPINGS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
OPERATORS = {"and", "or", "unless", "bool", "offset"}


@dataclass
class Asked:
    """What a query is about."""

    metrics: set[str] = field(default_factory=set)
    selected: list[tuple[str, str, str]] = field(default_factory=list)
    """Metric, label and value of each selector."""
    grouped: list[tuple[set[str], set[str]]] = field(default_factory=list)
    """Labels, and the metrics that have to have them."""


def asked(query: str) -> Asked:
    tokens = [(match.lastgroup or "", match[0]) for match in TOKEN.finditer(query)]
    texts = [text for _, text in tokens]
    found = Asked()
    skipped: set[int] = set()
    for place, (kind, text) in enumerate(tokens):
        if kind != "name" or place in skipped or text in OPERATORS:
            continue
        following = texts[place + 1] if place + 1 < len(texts) else ""
        if text in GROUPINGS:
            end = closing(texts, place + 1)
            skipped |= set(range(place + 1, end))
            labels = set(texts[place + 2 : end : 2])
            body = texts[end + 1 : closing(texts, end + 1)] if text == "by" else texts
            found.grouped.append((labels, {name for name in body if name in EXPOSED}))
        elif following == "{":
            found.metrics.add(text)
            end = texts.index("}", place)
            skipped |= set(range(place + 1, end))
            for label, value in zip(texts[place + 2 : end : 4], texts[place + 4 : end : 4], strict=True):
                found.selected.append((text, label, value.strip('"')))
        elif following != "(" and following not in GROUPINGS:
            found.metrics.add(text)
    return found


def closing(texts: list[str], opening: int) -> int:
    depth = 0
    for place in range(opening, len(texts)):
        depth += {"(": 1, ")": -1}.get(texts[place], 0)
        if not depth:
            return place
    raise AssertionError(f"a bracket is not closed: {' '.join(texts)}")


def test_the_reader_of_queries_sees_metrics_labels_and_groups() -> None:
    read = asked('sum by (a, b) (rate(up{x="1", y=~"2|3"}[5m])) / on (c) sum(z offset 5m) > 0.5 and time() - w')
    assert read.metrics == {"up", "z", "w"}
    assert read.selected == [("up", "x", "1"), ("up", "y", "2|3")]
    assert read.grouped == [({"a", "b"}, {"up"}), ({"c"}, {"up"})]


@pytest.mark.parametrize("query", ALL_QUERIES)
def test_a_query_names_only_metrics_and_labels_that_the_service_exposes(query: str) -> None:
    read = asked(query)
    assert read.metrics
    assert read.metrics <= set(EXPOSED)
    for metric, label, _ in read.selected:
        assert label in EXPOSED[metric] | TARGET_LABELS
    for labels, metrics in read.grouped:
        assert metrics
        for metric in metrics:
            assert labels <= EXPOSED[metric] | TARGET_LABELS


def label_values() -> dict[str, set[str]]:
    services = (search_service_pb2.DESCRIPTOR, catalog_service_pb2.DESCRIPTOR)
    methods = {method.name for file in services for service in file.services_by_name.values() for method in service.methods}
    return {
        "method": methods,
        "code": {code.name for code in grpc.StatusCode},
        "strategy": {"", *(strategy.name for strategy in Strategy)},
        "reason": {name.removeprefix("ERROR_REASON_") for name, _ in error_reason_pb2.ErrorReason.items()},
        "state": set(get_args(State)),
        "lane": set(Processor(1).lanes),
        "cause": {"memory", "idle"},
    }


def test_queries_ask_for_values_that_labels_can_have() -> None:
    known = label_values()
    for query in ALL_QUERIES:
        for _, label, value in asked(query).selected:
            if not value.startswith("$"):
                assert set(value.split("|")) <= known[label], query


def test_every_metric_of_the_service_is_in_the_dashboard() -> None:
    shown = {name for query in dashboard_queries() for name in asked(query).metrics}
    assert not [metric for metric, series in monitoring.families().items() if not shown & set(series)]


def test_what_is_committed_is_what_the_generator_gives() -> None:
    assert monitoring.outdated() == []


def test_check_fails_for_files_that_differ(tmp_path: Path) -> None:
    copy = tmp_path / GENERATOR.name
    copy.write_text(GENERATOR.read_text(encoding="utf-8"), encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(copy), *arguments], capture_output=True, text=True, check=False)

    assert run().returncode == 0
    assert run("--check").returncode == 0
    written = tmp_path / "toolsearch" / "files" / "alerts.yaml"
    written.write_text(written.read_text(encoding="utf-8").replace("severity: warning", "severity: none"), encoding="utf-8")
    checked = run("--check")
    assert checked.returncode == 1
    assert "alerts.yaml" in checked.stderr and "dashboard.json" not in checked.stderr


def test_a_query_over_what_the_service_does_not_have_ends_the_generation() -> None:
    source = monitoring.Source({}, "5m")
    with pytest.raises(monitoring.UnknownMetric, match="toolsearch_requests"):
        source.all("toolsearch_requests")  # without _total
    with pytest.raises(monitoring.UnknownMetric, match="reason"):
        source.all("toolsearch_requests_total", reason="INTERNAL")
    with pytest.raises(monitoring.UnknownMetric, match="tenant"):
        monitoring.total(source.rate("toolsearch_requests_total"), "tenant")
    with pytest.raises(monitoring.UnknownMetric, match="match each other"):
        monitoring.over(source.all("toolsearch_index_bytes"), monitoring.total(source.all("toolsearch_index_allowed_bytes")))


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_what_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert re.fullmatch(r"\d+m", rule["for"])
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary and "\n" not in summary
    assert len(description) > len(summary)


def test_alerts_have_names_of_their_own() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    assert all(name.startswith("Toolsearch") for name in names)


def test_the_dashboard_can_be_imported_into_any_grafana() -> None:
    board = dashboard()
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    sources = [part["datasource"]["uid"] for panel in panels() for part in (panel, *panel["targets"])]
    assert set(sources) == {"${datasource}"}
    assert "id" not in board, "an id is one Grafana's own"
    known = {*variables, "__rate_interval"}
    assert set(re.findall(r"\$\{?(\w+)", " ".join([*dashboard_queries(), *variable_queries()]))) <= known


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    everything = dashboard()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    taken: set[tuple[int, int]] = set()
    for panel in everything:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    tops = [panel["gridPos"]["y"] for panel in everything]
    assert all(first <= second for first, second in pairwise(tops))


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """/metrics of a server that was searched, in vain too, and asked for what it does not have."""
    with running_server("--store", "memory:", "--sample", "--http", "127.0.0.1:0") as (server, address):
        with Client(address) as client, Client(address, catalog="absent") as astray:
            client.search("send a mail")
            client.search("^nothing is called so$", strategy="regex")
            with pytest.raises(NotFound):
                astray.search("mail")
        listening = next(json.loads(line) for line in server.lines if '"listening"' in line)
        with urllib.request.urlopen(f"http://{listening['http']}/metrics") as answer:
            yield answer.read().decode()


def test_a_real_server_has_every_metric_that_the_dashboard_needs(page: str) -> None:
    # A counter with labels shows with its first value, but its family is announced from the start.
    announced = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE))
    needed = {name for query in [*dashboard_queries(), *variable_queries()] for name in asked(query).metrics}
    absent = {name for name in needed if not {name, re.sub("_(bucket|sum|count)$", "", name)} & announced}
    # This one is there while MCP servers are followed.
    assert absent <= {"toolsearch_mcp_sessions"}


def test_a_real_server_labels_its_metrics_as_the_generator_believes(page: str) -> None:
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    seen = {sample.name: frozenset(sample.labels) for sample in samples if not sample.name.endswith("_created")}
    assert {"toolsearch_requests_total", "toolsearch_refusals_total", "toolsearch_search_empty_total"} <= set(seen)
    assert seen.items() <= EXPOSED.items()
