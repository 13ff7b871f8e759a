"""MCP over streamable HTTP, at /mcp."""

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from toolsearch_server.config import Address
from toolsearch_server.facade.settings import HttpSettings
from toolsearch_server.web.port import HttpServer

PATH = "/mcp"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


class TokenRequired:
    """Lets through who has the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})


@asynccontextmanager
async def answering(server: Server[Any], settings: HttpSettings) -> AsyncIterator[Address]:
    """The port, open meanwhile. Raises OSError when it cannot be opened.

    Host and Origin are checked: a page in somebody's browser must not reach the tools by a name that leads here.
    """
    names = (*LOOPBACK_HOSTS, *settings.hosts)
    security = TransportSecuritySettings(
        allowed_hosts=[each for name in names for each in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{each}" for scheme in ("http", "https") for name in names for each in (name, f"{name}:*")
        ],
    )
    application = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    guarded: ASGIApp = application if settings.token is None else TokenRequired(application, settings.token)
    http = HttpServer(guarded, settings.address)
    async with server.session_manager.run():
        task = asyncio.create_task(http.run_until_stopped())
        try:
            yield Address(settings.address.host, http.port)
        finally:
            http.stop()
            http.force_exit = True  # streams of clients that listen do not end by themselves
            await task
