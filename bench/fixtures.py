"""Tables are filled by benches, shown and written after a real run: `make bench`. `make test` only sees that they work."""

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tables import Table


@pytest.fixture
def smoke(benchmark: BenchmarkFixture) -> bool:
    """Whether this is only to see that it works."""
    return bool(benchmark.disabled)


@pytest.fixture(scope="module")
def tables(request: pytest.FixtureRequest) -> Iterator[dict[str, Table]]:
    found: dict[str, Table] = {}
    yield found
    if request.config.getoption("benchmark_disable") and not request.config.getoption("benchmark_enable"):
        return
    capture = request.config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        for table in found.values():
            table.write()
            print("", table, sep="\n")
