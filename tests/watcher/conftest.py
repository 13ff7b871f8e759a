from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolsearch_server.catalogs import Catalogs
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.store.sqlite import SqliteStore
from watcher.servers import ToolFile

# A program, whose name looks like that of a test.
collect_ignore = ["mcp_server_under_test.py"]


@pytest.fixture
def tools(tmp_path: Path) -> ToolFile:
    return ToolFile(tmp_path / "tools.json")


@pytest.fixture
async def catalogs() -> AsyncIterator[Catalogs]:
    store = await SqliteStore.open(None, DEFAULT_LIMITS)
    yield Catalogs(store, limits=DEFAULT_LIMITS, idle_seconds=3600)
    await store.close()
