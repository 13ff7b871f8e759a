import json
import signal
from pathlib import Path
from typing import Any

import pytest

from facade.facades import (
    ADD,
    COMMAND,
    RawFacade,
    ToolServer,
    ended,
    raw_facade,
    run_facade,
    write_config,
)
from support import wait_for


def called(raw: RawFacade, name: str, /, **arguments: Any) -> dict[str, Any]:
    return raw.ask("tools/call", {"name": name, "arguments": arguments})


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_older_protocol_is_spoken(config: Path, version: str) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        answer = raw.initialize(version)
        assert answer["protocolVersion"] == version
        assert answer["serverInfo"]["name"] == "toolsearch"
        assert len(raw.ask("tools/list")["tools"]) == 5
        result = called(raw, "call_tool", name="calc_add", arguments=ADD)
        assert json.loads(result["content"][0]["text"]) == {"sum": 3}


def test_nothing_but_the_protocol_is_on_standard_output(config: Path) -> None:
    with raw_facade("--mcp-config", str(config), "--log-level", "debug") as raw:
        raw.initialize()
        raw.ask("tools/list")
        called(raw, "call_tool", name="calc_crash", arguments={})
        called(raw, "find_tools", query="add")
        code, out, log = raw.end()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "mcp servers configured" in log
    assert "Traceback" not in log
    assert code == 0


def test_it_ends_with_its_client_and_leaves_nothing_behind(config: Path, calc: ToolServer) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        raw.ask("tools/list")
        code, _, _ = raw.end()
    assert code == 0
    assert calc.pids
    assert all(map(ended, calc.pids))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_the_middle_of_a_call(config: Path, calc: ToolServer, number: signal.Signals) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        raw.say({"id": 99, "method": "tools/call", "params": {"name": "call_tool", "arguments": {"name": "calc_wait"}}})
        wait_for(lambda: "called wait" in calc.events)
        assert raw.stop(number) == 0
    assert all(map(ended, calc.pids))


def test_a_signal_ends_it_before_anybody_has_spoken(config: Path) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        assert raw.process.stderr is not None
        raw.process.stderr.readline()
        assert raw.stop(signal.SIGTERM) == 0


def test_a_client_that_does_not_read_cannot_keep_it(config: Path, calc: ToolServer) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        for number in range(20):
            params = {"name": "call_tool", "arguments": {"name": "calc_enlarge", "arguments": {"letters": 100_000}}}
            raw.say({"id": 100 + number, "method": "tools/call", "params": params})
        wait_for(lambda: calc.events.count("called enlarge") == 20)
        assert raw.stop(signal.SIGTERM) == 0
    assert all(map(ended, calc.pids))


def test_a_line_that_is_no_json_does_not_end_it(config: Path) -> None:
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        assert raw.process.stdin is not None
        raw.process.stdin.write("this is no json\n")
        assert len(raw.ask("tools/list")["tools"]) == 5


def test_a_server_that_does_not_end_when_asked_to_is_killed(tmp_path: Path, calc: ToolServer) -> None:
    stubborn = tmp_path / "stubborn"
    note = tmp_path / "pid"
    stubborn.write_text(f'#!/bin/sh\ntrap "" TERM\necho $$ > {note}\nwhile true; do sleep 1; done\n')
    stubborn.chmod(0o755)
    config = write_config(tmp_path / "mcp.json", {"calc": calc, "stubborn": {"command": str(stubborn)}})
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        wait_for(note.exists)
        wait_for(note.read_text)
        code, _, _ = raw.end()
    assert code == 0
    assert ended(int(note.read_text()))


def test_without_anything_to_search_in_it_teaches(tmp_path: Path) -> None:
    result = run_facade()
    assert result.returncode == 2
    assert "give --mcp-config FILE, or --target HOST:PORT" in result.stderr
    assert "claude mcp add toolsearch" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--mcp-config", "/nowhere/mcp.json"], 1, "--mcp-config /nowhere/mcp.json"),
        (["--mcp-config", "{folder}/broken.json"], 1, "the file is not JSON"),
        (["--mcp-config", "{folder}/empty.json", "--eager", "github"], 2, "--eager 'github': expected SERVER:TOOL"),
        (["--target", "localhost:1", "--eager", "github:x"], 2, "--eager goes with --mcp-config"),
        (["--target", "localhost:1", "--token-file", "x"], 2, "go with --http"),
        (["--target", "localhost:1", "--http", "nonsense"], 2, "expected HOST:PORT"),
        (["--target", "localhost:1", "--http", "0.0.0.0:0"], 2, "refused without --token-file"),
        (["--target", "localhost:1", "--http", "0.0.0.0:0", "--token-file", "{folder}/token"], 2, "--allow-host is missing"),
        (["--target", "localhost:1", "--http", "127.0.0.1:0", "--token-file", "{folder}/empty.token"], 2, "printable ASCII"),
        (["--target", "localhost:1", "--http", "127.0.0.1:0", "--token-file", "{folder}/none"], 1, "No such file"),
        (["--target", "localhost:1", "--limit", "colour=1"], 2, "'colour' is not a limit"),
        (["--target", "example.com:1"], 2, "an API key is not sent unencrypted"),
    ],
)
def test_what_it_cannot_do_it_says_at_the_start(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "empty.json").write_text('{"mcpServers": {}}')
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "empty.token").write_text("\n")
    given = [argument.format(folder=tmp_path) for argument in arguments]
    result = run_facade(*given, TOOLSEARCH_API_KEY="ts_secret")
    assert message in result.stderr
    assert result.returncode == code
    assert "Traceback" not in result.stderr
    assert "secret" not in result.stderr


def test_a_facade_that_another_one_starts_refuses(config: Path) -> None:
    result = run_facade("--mcp-config", str(config), TOOLSEARCH_MCP_INSIDE="1")
    assert result.returncode == 2
    assert "another toolsearch mcp starts this one" in result.stderr


def test_a_facade_behind_other_names_does_not_start_itself_for_ever(tmp_path: Path, calc: ToolServer) -> None:
    config = tmp_path / "mcp.json"
    wrapper, starts = tmp_path / "wrapper", tmp_path / "starts"
    wrapper.write_text(f"#!/bin/sh\necho x >> {starts}\nexec {COMMAND} mcp --mcp-config {config}\n")
    wrapper.chmod(0o755)
    write_config(config, {"calc": calc, "again": {"command": str(wrapper)}})
    with raw_facade("--mcp-config", str(config)) as raw:
        raw.initialize()
        found = called(raw, "call_tool", name="calc_add", arguments=ADD)
        assert not found["isError"]
        wait_for(starts.exists)
        assert len(calc.pids) == 1


def test_help_teaches(tmp_path: Path) -> None:
    result = run_facade("--help")
    assert result.returncode == 0
    for taught in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "--eager", "--destructive", "streamable HTTP"):
        assert taught in result.stdout


def test_a_client_without_the_server_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "toolsearch_server").mkdir()
    (tmp_path / "toolsearch_server" / "__init__.py").write_text("raise ImportError('not here')\n")
    result = run_facade("--target", "localhost:1", PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert "pip install 'toolsearch[mcp]'" in result.stderr


def test_the_service_inside_is_reachable_by_its_owner_only(config: Path) -> None:
    with raw_facade("--mcp-config", str(config), TMPDIR=str(config.parent)) as raw:
        raw.initialize()
        raw.ask("tools/list")
        [folder] = config.parent.glob("toolsearch-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "service").is_socket()
        raw.end()
    assert not folder.exists()
