"""From where a store is to the store."""

from toolsearch_server.limits import Limits
from toolsearch_server.store.location import Location, RedisLocation
from toolsearch_server.store.redis import RedisStore
from toolsearch_server.store.sqlite import SqliteStore


async def open_store(location: Location, limits: Limits) -> SqliteStore | RedisStore:
    """Raises StoreOpenError. A Redis that does not answer is no error yet."""
    if isinstance(location, RedisLocation):
        return RedisStore(location, limits)
    return await SqliteStore.open(location.path, limits)
