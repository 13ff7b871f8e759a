"""How the client connects: balanced over all replicas that say they are healthy, with retries for calls that only read."""

import json

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
                    {"service": "toolsearch.v1.CatalogService", "method": "ListCatalogs"},
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


def metadata(tenant: str | None) -> tuple[tuple[str, str], ...]:
    return ((TENANT_HEADER, tenant),) if tenant is not None else ()
