"""What all adapters share: the caller's tools registered and found, and going on while the service is away."""

import ast
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support import running_server, tool, wait_for
from toolsearch import AsyncClient, Client, Entry, Filter, NotFound, SearchResult, TimedOut, Unavailable, WriteResult
from toolsearch.adapters import _core as core
from toolsearch.adapters._core import Answer, CatalogSearcher, Options, Searcher, Tool

GITHUB = [
    tool("create_issue", "Open a bug report"),
    tool("delete_branch", "Remove a branch"),
    tool("fork", "Copy a repository"),
]
GONE = (Unavailable, TimedOut)


def own(*definitions: dict[str, Any]) -> list[Tool[str]]:
    return [Tool(each["name"], each, f"value of {each['name']}") for each in definitions]


class RecordingClient(Client):
    """A real client that writes down what was asked of it."""

    def __init__(self, target: str, tenant: str | None = None) -> None:
        super().__init__(target, tenant=tenant)
        self.calls: list[str] = []

    def search(self, query: str | Sequence[str], **options: Any) -> SearchResult:
        self.calls.append("search")
        return super().search(query, **options)

    def sync_server(self, server: str, tools: Any, **options: Any) -> WriteResult:
        self.calls.append(f"sync {server}")
        return super().sync_server(server, tools, **options)

    def get_tools(self, names: Sequence[str], **options: Any) -> Any:
        self.calls.append(f"get {' '.join(names)}")
        return super().get_tools(names, **options)


@pytest.fixture
def recording(address: str, tenant: str) -> Any:
    with RecordingClient(address, tenant) as client:
        yield client


def test_tools_are_registered_once_and_a_search_is_one_call(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    assert searcher.find("bug report", own(*GITHUB)).values == ["value of create_issue"]
    searcher.find("branch", own(*GITHUB))
    assert recording.calls == ["sync mine", "search", "search"]


def test_a_changed_tool_is_registered_again(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    searcher.find("bug report", own(*GITHUB))
    changed = own(tool("create_issue", "Order a pizza"), *GITHUB[1:])
    assert searcher.find("pizza", changed).names == ["create_issue"]
    assert recording.calls == ["sync mine", "search", "sync mine", "search"]


def test_callers_with_different_tools_do_not_replace_each_others(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    for _ in range(2):
        assert searcher.find("bug report or branch", own(*GITHUB[:1])).names == ["create_issue"]
        assert searcher.find("bug report or branch", own(*GITHUB[1:])).names == ["delete_branch"]
    assert recording.calls.count("sync mine") == 2


def test_registered_tools_that_came_and_went_do_not_pile_up(
    recording: RecordingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "MAX_REGISTERED", 3)
    searcher = Searcher[str](recording, Options(server="mine"))
    searcher.find("x", own(*GITHUB))
    assert recording.get_catalog().entry_count == 3
    searcher.find("x", own(tool("fourth")))
    assert recording.get_catalog().entry_count == 1


def test_nothing_is_registered_unless_asked(recording: RecordingClient) -> None:
    with pytest.raises(NotFound):
        Searcher[str](recording, Options()).find("bug report", own(*GITHUB))
    assert recording.calls == ["search"]


def test_a_tool_that_the_caller_does_not_have_is_never_returned(recording: RecordingClient) -> None:
    recording.sync_server("github", GITHUB)
    recording.sync_server("mine", GITHUB)
    for options in (Options(), Options(server="mine")):
        answer = Searcher[str](recording, options).find("bug report, branch, repository", own(GITHUB[0]))
        assert set(answer.names) <= {"create_issue"}
        assert "branch" not in answer.as_dict()["tools"].__repr__()


def test_tools_of_others_do_not_crowd_out_the_callers(recording: RecordingClient) -> None:
    recording.sync_server("github", [tool(f"report_bug_{number}", "Open a bug report") for number in range(50)])
    recording.sync_server("mine", [tool("create_issue", "Report that something is odd, such as a bug")])
    assert Searcher[str](recording, Options(max_results=1)).find("bug report", own(tool("mine_create_issue"))).names == [
        "mine_create_issue"
    ]


@pytest.mark.parametrize("called", ["github.create_issue", "github_create_issue", "create_issue"])
def test_a_tool_is_recognised_by_canonical_name_alias_or_local_name(recording: RecordingClient, called: str) -> None:
    recording.sync_server("github", GITHUB)
    assert Searcher[str](recording, Options()).find("bug report", own(tool(called))).names == [called]


def test_a_local_name_of_two_servers_says_nothing(recording: RecordingClient) -> None:
    recording.sync_server("github", [tool("find", "Look for a bug report")])
    recording.sync_server("jira", [tool("find", "Look for a bug report")])
    searcher = Searcher[str](recording, Options())
    assert searcher.find("bug report", own(tool("find"))).names == []
    assert searcher.find("bug report", own(tool("jira_find"))).names == ["jira_find"]


def test_a_servers_name_is_not_a_pattern(recording: RecordingClient) -> None:
    recording.sync_server("other", GITHUB)
    searcher = Searcher[str](recording, Options(server="[o]*"))
    assert searcher.find("bug report", own(*GITHUB)).names == ["create_issue"]


def test_a_filter_narrows_the_search(recording: RecordingClient) -> None:
    safe = {**GITHUB[0], "annotations": {"destructiveHint": False}}
    searcher = Searcher[str](recording, Options(server="mine", filter=Filter(destructive=False)))
    assert searcher.find("bug report, branch", own(safe, GITHUB[1])).names == ["create_issue"]


def test_no_more_than_max_results_are_returned(recording: RecordingClient) -> None:
    many = own(*(tool(f"tool_{number}", "numbered thing") for number in range(12)))
    searcher = Searcher[str](recording, Options(server="mine"))
    assert len(searcher.find("numbered thing", many).tools) == core.MAX_RESULTS
    assert len(searcher.find("numbered thing", many, max_results=7).tools) == 7
    with pytest.raises(ValueError, match="max_results is 0, but must be at least 1"):
        searcher.find("numbered thing", many, max_results=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_results": 0}, "max_results is 0, but must be at least 1"),
        ({"fallback": "nothing"}, 'fallback is "nothing", but must be "message", "all" or "error"'),
        ({"server": ""}, "server is empty"),
        ({"server": "mine", "filter": Filter(servers=["x"])}, "filter.servers is set"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options(**options)


def test_what_is_no_query_is_answered_without_a_call(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    assert searcher.find(["  ", ""], own(*GITHUB)).as_dict() == {"message": core.NO_QUERY, "tools": []}
    assert searcher.find("bug", []).message == "There are no tools to search."
    assert recording.calls == []


def test_an_answer_names_nothing_that_the_caller_does_not_have(recording: RecordingClient) -> None:
    recording.sync_server("secret", [tool("create_isue", "hidden")])
    answer = Searcher[str](recording, Options()).find("create_issue", own(tool("unrelated")))
    assert answer.as_dict() == {"message": 'No tool was found for "create_issue". Try other words.', "tools": []}


def test_long_and_many_queries_are_cut(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    queries = ["bug report " * 10_000, *(f"phrasing {number}" for number in range(core.QUERIES_PER_SEARCH))]
    assert searcher.find(queries, own(*GITHUB)).names == ["create_issue"]


def test_a_pattern_that_is_refused_is_told_to_the_model(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine", strategy="regex"))
    answer = searcher.find("(?=x)", own(*GITHUB))
    assert answer.tools == () and answer.message.startswith("The search was refused: ")


def test_a_catalog_that_was_lost_is_filled_again(recording: RecordingClient) -> None:
    searcher = Searcher[str](recording, Options(server="mine"))
    searcher.find("bug report", own(*GITHUB))
    recording.delete_catalog()
    assert searcher.find("bug report", own(*GITHUB)).names == ["create_issue"]
    recording.delete_catalog()
    recording.sync_server("other", [tool("x")])
    assert searcher.find("bug report", own(*GITHUB)).names == ["create_issue"]


async def test_either_client_serves_an_asynchronous_caller(recording: RecordingClient, address: str, tenant: str) -> None:
    assert (await Searcher[str](recording, Options(server="mine")).afind("bug report", own(*GITHUB))).names == ["create_issue"]
    async with AsyncClient(address, tenant=tenant) as client:
        searcher = Searcher[str](client, Options(server="mine"))
        assert (await searcher.afind("bug report", own(*GITHUB))).names == ["create_issue"]
        await client.delete_catalog()
        assert (await searcher.afind("bug report", own(*GITHUB))).names == ["create_issue"]
        with pytest.raises(TypeError, match="give the adapter a Client instead of an AsyncClient"):
            searcher.find("bug report", own(*GITHUB))


def test_what_all_adapters_share_knows_no_framework() -> None:
    folder = Path(core.__file__).parent
    for module in ("__init__.py", "_core.py", "signatures.py"):
        for statement in ast.walk(ast.parse((folder / module).read_text())):
            names = [name.name for name in statement.names] if isinstance(statement, ast.Import) else []
            names += [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= {"toolsearch", *sys.stdlib_module_names}


def test_the_client_does_not_load_adapters() -> None:
    program = "import sys, toolsearch; sys.exit(any(name.startswith('toolsearch.adapters') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


# While the service is away


def after_a_death(then: Callable[[Client, Callable[[], None]], None]) -> None:
    with running_server("--store", "memory:") as (server, address), Client(address, timeout=2) as client:
        then(client, server.kill)


def test_the_same_question_has_the_same_answer_while_the_service_is_away() -> None:
    def then(client: Client, kill: Callable[[], None]) -> None:
        searcher = Searcher[str](client, Options(server="mine", timeout=0.5))
        before = searcher.find("bug report", own(*GITHUB))
        kill()
        after = searcher.find("bug report", own(*GITHUB))
        assert (after.away, after.tools, after.message) == (True, before.tools, before.message)
        assert searcher.find("bug report", own(*GITHUB[1:])).names == [], "not what the caller no longer has"

    after_a_death(then)


def test_the_model_is_told_that_the_service_is_away(caplog: pytest.LogCaptureFixture) -> None:
    def then(client: Client, kill: Callable[[], None]) -> None:
        searcher = Searcher[str](client, Options(server="mine", timeout=0.5))
        kill()
        for _ in range(2):
            assert searcher.find("bug report", own(*GITHUB)) == Answer(core.AWAY_MESSAGE, (), away=True)

    with caplog.at_level(logging.WARNING):
        after_a_death(then)
    assert [record.name for record in caplog.records] == ["toolsearch.adapters"], "one warning, not two"


def test_everything_is_loaded_if_told_so_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def then(client: Client, kill: Callable[[], None]) -> None:
        searcher = Searcher[str](client, Options(server="mine", fallback="all", max_results=1, timeout=0.5))
        kill()
        for _ in range(2):
            assert searcher.find("bug report", own(*GITHUB)).names == ["create_issue", "delete_branch", "fork"]

    with caplog.at_level(logging.WARNING):
        after_a_death(then)
    (record,) = caplog.records
    assert "loading all tools" in record.getMessage()


def test_the_error_is_raised_if_told_so() -> None:
    def then(client: Client, kill: Callable[[], None]) -> None:
        searcher = Searcher[str](client, Options(server="mine", fallback="error", timeout=0.5))
        kill()
        with pytest.raises(GONE):
            searcher.find("bug report", own(*GITHUB))

    after_a_death(then)


def test_a_service_that_comes_back_empty_is_filled_and_warned_about_anew(caplog: pytest.LogCaptureFixture) -> None:
    with running_server("--store", "memory:") as (first, address), Client(address, timeout=2) as client:
        searcher = Searcher[str](client, Options(server="mine", timeout=0.5))
        searcher.find("bug report", own(*GITHUB))
        first.kill()
        assert searcher.find("branch", own(*GITHUB)).away
        with running_server("--store", "memory:", "--listen", address) as (second, _):
            wait_for(lambda: searcher.find("branch", own(*GITHUB)).names == ["delete_branch"], what="the service")
            second.kill()
            assert searcher.find("repository", own(*GITHUB)).away
    assert len(caplog.records) == 2, "one warning for each time that it was away"


def test_answers_are_remembered_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "REMEMBERED_ANSWERS", 2)

    def then(client: Client, kill: Callable[[], None]) -> None:
        searcher = Searcher[str](client, Options(server="mine", timeout=0.5))
        for query in ("bug report", "remove branch", "copy repository"):
            searcher.find(query, own(*GITHUB))
        kill()
        assert searcher.find("bug report", own(*GITHUB)).names == []
        assert searcher.find("copy repository", own(*GITHUB)).names == ["fork"]

    after_a_death(then)


# Tools of the catalog


def anything(entry: Entry) -> bool:
    return True


def test_tools_of_the_catalog_come_with_definitions_that_are_read_once(recording: RecordingClient) -> None:
    recording.sync_server("github", GITHUB)
    searcher = CatalogSearcher(recording, Options(max_results=1), anything)
    recording.calls.clear()
    (found,) = searcher.find("bug report").tools
    assert (found.name, found.definition) == ("github_create_issue", {**GITHUB[0], "name": "github_create_issue"})
    assert found.value.local_name == "create_issue"
    searcher.find("open a bug report")
    assert recording.calls == ["search", "get github.create_issue", "search"]


def test_a_tool_of_the_catalog_that_the_caller_does_not_own_is_never_returned(recording: RecordingClient) -> None:
    recording.sync_server("github", GITHUB)
    searcher = CatalogSearcher(recording, Options(), lambda entry: entry.local_name != "create_issue")
    assert set(searcher.find("bug report, branch").names) == {"github_delete_branch"}


async def test_an_asynchronous_caller_reads_definitions_once_too(address: str, tenant: str) -> None:
    async with AsyncClient(address, tenant=tenant) as client:
        await client.sync_server("github", GITHUB)
        searcher = CatalogSearcher(client, Options(max_results=1), anything)
        assert (await searcher.afind("bug report")).names == ["github_create_issue"]


def test_definitions_of_the_last_answers_serve_while_the_service_is_away() -> None:
    def then(client: Client, kill: Callable[[], None]) -> None:
        client.sync_server("github", GITHUB)
        searcher = CatalogSearcher(client, Options(timeout=0.5, fallback="all", max_results=1), anything)
        before = searcher.find("bug report")
        kill()
        assert searcher.find("bug report").tools == before.tools
        assert searcher.find("never asked").names == ["github_create_issue"], "all that is known"

    after_a_death(then)


def test_tools_of_the_catalog_cannot_be_registered(recording: RecordingClient) -> None:
    with pytest.raises(ValueError, match=r"use filter=Filter\(servers="):
        CatalogSearcher(recording, Options(server="mine"), anything)
