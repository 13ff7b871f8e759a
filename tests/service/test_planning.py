"""Plans, settings and usage through real servers: over the wire, over replicas, over restarts."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redis_process import RedisProcess
from support import DATA, running_server, tool, wait_for
from toolsearch import (
    CatalogSettings,
    Client,
    EntryInput,
    Filter,
    InvalidRequest,
    Kind,
    ToolSearchConfig,
    ToolSearchError,
    UsageReport,
    WatchKind,
)
from toolsearch.v1 import plan_pb2
from toolsearch_server.entry import SUMMARY_TARGET, token_estimate
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.usage import ENOUGH_USES

ALWAYS = ToolSearchConfig(min_tokens=0)


@pytest.fixture
def filled(client: Client) -> Client:
    client.sync_server(
        "github",
        [
            tool("create_issue", "Open a bug report in a repository", parameters={"title": {"type": "string"}}),
            tool("list_issues", "All issues of a repository", annotations={"readOnlyHint": True}),
            tool("delete_branch", "Remove a branch"),
        ],
    )
    client.sync_server("pager", [tool("page", "Wake somebody up in an emergency")])
    client.apply_changes([EntryInput(definition={"name": "reviewer", "description": "Reviews issues"}, kind=Kind.SKILL)])
    return client


def test_a_plan_is_made_of_the_catalogs_tools(filled: Client) -> None:
    made = filled.plan_tools("anthropic", "claude-sonnet-5", ALWAYS)
    assert [each.name for each in made.eager] == ["github.list_issues"]
    assert {each.name for each in made.deferred} == {"github.create_issue", "github.delete_branch", "pager.page"}
    assert made.search_tool == "find_tools"
    assert not made.by_provider
    assert made.version == filled.get_catalog().version


def test_a_plan_sees_the_callers_own_writes(filled: Client) -> None:
    for number in range(5):
        filled.sync_server("more", [tool(f"tool_{number}")])
        assert f"more.tool_{number}" in {each.name for each in filled.plan_tools("openai", "gpt-5.4").tools}


def test_what_fits_the_purpose_is_eager(filled: Client) -> None:
    made = filled.plan_tools("openai", "gpt-5.4", ALWAYS, purpose="wake somebody up, it is an emergency")
    reasons = {each.name: each.reason for each in made.eager}
    assert reasons["pager.page"] == "fits the purpose"


def test_a_purpose_that_fits_nothing_loads_nothing(filled: Client) -> None:
    made = filled.plan_tools("openai", "gpt-5.4", ALWAYS, purpose="xylophone")
    assert "fits the purpose" not in {each.reason for each in made.eager}


def test_only_what_the_filter_admits_is_planned(filled: Client) -> None:
    made = filled.plan_tools("anthropic", "claude-sonnet-5", filter=Filter(servers=["pa*"]))
    assert [each["name"] for each in made.payload] == ["pager_page"]


def test_what_is_banned_is_in_no_plan(filled: Client) -> None:
    filled.update_settings(CatalogSettings(banned=["github.*"]))
    assert [each.name for each in filled.plan_tools("anthropic", "claude-sonnet-5").tools] == ["pager.page"]
    assert len(list(filled.list_tools())) == 5


def test_only_tools_can_be_planned(filled: Client) -> None:
    with pytest.raises(InvalidRequest) as refused:
        filled.plan_tools("anthropic", "claude-sonnet-5", filter=Filter(kinds=[Kind.SKILL]))
    assert refused.value.field == "filter.kinds"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (plan_pb2.ToolSearchConfig(max_results=0), "config.max_results"),
        (plan_pb2.ToolSearchConfig(scope=9), "config.scope"),  # type: ignore[arg-type]
        (plan_pb2.ToolSearchConfig(eager_tools={"s": plan_pb2.Globs(globs=["x" * 401])}), "config.eager_tools.s[0]"),
        (plan_pb2.ToolSearchConfig(models=[plan_pb2.ModelSupport()]), "config.models[0].model"),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_path(
    filled: Client, config: plan_pb2.ToolSearchConfig, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolSearchConfig, "to_message", lambda _: config)
    with pytest.raises(InvalidRequest) as refused:
        filled.plan_tools("anthropic", "claude-sonnet-5")
    assert (refused.value.field, refused.value.reason) == (field, "FIELD_INVALID")
    assert refused.value.metadata["allowed"]


LIMITS = DEFAULT_LIMITS
EDGES: dict[str, tuple[int, Callable[[Client, int], Any]]] = {
    "purpose": (LIMITS.purpose_length, lambda client, size: client.plan_tools("x", "y", purpose="p" * size)),
    "provider": (LIMITS.filter_value_length, lambda client, size: client.plan_tools("x" * size, "y")),
    "model": (LIMITS.filter_value_length, lambda client, size: client.plan_tools("x", "y" * size)),
    "reports": (LIMITS.usage_reports, lambda client, size: client.report_usage([UsageReport("pager.page")] * size)),
    "reports[0].name": (LIMITS.lookup_length, lambda client, size: client.report_usage([UsageReport("x" * size)])),
    "settings.weights.name": (
        LIMITS.field_weight,
        lambda client, size: client.update_settings(CatalogSettings(name_weight=size)),
    ),
    "settings.pinned": (
        LIMITS.patterns_per_setting,
        lambda client, size: client.update_settings(CatalogSettings(pinned=["x"] * size)),
    ),
    "settings.banned[0]": (
        LIMITS.filter_value_length,
        lambda client, size: client.update_settings(CatalogSettings(banned=["x" * size])),
    ),
    "settings.synonyms": (
        LIMITS.synonym_groups,
        lambda client, size: client.update_settings(CatalogSettings(synonyms=[["a", "b"]] * size)),
    ),
    "settings.synonyms[0].words": (
        LIMITS.synonyms_per_group,
        lambda client, size: client.update_settings(CatalogSettings(synonyms=[[f"w{each}" for each in range(size)]])),
    ),
    "settings.synonyms[0].words[1]": (
        LIMITS.synonym_length,
        lambda client, size: client.update_settings(CatalogSettings(synonyms=[["a", "b" * size]])),
    ),
}


@pytest.mark.parametrize("field", EDGES)
def test_the_most_that_is_allowed_is_taken_and_one_more_refused(filled: Client, field: str) -> None:
    most, call = EDGES[field]
    call(filled, most)
    with pytest.raises(InvalidRequest) as refused:
        call(filled, most + 1)
    assert refused.value.field == field


@pytest.mark.parametrize("words", [["alone"], [], ["a", ""], ["a", "one two three four five"], ["a", "--"]])
def test_synonyms_that_say_nothing_are_refused(filled: Client, words: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        filled.update_settings(CatalogSettings(synonyms=[words]))
    assert refused.value.field.startswith("settings.synonyms[0].words")
    assert filled.get_settings() == CatalogSettings()


def test_a_payload_over_its_limit_is_refused() -> None:
    with running_server("--store", "memory:", "--limit", "plan_bytes=300") as (_, address), Client(address) as client:
        client.sync_server("s", [tool("a", "x" * 500)])
        assert client.plan_tools("openai", "gpt-5.4", payload=False).tokens_before > 100
        with pytest.raises(ToolSearchError, match="plan_bytes"):
            client.plan_tools("openai", "gpt-5.4")


def test_no_report_is_no_report(filled: Client) -> None:
    with pytest.raises(InvalidRequest) as refused:
        filled.report_usage([])
    assert refused.value.field == "reports"


def test_a_search_has_an_id_that_a_report_can_name(filled: Client) -> None:
    found = filled.search("issues")
    assert found.search_id
    assert filled.report_usage([UsageReport(found.matches[0].name, "succeeded", found.search_id)]) == ()


def test_metrics_count_plans_and_reports() -> None:
    with (
        running_server("--store", "memory:", "--http", "127.0.0.1:0", "--log-level", "debug") as (server, address),
        Client(address) as client,
    ):
        client.sync_server("s", [tool("a"), tool("b"), tool("c")])
        client.plan_tools("anthropic", "claude-sonnet-5", ALWAYS)
        client.plan_tools("openai", "gpt-5.4")
        client.report_usage([UsageReport("s.a", "failed", "x"), UsageReport("s.b")])
        page = json.loads(next(line for line in server.lines if '"listening"' in line))["http"]
        with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as answer:
            metrics = answer.read().decode()
        assert 'toolsearch_plans_total{search_tool="own"} 1.0' in metrics
        assert 'toolsearch_plans_total{search_tool="none"} 1.0' in metrics
        assert 'toolsearch_planned_tools_total{decision="deferred"} 2.0' in metrics
        assert 'toolsearch_planned_tools_total{decision="eager"} 4.0' in metrics
        assert 'toolsearch_usage_reports_total{found_by="search",outcome="FAILED"} 1.0' in metrics
        assert 'toolsearch_usage_reports_total{found_by="other",outcome="SUCCEEDED"} 1.0' in metrics
        logged = [json.loads(line) for line in server.log.splitlines() if '"PlanTools"' in line]
        assert any(line.get("eager") == 1 and line.get("deferred") == 2 and line.get("search_tool") == "own" for line in logged)


# Settings and usage, over replicas and restarts


def test_settings_reach_every_replica(redis_server: RedisProcess) -> None:
    store = ("--store", redis_server.url)
    with (
        running_server(*store) as (a, first),
        running_server(*store) as (b, second),
        Client(first) as one,
        Client(second) as two,
    ):
        a.wait_for_event("ready")
        b.wait_for_event("ready")
        one.sync_server("ops", [tool("list_pods", "Pods of a kubernetes cluster"), tool("old_pods", "Pods, as before")])
        wait_for(lambda: two.search("pods").total == 2)
        watch = two.watch()
        next(watch)
        one.update_settings(CatalogSettings(synonyms=[["kubi", "kubernetes"]], banned=["ops.old_*"]))
        event = next(watch)
        assert (event.kind, event.settings_changed) == (WatchKind.CHANGED, True)
        wait_for(lambda: [match.name for match in two.search("kubi", strategy="bm25").matches] == ["ops.list_pods"])
        assert two.search("pods").total == 1
        assert two.get_settings() == one.get_settings()


def test_settings_survive_a_restart(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path}/store.db")
    with running_server(*store) as (_, address), Client(address) as client:
        client.sync_server("s", [tool("a", "thing"), tool("b", "thing")])
        client.update_settings(CatalogSettings(banned=["s.a"]))
    with running_server(*store) as (_, address), Client(address) as client:
        assert [match.name for match in client.search("thing").matches] == ["s.b"]


def test_reported_usage_survives_a_restart_and_orders_what_is_alike(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path}/store.db", "--embeddings", "off")
    with running_server(*store) as (server, address), Client(address) as client:
        client.sync_server("s", [tool(name, "thing") for name in "abc"])
        assert client.search("thing").matches[0].name == "s.a"
        client.report_usage([UsageReport("s.c")] * int(ENOUGH_USES + 1))
        assert server.stop() == 0
    with running_server(*store) as (_, address), Client(address) as client:
        wait_for(lambda: client.search("thing").matches[0].name == "s.c")
        made = client.plan_tools("anthropic", "claude-sonnet-5", ALWAYS)
        assert [(each.name, each.reason) for each in made.eager] == [("s.c", "used most")]
        assert client.search("s.a").matches[0].name == "s.a"


def test_usage_reported_to_one_replica_is_known_to_another_that_loads_the_catalog(redis_server: RedisProcess) -> None:
    store = ("--store", redis_server.url, "--embeddings", "off")
    with running_server(*store) as (server, address), Client(address) as client:
        server.wait_for_event("ready")
        client.sync_server("s", [tool(name, "thing") for name in "abc"])
        client.report_usage([UsageReport("s.c")] * int(ENOUGH_USES + 1))
        assert server.stop() == 0
    with running_server(*store) as (server, address), Client(address) as client:
        server.wait_for_event("ready")
        wait_for(lambda: client.search("thing").matches[0].name == "s.c")


# Two levels of disclosure


def test_a_listed_entry_costs_less_than_100_tokens(client: Client) -> None:
    file = DATA / "toucan_catalog" / "tools.jsonl"
    if not file.exists():
        pytest.skip(f"no real catalogs in {DATA}: set TOOLSEARCH_DATA")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:2_000]]
    unique = {(row["server"], row["name"]): row for row in rows}
    client.apply_changes(
        EntryInput(definition={"name": row["name"], "description": row["description"]}, server=row["server"])
        for row in unique.values()
    )
    costs = {each.name: token_estimate(f"{each.name}\t{each.alias}\t{each.summary}\n") for each in client.list_tools()}
    assert len(costs) == len(unique)
    assert max(costs.values()) < 100


def test_a_summary_that_was_given_is_cut_like_one_that_is_derived(client: Client) -> None:
    client.apply_changes([EntryInput(definition={"name": "a"}, summary="word " * 199)])
    (entry,) = client.list_tools()
    assert len(entry.summary) <= SUMMARY_TARGET
    assert entry.summary.endswith("word…")


def test_kinds_are_found_together_and_apart(filled: Client) -> None:
    assert {match.kind for match in filled.search("issues", limit=20).matches} == {Kind.TOOL, Kind.SKILL}
    assert [match.name for match in filled.search("issues", filter=Filter(kinds=[Kind.SKILL])).matches] == ["reviewer"]
    assert filled.get_catalog().kinds == {Kind.TOOL: 4, Kind.SKILL: 1}
