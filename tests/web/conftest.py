from collections.abc import Iterator

import pytest

from identity.guarded import guarded_server
from support import running_server
from web.caller import Caller, http_address

REQUEST_BYTES = 1_000_000


@pytest.fixture(scope="session")
def door() -> Iterator[Caller]:
    """One server without credentials for all tests that do not care how it was started."""
    arguments = ("--store", "memory:", "--http", "127.0.0.1:0", "--log-level", "debug")
    with running_server(*arguments, "--limit", f"request_bytes={REQUEST_BYTES}") as (process, grpc):
        yield Caller(process, grpc, http_address(process))
        assert process.process.poll() is None, f"the server died during the tests: {process.log}"
        assert '"code": "INTERNAL"' not in process.log, f"a call failed inside the server: {process.log}"
        assert "Traceback" not in process.log and '"level": "error"' not in process.log, process.log


@pytest.fixture(scope="session")
def guarded_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with guarded_server(tmp_path_factory.mktemp("guarded-door"), "--http", "127.0.0.1:0", "--embeddings", "off") as server:
        yield Caller(server.process, server.address, http_address(server.process), server.texts)
        for text in server.texts.values():
            assert text not in server.process.log, "a key is in the log"
