"""What one tenant may keep, over all its catalogs.

Sizes are known to the store per catalog. They are read now and then, not for every write: what other replicas have written in
the last seconds is not counted yet, so a quota may be exceeded by that much.
"""

import asyncio
import time
from dataclasses import dataclass

from toolsearch_server.changes import Size
from toolsearch_server.errors import QuotaExceeded
from toolsearch_server.limits import Limits
from toolsearch_server.store import CatalogKey, Store

READ_SECONDS = 5.0
REMEMBERED_TENANTS = 1_000


@dataclass(slots=True)
class _Usage:
    read_at: float
    sizes: dict[str, Size]


class Quotas:
    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._usages: dict[str, _Usage] = {}
        self._allowed: dict[CatalogKey, Size] = {}
        """What writes under way may lead to: counted as if they had, whatever is read meanwhile."""
        self._reading = asyncio.Lock()

    async def check(self, key: CatalogKey, before: Size, after: Size, *, new: bool) -> None:
        """Raises QuotaExceeded if a catalog may not grow so; one that shrinks always may. `note` has to follow what may."""
        if not new and after.entries <= before.entries and after.bytes <= before.bytes:
            return
        usage = await self._usage(key.tenant)
        under_way = {each.catalog: size for each, size in self._allowed.items() if each.tenant == key.tenant}
        others = [size for catalog, size in (usage.sizes | under_way).items() if catalog != key.catalog]
        limits = self._limits
        if new:
            _refuse(len(others) + 1, limits.catalogs_per_tenant, "catalogs_per_tenant", "catalogs")
        if after.entries > before.entries:
            entries = sum(size.entries for size in others) + after.entries
            _refuse(entries, limits.entries_per_tenant, "entries_per_tenant", "entries")
        if after.bytes > before.bytes:
            total = sum(size.bytes for size in others) + after.bytes
            _refuse(total, limits.bytes_per_tenant, "bytes_per_tenant", "bytes")
        self._allowed[key] = after

    def note(self, key: CatalogKey, size: Size | None) -> None:
        """What a catalog has after a write, or has still; None: it does not exist."""
        self._allowed.pop(key, None)
        usage = self._usages.get(key.tenant)
        if usage is not None and size is None:
            usage.sizes.pop(key.catalog, None)
        elif usage is not None and size is not None:
            usage.sizes[key.catalog] = size

    async def _usage(self, tenant: str) -> _Usage:
        async with self._reading:
            now = time.monotonic()
            usage = self._usages.get(tenant)
            if usage is None or now - usage.read_at > READ_SECONDS:
                if len(self._usages) >= REMEMBERED_TENANTS:
                    self._usages.clear()
                records = await self._store.records(tenant)
                usage = self._usages[tenant] = _Usage(now, {record.name: record.size for record in records})
            return usage


def _refuse(given: int, allowed: int, limit: str, unit: str) -> None:
    if given > allowed:
        raise QuotaExceeded(given=given, allowed=allowed, limit=limit, unit=unit)
