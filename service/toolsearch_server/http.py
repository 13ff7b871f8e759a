"""The HTTP port: /metrics for Prometheus, /livez and /readyz for probes that do not speak gRPC."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from toolsearch_server.config import Address
from toolsearch_server.metrics import CONTENT_TYPE, Metrics


def application(ready: Callable[[], bool], metrics: Metrics) -> Starlette:
    async def livez(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok\n") if ready() else PlainTextResponse("not ready\n", status_code=503)

    async def exposed(_: Request) -> Response:
        return Response(metrics.expose(), media_type=CONTENT_TYPE)

    return Starlette(routes=[Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", exposed)])


class HttpServer(uvicorn.Server):
    """uvicorn inside our event loop; signals are the program's."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        """Binds the port at once. Raises OSError when that cannot be done."""
        super().__init__(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._socket = socket.create_server(address, family=family)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    async def run_until_stopped(self) -> None:
        await self.serve(sockets=[self._socket])

    def stop(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
