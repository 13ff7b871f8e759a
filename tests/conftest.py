import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from support import running_server
from toolsearch import AsyncClient, Client

settings.register_profile("toolsearch", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("toolsearch")

_tenants = itertools.count()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """One server for all tests that do not care how it was started; each test has a tenant of its own."""
    with running_server("--store", "memory:") as (server, address):
        yield address
        assert server.process.poll() is None, f"the server died during the tests: {server.log}"
        assert '"code": "INTERNAL"' not in server.log, f"a call failed inside the server: {server.log}"


@pytest.fixture
def tenant() -> str:
    return f"tenant-{next(_tenants)}"


@pytest.fixture
def client(address: str, tenant: str) -> Iterator[Client]:
    with Client(address, tenant=tenant) as client:
        yield client


@pytest.fixture
async def async_client(address: str, tenant: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address, tenant=tenant) as client:
        yield client
