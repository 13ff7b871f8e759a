from collections.abc import AsyncIterator

import pytest

from toolsearch_server.catalogs import Catalogs
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.store.sqlite import SqliteStore


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(None, DEFAULT_LIMITS)
    yield store
    await store.close()


@pytest.fixture
def catalogs(store: SqliteStore) -> Catalogs:
    return Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=3600)
