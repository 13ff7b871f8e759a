"""The store: the truth about catalogs. Indexes are a cache of it.

A commit is atomic: entries, revision and log change together or not at all. Every store keeps the same promises; the tests in
tests/store run on each of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from toolsearch_server.changes import Change, Entries, Size, Version
from toolsearch_server.entry import EntryKey
from toolsearch_server.limits import KIB

RESOURCE_CHUNK_BYTES = 64 * KIB
"""Resources are kept in pieces, so that nobody who reads slowly keeps a whole one in memory."""


def chunks(content: bytes) -> Iterator[bytes]:
    return (content[first : first + RESOURCE_CHUNK_BYTES] for first in range(0, len(content), RESOURCE_CHUNK_BYTES))


class CatalogKey(NamedTuple):
    tenant: str
    catalog: str


class Followed(NamedTuple):
    """An MCP server that a watcher follows, or followed when it last ran."""

    key: CatalogKey
    server: str


class Conflict(Exception):
    """The catalog is not at the version that the writer had read. Nothing was written."""

    def __init__(self, actual: Version) -> None:
        super().__init__(f"the catalog is at revision {actual.revision} of epoch {actual.epoch!r}")
        self.actual = actual


class StoreOpenError(Exception):
    """The store cannot be used at all; the message tells an operator why."""


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """What the store knows of a catalog without reading its entries."""

    name: str
    version: Version
    updated: datetime
    size: Size


class Store(Protocol):
    async def close(self) -> None: ...

    async def record(self, key: CatalogKey) -> CatalogRecord | None:
        """What is known of one catalog; None if it does not exist."""
        ...

    async def records(self, tenant: str) -> list[CatalogRecord]:
        """The tenant's catalogs by name."""
        ...

    async def tenants(self) -> list[str]:
        """Those that have catalogs, by name; some that had may be among them."""
        ...

    async def versions(self, keys: Sequence[CatalogKey]) -> list[Version | None]:
        """Where the catalogs are. NO_VERSION: deleted; None: the store knows nothing of such a catalog."""
        ...

    async def snapshot(self, key: CatalogKey) -> Entries | None:
        """All entries at one version; None if the catalog does not exist."""
        ...

    async def changes_since(self, key: CatalogKey, version: Version) -> list[tuple[Version, Change]] | None:
        """The changes after `version` in order; None if the log does not reach back that far or the epoch is another."""
        ...

    async def commit(self, key: CatalogKey, expected: Version, change: Change) -> Version:
        """Write a change to the catalog if it is at `expected` (NO_VERSION: does not exist). Raises Conflict."""
        ...

    async def delete(self, key: CatalogKey, expected: Version) -> None:
        """Delete a catalog that is at `expected`, with its log. Raises Conflict."""
        ...

    async def add_usage(self, key: CatalogKey, uses: Mapping[EntryKey, float]) -> None:
        """Add to what is counted of a catalog's entries; of too many, those that count least are dropped."""
        ...

    async def usage(self, key: CatalogKey) -> dict[EntryKey, float]:
        """What is counted of a catalog's entries."""
        ...

    async def resource_chunk(self, key: CatalogKey, digest: str, number: int) -> bytes | None:
        """A piece of a resource that an entry of the catalog refers to: RESOURCE_CHUNK_BYTES of it, the last one fewer.

        None: there is no such piece, or no entry refers to the resource any more.
        """
        ...

    async def vectors(self, model: str, digests: Sequence[bytes]) -> list[bytes | None]:
        """What is kept of the vectors that a model has for texts with these digests. They count as used."""
        ...

    async def keep_vectors(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors by digest. This is a cache: what was not used for long is dropped."""
        ...


@dataclass(frozen=True, slots=True)
class Subscribed:
    """From now on announcements of this catalog arrive. Whatever was announced before may have been missed."""

    key: CatalogKey


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """Announcements of this catalog do not arrive any more. Until `heard` (monotonic seconds) they did."""

    key: CatalogKey
    heard: float


@dataclass(frozen=True, slots=True)
class Announced:
    """A catalog came to a version, by `change` if that was small enough to be sent along."""

    key: CatalogKey
    version: Version
    change: Change | None


@dataclass(frozen=True, slots=True)
class Disturbed:
    """The catalog may not be what it was: it was deleted, or an announcement of it cannot be read."""

    key: CatalogKey
    cause: str


News = Subscribed | Unsubscribed | Announced | Disturbed


class Feed(Protocol):
    """What other writers do to catalogs, as it is announced: a hint, which may be lost, repeated or late."""

    def follow(self, key: CatalogKey) -> None:
        """Begin to listen for a catalog: Subscribed says from when on."""
        ...

    def unfollow(self, key: CatalogKey) -> None: ...

    async def run(self, hear: Callable[[News], None]) -> None:
        """Tell what is announced, until cancelled; lost connections are taken up again."""
        ...


class SharedStore(Store, Protocol):
    """A store that other processes write to as well."""

    @property
    def feed(self) -> Feed: ...

    async def ping(self) -> None:
        """Raises StoreUnavailable if the store does not answer."""
        ...
