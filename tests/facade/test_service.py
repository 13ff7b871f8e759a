"""A facade of a service that runs elsewhere."""

import asyncio
import signal
from pathlib import Path

import pytest
from mcp import Client, MCPError

from facade.facades import ADD, ToolServer, ask, call, facade, http_facade, text, tools_named, until, write_config
from support import running_server, tool
from toolsearch import Client as ServiceClient


async def test_the_tools_of_a_service_are_found_and_described_but_not_called(
    address: str, tenant: str, client: ServiceClient
) -> None:
    client.sync_server("github", [tool("open_issue", "Opens an issue")])
    async with facade("--target", address, "--tenant", tenant) as mcp:
        assert tools_named((await mcp.list_tools()).tools) == ["find_tools", "list_tools", "describe_tool"]
        [match] = (await ask(mcp, "find_tools", query="issue"))["matches"]
        assert match["name"] == "github_open_issue"
        assert "call_with" not in match
        assert (await ask(mcp, "describe_tool", names=["github_open_issue"]))["tools"][0]["description"] == "Opens an issue"
        with pytest.raises(MCPError, match="there is no tool 'call_tool'"):
            await call(mcp, "call_tool", name="github_open_issue")


async def test_search_asks_the_service_while_calls_go_to_the_servers(
    address: str, tenant: str, client: ServiceClient, config: Path
) -> None:
    described = [tool("add", "Sums integers, as the service describes it"), tool("gone", "Not offered any more")]
    client.sync_server("calc", described)
    client.sync_server("github", [tool("open_issue", "Opens an issue")])
    async with facade("--target", address, "--tenant", tenant, "--mcp-config", str(config)) as mcp:
        [match] = (await ask(mcp, "find_tools", query="sums integers", limit=1))["matches"]
        assert match["name"] == "calc_add"
        assert (await call(mcp, "call_tool", name="calc_add", arguments=ADD)).structured_content == {"sum": 3}
        # The server's own schema is what counts.
        assert "'a' is a required property" in text(await call(mcp, "call_tool", name="calc_add"))
        assert "does not offer 'gone' any more" in text(await call(mcp, "call_tool", name="calc_gone"))
        elsewhere = text(await call(mcp, "call_tool", name="github_open_issue"))
        assert "the server 'github' is not in the mcpServers configuration" in elsewhere


async def test_a_catalog_that_calls_a_tool_harmless_does_not_make_it_so(
    address: str, tenant: str, client: ServiceClient, config: Path
) -> None:
    client.sync_server("calc", [tool("erase", "Erases nothing, honestly", annotations={"readOnlyHint": True})])
    async with facade("--target", address, "--tenant", tenant, "--mcp-config", str(config)) as mcp:
        result = await call(mcp, "call_tool", name="calc_erase", arguments={"disk": 1})
    assert result.is_error
    assert "call_tool_destructive" in text(result)


async def test_the_catalog_is_not_written_to(address: str, tenant: str, client: ServiceClient, config: Path) -> None:
    version = client.sync_server("github", [tool("open_issue", "Opens an issue")]).version
    async with facade("--target", address, "--tenant", tenant, "--mcp-config", str(config)) as mcp:
        await ask(mcp, "find_tools", query="issue")
    assert client.get_catalog().version == version


async def test_a_catalog_that_does_not_exist_is_an_error_that_the_model_sees(address: str, tenant: str) -> None:
    async with facade("--target", address, "--tenant", tenant, "--catalog", "nowhere") as mcp:
        result = await call(mcp, "find_tools", query="issue")
    assert result.is_error
    assert "nowhere" in text(result)


async def test_a_service_that_is_away_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"
    with running_server("--store", store) as (server, address):
        with ServiceClient(address) as client:
            client.sync_server("github", [tool("open_issue", "Opens an issue")])
        mcp_of = facade("--target", address)
        mcp = await mcp_of.__aenter__()
        try:
            assert (await ask(mcp, "find_tools", query="issue"))["matches"]
            server.stop(signal.SIGTERM)
            away = await call(mcp, "find_tools", query="issue")
            assert away.is_error
            assert f"cannot reach toolsearch at {address}" in text(away)
            with running_server("--store", store, "--listen", address):

                async def answered() -> bool:
                    return not (await call(mcp, "find_tools", query="issue")).is_error

                await until(answered)
        finally:
            await mcp_of.__aexit__(None, None, None)


async def test_eager_tools_have_the_names_that_the_service_gives_them(
    address: str, tenant: str, client: ServiceClient, config: Path
) -> None:
    client.sync_server("calc", [tool("add", "Adds")])
    client.sync_server("other", [tool("add", "Adds")])
    async with facade("--target", address, "--tenant", tenant, "--mcp-config", str(config), "--eager", "calc:add") as mcp:
        assert tools_named((await mcp.list_tools()).tools)[5:] == ["calc_add"]


async def test_a_facade_serves_many_clients_from_one_process_of_each_server(tmp_path: Path) -> None:
    calc = ToolServer(tmp_path / "calc")
    config = write_config(tmp_path / "mcp.json", {"calc": calc})
    with http_facade("--mcp-config", str(config)) as url:
        async with Client(url) as one, Client(url, mode="legacy") as other:
            for client in (one, other):
                assert (await call(client, "call_tool", name="calc_add", arguments=ADD)).structured_content == {"sum": 3}
        assert len(calc.pids) == 1


async def test_an_eager_tool_is_listed_as_soon_as_the_service_knows_it(
    address: str, tenant: str, client: ServiceClient, config: Path
) -> None:
    client.sync_server("calc", [])
    async with facade("--target", address, "--tenant", tenant, "--mcp-config", str(config), "--eager", "calc:add") as mcp:
        assert len((await mcp.list_tools()).tools) == 5
        async with mcp.listen(tools_list_changed=True) as subscription, asyncio.timeout(20):
            client.sync_server("calc", [tool("add", "Adds")])
            async for _ in subscription:
                break
        assert tools_named((await mcp.list_tools()).tools)[5:] == ["calc_add"]
