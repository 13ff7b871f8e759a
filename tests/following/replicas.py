"""Replicas in this process: catalogs with a follower, over a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from redis_process import redis_store
from support import CATALOG
from toolsearch_server.catalogs import Catalogs
from toolsearch_server.changes import Entries
from toolsearch_server.follower import Follower
from toolsearch_server.limits import DEFAULT_LIMITS, Limits
from toolsearch_server.store import CatalogKey
from toolsearch_server.store.redis import RedisStore

NEVER = 1e6
"""Seconds between polls, in tests of what works without them."""


class Replica:
    def __init__(self, store: RedisStore, catalogs: Catalogs, follower: Follower, running: asyncio.Task[None]) -> None:
        self.store = store
        self.catalogs = catalogs
        self.follower = follower
        self.running = running

    def names(self, key: CatalogKey = CATALOG) -> list[str]:
        """What is searchable in a loaded catalog."""
        return sorted(self.catalogs.loaded[key].view.entries.by_name)

    def entries(self, key: CatalogKey = CATALOG) -> Entries:
        return self.catalogs.loaded[key].entries

    async def follows(self, key: CatalogKey = CATALOG) -> None:
        """Load the catalog and wait until it is known to be followed."""
        await self.catalogs.get(key)
        await eventually(lambda: self.catalogs.loaded[key].followed)


@asynccontextmanager
async def replica(url: str, *, poll_seconds: float = NEVER, limits: Limits = DEFAULT_LIMITS) -> AsyncIterator[Replica]:
    store = redis_store(url, limits)
    catalogs = Catalogs(store, limits=limits, idle_seconds=3600)
    follower = Follower(store, catalogs, poll_seconds=poll_seconds)
    running = asyncio.create_task(follower.run())
    try:
        yield Replica(store, catalogs, follower, running)
    finally:
        running.cancel()
        await asyncio.wait([running])
        await catalogs.close()
        await store.close()


async def eventually(condition: Callable[[], Any], *, seconds: float = 15.0) -> None:
    """Wait for what other processes do."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 what is waited for has no event
            await asyncio.sleep(0.005)
