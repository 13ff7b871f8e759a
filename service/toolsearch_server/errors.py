"""Refusals: what the service says no to, and why. They know their reason; `rpc/` knows which status that is.

ServiceError
├── MalformedRequest
├── FieldRequired
├── FieldInvalid
├── LimitExceeded
├── DefinitionInvalid
├── DuplicateEntry
├── PatternInvalid
├── PageTokenInvalid
├── CatalogNotFound
├── RevisionMismatch
├── WriteContention
├── CatalogFull
├── StrategyUnavailable
├── RevisionNotReached
├── StoreUnavailable
├── SearchTooCostly
├── ShuttingDown
├── CredentialRequired
├── CredentialInvalid
├── RoleDenied
├── TenantDenied
├── RateLimited
├── Overloaded
├── QuotaExceeded
├── EmbeddingsUnavailable
├── ResourceNotFound
└── ResourceChanged
"""

from typing import Any, ClassVar

from toolsearch.v1 import error_reason_pb2 as reasons

MAX_GIVEN_LENGTH = 120


class ServiceError(Exception):
    """A refusal. `field` is the path of the offending field, `given` what it held, `allowed` what it may hold.

    `retry_seconds`: when the same may be tried again, where that is known.
    """

    reason: ClassVar[reasons.ErrorReason] = reasons.ERROR_REASON_UNSPECIFIED
    retry_seconds: float | None = None

    def __init__(self, message: str, *, field: str = "", given: object = "", allowed: object = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.given = shorten(str(given))
        self.allowed = str(allowed)

    @property
    def metadata(self) -> dict[str, str]:
        facts = {"field": self.field, "given": self.given, "allowed": self.allowed}
        return {name: fact for name, fact in facts.items() if fact}


class MalformedRequest(ServiceError):
    reason = reasons.ERROR_REASON_MALFORMED_REQUEST


class FieldRequired(ServiceError):
    reason = reasons.ERROR_REASON_FIELD_REQUIRED

    def __init__(self, field: str, hint: str = "") -> None:
        super().__init__(f"{field} is required" + (f": {hint}" if hint else ""), field=field)


class FieldInvalid(ServiceError):
    reason = reasons.ERROR_REASON_FIELD_INVALID


class LimitExceeded(ServiceError):
    """`limit` is the name of the limit in limits.py."""

    reason = reasons.ERROR_REASON_LIMIT_EXCEEDED

    def __init__(self, field: str, *, given: int, allowed: int, limit: str, unit: str) -> None:
        super().__init__(
            f"{field} has {given} {unit}, at most {allowed} are allowed ({limit})",
            field=field,
            given=given,
            allowed=allowed,
        )
        self.limit = limit

    @property
    def metadata(self) -> dict[str, str]:
        return super().metadata | {"limit": self.limit}


class DefinitionInvalid(ServiceError):
    reason = reasons.ERROR_REASON_DEFINITION_INVALID


class DuplicateEntry(ServiceError):
    reason = reasons.ERROR_REASON_DUPLICATE_ENTRY


class PatternInvalid(ServiceError):
    reason = reasons.ERROR_REASON_PATTERN_INVALID


class PageTokenInvalid(ServiceError):
    reason = reasons.ERROR_REASON_PAGE_TOKEN_INVALID

    def __init__(self, message: str) -> None:
        super().__init__(message, field="page_token", allowed="next_page_token of an answer to the same request")


class CatalogNotFound(ServiceError):
    reason = reasons.ERROR_REASON_CATALOG_NOT_FOUND

    def __init__(self, catalog: str) -> None:
        super().__init__(f"there is no catalog {catalog!r}; the first write to it makes it", field="catalog", given=catalog)


class RevisionMismatch(ServiceError):
    reason = reasons.ERROR_REASON_REVISION_MISMATCH

    def __init__(self, *, expected: int, actual: int) -> None:
        super().__init__(
            f"expected_revision is {expected}, but the catalog is at revision {actual}",
            field="expected_revision",
            given=expected,
            allowed=actual,
        )


class WriteContention(ServiceError):
    reason = reasons.ERROR_REASON_WRITE_CONTENTION


class CatalogFull(ServiceError):
    reason = reasons.ERROR_REASON_CATALOG_FULL

    def __init__(self, *, entries: int, allowed: int) -> None:
        super().__init__(
            f"the catalog would have {entries} entries, at most {allowed} are allowed (entries_per_catalog)",
            given=entries,
            allowed=allowed,
        )


class StrategyUnavailable(ServiceError):
    reason = reasons.ERROR_REASON_STRATEGY_UNAVAILABLE


class RevisionNotReached(ServiceError):
    reason = reasons.ERROR_REASON_REVISION_NOT_REACHED

    def __init__(self, *, wanted: int, actual: int) -> None:
        super().__init__(
            f"the catalog did not reach revision {wanted} in time, it is at {actual}",
            field="min_revision",
            given=wanted,
            allowed=actual,
        )


class StoreUnavailable(ServiceError):
    reason = reasons.ERROR_REASON_STORE_UNAVAILABLE


class SearchTooCostly(ServiceError):
    reason = reasons.ERROR_REASON_SEARCH_TOO_COSTLY

    def __init__(self, *, allowed: float) -> None:
        super().__init__(
            f"the search took more than {allowed} seconds of processor time (search_seconds): "
            "ask with fewer phrasings, a simpler pattern or fewer fields",
            field="queries",
            allowed=allowed,
        )


class EmbeddingsUnavailable(ServiceError):
    """A search by meaning alone cannot be done now. Others go by words."""

    reason = reasons.ERROR_REASON_EMBEDDINGS_UNAVAILABLE


class ResourceNotFound(ServiceError):
    reason = reasons.ERROR_REASON_RESOURCE_NOT_FOUND


class ResourceChanged(ServiceError):
    reason = reasons.ERROR_REASON_RESOURCE_CHANGED

    def __init__(self, path: str) -> None:
        super().__init__(f"the resource {shorten(path)!r} changed while it was read: read it again", field="path", given=path)


class ShuttingDown(ServiceError):
    reason = reasons.ERROR_REASON_SHUTTING_DOWN

    def __init__(self) -> None:
        super().__init__("this replica is stopping: watch another one")


class CredentialRequired(ServiceError):
    reason = reasons.ERROR_REASON_CREDENTIAL_REQUIRED

    def __init__(self) -> None:
        super().__init__("a credential is required: send the metadata authorization: Bearer KEY", field="authorization")


class CredentialInvalid(ServiceError):
    """What was given is never repeated."""

    reason = reasons.ERROR_REASON_CREDENTIAL_INVALID

    def __init__(self, message: str) -> None:
        super().__init__(message, field="authorization")


class RoleDenied(ServiceError):
    reason = reasons.ERROR_REASON_ROLE_DENIED

    def __init__(self, method: str, *, role: str, needed: str) -> None:
        super().__init__(f"{method} needs the role {needed}, the credential has {role}", given=role, allowed=needed)


class TenantDenied(ServiceError):
    """`caller` is whose credential it is, for the audit record."""

    reason = reasons.ERROR_REASON_TENANT_DENIED

    def __init__(self, field: str, caller: Any = None) -> None:
        super().__init__("the credential is for another tenant", field=field)
        self.caller = caller


class RateLimited(ServiceError):
    reason = reasons.ERROR_REASON_RATE_LIMITED

    def __init__(self, *, allowed: float, retry_seconds: float) -> None:
        super().__init__(f"the tenant may make {allowed:g} calls a second (tenant_rate)", allowed=f"{allowed:g}")
        self.retry_seconds = retry_seconds


class Overloaded(ServiceError):
    reason = reasons.ERROR_REASON_OVERLOADED

    def __init__(self, *, allowed: int, limit: str, retry_seconds: float) -> None:
        super().__init__(f"{allowed} calls are under way, more are not taken on ({limit})", allowed=allowed)
        self.limit = limit
        self.retry_seconds = retry_seconds

    @property
    def metadata(self) -> dict[str, str]:
        return super().metadata | {"limit": self.limit}


class QuotaExceeded(ServiceError):
    reason = reasons.ERROR_REASON_QUOTA_EXCEEDED

    def __init__(self, *, given: int, allowed: int, limit: str, unit: str) -> None:
        super().__init__(
            f"the tenant would have {given} {unit}, at most {allowed} are allowed ({limit})", given=given, allowed=allowed
        )
        self.limit = limit

    @property
    def metadata(self) -> dict[str, str]:
        return super().metadata | {"limit": self.limit}


def shorten(text: str) -> str:
    """What was given, short enough to be repeated in an error."""
    return text if len(text) <= MAX_GIVEN_LENGTH else text[: MAX_GIVEN_LENGTH - 1] + "…"
