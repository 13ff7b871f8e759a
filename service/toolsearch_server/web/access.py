"""Who is let near the API and the console: nobody from whom the gRPC port would be safer."""

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from toolsearch_server.config import Address, Config
from toolsearch_server.errors import shorten
from toolsearch_server.web.exchange import Exchange
from toolsearch_server.web.statuses import PERMISSION_DENIED, Refused, misdirected

NOT_IN_HOSTS = frozenset("@/?#\\")
"""With one of them, what a URL takes for the host is not all of it."""


def why_closed(config: Config) -> str:
    """What keeps the API from being answered at the HTTP address, and what to do; empty if nothing does."""
    if config.http is None or config.http.loopback:
        return ""
    if not config.has_credentials:
        return (
            "no credentials are configured, and everybody who can connect could read and change every catalog: configure "
            "--keys or --jwt-issuer, or give --http an address of this machine only, such as 127.0.0.1:8080"
        )
    if config.tls is not None and not config.http_tls:
        return "the gRPC port has TLS, and the HTTP port has none: give --http-tls, or --http an address of this machine only"
    return ""


class Closed:
    """Tells everybody why there is nothing."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = f"the API is not answered here: {self._why}"
        await Exchange(scope, receive, send).refuse(misdirected(message, code=PERMISSION_DENIED, reason="CREDENTIAL_REQUIRED"))


class ThisMachineOnly:
    """For a service without credentials: what protects it is that only this machine can connect, and so can a browser on it.

    A page from elsewhere may have a name that leads here (DNS rebinding), which Host tells, or send requests without being
    allowed to read the answers, which Origin tells.
    """

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
        except Refused as refusal:
            await Exchange(scope, receive, send).refuse(refusal)
        else:
            await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        host = ", ".join(value for name, value in headers if name == b"host")
        if not _leads_here(host):
            raise misdirected(
                f"the host {shorten(host)!r} is not this machine, and without credentials nobody else is answered",
                code=PERMISSION_DENIED,
                http_status=421,
                field="host",
                given=shorten(host),
                allowed="localhost, 127.0.0.1, [::1]",
            )
        for origin in (value for name, value in headers if name == b"origin"):
            if origin not in self._origins and origin.partition("://")[2] != host:
                raise misdirected(
                    f"pages of {shorten(origin)} may not ask: without credentials only --http-cors lets them",
                    code=PERMISSION_DENIED,
                    field="origin",
                    given=shorten(origin),
                )


def _leads_here(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and host.isprintable() and not set(host) & NOT_IN_HOSTS and Address(name, 0).loopback
