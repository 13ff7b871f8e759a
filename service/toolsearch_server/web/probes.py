"""/livez and /readyz for probes that do not speak gRPC, /metrics for Prometheus. No credential is needed."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from toolsearch_server.metrics import CONTENT_TYPE, Metrics


def routes(ready: Callable[[], bool], metrics: Metrics) -> list[Route]:
    async def livez(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok\n") if ready() else PlainTextResponse("not ready\n", status_code=503)

    async def exposed(_: Request) -> Response:
        return Response(metrics.expose(), media_type=CONTENT_TYPE)

    return [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", exposed)]
