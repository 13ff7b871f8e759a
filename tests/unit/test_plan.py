"""Plans: what is eager, what is deferred, why, and what is sent. docs/plan.md has the rules."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import DATA, draft, entries_of, tool
from toolsearch import ToolSearchConfig
from toolsearch_server.entry import Entry, EntryKey, Kind
from toolsearch_server.errors import FieldInvalid, LimitExceeded
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.models import TABLE, abilities
from toolsearch_server.naming import ALIAS_LENGTH
from toolsearch_server.payloads import COMBINATORS
from toolsearch_server.plan import AUTO_LEAST, AUTO_MOST, Asked, Plan, plan
from toolsearch_server.settings import Settings
from toolsearch_server.usage import ENOUGH_USES, Usage

ANTHROPIC = ("anthropic", "claude-sonnet-5")
OPENAI = ("openai", "gpt-5.4")
OTHER = ("somebody", "some-model")
ALWAYS = {"min_tokens": 0}


def some_tools(*more: Any) -> Sequence[Entry]:
    given = [
        draft(tool("create_issue", "Open a bug report", parameters={"title": {"type": "string"}}), "github"),
        draft(tool("delete_branch", "Remove a branch"), "github"),
        draft(tool("list_issues", "All issues", annotations={"readOnlyHint": True}), "github"),
        draft(tool("send_message", "Post to a channel"), "slack"),
        draft(tool("remember", "Keep a note")),
        *more,
    ]
    return [entry for _, entry in sorted(entries_of(given).by_name.items())]


def planned(
    config: Any = None,
    *,
    to: tuple[str, str] = ANTHROPIC,
    entries: Sequence[Entry] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **asked: Any,
) -> Plan:
    provider, model = to
    chosen = some_tools() if entries is None else entries
    made = Asked(entries=chosen, provider=provider, model=model, config=ToolSearchConfig.from_dict(config), **asked)
    return plan(made, limits)


def eager(made: Plan) -> list[str]:
    return [entry.name for entry in made.entries if entry.name in made.reasons]


def payload(made: Plan) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = json.loads(made.payload)
    return sent


# Eager or deferred


def test_without_search_all_tools_are_eager() -> None:
    made = planned({"enabled": False, "min_tokens": 0})
    assert made.deferred_count == 0
    assert made.search is None
    assert set(made.reasons.values()) == {"search is off"}


def test_search_begins_above_min_tokens() -> None:
    cost = sum(entry.tokens for entry in some_tools())
    assert planned({"min_tokens": cost}).deferred_count == 0
    assert planned({"min_tokens": cost - 1}).deferred_count > 0


def test_few_definitions_are_all_loaded_by_default() -> None:
    assert planned().deferred_count == 0
    many = some_tools(*(draft(tool(f"tool_{number}", "x" * 4_000), "big") for number in range(10)))
    assert planned(entries=many).deferred_count > 0


def test_a_share_of_the_context_window_is_the_alternative() -> None:
    cost = sum(entry.tokens for entry in some_tools())
    models = [{"model": "*", "context_window": 10 * cost}]
    assert planned({"min_context_share": 0.1, "models": models}).deferred_count == 0
    assert planned({"min_context_share": 0.09, "models": models}).deferred_count > 0


def test_tools_without_a_server_are_the_callers_own_and_stay_eager() -> None:
    made = planned(ALWAYS)
    assert made.reasons["remember"] == "the caller's own"
    assert eager(made) == ["remember"]


def test_tools_of_local_servers_are_the_callers_own_too() -> None:
    assert eager(planned(ALWAYS | {"local_servers": ["sla*"]})) == ["remember", "slack.send_message"]


def test_with_scope_all_the_callers_own_are_deferred_too() -> None:
    assert "remember" not in planned(ALWAYS | {"scope": "all", "eager_tools": {"github": ["*"]}}).reasons


def test_eager_tools_are_globs_on_the_servers_own_names() -> None:
    made = planned(ALWAYS | {"scope": "all", "eager_tools": {"github": ["[cl]*_issue*"], "slack": ["SEND*"]}})
    assert eager(made) == ["github.create_issue", "github.list_issues"]
    assert made.reasons["github.create_issue"] == "eager_tools.github: [cl]*_issue*"


def test_patterns_that_fit_nothing_are_reported_and_no_error() -> None:
    made = planned(ALWAYS | {"eager_tools": {"github": ["nothing*", "create_*"], "nobody": ["*"]}})
    assert made.unmatched_patterns == ("github: nothing*", "nobody: *")
    assert "github.create_issue" in made.reasons


def test_unmatched_patterns_are_reported_even_when_everything_is_loaded() -> None:
    assert planned({"eager_tools": {"nobody": ["*"]}}).unmatched_patterns == ("nobody: *",)


@pytest.mark.parametrize(("mark", "loaded"), [(True, True), (False, False), ("true", False), (None, False)])
def test_a_server_can_mark_a_tool_to_be_loaded(mark: Any, loaded: bool) -> None:
    entries = some_tools(draft(tool("first", "x", _meta={"anthropic/alwaysLoad": mark}), "slack"))
    assert ("slack.first" in planned(ALWAYS, entries=entries).reasons) is loaded


def test_the_mark_can_be_ignored() -> None:
    entries = some_tools(draft(tool("first", "x", _meta={"anthropic/alwaysLoad": True}), "slack"))
    assert "slack.first" not in planned(ALWAYS | {"always_load": False}, entries=entries).reasons


def test_pinned_entries_are_eager() -> None:
    assert planned(ALWAYS, settings=Settings(pinned=("slack.*",))).reasons["slack.send_message"] == "pinned"


def test_what_fits_the_purpose_is_loaded_within_the_budget() -> None:
    entries = {entry.name: entry for entry in some_tools()}
    fitting = [entries["github.create_issue"], entries["slack.send_message"]]
    budget = fitting[0].tokens + fitting[1].tokens
    assert "slack.send_message" in planned(ALWAYS | {"preload_tokens": budget}, fitting=fitting).reasons
    less = planned(ALWAYS | {"preload_tokens": budget - 1}, fitting=fitting)
    assert "github.create_issue" in less.reasons
    assert "slack.send_message" not in less.reasons


def test_if_everything_would_be_deferred_what_only_reads_and_is_cheap_stays() -> None:
    made = planned(ALWAYS | {"scope": "all"})
    assert eager(made) == ["github.list_issues"]
    assert "at least 1" in made.reasons["github.list_issues"]


def test_if_everything_would_be_deferred_what_is_used_most_stays() -> None:
    uses = {EntryKey("slack", Kind.TOOL, "send_message"): ENOUGH_USES}
    made = planned(ALWAYS | {"scope": "all"}, usage=Usage(uses))
    assert made.reasons == {"slack.send_message": "used most"}


def test_ignored_usage_decides_nothing() -> None:
    uses = {EntryKey("slack", Kind.TOOL, "send_message"): ENOUGH_USES}
    made = planned(ALWAYS | {"scope": "all"}, usage=Usage(uses), settings=Settings(ignore_usage=True))
    assert eager(made) == ["github.list_issues"]


@pytest.mark.parametrize(("used", "kept"), [(0, AUTO_LEAST), (2, AUTO_LEAST), (4, 4), (9, AUTO_MOST)])
def test_auto_keeps_three_to_five_that_are_used_most(used: int, kept: int) -> None:
    entries = some_tools(*(draft(tool(f"tool_{number}", "x"), "many") for number in range(20)))
    uses = {EntryKey("many", Kind.TOOL, f"tool_{number}"): ENOUGH_USES + number for number in range(used)}
    made = planned(ALWAYS | {"scope": "all", "min_eager": "auto"}, entries=entries, usage=Usage(uses))
    assert len(eager(made)) == kept
    assert sum(reason == "used most" for reason in made.reasons.values()) == min(used, kept)


def test_min_eager_counts_what_is_eager_already() -> None:
    made = planned(ALWAYS | {"scope": "all", "min_eager": 2, "eager_tools": {"slack": ["*"]}})
    assert eager(made) == ["github.list_issues", "slack.send_message"]


def test_nothing_deferred_means_no_search_tool() -> None:
    made = planned(ALWAYS | {"min_eager": 5})
    assert made.deferred_count == 0
    assert made.search is None
    assert len(payload(made)) == 5


def test_an_empty_catalog_has_an_empty_plan() -> None:
    made = planned(ALWAYS, entries=[])
    assert (payload(made), made.search, made.tokens_before, made.tokens_after) == ([], None, 0, 0)


# Models


@pytest.mark.parametrize(
    ("provider", "model", "able"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", True),
        ("anthropic", "claude-haiku-4-5", True),
        ("anthropic", "claude-opus-4-5", True),
        ("anthropic", "claude-opus-4-6", True),
        ("anthropic", "us.anthropic.claude-opus-4-5-20251101-v1:0", True),
        ("anthropic", "claude-opus-4-0", False),
        ("anthropic", "claude-opus-4-1-20250805", False),
        ("anthropic", "claude-sonnet-4-20250514", False),
        ("anthropic", "claude-sonnet-4@20250514", False),
        ("anthropic", "us.anthropic.claude-3-5-sonnet-20241022-v2:0", False),
        ("anthropic", "claude-fable-5-1", True),
        ("anthropic", "claude-3-7-sonnet-latest", False),
        ("openai", "gpt-5.4", True),
        ("openai", "gpt-5.4-mini", True),
        ("openai", "gpt-5.4-nano", False),
        ("openai", "gpt-5.5", True),
        ("openai", "gpt-5", False),
        ("openai", "gpt-5.3-codex", False),
        ("openai", "gpt-6-astra", True),
        ("openai", "gpt-4o", False),
        ("google", "gemini-3", False),
    ],
)
def test_the_table_knows_which_models_search(provider: str, model: str, able: bool) -> None:
    assert abilities(provider, model).tool_search is able


def test_every_model_has_a_row() -> None:
    assert (TABLE[-1].provider, TABLE[-1].model) == ("", "*")


def test_a_configuration_knows_better_than_the_table() -> None:
    models = [{"model": "some-*", "provider": "anthropic", "tool_search": True, "context_window": 7}]
    config = ToolSearchConfig.from_dict({"models": models})
    assert abilities("anthropic", "some-model", config.models).context_window == 7
    assert abilities("openai", "some-model", config.models).context_window != 7


def test_an_unknown_model_gets_one_warning_and_our_search() -> None:
    made = planned(ALWAYS, to=("anthropic", "claude-3-haiku"))
    assert len(made.warnings) == 1
    assert "anthropic claude-3-haiku" in made.warnings[0]
    assert made.search is not None
    assert made.search.by_client
    assert [each["name"] for each in payload(made)] == ["find_tools", "remember"]


def test_an_unknown_model_gets_one_warning_and_all_definitions_if_asked() -> None:
    made = planned(ALWAYS | {"fallback": "load"}, to=("openai", "gpt-4o"))
    assert len(made.warnings) == 1
    assert made.search is None
    assert made.deferred_count == 0
    assert len(payload(made)) == 5


def test_more_tools_than_anthropic_takes_are_not_declared() -> None:
    entries = some_tools(*(draft(tool(f"t{number}"), "many") for number in range(10_000)))
    made = planned(ALWAYS, entries=entries)
    assert made.deferred_count == 10_004
    assert "10,000" in made.warnings[0]
    assert len(payload(made)) == 2
    just_right = planned(ALWAYS, entries=[*entries[:10_000], next(entry for entry in entries if not entry.server)])
    assert len(payload(just_right)) > 9_000
    assert not just_right.warnings


def test_more_eager_functions_than_openai_takes_are_warned_about() -> None:
    entries = some_tools(*(draft(tool(f"t{number}"), "many") for number in range(124)))
    assert "128" in planned({"enabled": False}, entries=entries, to=OPENAI).warnings[0]
    assert not planned({"enabled": False}, entries=entries[:128], to=OPENAI).warnings


@pytest.mark.parametrize(("pattern", "warned"), [("t[0-9]*", True), ("t[1-9]*", False)])
def test_the_search_tool_counts_as_one_of_the_tools_that_openai_takes(pattern: str, warned: bool) -> None:
    entries = some_tools(*(draft(tool(f"t{number}"), "many") for number in range(127)))  # and one is the caller's own
    made = planned(ALWAYS | {"eager_tools": {"many": [pattern]}}, entries=entries, to=("openai-chat", ""))
    assert any("129" in warning for warning in made.warnings) is warned


def test_more_namespaces_than_openai_takes_are_warned_about() -> None:
    entries = some_tools(*(draft(tool("t"), f"server{number}") for number in range(125)))
    config = ALWAYS | {"execution": "provider"}
    assert "129" in planned(config, entries=entries, to=OPENAI).warnings[0]
    assert not planned(config, entries=[entry for entry in entries if entry.server != "server0"], to=OPENAI).warnings


# Payloads


def test_anthropic_searches_by_itself() -> None:
    made = planned(ALWAYS | {"execution": "provider"})
    assert made.search is not None
    assert not made.search.by_client
    search, remember, *deferred = payload(made)
    assert search == {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert remember == {
        "name": "remember",
        "description": "Keep a note",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert len(deferred) == 4
    assert all(each["defer_loading"] is True for each in deferred)


def test_anthropic_can_search_by_pattern() -> None:
    made = planned(ALWAYS | {"execution": "provider", "strategy": "regex"})
    assert payload(made)[0] == {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}


def test_our_search_with_anthropic_declares_the_deferred_tools() -> None:
    search, _, *deferred = payload(planned(ALWAYS))
    assert search["name"] == "find_tools"
    assert search["input_schema"]["required"] == ["query"]
    assert "defer_loading" not in search
    assert {each["name"] for each in deferred} == {
        "github_create_issue",
        "github_delete_branch",
        "github_list_issues",
        "slack_send_message",
    }


def test_openai_searches_namespaces_by_itself() -> None:
    search, remember, github, slack = payload(planned(ALWAYS | {"execution": "provider"}, to=OPENAI))
    assert search == {"type": "tool_search"}
    assert remember == {
        "type": "function",
        "name": "remember",
        "description": "Keep a note",
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
    }
    assert github["type"] == "namespace"
    assert github["description"] == "github: create issue, delete branch, list issues"
    assert all(each["defer_loading"] is True for each in github["tools"])
    assert slack["name"] == "slack"


def test_namespaces_that_look_alike_have_different_names() -> None:
    entries = some_tools(draft(tool("a"), "läb"), draft(tool("b"), "lab"), draft(tool("c"), "x" * 100))
    sent = payload(planned(ALWAYS | {"execution": "provider"}, to=OPENAI, entries=entries))
    names = [each["name"] for each in sent if each["type"] == "namespace"]
    assert len(set(names)) == len(names) == 5
    assert all(len(name) <= ALIAS_LENGTH and name.isascii() for name in names)


def test_openai_lets_the_caller_search_without_the_deferred_tools() -> None:
    search, remember = payload(planned(ALWAYS, to=OPENAI))
    assert (search["type"], search["execution"]) == ("tool_search", "client")
    assert search["parameters"]["properties"]["query"]["type"] == "string"
    assert remember["name"] == "remember"


def test_others_get_plain_functions() -> None:
    search, remember = payload(planned(ALWAYS, to=OTHER))
    assert search["function"]["name"] == "find_tools"
    assert remember == {
        "type": "function",
        "function": {"name": "remember", "description": "Keep a note", "parameters": {"type": "object", "properties": {}}},
    }


def test_the_search_tool_says_what_can_be_found() -> None:
    made = planned(ALWAYS)
    assert made.search is not None
    assert "4 more" in made.search.description
    assert "github, slack" in made.search.description


def test_nothing_but_name_description_and_schema_reaches_a_provider() -> None:
    carried = tool("odd", "x", cache_control={"type": "ephemeral"}, _meta={"secret": 1}, annotations={"readOnlyHint": True})
    sent = payload(planned(ALWAYS, entries=some_tools(draft(carried, "s"))))
    odd = next(each for each in sent if each["name"] == "s_odd")
    assert odd.keys() == {"name", "description", "input_schema", "defer_loading"}


@pytest.mark.parametrize("schema", [None, {}, {"type": "string"}, {"properties": {"a": {}}}, {"anyOf": [{}, {}]}])
def test_whatever_the_schema_is_an_object_is_sent(schema: Any) -> None:
    definition = {"name": "odd", "inputSchema": schema} if schema is not None else {"name": "odd"}
    made = planned({"enabled": False}, entries=some_tools(draft(definition, "s")))
    sent = next(each for each in payload(made) if each["name"] == "s_odd")["input_schema"]
    assert sent["type"] == "object"
    assert not set(COMBINATORS) & sent.keys()
    assert bool(made.warnings) is (schema == {"anyOf": [{}, {}]})


def test_parameters_whose_names_anthropic_refuses_are_left_out_with_a_warning() -> None:
    properties: dict[str, Any] = {"$filter": {}, "x" * 65: {}, "x" * 64: {}, "a.b-c_1": {}, "": {}}
    schema = {"type": "object", "properties": properties, "required": ["$filter", "a.b-c_1"]}
    entries = some_tools(draft({"name": "odd", "inputSchema": schema}, "s"))
    made = planned(ALWAYS, entries=entries)
    sent = next(each for each in payload(made) if each["name"] == "s_odd")["input_schema"]
    assert list(sent["properties"]) == ["x" * 64, "a.b-c_1"]
    assert sent["required"] == ["a.b-c_1"]
    assert "s.odd" in made.warnings[0]
    assert not planned(ALWAYS, entries=entries, to=OTHER).warnings[1:], "others take such names"


@pytest.mark.parametrize(
    ("config", "taken"),
    [
        ({}, "find_tools"),
        ({"search_tool_name": "look"}, "look"),
        ({"execution": "provider"}, "tool_search_tool_bm25"),
    ],
)
def test_a_tool_with_the_search_tools_name_is_an_error_that_names_both(config: Any, taken: str) -> None:
    entries = some_tools(draft(tool(taken), "rival", namespace=""))
    clash = next(entry for entry in entries if entry.local_name == taken)
    named = [entry for entry in entries if entry is not clash]
    same = entries_of([draft(tool(taken))]).by_name[taken]
    with pytest.raises(FieldInvalid) as refused:
        planned(ALWAYS | {"scope": "all"} | config, entries=[*named, same])
    assert refused.value.field == "config.search_tool_name"
    assert refused.value.message.count(taken) == 2


def test_a_payload_may_not_be_larger_than_its_limit() -> None:
    size = len(planned({"enabled": False}).payload)
    assert planned({"enabled": False}, limits=Limits(plan_bytes=size)).payload
    with pytest.raises(LimitExceeded, match="plan_bytes"):
        planned({"enabled": False}, limits=Limits(plan_bytes=size - 1))


def test_half_a_surrogate_pair_can_be_sent() -> None:
    broken = {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"const": "\ud800"}}}}
    made = planned({"enabled": False}, entries=some_tools(draft(broken, "s")))
    assert made.payload.encode()


# Tokens


def test_a_plan_tells_what_it_costs_and_what_it_would_have_cost() -> None:
    entries = some_tools()
    made = planned(ALWAYS, entries=entries)
    remember = next(entry for entry in entries if entry.name == "remember")
    search = len(json.dumps(payload(made)[0], separators=(",", ":")))
    assert made.tokens_before == sum(entry.tokens for entry in entries)
    assert made.tokens_after == remember.tokens + -(-search // 4)


def test_what_a_model_sees_of_namespaces_is_counted() -> None:
    hosted, ours = planned(ALWAYS | {"execution": "provider"}, to=OPENAI), planned(ALWAYS | {"execution": "provider"})
    assert hosted.tokens_after > ours.tokens_after


def test_what_providers_do_not_show_costs_nothing() -> None:
    plain, heavy = (
        draft(tool("a", "does a thing", **more), "s")
        for more in ({}, {"outputSchema": {"type": "object", "description": "x" * 400}, "annotations": {"readOnlyHint": True}})
    )
    cheap, dear = (entries_of([each]).by_name["s.a"].tokens for each in (plain, heavy))
    assert abs(cheap - dear) <= 1


@pytest.mark.parametrize("count", [10, 100, 1_000, 6_000])
def test_real_catalogs_are_planned_and_save_most_of_their_tokens(count: int) -> None:
    file = DATA / "toucan_catalog" / "tools.jsonl"
    if not file.exists():
        pytest.skip(f"no real catalogs in {DATA}: set TOOLSEARCH_DATA")
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(count), lines, strict=False)]
    definitions = {
        (row["server"], row["name"]): {
            "name": row["name"],
            "description": row["description"],
            "inputSchema": row["input_schema"] or {},
        }
        for row in rows
    }
    real = entries_of(draft(definition, server) for (server, _), definition in definitions.items())
    entries = [entry for _, entry in sorted(real.by_name.items())]
    for to in (ANTHROPIC, OPENAI, OTHER):
        made = planned(ALWAYS, entries=entries, to=to)
        assert made.deferred_count == len(entries) - 1
        assert made.tokens_after < max(400, made.tokens_before / 10)


PROPERTIES = st.dictionaries(
    st.text(max_size=5), st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2)), max_size=3
)


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable() and name == name.strip()), PROPERTIES),
        max_size=6,
        unique_by=lambda each: each[0],
    ),
    st.sampled_from([ANTHROPIC, OPENAI, OTHER]),
    st.sampled_from(["client", "provider"]),
    st.integers(1, 4),
)
def test_every_tool_is_eager_or_deferred_and_at_least_one_is_eager(
    given_tools: list[tuple[str, Any]], to: tuple[str, str], execution: str, least: int
) -> None:
    entries = entries_of(draft(tool(name, parameters=properties), "s") for name, properties in given_tools)
    made = planned(
        ALWAYS | {"execution": execution, "min_eager": least},
        entries=[entries.by_name[name] for name in sorted(entries.by_name)],
        to=to,
    )
    assert len(eager(made)) == min(least, len(given_tools))
    assert made.deferred_count == len(given_tools) - len(eager(made))
    assert (made.search is None) is (made.deferred_count == 0)
    assert isinstance(payload(made), list)
