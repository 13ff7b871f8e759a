"""How the client connects: balanced over all replicas that say they are healthy, with retries for calls that only read."""

import hashlib
import ipaddress
import json
import sys
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

import grpc

SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        # A replica that drains says so before it stops, and gets no new calls.
        "healthCheckConfig": {"serviceName": ""},
        "methodConfig": [
            {
                "name": [
                    {"service": "toolsearch.v1.ToolSearchService"},
                    {"service": "toolsearch.v1.CatalogService", "method": "GetCatalog"},
                    {"service": "toolsearch.v1.CatalogService", "method": "GetSettings"},
                    {"service": "toolsearch.v1.CatalogService", "method": "ListCatalogs"},
                    {"service": "toolsearch.v1.CatalogService", "method": "ListTenants"},
                ],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2.5,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
    }
)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024

OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.service_config", SERVICE_CONFIG),
    ("grpc.service_config_disable_resolution", 1),
    # A new client connects afresh, instead of inheriting another's back-off from a process-wide pool.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
)

TENANT_HEADER = "x-toolsearch-tenant"
AUTHORIZATION_HEADER = "authorization"
ROUTE_HEADER = "x-toolsearch-route"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Speak TLS: all of it is optional, in PEM. `ca`: who signed the server's certificate, if not one of the usual authorities.
    `certificate` and `key`: the client's own, where the server asks for one. `server_name`: if it is not in the target."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    server_name: str | None = None


class ClearTextKey(ValueError):
    """The key would travel unencrypted to another machine."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What sync and async channels are made from."""

    credentials: grpc.ChannelCredentials | None
    options: tuple[tuple[str, str | int], ...]
    metadata: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def to(cls, target: str, *, tenant: str | None, api_key: str | None, tls: Tls | bool, route: str | None = None) -> Self:
        """Raises ClearTextKey if the key would travel in clear to another machine."""
        if api_key is not None and not tls and not is_local(target):
            raise ClearTextKey(f"an API key is not sent unencrypted to {target}: speak TLS")
        metadata = [(TENANT_HEADER, tenant)] if tenant is not None else []
        if api_key is not None:
            metadata.append((AUTHORIZATION_HEADER, f"Bearer {api_key.strip()}"))
        route = routed(tenant, api_key) if route is None else checked_route(route)
        if route:
            metadata.append((ROUTE_HEADER, route))
        if not tls:
            # Not through a proxy either, which would see all of it.
            return cls(None, (*OPTIONS, ("grpc.enable_http_proxy", 0)), tuple(metadata))
        files = tls if isinstance(tls, Tls) else Tls()
        options = OPTIONS
        if files.server_name:
            options += (("grpc.ssl_target_name_override", files.server_name),)
        credentials = grpc.ssl_channel_credentials(files.ca, files.key, files.certificate)
        return cls(credentials, options, tuple(metadata))


def routed(tenant: str | None, api_key: str | None) -> str:
    """The same for the same caller, and nothing that tells who: for proxies that send like calls to like replicas."""
    tenant, credential = tenant or "", (api_key or "").strip()
    if not tenant and not credential:
        return ""
    return hashlib.sha256(f"{tenant}\n{credential}".encode()).hexdigest()[:16]


def checked_route(route: str) -> str:
    if not route.isascii() or not route.isprintable() or route != route.strip():
        raise ValueError(f"route {route!r} cannot be a header: allowed is printable ASCII without spaces at its ends")
    return route


def traced(metadata: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """With the caller's span, where OpenTelemetry is in use: the service's spans then belong to the same trace."""
    if "opentelemetry.trace" not in sys.modules:
        return metadata
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return (*metadata, *carrier.items())


def is_local(target: str) -> bool:
    """Whether a target is this machine, so that nothing on the way could listen."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    if any(sign in target for sign in ",@") or ("://" in target and not target.startswith("dns:///")):
        return False
    try:
        host = urlsplit(f"//{target.removeprefix('dns:///')}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
