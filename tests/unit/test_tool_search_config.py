"""The `tool_search` block: one shape, strictly read, the same in Python, YAML, JSON and the contract."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ConfigError, ModelSupport, Strategy, ToolSearchConfig, load_config
from toolsearch.adapters._core import SearchOptions
from toolsearch.tool_search import (
    MAX_EAGER,
    MAX_MODELS,
    MAX_PATTERN_LENGTH,
    MAX_PATTERNS,
    MAX_RESULTS,
    MAX_TOKENS,
    Execution,
    Fallback,
    Scope,
)
from toolsearch.v1 import plan_pb2

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MODELS = st.builds(
    ModelSupport,
    model=NAMES.filter(bool),
    provider=NAMES,
    tool_search=st.none() | st.booleans(),
    context_window=st.none() | st.integers(1, MAX_TOKENS),
)
CONFIGS = st.builds(
    ToolSearchConfig,
    enabled=st.booleans(),
    scope=st.sampled_from(Scope),
    strategy=st.sampled_from([Strategy.AUTO, Strategy.BM25, Strategy.REGEX]),
    eager_tools=st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=3),
    max_results=st.integers(1, MAX_RESULTS),
    always_load=st.booleans(),
    min_tokens=st.none() | st.integers(0, MAX_TOKENS),
    min_eager=st.just("auto") | st.integers(1, MAX_EAGER),
    execution=st.sampled_from(Execution),
    fallback=st.sampled_from(Fallback),
    search_tool_name=st.from_regex(r"\A[a-zA-Z0-9_-]{1,64}\Z"),
    local_servers=st.lists(NAMES, max_size=3),
    preload_tokens=st.integers(0, MAX_TOKENS),
    models=st.lists(MODELS, max_size=2),
)


@given(CONFIGS)
def test_what_is_dumped_loads_to_an_equal_value(config: ToolSearchConfig) -> None:
    assert ToolSearchConfig.from_dict(config.to_dict()) == config
    assert ToolSearchConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert ToolSearchConfig.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))) == config


@given(CONFIGS)
def test_a_message_says_all_of_it(config: ToolSearchConfig) -> None:
    sent = plan_pb2.ToolSearchConfig.FromString(config.to_message().SerializeToString())
    assert ToolSearchConfig.from_message(sent, "config") == config


def test_only_what_differs_from_the_defaults_is_dumped() -> None:
    assert ToolSearchConfig().to_dict() == {}
    assert ToolSearchConfig(scope=Scope.ALL, min_eager="auto").to_dict() == {"scope": "all", "min_eager": "auto"}


@pytest.mark.parametrize("switch", [True, False])
def test_true_or_false_alone_switches_search_on_or_off(switch: bool) -> None:
    assert ToolSearchConfig.from_dict(switch) == ToolSearchConfig(enabled=switch)


REFUSED: list[tuple[Any, str]] = [
    ({"min_tokens": MAX_TOKENS + 1}, "tool_search.min_tokens"),
    ({"preload_tokens": MAX_TOKENS + 1}, "tool_search.preload_tokens"),
    ({"models": [{"model": "m", "context_window": MAX_TOKENS + 1}]}, "tool_search.models[0].context_window"),
    ("yes", "tool_search"),
    ({"scop": "mcp"}, "tool_search.scop"),
    ({3: 1}, "tool_search.3"),
    ({"enabled": "true"}, "tool_search.enabled"),
    ({"scope": "some"}, "tool_search.scope"),
    ({"strategy": "unknown"}, "tool_search.strategy"),
    ({"strategy": ["auto"]}, "tool_search.strategy"),
    ({"eager_tools": ["a"]}, "tool_search.eager_tools"),
    ({"eager_tools": {"github": "create_*"}}, "tool_search.eager_tools.github"),
    ({"eager_tools": {"github": ["a", 3]}}, "tool_search.eager_tools.github[1]"),
    ({"eager_tools": {"github": ["a" * (MAX_PATTERN_LENGTH + 1)]}}, "tool_search.eager_tools.github[0]"),
    ({"eager_tools": {"github": ["a"] * (MAX_PATTERNS + 1)}}, "tool_search.eager_tools.github"),
    ({"eager_tools": {"a": ["a"] * MAX_PATTERNS, "b": ["b"]}}, "tool_search.eager_tools"),
    ({"max_results": 0}, "tool_search.max_results"),
    ({"max_results": MAX_RESULTS + 1}, "tool_search.max_results"),
    ({"max_results": True}, "tool_search.max_results"),
    ({"min_tokens": -1}, "tool_search.min_tokens"),
    ({"min_tokens": 1.5}, "tool_search.min_tokens"),
    ({"min_context_share": 0}, "tool_search.min_context_share"),
    ({"min_context_share": 1.01}, "tool_search.min_context_share"),
    ({"min_context_share": float("nan")}, "tool_search.min_context_share"),
    ({"min_tokens": 5, "min_context_share": 0.1}, "tool_search.min_context_share"),
    ({"min_eager": 0}, "tool_search.min_eager"),
    ({"min_eager": MAX_EAGER + 1}, "tool_search.min_eager"),
    ({"min_eager": "most"}, "tool_search.min_eager"),
    ({"execution": "server"}, "tool_search.execution"),
    ({"execution": "provider", "strategy": "hybrid"}, "tool_search.strategy"),
    ({"search_tool_name": ""}, "tool_search.search_tool_name"),
    ({"search_tool_name": "find tools"}, "tool_search.search_tool_name"),
    ({"search_tool_name": "ä"}, "tool_search.search_tool_name"),
    ({"search_tool_name": "a" * 65}, "tool_search.search_tool_name"),
    ({"local_servers": "mine"}, "tool_search.local_servers"),
    ({"models": [{"provider": "openai"}]}, "tool_search.models[0].model"),
    ({"models": [{"model": "x", "window": 1}]}, "tool_search.models[0].window"),
    ({"models": [{"model": "x", "context_window": 0}]}, "tool_search.models[0].context_window"),
    ({"models": [{"model": "x"}] * (MAX_MODELS + 1)}, "tool_search.models"),
]


@pytest.mark.parametrize(("block", "path"), REFUSED, ids=str)
def test_what_is_not_allowed_is_refused_with_its_path(block: Any, path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ToolSearchConfig.from_dict(block)
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path} is ")
    assert refused.value.allowed


@pytest.mark.parametrize(
    "block",
    [
        {"max_results": MAX_RESULTS},
        {"min_eager": MAX_EAGER},
        {"min_context_share": 1},
        {"search_tool_name": "a" * 64},
        {"eager_tools": {"a": ["x" * MAX_PATTERN_LENGTH] * MAX_PATTERNS}},
        {"models": [{"model": "x"}] * MAX_MODELS},
    ],
    ids=str,
)
def test_the_most_that_is_allowed_is_taken(block: Any) -> None:
    assert ToolSearchConfig.from_dict(block)


def test_values_given_in_python_are_checked_as_strictly() -> None:
    with pytest.raises(ConfigError):
        ToolSearchConfig(max_results=0)
    with pytest.raises(ConfigError):
        ModelSupport(model="x", context_window=-1)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES,
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
)


@given(ANYTHING)
def test_anything_is_either_read_or_refused(block: Any) -> None:
    try:
        ToolSearchConfig.from_dict(block)
    except ConfigError as refused:
        assert refused.path.startswith("tool_search")


def test_a_message_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"config\.min_eager"):
        ToolSearchConfig.from_message(plan_pb2.ToolSearchConfig(auto_eager=True, min_eager=2), "config")
    with pytest.raises(ConfigError, match=r"config\.scope is 7"):
        ToolSearchConfig.from_message(plan_pb2.ToolSearchConfig(scope=7), "config")  # type: ignore[arg-type]


def test_an_adapter_takes_what_searches_need() -> None:
    options = ToolSearchConfig(max_results=7, strategy=Strategy.REGEX).search_options()
    assert options == {"max_results": 7, "strategy": "regex"}
    assert options.keys() <= SearchOptions.__annotations__.keys()


# Files

CARD = """---
name: researcher
servers: [github]
tool_search:
  scope: all
  eager_tools:
    github: [create_issue, "list_*"]
---
You look things up. tool_search: {nothing: here}
"""
MEANT = ToolSearchConfig(scope=Scope.ALL, eager_tools={"github": ("create_issue", "list_*")})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("card.md", CARD),
        ("card.md", "\ufeff" + CARD.replace("\n", "\r\n")),
        ("card.yaml", CARD.split("---")[1]),
        ("block.yaml", "scope: all\neager_tools: {github: [create_issue, 'list_*']}\n"),
        ("card.json", '{"tool_search": {"scope": "all", "eager_tools": {"github": ["create_issue", "list_*"]}}}'),
    ],
)
def test_a_card_a_block_and_json_are_read(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode())
    assert load_config(file) == MEANT


@pytest.mark.parametrize("text", ["", "name: researcher\n", "---\nname: x\n---\ntext"])
def test_a_file_without_the_block_means_the_defaults(tmp_path: Path, text: str) -> None:
    (tmp_path / "card.md").write_text(text)
    assert load_config(tmp_path / "card.md") == ToolSearchConfig()


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("card.yaml", "tool_search: [1]", "tool_search"),
        ("card.yaml", "tool_search: {scope: nowhere}", "tool_search.scope"),
        ("card.yaml", "a: [", "card.yaml"),
        ("card.yaml", "- a", "card.yaml"),
        ("card.json", "{", "card.json"),
        ("card.yaml", "tool_search: !!python/object/apply:os.system [ls]", "card.yaml"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(tmp_path: Path, name: str, text: str, path: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / name)
    assert refused.value.path.endswith(path)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"card\.yaml .* UTF-8 text"):
        load_config(tmp_path / "card.yaml")
