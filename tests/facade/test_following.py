import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from facade.facades import (
    ADD,
    ToolServer,
    ask,
    call,
    ended,
    facade,
    http_section,
    listening,
    text,
    tools_named,
    until,
    until_found,
    write_config,
)
from support import tool
from watcher.servers import eventually


async def until_called(client: Client, **arguments: Any) -> CallToolResult:
    """The first result that is no error."""

    async def called() -> CallToolResult | None:
        result = await call(client, "call_tool", **arguments)
        return None if result.is_error else result

    result = await until(called)
    assert result is not None
    return result


async def until_refused(client: Client, words: str, **arguments: Any) -> str:
    """The first refusal with these words."""

    async def refused() -> str:
        result = await call(client, "call_tool", **arguments)
        return text(result) if result.is_error and words in text(result) else ""

    return await until(refused)


async def test_a_tool_that_appears_is_found_and_called_while_the_list_of_tools_stays(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config)) as client:
        before = await client.list_tools()
        calc.offer(tool("juggle", "Juggles burning torches", annotations={"readOnlyHint": True}))
        await until_found(client, "burning torches", "calc_juggle")
        assert text(await call(client, "call_tool", name="calc_juggle")) == "juggle is done"
        assert (await client.list_tools()).tools == before.tools


async def test_a_tool_that_changes_is_checked_by_its_new_schema(config: Path, calc: ToolServer) -> None:
    calc.offer(tool("juggle", "Juggles torches", annotations={"readOnlyHint": True}))
    async with facade("--mcp-config", str(config)) as client:
        assert not (await call(client, "call_tool", name="calc_juggle", arguments={"torches": "many"})).is_error
        numbers = {"torches": {"type": "integer"}}
        calc.offer(tool("juggle", "Juggles clubs now", parameters=numbers, annotations={"readOnlyHint": True}))
        await until_found(client, "clubs now", "calc_juggle")
        assert (await call(client, "call_tool", name="calc_juggle", arguments={"torches": "many"})).is_error


async def test_a_tool_that_becomes_destructive_is_refused_at_once(config: Path, calc: ToolServer) -> None:
    calc.offer(tool("juggle", "Juggles torches", annotations={"readOnlyHint": True}))
    async with facade("--mcp-config", str(config)) as client:
        assert not (await call(client, "call_tool", name="calc_juggle")).is_error
        calc.offer(tool("juggle", "Juggles chainsaws"))
        await until_found(client, "chainsaws", "calc_juggle")
        assert "call_tool_destructive" in text(await call(client, "call_tool", name="calc_juggle"))


async def test_one_process_is_followed_and_called(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config)) as client:
        await call(client, "call_tool", name="calc_add", arguments=ADD)
        assert len(calc.pids) == 1


async def test_a_call_that_its_server_does_not_survive_is_an_error_and_not_repeated(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config)) as client:
        result = await call(client, "call_tool", name="calc_crash")
        assert result.is_error
        assert "the server 'calc' did not answer" in text(result)
        assert "the call is not repeated" in text(result)
        again = await until_called(client, name="calc_add", arguments=ADD)
        assert again.structured_content == {"sum": 3}
    assert calc.events.count("called crash") == 1
    assert len(calc.pids) == 2


async def test_a_server_that_was_killed_while_it_idled_comes_back(config: Path, calc: ToolServer) -> None:
    async with facade("--mcp-config", str(config)) as client:
        await call(client, "call_tool", name="calc_add", arguments=ADD)
        os.kill(calc.pids[0], signal.SIGKILL)
        await eventually(lambda: len(calc.pids) == 2)
        assert (await until_called(client, name="calc_add", arguments=ADD)).structured_content == {"sum": 3}


async def test_a_server_that_is_away_is_named_with_the_reason(tmp_path: Path, calc: ToolServer) -> None:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    section = calc.section | {"command": str(program)}
    config = write_config(tmp_path / "mcp.json", {"calc": section})
    async with facade("--mcp-config", str(config)) as client:
        await call(client, "call_tool", name="calc_add", arguments=ADD)
        program.rename(tmp_path / "away")
        os.kill(calc.pids[0], signal.SIGKILL)
        refusal = await until_refused(client, "No such file", name="calc_add", arguments=ADD)
        assert "the server 'calc' is away" in refusal
        assert "it is being retried, the call was not made" in refusal
        (tmp_path / "away").rename(program)
        assert (await until_called(client, name="calc_add", arguments=ADD)).structured_content == {"sum": 3}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_server_by_http_that_restarts_is_called_again(tmp_path: Path, mode: str) -> None:
    web = ToolServer(tmp_path / "web")
    with listening(web) as port:
        config = write_config(tmp_path / "mcp.json", {"web": http_section(port)})
        client_of = facade("--mcp-config", str(config), mode=mode)
        client = await client_of.__aenter__()
        try:
            crashed = await call(client, "call_tool", name="web_crash")
            assert crashed.is_error
            assert "the server 'web' did not answer" in text(crashed)
            with listening(web, port):
                again = await until_called(client, name="web_add", arguments=ADD)
                assert again.structured_content == {"sum": 3}
        finally:
            await client_of.__aexit__(None, None, None)
    assert web.events.count("called crash") == 1


async def test_a_server_that_does_not_start_does_not_keep_the_others(tmp_path: Path, calc: ToolServer) -> None:
    config = write_config(tmp_path / "mcp.json", {"calc": calc, "broken": {"command": "/nowhere/to/be/found"}})
    async with facade("--mcp-config", str(config)) as client:
        found = await ask(client, "find_tools", query="add two numbers", limit=1)
        assert found["matches"][0]["name"] == "calc_add"


async def test_a_server_that_takes_long_to_start_is_named_instead_of_waited_for(tmp_path: Path, calc: ToolServer) -> None:
    config = write_config(tmp_path / "mcp.json", {"calc": calc, "sleepy": {"command": "sleep", "args": ["600"]}})
    async with facade("--mcp-config", str(config)) as client:
        found = await ask(client, "find_tools", query="add two numbers", limit=1)
        assert found["matches"][0]["name"] == "calc_add"
        assert found["still_starting"] == ["sleepy"]


async def test_the_configuration_is_read_again_when_it_changes(tmp_path: Path, config: Path, calc: ToolServer) -> None:
    other = ToolServer(tmp_path / "other")
    async with facade("--mcp-config", str(config)) as client:
        await call(client, "call_tool", name="calc_add", arguments=ADD)
        write_config(config, {"other": other})
        assert (await until_called(client, name="other_add", arguments=ADD)).structured_content == {"sum": 3}
        await eventually(lambda: ended(calc.pids[0]))
        await until_refused(client, "there is no tool", name="calc_add", arguments=ADD)


async def test_tenants_and_catalogs_of_the_file_do_not_matter_here(tmp_path: Path, calc: ToolServer) -> None:
    section = calc.section | {"tenant": "acme", "catalog": "tools"}
    config = write_config(tmp_path / "mcp.json", {"calc": section})
    async with facade("--mcp-config", str(config)) as client:
        assert (await call(client, "call_tool", name="calc_add", arguments=ADD)).structured_content == {"sum": 3}


async def test_the_facade_itself_is_left_out_of_its_own_configuration(tmp_path: Path, calc: ToolServer) -> None:
    config = tmp_path / "mcp.json"
    own = {"command": "toolsearch", "args": ["mcp", "--mcp-config", str(config)]}
    write_config(config, {"calc": calc, "toolsearch": own})
    async with facade("--mcp-config", str(config)) as client:
        assert client.instructions is not None and client.instructions.endswith("Servers: calc.")
        assert "call_tool" in tools_named((await client.list_tools()).tools)
