"""schemathesis makes requests of the OpenAPI document that a server serves, and holds its answers against it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import running_server
from toolsearch_server.auth import Role
from toolsearch_server.auth.keys import dump_keys, new_key
from web.caller import Caller, http_address

PROGRAM = Path(sys.executable).with_name("schemathesis")
SETTINGS = Path(__file__).with_name("schemathesis.toml")
FAILED = re.compile(r'"code": "INTERNAL"|"level": "error"|Traceback')
EXAMPLES = 20
"""Of each operation, besides what covers each constraint."""


@pytest.fixture(params=["open", "guarded"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Caller, list[str]]]:
    arguments = ["--store", "memory:", "--sample", "--http", "127.0.0.1:0", "--embeddings", "off", "--log-level", "debug"]
    headers: list[str] = []
    if request.param == "guarded":
        key, text = new_key("acme", Role.ADMIN)
        (tmp_path / "keys.json").write_text(dump_keys([key]))
        arguments += ["--keys", str(tmp_path / "keys.json")]
        headers = ["--header", f"authorization: Bearer {text}"]
    with running_server(*arguments) as (process, grpc):
        yield Caller(process, grpc, http_address(process)), headers


@pytest.mark.timeout(300)
def test_answers_are_what_the_document_says_and_nothing_fails(target: tuple[Caller, list[str]], tmp_path: Path) -> None:
    caller, headers = target
    url = f"http://{caller.address}/v1/openapi.json"
    patience = ["--header", "x-toolsearch-timeout: 0.05"]
    command = [
        str(PROGRAM),
        "--config-file",
        str(SETTINGS),
        "run",
        url,
        "--max-examples",
        str(EXAMPLES),
        "--no-color",
        *patience,
        *headers,
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=tmp_path)
    assert run.returncode == 0, "\n".join(line[:300] for line in run.stdout.splitlines()[-200:])
    assert caller.process.process.poll() is None, caller.process.log[-5_000:]
    assert [line for line in caller.process.lines if FAILED.search(line)] == []
    assert caller.metric("toolsearch_watches ") == 0 and caller.metric("toolsearch_calls ") == 0
