"""What is answered on the HTTP port, and under which conditions."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount, Router
from starlette.types import ASGIApp

from toolsearch_server.web import console
from toolsearch_server.web.access import Closed, ThisMachineOnly
from toolsearch_server.web.exchange import READ_HEADERS

CORS_SECONDS = 600

Application = Starlette


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """`closed`: why the API is not answered. `guarded`: callers have credentials. `origins`: whose pages may read answers."""

    api: ASGIApp
    closed: str = ""
    guarded: bool = False
    origins: tuple[str, ...] = ()
    console: bool = True


def application(probes: Sequence[BaseRoute], door: Door | None = None) -> Application:
    app = Starlette(routes=[*probes, *(() if door is None else _behind(door))])
    app.router.redirect_slashes = False
    return app


def _behind(door: Door) -> list[BaseRoute]:
    if door.closed:
        return [Mount("/v1", Closed(door.closed))]
    pages = Router(console.routes(), redirect_slashes=False) if door.console else None
    return [Mount("/v1", _protected(door, _readable(door))), *([Mount("/", _protected(door, pages))] if pages else [])]


def _protected(door: Door, app: ASGIApp) -> ASGIApp:
    return app if door.guarded else ThisMachineOnly(app, door.origins)


def _readable(door: Door) -> ASGIApp:
    """CORS, for the pages of those origins only."""
    if not door.origins:
        return door.api
    return CORSMiddleware(
        door.api,
        allow_origins=door.origins,
        allow_methods=("GET", "POST"),
        allow_headers=("content-type", *READ_HEADERS),
        expose_headers=("x-request-id", "retry-after"),
        max_age=CORS_SECONDS,
    )
