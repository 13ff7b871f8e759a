"""JSON Web Tokens as credentials. The only module that knows PyJWT; it comes with the extra `jwt`.

Only signatures with public keys are accepted: whoever can check a token must not be able to make one.
"""

import asyncio
import hashlib
import http.client
import json
import time
import urllib.request
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt
import structlog

from toolsearch_server.auth import ROLES, Caller, Role, TokenSettings
from toolsearch_server.entry import check_name
from toolsearch_server.errors import CredentialInvalid, ServiceError
from toolsearch_server.limits import Limits

ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519", "Ed448")
)
LEEWAY_SECONDS = 30
"""How far clocks may differ."""
REFRESH_SECONDS = 600.0
UNKNOWN_KEY_SECONDS = 10.0
"""Keys at a URL are fetched again for a token with an unknown one, but not more often than this."""
FETCH_SECONDS = 5.0
FETCH_BYTES = 1 << 20
REMEMBERED_TOKENS = 1_000
REMEMBERED_SECONDS = 60.0

log = structlog.get_logger()


class KeySetError(ValueError):
    """A set of public keys that cannot be used."""


PublicKeys = Mapping[str, jwt.PyJWK]
"""By key id."""


def parse_key_set(text: str | bytes) -> PublicKeys:
    """The keys of a JWKS document that signatures can be checked with; others are passed over."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KeySetError(f"not JSON: {error}") from None
    members = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(members, list):
        raise KeySetError('not a JSON Web Key Set, which is an object with a list "keys"')
    keys: dict[str, jwt.PyJWK] = {}
    for member in members:
        if not isinstance(member, dict) or not isinstance(member.get("kid"), str) or member.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(member)
        except jwt.PyJWTError:
            continue
        if key.algorithm_name in ALGORITHMS:
            keys[member["kid"]] = key
    if not keys:
        raise KeySetError("no public key with an id (kid) that signatures could be checked with")
    return keys


class Tokens:
    """Checks tokens. `replace_keys` and `keep_fresh` keep the public keys up to date."""

    def __init__(self, settings: TokenSettings, keys: PublicKeys, limits: Limits) -> None:
        self._settings = settings
        self._keys = keys
        self._limits = limits
        self._known: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()
        self._fetching = asyncio.Lock()
        self._fetched_at = time.monotonic()

    def replace_keys(self, keys: PublicKeys) -> None:
        self._keys = keys
        self._known.clear()

    async def caller_with(self, token: str) -> Caller:
        digest = hashlib.sha256(token.encode()).digest()
        known = self._known.get(digest)
        if known is not None and known[1] > time.time():
            return known[0]
        caller, expires = self._check(token, await self._key_of(token))
        self._known[digest] = (caller, expires)
        if len(self._known) > REMEMBERED_TOKENS:
            self._known.popitem(last=False)
        return caller

    async def _key_of(self, token: str) -> jwt.PyJWK:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise CredentialInvalid("the credential is neither an API key nor a token") from None
        if not isinstance(header.get("alg"), str) or header["alg"] not in ALGORITHMS:
            raise CredentialInvalid("the token is signed with an algorithm that is not allowed")
        kid = header.get("kid", "")
        key = self._keys.get(kid)
        if key is None and self._settings.file is None:
            await self._fetch_for_unknown()
            key = self._keys.get(kid)
        if key is None:
            raise CredentialInvalid("the token is signed with a key that is not known")
        if key.algorithm_name != header["alg"]:
            raise CredentialInvalid("the token is signed with another algorithm than its key is for")
        return key

    def _check(self, token: str, key: jwt.PyJWK) -> tuple[Caller, float]:
        settings = self._settings
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[str(key.algorithm_name)],
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise CredentialInvalid(f"the token {_explanation(error)}") from None
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise CredentialInvalid("the token cannot be used") from None
        caller = Caller(self._tenant(claims), self._role(claims), f"token:{claims.get('sub', '')}")
        return caller, min(int(claims["exp"]) + LEEWAY_SECONDS, time.time() + REMEMBERED_SECONDS)

    def _tenant(self, claims: Mapping[str, Any]) -> str:
        tenant = _claim(claims, self._settings.tenant_claim)
        try:
            if not isinstance(tenant, str):
                raise CredentialInvalid(f"the token has no tenant in its claim {self._settings.tenant_claim}")
            check_name(tenant, field="tenant", length=self._limits.tenant_length, limit="tenant_length")
        except ServiceError as error:
            raise CredentialInvalid(error.message) from None
        return tenant

    def _role(self, claims: Mapping[str, Any]) -> Role:
        """Of several roles the highest; what is not a role of ours does not count."""
        given = _claim(claims, self._settings.role_claim)
        names = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
        roles = [ROLES[name] for name in names if isinstance(name, str) and name in ROLES]
        if not roles:
            raise CredentialInvalid(f"the token has no role in its claim {self._settings.role_claim}: {', '.join(ROLES)}")
        return max(roles)

    async def _fetch_for_unknown(self) -> None:
        """Once for all that wait, and not too often: anybody can send tokens with unknown keys."""
        async with self._fetching:
            if time.monotonic() - self._fetched_at >= UNKNOWN_KEY_SECONDS:
                await self._fetch()

    async def _fetch(self) -> None:
        self._fetched_at = time.monotonic()
        try:
            self.replace_keys(await asyncio.to_thread(fetch_key_set, self._settings.key_set))
        except KeySetError as error:
            log.warning("public keys not fetched, those known before are used on", error=str(error))

    async def keep_fresh(self) -> None:
        """Fetch the keys at a URL now and then, until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            async with self._fetching:
                await self._fetch()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Elsewhere is not where the operator said, and may not be encrypted."""

    def redirect_request(self, *_: Any) -> None:
        return None


def fetch_key_set(url: str) -> PublicKeys:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise KeySetError("public keys are fetched by https only")
    try:
        with urllib.request.build_opener(_NoRedirects).open(url, timeout=FETCH_SECONDS) as answer:
            content = answer.read(FETCH_BYTES + 1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise KeySetError(f"no answer: {error}") from None
    if len(content) > FETCH_BYTES:
        raise KeySetError(f"more than {FETCH_BYTES} bytes")
    return parse_key_set(content)


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by a path such as `resource_access.toolsearch.roles`."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _explanation(error: jwt.PyJWTError) -> str:
    match error:
        case jwt.ExpiredSignatureError():
            return "has expired"
        case jwt.ImmatureSignatureError():
            return "is not valid yet"
        case jwt.InvalidAudienceError():
            return "is for another audience"
        case jwt.InvalidIssuerError():
            return "is from another issuer"
        case jwt.MissingRequiredClaimError():
            return f"has no claim {error.claim}"
        case jwt.InvalidSignatureError():
            return "has a signature that is not right"
    return "cannot be used"
