import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from redis_process import RedisCluster, RedisProcess, running_cluster, running_redis
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


@pytest.fixture(scope="session")
def _redis() -> Iterator[RedisProcess]:
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_server(_redis: RedisProcess) -> RedisProcess:
    """An empty Redis that runs through: tests that harm theirs start one of their own."""
    assert _redis.command("FLUSHALL").startswith("+OK")
    return _redis


@pytest.fixture(scope="session")
def _cluster() -> Iterator[RedisCluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def redis_cluster(_cluster: RedisCluster) -> RedisCluster:
    for node in _cluster.nodes:
        assert node.command("FLUSHALL").startswith("+OK")
    return _cluster
