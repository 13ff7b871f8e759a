"""What README and docs/http.md tell people to type does what they say."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import running_server
from web.caller import Caller, http_address

ROOT = Path(__file__).parents[2]
CURL = shutil.which("curl")
STILL_RUNNING = 28
"""curl's code for a time that is up: streams do not end."""


def commands(path: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("curl ")]


EXAMPLES = [(path, command) for path in ("README.md", "docs/http.md") for command in commands(path)]


@pytest.fixture(scope="module")
def sample() -> Iterator[Caller]:
    arguments = ("--store", "memory:", "--sample", "--http", "127.0.0.1:0", "--embeddings", "off")
    with running_server(*arguments) as (process, grpc):
        yield Caller(process, grpc, http_address(process))


@pytest.mark.skipif(CURL is None, reason="curl is not on PATH")
@pytest.mark.parametrize(("path", "command"), EXAMPLES)
def test_a_command_does_what_is_said(sample: Caller, path: str, command: str) -> None:
    command = command.replace("127.0.0.1:8080", sample.address).replace(
        "curl ", "curl --silent --fail-with-body --max-time 2 ", 1
    )
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
    streamed = " -N " in command
    assert run.returncode == (STILL_RUNNING if streamed else 0), run.stdout
    assert ('"current"' if streamed else '"version"') in run.stdout


def test_there_are_commands() -> None:
    assert len(EXAMPLES) >= 7
