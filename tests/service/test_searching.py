"""Reading through a real server."""

import json
from typing import Any

import pytest

from support import DATA, tool
from toolsearch import CatalogSettings, Client, Detail, EntryInput, Filter, Kind, Match, MatchedBy, Strategy

GITHUB = [
    tool(
        "create_issue",
        "Open a bug report in a repository. Returns its number.",
        title="Create issue",
        parameters={"assignee": {"type": "string", "description": "Who is to do it"}},
        annotations={"destructiveHint": False},
        _meta={"toolsearch/tags": ["code"]},
    ),
    tool("list_issues", "All issues of a repository", annotations={"readOnlyHint": True}),
    tool("delete_branch", "Remove a branch"),
]


@pytest.fixture
def github(client: Client) -> Client:
    client.sync_server("github", GITHUB)
    return client


def test_a_search_sees_what_the_same_client_just_wrote(client: Client) -> None:
    for number in range(20):
        client.sync_server("s", [tool(f"tool_{number}", "thing")])
        assert [match.local_name for match in client.search("thing").matches] == [f"tool_{number}"]


def test_a_match_says_everything_about_itself(github: Client) -> None:
    (match, *_) = github.search("create an issue for an assignee").matches
    assert isinstance(match, Match)
    assert (match.name, match.alias, match.server, match.local_name) == (
        "github.create_issue",
        "github_create_issue",
        "github",
        "create_issue",
    )
    assert (match.kind, match.title, match.summary) == (Kind.TOOL, "Create issue", "Open a bug report in a repository.")
    assert match.description == match.summary
    assert match.tags == ("code",)
    assert not match.annotations.destructive
    assert match.matched_by == (MatchedBy.WORDS, MatchedBy.MEANING)
    assert match.reason == "matches create, issue in the name; assignee in the parameters"
    assert 0.5 < match.relevance <= 1.0
    assert match.definition is None
    assert match.explanation == ()


def test_full_detail_brings_the_definition_as_it_was_given(github: Client) -> None:
    (match,) = github.search("delete branch", detail=Detail.FULL, limit=1).matches
    assert match.definition == GITHUB[2]


def test_name_detail_brings_names_only(github: Client) -> None:
    (match,) = github.search("delete branch", detail="name", limit=1).matches
    assert (match.name, match.summary, match.digest, match.tokens) == ("github.delete_branch", "", "", 0)


def test_explain_brings_the_parts_of_the_score(github: Client) -> None:
    (match, *_) = github.search("create issue", explain=True).matches
    assert sum(part.value for part in match.explanation) == pytest.approx(match.score)


def test_the_answer_names_strategy_version_and_total(github: Client) -> None:
    result = github.search("^github", limit=2)
    assert result.strategy is Strategy.REGEX
    assert result.total == 3
    assert result.version.revision == 1
    assert result.version.epoch


@pytest.mark.parametrize("limit", [100, 101, 2**31 - 1])
def test_a_limit_over_the_maximum_is_taken_as_the_maximum(client: Client, limit: int) -> None:
    client.sync_server("s", [tool(f"tool_{number}", "thing") for number in range(120)])
    assert len(client.search("thing", limit=limit).matches) == 100


def test_limit_zero_means_five(client: Client) -> None:
    client.sync_server("s", [tool(f"tool_{number}", "thing") for number in range(9)])
    assert len(client.search("thing", limit=0).matches) == 5


def test_no_match_is_an_empty_answer_with_a_message_that_names_the_query(github: Client) -> None:
    result = github.search("dellette_branhc", strategy="bm25")
    assert result.matches == ()
    assert result.total == 0
    assert "“dellette_branhc”" in result.message
    assert result.near_names == ("github.delete_branch",)


def test_a_filter_holds_for_every_strategy(github: Client) -> None:
    for strategy, query in (("auto", "issue"), ("bm25", "issue"), ("regex", "issue"), ("fuzzy", "list issues")):
        matches = github.search(query, strategy=strategy, filter=Filter(read_only=True)).matches
        assert [match.name for match in matches] == ["github.list_issues"], strategy


def test_definitions_come_back_unchanged_in_meaning(client: Client) -> None:
    definition: dict[str, Any] = {
        "name": "odd",
        "description": "ünï 日本 \u0000 😀 \ud800",
        "inputSchema": {"type": "object", "properties": {"n": {"maximum": 2**70, "minimum": -1.5e-300, "default": None}}},
        "outputSchema": {"type": "object", "x-unknown": [1, 2.0, True, {"deep": []}]},
        "annotations": {"title": "T", "readOnlyHint": True, "somethingNew": "kept"},
        "icons": [{"src": "data:,"}],
        "_meta": {"vendor/key": {"nested": [None]}},
        "execution": {"taskSupport": "optional"},
        "vendorExtension": {"b": 1, "a": 2},
    }
    client.sync_server("s", [definition])
    (entry,) = client.get_tools(["s.odd"]).entries
    assert entry.definition == definition
    assert json.dumps(entry.definition) == json.dumps(definition), "the order of keys is kept too"


def test_get_tools_takes_names_and_aliases_and_tells_what_is_missing(github: Client) -> None:
    result = github.get_tools(["github_delete_branch", "github.create_isue", "github.create_issue", "github.delete_branch"])
    assert [entry.name for entry in result.entries] == ["github.delete_branch", "github.create_issue"]
    (missing,) = result.missing
    assert missing.name == "github.create_isue"
    assert missing.near_names[0] == "github.create_issue"


def test_list_tools_walks_all_pages_in_the_order_of_names(client: Client) -> None:
    client.sync_server("s", [tool(f"tool_{number:03}") for number in range(25)])
    names = [entry.name for entry in client.list_tools(page_size=4)]
    assert names == [f"s.tool_{number:03}" for number in range(25)]


def test_a_page_walk_goes_on_where_it_was_while_entries_come_and_go(client: Client) -> None:
    client.sync_server("s", [tool(f"t{number}") for number in range(6)])
    walk = client.list_tools(page_size=2)
    first = [next(walk).name, next(walk).name]
    client.sync_server("s", [tool(f"t{number}") for number in range(3, 9)])
    assert first + [entry.name for entry in walk] == ["s.t0", "s.t1"] + [f"s.t{number}" for number in range(3, 9)]


def test_list_tools_filters_and_counts(github: Client) -> None:
    assert [entry.name for entry in github.list_tools(Filter(read_only=True))] == ["github.list_issues"]


def test_namespaces_are_a_tree_with_counts(client: Client) -> None:
    client.sync_server("s3", [tool("file.read"), tool("file.write"), tool("bucket.list"), tool("ping")])
    client.sync_server("", [tool("alone")])
    found = [(space.name, space.entry_count, space.total_entry_count) for space in client.list_namespaces(page_size=2)]
    assert found == [("", 1, 1), ("s3", 1, 4), ("s3.bucket", 1, 1), ("s3.file", 2, 2)]
    assert [space.name for space in client.list_namespaces("s3")] == ["s3.bucket", "s3.file"]


def test_kinds_are_searched_together_and_filtered_apart(client: Client) -> None:
    client.apply_changes(
        [
            EntryInput(definition=tool("review", "Check code"), server="s"),
            EntryInput(
                definition={"name": "code_review", "description": "Check code"}, server="f", kind="skill", namespace="task"
            ),
        ]
    )
    assert {match.name for match in client.search("check code").matches} == {"s.review", "task.code_review"}
    (skill,) = client.search("check code", filter=Filter(kinds=[Kind.SKILL])).matches
    assert (skill.name, skill.kind) == ("task.code_review", Kind.SKILL)


def test_tenants_do_not_see_each_other(address: str, github: Client) -> None:
    with Client(address, tenant="somebody-else") as other:
        other.sync_server("theirs", [tool("delete_branch")])
        assert [match.name for match in other.search("delete branch").matches] == ["theirs.delete_branch"]
        assert other.get_tools(["github.delete_branch"]).entries == ()
        assert [listing.name for listing in other.list_catalogs()] == ["default"]
        other.delete_catalog()
    assert github.search("delete branch").matches[0].name == "github.delete_branch"


@pytest.mark.skipif(not (DATA / "toucan_catalog").exists(), reason=f"no catalogs in {DATA}; set TOOLSEARCH_DATA")
def test_six_thousand_real_tools_load_and_are_found_by_their_names(client: Client) -> None:
    lines = (DATA / "toucan_catalog" / "tools.jsonl").read_text().splitlines()
    inputs = []
    for line in lines:
        definition = json.loads(line)
        server = definition.pop("server")
        inputs.append(
            EntryInput(definition={key: value for key, value in definition.items() if value is not None}, server=server)
        )
    result = client.apply_changes(inputs, timeout=60)
    assert len(result.added) == len(inputs)
    for entry in inputs[:: len(inputs) // 50]:
        wanted = (entry.server, entry.definition["name"])
        matches = client.search(entry.definition["name"], limit=100, filter=Filter(servers=[entry.server])).matches
        assert wanted in [(match.server, match.local_name) for match in matches[:3]]


def test_a_search_that_was_asked_before_sees_every_change_since(client: Client) -> None:
    client.sync_server("s", [tool("a", "thing")])

    def found() -> list[str]:
        first, again = client.search("thing", limit=10), client.search("thing", limit=10)
        assert first == again
        return [match.name for match in again.matches]

    assert found() == ["s.a"]
    client.sync_server("s", [tool("a", "thing"), tool("b", "thing")])
    assert found() == ["s.a", "s.b"]
    client.update_settings(CatalogSettings(banned=["s.a"]))
    assert found() == ["s.b"]
    client.update_settings(CatalogSettings())
    client.sync_server("s", [tool("b", "another")])
    assert found() == []
    client.delete_catalog()
    client.sync_server("s", [tool("c", "thing")])
    assert found() == ["s.c"]


def test_a_search_that_was_asked_before_has_an_id_of_its_own(client: Client) -> None:
    client.sync_server("s", [tool("a", "thing")])
    assert len({client.search("thing").search_id for _ in range(3)}) == 3


def test_searches_that_differ_in_anything_have_answers_of_their_own(client: Client) -> None:
    client.sync_server("s", [tool("a", "thing"), tool("b", "thing")])
    for _ in range(2):
        assert len(client.search("thing").matches) == 2
        assert len(client.search("thing", limit=1).matches) == 1
        assert client.search("thing", detail="full").matches[0].definition is not None
        assert client.search("thing", detail="name").matches[0].summary == ""
        assert client.search("thing", explain=True).matches[0].explanation
        assert len(client.search("thing", filter=Filter(excluded_names=["s.a"])).matches) == 1
