"""The console: a page and what it needs, read once at the start."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",
}


def routes() -> list[Route]:
    found = dict(_files())
    paths = {f"/{name}": name for name in found} | {"/": "index.html"}
    return [Route(path, _answering(found[name], name)) for path, name in paths.items()]


def _files() -> Iterator[tuple[str, bytes]]:
    for file in files(__package__).joinpath("console").iterdir():
        if file.name.rpartition(".")[2] in TYPES and file.is_file():
            yield file.name, file.read_bytes()


def _answering(content: bytes, name: str) -> Callable[[Request], Awaitable[Response]]:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = HEADERS | {"etag": tag}
    media_type = TYPES[name.rpartition(".")[2]]

    async def answer(request: Request) -> Response:
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    return answer
