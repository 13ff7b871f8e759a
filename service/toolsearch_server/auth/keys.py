"""API keys: `ts_ID_SECRET`. The file that holds them knows only their hashes.

A secret has 256 random bits, so a plain hash of it tells nobody anything, and checking a key costs microseconds.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from toolsearch_server.auth import ROLES, Caller, Role
from toolsearch_server.entry import check_name
from toolsearch_server.errors import CredentialInvalid, ServiceError, shorten
from toolsearch_server.limits import DEFAULT_LIMITS

KEY_PREFIX = "ts_"
ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
ID_LENGTH = 12
FORMAT = 1
_KEY = re.compile(rf"{KEY_PREFIX}([{ID_ALPHABET}]{{{ID_LENGTH}}})_[A-Za-z0-9_-]{{43}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOBODY = "0" * 64


class KeysError(ValueError):
    """A file of keys that cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is kept of an API key. `id` is the part of it that may be shown."""

    id: str
    tenant: str
    role: Role
    sha256: str = field(repr=False)
    created: datetime
    expires: datetime | None = None
    note: str = ""

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    @property
    def caller(self) -> Caller:
        return Caller(self.tenant, self.role, f"key:{self.id}")


Keys = Mapping[str, Key]
"""By id."""


def new_key(tenant: str, role: Role, *, expires: datetime | None = None, note: str = "") -> tuple[Key, str]:
    """A key to keep, and the text that is shown once."""
    identifier = "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))
    text = f"{KEY_PREFIX}{identifier}_{secrets.token_urlsafe(32)}"
    created = datetime.now(UTC).replace(microsecond=0)
    key = Key(id=identifier, tenant=tenant, role=role, sha256=_hash(text), created=created, expires=expires, note=note)
    return key, text


def caller_with(keys: Keys, text: str) -> Caller:
    """Whose key it is. Raises CredentialInvalid, with the same words whatever is wrong but for a known key that has expired."""
    matched = _KEY.fullmatch(text)
    key = keys.get(matched[1]) if matched else None
    # Compared also where there is nothing to compare with: the time taken must not tell which ids exist.
    same = hmac.compare_digest(_hash(text), _NOBODY if key is None else key.sha256)
    if key is None or not same:
        raise CredentialInvalid("the API key is not known")
    if key.expired(datetime.now(UTC)):
        raise CredentialInvalid("the API key has expired")
    return key.caller


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# The file


def parse_keys(text: str) -> Keys:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KeysError(f"the file is not JSON: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("keys"), list):
        raise KeysError('the file is not an object with a list "keys"')
    if content.get("format") != FORMAT:
        raise KeysError(f'"format" is {content.get("format")!r}, allowed is {FORMAT}')
    keys: dict[str, Key] = {}
    for index, member in enumerate(content["keys"]):
        key = _parse_key(member, f"keys[{index}]")
        if key.id in keys:
            raise KeysError(f"keys[{index}].id is there twice: {key.id}")
        keys[key.id] = key
    return keys


def dump_keys(keys: Iterable[Key]) -> str:
    return json.dumps({"format": FORMAT, "keys": [_dumped(key) for key in keys]}, indent=2, ensure_ascii=False) + "\n"


def _dumped(key: Key) -> dict[str, Any]:
    expires = None if key.expires is None else key.expires.isoformat()
    members = asdict(key) | {"role": key.role.label, "created": key.created.isoformat(), "expires": expires}
    return {name: value for name, value in members.items() if value not in (None, "")}


def _parse_key(member: Any, path: str) -> Key:
    if not isinstance(member, dict):
        raise KeysError(f"{path} is not an object")
    texts = {name: member.get(name, "") for name in ("id", "tenant", "role", "sha256", "created", "expires", "note")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise KeysError(f"{path}.{name} is not a string")
    unknown = member.keys() - texts.keys()
    if unknown:
        raise KeysError(f"{path} has {shorten(ascii(min(unknown)))}, which is not a member of a key")
    if not _KEY.fullmatch(f"{KEY_PREFIX}{texts['id']}_{'x' * 43}"):
        raise KeysError(f"{path}.id is not the id of a key")
    if texts["role"] not in ROLES:
        raise KeysError(f"{path}.role is {shorten(ascii(texts['role']))}, allowed is {', '.join(ROLES)}")
    if not _SHA256.fullmatch(texts["sha256"]):
        raise KeysError(f"{path}.sha256 is not a hash of 64 hexadecimal digits")
    try:
        check_name(texts["tenant"], field=f"{path}.tenant", length=DEFAULT_LIMITS.tenant_length, limit="tenant_length")
    except ServiceError as error:
        raise KeysError(error.message) from None
    return Key(
        id=texts["id"],
        tenant=texts["tenant"],
        role=ROLES[texts["role"]],
        sha256=texts["sha256"],
        created=_time(texts["created"], f"{path}.created"),
        expires=_time(texts["expires"], f"{path}.expires") if texts["expires"] else None,
        note=texts["note"],
    )


def _time(text: str, path: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise KeysError(f"{path} is {shorten(ascii(text))}, which is not a time such as 2027-01-31T12:00:00+00:00") from None
    if time.tzinfo is None:
        raise KeysError(f"{path} has no time zone, which is such as +00:00")
    return time
