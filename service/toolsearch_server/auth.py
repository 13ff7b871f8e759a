"""Who is calling: from a call's metadata to a tenant."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolsearch_server.entry import check_name
from toolsearch_server.limits import Limits

TENANT_HEADER = "x-toolsearch-tenant"
DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Caller:
    tenant: str


class OpenAccess:
    """No credentials: every caller is who it says it is. Only for servers that nobody else can reach."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def identify(self, metadata: Mapping[str, str]) -> Caller:
        tenant = metadata.get(TENANT_HEADER, DEFAULT_TENANT)
        check_name(tenant, field=TENANT_HEADER, length=self._limits.tenant_length, limit="tenant_length")
        return Caller(tenant)
