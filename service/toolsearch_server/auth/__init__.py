"""Who is calling: from a call's metadata to a tenant and a role."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from toolsearch_server.entry import check_name
from toolsearch_server.errors import TenantDenied
from toolsearch_server.limits import Limits

AUTHORIZATION_HEADER = "authorization"
TENANT_HEADER = "x-toolsearch-tenant"
DEFAULT_TENANT = "default"


class Role(IntEnum):
    """What a caller may do; each role may do what the ones before it may.

    Readers search, list, describe and watch. Writers also change catalogs. Administrators also list tenants, and act for any of
    them.
    """

    READER = 1
    WRITER = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        return self.name.lower()


ROLES: Mapping[str, Role] = {role.label: role for role in Role}


@dataclass(frozen=True, slots=True)
class Caller:
    """`subject` names the credential, for audit: never the credential itself."""

    tenant: str
    role: Role
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSettings:
    """Which JSON Web Tokens are credentials here."""

    issuer: str
    audience: str
    key_set: str
    """A file, or a URL."""
    tenant_claim: str = "tenant"
    role_claim: str = "role"

    @property
    def file(self) -> Path | None:
        return None if "://" in self.key_set else Path(self.key_set)


class Identity(Protocol):
    async def identify(self, metadata: Mapping[str, str]) -> Caller:
        """Raises CredentialRequired, CredentialInvalid or TenantDenied."""
        ...


class OpenAccess:
    """No credentials: every caller is who it says it is. Only for servers that nobody else can reach."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    async def identify(self, metadata: Mapping[str, str]) -> Caller:
        return Caller(_asked_for(metadata, self._limits) or DEFAULT_TENANT, Role.ADMIN, "anonymous")


def acting(caller: Caller, metadata: Mapping[str, str], limits: Limits) -> Caller:
    """The caller, acting for the tenant that the call asks for: only administrators may ask for another than their own."""
    tenant = _asked_for(metadata, limits)
    if tenant in (None, caller.tenant):
        return caller
    if caller.role < Role.ADMIN:
        raise TenantDenied(TENANT_HEADER, caller)
    return Caller(tenant, caller.role, caller.subject)


def _asked_for(metadata: Mapping[str, str], limits: Limits) -> str | None:
    tenant = metadata.get(TENANT_HEADER)
    if tenant is not None:
        check_name(tenant, field=TENANT_HEADER, length=limits.tenant_length, limit="tenant_length")
    return tenant
