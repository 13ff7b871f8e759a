"""The dashboard and the alerts in a real Prometheus: every panel shows something of a server at work, every alert fires when it
should, and only then.

Skipped where prometheus and promtool are not on PATH.
"""

import json
import math
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redis_process import RedisProcess, free_port, running_redis
from support import running_server, tool, wait_for
from toolsearch import Client, NotFound, UsageReport
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.redis_keys import Keys

FILES = Path(__file__).parents[2] / "helm" / "toolsearch" / "files"
DASHBOARD = FILES / "dashboard.json"
ALERTS = FILES / "alerts.yaml"

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
pytestmark = pytest.mark.skipif(
    PROMETHEUS is None or PROMTOOL is None,
    reason="prometheus and promtool are not on PATH: make monitoring installs them",
)


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False, timeout=60)


# Alerts, on series that are made up: 90 minutes pass in no time.

MINUTES = 90
TARGET = 'namespace="n", job="j", instance="i"'


def series(name: str, **labels: str) -> str:
    own = "".join(f', {label}="{value}"' for label, value in labels.items())
    return f"{name}{{{TARGET}{own}}}"


def steady(value: int) -> str:
    return f"{value}x{MINUTES}"


def growing(by: int) -> str:
    return f"0+{by}x{MINUTES}"


def durations(name: str, seconds: str, **labels: str) -> dict[str, str]:
    """A histogram of things that all take as long as `seconds`, at most."""
    bounds = ("0.005", "0.5", "1.0", "10.0", "+Inf")
    return {
        series(f"{name}_bucket", le=bound, **labels): growing(100 if float(bound) >= float(seconds) else 0) for bound in bounds
    }


SEARCHES = series("toolsearch_requests_total", method="SearchTools", code="OK")
CATALOGS = series("toolsearch_catalogs")
BUILD = series("toolsearch_build_info", version="1")
UP = series("up")
STARTED = series("process_start_time_seconds")
FILES_OPEN = series("process_open_fds")
INDEX_BYTES = series("toolsearch_index_bytes")
STORE_ERRORS = series("toolsearch_store_errors_total")
LOAD_FAILURES = series("toolsearch_catalog_load_failures_total")
STALENESS = series("toolsearch_staleness_seconds")
LAG = series("toolsearch_revision_lag")

# A busy replica that is well: callers make mistakes, streams end with roll-outs, changes are caught up with, others' processes
# restart all the time, the store failed once.
WELL = {
    UP: steady(1),
    BUILD: steady(1),
    CATALOGS: steady(3),
    SEARCHES: growing(600),
    series("toolsearch_requests_total", method="SearchTools", code="INVALID_ARGUMENT"): growing(300),
    series("toolsearch_requests_total", method="WatchCatalog", code="UNAVAILABLE"): growing(30),
    series("toolsearch_refusals_total", reason="FIELD_REQUIRED"): growing(300),
    series("toolsearch_refusals_total", reason="SHUTTING_DOWN"): growing(30),
    **durations("toolsearch_request_seconds", "0.005", method="SearchTools"),
    **durations("toolsearch_request_seconds", "10.0", method="WatchCatalog"),
    **durations("toolsearch_apply_seconds", "0.005"),
    INDEX_BYTES: steady(950),
    series("toolsearch_index_allowed_bytes"): steady(1000),
    series("toolsearch_catalog_evictions_total", cause="idle"): growing(60),
    LOAD_FAILURES: steady(0),
    STORE_ERRORS: f"0x40 1x{MINUTES}",
    STALENESS: "0x30 20x2 0x90",
    LAG: "0 5 0 9 " * (MINUTES // 4),
    series("toolsearch_mcp_sessions", state="following"): steady(2),
    series("toolsearch_mcp_sessions", state="away"): "0x30 1x5 0x90",
    STARTED: steady(100),
    FILES_OPEN: steady(10),
    series("process_max_fds"): steady(100),
    'process_start_time_seconds{job="another", instance="i"}': growing(100),
}

ABSENT = ""
ILL: dict[str, dict[str, str]] = {
    "ToolsearchCallsFail": {series("toolsearch_requests_total", method="SearchTools", code="UNAVAILABLE"): growing(30)},
    "ToolsearchDefect": {series("toolsearch_requests_total", method="SearchTools", code="INTERNAL"): f"_x40 1x{MINUTES}"},
    "ToolsearchSearchesSlow": durations("toolsearch_request_seconds", "1.0", method="SearchTools"),
    "ToolsearchOverloaded": {series("toolsearch_refusals_total", reason="OVERLOADED"): growing(60)},
    "ToolsearchCredentialsRefused": {series("toolsearch_refusals_total", reason="CREDENTIAL_INVALID"): growing(120)},
    "ToolsearchCatalogsThrash": {series("toolsearch_catalog_evictions_total", cause="memory"): growing(60)},
    "ToolsearchCatalogsTooLarge": {INDEX_BYTES: steady(1200)},
    "ToolsearchLoadsFail": {LOAD_FAILURES: growing(1)},
    "ToolsearchStoreFails": {STORE_ERRORS: growing(1)},
    "ToolsearchCatalogsStale": {STALENESS: growing(60)},
    "ToolsearchReplicaLags": {LAG: steady(5)},
    "ToolsearchChangesSlow": durations("toolsearch_apply_seconds", "10.0"),
    "ToolsearchMcpServersAway": {series("toolsearch_mcp_sessions", state="away"): steady(1)},
    "ToolsearchDown": {CATALOGS: ABSENT},
    "ToolsearchUnreachable": {UP: f"1x30 0x{MINUTES}", BUILD: "1x30"},
    "ToolsearchRestarts": {STARTED: growing(100)},
    "ToolsearchFilesUsedUp": {FILES_OPEN: steady(90)},
}


def check_fired(folder: Path, given: Mapping[str, str], *alerts: str) -> None:
    """These alerts, and no others, fire at some time while the series are like this."""
    fired = f'count by (alertname) (count_over_time(ALERTS{{alertstate="firing"}}[{MINUTES}m]))'
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items() if values != ABSENT],
        "promql_expr_test": [
            {
                "expr": fired,
                "eval_time": f"{MINUTES}m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in alerts],
            }
        ],
    }
    file = folder / "test.json"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}))
    result = promtool("test", "rules", str(file))
    assert result.returncode == 0, result.stdout + result.stderr


def test_promtool_accepts_the_alerts() -> None:
    result = promtool("check", "rules", "--lint-fatal", str(ALERTS))
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_alert_fires_while_all_is_well(tmp_path: Path) -> None:
    check_fired(tmp_path, WELL)


@pytest.mark.parametrize("alert", ILL)
def test_an_alert_fires_when_it_should_and_alone(tmp_path: Path, alert: str) -> None:
    check_fired(tmp_path, WELL | ILL[alert], alert)


# The dashboard, on a server at work.


class Prometheus:
    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"

    def get(self, path: str, **parameters: str) -> Any:
        url = f"http://{self.address}/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def values(self, query: str) -> list[float]:
        """Raises HTTPError for a query that Prometheus does not accept."""
        result = self.get("api/v1/query", query=query)["result"]
        return [value for sample in result if math.isfinite(value := float(sample["value"][1]))]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def running_prometheus(target: str, folder: Path) -> Iterator[Prometheus]:
    assert PROMETHEUS is not None
    prometheus = Prometheus(free_port())
    job = {"job_name": "toolsearch", "static_configs": [{"targets": [target]}]}
    timing = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
    config = folder / "prometheus.json"
    config.write_text(json.dumps({"global": timing, "rule_files": [str(ALERTS)], "scrape_configs": [job]}))
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                PROMETHEUS,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={prometheus.address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(prometheus.ready, seconds=30, what="Prometheus")
        yield prometheus
    finally:
        process.terminate()
        process.wait(timeout=30)


class Traffic:
    """A little of everything that is measured."""

    def __init__(self, address: str, redis: RedisProcess) -> None:
        self._redis = redis
        self._clients = [Client(address, catalog=name) for name in ("one", "two")]
        self._astray = Client(address, catalog="absent")
        self._rounds = 0

    def flow(self) -> None:
        self._rounds += 1
        for client in self._clients:
            # There is memory for one of the catalogs only: each round evicts and loads both.
            client.sync_server("s", [tool("send_mail", f"send a mail, edition {self._rounds}")])
            client.search("mail")
            client.search("^nothing is called so$", strategy="regex")
            client.plan_tools("openai", "gpt-5.4")
            client.report_usage([UsageReport("s.send_mail")])
            self._redis.command("PUBLISH", Keys("toolsearch:").channel(CatalogKey("default", client.catalog)), "gibberish")
        with pytest.raises(NotFound):
            self._astray.search("mail")

    def close(self) -> None:
        for client in (*self._clients, self._astray):
            client.close()


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, Traffic]]:
    """A Prometheus that scrapes a replica, which follows an MCP server that is away."""
    folder = tmp_path_factory.mktemp("prometheus")
    mcp_config = folder / "mcp.json"
    mcp_config.write_text(json.dumps({"mcpServers": {"broken": {"command": sys.executable, "args": ["-c", ""]}}}))
    options = ("--http", "127.0.0.1:0", "--limit", "index_bytes=1", "--mcp-config", str(mcp_config))
    with running_redis() as redis, running_server("--store", redis.url, *options) as (server, address):
        server.wait_for_event("ready")
        listening = next(json.loads(line) for line in server.lines if '"listening"' in line)
        with running_prometheus(listening["http"], folder) as prometheus:
            traffic = Traffic(address, redis)
            try:
                yield prometheus, traffic
            finally:
                traffic.close()


def dashboard_queries() -> list[str]:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    for variable, value in {"$__rate_interval": "1m", "$namespace": ".*", "$job": "toolsearch", "$instance": ".*"}.items():
        queries = [query.replace(variable, value) for query in queries]
    return queries


def test_every_panel_shows_something_of_a_server_at_work(scraped: tuple[Prometheus, Traffic]) -> None:
    prometheus, traffic = scraped
    missing = dashboard_queries()
    assert missing

    def all_shown() -> bool:
        traffic.flow()
        missing[:] = [query for query in missing if not prometheus.values(query)]
        return not missing

    try:
        wait_for(all_shown, seconds=60, what="a value for every panel")
    except AssertionError as error:
        raise AssertionError("no value for:\n" + "\n".join(missing)) from error


def test_prometheus_evaluates_every_alert_without_an_error(scraped: tuple[Prometheus, Traffic]) -> None:
    prometheus, _ = scraped

    def evaluated() -> Any:
        rules = [rule for group in prometheus.get("api/v1/rules")["groups"] for rule in group["rules"]]
        return rules if all(rule["health"] != "unknown" for rule in rules) else None

    rules = wait_for(evaluated, what="an evaluation of all rules")
    assert {rule["name"] for rule in rules} == set(ILL), "and each of them has a test above"
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}


def test_an_mcp_server_that_is_away_is_on_its_way_to_an_alert(scraped: tuple[Prometheus, Traffic]) -> None:
    prometheus, _ = scraped
    pending = 'ALERTS{alertname="ToolsearchMcpServersAway", alertstate="pending"}'
    wait_for(lambda: prometheus.values(pending), what="the pending alert")
