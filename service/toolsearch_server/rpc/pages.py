"""Page tokens (AIP-158): where the next page starts, and of which request it is the next page."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from google.protobuf.message import Message

from toolsearch_server.errors import PageTokenInvalid
from toolsearch_server.store import CatalogKey

FINGERPRINT_BYTES = 8


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of one listing request. `of` takes every field that a later page must repeat."""

    fingerprint: bytes

    @classmethod
    def of(cls, method: str, key: CatalogKey, filter_message: Message | None = None, scope: str = "") -> "Pages":
        selected = filter_message.SerializeToString(deterministic=True) if filter_message is not None else b""
        parts = (method.encode(), key.tenant.encode(), key.catalog.encode(), scope.encode(), selected)
        content = b"".join(len(part).to_bytes(4) + part for part in parts)
        return cls(hashlib.blake2b(content, digest_size=FINGERPRINT_BYTES).digest())

    def token_after(self, name: str) -> str:
        return base64.urlsafe_b64encode(self.fingerprint + name.encode()).decode()

    def start(self, token: str) -> str | None:
        """The name after which the page starts; None for the first page."""
        if not token:
            return None
        try:
            decoded = base64.b64decode(token, altchars=b"-_", validate=True)
            name = decoded[FINGERPRINT_BYTES:].decode()
        except (binascii.Error, ValueError):
            raise PageTokenInvalid("page_token is broken") from None
        if decoded[:FINGERPRINT_BYTES] != self.fingerprint:
            raise PageTokenInvalid("page_token belongs to another request: catalog, filter or caller differ")
        return name
