from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from facade.facades import ADD, ToolServer, call, http_facade, write_config

TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a facade with a token, which is called tools.example.com too."""
    folder = tmp_path_factory.mktemp("guarded")
    config = write_config(folder / "mcp.json", {"calc": ToolServer(folder / "calc")})
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    with http_facade("--mcp-config", str(config), "--token-file", str(token), "--allow-host", "tools.example.com") as url:
        yield url


def post(url: str, **headers: str) -> httpx2.Response:
    info = {"name": "raw", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    accept = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {TOKEN}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return httpx2.post(url, json=message, headers=accept | headers, timeout=20)


async def test_who_has_the_token_is_served(guarded: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers) as http, Client(streamable_http_client(guarded, http_client=http)) as client:
        assert (await call(client, "call_tool", name="calc_add", arguments=ADD)).structured_content == {"sum": 3}


@pytest.mark.parametrize("given", ["", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN])
def test_who_has_not_is_refused(guarded: str, given: str) -> None:
    assert post(guarded, authorization=given).status_code == 401


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1234", "[::1]:80", "tools.example.com", "tools.example.com:443"])
def test_names_that_are_allowed_are_served(guarded: str, host: str) -> None:
    assert post(guarded, host=host).status_code == 200


@pytest.mark.parametrize("host", ["evil.example.com", "localhost.evil.example.com", "127.0.0.1.evil.example.com:80"])
def test_another_name_that_leads_here_is_refused(guarded: str, host: str) -> None:
    assert post(guarded, host=host).status_code == 421


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "http://localhost.evil.example.com:80"])
def test_pages_from_elsewhere_are_refused(guarded: str, origin: str, version: str) -> None:
    assert post(guarded, origin=origin, **{"mcp-protocol-version": version}).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://tools.example.com"])
def test_pages_from_here_are_served(guarded: str, origin: str) -> None:
    assert post(guarded, origin=origin).status_code == 200


def test_a_body_without_end_is_refused(guarded: str) -> None:
    response = httpx2.post(
        guarded,
        content=b" " * (5 * 1024 * 1024),
        headers={"content-type": "application/json", "authorization": f"Bearer {TOKEN}"},
        timeout=20,
    )
    assert response.status_code == 413


def test_without_a_token_only_this_machine_is_listened_to(tmp_path: Path) -> None:
    config = write_config(tmp_path / "mcp.json", {})
    with http_facade("--mcp-config", str(config)) as url:
        assert url.startswith("http://127.0.0.1:")
        assert post(url).status_code == 200
