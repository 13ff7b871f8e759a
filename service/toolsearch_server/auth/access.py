"""Callers with credentials: `authorization: Bearer ...`, an API key or a JSON Web Token."""

from collections.abc import Mapping
from typing import Protocol

from toolsearch_server.auth import AUTHORIZATION_HEADER, Caller, acting
from toolsearch_server.auth.keys import KEY_PREFIX, Keys, caller_with
from toolsearch_server.errors import CredentialInvalid, CredentialRequired
from toolsearch_server.limits import Limits

MAX_CREDENTIAL_LENGTH = 4_096


class TokenCheck(Protocol):
    async def caller_with(self, token: str) -> Caller:
        """Whose token it is. Raises CredentialInvalid."""
        ...


class BearerAccess:
    """`keys` may be replaced while calls come in: the next one sees the new ones."""

    def __init__(self, limits: Limits, *, keys: Keys | None = None, tokens: TokenCheck | None = None) -> None:
        self.keys = keys
        self._tokens = tokens
        self._limits = limits

    async def identify(self, metadata: Mapping[str, str]) -> Caller:
        header = metadata.get(AUTHORIZATION_HEADER)
        if header is None:
            raise CredentialRequired
        scheme, _, credential = header.partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(credential) <= MAX_CREDENTIAL_LENGTH:
            raise CredentialInvalid("authorization is not Bearer and a key or token")
        return acting(await self._caller(credential), metadata, self._limits)

    async def _caller(self, credential: str) -> Caller:
        if self.keys is not None and (self._tokens is None or credential.startswith(KEY_PREFIX)):
            return caller_with(self.keys, credential)
        if self._tokens is None:
            raise CredentialInvalid("the API key is not known")
        return await self._tokens.caller_with(credential)
