"""The command line: what it shows to people, to programs, and when things go wrong."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import DATA, tool
from toolsearch import cli
from toolsearch.cli.output import Output, clean, cut

Run = Callable[..., tuple[int, str, str]]

GITHUB = [
    tool("create_issue", "Open a bug report. Returns its number.", parameters={"assignee": {}}),
    tool("list_issues", "All issues", annotations={"readOnlyHint": True}),
]


@pytest.fixture
def run(address: str, tenant: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.run(arguments, {"TOOLSEARCH_TARGET": address, "TOOLSEARCH_TENANT": tenant})
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def loaded(run: Run, tmp_path: Path) -> Run:
    path = tmp_path / "github.json"
    path.write_text(json.dumps({"tools": GITHUB}))
    assert run("sync", "--server", "github", str(path))[0] == 0
    return run


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"tools": GITHUB}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": GITHUB, "nextCursor": None}}, indent=2),
        json.dumps(GITHUB),
        "\n".join(json.dumps(each) for each in GITHUB) + "\n\n",
        "\ufeff" + json.dumps(GITHUB),
    ],
    ids=["tools/list result", "JSON-RPC answer", "array", "lines", "byte order mark"],
)
def test_load_reads_every_form_of_tools(run: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "tools"
    path.write_text(content, encoding="utf-8")
    code, out, _ = run("load", str(path), "--server", "github")
    assert code == 0
    assert out == "2 tools read: 2 added, 0 updated, 0 unchanged, revision 1\n"
    assert "github.create_issue" in run("list")[1]


def test_load_takes_each_tools_own_server_and_other_spellings_of_the_schema(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    lines: list[dict[str, Any]] = [
        {"name": "a", "server": "x", "description": "d", "input_schema": {"type": "object", "properties": {"needle": {}}}},
        {"name": "b", "server": "", "input_schema": None},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert run("load", str(path))[0] == 0
    definition = json.loads(run("--json", "describe", "x.a")[1])["entries"][0]["definition"]
    assert definition == {"name": "a", "description": "d", "inputSchema": lines[0]["input_schema"]}
    assert json.loads(run("--json", "search", "needle")[1])["matches"][0]["name"] == "x.a"
    assert json.loads(run("--json", "describe", "b")[1])["entries"][0]["definition"] == {"name": "b"}


def test_load_in_batches_loads_everything(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps(tool(f"t{number}")) for number in range(1200)))
    assert "1200 added" in run("load", str(path))[1]
    assert json.loads(run("--json", "catalog")[1])["entry_count"] == 1200
    assert "1200 unchanged" in run("load", str(path))[1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("nonsense", "bad:1: neither the file nor this line is JSON"),
        ('{"name": "a"}\n{broken', "bad:2: neither the file nor this line is JSON"),
        ('[{"name": "a"}, 5]', "bad, tool 2: not a tool"),
        ('{"name": "a"}\n{"noname": 1}', "bad:2: not a tool"),
        ('{"name": "a"}\n{"name": "b", "inputSchema": []}', "bad:2: upserts[1].definition.inputSchema is a list"),
        ('{"name": "a", "server": 5}', "server is not a string"),
        ('[{"name": "a", "x": NaN}]', "NaN is not a JSON number"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_with_the_place(run: Run, tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "bad"
    path.write_text(content)
    code, _, err = run("load", str(path))
    assert code == 1
    assert says in err


def test_a_missing_or_binary_file_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    assert "No such file" in run("load", str(tmp_path / "missing"))[2]
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in run("load", str(tmp_path / "binary"))[2]


def test_search_shows_relevance_name_summary_and_reason(loaded: Run) -> None:
    code, out, _ = loaded("search", "bug", "report")
    assert code == 0
    lines = out.splitlines()
    assert re.fullmatch(r"0\.\d\d  github\.create_issue", lines[0])
    assert lines[1].strip() == "Open a bug report."
    assert lines[2].strip() == "matches bug, report in the description"
    assert lines[-1] == "2 of 2 entries that match “bug report”"


def test_search_takes_every_option(loaded: Run) -> None:
    options = [
        "--limit",
        "3",
        "--strategy",
        "regex",
        "--field",
        "name",
        "--field",
        "description",
        "--case-sensitive",
        "--explain",
    ]
    filters = [
        "--server",
        "git*",
        "--namespace",
        "github",
        "--kind",
        "tool",
        "--read-only",
        "--no-destructive",
        "--exclude",
        "x",
    ]
    code, out, _ = loaded("search", "issue", *options, *filters, "--min-relevance", "0.1", "--also", "list", "--full")
    assert code == 0
    assert "github.list_issues" in out
    assert '"readOnlyHint": true' in out


def test_json_output_can_be_read_by_a_program(loaded: Run) -> None:
    result = json.loads(loaded("search", "bug report", "--json")[1])
    assert result["matches"][0]["alias"] == "github_create_issue"
    assert result["strategy"] == "hybrid"
    entries = [json.loads(line) for line in loaded("list", "--json")[1].splitlines()]
    assert [entry["name"] for entry in entries] == ["github.create_issue", "github.list_issues"]
    assert json.loads(loaded("--json", "namespaces")[1]) == {"name": "github", "entry_count": 2, "total_entry_count": 2}
    assert json.loads(loaded("--json", "catalogs")[1])["name"] == "default"
    assert json.loads(loaded("--json", "delete-server", "nobody")[1])["deleted"] == []


def test_describe_shows_everything_and_fails_for_what_is_missing(loaded: Run) -> None:
    code, out, err = loaded("describe", "github_create_issue", "github.create_isue")
    assert code == 1
    assert "called there  create_issue" in out
    assert '"assignee": {}' in out
    assert "did you mean github.create_issue" in err


def test_a_catalog_is_summed_up_for_a_person(loaded: Run) -> None:
    out = loaded("catalog")[1]
    assert out.startswith("default: 2 tools, about ")
    assert "github" in out
    assert "default" in loaded("catalogs")[1]
    assert "2  github" in loaded("namespaces")[1]


def test_a_catalog_is_deleted_only_with_yes(loaded: Run) -> None:
    code, _, err = loaded("delete-catalog")
    assert code == 2
    assert "--yes" in err
    assert loaded("delete-catalog", "--yes")[0] == 0
    assert loaded("catalog")[0] == 1


def test_an_error_of_the_service_is_one_line_and_exit_code_1(run: Run) -> None:
    code, out, err = run("search", "x")
    assert (code, out) == (1, "")
    assert err == "toolsearch: there is no catalog 'default'; the first write to it makes it\n"


def test_a_service_that_is_not_there_is_one_line(run: Run) -> None:
    code, _, err = run("--target", "127.0.0.1:1", "search", "x")
    assert code == 1
    assert err.startswith("toolsearch: cannot reach toolsearch at 127.0.0.1:1")


def test_empty_input_is_refused_and_deletes_nothing(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    code, _, err = loaded("sync", "--server", "github", str(tmp_path / "empty"))
    assert code == 1
    assert "spelled []" in err
    assert json.loads(loaded("--json", "catalog")[1])["entry_count"] == 2


def test_a_line_separator_inside_a_string_does_not_end_the_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"name": "a", "description": "x\u2028y"}\n{"name": "b"}\n', encoding="utf-8")
    assert "2 added" in run("load", str(path))[1]


def test_json_output_spells_out_what_a_terminal_might_obey(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([tool("evil", "\u009b31m \ud800 é")]))
    run("load", str(path))
    out = run("--json", "describe", "evil")[1]
    assert "\u009b" not in out
    assert json.loads(out)["entries"][0]["definition"]["description"] == "\u009b31m \ud800 é"


def test_wrong_usage_is_exit_code_2(run: Run) -> None:
    assert run("search", "x", "--limit", "99999999999")[0] == 2
    assert run("search")[0] == 2
    assert run("no-such-command")[0] == 2
    assert run("search", "x", "--strategy", "psychic")[0] == 2


def test_help_teaches_with_examples(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for word in ("examples:", "search", "load", "TOOLSEARCH_TARGET", "exit codes"):
        assert word in out
    assert "tools/list" in run("load", "--help")[1]


def test_other_peoples_text_cannot_control_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([tool("evil", "\x1b[2J\x1b]0;owned\x07 \u202e thing \u009b31m", title="\x1b[31mred")]))
    assert run("load", str(path))[0] == 0
    for command in (["search", "thing"], ["list"], ["describe", "evil"], ["search", "thing", "--full"]):
        out = run(*command)[1]
        assert not any(char in out for char in "\x1b\x07\u202e\u009b"), command


def test_output_is_plain_in_a_pipe(address: str, tenant: str, loaded: Run) -> None:
    program = Path(sys.executable).with_name("toolsearch")
    command = [str(program), "--target", address, "--tenant", tenant, "search", "issue"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert "\x1b" not in result.stdout


class _Terminal:
    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text


def test_output_is_coloured_on_a_terminal_unless_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal: Any = _Terminal()
    Output(terminal).table([["a", "b"]])
    assert "\x1b[1m" in terminal.text
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = _Terminal()
    Output(terminal).table([["a", "b"]])
    assert "\x1b" not in terminal.text


def test_wide_characters_count_double_when_text_is_cut() -> None:
    assert cut("日本語", 6) == "日本語"
    assert cut("日本語です", 6) == "日本…"
    assert clean("a\tb\nc\x00") == "a b c\ufffd"


@pytest.mark.skipif(not DATA.exists(), reason=f"no catalogs in {DATA}; set TOOLSEARCH_DATA")
@pytest.mark.parametrize("name", ["azure_mcp", "livemcpbench", "bfcl", "metatool", "toucan_catalog"])
def test_real_catalogs_load(run: Run, name: str) -> None:
    path = DATA / name / "tools.jsonl"
    code, out, err = run("load", str(path))
    assert code == 0, err
    count = len(path.read_text().splitlines())
    assert f"{count} tools read: {count} added" in out


# Plans, settings, usage


def test_plan_shows_what_is_eager_and_what_is_deferred(loaded: Run, tmp_path: Path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("tool_search: {min_tokens: 0, eager_tools: {github: [create_*, nothing]}}\n")
    code, out, err = loaded("plan", "--provider", "anthropic", "--model", "claude-sonnet-5", "--config", str(card))
    assert code == 0
    assert re.search(r"github\.create_issue +\d+ +eager_tools\.github: create_\*", out)
    assert re.search(r"github +1 +\d+", out)
    assert "1 eager, 1 deferred" in out
    assert "search tool find_tools" in out
    assert "no tool fits eager_tools github: nothing" in err


def test_plan_as_json_has_what_can_be_sent(loaded: Run) -> None:
    code, out, _ = loaded("plan", "--provider", "openai", "--model", "gpt-5.4", "--json")
    made = json.loads(out)
    assert code == 0
    assert [each["name"] for each in made["tools"]] == ["github_create_issue", "github_list_issues"]
    assert made["search_tool"] == ""
    assert made["tokens_before"] == made["tokens_after"] > 0


def test_plan_warns_of_models_that_cannot_search(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"min_tokens": 0}')
    _, _, err = loaded("plan", "--provider", "nobody", "--config", str(tmp_path / "card.json"))
    assert "nobody is not known to defer tools" in err


@pytest.mark.parametrize("command", [("plan", "--provider", "openai", "--config"), ("settings",)])
def test_a_file_that_is_not_there_is_named(loaded: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, _, err = loaded(*command, str(tmp_path / "none.json"))
    assert code == 1
    assert "none.json: No such file" in err


def test_plan_refuses_a_wrong_configuration_with_its_path(loaded: Run, tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text("tool_search: {scope: none}")
    code, _, err = loaded("plan", "--provider", "openai", "--config", str(tmp_path / "card.yaml"))
    assert code == 1
    assert "tool_search.scope" in err


def test_settings_are_set_and_shown(loaded: Run, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"banned": ["github.list_*"], "synonyms": [["defect", "bug"]]}))
    assert loaded("settings", str(file))[0] == 0
    shown = json.loads(loaded("settings")[1])
    assert shown["banned"] == ["github.list_*"]
    assert shown["name_weight"] == 1
    assert "list_issues" not in loaded("search", "issues")[1]
    assert "create_issue" in loaded("search", "defect", "--strategy", "bm25")[1]


@pytest.mark.parametrize("text", ["{", "[]", '{"pin": []}', '{"synonyms": ["a"]}', '{"name_weight": 11}'])
def test_settings_that_are_wrong_are_refused(loaded: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    code, out, err = loaded("settings", str(tmp_path / "settings.json"))
    assert (code, out) == (1, "")
    assert err.startswith("toolsearch: ")


def test_report_says_which_names_nobody_has(loaded: Run) -> None:
    assert loaded("report", "github.create_issue") == (0, "", "")
    code, _, err = loaded("report", "github_create_issue", "github.nothing", "--outcome", "failed")
    assert code == 1
    assert "there is no github.nothing" in err


def test_what_was_loaded_is_found_by_the_next_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    for number in range(5):
        path.write_text(json.dumps([tool(f"tool_{number}_{each}", "thing") for each in range(200)]))
        assert run("sync", "--server", "s", str(path))[0] == 0
        assert "200 entries" in run("list")[1]
        assert f"tool_{number}_7" in run("search", f"tool_{number}_7")[1]
