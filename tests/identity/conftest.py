from collections.abc import Iterator
from pathlib import Path

import pytest

from identity.guarded import Guarded, guarded_server


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """One server with keys for all tests that do not change them."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    with guarded_server(folder) as server:
        yield server
        assert server.process.process.poll() is None, server.process.log
        for text in server.texts.values():
            assert text not in server.process.log, "a key is in the log"
